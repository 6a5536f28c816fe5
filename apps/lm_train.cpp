// lm_train: trains a language model. Parses, builds, runs; the parts are in apps/shared/ and nn/.
#include <nlohmann/json.hpp>

#include "apps/shared/lm_data.h"
#include "apps/shared/lm_run.h"
#include "apps/shared/parity_export.h"
#include "apps/shared/profile_table.h"
#include "apps/shared/run_main.h"
#include "apps/shared/signals.h"
#include "apps/shared/train_host.h"
#include "apps/shared/version.h"
#include "core/threads.h"

namespace nine::app {
namespace {

int train(const Options& options, const LmOptions& o, Device device) {
  const LmData data = load_lm_data(o);
  ParameterSet parameters;
  const LanguageModel model(parameters, o.model(data.vocabulary.size()));
  parameters.allocate(dtype_from_text(o.dtype), o.seed, true, device);
  if (o.init_norm == "log-frequency") model.set_norms_by_frequency(data.vocabulary.counts(), o.init_norm_scale);
  if (o.init_bias == "log-frequency") model.set_bias_by_frequency(data.vocabulary.counts());
  if (!o.init.empty()) load_initial_weights(o.init, data.vocabulary, parameters);
  LmTask task(model, data.train, data.valid ? &*data.valid : nullptr, o.batching());
  if (!o.export_parity.empty()) {
    export_lm_parity(o, model, parameters, task);
    return kExitDone;
  }
  if (data.test) EvalSegments check(*data.test);  // too small a text must show now, not after the training
  nlohmann::ordered_json config = options.to_json();
  config.erase("restart");  // a wish of one start, not part of the run
  config["resolved"] = resolved_settings(o, data, parameters);
  RunDirectory run(o.run);
  const bool resume = resumes(options, o, config, run);
  run.write_config(config);  // first of all: a run killed from here on finds itself again
  CheckpointStore store(run.checkpoints(), o.keep);
  const IntactCheckpoint found = resume ? store.find_latest_intact() : IntactCheckpoint{};
  TrainHost host(run, {{"config.json", config.dump(1) + "\n"}, {"dict.txt", data.vocabulary.dict()}});
  for (const std::string& skipped : found.skipped) host.message(skipped);
  if (!found.skipped.empty() && !found.checkpoint) host.message("no checkpoint is intact: the run starts over from the beginning");
  Arena arena("step", device);
  Trainer trainer(parameters, task, arena, o.trainer(), store, host, model.metadata());
  if (found.checkpoint) trainer.restore(*found.checkpoint);
  if (run.finished() && trainer.done()) {
    host.message(concat(o.run, trainer.stopped_early() ? ": this run has stopped early; use --restart, or another --run without --early-stop"
                                                       : ": this run is finished; raise --after to train on, or use --restart"));
    return kExitDone;
  }
  run.cut_log(found.checkpoint ? found.checkpoint->step() : -1);
  if (!o.tensorboard.empty()) host.mirror_to_tensorboard(o.tensorboard, config);
  announce(o, data, parameters, trainer, found, host);
  catch_interrupts();
  const Trainer::Outcome outcome = trainer.run();
  host.finish();
  if (o.profile) print_profile(stdout, measure_machine(), trainer.updates_here());
  if (outcome == Trainer::Outcome::interrupted) {
    std::fprintf(stderr, "lm_train: interrupted; step %lld is saved, the same command goes on from there\n", static_cast<long long>(trainer.step()));
    return kExitInterrupted;
  }
  conclude(data, model, parameters, trainer, host, run);
  return kExitDone;
}

}  // namespace
}  // namespace nine::app

int main(int argc, char** argv) {
  using namespace nine::app;
  return run_main("lm_train", [&] {
    Options options("lm_train", "Trains an LSTM language model and reports perplexity.", kVersionLine);
    LmOptions o;
    o.declare(options);
    options.ignore_in_config({"resolved"});
    if (!options.parse(argc, argv)) return kExitDone;
    o.check(options);
    return train(options, o, use_machine(o.threads, o.device, o.precision));
  });
}
