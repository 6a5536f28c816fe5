// A libcublas for the stand-in: the documented checks of arguments, and loops over column-major
// matrices. tf32 and bf16 round the factors as a GPU would.
#include "tests/cuda_on_host/cublas/cublas_v2.h"

#include <algorithm>
#include <bit>
#include <vector>

struct cublasContext {
  cudaStream_t stream = nullptr;
  const void* workspace = nullptr;
  size_t workspace_bytes = 0;
};

namespace {

// To the nearest number whose last `bits` bits are 0.
float rounded(float x, int bits) {
  const auto u = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((u + (1u << (bits - 1))) >> bits << bits);
}

// A column-major matrix as cuBLAS takes it.
struct Factor {
  const void* data;
  cudaDataType_t type;
  int64_t ld;
  bool transposed;
  template <class T>
  T at(int64_t i) const {
    if (type == CUDA_R_16BF)
      return static_cast<T>(
          std::bit_cast<float>(static_cast<uint32_t>(static_cast<const uint16_t*>(data)[i]) << 16));
    return static_cast<const T*>(data)[i];
  }
  // op(this), dense: of `rows` x `cols`, column after column.
  template <class T>
  std::vector<T> dense(int64_t rows, int64_t cols, int lost_bits) const {
    std::vector<T> out(static_cast<size_t>(rows * cols));
    for (int64_t c = 0; c < cols; ++c)
      for (int64_t r = 0; r < rows; ++r) {
        T x = at<T>(transposed ? r * ld + c : c * ld + r);
        if constexpr (sizeof(T) == 4)
          if (lost_bits > 0) x = rounded(x, lost_bits);
        out[static_cast<size_t>(c * rows + r)] = x;
      }
    return out;
  }
};

size_t bytes_of(cudaDataType_t type) { return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2; }

struct Product {
  cudaStream_t stream;
  int64_t m, n, k;
  Factor a, b;
  double alpha, beta;
  void* c;
  int64_t ldc;
  int lost_bits;

