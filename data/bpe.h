// Applying byte pair encoding (BPE) with the codes of subword-nmt, and undoing it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/glossary.h"
#include "data/python_random.h"
#include "data/string_table.h"

namespace nine {

class TextReader;
struct WordCounts;

/// The usual separator, as in "foot@@ ball".
inline constexpr std::string_view kBpeSeparator = "@@";

/// The codes of a file: the merges in the order of their application.
struct BpeCodes {
  std::vector<std::pair<std::string, std::string>> merges;
  /// True in version 0.1: </w> is a symbol by itself, not the end of a symbol.
  bool separate_end = false;

  /// Reads a file of codes: a line "#version: 0.2" or "#version: 0.1" (without it: 0.1), then a
  /// line `left right` for each merge. Keeps the first `most` merges (-1: all). It also reads
  /// fastBPE's codes, whose lines end with a frequency; there separate_end is false. Errors name
  /// file and line: a line that is not two symbols; another version; merges that mark spaces
  /// instead of </w>; a file that is a vocabulary (words with counts and no version) or JSON.
  static BpeCodes read(const std::string& path, int64_t most = -1);
  /// Reads codes from a stream. Errors call the stream `name`.
  static BpeCodes read(std::istream& in, const std::string& name, int64_t most = -1);
};

/// Reads the subwords that may be used: those of a vocabulary file, `subword count` a line, with a
/// count of at least `threshold`. Errors name file and line: no count; a list whose numbers are ids
/// (0, 1, ... in any order, or JSON) and not counts; no subword reaches the threshold. Gives a
/// notice() if no subword ends with `separator`, because words are then cut into characters.
StringTable read_bpe_vocabulary(const std::string& path, int64_t threshold,
                                std::string_view separator = kBpeSeparator);
/// Returns the number of occurrences of words that end with `separator`, as subwords do: the sum of
/// their counts.
int64_t count_joints(const WordCounts& words, std::string_view separator);

/// Settings of the cut of words into subwords.
struct SegmentOptions {
  std::string separator{kBpeSeparator};  ///< follows each subword that does not end its word
  /// The subwords that may be used. A subword outside of the vocabulary is split again by undoing
  /// its merges. Empty: every subword may be used, as in subword-nmt.
  StringTable vocabulary;
  Glossaries glossaries;
};

/// A cache of words and their subwords, so that a repeated word is not cut again. A cache belongs
/// to one thread and one BpeSegmenter, and keeps every word.
class BpeCache {
 public:
  StringTable words;
  /// Returns the subwords of word number `word` of `words`, separated by spaces. For a new word,
  /// call words.add(), then add() with its subwords.
  std::string_view subwords(int32_t word) const {
    const size_t begin = word == 0 ? 0 : ends_[static_cast<size_t>(word) - 1];
    return std::string_view(text_).substr(begin, ends_[static_cast<size_t>(word)] - begin);
  }
  void add(std::string_view subwords) {
    text_ += subwords;
    ends_.push_back(text_.size());
  }
  /// True if `word`, the newest of `words`, still needs its add().
  bool lacks(int32_t word) const { return static_cast<size_t>(word) == ends_.size(); }

 private:
  std::string text_;
  std::vector<size_t> ends_;
};

/// The randomness of BPE-dropout (Provilkov, Emelianenko and Voita, "BPE-dropout", ACL 2020): at
/// each step of a word, each possible merge is left out with the probability `rate`. The random
/// numbers and their order are subword-nmt's.
struct BpeDropout {
  double rate = 0;
  PythonRandom random;
};

/// Cuts words into subwords. Several threads may call const functions at once.
class BpeSegmenter {
 public:
  BpeSegmenter(const BpeCodes& codes, SegmentOptions options = {});
  const SegmentOptions& options() const { return options_; }

