// The words that a model knows and their numbers: 0 </s>, 1 <unk>, then the text's words, the most
// frequent first.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace nine {

/// Lets a table of strings be asked with a string_view, without a copy.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
template <class Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

/// How often each word of a text occurs.
struct WordCounts {
  TextMap<int64_t> words;
  int64_t sentences = 0;
  int64_t tokens = 0;  ///< words, without ends of sentence

  void add(std::span<const std::string_view> sentence);
};

/// Counts the words of files, or of lines in memory. Errors: LineReader's.
WordCounts count_words(const std::vector<std::string>& paths);
WordCounts count_words_of_lines(std::span<const std::string> lines);

class Vocabulary {
 public:
  static constexpr int32_t kEnd = 0;      ///< </s>, ends each sentence
  static constexpr int32_t kUnknown = 1;  ///< <unk>, stands for every other word
  static constexpr std::string_view kEndText = "</s>";
  static constexpr std::string_view kUnknownText = "<unk>";

  /// The words that occur at least `min_count` times, by count, ties by code point; at most
  /// `vocab_size` entries with the two specials (0: no limit). A literal </s> or <unk> in the text
  /// counts for the special. Errors: no word is left, or a limit that leaves no room for one.
  static Vocabulary build(const WordCounts& counts, int64_t min_count = 1, int64_t vocab_size = 0);

  /// Reads fairseq's dict.txt: `word count` a line, optionally `#fairseq:overwrite` after it; ids
  /// 2, 3, ... follow the lines. Lines for </s> and <unk>, which fairseq does not write, give those
  /// their counts and no new id. As in fairseq a repeated word is an error, unless flagged: then it
  /// keeps both ids and is encoded as the later. Errors name file and line: no count, a malformed
  /// one, a repeated word, no word at all.
  static Vocabulary read(const std::string& path);

  /// The text of a dict.txt that fairseq and read() accept. The specials are not in it, as readers
  /// of such files number the words by line; their counts come back with set_special_counts().
  std::string dict() const;
  /// Writes dict(). Errors: the file cannot be written.
  void write(const std::string& path) const;

  int32_t size() const { return static_cast<int32_t>(words_.size()); }  ///< with the two specials
  /// The id of a word, kUnknown when it has none. Does not allocate.
  int32_t id(std::string_view word) const;
  /// The word of an id. Error: no such id.
  const std::string& word(int32_t id) const;
  /// Occurrences in the text that the vocabulary was built from: for </s> its sentences, for <unk>
  /// the occurrences of words that fell out. Error: no such id.
  int64_t count(int32_t id) const;
  /// Occurrences by id.
  const std::vector<int64_t>& counts() const { return counts_; }
  /// For a vocabulary that was read: Corpus::sentences() and Corpus::unknown() of its training
  /// text.
  void set_special_counts(int64_t end, int64_t unknown);

  /// Appends the ids of a sentence's words, without </s>.
  void encode(std::span<const std::string_view> sentence, std::vector<int32_t>& ids) const;
  /// The same for a line of text.
  std::vector<int32_t> encode(std::string_view line) const;

 private:
  Vocabulary();
  void add(std::string_view word, int64_t count);
  void add_dict_line(std::string_view line, const std::string& place, bool special_seen[2]);
  void check_id(int32_t id) const;

  std::vector<std::string> words_;  // by id
  std::vector<int64_t> counts_;     // by id
  TextMap<int32_t> ids_;
};

}  // namespace nine
