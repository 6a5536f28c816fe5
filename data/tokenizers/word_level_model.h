// The model of tokenizers whose tokens are whole words.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "data/string_table.h"
#include "data/tokenizers/token_model.h"

namespace nine {

/// A piece is a token, or unknown.
class WordLevelModel : public TokenModel {
 public:
  /// `unknown` is the id of a piece that is no token; -1: such a piece is an Error of encode().
  WordLevelModel(const TokenList& tokens, int32_t unknown);

  void encode(std::string_view piece, std::vector<int32_t>& ids) const override;
  Json json(const TokenList& tokens) const override;
  int32_t unknown() const override { return unknown_; }

 private:
  StringTable words_;
  std::vector<int32_t> ids_;  // by number in words_
  int32_t unknown_;
};

}  // namespace nine
