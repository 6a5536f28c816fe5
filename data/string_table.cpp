#include "data/string_table.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/error.h"

namespace nine {

namespace {

constexpr size_t kFirstSlots = 64;
constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15u;

uint64_t mixed(uint64_t h) {
  h *= kMultiplier;
  return h ^ (h >> 32);
}

uint32_t hash_of(std::string_view text) {
  uint64_t h = text.size();
  for (size_t at = 0; at < text.size(); at += 8) {
    uint64_t part = 0;
    std::memcpy(&part, text.data() + at, std::min<size_t>(8, text.size() - at));
    h = mixed(h ^ part);
  }
  return static_cast<uint32_t>(h);
}

uint64_t key_of(int32_t first, int32_t second) { return static_cast<uint64_t>(static_cast<uint32_t>(first)) << 32 | static_cast<uint32_t>(second); }

void check_room(size_t entries) {
  require(entries < static_cast<size_t>(std::numeric_limits<int32_t>::max()), "[bpe] more than 2147483647 different words or pairs: use less text");
}

}  // namespace

size_t StringTable::slot_of(std::string_view wanted, uint32_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  while (slots_[at].id != kNone && (slots_[at].hash != hash || text(slots_[at].id) != wanted)) at = (at + 1) & mask;
  return at;
}

int32_t StringTable::find(std::string_view text) const { return slots_.empty() ? kNone : slots_[slot_of(text, hash_of(text))].id; }

int32_t StringTable::add(std::string_view text) {
  if (2 * (ends_.size() + 1) > slots_.size()) grow();
  const uint32_t hash = hash_of(text);
  Slot& slot = slots_[slot_of(text, hash)];
  if (slot.id == kNone) {
    check_room(ends_.size());
    slot = {hash, size()};
    bytes_ += text;
    ends_.push_back(bytes_.size());
  }
  return slot.id;
}

void StringTable::grow() {
  std::vector<Slot> old(std::max(kFirstSlots, 2 * slots_.size()));
  old.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id == kNone) continue;
    size_t at = slot.hash & mask;
    while (slots_[at].id != kNone) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

size_t PairTable::slot_of(uint64_t key) const {
  const size_t mask = slots_.size() - 1;
  size_t at = mixed(key) & mask;
  while (slots_[at] != kNone && keys_[static_cast<size_t>(slots_[at])] != key) at = (at + 1) & mask;
  return at;
}

int32_t PairTable::find(int32_t first, int32_t second) const { return slots_.empty() ? kNone : slots_[slot_of(key_of(first, second))]; }

int32_t PairTable::add(int32_t first, int32_t second) {
  if (2 * (keys_.size() + 1) > slots_.size()) grow();
  int32_t& slot = slots_[slot_of(key_of(first, second))];
  if (slot == kNone) {
    check_room(keys_.size());
    slot = size();
    keys_.push_back(key_of(first, second));
  }
  return slot;
}

void PairTable::grow() {
  slots_.assign(std::max(kFirstSlots, 2 * slots_.size()), kNone);
  for (int32_t id = 0; id < size(); ++id) slots_[slot_of(keys_[static_cast<size_t>(id)])] = id;
}

}  // namespace nine
