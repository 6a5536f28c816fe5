// Dog and cat: word vectors and contexts of d numbers learn five distributions over four words.
#include <algorithm>
#include <cmath>

#include "apps/inspect/figure.h"
#include "apps/inspect/show.h"
#include "autograd/functions.h"
#include "core/ops.h"

namespace nine::app {
namespace {

// In hundredths: dog, cat, mouse, bird. Dog and cat share the first context evenly; each of the
// others has one word.
constexpr int kWanted[5][4] = {
    {45, 45, 5, 5}, {85, 5, 5, 5}, {5, 85, 5, 5}, {5, 5, 85, 5}, {5, 5, 5, 85}};
constexpr const char* kContext[] = {"a pet", "it barks", "it purrs", "it squeaks", "it sings"};
constexpr int64_t kContextCount = 5, kAnimals = 4;
constexpr int kSteps = 1200, kStarts = 3;

double entropy() {
  double h = 0;
  for (const auto& row : kWanted)
    for (const int c : row) h -= c / 100.0 * std::log(c / 100.0) / kContextCount;
  return h;
}

struct Fit {
  double divergence = INFINITY;       // mean KL(target | learnt) in nats
  std::vector<double> probabilities;  // kContextCount x kAnimals
  std::vector<Point> curve;
};

// Trains a head from a random start. Each word has a row for every 5 hundredths of its target
// probability, so that the mean loss of the rows is the cross-entropy with the target
// distributions.
Fit fit_once(const HeadSpec& head, int64_t d, int start) {
  std::vector<int32_t> context, word;
  for (int32_t n = 0; n < kContextCount; ++n)
    for (int32_t v = 0; v < kAnimals; ++v)
      for (int i = 0; i < kWanted[n][v] / 5; ++i) context.push_back(n), word.push_back(v);
  const auto rows = static_cast<int64_t>(word.size());
  const Tensor of_row = Tensor::from(context, {rows}), targets = Tensor::from(word, {rows});

  std::vector<Tensor> x, m, v;
  const auto add = [&](const Shape& shape, const char* name) {
    x.push_back(Tensor::from(normal_numbers(shape.elements(), 0.8, concat(name, start)), shape));
    m.emplace_back(shape, DType::float64);
    v.emplace_back(shape, DType::float64);
  };
  add({kContextCount, d}, "contexts");
  add({kAnimals, d}, "animals");
  if (head.mixture) add({head.size(), d}, "prior");
  if (head.contexts) add({head.size() * d, d}, "latent");

  Fit fit;
  Arena pool("kernel_inspect");
  Tape tape(pool);
  const Tensor norm({}, DType::float64);
  for (int step = 1; step <= kSteps; ++step) {
    std::vector<Var> leaf;
    for (const Tensor& t : x) leaf.push_back(tape.leaf(t));
    HeadWeights weights{.w = {leaf[1]}};
    if (head.mixture) weights.prior = leaf[2];
    if (head.contexts) weights.latent = leaf[3];
    const Var loss = kernel_softmax(head, embedding(leaf[0], of_row), weights, targets,
                                    1.0 / static_cast<double>(rows))
                         .loss;
    fit.divergence = loss.value().item() - entropy();
    fit.curve.push_back({static_cast<double>(step), fit.divergence});
    if (step == kSteps) {
      fit.probabilities = log_probabilities(head, leaf[0], weights).to_vector();
      for (double& p : fit.probabilities) p = std::exp(p);
      break;
    }
    tape.backward(loss);
    for (size_t i = 0; i < x.size(); ++i)
      ops::adam(x[i], leaf[i].grad(), m[i], v[i], {norm, 0}, {.lr = 0.03, .t = step});
    tape.reset();
  }
  return fit;
}

}  // namespace

ExperimentResult show_dog_and_cat() {
  std::vector<Panel> panels;
  for (const int64_t d : {1, 2, 3})
    panels.push_back({.title = concat("KL, d = ", d),
                      .x_label = "updates",
                      .x_low = 0,
                      .x_high = kSteps,
                      .y_low = 0,
                      .y_high = 0.8});
  ExperimentResult out{
      .text = concat(
          "Divergence KL(wanted | learnt) in nats after ", kSteps, " updates of Adam, the best of ",
          kStarts,
          " starts; 0 is a perfect fit.\nNeither bias nor word vectors of a component's own.\n\n",
          table_head("wanted", {"dog", "cat", "mouse", "bird"}))};
  for (int64_t n = 0; n < kContextCount; ++n) {
    const auto& wanted = kWanted[n];
    out.text += table_line(
        kContext[n], {wanted[0] / 100.0, wanted[1] / 100.0, wanted[2] / 100.0, wanted[3] / 100.0},
        "%11.2f");
  }
  out.text += "\n" + table_head("head", {"d = 1", "d = 2", "d = 3"});
  std::string learnt;
  size_t colour = 0;
  for (const char* name :
       {"lin", "pow", "log", "rbf", "sig", "mix:2*lin", "mix:3*lin", "mix:lin,log"}) {
    std::vector<double> row;
    for (const int64_t d : {1, 2, 3}) {
      Fit best;
      for (int start = 0; start < kStarts; ++start)
        if (Fit fit = fit_once(parse_head(name), d, start); fit.divergence < best.divergence)
          best = std::move(fit);
      row.push_back(std::max(best.divergence, 0.0));
      panels[static_cast<size_t>(d - 1)].curves.push_back(
          {.name = name, .colour = colour, .points = best.curve});
      const bool listed =
          d == 2 && (std::string_view(name) == "lin" || std::string_view(name) == "mix:3*lin");
      for (int64_t n = 0; n < kContextCount && listed; ++n)
        learnt += table_line(concat(name, ": ", kContext[n]),
                             row_of(best.probabilities, n, kAnimals), "%11.2f");
    }
    out.text += table_line(name, row, "%11.4f");
    ++colour;
  }
  out.text += "\n" + table_head("learnt with d = 2", {"dog", "cat", "mouse", "bird"}) + learnt;
  out.svg =
      figure_svg("Dog and cat: divergence from the wanted distributions while learning", panels, 3);
  return out;
}

}  // namespace nine::app
