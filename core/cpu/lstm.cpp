// One LSTM layer over a sequence on the CPU.
//
// The input's product for all time steps is one GEMM. The recurrence runs block by block of hidden units: a thread keeps
// its blocks' share of W_hh, packed, in its cache for the whole sequence, multiplies, applies the gates while the
// product is still in cache, and meets the others once a time step. Blocks follow the layer's size only, so that the
// bits do not depend on the number of threads. Weight gradients are one GEMM each after the loop.
#include "core/arena.h"
#include "core/cpu/cpu.h"
#include "core/cpu/pieces.h"
#include "core/gemm.h"
#include "core/scratch.h"
#include "core/vmath.h"

namespace nine::cpu {
namespace {

constexpr int64_t kBatchRows = 64;  // rows of the batch that one product takes

// Hidden units of a block: enough blocks for many threads, wide enough for whole SIMD registers.
int64_t block_units(int64_t hidden) { return hidden >= 512 ? 64 : hidden >= 128 ? 32 : 16; }

// The layer's sizes and typed pointers.
template <class T>
struct Layer {
  explicit Layer(const ops::Lstm& io)
      : steps(io.steps()),
        batch(io.batch()),
        hidden(io.size()),
        units(block_units(hidden)),
        blocks((hidden + units - 1) / units),
        h(static_cast<T*>(io.hidden.data)),
        c(static_cast<T*>(io.cells.data)),
        ldh(io.hidden.ld),
        ldc(io.cells.ld),
        gates(static_cast<T*>(io.gates.data)),
        ldg(io.gates.ld) {}

  double operations_a_step() const { return static_cast<double>(batch) * static_cast<double>(8 * hidden * hidden); }
  int64_t width(int64_t block) const { return std::min(units, hidden - block * units); }
  T* gate_row(int64_t t, int64_t b) const { return gates + (t * batch + b) * ldg; }
  T* h_row(int64_t t, int64_t b) const { return h + (t * batch + b) * ldh; }  // t = 0: the initial state
  T* c_row(int64_t t, int64_t b) const { return c + (t * batch + b) * ldc; }

