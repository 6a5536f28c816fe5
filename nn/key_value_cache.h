// Keys and values of words that were read earlier, for decoding step by step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "autograd/functions.h"

namespace nine {

/// Holds the keys and values of one attention layer, a row for each word that was read.
class KeyValueCache {
 public:
  /// Makes an empty cache. `size` is the width of a key, all heads together.
  KeyValueCache(int64_t size, DType dtype, Device device)
      : size_(size), dtype_(dtype), device_(device) {}
  KeyValueCache(const KeyValueCache&) = delete;  // a copy would share the memory but not the length
  KeyValueCache& operator=(const KeyValueCache&) = delete;
  KeyValueCache(KeyValueCache&&) = default;
  KeyValueCache& operator=(KeyValueCache&&) = default;

  /// Drops all rows, but keeps their memory.
  void clear() { rows_ = 0; }
  int64_t rows() const { return rows_; }
  /// Adds rows of keys and values, side by side: (n, 2 size). Error: another width.
  void append(const View& keys_values);
  /// Keeps the listed rows alone, in this order.
  void keep(const std::vector<int32_t>& rows);
  /// Returns (rows(), 2 size), in the order of append(). Error: there was no append() yet.
  Tensor keys_values() const { return memory_.row_range(0, rows_); }

 private:
  int64_t size_, rows_ = 0;
  DType dtype_;
  Device device_;
  Tensor memory_;  // has more rows than are in use
};

/// One word that a decoder reads: the slot of its text, and its id.
struct DecoderRow {
  int32_t slot, word;
};

/// Keeps the words of several texts that a decoder reads side by side, each text in a slot. Also
/// keeps, for each word, the row that holds its keys and values in every layer's KeyValueCache. A
/// text may continue another text; both then share the rows of the words that they have in common.
class ReadWords {
 public:
  /// Lets `slots` texts begin. All caches must be empty.
  void start(int64_t slots);
  /// Lets slot i continue the text of slot from[i]; -1: slot i has no words. Errors: not one
  /// element of `from` for each slot; an element of slots() or more.
  void reorder(std::span<const int32_t> from);
  /// Adds a word to the slot of each of `rows`. A slot may have several rows: its next words, in
  /// order. Append the words' keys and values to the caches next, in the order of `rows`. Error: a
  /// slot outside of [0, slots()).
  void read(std::span<const DecoderRow> rows);
  /// Returns, for each row of the last read(), the rows of the caches that it attends to: the words
  /// of its text up to itself. The lists are on the tape's device, valid until its reset().
  KeyLists lists(Tape& tape) const;
  /// Returns, for each row of the last read(), the number of words before it in its text.
  const std::vector<int32_t>& places() const { return places_; }

  /// Lets a slot's text begin anew.
  void clear(int32_t slot) { lengths_[checked(slot)] = 0; }
  /// Adds a slot, whose text begins.
  void add_slot();
  /// Lets the texts of all slots but `slots` end. Returns the rows of the caches that the other
  /// texts need: let the caches keep() these.
  std::vector<int32_t> keep(std::span<const int32_t> slots);

  int64_t slots() const { return std::ssize(lengths_); }
  /// Return the number of words of the longest text, and of a slot's text.
  int64_t length() const;
  int64_t length(int64_t slot) const { return lengths_[checked(slot)]; }
  /// Return the words of a slot's text, and their rows in the caches; valid until the next start(),
  /// reorder() or read(). The words and rows of a slot that ended are unspecified.
  std::span<const int32_t> words(int64_t slot) const { return of(words_, slot); }
  std::span<const int32_t> rows(int64_t slot) const { return of(rows_, slot); }

 private:
  std::span<const int32_t> of(const std::vector<int32_t>& table, int64_t slot) const {
    return {table.data() + slot * stride_, static_cast<size_t>(length(slot))};
  }
  size_t checked(int64_t slot) const;
  void make_place(std::span<const int32_t> from, int64_t stride);

  int64_t stride_ = 0;
  int32_t used_ = 0;                    // rows of the caches
  std::vector<int64_t> lengths_;        // of each slot
  std::vector<int32_t> words_, rows_;   // (slots, stride)
  std::vector<int32_t> moved_;          // the memory of the next table
  std::vector<int32_t> last_, places_;  // of the rows of the last read(): slots, and words before
};

}  // namespace nine
