#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/quote.h"
#include "data/text.h"
#include "data/tokenizers/byte_alphabet.h"
#include "data/tokenizers/token_model.h"
#include "data/tokenizers/unicode_forms.h"
#include "data/unicode.h"

namespace nine {

namespace {

// Returns the bytes of the first character of `text`; one byte if it is not valid UTF-8.
size_t character_length(std::string_view text) {
  const size_t length = utf8_length(text[0]);
  if (length == 1) return 1;
  return find_invalid_utf8(text.substr(0, length)) == std::string_view::npos &&
                 length <= text.size()
             ? length
             : 1;
}

// True if `text` is `character` again and again.
bool is_run_of(std::string_view text, std::string_view character) {
  while (text.starts_with(character)) text.remove_prefix(character.size());
  return text.empty();
}

bool goes_on_with_space(std::string_view token) {
  for (size_t at = token.find(kSpaceMark); at != std::string_view::npos;
       at = token.find(kSpaceMark, at + 3))
    if (at > 0 && !token.substr(0, at).ends_with(kSpaceMark)) return true;
  return false;
}

}  // namespace

void fail_without_token(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (text.size() > 1 || (first > ' ' && first < 0x7F))
    fail("the tokenizer has no token for ", quote(text),
         " and no unknown token: that text would be lost");
  fail("the tokenizer has no token for the byte ", byte_token(first),
       " and no unknown token: that text would be lost");
}

std::string byte_token(unsigned char byte) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  return concat("<0x", kDigits[byte >> 4], kDigits[byte & 15], ">");
}

int byte_of_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  const int high = digit(token[3]), low = digit(token[4]);
  return high < 0 || low < 0 ? -1 : 16 * high + low;
}

BpeModel::BpeModel(const TokenList& tokens, MergeTable merges, const Settings& settings)
    : settings_(settings), merges_(std::move(merges)) {
  for (size_t byte = 0; byte < bytes_.size(); ++byte) {
    const auto b = static_cast<unsigned char>(byte);
    bytes_[byte] = settings_.of_bytes        ? tokens.find(byte_character(b))
                   : settings_.byte_fallback ? tokens.find(byte_token(b))
                                             : -1;
  }
  std::string bytes;
  for (int32_t id = 0; id < tokens.size(); ++id) {
    const std::string_view token = tokens.token(id);
    if (token.empty()) continue;
    std::string_view text = token;
    if (settings_.of_bytes) {
      if (!settings_.ignore_merges || !read_spelling(token, bytes)) continue;
      text = bytes;
    } else if (!settings_.ignore_merges && character_length(token) != token.size()) {
      continue;
    }
    if (whole_.find(text) >= 0) continue;
    whole_.add(text);
    whole_ids_.push_back(id);
  }
  cuts_at_spaces_ = !settings_.of_bytes && !settings_.ignore_merges && tokens.find(kSpaceMark) >= 0;
  merges_.for_each([&](int32_t, int32_t, const MergeTable::Merge& merge) {
    if (cuts_at_spaces_ && goes_on_with_space(tokens.token(merge.result))) cuts_at_spaces_ = false;
  });
}

void BpeModel::encode(std::string_view piece, std::vector<int32_t>& ids) const {
  if (piece.empty()) return;
  if (settings_.ignore_merges) {
    const int32_t whole = whole_.find(piece);
    if (whole >= 0) return ids.push_back(whole_ids_[static_cast<size_t>(whole)]);
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): only what was written is read
  std::array<int32_t, 64> few;
  std::vector<int32_t> many;
  size_t n = 0;
  if (piece.size() > few.size()) many.resize(piece.size());
  int32_t* const symbols = many.empty() ? few.data() : many.data();
  if (settings_.of_bytes) {
    for (char c : piece) {
      const int32_t id = bytes_[static_cast<uint8_t>(c)];
      if (id < 0 && settings_.unknown < 0) fail_without_token(std::string_view(&c, 1));
      symbols[n++] = id >= 0 ? id : settings_.unknown;
    }
    return merges_.apply({symbols, n}, ids);
  }
  bool unknown_before = false;
  for (size_t at = 0; at < piece.size();) {
    const std::string_view character = piece.substr(at, character_length(piece.substr(at)));
    at += character.size();
    const int32_t whole = whole_.find(character);
    if (whole >= 0) {
      symbols[n++] = whole_ids_[static_cast<size_t>(whole)];
      unknown_before = false;
    } else if (settings_.byte_fallback && std::ranges::all_of(character, [&](char c) {
                 return bytes_[static_cast<uint8_t>(c)] >= 0;
               })) {
      for (char c : character) symbols[n++] = bytes_[static_cast<uint8_t>(c)];
      unknown_before = false;
    } else {
      if (settings_.unknown < 0) fail_without_token(character);
      if (!unknown_before || !settings_.fuse_unknown) symbols[n++] = settings_.unknown;
      unknown_before = true;
    }
  }
  merges_.apply({symbols, n}, ids);
}

std::vector<std::pair<uint32_t, int32_t>> BpeModel::ranked_results() const {
  std::vector<std::pair<uint32_t, int32_t>> ranked;
  merges_.for_each([&](int32_t, int32_t, const MergeTable::Merge& merge) {
    ranked.emplace_back(merge.rank, merge.result);
  });
  std::sort(ranked.begin(), ranked.end());
  return ranked;
}

