// Vocabularies as other programs write them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nine {

/// What the lines of a vocabulary are.
enum class WordListKind : uint8_t {
  dict,   ///< `word count`: fairseq's dict.txt, and whatever is nothing else
  tabs,   ///< `word TAB number`: OpenNMT-py's counts, SentencePiece's .vocab
  yaml,   ///< `word: id`, the ids 0, 1, ... in any order: Marian's .yml
  ids,    ///< `word id`, the ids 0, 1, ... in any order: Kaldi's words.txt
  words,  ///< a word: OpenNMT-tf's and SRILM's lists, CTranslate2's
  json    ///< Hugging Face's vocab.json or tokenizer.json
};

/// Whether a text begins as JSON that holds a vocabulary or codes: an object, or a list of texts or
/// objects, however it is indented, also behind a byte-order mark.
bool is_json(std::string_view text);

/// The kind of a vocabulary. All its lines decide, not its name.
WordListKind kind_of_list(std::span<const std::string> lines);

/// How errors call a kind ("Marian's vocabulary"); empty for dict.
std::string_view name_of(WordListKind kind);

struct ListedWord {
  std::string word;
  int64_t count = 1;
  int64_t line = 0;  ///< from 1
};

/// The words of a list that is neither dict nor json, in the order of their ids, without the marks
/// that other programs list beside the words: <s>, </s>, <unk>, <pad>, <blank>, <eps>, Kaldi's #0.
/// A word without a count has 1. Errors name `path` and line: what is wrong in a line of yaml, ids
/// with a gap or twice.
std::vector<ListedWord> listed_words(std::span<const std::string> lines, WordListKind kind,
                                     const std::string& path);

/// Throws the Error that says that a file is JSON, and how to make a list of words of it.
[[noreturn]] void refuse_json_vocabulary(const std::string& path);

}  // namespace nine
