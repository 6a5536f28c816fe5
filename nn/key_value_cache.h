// Keys and values of positions that a Transformer layer has seen, for decoding step by step.
#pragma once

#include <cstdint>

#include "core/tensor.h"

namespace nine {

/// The keys and values of one attention layer for `batch` sequences that are read side by side, of
/// up to `capacity` positions each.
class KeyValueCache {
 public:
  KeyValueCache(int64_t batch, int64_t capacity, int64_t size, DType dtype, Device device);
  KeyValueCache(const KeyValueCache&) = delete;  // a copy would share the memory, not the length
  KeyValueCache& operator=(const KeyValueCache&) = delete;
  KeyValueCache(KeyValueCache&&) = default;
  KeyValueCache& operator=(KeyValueCache&&) = default;

  int64_t batch() const { return batch_; }
  int64_t capacity() const { return capacity_; }
  /// Positions that are there.
  int64_t length() const { return length_; }
  void clear() { length_ = 0; }
  /// Adds the next position's keys and values, side by side: (batch, 2 size). Errors: another
  /// shape; it is full.
  void append(const View& keys_values);
  /// (batch * capacity, 2 size), row b * capacity + t.
  const Tensor& keys_values() const { return keys_values_; }
  /// (batch) int32 on the same device: length() as of the last append(), for each.
  const Tensor& lengths() const { return lengths_; }

 private:
  int64_t batch_, capacity_, length_ = 0;
  Tensor keys_values_, lengths_;
};

}  // namespace nine
