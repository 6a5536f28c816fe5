// Reads vocabularies of other programs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nine {

/// The kind of a vocabulary, by its lines.
enum class WordListKind : uint8_t {
  dict,   ///< `word count`: fairseq's dict.txt, and every list that is of no other kind
  tabs,   ///< `word TAB number`: OpenNMT-py's counts, SentencePiece's .vocab
  yaml,   ///< `word: id`, the ids 0, 1, ... in any order: Marian's .yml
  ids,    ///< `word id`, the ids 0, 1, ... in any order: Kaldi's words.txt
  words,  ///< a word: OpenNMT-tf's and SRILM's lists, CTranslate2's
  json    ///< Hugging Face's vocab.json or tokenizer.json
};

/// True if a text begins like JSON that holds a vocabulary or codes: with an object, or a list of
/// texts or objects. Indentation and a byte-order mark do not matter.
bool is_json(std::string_view text);

/// Returns the kind of a vocabulary. All its lines decide; the name of the file does not matter.
WordListKind kind_of_list(std::span<const std::string> lines);

/// Returns the name of a kind in errors ("Marian's vocabulary"); empty for dict.
std::string_view name_of(WordListKind kind);

/// A word of a list, with its count and its line.
struct ListedWord {
  std::string word;
  int64_t count = 1;
  int64_t line = 0;  ///< from 1
};

/// Returns the words of a list with ids, Marian's or Kaldi's, in the order of the ids, marks
/// included. Errors: those of listed_words().
std::vector<ListedWord> numbered_words(std::span<const std::string> lines, WordListKind kind,
                                       const std::string& path);

/// Returns the words of a list that is neither dict nor json, in the order of their ids. It leaves
/// out the marks that other programs list beside the words: <s>, </s>, <unk>, <pad>, <blank>,
/// <eps>, Kaldi's #0. A word without a count gets the count 1. Errors name `path` and line: a
/// malformed line of yaml; ids with a gap; a repeated id.
std::vector<ListedWord> listed_words(std::span<const std::string> lines, WordListKind kind,
                                     const std::string& path);

/// Throws an Error that says that a file is JSON, and how to make a list of words from it.
[[noreturn]] void refuse_json_vocabulary(const std::string& path);

}  // namespace nine
