// Pairs of sentences for translation: line i of the source belongs to line i of the target.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/line_checksum.h"
#include "data/spelled_specials.h"
#include "data/vocabulary.h"

namespace nine {

/// Calls its argument with each pair of lines of a text, from the first on; can be called again.
using PairText = std::function<void(
    const std::function<void(std::string_view source, std::string_view target)>&)>;

/// Lines of files, read side by side; several files of a side are one text. Errors when read:
/// TextReader's; sides with different numbers of lines (both are named). Where both sides have as
/// many files, this is so for each pair of files.
PairText pairs_of_files(std::vector<std::string> source, std::vector<std::string> target);
/// Lines in memory, as many on each side; they must outlive it.
PairText pairs_of_lines(std::span<const std::string> source, std::span<const std::string> target);

/// The words of either side, counted; joint: all of them in `source`.
struct PairCounts {
  WordCounts source, target;
  PairCounts(const PairText& text, bool joint);
};

/// Which pairs of a text are taken.
struct PairSelection {
  bool keep_empty = true;  ///< take pairs with a side without a word
  int64_t max_length = 0;  ///< longest side, </s> counted; 0: no limit
};

/// Encoded pairs. Each side of each ends with </s>.
class ParallelCorpus {
 public:
  /// Encodes the selected pairs of a text. Errors: those of reading it.
  ParallelCorpus(const PairText& text, const Vocabulary& source, const Vocabulary& target,
                 const PairSelection& selection = {});

  int64_t pairs() const { return static_cast<int64_t>(lines_.size()); }
  std::span<const int32_t> source(int64_t i) const { return source_.sentence(i); }
  std::span<const int32_t> target(int64_t i) const { return target_.sentence(i); }
  int64_t source_length(int64_t i) const { return std::ssize(source(i)); }
  int64_t target_length(int64_t i) const { return std::ssize(target(i)); }
  /// Where pair i stands in its text: 1, 2, ...
  int64_t line(int64_t i) const { return lines_[static_cast<size_t>(i)]; }

  /// Tokens of a side, each </s> counted, and those that are <unk>.
  int64_t source_tokens() const { return std::ssize(source_.flat); }
  int64_t target_tokens() const { return std::ssize(target_.flat); }
  int64_t source_unknown() const { return source_.unknown; }
  int64_t target_unknown() const { return target_.unknown; }
  /// Words of a side that are spelled as a special.
  const SpelledSpecials& source_spelled() const { return source_.spelled; }
  const SpelledSpecials& target_spelled() const { return target_.spelled; }
  /// How often each of `words` ids occurs in the target.
  std::vector<int64_t> target_counts(int64_t words) const;
  /// Tokens of the longest sentence of either side, </s> counted; 0 without pairs.
  int64_t longest() const;
  /// Pairs that the selection left out, for an empty side or for their length.
  int64_t skipped_empty() const { return skipped_empty_; }
  int64_t skipped_long() const { return skipped_long_; }
  /// Of the lines of a side, those of pairs that were left out too.
  uint32_t source_checksum() const { return source_.lines.value(); }
  uint32_t target_checksum() const { return target_.lines.value(); }
  /// CRC-32C over the ids of both sides and their lengths, by which versions up to 0.2.0 knew a
  /// text.
  uint32_t id_checksum() const;

 private:
  struct Side {
    std::vector<int32_t> flat;
    std::vector<int64_t> offsets = {0};  // of each sentence's first token, and the end
    int64_t unknown = 0;
    LineChecksum lines;
    SpelledSpecials spelled{Specials::kTranslation};
    void add(std::span<const int32_t> ids);
    std::span<const int32_t> sentence(int64_t i) const;
  };
  Side source_, target_;
  std::vector<int64_t> lines_;
  int64_t skipped_empty_ = 0, skipped_long_ = 0;
};

}  // namespace nine
