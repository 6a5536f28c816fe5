// lm_train: trains a language model. Parses, builds, runs; the parts are in apps/lm_train/,
// apps/training/ and nn/.
#include <optional>
#include <utility>

#include "apps/cli/machine.h"
#include "apps/cli/run_main.h"
#include "apps/cli/version.h"
#include "apps/lm_train/initial_words.h"
#include "apps/lm_train/lm_data.h"
#include "apps/lm_train/lm_parity_export.h"
#include "apps/lm_train/lm_run.h"
#include "apps/lm_train/start_vectors.h"
#include "apps/training/parity_export.h"
#include "apps/training/training_texts.h"
#include "nn/models/initial_weights.h"

namespace nine::app {
namespace {

// Sentences of the validation text whose attention the log and the report show.
constexpr int64_t kAttentionSamples = 4;

// Throws for a text that has too few tokens for the columns of a carried state: better now than
// after the training.
void check_evaluated(const LmData& data) {
  for (const auto& [flag, text] : {std::pair("--valid", &data.valid), {"--test", &data.test}}) try {
      if (*text) EvalSegments check(**text);
    } catch (const Error& e) {
      throw Error(concat(flag, ": ", e.what()));
    }
}

// Throws where a text has no word, or where the vocabulary does not fit it.
void check_known(const LmOptions& o, const LmData& data) {
  const auto check = [&](const Corpus& text, const char* flag,
                         const std::vector<std::string>& files) {
    require_words(flag, files, text.tokens(), text.sentences());
    require(!o.is_raw() || text.raw_size().words > 0, flag, " ", files.empty() ? "" : files[0],
            " has no word, only white space: give a text with words");
    require_known({text.tokens(), text.unknown()}, o.max_unknown,
                  concat(flag, files.empty() ? " of --sample" : " " + files[0]),
                  o.is_raw() ? "the tokenizer " + o.raw_tokenizer.tokenizer
                  : o.vocab.empty()
                      ? "the vocabulary that is built with --vocab-size and --min-count"
                      : o.vocab);
  };
  check(data.train, o.train_flag(), o.train_files());
  if (data.valid) check(*data.valid, "--valid", o.valid);
  if (data.test) check(*data.test, "--test", o.test);
}

int train(const Options& options, const LmOptions& o, Device device, Communicator& communicator) {
  o.check_processes(communicator);
  const LmData data = load_lm_data(o);
  check_known(o, data);
  ParameterSet parameters({.dtype = o.dtype, .seed = o.seed, .device = device});
  const std::unique_ptr<LanguageNetwork> network = o.network(parameters, data.vocabulary.size());
  const LanguageNetwork& model = *network;
  const std::vector<int64_t> counts = data.train.counts(data.vocabulary.size());
  o.initialise_head(model, counts);
  std::optional<InitialWeights> initial;
  const std::string init_error = init_error_of([&] {
    if (o.init.empty()) return;
    InitialModel start = o.initial ? std::move(*o.initial) : InitialModel(o.init);
    initial = std::move(start).load(data.vocabulary, data.tokenizer ? &*data.tokenizer : nullptr,
                                    parameters, model, counts);
    require(o.lora == 0 || initial->fresh.empty(), "--lora trains low-rank updates alone, and ",
            initial->fresh.empty() ? "" : initial->fresh.front(),
            " begins anew: train the head of this run first, or leave out --head");
  });
  const StartVectors vectors = set_start_vectors(o.vectors, data, parameters);
  model.set_counts(counts);
  LmBatching batching = o.batching();
  batching.communicator = &communicator;
  set_rules_of_run(o, communicator, batching);
  if (batching.evaluation == EvaluationState::carried) check_evaluated(data);
  LanguageModelTask task(model, data.train, data.valid ? &*data.valid : nullptr, batching);
  task.show_attention(data.vocabulary, kAttentionSamples);
  if (!o.export_parity.empty()) {
    if (!init_error.empty()) throw Error(init_error);
    export_lm_parity(o, model, parameters, task);
    say_exported(o);
    return kExitDone;
  }
  TrainingRun run = lm_training(options, o, data, model, parameters, task);
  run.init_error = init_error;
  if (initial) {
    run.init_taken = initial->taken + words_text(initial->words);
    run.start["init"] = words_event(o.init, initial->words);
  }
  run.init_taken +=
      run.init_taken.empty() && !vectors.text.empty() ? vectors.text.substr(1) : vectors.text;
  if (!vectors.event.empty()) run.start["vectors"] = vectors.event;
  if (o.lora > 0) {
    const LowRankSize size = low_rank_size(parameters, o.low_rank());
    run.messages.push_back(concat("--lora ", o.lora, ": ", size.numbers,
                                  " numbers are trained, of ", size.matrices.size(),
                                  " matrices; all else stays"));
  }
  return run_training(run, communicator);
}

}  // namespace
}  // namespace nine::app

int main(int argc, char** argv) {
  using namespace nine::app;
  Options options("lm_train",
                  "Trains a language model, an LSTM or a Transformer, and reports perplexity.",
                  version_text);
  LmOptions o;
  return run_main(options, [&] {
    o.declare(options);
    options.ignore_in_config({"resolved"});
    if (!options.parse(argc, argv)) return kExitDone;
    o.check(options);
    return on_machines(o.machine(), [&](nine::Device device, nine::Communicator& communicator) {
      o.block_rows = block_rows_of_run(o, device, communicator);
      return train(options, o, device, communicator);
    });
  });
}
