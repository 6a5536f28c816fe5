// Short pieces of text as keys of small hash tables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "data/string_table.h"

namespace nine {

/// A piece of 1 to kMost bytes as four words: its bytes, zeros, and its size in the last byte. Two
/// keys are equal if the pieces are.
class PieceKey {
 public:
  static constexpr size_t kMost = 31;

  PieceKey() = default;  ///< equal to no piece
  explicit PieceKey(std::string_view piece)
      : words_{start_of(piece), word(piece, 8), word(piece, 16),
               word(piece, 24) | uint64_t{piece.size()} << 56} {}
  /// Compares word by word, because a comparison of the arrays would call memcmp.
  bool operator==(const PieceKey& other) const {
    return words_[0] == other.words_[0] && words_[3] == other.words_[3] &&
           words_[1] == other.words_[1] && words_[2] == other.words_[2];
  }
  /// Returns the piece, which points into the key.
  std::string_view text() const {
    return {reinterpret_cast<const char*>(words_.data()), static_cast<size_t>(words_[3] >> 56)};
  }
  /// Returns a hash from 0 to 2^bits - 1. It takes the high bits of products, which depend on all
  /// bits of the words.
  size_t hash(int bits) const {
    return (words_[0] * 0x9E3779B97F4A7C15u + words_[1] * 0xC2B2AE3D27D4EB4Fu +
            words_[2] * 0x165667B19E3779F9u + words_[3] * 0xD6E8FEB86659FD93u) >>
           (64 - bits);
  }

 private:
  static uint64_t word(std::string_view piece, size_t at) {
    return piece.size() > at ? start_of(piece.substr(at)) : 0;
  }

  std::array<uint64_t, 4> words_{};
};

}  // namespace nine
