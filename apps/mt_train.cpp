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
#include "apps/training/parity_export.h"
#include "apps/training/training_texts.h"
#include "nn/models/initial_weights.h"

namespace nine::app {
namespace {

// Throws where a text has no word, or where a dictionary does not fit it.
void check_known(const MtOptions& o, const MtData& data) {
  const std::string& both = o.raw_tokenizer.tokenizer;
  const auto check = [&](int64_t unknown, int64_t tokens, int64_t pairs, const char* flag,
                         const std::vector<std::string>& files, const std::string& dictionary,
                         const std::string& tokenizer) {
    require_words(flag, files, tokens, pairs);
    require_known({tokens, unknown}, o.max_unknown,
                  concat(flag, files.empty() ? " of --sample" : " " + files[0]),
                  o.raw ? "the tokenizer " + (both.empty() ? tokenizer : both)
                  : dictionary.empty()
                      ? "the dictionary that is built with --vocab-size and --min-count"
                      : dictionary);
  };
  const auto source = [&](const ParallelCorpus& text, const char* flag, const auto& files) {
    check(text.source_unknown(), text.source_tokens(), text.pairs(), flag, files, o.src_dict,
          o.src_tokenizer);
  };
  const auto target = [&](const ParallelCorpus& text, const char* flag, const auto& files) {
    check(text.target_unknown(), text.target_tokens(), text.pairs(), flag, files,
          o.shared_vocab ? o.src_dict : o.tgt_dict, o.tgt_tokenizer);
  };
  source(data.train, "--src", o.src);
  target(data.train, "--tgt", o.tgt);
  if (data.valid) source(data.valid->pairs, "--valid-src", o.valid_src);
  if (data.valid) target(data.valid->pairs, "--valid-tgt", o.valid_tgt);
  if (data.test) source(data.test->pairs, "--test-src", o.test_src);
  if (data.test) target(data.test->pairs, "--test-tgt", o.test_tgt);
}

int train(const Options& options, const MtOptions& o, Device device, Communicator& communicator) {
  o.check_processes(communicator);
  const MtData data = load_mt_data(o);
  check_known(o, data);
  ParameterSet parameters({.dtype = o.dtype, .seed = o.seed, .device = device});
  const Transformer model(parameters,
                          o.model(data.source.dictionary.size(), data.target.dictionary.size()));
  o.initialise_head(model.head(), data.train.target_counts(data.target.dictionary.size()));
  std::string init_taken;
  const std::string init_error = init_error_of([&] {
    if (!o.init.empty()) init_taken = load_initial_weights(o.init, data.source, data.target, model);
  });
  model.head().set_counts(data.train.target_counts(data.target.dictionary.size()));
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
    say_exported(o);
    return kExitDone;
  }
  TrainingRun run = mt_training(options, o, data, model, parameters, task);
  run.init_error = init_error;
  run.init_taken = init_taken;
  return run_training(run, communicator);
}

}  // namespace
}  // namespace nine::app

int main(int argc, char** argv) {
  using namespace nine::app;
  Options options("mt_train",
                  "Trains a Transformer that translates, and reports perplexity and BLEU.",
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
      return write_average(options, o.run, o.average);
    }
    o.check(options);
    return on_machines(o.machine(), [&](nine::Device device, nine::Communicator& communicator) {
      o.block_rows = block_rows_of_run(o, device, communicator);
      return train(options, o, device, communicator);
    });
  });
}
