#include "data/tokenizers/named_splits.h"

#include <nlohmann/json.hpp>

namespace nine {

namespace {

Json byte_level(bool cuts) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", true},
          {"use_regex", cuts}};
}

}  // namespace

void set_split(TokenizerParts& parts, Split split) {
  if (split != Split::gpt2) return set_split(parts, std::string(pattern_of(split)));
  parts.pre_tokenizer = parts.decoder = std::make_shared<Json>(byte_level(true));
}

void set_split(TokenizerParts& parts, const std::string& pattern) {
  const Json cut = {{"type", "Split"},
                    {"pattern", {{"Regex", pattern}}},
                    {"behavior", "Isolated"},
                    {"invert", false}};
  parts.decoder = std::make_shared<Json>(byte_level(false));
  parts.pre_tokenizer = std::make_shared<Json>(
      Json{{"type", "Sequence"}, {"pretokenizers", Json::array({cut, *parts.decoder})}});
}

}  // namespace nine
