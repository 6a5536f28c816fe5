// Heads with margins and norms by the formulas of docs/margins.md, in long double and with every
// score in memory: what the kernel softmax is held against.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "autograd/functions.h"
#include "checks/op_cases.h"
#include "kernels/loss/kernel_softmax.h"
#include "tests/support/compare.h"
#include "tests/support/support.h"

namespace nine::tests {

using checks::Doubles;
using checks::Input;
using checks::Ints;
using checks::random_indices;
using checks::random_values;
using checks::tensor_of;

// Every form of the options' texts.
inline constexpr const char* kMargins[] = {"none",    "cos:0.35", "arc:0.5",
                                           "arc:2.4", "lsm:2",    "lsm:5"};
inline constexpr const char* kWordNorms[] = {"none",
                                             "const:2.5",
                                             "uniform",
                                             "uniform:through",
                                             "log-rank",
                                             "log-rank:ratio:through",
                                             "unigram:3,0.5",
                                             "log-unigram",
                                             "log-unigram:scaled",
                                             "log-unigram:scaled:through"};
inline constexpr const char* kContextNorms[] = {"none", "const:3", "max", "max:through",
                                                "max:ema:through"};

/// A head of inner products with its inputs, and counts for ranked norms.
struct MarginProblem {
  std::string head = "lin";
  bool untied = false;
  int64_t rows = 37, words = 70, size = 5;
  std::string margin = "none", word = "none", context = "none";
  HeadLoss options = {};
  double scale = 1;

  HeadSpec spec() const { return parse_head(head, {.untied = untied}); }
  std::vector<Input> shapes() const {
    const int64_t k = spec().size();
    return {{{rows, size}, -scale, scale},
            {{untied ? k : 1, words, size}, -scale, scale},
            {{words}},
            {{k, size}},
            {{k * size, size}}};
  }
  std::vector<Tensor> inputs(DType dtype = DType::float64) const {
    const std::vector<Doubles> values = random_values(shapes(), 21);
    std::vector<Tensor> all;
    for (size_t i = 0; i < values.size(); ++i)
      all.push_back(tensor_of(values[i], shapes()[i].shape, dtype));
    return all;
  }
  Tensor targets() const {
    Ints y = random_indices({{{rows}, -1, static_cast<int32_t>(words)}}, 22)[0];
    for (size_t r = 0; r < y.size(); r += 3) y[r] = static_cast<int32_t>(words / 2);
    y[0] = static_cast<int32_t>(words - 1);
    return tensor_of(y, {rows});
  }
  std::vector<double> counts() const {
    std::vector<double> c;
    for (int64_t v = 0; v < words; ++v) c.push_back(static_cast<double>((7 * v + 3) % 23));
    return c;
  }
  HeadNorms norms() const {
    HeadNorms n{{.word = word_norm_from_text(word), .context = context_norm_from_text(context)}};
    n.follow(counts());
    return n;
  }
  HeadWeights weights(std::span<const Var> x) const {
    HeadWeights w{{untied ? x[1] : reshape(x[1], {words, size})}, x[2]};
    if (spec().mixture) w.prior = x[3];
    if (spec().contexts) w.latent = x[4];
    w.norms = norms();
    return w;
  }
  HeadLoss loss() const {
    HeadLoss all = options;
    all.margin = margin_from_text(margin);
    return all;
  }
};

/// psi at cos theta = c from the margin's definition by the angle itself, not by the recurrences.
long double psi_of(const Margin& margin, long double c);

/// Loss, with the margin, and each row's -log p, without it.
struct DenseLoss {
  double loss = 0;
  Doubles nll;
};
DenseLoss dense_loss(const MarginProblem& p, const std::vector<Tensor>& inputs);

}  // namespace nine::tests
