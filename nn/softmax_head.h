// The output layer of a model: its named parameters, their initial values, and the loss. Language
// models and Transformer share it.
#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/loss/kernel_softmax.h"
#include "kernels/settings/learned_numbers.h"
#include "nn/head_stats.h"
#include "nn/parameters.h"

namespace nine {

/// The text of the Error for a log p that is not a number, or that is -infinity without a bias of
/// -infinity.
inline constexpr const char* kNoLogP =
    "log p is not a number: products of the model's weights are too large for their type";

/// Holds the word vectors and the bias, and for mixtures the weights of the prior and of the
/// contexts.
class SoftmaxHead {
 public:
  /// Declares the parameters in `set`, for a vocabulary of V = `words`, contexts of `width` numbers
  /// and K components. {.spec = parse_head("mix:3*lin,log")} makes `config` from a head string.
  ///  - `NAME.weight` (V, width), for untied heads (K, V, width), with initial values `init`. An
  ///    embedding given as `tied` takes its place; for untied heads it takes the place of the first
  ///    component's vectors, and `NAME.weight` is (K-1, V, width);
  ///  - `NAME.bias` (V), if the head has a bias, starts at 0;
  ///  - `NAME.prior.weight` (K, width), for mixtures, and `NAME.latent.weight` (K * width, width),
  ///    for heads with contexts, start as in torch.nn.Linear, U(-1/sqrt(width), 1/sqrt(width)), as
  ///    in Yang et al.'s mixture of softmaxes (2018);
  ///  - `NAME.scores.K.NUMBER` (1), the learned numbers of component K
  ///    (kernels/settings/learned_numbers.h), start at the values of the head string;
  ///  - buffers, which are saved but not trained: `NAME.counts` (V), if the word norm or a sampled
  ///    softmax uses counts; `NAME.context_max` or `NAME.context_max_ema` (K), the norm that
  ///    evaluation uses, if the context norm is max or max:ema.
  /// With a sampled softmax, word vectors and bias keep track of the rows that have a gradient.
  /// Errors: the head does not fit the width; a number does not fit the type of `set`
  /// (kernels/settings/head_misfit.h).
  SoftmaxHead(ParameterSet& set, const std::string& name, const HeadConfig& config, int64_t words,
              int64_t width, const Init& init = Init::normal(0.02), Parameter* tied = nullptr);

  /// Returns the parameters on a tape, as kernel_softmax takes them.
  HeadWeights weights(Tape& tape) const;
  /// Sets the words' counts in the training targets, for word norms that use counts. The counts are
  /// saved with the model. If the head needs no counts, the call has no effect. Error: the number
  /// of counts is not the number of words.
  void set_counts(std::span<const int64_t> counts) const;
  /// Computes the loss of predicting targets (as many int32 as hidden has rows; -1: no target), on
  /// either device, from hidden; see kernel_softmax. Applies label smoothing and the prior's
  /// regulariser as configured, but not under NoGrad. With a sampled softmax, loss and nll of
  /// training are estimates over the words that the tape's random key draws.
  SoftmaxLoss loss(const Var& hidden, const Tensor& targets, double row_weight) const;
  /// Computes the mean loss over the rows that have a target: the loss of a whole batch. Error: no
  /// row has a target.
  Var loss(const Var& hidden, const Tensor& targets) const;
  /// Returns log p of every word for a few contexts, (N, V) float64 on the CPU; see
  /// nine::log_probabilities. A bias of -infinity gives a word -infinity. Error: the log p of
  /// another word is not a number, or is infinite.
  Tensor log_probabilities(const Var& hidden) const;
  /// Throws an Error with the text "WHAT: " and kNoLogP if the -log p of a word is not a number, or
  /// is infinite without a bias of -infinity. nats: -log p of each of `words`; -1 in `words`: no
  /// word.
  void require_log_p(std::span<const int32_t> words, std::span<const double> nats,
                     std::string_view what) const;
  /// Returns log_probabilities() with a cosine margin of that size undone, for a model trained with
  /// that margin (kernels/options/margin_correction.h). Error: the head is not a single lin, or has
  /// contexts but no context norm.
  Tensor log_probabilities_undoing(const Var& hidden, double margin) const;
  /// Returns the k most probable words of each context, best first; see nine::top_words.
  WordScores top_words(const Var& hidden, int64_t k) const;
  /// Computes share times the penalty on the word vectors' norms, a float64 scalar. Returns an
  /// empty Var if no penalty is configured, or under NoGrad.
  Var norm_regulariser(Tape& tape, double share) const;

