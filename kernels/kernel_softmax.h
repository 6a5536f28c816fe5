// The output layer: scores of contexts against word vectors, mixture, softmax, and the loss, fused;
// nothing of size contexts x vocabulary is ever stored (heads.md sections 2 and 3).
#pragma once

#include <span>
#include <vector>

#include "autograd/tape.h"
#include "kernels/head.h"
#include "kernels/regularisers.h"
#include "kernels/smoothing.h"

namespace nine {

/// What a head computes with.
struct HeadWeights {
  /// Word vectors: one (V, d); untied, tensors whose rows together are K * V, component after
  /// component: K of (V, d), one (K, V, d), or (V, d) and (K-1, V, d).
  std::vector<Var> w;
  Var bias = {};    ///< (V), or empty; of all components
  Var prior = {};   ///< (K, d), M': pi = softmax(prior h). Mixtures only
  Var latent = {};  ///< (K * d, d), rows kd .. (k+1)d are C_k': context k is tanh(C_k' h). Heads
                    ///< with contexts only
};

/// How the scores of a step are held.
enum class HeadMemory : uint8_t {
  blocks,  ///< a block of rows against the whole vocabulary: 6NVd operations, head_block_rows() x K
           ///< x V numbers
  tiles    ///< computed again for the gradients: 8NVd, O(N K + V d) numbers
};
std::string to_text(HeadMemory m);
HeadMemory head_memory_from_text(std::string_view name);  ///< blocks, tiles

/// Rows of contexts of a block: whole panels; those of all K components together near 224 (measured
/// best, performance.md) where components share word vectors, where a kernel of C parts counts as C
/// components, and as many as 128 MB of products allow where they do not. On a card there is no
/// cache to fit: as many as 512 MB of products allow. Follows shapes and configuration only.
int64_t head_block_rows(const HeadSpec& head, int64_t words, int64_t d, DType dtype,
                        Device device = kCpu);

/// What the loss is made of besides the likelihood, and how it is computed.
struct HeadLoss {
  LabelSmoothing smoothing = {};
  PriorRegulariser prior = {};
  HeadMemory memory = HeadMemory::blocks;
};

struct SoftmaxLoss {
  Var loss = {};   ///< row_weight * sum of -log p(target), smoothed and regularised where asked: a
                   ///< float64 scalar
  Var nll = {};    ///< (N) float64: -log p(target) of each row in nats, 0 where the target is -1;
                   ///< never smoothed
  Var prior = {};  ///< mixtures: (N, K), the contexts' type: log pi; empty otherwise
  Var share = {};  ///< mixtures: (K, N) float64: gamma_k(target), each component's share in
                   ///< p(target); 0 where the target is -1
};

/// Softmax cross-entropy of contexts h (N, d). targets: N int32, -1 = the row counts nothing.
/// row_weight: each row's weight in the loss, 1 / (tokens of the whole update, over micro-batches
/// and processes). With smoothing the loss is the cross-entropy with the smoothed targets.
///
/// The head is the last op of a step: gradients of its weights are formed on the way forward, and
/// backward must start from this loss (or from a plain sum with others); an upstream gradient other
/// than 1 is an Error. Under NoGrad nothing but the loss is computed.
SoftmaxLoss kernel_softmax(const HeadSpec& head, const Var& h, const HeadWeights& weights,
                           const Tensor& targets, double row_weight, const HeadLoss& options = {});

/// Decoding: log p(v | h) of every word v for a few contexts, (N, V) float64 on the CPU. The
/// scores, with bias, and their normaliser are kernel_softmax's, whatever the head; nothing is
/// recorded. A row's bits do not depend on the other rows. N x V numbers are held, so give many
/// contexts in parts; up to ops::kHeadPanel of them cost what one does.
Tensor log_probabilities(const HeadSpec& head, const Var& h, const HeadWeights& weights);
/// Scores S_k(w_v, h_k) + b_v of every component, (K, N, V) float64 on the CPU; the target of a
/// row, where one is given (targets N int32, -1 none, or empty), has the score that enters the
/// loss.
Tensor component_scores(const HeadSpec& head, const Var& h, const HeadWeights& weights,
                        const Tensor& targets = {});
/// pi, (N, K) float64 on the CPU; ones for a single kernel.
Tensor prior_probabilities(const HeadSpec& head, const Var& h, const HeadWeights& weights);

/// The k most probable words of each row, best first, ties by the smaller word.
struct WordScores {
  std::vector<int32_t> words;     ///< (N, k)
  std::vector<double> log_probs;  ///< (N, k)
};
WordScores top_words(const HeadSpec& head, const Var& h, const HeadWeights& weights, int64_t k);

}  // namespace nine
