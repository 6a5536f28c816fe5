// The kernel softmax (docs/heads.md, section 4): against its composed twin, a dense formula and
// finite differences, at sizes around every block and tile, at the extremes, and in memory.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "checks/op_cases.h"
#include "core/error.h"
#include "core/gemm.h"
#include "core/threads.h"
#include "kernels/loss/kernel_softmax.h"
#include "kernels/ops.h"
#include "tests/support/compare.h"
#include "tests/support/skip.h"
#include "tests/support/support.h"

namespace nine::tests::test_head {

using namespace nine::checks;

namespace {

// One call's inputs.
struct Problem {
  int64_t rows, words, size;
  Doubles h, w, bias;
  Ints targets;
  double row_weight;
  LabelSmoothing smoothing = {};
};

Problem random_problem(int64_t rows, int64_t words, int64_t size, double scale = 1) {
  const std::vector<Doubles> v =
      random_values({{{rows, size}, -scale, scale}, {{words, size}}, {{words}}}, 11);
  Problem p{rows,
            words,
            size,
            v[0],
            v[1],
            v[2],
            random_indices({{{rows}, -1, static_cast<int32_t>(words)}}, 12)[0],
            1.0 / static_cast<double>(rows)};
  p.targets[0] =
      static_cast<int32_t>(words - 1);  // at least one row counts, and the last word is hit
  return p;
}

struct Result {
  double loss = 0;
  Doubles nll, dh, dw, dbias;
};

enum class Path { fused, composed };

Result run(const Problem& p, DType dtype, bool bias = true, Path path = Path::fused) {
  Arena pool("head");
  Tape tape(pool);
  const Var h = tape.leaf(tensor_of(p.h, {p.rows, p.size}, dtype)),
            w = tape.leaf(tensor_of(p.w, {p.words, p.size}, dtype));
  const Var b = bias ? tape.leaf(tensor_of(p.bias, {p.words}, dtype)) : Var();
  const Tensor targets = tensor_of(p.targets, {p.rows});
  Result r;
  Var loss;
  if (path == Path::fused) {
    const SoftmaxLoss out = kernel_softmax({}, h, {{w}, b}, targets, p.row_weight, {p.smoothing});
    r.nll = out.nll.value().to_vector();
    loss = out.loss;
  } else {
    const Var z = matmul(h, w, false, true);
    loss = nll(log_softmax(b ? add(z, b) : z), targets, p.row_weight);
  }
  r.loss = loss.value().to_vector()[0];
  tape.backward(loss);
  r.dh = h.grad().to_vector();
  r.dw = w.grad().to_vector();
  if (bias) r.dbias = b.grad().to_vector();
  return r;
}

// Softmax cross-entropy with its gradients, a dense formula.
Result dense(const Problem& p) {
  Result r{0, Doubles(p.targets.size()), Doubles(p.h.size()), Doubles(p.w.size()),
           Doubles(p.bias.size())};
  const auto d = static_cast<size_t>(p.size), words = static_cast<size_t>(p.words);
  for (size_t n = 0; n < p.targets.size(); ++n) {
    if (p.targets[n] < 0) continue;
    const auto y = static_cast<size_t>(p.targets[n]);
    std::vector<long double> s(words);
    long double top = -INFINITY, sum = 0;
    for (size_t v = 0; v < words; ++v) {
      s[v] = p.bias[v];
      for (size_t k = 0; k < d; ++k)
        s[v] += static_cast<long double>(p.h[n * d + k]) * static_cast<long double>(p.w[v * d + k]);
      top = std::max(top, s[v]);
    }
    for (size_t v = 0; v < words; ++v) sum += std::exp(s[v] - top);
    r.nll[n] = static_cast<double>(std::log(sum) + top - s[y]);
    const long double epsilon = p.smoothing.epsilon;
    const bool uniform = p.smoothing.kind == LabelSmoothing::Kind::uniform;
    const auto label = [&](size_t v) {
      if (uniform) return epsilon / static_cast<long double>(words) + (v == y ? 1 - epsilon : 0);
      return v == y ? 1 - epsilon : epsilon / static_cast<long double>(words - 1);
    };
    long double row = 0;
    for (size_t v = 0; v < words; ++v)
      if (label(v) != 0) row += label(v) * (std::log(sum) + top - s[v]);
    r.loss += p.row_weight * static_cast<double>(row);
    for (size_t v = 0; v < words; ++v) {
      const long double others = v == y ? std::expm1(s[y] - top - std::log(sum)) + (1 - label(y))
                                        : std::exp(s[v] - top) / sum - label(v);
      const double g = p.row_weight * static_cast<double>(others);
      r.dbias[v] += g;
      for (size_t k = 0; k < d; ++k) {
        r.dh[n * d + k] += g * p.w[v * d + k];
        r.dw[v * d + k] += g * p.h[n * d + k];
      }
    }
  }
  return r;
}

void check_close(const Result& a, const Result& b, double tolerance) {
  CHECK(std::abs(a.loss - b.loss) <= tolerance * std::abs(b.loss) + 1e-300);
  if (!a.nll.empty() && !b.nll.empty()) CHECK(relative_error(a.nll, b.nll) < tolerance);
  CHECK(relative_error(a.dh, b.dh) < tolerance);
  CHECK(relative_error(a.dw, b.dw) < tolerance);
  CHECK(relative_error(a.dbias, b.dbias) < tolerance);
}

bool same_bits(const Result& a, const Result& b) {
  return a.loss == b.loss && a.nll == b.nll && a.dh == b.dh && a.dw == b.dw && a.dbias == b.dbias;
}

bool all_finite(const Result& r) {
  for (const Doubles* v : {&r.nll, &r.dh, &r.dw, &r.dbias})
    for (const double x : *v)
      if (!std::isfinite(x)) return false;
  return std::isfinite(r.loss);
}

}  // namespace

TEST_CASE("head: fused = composed = dense formula, float64") {
  const Restore restore;
  set_threads(
      1);  // many small problems; another test holds the bits of 2 and 3 threads against those of 1
  for (const int64_t words : {1, 2, 63, 64, 65, 1000})
    for (const int64_t rows : {1, 31, 32, 33, 70}) {
      CAPTURE(words);
      CAPTURE(rows);
      const Problem p = random_problem(rows, words, 19);
      const Result fused = run(p, DType::float64),
                   plain = run(p, DType::float64, true, Path::composed);
      // One word has probability one: nothing but rounding is left in the twin's gradients.
      if (words > 1) {
        check_close(fused, plain, 1e-12);
        check_close(fused, dense(p), 1e-12);
        CHECK(relative_error(run(p, DType::float64, false).dw,
                             run(p, DType::float64, false, Path::composed).dw) < 1e-12);
      } else {
        CHECK(std::abs(fused.loss) < 1e-12);
        for (const Doubles* g : {&fused.dh, &fused.dw, &fused.dbias})
          for (const double x : *g) CHECK(std::abs(x) < 1e-12);
      }
    }
}

TEST_CASE("head: several blocks of rows, more than one slice of columns, float64") {
  for (const int64_t rows : {224, 225, 300, 700}) {
    CAPTURE(rows);
    const Problem p = random_problem(rows, 130, 150);
    const Result fused = run(p, DType::float64);
    check_close(fused, run(p, DType::float64, true, Path::composed), 1e-12);
    check_close(fused, dense(p), 1e-12);
  }
  // More tiles than chunks, unevenly.
  const Problem p = random_problem(40, 64 * 37 + 5, 8);
  check_close(run(p, DType::float64), dense(p), 1e-12);
}

TEST_CASE("head: gradients against finite differences") {
  const Restore restore;
  set_threads(1);
  for (const auto& size : {std::pair<int64_t, int64_t>{5, 3}, {35, 70}, {230, 65}}) {
    const auto rows = size.first, words = size.second;
    CAPTURE(rows);
    const Problem p = random_problem(rows, words, 7);
    const Tensor targets = tensor_of(p.targets, {rows});
    const std::vector<Tensor> inputs = {tensor_of(p.h, {rows, 7}, DType::float64),
                                        tensor_of(p.w, {words, 7}, DType::float64),
                                        tensor_of(p.bias, {words}, DType::float64)};
    const GradcheckReport r = gradcheck(
        [&](std::span<const Var> x) {
          return kernel_softmax({}, x[0], {{x[1]}, x[2]}, targets, 0.7).loss;
        },
        inputs, {.max_elements = 60});
    CHECK_MESSAGE(r.worst < 1e-6, r.where);
  }
}

TEST_CASE("head: rows without a target count nothing") {
  Problem p = random_problem(70, 65, 9);
  for (size_t n = 0; n < 70; n += 3) p.targets[n] = -1;
  const Result all = run(p, DType::float64);
  check_close(all, dense(p), 1e-12);
  for (size_t n = 0; n < 70; n += 3) {
    CHECK(all.nll[n] == 0);
    for (size_t k = 0; k < 9; ++k) CHECK(all.dh[n * 9 + k] == 0);
  }
  // Without any target there is no loss and no gradient.
  p.targets.assign(70, -1);
  const Result none = run(p, DType::float64);
  CHECK(none.loss == 0);
  for (const Doubles* g : {&none.dh, &none.dw, &none.dbias})
    for (const double x : *g) REQUIRE(x == 0);
}

TEST_CASE(
    "head: label smoothing, both conventions, against the dense formula and finite differences") {
  const Restore restore;
  set_threads(1);
  for (const auto kind : {LabelSmoothing::Kind::uniform, LabelSmoothing::Kind::others})
    for (const double epsilon : {0.1, 0.5, 1.0}) {
      CAPTURE(to_text(kind));
      CAPTURE(epsilon);
      for (const GemmBackend backend : built_backends()) {
        set_gemm_backend(backend);
        for (const auto& size :
             {std::pair<int64_t, int64_t>{1, 2}, {33, 65}, {70, 1000}, {300, 130}}) {
          const auto rows = size.first, words = size.second;
          CAPTURE(words);
          Problem p = random_problem(rows, words, 19);
          const Result plain = run(p, DType::float64);
          p.smoothing = {epsilon, kind};
          const Result smoothed = run(p, DType::float64);
          check_close(smoothed, dense(p), 1e-12);
          CHECK(smoothed.nll == plain.nll);  // never smoothed
          CHECK(smoothed.loss != plain.loss);
          check_close(run(p, DType::float32), smoothed, 1e-5);
        }
      }
      const Problem p = random_problem(35, 70, 7);
      const Tensor targets = tensor_of(p.targets, {35});
      const std::vector<Tensor> inputs = {tensor_of(p.h, {35, 7}, DType::float64),
                                          tensor_of(p.w, {70, 7}, DType::float64),
                                          tensor_of(p.bias, {70}, DType::float64)};
      const GradcheckReport r = gradcheck(
          [&](std::span<const Var> x) {
            return kernel_softmax({}, x[0], {{x[1]}, x[2]}, targets, 0.7, {{epsilon, kind}}).loss;
          },
          inputs, {.max_elements = 60});
      CHECK_MESSAGE(r.worst < 1e-6, r.where);
    }
}

TEST_CASE("head: label smoothing at the extremes") {
  // Rows without a target count nothing.
  Problem p = random_problem(70, 65, 9);
  p.smoothing = {0.2, LabelSmoothing::Kind::others};
  for (size_t n = 0; n < 70; n += 3) p.targets[n] = -1;
  check_close(run(p, DType::float64), dense(p), 1e-12);
  p.targets.assign(70, -1);
  const Result none = run(p, DType::float64);
  CHECK(none.loss == 0);
  for (const Doubles* g : {&none.dh, &none.dw, &none.dbias})
    for (const double x : *g) REQUIRE(x == 0);

  // A constant on all biases changes nothing; the same bits with any number of threads; no
  // smoothing is the plain loss to the bit.
  p = random_problem(300, 1500, 40);
  p.smoothing = {0.1, LabelSmoothing::Kind::uniform};
  const Restore restore;
  set_threads(1);
  const Result one = run(p, DType::float32), exact = run(p, DType::float64);
  for (const int n : {2, 3}) {
    set_threads(n);
    CHECK(same_bits(run(p, DType::float32), one));
  }
  for (double& b : p.bias) b += 3.25;
  check_close(run(p, DType::float64), exact, 1e-11);
  p.smoothing.epsilon = 0;
  const Result off = run(p, DType::float32);
  CHECK(off.loss ==
        doctest::Approx(run(p, DType::float32, true, Path::composed).loss).epsilon(1e-5));

  // Large scores.
  p = random_problem(37, 97, 16);
  p.smoothing = {0.1, LabelSmoothing::Kind::others};
  for (double& x : p.h) x *= 1e4;
  CHECK(all_finite(run(p, DType::float32)));
  check_close(run(p, DType::float64), dense(p), 1e-10);

  // One word: nothing to learn, and no others.
  p = random_problem(5, 1, 4);
  p.smoothing = {0.3, LabelSmoothing::Kind::uniform};
  const Result single = run(p, DType::float64);
  CHECK(std::abs(single.loss) < 1e-12);
  for (const double x : single.dh) CHECK(std::abs(x) < 1e-12);
  p.smoothing.kind = LabelSmoothing::Kind::others;
  CHECK_THROWS_WITH_AS(run(p, DType::float64), doctest::Contains("needs a vocabulary of two words"),
                       Error);
  p.smoothing = {1.5, LabelSmoothing::Kind::uniform};
  CHECK_THROWS_WITH_AS(run(p, DType::float64), doctest::Contains("[0, 1], not 1.5"), Error);
  CHECK_THROWS_WITH_AS(enum_from_text<LabelSmoothing::Kind>("all"),
                       doctest::Contains("uniform, others"), UsageError);
}

TEST_CASE("head: posteriors sum to one") {
  const Restore restore;
  set_threads(1);
  for (const int64_t words : {1, 65, 200}) {
    Problem p = random_problem(33, words, 11);
    Doubles sums(33);
    for (int32_t v = 0; v < words; ++v) {
      p.targets.assign(33, v);
      const Doubles nll = run(p, DType::float64).nll;
      for (size_t n = 0; n < 33; ++n) {
        CHECK(nll[n] >= -1e-15);
        sums[n] += std::exp(-nll[n]);
      }
    }
    for (const double s : sums) CHECK(std::abs(s - 1) < 1e-12);
  }
}

TEST_CASE("head: a constant on all biases changes nothing") {
  Problem p = random_problem(40, 100, 8);
  const Result before = run(p, DType::float64);
  for (double& b : p.bias) b += 3.25;
  check_close(run(p, DType::float64), before, 1e-12);
}

TEST_CASE("head: extremes are finite") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    CAPTURE(dtype == DType::float32);
    constexpr int64_t kRows = 37, kWords = 97, kSize = 16;
    const Problem usual = random_problem(kRows, kWords, kSize);
    const double tolerance = dtype == DType::float32 ? 1e-6 : 1e-12;

