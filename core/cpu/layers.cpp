// Products, embeddings, layer norm and log-softmax on the CPU (part of core/cpu/cpu.h).
#include <cmath>
#include <limits>

#include "core/cpu/cpu.h"
#include "core/elementwise_loops.h"
#include "core/gemm.h"
#include "core/log_sum_exp.h"

namespace nine::cpu {
inline namespace NINE_ISA {
namespace {
constexpr int64_t kColumns = 64;  // columns of a task in loops that must go through rows in order

}  // namespace

void matmul(const View& a, bool transpose_a, const View& b, bool transpose_b, const OutputView& c,
            double alpha) {
  dispatch_float(a.dtype, "matmul", [&]<class T>(T) {
    gemm<T>({.transpose_a = transpose_a,
             .transpose_b = transpose_b,
             .m = c.view.rows(),
             .n = c.view.cols(),
             .k = transpose_a ? a.rows() : a.cols(),
             .alpha = static_cast<T>(alpha),
             .a = static_cast<T*>(a.data),
             .lda = a.ld,
             .b = static_cast<T*>(b.data),
             .ldb = b.ld,
             .c = static_cast<T*>(c.view.data),
             .ldc = c.view.ld,
             .add = c.add});
  });
}

void linear(const View& x, const View& w, const View& bias, bool relu, const View& y) {
  matmul(x, false, w, true, {y}, 1.0);
  dispatch_float(x.dtype, "linear", [&]<class T>(T) {
    const T* shift = row_ptr<T>(bias, 0);
    const T low = relu ? T(0) : -std::numeric_limits<T>::infinity();
    for_rows(y, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        T* out = row_ptr<T>(y, r);
        for (int64_t c = 0; c < y.cols(); ++c) {
          const T value = out[c] + shift[c];
          out[c] = value < low ? low : value;  // NaN stays NaN
        }
      }
    });
  });
}

void embedding(const View& table, const View& ids, const View& y) {
  dispatch_float(table.dtype, "embedding", [&]<class T>(T) {
    check_indices("embedding", ids, 0, table.rows());
    const int32_t* id = static_cast<int32_t*>(ids.data);
    for_rows(y, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        std::copy_n(row_ptr<T>(table, id[r]), y.cols(), row_ptr<T>(y, r));
    });
  });
}

void embedding_with_positions(const View& table, const View& ids, double scale,
                              const View& positions, const View& y) {
  dispatch_float(table.dtype, "embedding_with_positions", [&]<class T>(T) {
    check_indices("embedding_with_positions", ids, 0, table.rows());
    const int32_t* id = static_cast<int32_t*>(ids.data);
    const T alpha = static_cast<T>(scale);
    for_rows(y, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T *word = row_ptr<T>(table, id[r]),
                *position = row_ptr<T>(positions, r % positions.rows());
        T* out = row_ptr<T>(y, r);
        for (int64_t c = 0; c < y.cols(); ++c) out[c] = alpha * word[c] + position[c];
      }
    });
  });
}

void embedding_backward(const View& dy, const View& ids, const View& table_grad) {
  dispatch_float(dy.dtype, "embedding_backward", [&]<class T>(T) {
    check_indices("embedding_backward", ids, 0, table_grad.rows());
    const int32_t* id = static_cast<int32_t*>(ids.data);
    // Several rows may add to one row of the table: each task goes through all rows in order, for
    // its own columns.
    parallel_ranges(
        dy.cols(), kColumns,
        [&](int64_t c0, int64_t c1) {
          for (int64_t r = 0; r < dy.rows(); ++r) {
            const T* from = row_ptr<T>(dy, r);
            T* to = row_ptr<T>(table_grad, id[r]);
            for (int64_t c = c0; c < c1; ++c) to[c] += from[c];
          }
        },
        16.0 * static_cast<double>(dy.elements()));
  });
}

void fill_rows(const View& y, const View& ids, double value) {
  dispatch_float(y.dtype, "fill_rows", [&]<class T>(T) {
    check_indices("fill_rows", ids, 0, y.rows());
    const int32_t* id = static_cast<int32_t*>(ids.data);
    for_some_rows(ids.elements(), y.cols(), [&](int64_t i) {
      std::fill_n(row_ptr<T>(y, id[i]), y.cols(), static_cast<T>(value));
    });
  });
}

void layer_norm(const View& x, const View& gamma, const View& beta, double eps, const View& y,
                const View& mean, const View& rstd) {
  dispatch_float(x.dtype, "layer_norm", [&]<class T>(T) {
    const T *scale = static_cast<T*>(gamma.data), *shift = static_cast<T*>(beta.data);
    const int64_t d = x.cols();
    for_rows(x, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* in = row_ptr<T>(x, r);
        T* out = row_ptr<T>(y, r);
        const double m = lane_sum(d, [&](int64_t c) { return static_cast<double>(in[c]); }) /
                         static_cast<double>(d);
        const double squares = lane_sum(d, [&](int64_t c) {
          const double off = static_cast<double>(in[c]) - m;
          return off * off;
        });
        const double s = 1 / std::sqrt(squares / static_cast<double>(d) + eps);
        const T row_mean = static_cast<T>(m), row_rstd = static_cast<T>(s);
        for (int64_t c = 0; c < d; ++c)
          out[c] = (in[c] - row_mean) * row_rstd * scale[c] + shift[c];
        static_cast<T*>(mean.data)[r] = row_mean;
        static_cast<T*>(rstd.data)[r] = row_rstd;
      }
    });
  });
}