  /// Returns the norms that evaluation gives the vectors; empty if the vectors keep their own
  /// norms.
  HeadNorms norms() const;

  /// Returns the head with its learned numbers' present values, as HeadDecoder takes it.
  HeadSpec present_spec() const;
  /// Returns the learned numbers with their present values: "rbf.gamma", in a mixture
  /// "3.rbf.gamma", where components count from 0. Waits for a GPU.
  std::vector<std::pair<std::string, double>> number_values() const;

  /// Returns the statistics of the contexts that loss() received; null for a head without margin
  /// and norms, which keeps no statistics.
  HeadStats* stats() const { return stats_ ? &*stats_ : nullptr; }
  /// True if the score uses the angle between the unchanged context and word vector: the head is a
  /// single kernel without contexts.
  bool has_angles() const { return !config_.spec.mixture && !config_.spec.contexts; }
  /// Returns each component's largest ||h|| of training, or its average; empty without a context
  /// norm max or max:ema.
  std::vector<double> largest_contexts() const {
    return running_ ? running_.to_vector() : std::vector<double>();
  }
  /// Returns the same numbers without a copy: float64 on the head's device.
  const Tensor& running_contexts() const { return running_; }
  /// Norms of the word vectors (of the first component): `own` are the vectors' own norms, `given`
  /// those of the scores in evaluation. `given` is empty if the vectors keep their own norms.
  struct WordNorms {
    std::vector<double> own, given;
  };
  WordNorms word_norms() const;

  /// Scales the word vectors to the norm scale * log(count) (Herold et al., 2018) and keeps their
  /// directions. Counts below 2 count as 2. Error: the number of counts is not the number of words.
  void set_norms_by_frequency(std::span<const int64_t> counts, double scale) const;
  /// Sets the bias to log(count / all counts); counts below 1 count as 1. While the scores are
  /// still alike, the head then predicts the unigram distribution. Errors: the head has no bias;
  /// the number of counts is not the number of words.
  void set_bias_by_frequency(std::span<const int64_t> counts) const;

  /// Returns the text for a tie in model.safetensors' `__metadata__`: "NAME.weight=EMBEDDING", for
  /// untied heads "the first of NAME.weight=EMBEDDING".
  std::string tie_text(const std::string& embedding) const;

 private:
  std::string name_;
  HeadConfig config_;
  int64_t vocabulary_;
  std::vector<LearnedNumber> learned_;
  std::vector<Parameter*> numbers_;  // the tensors of `learned_`
  std::vector<Parameter*> words_;    // together the word vectors of all components
  Parameter *bias_ = nullptr, *prior_ = nullptr, *latent_ = nullptr;
  void put_weights(HeadWeights& weights, Tape& tape) const;
  HeadWeights evaluation_weights(Tape& tape) const;
  SoftmaxLoss sampled_loss(const Var& hidden, const Tensor& targets, double row_weight) const;

  const ParameterSet& set_;
  Tensor counts_, running_;  // buffers; empty if not needed
  // Values that follow from the counts. The first use makes them; several threads may reach it at
  // once.
  mutable std::mutex counts_mutex_;
  mutable int64_t loads_ = -1;  // the set's loads() when the values were made
  mutable HeadNorms norms_;
  mutable std::optional<WordSampler> sampler_;
  // For training, which one thread does at a time.
  mutable std::optional<HeadStats> stats_;
  mutable HeadWeights training_weights_;  // kept so that a step allocates nothing
};

}  // namespace nine
