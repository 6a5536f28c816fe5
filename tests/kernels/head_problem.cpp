#include "tests/kernels/head_problem.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "tests/kernels/score_oracle.h"
#include "tests/support/compare.h"

namespace nine::tests {

using namespace nine::checks;

std::vector<Tensor> HeadProblem::inputs(DType dtype) const {
  std::vector<Tensor> all{tensor_of(h, {rows, size}, dtype),
                          tensor_of(w, {copies() * words, size}, dtype),
                          tensor_of(bias, {words}, dtype)};
  if (head.mixture) all.push_back(tensor_of(prior, {head.size(), size}, dtype));
  if (head.contexts) all.push_back(tensor_of(latent, {head.size() * size, size}, dtype));
  return all;
}

HeadWeights HeadProblem::weights(std::span<const Var> x) const {
  HeadWeights weights{
      {reshape(x[1], head.untied ? Shape{copies(), words, size} : Shape{words, size})}, x[2]};
  if (head.mixture) weights.prior = x[3];
  if (head.contexts) weights.latent = x[head.mixture ? 4 : 3];
  return weights;
}

SoftmaxLoss HeadProblem::run(std::span<const Var> x) const {
  return kernel_softmax(head, x[0], weights(x), tensor_of(targets, {rows}), row_weight, options,
                        {.factor = factors.empty() ? Tensor() : Tensor::from(factors, {rows})});
}

HeadProblem head_problem(HeadSpec head, int64_t rows, int64_t words, int64_t size, double scale) {
  const int64_t k = head.size(), copies = head.untied ? k : 1;
  const std::vector<Doubles> v = random_values({{{rows, size}, -scale, scale},
                                                {{copies * words, size}},
                                                {{words}},
                                                {{k, size}},
                                                {{k * size, size}}},
                                               21);
  HeadProblem p{std::move(head),
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
HeadSpec mixture(std::vector<Score> components, bool untied, bool contexts) {
  return {
      .components = std::move(components), .mixture = true, .contexts = contexts, .untied = untied};
}

HeadResult run(const HeadProblem& p, DType dtype) {
  Arena pool("head");
  Tape tape(pool);
  std::vector<Var> x;
  for (const Tensor& t : p.inputs(dtype)) x.push_back(tape.leaf(t));
  const SoftmaxLoss out = p.run(x);
  HeadResult r{out.loss.value().item(),
               out.nll.value().to_vector(),
               out.share ? out.share.value().to_vector() : Doubles{},
               {}};
  tape.backward(out.loss);
  for (const Var& v : x) r.gradients.push_back(v.grad().to_vector());
  r.peak = pool.peak_bytes();
  return r;
}

bool same_bits(const HeadResult& a, const HeadResult& b) {
  return a.loss == b.loss && a.nll == b.nll && a.share == b.share && a.gradients == b.gradients;
}

namespace {

// Loss, -log p and shares in long double, from the formulas of docs/heads.md, section 4.
struct Dense {
  double loss = 0;
  Doubles nll, share;
};
Dense dense(const HeadProblem& p) {
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

}  // namespace

void check_against_dense(const HeadProblem& p, double tolerance) {
  const HeadResult r = run(p);
  const Dense d = dense(p);
  CHECK(std::abs(r.loss - d.loss) < tolerance * std::abs(d.loss));
  CHECK(relative_error(r.nll, d.nll) < tolerance);
  if (p.head.mixture) CHECK(relative_error(r.share, d.share) < 10 * tolerance);
}

void check_gradients(const HeadProblem& p, int64_t elements) {
  const GradcheckReport report = gradcheck([&](std::span<const Var> x) { return p.run(x).loss; },
                                           p.inputs(DType::float64), {.max_elements = elements});
  CHECK_MESSAGE(report.worst < 1e-6, report.where);
}

}  // namespace nine::tests
