// The output layer of the paper in plain float64 loops: the loss and all its gradients, in one file
// to be read from top to bottom. Start here to learn what the fused head computes. The reference
// stores every score and is slow; tests/kernels/test_reference_head.cpp compares kernel_softmax
// with it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/options/margin.h"
#include "kernels/options/smoothing.h"
#include "kernels/settings/head.h"

namespace nine {

/// The numbers of an output layer of K components, V words and vectors of d numbers, row-major; or
/// the gradients of the loss with respect to them.
struct ReferenceWeights {
  std::vector<double> w;        ///< (V, d); untied (K, V, d)
  std::vector<double> bias;     ///< (V), or empty: no bias
  std::vector<double> prior;    ///< (K, d), the paper's M transposed; for mixtures only
  std::vector<double> latent;   ///< (K, d, d), the C_k transposed; for heads with contexts only
  std::vector<double> numbers;  ///< in the order and form of learned_numbers(head)
};

/// The results for N contexts.
struct ReferenceLoss {
  double loss = 0;             ///< row_weight * the sum of the rows' losses times their factors
  std::vector<double> rows;    ///< (N): each row's loss: the cross-entropy and the z-loss
  std::vector<double> nll;     ///< (N): -log p(target), without smoothing and margin
  std::vector<double> h;       ///< (N, d): the gradient with respect to the contexts
  ReferenceWeights gradients;  ///< the gradients with respect to the weights
};

/// Computes the loss of contexts h (N, d) with targets (N; -1: the row does not count), as
/// kernel_softmax defines it, and its gradients. `margin` is for heads of inner products only.
/// `z_loss` is HeadLoss::z_loss; `factors` (N) are SoftmaxRows::factor, empty: ones.
/// Sources: docs/heads.md, section 4; docs/margins.md.
ReferenceLoss reference_loss(const HeadSpec& head, const ReferenceWeights& weights,
                             std::span<const double> h, std::span<const int32_t> targets, int64_t d,
                             double row_weight, const LabelSmoothing& smoothing = {},
                             const Margin& margin = {}, double z_loss = 0,
                             std::span<const double> factors = {});

}  // namespace nine
