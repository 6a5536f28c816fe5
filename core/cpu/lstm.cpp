// One LSTM layer over a sequence on the CPU (part of core/cpu/cpu.h).
//
// The product of the input with W_ih is one GEMM for all time steps. The recurrent product is
// computed for a block of hidden units at a time, of all four gates, and the gates'
// non-linearities are applied while the product is still in cache. Work is shared out in one of two
// ways, chosen by the shapes so that results do not depend on the number of threads:
//
// by rows    for small layers. Rows of the batch are independent of each other, so a task takes a
//            few rows through all time steps.
// by blocks  when W_hh fills a core's cache. A task is a block of hidden units for one time step,
//            with a barrier after each step. The part of W_hh that belongs to a thread's blocks
//            stays in its cache for the whole sequence.
//
// Gradients of the weights are one GEMM each, after the loop over time (core/ops.cpp).
#include "core/arena.h"
#include "core/cpu/cpu.h"
#include "core/cpu/lstm_pieces.h"
#include "core/elementwise_loops.h"
#include "core/gemm.h"
#include "core/scratch.h"
#include "core/vmath.h"

namespace nine::cpu {
inline namespace NINE_ISA {
namespace {

constexpr int64_t kBatchRows = 64;            // rows of the batch in one product
constexpr int64_t kTaskRows = 8;              // rows of the batch in a task, when cut by rows
constexpr int64_t kCachedBytes = 256 * 1024;  // of W_hh up to which a layer is cut by rows
constexpr int64_t kUnits = 64;                // hidden units of a block, whole SIMD registers

// The layer's sizes, and its results with their type.
template <class T>
struct Layer {
  explicit Layer(const ops::Lstm& io)
      : steps(io.steps()),
        batch(io.batch()),
        hidden(io.size()),
        panel(tile_panel<T>()),
        units(std::min(panel > 0 ? panel : kUnits, hidden)),
        blocks((hidden + units - 1) / units),
        h(static_cast<T*>(io.hidden.data)),
        c(static_cast<T*>(io.cells.data)),
        ldh(io.hidden.ld),
        ldc(io.cells.ld),
        gates(static_cast<T*>(io.gates.data)),
        ldg(io.gates.ld),
        pieces(std::is_same_v<T, float> && RecurrentPieces::fits(io.size())) {}

  double operations_per_step() const {
    return static_cast<double>(batch) * static_cast<double>(8 * hidden * hidden);
  }
  int64_t width(int64_t block) const { return std::min(units, hidden - block * units); }
  // Rows of a task where the batch is cut by rows.
  int64_t task_rows() const { return pieces ? RecurrentPieces::kTaskRows : kTaskRows; }
  bool by_rows() const {
    return batch >= 2 * task_rows() &&
           4 * hidden * hidden * static_cast<int64_t>(sizeof(T)) <= kCachedBytes;
  }
  T* gate_row(int64_t t, int64_t b) const { return gates + (t * batch + b) * ldg; }
  // Hidden states and cells before time step t; t = 0 is the initial state.
  T* h_row(int64_t t, int64_t b) const { return h + (t * batch + b) * ldh; }
  T* c_row(int64_t t, int64_t b) const { return c + (t * batch + b) * ldc; }

  int64_t steps, batch, hidden, panel, units, blocks;
  T *h, *c;
  int64_t ldh, ldc;
  T* gates;
  int64_t ldg;
  bool pieces;  // recurrent products are RecurrentPieces'
};

// Calls step(t, block, first row of the batch, rows) for the whole layer. For each row, time steps
// are in order: from 0 up or, with `down`, from the last one down.
template <class T, class F>
void for_time_steps(const Layer<T>& layer, bool down, F&& step) {
  const auto time = [&](int64_t i) { return down ? layer.steps - 1 - i : i; };
  const auto for_rows = [&](int64_t i, int64_t block, int64_t first, int64_t last) {
    for (int64_t b = first; b < last; b += kBatchRows)
      step(time(i), block, b, std::min(kBatchRows, last - b));
  };
  if (!layer.by_rows())
    return parallel_rounds(
        layer.steps, layer.blocks,
        [&](int64_t i, int64_t block) { for_rows(i, block, 0, layer.batch); },
        layer.operations_per_step());
  const auto all_steps = [&](int64_t first, int64_t last) {
    for (int64_t i = 0; i < layer.steps; ++i)
      for (int64_t block = 0; block < layer.blocks; ++block) for_rows(i, block, first, last);
  };
  parallel_ranges(layer.batch, layer.task_rows(), all_steps,
                  layer.operations_per_step() * static_cast<double>(layer.steps));
}

// The gates of some hidden units of one row: input, forget, cell and output gate.
template <class T>
struct Gates {
  T *i, *f, *g, *o;
};

// The loops over the units of a row are separate functions with restrict pointers. Inside the
// lambdas that call them the compiler has too many pointers that might overlap, and does not
// vectorise.

// Forward for n units of one row. On entry `gates` hold the input's product x_t W_ih'. p is the
// recurrent product, whose gates are `stride` apart; those of the biases are `hidden` apart.
template <class T>
void gate_row(int64_t n, const Gates<T> gates, const T* __restrict p, int64_t stride,
              const T* __restrict b_ih, const T* __restrict b_hh, int64_t hidden,
              const T* __restrict c_before, T* __restrict c, T* __restrict h) {
  T* __restrict gi = gates.i, * __restrict gf = gates.f;
  T* __restrict gg = gates.g, * __restrict go = gates.o;
  for (int64_t j = 0; j < n; ++j) {
    const T i = vsigmoid(gi[j] + p[j] + (b_ih[j] + b_hh[j]));
    const T f = vsigmoid(gf[j] + p[stride + j] + (b_ih[hidden + j] + b_hh[hidden + j]));
    const T g = vtanh(gg[j] + p[2 * stride + j] + (b_ih[2 * hidden + j] + b_hh[2 * hidden + j]));
    const T o = vsigmoid(go[j] + p[3 * stride + j] + (b_ih[3 * hidden + j] + b_hh[3 * hidden + j]));
    const T cell = f * c_before[j] + i * g;
    gi[j] = i;
    gf[j] = f;
    gg[j] = g;
    go[j] = o;
    c[j] = cell;
    h[j] = o * vtanh(cell);
  }
}

// Backward for n units of one row. Replaces the gates by the gradients of their arguments (before
// sigmoid and tanh), and dc, dL/dc_t, by dL/dc_{t-1}. dh is dL/dh_t.
template <class T>
void gate_row_backward(int64_t n, const Gates<T> gates, const T* __restrict dh, T* __restrict dc,
                       const T* __restrict c, const T* __restrict c_before) {
  T* __restrict gi = gates.i, * __restrict gf = gates.f;
  T* __restrict gg = gates.g, * __restrict go = gates.o;
  for (int64_t j = 0; j < n; ++j) {
    const T i = gi[j], f = gf[j], g = gg[j], o = go[j], tc = vtanh(c[j]);
    const T d = dc[j] + dh[j] * o * (T(1) - tc * tc);
    gi[j] = d * g * i * (T(1) - i);
    gf[j] = d * c_before[j] * f * (T(1) - f);
    gg[j] = d * i * (T(1) - g * g);
    go[j] = dh[j] * tc * o * (T(1) - o);
    dc[j] = d * f;
  }
}

// h_t W_hh' of a block of hidden units, as products (rows, 4 gates, units), and what the next time
// step needs of h_{t + 1}.
template <class T>
class ForwardProducts {
 public:
  ForwardProducts(const Layer<T>& layer, const View& w_hh, Arena& arena)
      : layer_(layer), together_(layer.panel > 0 ? 1 : 4) {
    const int64_t H = layer.hidden, U = layer.units;
    packed_ = static_cast<T*>(arena.temporary({layer.blocks, H * 4 * U}, dtype_of<T>).view().data);
    parallel_for(
        layer.blocks * 4,
        [&](int64_t i) {
          const int64_t block = i / 4, gate = i % 4;
          transpose_tile(row_ptr<T>(w_hh, gate * H + block * U), w_hh.ld, layer.width(block), H,
                         panel(block, gate) + gate % together_ * U, together_ * U);
        },
        16.0 * static_cast<double>(H * H));
  }
  void multiply(int64_t t, int64_t block, int64_t b0, int64_t rows, T* products) const {
    const int64_t U = layer_.units, ld = together_ * U, n = ld - U + layer_.width(block);
    const TileProduct<T> product(n, rows, layer_.hidden, ld, layer_.ldh, 4 * U, false);
    for (int64_t gate = 0; gate < 4; gate += together_)
      product(panel(block, gate), layer_.h_row(t, b0), products + gate * U);
  }
  void keep(int64_t, int64_t, int64_t, int64_t) const {}

 private:
  T* panel(int64_t block, int64_t gate) const {
    return packed_ + (block * 4 + gate / together_ * together_) * layer_.hidden * layer_.units;
  }
  const Layer<T>& layer_;
  int64_t together_;  // gates that one product computes
  T* packed_;         // W_hh' as [block][gate / together][k][gate % together][unit]
};

class ForwardPieces {
 public:
  ForwardPieces(const Layer<float>& layer, const View& w_hh, Arena& arena)
      : layer_(layer),
        w_hh_(w_hh),
        pieces_(layer.steps, layer.batch, layer.hidden, layer.blocks, 4 * layer.units, arena) {
    const int64_t H = layer.hidden;
    parallel_for(
        layer.blocks,
        [&](int64_t block) {
          for (int64_t gate = 0; gate < 4; ++gate)
            pieces_.pack_weights(block, gate * layer.units, weights(block, gate),
                                 layer.width(block));
        },
        16.0 * static_cast<double>(H * H));
    for (int64_t b0 = 0; b0 < layer.batch; b0 += bf16::kGroup)
      pieces_.store(0, b0, std::min(bf16::kGroup, layer.batch - b0), 0, 0, layer.h_row(0, b0),
                    layer.ldh, H);
  }
  void multiply(int64_t t, int64_t block, int64_t b0, int64_t rows, float* products) const {
    for (int64_t gate = 0; gate < 4; ++gate)
      pieces_.multiply(t, b0, rows, {layer_.h_row(t, b0), layer_.ldh}, block, gate * layer_.units,
                       weights(block, gate), layer_.width(block), products + gate * layer_.units,
                       4 * layer_.units);
  }
  void keep(int64_t t, int64_t block, int64_t b0, int64_t rows) {
    const int64_t u0 = block * layer_.units;
    pieces_.store(t + 1, b0, rows, block, u0, layer_.h_row(t + 1, b0) + u0, layer_.ldh,
                  layer_.width(block));
  }

 private:
  bf16::Factor weights(int64_t block, int64_t gate) const {
    return {row_ptr<float>(w_hh_, gate * layer_.hidden + block * layer_.units), w_hh_.ld};
  }
  const Layer<float>& layer_;
  const View& w_hh_;
  RecurrentPieces pieces_;
};

template <class T>
void forward(const ops::Lstm& io, Arena& arena) {
  const Layer<T> layer(io);
  const int64_t H = layer.hidden, U = layer.units;
  ops::copy(io.h0, io.hidden.row_range(0, layer.batch));
  ops::copy(io.c0, io.cells.row_range(0, layer.batch));
  matmul(io.x, false, io.w_ih, true, {io.gates}, 1.0);

  const Arena::Scope scope(arena);
  const T *b_ih = static_cast<T*>(io.b_ih.data), *b_hh = static_cast<T*>(io.b_hh.data);
  const auto run = [&](auto& recurrent) {
    for_time_steps(layer, false, [&](int64_t t, int64_t block, int64_t b0, int64_t rows) {
      const int64_t u0 = block * U, n = layer.width(block);
      T* products = scratch<T>(Scratch::tile, kBatchRows * 4 * U);
      recurrent.multiply(t, block, b0, rows, products);
      for (int64_t b = 0; b < rows; ++b) {
        T* g = layer.gate_row(t, b0 + b) + u0;
        const T *p = products + b * 4 * U, *c_before = layer.c_row(t, b0 + b) + u0;
        gate_row(n, {g, g + H, g + 2 * H, g + 3 * H}, p, U, b_ih + u0, b_hh + u0, H, c_before,
                 layer.c_row(t + 1, b0 + b) + u0, layer.h_row(t + 1, b0 + b) + u0);
      }
      recurrent.keep(t, block, b0, rows);
    });
  };
  if constexpr (std::is_same_v<T, float>)
    if (layer.pieces) {
      ForwardPieces recurrent(layer, io.w_hh, arena);
      return run(recurrent);
    }
  ForwardProducts<T> recurrent(layer, io.w_hh, arena);
  run(recurrent);
}

// The gradients of time step t's gates times W_hh, (rows, units of a block).
template <class T>
class BackwardProducts {
 public:
  BackwardProducts(const Layer<T>& layer, const View& w_hh, Arena& arena) : layer_(layer) {
    const int64_t H = layer.hidden, U = layer.units;
    packed_ = static_cast<T*>(arena.temporary({layer.blocks, 4 * H * U}, dtype_of<T>).view().data);
    parallel_for(
        layer.blocks,
        [&](int64_t block) {
          for (int64_t r = 0; r < 4 * H; ++r)
            std::copy_n(row_ptr<T>(w_hh, r) + block * U, layer.width(block),
                        packed_ + (block * 4 * H + r) * U);
        },
        16.0 * static_cast<double>(H * H));
  }
  void multiply(int64_t t, int64_t block, int64_t b0, int64_t rows, T* products) const {
    const int64_t H = layer_.hidden, U = layer_.units;
    TileProduct<T>(layer_.width(block), rows, 4 * H, U, layer_.ldg, U, false)(
        packed_ + block * 4 * H * U, layer_.gate_row(t, b0), products);
  }
  void keep(int64_t, int64_t, int64_t, int64_t) const {}

 private:
  const Layer<T>& layer_;
  T* packed_;  // the columns of W_hh as [block][row of W_hh][unit]
};

class BackwardPieces {
 public:
  BackwardPieces(const Layer<float>& layer, const View& w_hh, Arena& arena)
      : layer_(layer),
        w_hh_(w_hh),
        pieces_(layer.steps, layer.batch, 4 * layer.hidden, layer.blocks, layer.units, arena) {
    parallel_for(
        layer.blocks,
        [&](int64_t block) { pieces_.pack_weights(block, 0, weights(block), layer.width(block)); },
        16.0 * static_cast<double>(layer.hidden * layer.hidden));
  }
  void multiply(int64_t t, int64_t block, int64_t b0, int64_t rows, float* products) const {
    pieces_.multiply(t, b0, rows, {layer_.gate_row(t, b0), layer_.ldg}, block, 0, weights(block),
                     layer_.width(block), products, layer_.units);
  }
  void keep(int64_t t, int64_t block, int64_t b0, int64_t rows) {
    for (int64_t gate = 0; gate < 4; ++gate) {
      const int64_t column = gate * layer_.hidden + block * layer_.units;
      pieces_.store(t, b0, rows, block, column, layer_.gate_row(t, b0) + column, layer_.ldg,
                    layer_.width(block));
    }
  }

 private:
  bf16::Factor weights(int64_t block) const {
    return {row_ptr<float>(w_hh_, 0) + block * layer_.units, w_hh_.ld, false};
  }
  const Layer<float>& layer_;
  const View& w_hh_;
  RecurrentPieces pieces_;
};

template <class T>
void backward_through_time(const ops::Lstm& io, const ops::LstmGradients& g, const View& dh0,
                           const View& dc, Arena& arena) {
  const Layer<T> layer(io);
  const int64_t H = layer.hidden, U = layer.units;
  const Arena::Scope scope(arena);
  const auto row_or_null = [](const View& v, int64_t r) { return v ? row_ptr<T>(v, r) : nullptr; };

  const auto run = [&](auto& recurrent) {
    for_time_steps(layer, true, [&](int64_t t, int64_t block, int64_t b0, int64_t rows) {
      const int64_t u0 = block * U, n = layer.width(block);
      T* products = scratch<T>(Scratch::tile, kBatchRows * U);
      if (t + 1 < layer.steps) recurrent.multiply(t + 1, block, b0, rows, products);
      for (int64_t row = b0; row < b0 + rows; ++row) {
        // dL/dh_t has two parts: dy, from the layer above, and the next time step's, which is
        // already in dh. At the last step the second part is the gradient of the final state.
        T* dh = products + (row - b0) * U;
        if (t + 1 == layer.steps) {
          const T* last = row_or_null(g.dh_n, row);
          for (int64_t j = 0; j < n; ++j) dh[j] = last != nullptr ? last[u0 + j] : T(0);
        }
        if (const T* dy = row_or_null(g.dy, t * layer.batch + row))
          for (int64_t j = 0; j < n; ++j) dh[j] += dy[u0 + j];
        T* gate = layer.gate_row(t, row) + u0;
        gate_row_backward(n, {gate, gate + H, gate + 2 * H, gate + 3 * H}, dh,
                          row_ptr<T>(dc, row) + u0, layer.c_row(t + 1, row) + u0,
                          layer.c_row(t, row) + u0);
      }
      recurrent.keep(t, block, b0, rows);
    });
  };
  bool done = false;
  if constexpr (std::is_same_v<T, float>)
    if (layer.pieces) {
      BackwardPieces recurrent(layer, io.w_hh, arena);
      run(recurrent);
      done = true;
    }
  if (!done) {
    BackwardProducts<T> recurrent(layer, io.w_hh, arena);
    run(recurrent);
  }
  if (g.dh0.view) matmul(io.gates.row_range(0, layer.batch), false, io.w_hh, false, {dh0}, 1.0);
}

}  // namespace

void lstm(const ops::Lstm& io, Arena& arena) {
  dispatch_float(io.x.dtype, "lstm", [&]<class T>(T) { forward<T>(io, arena); });
}

void lstm_through_time(const ops::Lstm& io, const ops::LstmGradients& g, const View& dh,
                       const View& dc, Arena& arena) {
  dispatch_float(io.x.dtype, "lstm_backward",
                 [&]<class T>(T) { backward_through_time<T>(io, g, dh, dc, arena); });
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
