// The output layer: scores of contexts against word vectors, softmax, and the loss, fused; nothing of size contexts x
// vocabulary is ever stored (heads.md section 3).
#pragma once

#include "autograd/tape.h"
#include "kernels/head.h"

namespace nine {

/// Rows of contexts whose scores are held at once: 224 x V numbers, measured best (performance.md).
inline constexpr int64_t kHeadBlockRows = 224;

/// Label smoothing (Szegedy et al., 2016) of strength epsilon, in the field's two conventions (heads.md section 2).
struct LabelSmoothing {
  enum class Kind : uint8_t {
    uniform,  ///< epsilon / V to every word, and 1 - epsilon more to the target
    others    ///< epsilon / (V - 1) to every other word, 1 - epsilon to the target
  };
  double epsilon = 0;  ///< in [0, 1]; 0: none
  Kind kind = Kind::uniform;

  /// The target probability of each word but the target. Error: epsilon outside of [0, 1]; `others` with one word.
  double spread(int64_t words) const;
};
std::string to_text(LabelSmoothing::Kind kind);
LabelSmoothing::Kind smoothing_from_text(std::string_view name);  ///< uniform, others

struct SoftmaxLoss {
  Var loss;  ///< row_weight * sum of -log p(target), smoothed where asked: a float64 scalar
  Var nll;   ///< (N) float64: -log p(target) of each row in nats, 0 where the target is -1; never smoothed
};

/// Softmax cross-entropy of contexts h (N, d) against word vectors w (V, d) with an optional bias (V).
/// targets: N int32, -1 = the row counts nothing. row_weight: each row's weight in the loss, 1 / (tokens of the whole
/// update, over micro-batches and processes). With smoothing the loss is the cross-entropy with the smoothed targets.
///
/// The head is the last op of a step: gradients of w and bias are formed on the way forward, and backward must start
/// from this loss (or from a plain sum with others); an upstream gradient other than 1 is an Error. Under NoGrad nothing
/// but the loss is computed.
SoftmaxLoss kernel_softmax(const HeadSpec& head, const Var& h, const Var& w, const Var& bias, const Tensor& targets, double row_weight,
                           const LabelSmoothing& smoothing = {});

/// Decoding: log p(v | h) of every word v for a few contexts, (N, V) float64 on the CPU. The scores, with bias, and their
/// normaliser are kernel_softmax's, whatever the head; nothing is recorded. A row's bits do not depend on the other rows.
/// N x V numbers are held, so give many contexts in parts; up to ops::kHeadPanel of them cost what one does.
Tensor log_probabilities(const HeadSpec& head, const Var& h, const Var& w, const Var& bias);

}  // namespace nine
