#include "data/tokenizers/merge_table.h"

#include <algorithm>
#include <array>
#include <queue>
#include <utility>

namespace nine {

namespace {

constexpr size_t kFirstSlots = 64;
constexpr size_t kShort = 64;  // symbols that are searched one by one for the lowest rank
constexpr int kPlaceBits = 6;  // of a symbol's place
static_assert(kShort == 1 << kPlaceBits);
// Ranks below this limit leave room for a place in 32 bits.
constexpr uint32_t kShortRanks = uint32_t{1} << (32 - kPlaceBits);

}  // namespace

bool MergeTable::add(int32_t left, int32_t right, Merge merge) {
  if (2 * (size_ + 1) > slots_.size()) {
    std::vector<Slot> old(std::max(kFirstSlots, 2 * slots_.size()));
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.merge.rank == kNoRank) continue;
      size_t at = place_of(slot.key);
      while (slots_[at].merge.rank != kNoRank) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }
  const uint64_t key = key_of(left, right);
  size_t at = place_of(key);
  for (; slots_[at].merge.rank != kNoRank; at = (at + 1) & (slots_.size() - 1))
    if (slots_[at].key == key) return false;
  slots_[at] = {key, merge};
  ++size_;
  ranks_end_ = std::max(ranks_end_, merge.rank + 1);
  return true;
}

void MergeTable::apply(std::span<const int32_t> symbols, std::vector<int32_t>& ids) const {
  symbols.size() <= kShort&& ranks_end_ <= kShortRanks ? apply_short(symbols, ids)
                                                       : apply_long(symbols, ids);
}

void MergeTable::apply_short(std::span<const int32_t> symbols, std::vector<int32_t>& ids) const {
  const size_t n = symbols.size();
  std::array<int32_t, kShort> id;
  std::array<int32_t, kShort> result;  // of the merge of a symbol and the next symbol
  // The rank of that merge, then the symbol's place, so that the least key is the leftmost of the
  // lowest rank. A symbol without a merge has kNever; so do the places up to a multiple of kLanes.
  std::array<uint32_t, kShort> keys;
  std::array<uint8_t, kShort + 1> before, next;
  constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();
  constexpr size_t kLanes = 8;
  static_assert(kShort % kLanes == 0);
  const auto offer = [&](size_t left, size_t right) {
    const Merge merge = find(id[left], id[right]);
    result[left] = merge.result;
    keys[left] =
        merge.rank == kNoRank ? kNever : merge.rank << kPlaceBits | static_cast<uint32_t>(left);
  };
  std::ranges::copy(symbols, id.begin());
  for (size_t i = 0; i <= n; ++i) {
    before[i] = static_cast<uint8_t>(i - 1);
    next[i] = static_cast<uint8_t>(i + 1);
  }
  for (size_t i = 0; i + 1 < n; ++i) offer(i, i + 1);
  const size_t end = (n + kLanes - 2) / kLanes * kLanes;
  for (size_t i = n - 1; i < end; ++i) keys[i] = kNever;
  for (;;) {
    std::array<uint32_t, kLanes> least;  // of each lane, so that no comparison waits for another
    least.fill(kNever);
    for (size_t i = 0; i < end; i += kLanes)
      for (size_t lane = 0; lane < kLanes; ++lane)
        least[lane] = std::min(least[lane], keys[i + lane]);
    for (size_t width = kLanes / 2; width > 0; width /= 2)
      for (size_t lane = 0; lane < width; ++lane)
        least[lane] = std::min(least[lane], least[lane + width]);
    const uint32_t key = least[0];
    if (key == kNever) break;
    const size_t left = key & ((1u << kPlaceBits) - 1), right = next[left], after = next[right];
    id[left] = result[left];
    keys[right] = kNever;
    next[left] = static_cast<uint8_t>(after);
    before[after] = static_cast<uint8_t>(left);
    if (left > 0) offer(before[left], left);
    if (after < n) {
      offer(left, after);
    } else {
      keys[left] = kNever;
    }
  }
  for (size_t i = 0; i < n; i = next[i]) ids.push_back(id[i]);
}

void MergeTable::apply_long(std::span<const int32_t> symbols, std::vector<int32_t>& ids) const {
  struct Node {
    int32_t id;
    size_t before, next;
  };
  constexpr size_t kEnd = std::numeric_limits<size_t>::max();
  constexpr int32_t kGone = -2;
  const size_t n = symbols.size();
  std::vector<Node> nodes(n);
  using Entry = std::pair<uint32_t, size_t>;  // rank and place of the left symbol
  std::vector<Entry> first;
  for (size_t i = 0; i < n; ++i)
    nodes[i] = {symbols[i], i == 0 ? kEnd : i - 1, i + 1 == n ? kEnd : i + 1};
  for (size_t i = 0; i + 1 < n; ++i) {
    const Merge merge = find(symbols[i], symbols[i + 1]);
    if (merge.rank != kNoRank) first.emplace_back(merge.rank, i);
  }
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue(std::greater<>(),
                                                                       std::move(first));
  const auto offer = [&](size_t left) {
    if (left == kEnd || nodes[left].next == kEnd) return;
    const Merge merge = find(nodes[left].id, nodes[nodes[left].next].id);
    if (merge.rank != kNoRank) queue.emplace(merge.rank, left);
  };
  while (!queue.empty()) {
    const auto [rank, at] = queue.top();
    queue.pop();
    Node& left = nodes[at];
    if (left.id == kGone || left.next == kEnd) continue;
    Node& right = nodes[left.next];
    const Merge merge = find(left.id, right.id);
    if (merge.rank != rank) continue;  // an entry of symbols that are merged already
    left.id = merge.result;
    right.id = kGone;
    left.next = right.next;
    if (left.next != kEnd) nodes[left.next].before = at;
    offer(left.before);
    offer(at);
  }
  for (size_t at = 0; at != kEnd; at = nodes[at].next) ids.push_back(nodes[at].id);
}

}  // namespace nine
