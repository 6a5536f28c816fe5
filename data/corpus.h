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

/// Encoded sentences. Memory: four bytes a token and eight a sentence.
class Corpus {
 public:
  /// Encodes files, sentence by sentence in file order; an empty line is a sentence of </s> alone.
  /// The files are read twice, first to know the size. Errors: TextReader's; a pipe or a
  /// device.
  Corpus(const std::vector<std::string>& paths, const Vocabulary& vocabulary);
  /// Encodes lines in memory, each a sentence.
  static Corpus of_lines(std::span<const std::string> lines, const Vocabulary& vocabulary);

  int64_t sentences() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  /// Predicted tokens: words and ends of sentence.
  int64_t tokens() const { return static_cast<int64_t>(flat_.size()); }
  /// Tokens that are <unk>; their share is unknown() / tokens().
  int64_t unknown() const { return unknown_; }
  /// Words that are spelled as a special.
  const SpelledSpecials& spelled_specials() const { return spelled_; }
  /// The ids of sentence i (0 <= i < sentences()), the final </s> included; `length` is their
  /// number.
  std::span<const int32_t> sentence(int64_t i) const {
    return flat().subspan(begin(i), begin(i + 1) - begin(i));
  }
  int64_t length(int64_t i) const { return static_cast<int64_t>(begin(i + 1) - begin(i)); }
  /// How often each of `words` ids occurs.
  std::vector<int64_t> counts(int64_t words) const;
  /// Of the lines that it was made of.
  uint32_t checksum() const { return checksum_.value(); }
  /// CRC-32C over the ids, by which versions up to 0.2.0 knew a text.
  uint32_t id_checksum() const;
  /// All sentences one after another.
  std::span<const int32_t> flat() const { return flat_; }

 private:
  Corpus() = default;
  void reserve(int64_t sentences, int64_t tokens);
  void add(std::span<const std::string_view> sentence, const Vocabulary& vocabulary);
  size_t begin(int64_t i) const { return static_cast<size_t>(offsets_[static_cast<size_t>(i)]); }

  std::vector<int32_t> flat_;
  std::vector<int64_t> offsets_ = {0};  // of each sentence's first token, and the end
  int64_t unknown_ = 0;
  LineChecksum checksum_;
  SpelledSpecials spelled_{Specials::kLanguageModel};
};

}  // namespace nine
