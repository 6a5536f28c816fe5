#include "apps/lm_score/lm_compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/communicator.h"
#include "core/error.h"
#include "core/number_format.h"
#include "data/text.h"

namespace nine::app {
namespace {

std::string number(double x, const char* format = "%.6f") {
  char text[64];
  std::snprintf(text, sizeof text, format, x);
  return text;
}

// The sentences with the largest gains: `sign` 1 those that are likelier under B, -1 under A.
void write_worst(const ModelComparison& d, std::span<const std::string> lines, int64_t most,
                 int sign, std::ostream& out) {
  std::vector<int64_t> order;
  for (int64_t s = 0; s < static_cast<int64_t>(lines.size()); ++s)
    if (sign * d.sentence_gains[static_cast<size_t>(s)] > 0) order.push_back(s);
  const auto gain_of = [&](int64_t s) { return sign * d.sentence_gains[static_cast<size_t>(s)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t x, int64_t y) { return gain_of(x) > gain_of(y); });
  order.resize(std::min(order.size(), static_cast<size_t>(most)));
  std::vector<size_t> begin(lines.size());
  std::vector<std::string_view> words;
  const auto read_words = [&](size_t s) {
    if (!d.raw_tokens.empty()) return words.assign(d.raw_tokens[s].begin(), d.raw_tokens[s].end());
    split_words(lines[s], words);
    words.push_back(Specials::kLanguageModel.text(Specials::kLanguageModel.end));
  };
  size_t at = 0;
  for (size_t s = 0; s < lines.size(); ++s) {
    begin[s] = at;
    read_words(s);
    at += words.size();
  }
  for (const int64_t line : order) {
    const auto s = static_cast<size_t>(line);
    out << (sign > 0 ? 'B' : 'A') << '\t' << line + 1 << '\t'
        << number(d.sentence_gains[s], "%+.4f") << '\t'
        << number(d.sentence_gains[s] / static_cast<double>(d.sentence_tokens[s]), "%+.4f") << '\t';
    read_words(s);
    for (size_t t = 0; t < words.size(); ++t) {
      const double gain = d.gains[begin[s] + t];
      out << (t > 0 ? " " : "") << words[t] << '/'
          << (std::isnan(gain) ? "-" : number(gain, "%+.3f"));
    }
    out << '\n';
  }
}

void explain_left_out(const ModelComparison& d) {
  if (d.left_out() == 0) return;
  std::fprintf(stderr,
               "lm_score: the two models know different words; the comparison uses the %lld tokens "
               "that both know. Left out: %lld that only A knows, %lld that only B knows, %lld "
               "that neither knows\n",
               static_cast<long long>(d.tokens), static_cast<long long>(d.only_a),
               static_cast<long long>(d.only_b), static_cast<long long>(d.neither));
}

}  // namespace

void write_comparison(const std::string& a, const std::string& b,
                      std::span<const std::string> lines, const CompareOptions& options,
                      std::ostream& out, Communicator& communicator) {
  const ModelComparison d =
      compare_models(a, b, lines, options.scoring, options.device, communicator);
  require(d.tokens > 0, "the text has no token that both models know");
  const auto tokens = static_cast<double>(d.tokens);
  const Interval gain =
      bootstrap_gain(d.sentence_gains, d.sentence_tokens, options.resamples, options.seed);
  out << "# gain: log p(B) - log p(A) in nats, above 0 where B is better; ratio: perplexity of B / "
         "perplexity of A\n";
  out << "model A\t" << a << "\nmodel B\t" << b << '\n';
  out << "sentences\t" << lines.size() << "\ntokens\t" << d.tokens << '\n';
  if (d.left_out() > 0)
    out << "left out\t" << d.only_a << "\t" << d.only_b << "\t" << d.neither
        << "\tknown to A only, B only, neither\n";
  out << "perplexity A\t" << power_of_e(d.nats_a / tokens, 5) << "\nperplexity B\t"
      << power_of_e(d.nats_b / tokens, 5) << '\n';
  out << "mean gain\t" << number(d.total_gain() / tokens) << '\n';
  out << "ratio\t" << power_of_e(-d.total_gain() / tokens, 6) << "\n95% interval\t"
      << power_of_e(-gain.high, 6) << '\t' << power_of_e(-gain.low, 6) << '\n';
  if (communicator.first()) explain_left_out(d);
  if (options.worst == 0) return;
  out << "better\tline\tgain\tgain per token\twords\n";
  for (const int sign : {1, -1}) write_worst(d, lines, options.worst, sign, out);
}

}  // namespace nine::app
