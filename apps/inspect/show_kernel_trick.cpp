// The kernel trick: a kernel is an inner product of features that need not be written down.
#include <cmath>

#include "apps/inspect/figure.h"
#include "apps/inspect/score_at.h"
#include "apps/inspect/show.h"

namespace nine::app {
namespace {

// (z + 1)^2 = phi(w).phi(h) with phi(x) = 1, sqrt2 x_i, x_i^2, sqrt2 x_i x_j (i < j).
std::vector<double> square_features(const std::vector<double>& x) {
  std::vector<double> phi{1};
  for (size_t i = 0; i < x.size(); ++i) {
    phi.push_back(std::sqrt(2.0) * x[i]);
    phi.push_back(x[i] * x[i]);
    for (size_t j = i + 1; j < x.size(); ++j) phi.push_back(std::sqrt(2.0) * x[i] * x[j]);
  }
  return phi;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double s = 0;
  for (size_t i = 0; i < a.size(); ++i) s += a[i] * b[i];
  return s;
}

// exp(-q) with the power series of e^2z cut after `terms` terms: the features up to that degree, of
// which there are d^0 + d^1 + ...
double cut_gaussian(const std::vector<double>& w, const std::vector<double>& h, int terms) {
  double sum = 0, term = 1;
  for (int n = 0; n < terms; ++n) {
    sum += term;
    term *= 2 * dot(w, h) / (n + 1);
  }
  return std::exp(-dot(w, w) - dot(h, h)) * sum;
}

}  // namespace

ExperimentResult show_kernel_trick() {
  const Score square = parse_head("pol:alpha=1:c=1:p=2").components.front(),
              lin = parse_head("lin").components.front(),
              gauss = parse_head("rbf").components.front();
  Panel cost{.title = "multiplications a score",
             .x_label = "d, numbers of a vector",
             .x_low = 0,
             .x_high = 512};
  Curve by_kernel{.name = "(z + 1)^2", .colour = 0},
      by_features{.name = "its features' inner product", .colour = 1};
  ExperimentResult out{.text =
                           "(w.h + 1)^2 as the kernel pol computes it, and as lin of the features "
                           "1, sqrt2 x_i, x_i^2, sqrt2 x_i x_j:\n\n" +
                           table_head("d", {"features", "pol", "lin(phi)", "difference"})};
  for (const int64_t d : {2, 4, 8, 16, 32, 64, 128, 256, 512}) {
    const double scale = 1 / std::sqrt(static_cast<double>(d));
    const std::vector<double> w = normal_numbers(d, scale, "w"), h = normal_numbers(d, scale, "h"),
                              fw = square_features(w), fh = square_features(h);
    const double kernel = score_at(square, w, h).value, features = score_at(lin, fw, fh).value;
    out.text += table_line(std::to_string(d),
                           {static_cast<double>(fw.size()), kernel, features, kernel - features});
    by_kernel.points.push_back({static_cast<double>(d), static_cast<double>(d + 1)});
    by_features.points.push_back({static_cast<double>(d), static_cast<double>(fw.size())});
  }
  cost.curves = {by_kernel, by_features};
  out.text +=
      "\nexp(-q) has features of every degree, 1 + d + d^2 + ...; with those up to degree n it is "
      "right to (d = 8, largest error of 20 pairs):\n\n" +
      table_head("degree n", {"error"});
  Panel error{.title = "exp(-q): error by degree", .x_label = "degree", .x_low = 0, .x_high = 24};
  Curve errors{.name = "error of the cut series", .colour = 2};
  for (int n = 0; n <= 24; ++n) {
    double worst = 0;
    for (int pair = 0; pair < 20; ++pair) {
      const std::vector<double> w = normal_numbers(8, 0.5, concat("w", pair)),
                                h = normal_numbers(8, 0.5, concat("h", pair));
      worst = std::max(worst, std::abs(cut_gaussian(w, h, n + 1) - score_at(gauss, w, h).value));
    }
    errors.points.push_back({static_cast<double>(n), std::max(worst, 1e-17)});
    if (n % 4 == 0) out.text += table_line(std::to_string(n), {worst});
  }
  error.curves = {errors};
  out.svg = figure_svg("The kernel trick: cost of a kernel and of its features", {cost, error}, 2);
  return out;
}

}  // namespace nine::app
