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

/// Calls its argument with each pair of lines of a text, from the first pair on. It can be called
/// again.
using PairText = std::function<void(
    const std::function<void(std::string_view source, std::string_view target)>&)>;

/// Returns the lines of files, read side by side. Several files of a side are one text. Errors,
/// while the files are read: those of TextReader; sides with different numbers of lines, whose
/// files the message names. If both sides have the same number of files, each pair of files must
/// have the same number of lines.
PairText pairs_of_files(std::vector<std::string> source, std::vector<std::string> target);
/// Returns lines in memory, which must outlive the result. Both sides must have the same number of
/// lines.
PairText pairs_of_lines(std::span<const std::string> source, std::span<const std::string> target);

/// Counts the words of each side. With `joint`, counts the words of both sides in `source`.
struct PairCounts {
  WordCounts source, target;
  PairCounts(const PairText& text, bool joint);
};

/// Appends the ids of a line, without </s>.
using LineEncoder = std::function<void(std::string_view line, std::vector<int32_t>& ids)>;

/// How the lines of a text become ids.
struct PairEncoding {
  LineEncoder source, target;
  bool raw = false;  ///< true: white space is text too, so that checksums cover it
  /// The ids that stand for text without an id.
  int32_t source_unknown = Specials::kTranslation.unknown,
          target_unknown = Specials::kTranslation.unknown;
};

/// Chooses the pairs of a text.
struct PairSelection {
  bool keep_empty = true;  ///< keep pairs that have a side without a word
  int64_t max_length = 0;  ///< most tokens of a side, with </s>; 0: no limit
};

/// Holds encoded pairs. Each side of a pair ends with </s>.
class ParallelCorpus {
 public:
  /// Encodes the selected pairs of a text. Errors: those of reading the text.
  ParallelCorpus(const PairText& text, const Vocabulary& source, const Vocabulary& target,
                 const PairSelection& selection = {});
  ParallelCorpus(const PairText& text, const PairEncoding& encoding,
                 const PairSelection& selection = {});

  int64_t pairs() const { return static_cast<int64_t>(lines_.size()); }
  std::span<const int32_t> source(int64_t i) const { return source_.sentence(i); }
  std::span<const int32_t> target(int64_t i) const { return target_.sentence(i); }
  int64_t source_length(int64_t i) const { return std::ssize(source(i)); }
  int64_t target_length(int64_t i) const { return std::ssize(target(i)); }
  /// Returns the line of pair i in its text, from 1.
  int64_t line(int64_t i) const { return lines_[static_cast<size_t>(i)]; }

  /// Return the number of a side's tokens, with </s>, and the number of unknown ones among them.
  int64_t source_tokens() const { return std::ssize(source_.flat); }
  int64_t target_tokens() const { return std::ssize(target_.flat); }
  int64_t source_unknown() const { return source_.unknown; }
  int64_t target_unknown() const { return target_.unknown; }
  /// Return the words of a side that are spelled as a special word.
  const SpelledSpecials& source_spelled() const { return source_.spelled; }
  const SpelledSpecials& target_spelled() const { return target_.spelled; }
  /// Return the number of occurrences in a side of each id below `words`.
  std::vector<int64_t> source_counts(int64_t words) const { return source_.counts(words); }
  std::vector<int64_t> target_counts(int64_t words) const { return target_.counts(words); }
  /// Gives each token of the target a weight in the training loss, pair after pair. Error: another
  /// count.
  void set_target_weights(std::vector<double> weights);
  /// Returns the weights of pair i's target; empty if the tokens have no weights.
  std::span<const double> target_weights(int64_t i) const;
  /// Returns the lines of each side's text, also of pairs that were left out.
  int64_t lines() const { return pairs() + skipped_empty_ + skipped_long_; }
  /// Returns the number of tokens, with </s>, of the longest sentence of both sides; 0 without
  /// pairs.
  int64_t longest() const;
  /// Return how many pairs the selection left out because of an empty side, and because of their
  /// length.
  int64_t skipped_empty() const { return skipped_empty_; }
  int64_t skipped_long() const { return skipped_long_; }
  /// Return the checksum of a side's lines, including pairs that were left out.
  uint32_t source_checksum() const { return source_.lines.value(); }
  uint32_t target_checksum() const { return target_.lines.value(); }
  /// Returns the CRC-32C of the ids of both sides and their lengths, by which versions up to 0.2.0
  /// identified a text.
  uint32_t id_checksum() const;

 private:
  struct Side {
    std::vector<int32_t> flat;
    std::vector<int64_t> offsets = {0};  // of the first token of each sentence, then the end
    int32_t unknown_id = Specials::kTranslation.unknown;
    int64_t unknown = 0;
    LineChecksum lines;
    SpelledSpecials spelled{Specials::kTranslation};
    void add(std::span<const int32_t> ids);
    std::span<const int32_t> sentence(int64_t i) const;
    std::vector<int64_t> counts(int64_t words) const;
  };
  Side source_, target_;
  std::vector<int64_t> lines_;
  std::vector<double> target_weights_;
  int64_t skipped_empty_ = 0, skipped_long_ = 0;
};

}  // namespace nine
