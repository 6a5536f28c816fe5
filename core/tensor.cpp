#include "core/tensor.h"

#include "core/arena.h"
#include "core/op_table.h"

namespace nine {

// The parts of a message are evaluated even without an error, and begin + count may overflow.
View View::row_range(int64_t begin, int64_t count) const {
  require(
      shape.rank() == 2 && begin >= 0 && count >= 0 && begin <= rows() && count <= rows() - begin,
      "rows [", begin, ", ", begin, " + ", count, ") of a tensor of shape ", shape);
  View v = *this;
  v.data = static_cast<std::byte*>(data) + begin * ld * static_cast<int64_t>(size_of(dtype));
  v.shape = Shape{count, cols()};
  return v;
}

View View::col_range(int64_t begin, int64_t count) const {
  require(
      shape.rank() == 2 && begin >= 0 && count >= 0 && begin <= cols() && count <= cols() - begin,
      "columns [", begin, ", ", begin, " + ", count, ") of a tensor of shape ", shape);
  View v = *this;
  v.data = static_cast<std::byte*>(data) + begin * static_cast<int64_t>(size_of(dtype));
  v.shape = Shape{rows(), count};
  return v;
}

View View::reshaped(const Shape& s) const {
  const bool keeps_rows = s.rank() > 0 && s.cols() == cols();
  require(s.elements() == elements() && (contiguous() || keeps_rows), "a tensor of shape ", shape,
          " cannot be seen as ", s);
  View v = *this;
  v.shape = s;
  if (!keeps_rows) v.ld = s.cols();
  return v;
}

Tensor::Tensor(const Shape& shape, DType dtype, Device device) {
  view_.dtype = dtype;
  view_.device = device;
  view_.shape = shape;
  view_.ld = shape.cols();
  const size_t bytes = static_cast<size_t>(view_.bytes());
  const OpTable& table = op_table(device);
  void* p = table.allocate(bytes > 0 ? bytes : 1, device.index);
  owner_ =
      std::shared_ptr<void>(p, [free = table.release, device](void* q) { free(q, device.index); });
  view_.data = p;
  if (bytes > 0) table.clear(p, bytes, device.index);
}

namespace {

std::string list_text(std::span<const int64_t> numbers) {
  std::string out;
  for (const int64_t n : numbers) out += (out.empty() ? "" : ", ") + std::to_string(n);
  return "(" + out + ")";
}

// The leading dimension of these strides; -1 if a View has none that says the same. A dimension of
// one index may have any stride.
int64_t leading_dimension(const Shape& shape, std::span<const int64_t> strides) {
  const int rank = shape.rank();
  if (rank == 0 || strides.empty()) return shape.cols();
  if (shape.cols() > 1 && strides[static_cast<size_t>(rank - 1)] != 1) return -1;
  int64_t ld = -1, rows = 1;  // rows: of the dimensions between this one and the last
  for (int i = rank - 2; i >= 0; rows *= shape[i--]) {
    if (shape[i] == 1) continue;
    const int64_t stride = strides[static_cast<size_t>(i)];
    if (ld < 0) ld = stride;  // rows is 1
    if (ld < shape.cols() || stride != ld * rows) return -1;
  }
  return ld < 0 ? shape.cols() : ld;
}

}  // namespace

Tensor Tensor::view_of(void* pointer, DType dtype, const Shape& shape,
                       std::span<const int64_t> strides, std::shared_ptr<void> owner,
                       Device device) {
  require(strides.empty() || std::ssize(strides) == shape.rank(), "[view_of] ", strides.size(),
          " strides for a shape of ", shape);
  Tensor t;
  t.view_.data = pointer;
  t.view_.dtype = dtype;
  t.view_.device = device;
  t.view_.shape = shape;
  t.owner_ = std::move(owner);
  if (shape.elements() == 0) {
    t.view_.ld = shape.cols();
    return t;
  }
  t.view_.ld = leading_dimension(shape, strides);
  if (t.view_.ld < 0)
    fail("[view_of] strides ", list_text(strides), " of a shape of ", shape,
         ": the elements of a row must lie side by side, and rows at equal distances; make a "
         "contiguous copy");
  require(pointer != nullptr, "[view_of] there is no memory for ", shape.elements(), " elements");
  require(reinterpret_cast<uintptr_t>(pointer) % size_of(dtype) == 0,
          "[view_of] the address is not a multiple of the ", size_of(dtype), " bytes of ", dtype,
          "; make a copy");
  return t;
}

Tensor Tensor::with(const View& v) const {
  Tensor t = *this;
  t.view_ = v;
  return t;
}

Tensor Tensor::to(Device device) const {
  Tensor t(shape(), dtype(), device);
  ops::copy(view(), t.view());
  return t;
}

double View::item() const {
  require(data != nullptr, "[item] an empty tensor has no value");
  require(elements() == 1, "[item] a tensor of shape ", shape, " is not one number");
  double value = 0;
  dispatch_all(dtype, [&]<class T>(T element) {
    op_table(device).copy_bytes(*this, View(&element, shape));
    if constexpr (std::is_same_v<T, bfloat16>) {
      value = static_cast<double>(static_cast<float>(element));
    } else {
      value = static_cast<double>(element);
    }
  });
  return value;
}

std::vector<double> Tensor::to_vector() const {
  const View& source = view();
  require(source.data != nullptr, "[to_vector] an empty tensor has no values");
  Tensor host(shape(), dtype());
  op_table(source.device).copy_bytes(source, host.view());
  std::vector<double> out(static_cast<size_t>(elements()));
  dispatch_all(dtype(), [&]<class T>(T) {
    const T* p = host.data<T>();
    for (size_t i = 0; i < out.size(); ++i) {
      if constexpr (std::is_same_v<T, bfloat16>) {
        out[i] = static_cast<float>(p[i]);
      } else {
        out[i] = static_cast<double>(p[i]);
      }
    }
  });
  return out;
}

void Tensor::check_alive() const {
  require(arena_->generation() == generation_, "a tensor of shape ", shape(),
          " was used after its step: the pool '", arena_->name(),
          "' has been reset; clone() tensors that must outlive a step");
}

}  // namespace nine
