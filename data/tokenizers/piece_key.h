// Short pieces of text as keys of small hash tables.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string_view>

#include "data/string_table.h"

namespace nine {

/// A piece of 1 to kMost bytes as kWords words: its bytes, zeros, and its size in the last byte.
/// Two keys are equal if the pieces are.
template <size_t kWords>
class PieceKey {
 public:
  static constexpr size_t kMost = 8 * kWords - 1;

  PieceKey() = default;  ///< equal to no piece
  explicit PieceKey(std::string_view piece) {
    for (size_t i = 0; i < kWords; ++i)
      if (piece.size() > 8 * i) words_[i] = start_of(piece.substr(8 * i));
    words_.back() |= uint64_t{piece.size()} << 56;
  }
  /// Makes the same key. If the piece is part of `text`, this reads whole words and needs no branch
  /// for its size.
  PieceKey(std::string_view piece, std::string_view text) {
    const char* const end = text.data() + text.size();
    const std::less_equal<> ordered;  // also pointers into two texts
    const bool inside = ordered(text.data(), piece.data()) && ordered(piece.data(), end);
    if (!inside || static_cast<size_t>(end - piece.data()) < sizeof words_) {
      *this = PieceKey(piece);
      return;
    }
    static constexpr auto kOnesThenZeros = [] {
      std::array<uint8_t, 2 * sizeof words_> bytes{};
      std::fill_n(bytes.begin(), sizeof words_, uint8_t{0xFF});
      return bytes;
    }();
    std::array<uint64_t, kWords> mask{};
    std::memcpy(words_.data(), piece.data(), sizeof words_);
    std::memcpy(mask.data(), kOnesThenZeros.data() + sizeof words_ - piece.size(), sizeof mask);
    for (size_t i = 0; i < kWords; ++i) words_[i] &= mask[i];
    words_.back() |= uint64_t{piece.size()} << 56;
  }
  /// Compares word by word, because a comparison of the arrays would call memcmp.
  bool operator==(const PieceKey& other) const {
    uint64_t differences = 0;
    for (size_t i = 0; i < kWords; ++i) differences |= words_[i] ^ other.words_[i];
    return differences == 0;
  }
  /// Returns the piece, which points into the key.
  std::string_view text() const {
    return {reinterpret_cast<const char*>(words_.data()), static_cast<size_t>(words_.back() >> 56)};
  }
  /// Returns a hash from 0 to 2^bits - 1. It takes the high bits of products, which depend on all
  /// bits of the words.
  size_t hash(int bits) const {
    constexpr std::array<uint64_t, 4> kFactors{0x9E3779B97F4A7C15u, 0xC2B2AE3D27D4EB4Fu,
                                               0x165667B19E3779F9u, 0xD6E8FEB86659FD93u};
    static_assert(kWords <= kFactors.size());
    uint64_t sum = 0;
    for (size_t i = 0; i < kWords; ++i) sum += words_[i] * kFactors[i];
    return sum >> (64 - bits);
  }

 private:
  std::array<uint64_t, kWords> words_{};
};

}  // namespace nine