    Problem p = usual;  // all words equal: log V
    p.bias.assign(kWords, 0.5);
    for (size_t i = 0; i < p.w.size(); ++i) p.w[i] = p.w[i % kSize];
    Result r = run(p, dtype);
    CHECK(all_finite(r));
    for (size_t n = 0; n < kRows; ++n)
      if (p.targets[n] >= 0) CHECK(r.nll[n] == doctest::Approx(std::log(97.0)).epsilon(tolerance));

    p = usual;  // w = 0
    p.w.assign(p.w.size(), 0);
    p.bias.assign(kWords, 0);
    r = run(p, dtype);
    CHECK(all_finite(r));
    for (const double x : r.dh) CHECK(x == 0);

    p = usual;  // h = 0
    p.h.assign(p.h.size(), 0);
    CHECK(all_finite(run(p, dtype)));

    p = usual;  // |h| = 1e4: most posteriors underflow
    for (double& x : p.h) x *= 1e4;
    r = run(p, dtype);
    CHECK(all_finite(r));
    CHECK(std::abs(r.loss - dense(p).loss) < 1e-5 * dense(p).loss);
    for (const double x : r.nll) CHECK(x >= -1e-12);

    p = usual;  // |h| = 1e4 and the target is the word itself, scaled up
    for (size_t n = 0; n < kRows; ++n) {
      p.targets[n] = static_cast<int32_t>(n);
      for (size_t k = 0; k < kSize; ++k) p.h[n * kSize + k] = 1e3 * p.w[n * kSize + k];
    }
    r = run(p, dtype);
    CHECK(all_finite(r));
    for (const double x : r.nll) CHECK(x >= 0);

