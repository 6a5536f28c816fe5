// The word vectors of a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "apps/report/place_labels.h"
#include "core/tensor.h"
#include "data/vocabulary.h"

namespace nine::app {

/// Words of a model with their vectors in the output layer; reports show the most frequent ones,
/// without </s> and <unk>.
struct WordVectors {
  std::vector<std::string> words;
  std::vector<int64_t> counts;  ///< in the training text; all 0 if not `counted`
  Tensor vectors;               ///< (n, d), float64
  std::vector<double> norms;    ///< of the vectors
  std::string tensor;           ///< its name in model.safetensors
  /// False: the model has no dict.txt with counts. The words are then the first tokens of its
  /// tokenizer.
  bool counted = true;

  /// "most frequent words", or "first tokens of the tokenizer".
  const char* chosen() const {
    return counted ? "most frequent words" : "first tokens of the tokenizer";
  }
  /// The names of the files that the vectors and their words come from.
  const char* origin() const {
    return counted ? "model.safetensors and dict.txt" : "the model’s tensors and its tokenizer";
  }
};

/// The ids of a vocabulary's words after the specials by their counts, the largest first, ties in
/// the order of the ids: a dictionary of --vocab may have any order.
std::vector<int32_t> ids_by_count(const Vocabulary& vocabulary);

/// Reads the vectors of the words `ids` of the model in `directory` (model.safetensors), whose
/// words are `vocabulary`: those of the output layer, of an untied mixture the first component's.
/// They are in head.weight, or in embedding.weight where they are tied to it. Errors: there
/// is no such model; it has another number of words than `vocabulary`.
WordVectors read_word_vectors(const std::filesystem::path& directory, const Vocabulary& vocabulary,
                              std::span<const int32_t> ids);
/// The same of the at most `most` first words of ids_by_count of the model's own words: those of
/// its dict.txt, or, in a directory of transformers, of its tokenizer (language_words).
WordVectors read_word_vectors(const std::filesystem::path& directory, int64_t most);

/// The word by which polar plots are turned: "the", or the most frequent where there is no such
/// word.
size_t reference_word(const WordVectors& words);

/// Where the words stand when their angle is that of the first two principal components of the
/// vectors about their mean, and their distance from the origin the vector's norm in all
/// dimensions. Turned so that the reference word points up, and mirrored so that the most frequent
/// of the others lies to its right: principal components leave both open.
std::vector<Place> polar_places(const WordVectors& words, uint64_t seed);

}  // namespace nine::app
