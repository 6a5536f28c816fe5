// nine_report --words: a page with pictures of a model's word vectors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace nine::app {

/// What the page shows, and the parameters of its pictures.
struct WordPageSettings {
  int64_t words = 1000;       ///< number of words on the page, the most frequent ones
  double perplexity = 30;     ///< of t-SNE; lowered to a third of the words
  int64_t iterations = 1000;  ///< of t-SNE
  uint64_t seed = 1;          ///< of the search for principal components
};

/// Writes a page with the words by t-SNE, coloured by frequency, and in polar coordinates. `title`
/// names the model. Throws Error when there is no model, it has too few words, or the page cannot
/// be written.
void write_word_page(const std::filesystem::path& directory, const std::string& title,
                     const WordPageSettings& settings, const std::filesystem::path& output);

}  // namespace nine::app
