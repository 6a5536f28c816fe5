// A GRU's time step and the logistic loss on the CPU (part of core/cpu/cpu.h).
#include "core/cpu/cpu.h"
#include "core/elementwise_loops.h"
#include "core/gates.h"

namespace nine::cpu {
inline namespace NINE_ISA {

void gru_cell(const ops::GruCell& io) {
  dispatch_float(io.h.dtype, "gru_cell", [&]<class T>(T) {
    const int64_t size = io.h.cols();
    for_rows(io.from_x, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const T *x = row_ptr<T>(io.from_x, b), *u = row_ptr<T>(io.from_h, b),
                *h = row_ptr<T>(io.h, b);
        T *y = row_ptr<T>(io.y, b), *gates = row_ptr<T>(io.gates, b);
        for (int64_t c = 0; c < size; ++c) {
          const ops::GruGates<T> g = ops::gru_gates(x[c], x[size + c], x[2 * size + c], u[c],
                                                    u[size + c], u[2 * size + c]);
          gates[c] = g.r;
          gates[size + c] = g.z;
          gates[2 * size + c] = g.n;
          y[c] = g.n + g.z * (h[c] - g.n);
        }
      }
    });
  });
}

void gru_cell_backward(const ops::GruCell& io, const View& dy, const View& dh) {
  dispatch_float(io.h.dtype, "gru_cell_backward", [&]<class T>(T) {
    const int64_t size = io.h.cols();
    for_rows(io.gates, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const T *h = row_ptr<T>(io.h, b), *up = row_ptr<T>(dy, b);
        T *u = row_ptr<T>(io.from_h, b), *gates = row_ptr<T>(io.gates, b),
          *down = row_ptr<T>(dh, b);
        for (int64_t c = 0; c < size; ++c) {
          const ops::GruGates<T> g{gates[c], gates[size + c], gates[2 * size + c]};
          const ops::GruGates<T> d = ops::gru_slopes(g, u[2 * size + c], h[c], up[c]);
          down[c] = up[c] * g.z;
          gates[c] = u[c] = d.r;
          gates[size + c] = u[size + c] = d.z;
          gates[2 * size + c] = d.n;
          u[2 * size + c] = d.n * g.r;
        }
      }
    });
  });
}

void logistic_loss(const View& x, const View& t, const View& y) {
  dispatch_float(x.dtype, "logistic_loss", [&]<class T>(T) {
    for_row_segments({&x, &t, &y}, [&](int64_t r, int64_t first, int64_t n) {
      const T *in = row_ptr<T>(x, r) + first, *target = row_ptr<T>(t, r) + first;
      T* out = row_ptr<T>(y, r) + first;
      for (int64_t i = 0; i < n; ++i) out[i] = ops::logistic_loss_of(in[i], target[i]);
    });
  });
}

void logistic_loss_backward(const View& x, const View& t, const View& dy, const OutputView& dx,
                            const OutputView& dt) {
  dispatch_float(x.dtype, "logistic_loss_backward", [&]<class T>(T) {
    if (dx.view)
      with_add(dx.add, [&](auto put) {
        for_row_segments({&x, &t, &dy, &dx.view}, [&](int64_t r, int64_t first, int64_t n) {
          const T *in = row_ptr<T>(x, r) + first, *target = row_ptr<T>(t, r) + first,
                  *up = row_ptr<T>(dy, r) + first;
          T* out = row_ptr<T>(dx.view, r) + first;
          for (int64_t i = 0; i < n; ++i) put(out[i], up[i] * (vsigmoid(in[i]) - target[i]));
        });
      });
    if (dt.view)
      with_add(dt.add, [&](auto put) {
        for_row_segments({&x, &dy, &dt.view}, [&](int64_t r, int64_t first, int64_t n) {
          const T *in = row_ptr<T>(x, r) + first, *up = row_ptr<T>(dy, r) + first;
          T* out = row_ptr<T>(dt.view, r) + first;
          for (int64_t i = 0; i < n; ++i) put(out[i], -up[i] * in[i]);
        });
      });
  });
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
