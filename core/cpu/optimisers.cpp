// Optimiser updates on the CPU (part of core/cpu/cpu.h): one pass over all parameters.
#include "core/cpu/cpu.h"
#include "core/elementwise_loops.h"
#include "core/update_rules.h"

namespace nine::cpu {
inline namespace NINE_ISA {
namespace {

double clip_factor(const ops::Clip& clip) {
  return clip.max_norm == 0
             ? 1
             : ops::clip_factor(*static_cast<double*>(clip.norm_squared.data), clip.max_norm);
}

// A separate function that takes restrict pointers, and the rule by value. Inside the lambdas that
// call it the compiler must assume that a store may change the rule's numbers, and does not
// vectorise.
template <class T, class Rule, class... State>
void update_segment(int64_t n, T factor, const Rule rule, T* __restrict weight,
                    const T* __restrict grad, State* __restrict... state) {
  for (int64_t i = 0; i < n; ++i) rule(factor * grad[i], weight[i], state[i]...);
}

}  // namespace

void update(const View& w, const View& g, std::initializer_list<View> states, const View* ids,
            const ops::Clip& clip, const ops::UpdateStep& step) {
  dispatch_float(w.dtype, "update", [&]<class T>(T) {
    const T factor = static_cast<T>(clip_factor(clip));
    ops::with_rule<T>(step, states, [&](const auto& rule, const auto&... state) {
      const auto segment = [&](int64_t r, int64_t c, int64_t n) {
        update_segment(n, factor, rule, row_ptr<T>(w, r) + c, row_ptr<T>(g, r) + c,
                       row_ptr<T>(state, r) + c...);
      };
      if (ids == nullptr) return for_row_segments({&w, &g, &state...}, segment);
      check_indices("update", *ids, 0, w.rows());
      const int32_t* id = static_cast<int32_t*>(ids->data);
      for_some_rows(ids->elements(), w.cols(), [&](int64_t i) { segment(id[i], 0, w.cols()); });
    });
  });
}

void average(const View& mean, const View& w, double weight) {
  dispatch_float(w.dtype, "average", [&]<class T>(T) {
    const T a = static_cast<T>(weight);
    for_row_segments({&mean, &w}, [&](int64_t r, int64_t c, int64_t n) {
      T* y = row_ptr<T>(mean, r) + c;
      const T* x = row_ptr<T>(w, r) + c;
      for (int64_t i = 0; i < n; ++i) y[i] += a * (x[i] - y[i]);
    });
  });
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
