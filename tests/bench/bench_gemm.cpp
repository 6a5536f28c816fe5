// bench_gemm: what this machine can do, for the roofline of a model's step
// (docs/performance-explained.md): the float32 rate of every product of the step with every library
// found, the bandwidth of memory by a triad, and from these the shortest time a training step and a
// scoring step can take.
//
//   bench_gemm [--vocab V] [--dim d] [--blas libopenblas.so.0]      a step of bench_lm
//   bench_gemm --model mt [--ffn f] [--sentences n] [--length t]    a step of bench_mt
#include <dlfcn.h>

#include <Eigen/Core>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "apps/cli/machine.h"
#include "apps/cli/options.h"
#include "apps/cli/run_main.h"
#include "apps/cli/version.h"
#include "apps/training/machine_rates.h"
#include "core/gemm.h"
#include "core/threads.h"

namespace nine::app {
namespace {

struct BenchOptions {
  std::string model = "lm";
  int64_t vocab = 0, dim = 512, layers = 0, batch = 32, bptt = 35, ffn = 1024, sentences = 64,
          length = 24;
  int threads = 0;
  MatmulPrecision precision = MatmulPrecision::highest;
  double seconds = 0.2;
  std::vector<std::string> blas = {"libopenblas.so.0", "libmkl_rt.so.2", "libblis.so.4",
                                   "libblas.so.3"};

