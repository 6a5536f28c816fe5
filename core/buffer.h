// Working memory that an object keeps from call to call.
#pragma once

#include "core/tensor.h"

namespace nine {

/// An array of T, 64-byte aligned, that grows on demand. Growing discards its contents.
template <class T>
class Buffer {
 public:
  /// Memory for at least n elements: the earlier contents, or zeros if it had to grow. Null while
  /// the buffer is empty.
  T* get(int64_t n) {
    if (n > size_) {
      memory_ = Tensor({n}, dtype_of<T>);  // may throw: the size is then still the memory's
      size_ = n;
    }
    return size_ > 0 ? static_cast<T*>(memory_.view().data) : nullptr;
  }
  T* data() const { return size_ > 0 ? static_cast<T*>(memory_.view().data) : nullptr; }

 private:
  Tensor memory_;
  int64_t size_ = 0;
};

}  // namespace nine
