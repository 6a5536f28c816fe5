// Norms that word vectors and contexts are given in the scores of inner products, in place of their
// own (docs/margins.md): s = F_v G_n cos(w_v, h_n) + b_v.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_names.h"
#include "core/tensor.h"

namespace nine {

/// F_v. Words are ranked by their count in the training targets, ties by id; W_1 is the vector of
/// the first. Counts below 1 are taken as 1. V: words.
struct WordNorm {
  enum class Kind : uint8_t {
    none,                ///< |w_v|
    constant,            ///< const:X, X > 0
    uniform,             ///< |W_1|
    log_rank,            ///< |W_1| log(V - v + 1) / log V for the word of rank v
    log_rank_ratio,      ///< |W_1| (1 - log v / log V)
    unigram,             ///< unigram:A,B: A count_v / (sum of counts) + B
    log_unigram,         ///< log count_v
    log_unigram_scaled,  ///< |W_1| log count_v / log count_1
  };
  Kind kind = Kind::none;
  double a = 0, b = 0;   ///< X; A and B
  bool through = false;  ///< gradients pass through |W_1|

  explicit operator bool() const { return kind != Kind::none; }
  /// Whether F depends on counts.
  bool needs_counts() const { return kind != Kind::none && kind != Kind::constant; }
  /// Whether F is a multiple of |W_1|.
  bool multiplies_first() const;
  friend bool operator==(const WordNorm&, const WordNorm&) = default;
};
std::string to_text(const WordNorm& n);  ///< "const:1", "log-rank:ratio:through"; "none"
/// Reads none, const:X, uniform, log-rank, log-rank:ratio, unigram:A,B, log-unigram or
/// log-unigram:scaled, and after those with |W_1| `:through`; a UsageError says what is wrong.
WordNorm word_norm_from_text(std::string_view text);

/// The id of the word of rank 1. Error: no counts.
int64_t most_frequent_word(std::span<const double> counts);
/// F_v, or F_v / |W_1| where n.multiplies_first(); n is not none. Error: no counts.
std::vector<double> word_norm_ratios(const WordNorm& n, std::span<const double> counts);

/// G, the same for all rows of a component.
struct ContextNorm {
  enum class Kind : uint8_t {
    none,      ///< |h_n|
    constant,  ///< const:X, X > 0
    /// The largest |h| of the micro-batch's rows that have a target; in evaluation the largest seen
    /// in training, so that p(w|h) does not depend on other rows.
    max,
    /// In evaluation an average of the batches' largest, in which the one so far has the weight
    /// kNormDecay; in training as max.
    max_ema
  };
  Kind kind = Kind::none;
  double value = 0;      ///< X
  bool through = false;  ///< gradients pass through the largest norm, to the row that has it

  explicit operator bool() const { return kind != Kind::none; }
  bool of_batch() const { return kind == Kind::max || kind == Kind::max_ema; }
  friend bool operator==(const ContextNorm&, const ContextNorm&) = default;
};
inline constexpr double kNormDecay = 0.99;
std::string to_text(const ContextNorm& n);  ///< "const:64", "max:ema:through"; "none"
/// Reads none, const:X, max or max:ema, and after the last two `:through`; a UsageError says what
/// is wrong.
ContextNorm context_norm_from_text(std::string_view text);

/// Both, as options of a head.
struct NormOptions {
  WordNorm word = {};
  ContextNorm context = {};

  explicit operator bool() const { return word || context; }
};

/// The same with the numbers that they need besides the head's weights.
struct HeadNorms : NormOptions {
  /// (V) float64, on the head's device: word_norm_ratios; (K, V): of each component its own.
  Tensor ratios = {};
  int64_t first_word = -1;  ///< most_frequent_word, where word.multiplies_first()
  /// (K) float64, context.of_batch(): what evaluation uses as G, which training changes; 0: nothing
  /// was seen in training, and G is 1. Empty: the rows of each call have their own maximum.
  Tensor running = {};
  bool training = false;  ///< the rows' maximum is used, and goes into `running`

  /// Fills ratios, on `device`, and first_word; nothing where word is none. Error: no counts.
  void follow(std::span<const double> counts, Device device = kCpu);
  /// G of each of `size` components in evaluation; empty where contexts have their own norms.
  /// Error: `running` has another size.
  std::vector<double> sizes(int64_t size) const;
};

}  // namespace nine
