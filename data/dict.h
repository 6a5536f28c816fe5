// fairseq's dictionary of a translation model: 0 <s>, 1 <pad>, 2 </s>, 3 <unk>, then the words of
// dict.txt by line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/bpe_text.h"
#include "data/vocabulary.h"

namespace nine {

class Dictionary {
 public:
  static constexpr int32_t kStart = 0, kPad = 1, kEnd = 2, kUnknown = 3;
  static constexpr int32_t kSpecials = 4;

  /// The specials alone.
  Dictionary();
  /// The words of a text in fairseq's order: by count, ties by code point; those that occur at
  /// least `min_count` times, at most `limit` entries with the specials (0: no limit). What falls
  /// out counts for <unk>; specials that the text spells out add to the counts of these.
  explicit Dictionary(const WordTally& tally, int64_t min_count = 1, int64_t limit = 0);
  /// Reads dict.txt: `word count` a line, optionally followed by #fairseq:overwrite. As in fairseq
  /// a repeated word or a special is an error unless flagged: then the later id counts. Errors name
  /// file and line.
  static Dictionary read(const std::string& path);

  /// The text of dict.txt: what read() and fairseq accept. The specials are not in it.
  std::string text() const;

  int32_t size() const { return static_cast<int32_t>(words_.size()); }  ///< with the specials
  /// The id of a word, kUnknown when it has none.
  int32_t id(std::string_view word) const;
  /// The word of an id, its occurrences. Error: no such id.
  const std::string& word(int32_t id) const;
  int64_t count(int32_t id) const;
  /// The ids of a line's words, separated as in bpe_text.h, then kEnd.
  std::vector<int32_t> encode(std::string_view line) const;

 private:
  void add(std::string_view word, int64_t count);

  std::vector<std::string> words_;  // by id
  std::vector<int64_t> counts_;     // by id
  TextMap<int32_t> ids_;
};

}  // namespace nine
