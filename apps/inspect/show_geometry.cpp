// Two dimensions: where scores are equal, around one word and between two.
#include <cmath>

#include "apps/inspect/figure.h"
#include "apps/inspect/score_at.h"
#include "apps/inspect/show.h"
#include "apps/inspect/zero_line.h"

namespace nine::app {
namespace {

using Doubles = std::vector<double>;

constexpr int kCells = 120;

Score kernel(const char* name) { return parse_head(name).components.front(); }

// The vector x that hpb's ball=lorentz maps to the point (a, b) of the unit disk:
// theta = x / (1 + sqrt(1 + |x|^2)).
Doubles free_vector(double a, double b) {
  const double grow = 2 / (1 - a * a - b * b);
  return {grow * a, grow * b};
}

bool inside(double a, double b) { return a * a + b * b < 0.998; }

double hyperbolic(double a, double b, double c, double d) {
  return inside(c, d) ? score_at(kernel("hpb"), free_vector(a, b), free_vector(c, d)).value
                      : std::nan("");
}

std::vector<Point> circle(double x, double y, double r) {
  std::vector<Point> points;
  for (int i = 0; i <= 180; ++i)
    points.push_back({x + r * std::cos(i * M_PI / 90), y + r * std::sin(i * M_PI / 90)});
  return points;
}

// Two Gaussian words, log-variances -1 and 1, and a context with log-variance -2.
double gaussian_difference(double x, double y) {
  const Score ssg = kernel("ssg");
  const Doubles h{x, y, -2};
  return score_at(ssg, {-1, 0, -1}, h).value - score_at(ssg, {1, 0, 1}, h).value;
}

Panel map(const char* title, double reach) {
  return {.title = title,
          .x_label = "",
          .x_low = -reach,
          .x_high = reach,
          .y_low = -reach,
          .y_high = reach,
          .square = true};
}

}  // namespace

ExperimentResult show_geometry() {
  Panel plane = map("between two words: lin, pow, Gaussians", 4),
        disk = map("hpb: distance 1 from three words of the disk", 1.05),
        border = map("hpb: equal distance from two words", 1.05);
  const auto score_difference = [](const char* name) {
    return [score = kernel(name)](double x, double y) {
      return score_at(score, {-1, 0}, {x, y}).value - score_at(score, {1, 0}, {x, y}).value;
    };
  };
  plane.curves = {{.name = "lin and pow: a line",
                   .colour = 0,
                   .points = zero_line(score_difference("pow"), -4, 4, kCells)},
                  {.name = "ssg, variances e^-1 and e: a circle",
                   .colour = 1,
                   .points = zero_line(gaussian_difference, -4, 4, kCells)}};
  plane.marks = {{-1, 0, "narrow"}, {1, 0, "wide"}};

  const Curve rim{.name = "the ball's rim", .colour = 5, .points = circle(0, 0, 1)};
  disk.curves = {rim};
  const double words[3][2] = {{0, 0}, {0.6, 0}, {-0.62, 0.62}};
  for (const auto& w : words) {
    const auto one_minus_distance = [&](double x, double y) {
      return hyperbolic(w[0], w[1], x, y) + 1;
    };
    disk.curves.push_back({.name = "hyperbolic circles of radius 1",
                           .colour = 2,
                           .points = zero_line(one_minus_distance, -1.05, 1.05, 2 * kCells)});
    disk.marks.push_back({w[0], w[1], ""});
  }
  border.curves = {rim};
  const auto halfway = [](double x, double y) {
    return hyperbolic(0.1, 0, x, y) - hyperbolic(0.7, 0, x, y);
  };
  border.curves.push_back({.name = "hpb: a line of this geometry",
                           .colour = 3,
                           .points = zero_line(halfway, -1.05, 1.05, 2 * kCells)});
  border.marks = {{0.1, 0, "general"}, {0.7, 0, "special"}};

  ExperimentResult out{.text =
                           "Hyperbolic distance of points on one radius of the disk, to the centre "
                           "and to the point 0.1 further:\n\n" +
                           table_head("|theta|", {"to centre", "next 0.1"})};
  for (const double r : {0.0, 0.2, 0.4, 0.6, 0.8, 0.89})
    out.text += table_line(
        concat(r), {0 - hyperbolic(0, 0, r, 0), 0 - hyperbolic(r, 0, r + 0.1, 0)}, "%11.4f");
  out.text +=
      "\nThe same Gaussian context at growing distance from a narrow word (variance e^-1) and a "
      "wide one (variance e), both centred:\n\n" +
      table_head("distance", {"narrow", "wide"});
  for (const double r : {0.0, 1.0, 2.0, 4.0})
    out.text += table_line(concat(r),
                           {score_at(kernel("ssg"), {0, 0, -1}, {r, 0, -2}).value,
                            score_at(kernel("ssg"), {0, 0, 1}, {r, 0, -2}).value},
                           "%11.4f");
  out.svg =
      figure_svg("Gaussian and hyperbolic geometry in two dimensions", {plane, disk, border}, 3);
  return out;
}

}  // namespace nine::app
