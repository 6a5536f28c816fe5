#include "apps/lm_train/lm_run.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/training/vector_events.h"
#include "core/json.h"
#include "core/number_format.h"
#include "core/threads.h"

namespace nine::app {
namespace {

void print_result(const char* what, double nll, const std::optional<double>& floor) {
  std::printf("%s perplexity %s", what, power_of_e(nll, 3).c_str());
  if (floor) std::printf("   (floor %.3f: what the language itself scores)", *floor);
  std::printf("\n");
}

// In config.json's "resolved", "read" of a run that reads the remainder of texts. A run without it
// leaves the remainder out.
constexpr const char* kRemainder = "remainder";

// In config.json's "resolved", "sentences" of a run that evaluates each sentence from a fresh
// state. A run without it carries the state.
constexpr const char* kEvaluation = "evaluation";

// Returns what the configuration of a run resolved; null if there is no run. A file that cannot be
// read is an error later, when the run is opened.
Json resolved_before(const std::filesystem::path& config) try {
  if (!std::filesystem::is_regular_file(config)) return {};
  return read_json_object(config).value("resolved", Json::object());
} catch (const std::exception&) {
  return {};
}

// Says which sentences are longer than --batch-tokens, as each is a batch above that size. Empty if
// there are none.
std::string say_too_long(const Corpus& text, int64_t batch_tokens) {
  int64_t count = 0, longest = 0;
  for (int64_t i = 0; batch_tokens > 0 && i < text.sentences(); ++i)
    if (text.length(i) > batch_tokens) {
      ++count;
      longest = std::max(longest, text.length(i));
    }
  return count == 0 ? ""
                    : concat("--train: sentences of more than --batch-tokens ", batch_tokens,
                             " tokens, </s> counted: ", count, ". Each is a batch alone, and the ",
                             "largest batch has ", longest, " tokens");
}

void conclude(const LmData& data, const LanguageNetwork& model, const LanguageModelTask& task,
              const Checkpoint& best, Trainer& trainer, RunCallbacks& callbacks, Json& done) {
  if (data.valid) {
    done["best_valid_ppl"] = trainer.best().ppl;
    print_result("best validation", trainer.best().nll, data.valid_floor);
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
  print_result("test", test.nll(), data.test_floor);
}

}  // namespace

void set_rules_of_run(const LmOptions& o, Communicator& communicator, LmBatching& batching) {
  Json before;
  if (communicator.first() && !o.restart && o.export_parity.empty())
    before = resolved_before(std::filesystem::path(o.run) / "config.json");
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
  std::vector<std::string> messages{concat(
      parameters.count(), " parameters, ", data.vocabulary.size(), " words, ", data.train.tokens(),
      " training tokens (", data.train.unknown(), " unknown), ", threads(), " threads")};
  if (o.sample && !data.valid_floor)
    messages.emplace_back(
        "the vocabulary lacks words of the sample's validation text, so the sample's entropy is "
        "not a floor for this run");
  const auto add_spelled = [&](const char* flag, const Corpus& text) {
    say_spelled_specials(text.spelled_specials(), flag,
                         [&](std::string line) { messages.push_back(std::move(line)); });
  };
  add_spelled("--train", data.train);
  if (data.valid) add_spelled("--valid", *data.valid);
  if (data.test) add_spelled("--test", *data.test);
  if (std::string text = say_too_long(data.train, o.batch_tokens); !text.empty())
    messages.push_back(std::move(text));
  const std::vector<int64_t> counts = data.train.counts(data.vocabulary.size());
  for (std::string& warning : o.head_config().warnings(counts))
    messages.push_back(std::move(warning));
  std::optional<double> unigram_ppl;
  if (data.valid)
    unigram_ppl = unigram_perplexity(counts, data.valid->counts(data.vocabulary.size()));
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
      // Its counts are the training text's, also where --vocab has those of another text.
      .files = {{"dict.txt", data.vocabulary.dict_text(counts)}},
      .start = start,
      .unigram_ppl = unigram_ppl,
      .messages = messages,
      .conclude = [&](const Checkpoint& best, Trainer& trainer, RunCallbacks& callbacks,
                      Json& done) { conclude(data, model, task, best, trainer, callbacks, done); }};
}

}  // namespace nine::app
