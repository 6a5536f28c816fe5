// The vocabulary of a model: its words and their ids. The special words come first, then the words
// of the training text by decreasing count. Its file is fairseq's dict.txt.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/text_map.h"
#include "data/word_counts.h"

namespace nine {

/// The special words of a kind of model: their texts, and the ids with a meaning.
struct Specials {
  static constexpr int32_t kNone = -1;

  std::array<std::string_view, 4> texts;  ///< by id: the first `size` are used
  int32_t size = 0;         ///< number of special words: the id of the first other word
  int32_t end = kNone;      ///< </s>: ends each sentence
  int32_t unknown = kNone;  ///< <unk>: stands for every word without an id
  int32_t pad = kNone;      ///< <pad>: fills up a batch
  /// True if dict.txt may list special words, to set their counts. False: such a line is an error,
  /// as in fairseq, unless it has the flag #fairseq:overwrite.
  bool may_be_listed = false;

  constexpr std::string_view text(int32_t id) const { return texts[static_cast<size_t>(id)]; }

  static const Specials kLanguageModel;  ///< 0 </s>, 1 <unk>
  static const Specials kTranslation;    ///< fairseq's: 0 <s>, 1 <pad>, 2 </s>, 3 <unk>
};
inline constexpr Specials Specials::kLanguageModel{
    .texts = {"</s>", "<unk>"}, .size = 2, .end = 0, .unknown = 1, .may_be_listed = true};
inline constexpr Specials Specials::kTranslation{
    .texts = {"<s>", "<pad>", "</s>", "<unk>"}, .size = 4, .end = 2, .unknown = 3, .pad = 1};

/// Limits on the words that a vocabulary takes from a text.
struct VocabularyLimits {
  int64_t min_count = 1;  ///< fewest occurrences of a word that is kept; 0 and 1 keep every word
  int64_t size = 0;       ///< most entries, special words included; 0: no limit
};

/// Words with their ids and counts.
class Vocabulary {
 public:
  /// Makes a vocabulary of the special words alone. Error: </s> or <unk> is missing.
  explicit Vocabulary(const Specials& specials);

  /// Makes a vocabulary of a text's words by decreasing count, ties by code point. A word spelled
  /// like a special word counts for the special word. Words that the limits exclude count for
  /// <unk>. Errors: no word is left; a negative minimum count; a size without room for a word.
  /// Messages call the text `text`.
  static Vocabulary build(const WordCounts& counts, const Specials& specials,
                          const VocabularyLimits& limits = {},
                          std::string_view text = "the training text");
  /// Makes a vocabulary of all words of a text. The text may have no words.
  static Vocabulary of_all_words(const WordCounts& counts, const Specials& specials);

  /// Makes a vocabulary of words in the order of their ids, which follow those of the special
  /// words. Counts are 0. Error: a word is there twice, or is a special word.
  static Vocabulary of_list(std::span<const std::string> words, const Specials& specials);

  /// Reads dict.txt: `word count` a line, optionally followed by #fairseq:overwrite. The ids after
  /// the special words follow the lines. As in fairseq, a repeated word is an error unless its line
  /// has the flag: then both ids stand for the word, and id() returns the later one. It also reads
  /// vocabularies of OpenNMT, SentencePiece, Marian and Kaldi (data/word_list.h), and leaves out
  /// their special words, such as <s> or <blank>. Errors name file and line: no count; a malformed
  /// count; a repeated word; a special word that may not be listed; no words; JSON.
  static Vocabulary read(const std::string& path, const Specials& specials);
  /// Reads dict.txt of a saved model, which may be empty. Word lists of other programs are not
  /// accepted. Error: the file is not a regular file.
  static Vocabulary read_saved(const std::string& path, const Specials& specials);

  /// Returns the text of a dict.txt for fairseq and read(). It omits the special words, because
  /// readers number the words by line. set_special_counts() restores their counts.
  std::string dict_text() const;
  /// Returns dict_text() with other counts: counts[id] for each id, special words included. Error:
  /// the number of counts is not size().
  std::string dict_text(std::span<const int64_t> counts) const;
  /// Returns the CRC-32C of the words in their order, special words included. Counts do not matter.
  uint32_t word_checksum() const;
  /// Writes dict_text() to a file. Error: the file cannot be written.
  void write(const std::string& path) const;

  const Specials& specials() const { return specials_; }
  int32_t size() const { return static_cast<int32_t>(words_.size()); }  ///< special words included
  /// Returns the id of a word; the id of <unk> for an unknown word. Allocates no memory.
  int32_t id(std::string_view word) const;
  /// Returns the word of an id. Error: the id is outside of [0, size()).
  const std::string& word(int32_t id) const;
  /// Returns the occurrences in the text that the vocabulary was built from. For </s> they are its
  /// sentences, for <unk> the occurrences of words that were left out. Error: the id is outside of
  /// [0, size()).
  int64_t count(int32_t id) const;
  /// Returns count() of every id.
  const std::vector<int64_t>& counts() const { return counts_; }
  /// Sets the counts of </s> and <unk> of a vocabulary that was read. end: the number of sentences
  /// of its training text; unknown: the number of occurrences of words that it lacks.
  void set_special_counts(int64_t end, int64_t unknown);

  /// Appends the ids of a sentence's words, without </s>.
  void encode(std::span<const std::string_view> sentence, std::vector<int32_t>& ids) const;
  /// Returns the ids of a line's words, which spaces and tabs separate (data/text.h), without </s>.
  std::vector<int32_t> encode(std::string_view line) const;
  /// Returns encode(line) followed by </s>.
  std::vector<int32_t> encode_sentence(std::string_view line) const;

 private:
  void add(std::string_view word, int64_t count);
  void add_words(const WordCounts& counts, const VocabularyLimits& limits);
  void add_dict_line(std::string_view line, const std::string& place, std::vector<bool>& listed);
  void check_id(int32_t id) const;

  Specials specials_;
  std::vector<std::string> words_;  // by id
  std::vector<int64_t> counts_;     // by id
  TextMap<int32_t> ids_;
};

}  // namespace nine
