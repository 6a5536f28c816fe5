// Norms that replace those of word vectors and contexts in the scores of inner products
// (docs/margins.md): s = F_v G_n cos(w_v, h_n) + b_v for word v and row n. WordNorm gives F_v,
// ContextNorm gives G_n.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_names.h"
#include "core/tensor.h"

namespace nine {

/// F_v, the norm that word v's vector has in the scores: in training and in evaluation, instead of
/// its own norm |w_v|. V: number of words. Words are ranked by their count in the training targets,
/// ties by id. W_1 is the vector of the word of rank 1, the most frequent word. Counts below 1 are
/// taken as 1.
struct WordNorm {
  enum class Kind : uint8_t {
    none,                ///< |w_v|
    constant,            ///< const:X, X > 0
    uniform,             ///< |W_1|
    log_rank,            ///< |W_1| log(V - r + 1) / log V for the word of rank r
    log_rank_ratio,      ///< |W_1| (1 - log r / log V)
    unigram,             ///< unigram:A,B: A count_v / (sum of counts) + B
    log_unigram,         ///< log count_v
    log_unigram_scaled,  ///< |W_1| log count_v / log count_1
  };
  Kind kind = Kind::none;
  double a = 0, b = 0;   ///< `constant`: a is X; `unigram`: a is A, and b is B
  bool through = false;  ///< true: |W_1| is differentiated; false: it is a constant

  explicit operator bool() const { return kind != Kind::none; }
  /// True if F depends on counts.
  bool needs_counts() const { return kind != Kind::none && kind != Kind::constant; }
  /// True if F is a multiple of |W_1|.
  bool multiplies_first() const;
  friend bool operator==(const WordNorm&, const WordNorm&) = default;
};
std::string to_text(const WordNorm& n);  ///< "const:1", "log-rank:ratio:through"; "none"
/// Reads none, const:X, uniform, log-rank, log-rank:ratio, unigram:A,B, log-unigram or
/// log-unigram:scaled. The norms with |W_1| may end in ":through". UsageError: any other text.
WordNorm word_norm_from_text(std::string_view text);

/// Returns the id of the word of rank 1. Error: no counts.
int64_t most_frequent_word(std::span<const double> counts);
/// Returns F_v of every word, divided by |W_1| if n.multiplies_first(). n.kind must not be none.
/// Error: `counts` is empty.
std::vector<double> word_norm_ratios(const WordNorm& n, std::span<const double> counts);

/// G_n, the norm that the context of row n has in the scores, instead of its own norm |h_n|. Except
/// with `none`, all rows of a component have one G.
struct ContextNorm {
  enum class Kind : uint8_t {
    none,      ///< |h_n|
    constant,  ///< const:X, X > 0
    /// The largest |h| of the micro-batch's rows that have a target; in evaluation the largest seen
    /// in training, so that p(w|h) does not depend on other rows.
    max,
    /// In training as max. In evaluation an average of the batches' largest norms, updated as
    /// kNormDecay * average + (1 - kNormDecay) * largest.
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
/// Reads none, const:X, max, max:through, max:ema or max:ema:through. UsageError: any other text.
ContextNorm context_norm_from_text(std::string_view text);

/// The word norm and the context norm of a head.
struct NormOptions {
  WordNorm word = {};
  ContextNorm context = {};

  explicit operator bool() const { return word || context; }
};

/// The word norm and the context norm, with the numbers that they need besides the head's weights.
struct HeadNorms : NormOptions {
  /// The result of word_norm_ratios(), float64 on the head's device: (V) for all components, or (K,
  /// V) with ratios for each component. Empty without a word norm.
  Tensor ratios = {};
  /// The id of the most frequent word, whose norm |W_1| multiplies `ratios`; -1: `ratios` are F_v.
  int64_t first_word = -1;
  /// If context.of_batch(): G of each component in evaluation, (K) float64, which training updates.
  /// 0: training has seen nothing, and G is 1. Empty: each call takes the maximum of its rows.
  Tensor running = {};
  bool training = false;  ///< true: G is the maximum of the rows, which also updates `running`

  /// Computes `ratios`, on `device`, and first_word from the words' counts. Does nothing if `word`
  /// is none. Error: `counts` is empty.
  void follow(std::span<const double> counts, Device device = kCpu);
  /// Returns G of each of `size` components in evaluation; empty if contexts keep their own norms.
  /// Error: `running` has another size.
  std::vector<double> sizes(int64_t size) const;
};

}  // namespace nine
