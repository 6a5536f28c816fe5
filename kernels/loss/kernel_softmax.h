// The output layer in one fused pass: scores of contexts (hidden vectors h) against word vectors,
// softmax, mixture of components, and loss. It never stores a matrix of contexts x vocabulary
// (docs/heads.md, sections 4 and 8). A drawing at the beginning of kernel_softmax.cpp shows how the
// loss is cut into blocks, panels and tiles.
#pragma once

#include <span>
#include <vector>

#include "autograd/tape.h"
#include "kernels/options/head_norms.h"
#include "kernels/settings/head_config.h"

namespace nine {

/// The weights of a head.
struct HeadWeights {
  /// Word vectors. Shared by all components: one tensor (V, d). Untied: those of one component
  /// after another, as K tensors (V, d), one tensor (K, V, d), or (V, d) followed by (K-1, V, d).
  std::vector<Var> w;
  Var bias = {};  ///< (V), shared by all components; or empty
  /// (K, d), for mixtures: pi = softmax(prior h) are the components' probabilities.
  Var prior = {};
  /// (K * d, d), for HeadSpec::contexts: the transposed C_k, one below another. Component k, with
  /// the rows [k d, (k + 1) d), scores tanh(C_k' h) instead of h.
  Var latent = {};
  /// The learned numbers in the order of learned_numbers(head), one element each, as LearnedNumber
  /// stores them. Empty: the initial values.
  std::vector<Var> numbers = {};
  /// Norms that replace the vectors' own norms. Only if every component is `lin`.
  HeadNorms norms = {};
  /// For a sampled softmax: terms added to the scores, both (V) of the contexts' type. Where word v
  /// is a row's target, its score gets target_offset[v], elsewhere offset[v]. A word with the
  /// offset kLeftOut counts only in rows that have it as their target. Set both tensors or neither.
  Tensor offset = {}, target_offset = {};
};
/// The offset of a word that was not drawn; see HeadWeights::offset.
inline constexpr double kLeftOut = -1e30;

/// Returns the number of contexts in a block, which the loss computes together: a multiple of
/// ops::kHeadPanel that follows from shapes, configuration and the method of the products. Shared
/// word vectors: about 224 / K for K components (576 / K with products of bfloat16 pieces); a
/// kernel of C parts counts as C components. Untied: as many as 128 MB of products allow. On a GPU:
/// as many as 512 MB of products allow.
int64_t head_block_rows(const HeadSpec& head, int64_t words, int64_t d, DType dtype,
                        Device device = kCpu);
/// Returns the rows of a block when `rows` > 0 contexts are cut into the fewest blocks of at most
/// `most` > 0 rows each. The blocks get about equal numbers of rows, in whole panels, because a
/// short last block would read all word vectors once more for a few rows.
int64_t balanced_block_rows(int64_t rows, int64_t most);

/// The results of kernel_softmax for N contexts and K components.
struct SoftmaxLoss {
  /// A float64 scalar: row_weight * (sum of -log p(target) + the penalty on the prior), with the
  /// smoothing, the margin and the z-loss of HeadLoss and the factors of SoftmaxRows.
  Var loss = {};
  /// (N) float64: -log p(target) of each row in nats, without smoothing and margin; 0 where the
  /// target is -1.
  Var nll = {};
  /// Mixtures: log pi, (N, K), in the contexts' type. Otherwise empty.
  Var prior = {};
  /// Mixtures: gamma_k(target), the posterior probability of component k given the target, with the
  /// margin: (K, N) float64, so components are rows here; 0 where the target is -1. Otherwise
  /// empty.
  Var share = {};
};

/// Numbers of each row that a caller of kernel_softmax may set or ask for, on the contexts' device.
/// Empty tensors are not used. The caller's memory is written, so it may belong to another library
/// (Tensor::view_of).
struct SoftmaxRows {
  /// (N) float64: a factor of each row's weight. Not together with HeadLoss::prior.
  Tensor factor = {};
  /// (N) float64, filled: each row's part of the loss before weights, with smoothing, margin and
  /// z-loss; 0 where the target is -1.
  Tensor loss = {};
  /// (K, N) float64, filled: the log of the sum of exponentials of each component's scores, with
  /// the margin.
  Tensor lse = {};
};

/// Computes the softmax cross-entropy of contexts h (N, d). targets: N int32, -1 = the row does not
/// count. row_weight: each row's weight in the loss; 1 / (targets of the whole update, over
/// micro-batches and processes) gives the mean. With smoothing the loss is the cross-entropy with
/// the smoothed targets.
///
/// The head is the last op of a step. This call computes all gradients in the forward pass: it adds
/// the weights' gradients at once, and keeps that of h for backward(). Start backward() from this
/// loss, or from a plain sum of it and other losses. A gradient of this loss other than 1, as of a
/// scaled loss, is an Error; scale by row_weight instead. If you only want the loss value, call it
/// under NoGrad, which computes no gradients.
SoftmaxLoss kernel_softmax(const HeadSpec& head, const Var& h, const HeadWeights& weights,
                           const Tensor& targets, double row_weight, const HeadLoss& options = {},
                           const SoftmaxRows& own = {});

/// Decoding: returns log p(v | h) of every word v for a few contexts, (N, V) float64 on the CPU,
/// computed as in kernel_softmax, for any head. Records nothing on the tape. A row's bits do not
/// depend on the other rows, with one exception. A row whose products overflow, or with a
/// log-variance of 40 or more (in kernels ssg and mog), may change the last digits of the other
/// rows of its block. The result has N x V numbers, so pass many contexts a few at a time. Up to
/// ops::kHeadPanel contexts cost as much as one context.
Tensor log_probabilities(const HeadSpec& head, const Var& h, const HeadWeights& weights);
/// Returns the scores S_k(w_v, h_k) + b_v of every component, (K, N, V) float64 on the CPU. With
/// targets (N int32, -1: no target) the score of each row's target is the one that the loss uses,
/// which some kernels compute more accurately.
Tensor component_scores(const HeadSpec& head, const Var& h, const HeadWeights& weights,
                        const Tensor& targets = {});
/// Returns pi, (N, K) float64 on the CPU; ones for a single kernel.
Tensor prior_probabilities(const HeadSpec& head, const Var& h, const HeadWeights& weights);

/// The k most probable words of each row, best first; ties in the order of the ids.
struct WordScores {
  std::vector<int32_t> words;     ///< (N, k)
  std::vector<double> log_probs;  ///< (N, k)
};
WordScores top_words(const HeadSpec& head, const Var& h, const HeadWeights& weights, int64_t k);

}  // namespace nine
