// The output layer of a model: a head's parameters by name, how they start, and its loss. Language
// model and Transformer share it.
#pragma once

#include <span>
#include <vector>

#include "kernels/kernel_softmax.h"
#include "nn/parameters.h"

namespace nine {

/// Word vectors and bias, for mixtures also the weights of the prior and of the contexts.
class SoftmaxHead {
 public:
  /// Declares the parameters in `set`, for a vocabulary of V = `words`, contexts of `width` numbers
  /// and K components:
  ///  - `head.weight` (V, width), untied (K, V, width), which starts as `init`. An embedding given
  ///    as `tied` is used in its place, untied as the vectors of the first component:
  ///    `head.weight` is then (K-1, V, width);
  ///  - `head.bias` (V), where the head has one, starts at 0;
  ///  - `head.prior.weight` (K, width), for mixtures, and `head.latent.weight` (K * width, width),
  ///    for heads with contexts, start as in torch.nn.Linear, U(-1/sqrt(width), 1/sqrt(width)), as
  ///    in Yang et al.'s mixture of softmaxes (2018).
  /// Error: the head cannot be of that width.
  SoftmaxHead(ParameterSet& set, const HeadConfig& config, int64_t words, int64_t width,
              Parameter* tied, const Init& init);

  /// The parameters on a tape, as kernel_softmax takes them; valid until the next call.
  const HeadWeights& weights(Tape& tape) const;
  /// Loss of predicting targets (as many int32 as hidden has rows; -1: no target), on either
  /// device, from hidden; see kernel_softmax. Smoothed and its prior regularised as configured, but
  /// not under NoGrad.
  SoftmaxLoss loss(const Var& hidden, const Tensor& targets, double row_weight) const;
  /// share times the penalty on the word vectors' norms, a float64 scalar; an empty Var where none
  /// is configured, or under NoGrad.
  Var norm_regulariser(Tape& tape, double share) const;

  /// Scales the word vectors to the norm scale * log(count), counts below 2 taken as 2 (Herold et
  /// al., 2018); their directions stay. To be called after allocate(). Error: not one count a word.
  void set_norms_by_frequency(std::span<const int64_t> counts, double scale) const;
  /// Sets the bias to log(count / all counts), counts below 1 taken as 1: the first posterior of a
  /// head whose scores are alike is the unigram distribution. To be called after allocate(). Error:
  /// no bias; not one count a word.
  void set_bias_by_frequency(std::span<const int64_t> counts) const;

  /// How a tie is written into model.safetensors' `__metadata__`: "head.weight=NAME", for untied
  /// heads "the first of head.weight=NAME".
  std::string tie_text(const std::string& embedding) const;

 private:
  HeadConfig config_;
  int64_t vocabulary_;
  std::vector<Parameter*> words_;  // together the word vectors of all components
  Parameter *bias_ = nullptr, *prior_ = nullptr, *latent_ = nullptr;
  mutable HeadWeights weights_;  // kept, so that a step allocates nothing
};

}  // namespace nine
