#include "tests/kernels/margin_oracle.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace nine::tests {
namespace {

using Real = long double;
using Reals = std::vector<Real>;

Real length(const Reals& x) {
  Real s = 0;
  for (const Real a : x) s += a * a;
  return std::sqrt(s);
}

}  // namespace

Real psi_of(const Margin& margin, Real c) {
  const Real theta = std::acos(std::clamp<Real>(c, -1, 1)), m = margin.size;
  switch (margin.kind) {
    case Margin::Kind::none:
      return c;
    case Margin::Kind::cos:
      return c - m;
    case Margin::Kind::arc:
      return theta > std::numbers::pi_v<Real> - m ? c - m * std::sin(m) : std::cos(theta + m);
    case Margin::Kind::lsm: {
      const Real k = std::min(m - 1, std::floor(theta * m / std::numbers::pi_v<Real>));
      return (std::fmod(k, Real(2)) == 0 ? 1 : -1) * std::cos(m * theta) - 2 * k;
    }
  }
  return c;
}

DenseLoss dense_loss(const MarginProblem& p, const std::vector<Tensor>& inputs) {
  const HeadSpec spec = p.spec();
  const auto d = static_cast<size_t>(p.size), words = static_cast<size_t>(p.words),
             rows = static_cast<size_t>(p.rows), size = static_cast<size_t>(spec.size());
  std::vector<Doubles> x;
  for (const Tensor& t : inputs) x.push_back(t.to_vector());
  const Tensor target_tensor = p.targets();
  const int32_t* targets = target_tensor.data<int32_t>();
  const auto row = [&](const Doubles& m, size_t r) {
    return Reals(m.begin() + static_cast<long>(r * d), m.begin() + static_cast<long>((r + 1) * d));
  };
  const auto context = [&](size_t k, size_t r) {
    Reals h = row(x[0], r);
    if (!spec.contexts) return h;
    Reals y(d);
    for (size_t i = 0; i < d; ++i) {
      for (size_t j = 0; j < d; ++j) y[i] += h[j] * static_cast<Real>(x[4][(k * d + i) * d + j]);
      y[i] = std::tanh(y[i]);
    }
    return y;
  };
  const HeadNorms norms = p.norms();
  const std::vector<double> ratios =
      norms.word ? norms.ratios.to_vector() : std::vector<double>(words, 1);
  DenseLoss out;
  Reals log_prior(rows * size, 0), plain(rows, 0), margined(rows, 0);
  std::vector<Reals> plain_parts(rows, Reals(size)), margined_parts(rows, Reals(size));
  std::vector<std::vector<Reals>> log_p(size);  // [k][row][word], margined
  for (size_t k = 0; k < size; ++k) {
    Real largest = 0;
    for (size_t r = 0; r < rows; ++r)
      if (targets[r] >= 0) largest = std::max(largest, length(context(k, r)));
    const auto word = [&](size_t v) { return row(x[1], (p.untied ? k * words : 0) + v); };
    const Real first =
        norms.first_word >= 0 ? length(word(static_cast<size_t>(norms.first_word))) : 1;
    for (size_t r = 0; r < rows; ++r) {
      const Reals h = context(k, r);
      const Real g = norms.context.kind == ContextNorm::Kind::none       ? length(h)
                     : norms.context.kind == ContextNorm::Kind::constant ? norms.context.value
                                                                         : largest;
      Reals with(words), without(words);
      for (size_t v = 0; v < words; ++v) {
        const Reals w = word(v);
        Real z = 0;
        for (size_t i = 0; i < d; ++i) z += w[i] * h[i];
        const Real both = length(w) * length(h), c = both > 0 ? z / both : 0;
        const Real f = norms.word ? static_cast<Real>(ratios[v]) * first : length(w);
        without[v] = f * g * c + static_cast<Real>(x[2][v]);
        with[v] = static_cast<int32_t>(v) == targets[r]
                      ? f * g * psi_of(p.loss().margin, c) + static_cast<Real>(x[2][v])
                      : without[v];
      }
      for (Reals* s : {&with, &without}) {
        const Real top = *std::max_element(s->begin(), s->end());
        Real sum = 0;
        for (const Real a : *s) sum += std::exp(a - top);
        for (Real& a : *s) a -= top + std::log(sum);
      }
      log_p[k].push_back(with);
      if (targets[r] >= 0) {
        plain_parts[r][k] = without[static_cast<size_t>(targets[r])];
        margined_parts[r][k] = with[static_cast<size_t>(targets[r])];
      }
    }
  }
  const auto log_mixture = [&](size_t r, auto&& part) {
    if (!spec.mixture) return static_cast<Real>(part(0));
    Reals logits(size);
    const Reals h = row(x[0], r);
    for (size_t k = 0; k < size; ++k)
      for (size_t i = 0; i < d; ++i) logits[k] += h[i] * static_cast<Real>(x[3][k * d + i]);
    Real all = 0, sum = 0;
    for (const Real l : logits) all += std::exp(l);
    for (size_t k = 0; k < size; ++k) sum += std::exp(logits[k]) / all * std::exp(part(k));
    return std::log(sum);
  };
  const double spread = p.options.smoothing.spread(p.words);
  Real total = 0;
  for (size_t r = 0; r < rows; ++r) {
    const bool counts = targets[r] >= 0;
    out.nll.push_back(
        counts ? static_cast<double>(-log_mixture(r, [&](size_t k) { return plain_parts[r][k]; }))
               : 0);
    if (!counts) continue;
    const auto y = static_cast<size_t>(targets[r]);
    for (size_t v = 0; v < words; ++v) {
      const double t = v == y ? 1 - spread * static_cast<double>(words - 1) : spread;
      if (t != 0) total -= t * log_mixture(r, [&](size_t k) { return log_p[k][r][v]; });
    }
  }
  out.loss = static_cast<double>(0.3L * total);
  return out;
}

}  // namespace nine::tests
