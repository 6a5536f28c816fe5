// Reads vectors of words that another program trained.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace nine {

/// The size of a file of word vectors.
struct WordVectorsRead {
  int64_t width = 0;  ///< numbers of a vector
  int64_t words = 0;  ///< lines with a vector
};

/// Reads a text file of word2vec or GloVe, with a word and its numbers in each line. word2vec's
/// file begins with a line of two whole numbers, the number of words and the width. Without that
/// line, the first vector shows the width. A word may contain spaces, as some of GloVe's do.
/// Unpacks packed files. Calls take(word, numbers, line) for each vector, where `line` is the
/// number of its line. Errors name the file, the line and the column (the byte in the line, from 1
/// on): too few or too many numbers; a text that is not a number; a number that is not finite; a
/// repeated word; another number of words than the first line says; the errors of TextReader.
WordVectorsRead read_word_vectors(
    const std::string& path,
    const std::function<void(std::string_view, std::span<const double>, int64_t)>& take);

}  // namespace nine