void BpeModel::require_one_result_a_rank(const TokenList& tokens) const {
  const auto ranked = ranked_results();
  for (size_t i = 1; i < ranked.size(); ++i) {
    if (ranked[i].first != ranked[i - 1].first || ranked[i].second == ranked[i - 1].second)
      continue;
    const std::string_view a = tokens.token(ranked[i - 1].second),
                           b = tokens.token(ranked[i].second);
    require(is_run_of(a, a.substr(0, character_length(a))) &&
                is_run_of(b, a.substr(0, character_length(a))),
            "the pieces ", quote(a), " and ", quote(b),
            " have one score: of these the leftmost is merged first, which tokenizer.json cannot "
            "express");
  }
}

void BpeModel::require_ranks_by_id() const {
  const auto ranked = ranked_results();
  for (size_t i = 1; i < ranked.size(); ++i)
    require(ranked[i].second >= ranked[i - 1].second, "the merge number ", i, " makes the token ",
            ranked[i].second, ", and the merge before it the token ", ranked[i - 1].second,
            ": tiktoken's ranks need merges in the order of the ids");
}

Json BpeModel::json(const TokenList& tokens) const {
  Json vocab = Json::object(), merges = Json::array();
  // ordered_json's operator[] looks through all keys, so the pairs are moved in.
  auto& members = vocab.get_ref<Json::object_t&>();
  for (int32_t id = 0; id < tokens.size(); ++id)
    if (tokens.has(id)) members.emplace_back(std::string(tokens.token(id)), id);
  struct Ranked {
    uint32_t rank;
    size_t size;  // of the result
    int32_t left, right;
  };
  std::vector<Ranked> ranked;
  ranked.reserve(merges_.size());
  merges_.for_each([&](int32_t left, int32_t right, const MergeTable::Merge& merge) {
    ranked.push_back({merge.rank, tokens.token(merge.result).size(), left, right});
  });
  // Of equal ranks the longest result comes first: so a run of spaces grows from its left end, as
  // where the leftmost of equal pairs is merged.
  std::sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    return std::tie(a.rank, b.size, a.left, a.right) < std::tie(b.rank, a.size, b.left, b.right);
  });
  for (const Ranked& merge : ranked)
    merges.push_back(
        {std::string(tokens.token(merge.left)), std::string(tokens.token(merge.right))});
  Json model = {{"type", "BPE"},
                {"dropout", nullptr},
                {"unk_token", nullptr},
                {"continuing_subword_prefix", nullptr},
                {"end_of_word_suffix", nullptr},
                {"fuse_unk", settings_.fuse_unknown},
                {"byte_fallback", settings_.byte_fallback},
                {"ignore_merges", settings_.ignore_merges}};
  if (settings_.unknown >= 0) model["unk_token"] = std::string(tokens.token(settings_.unknown));
  model["vocab"] = std::move(vocab);
  model["merges"] = std::move(merges);
  return model;
}

MergeTable merges_by_result(const std::vector<std::string>& bytes,
                            const std::vector<uint32_t>& rank_of) {
  constexpr size_t kMostPairs = size_t{1} << 26;
  StringTable table;
  std::vector<int32_t> ids;
  for (size_t id = 0; id < bytes.size(); ++id)
    if (!bytes[id].empty() && table.find(bytes[id]) < 0) {
      table.add(bytes[id]);
      ids.push_back(static_cast<int32_t>(id));
    }
  MergeTable merges;
  for (size_t id = 0; id < bytes.size(); ++id) {
    if (rank_of[id] == MergeTable::kNoRank) continue;
    const std::string_view text = bytes[id];
    for (size_t cut = 1; cut < text.size(); ++cut) {
      const int32_t left = table.find(text.substr(0, cut));
      const int32_t right = left < 0 ? left : table.find(text.substr(cut));
      if (right < 0) continue;
      merges.add(ids[static_cast<size_t>(left)], ids[static_cast<size_t>(right)],
                 {rank_of[id], static_cast<int32_t>(id)});
      require(merges.size() <= kMostPairs, "the tokens have more than ", kMostPairs,
              " pairs that may be merged: their tokens are too long");
    }
  }
  return merges;
}

std::unique_ptr<TokenModel> model_of_ranks(const TokenList& tokens) {
  for (int byte = 0; byte < 256; ++byte)
    require(tokens.find(byte_character(static_cast<unsigned char>(byte))) >= 0, "the byte ", byte,
            " has no token");
  tokens.check_gaps();
  std::vector<std::string> bytes(static_cast<size_t>(tokens.size()));
  std::vector<uint32_t> ranks(bytes.size(), MergeTable::kNoRank);
  for (int32_t id = 0; id < tokens.size(); ++id) {
    if (!tokens.has(id)) continue;
    read_spelling(tokens.token(id), bytes[static_cast<size_t>(id)]);
    ranks[static_cast<size_t>(id)] = static_cast<uint32_t>(id);
  }
  return std::make_unique<BpeModel>(tokens, merges_by_result(bytes, ranks),
                                    BpeModel::Settings{.ignore_merges = true});
}

}  // namespace nine
