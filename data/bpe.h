// Applying byte pair encoding with codes of subword-nmt, and undoing it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/glossary.h"
#include "data/python_random.h"
#include "data/string_table.h"

namespace nine {

class TextReader;

inline constexpr std::string_view kBpeSeparator = "@@";

/// A file of codes: the merges, the first to apply first.
struct BpeCodes {
  std::vector<std::pair<std::string, std::string>> merges;
  bool separate_end = false;  ///< version 0.1: the end of a word is a symbol of its own

  /// Reads "#version: 0.2" (or 0.1, or no such line, which means 0.1) and a line `left right` for
  /// each merge, the first `most` of them (-1: all); or fastBPE's codes, whose lines end with a
  /// frequency and where the end of a word is none of its own. Errors name file and line: a line
  /// that is not two symbols, another version; merges that mark spaces and know no </w>; a
  /// vocabulary, words with counts and no version.
  static BpeCodes read(const std::string& path, int64_t most = -1);
  /// The same from a stream that errors call `name`.
  static BpeCodes read(std::istream& in, const std::string& name, int64_t most = -1);
};

/// The subwords that may be used: those of a vocabulary file, `subword count` a line, that occur at
/// least `threshold` times. Errors name file and line: no count; ids in place of counts; no
/// subword that is left.
StringTable read_bpe_vocabulary(const std::string& path, int64_t threshold);

/// How words are cut into subwords.
struct SegmentOptions {
  std::string separator{kBpeSeparator};  ///< follows each subword that does not end its word
  /// Subwords that are not in here are split again by undoing their merges. Empty: no check, as in
  /// subword-nmt.
  StringTable vocabulary;
  Glossaries glossaries;
};

/// The words seen so far and their subwords, so that a repeated word is not cut again.
class BpeCache {
 public:
  StringTable words;
  /// The subwords of a word by its number in `words`, separated by spaces.
  std::string_view subwords(int32_t word) const {
    const size_t begin = word == 0 ? 0 : ends_[static_cast<size_t>(word) - 1];
    return std::string_view(text_).substr(begin, ends_[static_cast<size_t>(word)] - begin);
  }
  void add(std::string_view subwords) {
    text_ += subwords;
    ends_.push_back(text_.size());
  }
  /// Whether `word`, the newest of `words`, still needs its add().
  bool lacks(int32_t word) const { return static_cast<size_t>(word) == ends_.size(); }

 private:
  std::string text_;
  std::vector<size_t> ends_;
};

/// Randomness of BPE-dropout (Provilkov, Emelianenko and Voita, "BPE-dropout", ACL 2020): at each
/// step of a word each possible merge is left out with the probability `rate`. The numbers are
/// those of subword-nmt, one after another.
struct BpeDropout {
  double rate = 0;
  PythonRandom random;
};

/// Cuts words into subwords. Const functions may run on several threads at once.
class BpeSegmenter {
 public:
  BpeSegmenter(const BpeCodes& codes, SegmentOptions options = {});
  const SegmentOptions& options() const { return options_; }

  /// Appends a word's subwords to `out`: "foot@@ ball". A word of one character is kept even if the
  /// vocabulary lacks it.
  void segment_word(std::string_view word, std::string& out, BpeDropout* dropout = nullptr) const;
  /// Appends the lines of `block` with their words cut. Words come out separated by single spaces;
  /// spaces around a line and what ends it stay.
  void segment(std::string_view block, std::string& out, BpeCache& cache) const;
  void segment(std::string_view block, std::string& out, BpeDropout& dropout) const;

 private:
  struct Node {
    int32_t symbol;  // or StringTable::kNone: in no merge
    uint32_t rank;   // of the merge with the next node, or kNoRank
    uint32_t end;    // of its text in the word
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
  // Sets `places` to the nodes whose merge with the next one comes first; none: empty.
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
  std::vector<int32_t> splits_;  // by symbol: the pair it is split into again, or kNone
};

/// Cuts the words of a text on all threads and calls write(part) with the parts of the result in
/// order, one call at a time; reading and writing go on beside the cutting. `joints`, where it is
/// given, becomes larger by count_joints() of the text. Errors: the reader's, after the blocks
/// before theirs are written; after one no more is read.
void segment_text(const BpeSegmenter& segmenter, TextReader& text,
                  const std::function<void(std::string_view)>& write, int64_t* joints = nullptr);

/// How often `separator` stands before a space, as in "foot@@ ball": of a text that is not cut
/// yet, 0.
int64_t count_joints(std::string_view block, std::string_view separator = kBpeSeparator);

/// Appends the lines of `block` with their words whole again: each separator that a space follows
/// is removed with the space, and so is one at a line's end. Error: an empty separator.
void undo_bpe(std::string_view block, std::string& out, std::string_view separator = kBpeSeparator);

}  // namespace nine
