#include "apps/inspect/score_at.h"

#include <algorithm>

#include "kernels/expression/formula.h"
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

int64_t example_size(const Score& score) {
  if (score.kind == ScoreKind::expr) return 2;
  int64_t size = 0;
  scores::for_each_kernel([&]<class K>() {
    if (K::kKind != score.kind) return;
    int64_t parts = 1;
    if constexpr (scores::OfParts<K>) parts = K(score, 1 << 20).parts();
    size = 2 * parts + (K(score, 1 << 20).product_dims(2) < 2 ? parts : 0);
  });
  return size;
}

int64_t example_size(const HeadSpec& head) {
  int64_t size = 0;
  for (const Score& score : head.components) size = std::max(size, example_size(score));
  while (!head.check(size).empty()) ++size;
  return size;
}

bool is_inner_product_kernel(const Score& score) {
  using expression::Variable;
  if (score.kind == ScoreKind::expr) {
    const expression::Formula& f = *score.formula;
    return !f.uses(Variable::q) && !f.uses(Variable::ww) && !f.uses(Variable::hh) &&
           !f.uses(Variable::c);
  }
  bool found = false;
  scores::for_each_kernel(
      [&]<class K>() { found = found || (K::kKind == score.kind && K::kStats == 0); });
  return found;
}

}  // namespace nine::app
