#include "apps/mt_train/mt_run.h"

#include "apps/cli/unknown_words.h"
#include "apps/training/vector_events.h"
#include "core/json.h"
#include "core/number_format.h"
#include "core/threads.h"
#include "nn/models/model_directory.h"
#include "nn/models/translation_config.h"

namespace nine::app {
namespace {

double share(int64_t part, int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

std::string percent(double share) { return fixed(100 * share, 2) + "%"; }

std::vector<std::string> messages(const MtOptions& o, const MtData& data,
                                  const ParameterSet& parameters, const PairBatches& batches,
                                  const std::vector<int64_t>& target_counts) {
  const ParallelCorpus& train = data.train;
  const int32_t of_source = data.source.dictionary.size(),
                of_target = data.target.dictionary.size();
  const char* const unit = o.raw ? "tokens" : "words";
  const std::string words = o.shared_vocab
                                ? concat(of_source, " ", unit, " of both languages")
                                : concat(of_source, " source and ", of_target, " target ", unit);
  std::vector<std::string> out{
      concat(parameters.count(), " parameters, ", words, ", ", threads(), " threads"),
      concat(train.pairs(), " training pairs, ", train.source_tokens(), " source and ",
             train.target_tokens(), " target tokens (unknown: ",
             percent(share(train.source_unknown(), train.source_tokens())), " and ",
             percent(share(train.target_unknown(), train.target_tokens())), "); ", batches.steps(),
             " batches an epoch, ", percent(batches.padding_share()), " padding")};
  const auto add = [&](int64_t pairs, const auto&... why) {
    if (pairs > 0) out.push_back(concat(pairs, pairs == 1 ? " pair " : " pairs ", why...));
  };
  add(train.skipped_empty(), "left out of training: a side has no word");
  add(train.skipped_long(), "left out of training: a side is longer than --max-length ",
      o.max_length);
  if (data.valid)
    add(data.valid->pairs.skipped_long(),
        "left out of validation: longer than the model's positions");
  if (data.test)
    add(data.test->pairs.skipped_long(), "left out of the test: longer than the model's positions");
  const auto add_unknown = [&](const std::string& flags, const ParallelCorpus& pairs) {
    for (std::string text :
         {unknown_text(flags + "src", pairs.source_unknown(), pairs.source_tokens()),
          unknown_text(flags + "tgt", pairs.target_unknown(), pairs.target_tokens())})
      if (!text.empty()) out.push_back(std::move(text));
  };
  if (data.valid) add_unknown("--valid-", data.valid->pairs);
  if (data.test) add_unknown("--test-", data.test->pairs);
  const auto add_spelled = [&](const std::string& flags, const ParallelCorpus& pairs) {
    for (const auto& [side, spelled] :
         {std::pair("src", &pairs.source_spelled()), std::pair("tgt", &pairs.target_spelled())})
      say_spelled_specials(*spelled, flags + side,
                           [&](std::string line) { out.push_back(std::move(line)); });
  };
  add_spelled("--", train);
  if (data.valid) add_spelled("--valid-", data.valid->pairs);
  if (data.test) add_spelled("--test-", data.test->pairs);
  for (std::string& warning : o.head_config().warnings(target_counts))
    out.push_back(std::move(warning));
  return out;
}

void print_result(const char* what, double nll, const std::optional<double>& bleu) {
  std::printf("%s perplexity %s", what, power_of_e(nll, 3).c_str());
  if (bleu) std::printf(", BLEU %.2f", *bleu);
  std::printf("\n");
}

void conclude(const MtOptions& o, const MtData& data, const Transformer& model,
              const Checkpoint& best, Trainer& trainer, RunCallbacks& callbacks, Json& done) {
  if (data.valid) {
    done["best_valid_ppl"] = trainer.best().ppl;
    if (trainer.best().bleu) done["best_bleu"] = *trainer.best().bleu;
    print_result("best validation", trainer.best().nll, trainer.best().bleu);
  }
  const auto validate = [&] {
    evaluate_pairs(model, trainer.tape(), data.valid->pairs, o.batching());
  };
  log_vectors(model.head(), data.train.target_counts(data.target.dictionary.size()), best, trainer,
              callbacks, data.valid ? std::function<void()>(validate) : nullptr);
  if (!data.test) return;
  Evaluation test = evaluate_pairs(model, trainer.tape(), data.test->pairs, o.batching());
  if (o.valid_beam > 0) {
    const ParallelCorpus& pairs = data.test->pairs;
    test.bleu = validation_bleu(translate_pairs(BeamSearch(model), pairs, data.target,
                                                validation_search(pairs, o.valid_beam)),
                                *data.test, o.raw)
                    .score;
  }
  callbacks.event(test_event(best, trainer, test));
  done["test_ppl"] = test.ppl();
  if (test.bleu) done["test_bleu"] = *test.bleu;
  print_result("test", test.nll(), test.bleu);
}

}  // namespace

TrainingRun mt_training(const Options& flags, const MtOptions& o, const MtData& data,
                        const Transformer& model, ParameterSet& parameters, TranslationTask& task) {
  Json resolved = resolved_settings(o, parameters, data.target.dictionary.size(), o.hidden);
  resolved.update(
      {{"src_vocab", data.source.dictionary.size()}, {"tgt_vocab", data.target.dictionary.size()}});
  const ParallelCorpus& train = data.train;
  const Json start{{"src_vocab", data.source.dictionary.size()},
                   {"tgt_vocab", data.target.dictionary.size()},
                   {"train_pairs", train.pairs()},
                   {"skipped_empty", train.skipped_empty()},
                   {"skipped_long", train.skipped_long()},
                   {"src_tokens", train.source_tokens()},
                   {"train_tokens", train.target_tokens()},
                   {"src_unknown_share", share(train.source_unknown(), train.source_tokens())},
                   {"unknown_share", share(train.target_unknown(), train.target_tokens())},
                   {"batches", task.stream().steps()},
                   {"padding_share", task.stream().padding_share()}};
  const std::vector<int64_t> counts = train.target_counts(data.target.dictionary.size());
  std::optional<double> unigram_ppl;
  if (data.valid)
    unigram_ppl =
        unigram_perplexity(counts, data.valid->pairs.target_counts(data.target.dictionary.size()));
  return {
      .program = "mt_train",
      .flags = flags,
      .options = o,
      .parameters = parameters,
      .task = task,
      .metadata = model.metadata(),
      .resolved = resolved,
      .inputs = data.inputs(o),
      .model_config = translation_config(model),
      .files = data.files(o),
      .start = start,
      .unigram_ppl = unigram_ppl,
      .messages = messages(o, data, parameters, task.stream(), counts),
      .conclude = [&](const Checkpoint& best, Trainer& trainer, RunCallbacks& callbacks,
                      Json& done) { conclude(o, data, model, best, trainer, callbacks, done); }};
}

}  // namespace nine::app