  int64_t steps, batch, hidden, units, blocks;
  T *h, *c;
  int64_t ldh, ldc;
  T* gates;
  int64_t ldg;
};

// Runs body(block) for the blocks of this member of a team: the same ones in every time step.
template <class F>
void for_my_blocks(int64_t blocks, int member, int team, F&& body) {
  for (int64_t block = member; block < blocks; block += team) body(block);
}

template <class T>
struct Gates {
  T *i, *f, *g, *o;
};

// The loops over the units of a row are functions of their own with restrict pointers: inside of the closures that call
// them there are too many pointers that might overlap, and the compiler does not vectorise.

// One row of gates from the input's product (in place), the recurrent product (p, one gate every `stride`) and the
// biases (one gate every `hidden`).
template <class T>
void gate_row(int64_t n, const Gates<T> gates, const T* __restrict p, int64_t stride, const T* __restrict b_ih, const T* __restrict b_hh,
              int64_t hidden, const T* __restrict c_before, T* __restrict c, T* __restrict h) {
  T* __restrict gi = gates.i, * __restrict gf = gates.f, * __restrict gg = gates.g, * __restrict go = gates.o;
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

// The gates' gradients before their non-linearity, in place; dc becomes that of the cell before.
template <class T>
void gate_row_backward(int64_t n, const Gates<T> gates, const T* __restrict dh, T* __restrict dc, const T* __restrict c,
                       const T* __restrict c_before) {
  T* __restrict gi = gates.i, * __restrict gf = gates.f, * __restrict gg = gates.g, * __restrict go = gates.o;
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

template <class T>
void forward(const ops::Lstm& io, Arena& arena) {
  const Layer<T> layer(io);
  const int64_t H = layer.hidden, U = layer.units;
  ops::copy(io.h0, io.hidden.row_range(0, layer.batch));
  ops::copy(io.c0, io.cells.row_range(0, layer.batch));
  matmul(io.x, false, io.w_ih, true, {io.gates}, 1.0);

  // W_hh' as [block][gate][k][unit].
  const Arena::Scope scope(arena);
  T* packed = arena.temporary({layer.blocks * 4, H * U}, dtype_of<T>).template data<T>();
  const T* w = static_cast<T*>(io.w_hh.data);
  parallel_for(
      layer.blocks * 4,
      [&](int64_t i) {
        const int64_t block = i / 4, gate = i % 4;
        transpose_tile(w + (gate * H + block * U) * io.w_hh.ld, io.w_hh.ld, layer.width(block), H, packed + i * H * U, U);
      },
      16.0 * static_cast<double>(H * H));
  const T *b_ih = static_cast<T*>(io.b_ih.data), *b_hh = static_cast<T*>(io.b_hh.data);

  const auto block_step = [&](int64_t t, int64_t block, T* products) {
    const int64_t u0 = block * U, n = layer.width(block);
    for (int64_t b0 = 0; b0 < layer.batch; b0 += kBatchRows) {
      const int64_t rows = std::min(kBatchRows, layer.batch - b0);
      const TileProduct<T> product(n, rows, H, U, layer.ldh, U, false);
      for (int64_t gate = 0; gate < 4; ++gate) product(packed + (block * 4 + gate) * H * U, layer.h_row(t, b0), products + gate * kBatchRows * U);
      for (int64_t b = 0; b < rows; ++b) {
        T* g = layer.gate_row(t, b0 + b) + u0;
        T *gi = g, *gf = g + H, *gg = g + 2 * H, *go = g + 3 * H;
        const T* p = products + b * U;
        const T* c_before = layer.c_row(t, b0 + b) + u0;
        T *c = layer.c_row(t + 1, b0 + b) + u0, *h = layer.h_row(t + 1, b0 + b) + u0;
        gate_row(n, {gi, gf, gg, go}, p, kBatchRows * U, b_ih + u0, b_hh + u0, H, c_before, c, h);
      }
    }
  };
  Barrier barrier;
  parallel_team(
      [&](int member, int team) {
        T* products = scratch<T>(Scratch::tile, 4 * kBatchRows * U);
        for (int64_t t = 0; t < layer.steps; ++t) {
          for_my_blocks(layer.blocks, member, team, [&](int64_t block) { block_step(t, block, products); });
          barrier.wait(team);
        }
      },
      layer.operations_a_step());
}

// dG_t (the gates' gradients before their non-linearity) for all t, in place of the gates; leaves dL/dh_0 and dL/dc_0
// in dh and dc.
template <class T>
void backward_through_time(const ops::Lstm& io, const ops::LstmGradients& g, const View& dh_first, const View& dc_first, Arena& arena) {
  const Layer<T> layer(io);
  const int64_t H = layer.hidden, U = layer.units;
  // Columns of W_hh as [block][row of W_hh][unit].
  T* packed = arena.temporary({layer.blocks, 4 * H * U}, dtype_of<T>).template data<T>();
  const T* w = static_cast<T*>(io.w_hh.data);
  parallel_for(
      layer.blocks,
      [&](int64_t block) {
        for (int64_t r = 0; r < 4 * H; ++r) std::copy_n(w + r * io.w_hh.ld + block * U, layer.width(block), packed + (block * 4 * H + r) * U);
      },
      16.0 * static_cast<double>(H * H));
  const auto row_or_null = [](const View& v, int64_t r) { return v ? row_ptr<T>(v, r) : nullptr; };

  const auto block_step = [&](int64_t t, int64_t block, T* recurrent) {
    const int64_t u0 = block * U, n = layer.width(block);
    for (int64_t b0 = 0; b0 < layer.batch; b0 += kBatchRows) {
      const int64_t rows = std::min(kBatchRows, layer.batch - b0);
      if (t + 1 < layer.steps) {
        const TileProduct<T> product(n, rows, 4 * H, U, layer.ldg, U, false);
        product(packed + block * 4 * H * U, layer.gate_row(t + 1, b0), recurrent);
      }
      for (int64_t b = 0; b < rows; ++b) {
        const int64_t row = b0 + b;
        // What reaches h_t: from above, and from the next time step (or from the last state's own gradient).
        T* dh = recurrent + b * U;
        if (t + 1 == layer.steps) {
          const T* last = row_or_null(g.dh_n, row);
          for (int64_t j = 0; j < n; ++j) dh[j] = last != nullptr ? last[u0 + j] : T(0);
        }
        if (const T* dy = row_or_null(g.dy, t * layer.batch + row))
          for (int64_t j = 0; j < n; ++j) dh[j] += dy[u0 + j];
        T* dc = row_ptr<T>(dc_first, row) + u0;
        T* gate = layer.gate_row(t, row) + u0;
        T *gi = gate, *gf = gate + H, *gg = gate + 2 * H, *go = gate + 3 * H;
        const T *c = layer.c_row(t + 1, row) + u0, *c_before = layer.c_row(t, row) + u0;
        gate_row_backward(n, {gi, gf, gg, go}, dh, dc, c, c_before);
      }
    }
  };
  Barrier barrier;
  parallel_team(
      [&](int member, int team) {
        T* recurrent = scratch<T>(Scratch::tile, kBatchRows * U);
        for (int64_t t = layer.steps - 1; t >= 0; --t) {
          for_my_blocks(layer.blocks, member, team, [&](int64_t block) { block_step(t, block, recurrent); });
          barrier.wait(team);
        }
      },
      layer.operations_a_step());
  if (dh_first) matmul(io.gates.row_range(0, layer.batch), false, io.w_hh, false, {dh_first}, 1.0);
}

}  // namespace

void lstm(const ops::Lstm& io, Arena& arena) {
  for_float(io.x.dtype, "lstm", [&]<class T>(T) { forward<T>(io, arena); });
}

void lstm_backward(const ops::Lstm& io, const ops::LstmGradients& g, Arena& arena) {
  const Arena::Scope scope(arena);
  const Shape state{io.batch(), io.size()};
  const Tensor dc = arena.temporary(state, io.x.dtype), dh = arena.temporary(state, io.x.dtype);
  if (g.dc_n) {
    ops::copy(g.dc_n, dc);
  } else {
    fill(dc, 0);
  }
  for_float(io.x.dtype, "lstm_backward", [&]<class T>(T) { backward_through_time<T>(io, g, g.dh0.view ? dh.view() : View{}, dc, arena); });

  const View& dgates = io.gates;
  if (g.dh0.view) scale(1, dh, g.dh0);
  if (g.dc0.view) scale(1, dc, g.dc0);
  if (g.dx.view) matmul(dgates, false, io.w_ih, false, g.dx, 1.0);
  if (g.dw_ih.view) matmul(dgates, true, io.x, false, g.dw_ih, 1.0);
  if (g.dw_hh.view) matmul(dgates, true, io.hidden.row_range(0, io.x.rows()), false, g.dw_hh, 1.0);
  if (g.db_ih.view) sum_rows(dgates, g.db_ih);
  if (g.db_hh.view) sum_rows(dgates, g.db_hh);
}

}  // namespace nine::cpu
