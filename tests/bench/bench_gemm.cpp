// bench_gemm: what this machine can do, for the roofline of a language model's step (formats.md, "Step benchmarks"): the
// float32 rate of every product of the step with every library found, the bandwidth of memory by a triad, and from these
// the shortest time a training step and a scoring step can take.
//
//   bench_gemm [--vocab V] [--dim d] [--blas libopenblas.so.0]
#include <dlfcn.h>

#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "apps/shared/options.h"
#include "apps/shared/run_main.h"
#include "apps/shared/version.h"
#include "core/gemm.h"
#include "core/scratch.h"
#include "core/threads.h"

namespace nine::app {
namespace {

struct BenchOptions {
  int64_t vocab = 30000, dim = 512, layers = 2, batch = 32, bptt = 35;
  int threads = 0;
  double seconds = 0.2;
  std::vector<std::string> blas = {"libopenblas.so.0", "libmkl_rt.so.2", "libblis.so.4", "libblas.so.3"};

  void declare(Options& o) {
    o.add("vocab", vocab, "words").at_least(3);
    o.add("dim", dim, "width of embeddings and LSTM").at_least(1);
    o.add("layers", layers, "LSTM layers").range(1, 64);
    o.add("batch", batch, "columns").at_least(1);
    o.add("bptt", bptt, "time steps").at_least(1);
    o.add("threads", threads, "0: all physical cores").range(0, 4096);
    o.add("seconds", seconds, "time for each figure");
    o.add("blas", blas, "libraries with an sgemm_ to try, by file name; those that are not there are passed over");
  }
};

// C (m, n) = op(A) op(B), row-major and without gaps.
struct Product {
  std::string name;
  int64_t m, n, k;
  bool transpose_a, transpose_b;
  double calls;  // in a training step
  double operations() const { return 2.0 * static_cast<double>(m * n) * static_cast<double>(k); }
};

struct Buffers {
  std::vector<float> a, b, c;
  explicit Buffers(const Product& p)
      : a(static_cast<size_t>(p.m * p.k), 0.5F), b(static_cast<size_t>(p.k * p.n), 0.25F), c(static_cast<size_t>(p.m * p.n)) {}
};

struct Library {
  std::string name;
  std::function<void(const Product&, Buffers&)> multiply;
};

void multiply_here(const Product& p, Buffers& x) {
  gemm<float>({.transpose_a = p.transpose_a,
               .transpose_b = p.transpose_b,
               .m = p.m,
               .n = p.n,
               .k = p.k,
               .a = x.a.data(),
               .lda = p.transpose_a ? p.m : p.k,
               .b = x.b.data(),
               .ldb = p.transpose_b ? p.k : p.n,
               .c = x.c.data(),
               .ldc = p.n});
}

// Eigen's own product, C cut into a strip a thread along its longer side.
void multiply_eigen(const Product& p, Buffers& x) {
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::Map<const Matrix> a(x.a.data(), p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k),
      b(x.b.data(), p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n);
  Eigen::Map<Matrix> c(x.c.data(), p.m, p.n);
  const bool wide = p.n > p.m;
  const int64_t side = wide ? p.n : p.m, strip = (side + threads() - 1) / threads();
  parallel_ranges(side, strip, [&](int64_t begin, int64_t end) {
    const int64_t r0 = wide ? 0 : begin, rows = wide ? p.m : end - begin, c0 = wide ? begin : 0, cols = wide ? end - begin : p.n;
    auto out = c.block(r0, c0, rows, cols);
    if (p.transpose_a) {
      out.noalias() = a.middleCols(r0, rows).transpose() * b.middleCols(c0, cols);
    } else if (p.transpose_b) {
      out.noalias() = a.middleRows(r0, rows) * b.middleRows(c0, cols).transpose();
    } else {
      out.noalias() = a.middleRows(r0, rows) * b.middleCols(c0, cols);
    }
  });
}

using Sgemm = void (*)(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*, const float*, const int*,
                       const float*, float*, const int*);

// Fortran's interface is column-major: C' = op(B)' op(A)'.
void multiply_blas(Sgemm sgemm, const Product& p, Buffers& x) {
  const float one = 1, zero = 0;
  const int m = static_cast<int>(p.n), n = static_cast<int>(p.m), k = static_cast<int>(p.k);
  const int lda = p.transpose_b ? k : m, ldb = p.transpose_a ? n : k;
  sgemm(p.transpose_b ? "T" : "N", p.transpose_a ? "T" : "N", &m, &n, &k, &one, x.b.data(), &lda, x.a.data(), &ldb, &zero, x.c.data(), &m);
}

std::vector<Library> libraries(const std::vector<std::string>& blas) {
  std::vector<Library> all;
  for (const GemmBackend b : {GemmBackend::libxsmm, GemmBackend::eigen}) {
    if (!gemm_backend_built(b)) continue;
    all.push_back({"tiles of " + to_text(b), [b](const Product& p, Buffers& x) {
                     set_gemm_backend(b);
                     multiply_here(p, x);
                   }});
  }
  all.push_back({"Eigen", multiply_eigen});
  for (const std::string& file : blas) {
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* symbol = library != nullptr ? dlsym(library, "sgemm_") : nullptr;
    if (symbol == nullptr) continue;
    const auto sgemm = reinterpret_cast<Sgemm>(symbol);
    all.push_back({file.substr(file.rfind('/') + 1), [sgemm](const Product& p, Buffers& x) { multiply_blas(sgemm, p, x); }});
  }
  return all;
}

// The shortest of the calls that fit into the time, after one that warms up.
template <class F>
double shortest(double seconds, F&& f) {
  using Clock = std::chrono::steady_clock;
  f();
  double best = 1e30;
  for (const auto start = Clock::now(); std::chrono::duration<double>(Clock::now() - start).count() < seconds;) {
    const auto t = Clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - t).count());
  }
  return best;
}

