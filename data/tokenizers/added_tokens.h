// Tokens that are found in the text itself, before it is cut: special tokens such as <|endoftext|>,
// and others that a tokenizer got after its training.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nine {

/// An added token, as tokenizer.json has it.
struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool special = false;
  bool single_word = false;  ///< it is not found beside a letter, a digit or an underscore
  bool lstrip = false, rstrip = false;  ///< it takes the white space before or behind it
  bool normalized = false;              ///< it is looked for in the normalised text
};

/// Finds added tokens in a text.
class AddedTokenFinder {
 public:
  void add(const AddedToken& token);
  bool empty() const { return tokens_.empty(); }
  struct Match {
    size_t begin = 0, end = 0;
    const AddedToken* token = nullptr;
  };
  /// Finds the leftmost token at or behind `from`, and the longest of those that begin there. White
  /// space that the token takes belongs to the match. Returns false if there is no token.
  bool find(std::string_view text, size_t from, bool special_too, Match& match) const;

 private:
  std::vector<AddedToken> tokens_;
  std::array<std::vector<uint32_t>, 256> by_byte_;  // by first byte, the longest first
  std::array<bool, 256> begins_{};
  bool all_special_ = true;
};

}  // namespace nine