  void declare(Options& o) {
    o.add("model", model, "whose step: bench_lm's or bench_mt's").choices({"lm", "mt"});
    o.add("vocab", vocab, "words; 0: 30,000 (lm) or 10,000 (mt)").at_least(0);
    o.add("dim", dim, "width of the model").at_least(1);
    o.add("layers", layers, "LSTM layers, or layers of encoder and of decoder; 0: 2 or 6")
        .range(0, 64);
    o.add("batch", batch, "lm: columns").at_least(1);
    o.add("bptt", bptt, "lm: time steps").at_least(1);
    o.add("ffn", ffn, "mt: width inside of the feed-forward branch").at_least(1);
    o.add("sentences", sentences, "mt: pairs a step").at_least(1);
    o.add("length", length, "mt: words of each sentence").at_least(1);
    o.add("threads", threads, "0: OMP_NUM_THREADS, or all physical cores").range(0, 4096);
    add_matmul_precision(o, precision);
    o.add("seconds", seconds, "time for each figure");
    o.add(
        "blas", blas,
        "libraries with an sgemm_ to try, by file name; those that are not there are passed over");
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
      : a(static_cast<size_t>(p.m * p.k), 0.5F),
        b(static_cast<size_t>(p.k * p.n), 0.25F),
        c(static_cast<size_t>(p.m * p.n)) {}
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
  const Eigen::Map<const Matrix> a(x.a.data(), p.transpose_a ? p.k : p.m,
                                   p.transpose_a ? p.m : p.k),
      b(x.b.data(), p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n);
  Eigen::Map<Matrix> c(x.c.data(), p.m, p.n);
  const bool wide = p.n > p.m;
  const int64_t side = wide ? p.n : p.m, strip = (side + threads() - 1) / threads();
  parallel_ranges(side, strip, [&](int64_t begin, int64_t end) {
    const int64_t r0 = wide ? 0 : begin, rows = wide ? p.m : end - begin, c0 = wide ? begin : 0,
                  cols = wide ? end - begin : p.n;
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

using Sgemm = void (*)(const char*, const char*, const int*, const int*, const int*, const float*,
                       const float*, const int*, const float*, const int*, const float*, float*,
                       const int*);

// Fortran's interface is column-major: C' = op(B)' op(A)'.
void multiply_blas(Sgemm sgemm, const Product& p, Buffers& x) {
  const float one = 1, zero = 0;
  const int m = static_cast<int>(p.n), n = static_cast<int>(p.m), k = static_cast<int>(p.k);
  const int lda = p.transpose_b ? k : m, ldb = p.transpose_a ? n : k;
  sgemm(p.transpose_b ? "T" : "N", p.transpose_a ? "T" : "N", &m, &n, &k, &one, x.b.data(), &lda,
        x.a.data(), &ldb, &zero, x.c.data(), &m);
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
    all.push_back({file.substr(file.rfind('/') + 1),
                   [sgemm](const Product& p, Buffers& x) { multiply_blas(sgemm, p, x); }});
  }
  return all;
}

// A step: its products, those of the forward pass first, and the other work that every program has
// to do.
struct Step {
  std::vector<Product> products;
  size_t forward;     // so many of the products
  double attention;   // operations of scores and sums, both ways
  double weights;     // numbers that Adam updates
  double embeddings;  // of these in tables that are looked up
  double rows;        // looked up, times their width
};

// The head, a block of rows at a time: products forward, then backward.
Product head_scores(double rows, int64_t block, int64_t v, int64_t d) {
  return {"head scores", block, v, d, false, true, rows / static_cast<double>(block)};
}
std::vector<Product> head_gradients(double rows, int64_t block, int64_t v, int64_t d) {
  const double blocks = rows / static_cast<double>(block);
  return {{"head C' H", v, d, block, true, false, blocks},
          {"head C W", block, d, v, false, false, blocks}};
}

void append(std::vector<Product>& all, const std::vector<Product>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

Step language_model(const BenchOptions& o) {
  const int64_t rows = o.batch * o.bptt, block = std::min<int64_t>(rows, 224), d = o.dim,
                v = o.vocab;
  const double layers = static_cast<double>(o.layers), steps = static_cast<double>(o.bptt),
               n = static_cast<double>(rows), width = static_cast<double>(d);
  Step s{.products = {{"lstm x W_ih'", rows, 4 * d, d, false, true, layers},
                      {"lstm h W_hh'", o.batch, 4 * d, d, false, true, layers * steps},
                      head_scores(n, block, v, d),
                      {"lstm dG W_hh", o.batch, d, 4 * d, false, false, layers * steps},
                      {"lstm dG W_ih", rows, d, 4 * d, false, false, layers},
                      {"lstm dG' x, dG' h", 4 * d, d, rows, true, false, 2 * layers}},
         .forward = 3,
         .attention = 0,
         .weights = 2 * static_cast<double>(v) * width + layers * (8 * width * width + 8 * width),
         .embeddings = static_cast<double>(v) * width,
         .rows = n * width};
  append(s.products, head_gradients(n, block, v, d));
  return s;
}

// Separate dictionaries; the decoder's embeddings are the head's words.
Step translation(const BenchOptions& o) {
  const int64_t rows = o.sentences * o.length, block = std::min<int64_t>(rows, 224), d = o.dim,
                f = o.ffn, v = o.vocab;
  const double l = static_cast<double>(o.layers), n = static_cast<double>(rows),
               width = static_cast<double>(d), inner = static_cast<double>(f);
  struct Linear {
    std::string name;
    int64_t out, in;
    double calls;
  };
  const std::vector<Linear> linears = {{"q, k, v", 3 * d, d, 2 * l},
                                       {"k, v of the source", 2 * d, d, l},
                                       {"q; outputs", d, d, 4 * l},
                                       {"feed-forward in", f, d, 2 * l},
                                       {"feed-forward out", d, f, 2 * l}};
  Step s{
      .products = {},
      .forward = linears.size() + 1,
      .attention = 3 * l * 14 * n * static_cast<double>(o.length) *
                   width,  // with scores computed again (docs/performance-explained.md)
      .weights = 2 * static_cast<double>(v) * width + l * (12 * width * width + 4 * width * inner),
      .embeddings = 2 * static_cast<double>(v) * width,
      .rows = 2 * n * width};
  for (const Linear& x : linears)
    s.products.push_back({x.name, rows, x.out, x.in, false, true, x.calls});
  s.products.push_back(head_scores(n, block, v, d));
  for (const Linear& x : linears) {
    s.products.push_back({"dY W, " + x.name, rows, x.in, x.out, false, false, x.calls});
    s.products.push_back({"dY' X, " + x.name, x.out, x.in, rows, true, false, x.calls});
  }
  append(s.products, head_gradients(n, block, v, d));
  return s;
}

int bench(const BenchOptions& o) {
  const double triad = triad_rate(o.seconds), in_cache = tile_rate(o.seconds);
  std::printf("%d threads, triad %.1f GB/s, one tile in cache %.1f GFLOP/s\n", threads(),
              triad * 1e-9, in_cache * 1e-9);
  for (const MatmulPrecision p :
       {MatmulPrecision::highest, MatmulPrecision::high, MatmulPrecision::medium})
    if (const double rate = pieces_rate(p, o.seconds); rate > 0)
      std::printf("%s, in bfloat16 pieces in cache: %.1f GFLOP/s\n", to_text(p).c_str(),
                  rate * 1e-9);
  set_matmul_precision(o.precision);
  const std::vector<Library> all = libraries(o.blas);
  std::printf("GFLOP/s %20s", "");
  for (const Library& l : all) std::printf(" %17s", l.name.c_str());
  std::printf("\n");
  const Step step = o.model == "mt" ? translation(o) : language_model(o);
  double training = 0, scoring = 0, operations = 0;
  for (size_t i = 0; i < step.products.size(); ++i) {
    const Product& p = step.products[i];
    Buffers x(p);
    double best = 1e30;
    std::printf("%-28s", p.name.c_str());
    for (const Library& l : all) {
      const double s = shortest(o.seconds, [&] { l.multiply(p, x); });
      best = std::min(best, s);
      std::printf(" %17.1f", p.operations() / s * 1e-9);
    }
    std::printf("   %8.2f ms a step\n", best * p.calls * 1e3);
    training += best * p.calls;
    operations += p.operations() * p.calls;
    if (i < step.forward) scoring += best * p.calls;
  }
  // Adam reads weight, gradient and two moments and writes three of them; the norm reads the
  // gradient once more. The embedding's rows are read, and their gradients cleared and added.
  const double adam = 32 * step.weights / triad, rows = 4 * step.rows / triad,
               cleared = 4 * step.embeddings / triad;
  const double attention = step.attention / in_cache;
  if (attention > 0)
    std::printf("%-28s %.2f ms a step\n", "attention, as in cache", attention * 1e3);
  std::printf("%-28s %.2f ms a step\n%-28s %.2f ms a step\n", "Adam and norm", adam * 1e3,
              "embedding", (cleared + 3 * rows) * 1e3);
  training += attention + adam + cleared + 3 * rows;
  scoring += attention * 4 / 14 + 2 * rows;
  std::printf("roofline: training %.2f ms a step (%.1f GFLOP), scoring %.2f ms\n", training * 1e3,
              (operations + step.attention) * 1e-9, scoring * 1e3);
  return kExitDone;
}

}  // namespace
}  // namespace nine::app

int main(int argc, char** argv) {
  using namespace nine::app;
  return run_main("bench_gemm", [&] {
    Options options("bench_gemm",
                    "Products and memory of this machine, and the roofline of a step.",
                    version_text);
    BenchOptions o;
    o.declare(options);
    if (!options.parse(argc, argv)) return kExitDone;
    nine::set_matmul_precision(o.precision);
    if (o.threads > 0) nine::set_threads(o.threads);
    if (o.vocab == 0) o.vocab = o.model == "mt" ? 10000 : 30000;
    if (o.layers == 0) o.layers = o.model == "mt" ? 6 : 2;
    int code = 0;
    nine::in_team([&] { code = bench(o); });
    return code;
  });
}
