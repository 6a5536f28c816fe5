// lm_train: trains a language model. Parses, builds, runs; the parts are in apps/shared/ and nn/.
#include <nlohmann/json.hpp>

#include "apps/shared/lm_data.h"
#include "apps/shared/parity_export.h"
#include "apps/shared/profile_table.h"
#include "apps/shared/run_main.h"
#include "apps/shared/signals.h"
#include "apps/shared/train_host.h"
#include "apps/shared/version.h"
#include "core/cpu_info.h"
#include "core/gemm.h"
#include "core/ops.h"
#include "core/threads.h"

namespace nine::app {
namespace {

using Json = nlohmann::ordered_json;

// Everything that the options stand for on this machine with this data: beside the options in config.json.
Json resolved(const LmOptions& o, const LmData& data, const ParameterSet& parameters) {
  return {{"version", kVersion}, {"head", parse_head(o.head).to_text()}, {"vocab", data.vocabulary.size()}, {"parameters", parameters.count()},
          {"train_crc32c", data.train_checksum()}, {"valid_crc32c", data.valid_checksum()}, {"instruction_set", built_for()}, {"gemm", gemm_description()},
          {"head_block_rows", kHeadBlockRows}, {"head_tile", ops::kHeadTile}, {"head_chunks", ops::kHeadChunks}};
}

// Whether the directory's run goes on; a mismatch is an error that names the option.
bool resumes(const Options& options, const LmOptions& o, const Json& now, RunDirectory& run) {
  if (!run.has_run()) return false;
  if (o.restart) {
    run.restart();
    return false;
  }
  const Json before = run.read_config();
  const std::string mismatch = compare_configs(before, options.to_json(), keys_free_on_resume(), options.defaults_json());
  if (!mismatch.empty()) throw UsageError(concat(run.path().string(), " holds another run: ", mismatch));
  // Data, instruction set, libraries and block sizes decide about bits as well.
  for (const auto& [key, value] : now["resolved"].items()) {
    const Json was = before.contains("resolved") ? before["resolved"].value(key, Json()) : Json();
    if (key != "version" && was != value)
      throw UsageError(concat(run.path().string(), " holds a run whose ", key, " was ", was.dump(), ", now ", value.dump(),
                              "; it cannot go on to the same bits: use --restart or another --run"));
  }
  return true;
}

// The best model on the test text, and the last line of the log.
void conclude(const LmData& data, const LanguageModel& model, ParameterSet& parameters, Trainer& trainer, TrainHost& host, RunDirectory& run) {
  const Checkpoint best = open_checkpoint(run.path());
  parameters.load(best.tensors("model.safetensors"), parameters.values());
  Json done{{"event", "done"}, {"step", trainer.step()}, {"epoch", trainer.epoch()}, {"time_s", trainer.seconds()}, {"parameters", parameters.count()},
            {"best_step", best.step()}, {"best_checkpoint", "checkpoints/best"}, {"stopped_early", trainer.stopped_early()}};
  std::printf("%lld updates in %s, %lld parameters\n", static_cast<long long>(trainer.step()), human_duration(trainer.seconds()).c_str(),
              static_cast<long long>(parameters.count()));
  const auto say = [](const char* what, double ppl, const std::optional<double>& floor) {
    std::printf("%s perplexity %.3f", what, ppl);
    if (floor) std::printf("   (floor %.3f: what the language itself scores)", *floor);
    std::printf("\n");
  };
  if (data.valid) {
    done["best_valid_ppl"] = trainer.best().ppl;
    say("best validation", trainer.best().ppl, data.valid_floor);
  }
  if (data.test) {
    const Evaluation test = evaluate_carried(model, trainer.tape(), *data.test);
    host.event({{"event", "test"}, {"step", best.step()}, {"epoch", trainer.epoch()}, {"time_s", trainer.seconds()}, {"loss", test.nll()}, {"nll", test.nll()},
                {"ppl", test.ppl()}, {"tokens", test.tokens}});
    done["test_ppl"] = test.ppl();
    say("test", test.ppl(), data.test_floor);
  }
  host.event(done);
  host.validated();
  std::printf("model  %s\nreport %s\n", (run.checkpoints() / "best").c_str(), run.report_file().c_str());
}

int train(const Options& options, const LmOptions& o, Device device) {
  const LmData data = load_lm_data(o);
  ParameterSet parameters;
  const LanguageModel model(parameters, o.model(data.vocabulary.size()));
  parameters.allocate(dtype_from_text(o.dtype), o.seed, true, device);
  if (o.init_norm == "log-frequency") model.set_norms_by_frequency(data.vocabulary.counts(), o.init_norm_scale);
  if (!o.init.empty()) load_initial_weights(o.init, data.vocabulary, parameters);
  LmTask task(model, data.train, data.valid ? &*data.valid : nullptr, o.batching());
  if (!o.export_parity.empty()) {
    export_lm_parity(o, model, parameters, task);
    return kExitDone;
  }
  if (data.test) EvalSegments check(*data.test);  // too small a text must show now, not after the training
  Json config = options.to_json();
  config.erase("restart");  // a wish of one start, not part of the run
  config["resolved"] = resolved(o, data, parameters);
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
  if (found.checkpoint) {
    host.event({{"event", "resume"}, {"step", trainer.step()}, {"epoch", trainer.epoch()}, {"time_s", trainer.seconds()}, {"skipped", found.skipped}});
    host.message(concat("going on from step ", trainer.step(), " of ", o.run));
  } else {
    Json start{{"event", "start"}, {"step", 0}, {"epoch", 0}, {"time_s", 0}, {"parameters", parameters.count()}, {"vocab", data.vocabulary.size()},
               {"train_tokens", data.train.tokens()}, {"unknown_share", static_cast<double>(data.train.unknown()) / static_cast<double>(data.train.tokens())},
               {"threads", threads()}};
    if (data.valid_floor) start.update({{"entropy_floor_ppl", *data.valid_floor}, {"language_floor_ppl", *data.language_floor}});
    host.event(start);
  }
  host.message(concat(parameters.count(), " parameters, ", data.vocabulary.size(), " words, ", data.train.tokens(), " training tokens (",
                      data.train.unknown(), " unknown), ", threads(), " threads"));
  if (o.sample && !data.valid_floor) host.message("the vocabulary lacks words of the sample's validation text, so the sample's entropy is no floor for this run");
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
    return train(options, o, use_machine(o.threads, o.device));
  });
}
