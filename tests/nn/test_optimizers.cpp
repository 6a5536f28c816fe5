// The optimisers lion and muon (nn/training/optimizer.cpp) against plain loops in double.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/ops.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/training/optimizer.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_optimizers {
namespace {

using Doubles = std::vector<double>;

// A table, two linear maps (one wide, one high) and their biases.
struct Model {
  ParameterSet set{{.dtype = DType::float64, .seed = 3}};
  Embedding table{set, "table", 5, 4};
  Linear wide{set, "wide", 7, 3}, high{set, "high", 2, 6};
};

// The gradient of element i in update t, of any sign.
double gradient(size_t i, int t) { return std::sin(1.7 * static_cast<double>(i) + t * t); }

void set_gradients(Model& m, int t) {
  double* g = m.set.gradients().data<double>();
  size_t i = 0;
  for (const Parameter& p : m.set.all()) {
    double* own = static_cast<double*>(p.grad().view().data);
    for (int64_t k = 0; k < p.value().elements(); ++k) own[k] = gradient(i++, t);
  }
  REQUIRE(g != nullptr);
}

// (rows, cols) times its transpose, or the reverse; no code of Nine.
struct Plain {
  size_t rows, cols;
  Doubles x;
  double at(size_t r, size_t c) const { return x[r * cols + c]; }
};
Plain product(const Plain& a, const Plain& b) {
  Plain y{a.rows, b.cols, Doubles(a.rows * b.cols)};
  for (size_t r = 0; r < a.rows; ++r)
    for (size_t c = 0; c < b.cols; ++c)
      for (size_t k = 0; k < a.cols; ++k) y.x[r * b.cols + c] += a.at(r, k) * b.at(k, c);
  return y;
}
Plain transposed(const Plain& a) {
  Plain y{a.cols, a.rows, Doubles(a.x.size())};
  for (size_t r = 0; r < a.rows; ++r)
    for (size_t c = 0; c < a.cols; ++c) y.x[c * a.rows + r] = a.at(r, c);
  return y;
}
// Muon's function of the singular values, for which X X' need not be the shorter side's: the result
// is the same polynomial of X.
Plain orthogonal(Plain x) {
  double norm = 0;
  for (const double v : x.x) norm += v * v;
  for (double& v : x.x) v /= std::sqrt(norm) + 1e-7;
  for (int i = 0; i < 5; ++i) {
    const Plain a = product(x, transposed(x)), ax = product(a, x), aax = product(a, ax);
    for (size_t k = 0; k < x.x.size(); ++k)
      x.x[k] = 3.4445 * x.x[k] - 4.7750 * ax.x[k] + 2.0315 * aax.x[k];
  }
  return x;
}

Doubles values_of(const Model& m) {
  Doubles all;
  for (const Parameter& p : m.set.all())
    for (const double v : p.value().to_vector()) all.push_back(v);
  return all;
}

void check_close(const Doubles& found, const Doubles& wanted) {
  REQUIRE(found.size() == wanted.size());
  for (size_t i = 0; i < found.size(); ++i)
    CHECK_MESSAGE(std::abs(found[i] - wanted[i]) < 1e-12, i, " ", found[i], " ", wanted[i]);
}

}  // namespace

TEST_CASE("optimizers: lion is the formula of Chen et al., with decoupled weight decay") {
  Model m;
  const auto lion = make_optimizer(
      m.set, {.kind = OptimizerKind::lion, .beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.3});
  Doubles w = values_of(m), mean(w.size());
  for (int t = 1; t <= 4; ++t) {
    set_gradients(m, t);
    lion->step(0.01, {}, 0);
    for (size_t i = 0; i < w.size(); ++i) {
      const double g = gradient(i, t), u = 0.8 * mean[i] + 0.2 * g;
      w[i] -= 0.01 * ((u > 0 ? 1 : u < 0 ? -1 : 0) + 0.3 * w[i]);
      mean[i] = 0.95 * mean[i] + 0.05 * g;
    }
    check_close(values_of(m), w);
  }
}

