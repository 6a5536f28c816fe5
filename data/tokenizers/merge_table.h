// The merges of byte pair encoding: a hash table from pairs of symbols to rank and result.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace nine {

/// Pairs of ids with the rank of their merge and the id that they become.
class MergeTable {
 public:
  static constexpr uint32_t kNoRank = std::numeric_limits<uint32_t>::max();
  struct Merge {
    uint32_t rank = kNoRank;
    int32_t result = -1;
  };

  /// Adds a merge. Returns false if the pair has one already.
  bool add(int32_t left, int32_t right, Merge merge);
  /// Returns the merge of a pair; rank kNoRank if it has no merge.
  Merge find(int32_t left, int32_t right) const {
    if (slots_.empty()) return {};
    const uint64_t key = key_of(left, right);
    size_t at = place_of(key);
    while (slots_[at].merge.rank != kNoRank && slots_[at].key != key)
      at = (at + 1) & (slots_.size() - 1);
    return slots_[at].merge;
  }
  size_t size() const { return size_; }

  /// Merges symbols until no pair has a merge, and appends the result to `ids`. Each step takes the
  /// lowest rank, and of equal ranks the leftmost pair. The time is n log n for long texts.
  void apply(std::span<const int32_t> symbols, std::vector<int32_t>& ids) const;

  /// Calls f(left, right, merge) for each merge, in no order.
  template <class F>
  void for_each(F&& f) const {
    for (const Slot& slot : slots_)
      if (slot.merge.rank != kNoRank)
        f(static_cast<int32_t>(slot.key >> 32), static_cast<int32_t>(slot.key & 0xffffffffu),
          slot.merge);
  }

 private:
  struct Slot {
    uint64_t key = 0;
    Merge merge;
  };
  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t place_of(uint64_t key) const {
    return (key * 0x9E3779B97F4A7C15u) >> (64 - std::countr_zero(slots_.size()));
  }
  void apply_short(std::span<const int32_t> symbols, std::vector<int32_t>& ids) const;
  void apply_long(std::span<const int32_t> symbols, std::vector<int32_t>& ids) const;

  std::vector<Slot> slots_;  // their number is a power of two; at most half full
  size_t size_ = 0;
  uint32_t ranks_end_ = 0;  // above all ranks
};

}  // namespace nine
