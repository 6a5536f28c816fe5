// Norms that replace the own norms of word vectors and contexts in scores of inner products
// (docs/margins.md): s = F_v G_n cos(w_v, h_n) + b_v.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_names.h"
#include "core/tensor.h"

namespace nine {

/// F_v, the norm of word v. Words are ranked by their count in the training targets, ties by id.
/// W_1 is the vector of the first word. Counts below 1 count as 1. V is the number of words.
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
  bool through = false;  ///< true: gradients pass through |W_1|

  explicit operator bool() const { return kind != Kind::none; }
  /// True if F depends on counts.
  bool needs_counts() const { return kind != Kind::none && kind != Kind::constant; }
  /// True if F is a multiple of |W_1|.
  bool multiplies_first() const;
  friend bool operator==(const WordNorm&, const WordNorm&) = default;
};
std::string to_text(const WordNorm& n);  ///< "const:1", "log-rank:ratio:through"; "none"
/// Reads none, const:X, uniform, log-rank, log-rank:ratio, unigram:A,B, log-unigram or
/// log-unigram:scaled; forms with |W_1| may end in `:through`. Error: a UsageError for any other
/// text.
WordNorm word_norm_from_text(std::string_view text);

/// Returns the id of the word of rank 1. Error: no counts.
int64_t most_frequent_word(std::span<const double> counts);
/// Returns F_v, or F_v / |W_1| if n.multiplies_first(). `n` must not be none. Error: no counts.
std::vector<double> word_norm_ratios(const WordNorm& n, std::span<const double> counts);

/// G, the norm of contexts: the same for all rows of a component.
struct ContextNorm {
  enum class Kind : uint8_t {
    none,      ///< |h_n|
    constant,  ///< const:X, X > 0
    /// The largest |h| of the micro-batch's rows that have a target. Evaluation uses the largest
    /// |h| of training, so that p(w|h) does not depend on other rows.
    max,
    /// Training: as max. Evaluation: an exponential average of the batches' largest |h|, with decay
    /// kNormDecay.
    max_ema
  };
  Kind kind = Kind::none;
  double value = 0;      ///< X
  bool through = false;  ///< true: gradients pass through the largest norm, to the row that has it

  explicit operator bool() const { return kind != Kind::none; }
  bool of_batch() const { return kind == Kind::max || kind == Kind::max_ema; }
  friend bool operator==(const ContextNorm&, const ContextNorm&) = default;
};
inline constexpr double kNormDecay = 0.99;
std::string to_text(const ContextNorm& n);  ///< "const:64", "max:ema:through"; "none"
/// Reads none, const:X, max or max:ema; the last two may end in `:through`. Error: a UsageError for
/// any other text.
ContextNorm context_norm_from_text(std::string_view text);

/// Both norms, with the numbers that they need besides the head's weights.
struct HeadNorms {
  WordNorm word = {};
  ContextNorm context = {};
  /// word_norm_ratios: (V) float64, on the head's device; (K, V) if each component has its own.
  Tensor ratios = {};
  int64_t first_word = -1;  ///< most_frequent_word, if word.multiplies_first()
  /// (K) float64, if context.of_batch(): the G of evaluation, which training updates. 0: training
  /// has seen no row, and G is 1. Empty: the rows of each call have their own maximum.
  Tensor running = {};
  bool training = false;  ///< true: use the rows' maximum and update `running`

  explicit operator bool() const { return word || context; }
};

}  // namespace nine
