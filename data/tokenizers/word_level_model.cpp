#include "data/tokenizers/word_level_model.h"

#include <nlohmann/json.hpp>
#include <string>

namespace nine {

WordLevelModel::WordLevelModel(const TokenList& tokens, int32_t unknown) : unknown_(unknown) {
  for (int32_t id = 0; id < tokens.size(); ++id) {
    if (!tokens.has(id)) continue;
    words_.add(tokens.token(id));
    ids_.push_back(id);
  }
}

void WordLevelModel::encode(std::string_view piece, std::vector<int32_t>& ids) const {
  if (piece.empty()) return;
  const int32_t number = words_.find(piece);
  if (number < 0 && unknown_ < 0) fail_without_token(piece);
  ids.push_back(number < 0 ? unknown_ : ids_[static_cast<size_t>(number)]);
}

Json WordLevelModel::json(const TokenList& tokens) const {
  Json vocab = Json::object();
  for (size_t number = 0; number < ids_.size(); ++number)
    vocab[std::string(words_.text(static_cast<int32_t>(number)))] = ids_[number];
  return {{"type", "WordLevel"},
          {"vocab", std::move(vocab)},
          {"unk_token", unknown_ < 0 ? "<unk>" : std::string(tokens.token(unknown_))}};
}

}  // namespace nine
