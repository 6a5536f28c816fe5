// Working memory of an object that lives from call to call.
#pragma once

#include "core/tensor.h"

namespace nine {

/// Room for elements, 64-byte aligned; grows when asked for more, and then forgets what it held.
template <class T>
class Buffer {
 public:
  /// At least n elements; zero or what was there before.
  T* get(int64_t n) {
    if (n > size_) memory_ = Tensor({size_ = n}, dtype_of<T>);
    return size_ > 0 ? static_cast<T*>(memory_.view().data) : nullptr;
  }
  T* data() const { return size_ > 0 ? static_cast<T*>(memory_.view().data) : nullptr; }

 private:
  Tensor memory_;
  int64_t size_ = 0;
};

}  // namespace nine
