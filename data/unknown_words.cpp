#include "data/unknown_words.h"

#include "core/error.h"
#include "core/number_format.h"
#include "data/corpus.h"

namespace nine {

TokenCounts count_tokens(std::span<const std::string> lines, const Vocabulary& vocabulary) {
  const Corpus corpus = Corpus::of_lines(lines, vocabulary);
  return {corpus.tokens(), corpus.unknown()};
}

void require_known(const TokenCounts& counts, double most, const std::string& text,
                   const std::string& vocabulary) {
  if (!(most >= 0 && most <= 1))
    throw UsageError(concat("max_unknown is ", most, ", and a share from 0 to 1 was expected"));
  const double share =
      counts.tokens > 0 ? static_cast<double>(counts.unknown) / static_cast<double>(counts.tokens)
                        : 0.0;
  require(
      share <= most, text, ": ", fixed(100 * share, 2), "% of the ", counts.tokens,
      " tokens are unknown to ", vocabulary,
      ": give a text that is cut into words in the same way, or another vocabulary (the largest "
      "share of unknown words is ",
      most, "; 1 accepts any text)");
}

}  // namespace nine
