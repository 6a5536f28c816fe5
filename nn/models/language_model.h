// A trained language model with its vocabulary, to be used on text.
//
//   const LanguageModel model = LanguageModel::load("runs/ptb");
//   model.score({"the dog runs"});     // log p of the, dog, runs and </s>
//   model.top_words({"the dog"}, 5);   // the five likeliest words at each position
//   model.generate({"the dog"});       // the dog ...
//
// Each line of text is a sentence of words separated by spaces. Prepare the lines as the training
// text: apply its tokenizer and, if it was cut into subwords, its BPE codes. A word that is not in
// the vocabulary is read as <unk>. An empty line is the sentence without words.
//
// A model that was trained on raw text (lm_train --text) has its tokenizer() and reads raw text: a
// line is then any text as it stands, with its line end if that belongs to the text. Its tokens are
// those of the tokenizer, and no </s> follows. An empty text is </s> alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/device.h"
#include "data/vocabulary.h"
#include "nn/models/sampling.h"

namespace nine {

class Corpus;
class LanguageNetwork;
class ModelTokenizer;
class TextGenerators;

/// The settings of scoring.
struct ScoringOptions {
  /// false: every sentence starts from a state of zeros. true: all lines are joined and cut into 10
  /// equal parts, which are read in parallel, as lm_train does in validation. Within a part the
  /// state passes on from line to line. A Transformer has no state: it reads each part in segments
  /// of half a window, and reads the half window before a segment again as its context.
  bool carry_state = false;
  /// The most positions that are computed together, padding included; only without carry_state.
  int64_t batch_tokens = 4096;
  /// The size m of a cosine margin in training, whose effect on the probabilities is removed
  /// (docs/margins.md); 0: there was no margin.
  double undo_margin = 0;
  /// Above 0: all lines are joined and cut into windows of this many tokens. Each window is read
  /// from a state of zeros; its first input is the word before it. Not with carry_state.
  int64_t window = 0;
  /// The number of sentences of the same text that earlier calls have scored. Error messages count
  /// sentences from there.
  int64_t first_sentence = 0;
};

/// A model's expectation before one token.
struct WordExpectation {
  double log_p = 0;               ///< natural log p of the token in the text
  int64_t rank = 0;               ///< of that token; 1: the likeliest
  std::vector<int32_t> top;       ///< the likeliest words, likeliest first
  std::vector<double> top_log_p;  ///< log p of the words in `top`
};

/// The largest GenerateOptions::batch. Up to 32 contexts cost the output layer as much as one
/// context.
inline constexpr int64_t kMaxGenerateBatch = 32;

/// The settings of text generation.
struct GenerateOptions {
  SamplingOptions sampling = {};
  int64_t max_words = 50;  ///< most words added to a prompt, not counting ends of lines
  int64_t lines = 1;       ///< lines of a continuation; the </s> of the last line ends it
  int64_t samples = 1;     ///< continuations of each prompt
  int64_t batch = 32;      ///< continuations computed together, at most kMaxGenerateBatch
  uint64_t seed = 1;
  /// If several calls share one list of prompts: the number of prompts that the earlier calls
  /// continued. The continuations then equal those of one call with the whole list.
  int64_t first_prompt = 0;
};

/// A language model that lm_train made, with its vocabulary, for evaluation: without gradients.
/// After a move, the moved-from object can only be assigned to or destroyed. Several threads may
/// call the member functions at once. Results are held in memory: score a long text in parts.
class LanguageModel {
 public:
  /// Opens the model at `path`. `path` is one of: the directory of a run of lm_train, or of the
  /// run's checkpoints (the best checkpoint, else the latest); a checkpoint; a directory that holds
  /// only model.safetensors and dict.txt; a model of Hugging Face's transformers (docs/models.md).
  /// Sizes come from the tensors' shapes, the head from config.json or from model.safetensors'
  /// metadata. A GPU needs install_cuda() (kernels/install_cuda.h) first. Errors: no model there; a
  /// translation model; vocabulary and weights of different sizes; a model of raw text without its
  /// tokenizer; a weight that is NaN or infinite, except a bias of -infinity, which excludes its
  /// word.
  static LanguageModel load(const std::string& path, Device device = kCpu);

  ~LanguageModel();
  LanguageModel(LanguageModel&&) noexcept;
  LanguageModel& operator=(LanguageModel&&) noexcept;

  /// Called now and then with the number of lines (in generate(), of texts) that are finished, and
  /// with the number of all; if it throws, the work ends.
  using Progress = std::function<void(int64_t done, int64_t all)>;

  /// Returns log p (natural) of each word of each line and, last, of </s>, as lm_score prints them;
  /// -infinity for a word that a bias of -infinity excludes. Errors: batch_tokens < 1; a log p that
  /// is not a number; with carry_state, a text of fewer than 10 tokens; undo_margin with a head
  /// that is not a single `lin`.
  std::vector<std::vector<double>> score(const std::vector<std::string>& lines,
                                         const ScoringOptions& options = {},
                                         const Progress& progress = {}) const;

  /// Returns, for each line, the model's expectation before each word and, last, before </s>, with
  /// the `count` likeliest words (at most the vocabulary's size), as lm_score shows them. Words of
  /// equal probability are ranked by id; vocabulary().word(id) is a word's text. Each line starts
  /// from a state of zeros; `batch_tokens` as in ScoringOptions. Errors: count < 0; batch_tokens <
  /// 1.
  std::vector<std::vector<WordExpectation>> top_words(
      const std::vector<std::string>& lines, int64_t count,
      int64_t batch_tokens = ScoringOptions{}.batch_tokens, const Progress& progress = {}) const;

  /// Returns options.samples continuations of each prompt, in the order of prompts and samples, as
  /// lm_score writes them: the prompt's words as typed, unknown words too, then the added words,
  /// separated by spaces, and lines (GenerateOptions::lines) separated by line feeds. A model of
  /// raw text gives the prompt's bytes and the added bytes, which may end within a character
  /// (visible_text in data/tokenizers/model_tokenizer.h); </s> adds no bytes. An empty prompt is
  /// the start of a sentence or of a raw text. The seed determines the result; a text's random
  /// numbers depend on the prompt's index, not on the other prompts. Error: options out of range.
  std::vector<std::string> generate(const std::vector<std::string>& prompts,
                                    const GenerateOptions& options = {},
                                    const Progress& progress = {}) const;

  const Vocabulary& vocabulary() const;
  /// Returns the tokenizer of a model that reads raw text; null for a model of words.
  const ModelTokenizer* tokenizer() const;
  /// Returns the id that stands for text without an id: <unk>, or the tokenizer's unknown token.
  int32_t unknown() const;
  /// Returns the network alone, for work with ids and tensors (nn/models/language_network.h): an
  /// LstmLanguageModel or a TransformerLanguageModel.
  const LanguageNetwork& network() const;
  /// Returns the device that holds the weights and computes.
  Device device() const;
  /// Returns what generate() keeps from call to call (nn/models/text_generator.h): on the CPU a
  /// copy of the weights that is packed for generation.
  TextGenerators& generators() const;

 private:
  friend Corpus corpus_of(const LanguageModel&, std::span<const std::string>, bool);
  struct Parts;
  explicit LanguageModel(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace nine
