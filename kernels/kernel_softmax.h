// The output layer: scores of contexts against word vectors, softmax, and the loss, fused; nothing of size contexts x
// vocabulary is ever stored (heads.md section 3).
#pragma once

#include "autograd/tape.h"
#include "kernels/head.h"

namespace nine {

/// Rows of contexts whose scores are held at once: 224 x V numbers, measured best (performance.md).
inline constexpr int64_t kHeadBlockRows = 224;

struct SoftmaxLoss {
  Var loss;  ///< row_weight * sum of -log p(target): a float64 scalar
  Var nll;   ///< (N) float64: -log p(target) of each row in nats, 0 where the target is -1
};

/// Softmax cross-entropy of contexts h (N, d) against word vectors w (V, d) with an optional bias (V).
/// targets: N int32, -1 = the row counts nothing. row_weight: each row's weight in the loss, 1 / (tokens of the whole
/// update, over micro-batches and processes).
///
/// The head is the last op of a step: gradients of w and bias are formed on the way forward, and backward must start
/// from this loss (or from a plain sum with others); an upstream gradient other than 1 is an Error. Under NoGrad nothing
/// but the loss is computed.
SoftmaxLoss kernel_softmax(const HeadSpec& head, const Var& h, const Var& w, const Var& bias, const Tensor& targets, double row_weight);

/// Decoding: log p(v | h) of every word v for a few contexts, (N, V) float64 on the CPU. The scores, with bias, and their
/// normaliser are kernel_softmax's, whatever the head; nothing is recorded. A row's bits do not depend on the other rows.
/// N x V numbers are held, so give many contexts in parts; up to ops::kHeadPanel of them cost what one does.
Tensor log_probabilities(const HeadSpec& head, const Var& h, const Var& w, const Var& bias);

}  // namespace nine
