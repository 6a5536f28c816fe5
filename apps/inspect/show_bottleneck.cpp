// The softmax bottleneck (Yang et al., 2018): the log-probabilities of N contexts form an N x V
// matrix whose rank the head limits.
#include <algorithm>
#include <cmath>

#include "apps/inspect/figure.h"
#include "apps/inspect/linear_algebra.h"
#include "apps/inspect/show.h"

namespace nine::app {
namespace {

constexpr int64_t kContexts = 64, kVocabulary = 64, kSizes[] = {4, 8, 16, 32};
constexpr double kRankTolerance =
    1e-10;  // singular values below this share of the largest are rounding
constexpr const char* kHeads[] = {"lin", "pow", "pow:p=1", "log", "pol",       "rbf",        "ssg",
                                  "mog", "hpb", "wav",     "sig", "mix:3*lin", "mix:lin,log"};

// The singular values of a head's log-probabilities over the largest one. The scale of the vectors
// falls with d, so that scores are about as large for any d.
std::vector<double> spectrum(const std::string& name, int64_t d) {
  const HeadSpec head = parse_head(name);
  Arena pool("kernel_inspect");
  Tape tape(pool);
  const auto normal = [&](const Shape& shape, double scale, const char* stream) {
    return tape.constant(Tensor::from(normal_numbers(shape.elements(), scale, stream), shape));
  };
  const double scale = 1.5 / std::pow(static_cast<double>(d), 0.25);
  HeadWeights weights{.w = {normal({kVocabulary, d}, scale, "words")}};
  const double root = 1 / std::sqrt(static_cast<double>(d));
  if (head.mixture) weights.prior = normal({head.size(), d}, 3 * root, "prior");
  if (head.contexts) weights.latent = normal({head.size() * d, d}, root, "latent");
  const Tensor a = log_probabilities(head, normal({kContexts, d}, scale, "contexts"), weights);
  std::vector<double> s = singular_values(a.to_vector(), kContexts, kVocabulary);
  for (size_t i = s.size(); i-- > 0;) s[i] /= s[0];
  return s;
}

}  // namespace

ExperimentResult show_bottleneck() {
  Panel ranks{.title = "rank of the log-probabilities",
              .x_label = "d, numbers of a vector",
              .x_low = 0,
              .x_high = 32,
              .y_low = 0,
              .y_high = 68};
  Panel spectra{
      .title = "singular values at d = 8", .x_label = "number", .x_low = 1, .x_high = kVocabulary};
  std::vector<std::string> columns;
  for (const int64_t d : kSizes) columns.push_back(concat("d = ", d));
  ExperimentResult out{.text = concat("Rank of the ", kContexts, " x ", kVocabulary,
                                      " matrix of log-probabilities, random vectors; singular "
                                      "values above 1e-10 of the largest.\n\n") +
                               table_head("head", columns)};
  for (const char* name : kHeads) {
    std::vector<double> row;
    Curve rank{.name = name, .colour = ranks.curves.size()};
    Curve values = rank;
    for (const int64_t d : kSizes) {
      const std::vector<double> s = spectrum(name, d);
      row.push_back(static_cast<double>(
          std::count_if(s.begin(), s.end(), [](double x) { return x > kRankTolerance; })));
      rank.points.push_back({static_cast<double>(d), row.back()});
      if (d != 8) continue;
      for (size_t i = 0; i < s.size(); ++i)
        values.points.push_back({static_cast<double>(i + 1), std::max(s[i], 1e-17)});
    }
    out.text += table_line(name, row, "%11.0f");
    ranks.curves.push_back(std::move(rank));
    spectra.curves.push_back(std::move(values));
  }
  out.text +=
      "\nlin: at most d + 1 (each row is z minus its own normaliser). pow with p = 2 is lin with a "
      "word bias: d + 2. pol with p = 2 is lin of\n"
      "(d + 1)(d + 2)/2 features. The others are not bound to d; where rbf and wav fall below 64, "
      "most scores are 0 to ten digits.\n";
  out.svg = figure_svg("The softmax bottleneck: rank and singular values of log-probabilities",
                       {ranks, spectra}, 2);
  return out;
}

}  // namespace nine::app