  void accesses(const Factor& f, int64_t rows, int64_t cols) const {
    const size_t bytes = bytes_of(f.type);
    stream->accesses("cublasGemmEx_64", f.data, static_cast<size_t>(f.ld) * bytes,
                     static_cast<size_t>(f.transposed ? cols : rows) * bytes,
                     static_cast<size_t>(f.transposed ? rows : cols), false);
  }
  // C is read only where beta says so, as cuBLAS promises.
  template <class T>
  void run() const {
    accesses(a, m, k);
    accesses(b, k, n);
    for (const bool store : {false, true})
      if (store || beta != 0)
        stream->accesses("cublasGemmEx_64", c, static_cast<size_t>(ldc) * sizeof(T),
                         static_cast<size_t>(m) * sizeof(T), static_cast<size_t>(n), store);
    const std::vector<T> x = a.dense<T>(m, k, lost_bits), y = b.dense<T>(k, n, lost_bits);
    std::vector<T> column(static_cast<size_t>(m));
    for (int64_t j = 0; j < n; ++j) {
      std::fill(column.begin(), column.end(), T(0));
      for (int64_t l = 0; l < k; ++l) {
        const T factor = y[static_cast<size_t>(j * k + l)];
        const T* from = x.data() + l * m;
        for (int64_t i = 0; i < m; ++i) column[static_cast<size_t>(i)] += factor * from[i];
      }
      T* to = static_cast<T*>(c) + j * ldc;
      for (int64_t i = 0; i < m; ++i) {
        const T sum = static_cast<T>(alpha) * column[static_cast<size_t>(i)];
        to[i] = beta == 0 ? sum : sum + static_cast<T>(beta) * to[i];
      }
    }
  }
};

bool is_aligned(const void* p, size_t bytes) { return reinterpret_cast<uintptr_t>(p) % bytes == 0; }

// From the first to the last element, column-major.
void require_matrix(cudaStream_t stream, const void* p, cudaDataType_t type, int64_t rows,
                    int64_t cols, int64_t ld) {
  if (rows > 0 && cols > 0)
    stream->require_memory("cublasGemmEx_64", p,
                           static_cast<size_t>((cols - 1) * ld + rows) * bytes_of(type));
}

}  // namespace

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
// Gives the workspace back to cuBLAS's own pool, as documented.
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (stream->fails()) return CUBLAS_STATUS_EXECUTION_FAILED;
  *handle = {stream};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes) {
  if (handle == nullptr || handle->stream == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!is_aligned(workspace, 256)) return CUBLAS_STATUS_INVALID_VALUE;
  if (handle->stream->fails()) return CUBLAS_STATUS_EXECUTION_FAILED;
  handle->stream->require_memory("cublasSetWorkspace", workspace, bytes);
  handle->workspace = workspace;
  handle->workspace_bytes = bytes;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int* version) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  *version = 130000;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmEx_64(cublasHandle_t handle, cublasOperation_t transa,
                               cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
                               const void* alpha, const void* a, cudaDataType_t a_type, int64_t lda,
                               const void* b, cudaDataType_t b_type, int64_t ldb, const void* beta,
                               void* c, cudaDataType_t c_type, int64_t ldc,
                               cublasComputeType_t compute, cublasGemmAlgo_t) {
  if (handle == nullptr || handle->stream == nullptr || handle->workspace == nullptr)
    return CUBLAS_STATUS_NOT_INITIALIZED;
  const bool ta = transa == CUBLAS_OP_T, tb = transb == CUBLAS_OP_T;
  // k = 0: the documentation does not say that C is then set to beta C.
  if (m < 0 || n < 0 || k <= 0 || lda < std::max<int64_t>(1, ta ? k : m) ||
      ldb < std::max<int64_t>(1, tb ? n : k) || ldc < std::max<int64_t>(1, m) || alpha == nullptr ||
      beta == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  const bool wide = compute == CUBLAS_COMPUTE_64F;
  const bool fast =
      compute == CUBLAS_COMPUTE_32F_FAST_TF32 || compute == CUBLAS_COMPUTE_32F_FAST_16BF;
  const auto factors = [&](cudaDataType_t type) { return a_type == type && b_type == type; };
  if (!(wide ? factors(CUDA_R_64F) && c_type == CUDA_R_64F
             : c_type == CUDA_R_32F && (factors(CUDA_R_32F) || (!fast && factors(CUDA_R_16BF)))))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!is_aligned(a, bytes_of(a_type)) || !is_aligned(b, bytes_of(b_type)) ||
      !is_aligned(c, bytes_of(c_type)))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!handle->stream->current()) return CUBLAS_STATUS_MAPPING_ERROR;
  if (handle->stream->fails()) return CUBLAS_STATUS_EXECUTION_FAILED;
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
  require_matrix(handle->stream, a, a_type, ta ? k : m, ta ? m : k, lda);
  require_matrix(handle->stream, b, b_type, tb ? n : k, tb ? k : n, ldb);
  require_matrix(handle->stream, c, c_type, m, n, ldc);
  // Scalars are of the compute type and on the host: read now.
  const auto scalar = [&](const void* p) {
    return wide ? *static_cast<const double*>(p) : double{*static_cast<const float*>(p)};
  };
  const int lost_bits = compute == CUBLAS_COMPUTE_32F_FAST_TF32   ? 13
                        : compute == CUBLAS_COMPUTE_32F_FAST_16BF ? 16
                                                                  : 0;
  const Product product{
      handle->stream, m, n,   k,        {a, a_type, lda, ta}, {b, b_type, ldb, tb}, scalar(alpha),
      scalar(beta),   c, ldc, lost_bits};
  handle->stream->submit({"cublasGemmEx_64", {a, b, c, handle->workspace}, [=] {
                            wide ? product.run<double>() : product.run<float>();
                          }});
  return CUBLAS_STATUS_SUCCESS;
}
