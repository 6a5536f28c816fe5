// The generalised kernel softmax (docs/heads.md, section 4): every kernel and mixtures, tied and
// untied, against dense formulas in long double, a twin of plain autograd operations, finite
// differences, and one way of computing against another.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "checks/op_cases.h"
#include "core/error.h"
#include "core/threads.h"
#include "kernels/kernel_softmax.h"
#include "kernels/ops.h"
#include "tests/compare.h"
#include "tests/score_oracle.h"
#include "tests/support.h"

using namespace nine;
using namespace nine::checks;
using namespace nine::tests;

namespace {

Score score_of(ScoreKind kind, std::array<double, kMaxScoreParameters> parameters = {}) {
  return {kind, parameters};
}
const Score kLin = score_of(ScoreKind::lin), kPow = score_of(ScoreKind::pow, {2}),
            kRbf = score_of(ScoreKind::rbf, {0.5}), kMog = score_of(ScoreKind::mog, {2, 1, 0, 1});

// A head's inputs; empty ones are left out.
struct Problem {
  HeadSpec head;
  int64_t rows, words, size;
  Doubles h, w, bias, prior, latent;
  Ints targets;
  HeadLoss options = {};
  double row_weight = 0.3;

  int64_t copies() const { return head.untied ? head.size() : 1; }
  std::vector<Tensor> inputs(DType dtype) const {
    std::vector<Tensor> all{tensor_of(h, {rows, size}, dtype),
                            tensor_of(w, {copies() * words, size}, dtype),
                            tensor_of(bias, {words}, dtype)};
    if (head.mixture) all.push_back(tensor_of(prior, {head.size(), size}, dtype));
    if (head.contexts) all.push_back(tensor_of(latent, {head.size() * size, size}, dtype));
    return all;
  }
  HeadWeights weights(std::span<const Var> x) const {
    HeadWeights weights{
        {reshape(x[1], head.untied ? Shape{copies(), words, size} : Shape{words, size})}, x[2]};
    if (head.mixture) weights.prior = x[3];
    if (head.contexts) weights.latent = x[head.mixture ? 4 : 3];
    return weights;
  }
  SoftmaxLoss run(std::span<const Var> x) const {
    return kernel_softmax(head, x[0], weights(x), tensor_of(targets, {rows}), row_weight, options);
  }
};

Problem problem(HeadSpec head, int64_t rows, int64_t words, int64_t size, double scale = 1) {
  const int64_t k = head.size(), copies = head.untied ? k : 1;
  const std::vector<Doubles> v = random_values({{{rows, size}, -scale, scale},
                                                {{copies * words, size}},
                                                {{words}},
                                                {{k, size}},
                                                {{k * size, size}}},
                                               21);
  Problem p{std::move(head),
            rows,
            words,
            size,
            v[0],
            v[1],
            v[2],
            v[3],
            v[4],
            random_indices({{{rows}, -1, static_cast<int32_t>(words)}}, 22)[0]};
  p.targets[0] = static_cast<int32_t>(words - 1);
  return p;
}

HeadSpec single(const Score& s) { return {.components = {s}}; }
HeadSpec mixture(std::vector<Score> components, bool untied = false, bool contexts = true) {
  return {
      .components = std::move(components), .mixture = true, .contexts = contexts, .untied = untied};
}

struct Result {
  double loss = 0;
  Doubles nll, share;
  std::vector<Doubles> gradients;
  size_t peak = 0;
};

Result run(const Problem& p, DType dtype = DType::float64) {
  Arena pool("head");
  Tape tape(pool);
  std::vector<Var> x;
  for (const Tensor& t : p.inputs(dtype)) x.push_back(tape.leaf(t));
  const SoftmaxLoss out = p.run(x);
  Result r{out.loss.value().item(),
           out.nll.value().to_vector(),
           out.share ? out.share.value().to_vector() : Doubles{},
           {}};
  tape.backward(out.loss);
  for (const Var& v : x) r.gradients.push_back(v.grad().to_vector());
  r.peak = pool.peak_bytes();
  return r;
}

// Loss, -log p and shares in long double, from the formulas of docs/heads.md, section 4.
struct Dense {
  double loss = 0;
  Doubles nll, share;
};
Dense dense(const Problem& p) {
  const auto size = static_cast<size_t>(p.size), words = static_cast<size_t>(p.words),
             rows = static_cast<size_t>(p.rows);
  const auto count = static_cast<size_t>(p.head.size());
  const auto row = [&](const Doubles& m, size_t r) {
    return Reals(m.begin() + static_cast<long>(r * size),
                 m.begin() + static_cast<long>((r + 1) * size));
  };
  const auto dot = [](const Reals& a, const Reals& b) {
    long double s = 0;
    for (size_t i = 0; i < a.size(); ++i) s += a[i] * b[i];
    return s;
  };
  const auto softmax = [](Reals s) {
    long double top = s[0], sum = 0;
    for (const long double x : s) top = std::max(top, x);
    for (long double& x : s) sum += x = std::exp(x - top);
    for (long double& x : s) x /= sum;
    return s;
  };
  Dense out{0, Doubles(rows), Doubles(count * rows)};
  long double loss = 0, variance = 0, counted = 0;
  Reals sums(count);
  const long double epsilon = p.options.smoothing.epsilon,
                    v_count = static_cast<long double>(words);
  const bool uniform = p.options.smoothing.kind == LabelSmoothing::Kind::uniform;
  const auto var_of = [&](const Reals& s, long double& mean) {
    long double var = 0;
    mean = 0;
    for (const long double x : s) mean += x / static_cast<long double>(count);
    for (const long double x : s) var += (x - mean) * (x - mean) / static_cast<long double>(count);
    return var;
  };
  for (size_t n = 0; n < rows; ++n) {
    if (p.targets[n] < 0) continue;
    const auto y = static_cast<size_t>(p.targets[n]);
    const Reals h = row(p.h, n);
    Reals logits(count), posterior(words);
    for (size_t k = 0; k < count; ++k) logits[k] = p.head.mixture ? dot(row(p.prior, k), h) : 0;
    const Reals pi = softmax(logits);
    Reals target(count);
    for (size_t k = 0; k < count; ++k) {
      Reals context = h, s(words);
      for (size_t i = 0; p.head.contexts && i < size; ++i)
        context[i] = std::tanh(dot(row(p.latent, k * size + i), h));
      for (size_t v = 0; v < words; ++v)
        s[v] = dense_score(p.head.components[k], row(p.w, (p.head.untied ? k * words : 0) + v),
                           context) +
               p.bias[v];
      const Reals q = softmax(s);
      for (size_t v = 0; v < words; ++v) posterior[v] += pi[k] * q[v];
      target[k] = pi[k] * q[y];
    }
    out.nll[n] = static_cast<double>(-std::log(posterior[y]));
    for (size_t k = 0; k < count; ++k)
      out.share[k * rows + n] = static_cast<double>(target[k] / posterior[y]);
    for (size_t v = 0; v < words; ++v) {
      const long double t = v == y ? 1 - epsilon + (uniform ? epsilon / v_count : 0)
                                   : epsilon / (uniform ? v_count : v_count - 1);
      if (t != 0) loss -= t * std::log(posterior[v]);
    }
    long double mean = 0;
    variance += var_of(pi, mean);
    for (size_t k = 0; k < count; ++k) sums[k] += pi[k];
    ++counted;
  }
  if (p.options.prior.strength > 0) {
    long double mean = 0;
    const long double cv2 = var_of(sums, mean) / (mean * mean);
    loss += p.options.prior.strength *
            (p.options.prior.kind == ops::PriorPenalty::variance ? variance : counted * cv2);
  }
  out.loss = static_cast<double>(p.row_weight * loss);
  return out;
}

void check_against_dense(const Problem& p, double tolerance = 1e-12) {
  const Result r = run(p);
  const Dense d = dense(p);
  CHECK(std::abs(r.loss - d.loss) < tolerance * std::abs(d.loss));
  CHECK(relative_error(r.nll, d.nll) < tolerance);
  if (p.head.mixture) CHECK(relative_error(r.share, d.share) < 10 * tolerance);
}

void check_gradients(const Problem& p, int64_t elements = 24) {
  const GradcheckReport report = gradcheck([&](std::span<const Var> x) { return p.run(x).loss; },
                                           p.inputs(DType::float64), {.max_elements = elements});
  CHECK_MESSAGE(report.worst < 1e-6, report.where);
}

bool same_bits(const Result& a, const Result& b) {
  return a.loss == b.loss && a.nll == b.nll && a.share == b.share && a.gradients == b.gradients;
}

bool all_finite(const Result& r) {
  bool finite = std::isfinite(r.loss);
  for (const Doubles& g : r.gradients)
    for (const double x : g) finite = finite && std::isfinite(x);
  return finite;
}

// The same loss from plain autograd operations, for components that they can write: lin, pow with p
// = 2, rbf.
Var composed(const Problem& p, std::span<const Var> x) {
  Tape& tape = x[0].tape();
  const auto ones = [&](int64_t rows, int64_t cols) {
    return tape.constant(
        tensor_of(Doubles(static_cast<size_t>(rows * cols), 1.0), {rows, cols}, x[0].dtype()));
  };
  const HeadWeights weights = p.weights(x);
  const Var log_prior =
      p.head.mixture ? log_softmax(matmul(x[0], weights.prior, false, true)) : Var();
  Var posterior;
  for (int64_t k = 0; k < p.head.size(); ++k) {
    const Var h =
        p.head.contexts
            ? tanh(matmul(x[0], row_range(weights.latent, k * p.size, p.size), false, true))
            : x[0];
    const Var w = row_range(x[1], p.head.untied ? k * p.words : 0, p.words);
    const Score& score = p.head.components[static_cast<size_t>(k)];
    Var s = matmul(h, w, false, true);
    if (score.kind != ScoreKind::lin) {
      const Var norms = add(matmul(square(h), ones(p.words, p.size), false, true),
                            matmul(ones(p.rows, p.size), square(w), false, true));
      const Var q = sub(norms, scale(s, 2));
      s = score.kind == ScoreKind::pow ? neg(q) : exp(scale(q, -score.parameters[0]));
    }
    Var part = log_softmax(add(s, x[2]));
    if (log_prior) part = add(part, matmul(col_range(log_prior, k, 1), ones(1, p.words)));
    posterior = posterior ? add(posterior, exp(part)) : exp(part);
  }
  Doubles t(static_cast<size_t>(p.rows * p.words));
  const double spread = p.options.smoothing.spread(p.words);
  for (size_t n = 0; n < p.targets.size(); ++n)
    for (int64_t v = 0; p.targets[n] >= 0 && v < p.words; ++v)
      t[n * static_cast<size_t>(p.words) + static_cast<size_t>(v)] =
          v == p.targets[n] ? 1 - spread * static_cast<double>(p.words - 1) : spread;
  return scale(
      sum(mul(log(posterior), tape.constant(tensor_of(t, {p.rows, p.words}, x[0].dtype())))),
      -p.row_weight);
}

void check_against_twin(const Problem& p) {
  Arena pool("twin");
  Tape tape(pool);
  std::vector<Var> x;
  for (const Tensor& t : p.inputs(DType::float64)) x.push_back(tape.leaf(t));
  tape.backward(composed(p, x));
  const Result fused = run(p);
  for (size_t i = 0; i < x.size(); ++i) {
    CAPTURE(i);
    const Doubles expected = x[i].grad().to_vector();
    if (std::all_of(expected.begin(), expected.end(), [](double g) { return std::abs(g) < 1e-14; }))
      continue;  // a prior over equals
    CHECK(relative_error(fused.gradients[i], expected) < 1e-12);
  }
}

}  // namespace

