#include "data/tokenizers/merge_table.h"

#include <algorithm>
#include <array>
#include <queue>
#include <utility>

namespace nine {

namespace {

constexpr size_t kFirstSlots = 64;
constexpr size_t kShort = 64;  // symbols that are searched one by one for the lowest rank

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
  return true;
}

void MergeTable::apply(std::span<const int32_t> symbols, std::vector<int32_t>& ids) const {
  symbols.size() <= kShort ? apply_short(symbols, ids) : apply_long(symbols, ids);
}

void MergeTable::apply_short(std::span<const int32_t> symbols, std::vector<int32_t>& ids) const {
  std::array<int32_t, kShort> id;
  std::array<Merge, kShort> merges;  // of a symbol and the next symbol
  size_t n = symbols.size();
  std::copy(symbols.begin(), symbols.end(), id.begin());
  for (size_t i = 0; i + 1 < n; ++i) merges[i] = find(id[i], id[i + 1]);
  while (n > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < n; ++i)
      if (merges[i].rank < merges[best].rank) best = i;
    if (merges[best].rank == kNoRank) break;
    id[best] = merges[best].result;
    --n;
    for (size_t i = best + 1; i < n; ++i) {
      id[i] = id[i + 1];
      merges[i] = merges[i + 1];
    }
    if (best > 0) merges[best - 1] = find(id[best - 1], id[best]);
    if (best + 1 < n) merges[best] = find(id[best], id[best + 1]);
  }
  ids.insert(ids.end(), id.begin(), id.begin() + static_cast<std::ptrdiff_t>(n));
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
