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

/// The weights of a head, as values on the contexts' tape and in the contexts' type: V words,
/// contexts of d numbers, K components (1 for a single kernel). SoftmaxHead::weights()
/// (nn/softmax_head.h) makes them.
struct HeadWeights {
  /// Word vectors. If all components share them: one tensor (V, d). If each component has its own
  /// (HeadSpec::untied): the K tables (V, d), component by component, as K tensors, as one tensor
  /// (K, V, d), or as (V, d) followed by (K-1, V, d).
  std::vector<Var> w;
  Var bias = {};  ///< (V), shared by all components; or empty
  /// (K, d), for mixtures: pi = softmax(prior h) are the components' probabilities.
  Var prior = {};
  /// (K * d, d), for HeadSpec::contexts: the transposed C_k, one below another. Component k, with
  /// the rows [k d, (k + 1) d), scores tanh(C_k' h) instead of h.
  Var latent = {};
  /// The learned numbers in the order of learned_numbers(head), as LearnedNumber stores them:
  /// tensors of one element each. Empty: the numbers keep the values in `head`.
  std::vector<Var> numbers = {};
  /// Norms that replace the vectors' own norms. Only if every component is `lin`.
  HeadNorms norms = {};
  /// For a sampled softmax: terms added to the scores, both (V) of the contexts' type. The score of
  /// word v gets target_offset[v] in the rows whose target is v, and offset[v] in the other rows. A
  /// word with the offset kLeftOut counts only in rows that have it as their target. Set both
  /// tensors or neither.
  Tensor offset = {}, target_offset = {};
};
/// The offset of a word that was not drawn; see HeadWeights::offset.
inline constexpr double kLeftOut = -1e30;

/// Returns the number of contexts in a block. The loss computes the scores of one block after
/// another; more rows need more memory. The number is a multiple of ops::kHeadPanel (32):
///  - on a CPU with shared word vectors: about 576 / K for K components; about 224 / K in float64
///    and, unless products are made of bfloat16 pieces (core/matmul_precision.h), with AVX2. A
///    kernel that cuts vectors into C parts (mog) counts as C components;
///  - on a CPU with untied word vectors: the rows whose products fill 128 MiB;
///  - on a GPU, for every head: the rows whose products fill 512 MiB.
int64_t head_block_rows(const HeadSpec& head, int64_t words, int64_t d, DType dtype,
                        Device device = kCpu);
/// Returns the rows of a block when `rows` > 0 contexts are cut into the fewest blocks of at most
/// `most` > 0 rows each. The blocks get about equal numbers of rows, in whole panels, because a
/// short last block would read all word vectors once more for a few rows.
int64_t balanced_block_rows(int64_t rows, int64_t most);

/// The results of kernel_softmax for N contexts and K components.
struct SoftmaxLoss {
  /// A float64 scalar in nats: row_weight * (sum of -log p(target) + the penalty on the prior),
  /// with the smoothing, the margin and the z-loss of HeadLoss and the factors of SoftmaxRows.
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

/// Numbers of each row, as tensors on the contexts' device: kernel_softmax reads `factor`, and
/// fills `loss` and `lse`. An empty tensor is left out. The tensors may be views of another
/// library's memory (Tensor::view_of). The numbers of `factor` and of `loss` must lie side by side.
struct SoftmaxRows {
  /// (N) float64: a factor of each row's weight. Not together with HeadLoss::prior.
  Tensor factor = {};
  /// Filled, (N) float64: each row's part of the loss before weights, with smoothing, margin and
  /// z-loss; 0 where the target is -1.
  Tensor loss = {};
  /// Filled, (K, N) float64: the log of the sum of exponentials of each component's scores, with
  /// the margin.
  Tensor lse = {};
  /// (4) float64 on the head's device, added to: what HeadLoss::skip leaves out
  /// (ops::HeadGradients::left_out).
  Tensor left_out = {};
};

/// Computes the softmax cross-entropy of contexts h (N, d), or of any shape with N rows of d
/// numbers. targets: N int32 on the contexts' device; -1: the row does not count. row_weight: each
/// row's weight in the loss; 1 / (targets of the whole update, over micro-batches and processes)
/// gives the mean. With smoothing the loss is the cross-entropy with the smoothed targets. `own`:
/// numbers of each row to read or to fill.
///
/// Adds the gradients of the weights, and computes that of h, during this call, unless the tape
/// does not record. So call it as the last op of a step, and start backward() from its loss or from
/// a plain sum of it and other losses. backward() must not scale the loss: a gradient of it other
/// than 1 is an Error; scale by row_weight instead. If you only want the loss value, call it under
/// NoGrad.
///
/// Errors: N = 0; `head` does not take vectors of d numbers (HeadSpec::check); the shape of a
/// weight does not fit; a target outside of [-1, V); a margin or norms with a component other than
/// `lin`; SoftmaxRows::factor with a penalty on the prior.
SoftmaxLoss kernel_softmax(const HeadSpec& head, const Var& h, const HeadWeights& weights,
                           const Tensor& targets, double row_weight, const HeadLoss& options = {},
                           const SoftmaxRows& own = {});

/// Returns log p(v | h) in nats of every word v, (N, V) float64 on the CPU, for decoding: computed
/// as in kernel_softmax, for any head. Records nothing on the tape. A row's bits do not depend on
/// the other rows, with two exceptions. A row whose products overflow, and a row of ssg or mog with
/// a log-variance of 40 or more, may change the last digits of the other rows of its block. The
/// result has N x V numbers, so pass many contexts a few at a time. Up to ops::kHeadPanel (32)
/// contexts cost as much as one context. Errors: those of kernel_softmax.
Tensor log_probabilities(const HeadSpec& head, const Var& h, const HeadWeights& weights);
/// Returns the scores S_k(w_v, h_k) + b_v of every component k, (K, N, V) float64 on the CPU. h_k
/// is the context h, or tanh(C_k' h) with HeadSpec::contexts. With targets (N int32 on the
/// contexts' device, -1: no target) the score of each row's target is the one that the loss uses,
/// which some kernels compute more accurately. Errors: those of kernel_softmax.
Tensor component_scores(const HeadSpec& head, const Var& h, const HeadWeights& weights,
                        const Tensor& targets = {});
/// Returns pi, the components' probabilities for each context, (N, K) float64 on the CPU; ones for
/// a single kernel.
Tensor prior_probabilities(const HeadSpec& head, const Var& h, const HeadWeights& weights);

/// The k most probable words of each row, best first; ties in the order of the ids.
struct WordScores {
  std::vector<int32_t> words;     ///< (N, k)
  std::vector<double> log_probs;  ///< (N, k), in nats
};
/// Returns the k most probable words of each context, computed as in log_probabilities(). Errors:
/// k outside of [1, V]; those of kernel_softmax.
WordScores top_words(const HeadSpec& head, const Var& h, const HeadWeights& weights, int64_t k);

}  // namespace nine
