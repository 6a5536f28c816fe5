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
  /// Returns (rows(), 2 size), in the order of append().
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
/// keeps, for each word, the row that holds its keys and values in every layer's KeyValueCache. All
/// texts that still grow have the same length. A text may continue another text; both then share
/// the rows of the words that they have in common.
class ReadWords {
 public:
  /// Lets `slots` texts begin. All caches must be empty.
  void start(int64_t slots);
  /// Lets slot i continue the text of slot from[i]; -1: slot i ends. Errors: not one element of
  /// `from` for each slot; an element of slots() or more.
  void reorder(std::span<const int32_t> from);
  /// Adds a word to the slot of each of `rows`; the other slots end. Append the words' keys and
  /// values to the caches next, in the same order. Error: a slot outside of [0, slots()).
  void read(std::span<const DecoderRow> rows);
  /// Returns, for each row of the last read(), the rows of the caches that it attends to: all words
  /// of its text. The lists are on the tape's device, valid until its reset().
  KeyLists lists(Tape& tape) const;

  int64_t slots() const { return slots_; }
  /// Returns the number of words of each text that still grows.
  int64_t length() const { return length_; }
  /// Return the words of a slot's text, and their rows in the caches; valid until the next start(),
  /// reorder() or read().
  std::span<const int32_t> words(int64_t slot) const { return of(words_, slot); }
  std::span<const int32_t> rows(int64_t slot) const { return of(rows_, slot); }

 private:
  std::span<const int32_t> of(const std::vector<int32_t>& table, int64_t slot) const {
    return {table.data() + slot * stride_, static_cast<size_t>(length_)};
  }
  void make_place(std::span<const int32_t> from, int64_t stride);

  int64_t slots_ = 0, length_ = 0, stride_ = 0;
  int32_t used_ = 0;                   // rows of the caches
  std::vector<int32_t> words_, rows_;  // (slots, stride)
  std::vector<int32_t> moved_;         // the memory of the next table
  std::vector<int32_t> last_;          // the slots of the last read()
};

}  // namespace nine
