// Converts text of a translation model from lines to ids of a dictionary, and back.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/detokenize.h"

namespace nine {

class BpeCache;
class BpeSegmenter;
class Vocabulary;

/// How a text becomes tokens, as in `bpe apply`, and how tokens become a text.
struct SegmentationOptions {
  std::string codes = {};       ///< file of BPE codes; empty: the text is already cut
  std::string vocabulary = {};  ///< file of subwords and their counts; empty: all are allowed
  /// The least count of an allowed subword in `vocabulary`.
  int64_t vocabulary_threshold = 0;
  std::vector<std::string> glossaries = {};  ///< what stays whole, see Glossaries
  bool raw = false;                          ///< true: first tokenise as sacreBLEU's tokenizer 13a
  /// True: join subwords of translations to words; with codes this is always done.
  bool join = false;
  /// Rules by which translations become prose, after subwords are joined.
  DetokenizeOptions detokenize = {};
};

/// Turns lines of text into the ids that a model reads.
class TokenReader {
 public:
  /// Errors: codes, vocabulary or glossaries that cannot be read. Without codes the other two are
  /// not read.
  explicit TokenReader(const SegmentationOptions& options);
  ~TokenReader();
  TokenReader(TokenReader&&) noexcept;
  TokenReader& operator=(TokenReader&&) noexcept;

  /// Returns the ids of each line, without </s>. Error: a line with more than `most` tokens; the
  /// message has `name` and the line's number; the first of `lines` is line first + 1. With
  /// `too_long` a long line is no error: the line gets no ids, and its message is appended to
  /// `too_long`.
  std::vector<std::vector<int32_t>> ids(const std::vector<std::string>& lines,
                                        const Vocabulary& dictionary, int64_t most,
                                        const std::string& name, int64_t first = 0,
                                        std::vector<std::string>* too_long = nullptr) const;

 private:
  std::string tokens(const std::string& line, BpeCache& cache) const;

  std::unique_ptr<const BpeSegmenter> segmenter_;  // null: the text is already cut
  bool raw_;
};

/// Returns a line with its subwords joined to words ("@@ " removed).
std::string join_subwords(const std::string& line);

/// Returns the words of the ids, separated by spaces; with `join`, joins subwords to words.
std::string text_of(const Vocabulary& dictionary, std::span<const int32_t> ids, bool join);

}  // namespace nine
