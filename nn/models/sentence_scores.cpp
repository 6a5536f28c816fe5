#include "nn/models/sentence_scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "core/quote.h"
#include "data/corpus.h"
#include "data/mixture_weights.h"
#include "data/text.h"
#include "nn/models/model_directory.h"
#include "nn/models/score_text.h"
#include "nn/models/shared_beginnings.h"
#include "nn/models/word_mixture.h"

namespace nine {
namespace {

std::vector<double> weights_of(const SentenceScoring& options, size_t models) {
  require(models > 0, "[score_sentences_once] there is no model to score with");
  if (options.weights.empty())
    return std::vector<double>(models, 1.0 / static_cast<double>(models));
  require(options.weights.size() == models, "there are ", options.weights.size(), " weights for ",
          models, models == 1 ? " model" : " models", "; give one weight for each model");
  double sum = 0;
  for (const double w : options.weights) {
    require(w >= 0 && std::isfinite(w), "a model's weight of ", w, " is not 0 or more");
    sum += w;
  }
  require(options.interpolation == Interpolation::linear ? std::fabs(sum - 1) < 1e-6 : sum > 0,
          "the models' weights add up to ", sum,
          options.interpolation == Interpolation::linear
              ? "; for linear interpolation they must add up to 1"
              : "; give at least one model a weight above 0");
  return options.weights;
}

int64_t words_of(const std::string& line) {
  int64_t words = 0;
  for_each_word(line, [&](std::string_view) { ++words; });
  return words;
}

// The different sentences, sorted by length, and the index of each sentence among them.
struct Distinct {
  std::vector<std::string> sentences;
  std::vector<size_t> of;

  explicit Distinct(std::span<const std::string> all) {
    std::unordered_map<std::string_view, size_t> places;
    std::vector<std::pair<int64_t, size_t>> order;  // length, first index
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

// Returns log(exp(a) + exp(b)), also if both exponentials are 0 in double.
double log_add(double a, double b) {
  if (a == -INFINITY) return b;
  if (b == -INFINITY) return a;
  return std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
}

// Interpolates the models' log-probabilities of all tokens.
class Interpolated {
 public:
  Interpolated(Interpolation how, std::vector<double> weights)
      : how_(how), weights_(std::move(weights)) {}
  // Returns a token's score before the first model is added.
  double none() const { return how_ == Interpolation::linear ? -INFINITY : 0; }
  double add(size_t model, double score, double log_p) const {
    const double weight = weights_[model];
    if (how_ == Interpolation::linear) return log_add(score, std::log(weight) + log_p);
    // A model with weight 0 has no effect, even if it excludes the token.
    return weight == 0 ? score : score + weight * log_p;
  }

 private:
  Interpolation how_;
  std::vector<double> weights_;
};

// Sums the tokens' scores of each different sentence, and sets log_p of all sentences.
void sum_sentences(const Distinct& distinct, std::span<const size_t> ends,
                   std::span<const double> tokens, SentenceScores& scores) {
  std::vector<double> own;
  for (size_t s = 0, at = 0; s < ends.size(); ++s) {
    own.push_back(0);
    bool finite = true;
    for (; at < ends[s]; ++at) {
      own.back() += tokens[at];
      finite = finite && std::isfinite(tokens[at]);
    }
    require(!finite || std::isfinite(own.back()), "the log-probabilities of the sentence ",
            quote(distinct.sentences[s]),
            " add up to more than a number holds: a model's weights are too large");
  }
  for (const size_t place : distinct.of) scores.log_p.push_back(own[place]);
}

// Scores with n-gram models among the models: a mixture over all words that some model knows.
SentenceScores score_with_ngrams(const std::vector<std::string>& models,
                                 std::span<const std::string> sentences,
                                 const SentenceScoring& options, std::span<const double> weights,
                                 const std::function<void(size_t, int64_t, int64_t)>& progress) {
  require(options.interpolation == Interpolation::linear,
          "n-gram models are mixed by linear interpolation, not log-linear");
  const Distinct distinct(sentences);
  const MixtureScores mixture = score_mixture(models, distinct.sentences,
                                              {.options = {.batch_tokens = options.batch_tokens},
                                               .undo_margin = {},
                                               .device = options.device},
                                              progress);
  SentenceScores scores{.log_p = {},
                        .distinct = std::ssize(distinct.sentences),
                        .tokens = mixture.tokens(),
                        .unknown = {}};
  for (const int64_t lacking : mixture.lacking) scores.unknown.push_back(lacking + mixture.unknown);
  sum_sentences(distinct, mixture.ends, mixture_log_p(mixture.log_p, weights), scores);
  return scores;
}

}  // namespace

SentenceScores score_sentences_once(const std::vector<std::string>& checkpoints,
                                    std::span<const std::string> sentences,
                                    const SentenceScoring& options,
                                    const std::function<void(size_t, int64_t, int64_t)>& progress) {
  const std::vector<double> weights = weights_of(options, checkpoints.size());
  if (std::any_of(checkpoints.begin(), checkpoints.end(), is_ngram_file))
    return score_with_ngrams(checkpoints, sentences, options, weights, progress);
  const Interpolated interpolated(options.interpolation, weights);
  const Distinct distinct(sentences);
  SentenceScores scores{.distinct = std::ssize(distinct.sentences)};
  std::vector<double> tokens;
  std::vector<size_t> ends;
  // Throws for a wrong name now, not after the work of the models before it.
  for (size_t m = 1; m < checkpoints.size(); ++m) {
    model_directory(checkpoints[m], kDictionaryFile);
    require_same_tokens(checkpoints[0], checkpoints[m]);
  }
  for (size_t m = 0; m < checkpoints.size(); ++m) {
    const LanguageModel model = LanguageModel::load(checkpoints[m], options.device);
    std::vector<std::string> lines = distinct.sentences;
    if (model.tokenizer() != nullptr)
      for (std::string& line : lines) line += '\n';  // the sentence's end
    const Corpus text = corpus_of(model, lines);
    scores.tokens = text.tokens();
    scores.unknown.push_back(text.unknown());
    tokens.resize(static_cast<size_t>(text.tokens()), interpolated.none());
    size_t at = 0;
    score_shared_beginnings(
        model, text, {.batch_tokens = options.batch_tokens},
        [&](std::span<const double> nats) {
          for (const double n : nats) {
            tokens[at] = interpolated.add(m, tokens[at], -n);
            ++at;
          }
          if (m == 0) ends.push_back(at);
        },
        [&](int64_t done) {
          if (progress) progress(m, done, text.tokens());
        });
  }
  sum_sentences(distinct, ends, tokens, scores);
  return scores;
}

}  // namespace nine