// With x_hat = (x - mean) rstd and g = dy gamma: dx = rstd (g - mean(g) - x_hat mean(g x_hat)).
void layer_norm_backward(const View& x, const View& gamma, const View& mean, const View& rstd,
                         const View& dy, const OutputView& dx, const OutputView& dgamma,
                         const OutputView& dbeta) {
  dispatch_float(x.dtype, "layer_norm_backward", [&]<class T>(T) {
    const T *m = static_cast<T*>(mean.data), *s = static_cast<T*>(rstd.data),
            *scale = static_cast<T*>(gamma.data);
    const int64_t d = x.cols();
    if (dx.view) {
      with_add(dx.add, [&](auto put) {
        for_rows(x, [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r) {
            const T *in = row_ptr<T>(x, r), *grad = row_ptr<T>(dy, r);
            T* out = row_ptr<T>(dx.view, r);
            const auto g = [&](int64_t c) { return static_cast<double>(grad[c] * scale[c]); };
            const auto gx = [&](int64_t c) {
              return g(c) * static_cast<double>((in[c] - m[r]) * s[r]);
            };
            const T a = static_cast<T>(lane_sum(d, g) / static_cast<double>(d)),
                    b = static_cast<T>(lane_sum(d, gx) / static_cast<double>(d));
            for (int64_t c = 0; c < d; ++c)
              put(out[c], s[r] * (grad[c] * scale[c] - a - (in[c] - m[r]) * s[r] * b));
          }
        });
      });
    }
    if (!dgamma.view && !dbeta.view) return;
    parallel_ranges(
        d, kColumns,
        [&](int64_t c0, int64_t c1) {
          double gamma_sum[kColumns] = {}, beta_sum[kColumns] = {};
          for (int64_t r = 0; r < x.rows(); ++r) {
            const T *in = row_ptr<T>(x, r), *grad = row_ptr<T>(dy, r);
            for (int64_t c = c0; c < c1; ++c) {
              gamma_sum[c - c0] += static_cast<double>(grad[c] * ((in[c] - m[r]) * s[r]));
              beta_sum[c - c0] += static_cast<double>(grad[c]);
            }
          }
          const auto put = [&](const OutputView& y, const double* sums) {
            if (!y.view) return;
            T* out = static_cast<T*>(y.view.data);
            for (int64_t c = c0; c < c1; ++c)
              out[c] = (y.add ? out[c] : T(0)) + static_cast<T>(sums[c - c0]);
          };
          put(dgamma, gamma_sum);
          put(dbeta, beta_sum);
        },
        16.0 * static_cast<double>(x.elements()));
  });
}

void rms_norm(const View& x, const View& gamma, double eps, const View& y, const View& rstd) {
  dispatch_float(x.dtype, "rms_norm", [&]<class T>(T) {
    const T* scale = static_cast<T*>(gamma.data);
    const int64_t d = gamma.elements(), parts = x.cols() / d;
    for_rows(x, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        for (int64_t p = 0; p < parts; ++p) {
          const T* in = row_ptr<T>(x, r) + p * d;
          T* out = row_ptr<T>(y, r) + p * d;
          const double squares = lane_sum(d, [&](int64_t c) {
            return static_cast<double>(in[c]) * static_cast<double>(in[c]);
          });
          const T s = static_cast<T>(1 / std::sqrt(squares / static_cast<double>(d) + eps));
          for (int64_t c = 0; c < d; ++c) out[c] = in[c] * s * scale[c];
          static_cast<T*>(rstd.data)[r * parts + p] = s;
        }
    });
  });
}

