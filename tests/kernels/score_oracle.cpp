#include "tests/kernels/score_oracle.h"

#include <cmath>
#include <numbers>

namespace nine::tests {
namespace {

using Real = long double;

Real dot(const Reals& a, const Reals& b) {
  Real sum = 0;
  for (size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

Real squared_distance(const Reals& a, const Reals& b) {
  Real sum = 0;
  for (size_t k = 0; k < a.size(); ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return sum;
}

Reals slice(const Reals& x, size_t begin, size_t count) {
  return {x.begin() + static_cast<long>(begin), x.begin() + static_cast<long>(begin + count)};
}

Real gaussian(const Reals& w, const Reals& h, Real constant, Real pace) {
  const size_t dims = constant > 0 ? w.size() : w.size() - 1;
  const Real sw = constant > 0 ? constant : std::exp(pace * w.back()) + 1e-6L,
             sh = constant > 0 ? constant : std::exp(pace * h.back()) + 1e-6L;
  const Real sigma = sw + sh;
  return -static_cast<Real>(dims) / 2 * std::log(2 * std::numbers::pi_v<Real> * sigma) -
         squared_distance(slice(w, 0, dims), slice(h, 0, dims)) / (2 * sigma);
}

Real gaussians(const Reals& w, const Reals& h, size_t count, bool mixture, Real constant,
               Real pace) {
  const size_t n = w.size() / count;
  Real sum = 0, likelihood = 0;
  for (size_t i = 0; i < count; ++i)
    for (size_t j = 0; j < count; ++j) {
      const Real xi = gaussian(slice(w, i * n, n), slice(h, j * n, n), constant, pace);
      sum += xi;
      likelihood += std::exp(xi) / static_cast<Real>(count * count);
    }
  return mixture ? std::log(likelihood) : sum;
}

Reals in_ball(const Reals& x, int ball, Real shift) {
  Reals theta = ball == 3 ? slice(x, 0, x.size() - 1) : x;
  const Real r = std::sqrt(dot(theta, theta));
  Real factor = 0;
  if (ball == 0) factor = 1 / (1 + std::sqrt(1 + r * r));
  if (ball == 1) factor = r > 0 ? std::tanh(r) / r : 1;
  if (ball == 2) factor = r > 1 - 1e-5L ? (1 - 1e-5L) / r : 1;
  if (ball == 3) factor = r > 0 ? 1 / (1 + std::exp(-(x.back() + shift))) / r : 0;
  for (Real& t : theta) t *= factor;
  return theta;
}

Real hyperbolic(const Reals& w, const Reals& h, int ball, Real shift) {
  const Reals a = in_ball(w, ball, shift), b = in_ball(h, ball, shift);
  const Real u = 2 * squared_distance(a, b) / ((1 - dot(a, a)) * (1 - dot(b, b)));
  return -std::log1p(u + std::sqrt(u * (u + 2)));  // arcosh(1 + u)
}

}  // namespace

long double dense_score(const Score& score, const Reals& w, const Reals& h) {
  const auto parameter = [&](size_t k) { return static_cast<Real>(score.parameters[k]); };
  const Real z = dot(w, h), q = squared_distance(w, h);
  switch (score.kind) {
    case ScoreKind::scaled_lin:  // no head string's
    case ScoreKind::expr:        // held against its twins, tests/kernels/test_head_formula.cpp
    case ScoreKind::lin:
      return z;
    case ScoreKind::log:
      return -std::log1p(std::pow(q, parameter(0) / 2));
    case ScoreKind::pow:
      return -std::pow(q, parameter(0) / 2);
    case ScoreKind::pol:
      return std::pow(parameter(0) * z + parameter(1), parameter(2));
    case ScoreKind::rbf:
      return std::exp(-parameter(0) * q);
    case ScoreKind::ssg:
      return gaussian(w, h, parameter(0), parameter(1));
    case ScoreKind::mog:
      return gaussians(w, h, static_cast<size_t>(parameter(0)), parameter(1) == 1, parameter(2),
                       parameter(3));
    case ScoreKind::hpb:
      return hyperbolic(w, h, static_cast<int>(parameter(0)), parameter(1));
    case ScoreKind::wav:
      return std::cos(q / parameter(0)) * std::exp(-q / parameter(1));
    case ScoreKind::sig:
      return z - std::log1p(std::exp(-z));
  }
  return NAN;
}

Reals dense_gradient(const Score& score, Reals w, Reals h, bool of_h) {
  constexpr Real kStep = 2e-5L;  // five points: an error of step^4
  Reals gradient;
  Reals& x = of_h ? h : w;
  for (Real& place : x) {
    const Real before = place;
    const auto at = [&](Real steps) {
      place = before + steps * kStep;
      return dense_score(score, w, h);
    };
    gradient.push_back((8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * kStep));
    place = before;
  }
  return gradient;
}

std::vector<ScoreCase> score_cases() {
  return {{"lin", {ScoreKind::lin, {}}, 7},
          {"log", {ScoreKind::log, {2}}, 7},
          {"log:p=1", {ScoreKind::log, {1}}, 9},
          {"log:p=0.3", {ScoreKind::log, {0.3}}, 5},
          {"log:p=5", {ScoreKind::log, {5}}, 5},
          {"pow", {ScoreKind::pow, {2}}, 7},
          {"pow:p=1", {ScoreKind::pow, {1}}, 16},
          {"pow:p=0.5", {ScoreKind::pow, {0.5}}, 5},
          {"pow:p=3.5", {ScoreKind::pow, {3.5}}, 5},
          {"pol", {ScoreKind::pol, {1, 1, 2}}, 7},
          {"pol:p=1", {ScoreKind::pol, {-0.5, 0.3, 1}}, 7},
          {"pol:p=7", {ScoreKind::pol, {0.5, -0.3, 7}}, 7},
          {"rbf", {ScoreKind::rbf, {1}}, 7},
          {"rbf:gamma=0.1", {ScoreKind::rbf, {0.1}}, 7},
          {"ssg", {ScoreKind::ssg, {0, 1}}, 7},
          {"ssg, one mean", {ScoreKind::ssg, {0, 1}}, 2},
          {"ssg:pace=0.3", {ScoreKind::ssg, {0, 0.3}}, 7},
          {"ssg:variance=0.5", {ScoreKind::ssg, {0.5, 1}}, 7},
          {"mog", {ScoreKind::mog, {2, 0, 0, 1}}, 8},
          {"mog:components=1", {ScoreKind::mog, {1, 0, 0, 1}}, 5},
          {"mog:form=mixture", {ScoreKind::mog, {2, 1, 0, 1}}, 8},
          {"mog:components=3:form=mixture", {ScoreKind::mog, {3, 1, 0, 1}}, 6},
          {"mog:form=mixture:pace=1.7", {ScoreKind::mog, {2, 1, 0, 1.7}}, 8},
          {"mog:variance=2", {ScoreKind::mog, {3, 0, 2, 1}}, 9},
          {"mog:form=mixture:variance=0.7", {ScoreKind::mog, {2, 1, 0.7, 1}}, 8},
          {"hpb", {ScoreKind::hpb, {0, -2}}, 7},
          {"hpb:ball=tanh", {ScoreKind::hpb, {1, -2}}, 7},
          {"hpb:ball=clip", {ScoreKind::hpb, {2, -2}}, 7},
          {"hpb:ball=sigmoid", {ScoreKind::hpb, {3, -2}}, 7},
          {"hpb:ball=sigmoid:shift=0.5", {ScoreKind::hpb, {3, 0.5}}, 4},
          {"wav", {ScoreKind::wav, {1, 1}}, 7},
          {"wav:a=-2:b=3", {ScoreKind::wav, {-2, 3}}, 7},
          {"sig", {ScoreKind::sig, {}}, 7}};
}

}  // namespace nine::tests
