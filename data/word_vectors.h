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

/// Reads a word and its numbers a line, as word2vec and GloVe write text: word2vec's file begins
/// with a line of two whole numbers, the words and the width. Without it, the first line shows the
/// width. A word may contain spaces, as some of GloVe's do. Packed files are unpacked. Calls
/// take(word, numbers, line) for each line of a vector, with the line's number. Errors name the
/// file, the line and the column (the byte in the line, from 1 on): too few or too many numbers; a
/// text that is not a number; a number that is not finite; a word that was there before; another
/// number of words than the first line says; the errors of TextReader.
WordVectorsRead read_word_vectors(
    const std::string& path,
    const std::function<void(std::string_view, std::span<const double>, int64_t)>& take);

}  // namespace nine
