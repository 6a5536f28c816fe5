// A trained language model: opened with its vocabulary, and used on text.
//
//   const LanguageModel model = LanguageModel::load("runs/ptb");
//   model.score({"the dog runs"});     // log p of the, dog, runs and </s>
//   model.top_words({"the dog"}, 5);   // the five likeliest words in the place of each
//   model.generate({"the dog"});       // the dog ...
//
// Each line of text is a sentence of words with spaces between them, cut as the training text was;
// a word that the vocabulary lacks is read as <unk>. An empty line is the sentence without words.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/device.h"
#include "data/vocabulary.h"
#include "nn/models/sampling.h"

namespace nine {

class LanguageNetwork;

/// How a text is scored.
struct ScoringOptions {
  /// false: every sentence starts from a state of zeros. true: the text is cut into 10 columns
  /// through which the state is carried, as in validation.
  bool carry_state = false;
  int64_t batch_tokens = 4096;  ///< positions computed at once, where no state is carried
  /// A cosine margin that training had, undone in closed form (docs/margins.md); 0: nothing is.
  double undo_margin = 0;
};

/// What a model expected before one token.
struct WordExpectation {
  double log_p = 0;               ///< of the text's own token
  int64_t rank = 0;               ///< of that token, 1: the likeliest
  std::vector<int32_t> top;       ///< the likeliest words, the likeliest first
  std::vector<double> top_log_p;  ///< their log p
};

/// The largest batch of continuations: the number of context rows that the head computes together.
inline constexpr int64_t kMaxGenerateBatch = 32;

/// How prompts are continued.
struct GenerateOptions {
  SamplingOptions sampling = {};
  int64_t max_words = 50;  ///< added to a prompt at most
  int64_t samples = 1;     ///< continuations of each prompt
  int64_t batch = 32;      ///< continuations computed together, at most kMaxGenerateBatch
  uint64_t seed = 1;
  /// Prompts before these: a text in parts has the continuations of the whole.
  int64_t first_prompt = 0;
};

/// A language model that lm_train made, with its vocabulary, for evaluation: without gradients. It
/// can be moved; what is left then can be assigned to or destroyed, nothing else. Its functions may
/// run on several threads at once. Results are held in memory: take a long text in parts.
class LanguageModel {
 public:
  /// Opens what is at `path`: a run, a directory of checkpoints, a checkpoint, or a directory with
  /// model.safetensors and dict.txt alone (see model_directory). Sizes come from the tensors'
  /// shapes, the head from config.json or model.safetensors' metadata. A GPU as device needs
  /// install_cuda() (kernels/install_cuda.h) before. Errors: no model there; a translation model;
  /// vocabulary and weights of different sizes; weights that are not finite (see
  /// read_finite_weights).
  static LanguageModel load(const std::string& path, Device device = kCpu);

  ~LanguageModel();
  LanguageModel(LanguageModel&&) noexcept;
  LanguageModel& operator=(LanguageModel&&) noexcept;

  /// log p (natural) of each word of each line and, last, of </s>: what lm_score prints; -infinity
  /// of a word that a bias of -infinity excludes. Errors: batch_tokens < 1; a log p that is not a
  /// number; with carried state a text of less than a row of columns; a margin to
  /// undo of a head that is not a single lin.
  std::vector<std::vector<double>> score(const std::vector<std::string>& lines,
                                         const ScoringOptions& options = {}) const;

  /// For each line, what the model expected before each word and, last, before </s>, with the
  /// `count` likeliest words (at most the vocabulary's size), as lm_score shows them. Words of
  /// equal probability are ranked by id; vocabulary().word(id) is a word's text. Each line starts
  /// from a state of zeros; `batch_tokens` as in ScoringOptions. Errors: count < 0, batch_tokens <
  /// 1.
  std::vector<std::vector<WordExpectation>> top_words(
      const std::vector<std::string>& lines, int64_t count,
      int64_t batch_tokens = ScoringOptions{}.batch_tokens) const;

  /// options.samples continuations of each prompt, in the order of prompts and samples: the
  /// prompt's words as they were typed, unknown ones too, and those added, with spaces between
  /// them, as lm_score writes them. An empty prompt is the start of a sentence. The same for the
  /// same seed; the random numbers of a text depend on its place among the prompts, not on what
  /// these are. Error: options out of range.
  std::vector<std::string> generate(const std::vector<std::string>& prompts,
                                    const GenerateOptions& options = {}) const;

  const Vocabulary& vocabulary() const;
  /// The network alone, for work with ids and tensors (nn/models/language_network.h): an
  /// LstmLanguageModel or a TransformerLanguageModel.
  const LanguageNetwork& network() const;
  /// Where the weights are and everything is computed.
  Device device() const;

 private:
  struct Parts;
  explicit LanguageModel(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace nine