TEST_CASE(
    "head: every kernel against its dense formula and finite differences; blocks = tiles; "
    "float32") {
  const Restore restore;
  set_threads(1);
  for (const ScoreCase& c : score_cases()) {
    CAPTURE(c.name);
    Problem p = problem(single(c.score), 35, 70, c.dims);
    check_against_dense(p, 1e-11);
    check_gradients(p);
    const Result blocks = run(p);
    CHECK(relative_error(run(p, DType::float32).gradients[0], blocks.gradients[0]) < 1e-4);
    p.options.memory = HeadMemory::tiles;
    CHECK(same_bits(run(p), blocks));
  }
}

TEST_CASE("head: variances that a sum of floats cannot hold, beside ordinary ones") {
  const Restore restore;
  set_threads(1);
  for (const Score& score : {Score{ScoreKind::ssg, {0, 1}}, Score{ScoreKind::mog, {2, 0, 0, 1}},
                             Score{ScoreKind::mog, {2, 1, 0, 1}}}) {
    CAPTURE(static_cast<int>(score.kind));
    Problem p = problem(single(score), 70, 70,
                        6);  // three panels of rows: the first two are ordinary but for row 40
    p.h[40 * 6 + 5] = 95;    // s = e^95 is no float
    p.w[9 * 6 + 5] = 91;
    check_against_dense(p, 1e-11);
    check_gradients(p, 60);
    const Result exact = run(p), single = run(p, DType::float32);
    CHECK(relative_error(single.nll, exact.nll) < 1e-5);
    for (size_t i = 0; i < 2; ++i)
      CHECK(relative_error(single.gradients[i], exact.gradients[i]) < 1e-4);
  }
}

