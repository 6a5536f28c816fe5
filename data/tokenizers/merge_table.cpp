#include "data/tokenizers/merge_table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <queue>
#include <utility>

namespace nine {

namespace {

constexpr size_t kFirstGroups = 16;
constexpr size_t kShort = 64;  // symbols of which each has a bit of a word and a lane of a vector
constexpr int kPlaceBits = 6;  // of a symbol's place
static_assert(kShort == 1 << kPlaceBits);
// Keys are a rank and a place in 32 bits. From kNever on there is no merge.
constexpr uint32_t kNever = MergeTable::kNoRank << kPlaceBits;
constexpr uint32_t kShortRanks = kNever >> kPlaceBits;

constexpr size_t kLanes = 8;
using Lanes [[gnu::vector_size(kLanes * sizeof(uint32_t))]] = uint32_t;

Lanes least_of(Lanes a, Lanes b) { return a < b ? a : b; }
uint32_t least_lane(Lanes v) {
  v = least_of(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3));
  v = least_of(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5));
  v = least_of(v, __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6));
  return v[0];
}

}  // namespace

// Puts a merge into the groups. Returns false if its key is there.
bool MergeTable::put(uint64_t key, uint64_t merge) {
  for (size_t at = place_of(key);; at = (at + 1) & (groups_.size() - 1)) {
    Group& group = groups_[at];
    for (size_t i = 0; i < kInGroup; ++i) {
      if (group.keys[i] == key) return false;
      if (group.keys[i] != kEmpty) continue;
      group.keys[i] = key;
      group.merges[i] = merge;
      return true;
    }
  }
}

bool MergeTable::add(int32_t left, int32_t right, Merge merge) {
  if (2 * (size_ + 1) > kInGroup * groups_.size()) {
    std::vector<Group> old(std::max(kFirstGroups, 2 * groups_.size()));
    old.swap(groups_);
    shift_ = 64 - std::countr_zero(groups_.size());
    for (const Group& group : old)
      for (size_t i = 0; i < kInGroup && group.keys[i] != kEmpty; ++i)
        put(group.keys[i], group.merges[i]);
  }
  if (!put(key_of(left, right), std::bit_cast<uint64_t>(merge))) return false;
  ++size_;
  ranks_end_ = std::max(ranks_end_, merge.rank + 1);
  return true;
}

void MergeTable::apply(std::span<const int32_t> symbols, std::vector<int32_t>& ids) const {
  const size_t n = symbols.size();
  if (n < 2) {
    ids.insert(ids.end(), symbols.begin(), symbols.end());
    return;
  }
  if (n > kShort || ranks_end_ > kShortRanks) return apply_long(symbols, ids);
  n <= kLanes       ? apply_short<1>(symbols, ids)
  : n <= 2 * kLanes ? apply_short<2>(symbols, ids)
  : n <= 4 * kLanes ? apply_short<4>(symbols, ids)
                    : apply_short<kShort / kLanes>(symbols, ids);
}

template <size_t kVectors>
void MergeTable::apply_short(std::span<const int32_t> symbols, std::vector<int32_t>& ids) const {
  const size_t n = symbols.size();
  constexpr int32_t kNone = -1;  // has no merge
  // Leaves numbers without a value that are written before they are read.
  // NOLINTBEGIN(cppcoreguidelines-pro-type-member-init)
  // The id of the symbol at place i is id[i + 1], so that there is one before the first.
  std::array<int32_t, kShort + 2> id;
  std::array<int32_t, kShort + 1> result;  // of the merge of that symbol and the next
  const auto key_at = [&](size_t at, size_t next) {
    const Merge merge = find(id[at], id[next]);
    result[at] = merge.result;
    return merge.rank << kPlaceBits | static_cast<uint32_t>(at - 1);
  };
  id.front() = id.back() = kNone;
  std::ranges::copy(symbols, id.begin() + 1);
  // The rank of that merge, then the place, so that the least key is the leftmost of the lowest
  // rank. These vectors stay in registers: to load one waits for all stores to its lanes.
  std::array<Lanes, kVectors> keys, places;
  {
    alignas(Lanes) std::array<uint32_t, kLanes * kVectors> all, counted;
    all.fill(kNever);
    for (size_t at = 1; at < n; ++at) all[at - 1] = key_at(at, at + 1);
    std::iota(counted.begin(), counted.end(), 0u);
    std::memcpy(keys.data(), all.data(), sizeof keys);
    std::memcpy(places.data(), counted.data(), sizeof places);
  }
  // NOLINTEND(cppcoreguidelines-pro-type-member-init)
  const auto set_key = [&](size_t at, uint32_t key) {
    for (size_t v = 0; v < kVectors; ++v)
      keys[v] = places[v] == static_cast<uint32_t>(at - 1) ? Lanes{} + key : keys[v];
  };
  uint64_t left_over = ~uint64_t{0} >> (kShort - n);  // a bit for each place with a symbol
  for (;;) {
    Lanes least = keys[0];
    for (size_t v = 1; v < kVectors; ++v) least = least_of(least, keys[v]);
    const uint32_t key = least_lane(least);
    if (key >= kNever) break;
    const size_t left = key % kShort;
    const uint64_t before = left_over & ((uint64_t{1} << left) - 1);
    const uint64_t behind = left_over & (~uint64_t{1} << left);
    const uint64_t after = behind & (behind - 1);  // without the right symbol
    left_over = before | uint64_t{1} << left | after;
    // Without a symbol before or after, these are the first and the last of `id`.
    const auto before_at = static_cast<size_t>(std::bit_width(before)),
               after_at = static_cast<size_t>(std::countr_zero(after)) + 1;
    id[left + 1] = result[left + 1];
    set_key(static_cast<size_t>(std::countr_zero(behind)) + 1, kNever);
    set_key(before_at, key_at(before_at, left + 1));
    set_key(left + 1, key_at(left + 1, after_at));
  }
  for (; left_over != 0; left_over &= left_over - 1)
    ids.push_back(id[static_cast<size_t>(std::countr_zero(left_over)) + 1]);
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
