// Views and tensors: row-major, rank <= 4, contiguous but for a leading dimension.
#pragma once

#include <memory>
#include <vector>

#include "core/device.h"
#include "core/dtype.h"
#include "core/shape.h"

namespace nine {

class Arena;

/// Plain data that every op takes: where the elements are and how they lie. Does not own its
/// memory. Seen as a matrix of shape.rows() x shape.cols(); row r starts at data + r * ld elements.
struct View {
  void* data = nullptr;
  DType dtype = DType::float32;
  Device device;
  Shape shape;
  int64_t ld = 0;  ///< elements from one row to the next, >= cols()

  View() = default;
  /// Contiguous elements of type T on the CPU.
  template <class T>
  View(T* p, const Shape& s) : data(p), dtype(dtype_of<T>), shape(s), ld(s.cols()) {}

  explicit operator bool() const { return data != nullptr; }
  int64_t rows() const { return shape.rows(); }
  int64_t cols() const { return shape.cols(); }
  int64_t elements() const { return shape.elements(); }
  int64_t bytes() const { return elements() * static_cast<int64_t>(size_of(dtype)); }
  bool contiguous() const { return ld == cols() || rows() <= 1; }

  /// The elements as T; an Error when the dtype is another.
  template <class T>
  T* as() const {
    require(dtype == dtype_of<T>, "a view of ", dtype, " was read as ", dtype_of<T>);
    return static_cast<T*>(data);
  }

  /// The value of a one-element float32 or float64 view, copied from its device (which waits for
  /// it).
  double item() const;
  View row_range(int64_t begin,
                 int64_t count) const;  ///< matrix rows [begin, begin + count), rank 2
  View col_range(int64_t begin,
                 int64_t count) const;  ///< matrix columns, rank 2, leading dimension kept
  View reshaped(const Shape& s) const;  ///< same elements, contiguous views only
};

/// Where an op writes: over what is there, or added to it (gradients meet in one place).
struct OutputView {
  View view;
  bool add = false;
};

/// A view with its memory's lifetime: owned (reference-counted), or a pool's, in which case using
/// it after the pool was reset (the step is over) is an Error rather than a read of someone else's
/// numbers.
class Tensor {
 public:
  Tensor() = default;
  /// Owned memory, 64-byte aligned, set to zero.
  Tensor(const Shape& shape, DType dtype, Device device = kCpu);
  template <class T>
  static Tensor from(const std::vector<T>& values, const Shape& shape);

  /// Checked access: every op goes through here.
  const View& view() const {
    if (arena_ != nullptr) check_alive();
    return view_;
  }
  operator const View&() const { return view(); }  // NOLINT: ops take views

  explicit operator bool() const { return view_.data != nullptr; }
  const Shape& shape() const { return view_.shape; }
  DType dtype() const { return view_.dtype; }
  Device device() const { return view_.device; }
  int64_t elements() const { return view_.elements(); }
  template <class T>
  T* data() const {
    return view().as<T>();
  }

  Tensor row_range(int64_t begin, int64_t count) const {
    return with(view_.row_range(begin, count));
  }
  Tensor col_range(int64_t begin, int64_t count) const {
    return with(view_.col_range(begin, count));
  }
  Tensor reshaped(const Shape& s) const { return with(view_.reshaped(s)); }

  /// Another window on this tensor's memory, sharing its lifetime.
  Tensor with(const View& v) const;
  /// An owned, contiguous copy on the same device.
  Tensor clone() const;
  double item() const { return view().item(); }
  /// Elements as doubles in row-major order, whatever the type (int32 too); copies from a GPU.
  std::vector<double> to_vector() const;

 private:
  friend class Arena;
  void check_alive() const;

  View view_;
  std::shared_ptr<void> owner_;
  const Arena* arena_ = nullptr;
  uint64_t generation_ = 0;
};

template <class T>
Tensor Tensor::from(const std::vector<T>& values, const Shape& shape) {
  require(static_cast<int64_t>(values.size()) == shape.elements(), "[Tensor::from] ", values.size(),
          " values do not fill ", shape);
  Tensor t(shape, dtype_of<T>);
  std::copy(values.begin(), values.end(), t.data<T>());
  return t;
}

}  // namespace nine
