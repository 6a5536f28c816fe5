// Weights of the tokens of a training text, read from files beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/vocabulary.h"

namespace nine {

/// Reads the weights of a text of `lines` lines, as one list. Line i of the files, which are read
/// as one text, has a number for each of the tokens(i) tokens of the text's line i (0 <= i <
/// lines): its words, then </s>. tokens(i) = 0: the line was left out of the text, and so are its
/// weights. Errors name file and line: another count of numbers or of lines; a number that is
/// negative or not finite; all weights are 0.
std::vector<double> read_token_weights(const std::vector<std::string>& paths, int64_t lines,
                                       const std::function<int64_t(int64_t)>& tokens);

/// Reads weights of words, `word number` a line. Returns a weight for each id of the vocabulary; 1
/// for words that the file does not have. Errors name file and line: no word and number; a word
/// that the vocabulary lacks, or that has a line already; a number as above.
std::vector<double> read_class_weights(const std::string& path, const Vocabulary& vocabulary);

/// Checks the weights of a text's tokens, after they were multiplied by those of their words.
/// `token_file` and `class_file` are the files of the two factors; empty: there is none. Errors
/// name the files: a weight or the sum of all is not finite; all weights are 0.
void require_trainable(const std::vector<double>& weights, const std::string& token_file,
                       const std::string& class_file);

}  // namespace nine