TEST_CASE("optimizers: muon orthogonalises linear maps, and is AdamW for the rest") {
  for (const double clip : {0.0, 0.5}) {
    Model m;
    const auto muon = make_optimizer(m.set, {.kind = OptimizerKind::muon,
                                             .momentum = 0.9,
                                             .beta1 = 0.8,
                                             .beta2 = 0.95,
                                             .weight_decay = 0.3});
    Doubles w = values_of(m), first(w.size()), second(w.size());
    const Tensor norm_squared({}, DType::float64);
    for (int t = 1; t <= 3; ++t) {
      set_gradients(m, t);
      double all = 0;
      for (size_t i = 0; i < w.size(); ++i) all += gradient(i, t) * gradient(i, t);
      *norm_squared.data<double>() = all;
      const double lr = 0.02, factor = clip > 0 ? std::min(1.0, clip / (std::sqrt(all) + 1e-6)) : 1;
      muon->step(lr, norm_squared, clip);
      size_t begin = 0;
      for (const Parameter& p : m.set.all()) {
        const auto n = static_cast<size_t>(p.value().elements());
        const bool map = p.name == "wide.weight" || p.name == "high.weight";
        CHECK(p.linear_map == map);
        if (map) {
          Plain u{static_cast<size_t>(p.value().shape()[0]),
                  static_cast<size_t>(p.value().shape()[1]),
                  {}};
          for (size_t i = begin; i < begin + n; ++i) {
            const double g = factor * gradient(i, t);
            first[i] = 0.9 * first[i] + g;
            u.x.push_back(g + 0.9 * first[i]);
          }
          const Plain o = orthogonal(u);
          const double longer = static_cast<double>(std::max(u.rows, u.cols));
          for (size_t i = 0; i < n; ++i) {
            double& weight = w[begin + i];
            weight = weight * (1 - lr * 0.3) - lr * 0.2 * std::sqrt(longer) * o.x[i];
          }
        } else {
          for (size_t i = begin; i < begin + n; ++i) {
            const double g = factor * gradient(i, t);
            first[i] = 0.8 * first[i] + 0.2 * g;
            second[i] = 0.95 * second[i] + 0.05 * g * g;
            w[i] =
                w[i] * (1 - lr * 0.3) - lr * first[i] / (1 - std::pow(0.8, t)) /
                                            (std::sqrt(second[i] / (1 - std::pow(0.95, t))) + 1e-8);
          }
        }
        begin += n;
      }
      check_close(values_of(m), w);
    }
  }
  Model m;
  CHECK(has(error_of([&] { make_optimizer(m.set, {.kind = OptimizerKind::muon}); }),
            "muon needs a momentum above 0"));
}

TEST_CASE("optimizers: a run with lion or muon goes on to the same bits") {
  const TemporaryDirectory dir;
  for (const char* kind : {"lion", "muon"}) {
    const auto train = [&](const std::string& name, const char* length) {
      const Outcome r = run_program("lm_train", {"--sample",
                                                 "--sample-sentences",
                                                 "300",
                                                 "--arch",
                                                 "llama",
                                                 "--hidden",
                                                 "16",
                                                 "--heads",
                                                 "2",
                                                 "--bptt",
                                                 "12",
                                                 "--optimizer",
                                                 kind,
                                                 "--schedule",
                                                 "constant",
                                                 "--lr",
                                                 "0.003",
                                                 "--weight-decay",
                                                 "0.1",
                                                 "--after",
                                                 length,
                                                 "--run",
                                                 dir / (kind + name)});
      REQUIRE_MESSAGE(r.code == 0, r.err);
    };
    train("whole", "8u");
    train("parts", "3u");
    train("parts", "8u");
    CHECK(weights_of(dir / (std::string(kind) + "whole")) ==
          weights_of(dir / (std::string(kind) + "parts")));
  }
}

}  // namespace nine::tests::test_optimizers
