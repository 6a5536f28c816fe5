// The words that a model has and their numbers: first the special words of its kind, then the words
// of its text, the most frequent first. The file of a vocabulary is fairseq's dict.txt.
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

/// The words that stand before the text's own: their texts, and the ids that have a meaning.
struct Specials {
  static constexpr int32_t kNone = -1;

  std::array<std::string_view, 4> texts;  ///< by id
  int32_t size = 0;                       ///< how many there are: the id of the first other word
  int32_t end = kNone;                    ///< </s>, ends each sentence
  int32_t unknown = kNone;                ///< <unk>, stands for every word without an id
  int32_t pad = kNone;                    ///< <pad>, fills up a batch
  /// Whether a line of a dict.txt for a special gives it its count. Otherwise such a line is an
  /// error, as in fairseq, unless it is flagged.
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
  int64_t min_count = 1;  ///< least occurrences of a word; 0 and 1 keep every word
  int64_t size = 0;       ///< most entries with the specials; 0: no limit
};

/// Words with their ids and counts.
class Vocabulary {
 public:
  /// The specials alone. Error: </s> or <unk> is none of them.
  explicit Vocabulary(const Specials& specials);

  /// The words of a text by count, ties by code point. Words that are spelled as a special count
  /// for that special, words left out count for <unk>. `text` names the text in errors. Errors: no
  /// word is left; a negative minimum count; a size that leaves no room for a word.
  static Vocabulary build(const WordCounts& counts, const Specials& specials,
                          const VocabularyLimits& limits = {},
                          std::string_view text = "the training text");
  /// All words of a text, which may have none.
  static Vocabulary of_all_words(const WordCounts& counts, const Specials& specials);

  /// Reads dict.txt: `word count` a line, optionally followed by #fairseq:overwrite; the ids after
  /// the specials follow the lines. As in fairseq a repeated word is an error unless flagged: then
  /// it keeps both ids and is encoded as the later. Lists of other programs are read too
  /// (data/word_list.h); their marks are left out. Errors name file and line: no count, a malformed
  /// one, a repeated word, a special that may not be listed, no word at all, JSON.
  static Vocabulary read(const std::string& path, const Specials& specials);
  /// dict.txt of a saved model, which may know no word: it may be empty. It is no other list.
  static Vocabulary read_saved(const std::string& path, const Specials& specials);

  /// The text of a dict.txt that fairseq and read() can read. The specials are not in it, as
  /// readers of such files number the words by line; their counts are restored by
  /// set_special_counts().
  std::string dict_text() const;
  /// The same with other counts, those of another text by id. Error: not one for each id.
  std::string dict_text(std::span<const int64_t> counts) const;
  /// CRC-32C of the words in their order, the specials too; counts do not matter.
  uint32_t word_checksum() const;
  /// Writes dict_text(). Errors: the file cannot be written.
  void write(const std::string& path) const;

  const Specials& specials() const { return specials_; }
  int32_t size() const { return static_cast<int32_t>(words_.size()); }  ///< with the specials
  /// The id of a word, that of <unk> when it has none. Does not allocate.
  int32_t id(std::string_view word) const;
  /// The word of an id. Error: no such id.
  const std::string& word(int32_t id) const;
  /// Occurrences in the text that the vocabulary was built from: for </s> its sentences, for <unk>
  /// the occurrences of words left out. Error: no such id.
  int64_t count(int32_t id) const;
  /// Occurrences by id.
  const std::vector<int64_t>& counts() const { return counts_; }
  /// For a vocabulary that was read: Corpus::sentences() and Corpus::unknown() of its training
  /// text.
  void set_special_counts(int64_t end, int64_t unknown);

  /// Appends the ids of a sentence's words, without </s>.
  void encode(std::span<const std::string_view> sentence, std::vector<int32_t>& ids) const;
  /// The ids of a line's words, which spaces and tabs separate (data/text.h), without </s>.
  std::vector<int32_t> encode(std::string_view line) const;
  /// The same, and then </s>.
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