    p = usual;  // one bias of -1e4 and one of +1e4
    p.bias[3] = 1e4;
    p.bias[4] = -1e4;
    p.targets[0] = 4;
    r = run(p, dtype);
    CHECK(all_finite(r));
    CHECK(r.nll[0] == doctest::Approx(2e4).epsilon(1e-3));
  }
}

TEST_CASE("head: float32 is float64 to 1e-5") {
  for (const int64_t rows : {1, 33, 300}) {
    const Problem p = random_problem(rows, 1000, 64);
    check_close(run(p, DType::float32), run(p, DType::float64), 1e-5);
  }
}

TEST_CASE("head: the same bits with 1, 2 and 3 threads, both backends") {
  const Restore restore;
  for (const GemmBackend backend : built_backends()) {
    set_gemm_backend(backend);
    for (const auto& [rows, words, size] : {std::array<int64_t, 3>{33, 65, 9}, {300, 1500, 140}}) {
      const Problem p = random_problem(rows, words, size);
      set_threads(1);
      const Result one = run(p, DType::float32);
      for (const int n : {2, 3}) {
        set_threads(n);
        CHECK(same_bits(run(p, DType::float32), one));
      }
    }
  }
}

TEST_CASE("head: both backends agree, float64" * doctest::test_suite("needs libxsmm")) {
  if (!gemm_backend_built(GemmBackend::libxsmm)) return skip("a build without libxsmm");
  const Restore restore;
  const Problem p = random_problem(240, 330, 140);
  set_gemm_backend(GemmBackend::eigen);
  const Result eigen = run(p, DType::float64);
  set_gemm_backend(GemmBackend::libxsmm);
  check_close(run(p, DType::float64), eigen, 1e-12);
}

