// A component's score function as plain data, which can be copied to any device, and the contract
// of a kernel: the members that its struct must have.
//
// A kernel is one struct in a file next to this one, listed in all.h. Everything else is written
// once over that struct: the loops of the CPU and of CUDA, mixtures, the grammar of head strings
// and the inspector. docs/kernels.md shows the shortest way to write a kernel.
//
// 1. Names, parameters and shape. A struct K has
//
//   static constexpr ScoreKind kKind;
//   static constexpr const char* kName;        // as in head strings
//   static constexpr const char* kNote;        // what it reduces to, its bounds
//   // S as lines of formulas, from which kernel_inspect makes texts, pages and worked examples.
//   static KernelExpression expression(const Score&);
//   // In the order of Score::parameters.
//   static std::span<const ParameterInfo> parameters();
//   // Reads the parameters, for vectors of d numbers.
//   K(const Score&, int64_t d);
//   // "" or what is wrong; with d < 0: what is wrong with the parameters alone.
//   static std::string check(const Score&, int64_t d);
//   int64_t parts() const;                     // 1, or how many parts a vector is cut into (mog)
//   // Of a part of n numbers, z sums the products of the first product_dims(n).
//   int64_t product_dims(int64_t n) const;
//
// 2. The score S is a function of the inner product z = w . h of word vector and context, and of
// the statistics of each vector: a few numbers, for instance its squared norm. The next functions
// are NINE_HD templates over T, float or double; parts() and product_dims() above are NINE_HD.
// value and slopes are the body of a loop over rows; a branch in them would prevent vectorisation.
//
//   static constexpr int kStats;               // statistics of one part of a vector; 0 for lin
//   void stats(const T* x, int64_t n, double* s) const;                  // of a part of n numbers
//   // dx += ds * d stats / dx, given ds = dL/d(statistics).
//   void stats_backward(const T* x, int64_t n, const double* s, const double* ds, T* dx) const;
//   T value(T z, const T* w, const T* h) const;                          // S
//   Slopes<T, kStats> slopes(T z, const T* w, const T* h) const;         // dS/dz, dS/d(statistics)
//
// 3. The target's score is computed from w and h, not from z, because the squared distance q =
// |w|^2 + |h|^2 - 2z would lose digits.
//
//   // False: z, summed in double, is exact enough (lin, pol, sig).
//   static constexpr bool kExactTarget;
//   // S of whole vectors of d numbers. With up = dL/dS: dw += up dS/dw, dh += up dS/dh, where
//   // either may be null.
//   double exact(const T* w, const T* h, int64_t d, double up, T* dw, T* dh) const;
//
// On a GPU all threads of a warp call stats, stats_backward, exact and exact_parameter_slope
// together for one vector, and each thread visits some of the vector's numbers. T then is a type
// that makes the helpers of vectors.h divide the work. Use sum_of<T> for all sums over a vector's
// numbers, Visit<T>::each for all loops that write a vector, and Visit<T>::once for writing single
// numbers.
//
// 4. Optional members, for speed or accuracy:
//
//   // Only the first kGradients statistics have slopes; without this member, all kStats have them.
//   // Each later statistic is a function of the first ones, and the slopes of the first ones
//   // include its effect on S (ssg: statistic 2 is e^(statistic 1)).
//   static constexpr int kGradients;
//   // True if the cheaper forms of value and slopes are right for a vector (or part) with these
//   // statistics. value and slopes then are templates over <bool kFast, class T>; kFast selects
//   // the cheaper form.
//   bool fast_path_valid(const T* stats) const;
//   // True if z has too few digits for this pair's score. If T is double, on the CPU, exact() then
//   // computes the score. Without this member, the test is |w - h|^2 < 0.001 (|w|^2 + |h|^2). Only
//   // with kExactTarget.
//   static bool needs_exact(T z, const T* w, const T* h);
//   // True if a vector (or part) is so long, or so short, that products with it may leave the
//   // range of T; on the CPU exact() then computes all of its pairs. Only with kExactTarget.
//   template <class T> static bool is_extreme(const double* stats);
//   // True if dS/dz is the same for every z. Only without kExactTarget.
//   static constexpr bool kConstantSlope;
//
// 5. Optional members for learned parameters, those whose ParameterInfo allows learning:
//
//   // dS/d(parameter i); an NINE_HD template as in section 2.
//   T parameter_slope(int i, T z, const T* w, const T* h) const;
//   // The same for whole vectors of d numbers; only with kExactTarget.
//   double exact_parameter_slope(int i, const T* w, const T* h, int64_t d) const;
//
// A kernel of parts (mog, parts() = C > 1) has two members instead of value and slopes. `part` is a
// kernel that scores a pair of parts: xi_ij = part.value(z_ij, statistics of part i of w and of
// part j of h). `bool mixture` says how the loops combine the C^2 pairs: S = sum_ij xi_ij (false)
// or log sum_ij e^xi_ij - log C^2 (true). kStats, stats, stats_backward and product_dims of the
// kernel refer to one part of d / C numbers; exact refers to whole vectors.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "core/random.h"  // NINE_HD