TEST_CASE("head: vectors whose products overflow float32, where the score itself does not") {
  const Restore restore;
  set_threads(1);
  std::vector<HeadSpec> heads;
  for (const double ball : {0, 1, 2, 3}) heads.push_back(single({ScoreKind::hpb, {ball, -2}}));
  for (const Score& score :
       {Score{ScoreKind::log, {2}}, Score{ScoreKind::rbf, {1}}, Score{ScoreKind::wav, {1, 1}}})
    heads.push_back(single(score));
  heads.push_back(
      mixture({Score{ScoreKind::hpb, {0, -2}}, Score{ScoreKind::log, {2}}}, true, false));
  for (const HeadSpec& head : heads)
    for (const double epsilon : {0.0, 0.1}) {
      CAPTURE(head.to_text());
      Problem p = problem(head, 70, 150, 6);  // three panels and three tiles
      p.options.smoothing.epsilon = epsilon;
      // Along their own directions, but for the last number: with ball=sigmoid the radius is e^it.
      for (int64_t i = 0; i < 5; ++i) {
        for (const int64_t row : {40, 69}) p.h[static_cast<size_t>(row * 6 + i)] *= 1e20;
        for (const int64_t word : {9, 140}) p.w[static_cast<size_t>(word * 6 + i)] *= 3e20;
      }
      p.targets[40] = 9;
      const Result exact = run(p), single = run(p, DType::float32);
      CHECK(relative_error(single.nll, exact.nll) < 1e-5);
      for (size_t i = 0; i < single.gradients.size(); ++i) {
        int n = 0;
        for (size_t j = 0; j < single.gradients[i].size(); ++j) {
          double a = single.gradients[i][j], b = exact.gradients[i][j];
          if (!(std::abs(a - b) < 1e-4 * std::abs(b) + 1e-9) && n++ < 12)
            MESSAGE(i, " ", j / 6, " ", j % 6, ": ", a, " ", b);
        }
        CHECK(relative_error(single.gradients[i], exact.gradients[i]) < 1e-4);
      }
      p.options.memory = HeadMemory::tiles;
      CHECK(same_bits(run(p, DType::float32), single));
    }
}

