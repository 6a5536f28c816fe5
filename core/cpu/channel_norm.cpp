// Normalisation by channels on the CPU (part of core/cpu/cpu.h).
#include <algorithm>
#include <cmath>

#include "core/cpu/cpu.h"
#include "core/elementwise_loops.h"
#include "core/scratch.h"

namespace nine::cpu {
inline namespace NINE_ISA {
namespace {

using ops::ChannelNorm;

constexpr int64_t kChannels = 64;  // of a task whose channels lie side by side

// The sums of two functions over planes: (examples, channels) each.
struct PlaneSums {
  double *first, *second;
};

// Computes for each plane i the sums over its elements of f(plane, element).first and .second.
template <class F>
PlaneSums plane_sums(const ChannelNorm& io, F&& f) {
  const int64_t planes = io.examples() * io.channels(), p = io.plane();
  PlaneSums sums{};
  sums.first = scratch<double>(Scratch::reduction, 2 * planes);
  sums.second = sums.first + planes;
  parallel_ranges(planes, std::max<int64_t>(1, kGrain / p), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      sums.first[i] = lane_sum(p, [&](int64_t e) { return f(i, e).first; });
      sums.second[i] = lane_sum(p, [&](int64_t e) { return f(i, e).second; });
    }
  });
  return sums;
}

struct Two {
  double first, second;
};

// Adds the numbers of the planes of each set; `weight` is a factor for each channel, or null.
template <class T>
void sums_of_sets(const ChannelNorm& io, const double* planes, const T* weight, double* sets) {
  const int64_t channels = io.channels(), group = io.groups == 0 ? 1 : channels / io.groups;
  std::fill_n(sets, io.sets(), 0.0);
  for (int64_t n = 0; n < io.examples(); ++n)
    for (int64_t c = 0; c < channels; ++c)
      sets[io.groups == 0 ? c : n * io.groups + c / group] +=
          planes[n * channels + c] * (weight != nullptr ? static_cast<double>(weight[c]) : 1.0);
}

// Returns the set of plane i.
int64_t set_of(const ChannelNorm& io, int64_t i) {
  const int64_t channels = io.channels(), c = i % channels;
  return io.groups == 0 ? c : i / channels * io.groups + c / (channels / io.groups);
}

double elements_of_set(const ChannelNorm& io) {
  const int64_t elements = io.x.elements() / io.sets();
  return static_cast<double>(elements);
}

// Calls f(plane, first element of the plane) for all planes.
template <class F>
void for_planes(const ChannelNorm& io, F&& f) {
  const int64_t p = io.plane();
  parallel_ranges(io.examples() * io.channels(), std::max<int64_t>(1, kGrain / p),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) f(i, i * p);
                  });
}

}  // namespace

void channel_norm(const ChannelNorm& io, const View& y) {
  dispatch_float(io.x.dtype, "channel_norm", [&]<class T>(T) {
    const T* x = static_cast<T*>(io.x.data);
    const int64_t channels = io.channels(), p = io.plane();
    double *mean = static_cast<double*>(io.mean.data),
           *variance = static_cast<double*>(io.variance.data);
    if (!io.given) {
      const double n = elements_of_set(io);
      const PlaneSums sums = plane_sums(io, [&](int64_t i, int64_t e) {
        return Two{static_cast<double>(x[i * p + e]), 0.0};
      });
      sums_of_sets<T>(io, sums.first, nullptr, mean);
      for (int64_t s = 0; s < io.sets(); ++s) mean[s] /= n;
      const PlaneSums squares = plane_sums(io, [&](int64_t i, int64_t e) {
        const double off = static_cast<double>(x[i * p + e]) - mean[set_of(io, i)];
        return Two{off * off, 0.0};
      });
      sums_of_sets<T>(io, squares.first, nullptr, variance);
      for (int64_t s = 0; s < io.sets(); ++s) variance[s] /= n;
    }
    const T *gamma = static_cast<T*>(io.gamma.data), *beta = static_cast<T*>(io.beta.data);
    for_planes(io, [&](int64_t i, int64_t first) {
      const int64_t s = set_of(io, i), c = i % channels;
      const T m = static_cast<T>(mean[s]), factor = static_cast<T>(static_cast<double>(gamma[c]) /
                                                                   std::sqrt(variance[s] + io.eps));
      const T* in = x + first;
      T* out = static_cast<T*>(y.data) + first;
      for (int64_t e = 0; e < p; ++e) out[e] = (in[e] - m) * factor + beta[c];
    });
  });
}

// With x_hat = (x - mean) rstd and g = dy gamma: dx = rstd (g - mean(g) - x_hat mean(g x_hat)),
// where the means are over a set. Given statistics are constants: dx = rstd g.
void channel_norm_backward(const ChannelNorm& io, const View& dy, const OutputView& dx,
                           const OutputView& dgamma, const OutputView& dbeta) {
  dispatch_float(io.x.dtype, "channel_norm_backward", [&]<class T>(T) {
    const T *x = static_cast<T*>(io.x.data), *gamma = static_cast<T*>(io.gamma.data),
            *up = static_cast<T*>(dy.data);
    const int64_t channels = io.channels(), examples = io.examples(), p = io.plane();
    const double *mean = static_cast<double*>(io.mean.data),
                 *variance = static_cast<double*>(io.variance.data);
    const auto rstd = [&](int64_t s) { return 1 / std::sqrt(variance[s] + io.eps); };
    // Sums over each plane of dy and of dy (x - mean) rstd.
    const PlaneSums sums = plane_sums(io, [&](int64_t i, int64_t e) {
      const double g = static_cast<double>(up[i * p + e]);
      return Two{g, g * (static_cast<double>(x[i * p + e]) - mean[set_of(io, i)])};
    });
    for_planes(io, [&](int64_t i, int64_t) { sums.second[i] *= rstd(set_of(io, i)); });
    if (dx.view) {
      double* of_sets = scratch<double>(Scratch::lanes, 2 * io.sets());
      double* with_x = of_sets + io.sets();
      sums_of_sets(io, sums.first, gamma, of_sets);
      sums_of_sets(io, sums.second, gamma, with_x);
      const double n = elements_of_set(io);
      with_add(dx.add, [&](auto put) {
        for_planes(io, [&](int64_t i, int64_t first) {
          const int64_t s = set_of(io, i);
          const double r = rstd(s);
          // dx = a dy + b (x - mean) + c
          const T a = static_cast<T>(r * static_cast<double>(gamma[i % channels])),
                  b = io.given ? T(0) : static_cast<T>(-r * r * with_x[s] / n),
                  c = io.given ? T(0) : static_cast<T>(-r * of_sets[s] / n),
                  m = static_cast<T>(mean[s]);
          const T *in = x + first, *g = up + first;
          T* out = static_cast<T*>(dx.view.data) + first;
          for (int64_t e = 0; e < p; ++e) put(out[e], a * g[e] + b * (in[e] - m) + c);
        });
      });
    }
    const auto sums_of_channels = [&](const double* planes, const OutputView& to) {
      if (!to.view) return;
      parallel_ranges(channels, kChannels, [&](int64_t begin, int64_t end) {
        double totals[kChannels] = {};
        for (int64_t n = 0; n < examples; ++n)
          for (int64_t c = begin; c < end; ++c) totals[c - begin] += planes[n * channels + c];
        T* out = static_cast<T*>(to.view.data);
        for (int64_t c = begin; c < end; ++c)
          out[c] = (to.add ? out[c] : T(0)) + static_cast<T>(totals[c - begin]);
      });
    };
    sums_of_channels(sums.second, dgamma);
    sums_of_channels(sums.first, dbeta);
  });
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
