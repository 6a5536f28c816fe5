#include "cuda/bf16_matmul.h"

#include "core/bf16_product.h"
#include "cuda/bf16.cuh"
#include "cuda/blas.cuh"

namespace nine::cuda {
namespace {

constexpr int kInFlight = 32;  // loads of a thread before its first store
constexpr int64_t kTogether = kBlock * kInFlight;

// A block for each row; kTogether numbers at a time. With one piece they are stored below the
// numbers that come next, with two pieces in their own place: the barrier lets all threads load
// before one of them stores.
template <int kPieces>
__global__ void __launch_bounds__(kBlock)
    cut_in_place_kernel(float* rows, int64_t cols, int64_t ld, uint16_t* rest, int64_t rest_ld) {
  const float* from = rows + blockIdx.x * ld;
  uint16_t* to = reinterpret_cast<uint16_t*>(rows + blockIdx.x * ld);
  for (int64_t first = 0; first < cols; first += kTogether) {
    const int width = static_cast<int>(cols - first < kTogether ? cols - first : kTogether);
    float x[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      const int at = static_cast<int>(threadIdx.x) + k * kBlock;
      x[k] = at < width ? from[first + at] : 0.0F;
    }
    __syncthreads();
    uint16_t* high = to + (kPieces > 1 ? 2 : 1) * first;
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      const int at = static_cast<int>(threadIdx.x) + k * kBlock;
      if (at >= width) break;
      high[at] = next_piece(x[k]);
      if constexpr (kPieces > 1) high[width + at] = next_piece(x[k]);
      if constexpr (kPieces > 2) rest[blockIdx.x * rest_ld + first + at] = next_piece(x[k]);
    }
  }
}

}  // namespace

void matmul_bf16(const char* op, const View& a, bool transpose_a, const View& b, bool transpose_b,
                 const OutputView& c) {
  const int64_t m = transpose_a ? a.cols() : a.rows(), k = transpose_a ? a.rows() : a.cols(),
                n = transpose_b ? b.rows() : b.cols();
  require(
      a.dtype == DType::bfloat16 && b.dtype == DType::bfloat16 && c.view.dtype == DType::float32,
      "[", op, "] a product of bfloat16 with float32 sums, but its matrices are ", a.dtype, ", ",
      b.dtype, " and ", c.view.dtype);
  require(a.device == b.device && a.device == c.view.device && a.device.kind == DeviceKind::cuda,
          "[", op, "] a product on a GPU, but its matrices are on ", a.device, ", ", b.device,
          " and ", c.view.device);
  require((transpose_b ? b.cols() : b.rows()) == k && c.view.rows() == m && c.view.cols() == n, "[",
          op, "] factors of shapes ", a.shape, " and ", b.shape, " do not give ", c.view.shape);
  multiply(CudaDevice::of(a), op, a, transpose_a, b, transpose_b, c);
}

void matmul_pieces(const char* op, int count, const Pieces& a, bool transpose_a, const Pieces& b,
                   bool transpose_b, const OutputView& c) {
  bool add = c.add;
  for (const auto& [left, right] : bf16::pairs_of(count)) {
    matmul_bf16(op, a[static_cast<size_t>(left)], transpose_a, b[static_cast<size_t>(right)],
                transpose_b, {c.view, add});
    add = true;
  }
}

std::vector<PieceColumns> cut_in_place(const char* op, const View& x, int count, const View& rest) {
  require(x.dtype == DType::float32, "[", op, "] cuts float32 into bfloat16, got ", x.dtype);
  require(count >= 1 && count <= 3, "[", op, "] 1 to 3 pieces of a number, got ", count);
  require(count < 3 ||
              (rest.dtype == DType::bfloat16 && rest.device == x.device && rest.shape == x.shape),
          "[", op, "] third pieces of a matrix of shape ", x.shape, " in a ", rest.dtype,
          " matrix of shape ", rest.shape, " on ", rest.device);
  constexpr void (*kKernels[])(float*, int64_t, int64_t, uint16_t*, int64_t) = {
      cut_in_place_kernel<1>, cut_in_place_kernel<2>, cut_in_place_kernel<3>};
  launch(CudaDevice::of(x), op, kKernels[count - 1], dim3(x.cols() > 0 ? grid_size(x.rows()) : 0),
         dim3(kBlock), 0, static_cast<float*>(x.data), x.cols(), x.ld,
         static_cast<uint16_t*>(rest.data), rest.ld);
  View all = x;  // the row's memory
  all.dtype = DType::bfloat16;
  all.ld = 2 * x.ld;
  if (count == 1) return {{0, {all}}};
  all.shape = {x.rows(), 2 * x.cols()};
  std::vector<PieceColumns> out;
  for (int64_t first = 0; first < x.cols(); first += kTogether) {
    const int64_t width = std::min(kTogether, x.cols() - first);
    out.push_back({first,
                   {all.col_range(2 * first, width), all.col_range(2 * first + width, width),
                    count > 2 ? rest.col_range(first, width) : View{}}});
  }
  return out;
}

}  // namespace nine::cuda
