// The output layer of a model: a head's parameters by name, how they start, and its loss. Language
// model and Transformer share it.
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

/// What an Error says where a trained model gives no word a probability, or a word none that no
/// bias excludes.
inline constexpr const char* kNoLogP =
    "log p is not a number: products of the model's weights are too large for their type";

/// Word vectors and bias, for mixtures also the weights of the prior and of the contexts.
class SoftmaxHead {
 public:
  /// Declares the parameters in `set`, for a vocabulary of V = `words`, contexts of `width` numbers
  /// and K components; `config` from a head string is {.spec = parse_head("mix:3*lin,log")}.
  ///  - `NAME.weight` (V, width), untied (K, V, width), which starts as `init`. An embedding given
  ///    as `tied` is used in its place, untied as the vectors of the first component:
  ///    `NAME.weight` is then (K-1, V, width);
  ///  - `NAME.bias` (V), where the head has one, starts at 0;
  ///  - `NAME.prior.weight` (K, width), for mixtures, and `NAME.latent.weight` (K * width, width),
  ///    for heads with contexts, start as in torch.nn.Linear, U(-1/sqrt(width), 1/sqrt(width)), as
  ///    in Yang et al.'s mixture of softmaxes (2018).
  ///  - `NAME.scores.K.NUMBER` (1), the learned numbers of component K
  ///    (kernels/settings/learned_numbers.h), start where the head string says;
  ///  - buffers, which are saved but not trained: `NAME.counts` (V), where the word norm or a
  ///    sampled softmax follows counts; `NAME.context_max` or `NAME.context_max_ema` (K), where the
  ///    context norm is max or max:ema, the norm that evaluation uses.
  /// With a sampled softmax, word vectors and bias keep track of the rows that have a gradient.
  /// Errors: the head cannot be of that width; a number that the type of `set` cannot hold
  /// (kernels/settings/head_misfit.h).
  SoftmaxHead(ParameterSet& set, const std::string& name, const HeadConfig& config, int64_t words,
              int64_t width, const Init& init = Init::normal(0.02), Parameter* tied = nullptr);

  /// The parameters on a tape, as kernel_softmax takes them.
  HeadWeights weights(Tape& tape) const;
  /// The words' counts in the training targets, which a word norm may follow; saved with the model.
  /// Without effect where none does. Error: not one count a word.
  void set_counts(std::span<const int64_t> counts) const;
  /// Loss of predicting targets (as many int32 as hidden has rows; -1: no target), on either
  /// device, from hidden; see kernel_softmax. Smoothed and its prior regularised as configured, but
  /// not under NoGrad. With a sampled softmax, loss and nll of training are over the words that the
  /// tape's random key draws, and estimates.
  SoftmaxLoss loss(const Var& hidden, const Tensor& targets, double row_weight) const;
  /// The mean over the rows that have a target: the loss of a whole batch. Error: none has one.
  Var loss(const Var& hidden, const Tensor& targets) const;
  /// log p of every word for a few contexts, (N, V) float64 on the CPU; see
  /// nine::log_probabilities. A bias of -infinity gives a word -infinity. Error: another word of a
  /// row has a log p that is not a number, or infinite.
  Tensor log_probabilities(const Var& hidden) const;
  /// Error, "WHAT: " and kNoLogP: of one of these words, -1 for no word, -log p is neither a number
  /// nor infinite by the word's bias.
  void require_log_p(std::span<const int32_t> words, std::span<const double> nats,
                     std::string_view what) const;
  /// The same with a cosine margin of that size, which training had, undone (kernels/
  /// options/margin_correction.h). Error: a head that is not a single lin, or one with contexts
  /// but no context norm.
  Tensor log_probabilities_undoing(const Var& hidden, double margin) const;
  /// The k most probable words of each context, best first; see nine::top_words.
  WordScores top_words(const Var& hidden, int64_t k) const;
  /// share times the penalty on the word vectors' norms, a float64 scalar; an empty Var where none
  /// is configured, or under NoGrad.
  Var norm_regulariser(Tape& tape, double share) const;

  /// The norms that evaluation gives the vectors; empty where they keep their own.
  HeadNorms norms() const;

  /// The head with its learned numbers' present values, as HeadDecoder takes it.
  HeadSpec present_spec() const;
  /// The learned numbers with their present values: "rbf.gamma", of a mixture "3.rbf.gamma", K from
  /// 0. Waits for a GPU.
  std::vector<std::pair<std::string, double>> number_values() const;

  /// What loss() saw of its contexts; null for a head without margin and norms, which keeps none.
  HeadStats* stats() const { return stats_ ? &*stats_ : nullptr; }
  /// Whether an angle between a context and a word is that of the two vectors as they are: a single
  /// kernel without contexts of its own.
  bool has_angles() const { return !config_.spec.mixture && !config_.spec.contexts; }
  /// The largest ||h|| of training, or its average, of each component; empty without such a norm.
  std::vector<double> largest_contexts() const {
    return running_ ? running_.to_vector() : std::vector<double>();
  }
  /// The same numbers where they are, float64 on the head's device.
  const Tensor& running_contexts() const { return running_; }
  /// Norms of the (first component's) word vectors: their own, and those that the score gives them
  /// in evaluation, empty where it gives none.
  struct WordNorms {
    std::vector<double> own, given;
  };
  WordNorms word_norms() const;

  /// Scales the word vectors to the norm scale * log(count), counts below 2 taken as 2 (Herold et
  /// al., 2018); their directions stay. Error: not one count a word.
  void set_norms_by_frequency(std::span<const int64_t> counts, double scale) const;
  /// Sets the bias to log(count / all counts), counts below 1 taken as 1: the first posterior of a
  /// head whose scores are alike is the unigram distribution. Error:
  /// no bias; not one count a word.
  void set_bias_by_frequency(std::span<const int64_t> counts) const;

  /// How a tie is written into model.safetensors' `__metadata__`: "NAME.weight=EMBEDDING", for
  /// untied heads "the first of NAME.weight=EMBEDDING".
  std::string tie_text(const std::string& embedding) const;

 private:
  std::string name_;
  HeadConfig config_;
  int64_t vocabulary_;
  std::vector<LearnedNumber> learned_;
  std::vector<Parameter*> numbers_;  // their tensors
  std::vector<Parameter*> words_;    // together the word vectors of all components
  Parameter *bias_ = nullptr, *prior_ = nullptr, *latent_ = nullptr;
  void put_weights(HeadWeights& weights, Tape& tape) const;
  HeadWeights evaluation_weights(Tape& tape) const;
  SoftmaxLoss sampled_loss(const Var& hidden, const Tensor& targets, double row_weight) const;

  const ParameterSet& set_;
  Tensor counts_, running_;  // buffers; empty where there is none
  // What follows from the counts: made at the first use, which several threads may come to at once.
  mutable std::mutex counts_mutex_;
  mutable int64_t loads_ = -1;  // of the set when they were made
  mutable HeadNorms norms_;
  mutable std::optional<WordSampler> sampler_;
  // Training's, which one thread does at a time.
  mutable std::optional<HeadStats> stats_;
  mutable HeadWeights training_weights_;  // kept, so that a step allocates nothing
};

}  // namespace nine
