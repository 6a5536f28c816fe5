#include "nn/models/sentence_scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "data/corpus.h"
#include "data/text.h"
#include "nn/models/score_text.h"

namespace nine {
namespace {

std::vector<double> weights_of(const SentenceScoring& options, size_t models) {
  require(models > 0, "[score_sentences_once] there is no model to score with");
  if (options.weights.empty())
    return std::vector<double>(models, 1.0 / static_cast<double>(models));
  require(options.weights.size() == models, "there are ", options.weights.size(), " weights for ",
          models, models == 1 ? " model" : " models", "; each has one");
  double sum = 0;
  for (const double w : options.weights) {
    require(w >= 0 && std::isfinite(w), "a model's weight of ", w, " is not 0 or more");
    sum += w;
  }
  require(options.interpolation == Interpolation::linear ? std::fabs(sum - 1) < 1e-6 : sum > 0,
          "the models' weights add up to ", sum,
          options.interpolation == Interpolation::linear
              ? "; those of probabilities must add up to 1"
              : ", so that no model has a say");
  return options.weights;
}

int64_t words_of(const std::string& line) {
  int64_t words = 0;
  for_each_word(line, [&](std::string_view) { ++words; });
  return words;
}

// The different sentences, by length, and which one each sentence is.
struct Distinct {
  std::vector<std::string> sentences;
  std::vector<size_t> of;

  explicit Distinct(std::span<const std::string> all) {
    std::unordered_map<std::string_view, size_t> places;
    std::vector<std::pair<int64_t, size_t>> order;  // length, first place
    for (size_t i = 0; i < all.size(); ++i)
      if (places.emplace(all[i], 0).second) order.emplace_back(words_of(all[i]), i);
    std::sort(order.begin(), order.end());
    for (size_t i = 0; i < order.size(); ++i) {
      places[all[order[i].second]] = i;
      sentences.push_back(all[order[i].second]);
    }
    for (const std::string& sentence : all) of.push_back(places[sentence]);
  }
};

// Interpolates the models' log-probabilities of all tokens.
class Interpolated {
 public:
  Interpolated(Interpolation how, std::vector<double> weights)
      : how_(how), weights_(std::move(weights)) {}
  void add(size_t model, std::vector<double>& sum, size_t at, double log_p) const {
    if (how_ == Interpolation::linear)
      sum[at] += weights_[model] * std::exp(log_p);
    else
      sum[at] += weights_[model] * log_p;
  }
  double log_p(double sum) const { return how_ == Interpolation::linear ? std::log(sum) : sum; }

 private:
  Interpolation how_;
  std::vector<double> weights_;
};

}  // namespace

SentenceScores score_sentences_once(const std::vector<std::string>& checkpoints,
                                    std::span<const std::string> sentences,
                                    const SentenceScoring& options,
                                    const std::function<void(size_t, int64_t, int64_t)>& progress) {
  const Interpolated interpolated(options.interpolation, weights_of(options, checkpoints.size()));
  const Distinct distinct(sentences);
  SentenceScores scores{.distinct = std::ssize(distinct.sentences)};
  std::vector<double> tokens, own;
  std::vector<size_t> ends;
  // One model: the log-probabilities themselves, without exp and log.
  const bool one = checkpoints.size() == 1 && options.weights.empty();
  for (size_t m = 0; m < checkpoints.size(); ++m) {
    const LanguageModel model = LanguageModel::load(checkpoints[m], options.device);
    const Corpus text = Corpus::of_lines(distinct.sentences, model.vocabulary());
    scores.tokens = text.tokens();
    scores.unknown.push_back(text.unknown());
    tokens.resize(static_cast<size_t>(text.tokens()));
    size_t at = 0;
    score_text(model, text, {.batch_tokens = options.batch_tokens},
               [&](std::span<const double> nats) {
                 for (const double n : nats)
                   if (one)
                     tokens[at++] = -n;
                   else
                     interpolated.add(m, tokens, at++, -n);
                 if (m == 0) ends.push_back(at);
                 if (progress) progress(m, static_cast<int64_t>(at), text.tokens());
               });
  }
  for (size_t s = 0, at = 0; s < ends.size(); ++s) {
    own.push_back(0);
    for (; at < ends[s]; ++at) own.back() += one ? tokens[at] : interpolated.log_p(tokens[at]);
  }
  for (const size_t place : distinct.of) scores.log_p.push_back(own[place]);
  return scores;
}

}  // namespace nine
