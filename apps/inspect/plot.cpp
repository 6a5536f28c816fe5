#include "apps/inspect/plot.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "apps/inspect/figure.h"
#include "apps/inspect/score_at.h"
#include "core/notice.h"
#include "kernels/options/angle.h"
#include "kernels/settings/head.h"
#include "kernels/settings/head_fields.h"

namespace nine::app {
namespace {

constexpr int kSamples = 400;

struct Named {
  std::string name;
  Score score;
};

// One curve would hide the other.
[[noreturn]] void fail_twice(const std::string& list, const std::string& name) {
  throw UsageError(
      concat("--kernels ", list, ": ", name, " is named twice: leave one of them out"));
}

std::vector<Named> kernels_of(const std::string& list) {
  std::vector<Named> all;
  for (const std::string_view part : split_head(list, ',')) {
    const std::string name(part);
    const HeadSpec head = [&] {
      try {
        return parse_head(name);
      } catch (const UsageError& e) {
        throw UsageError(concat("--kernels ", list, ": ", e.what()));
      }
    }();
    if (head.mixture)
      throw UsageError(concat("--kernels: ", name, " is a mixture; give single kernels"));
    if (const std::string text = head.to_text(); std::ranges::any_of(
            all, [&](const Named& n) { return parse_head(n.name).to_text() == text; }))
      fail_twice(list, name);
    all.push_back({name, head.components.front()});
    if (is_inner_product_kernel(all.back().score) != is_inner_product_kernel(all.front().score))
      throw UsageError(concat("--kernels: ", all.front().name, " and ", name,
                              " cannot share an axis: one is a function of z, the other of q"));
  }
  if (all.empty()) throw UsageError("--kernels names no kernel");
  return all;
}

// dw/dt of w = t u: the first number of each of mog's parts, the first alone of all others.
std::vector<double> direction(const Score& score) {
  std::vector<double> u(static_cast<size_t>(example_size(score)));
  const int64_t parts = kernel_expression(score).parts;
  for (int64_t i = 0; i < parts; ++i)
    u[static_cast<size_t>(i) * u.size() / static_cast<size_t>(parts)] =
        1 / std::sqrt(static_cast<double>(parts));
  return u;
}

struct Sample {
  double value, slope;
};

Sample at_distance(const Score& score, const std::vector<double>& u, double q) {
  const double t = std::sqrt(q);
  std::vector<double> w = u;
  for (double& x : w) x *= t;
  const ScoreAt s = score_at(score, w, std::vector<double>(u.size()));
  double slope = 0;
  for (size_t k = 0; k < u.size(); ++k) slope += s.dw[k] * u[k] / (2 * t);
  return {s.value, slope};
}

Sample at_product(const Score& score, double z) {
  const ScoreAt s = score_at(score, {z}, {1.0});
  return {s.value, s.dw[0]};
}

// Larger values count as infinite: the arithmetic of axes would overflow.
double drawn(double y) { return std::abs(y) <= 1e300 ? y : std::nan(""); }

void require_values(const Curve& curve, const char* what, const PlotSettings& settings) {
  if (last_finite(curve) == nullptr)
    throw UsageError(concat("--kernels: ", what, curve.name,
                            " has no finite value in the range --from ", settings.from, " --to ",
                            settings.to, "; give another range"));
  std::vector<double> without;
  for (const Point& p : curve.points)
    if (!std::isfinite(p.y)) without.push_back(p.x);
  if (10 * without.size() > curve.points.size())
    notice(concat("--plot: ", what, curve.name, " has no finite value at ", without.size(), " of ",
                  curve.points.size(), " points, between ", without.front(), " and ",
                  without.back(), ": the curve has a gap there"));
}

std::string margins_svg(const PlotSettings& settings) {
  constexpr double kPi = 3.14159265358979323846;
  Panel value{.title = "psi", .x_label = "theta", .x_low = 0, .x_high = kPi};
  Panel slope = value;
  slope.title = "d psi / d cos theta";
  std::istringstream in(settings.kernels);
  for (std::string name; std::getline(in, name, ',');) {
    const Margin margin = [&] {
      try {
        return margin_from_text(name);
      } catch (const UsageError& e) {
        throw UsageError(concat("--kernels ", settings.kernels, ": ", e.what()));
      }
    }();
    if (std::ranges::find(value.curves, name, &Curve::name) != value.curves.end())
      fail_twice(settings.kernels, name);
    Curve s{.name = name, .colour = value.curves.size()};
    Curve d = s;
    for (int n = 0; n < kSamples; ++n) {
      const double theta = kPi * (n + 0.5) / kSamples;
      const scores::AngleScore psi = scores::margin_at(margin, std::cos(theta), std::sin(theta));
      s.points.push_back({theta, psi.value});
      // The slope of arc grows without bound towards theta = 0.
      d.points.push_back({theta, std::abs(psi.slope) < 8 ? psi.slope : std::nan("")});
    }
    value.curves.push_back(std::move(s));
    slope.curves.push_back(std::move(d));
  }
  return figure_svg("Margins and their slopes over the angle: " + settings.kernels, {value, slope},
                    2);
}

}  // namespace

bool draws_margins(const std::string& kernels) {
  const std::string first = kernels.substr(0, kernels.find_first_of(":,"));
  return std::ranges::any_of(kEnumNames<Margin::Kind>.values,
                             [&](const auto& margin) { return first == margin.second; });
}

std::string plot_svg(const PlotSettings& settings) {
  if (draws_margins(settings.kernels)) return margins_svg(settings);
  const std::vector<Named> kernels = kernels_of(settings.kernels);
  const bool product = is_inner_product_kernel(kernels.front().score);
  if (!(settings.to > settings.from) || (!product && settings.from < 0))
    throw UsageError(concat("--from ", settings.from, " --to ", settings.to,
                            ": the range must not be empty", product ? "" : ", nor q below 0"));
  const std::string axis = product ? "z" : "q";
  Panel value{.title = "S",
              .x_label = axis + (product ? " = w.h" : " = |w - h|^2"),
              .x_low = settings.from,
              .x_high = settings.to};
  Panel slope = value;
  slope.title = "dS/d" + axis;
  for (size_t i = 0; i < kernels.size(); ++i) {
    Curve s{.name = kernels[i].name, .colour = i};
    Curve d = s;
    const std::vector<double> u = product ? std::vector<double>{} : direction(kernels[i].score);
    for (int n = 0; n < kSamples; ++n) {  // between the ends: at q = 0 a slope may be infinite
      const double x = settings.from + (settings.to - settings.from) * (n + 0.5) / kSamples;
      const Sample sample =
          product ? at_product(kernels[i].score, x) : at_distance(kernels[i].score, u, x);
      s.points.push_back({x, drawn(sample.value)});
      d.points.push_back({x, drawn(sample.slope)});
    }
    require_values(s, "", settings);
    require_values(d, "the derivative of ", settings);
    value.curves.push_back(std::move(s));
    slope.curves.push_back(std::move(d));
  }
  return figure_svg("Scores and their derivatives over " + axis + ": " + settings.kernels,
                    {value, slope}, 2);
}

}  // namespace nine::app
