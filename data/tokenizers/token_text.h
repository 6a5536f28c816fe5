// Lines of text as lines of ids or tokens, and back. Only LF ends a line; every other character,
// CR included, is text.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

#include "data/tokenizers/tokenizer.h"

namespace nine {

class TextReader;

/// What stands on a line, separated by spaces: ids, or tokens as vocabularies spell them.
enum class TokenForm { ids, tokens };

/// Settings of the lines.
struct TokenText {
  TokenForm form = TokenForm::ids;
  EncodeOptions encode;
  bool keep_special = false;  ///< true: special tokens are part of decoded text
};

/// Appends the lines of a block with their ids or tokens. Returns how many of them are the unknown
/// token, whose text is lost. LineError: a token with a space or LF,
/// which a line of tokens cannot hold; text that the tokenizer has no token for.
int64_t encode_lines(const Tokenizer& tokenizer, const TokenText& how, std::string_view block,
                     TokenCache& cache, std::string& out);
/// Appends the text of lines of ids or tokens. LineError: a field that is no id, or no token.
void decode_lines(const Tokenizer& tokenizer, const TokenText& how, std::string_view block,
                  std::string& out);

/// Do the same with a text of kCopiedText, on all threads; see change_in_parts().
int64_t encode_text(const Tokenizer& tokenizer, const TokenText& how, TextReader& text,
                    const std::function<void(std::string_view)>& write);
void decode_text(const Tokenizer& tokenizer, const TokenText& how, TextReader& text,
                 const std::function<void(std::string_view)>& write);

/// Calls f(line, end) for each line of a block; `end` is "\n", or nothing at the text's end.
template <class F>
void for_each_text_line(std::string_view block, F&& f) {
  while (!block.empty()) {
    const size_t end = std::min(block.find('\n'), block.size());
    const size_t next = std::min(end + 1, block.size());
    f(block.substr(0, end), block.substr(end, next - end));
    block.remove_prefix(next);
  }
}

}  // namespace nine
