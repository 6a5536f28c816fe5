// One LSTM layer over a sequence on a GPU (part of cuda/ops.cuh). The product of the input with
// W_ih is one GEMM for all time steps. The loop over time is one kernel where that fits on the GPU
// (cuda/lstm_loop.cuh). Elsewhere a time step is the recurrent product, added to the gates, and one
// kernel, and the loop becomes a CUDA graph, which is launched again in training steps with the
// same shapes and addresses; a step's pool gives the same addresses each time.
#include "core/arena.h"
#include "core/matmul_precision.h"
#include "cuda/blas.cuh"
#include "cuda/launch.cuh"
#include "cuda/lstm_cell.cuh"
#include "cuda/lstm_loop.cuh"
#include "cuda/ops.cuh"

namespace nine::cuda {
namespace {

// Forward for unit u of row b. On entry `gates` hold x_t W_ih' + h_{t-1} W_hh'; adds the biases,
// applies the non-linearities, and computes cell and hidden state.
template <class T>
struct Cell {
  Matrix<T> gates, c_before, c, h;
  const T *b_ih, *b_hh;
  NINE_D void operator()(int64_t b, int64_t u) const {
    using Gates = LstmGates<T>;
    const int64_t size = h.cols;
    Gates g = Gates::load(gates.row(b) + u, size) +
              (Gates::load(b_ih + u, size) + Gates::load(b_hh + u, size));
    const LstmState<T> now = lstm_cell(g, c_before.at(b, u));
    g.store(gates.row(b) + u, size);
    c.at(b, u) = now.c;
    h.at(b, u) = now.h;
  }
};

// Backward for unit u of row b. Replaces the gates by the gradients of their arguments (before
// sigmoid and tanh), and dc, dL/dc_t, by dL/dc_{t-1}.
template <class T>
struct CellBackward {
  Matrix<T> gates, c_before, c, dc;
  // The two parts of dL/dh_t, each of which may be empty: that of the next time step (at the last
  // one, of the final state), and that of the layer above.
  Matrix<T> dh_next, dy;
  NINE_D void operator()(int64_t b, int64_t u) const {
    using Gates = LstmGates<T>;
    T* const g = gates.row(b) + u;
    const T dh = (dh_next.data != nullptr ? dh_next.at(b, u) : T(0)) +
                 (dy.data != nullptr ? dy.at(b, u) : T(0));
    T d = dc.at(b, u);
    const Gates gradients =
        lstm_cell_backward(Gates::load(g, c.cols), c_before.at(b, u), c.at(b, u), dh, d);
    gradients.store(g, c.cols);
    dc.at(b, u) = d;
  }
};

// The key of a graph: everything that a loop over time depends on, as bytes.
class Key {
 public:
  explicit Key(const char* op) : text_(op) { append(static_cast<int>(matmul_precision())); }
  void view(const View& v) {
    append(v.data);
    append(v.rows());
    append(v.cols());
    append(v.ld);
    append(v.dtype);
  }
  const std::string& text() const { return text_; }

 private:
  template <class X>
  void append(const X& x) {
    text_.append(reinterpret_cast<const char*>(&x), sizeof x);
  }
  std::string text_;
};

template <class T>
void forward(const ops::Lstm& io) {
  CudaDevice& device = CudaDevice::of(io.x);
  const int64_t batch = io.batch(), steps = io.steps();
  Key key("lstm");
  for (const View* v : {&io.w_hh, &io.b_ih, &io.b_hh, &io.hidden, &io.cells, &io.gates})
    key.view(*v);
  device.run_graph(key.text(), [&] {
    for (int64_t t = 0; t < steps; ++t) {
      const View gates = io.gates.row_range(t * batch, batch);
      matmul(io.hidden.row_range(t * batch, batch), false, io.w_hh, true, {gates, true}, 1.0);
      each(device, "lstm", {batch, io.size()},
           Cell<T>{Matrix<T>(gates), Matrix<T>(io.cells.row_range(t * batch, batch)),
                   Matrix<T>(io.cells.row_range((t + 1) * batch, batch)),
                   Matrix<T>(io.hidden.row_range((t + 1) * batch, batch)),
                   static_cast<T*>(io.b_ih.data), static_cast<T*>(io.b_hh.data)});
    }
  });
}

template <class T>
void backward_through_time(const ops::Lstm& io, const ops::LstmGradients& g, const View& dh,
                           const View& dc) {
  CudaDevice& device = CudaDevice::of(io.x);
  const int64_t batch = io.batch(), steps = io.steps();
  Key key("lstm_backward");
  for (const View* v : {&io.w_hh, &io.cells, &io.gates, &g.dy, &g.dh_n, &g.dh0.view, &dh, &dc})
    key.view(*v);
  device.run_graph(key.text(), [&] {
    for (int64_t t = steps - 1; t >= 0; --t) {
      const bool last = t + 1 == steps;
      if (!last)
        matmul(io.gates.row_range((t + 1) * batch, batch), false, io.w_hh, false, {dh}, 1.0);
      const View dh_next = last ? g.dh_n : dh,
                 dy = g.dy ? g.dy.row_range(t * batch, batch) : View{};
      each(device, "lstm_backward", {batch, io.size()},
           CellBackward<T>{Matrix<T>(io.gates.row_range(t * batch, batch)),
                           Matrix<T>(io.cells.row_range(t * batch, batch)),
                           Matrix<T>(io.cells.row_range((t + 1) * batch, batch)), Matrix<T>(dc),
                           dh_next ? Matrix<T>(dh_next) : Matrix<T>(),
                           dy ? Matrix<T>(dy) : Matrix<T>()});
    }
    if (g.dh0.view) matmul(io.gates.row_range(0, batch), false, io.w_hh, false, {dh}, 1.0);
  });
}

}  // namespace

void lstm(const ops::Lstm& io, Arena&) {
  ops::copy(io.h0, io.hidden.row_range(0, io.batch()));
  ops::copy(io.c0, io.cells.row_range(0, io.batch()));
  matmul(io.x, false, io.w_ih, true, {io.gates}, 1.0);
  if (lstm_loop(io)) return;
  dispatch_float(io.x.dtype, "lstm", [&]<class T>(T) { forward<T>(io); });
}

void lstm_through_time(const ops::Lstm& io, const ops::LstmGradients& g, const View& dh,
                       const View& dc, Arena&) {
  if (lstm_loop_backward(io, g, dh, dc)) return;
  dispatch_float(io.x.dtype, "lstm_backward",
                 [&]<class T>(T) { backward_through_time<T>(io, g, dh, dc); });
}

}  // namespace nine::cuda
