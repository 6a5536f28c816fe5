// Two flat hash tables for word counts and BPE. They number strings, or pairs of numbers, in the
// order of first appearance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace nine {

namespace detail {
template <class T>
uint64_t load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
}  // namespace detail

/// Returns the first eight bytes of a text, with zeros after its end.
inline uint64_t start_of(std::string_view text) {
  using detail::load;
  const char* p = text.data();
  const size_t n = text.size();
  if (n >= 8) return load<uint64_t>(p);
  if (n >= 4) return load<uint32_t>(p) | load<uint32_t>(p + n - 4) << (8 * (n - 4));
  if (n >= 2) return load<uint16_t>(p) | load<uint8_t>(p + n - 1) << (8 * (n - 1));
  return n == 1 ? load<uint8_t>(p) : 0;
}

/// Distinct strings, numbered 0, 1, ... in the order of their first add().
class StringTable {
 public:
  static constexpr int32_t kNone = -1;

  /// Returns the number of `text`, and adds `text` if it is new. New `text` must not be part of a
  /// view that text() returned, because adding may move that memory.
  int32_t add(std::string_view text);
  /// Returns the number of `text`, or kNone.
  int32_t find(std::string_view text) const;
  /// Returns the string of a number; valid until the next add().
  std::string_view text(int32_t id) const {
    return std::string_view(bytes_).substr(begin(id), ends_[static_cast<size_t>(id)] - begin(id));
  }
  int32_t size() const { return static_cast<int32_t>(ends_.size()); }
  /// Returns the bytes of memory that the table holds.
  size_t memory() const {
    return bytes_.capacity() + ends_.capacity() * sizeof ends_[0] +
           slots_.capacity() * sizeof slots_[0];
  }

 private:
  // Short strings (most words of a text) are compared within their slot.
  struct Slot {
    uint64_t start = 0;  // the first eight bytes
    uint32_t size = 0;
    int32_t id = kNone;
  };
  size_t begin(int32_t id) const { return id == 0 ? 0 : ends_[static_cast<size_t>(id) - 1]; }
  size_t slot_of(std::string_view wanted) const;
  void grow();

  std::string bytes_;         // all strings, one after another
  std::vector<size_t> ends_;  // end of each string in bytes_
  std::vector<Slot> slots_;   // their number is a power of two; at most three quarters full
};

/// Distinct pairs of numbers >= 0, numbered like the strings of StringTable.
class PairTable {
 public:
  static constexpr int32_t kNone = -1;

  /// Returns the number of a pair, and adds the pair if it is new.
  int32_t add(int32_t first, int32_t second);
  /// Returns the number of a pair, or kNone.
  int32_t find(int32_t first, int32_t second) const;
  int32_t first(int32_t id) const {
    return static_cast<int32_t>(keys_[static_cast<size_t>(id)] >> 32);
  }
  int32_t second(int32_t id) const {
    return static_cast<int32_t>(keys_[static_cast<size_t>(id)] & 0xffffffffu);
  }
  int32_t size() const { return static_cast<int32_t>(keys_.size()); }

 private:
  struct Slot {
    uint64_t key = 0;
    int32_t id = kNone;
  };
  size_t slot_of(uint64_t key) const;
  void grow();

  std::vector<uint64_t> keys_;
  std::vector<Slot> slots_;  // as in StringTable
};

}  // namespace nine
