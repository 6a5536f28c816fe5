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

struct HeadValues;

/// The text of the Error when a log p is NaN, or is infinite although the word's bias is not
/// -infinity.
inline constexpr const char* kNoLogP =
    "log p is not a number: products of the model's weights are too large for their type";

/// A buffer of a head: a tensor that is saved with the model but not trained.
struct HeadBuffer {
  const char* name;  ///< its tensor's name without the head's: ".counts"
  /// True if a head with this configuration has the buffer.
  bool (*is_of)(const HeadConfig& config);
};
/// Returns all buffers that heads may have. The first holds a number for each word, the others hold
/// one for each component.
std::span<const HeadBuffer> head_buffers();

/// Returns the text that records in model.safetensors' `__metadata__` that the word vectors and the
/// embedding table are one tensor, which has the name `embedding`. The text is
/// "head.weight=EMBEDDING". If each component has word vectors of its own (HeadSpec::untied), only
/// those of the first component are the embedding table, and the text is "the first of
/// head.weight=EMBEDDING".
std::string tie_text(const HeadSpec& head, const std::string& embedding);

/// An output layer, or head: word vectors, and optionally a bias for each word. A mixture averages
/// K softmaxes, its components. A mixture also has the weights of the prior, which gives the
/// components' probabilities for a context h. HeadSpec::contexts adds the weights of the
/// components' own contexts.
class SoftmaxHead {
 public:
  /// Declares the parameters in `set`, for a vocabulary of V = `words`, contexts of `width` numbers
  /// and K components. {.spec = parse_head("mix:3*lin,log")} makes `config` from a head string.
  ///  - `NAME.weight` with initial values `init`: (V, width), or (K, V, width) for untied heads,
  ///    whose components have word vectors of their own. An embedding given as `tied` replaces it;
  ///    in an untied head it replaces component 0's vectors, and `NAME.weight` is (K-1, V, width);
  ///  - `NAME.bias` (V), if the head has a bias, starts at 0;
  ///  - `NAME.prior.weight` (K, width), for mixtures, and `NAME.latent.weight` (K * width, width),
  ///    for HeadSpec::contexts, start as in torch.nn.Linear, U(-1/sqrt(width), 1/sqrt(width)), as
  ///    in Yang et al.'s mixture of softmaxes (2018);
  ///  - `NAME.scores.INDEX.NUMBER` (1), the learned numbers of component INDEX = 0, 1, ...
  ///    (kernels/settings/learned_numbers.h), start at the values of the head string;
  ///  - buffers, which are saved but not trained: `NAME.counts` (V), if the word norm or a sampled
  ///    softmax uses counts; `NAME.context_max` or `NAME.context_max_ema` (K), the norm that
  ///    evaluation uses, if the context norm is max or max:ema.
  /// With a sampled softmax, word vectors and bias keep track of the rows that have a gradient.
  /// Errors: a kernel does not accept vectors of `width` numbers; a setting is too large or too
  /// small for the float type of `set`.
  SoftmaxHead(ParameterSet& set, const std::string& name, const HeadConfig& config, int64_t words,
              int64_t width, const Init& init = Init::normal(0.02), Parameter* tied = nullptr);

