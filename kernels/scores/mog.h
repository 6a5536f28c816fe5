// mog: two mixtures of Gaussians with equal weights, over the parts of a vector.
#pragma once

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "core/log_sum_exp.h"
#include "kernels/scores/ssg.h"

namespace nine::scores {

/// C components of d/C consecutive numbers, each an ssg vector; xi_ij is ssg's score of component i
/// of w and j of h. form=sum (the paper's eq. 10): sum_ij xi_ij; form=mixture (Athiwaratkun and
/// Wilson): log(sum_ij exp(xi_ij) / C^2).
struct Mog {
  static constexpr ScoreKind kKind = ScoreKind::mog;
  static constexpr const char* kName = "mog";
  static constexpr const char* kFormula =
      "sum: sum_ij xi_ij; mixture: log(sum_ij exp(xi_ij) / C^2); xi_ij is ssg of components i, j";
  static constexpr const char* kDerivative =
      "sum: that of each xi_ij; mixture: weighted by softmax_ij(xi_ij)";
  static constexpr const char* kNote =
      "components=1 is ssg; form=sum with a constant variance is an inner product of component "
      "sums (rank <= d/C) plus a word bias";
  static constexpr int kStats = Ssg::kStats, kGradients = Ssg::kGradients;
  static constexpr bool kExactTarget = true;
  static constexpr const char* kForms[] = {"sum", "mixture", nullptr};
  static constexpr ParameterInfo kParameters[] = {
      {.name = "components",
       .default_value = 2,
       .meaning = "C, an integer >= 1; d must be a multiple of it, d/C >= 2"},
      {"form", 0, "sum or mixture", kForms},
      Ssg::kParameters[0],
      Ssg::kParameters[1]};

  static KernelExpression expression(const Score& s) {
    KernelExpression all = Ssg::expression(s.parameters[2] == 0, s.parameters[3]);
    all.parts = static_cast<int>(s.parameters[0]);
    all.combine = s.parameters[1] == 1 ? Combine::mixture : Combine::sum;
    return all;
  }
  static std::span<const ParameterInfo> parameters() { return kParameters; }
  static std::string check(const Score& s, int64_t d) {
    const double count = s.parameters[0];
    if (!(count >= 1 && count <= 65536 && count == std::floor(count)))
      return "components must be an integer from 1 to 65536";
    const auto c = static_cast<int64_t>(count);
    if (d >= 0 && d % c != 0) return "vectors' numbers must be a multiple of components";
    if (d >= 0 && d / c < 2) return "each of the components needs 2 numbers or more";
    return Ssg::check(s.parameters[2], s.parameters[3], -1);
  }
  Mog(const Score& s, int64_t d)
      : count(static_cast<int64_t>(s.parameters[0])),
        mixture(s.parameters[1] == 1),
        part(s.parameters[2], s.parameters[3], d / static_cast<int64_t>(s.parameters[0])) {}
  NINE_HD int64_t parts() const { return count; }
  NINE_HD int64_t product_dims(int64_t n) const { return part.product_dims(n); }

  template <class T>
  NINE_HD void stats(const T* x, int64_t n, double* s) const {
    part.stats(x, n, s);
  }
  template <class T>
  NINE_HD void stats_backward(const T* x, int64_t n, const double* s, const double* ds,
                              T* dx) const {
    part.stats_backward(x, n, s, ds, dx);
  }

  template <class T>
  NINE_HD static bool is_extreme(const double* stats) {
    return Ssg::is_extreme<T>(stats);
  }
  template <class T>
  NINE_HD static bool fast_path_valid(const T* stats) {
    return Ssg::fast_path_valid(stats);
  }

  template <class T>
  NINE_HD double exact(const T* w, const T* h, int64_t d, double up, T* dw, T* dh) const {
    const int64_t n = d / count, pairs = count * count;
    const auto pair = [&](int64_t p, double weight, T* to_w, T* to_h) {
      const int64_t i = p / count * n, j = p % count * n;
      return part.exact(w + i, h + j, n, weight, to_w != nullptr ? to_w + i : nullptr,
                        to_h != nullptr ? to_h + j : nullptr);
    };
    T* const none = nullptr;
    double sum = 0;
    LogSumExp all;  // adds term by term, because there may be too many pairs to store
    for (int64_t p = 0; p < pairs; ++p) {
      const double xi = pair(p, 0, none, none);
      sum += xi;
      all.add(xi);
    }
    const double log_total = all.value();
    for (int64_t p = 0; p < pairs && (dw != nullptr || dh != nullptr); ++p)
      pair(p, mixture ? up * std::exp(pair(p, 0, none, none) - log_total) : up, dw, dh);
    return mixture ? log_total - std::log(static_cast<double>(pairs)) : sum;
  }

  // Slope with respect to the variance. For a pair of parts: part.parameter_slope.
  template <class T>
  NINE_HD double exact_parameter_slope(int i, const T* w, const T* h, int64_t d) const {
    const int64_t n = d / count, pairs = count * count;
    T* const none = nullptr;
    const double all =
        mixture ? exact(w, h, d, 0, none, none) + std::log(static_cast<double>(pairs)) : 0;
    double slope = 0;
    for (int64_t p = 0; p < pairs; ++p) {
      const T *of_w = w + p / count * n, *of_h = h + p % count * n;
      const double share = mixture ? std::exp(part.exact(of_w, of_h, n, 0, none, none) - all) : 1;
      slope += share * part.exact_parameter_slope(i, of_w, of_h, n);
    }
    return slope;
  }

  int64_t count;
  bool mixture;
  Ssg part;
};

}  // namespace nine::scores
