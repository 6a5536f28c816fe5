// An LSTM's loop over time in one launch (cuda/lstm_loop.cuh).
//
// A block has some hidden units and some rows of the batch: 128 pairs of them. It keeps the rows of
// W_hh of its units' gates in shared memory for the whole sequence, and the cells of its pairs in
// registers. All blocks run side by side and wait for each other once a time step.
//
// Forward, a block multiplies its rows of W_hh with h_{t-1}: 512 sums, whose terms its warps share
// out by columns. Backward, it multiplies its own gates' gradients with its rows of W_hh: terms of
// dL/dh_{t-1} of all units, which are stored, and added up by the blocks that have these units. So
// both directions need one barrier a time step, and the same part of W_hh.
//
// Products are multiply-adds in float32 whatever --matmul-precision is. Sums are in an order that
// the shapes give.
#include "cuda/lstm_loop.cuh"

#include "cuda/launch.cuh"
#include "cuda/lstm_cell.cuh"

namespace nine::cuda {
namespace {

constexpr int kWarps = kBlock / kWarp;
constexpr int kPairs = 128;  // of units and rows, of a block

/// Four numbers that are loaded and stored together.
struct alignas(16) Four {
  float of[4];
};
NINE_D Four four_at(const float* p) { return *reinterpret_cast<const Four*>(p); }

/// How a block of kUnits units is cut.
template <int kUnits>
struct Tiles {
  static constexpr int kRows = kPairs / kUnits;        ///< of the batch
  static constexpr int kGates = 4 * kUnits;            ///< rows of W_hh: gate * kUnits + unit
  static constexpr int kColumns = 4 * kPairs / kRows;  ///< of h that a warp loads at a time
  // From one row to the next in shared memory: so that lanes that read four numbers each, of
  // neighbouring rows, use all banks.
  static constexpr int kColumnStride = kColumns + 4;
  static constexpr int kSumStride = kGates + kUnits;
  /// Numbers that a warp has in shared memory: columns of h, then sums.
  static constexpr int kOfWarp = kRows * (kSumStride > kColumnStride ? kSumStride : kColumnStride);
};
NINE_HD inline int padded(int size) { return (size + 31) / 32 * 32; }
/// From one row of W_hh to the next in shared memory; numbers behind its columns are 0.
NINE_HD inline int weight_stride(int size) { return padded(size) + 4; }

/// What both directions have.
struct Layer {
  Matrix<float> w_hh, cells, gates;
  int steps, batch, size;
  unsigned* arrived;  // of grid_barrier
};

/// A block's part of the layer, and a thread's.
template <int kUnits>
struct Place {
  int first_unit, first_row, thread, lane, warp;
  // The pair of thread % kPairs.
  int unit, row;
  bool real;  // whether the layer has this pair
  NINE_D explicit Place(const Layer& layer)
      : first_unit(static_cast<int>(blockIdx.x) * kUnits),
        first_row(static_cast<int>(blockIdx.y) * Tiles<kUnits>::kRows),
        thread(static_cast<int>(threadIdx.x)),
        lane(thread % kWarp),
        warp(thread / kWarp),
        unit(thread % kUnits),
        row(thread % kPairs / kUnits),
        real(first_unit + unit < layer.size && first_row + row < layer.batch) {}
};

/// The rows of W_hh of the block's units, to shared memory.
template <int kUnits>
NINE_D void load_weights(const Layer& layer, const Place<kUnits>& at, float* w) {
  constexpr int kOfWarp = Tiles<kUnits>::kGates / kWarps;
  const int stride = weight_stride(layer.size);
  for (int c = at.lane; c < padded(layer.size); c += kWarp) {
    float x[kOfWarp];
#pragma unroll
    for (int i = 0; i < kOfWarp; ++i) {
      const int r = at.warp + i * kWarps, unit = at.first_unit + r % kUnits;
      x[i] = unit < layer.size && c < layer.size ? layer.w_hh.at(r / kUnits * layer.size + unit, c)
                                                 : 0.0f;
    }
#pragma unroll
    for (int i = 0; i < kOfWarp; ++i) w[(at.warp + i * kWarps) * stride + c] = x[i];
  }
}

/// Of a row of h that is not the batch's, 0.
template <int kUnits>
NINE_D void load_columns(const Layer& layer, const Place<kUnits>& at, const float* h, int64_t ld,
                         int first, float (&x)[16]) {
  using Tile = Tiles<kUnits>;
  constexpr int kOther = kWarp / Tile::kColumns;  // rows that a warp loads at once
  const int c = first + at.lane % Tile::kColumns, begin = at.lane / Tile::kColumns;
  const bool real = c < layer.size;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const int r = begin + i * kOther;
    x[i] = real && at.first_row + r < layer.batch ? h[r * ld + c] : 0.0f;
  }
}

/// The products of the block's rows of W_hh with h, which points to its first row: each warp's sums
/// are those of its columns, [row][gate] in `mine`.
template <int kUnits>
NINE_D void multiply_columns(const Layer& layer, const Place<kUnits>& at, const float* w,
                             const float* h, int64_t ld, float* mine) {
  using Tile = Tiles<kUnits>;
  constexpr int kColumns = Tile::kColumns, kStride = Tile::kColumnStride, kOther = kWarp / kColumns;
  // A lane has four gates, kGateLanes apart, of four rows, kRowLanes apart.
  constexpr int kGateLanes = Tile::kGates / 4, kRowLanes = Tile::kRows / 4;
  static_assert(kGateLanes * kRowLanes == kWarp && 16 * kOther == Tile::kRows);
  const int gate = at.lane % kGateLanes, row = at.lane / kGateLanes,
            stride = weight_stride(layer.size);
  float sums[4][4] = {}, next[16];
  load_columns<kUnits>(layer, at, h, ld, at.warp * kColumns, next);
  for (int c = at.warp * kColumns; c < layer.size; c += kWarps * kColumns) {
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 16; ++i)
      mine[(at.lane / kColumns + i * kOther) * kStride + at.lane % kColumns] = next[i];
    __syncwarp();
    if (c + kWarps * kColumns < layer.size)  // while these are multiplied
      load_columns<kUnits>(layer, at, h, ld, c + kWarps * kColumns, next);
#pragma unroll
    for (int k = 0; k < kColumns; k += 4) {
      Four a[4], b[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        a[i] = four_at(w + (gate + i * kGateLanes) * stride + c + k);
        b[i] = four_at(mine + (row + i * kRowLanes) * kStride + k);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
#pragma unroll
          for (int l = 0; l < 4; ++l) sums[i][j] += a[i].of[l] * b[j].of[l];
    }
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
      mine[(row + j * kRowLanes) * Tile::kSumStride + gate + i * kGateLanes] = sums[i][j];
}

struct Forward {
  Layer layer;
  Matrix<float> hidden;
  const float *b_ih, *b_hh;
};
template <int kUnits>
size_t forward_bytes(int size) {
  return sizeof(float) * static_cast<size_t>(Tiles<kUnits>::kGates * weight_stride(size) +
                                             kWarps * Tiles<kUnits>::kOfWarp);
}
template <int kUnits>
__global__ void __launch_bounds__(kBlock, 2) lstm_loop_kernel(Forward io) {
  using Tile = Tiles<kUnits>;
  using Gates = LstmGates<float>;
  const Layer& layer = io.layer;
  const Place<kUnits> at(layer);
  const int64_t size = layer.size, unit = at.first_unit + at.unit;
  float* const w = shared_memory<float>();
  float* const of_warps = w + Tile::kGates * weight_stride(layer.size);
  load_weights<kUnits>(layer, at, w);
  const bool mine = at.real && at.thread < kPairs;
  Gates input = {}, biases = {};
  float c = 0;
  if (mine) {
    input = Gates::load(&layer.gates.at(at.first_row + at.row, unit), size);
    biases = Gates::load(io.b_ih + unit, size) + Gates::load(io.b_hh + unit, size);
    c = layer.cells.at(at.first_row + at.row, unit);
  }
  __syncthreads();
  for (int t = 0; t < layer.steps; ++t) {
    const int64_t row = int64_t{t} * layer.batch + at.first_row;
    multiply_columns<kUnits>(layer, at, w, io.hidden.row(row), io.hidden.ld,
                             of_warps + at.warp * Tile::kOfWarp);
    __syncthreads();
    if (mine) {
      const float* sums = of_warps + at.row * Tile::kSumStride + at.unit;
      Gates gates = Gates::load(sums, kUnits);
      for (int i = 1; i < kWarps; ++i)
        gates = gates + Gates::load(sums + i * Tile::kOfWarp, kUnits);
      gates = gates + input + biases;
      const LstmState<float> now = lstm_cell(gates, c);
      const int64_t r = row + at.row;
      if (t + 1 < layer.steps)  // before the barrier: nothing of it depends on the other blocks
        input = Gates::load(&layer.gates.at(r + layer.batch, unit), size);
      c = now.c;
      io.hidden.at(r + layer.batch, unit) = now.h;
      layer.cells.at(r + layer.batch, unit) = c;
      gates.store(&layer.gates.at(r, unit), size);
    }
    if (t + 1 < layer.steps) grid_barrier(layer.arrived);
  }
}

struct Backward {
  Layer layer;
  Matrix<float> dh_n, dy;  // may be empty
  Matrix<float> dh, dc;
  bool wants_dh0;
  float* terms;  // two times, of the blocks in this order: of a block [row][unit], padded units
};
template <int kUnits>
size_t backward_bytes(int size) {
  return sizeof(float) *
         static_cast<size_t>(Tiles<kUnits>::kGates * weight_stride(size) + 4 * kPairs + kPairs);
}
/// Terms of dL/dh of all units: the block's gates' gradients, [row][gate] in `dgates`, times its
/// rows of W_hh.
template <int kUnits>
NINE_D void multiply_gates(const Layer& layer, const Place<kUnits>& at, const float* w,
                           const float* dgates, float* terms) {
  using Tile = Tiles<kUnits>;
  // A thread has four units of eight rows.
  constexpr int kLanes = kBlock / (Tile::kRows / 8);
  static_assert(kLanes % kWarp == 0);  // so that a warp reads the same gradients
  const int stride = weight_stride(layer.size), row = at.thread / kLanes * 8;
  for (int u = at.thread % kLanes * 4; u < layer.size; u += 4 * kLanes) {
    float sums[8][4] = {};
#pragma unroll 2
    for (int k = 0; k < Tile::kGates; k += 4) {
      Four b[4];
#pragma unroll
      for (int l = 0; l < 4; ++l) b[l] = four_at(w + (k + l) * stride + u);
#pragma unroll
      for (int r = 0; r < 8; ++r) {
        const Four a = four_at(dgates + (row + r) * Tile::kGates + k);
#pragma unroll
        for (int l = 0; l < 4; ++l)
#pragma unroll
          for (int j = 0; j < 4; ++j) sums[r][j] += a.of[l] * b[l].of[j];
      }
    }
#pragma unroll
    for (int r = 0; r < 8; ++r) {
      Four out;
#pragma unroll
      for (int j = 0; j < 4; ++j) out.of[j] = sums[r][j];
      *reinterpret_cast<Four*>(terms + (row + r) * padded(layer.size) + u) = out;
    }
  }
}
/// The sum of the blocks' terms for the pair of thread % kPairs; two threads add every second
/// block. `halves`, in shared memory, has the second ones'. All threads call it; those below kPairs
/// have the sum.
template <int kUnits>
NINE_D float sum_of_terms(const Layer& layer, const Place<kUnits>& at, const float* terms,
                          float* halves) {
  constexpr int kLoads = 8;
  const int size = padded(layer.size), blocks = static_cast<int>(gridDim.x),
            half = at.thread / kPairs;
  float sum = 0;
  if (at.real) {
    const float* const first = terms + at.row * size + at.first_unit + at.unit;
    const int64_t apart = int64_t{Tiles<kUnits>::kRows} * size;
    for (int b = half; b < blocks; b += 2 * kLoads) {
      float x[kLoads];
#pragma unroll
      for (int i = 0; i < kLoads; ++i)
        x[i] = b + 2 * i < blocks ? first[(b + 2 * i) * apart] : 0.0f;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) sum += x[i];
    }
  }
  if (half != 0) halves[at.thread - kPairs] = sum;
  __syncthreads();
  return half == 0 ? sum + halves[at.thread] : 0.0f;
}
template <int kUnits>
__global__ void __launch_bounds__(kBlock, 2) lstm_loop_backward_kernel(Backward io) {
  using Tile = Tiles<kUnits>;
  using Gates = LstmGates<float>;
  const Layer& layer = io.layer;
  const Place<kUnits> at(layer);
  const int64_t size = layer.size, unit = at.first_unit + at.unit;
  float* const w = shared_memory<float>();
  float* const dgates = w + Tile::kGates * weight_stride(layer.size);
  float* const halves = dgates + 4 * kPairs;
  load_weights<kUnits>(layer, at, w);
  // The terms of this block's rows: of all blocks that have them, and of this one.
  const int64_t of_block = int64_t{Tile::kRows} * padded(layer.size),
                of_time = gridDim.x * of_block;
  const auto terms_of = [&](int t) {
    return io.terms + ((t & 1) * int64_t{gridDim.y} + blockIdx.y) * of_time;
  };
  const bool mine = at.real && at.thread < kPairs;
  float dc = mine ? io.dc.at(at.first_row + at.row, unit) : 0.0f;
  for (int t = layer.steps - 1; t >= 0; --t) {
    const bool last = t + 1 == layer.steps;
    const int64_t r = int64_t{t} * layer.batch + at.first_row + at.row;
    Gates gates = {};
    float c = 0, c_before = 0, dh = 0;
    if (mine) {
      gates = Gates::load(&layer.gates.at(r, unit), size);
      c_before = layer.cells.at(r, unit);
      c = layer.cells.at(r + layer.batch, unit);
      if (io.dy.data != nullptr) dh = io.dy.at(r, unit);
      if (last && io.dh_n.data != nullptr) dh += io.dh_n.at(at.first_row + at.row, unit);
    }
    if (!last) dh += sum_of_terms<kUnits>(layer, at, terms_of(t + 1), halves);
    if (at.thread < kPairs) {
      const Gates d = mine ? lstm_cell_backward(gates, c_before, c, dh, dc) : Gates{};
      d.store(dgates + at.row * Tile::kGates + at.unit, kUnits);
      if (mine) d.store(&layer.gates.at(r, unit), size);
    }
    if (t == 0 && !io.wants_dh0) break;
    __syncthreads();
    multiply_gates<kUnits>(layer, at, w, dgates, terms_of(t) + blockIdx.x * of_block);
    grid_barrier(layer.arrived);
  }
  if (mine) io.dc.at(at.first_row + at.row, unit) = dc;
  if (!io.wants_dh0) return;
  const float dh = sum_of_terms<kUnits>(layer, at, terms_of(0), halves);
  if (mine) io.dh.at(at.first_row + at.row, unit) = dh;
}

Layer layer_of(CudaDevice& device, const ops::Lstm& io) {
  return {Matrix<float>(io.w_hh),       Matrix<float>(io.cells),      Matrix<float>(io.gates),
          static_cast<int>(io.steps()), static_cast<int>(io.batch()), static_cast<int>(io.size()),
          device.grid_barrier()};
}
bool is_for_loop(const ops::Lstm& io) {
  constexpr int64_t kMost = 1 << 16;  // sizes fit into int; such layers do not fit anyway
  return uses_side_by_side() && io.x.dtype == DType::float32 && io.steps() > 1 &&
         io.steps() < kMost && io.size() < kMost && io.batch() < kMost;
}
template <int kUnits>
dim3 grid_of(const ops::Lstm& io) {
  return dim3(blocks_of(io.size(), kUnits), blocks_of(io.batch(), Tiles<kUnits>::kRows));
}
template <class... P>
bool fits(CudaDevice& device, const char* op, void (*kernel)(P...), dim3 grid, size_t shared) {
  return int64_t{grid.x} * grid.y <= blocks_side_by_side(device, op, kernel, kBlock, shared);
}

template <int kUnits>
bool run_forward(const ops::Lstm& io) {
  CudaDevice& device = CudaDevice::of(io.x);
  const dim3 grid = grid_of<kUnits>(io);
  const size_t shared = forward_bytes<kUnits>(static_cast<int>(io.size()));
  if (!fits(device, "lstm", lstm_loop_kernel<kUnits>, grid, shared)) return false;
  launch_side_by_side(
      device, "lstm", lstm_loop_kernel<kUnits>, grid, dim3(kBlock), shared,
      Forward{layer_of(device, io), Matrix<float>(io.hidden), static_cast<float*>(io.b_ih.data),
              static_cast<float*>(io.b_hh.data)});
  return true;
}

template <int kUnits>
bool run_backward(const ops::Lstm& io, const ops::LstmGradients& g, const View& dh,
                  const View& dc) {
  CudaDevice& device = CudaDevice::of(io.x);
  const dim3 grid = grid_of<kUnits>(io);
  const int size = static_cast<int>(io.size());
  const size_t shared = backward_bytes<kUnits>(size);
  if (!fits(device, "lstm_backward", lstm_loop_backward_kernel<kUnits>, grid, shared)) return false;
  const auto optional = [](const View& v) { return v ? Matrix<float>(v) : Matrix<float>(); };
  launch_side_by_side(device, "lstm_backward", lstm_loop_backward_kernel<kUnits>, grid,
                      dim3(kBlock), shared,
                      Backward{layer_of(device, io), optional(g.dh_n), optional(g.dy),
                               Matrix<float>(dh), Matrix<float>(dc), static_cast<bool>(g.dh0.view),
                               device.scratch<float>(int64_t{2} * grid.x * grid.y *
                                                     Tiles<kUnits>::kRows * padded(size))});
  return true;
}

}  // namespace

// Blocks of eight units share the sectors of rows with no other, and have half of the traffic of
// blocks of four, which fit where W_hh or the batch is larger.
bool lstm_loop(const ops::Lstm& io) {
  return is_for_loop(io) && (run_forward<8>(io) || run_forward<4>(io));
}

bool lstm_loop_backward(const ops::Lstm& io, const ops::LstmGradients& g, const View& dh,
                        const View& dc) {
  return is_for_loop(io) && (run_backward<8>(io, g, dh, dc) || run_backward<4>(io, g, dh, dc));
}

}  // namespace nine::cuda
