#include "data/measures/bleu.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/number_format.h"
#include "data/lower_case.h"
#include "data/measures/ngrams.h"
#include "data/tokenize_13a.h"

namespace nine {

namespace {

constexpr size_t kOrders = 4;

double value_of(const BleuOptions& o) {
  return o.smooth_value.value_or(o.smoothing == BleuSmoothing::floor ? 0.1 : 1.0);
}

std::string smoothing_name(const BleuOptions& o) {
  switch (o.smoothing) {
    case BleuSmoothing::exp:
      return "exp";
    case BleuSmoothing::floor:
      return concat("floor[", fixed(value_of(o), 2), "]");
    case BleuSmoothing::add_k:
      return concat("add-k[", fixed(value_of(o), 2), "]");
    case BleuSmoothing::none:
      return "none";
  }
  return {};
}

Units units_of(const std::string& line, const BleuOptions& o) {
  std::string text = o.lowercase ? lower_case(line) : line;
  return word_units(o.tokenizer == BleuTokenizer::mteval_13a ? tokenize_13a(text) : text);
}

}  // namespace

BleuCounts& BleuCounts::operator+=(const BleuCounts& other) {
  for (size_t n = 0; n < kOrders; ++n) ngrams[n] += other.ngrams[n];
  hypothesis_length += other.hypothesis_length;
  reference_length += other.reference_length;
  return *this;
}

BleuCounts count_bleu(const std::string& hypothesis, const std::string& reference,
                      const BleuOptions& options) {
  const Units own = units_of(hypothesis, options), expected = units_of(reference, options);
  BleuCounts counts{.hypothesis_length = static_cast<int64_t>(own.size()),
                    .reference_length = static_cast<int64_t>(expected.size())};
  for (size_t n = 1; n <= kOrders; ++n) counts.ngrams[n - 1] = count_ngrams(own, expected, n);
  return counts;
}

BleuScore corpus_bleu(std::span<const std::string> hypotheses,
                      std::span<const std::string> references, const BleuOptions& options) {
  require_pairs("corpus_bleu", hypotheses.size(), references.size());
  BleuCounts counts;
  for (size_t i = 0; i < hypotheses.size(); ++i)
    counts += count_bleu(hypotheses[i], references[i], options);
  return bleu_of(counts, options);
}

BleuScore bleu_of(const BleuCounts& all_counts, const BleuOptions& options) {
  BleuScore out{.hypothesis_length = all_counts.hypothesis_length,
                .reference_length = all_counts.reference_length};
  out.signature = concat("nrefs:1|case:", options.lowercase ? "lc" : "mixed",
                         "|eff:no|tok:", options.tokenizer == BleuTokenizer::none ? "none" : "13a",
                         "|smooth:", smoothing_name(options), "|version:", kSacrebleuVersion);
  const std::array<NgramCounts, kOrders>& counts = all_counts.ngrams;
  if (out.hypothesis_length < out.reference_length)
    out.brevity_penalty = out.hypothesis_length > 0
                              ? std::exp(1 - static_cast<double>(out.reference_length) /
                                                 static_cast<double>(out.hypothesis_length))
                              : 0;
  if (std::all_of(counts.begin(), counts.end(), [](const NgramCounts& c) { return c.shared == 0; }))
    return out;

  double halved = 1;
  for (size_t n = 0; n < kOrders; ++n) {
    const double added = options.smoothing == BleuSmoothing::add_k && n > 0 ? value_of(options) : 0;
    const double shared = static_cast<double>(counts[n].shared) + added,
                 total = static_cast<double>(counts[n].hypothesis) + added;
    if (total == 0) break;
    double matches = shared;
    if (shared == 0 && options.smoothing == BleuSmoothing::exp) matches = 1 / (halved *= 2);
    if (shared == 0 && options.smoothing == BleuSmoothing::floor) matches = value_of(options);
    out.precisions[n] = 100 * matches / total;
  }
  double logs = 0;
  for (double p : out.precisions)
    logs += std::log(p);  // -inf if an order has no match; the score is then 0
  // Four precisions of 100 give a number above 100 by rounding.
  out.score = std::min(100.0, out.brevity_penalty * std::exp(logs / kOrders));
  return out;
}

std::string BleuScore::text(int decimals) const {
  const double ratio = reference_length > 0 ? static_cast<double>(hypothesis_length) /
                                                  static_cast<double>(reference_length)
                                            : 0;
  std::string precision_text;
  for (double p : precisions)
    precision_text += concat(precision_text.empty() ? "" : "/", fixed(p, 1));
  return concat("BLEU|", signature, " = ", fixed(score, decimals), " ", precision_text,
                " (BP = ", fixed(brevity_penalty, 3), " ratio = ", fixed(ratio, 3),
                " hyp_len = ", hypothesis_length, " ref_len = ", reference_length, ")");
}

}  // namespace nine
