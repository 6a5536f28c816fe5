// A GRU's time step and the logistic loss on a GPU (part of cuda/ops.cuh).
#include "core/gates.h"
#include "cuda/launch.cuh"
#include "cuda/ops.cuh"

namespace nine::cuda {
namespace {

template <class T>
struct GruStep {
  Matrix<T> x, u, h, y, gates;
  NINE_D void operator()(int64_t b, int64_t c) const {
    const int64_t z = h.cols + c, n = 2 * h.cols + c;
    const ops::GruGates<T> g =
        ops::gru_gates(x.at(b, c), x.at(b, z), x.at(b, n), u.at(b, c), u.at(b, z), u.at(b, n));
    gates.at(b, c) = g.r;
    gates.at(b, z) = g.z;
    gates.at(b, n) = g.n;
    y.at(b, c) = g.n + g.z * (h.at(b, c) - g.n);
  }
};

template <class T>
struct GruStepBackward {
  Matrix<T> u, h, gates, dy, dh;
  NINE_D void operator()(int64_t b, int64_t c) const {
    const int64_t z = h.cols + c, n = 2 * h.cols + c;
    const ops::GruGates<T> g{gates.at(b, c), gates.at(b, z), gates.at(b, n)},
        d = ops::gru_slopes(g, u.at(b, n), h.at(b, c), dy.at(b, c));
    dh.at(b, c) = dy.at(b, c) * g.z;
    gates.at(b, c) = u.at(b, c) = d.r;
    gates.at(b, z) = u.at(b, z) = d.z;
    gates.at(b, n) = d.n;
    u.at(b, n) = d.n * g.r;
  }
};

template <class T>
struct LogisticLoss {
  Matrix<T> x, t, y;
  NINE_D void operator()(int64_t r, int64_t c) const {
    y.at(r, c) = ops::logistic_loss_of(x.at(r, c), t.at(r, c));
  }
};
template <class T>
struct LogisticSlope {
  Matrix<T> x, t, dy, dx;
  bool add;
  NINE_D void operator()(int64_t r, int64_t c) const {
    put(add, dx.at(r, c), dy.at(r, c) * (vsigmoid(x.at(r, c)) - t.at(r, c)));
  }
};
template <class T>
struct LogisticTargetSlope {
  Matrix<T> x, dy, dt;
  bool add;
  NINE_D void operator()(int64_t r, int64_t c) const {
    put(add, dt.at(r, c), -dy.at(r, c) * x.at(r, c));
  }
};

}  // namespace

void gru_cell(const ops::GruCell& io) {
  dispatch_float(io.h.dtype, "gru_cell", [&]<class T>(T) {
    each(CudaDevice::of(io.h), "gru_cell", {io.h.rows(), io.h.cols()},
         GruStep<T>{Matrix<T>(io.from_x), Matrix<T>(io.from_h), Matrix<T>(io.h), Matrix<T>(io.y),
                    Matrix<T>(io.gates)});
  });
}

void gru_cell_backward(const ops::GruCell& io, const View& dy, const View& dh) {
  dispatch_float(io.h.dtype, "gru_cell_backward", [&]<class T>(T) {
    each(CudaDevice::of(io.h), "gru_cell_backward", {io.h.rows(), io.h.cols()},
         GruStepBackward<T>{Matrix<T>(io.from_h), Matrix<T>(io.h), Matrix<T>(io.gates),
                            Matrix<T>(dy), Matrix<T>(dh)});
  });
}

void logistic_loss(const View& x, const View& t, const View& y) {
  dispatch_float(x.dtype, "logistic_loss", [&]<class T>(T) {
    each(CudaDevice::of(x), "logistic_loss", plane_of({&x, &t, &y}),
         LogisticLoss<T>{Matrix<T>(x), Matrix<T>(t), Matrix<T>(y)});
  });
}

void logistic_loss_backward(const View& x, const View& t, const View& dy, const OutputView& dx,
                            const OutputView& dt) {
  dispatch_float(x.dtype, "logistic_loss_backward", [&]<class T>(T) {
    CudaDevice& device = CudaDevice::of(x);
    if (dx.view)
      each(device, "logistic_loss_backward", plane_of({&x, &t, &dy, &dx.view}),
           LogisticSlope<T>{Matrix<T>(x), Matrix<T>(t), Matrix<T>(dy), Matrix<T>(dx.view), dx.add});
    if (dt.view)
      each(device, "logistic_loss_backward", plane_of({&x, &dy, &dt.view}),
           LogisticTargetSlope<T>{Matrix<T>(x), Matrix<T>(dy), Matrix<T>(dt.view), dt.add});
  });
}

}  // namespace nine::cuda