TEST_CASE(
    "head: a target whose product has lost its digits leaves a mixture of pairs finite in "
    "float32") {
  const Restore restore;
  constexpr int64_t kSize = 64, kHalf = kSize / 2;
  for (const double log_variance : {-4.0, -8.0, -14.0}) {
    CAPTURE(log_variance);
    Problem p = problem(single({ScoreKind::mog, {2, 1, 0, 1}}), 33, 70, kSize);
    for (int64_t r = 0; r < p.rows; ++r) {
      p.targets[static_cast<size_t>(r)] = static_cast<int32_t>(2 * r);
      double* h = p.h.data() + r * kSize;
      const double norm = std::sqrt(std::inner_product(h, h + kSize, h, 0.0));
      for (int64_t i = 0; i < kSize; ++i) {
        h[i] = i % kHalf == kHalf - 1 ? log_variance : h[i] * 1e4 / norm;
        p.w[static_cast<size_t>(2 * r * kSize + i)] =
            h[i] * (i % kHalf == kHalf - 1 ? 1 : 1 + 1e-5);
      }
    }
    const Result single = run(p, DType::float32);
    for (const Doubles& g : single.gradients)
      CHECK(std::all_of(g.begin(), g.end(), [](double x) { return std::isfinite(x); }));
  }
}

TEST_CASE("head: a tile of words that are out of float32's reach") {
  const Restore restore;
  Problem p = problem(single({ScoreKind::pow, {6}}), 2, 3 * ops::kHeadTile, 4, 0.1);
  std::fill_n(p.w.begin(), ops::kHeadTile * p.size,
              1e7);  // q = 4e14, q^3 is no float: the first tile's scores are -infinity
  p.targets = {static_cast<int32_t>(p.words - 1), static_cast<int32_t>(ops::kHeadTile)};
  const Result single = run(p, DType::float32);
  CHECK(relative_error(single.nll, run(p).nll) < 1e-5);
}

