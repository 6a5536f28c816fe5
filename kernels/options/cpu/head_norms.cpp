// Sets norms of word vectors and contexts (docs/margins.md) and computes their gradients, on the
// CPU.
#include <algorithm>

#include "core/elementwise_loops.h"
#include "kernels/cpu/ops.h"
#include "kernels/scores/vectors.h"

namespace nine::cpu {
inline namespace NINE_ISA {
namespace {

double* doubles(const View& v) { return static_cast<double*>(v.data); }

template <class T>
double unit_dot(const T* x, double by_norm, const T* dy, int64_t d) {
  return scores::sum_of(d, [&](int64_t k) {
    return static_cast<double>(x[k]) * by_norm * static_cast<double>(dy[k]);
  });
}

}  // namespace

void row_norms(const View& x, const View& norms) {
  dispatch_float(x.dtype, "row_norms", [&]<class T>(T) {
    for_rows(x, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        doubles(norms)[r] = scores::norm(row_ptr<T>(x, r), x.cols());
    });
  });
}

void largest_norm(const View& norms, const View& targets, const View& largest, const View& row) {
  const auto* target = static_cast<int32_t*>(targets.data);
  const bool all = std::all_of(target, target + norms.elements(), [](int32_t y) { return y < 0; });
  int32_t at = -1;
  for (int32_t r = 0; r < norms.elements(); ++r) {
    if (target[r] < 0 && !all) continue;
    if (at < 0 || doubles(norms)[r] > doubles(norms)[at]) at = r;
  }
  *doubles(largest) = doubles(norms)[at];
  *static_cast<int32_t*>(row.data) = at;
}

void update_running_norm(const View& largest, double decay, const View& running) {
  double& so_far = *doubles(running);
  const double now = *doubles(largest);
  so_far = decay == 0    ? std::max(so_far, now)
           : so_far == 0 ? now
                         : decay * so_far + (1 - decay) * now;
}

void running_norm(const View& running, const View& size) {
  *doubles(size) = *doubles(running) > 0 ? *doubles(running) : 1;
}

void set_norms(const View& x, const View& norms, const View& size, const View& y) {
  const double wanted = *doubles(size);
  dispatch_float(x.dtype, "set_norms", [&]<class T>(T) {
    for_rows(x, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const double norm = doubles(norms)[r];
        const double factor = norm > 0 ? wanted / norm : 0;
        const T* from = row_ptr<T>(x, r);
        T* to = row_ptr<T>(y, r);
        for (int64_t k = 0; k < x.cols(); ++k) to[k] = scores::scaled(factor, from[k]);
      }
    });
  });
}

void set_norms_backward(const View& x, const View& norms, const View& size, const View& dy,
                        const View& dx, const View& dsize) {
  const double wanted = *doubles(size);
  dispatch_float(x.dtype, "set_norms_backward", [&]<class T>(T) {
    for_rows(x, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const double norm = doubles(norms)[r], by_norm = norm > 0 ? 1 / norm : 0;
        const T *from = row_ptr<T>(x, r), *up = row_ptr<T>(dy, r);
        T* to = row_ptr<T>(dx, r);
        const double along = unit_dot(from, by_norm, up, x.cols());
        doubles(dsize)[r] = along;
        for (int64_t k = 0; k < x.cols(); ++k)
          to[k] = static_cast<T>(
              wanted * by_norm *
              (static_cast<double>(up[k]) - along * by_norm * static_cast<double>(from[k])));
      }
    });
  });
}

void word_scales(const View& norms, const View& ratios, int64_t first, const View& stats) {
  const double unit = first >= 0 ? doubles(norms)[first] : 1;
  for (int64_t v = 0; v < norms.elements(); ++v) {
    const double scale = doubles(ratios)[v] * unit, norm = doubles(norms)[v];
    doubles(stats)[2 * v] = norm > 0 ? scale / norm : 0;
    doubles(stats)[2 * v + 1] = scale;
  }
}

void word_scales_backward(const View& w, const View& norms, const View& ratios, int64_t first,
                          const View& stats, const View& dstats, const View& dw) {
  const int64_t d = w.cols();
  dispatch_float(w.dtype, "word_scales_backward", [&]<class T>(T) {
    for_rows(w, [&](int64_t begin, int64_t end) {
      for (int64_t v = begin; v < end; ++v) {
        const double norm = doubles(norms)[v];
        if (!(norm > 0)) continue;
        // d(F/|w|)/dw = -(F/|w|) w / |w|^2
        const T g = static_cast<T>(-doubles(dstats)[2 * v] * doubles(stats)[2 * v] / norm / norm);
        const T* from = row_ptr<T>(w, v);
        T* to = row_ptr<T>(dw, v);
        for (int64_t k = 0; k < d; ++k) to[k] += g * from[k];
      }
    });
    if (first < 0 || !(doubles(norms)[first] > 0)) return;
    const double by_unit = scores::sum_of(w.rows(), [&](int64_t v) {
      const double norm = doubles(norms)[v],
                   by_scale =
                       doubles(dstats)[2 * v + 1] + (norm > 0 ? doubles(dstats)[2 * v] / norm : 0);
      return by_scale * doubles(ratios)[v];
    });
    const double g = by_unit / doubles(norms)[first];
    const T* from = row_ptr<T>(w, first);
    T* to = row_ptr<T>(dw, first);
    for (int64_t k = 0; k < d; ++k) to[k] += static_cast<T>(g * static_cast<double>(from[k]));
  });
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
