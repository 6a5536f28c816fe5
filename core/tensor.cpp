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
  dispatch_float(dtype, "item", [&]<class T>(T element) {
    op_table(device).copy_bytes(*this, View(&element, shape));
    value = static_cast<double>(element);
  });
  return value;
}

std::vector<double> Tensor::to_vector() const {
  const View& source = view();
  require(source.data != nullptr, "[to_vector] an empty tensor has no values");
  Tensor host(shape(), dtype());
  op_table(source.device).copy_bytes(source, host.view());
  std::vector<double> out(static_cast<size_t>(elements()));
  const auto fill = [&](const auto* p) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(p[i]);
  };
  switch (dtype()) {
    case DType::float32:
      fill(host.data<float>());
      break;
    case DType::float64:
      fill(host.data<double>());
      break;
    case DType::int32:
      fill(host.data<int32_t>());
      break;
    case DType::bfloat16:
      for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(host.data<bfloat16>()[i]);
      break;
  }
  return out;
}

void Tensor::check_alive() const {
  require(arena_->generation() == generation_, "a tensor of shape ", shape(),
          " was used after its step: the pool '", arena_->name(),
          "' has been reset; clone() tensors that must outlive a step");
}

}  // namespace nine