// With x_hat = x rstd and g = dy gamma: dx = rstd (g - x_hat mean(g x_hat)).
void rms_norm_backward(const View& x, const View& gamma, const View& rstd, const View& dy,
                       const OutputView& dx, const OutputView& dgamma) {
  dispatch_float(x.dtype, "rms_norm_backward", [&]<class T>(T) {
    const T *s = static_cast<T*>(rstd.data), *scale = static_cast<T*>(gamma.data);
    const int64_t d = gamma.elements(), parts = x.cols() / d;
    if (dx.view) {
      with_add(dx.add, [&](auto put) {
        for_rows(x, [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r)
            for (int64_t p = 0; p < parts; ++p) {
              const T *in = row_ptr<T>(x, r) + p * d, *grad = row_ptr<T>(dy, r) + p * d;
              T* out = row_ptr<T>(dx.view, r) + p * d;
              const T row_rstd = s[r * parts + p];
              const T b = static_cast<T>(lane_sum(d,
                                                  [&](int64_t c) {
                                                    return static_cast<double>(grad[c] * scale[c]) *
                                                           static_cast<double>(in[c] * row_rstd);
                                                  }) /
                                         static_cast<double>(d));
              for (int64_t c = 0; c < d; ++c)
                put(out[c], row_rstd * (grad[c] * scale[c] - in[c] * row_rstd * b));
            }
        });
      });
    }
    if (!dgamma.view) return;
    parallel_ranges(
        d, kColumns,
        [&](int64_t c0, int64_t c1) {
          double sums[kColumns] = {};
          for (int64_t r = 0; r < x.rows(); ++r)
            for (int64_t p = 0; p < parts; ++p) {
              const T *in = row_ptr<T>(x, r) + p * d, *grad = row_ptr<T>(dy, r) + p * d;
              const T row_rstd = s[r * parts + p];
              for (int64_t c = c0; c < c1; ++c)
                sums[c - c0] += static_cast<double>(grad[c] * (in[c] * row_rstd));
            }
          T* out = static_cast<T*>(dgamma.view.data);
          for (int64_t c = c0; c < c1; ++c)
            out[c] = (dgamma.add ? out[c] : T(0)) + static_cast<T>(sums[c - c0]);
        },
        16.0 * static_cast<double>(x.elements()));
  });
}

void rotary(const View& x, const View& angles, bool inverse, const OutputView& y) {
  dispatch_float(x.dtype, "rotary", [&]<class T>(T) {
    const int64_t d = angles.cols(), half = d / 2, steps = angles.rows();
    const T sign = inverse ? T(-1) : T(1);
    with_add(y.add, [&](auto put) {
      for_rows(x, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const T *cosines = row_ptr<T>(angles, r % steps), *sines = cosines + half;
          for (int64_t first = 0; first < x.cols(); first += d) {
            const T *a = row_ptr<T>(x, r) + first, *b = a + half;
            T *left = row_ptr<T>(y.view, r) + first, *right = left + half;
            for (int64_t i = 0; i < half; ++i) {
              const T u = a[i], v = b[i], s = sign * sines[i];
              put(left[i], u * cosines[i] - v * s);
              put(right[i], v * cosines[i] + u * s);
            }
          }
        }
      });
    });
  });
}

void log_softmax(const View& x, const View& y) {
  dispatch_float(x.dtype, "log_softmax", [&]<class T>(T) {
    for_rows(x, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* in = row_ptr<T>(x, r);
        T* out = row_ptr<T>(y, r);
        const auto all =
            RunningLogSumExp<T, double>::of(x.cols(), [in](int64_t c) { return in[c]; });
        // Computes (x - top) - log_sum, not x - (top + log_sum): x - top is exact near the maximum,
        // and top + log_sum loses digits of log_sum if x is large.
        const T log_sum = static_cast<T>(std::log(all.sum));
        for (int64_t c = 0; c < x.cols(); ++c) out[c] = (in[c] - all.top) - log_sum;
      }
    });
  });
}

void log_softmax_backward(const View& y, const View& dy, const OutputView& dx) {
  dispatch_float(y.dtype, "log_softmax_backward", [&]<class T>(T) {
    with_add(dx.add, [&](auto put) {
      for_rows(y, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const T *value = row_ptr<T>(y, r), *grad = row_ptr<T>(dy, r);
          T* out = row_ptr<T>(dx.view, r);
          double sum = 0;
          for (int64_t c = 0; c < y.cols(); ++c) sum += static_cast<double>(grad[c]);
          const T s = static_cast<T>(sum);
          for (int64_t c = 0; c < y.cols(); ++c) put(out[c], grad[c] - vexp(value[c]) * s);
        }
      });
    });
  });
}

void nll(const View& log_probs, const View& targets, double row_weight, const OutputView& loss) {
  dispatch_float(log_probs.dtype, "nll", [&]<class T>(T) {
    check_indices("nll", targets, -1, log_probs.cols());
    const int32_t* target = static_cast<int32_t*>(targets.data);
    double sum = 0;
    for (int64_t r = 0; r < log_probs.rows(); ++r)
      if (target[r] >= 0) sum -= static_cast<double>(row_ptr<T>(log_probs, r)[target[r]]);
    double* out = static_cast<double*>(loss.view.data);
    *out = (loss.add ? *out : 0.0) + row_weight * sum;
  });
}

void nll_backward(const View& targets, double row_weight, const View& grad_output,
                  const View& dlog_probs) {
  dispatch_float(dlog_probs.dtype, "nll_backward", [&]<class T>(T) {
    check_indices("nll_backward", targets, -1, dlog_probs.cols());
    const int32_t* target = static_cast<int32_t*>(targets.data);
    const T g = static_cast<T>(row_weight * *static_cast<double*>(grad_output.data));
    for (int64_t r = 0; r < dlog_probs.rows(); ++r)
      if (target[r] >= 0) row_ptr<T>(dlog_probs, r)[target[r]] -= g;
  });
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
