#include "apps/inspect/score_at.h"

#include <algorithm>

#include "kernels/expression/kernel_lines.h"
#include "kernels/scores/all.h"
#include "kernels/scores/vectors.h"

namespace nine::app {

ScoreAt score_at(const Score& score, const std::vector<double>& w, const std::vector<double>& h) {
  const auto d = static_cast<int64_t>(w.size());
  ScoreAt out{0, std::vector<double>(w.size()), std::vector<double>(w.size())};
  scores::visit(score, d, [&]<class K>(const K& kernel) {
    if constexpr (K::kExactTarget) {
      out.value = kernel.exact(w.data(), h.data(), d, 1.0, out.dw.data(), out.dh.data());
    } else {
      const double z = scores::sum_of(
          d, [&](int64_t k) { return w[static_cast<size_t>(k)] * h[static_cast<size_t>(k)]; });
      const double slope =
          kernel.slopes(z, static_cast<const double*>(nullptr), static_cast<const double*>(nullptr))
              .z;
      out.value =
          kernel.value(z, static_cast<const double*>(nullptr), static_cast<const double*>(nullptr));
      for (size_t k = 0; k < w.size(); ++k) out.dw[k] = slope * h[k], out.dh[k] = slope * w[k];
    }
  });
  out.value *= score.scale;
  for (std::vector<double>* slopes : {&out.dw, &out.dh})
    for (double& x : *slopes) x *= score.scale;
  return out;
}

double slope_by_product(const Score& score, const std::vector<double>& w,
                        const std::vector<double>& h) {
  double slope = 0;
  const auto n = static_cast<int64_t>(w.size());
  scores::visit(score, n * kernel_expression(score).parts, [&]<class K>(const K& kernel) {
    const auto of_parts = [&]<class Part>(const Part& part) {
      double sw[std::max(1, Part::kStats)] = {}, sh[std::max(1, Part::kStats)] = {};
      if constexpr (Part::kStats > 0) part.stats(w.data(), n, sw), part.stats(h.data(), n, sh);
      slope = part.slopes(scores::dot(w.data(), h.data(), part.product_dims(n)), sw, sh).z;
    };
    if constexpr (scores::OfParts<K>)
      of_parts(kernel.part);
    else
      of_parts(kernel);
  });
  return slope;
}

int64_t example_size(const Score& score) {
  const KernelExpression kernel = kernel_expression(score);
  return kernel.parts * (kernel.extra.empty() ? 2 : 3);
}

int64_t example_size(const HeadSpec& head) {
  int64_t size = 0;
  for (const Score& score : head.components) size = std::max(size, example_size(score));
  while (!head.check(size).empty()) ++size;
  return size;
}

bool is_inner_product_kernel(const Score& score) {
  const expression::KernelLines lines(kernel_expression(score), kernel_info(score).parameters);
  return !lines.uses("q") && !lines.uses("ww") && !lines.uses("hh") && !lines.uses("c") &&
         lines.expression().extra.empty();
}

}  // namespace nine::app