TEST_CASE(
    "head: mixtures against the dense formula, finite differences and a twin of plain operations") {
  const Restore restore;
  set_threads(1);
  for (const bool untied : {false, true})
    for (const bool contexts : {true, false})
      for (const std::vector<Score>& components :
           {std::vector<Score>{kLin}, {kLin, kLin, kLin}, {kLin, kPow, kRbf}, {kRbf, kLin}})
        for (const double epsilon : {0.0, 0.2}) {
          CAPTURE(untied);
          CAPTURE(contexts);
          CAPTURE(components.size());
          CAPTURE(epsilon);
          Problem p = problem(mixture(components, untied, contexts), 70, 67, 6);
          p.options.smoothing = {
              epsilon, contexts ? LabelSmoothing::Kind::uniform : LabelSmoothing::Kind::others};
          check_against_dense(p);
          check_against_twin(p);
          check_gradients(p, 12);
          const Result blocks = run(p);
          p.options.memory = HeadMemory::tiles;
          CHECK(same_bits(run(p), blocks));
        }
}

TEST_CASE("head: a mixture of all kernels, with parts, over several blocks") {
  const Restore restore;
  set_threads(1);
  std::vector<Score> all;
  for (const ScoreCase& c : score_cases())
    if (c.dims % 4 == 0 || c.score.kind != ScoreKind::mog) all.push_back(c.score);
  for (const bool untied : {false, true}) {
    Problem p = problem(mixture(all, untied), 40, 66, 8, 0.5);
    check_against_dense(p, 1e-11);
    check_gradients(p, 3);
    p.options.smoothing.epsilon = 0.1;
    check_against_dense(p, 1e-11);
    check_gradients(p, 3);
  }
}

TEST_CASE("head: wide vectors, parts of which begin and end within a panel of columns") {
  const Restore restore;
  set_threads(1);
  const Score lin{ScoreKind::lin, {}}, ssg{ScoreKind::ssg, {0, 1}}, rbf{ScoreKind::rbf, {0.1}},
      two{ScoreKind::mog, {2, 0, 0, 1}}, three{ScoreKind::mog, {3, 0, 2, 1}};
  for (const HeadSpec& head :
       {single(two), mixture({lin, two, ssg}), mixture({rbf, three, lin}, true)})
    for (const int64_t size : {42, 102}) {
      CAPTURE(head.to_text());
      CAPTURE(size);
      Problem p = problem(head, 70, 130, size, 0.5);
      check_against_dense(p, 1e-11);
      check_gradients(p, 3);
      const Result blocks = run(p), small = run(p, DType::float32);
      for (size_t i = 0; i < blocks.gradients.size(); ++i)
        CHECK(relative_error(small.gradients[i], blocks.gradients[i]) < 1e-4);
      p.options.memory = HeadMemory::tiles;
      CHECK(same_bits(run(p), blocks));
    }
}

TEST_CASE("head: penalties on the prior, both readings") {
  const Restore restore;
  set_threads(1);
  for (const auto kind : {ops::PriorPenalty::variance, ops::PriorPenalty::cv2}) {
    Problem p = problem(mixture({kLin, kRbf, kLin}), 40, 30, 5);
    p.options.prior = {kind, 0.7};
    check_against_dense(p);
    check_gradients(p);
    p.targets.assign(40, -1);
    CHECK(run(p).loss == 0);
  }
  CHECK(to_text(prior_regulariser_from_text("cv2:0.01")) == "cv2:0.01");
  CHECK(to_text(prior_regulariser_from_text("")).empty());
  CHECK_THROWS_WITH_AS(prior_regulariser_from_text("var:1"),
                       doctest::Contains("variance:RHO or cv2:RHO"), UsageError);
  CHECK_THROWS_WITH_AS(prior_regulariser_from_text("variance:-1"), doctest::Contains("'-1'"),
                       UsageError);
  CHECK(to_text(norm_regulariser_from_text("root:0.5,2")) == "root:0.5,2");
  CHECK_THROWS_WITH_AS(norm_regulariser_from_text("squared:1"), doctest::Contains("squared:RHO,NU"),
                       UsageError);
}