TEST_CASE("head: NoGrad gives the same bits and takes less memory") {
  const Restore restore;
  for (const GemmBackend backend : built_backends()) {
    set_gemm_backend(backend);
    for (const int64_t rows : {5, 300}) {
      const Problem p = random_problem(rows, 1000, 64);
      const Result with = run(p, DType::float32);
      Arena pool("head");
      Tape tape(pool);
      const NoGrad off(tape);
      const SoftmaxLoss out =
          kernel_softmax({}, tape.constant(tensor_of(p.h, {rows, 64}, DType::float32)),
                         {{tape.constant(tensor_of(p.w, {1000, 64}, DType::float32))},
                          tape.constant(tensor_of(p.bias, {1000}, DType::float32))},
                         tensor_of(p.targets, {rows}), p.row_weight);
      CHECK(out.nll.value().to_vector() == with.nll);
      CHECK(out.loss.value().to_vector()[0] == with.loss);
      CHECK(pool.peak_bytes() < 600 << 10);
    }
  }
}

TEST_CASE("head: what needs no gradient gets none, and the others stay the same") {
  const Problem p = random_problem(50, 70, 12);
  const Result all = run(p, DType::float64);
  for (int only = 0; only < 3; ++only) {
    CAPTURE(only);
    Arena pool("head");
    Tape tape(pool);
    const auto input = [&](int i, const Doubles& v, const Shape& s) {
      const Tensor t = tensor_of(v, s, DType::float64);
      return i == only ? tape.leaf(t) : tape.constant(t);
    };
    const Var x[] = {input(0, p.h, {50, 12}), input(1, p.w, {70, 12}), input(2, p.bias, {70})};
    tape.backward(
        kernel_softmax({}, x[0], {{x[1]}, x[2]}, tensor_of(p.targets, {50}), p.row_weight).loss);
    const Doubles* expected[] = {&all.dh, &all.dw, &all.dbias};
    CHECK(x[only].grad().to_vector() == *expected[only]);
  }
}

