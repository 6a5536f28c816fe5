#include "data/tokenizers/tekken_file.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/quote.h"
#include "data/tokenizers/byte_alphabet.h"
#include "data/tokenizers/json_parts.h"
#include "data/tokenizers/named_splits.h"
#include "data/tokenizers/normalizer.h"
#include "data/tokenizers/pipeline.h"

namespace nine {

bool is_tekken(const Json& json) {
  const auto config = json.find("config");
  return config != json.end() && config->is_object() &&
         config->contains("default_num_special_tokens");
}

std::unique_ptr<Tokenizer> tekken_tokenizer(const Json& json) {
  const Json& config = json["config"];
  const int64_t size = int_member(config, "default_vocab_size", 0),
                specials = int_member(config, "default_num_special_tokens", 0);
  require(specials >= 0 && specials <= size && size < (1 << 24), "the default_vocab_size is ", size,
          " with ", specials, " special tokens");
  TokenizerParts parts;
  std::string bytes;
  int64_t rank = 0;
  for (const Json& one : array_member(json, "vocab")) {
    if (rank == size - specials) break;  // the file has more tokens than the vocabulary
    const std::string text = one.is_object() ? text_member(one, "token_bytes") : "";
    if (!one.is_object() || int_member(one, "rank", -1) != rank || !read_base64(text, bytes))
      fail("the token ", rank, " of the vocab is ", shortened(json_text(one)),
           ", and its rank and its token_bytes in base64 were expected");
    parts.vocabulary.add(spell_bytes(bytes), specials + rank++);
  }
  std::vector<std::string> names(static_cast<size_t>(specials));
  if (json.contains("special_tokens") && !json["special_tokens"].is_null())
    for (const Json& one : array_member(json, "special_tokens")) {
      const int64_t at = one.is_object() ? int_member(one, "rank", -1) : -1;
      require(at >= 0 && at < specials && names[static_cast<size_t>(at)].empty(),
              "the special token ", shortened(json_text(one)), " has no rank of its own below ",
              specials);
      names[static_cast<size_t>(at)] = text_member(one, "token_str");
    }
  for (int64_t id = 0; id < specials; ++id) {
    const std::string& name = names[static_cast<size_t>(id)];
    parts.added.push_back({.content = name.empty() ? concat("<SPECIAL_", id, ">") : name,
                           .id = static_cast<int32_t>(id),
                           .special = true});
  }
  set_split(parts, text_member(config, "pattern"));
  parts.model = model_of_ranks(parts.vocabulary);
  return std::make_unique<PipelineTokenizer>(std::move(parts));
}

}  // namespace nine
