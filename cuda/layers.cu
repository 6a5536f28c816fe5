// Products and embeddings on a GPU (part of cuda/ops.cuh).
#include "cuda/layers.cuh"

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

constexpr int kGroupColumns = 64, kGroups = kBlock / kGroupColumns;
constexpr int kRowsInFlight = 4;  // of a group: so many loads before the first of their sums

// A block for each row and each kGroupColumns columns. The block of the first row with some id adds
// all rows with that id, and the blocks of the other rows return: the order of a sum does not
// depend on the order in which blocks run. Of the rows that it finds among kBlock, each of kGroups
// groups of threads adds every kGroups-th; at the end the groups' sums are added in their order.
template <class T>
__global__ void __launch_bounds__(kBlock)
    add_rows_kernel(Matrix<T> dy, const int32_t* __restrict__ ids, Matrix<T> grad,
                    bool report_others, IndexErrors errors) {
  T* sums = shared_memory<T>();                       // [kGroups][kGroupColumns]
  int* hits = reinterpret_cast<int*>(sums + kBlock);  // [kBlock]: whether a row has this id
  int* list = hits + kBlock;                          // [kBlock]: those that have it, of kBlock
  int* totals = list + kBlock;                        // [kBlock / kWarp]: of the warps' rows
  const int column = static_cast<int>(threadIdx.x) % kGroupColumns,
            group = static_cast<int>(threadIdx.x) / kGroupColumns;
  const int64_t mine = blockIdx.x, c = static_cast<int64_t>(blockIdx.y) * kGroupColumns + column;
  const int32_t id = ids[mine];
  if (id < 0 || id >= grad.rows) {
    if (report_others && threadIdx.x == 0 && blockIdx.y == 0)
      report(errors, mine, id, 0, grad.rows);
    return;
  }
  T sum = 0;
  for (int64_t first = 0; first < dy.rows; first += kBlock) {
    const int64_t r = first + threadIdx.x;
    const bool hit = r < dy.rows && ids[r] == id;
    // The whole block: this is the block of a later row.
    if (first < mine && __syncthreads_or(hit && r < mine ? 1 : 0) != 0) return;
    hits[threadIdx.x] = hit ? 1 : 0;
    if (__syncthreads_or(hit ? 1 : 0) == 0) continue;
    const int in_warp = warp_sum(hit ? 1 : 0);
    if (threadIdx.x % kWarp == 0) totals[threadIdx.x / kWarp] = in_warp;
    if (hit) {
      int place = 0;
      for (int i = 0; i < static_cast<int>(threadIdx.x); ++i) place += hits[i];
      list[place] = static_cast<int>(threadIdx.x);
    }
    __syncthreads();
    int count = 0;
    for (int i = 0; i < kBlock / kWarp; ++i) count += totals[i];
    for (int i = group; i < count; i += kGroups * kRowsInFlight) {
      T x[kRowsInFlight];
#pragma unroll
      for (int k = 0; k < kRowsInFlight; ++k)
        x[k] =
            i + k * kGroups < count && c < dy.cols ? dy.at(first + list[i + k * kGroups], c) : T(0);
#pragma unroll
      for (int k = 0; k < kRowsInFlight; ++k) sum += x[k];
    }
    __syncthreads();
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
  dispatch_float(a.dtype, "matmul", [&]<class T>(T) {
    multiply<T>(CudaDevice::of(a), "matmul",
                {.transpose_a = transpose_a,
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
  launch(device, op, add_rows_kernel<T>,
         dim3(static_cast<unsigned>(dy.rows), blocks_of(dy.cols, kGroupColumns)), dim3(kBlock),
         kBlock * (sizeof(T) + 2 * sizeof(int)) + kBlock / kWarp * sizeof(int), dy, ids, grad,
         report_others, device.index_errors(op));
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