TEST_CASE("head: contexts of rank 3, words shared with the embedding") {
  // Tied word vectors: the table's gradient comes from both ends.
  const Problem p = random_problem(24, 30, 10);
  const Tensor ids = tensor_of(random_indices({{{4, 6}, 0, 30}}, 1)[0], {4, 6}),
               targets = tensor_of(p.targets, {24});
  const auto gradient = [&](Path path) {
    Arena pool("head");
    Tape tape(pool);
    const Var table = tape.leaf(tensor_of(p.w, {30, 10}, DType::float64));
    const Var h = tanh(embedding(table, ids));
    CHECK(h.shape() == Shape{4, 6, 10});
    const Var loss =
        path == Path::fused
            ? kernel_softmax({}, h, {{table}}, targets, 0.1).loss
            : nll(log_softmax(matmul(reshape(h, {24, 10}), table, false, true)), targets, 0.1);
    tape.backward(loss);
    return table.grad().to_vector();
  };
  CHECK(relative_error(gradient(Path::fused), gradient(Path::composed)) < 1e-12);
}

TEST_CASE("head: the loss reaches backward with weight 1 or not at all") {
  const Problem p = random_problem(6, 5, 4);
  const Tensor targets = tensor_of(p.targets, {6});
  Arena pool("head");
  Tape tape(pool);
  const auto head = [&](const Var& h, const Var& w) {
    return kernel_softmax({}, h, {{w}}, targets, 0.5).loss;
  };
  const auto leaf = [&](const Doubles& v, const Shape& s) {
    return tape.leaf(tensor_of(v, s, DType::float64));
  };
  {
    const Var loss = scale(head(leaf(p.h, {6, 4}), leaf(p.w, {5, 4})), 2);
    CHECK_THROWS_WITH_AS(tape.backward(loss), doctest::Contains("must be 1, not 2"), Error);
    tape.reset();
  }
  const Var h = leaf(p.h, {6, 4}), w = leaf(p.w, {5, 4});
  tape.backward(head(h, w));
  const Doubles once = h.grad().to_vector(), once_w = w.grad().to_vector();
  tape.reset();
  const Var h2 = leaf(p.h, {6, 4}), w2 = leaf(p.w, {5, 4});
  tape.backward(add(head(h2, w2), head(h2, w2)));
  Doubles twice = once, twice_w = once_w;
  for (Doubles* v : {&twice, &twice_w})
    for (double& x : *v) x *= 2;
  CHECK(relative_error(h2.grad().to_vector(), twice) < 1e-14);
  CHECK(relative_error(w2.grad().to_vector(), twice_w) < 1e-14);
}

