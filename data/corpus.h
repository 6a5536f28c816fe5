// A text as word ids: every sentence of one or several files, each followed by </s>, in one flat
// array.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/line_checksum.h"
#include "data/spelled_specials.h"
#include "data/vocabulary.h"

namespace nine {

/// The size of a raw text, for figures per word and per byte.
struct RawSize {
  int64_t bytes = 0, words = 0;
};

/// Holds encoded sentences. Memory: four bytes a token and eight bytes a sentence.
class Corpus {
 public:
  /// Encodes the sentences of files in file order. An empty line is a sentence of </s> alone. Reads
  /// the files twice, the first time to know the size. Errors: those of TextReader; a pipe or a
  /// device.
  Corpus(const std::vector<std::string>& paths, const Vocabulary& vocabulary);
  /// Encodes lines in memory; each line is a sentence.
  static Corpus of_lines(std::span<const std::string> lines, const Vocabulary& vocabulary);

  /// Takes ids that were encoded elsewhere (data/tokenizers/raw_text.h). offsets[i] is where
  /// sentence i begins; the last offset is the number of ids. `unknown` is what unknown() returns.
  static Corpus of_ids(std::vector<int32_t> ids, std::vector<int64_t> offsets,
                       const LineChecksum& checksum, RawSize size, int64_t unknown);

  /// Joins sentences to documents, which then count as sentences: a document ends with an empty
  /// sentence, or with the text. Its tokens are those of its sentences, each with its </s>; an
  /// empty sentence adds its </s> to the document that it ends. Empty sentences behind another one,
  /// or at the beginning, are documents of their own.
  void join_documents();

  int64_t sentences() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  /// Returns the number of predicted tokens: words and ends of sentence.
  int64_t tokens() const { return static_cast<int64_t>(flat_.size()); }
  /// Returns the number of tokens that are <unk>, or the unknown token of the text's tokenizer.
  int64_t unknown() const { return unknown_; }
  /// Returns the size of the raw text; 0 for a text of words.
  RawSize raw_size() const { return raw_size_; }
  /// Returns the words that are spelled as a special word.
  const SpelledSpecials& spelled_specials() const { return spelled_; }
  /// sentence() returns the ids of sentence i (0 <= i < sentences()), including the final </s>.
  /// length() returns the number of these ids.
  std::span<const int32_t> sentence(int64_t i) const {
    return flat().subspan(begin(i), begin(i + 1) - begin(i));
  }
  int64_t length(int64_t i) const { return static_cast<int64_t>(begin(i + 1) - begin(i)); }
  /// Returns the number of occurrences of each id below `words`.
  std::vector<int64_t> counts(int64_t words) const;
  /// Returns the checksum of the corpus's lines.
  uint32_t checksum() const { return checksum_.value(); }
  /// Returns the CRC-32C of the ids, by which versions up to 0.2.0 identified a text.
  uint32_t id_checksum() const;
  /// Returns the ids of all sentences, one sentence after another.
  std::span<const int32_t> flat() const { return flat_; }

  /// Gives each token a weight in the training loss, in flat()'s order. Error: another count.
  void set_weights(std::vector<double> weights);
  /// Returns the weight of each token; empty if the tokens have no weights.
  std::span<const double> weights() const { return weights_; }
  /// Returns the number in flat() of the first token of sentence i.
  size_t begin(int64_t i) const { return static_cast<size_t>(offsets_[static_cast<size_t>(i)]); }

 private:
  Corpus() = default;
  void reserve(int64_t sentences, int64_t tokens);
  void add(std::span<const std::string_view> sentence, const Vocabulary& vocabulary);

  std::vector<int32_t> flat_;
  std::vector<double> weights_;
  std::vector<int64_t> offsets_ = {0};  // of the first token of each sentence, then the end
  int64_t unknown_ = 0;
  RawSize raw_size_;
  LineChecksum checksum_;
  SpelledSpecials spelled_{Specials::kLanguageModel};
};

}  // namespace nine
