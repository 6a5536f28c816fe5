#include "data/tokenizers/named_splits.h"

#include <nlohmann/json.hpp>

namespace nine {

void set_split(TokenizerParts& parts, Split split) {
  const Json bytes = {{"type", "ByteLevel"},
                      {"add_prefix_space", false},
                      {"trim_offsets", true},
                      {"use_regex", split == Split::gpt2}};
  Json pre = bytes;
  if (split != Split::gpt2) {
    const Json cut = {{"type", "Split"},
                      {"pattern", {{"Regex", pattern_of(split)}}},
                      {"behavior", "Isolated"},
                      {"invert", false}};
    pre = {{"type", "Sequence"}, {"pretokenizers", Json::array({cut, bytes})}};
  }
  parts.pre_tokenizer = std::make_shared<Json>(std::move(pre));
  parts.decoder = std::make_shared<Json>(bytes);
}

}  // namespace nine
