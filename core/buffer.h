// Working memory that an object keeps from call to call.
#pragma once

#include "core/tensor.h"

namespace nine {

/// An array of T, 64-byte aligned, that grows on demand. Growing discards its contents.
template <class T>
class Buffer {
 public:
  /// Returns memory for at least n elements: the earlier contents, or zeros if the buffer had to
  /// grow. Null while the buffer is empty.
  T* get(int64_t n) {
    if (n > size_) {
      memory_ = Tensor({n}, dtype_of<T>);  // may throw: size_ then still fits the old memory
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
