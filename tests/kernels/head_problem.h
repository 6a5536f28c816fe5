// A head, its inputs and what it computes from them, with the dense formula beside it: what the
// suites of mixtures and of extreme vectors share.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "checks/op_cases.h"
#include "kernels/loss/kernel_softmax.h"

namespace nine::tests {

/// A head's inputs, which are random: h (rows, size), w (words or, untied, words a component,
/// size), bias (words); a mixture's prior (components, size); latent (components * size, size).
struct HeadProblem {
  HeadSpec head;
  int64_t rows, words, size;
  checks::Doubles h, w, bias, prior, latent;
  checks::Ints targets;
  HeadLoss options = {};
  double row_weight = 0.3;
  checks::Doubles factors = {};  ///< SoftmaxRows::factor; empty: none

  int64_t copies() const { return head.untied ? head.size() : 1; }
  /// The inputs that the head has, in that order.
  std::vector<Tensor> inputs(DType dtype) const;
  HeadWeights weights(std::span<const Var> x) const;  ///< of inputs()
  SoftmaxLoss run(std::span<const Var> x) const;
};
/// Numbers in [-1, 1], contexts in [-scale, scale]; some targets are -1, the first is the last
/// word.
HeadProblem head_problem(HeadSpec head, int64_t rows, int64_t words, int64_t size,
                         double scale = 1);

HeadSpec single(const Score& score);
HeadSpec mixture(std::vector<Score> components, bool untied = false, bool contexts = true);

struct HeadResult {
  double loss = 0;
  checks::Doubles nll, share;
  std::vector<checks::Doubles> gradients;  // by inputs
  size_t peak = 0;                         // bytes of the arena
};
HeadResult run(const HeadProblem& p, DType dtype = DType::float64);
bool same_bits(const HeadResult& a, const HeadResult& b);

/// Loss, -log p and shares are those of docs/heads.md, section 4, computed in long double.
void check_against_dense(const HeadProblem& p, double tolerance = 1e-12);
/// Gradients are central differences, at `elements` of each input.
void check_gradients(const HeadProblem& p, int64_t elements = 24);

}  // namespace nine::tests
