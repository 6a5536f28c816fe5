// Products and embeddings on a GPU (part of cuda/ops.cuh).
#include "cuda/layers.cuh"

#include <limits>

#include "core/error.h"
#include "cuda/blas.cuh"
#include "cuda/ops.cuh"

namespace nine::cuda {
namespace {

template <class T>
struct AddBias {
  Matrix<T> y;
  const T* bias;
  bool relu;
  NINE_D void operator()(int64_t r, int64_t c) const {
    const T value = y.at(r, c) + bias[c];
    y.at(r, c) = relu && value < T(0) ? T(0) : value;  // NaN stays NaN
  }
};

template <class T>
struct Embedding {
  Matrix<T> table, y;
  const int32_t* ids;
  IndexErrors errors;
  NINE_D void operator()(int64_t r, int64_t c) const {
    y.at(r, c) = table.at(checked(ids, r, 0, table.rows, errors), c);
  }
};
// Column c of a plane of half as many columns as x is pair c % half of head c / half.
template <class T>
struct Rotary {
  Matrix<T> x, angles, y;
  int64_t half;
  T sign;
  bool add;
  NINE_D void operator()(int64_t r, int64_t c) const {
    const int64_t i = c % half, left = c / half * 2 * half + i, right = left + half;
    const T *angle = angles.row(r % angles.rows), u = x.at(r, left), v = x.at(r, right),
            s = sign * angle[half + i];
    put(add, y.at(r, left), u * angle[i] - v * s);
    put(add, y.at(r, right), v * angle[i] + u * s);
  }
};

template <class T>
struct EmbeddingWithPositions {
  Matrix<T> table, positions, y;
  const int32_t* ids;
  T scale;
  IndexErrors errors;
  NINE_D void operator()(int64_t r, int64_t c) const {
    const int32_t id = checked(ids, r, 0, table.rows, errors);
    y.at(r, c) = scale * table.at(id, c) + positions.at(r % positions.rows, c);
  }
};

template <class T>
struct FillRows {
  Matrix<T> y;
  const int32_t* ids;
  T value;
  IndexErrors errors;
  NINE_D void operator()(int64_t i, int64_t c) const {
    const int32_t r = ids[i];
    if (checked(ids, i, 0, y.rows, errors) == r) y.at(r, c) = value;
  }
};

// The rows of add_rows sorted by their ids, rows of one id in their order: a radix sort, kDigitBits
// bits of the id at a time. An id that is no row of the gradient counts as `limit`, the last one.
constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits;
static_assert(kDigits == kBlock, "a thread has a row, and then a digit");
constexpr int64_t kSortRows = 4 * kBlock;  // of a block

struct SortedRows {
  const int32_t *ids, *rows;  // rows: null before the first pass
  int64_t count;
  int32_t limit;
  int shift;

