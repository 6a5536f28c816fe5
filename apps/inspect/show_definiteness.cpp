// Positive definiteness: a kernel in the strict sense has Gram matrices without negative
// eigenvalues.
#include <algorithm>
#include <cmath>

#include "apps/inspect/figure.h"
#include "apps/inspect/linear_algebra.h"
#include "apps/inspect/score_at.h"
#include "apps/inspect/show.h"

namespace nine::app {
namespace {

constexpr int64_t kPoints = 40, kSize = 4;
constexpr int kSets = 8;              // of points, at growing scales
constexpr double kTolerance = 1e-10;  // rounding error, as a share of the largest eigenvalue

using Doubles = std::vector<double>;

Doubles gram(const Score& score, double scale, int set) {
  const Doubles x = normal_numbers(kPoints * kSize, scale, concat("points", set));
  Doubles g;
  for (int64_t i = 0; i < kPoints; ++i)
    for (int64_t j = 0; j < kPoints; ++j)
      g.push_back(score_at(score, row_of(x, i, kSize), row_of(x, j, kSize)).value);
  return g;
}

// Without the means of rows and columns, which softmax and a word bias make up for.
Doubles centred(Doubles g) {
  const auto n = static_cast<size_t>(kPoints);
  Doubles row(n);
  double all = 0;
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j)
      row[i] += g[i * n + j] / kPoints, all += g[i * n + j] / (kPoints * kPoints);
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j) g[i * n + j] += all - row[i] - row[j];
  return g;
}

// The smallest eigenvalue over the largest in size.
double smallest(const Doubles& g) {
  const Doubles e = eigenvalues(g, kPoints);
  return e.front() / std::max(std::abs(e.front()), std::abs(e.back()));
}

}  // namespace

ExperimentResult show_definiteness() {
  Panel figure{.title = "eigenvalues of S over the largest in size",
               .x_label = "number",
               .x_low = 1,
               .x_high = kPoints,
               .y_low = -1.05,
               .y_high = 1.05};
  Panel middle = figure;
  middle.title = "the same after centring";
  ExperimentResult out{
      .text = concat(
          "Gram matrices of ", kPoints, " random points in ", kSize, " dimensions, ", kSets,
          " sets at scales from 0.25 to 2.\nThe table has the smallest eigenvalue, divided by "
          "the largest in size, of the worst set. A kernel is definite if it is at least "
          "-1e-10.\nS: the score. centred: S without the means of its rows and columns, "
          "which softmax and word bias cancel. e^S: the terms that softmax sums.\n\n",
          table_head("kernel", {"S", "centred", "e^S"}))};
  for (const KernelInfo& k : kernel_table()) {
    const Score score = parse_head(k.name).components.front();
    Doubles worst(3, INFINITY);
    for (int set = 0; set < kSets; ++set) {
      const Doubles g = gram(score, 0.25 * (1 + set), set);
      Doubles powers = g;
      const double top = *std::max_element(g.begin(), g.end());
      for (double& x : powers) x = std::exp(x - top);
      const double now[] = {smallest(g), smallest(centred(g)), smallest(powers)};
      for (size_t i = 0; i < 3; ++i) worst[i] = std::min(worst[i], now[i]);
    }
    std::string line = table_line(k.name, worst, "%11.1e");
    line.pop_back();
    const auto word = [](double x) { return x > -kTolerance ? "yes" : "no"; };
    out.text += concat(line, "   definite: ", word(worst[0]), ", centred: ", word(worst[1]),
                       ", e^S: ", word(worst[2]), "\n");
    for (const bool centre : {false, true}) {
      const Doubles g = gram(score, 1, 3);
      Doubles e = eigenvalues(centre ? centred(g) : g, kPoints);
      const double size = std::max(std::abs(e.front()), std::abs(e.back()));
      Curve curve{.name = k.name, .colour = figure.curves.size()};
      if (centre) curve.colour = middle.curves.size();
      for (size_t i = 0; i < e.size(); ++i)
        curve.points.push_back({static_cast<double>(i + 1), e[i] / size});
      (centre ? middle : figure).curves.push_back(std::move(curve));
    }
  }
  out.svg = figure_svg("Eigenvalues of the kernels' Gram matrices", {figure, middle}, 2);
  return out;
}

}  // namespace nine::app
