// What the networks of language models have in common: they read ids, a row of them at each time
// step, and predict the next one of each column through a SoftmaxHead.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nn/carried_state.h"
#include "nn/softmax_head.h"

namespace nine {

/// Reads a text word by word: LanguageNetwork::decoder().
class LanguageDecoder {
 public:
  virtual ~LanguageDecoder() = default;
  /// All columns begin anew.
  virtual void restart() = 0;
  /// Reads ids (1, batch) int32 on the CPU: the head's input after them, (batch, width). The tape,
  /// on the network's device, must not record.
  virtual Var next(Tape& tape, const Tensor& ids) = 0;
};

/// The network of a language model: an LstmLanguageModel or a TransformerLanguageModel.
class LanguageNetwork {
 public:
  virtual ~LanguageNetwork() = default;
  LanguageNetwork(const LanguageNetwork&) = delete;
  LanguageNetwork& operator=(const LanguageNetwork&) = delete;

  /// The outputs of the last layer for ids (steps, batch): (steps * batch, width), row t * batch +
  /// b.
  struct Hidden {
    Var raw;     ///< before dropout
    Var output;  ///< after dropout: the head's input
  };
  /// Runs the network over ids (steps, batch) int32, on the CPU or the network's device. `state`,
  /// which new_state() makes, becomes the state after them.
  virtual Hidden run(Tape& tape, const Tensor& ids, std::vector<LstmState>& state) const = 0;
  /// run()'s output alone.
  Var encode(Tape& tape, const Tensor& ids, std::vector<LstmState>& state) const {
    return run(tape, ids, state).output;
  }
  /// The state of `batch` columns before their first word; without layers where the network carries
  /// nothing from one call of run() to the next.
  virtual CarriedState new_state(int64_t batch) const = 0;
  /// The same for one step, in the tape's pool: for columns that begin anew with every batch.
  virtual std::vector<LstmState> start_state(Tape& tape, int64_t batch) const = 0;
  /// How many time steps depend on each other at most: run() cuts longer columns into windows of
  /// so many, each read from a start of its own. 0: there is no limit, and a state is carried.
  virtual int64_t window() const = 0;
  /// For reading `batch` columns word by word. The network must outlive it.
  virtual std::unique_ptr<LanguageDecoder> decoder(int64_t batch) const = 0;

  /// The last layer's attention over ids of one text, at most a window, mean over heads, row by
  /// row: how much the prediction after word t looks at word s <= t. Empty where there is no
  /// attention.
  virtual std::vector<double> attention(Tape&, const std::vector<int32_t>&) const { return {}; }

  virtual const SoftmaxHead& head() const = 0;
  /// model.safetensors' `__metadata__`: the format, the tie where there is one, and what shapes of
  /// tensors do not say.
  virtual std::map<std::string, std::string> metadata() const = 0;

  int64_t vocab() const { return vocab_; }
  /// Size of the head's context vectors.
  int64_t width() const { return width_; }
  const HeadConfig& head_config() const { return head_config_; }

  /// Whether regulariser() has AR or TAR to compute, which need to know padding.
  bool regularises_activations() const { return activation_reg_ > 0 || temporal_reg_ > 0; }
  /// Sentences side by side end with padding, which no regulariser counts.
  struct Unpadded {
    Tensor rows;   ///< int32: the rows of Hidden that are no padding; empty: all
    Tensor pairs;  ///< int32: rows r where r and its next time step are no padding; empty: all
    double pair_share = 0;  ///< of this micro-batch in the update's such pairs, times its weight
  };
  /// Activation and temporal activation regularisation (Merity et al., 2017) of a micro-batch whose
  /// columns are `batch` and whose share in the update's tokens is `share`: share * (AR *
  /// mean(output^2) + TAR * mean((raw_{t+1} - raw_t)^2)), a float64 scalar. With `unpadded` the
  /// means go over its rows and pairs, and TAR's has its pair_share. Share times the penalty on the
  /// word vectors' norms is added. An empty Var where no regulariser is configured, or under
  /// NoGrad.
  Var regulariser(const Hidden& hidden, int64_t batch, double share,
                  const Unpadded* unpadded = nullptr) const;
  /// Loss of predicting targets (steps, batch) int32, -1: no target, on either device, from those
  /// states; see kernel_softmax. Smoothed and regularised as configured, but not under NoGrad.
  SoftmaxLoss loss(const Var& hidden, const Tensor& targets, double row_weight) const {
    return head().loss(hidden, targets, row_weight);
  }
  /// log p of every word after each of those states, (N, V) float64, for a few states; see
  /// log_probabilities.
  Tensor log_probabilities(const Var& hidden) const { return head().log_probabilities(hidden); }
  /// The same with a cosine margin of training undone; see SoftmaxHead.
  Tensor log_probabilities_undoing(const Var& hidden, double margin) const {
    return head().log_probabilities_undoing(hidden, margin);
  }
  /// Type and place of the weights.
  DType dtype() const { return parameters_.dtype(); }
  Device device() const { return parameters_.device(); }

  /// As in SoftmaxHead.
  void set_norms_by_frequency(std::span<const int64_t> counts, double scale) const {
    head().set_norms_by_frequency(counts, scale);
  }
  void set_bias_by_frequency(std::span<const int64_t> counts) const {
    head().set_bias_by_frequency(counts);
  }
  void set_counts(std::span<const int64_t> counts) const { head().set_counts(counts); }

 protected:
  /// `Config`: the configuration of a network, of which vocab, hidden, head and the regularisers
  /// are kept.
  template <class Config>
  LanguageNetwork(const ParameterSet& set, const Config& config)
      : parameters_(set),
        vocab_(config.vocab),
        width_(config.hidden),
        head_config_(config.head),
        activation_reg_(config.activation_reg),
        temporal_reg_(config.temporal_activation_reg) {}

  const ParameterSet& parameters_;

 private:
  int64_t vocab_, width_;
  HeadConfig head_config_;
  double activation_reg_, temporal_reg_;
};

/// Whether a language model's word vectors are (the first component's) embeddings. Error: the
/// tensors do not fit that head.
bool has_tied_embeddings(const Safetensors& weights, const HeadSpec& head);

/// A LanguageDecoder that runs the network over one time step after the other, for a network that
/// carries its state.
std::unique_ptr<LanguageDecoder> recurrent_decoder(const LanguageNetwork& network, int64_t batch);

}  // namespace nine
