#include "nn/key_value_cache.h"

#include <algorithm>

#include "core/ops.h"

namespace nine {

KeyValueCache::KeyValueCache(int64_t batch, int64_t capacity, int64_t size, DType dtype,
                             Device device)
    : batch_(batch),
      capacity_(capacity),
      keys_values_({batch * capacity, 2 * size}, dtype, device),
      lengths_({batch}, DType::int32, device) {}

void KeyValueCache::append(const View& keys_values) {
  require(keys_values.rows() == batch_ && keys_values.cols() == keys_values_.shape().cols(),
          "[KeyValueCache] keys and values of shape ", keys_values.shape, " for ", batch_,
          " sequences of ", keys_values_.shape().cols(), " numbers");
  if (length_ == capacity_)
    fail("[KeyValueCache] the cache has no room for more than ", capacity_, " positions");
  // The rows b * capacity + length of all b: a matrix whose rows lie `capacity` rows apart.
  View place = keys_values_.view().row_range(length_, 1);
  place.shape = keys_values.shape;
  place.ld = capacity_ * keys_values_.view().ld;
  ops::copy(keys_values, place);
  ++length_;
  const Tensor counts({batch_}, DType::int32);
  std::fill_n(counts.data<int32_t>(), batch_, static_cast<int32_t>(length_));
  ops::copy(counts, lengths_);
}

}  // namespace nine
