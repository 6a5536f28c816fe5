// The merges of byte pair encoding: a hash table from pairs of symbols to rank and result.
#pragma once

#include <array>
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
    if (groups_.empty()) return {};
    const uint64_t key = key_of(left, right);
    for (size_t at = place_of(key);; at = (at + 1) & (groups_.size() - 1)) {
      const Group& group = groups_[at];
      uint64_t found = kEmpty;
      for (size_t i = 0; i < kInGroup; ++i)
        found &= group.merges[i] | (uint64_t{group.keys[i] == key} - 1);
      if ((~found | uint64_t{group.keys.back() == kEmpty}) != 0) return std::bit_cast<Merge>(found);
    }
  }
  size_t size() const { return size_; }

  /// Merges symbols until no pair has a merge, and appends the result to `ids`. Each step takes the
  /// lowest rank, and of equal ranks the leftmost pair. The time is n log n for long texts.
  void apply(std::span<const int32_t> symbols, std::vector<int32_t>& ids) const;

  /// Calls f(left, right, merge) for each merge, in no order.
  template <class F>
  void for_each(F&& f) const {
    for (const Group& group : groups_)
      for (size_t i = 0; i < kInGroup && group.keys[i] != kEmpty; ++i)
        f(static_cast<int32_t>(group.keys[i] >> 32),
          static_cast<int32_t>(group.keys[i] & 0xffffffffu), std::bit_cast<Merge>(group.merges[i]));
  }

 private:
  static constexpr size_t kInGroup = 4;
  static constexpr uint64_t kEmpty = std::numeric_limits<uint64_t>::max();  // the bits of Merge()
  // The merges of a few keys, in one line of the processor's cache. All are compared, because a
  // branch for each would often be predicted wrong.
  struct alignas(64) Group {
    Group() {
      keys.fill(kEmpty);
      merges.fill(kEmpty);
    }
    std::array<uint64_t, kInGroup> keys{}, merges{};
  };
  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t place_of(uint64_t key) const { return (key * 0x9E3779B97F4A7C15u) >> shift_; }
  bool put(uint64_t key, uint64_t merge);
  template <size_t kVectors>
  void apply_short(std::span<const int32_t> symbols, std::vector<int32_t>& ids) const;
  void apply_long(std::span<const int32_t> symbols, std::vector<int32_t>& ids) const;

  std::vector<Group> groups_;  // their number is a power of two; at most half full
  int shift_ = 0;              // from a hash to the number of a group
  size_t size_ = 0;
  uint32_t ranks_end_ = 0;  // above all ranks
};

}  // namespace nine
