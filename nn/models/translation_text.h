// Converts text of a translation model from lines to ids of a dictionary, and back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/detokenize.h"
#include "data/tokenizers/model_tokenizer.h"
#include "data/vocabulary.h"

namespace nine {

class BpeCache;
class BpeSegmenter;

/// A language of a translation model: its dictionary, and the tokenizer if the model reads raw
/// text. Several threads may call the functions at once, each with a cache of its own.
struct TranslationSide {
  Vocabulary dictionary;
  std::optional<ModelTokenizer> tokenizer = {};

  /// Returns the id that stands for text without an id.
  int32_t unknown() const {
    return tokenizer ? tokenizer->unknown() : dictionary.specials().unknown;
  }
  /// Appends the ids of a line, without </s>: of its raw text, or of its words. In a raw text the
  /// spelling of a special word is ordinary text. A line of spaces and tabs alone has no ids.
  void encode(std::string_view line, TokenCache& cache, std::vector<int32_t>& ids) const;
  /// Returns the text of ids as a line. With a tokenizer it is prose, where U+FFFD stands for
  /// bytes that are not valid UTF-8, and a space for an end of line. Without, it is words
  /// separated by spaces; with `join`, subwords are joined to words.
  std::string text(std::span<const int32_t> ids, bool join) const;
};

/// How a text becomes tokens, as in `bpe apply`, and how tokens become a text. A model that reads
/// raw text takes the default alone.
struct SegmentationOptions {
  std::string codes = {};       ///< file of BPE codes; empty: the text is already cut
  std::string vocabulary = {};  ///< file of subwords and their counts; empty: all are allowed
  /// The least count of an allowed subword in `vocabulary`.
  int64_t vocabulary_threshold = 0;
  std::vector<std::string> glossaries = {};  ///< what stays whole, see Glossaries
  bool raw = false;                          ///< true: first split into words, as sacreBLEU's 13a
  /// True: join subwords of translations to words; with codes this is always done.
  bool join = false;
  /// Rules by which translations become prose, after subwords are joined.
  DetokenizeOptions detokenize = {};

  /// True if no member changes a text.
  bool changes_nothing() const {
    return codes.empty() && glossaries.empty() && vocabulary.empty() && !raw && !join &&
           detokenize.rules == Detokenizing::none;
  }
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
                                        const TranslationSide& side, int64_t most,
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
