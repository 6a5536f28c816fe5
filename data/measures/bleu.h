// BLEU of a translation against one reference a line (Papineni et al., ACL 2002), equal to
// sacreBLEU's score and signature.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/enum_names.h"
#include "data/measures/ngrams.h"

namespace nine {

/// The release of sacreBLEU that a test compares the scores with (tests/clients/bleu_reference.py).
/// The signatures state it.
inline constexpr std::string_view kSacrebleuVersion = "2.6.0";

/// The tokenizer before BLEU: mteval_13a is sacreBLEU's 13a; none splits at white space.
enum class BleuTokenizer { none, mteval_13a };
template <>
inline constexpr EnumNames<BleuTokenizer, 2> kEnumNames<BleuTokenizer>{
    "tokenizer", {{{BleuTokenizer::mteval_13a, "13a"}, {BleuTokenizer::none, "none"}}}};

/// The treatment of n-gram orders without a match (Chen and Cherry, WMT 2014).
enum class BleuSmoothing {
  exp,    ///< 1/2 match for the lowest order without a match, 1/4 for the next one, ...
  floor,  ///< `smooth_value` matches for each order without a match
  add_k,  ///< adds `smooth_value` n-grams and matches to every order but the first
  none    ///< the score is 0 if an order has no match
};
template <>
inline constexpr EnumNames<BleuSmoothing, 4> kEnumNames<BleuSmoothing>{
    "smoothing of BLEU",
    {{{BleuSmoothing::exp, "exp"},
      {BleuSmoothing::floor, "floor"},
      {BleuSmoothing::add_k, "add-k"},
      {BleuSmoothing::none, "none"}}}};

/// Settings of BLEU; the defaults are sacreBLEU's.
struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::mteval_13a;  ///< none: white space separates the words
  bool lowercase = false;
  BleuSmoothing smoothing = BleuSmoothing::exp;
  std::optional<double> smooth_value;  ///< for floor (default 0.1) and add_k (default 1)
};

/// BLEU of a text, with its parts.
struct BleuScore {
  double score = 0;                    ///< 0 to 100
  std::array<double, 4> precisions{};  ///< of 1- to 4-grams, 0 to 100, smoothed
  double brevity_penalty = 1;
  int64_t hypothesis_length = 0, reference_length = 0;  ///< words
  std::string signature;  ///< "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"

  /// Returns "BLEU|nrefs:1|... = 41.2 71.5/48.3/33.9/24.4 (BP = 1.000 ratio = 1.002 hyp_len = 12112
  /// ref_len = 12090)", as sacrebleu --format text --width does. The score has `decimals` decimals.
  std::string text(int decimals = 1) const;
};

/// What BLEU counts in one or more lines: n-grams of 1 to 4 words, words.
struct BleuCounts {
  std::array<NgramCounts, 4> ngrams{};
  int64_t hypothesis_length = 0, reference_length = 0;

  BleuCounts& operator+=(const BleuCounts& other);
};
/// Counts a hypothesis, a line of valid UTF-8, against its reference.
BleuCounts count_bleu(const std::string& hypothesis, const std::string& reference,
                      const BleuOptions& options = {});
/// Scores counts.
BleuScore bleu_of(const BleuCounts& counts, const BleuOptions& options = {});

/// Scores lines of valid UTF-8. Errors: different numbers of lines; no lines.
BleuScore corpus_bleu(std::span<const std::string> hypotheses,
                      std::span<const std::string> references, const BleuOptions& options = {});

}  // namespace nine