  /// Returns the parameters on a tape, as kernel_softmax takes them.
  HeadWeights weights(Tape& tape) const;
  /// Sets the words' counts in the training targets. Word norms that use counts and a sampled
  /// softmax need them before the first loss. The counts are saved with the model. If the head
  /// needs no counts, the call has no effect. Error: the number of counts is not the number of
  /// words.
  void set_counts(std::span<const int64_t> counts) const;
  /// Computes the loss of predicting `targets` from `hidden`; see kernel_softmax. targets: as many
  /// int32 as hidden has rows, on the CPU or the head's device; -1: no target. row_weight: the
  /// weight of each row, usually 1 / (number of targets). Applies label smoothing, the margin, the
  /// z-loss and the prior's regulariser as configured, but not under NoGrad. With a sampled
  /// softmax, loss and nll of training are estimates over the words that the tape's random key
  /// draws. factors: a float64 factor of each row's weight (SoftmaxRows::factor), in targets'
  /// shape, on the CPU or the head's device; empty: 1.
  SoftmaxLoss loss(const Var& hidden, const Tensor& targets, double row_weight,
                   const Tensor& factors = {}) const;
  /// Computes the mean loss over the rows that have a target: the loss of a whole batch. Error: no
  /// row has a target.
  Var loss(const Var& hidden, const Tensor& targets) const;
  /// Returns log p of every word, (N, V) float64 on the CPU; see nine::log_probabilities. Pass many
  /// contexts a few at a time, because the result has N * V numbers. A bias of -infinity gives a
  /// word -infinity. Error: the log p of another word is not a number, or is infinite.
  Tensor log_probabilities(const Var& hidden) const;
  /// Checks that nats[i] is a valid -log p of words[i]; words[i] = -1: no word. Error: nats[i] is
  /// NaN, or is infinite although the word's bias is not -infinity. The message is `what`, a colon
  /// and kNoLogP.
  void require_log_p(std::span<const int32_t> words, std::span<const double> nats,
                     std::string_view what) const;
  /// Returns log_probabilities() corrected for a cosine margin of size `margin` in training
  /// (docs/margins.md). Error: the head is not one plain inner product (`lin`, without scale), or
  /// has HeadSpec::contexts but no context norm.
  Tensor log_probabilities_undoing(const Var& hidden, double margin) const;
  /// Returns the k most probable words of each context, best first; see nine::top_words. Error: k
  /// outside of [1, words()].
  WordScores top_words(const Var& hidden, int64_t k) const;
  /// Computes share * HeadConfig::norm_reg, the penalty on the word vectors' norms, a float64
  /// scalar. share: this micro-batch's part of the update's tokens, so that an update counts the
  /// penalty once. Returns an empty Var if no penalty is configured, or under NoGrad.
  Var norm_regulariser(Tape& tape, double share) const;

  /// Returns the norms that replace those of word vectors and contexts in evaluation; empty if the
  /// vectors keep their own norms.
  HeadNorms norms() const;

  int64_t words() const { return vocabulary_; }  ///< V
  /// Returns the parameters' values and the norms, as a HeadDecoder takes them
  /// (kernels/decoding/head_decoder.h). No installed header defines HeadValues, so that only Nine's
  /// own programs can call this.
  HeadValues values() const;
  /// Returns the head's score functions with the present values of its learned numbers.
  HeadSpec present_spec() const;
  /// Returns the learned numbers with their present values: "rbf.gamma", in a mixture
  /// "3.rbf.gamma", where components count from 0. Waits until a GPU has done its earlier work.
  std::vector<std::pair<std::string, double>> number_values() const;

  /// Returns the statistics of the contexts that loss() received; null for a head without margin
  /// and norms, which keeps no statistics.
  HeadStats* stats() const { return stats_ ? &*stats_ : nullptr; }
  /// Returns what HeadLoss::skip left out in training (SoftmaxRows::left_out), on the head's
  /// device; empty without skip.
  const Tensor& left_out() const { return left_out_; }
  /// True if the score compares h itself with the word vector, so that the angle between them has a
  /// meaning: no mixture, and HeadSpec::contexts is false.
  bool has_angles() const { return !config_.spec.mixture && !config_.spec.contexts; }
  /// Returns for each component, with the context norm max, the largest ||h|| seen in training;
  /// with max:ema, a running average of the batches' largest ||h||. Otherwise empty.
  std::vector<double> largest_contexts() const {
    return running_ ? running_.to_vector() : std::vector<double>();
  }
  /// Returns the same numbers without a copy: float64 on the head's device.
  const Tensor& running_contexts() const { return running_; }
  /// Norms of the word vectors (of the first component), by word id. `own`: the vectors' own norms.
  /// `given`: the norms that the word norm gives them in evaluation; empty without a word norm.
  struct WordNorms {
    std::vector<double> own, given;
  };
  WordNorms word_norms() const;

  /// Scales the word vectors to the norm scale * log(count) (Herold et al., 2018) and keeps their
  /// directions. Counts below 2 count as 2. Error: the number of counts is not the number of words.
  void set_norms_by_frequency(std::span<const int64_t> counts, double scale) const;
  /// Sets the bias to log(count / all counts); counts below 1 count as 1. An untrained head, whose
  /// scores are nearly equal for all words, then predicts the words' relative frequencies. Errors:
  /// the head has no bias; the number of counts is not the number of words.
  void set_bias_by_frequency(std::span<const int64_t> counts) const;

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
  SoftmaxLoss sampled_loss(const Var& hidden, const Tensor& targets, double row_weight,
                           const SoftmaxRows& rows) const;

  const ParameterSet& set_;
  Tensor counts_, running_;  // buffers; empty if not needed
  Tensor left_out_;
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
