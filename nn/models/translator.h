// A trained translation model with its dictionaries, to be used on text.
//
//   const Translator translator = Translator::load("runs/iwslt", {.codes = "codes"});
//   translator.translate({"ein hund läuft ."});                     // a dog runs .
//   translator.score({"ein hund läuft ."}, {"a dog is running ."});  // log p of a, dog, ... </s>
//
// Each line of text is a sentence. A model that was trained with --raw takes and gives prose. Any
// other model takes words separated by spaces: SegmentationOptions say how a line is cut into the
// words of the dictionaries; a word that is not in the dictionary is read as <unk>.
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
  double log_prob = 0;   ///< natural log, as in Hypothesis
  double score = 0;      ///< log_prob / length^length_penalty; ranks translations
  bool complete = true;  ///< ended by </s>; false: cut at max_length
};

/// A translation model that mt_train made, with its dictionaries, for evaluation: without
/// gradients. After a move, the moved-from object can only be assigned to or destroyed. Several
/// threads may call the member functions at once.
class Translator {
 public:
  /// Opens the model at `path`. `path` is one of: the directory of a run of mt_train, or of the
  /// run's checkpoints (the best checkpoint, else the latest); a checkpoint; a directory that holds
  /// only model.safetensors, config.json, src.dict.txt and tgt.dict.txt, and the tokenizers of a
  /// model that reads raw text (ModelTokenizer). `device` holds the weights and computes. A GPU
  /// needs install_cuda() (kernels/install_cuda.h) first. Errors: a language model; a config.json
  /// without a required key; dictionaries, weights or positions that do not fit each other; codes,
  /// vocabulary or glossaries of `segmentation` that cannot be read; for a model that reads raw
  /// text, any `segmentation`.
  static Translator load(const std::string& path, const SegmentationOptions& segmentation = {},
                         Device device = kCpu);
  /// Opens several models as an ensemble; see BeamSearch. Errors: different dictionaries or
  /// tokenizers.
  static Translator load(std::span<const std::string> paths,
                         const SegmentationOptions& segmentation = {}, Device device = kCpu);

  ~Translator();
  Translator(Translator&&) noexcept;
  Translator& operator=(Translator&&) noexcept;

  /// Returns the best translation of each line, in the order of the lines; an empty line for an
  /// empty line. Errors: a line with more than search().max_words() tokens; options out of range.
  std::vector<std::string> translate(const std::vector<std::string>& lines,
                                     const SearchOptions& options = {}) const;

  /// Returns the options.n_best best translations of each line, best first, or fewer if the search
  /// finds fewer. If options.samples is above 0, returns this number of drawn translations instead,
  /// not sorted. Errors: as in translate().
  std::vector<std::vector<TranslatedText>> n_best(const std::vector<std::string>& lines,
                                                  const SearchOptions& options) const;

  /// Returns log p (natural) of each word of given translations and, last, of </s>. With BPE codes
  /// or a tokenizer both sides are cut, and the result has a log p for each token, as mt_translate
  /// prints them. See BeamSearch::score(), also for the difference from TranslatedText::log_prob.
  /// Errors: a line that is too long; the numbers of sources and translations differ.
  std::vector<std::vector<double>> score(const std::vector<std::string>& sources,
                                         const std::vector<std::string>& targets) const;

  // Parts, for work with ids.
  /// Returns the dictionary of the source language; in an ensemble all models have the same.
  const Vocabulary& source() const;
  /// Returns the dictionary of the target language. It equals source() if the vocabulary is shared.
  const Vocabulary& target() const;
  /// Return the ids that stand for text without an id: <unk>, or the tokenizer's unknown token.
  int32_t source_unknown() const;
  int32_t target_unknown() const;
  /// True if the models take and give prose, by tokenizers of their own.
  bool reads_prose() const;
  /// Returns the directory of the (first) model's files.
  const std::filesystem::path& directory() const;
  /// Returns the (first) network alone (nn/models/transformer.h).
  const Transformer& network() const;
  /// Returns the object that searches with ids and scores ids. The first call makes it and packs
  /// the weights.
  const BeamSearch& search() const;

  /// Returns the ids of each line's words as search() takes them, without </s>. Error: a line that
  /// is too long, "NAME, line 3 has ..."; the first of `lines` is line first + 1. With `too_long` a
  /// long line is no error: the line gets no ids, and its message is appended to `too_long`.
  std::vector<BeamSearch::Ids> source_ids(const std::vector<std::string>& lines,
                                          const std::string& name, int64_t first = 0,
                                          std::vector<std::string>* too_long = nullptr) const;
  /// Does the same for lines of the target language.
  std::vector<BeamSearch::Ids> target_ids(const std::vector<std::string>& lines,
                                          const std::string& name) const;
  /// Checks the ids of lines with which translations begin. Errors: more ids than `max_length`;
  /// </s> as the first word, or before other words; without `allow_unknown`, an unknown word.
  void check_prefixes(const std::vector<std::string>& lines, std::span<const BeamSearch::Ids> ids,
                      const std::string& name, int64_t max_length, bool allow_unknown) const;
  /// Returns a translation as prose if the models read prose. Otherwise returns its words,
  /// separated by spaces; joins subwords to words if codes or `join` were given, and makes prose if
  /// `detokenize` was given.
  std::string text(std::span<const int32_t> ids) const;

 private:
  struct Parts;
  explicit Translator(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace nine
