// mt_train: trains a translation model. Parses, builds, runs; the parts are in apps/mt_train/,
// apps/training/ and nn/.
#include "apps/cli/machine.h"
#include "apps/cli/option_conflicts.h"
#include "apps/cli/option_data.h"
#include "apps/cli/processes.h"
#include "apps/cli/run_main.h"
#include "apps/cli/version.h"
#include "apps/mt_train/average.h"
#include "apps/mt_train/mt_parity_export.h"
#include "apps/mt_train/mt_run.h"
#include "nn/models/initial_weights.h"

namespace nine::app {
namespace {

int train(const Options& options, const MtOptions& o, Device device, Communicator& communicator) {
  o.check_processes(communicator);
  const MtData data = load_mt_data(o);
  ParameterSet parameters({.dtype = o.dtype, .seed = o.seed, .device = device});
  const Transformer model(parameters, o.model(data.source.size(), data.target.size()));
  o.initialise_head(model.head(), data.train.target_counts(data.target.size()));
  const std::string init_error = init_error_of([&] {
    if (!o.init.empty()) load_initial_weights(o.init, data.source, data.target, model);
  });
  model.head().set_counts(data.train.target_counts(data.target.size()));
  const TranslationValidationConfig validation{.text = data.valid ? &*data.valid : nullptr,
                                               .source = &data.source,
                                               .target = &data.target,
                                               .beam = o.valid_beam,
                                               .samples = o.valid_translations,
                                               .communicator = &communicator};
  TranslationTask task(model, data.train, validation, o.batching(), o.seed,
                       MicroBatchSlots::of(o.accumulate, &communicator));
  if (!o.export_parity.empty()) {
    if (!init_error.empty()) throw Error(init_error);
    export_mt_parity(o, model, parameters, task);
    return kExitDone;
  }
  TrainingRun run = mt_training(options, o, data, model, parameters, task);
  run.init_error = init_error;
  return run_training(run, communicator);
}

}  // namespace
}  // namespace nine::app

int main(int argc, char** argv) {
  using namespace nine::app;
  Options options("mt_train", "Trains a Transformer to translate and reports perplexity and BLEU.",
                  version_text);
  MtOptions o;
  return run_main(options, [&] {
    o.declare(options);
    options.ignore_in_config(
        {"resolved", "task", "src_vocab", "tgt_vocab", "dim", "embed_scale", "pad"});
    if (!options.parse(argc, argv)) return kExitDone;
    if (o.average > 0) {
      for (const OptionData* option : options.declared())
        require_usage(!option->set || option->name == "run" || option->name == "average",
                      "--average reads --run and does nothing with --", option->name,
                      ": leave it out");
      require_one_process();
      return write_average(o.run, o.average);
    }
    o.check(options);
    return on_machines(o.machine(), [&](nine::Device device, nine::Communicator& communicator) {
      return train(options, o, device, communicator);
    });
  });
}
