// A trained translation model: opened with its dictionaries, and used on text.
//
//   const Translator translator = Translator::load("runs/iwslt", {.codes = "codes"});
//   translator.translate({"ein hund läuft ."});                     // a dog runs .
//   translator.score({"ein hund läuft ."}, {"a dog is running ."});  // log p of a, dog, ... </s>
//
// Each line of text is a sentence of words with spaces between them; SegmentationOptions say how
// it is cut into the words of the dictionaries, and a word that is not there is read as <unk>.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/device.h"
#include "data/vocabulary.h"
#include "nn/models/beam_search.h"
#include "nn/models/translation_text.h"

namespace nine {

class Transformer;

/// A translation with its score.
struct TranslatedText {
  std::string text;
  double log_prob = 0;   ///< natural, as in Hypothesis
  double score = 0;      ///< log_prob / length^length_penalty, which translations are ranked by
  bool complete = true;  ///< ended by </s>; false: cut at max_length
};

/// A translation model that mt_train made, with its dictionaries, for evaluation: without
/// gradients. It can be moved; what is left then can be assigned to or destroyed, nothing else. Its
/// functions may run on several threads at once.
class Translator {
 public:
  /// Opens what is at `path`: a run, a directory of checkpoints, a checkpoint, or a directory with
  /// model.safetensors, config.json, src.dict.txt and tgt.dict.txt alone (see model_directory).
  /// `device` is where network() has its weights; translations are computed on the CPU. A GPU needs
  /// install_cuda() (kernels/install_cuda.h) before. Errors: a language model; a config.json
  /// without a key that is needed; dictionaries, weights or positions that do not fit each other;
  /// TokenReader's.
  static Translator load(const std::string& path, const SegmentationOptions& segmentation = {},
                         Device device = kCpu);

  ~Translator();
  Translator(Translator&&) noexcept;
  Translator& operator=(Translator&&) noexcept;

  /// The best translation of each line, in their order; an empty line's is empty. Errors: a line of
  /// more tokens than search().max_words(); options out of range.
  std::vector<std::string> translate(const std::vector<std::string>& lines,
                                     const SearchOptions& options = {}) const;

  /// The options.n_best best translations of each line, best first, or as many as were found.
  /// Errors: as in translate().
  std::vector<std::vector<TranslatedText>> n_best(const std::vector<std::string>& lines,
                                                  const SearchOptions& options) const;

  /// log p (natural) of each word of given translations and, last, of </s>; codes cut words on both
  /// sides, and then there is a number for each subword, as mt_translate prints
  /// them. Errors: a line that is too long; not one translation for each source.
  std::vector<std::vector<double>> score(const std::vector<std::string>& sources,
                                         const std::vector<std::string>& targets) const;

  // Parts, for work with ids.
  const Vocabulary& source() const;
  /// Equal to source() where the vocabulary is shared.
  const Vocabulary& target() const;
  /// Where the files are.
  const std::filesystem::path& directory() const;
  /// The network alone (nn/models/transformer.h).
  const Transformer& network() const;
  /// Searches with and scores ids. Made at first use, when it packs the weights.
  const BeamSearch& search() const;

  /// Ids of each line's words as search() takes them, without </s>. Error: a line that is too long,
  /// "NAME, line 3 has ..."; `first` lines came before these. With `too_long` that is no error: the
  /// line has no ids, and its message is added there.
  std::vector<BeamSearch::Ids> source_ids(const std::vector<std::string>& lines,
                                          const std::string& name, int64_t first = 0,
                                          std::vector<std::string>* too_long = nullptr) const;
  std::vector<BeamSearch::Ids> target_ids(const std::vector<std::string>& lines,
                                          const std::string& name) const;
  /// The words of a translation with spaces between them; subwords are joined to words where codes
  /// or `join` were given.
  std::string text(std::span<const int32_t> ids) const;

 private:
  struct Parts;
  explicit Translator(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace nine