TEST_CASE("head: equal components with equal contexts are the single kernel on that context") {
  for (const Score& score : {kLin, kRbf, kMog}) {
    Problem one = problem({.components = {score}, .contexts = true}, 40, 66, 8);
    Problem three = one;
    three.head = mixture({score, score, score});
    three.latent.clear();
    for (int k = 0; k < 3; ++k)
      three.latent.insert(three.latent.end(), one.latent.begin(), one.latent.begin() + 64);
    one.latent.resize(64);
    three.prior = random_values({{{3, 8}}}, 5)[0];
    const Result a = run(one), b = run(three);
    CHECK(relative_error(b.nll, a.nll) < 1e-12);
    for (size_t i = 0; i < 3; ++i) CHECK(relative_error(b.gradients[i], a.gradients[i]) < 1e-11);
    Doubles sum(64);
    for (size_t i = 0; i < 192; ++i) sum[i % 64] += b.gradients[4][i];
    CHECK(relative_error(sum, a.gradients[3]) < 1e-11);
  }
}

TEST_CASE("head: mixtures give the same bits with 1, 2 and 3 threads; float32 is float64 to 1e-5") {
  const Restore restore;
  for (const bool untied : {false, true}) {
    Problem p = problem(mixture({kLin, kPow, kMog, kRbf}, untied), 100, 1500, 16, 0.5);
    for (const double epsilon : {0.0, 0.1}) {
      p.options.smoothing.epsilon = epsilon;
      set_threads(1);
      const Result one = run(p, DType::float32), exact = run(p);
      for (const int n : {2, 3}) {
        set_threads(n);
        CHECK(same_bits(run(p, DType::float32), one));
      }
      CHECK(relative_error(one.nll, exact.nll) < 1e-5);
      for (size_t i = 0; i < exact.gradients.size(); ++i)
        CHECK(relative_error(one.gradients[i], exact.gradients[i]) < 1e-4);
    }
  }
}

TEST_CASE("head: readouts agree with the loss") {
  for (const bool untied : {false, true}) {
    const Problem p = problem(mixture({kLin, kRbf, kMog}, untied), 35, 70, 8);
    Arena pool("head");
    Tape tape(pool);
    const NoGrad guard(tape);
    std::vector<Var> x;
    for (const Tensor& t : p.inputs(DType::float64)) x.push_back(tape.leaf(t));
    const SoftmaxLoss out = p.run(x);
    const HeadWeights weights = p.weights(x);
    const Doubles log_p = log_probabilities(p.head, x[0], weights).to_vector(),
                  nll = out.nll.value().to_vector();
    const Doubles pi = prior_probabilities(p.head, x[0], weights).to_vector(),
                  share = out.share.value().to_vector();
    const Doubles scores =
        component_scores(p.head, x[0], weights, tensor_of(p.targets, {35})).to_vector();
    const WordScores top = top_words(p.head, x[0], weights, 5);
    for (size_t n = 0; n < 35; ++n) {
      double sum = 0, best = -INFINITY;
      for (size_t v = 0; v < 70; ++v) {
        sum += std::exp(log_p[n * 70 + v]);
        best = std::max(best, log_p[n * 70 + v]);
      }
      CHECK(std::abs(sum - 1) < 1e-12);
      CHECK(top.log_probs[n * 5] == best);
      CHECK(top.log_probs[n * 5 + 4] <= top.log_probs[n * 5 + 3]);
      if (p.targets[n] < 0) continue;
      const auto y = static_cast<size_t>(p.targets[n]);
      CHECK(-log_p[n * 70 + y] == doctest::Approx(nll[n]).epsilon(1e-12));
      // gamma_k(y) = pi_k p_k(y) / p(y) from what was read out.
      for (size_t k = 0; k < 3; ++k) {
        double normaliser = 0;
        for (size_t v = 0; v < 70; ++v) normaliser += std::exp(scores[(k * 35 + n) * 70 + v]);
        const double gamma =
            pi[n * 3 + k] * std::exp(scores[(k * 35 + n) * 70 + y]) / normaliser * std::exp(nll[n]);
        CHECK(share[k * 35 + n] == doctest::Approx(gamma).epsilon(1e-11));
      }
    }
  }
}

