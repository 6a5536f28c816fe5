#include "core/dispatch.h"
#include "kernels/scores/all.h"
#include "kernels/scores/cpu/head_loops.h"

NINE_CPU_TABLE(nine::cpu::HeadLoopTables)
NINE_CPU_TABLE(nine::cpu::ExpressionLoopTables)

namespace nine::cpu {
namespace {

template <class Tables>
Tables best_tables() {
  Tables best;
  install_best(best);
  return best;
}

template <class T>
const HeadLoops<T>* loops_of(ScoreKind kind) {
  static const auto tables = best_tables<HeadLoopTables>();
  static const auto expressions = best_tables<ExpressionLoopTables>();
  if (kind == ScoreKind::expr) return expressions.of<T>();
  if constexpr (std::is_same_v<T, float>) {
    return tables.of_float(kind);
  } else {
    return tables.of_double(kind);
  }
}

}  // namespace

template <class T>
HeadKernel<T>::HeadKernel(const Score& s, int64_t d) : args{s, d} {
  scores::visit_component(s, d, [&](const auto& k) {
    using K = std::remove_cvref_t<decltype(k)>;
    static_cast<scores::Layout&>(*this) = scores::layout_of(k, d);
    loops = loops_of<T>(s.kind);
    name = K::kName;
  });
}

template struct HeadKernel<float>;
template struct HeadKernel<double>;

}  // namespace nine::cpu