TEST_CASE("head: errors name the row, the shapes and the head") {
  Arena pool("head");
  Tape tape(pool);
  const auto zeros = [&](const Shape& s) { return tape.leaf(Tensor(s, DType::float32)); };
  const auto with_target = [&](int64_t rows, int64_t row, int32_t target) {
    const Tensor targets({rows}, DType::int32);
    targets.data<int32_t>()[row] = target;
    kernel_softmax({}, zeros({rows, 4}), {{zeros({7, 4})}}, targets, 1);
  };
  CHECK_NOTHROW(with_target(300, 3, -1));
  CHECK_THROWS_WITH_AS(with_target(300, 3, 7),
                       doctest::Contains("target 7 of row 3 is outside of the vocabulary of 7"),
                       Error);
  CHECK_THROWS_WITH_AS(with_target(300, 250, 9), doctest::Contains("target 9 of row 250"), Error);
  CHECK_THROWS_WITH_AS(with_target(300, 299, -2), doctest::Contains("target -2 of row 299"), Error);
  const Tensor targets({3}, DType::int32);
  CHECK_THROWS_WITH_AS(kernel_softmax({}, zeros({3, 4}), {{zeros({7, 5})}}, targets, 1),
                       doctest::Contains("(3, 4) do not fit word vectors of shape (7, 5)"), Error);
  CHECK_THROWS_WITH_AS(kernel_softmax({}, zeros({3, 4}), {{zeros({7, 4})}, zeros({6})}, targets, 1),
                       doctest::Contains("the bias must be 7"), Error);
  CHECK_THROWS_WITH_AS(kernel_softmax({}, zeros({3, 4}), {{zeros({0, 4})}}, targets, 1),
                       doctest::Contains("vocabulary is empty"), Error);
  CHECK_THROWS_AS(kernel_softmax({}, zeros({4, 4}), {{zeros({7, 4})}}, targets, 1), Error);
}

TEST_CASE("head: names") {
  CHECK(parse_head("lin").to_text() == "lin");
  CHECK(HeadSpec{}.to_text() == "lin");
  CHECK_THROWS_WITH_AS(parse_head("nonsense"), doctest::Contains("nonsense"), UsageError);
}

