// Keys and values of the positions that a Transformer layer has read, for decoding step by step.
#pragma once

#include <cstdint>

#include "core/tensor.h"

namespace nine {

/// Holds the keys and values of one attention layer for `batch` parallel sequences of up to
/// `capacity` positions each.
class KeyValueCache {
 public:
  /// Makes an empty cache. `size` is the width of a key, all heads together.
  KeyValueCache(int64_t batch, int64_t capacity, int64_t size, DType dtype, Device device);
  KeyValueCache(const KeyValueCache&) = delete;  // a copy would share the memory but not the length
  KeyValueCache& operator=(const KeyValueCache&) = delete;
  KeyValueCache(KeyValueCache&&) = default;
  KeyValueCache& operator=(KeyValueCache&&) = default;

  int64_t batch() const { return batch_; }
  int64_t capacity() const { return capacity_; }
  /// Returns the number of positions stored so far.
  int64_t length() const { return length_; }
  void clear() { length_ = 0; }
  /// Adds the next position's keys and values, side by side: (batch, 2 size). Errors: the shape
  /// differs; the cache is full.
  void append(const View& keys_values);
  /// Returns (batch * capacity, 2 size). Row b * capacity + t is position t of sequence b.
  const Tensor& keys_values() const { return keys_values_; }
  /// Returns the lengths as ops::Attention takes them: (batch) int32 on the same device, all equal
  /// to length(). After clear() they keep the old length until append().
  const Tensor& lengths() const { return lengths_; }

 private:
  int64_t batch_, capacity_, length_ = 0;
  Tensor keys_values_, lengths_;
};

}  // namespace nine
