// Which score function a head component uses, as plain data that travels to any device; and what a
// kernel's struct offers.
//
// A kernel is one struct in a file of its own beside this one (heads.md section 1), listed in
// all.h; loops, mixtures, the command line, the inspector and the CUDA epilogues are written once
// over it. A struct K has
//
//   static constexpr ScoreKind kKind;
//   static constexpr const char *kName, *kFormula, *kDerivative;  // formulas as people and
//   kernel_inspect read them static constexpr const char* kNote;                           // what
//   it collapses to, bounds: for the table of kernels static std::span<const ParameterInfo>
//   parameters();           // in the order of Score::parameters K(const Score&, int64_t d); //
//   reads them, for vectors of d numbers static std::string check(const Score&, int64_t d); // ""
//   or what is wrong (with d < 0: with the parameters alone) int64_t parts() const; // 1, or the
//   consecutive parts a vector is cut into (mog) int64_t product_dims(int64_t n) const; // leading
//   numbers of a part of n that enter the product z
//
// and is a function of the product z and of a few numbers a vector, its statistics (the squared
// norm, say). All of it is NINE_HD, parts() too:
//
//   static constexpr int kStats;                                  // statistics of a vector (of one
//   part of it); 0 for lin template <class T> void stats(const T* x, int64_t n, double* s) const;
//   // of a part of n numbers
//   // dx += (what reaches the statistics, ds) times ds/dx
//   template <class T> void stats_backward(const T* x, int64_t n, const double* s, const double*
//   ds, T* dx) const;
//   // S, and dS/dz, dS/dw_s, dS/dh_s: inner loop over rows, T a float or double, no branch that
//   keeps it from vectorising template <class T> T value(T z, const T* w, const T* h) const;
//   template <class T> Slopes<T, kStats> slopes(T z, const T* w, const T* h) const;
//
// and, where there is something to win by it,
//
//   static constexpr int kGradients;              // statistics from this one on have no slopes:
//   the others determine them
//   // Whether a vector's (a part's) statistics allow a shorter way; value<true> and slopes<true>
//   are that way, for such w and h (ssg; of
//   // a kernel of parts: the part's)
//   template <class T> static bool fast_path_valid(const T* stats);
//
// For the target, whose score must not suffer from q = |w|^2 + |h|^2 - 2z's cancellation,
// everything is computed from the vectors:
//
//   static constexpr bool kExactTarget;          // false: z summed in double is exact enough (lin,
//   pol, sig)
//   // S in double of whole vectors of d numbers; with dw, dh (arrays of d, may be null): dw += up
//   * dS/dw, dh += up * dS/dh template <class T> double exact(const T* w, const T* h, int64_t d,
//   double up, T* dw, T* dh) const;
//
// A kernel of parts (mog, `parts()` = C > 1) has no value and slopes of its own but two members:
// `part`, a kernel's struct that scores one pair of parts, xi_ij = part.value(z_ij, stats of part i
// of w, stats of part j of h), and `bool mixture`: S = sum_ij xi_ij (false) or log sum_ij e^xi_ij -
// log C^2 (true). The block ops combine the C^2 pairs, whatever C; kStats, stats, stats_backward
// and product_dims are of one part of d / C numbers, exact is of whole vectors.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/random.h"  // NINE_HD

namespace nine {

/// The kernels, in the order of heads.md section 1. core/scores/all.h lists their structs.
enum class ScoreKind : uint8_t { lin, log, pow, pol, rbf, ssg, mog, hpb, wav, sig };

inline constexpr int kMaxScoreParameters = 4;
struct Score {
  ScoreKind kind = ScoreKind::lin;
  std::array<double, kMaxScoreParameters>
      parameters{};  ///< meaning and order: the kernel's parameters()

  friend bool operator==(const Score&, const Score&) = default;
};

/// One parameter of a kernel, for the command line and the inspector.
struct ParameterInfo {
  const char* name = nullptr;
  double fallback = 0;                 ///< when it is not named
  const char* meaning = nullptr;       ///< with its valid range
  const char* const* words = nullptr;  ///< a parameter of words ("sum", "mixture"): they stand for
                                       ///< 0, 1, ...; ends with nullptr
  bool numbers_too = false;            ///< beside its words it takes any number > 0
};

namespace scores {

/// A kernel of parts, see above.
template <class K>
concept OfParts = requires(const K& k) {
  k.part;
  k.mixture;
};

/// Derivatives of a score by the product and by the statistics of both vectors.
template <class T, int kStats>
struct Slopes {
  T z;
  T w[std::max(kStats, 1)];
  T h[std::max(kStats, 1)];
};

/// A kernel that has a shorter way for ordinary statistics, see above.
template <class K>
concept HasShorterWay = requires(const K& k, const float* stats) {
  k.fast_path_valid(stats);
};

/// Such a kernel with the shorter way as its only one: for vectors all of which are ordinary.
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

/// Statistics with slopes.
template <class K>
inline constexpr int kGradientsOf = K::kStats;
template <class K>
requires requires { K::kGradients; }
inline constexpr int kGradientsOf<K> = K::kGradients;

/// How a kernel takes vectors of d numbers.
struct Layout {
  int64_t parts = 1, part_size = 0,
          product_dims = 0;  ///< a vector is `parts` times part_size numbers; the first
                             ///< product_dims of each are multiplied
  int64_t stats = 0;         ///< numbers a vector, all parts
  bool exact = false;        ///< the target's gradient does not go through the product

  int64_t planes() const { return parts * parts; }
  bool whole(int64_t d) const { return parts == 1 && product_dims == d; }
};
template <class K>
Layout layout_of(const K& k, int64_t d) {
  const int64_t parts = k.parts(), size = d / parts;
  return {parts, size, k.product_dims(size), parts * K::kStats, K::kExactTarget};
}

/// A kernel's value and slopes for one pair, by the shortest way that it allows.
template <class K, class T>
NINE_HD T value_at(const K& k, T z, const T* w, const T* h) {
  if constexpr (HasShorterWay<K>)
    if (k.fast_path_valid(w) && k.fast_path_valid(h)) return FastPath<K>(k).value(z, w, h);
  return k.value(z, w, h);
}
template <class K, class T>
NINE_HD Slopes<T, K::kStats> slopes_at(const K& k, T z, const T* w, const T* h) {
  if constexpr (HasShorterWay<K>)
    if (k.fast_path_valid(w) && k.fast_path_valid(h)) return FastPath<K>(k).slopes(z, w, h);
  return k.slopes(z, w, h);
}

}  // namespace scores
}  // namespace nine
