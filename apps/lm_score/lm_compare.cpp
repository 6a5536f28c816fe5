#include "apps/lm_score/lm_compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>

#include "core/random.h"
#include "core/threads.h"
#include "data/text.h"

namespace nine::app {
namespace {

// A text as one model sees it, all tokens one after another.
struct Scored {
  Vocabulary vocabulary;
  Corpus text;
  std::vector<double> nats;
};

Scored score_with(const std::string& checkpoint, Device device, std::span<const std::string> lines,
                  const ScoringOptions& reading) {
  const SavedLanguageModel model(checkpoint, device);  // one model in memory at a time
  Scored s{model.vocabulary(), Corpus::of_lines(lines, model.vocabulary()), {}};
  score_text(model, s.text, reading, [&](std::span<const double> nats) {
    s.nats.insert(s.nats.end(), nats.begin(), nats.end());
  });
  return s;
}

bool same_words(const Vocabulary& a, const Vocabulary& b) {
  if (a.size() != b.size()) return false;
  for (int32_t id = Specials::kLanguageModel.unknown + 1; id < a.size(); ++id)
    if (b.id(a.word(id)) == Specials::kLanguageModel.unknown) return false;
  return true;
}

struct Differences {
  std::vector<double> gain;       // of each token; NaN: left out
  std::vector<double> sums;       // of each sentence
  std::vector<int64_t> counts;    // tokens compared in each sentence
  double nats_a = 0, nats_b = 0;  // over the tokens compared
  int64_t tokens = 0, only_a = 0, only_b = 0,
          neither = 0;  // compared; known to one model only; to none
  double total() const { return std::accumulate(sums.begin(), sums.end(), 0.0); }
};

Differences differences(const Scored& a, const Scored& b) {
  const bool same = same_words(a.vocabulary, b.vocabulary);
  Differences d;
  d.gain.assign(a.nats.size(), std::nan(""));
  size_t i = 0;
  for (int64_t s = 0; s < a.text.sentences(); ++s) {
    d.sums.push_back(0);
    d.counts.push_back(0);
    for (int64_t t = 0; t < a.text.length(s); ++t, ++i) {
      const bool in_a = a.text.flat()[i] != Specials::kLanguageModel.unknown,
                 in_b = b.text.flat()[i] != Specials::kLanguageModel.unknown;
      if (!same && !(in_a && in_b)) {
        ++(in_a ? d.only_a : in_b ? d.only_b : d.neither);
        continue;
      }
      if (std::isnan(a.nats[i])) continue;
      d.gain[i] = a.nats[i] - b.nats[i];
      d.sums.back() += d.gain[i];
      d.nats_a += a.nats[i];
      d.nats_b += b.nats[i];
      ++d.counts.back();
      ++d.tokens;
    }
  }
  return d;
}

std::string number(double x, const char* format = "%.6f") {
  char text[64];
  std::snprintf(text, sizeof text, format, x);
  return text;
}

// The sentences that differ most one way: `sign` 1 for those that B finds likelier.
void write_worst(const Differences& d, std::span<const std::string> lines, int64_t most, int sign,
                 std::ostream& out) {
  std::vector<int64_t> order;
  for (int64_t s = 0; s < static_cast<int64_t>(lines.size()); ++s)
    if (sign * d.sums[static_cast<size_t>(s)] > 0) order.push_back(s);
  const auto gain_of = [&](int64_t s) { return sign * d.sums[static_cast<size_t>(s)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t x, int64_t y) { return gain_of(x) > gain_of(y); });
  order.resize(std::min(order.size(), static_cast<size_t>(most)));
  std::vector<size_t> begin(lines.size());
  std::vector<std::string_view> words;
  size_t at = 0;
  for (size_t s = 0; s < lines.size(); ++s) {
    begin[s] = at;
    split_words(lines[s], words);
    at += words.size() + 1;
  }
  for (const int64_t line : order) {
    const auto s = static_cast<size_t>(line);
    out << (sign > 0 ? 'B' : 'A') << '\t' << line + 1 << '\t' << number(d.sums[s], "%+.4f") << '\t'
        << number(d.sums[s] / static_cast<double>(d.counts[s]), "%+.4f") << '\t';
    split_words(lines[s], words);
    words.push_back(Specials::kLanguageModel.text(Specials::kLanguageModel.end));
    for (size_t t = 0; t < words.size(); ++t) {
      const double gain = d.gain[begin[s] + t];
      out << (t > 0 ? " " : "") << words[t] << '/'
          << (std::isnan(gain) ? "-" : number(gain, "%+.3f"));
    }
    out << '\n';
  }
}

void explain_left_out(const Differences& d) {
  if (d.only_a + d.only_b + d.neither == 0) return;
  std::fprintf(stderr,
               "lm_score: the two models know different words; compared are the %lld tokens that "
               "both know. Left out: %lld that only A knows, "
               "%lld that only B knows, %lld that neither knows\n",
               static_cast<long long>(d.tokens), static_cast<long long>(d.only_a),
               static_cast<long long>(d.only_b), static_cast<long long>(d.neither));
}

}  // namespace

Interval bootstrap_ratio(std::span<const double> gains, std::span<const int64_t> tokens,
                         int64_t resamples, uint64_t seed) {
  std::vector<double> ratios(static_cast<size_t>(resamples));
  parallel_for(
      resamples,
      [&](int64_t i) {
        RandomStream random(
            {.seed = seed, .step = static_cast<uint32_t>(i), .op = stream_id("bootstrap")});
        double gain = 0;
        int64_t count = 0;
        for (size_t n = 0; n < gains.size(); ++n) {
          const auto s = static_cast<size_t>(random.below(gains.size()));
          gain += gains[s];
          count += tokens[s];
        }
        ratios[static_cast<size_t>(i)] =
            count > 0 ? std::exp(-gain / static_cast<double>(count)) : 1.0;
      },
      100.0 * static_cast<double>(resamples) * static_cast<double>(gains.size()));
  std::sort(ratios.begin(), ratios.end());
  const auto n = static_cast<double>(resamples);
  return {ratios[static_cast<size_t>(std::floor(0.025 * n))],
          ratios[static_cast<size_t>(std::ceil(0.975 * n)) - 1]};
}

void compare_models(const std::string& a, const std::string& b, std::span<const std::string> lines,
                    const CompareOptions& how, std::ostream& out) {
  const Differences d = differences(score_with(a, how.device, lines, how.reading),
                                    score_with(b, how.device, lines, how.reading));
  require(d.tokens > 0, "there is no token to compare",
          how.reading.carry_state ? ": the text fills no row of 10 columns; leave out --carry-state"
                                  : "");
  const auto tokens = static_cast<double>(d.tokens);
  const Interval interval = bootstrap_ratio(d.sums, d.counts, how.resamples, how.seed);
  out << "# gain: log p(B) - log p(A) in nats, above 0 where B is better; ratio: perplexity of B / "
         "perplexity of A\n";
  out << "model A\t" << a << "\nmodel B\t" << b << '\n';
  out << "sentences\t" << lines.size() << "\ntokens\t" << d.tokens << '\n';
  if (d.only_a + d.only_b + d.neither > 0)
    out << "left out\t" << d.only_a << "\t" << d.only_b << "\t" << d.neither
        << "\tknown to A only, B only, neither\n";
  out << "perplexity A\t" << number(std::exp(d.nats_a / tokens), "%.5f") << "\nperplexity B\t"
      << number(std::exp(d.nats_b / tokens), "%.5f") << '\n';
  out << "mean gain\t" << number(d.total() / tokens) << '\n';
  out << "ratio\t" << number(std::exp(-d.total() / tokens)) << "\n95% interval\t"
      << number(interval.low) << '\t' << number(interval.high) << '\n';
  explain_left_out(d);
  if (how.worst == 0) return;
  out << "better\tline\tgain\tgain per token\twords\n";
  for (const int sign : {1, -1}) write_worst(d, lines, how.worst, sign, out);
}

WordDifferences word_differences(const std::string& a, const std::string& b,
                                 std::span<const std::string> lines, const CompareOptions& how) {
  const Scored first = score_with(a, how.device, lines, how.reading);
  const Differences d = differences(first, score_with(b, how.device, lines, how.reading));
  std::map<int32_t, WordDifference> by_id;
  for (size_t i = 0; i < d.gain.size(); ++i) {
    if (std::isnan(d.gain[i])) continue;
    WordDifference& word = by_id[first.text.flat()[i]];
    ++word.count;
    word.gain += d.gain[i];
  }
  WordDifferences out{.words = {},
                      .tokens = d.tokens,
                      .left_out = d.only_a + d.only_b + d.neither,
                      .gain = d.total()};
  for (auto& [id, word] : by_id) {
    word.word = first.vocabulary.word(id);
    out.words.push_back(std::move(word));
  }
  std::sort(out.words.begin(), out.words.end(),
            [](const WordDifference& x, const WordDifference& y) {
              return x.gain != y.gain ? x.gain > y.gain : x.word < y.word;
            });
  return out;
}

}  // namespace nine::app
