#include "nn/models/compare_models.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "data/corpus.h"
#include "nn/models/model_directory.h"
#include "nn/models/score_text.h"

namespace nine {
namespace {

// One model's scores of a text, for all tokens in order.
struct Scored {
  Vocabulary vocabulary;
  Corpus text;
  std::vector<double> nats;
  bool raw;  // the model reads raw text
};

Scored score_with(const std::string& checkpoint, Device device, std::span<const std::string> lines,
                  const ScoringOptions& options, Communicator& communicator) {
  const LanguageModel model = LanguageModel::load(checkpoint, device);
  Scored s{model.vocabulary(),
           corpus_of(model, lines, options.carry_state),
           {},
           model.tokenizer() != nullptr};
  score_text(
      model, s.text, options,
      [&](std::span<const double> nats) { s.nats.insert(s.nats.end(), nats.begin(), nats.end()); },
      communicator);
  return s;
}

// Two models' scores of the same text.
struct ScoredByBoth {
  Scored a, b;
};

ScoredByBoth score_with_both(const std::string& a, const std::string& b, Device device,
                             std::span<const std::string> lines, const ScoringOptions& options,
                             Communicator& communicator) {
  model_directory(b, kDictionaryFile);  // throws for a wrong name now, not after the work of A
  require_same_tokens(a, b);
  Scored first = score_with(a, device, lines, options, communicator);
  return {std::move(first), score_with(b, device, lines, options, communicator)};
}

bool same_words(const Vocabulary& a, const Vocabulary& b) {
  if (a.size() != b.size()) return false;
  for (int32_t id = Specials::kLanguageModel.unknown + 1; id < a.size(); ++id)
    if (b.id(a.word(id)) == Specials::kLanguageModel.unknown) return false;
  return true;
}

ModelComparison differences(const Scored& a, const Scored& b) {
  const bool same = same_words(a.vocabulary, b.vocabulary);
  ModelComparison d;
  d.gains.assign(a.nats.size(), std::nan(""));
  if (a.raw)
    for (int64_t s = 0; s < a.text.sentences(); ++s) {
      std::vector<std::string>& tokens = d.raw_tokens.emplace_back();
      for (const int32_t id : a.text.sentence(s)) tokens.push_back(a.vocabulary.word(id));
    }
  size_t i = 0;
  for (int64_t s = 0; s < a.text.sentences(); ++s) {
    d.sentence_gains.push_back(0);
    d.sentence_tokens.push_back(0);
    for (int64_t t = 0; t < a.text.length(s); ++t, ++i) {
      const bool in_a = a.text.flat()[i] != Specials::kLanguageModel.unknown,
                 in_b = b.text.flat()[i] != Specials::kLanguageModel.unknown;
      if (!same && !(in_a && in_b)) {
        ++(in_a ? d.only_a : in_b ? d.only_b : d.neither);
        continue;
      }
      for (const Scored* model : {&a, &b})
        require(
            std::isfinite(model->nats[i]), "a model excludes '",
            model->vocabulary.word(model->text.flat()[i]), "' of line ", s + 1,
            " by a bias of -inf, so the gain is not finite: leave out lines with excluded words");
      d.gains[i] = a.nats[i] - b.nats[i];
      d.sentence_gains.back() += d.gains[i];
      d.nats_a += a.nats[i];
      d.nats_b += b.nats[i];
      ++d.sentence_tokens.back();
      ++d.tokens;
    }
    require(std::isfinite(d.nats_a) && std::isfinite(d.nats_b), "up to line ", s + 1,
            " the log-probabilities of a model add up to more than a number holds: its weights are "
            "too large");
  }
  return d;
}

}  // namespace

double ModelComparison::total_gain() const {
  return std::accumulate(sentence_gains.begin(), sentence_gains.end(), 0.0);
}

ModelComparison compare_models(const std::string& a, const std::string& b,
                               std::span<const std::string> lines, const ScoringOptions& scoring,
                               Device device) {
  return compare_models(a, b, lines, scoring, device, one_process());
}

ModelComparison compare_models(const std::string& a, const std::string& b,
                               std::span<const std::string> lines, const ScoringOptions& scoring,
                               Device device, Communicator& communicator) {
  const ScoredByBoth scored = score_with_both(a, b, device, lines, scoring, communicator);
  return differences(scored.a, scored.b);
}

Interval bootstrap_gain(std::span<const double> gains, std::span<const int64_t> tokens,
                        int64_t resamples, uint64_t seed) {
  require(resamples >= 1 && gains.size() == tokens.size(), "[bootstrap_gain] ", resamples,
          " resamples of ", gains.size(), " gains and ", tokens.size(),
          " token counts: needs at least one resample, and a count for each gain");
  const std::vector<double> counts(tokens.begin(), tokens.end());
  return percentile_interval(
      bootstrap_ratios(gains, counts, {.resamples = resamples, .seed = seed}));
}

WordDifferences word_differences(const std::string& a, const std::string& b,
                                 std::span<const std::string> lines, const ScoringOptions& scoring,
                                 Device device) {
  const ScoredByBoth scored = score_with_both(a, b, device, lines, scoring, one_process());
  const ModelComparison d = differences(scored.a, scored.b);
  std::map<int32_t, WordDifference> by_id;
  for (size_t i = 0; i < d.gains.size(); ++i) {
    if (std::isnan(d.gains[i])) continue;
    WordDifference& word = by_id[scored.a.text.flat()[i]];
    ++word.count;
    word.gain += d.gains[i];
  }
  WordDifferences out{
      .words = {}, .tokens = d.tokens, .left_out = d.left_out(), .gain = d.total_gain()};
  for (auto& [id, word] : by_id) {
    word.word = scored.a.vocabulary.word(id);
    out.words.push_back(std::move(word));
  }
  std::sort(out.words.begin(), out.words.end(),
            [](const WordDifference& x, const WordDifference& y) {
              return x.gain != y.gain ? x.gain > y.gain : x.word < y.word;
            });
  return out;
}

}  // namespace nine
