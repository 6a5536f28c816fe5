// Text through a saved translation model: from lines to ids, and from what was found to lines.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "apps/mt_train/mt_model.h"
#include "data/bpe.h"
#include "nn/models/beam_search.h"

namespace nine::app {

/// How a text becomes tokens, as in `bpe apply`.
struct SegmentationOptions {
  std::string codes;            ///< BPE codes; empty: the text is cut already
  std::string vocabulary = {};  ///< use only its subwords; empty: all
  int64_t vocabulary_threshold = 0;
  std::vector<std::string> glossaries = {};
  bool raw = false;  ///< tokenised as 13a first
};

/// A text's tokens as a model sees them.
class TokenReader {
 public:
  explicit TokenReader(const SegmentationOptions& options);
  /// Ids of each line, without </s>. Error: a line with more than `most` tokens, named by `name`.
  std::vector<Translator::Ids> ids(const std::vector<std::string>& lines,
                                   const Vocabulary& dictionary, int64_t most,
                                   const std::string& name) const;

 private:
  std::string tokens(const std::string& line, BpeCache& cache) const;

  std::optional<BpeSegmenter> segmenter_;
  bool raw_;
};

/// How translations are written.
struct TranslationFormat {
  bool join = false;    ///< subwords to words
  bool n_best = false;  ///< `i ||| translation ||| score`
  int64_t first = 0;    ///< number of the first line
};
/// The words of ids.
std::string text_of(const Translator::Ids& ids, const Vocabulary& dictionary, bool join);
void write_translations(std::span<const Translation> found, const Vocabulary& target,
                        const TranslationFormat& format, std::ostream& out);
/// A JSON object a line, of each best hypothesis: `line`, `source` (with </s>), `target`,
/// `attention` (target x source).
void write_attention(std::span<const Translation> found, std::span<const Translator::Ids> sources,
                     const Vocabulary& source, const Vocabulary& target, int64_t first,
                     std::ostream& out);
/// A line for each pair: the sum of its tokens' log-probabilities, or with `tokens` each of them.
void write_log_probs(std::span<const std::vector<double>> scores, bool tokens, std::ostream& out);

}  // namespace nine::app
