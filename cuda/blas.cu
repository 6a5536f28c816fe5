// cuBLAS is opened (dlopen) at the first product, so that a program built with CUDA also runs
// on machines without it. A handle has its own workspace and one stream, which makes its results
// reproducible.
#include "cuda/blas.cuh"

#include <cublas_v2.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/matmul_precision.h"
#include "cuda/environment.h"
#include "cuda/ops.cuh"

namespace nine::cuda {
namespace {

constexpr size_t kWorkspace = size_t{32} << 20;  // as NVIDIA recommends for Hopper GPUs

struct Library {
  decltype(&cublasCreate_v2) create;
  decltype(&cublasDestroy_v2) destroy;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(&cublasSetWorkspace_v2) set_workspace;
  decltype(&cublasGetVersion_v2) version;
  decltype(&cublasGemmEx_64) gemm;
};

// The library of the header's version: as the system finds it, in the toolkit that the environment
// names, where it was when this was built; then any.
std::vector<std::string> library_names() {
  const std::string file = concat("libcublas.so.", CUBLAS_VER_MAJOR);
  std::vector<std::string> names{file};
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* home = std::getenv(variable))
      for (const char* folder : {"/lib64/", "/lib/"}) names.push_back(home + (folder + file));
  std::istringstream built_with(NINE_CUDA_LIBRARIES);  // separated by colons
  for (std::string folder; std::getline(built_with, folder, ':');)
    names.push_back(folder + "/" + file);
  names.emplace_back("libcublas.so");
  return names;
}

void* open_library() {
  std::string why;
  for (const std::string& name : library_names()) {
    if (void* p = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return p;
    why += concat(why.empty() ? "" : "; ", dlerror());
  }
  fail("libcublas.so.", CUBLAS_VER_MAJOR, " cannot be opened (", why,
       "): install CUDA's libraries (pip's nvidia-cublas will do), or name their folder in "
       "LD_LIBRARY_PATH");
}

const Library& library() {
  static const Library all = [] {
    void* const from = open_library();
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(from, name));
      require(function != nullptr, "libcublas.so has no ", name);
    };
    Library l{};
    find(l.create, "cublasCreate_v2");
    find(l.destroy, "cublasDestroy_v2");
    find(l.set_stream, "cublasSetStream_v2");
    find(l.set_workspace, "cublasSetWorkspace_v2");
    find(l.version, "cublasGetVersion_v2");
    find(l.gemm, "cublasGemmEx_64");
    return l;
  }();
  return all;
}

void check_blas(const char* op, cublasStatus_t status) {
  require(status == CUBLAS_STATUS_SUCCESS, "[", op, "] cuBLAS: status ", static_cast<int>(status));
}

cublasHandle_t handle_of(CudaDevice& device) {
  static std::array<cublasHandle_t, 64> handles{};
  cublasHandle_t& kept = handles[static_cast<size_t>(device.index())];
  if (kept != nullptr) return kept;
  cublasHandle_t h = nullptr;
  check_blas("matmul", library().create(&h));
  void* workspace = nullptr;
  try {
    check_blas("matmul", library().set_stream(h, device.stream()));
    workspace = allocate(kWorkspace, device.index());
    check_blas("matmul", library().set_workspace(h, workspace, kWorkspace));
  } catch (...) {
    library().destroy(h);
    release(workspace, device.index());
    throw;
  }
  return kept = h;  // only now that all of it has succeeded
}

// The numbers of a product: its factors, its result and what cuBLAS computes with.
struct Types {
  cudaDataType_t factors, result;
  cublasComputeType_t compute;
};
Types types_of(DType factors, MatmulPrecision precision) {
  if (factors == DType::float64) return {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
  if (factors == DType::bfloat16) return {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
  require_promised_precision();
  switch (precision) {
    case MatmulPrecision::highest:
      break;
    case MatmulPrecision::high:
      return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
    case MatmulPrecision::medium:
      return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_16BF};
  }
  return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
}

}  // namespace

std::string blas_description(CudaDevice& device) {
  int v = 0;
  check_blas("matmul", library().version(handle_of(device), &v));
  return concat("cuBLAS ", v / 10000, ".", v / 100 % 100, ".", v % 100);
}

// cuBLAS's matrices are column-major: for it, a row-major C = A B is C' = B' A'.
void multiply(CudaDevice& device, const char* op, const View& a, bool transpose_a, const View& b,
              bool transpose_b, const OutputView& c, double alpha, MatmulPrecision precision) {
  const int64_t m = c.view.rows(), n = c.view.cols(), k = transpose_a ? a.rows() : a.cols();
  if (m == 0 || n == 0) return;
  if (k == 0) {  // nothing is said of it in cuBLAS's documentation
    if (!c.add) cuda::fill(c.view, 0);
    return;
  }
  const Types types = types_of(a.dtype, precision);
  // The scalars have the type of the sums.
  const bool wide = types.result == CUDA_R_64F;
  const double beta = c.add ? 1 : 0;
  const auto narrow_alpha = static_cast<float>(alpha), narrow_beta = static_cast<float>(beta);
  const auto scalar = [&](const double& x, const float& narrow) -> const void* {
    if (wide) return &x;
    return &narrow;
  };
  const auto transposed = [](bool yes) { return yes ? CUBLAS_OP_T : CUBLAS_OP_N; };
  check_blas(op, library().gemm(handle_of(device), transposed(transpose_b), transposed(transpose_a),
                                n, m, k, scalar(alpha, narrow_alpha), b.data, types.factors, b.ld,
                                a.data, types.factors, a.ld, scalar(beta, narrow_beta), c.view.data,
                                types.result, c.view.ld, types.compute, CUBLAS_GEMM_DEFAULT));
}

}  // namespace nine::cuda