// a = b + s c over arrays far larger than the caches; bytes counted as McCalpin's STREAM does: two read, one written.
double bandwidth(double seconds) {
  constexpr int64_t kElements = int64_t{1} << 25, kPiece = 1 << 16;
  std::vector<float> a(kElements), b(kElements, 1), c(kElements, 2);
  const double s = shortest(seconds, [&] {
    parallel_ranges(kElements, kPiece, [&](int64_t begin, int64_t end) {
      float* __restrict x = a.data();
      const float *y = b.data(), *z = c.data();
      for (int64_t i = begin; i < end; ++i) x[i] = y[i] + 3 * z[i];
    });
  });
  return 12.0 * static_cast<double>(kElements) / s;
}

// What the cores can do at most: the head's tile of scores, over and over in cache, on every thread.
double peak(double seconds) {
  constexpr int64_t kRows = 32, kWords = 64, kDepth = 512, kTimes = 200;
  const TileProduct<float> tile(kRows, kWords, kDepth, kRows, kDepth, kRows, false);
  const double s = shortest(seconds, [&] {
    parallel_for(threads(), [&](int64_t) {
      float* x = scratch<float>(Scratch::tile, kRows * kDepth + kDepth * kWords + kRows * kWords);
      std::fill_n(x, kRows * kDepth + kDepth * kWords, 0.5F);
      for (int64_t i = 0; i < kTimes; ++i) tile(x, x + kRows * kDepth, x + kRows * kDepth + kDepth * kWords);
    });
  });
  return 2.0 * kRows * kWords * kDepth * kTimes * threads() / s;
}

std::vector<Product> products(const BenchOptions& o) {
  const int64_t rows = o.batch * o.bptt, block = std::min<int64_t>(rows, 224), d = o.dim, v = o.vocab;
  const double layers = static_cast<double>(o.layers), steps = static_cast<double>(o.bptt),
               blocks = static_cast<double>(rows) / static_cast<double>(block);
  return {{"lstm x W_ih'", rows, 4 * d, d, false, true, layers},  {"lstm h W_hh'", o.batch, 4 * d, d, false, true, layers * steps},
          {"head scores", block, v, d, false, true, blocks},      {"lstm dG W_hh", o.batch, d, 4 * d, false, false, layers * steps},
          {"lstm dG W_ih", rows, d, 4 * d, false, false, layers}, {"lstm dG' x, dG' h", 4 * d, d, rows, true, false, 2 * layers},
          {"head C' H", v, d, block, true, false, blocks},        {"head C W", block, d, v, false, false, blocks}};
}
constexpr size_t kForward = 3;  // of them belong to the forward pass

int bench(const BenchOptions& o) {
  const double triad = bandwidth(o.seconds);
  std::printf("%d threads, triad %.1f GB/s, one tile in cache %.1f GFLOP/s\n", threads(), triad * 1e-9, peak(o.seconds) * 1e-9);
  const std::vector<Library> all = libraries(o.blas);
  std::printf("GFLOP/s %15s", "");
  for (const Library& l : all) std::printf(" %17s", l.name.c_str());
  std::printf("\n");
  double training = 0, scoring = 0;
  const std::vector<Product> parts = products(o);
  for (size_t i = 0; i < parts.size(); ++i) {
    const Product& p = parts[i];
    Buffers x(p);
    double best = 1e30;
    std::printf("%-23s", p.name.c_str());
    for (const Library& l : all) {
      const double s = shortest(o.seconds, [&] { l.multiply(p, x); });
      best = std::min(best, s);
      std::printf(" %17.1f", p.operations() / s * 1e-9);
    }
    std::printf("   %8.2f ms a step\n", best * p.calls * 1e3);
    training += best * p.calls;
    if (i < kForward) scoring += best * p.calls;
  }
  // Adam reads weight, gradient and two moments and writes three of them; the norm reads the gradient once more. The
  // embedding's rows are read, and their gradients cleared and added.
  const double d = static_cast<double>(o.dim), weights = 2 * static_cast<double>(o.vocab) * d + static_cast<double>(o.layers) * (8 * d * d + 8 * d);
  const double adam = 32 * weights / triad, rows = 4.0 * static_cast<double>(o.batch * o.bptt) * d / triad;
  const double cleared = 4.0 * static_cast<double>(o.vocab) * d / triad;
  std::printf("%-23s %.2f ms a step\n%-23s %.2f ms a step\n", "Adam and norm", adam * 1e3, "embedding", (cleared + 3 * rows) * 1e3);
  training += adam + cleared + 3 * rows;
  scoring += 2 * rows;
  std::printf("roofline: training %.2f ms a step, scoring %.2f ms\n", training * 1e3, scoring * 1e3);
  return kExitDone;
}

}  // namespace
}  // namespace nine::app

int main(int argc, char** argv) {
  using namespace nine::app;
  return run_main("bench_gemm", [&] {
    Options options("bench_gemm", "Products and memory of this machine, and the roofline of a step.", kVersionLine);
    BenchOptions o;
    o.declare(options);
    if (!options.parse(argc, argv)) return kExitDone;
    if (o.threads > 0) nine::set_threads(o.threads);
    return bench(o);
  });
}