  NINE_D int32_t id(int64_t i) const {
    const int32_t own = ids[i];
    return own < 0 || own >= limit ? limit : own;
  }
  NINE_D int32_t row(int64_t i) const {
    return rows != nullptr ? rows[i] : static_cast<int32_t>(i);
  }
  // The digit of place i; kDigits behind the last one.
  NINE_D int digit(int64_t i) const {
    return i < count ? (id(i) >> shift) & (kDigits - 1) : kDigits;
  }
};

// How many of the first `n` of a block's digits are this one.
NINE_D int count_of(int digit, const int* digits, int n) {
  int count = 0;
  for (int i = 0; i < n; ++i) count += digits[i] == digit ? 1 : 0;
  return count;
}

// counts [block][digit]: of the block's kSortRows rows.
__global__ void __launch_bounds__(kBlock)
    count_digits_kernel(SortedRows from, int* __restrict__ counts, bool reports,
                        IndexErrors errors) {
  int* digits = shared_memory<int>();  // [kBlock]
  const int own = static_cast<int>(threadIdx.x);
  const int64_t begin = blockIdx.x * kSortRows;
  int count = 0;
  for (int64_t i = begin + own; i - own < begin + kSortRows; i += kBlock) {
    digits[own] = from.digit(i);
    if (reports && i < from.count && from.id(i) == from.limit)
      report(errors, i, from.ids[i], 0, from.limit);
    __syncthreads();
    count += count_of(own, digits, kBlock);
    __syncthreads();
  }
  counts[blockIdx.x * kDigits + own] = count;
}

// One block. Replaces each count by the place of its first row: digits in their order, and rows of
// a digit in the order of the blocks.
__global__ void __launch_bounds__(kBlock) digit_places_kernel(int* counts, int64_t blocks) {
  int* totals = shared_memory<int>();  // [kDigits]
  const int own = static_cast<int>(threadIdx.x);
  int total = 0;
#pragma unroll 8
  for (int64_t b = 0; b < blocks; ++b) total += counts[b * kDigits + own];
  totals[own] = total;
  __syncthreads();
  int place = 0;
  for (int i = 0; i < own; ++i) place += totals[i];
  for (int64_t b = 0; b < blocks; ++b) {
    const int count = counts[b * kDigits + own];
    counts[b * kDigits + own] = place;
    place += count;
  }
}

__global__ void __launch_bounds__(kBlock)
    sort_rows_kernel(SortedRows from, const int* __restrict__ places, int32_t* __restrict__ ids,
                     int32_t* __restrict__ rows) {
  int* digits = shared_memory<int>();  // [kBlock]
  int* next = digits + kBlock;         // [kDigits]
  const int own = static_cast<int>(threadIdx.x);
  next[own] = places[blockIdx.x * kDigits + own];
  const int64_t begin = blockIdx.x * kSortRows;
  for (int64_t i = begin + own; i - own < begin + kSortRows; i += kBlock) {
    const int digit = from.digit(i);
    digits[own] = digit;
    __syncthreads();
    if (digit < kDigits) {
      const int place = next[digit] + count_of(digit, digits, own);
      ids[place] = from.id(i);
      rows[place] = from.row(i);
    }
    __syncthreads();
    next[own] += count_of(own, digits, kBlock);
    __syncthreads();
  }
}

constexpr int kGroupColumns = 64, kGroups = kBlock / kGroupColumns;
constexpr int kRowsInFlight = 4;  // of a group: so many loads before the first of their sums

// A block for each sorted row and each kGroupColumns columns. The block of the first row with some
// id adds all rows with that id, and the blocks of the other rows return: the order of a sum does
// not depend on the order in which blocks run. Each of kGroups groups of threads adds every
// kGroups-th row; at the end the groups' sums are added in their order.
template <class T>
__global__ void __launch_bounds__(kBlock)
    add_rows_kernel(Matrix<T> dy, const int32_t* __restrict__ ids, const int32_t* __restrict__ rows,
                    Matrix<T> grad) {
  T* sums = shared_memory<T>();  // [kGroups][kGroupColumns]
  const int column = static_cast<int>(threadIdx.x) % kGroupColumns,
            group = static_cast<int>(threadIdx.x) / kGroupColumns;
  const int64_t first = blockIdx.x, c = static_cast<int64_t>(blockIdx.y) * kGroupColumns + column;
  const int32_t id = ids[first];
  if (id >= grad.rows || (first > 0 && ids[first - 1] == id)) return;
  T sum = 0;
  for (int64_t i = first + group; i < dy.rows && ids[i] == id; i += kGroups * kRowsInFlight) {
    int32_t row[kRowsInFlight];
    T x[kRowsInFlight];
#pragma unroll
    for (int k = 0; k < kRowsInFlight; ++k) {
      const int64_t at = i + k * kGroups;
      row[k] = at < dy.rows && ids[at] == id ? rows[at] : -1;
    }
#pragma unroll
    for (int k = 0; k < kRowsInFlight; ++k)
      x[k] = row[k] >= 0 && c < dy.cols ? dy.at(row[k], c) : T(0);
#pragma unroll
    for (int k = 0; k < kRowsInFlight; ++k) sum += x[k];
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (group != 0 || c >= dy.cols) return;
  for (int i = 1; i < kGroups; ++i) sum += sums[i * kGroupColumns + column];
  grad.at(id, c) += sum;
}

}  // namespace

void matmul(const View& a, bool transpose_a, const View& b, bool transpose_b, const OutputView& c,
            double alpha) {
  multiply(CudaDevice::of(a), "matmul", a, transpose_a, b, transpose_b, c, alpha);
}

void linear(const View& x, const View& w, const View& bias, bool relu, const View& y) {
  matmul(x, false, w, true, {y}, 1.0);
  dispatch_float(x.dtype, "linear", [&]<class T>(T) {
    each(CudaDevice::of(x), "linear", {y.rows(), y.cols()},
         AddBias<T>{Matrix<T>(y), static_cast<T*>(bias.data), relu});
  });
}

void embedding(const View& table, const View& ids, const View& y) {
  dispatch_float(table.dtype, "embedding", [&]<class T>(T) {
    CudaDevice& device = CudaDevice::of(table);
    each(device, "embedding", {y.rows(), y.cols()},
         Embedding<T>{Matrix<T>(table), Matrix<T>(y), static_cast<int32_t*>(ids.data),
                      device.index_errors("embedding")});
  });
}

void embedding_with_positions(const View& table, const View& ids, double scale,
                              const View& positions, const View& y) {
  dispatch_float(table.dtype, "embedding_with_positions", [&]<class T>(T) {
    CudaDevice& device = CudaDevice::of(table);
    each(device, "embedding_with_positions", {y.rows(), y.cols()},
         EmbeddingWithPositions<T>{Matrix<T>(table), Matrix<T>(positions), Matrix<T>(y),
                                   static_cast<int32_t*>(ids.data), static_cast<T>(scale),
                                   device.index_errors("embedding_with_positions")});
  });
}

void rotary(const View& x, const View& angles, bool inverse, const OutputView& y) {
  dispatch_float(x.dtype, "rotary", [&]<class T>(T) {
    each(CudaDevice::of(x), "rotary", {x.rows(), x.cols() / 2},
         Rotary<T>{Matrix<T>(x), Matrix<T>(angles), Matrix<T>(y.view), angles.cols() / 2,
                   inverse ? T(-1) : T(1), y.add});
  });
}

template <class T>
void add_rows(CudaDevice& device, const char* op, const Matrix<T>& dy, const int32_t* ids,
              const Matrix<T>& grad, bool report_others) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() - 1;
  require(dy.rows <= kMost && grad.rows <= kMost, "[", op, "] ", dy.rows, " rows of ", grad.rows,
          " words: both must be at most ", kMost);
  if (dy.rows == 0 || dy.cols == 0) return;
  const int64_t n = dy.rows, blocks = (n + kSortRows - 1) / kSortRows;
  const dim3 grid(grid_size(blocks));
  int32_t* memory = device.scratch<int32_t>(4 * n + blocks * kDigits, 1);
  int* places = memory + 4 * n;
  SortedRows from{ids, nullptr, n, static_cast<int32_t>(grad.rows), 0};
  for (int pass = 0; pass == 0 || grad.rows >> from.shift > 0; ++pass, from.shift += kDigitBits) {
    int32_t* to = memory + pass % 2 * 2 * n;
    launch(device, op, count_digits_kernel, grid, dim3(kBlock), kBlock * sizeof(int), from, places,
           report_others && pass == 0, device.index_errors(op));
    launch(device, op, digit_places_kernel, dim3(1), dim3(kBlock), kDigits * sizeof(int), places,
           blocks);
    launch(device, op, sort_rows_kernel, grid, dim3(kBlock), (kBlock + kDigits) * sizeof(int), from,
           places, to, to + n);
    from.ids = to;
    from.rows = to + n;
  }
  launch(device, op, add_rows_kernel<T>, dim3(grid_size(n), blocks_of(dy.cols, kGroupColumns)),
         dim3(kBlock), kBlock * sizeof(T), dy, from.ids, from.rows, grad);
}
template void add_rows<float>(CudaDevice&, const char*, const Matrix<float>&, const int32_t*,
                              const Matrix<float>&, bool);
template void add_rows<double>(CudaDevice&, const char*, const Matrix<double>&, const int32_t*,
                               const Matrix<double>&, bool);

void fill_rows(const View& y, const View& ids, double value) {
  dispatch_float(y.dtype, "fill_rows", [&]<class T>(T) {
    CudaDevice& device = CudaDevice::of(y);
    each(device, "fill_rows", {ids.elements(), y.cols()},
         FillRows<T>{Matrix<T>(y), static_cast<int32_t*>(ids.data), static_cast<T>(value),
                     device.index_errors("fill_rows")});
  });
}

void embedding_backward(const View& dy, const View& ids, const View& table_grad) {
  dispatch_float(dy.dtype, "embedding_backward", [&]<class T>(T) {
    add_rows<T>(CudaDevice::of(dy), "embedding_backward", Matrix<T>(dy),
                static_cast<int32_t*>(ids.data), Matrix<T>(table_grad), true);
  });
}

}  // namespace nine::cuda