namespace nine {

namespace expression {
class Formula;
}

/// The kernels, in the order of the table in docs/heads.md, section 1. kernels/scores/all.h lists
/// their structs, except those of expr and scaled_lin. scaled_lin has no name in head strings
/// (kernels/scores/lin.h). The values 254 and 255 leave room for more kernels.
enum class ScoreKind : uint8_t {
  lin,
  log,
  pow,
  pol,
  rbf,
  ssg,
  mog,
  hpb,
  wav,
  sig,
  expr = 254,  ///< a formula (kernels/expression/expr_score.h)
  scaled_lin = 255
};

/// The most parameters that a kernel may have.
inline constexpr int kMaxScoreParameters = 8;
/// Indices of Score::number(): 0 to 7 are the parameters, 8 is the scale.
inline constexpr int kScaleNumber = kMaxScoreParameters, kMaxScoreNumbers = kScaleNumber + 1;
/// A score function with its parameters. The kernel's parameters() gives their meaning and order.
struct Score {
  ScoreKind kind = ScoreKind::lin;
  std::array<double, kMaxScoreParameters> parameters{};
  const expression::Formula* formula = nullptr;  ///< of expr; lives as long as the program
  double scale = 1;                              ///< > 0; factor of the kernel's S
  /// Bit i is set if number i is learned. The number's value here is its initial or its present
  /// value (kernels/settings/learned_numbers.h).
  uint16_t learned = 0;
  /// Bit i is set if the learned number i stays positive; its logarithm is then learned.
  uint16_t positive = 0;

  bool learns(int number) const { return (learned >> number & 1) != 0; }
  int learned_count() const { return std::popcount(learned); }
  double& number(int i) { return i == kScaleNumber ? scale : parameters[static_cast<size_t>(i)]; }
  double number(int i) const {
    return i == kScaleNumber ? scale : parameters[static_cast<size_t>(i)];
  }

  /// True if the score is the plain inner product.
  bool is_lin() const { return kind == ScoreKind::lin && scale == 1 && learned == 0; }

  friend bool operator==(const Score&, const Score&) = default;
};

/// Says whether and how a parameter can be learned.
enum class Learnable : uint8_t {
  no,
  real,     ///< without a bound
  positive  ///< must be > 0, so its logarithm is learned
};

/// One parameter of a kernel, for the command line and the inspector.
struct ParameterInfo {
  const char* name = nullptr;
  double default_value = 0;       ///< the value if the head string does not name the parameter
  const char* meaning = nullptr;  ///< includes the valid range
  /// The words for the values 0, 1, ... ("sum", "mixture"), ending with nullptr. null: the
  /// parameter is a number.
  const char* const* words = nullptr;
  bool numbers_too = false;  ///< true: any number > 0 is valid besides the words
  Learnable learnable = Learnable::no;
  /// True if to_text() leaves the parameter out when it has its default value, as older files do.
  bool silent = false;
  /// The parameter's name in formulas, if `name` is a variable there (pol's c); otherwise null.
  const char* symbol = nullptr;