TEST_CASE("head: a GPU's blocks of rows are few, of whole panels and of about one size") {
  constexpr Device kGpu{DeviceKind::cuda, 0};
  const auto most = [&](const char* head, int64_t words) {
    return head_block_rows(parse_head(head), words, 512, DType::float32, kGpu);
  };
  REQUIRE(most("lin", 30000) == 4448);
  CHECK(balanced_block_rows(4480, 4448) == 2240);  // not 4448 and 32
  REQUIRE(most("mos", 30000) == 480);
  CHECK(balanced_block_rows(1120, 480) == 384);  // 384, 384, 352: not 480, 480, 160
  CHECK(balanced_block_rows(1120, 4448) == 1120);
  for (const int64_t limit : {32, 96, 480, 4448})
    for (int64_t rows = 1; rows < 5000; ++rows) {
      const int64_t each = balanced_block_rows(rows, limit), blocks = (rows + each - 1) / each;
      const int64_t last = rows - (blocks - 1) * each;
      const bool right = each > 0 && each <= limit && each % ops::kHeadPanel == 0 &&
                         blocks == (rows + limit - 1) / limit &&
                         each - last < blocks * ops::kHeadPanel;
      if (right) continue;
      CAPTURE(limit);
      CAPTURE(rows);
      CAPTURE(each);
      FAIL("a block is too large or too small");
    }
}

TEST_CASE("head: nothing of size contexts x vocabulary is stored") {
  constexpr int64_t kRows = 2048, kWords = 8192, kSize = 64;
  Arena pool("head");
  Tape tape(pool);
  const Tensor h =
      tensor_of(random_values({{{kRows, kSize}}}, 1)[0], {kRows, kSize}, DType::float32);
  Parameter w("w",
              tensor_of(random_values({{{kWords, kSize}}}, 2)[0], {kWords, kSize}, DType::float32),
              Tensor({kWords, kSize}, DType::float32));
  const Tensor targets = tensor_of(random_indices({{{kRows}, 0, kWords}}, 3)[0], {kRows});
  const SoftmaxLoss out =
      kernel_softmax({}, tape.leaf(h), {{tape.parameter(w)}}, targets, 1.0 / kRows);
  CHECK(*out.loss.value().data<double>() > std::log(static_cast<double>(kWords)));
  tape.backward(out.loss);
  const auto block = static_cast<size_t>(head_block_rows({}, kWords, kSize, DType::float32, kCpu));
  CHECK(pool.peak_bytes() < block * 3 / 2 * kWords * 4);
  MESSAGE("peak ", pool.peak_bytes() >> 20, " MiB; contexts x vocabulary would be ",
          (size_t{kRows} * kWords * 4) >> 20, " MiB");
}

TEST_CASE(
    "log_probabilities: kernel_softmax's -nll for every word, posteriors that sum to 1, rows that "
    "do not depend on others") {
  for (const int64_t rows : {1, 31, 32, 33, 70}) {
    CAPTURE(rows);
    const int64_t words = 197;
    Problem p = random_problem(rows, words, 24, 2);
    for (const DType dtype : {DType::float64, DType::float32}) {
      const double tolerance = dtype == DType::float64 ? 1e-12 : 1e-5;
      Arena pool("head");
      Tape tape(pool);
      const NoGrad guard(tape);
      const Var h = tape.leaf(tensor_of(p.h, {p.rows, p.size}, dtype)),
                w = tape.leaf(tensor_of(p.w, {p.words, p.size}, dtype));
      const Var b = tape.leaf(tensor_of(p.bias, {p.words}, dtype));
      for (const Var& bias : {b, Var()}) {
        const Doubles log_p = log_probabilities({}, h, {{w}, bias}).to_vector();
        REQUIRE(log_p.size() == static_cast<size_t>(rows * words));
        Doubles found, expected;
        for (const int32_t word : {0, 1, 63, 64, 196}) {
          const Doubles nats =
              kernel_softmax({}, h, {{w}, bias},
                             tensor_of(Ints(static_cast<size_t>(rows), word), {rows}), 1)
                  .nll.value()
                  .to_vector();
          for (size_t r = 0; r < nats.size(); ++r) {
            expected.push_back(nats[r]);
            found.push_back(-log_p[r * static_cast<size_t>(words) + static_cast<size_t>(word)]);
          }
        }
        CHECK(relative_error(found, expected) < tolerance);
        for (size_t r = 0; r < static_cast<size_t>(rows); ++r) {
          double sum = 0;
          for (size_t v = 0; v < static_cast<size_t>(words); ++v)
            sum += std::exp(log_p[r * static_cast<size_t>(words) + v]);
          CHECK(std::abs(sum - 1) < tolerance);
        }
        if (rows > 1) {
          const Doubles first = log_probabilities({}, row_range(h, 0, 1), {{w}, bias}).to_vector();
          CHECK(std::equal(first.begin(), first.end(), log_p.begin()));
        }
      }
    }
  }
}

}  // namespace nine::tests::test_head
