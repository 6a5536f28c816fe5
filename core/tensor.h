// Tensors and views of their memory: row-major, at most six dimensions. Gaps between rows are
// allowed, so that a range of columns is a view and not a copy.
#pragma once

#include <iosfwd>
#include <memory>
#include <span>
#include <vector>

#include "core/device.h"
#include "core/dtype.h"
#include "core/shape.h"

namespace nine {

class Arena;

/// The argument of every op: a pointer to the elements, their type, shape and leading dimension. A
/// view does not own its memory. `data` may be memory of a GPU, so read elements through as(). As a
/// matrix a view has shape.rows() rows and shape.cols() columns; row r starts r * ld elements after
/// `data`, where ld is the leading dimension.
struct View {
  void* data = nullptr;
  DType dtype = DType::float32;
  Device device;
  Shape shape;
  int64_t ld = 0;  ///< elements from one row to the next, >= cols()

  View() = default;
  /// Makes a view of contiguous elements of type T on the CPU.
  template <class T>
  View(T* p, const Shape& s) : data(p), dtype(dtype_of<T>), shape(s), ld(s.cols()) {}

  explicit operator bool() const { return data != nullptr; }
  int64_t rows() const { return shape.rows(); }
  int64_t cols() const { return shape.cols(); }
  int64_t elements() const { return shape.elements(); }
  int64_t bytes() const { return elements() * static_cast<int64_t>(size_of(dtype)); }
  /// True if no gaps lie between rows.
  bool contiguous() const { return ld == cols() || rows() <= 1; }

  /// Returns the elements as T, for code on the CPU. Errors: another dtype; memory of a GPU.
  template <class T>
  T* as() const {
    require(dtype == dtype_of<T>, "a view of ", dtype, " was read as ", dtype_of<T>);
    require(device == kCpu, "memory of ", device, " (a tensor of shape ", shape,
            ") was read or written on the CPU: copy it with Tensor::to(kCpu) or to_vector()");
    return static_cast<T*>(data);
  }

  /// Returns the value of a view of one element, converted to double. On a GPU it waits for earlier
  /// work and copies the number. Error: no element or several.
  double item() const;
  /// Returns rows [begin, begin + count) of a matrix (rank 2). Error: rows outside of the matrix.
  View row_range(int64_t begin, int64_t count) const;
  /// Returns columns [begin, begin + count) of a matrix (rank 2), with the same leading dimension.
  /// Error: columns outside of the matrix.
  View col_range(int64_t begin, int64_t count) const;
  /// Returns the same elements in another shape. Errors: the number of elements differs; the view
  /// has gaps between rows and the new shape has rows of another length.
  View reshaped(const Shape& s) const;
};

/// The place for an op's result: the op overwrites the view, or adds to it if `add` is true. The
/// gradient of a value with several uses is a sum: the first use overwrites and the others add.
/// Some ops, whose comments say so, skip a result whose view is empty.
struct OutputView {
  View view;
  bool add = false;
};

/// A view together with the lifetime of its memory. A tensor owns its memory, with a reference
/// count, or uses memory of a pool (Arena). Copying a Tensor does not copy the elements: both
/// objects share the memory, and clone() makes a separate copy. A pool must outlive its tensors.
/// After a reset of the pool, any use of its earlier tensors is an Error, because other tensors now
/// use the memory; clone() a tensor that must outlive a step.
class Tensor {
 public:
  Tensor() = default;  ///< an empty tensor: no memory, false as a bool
  /// Makes a tensor of zeros that owns its memory, aligned to 64 bytes.
  Tensor(const Shape& shape, DType dtype, Device device = kCpu);
  /// Returns a tensor that owns memory on the CPU and holds `values` in row-major order. Error: the
  /// number of values is not the shape's.
  template <class T>
  static Tensor from(const std::vector<T>& values, const Shape& shape);
  /// Returns a tensor over memory that something else has allocated, without a copy. The tensor and
  /// all tensors that share its memory keep `owner`. strides: for each dimension, the elements from
  /// one index to the next; empty: row-major without gaps. Errors: a row whose elements are not
  /// side by side; rows that overlap or are not at equal distances; an address that is null, or not
  /// a multiple of the element's size; not one stride for each dimension.
  static Tensor view_of(void* pointer, DType dtype, const Shape& shape,
                        std::span<const int64_t> strides, std::shared_ptr<void> owner,
                        Device device = kCpu);

  /// Returns the view. Every op calls this function. Error: the tensor's pool was reset.
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
  /// Returns the elements as T, for code on the CPU. Errors: those of View::as().
  template <class T>
  T* data() const {
    return view().as<T>();
  }

  // Tensors that share the memory of this tensor; see View.
  Tensor row_range(int64_t begin, int64_t count) const {
    return with(view_.row_range(begin, count));
  }
  Tensor col_range(int64_t begin, int64_t count) const {
    return with(view_.col_range(begin, count));
  }
  Tensor reshaped(const Shape& s) const { return with(view_.reshaped(s)); }

  /// Returns a tensor of the same lifetime with the view `v`. `v` must lie in this tensor's memory,
  /// which is not checked.
  Tensor with(const View& v) const;
  /// Return a contiguous copy that owns its memory: clone() on the same device, to() on `device`.
  /// Error: an empty tensor.
  Tensor clone() const { return to(device()); }
  Tensor to(Device device) const;
  /// Returns the value of a tensor of one element; see View::item().
  double item() const { return view().item(); }
  /// Returns the elements in row-major order, converted to double from any dtype; copies from a
  /// GPU. Error: an empty tensor.
  std::vector<double> to_vector() const;

 private:
  friend class Arena;
  void check_alive() const;

  View view_;
  std::shared_ptr<void> owner_;
  const Arena* arena_ = nullptr;
  uint64_t generation_ = 0;
};

/// Writes the elements as NumPy's print() does, with 8 digits: "[[1.  2.5]\n [3.  4. ]]". Of more
/// than 1000 elements it writes the first three and the last three of each dimension. Copies from a
/// GPU. Error: an empty tensor.
std::ostream& operator<<(std::ostream& out, const Tensor& t);

template <class T>
Tensor Tensor::from(const std::vector<T>& values, const Shape& shape) {
  require(static_cast<int64_t>(values.size()) == shape.elements(), "[Tensor::from] ", values.size(),
          " values do not fill ", shape);
  Tensor t(shape, dtype_of<T>);
  std::copy(values.begin(), values.end(), t.data<T>());
  return t;
}

}  // namespace nine
