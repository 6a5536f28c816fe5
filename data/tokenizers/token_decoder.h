// How tokens become text again.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/json.h"
#include "data/tokenizers/split_pattern.h"

namespace nine {

/// The steps of a decoder, in order. Each changes the list of tokens; the text is all of them
/// joined.
class TokenDecoder {
 public:
  /// Reads the member "decoder" of a tokenizer.json, which may be null: tokens are then joined with
  /// spaces. Errors name a type or a member that Nine does not know.
  explicit TokenDecoder(const Json& part);

  /// True if the only step spells bytes in GPT-2's alphabet.
  bool is_byte_level() const;
  /// Appends the text of tokens. The bytes of <0x..> tokens that are no valid UTF-8 stay as they
  /// are (Hugging Face tokenizers writes U+FFFD).
  void decode(std::vector<std::string>& tokens, std::string& text) const;

 private:
  struct ByteLevel {};
  struct ByteFallback {};
  struct Fuse {};
  struct Metaspace {
    std::string replacement;
    bool drops_first = true;
  };
  struct Replace {
    std::string from, to;
    std::shared_ptr<const SplitPattern> pattern;
  };
  struct Strip {
    std::string content;
    int64_t start = 0, stop = 0;
  };
  using Step = std::variant<ByteLevel, ByteFallback, Fuse, Metaspace, Replace, Strip>;
  void add(const Json& part, int depth);
  static void run(const ByteLevel& step, std::vector<std::string>& tokens);
  static void run(const ByteFallback& step, std::vector<std::string>& tokens);
  static void run(const Fuse& step, std::vector<std::string>& tokens);
  static void run(const Metaspace& step, std::vector<std::string>& tokens);
  static void run(const Replace& step, std::vector<std::string>& tokens);
  static void run(const Strip& step, std::vector<std::string>& tokens);

  std::vector<Step> steps_;
  bool spaced_ = false;  // no decoder: spaces between the tokens
};

}  // namespace nine