TEST_CASE(
    "head: every kernel at the extremes: finite, or an error that names the kernel and the row") {
  const Restore restore;
  set_threads(1);
  const auto attempt = [](const Problem& p, const std::string& name) {
    for (const DType dtype : {DType::float32, DType::float64}) {
      std::string error;
      try {
        CHECK(all_finite(run(p, dtype)));
      } catch (const Error& e) {
        error = e.what();
        const std::string kernel = name.substr(0, name.find(':'));
        CHECK_MESSAGE((has(error, kernel) && has(error, "row ")), error);
      }
    }
  };
  for (const ScoreCase& c : score_cases()) {
    CAPTURE(c.name);
    const Problem usual = problem(single(c.score), 33, 65, c.dims);
    Problem p = usual;  // w = h exactly
    for (size_t n = 0; n < 33; ++n) {
      p.targets[n] = static_cast<int32_t>(n);
      std::copy_n(p.h.begin() + static_cast<long>(n) * c.dims, c.dims,
                  p.w.begin() + static_cast<long>(n) * c.dims);
    }
    attempt(p, c.name);
    p = usual;
    std::fill(p.w.begin(), p.w.end(), 0.0);
    attempt(p, c.name);
    std::fill(p.h.begin(), p.h.end(), 0.0);
    attempt(p, c.name);
    p = usual;  // |h| = 1e4
    for (double& x : p.h) x *= 1e4 / std::sqrt(static_cast<double>(c.dims) / 3);
    attempt(p, c.name);
    attempt(problem(single(c.score), 1, 1, c.dims), c.name);
    p = usual;
    for (size_t i = 0; i < p.w.size(); ++i) p.w[i] = p.w[i % static_cast<size_t>(c.dims)];
    attempt(p, c.name);
  }
  Problem p = problem(mixture({kLin, score_of(ScoreKind::pol, {1, 1, 9})}), 5, 9, 4);
  for (double& x : p.w) x *= 1e9;
  CHECK_THROWS_WITH_AS(run(p, DType::float32), doctest::Contains("component 1 (pol)"), Error);
}

TEST_CASE("head: weights that do not fit a head are errors that say what is needed") {
  Arena pool("head");
  Tape tape(pool);
  const auto zeros = [&](const Shape& s) { return tape.leaf(Tensor(s, DType::float32)); };
  const Tensor targets({3}, DType::int32);
  const HeadSpec two = mixture({kLin, kLin});
  CHECK_THROWS_WITH_AS(kernel_softmax(two, zeros({3, 4}), {{zeros({7, 4})}}, targets, 1),
                       doctest::Contains("prior.weight of shape (2, 4)"), Error);
  CHECK_THROWS_WITH_AS(
      kernel_softmax(two, zeros({3, 4}), {{zeros({7, 4})}, {}, zeros({2, 4}), zeros({4, 4})},
                     targets, 1),
      doctest::Contains("latent.weight of shape (8, 4), got (4, 4)"), Error);
  CHECK_THROWS_WITH_AS(
      kernel_softmax(mixture({kLin, kLin}, true), zeros({3, 4}),
                     {{zeros({7, 4})}, {}, zeros({2, 4}), zeros({8, 4})}, targets, 1),
      doctest::Contains("7 word vectors are not 2 times"), Error);
  CHECK_THROWS_WITH_AS(kernel_softmax(single(kMog), zeros({3, 5}), {{zeros({7, 5})}}, targets, 1),
                       doctest::Contains("mog"), Error);
}

TEST_CASE("head: a zero vector has the gradients of the formula") {
  const Restore restore;
  set_threads(1);
  for (const ScoreCase& c : score_cases()) {
    CAPTURE(c.name);
    if (has(c.name, "sigmoid")) continue;  // no direction: no gradient by definition, and a jump
    Problem p = problem(single(c.score), 3, 5, c.dims);
    p.targets = {0, 1, 4};
    Problem word = p, context = p;
    std::fill_n(word.w.begin(), c.dims, 0.0);  // of row 0's target
    std::fill_n(context.h.begin(), c.dims, 0.0);
    check_gradients(word);
    check_gradients(context);
  }
}

