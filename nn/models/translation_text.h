// Text of a translation model: from lines to ids of a dictionary, and back.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace nine {

class BpeCache;
class BpeSegmenter;
class Vocabulary;

/// How a text becomes tokens, as in `bpe apply`, and tokens a text.
struct SegmentationOptions {
  std::string codes = {};       ///< BPE codes; empty: the text is cut already
  std::string vocabulary = {};  ///< use only its subwords; empty: all
  int64_t vocabulary_threshold = 0;
  std::vector<std::string> glossaries = {};
  bool raw = false;   ///< tokenised as 13a first
  bool join = false;  ///< join subwords of translations to words; codes always do
};

/// Turns lines of text into the ids that a model reads.
class TokenReader {
 public:
  /// Errors: codes, vocabulary or glossaries that cannot be read; without codes the other two are
  /// not looked at.
  explicit TokenReader(const SegmentationOptions& options);
  ~TokenReader();
  TokenReader(TokenReader&&) noexcept;
  TokenReader& operator=(TokenReader&&) noexcept;

  /// Ids of each line, without </s>. Error: a line with more than `most` tokens, named by `name`
  /// and its number; `first` lines came before these. With `too_long` that is no error: the line
  /// has no ids, and its message is added there.
  std::vector<std::vector<int32_t>> ids(const std::vector<std::string>& lines,
                                        const Vocabulary& dictionary, int64_t most,
                                        const std::string& name, int64_t first = 0,
                                        std::vector<std::string>* too_long = nullptr) const;

 private:
  std::string tokens(const std::string& line, BpeCache& cache) const;

  std::unique_ptr<const BpeSegmenter> segmenter_;  // null: the text is cut already
  bool raw_;
};

/// A line with its subwords joined to words ("@@ " undone).
std::string join_subwords(const std::string& line);

/// The words of those ids with spaces between them; with `join`, subwords are joined to words.
std::string text_of(const Vocabulary& dictionary, std::span<const int32_t> ids, bool join);

}  // namespace nine
