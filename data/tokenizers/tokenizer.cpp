#include "data/tokenizers/tokenizer.h"

namespace nine {

std::vector<int32_t> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  TokenCache cache;
  std::vector<int32_t> ids;
  encode(text, options, cache, ids);
  return ids;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool keep_special) const {
  std::string text;
  decode(ids, keep_special, text);
  return text;
}

}  // namespace nine
