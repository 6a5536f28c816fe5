// The output layer of a model: a head's parameters by name, how they start, and its loss. Language
// model and Transformer share it.
#pragma once

#include <span>
#include <vector>

#include "kernels/kernel_softmax.h"
#include "nn/parameters.h"

namespace nine {

class SoftmaxHead {
 public:
  /// Declares in `set`: `head.weight` (V, width), starting as `init`, unless `tied`, the
  /// embedding, has that place; `head.bias` (V); for mixtures `head.prior.weight` (K, width), with
  /// contexts `head.latent.weight` (K * width, width), and untied `head.weight` (K, V, width), of
  /// which a tied embedding takes the first place: (K-1, V, width). The bias starts at 0, prior and
  /// latent as torch.nn.Linear, U(-1/sqrt(width), 1/sqrt(width)), as in Yang et al.'s mixture of
  /// softmaxes (2018). V is `words`, the vocabulary's size, and `width` that of a context. Error:
  /// the head cannot be of that width.
  SoftmaxHead(ParameterSet& set, const HeadConfig& config, int64_t words, int64_t width,
              Parameter* tied, const Init& init);

  const HeadWeights& weights(Tape& tape) const;
  /// Loss of predicting targets (as many int32 as hidden has rows; -1: nothing), on either device,
  /// from hidden; see kernel_softmax. Smoothed and its prior regularised as configured, but not
  /// under NoGrad.
  SoftmaxLoss loss(const Var& hidden, const Tensor& targets, double row_weight) const;
  /// share times the penalty on the word vectors' norms, a float64 scalar; an empty Var where none
  /// is asked for, or under NoGrad.
  Var norm_regulariser(Tape& tape, double share) const;

  /// Scales the word vectors to the norm scale * log(count), counts below 2 taken as 2 (Herold et
  /// al., 2018); their directions stay. To be called after allocate(). Error: not one count a word.
  void set_norms_by_frequency(std::span<const int64_t> counts, double scale) const;
  /// Sets the bias to log(count / all counts), counts below 1 taken as 1: the first posterior of a
  /// head whose scores are alike is the unigram distribution. To be called after allocate(). Error:
  /// no bias; not one count a word.
  void set_bias_by_frequency(std::span<const int64_t> counts) const;

  /// What `__metadata__` says of a tie: "head.weight=NAME", or, untied, that the first one is.
  std::string tie_text(const std::string& embedding) const;

 private:
  HeadConfig config_;
  int64_t vocabulary_;
  std::vector<Parameter*> words_;  // together the word vectors of all components
  Parameter *bias_ = nullptr, *prior_ = nullptr, *latent_ = nullptr;
  mutable HeadWeights weights_;  // kept, so that a step allocates nothing
};

}  // namespace nine
