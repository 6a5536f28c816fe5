#include "apps/nine_serve/score_calls.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/nine_serve/api_error.h"
#include "apps/nine_serve/request_fields.h"
#include "core/ops.h"
#include "core/quote.h"
#include "nn/softmax_head.h"

namespace nine::app {
namespace {

Json json_of(const Estimate& e) {
  return {{"value", e.value}, {"interval", {e.interval.low, e.interval.high}}};
}

// ApiError: a bias of -infinity excludes a word of a set.
void require_no_excluded(const std::vector<WordSet>& sets, const ServedModel& model) {
  const View bias = model.language().network().head().values().bias;
  if (!bias) return;
  const Tensor copy({bias.elements()}, bias.dtype);
  ops::copy(bias.reshaped({bias.elements()}), copy);
  const std::vector<double> values = copy.to_vector();
  for (const WordSet& set : sets)
    for (const std::string& word : set.words) {
      const int32_t id = model.language().vocabulary().id(word);
      require_field(values[static_cast<size_t>(id)] > -INFINITY, "sets", "the model ", model.name(),
                    " excludes the word ", quote(word), " by a bias of -inf: leave it out");
    }
}

}  // namespace

ScoreCall::ScoreCall(ModelPointer served, ScoreRequest request, const Limits& limits)
    : Call(std::move(served)), request_(std::move(request)) {
  int64_t shown = 0;
  TokenCounts counts;
  for (const std::string& text : request_.texts) {
    std::vector<int32_t> ids = model->ids(text, "texts");
    model->count(ids, counts);
    if (!model->reads_raw_text()) ids.push_back(Specials::kLanguageModel.end);
    require_field(std::ssize(ids) <= limits.prompt_tokens, "texts", "a text has ", ids.size(),
                  " tokens, and at most ", limits.prompt_tokens, " are allowed");
    shown += std::ssize(ids) * (1 + request_.top);
    require_field(shown <= limits.log_probs, "texts", "the answer would have more than ",
                  limits.log_probs, " log-probabilities: send fewer texts, or a smaller top");
    texts.push_back({.ids = std::move(ids), .top = request_.top, .score_given = true});
  }
  model->require_known(counts, limits.max_unknown, "texts");
}

std::string ScoreCall::answer() const {
  Json results = Json::array();
  for (const ReadText& text : texts) {
    Json tokens = Json::array();
    double sum = 0;
    for (size_t i = 0; i < text.log_p.size(); ++i) {
      const TokenLogP& at = text.log_p[i];
      sum += at.log_p;
      Json token{{"token", model->spelled(text.ids[i], i == 0)}, {"log_p", json_number(at.log_p)}};
      if (text.top > 0) {
        Json top = Json::array();
        for (size_t k = 0; k < at.top.size(); ++k)
          top.push_back({{"token", model->spelled(at.top[k], i == 0)},
                         {"log_p", json_number(at.top_log_p[k])}});
        token["top"] = std::move(top);
      }
      tokens.push_back(std::move(token));
    }
    results.push_back({{"log_p", json_number(sum)}, {"tokens", std::move(tokens)}});
  }
  return json_text({{"model", model->name()}, {"results", std::move(results)}});
}

RestrictCall::RestrictCall(ModelPointer served, RestrictRequest request, const Limits& limits)
    : Call(std::move(served)), request_(std::move(request)) {
  require_field(!model->reads_raw_text(), "model", "the model ", model->name(),
                " reads raw text, whose vocabulary has parts of words");
  TokenCounts counts;
  for (const std::string& text : request_.texts) {
    const std::vector<int32_t> ids = model->ids(text, "texts");
    require_field(std::ssize(ids) <= limits.prompt_tokens, "texts", "a text has more than ",
                  limits.prompt_tokens, " tokens");
    model->count(ids, counts);
  }
  model->require_known(counts, limits.max_unknown, "texts");
  const Vocabulary* const vocabulary = &model->language().vocabulary();
  const std::vector<std::string> unknown =
      drop_unknown_words(request_.sets, {&vocabulary, 1}, "sets");
  require_field(unknown.empty(), "sets", "the model ", model->name(), " does not know the word ",
                unknown.empty() ? quote("") : quote(unknown.front()), ": leave it out");
  require_no_excluded(request_.sets, *model);
  work = [this] {
    choices_ = restricted_choices(model->language(), request_.texts, request_.sets,
                                  ScoringOptions{}.batch_tokens);
    measures_ = measure_choices(choices_, {.resamples = 1000});
  };
}

std::string RestrictCall::answer() const {
  Json choices = Json::array();
  for (const RestrictedChoice& c : choices_) {
    const auto& words = request_.sets[static_cast<size_t>(c.set)].words;
    choices.push_back({{"text", c.sentence},
                       {"token", c.token},
                       {"set", c.set},
                       {"word", words[static_cast<size_t>(c.word)]},
                       {"chosen", words[static_cast<size_t>(c.chosen)]},
                       {"nats", json_number(c.nats)},
                       {"margin", json_number(c.margin)}});
  }
  const bool any = !choices_.empty();
  return json_text({{"model", model->name()},
                    {"positions", measures_.positions},
                    {"accuracy", any ? json_of(measures_.accuracy) : Json()},
                    {"cross_entropy", any ? json_of(measures_.cross_entropy) : Json()},
                    {"margin", any ? json_of(measures_.margin) : Json()},
                    {"choices", std::move(choices)}});
}

}  // namespace nine::app