  /// Appends a word's subwords to `out`: "foot@@ ball". A word of one character stays whole even if
  /// the vocabulary lacks it.
  void segment_word(std::string_view word, std::string& out, BpeDropout* dropout = nullptr) const;
  /// Appends the lines of `block` with their words cut. Only spaces, and no tabs, separate the
  /// words of `block`. In the result a single space stands between two subwords. Spaces around a
  /// line and line ends stay.
  void segment(std::string_view block, std::string& out, BpeCache& cache) const;
  void segment(std::string_view block, std::string& out, BpeDropout& dropout) const;

 private:
  struct Node {
    int32_t symbol;  // StringTable::kNone: in no merge
    uint32_t rank;   // rank of the merge with the next node, or kNoRank
    uint32_t end;    // end of the node's text in the word
  };
  using Nodes = std::vector<Node>;
  struct Scratch {  // memory kept from word to word
    Nodes nodes;
    std::vector<size_t> places;
  };
  using Subwords = std::vector<std::string>;

  template <class Segment>
  void segment_lines(std::string_view block, std::string& out, Segment&& segment_one) const;
  template <class Add>
  void cut(std::string_view text, BpeDropout* dropout, Scratch& scratch, Add&& add) const;
  void segment_word(std::string_view word, std::string& out, BpeDropout* dropout,
                    Scratch& scratch) const;
  int32_t symbol_of(std::string_view character, bool final) const;
  void set_characters(std::string_view text, Nodes& nodes) const;
  void merge(Scratch& scratch, BpeDropout* dropout) const;
  // Sets `places` to the nodes whose merge with the next node has the lowest rank; empty if no
  // merge applies.
  static void find_best(const Nodes& nodes, std::vector<size_t>& places);
  static void find_best(const Nodes& nodes, BpeDropout& dropout, std::vector<size_t>& places);
  void join(Nodes& nodes, const std::vector<size_t>& places) const;
  void set_rank(Node& node, const Node& next) const;
  Subwords in_vocabulary(const Subwords& all) const;
  void split_again(const std::string& subword, bool final, Subwords& out) const;
  bool may_use(const std::string& subword, bool final) const;

  SegmentOptions options_;
  bool separate_end_;
  StringTable symbols_;
  // The symbols of ASCII characters, inside a word and at its end.
  std::array<std::array<int32_t, 128>, 2> ascii_{};
  PairTable pairs_;              // in the order of the codes: a pair's number is its rank
  std::vector<int32_t> merged_;  // by pair: the symbol it becomes
  std::vector<int32_t> splits_;  // by symbol: the pair that it is split into, or kNone
};

/// Cuts the words of a text on all threads and calls write(part) with the parts of the result in
/// order, one call at a time. Reading and writing overlap with the cutting. Adds count_joints() of
/// the text that was read to `joints`, unless null. Errors: those of the reader, after the earlier
/// blocks are written. After an error nothing more is read. No installed header defines TextReader,
/// so that only Nine's own programs can call this.
void segment_text(const BpeSegmenter& segmenter, TextReader& text,
                  const std::function<void(std::string_view)>& write, int64_t* joints = nullptr);

/// Returns how often `separator` stands before a space, as in "foot@@ ball". A number above 0
/// suggests that the text is already cut into subwords.
int64_t count_joints(std::string_view block, std::string_view separator = kBpeSeparator);

/// Returns a warning if only one of two texts, which are compared word by word, is cut into
/// subwords. Subwords end in kBpeSeparator, begin with SentencePiece's `▁`, or begin or end with
/// OpenNMT's `￭`. Otherwise returns an empty text.
std::string subword_warning(std::span<const std::string> a, std::string_view name_a,
                            std::span<const std::string> b, std::string_view name_b);

/// Appends the lines of `block` with their words whole again: removes each separator before a space
/// together with the space, and a separator at the end of a line. Error: an empty separator.
void undo_bpe(std::string_view block, std::string& out, std::string_view separator = kBpeSeparator);

}  // namespace nine
