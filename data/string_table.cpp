#include "data/string_table.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "core/error.h"

namespace nine {

namespace {

constexpr size_t kFirstSlots = 64;
constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15u;

/// Returns the slot of a key among `slots`, a power of two. It takes the high bits of a product,
/// because these depend on all bits of the key.
size_t slot_for(uint64_t key, size_t slots) {
  return (key * kMultiplier) >> (64 - std::countr_zero(slots));
}

uint64_t hash_of(std::string_view text, uint64_t start) {
  uint64_t h = start + text.size();
  while (text.size() > 8) {
    text.remove_prefix(8);
    h *= kMultiplier;
    h = (h ^ (h >> 32)) + start_of(text);
  }
  return h;
}

uint64_t key_of(int32_t first, int32_t second) {
  return static_cast<uint64_t>(static_cast<uint32_t>(first)) << 32 | static_cast<uint32_t>(second);
}

void check_capacity(size_t entries) {
  require(entries < static_cast<size_t>(std::numeric_limits<int32_t>::max()),
          "[string_table] the text has a word of 2 GiB, or 2147483647 different words or pairs: "
          "use less text");
}

}  // namespace

size_t StringTable::slot_of(std::string_view wanted) const {
  const uint64_t start = start_of(wanted);
  const auto differs = [&](const Slot& slot) {
    return slot.start != start || slot.size != wanted.size() ||
           (slot.size > 8 && text(slot.id).substr(8) != wanted.substr(8));
  };
  const size_t mask = slots_.size() - 1;
  size_t at = slot_for(hash_of(wanted, start), slots_.size());
  while (slots_[at].id != kNone && differs(slots_[at])) at = (at + 1) & mask;
  return at;
}

int32_t StringTable::find(std::string_view text) const {
  return slots_.empty() ? kNone : slots_[slot_of(text)].id;
}

int32_t StringTable::add(std::string_view text) {
  if (4 * ends_.size() >= 3 * slots_.size()) grow();
  Slot& slot = slots_[slot_of(text)];
  if (slot.id == kNone) {
    check_capacity(std::max(ends_.size(), text.size()));
    slot = {start_of(text), static_cast<uint32_t>(text.size()), size()};
    bytes_ += text;
    ends_.push_back(bytes_.size());
  }
  return slot.id;
}

void StringTable::grow() {
  slots_.assign(std::max(kFirstSlots, 2 * slots_.size()), Slot());
  for (int32_t id = 0; id < size(); ++id) {
    const std::string_view one = text(id);
    slots_[slot_of(one)] = {start_of(one), static_cast<uint32_t>(one.size()), id};
  }
}

size_t PairTable::slot_of(uint64_t key) const {
  const size_t mask = slots_.size() - 1;
  size_t at = slot_for(key, slots_.size());
  while (slots_[at].id != kNone && slots_[at].key != key) at = (at + 1) & mask;
  return at;
}

int32_t PairTable::find(int32_t first, int32_t second) const {
  return slots_.empty() ? kNone : slots_[slot_of(key_of(first, second))].id;
}

int32_t PairTable::add(int32_t first, int32_t second) {
  if (4 * keys_.size() >= 3 * slots_.size()) grow();
  const uint64_t key = key_of(first, second);
  Slot& slot = slots_[slot_of(key)];
  if (slot.id == kNone) {
    check_capacity(keys_.size());
    slot = {key, size()};
    keys_.push_back(key);
  }
  return slot.id;
}

void PairTable::grow() {
  slots_.assign(std::max(kFirstSlots, 2 * slots_.size()), Slot());
  for (int32_t id = 0; id < size(); ++id)
    slots_[slot_of(keys_[static_cast<size_t>(id)])] = {keys_[static_cast<size_t>(id)], id};
}

}  // namespace nine
