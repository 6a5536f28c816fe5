// Writes a SentencePiece model as the tokenizer.json that Hugging Face transformers makes of it.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/quote.h"
#include "data/tokenizers/pipeline.h"
#include "data/tokenizers/read_tokenizer.h"
#include "data/tokenizers/unicode_forms.h"

namespace nine {

namespace {

Json replace_step(const char* pattern_kind, const std::string& pattern,
                  const std::string& content) {
  return {{"type", "Replace"}, {"pattern", {{pattern_kind, pattern}}}, {"content", content}};
}

// The steps of SentencePiece's normalizer.cc. A table of replacements takes the longest start of
// the text there, and the shortest start of a grapheme in tokenizer.json.
Json normalizer_of(const Normalizer::SentencePiece& how) {
  const std::string space(how.escape_white_space ? kSpaceMark : " ");
  Json steps = Json::array();
  if (!how.map->empty())
    steps.push_back({{"type", "Precompiled"}, {"precompiled_charsmap", base64(how.map->bytes())}});
  if (how.remove_extra_white_space) {
    // The end loses U+2581 too.
    steps.push_back(replace_step("Regex", concat("\\A +|[ ", kSpaceMark, "]+\\z"), ""));
    steps.push_back(replace_step("Regex", " {2,}", " "));
  }
  if (how.add_dummy_prefix) steps.push_back({{"type", "Prepend"}, {"prepend", space}});
  if (how.escape_white_space) steps.push_back(replace_step("String", " ", space));
  if (steps.empty()) return nullptr;
  return {{"type", "Sequence"}, {"normalizers", std::move(steps)}};
}

// User-defined pieces are pieces of their own, the longest first.
Json pre_tokenizer_of(const Normalizer::SentencePiece& how) {
  std::string pattern;
  for (const std::string& piece : how.user_defined) {
    // A text has no such piece, because its spaces are marked.
    if (how.escape_white_space && piece.find(' ') != std::string::npos) continue;
    if (!pattern.empty()) pattern += '|';
    for (const char c : piece) {
      if (std::string_view("\\^$.[]|()?*+{}").find(c) != std::string_view::npos) pattern += '\\';
      pattern += c;
    }
  }
  if (pattern.empty()) return nullptr;
  return {{"type", "Split"},
          {"pattern", {{"Regex", pattern}}},
          {"behavior", "Isolated"},
          {"invert", false}};
}

// SentencePiece never normalises a user-defined piece.
void check_user_defined(const Normalizer::SentencePiece& how) {
  if (how.map->empty() || how.user_defined.empty()) return;
  const Normalizer normalizer(
      Json{{"type", "Precompiled"}, {"precompiled_charsmap", base64(how.map->bytes())}});
  for (const std::string& piece : how.user_defined) {
    std::string changed = piece;
    normalizer.apply(changed);
    require(changed == piece, "the table of replacements makes ", quote(changed),
            " of the user-defined piece ", quote(piece),
            ", and tokenizer.json cannot except the piece from the table");
  }
}

// tokenizer.json makes a user-defined piece one token by ignore_merges, which makes other pieces
// tokens too.
void check_whole_pieces(const PipelineTokenizer& tokenizer) {
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < tokenizer.size(); ++id) {
    const std::string_view piece = tokenizer.token(id);
    if (piece.empty() || byte_of_token(piece) >= 0) continue;
    if (std::ranges::any_of(tokenizer.parts().added,
                            [&](const AddedToken& added) { return added.id == id; }))
      continue;
    ids.clear();
    tokenizer.model().encode(piece, ids);
    require(ids.size() == 1 && ids[0] == id, "the text of the piece ", quote(piece),
            " becomes other pieces, but tokenizer.json makes it this piece where it stands alone "
            "beside user-defined pieces");
  }
}

Json post_processor_of(const PipelineTokenizer& tokenizer) {
  if (tokenizer.parts().before.empty()) return nullptr;
  const int32_t id = tokenizer.parts().before[0];
  const std::string token(tokenizer.token(id));
  const Json special = {{"SpecialToken", {{"id", token}, {"type_id", 0}}}};
  const auto text = [](const char* name, int type) {
    return Json{{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  return {{"type", "TemplateProcessing"},
          {"single", {special, text("A", 0)}},
          {"pair", {special, text("A", 0), special, text("B", 1)}},
          {"special_tokens", {{token, {{"id", token}, {"ids", {id}}, {"tokens", {token}}}}}}};
}

}  // namespace

std::string converted_json(const Tokenizer& tokenizer) {
  const auto* const pipeline = dynamic_cast<const PipelineTokenizer*>(&tokenizer);
  if (pipeline == nullptr || !pipeline->parts().sentence_piece) return tokenizer.json();
  const Normalizer::SentencePiece& how = *pipeline->parts().sentence_piece;
  check_user_defined(how);
  Json all = pipeline->members();
  all["normalizer"] = normalizer_of(how);
  all["pre_tokenizer"] = pre_tokenizer_of(how);
  all["post_processor"] = post_processor_of(*pipeline);
  Json special = Json::array();
  for (Json& token : all["added_tokens"])
    if (token["special"] == true) special.push_back(std::move(token));
  all["added_tokens"] = std::move(special);
  if (const auto* const bpe = dynamic_cast<const BpeModel*>(&pipeline->model())) {
    bpe->require_one_result_a_rank(pipeline->vocabulary());
    if (!how.user_defined.empty()) {
      check_whole_pieces(*pipeline);
      all["model"]["ignore_merges"] = true;
    }
  }
  return json_text(all, 2) + '\n';
}

}  // namespace nine
