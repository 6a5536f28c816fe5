// Matches the words of a training with those of the model from which it starts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "nn/models/language_words.h"

namespace nine {

/// From which rows of a model's tables the words of another vocabulary start.
struct WordMatch {
  /// For each word, the rows of the model whose mean the word starts from. They are the row of the
  /// same word alone, or the rows of the pieces into which the model's tokenizer cuts the word.
  /// Empty: the rows in `all`.
  std::vector<std::vector<int32_t>> sources;
  std::vector<int32_t> all;  ///< the rows whose mean stands for a word without pieces
  /// The words that both have, those that the model lacks, and those of the model alone.
  std::vector<std::string> kept, added, dropped;
  bool same = true;  ///< both have the same words in the same order

  /// Returns the new vocabulary's table, with its number of words in place of V. `table` is the
  /// model's: (V, d), (V), or (K, V, d) for K components. Computes means in float64.
  Tensor rows(const Tensor& table) const;
};

/// Matches the words of `vocabulary`, and of `tokenizer` if it reads raw text (else null), with
/// those of a model. Tokens of two tokenizers are the same if they add the same bytes to a text. A
/// word of a text of words is the same as a token if the token adds the word and a space before it.
/// `excluded`: by row of the model, true for a row that its bias excludes. </s> and <unk> are the
/// model's. For words, an excluded <unk> is the tokenizer's own unknown token, or a new word.
WordMatch match_words(const LanguageWords& model, const std::vector<bool>& excluded,
                      const Vocabulary& vocabulary, const ModelTokenizer* tokenizer);

}  // namespace nine
