// Tensors and views of their memory: row-major, at most four dimensions. Rows may lie further apart
// than they are long, so that columns of a matrix are a view and not a copy.
#pragma once

#include <memory>
#include <vector>

#include "core/device.h"
#include "core/dtype.h"
#include "core/shape.h"

namespace nine {

class Arena;

/// The argument of every op: a pointer to the elements, their type, shape and leading dimension. A
/// view does not own its memory, and `data` may be a GPU's: read elements through as(). As a matrix
/// it has shape.rows() x shape.cols() elements, and row r starts r * ld elements after `data`.
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

  /// The elements as T, for code on the CPU. Errors: the dtype is another; the memory is a GPU's.
  template <class T>
  T* as() const {
    require(dtype == dtype_of<T>, "a view of ", dtype, " was read as ", dtype_of<T>);
    require(device == kCpu, "memory of ", device, " (a tensor of shape ", shape,
            ") was read or written on the CPU: copy it with Tensor::to(kCpu) or to_vector()");
    return static_cast<T*>(data);
  }

  /// The value of a view of one float32 or float64 element. On a GPU this waits for the work before
  /// it and copies the number. Error: none or several elements, or another type.
  double item() const;
  /// Rows [begin, begin + count) of a matrix (rank 2). Error: outside of the matrix.
  View row_range(int64_t begin, int64_t count) const;
  /// Columns [begin, begin + count) of a matrix (rank 2), with the same leading dimension. Error:
  /// outside of the matrix.
  View col_range(int64_t begin, int64_t count) const;
  /// The same elements in another shape. Error: the number of elements differs, or the view has
  /// gaps between rows and the new shape has rows of another length.
  View reshaped(const Shape& s) const;
};

/// Where an op writes its result: it overwrites the view, or adds to it (`add`). A value that is
/// used several times has a gradient that is a sum; the first use overwrites, the others add. Where
/// an op says so, an empty view means that the result need not be computed.
struct OutputView {
  View view;
  bool add = false;
};

/// A view together with the lifetime of its memory. The memory is either owned (and
/// reference-counted) or part of a pool (Arena), which must outlive its tensors: clone() what
/// leaves it. Using a tensor of a pool after the pool was reset at the end of a step is an Error,
/// since its memory then holds other tensors.
class Tensor {
 public:
  Tensor() = default;
  /// Owned memory, 64-byte aligned, set to zero.
  Tensor(const Shape& shape, DType dtype, Device device = kCpu);
  /// Owned memory on the CPU with these values in row-major order. Error: their number is not that
  /// of the shape.
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
  /// The elements as T, for code on the CPU; Errors as in View::as().
  template <class T>
  T* data() const {
    return view().as<T>();
  }

  // Tensors that share this one's memory; see View.
  Tensor row_range(int64_t begin, int64_t count) const {
    return with(view_.row_range(begin, count));
  }
  Tensor col_range(int64_t begin, int64_t count) const {
    return with(view_.col_range(begin, count));
  }
  Tensor reshaped(const Shape& s) const { return with(view_.reshaped(s)); }

  /// A tensor of the same lifetime whose view is `v`, a part of this tensor's memory.
  Tensor with(const View& v) const;
  /// An owned, contiguous copy on the same device, or on another one.
  Tensor clone() const { return to(device()); }
  Tensor to(Device device) const;
  /// The value of a tensor of one element; see View::item().
  double item() const { return view().item(); }
  /// The elements in row-major order, converted to double from any type; copies from a GPU.
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
