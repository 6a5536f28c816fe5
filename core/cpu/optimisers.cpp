// Optimiser updates on the CPU (part of core/cpu/cpu.h): one pass over all parameters.
#include "core/cpu/cpu.h"
#include "core/cpu/elementwise_loops.h"
#include "core/update_rules.h"

namespace nine::cpu {
inline namespace NINE_ISA {
namespace {

double clip_factor(const ops::Clip& clip) {
  return clip.max_norm == 0
             ? 1
             : ops::clip_factor(*static_cast<double*>(clip.norm_squared.data), clip.max_norm);
}

// The loops are separate functions that take restrict pointers, and the rule by value. Inside the
// lambdas that call them the compiler must assume that a store may change the rule's numbers, and
// does not vectorise.
template <class T>
void adam_segment(T* __restrict weight, const T* __restrict grad, T* __restrict first,
                  T* __restrict second, int64_t n, T factor, const ops::AdamRule<T> rule) {
  for (int64_t i = 0; i < n; ++i) rule(factor * grad[i], weight[i], first[i], second[i]);
}

template <class T>
void sgd_segment(T* __restrict weight, const T* __restrict grad, T* __restrict velocity, int64_t n,
                 T factor, const ops::SgdRule<T> rule) {
  if (velocity == nullptr) {
    for (int64_t i = 0; i < n; ++i) rule(factor * grad[i], weight[i]);
    return;
  }
  for (int64_t i = 0; i < n; ++i) rule(factor * grad[i], weight[i], velocity[i]);
}

}  // namespace

void adam(const View& w, const View& g, const View& m, const View& v, const ops::Clip& clip,
          const ops::AdamStep& s) {
  dispatch_float(w.dtype, "adam", [&]<class T>(T) {
    const T factor = static_cast<T>(clip_factor(clip));
    const ops::AdamRule<T> rule(s);
    for_row_segments({&w, &g, &m, &v}, [&](int64_t r, int64_t c, int64_t n) {
      adam_segment(row_ptr<T>(w, r) + c, row_ptr<T>(g, r) + c, row_ptr<T>(m, r) + c,
                   row_ptr<T>(v, r) + c, n, factor, rule);
    });
  });
}

void adam_rows(const View& w, const View& g, const View& m, const View& v, const View& ids,
               const ops::Clip& clip, const ops::AdamStep& s) {
  dispatch_float(w.dtype, "adam_rows", [&]<class T>(T) {
    check_indices("adam_rows", ids, 0, w.rows());
    const T factor = static_cast<T>(clip_factor(clip));
    const ops::AdamRule<T> rule(s);
    const int32_t* id = static_cast<int32_t*>(ids.data);
    for_some_rows(ids.elements(), w.cols(), [&](int64_t i) {
      const int64_t r = id[i];
      adam_segment(row_ptr<T>(w, r), row_ptr<T>(g, r), row_ptr<T>(m, r), row_ptr<T>(v, r), w.cols(),
                   factor, rule);
    });
  });
}

void sgd(const View& w, const View& g, const View& u, const ops::Clip& clip,
         const ops::SgdStep& s) {
  dispatch_float(w.dtype, "sgd", [&]<class T>(T) {
    const T factor = static_cast<T>(clip_factor(clip));
    const ops::SgdRule<T> rule(s);
    const View& velocity = u ? u : w;
    for_row_segments({&w, &g, &velocity}, [&](int64_t r, int64_t c, int64_t n) {
      sgd_segment(row_ptr<T>(w, r) + c, row_ptr<T>(g, r) + c, u ? row_ptr<T>(u, r) + c : nullptr, n,
                  factor, rule);
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
