// The output layer: scores of contexts against word vectors, mixture, softmax, and the loss, fused;
// nothing of size contexts x vocabulary is ever stored (docs/heads.md, sections 4 and 8).
// kernel_softmax.cpp opens with a drawing of how the loss is cut into blocks, panels and tiles.
#pragma once

#include <span>
#include <vector>

#include "autograd/tape.h"
#include "kernels/options/head_norms.h"
#include "kernels/settings/head_config.h"

namespace nine {

/// The weights of a head.
struct HeadWeights {
  /// Word vectors: one (V, d); untied, tensors whose rows together are K * V, component after
  /// component: K of (V, d), one (K, V, d), or (V, d) and (K-1, V, d).
  std::vector<Var> w;
  Var bias = {};   ///< (V), or empty; of all components
  Var prior = {};  ///< (K, d), M': pi = softmax(prior h). Mixtures only
  /// (K * d, d), rows kd .. (k+1)d are C_k': context k is tanh(C_k' h). Heads with contexts only
  Var latent = {};
  /// What learned_numbers(head) lists, one element each, as LearnedNumber stores them; empty: they
  /// are where they start.
  std::vector<Var> numbers = {};
  /// Norms in place of the vectors' own; heads of inner products only.
  HeadNorms norms = {};
  /// Sampled softmax: what is added to the words' scores, (V) of the contexts' type, kLeftOut for a
  /// word that only the rows count whose target it is; and to the targets' own. Both or neither.
  Tensor offset = {}, target_offset = {};
};
inline constexpr double kLeftOut = -1e30;

/// How many rows of contexts a block has: a multiple of ops::kHeadPanel that follows from shapes,
/// configuration and what computes the products. Word vectors shared by all components: about 224
/// stacked rows over all components (576 where products are made of bfloat16 pieces), where a
/// kernel of C parts counts as C components. Untied: as many rows as 128 MB of
/// products allow. On a GPU: as many as 512 MB of products allow.
int64_t head_block_rows(const HeadSpec& head, int64_t words, int64_t d, DType dtype,
                        Device device = kCpu);
/// Rows of a block where `rows` > 0 contexts are cut into as few blocks as at most `most` > 0 rows
/// each allow: about the same number in each, in whole panels. So no last block has a few rows
/// only, for which all word vectors are read once more.
int64_t balanced_block_rows(int64_t rows, int64_t most);

/// The results of kernel_softmax for N contexts and K components.
struct SoftmaxLoss {
  /// A float64 scalar: row_weight * sum of -log p(target), smoothed and regularised as HeadLoss
  /// says.
  Var loss = {};
  /// (N) float64: -log p(target) of each row in nats, 0 where the target is -1; never smoothed, and
  /// without the margin.
  Var nll = {};
  /// Mixtures: (N, K), the contexts' type: log pi. Empty otherwise.
  Var prior = {};
  /// Mixtures: (K, N) float64: gamma_k(target), the posterior probability of component k given
  /// the target, with the margin; 0 where the target is -1. Empty otherwise.
  Var share = {};
};

/// Softmax cross-entropy of contexts h (N, d). targets: N int32, -1 = the row does not count.
/// row_weight: each row's weight in the loss, 1 / (tokens of the whole update, over micro-batches
/// and processes). With smoothing the loss is the cross-entropy with the smoothed targets.
///
/// The head is the last op of a step: it computes its gradients already in the forward pass, so
/// backward must start from this loss or from a plain sum of it and others; a gradient of this loss
/// other than 1 is an Error. A loss that backward does not start from is none, and yet its weights
/// keep their gradients: compute one that is only looked at under NoGrad, where no gradient is
/// formed.
SoftmaxLoss kernel_softmax(const HeadSpec& head, const Var& h, const HeadWeights& weights,
                           const Tensor& targets, double row_weight, const HeadLoss& options = {});

/// Decoding: log p(v | h) of every word v for a few contexts, (N, V) float64 on the CPU, computed
/// as kernel_softmax does, for any head. Nothing is recorded on the tape. A row's bits do not
/// depend on the other rows, but where one of these is so long that its products overflow, or has a
/// log-variance of 40 or more: rows beside it may differ in the last digits. The result has N x V
/// numbers, so pass many contexts a few at a time; up to ops::kHeadPanel of them cost as much as
/// one.
Tensor log_probabilities(const HeadSpec& head, const Var& h, const HeadWeights& weights);
/// Scores S_k(w_v, h_k) + b_v of every component, (K, N, V) float64 on the CPU. With targets (N
/// int32, -1: none) a row's target has the score that the loss is computed from.
Tensor component_scores(const HeadSpec& head, const Var& h, const HeadWeights& weights,
                        const Tensor& targets = {});
/// pi, (N, K) float64 on the CPU; ones for a single kernel.
Tensor prior_probabilities(const HeadSpec& head, const Var& h, const HeadWeights& weights);

/// The k most probable words of each row, best first, ties in the order of their ids.
struct WordScores {
  std::vector<int32_t> words;     ///< (N, k)
  std::vector<double> log_probs;  ///< (N, k)
};
WordScores top_words(const HeadSpec& head, const Var& h, const HeadWeights& weights, int64_t k);

}  // namespace nine
