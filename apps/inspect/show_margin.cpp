// What a cosine margin does to the probabilities that a model learns: a known distribution, the
// trained optimum beside the formula, and the correction that gives the distribution back.
#include <algorithm>
#include <cmath>

#include "apps/inspect/figure.h"
#include "apps/inspect/show.h"
#include "kernels/options/margin_correction.h"

namespace nine::app {
namespace {

using Doubles = std::vector<double>;

constexpr int32_t kDrawn[] = {45, 25, 15, 10, 5};  // of the words in a hundred tokens
constexpr size_t kDrawnWords = std::size(kDrawn);
constexpr double kShownMargins[] = {0, 0.5, 1, 2, 4};
constexpr double kContextNorm = 2;
constexpr int kDescentSteps = 4000;

// The distribution that a head without any context learns from those tokens: its word vectors have
// norm 1, its only context norm 2, and what is trained is the bias, by plain gradient descent.
Doubles trained(double margin) {
  const HeadSpec head = parse_head("lin");
  const HeadLoss loss{.margin = {Margin::Kind::cos, margin / kContextNorm}};
  HeadNorms norms{{.word = word_norm_from_text("const:1"),
                   .context = {.kind = ContextNorm::Kind::constant, .value = kContextNorm}}};
  const auto words = static_cast<int64_t>(kDrawnWords);
  norms.ratios = Tensor::from(Doubles(kDrawnWords, 1), {words});
  Tensor targets({100}, DType::int32), h({100, 2}, DType::float64);
  for (int32_t v = 0, r = 0; v < static_cast<int32_t>(kDrawnWords); ++v)
    for (int32_t i = 0; i < kDrawn[v]; ++i) targets.data<int32_t>()[r++] = v;
  for (int64_t r = 0; r < 100; ++r) h.data<double>()[2 * r] = 1;
  const Tensor w = Tensor::from(normal_numbers(2 * words, 1, "margin"), {words, 2});
  Doubles bias(kDrawnWords);
  Arena pool("kernel_inspect");
  Tape tape(pool);
  for (int step = 0; step < kDescentSteps; ++step) {
    tape.reset();
    const Var b = tape.leaf(Tensor::from(bias, {words}));
    const HeadWeights weights{.w = {tape.constant(w)}, .bias = b, .norms = norms};
    tape.backward(kernel_softmax(head, tape.constant(h), weights, targets, 0.01, loss).loss);
    const Doubles gradient = b.grad().to_vector();
    for (size_t v = 0; v < kDrawnWords; ++v) bias[v] -= 2 * gradient[v];
  }
  tape.reset();
  const HeadWeights weights{
      .w = {tape.constant(w)}, .bias = tape.constant(Tensor::from(bias, {words})), .norms = norms};
  Doubles p = log_probabilities(head, tape.constant(h.row_range(0, 1)), weights).to_vector();
  for (double& x : p) x = std::exp(x);
  return p;
}

double largest_difference(const Doubles& a, const Doubles& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

}  // namespace

ExperimentResult show_margin() {
  Doubles q;
  std::vector<std::string> columns;
  for (size_t v = 0; v < kDrawnWords; ++v) {
    q.push_back(kDrawn[v] / 100.0);
    columns.push_back(concat("word ", v + 1));
  }
  ExperimentResult out{.text =
                           "Five words are drawn from q. A head without context learns them with a "
                           "cosine margin M = F G m.\n"
                           "trained: the learned p, without the margin\n"
                           "formula: the solution of p_v (1 - kappa p_v) = lambda q_v, kappa = 1 - "
                           "e^-M\n"
                           "undone: the trained p times (1 - kappa p), normalised\n"
                           "off by: the largest distance from the formula, or from q\n\n"};
  columns.emplace_back("off by");
  out.text += table_head("", columns) + table_line("q", q, "%11.6f");
  for (const double margin : kShownMargins) {
    const Doubles sizes(kDrawnWords, margin), p = trained(margin),
                                              formula = cos_margin_optimum(q, sizes);
    Doubles undone = p;
    for (double& x : undone) x = std::log(x);
    undo_cos_margin(undone, sizes);
    for (double& x : undone) x = std::exp(x);
    const auto line = [&](const char* name, Doubles numbers, const Doubles* other) {
      if (other != nullptr) numbers.push_back(largest_difference(numbers, *other));
      std::string text = table_line(concat("M = ", margin, " ", name), numbers, "%11.6f");
      if (other != nullptr) {
        numbers = {numbers.back()};
        text.resize(text.size() - 12);
        text += table_line("", numbers, "%11.1e").substr(22);
      }
      out.text += text;
    };
    out.text += '\n';
    line("trained", p, &formula);
    line("formula", formula, nullptr);
    line("undone", undone, &q);
  }
  out.text +=
      "\nA margin makes a model too sure: likely words get more than their share of the text, and "
      "unlikely words get less.\nThe formula is exact, so the effect of the margin can be undone "
      "(lm_score --margin-correction).\n";
  Panel figure{.title = "learned p over q, of two words",
               .x_label = "q of the word",
               .x_low = 0,
               .x_high = 1,
               .y_low = 0,
               .y_high = 1,
               .square = true};
  for (const double margin : kShownMargins) {
    Curve curve{.name = concat("M = ", margin), .colour = figure.curves.size()};
    for (int i = 1; i < 200; ++i) {
      const Doubles two{i / 200.0, 1 - i / 200.0};
      curve.points.push_back({two[0], cos_margin_optimum(two, Doubles(2, margin))[0]});
    }
    figure.curves.push_back(std::move(curve));
  }
  out.svg = figure_svg("What a cosine margin makes of a probability", {figure}, 1);
  return out;
}

}  // namespace nine::app