TEST_CASE(
    "head: in float64, words close to a context keep their digits, and equal ones have no "
    "gradient") {
  const Restore restore;
  set_threads(1);
  for (const ScoreCase& c : score_cases()) {
    CAPTURE(c.name);
    Problem p = problem(single(c.score), 3, 6, c.dims, 30);
    p.targets = {0, 1, -1};
    const auto d = static_cast<size_t>(c.dims);
    for (size_t v = 0; v < 6; ++v)
      for (size_t i = 0; i < d; ++i) p.w[v * d + i] = p.h[i] + 1e-4 * p.w[v * d + i];
    std::copy_n(p.h.begin(), d, p.w.begin() + static_cast<long>(2 * d));
    const bool no_oracle = has(c.name, "tanh");  // its long double overflows at these norms
    if (!no_oracle && !has(c.name, "pol") && !has(c.name, "lin") && !has(c.name, "sig"))
      check_against_dense(p, 1e-9);
    Problem smoothed = p;  // gradients of the words by given slopes
    smoothed.options.smoothing = {0.1, LabelSmoothing::Kind::uniform};
    const Result blocks = run(smoothed);
    smoothed.options.memory = HeadMemory::tiles;
    CHECK(same_bits(run(smoothed), blocks));
    if (!has(c.name, "log") && !has(c.name, "pow") && !has(c.name, "rbf") && !has(c.name, "wav") &&
        !has(c.name, "hpb"))
      continue;
    p.targets = {0, -1, -1};  // row 0 alone
    const Doubles dw = run(p).gradients[1];
    for (size_t i = 0; i < d; ++i) CHECK(dw[2 * d + i] == 0);
    CHECK(*std::max_element(dw.begin(), dw.end()) > 0);
  }
}

TEST_CASE(
    "head: in float64, hpb keeps its digits along a context's ray, where a point of the ball is "
    "near that is far off") {
  const double factors[] = {0.95, 0.5, 1.1, 0.2, 1.0, -1.0};
  for (const ScoreCase& c : score_cases()) {
    if (!has(c.name, "hpb")) continue;
    CAPTURE(c.name);
    Problem p = problem(single(c.score), 2, 6, c.dims, 1);
    p.targets = {3, 5};
    const auto d = static_cast<size_t>(c.dims);
    double norm = 0;
    for (size_t i = 0; i < d; ++i) norm += p.h[i] * p.h[i];
    for (size_t i = 0; i < d; ++i)
      p.h[i] *=
          3 /
          std::sqrt(norm);  // beyond clip's rim; as far as the oracle's long double goes for tanh
    for (size_t v = 0; v < 6; ++v)
      for (size_t i = 0; i < d; ++i) p.w[v * d + i] = factors[v] * p.h[i];
    check_against_dense(p, 1e-9);
  }
}

#if !defined(NINE_SANITIZE_ADDRESS) && \
    !defined(NINE_SANITIZE_THREAD)  // minutes of products there, to count bytes
TEST_CASE(
    "head: peak memory of a tied mixture of nine is at most three times that of parameters and "
    "gradients") {
  // Nothing of the pool has both the number of rows and that of words as factors, so its peak at N
  // = 4,096 and V = 32,768 is that of few rows at V, and what rows add at a small vocabulary.
  constexpr int64_t kRows = 4096, kWords = 32768, kSize = 512, kComponents = 9, kFewWords = 96;
  const HeadSpec head = mixture(std::vector<Score>(kComponents, kLin));
  const auto peak = [&](int64_t rows, int64_t words, int64_t size) {
    return run(problem(head, rows, words, size, 0.1), DType::float32).peak;
  };
  REQUIRE(head_block_rows(head, kWords, kSize, DType::float32) ==
          head_block_rows(head, kFewWords, kSize, DType::float32));
  // The two ways of growing do not depend on each other.
  constexpr int64_t kSmall = 64;
  CHECK(peak(896, 3 * kFewWords, kSmall) - peak(448, 3 * kFewWords, kSmall) ==
        peak(896, kFewWords, kSmall) - peak(448, kFewWords, kSmall));
  const size_t parameters =
      (kWords * kSize + kWords + kComponents * kSize * (kSize + 1)) * sizeof(float);
  const size_t pool =
      peak(32, kWords, kSize) + (peak(kRows, kFewWords, kSize) - peak(32, kFewWords, kSize));
  CHECK(2 * parameters + pool < 3 * 2 * parameters);
  MESSAGE("parameters and gradients ", (2 * parameters) >> 20, " MiB, the head's pool ", pool >> 20,
          " MiB");
}
#endif
