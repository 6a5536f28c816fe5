// The tokens of a tokenizer and their ids.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "data/string_table.h"

namespace nine {

/// Distinct tokens, each with an id of its own. Ids may have gaps.
class TokenList {
 public:
  static constexpr int32_t kNone = -1;
  static constexpr int64_t kMostId = (int64_t{1} << 24) - 1;

  /// Adds a token. Errors: the token or the id is there already; an id below 0 or above kMostId.
  void add(std::string_view token, int64_t id);
  /// Error: gaps leave more than half of the ids, and more than 100,000, without a token.
  void check_gaps() const;
  int32_t find(std::string_view token) const {
    const int32_t number = texts_.find(token);
    return number < 0 ? kNone : ids_[static_cast<size_t>(number)];
  }
  /// Returns the token of an id from 0 to size() - 1; empty if the id has no token.
  std::string_view token(int32_t id) const {
    const int32_t number = numbers_[static_cast<size_t>(id)];
    return number < 0 ? std::string_view() : texts_.text(number);
  }
  bool has(int64_t id) const {
    return id >= 0 && id < size() && numbers_[static_cast<size_t>(id)] >= 0;
  }
  int32_t size() const { return static_cast<int32_t>(numbers_.size()); }
  int32_t tokens() const { return texts_.size(); }

 private:
  StringTable texts_;
  std::vector<int32_t> ids_;      // by number in texts_
  std::vector<int32_t> numbers_;  // by id
};

}  // namespace nine
