#include "apps/lm_score/lm_mixture.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <string_view>

#include "apps/cli/option_conflicts.h"
#include "apps/cli/progress.h"
#include "apps/cli/text_io.h"
#include "apps/lm_score/margin_correction.h"
#include "core/error.h"
#include "core/number_format.h"
#include "core/quote.h"
#include "data/mixture_weights.h"
#include "data/text.h"
#include "data/unknown_words.h"
#include "nn/models/word_mixture.h"

namespace nine::app {
namespace {

constexpr int kWeightDigits = 9;  // of tuned weights: few enough to type, and they sum to 1

// Nats of some of a text's tokens.
struct Nats {
  double sum = 0;
  int64_t tokens = 0, impossible = 0;

  void add(double log_p) {
    ++tokens;
    if (std::isinf(log_p)) ++impossible;
    sum -= log_p;
  }
  std::string perplexity() const {
    return tokens > 0 ? power_of_e(sum / static_cast<double>(tokens), 5) : "-";
  }
};

Nats nats_of(std::span<const double> log_p, const std::vector<bool>* among = nullptr) {
  Nats nats;
  for (size_t t = 0; t < log_p.size(); ++t)
    if (among == nullptr || (*among)[t]) nats.add(log_p[t]);
  return nats;
}

MixtureScores scores_of(const MixtureOptions& o, std::span<const std::string> lines,
                        const std::string& name) {
  MixtureScoring how{.options = o.scoring, .undo_margin = {}, .device = o.device};
  if (o.undo_margins)
    for (const std::string& model : o.models)
      how.undo_margin.push_back(is_ngram_file(model) ? 0 : margin_to_undo(model));
  Progress progress("score " + name, "tokens");
  const auto models = static_cast<int64_t>(o.models.size());
  MixtureScores scores =
      score_mixture(o.models, lines, how, [&](size_t model, int64_t done, int64_t all) {
        progress.update(static_cast<int64_t>(model) * all + done, models * all);
      });
  progress.finish();
  for (size_t m = 0; m < o.models.size(); ++m)
    require_known({.tokens = scores.tokens(), .unknown = scores.lacking[m] + scores.unknown},
                  o.max_unknown, name, concat("the model ", o.models[m]));
  return scores;
}

bool has_words(const std::string& line) {
  return line.find_first_not_of(" \t") != std::string::npos;
}

// Says that words <s> are the beginning of a sentence for n-gram models, which never predict it.
void say_beginnings(const MixtureOptions& o, std::span<const std::string> lines,
                    const std::string& name) {
  if (!std::any_of(o.models.begin(), o.models.end(), is_ngram_file)) return;
  int64_t beginnings = 0;
  for (const std::string& line : lines)
    for_each_word(line, [&](std::string_view word) { beginnings += word == "<s>" ? 1 : 0; });
  if (beginnings > 0)
    std::fprintf(stderr,
                 "lm_score: %s: %lld %s spelled <s>, which begins a sentence in n-gram models, so "
                 "that they give it next to no probability within a text: remove it\n",
                 name.c_str(), static_cast<long long>(beginnings),
                 beginnings == 1 ? "word is" : "words are");
}

// Warns if half of the different lines to score, or more, are in the text that weights are found
// on.
void warn_of_tuning_text(std::span<const std::string> tuning, const std::string& tuning_name,
                         std::span<const std::string> lines, const std::string& name) {
  const std::set<std::string_view> tuned(tuning.begin(), tuning.end()),
      own(lines.begin(), lines.end());
  int64_t same = 0, all = 0;
  for (const std::string_view line : own) {
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    ++all;
    same += tuned.contains(line) ? 1 : 0;
  }
  if (same > 0 && 2 * same >= all)
    std::fprintf(stderr,
                 "lm_score: warning: weights are found on the text that they are used for: %lld of "
                 "%lld different lines of %s are in %s too, so that the figures are better than "
                 "those of another text would be\n",
                 static_cast<long long>(same), static_cast<long long>(all), name.c_str(),
                 tuning_name.c_str());
}

std::vector<double> tuned_weights(const MixtureOptions& o, std::span<const std::string> scored,
                                  const std::string& name) {
  const std::vector<std::string> lines = read_lines(o.tune);
  require(std::any_of(lines.begin(), lines.end(), has_words), o.tune,
          " has no words to tune weights on");
  warn_of_tuning_text(lines, o.tune, scored, name);
  say_beginnings(o, lines, o.tune);
  const MixtureScores scores = scores_of(o, lines, o.tune);
  const TunedMixtureWeights tuned = tune_mixture_weights(scores.log_p);
  std::vector<double> weights;
  std::string flags;
  for (const double weight : tuned.weights) {
    flags += ' ' + fixed(weight, kWeightDigits);
    double rounded = 0;
    parse_number(fixed(weight, kWeightDigits), rounded);
    weights.push_back(rounded);
  }
  std::fprintf(
      stderr,
      "lm_score: EM on %s, %lld tokens, %lld updates: perplexity %s with equal weights, %s "
      "with --weights%s; no weights are better by a factor of more than %s%s\n",
      o.tune.c_str(), static_cast<long long>(tuned.tokens),
      static_cast<long long>(std::ssize(tuned.mean_log_p) - 1),
      power_of_e(-tuned.mean_log_p.front(), 5).c_str(),
      power_of_e(-tuned.mean_log_p.back(), 5).c_str(), flags.c_str(),
      fixed(std::exp(tuned.gap), kWeightDigits).c_str(),
      tuned.stopped ? " (the search was stopped)" : "");
  if (scores.tokens() > tuned.tokens)
    std::fprintf(stderr,
                 "lm_score: EM left out %lld tokens of %s, to which no model gives a probability\n",
                 static_cast<long long>(scores.tokens() - tuned.tokens), o.tune.c_str());
  return weights;
}

void write_lines(const MixtureScores& scores, std::span<const double> log_p, bool tokens,
                 std::ostream& out) {
  size_t at = 0;
  for (const size_t end : scores.ends) {
    double sum = 0;
    for (const size_t begin = at; at < end; ++at) {
      if (tokens) out << (at > begin ? " " : "") << shortest(log_p[at]);
      sum += log_p[at];
    }
    if (!tokens) out << shortest(sum);
    out << '\n';
  }
}

void explain(const MixtureOptions& o, std::span<const double> weights, const MixtureScores& scores,
             std::span<const double> log_p) {
  const std::vector<bool>& common = scores.known_to_all;
  const auto shared = static_cast<long long>(std::count(common.begin(), common.end(), true));
  for (size_t m = 0; m < o.models.size(); ++m) {
    std::fprintf(stderr, "%s: weight %s, perplexity %s over the %lld tokens that all models know",
                 o.models[m].c_str(), fixed(weights[m], kWeightDigits).c_str(),
                 nats_of(scores.log_p[m], &common).perplexity().c_str(), shared);
    if (scores.lacking[m] > 0)
      std::fprintf(stderr, "; lacks %lld tokens that another model knows: probability 0",
                   static_cast<long long>(scores.lacking[m]));
    std::fprintf(stderr, "\n");
  }
  const Nats all = nats_of(log_p);
  std::fprintf(
      stderr,
      "mixture: perplexity %s over these; perplexity %s over %lld tokens (%lld sentences, %s%% "
      "unknown tokens)\n",
      nats_of(log_p, &common).perplexity().c_str(), all.perplexity().c_str(),
      static_cast<long long>(all.tokens), static_cast<long long>(scores.ends.size()),
      fixed(100.0 * static_cast<double>(scores.unknown) / static_cast<double>(all.tokens), 2)
          .c_str());
  if (all.impossible > 0)
    std::fprintf(stderr,
                 "lm_score: tokens of probability 0: %lld, which every model of a weight above 0 "
                 "lacks or excludes\n",
                 static_cast<long long>(all.impossible));
}

}  // namespace

double mixture_weight(const std::string& text) {
  double weight = 0;
  require(parse_number(text, weight) && weight >= 0 && weight <= 1, quote(text),
          " is not a number from 0 to 1");
  return weight;
}

std::vector<double> read_mixture_weights(const std::vector<std::string>& texts, size_t models) {
  if (texts.empty()) return {};
  require_usage(texts.size() == models, "--weights gives ", texts.size(), " numbers for ", models,
                models == 1 ? " model" : " models", ": give one for each, --checkpoint's first");
  std::vector<double> weights;
  double sum = 0;
  for (const std::string& text : texts) {
    weights.push_back(mixture_weight(text));
    sum += weights.back();
  }
  require_usage(std::fabs(sum - 1) < 1e-6, "--weights add up to ", sum, ", and not to 1");
  return weights;
}

void write_mixture(const MixtureOptions& o, std::span<const std::string> lines,
                   const std::string& name, std::ostream& out) {
  std::vector<double> weights = o.weights;
  if (!o.tune.empty()) weights = tuned_weights(o, lines, name);
  say_beginnings(o, lines, name);
  if (weights.empty()) weights.assign(o.models.size(), 1.0 / static_cast<double>(o.models.size()));
  const MixtureScores scores = scores_of(o, lines, name);
  const std::vector<double> log_p = mixture_log_p(scores.log_p, weights);
  write_lines(scores, log_p, o.tokens, out);
  if (scores.tokens() > 0) explain(o, weights, scores, log_p);
}

}  // namespace nine::app
