#include "apps/lm_train/lm_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/cli/unknown_words.h"
#include "apps/training/vector_events.h"
#include "core/number_format.h"
#include "core/threads.h"
#include "nn/models/model_directory.h"

namespace nine::app {
namespace {

// The perplexity and, of a raw text, the figures that do not depend on the tokenizer.
void print_result(const char* what, const Evaluation& result, const std::optional<double>& floor) {
  std::printf("%s perplexity %s", what, power_of_e(result.nll(), 3).c_str());
  if (result.bytes > 0)
    std::printf(" a token, %s a word, %.4f bits per byte", power_of_e(result.word_nll(), 3).c_str(),
                result.bits_per_byte());
  if (floor) std::printf("   (floor %.3f: what the language itself scores)", *floor);
  std::printf("\n");
}

// Says into how many documents --documents cuts the text.
std::string documents_text(const Corpus& text) {
  int64_t empty = 0;
  for (int64_t i = 0; i < text.sentences(); ++i) empty += text.length(i) == 1;
  std::string out =
      concat("--documents: ", text.sentences(), text.sentences() == 1 ? " document" : " documents");
  if (text.sentences() == 1) out += ", because no blank line separates two";
  if (empty > 0)
    out += concat(", of which ", empty,
                  " without words, because a blank line follows another or begins the text: each "
                  "trains the model to end a document at once");
  return out;
}

// Says how many parts of a text are longer than a batch, which then has one of them alone.
std::string long_texts(const Corpus& text, int64_t batch_tokens) {
  int64_t longer = 0, longest = 0;
  for (int64_t i = 0; batch_tokens > 0 && i < text.sentences(); ++i) {
    longer += text.length(i) > batch_tokens;
    longest = std::max(longest, text.length(i));
  }
  if (longer == 0) return "";
  return concat(" longer than --batch-tokens ", batch_tokens, ", each a batch of its own: ", longer,
                ", of up to ", longest, " tokens");
}

// In config.json's "resolved", "read" of a run that reads the remainder of texts. A run without it
// leaves the remainder out.
constexpr const char* kRemainder = "remainder";

// In config.json's "resolved", "sentences" of a run that evaluates each sentence from a fresh
// state. A run without it carries the state.
constexpr const char* kEvaluation = "evaluation";

void conclude(const LmData& data, const LanguageNetwork& model, const LanguageModelTask& task,
              const Checkpoint& best, Trainer& trainer, RunCallbacks& callbacks, Json& done) {
  if (data.valid) {
    done["best_valid_ppl"] = trainer.best().ppl;
    Evaluation best_valid{.tokens = data.valid->tokens()};
    best_valid.nats = trainer.best().nll * static_cast<double>(best_valid.tokens);
    best_valid.set_raw_size(data.valid->raw_size());
    if (best_valid.bytes > 0) done["best_valid_bits_per_byte"] = best_valid.bits_per_byte();
    print_result("best validation", best_valid, data.valid_floor);
  }
  const auto evaluate = [&](const Corpus& text) { return task.evaluate(trainer.tape(), text); };
  const auto validate = [&] { evaluate(*data.valid); };
  log_vectors(model.head(), data.train.counts(data.vocabulary.size()), best, trainer, callbacks,
              data.valid ? std::function<void()>(validate) : nullptr);
  if (!data.test) return;
  const Evaluation test = evaluate(*data.test);
  Json event = test_event(best, trainer, test);
  if (data.test_floor) event["entropy_floor_ppl"] = *data.test_floor;
  callbacks.event(event);
  done["test_ppl"] = test.ppl();
  if (test.bytes > 0) done["test_bits_per_byte"] = test.bits_per_byte();
  print_result("test", test, data.test_floor);
}

}  // namespace

void set_rules_of_run(const LmOptions& o, Communicator& communicator, LmBatching& batching) {
  const Json before = communicator.first() ? resolved_of_run(o) : Json();
  const auto lacks = [&](const char* key) {
    return communicator.broadcast(before.is_object() && !before.contains(key));
  };
  batching.remainder = lacks(kRemainder) ? Remainder::left_out : Remainder::read;
  batching.evaluation =
      lacks(kEvaluation) || !o.sentences ? EvaluationState::carried : EvaluationState::fresh;
}

TrainingRun lm_training(const Options& flags, const LmOptions& o, const LmData& data,
                        const LanguageNetwork& model, ParameterSet& parameters,
                        LanguageModelTask& task) {
  Json resolved = resolved_settings(o, parameters, data.vocabulary.size(), o.hidden);
  resolved["vocab"] = data.vocabulary.size();
  if (task.remainder() == Remainder::read) resolved[kRemainder] = "read";
  if (task.evaluation() == EvaluationState::fresh) resolved[kEvaluation] = "sentences";
  Json start{{"vocab", data.vocabulary.size()},
             {"train_tokens", data.train.tokens()},
             {"unknown_share", static_cast<double>(data.train.unknown()) /
                                   static_cast<double>(data.train.tokens())}};
  if (data.valid_floor)
    start.update(
        {{"entropy_floor_ppl", *data.valid_floor}, {"language_floor_ppl", *data.language_floor}});
  if (data.tokenizer) resolved[kDocumentEnds] = to_text(data.ends);
  const RawSize size = data.train.raw_size();
  std::vector<std::string> messages{
      concat(parameters.count(), " parameters, ", data.vocabulary.size(),
             data.tokenizer ? " tokens in the vocabulary, " : " words, ", data.train.tokens(),
             " training tokens (",
             data.tokenizer ? concat(size.words, " words, ", size.bytes, " bytes") : "",
             data.tokenizer && data.train.unknown() == 0
                 ? ""
                 : concat(data.tokenizer ? ", " : "", data.train.unknown(), " unknown"),
             "), ", threads(), " threads")};
  if (data.tokenizer) start.update({{"train_words", size.words}, {"train_bytes", size.bytes}});
  if (!data.raw_message.empty()) messages.push_back(data.raw_message);
  if (o.sample && !data.valid_floor)
    messages.emplace_back(
        "the vocabulary lacks words of the sample's validation text, so the sample's entropy is "
        "not a floor for this run");
  if (o.documents && !data.tokenizer) messages.push_back(documents_text(data.train));
  if (std::string text = long_texts(data.train, o.batch_tokens); !text.empty())
    messages.push_back(concat(o.documents ? "documents" : "sentences", text));
  const auto add_unknown = [&](const char* flag, const Corpus& text) {
    if (std::string said = unknown_text(flag, text.unknown(), text.tokens()); !said.empty())
      messages.push_back(std::move(said));
  };
  if (data.valid) add_unknown("--valid", *data.valid);
  if (data.test) add_unknown("--test", *data.test);
  const auto add_spelled = [&](const char* flag, const Corpus& text) {
    say_spelled_specials(text.spelled_specials(), flag,
                         [&](std::string line) { messages.push_back(std::move(line)); });
  };
  add_spelled(o.train_flag(), data.train);
  if (data.valid) add_spelled("--valid", *data.valid);
  if (data.test) add_spelled("--test", *data.test);
  const std::vector<int64_t> counts = data.train.counts(data.vocabulary.size());
  for (std::string& warning : o.head_config().warnings(counts))
    messages.push_back(std::move(warning));
  std::optional<double> unigram_ppl;
  if (data.valid)
    unigram_ppl = unigram_perplexity(counts, data.valid->counts(data.vocabulary.size()));
  // Its counts are the training text's, also where --vocab has those of another text.
  RunCallbacks::ExtraFiles files{{kDictionaryFile, data.vocabulary.dict_text(counts)}};
  if (data.tokenizer) files.push_back(data.tokenizer->file(""));
  return {
      .program = "lm_train",
      .flags = flags,
      .options = o,
      .parameters = parameters,
      .task = task,
      .metadata = model.metadata(),
      .resolved = resolved,
      .inputs = data.inputs(o),
      .model_config = Json::object(),
      .files = files,
      .start = start,
      .unigram_ppl = unigram_ppl,
      .messages = messages,
      .conclude = [&](const Checkpoint& best, Trainer& trainer, RunCallbacks& callbacks,
                      Json& done) { conclude(data, model, task, best, trainer, callbacks, done); }};
}

}  // namespace nine::app