  const char* name_in_formulas() const { return symbol != nullptr ? symbol : name; }
};

/// A line of a kernel's expression: `name` = `formula` (docs/expressions.md). The formula may use z
/// = w . h, q = |w - h|^2, ww = |w|^2, hh = |h|^2, the cosine c and the size d, the kernel's
/// parameters, and the names of earlier lines.
struct ExpressionLine {
  std::string name, formula, meaning;
};

/// How the scores of all pairs of a part of w and a part of h are combined: as their sum, or as the
/// logarithm of the mean of their exponentials.
enum class Combine : uint8_t { sum, mixture };

/// A kernel's score of one pair of parts, as formulas that programs can read. The last line's name
/// is S. Lines whose name ends in _h depend on the context alone, lines whose name ends in _w on
/// the word alone.
struct KernelExpression {
  std::vector<ExpressionLine> lines;
  /// What the last number of each part is, if it is not a coordinate: "log-variance". Empty: all
  /// are coordinates. Formulas call it lw for w and lh for h; z, q, ww, hh, c and d then refer to
  /// the other numbers.
  std::string extra = {};
  int parts = 1;  ///< number of parts of a vector
  Combine combine = Combine::sum;
  double ball = 0;  ///< radius of the ball into which hpb maps the vectors; 0: no ball
};

namespace scores {

/// A kernel of parts (see above).
template <class K>
concept OfParts = requires(const K& k) {
  k.part;
  k.mixture;
};

/// Derivatives of a score with respect to the product and to the statistics of both vectors.
template <class T, int kStats>
struct Slopes {
  T z;
  T w[std::max(kStats, 1)];
  T h[std::max(kStats, 1)];
};

/// A kernel with is_extreme (see above).
template <class K>
concept KnowsExtremes = requires(const double* stats) {
  K::template is_extreme<float>(stats);
};

/// A kernel with a cheaper form for some vectors, or for some parameters (see above).
template <class K>
concept HasFastPath = requires(const K& k, const float* stats) {
  k.fast_path_valid(stats);
};

/// A HasFastPath kernel in its cheaper form, for loops over vectors that all satisfy
/// fast_path_valid.
template <class K>
struct FastPath : K {
  NINE_HD explicit FastPath(const K& k) : K(k) {}
  template <class T>
  NINE_HD T value(T z, const T* w, const T* h) const {
    return K::template value<true>(z, w, h);
  }
  template <class T>
  NINE_HD Slopes<T, K::kStats> slopes(T z, const T* w, const T* h) const {
    return K::template slopes<true>(z, w, h);
  }
};
template <OfParts K>
struct FastPath<K> : K {
  NINE_HD explicit FastPath(const K& k) : K(k), part(k.part) {}
  FastPath<decltype(K::part)> part;
};

/// The number of a kernel's statistics that have slopes: kGradients if the kernel has it, else all.
template <class K>
inline constexpr int kGradientsOf = K::kStats;
template <class K>
requires requires { K::kGradients; }
inline constexpr int kGradientsOf<K> = K::kGradients;

/// How a kernel divides vectors of d numbers: into `parts` parts of part_size numbers each. The
/// first product_dims numbers of a part enter products.
struct Layout {
  int64_t parts = 1, part_size = 0, product_dims = 0;
  int64_t stats = 0;   ///< statistics of a vector: of all its parts
  bool exact = false;  ///< kExactTarget: the target's gradient bypasses the product

  /// Returns the number of inner products of a pair of vectors: of every part with every part.
  int64_t planes() const { return parts * parts; }
  /// True if the product is that of whole vectors of d numbers.
  bool whole(int64_t d) const { return parts == 1 && product_dims == d; }
};
/// Returns the layout of a kernel.
template <class K>
Layout layout_of(const K& k, int64_t d) {
  const int64_t parts = k.parts(), size = d / parts;
  return {parts, size, k.product_dims(size), parts * K::kStats, K::kExactTarget};
}

/// A kernel whose value() and slopes() take the class of their exponential as a first template
/// parameter: SeriesMath (core/log_sum_exp.h), or a GPU's (cuda/exponential.cuh).
template <class K>
concept TakesMath = requires {
  K::kTakesMath;
};

/// Return a kernel's value and slopes for one pair of vectors, in the cheaper form if it is valid,
/// with this exponential if the kernel takes one.
template <class Math, class K, class T>
NINE_HD T value_at(const K& k, T z, const T* w, const T* h) {
  if constexpr (HasFastPath<K>)
    if (k.fast_path_valid(w) && k.fast_path_valid(h)) return FastPath<K>(k).value(z, w, h);
  if constexpr (TakesMath<K>) {
    return k.template value<Math>(z, w, h);
  } else {
    return k.value(z, w, h);
  }
}
template <class Math, class K, class T>
NINE_HD Slopes<T, K::kStats> slopes_at(const K& k, T z, const T* w, const T* h) {
  if constexpr (HasFastPath<K>)
    if (k.fast_path_valid(w) && k.fast_path_valid(h)) return FastPath<K>(k).slopes(z, w, h);
  if constexpr (TakesMath<K>) {
    return k.template slopes<Math>(z, w, h);
  } else {
    return k.slopes(z, w, h);
  }
}

}  // namespace scores
}  // namespace nine
