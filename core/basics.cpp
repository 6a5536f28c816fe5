// The small types' out-of-line parts: texts, shapes, tensors.
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "core/arena.h"
#include "core/device.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/fixed.h"
#include "core/op_table.h"
#include "core/shape.h"
#include "core/tensor.h"

namespace nine {

std::string detail::text_of(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

std::string fixed(double value, int decimals) {
  std::array<char, 400> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::fixed, decimals)
                       .ptr;
  return {buffer.data(), end};
}

std::string to_text(DType t) {
  switch (t) {
    case DType::float32:
      return "float32";
    case DType::float64:
      return "float64";
    case DType::bfloat16:
      return "bfloat16";
    case DType::int32:
      return "int32";
  }
  return "?";
}

DType dtype_from_text(std::string_view name) {
  for (DType t : {DType::float32, DType::float64, DType::bfloat16, DType::int32})
    if (to_text(t) == name) return t;
  fail("no element type is called '", name, "': float32, float64, bfloat16, int32");
}

std::string to_text(Device d) {
  return d.kind == DeviceKind::cpu ? "cpu" : "cuda:" + std::to_string(d.index);
}

Device device_from_text(std::string_view text) {
  if (text == "cpu") return kCpu;
  if (text == "cuda") return {DeviceKind::cuda, 0};
  int16_t index = 0;
  if (text.starts_with("cuda:")) {
    const auto* end = text.data() + text.size();
    const auto [p, error] = std::from_chars(text.data() + 5, end, index);
    if (error == std::errc{} && p == end && index >= 0) return {DeviceKind::cuda, index};
  }
  fail("no device is called '", text, "': cpu, cuda, cuda:0, cuda:1, ...");
}

Shape::Shape(const int64_t* sizes, int rank) : rank_(rank) {
  require(rank >= 0 && rank <= kMaxRank, "a tensor has at most ", kMaxRank, " dimensions, not ",
          rank);
  for (int i = 0; i < rank; ++i) {
    require(sizes[i] >= 0, "dimension ", i, " of a shape is negative: ", sizes[i]);
    sizes_[static_cast<size_t>(i)] = sizes[i];
  }
}

int64_t Shape::elements() const { return rows() * cols(); }

int64_t Shape::rows() const {
  int64_t n = 1;
  for (int i = 0; i + 1 < rank_; ++i) n *= sizes_[static_cast<size_t>(i)];
  return n;
}

Shape Shape::with_cols(int64_t cols) const {
  Shape s = *this;
  s.sizes_[static_cast<size_t>(rank_ - 1)] = cols;
  return s;
}

std::string to_text(const Shape& s) {
  std::string out = "(";
  for (int i = 0; i < s.rank(); ++i) out += (i > 0 ? ", " : "") + std::to_string(s[i]);
  return out + ")";
}

View View::row_range(int64_t begin, int64_t count) const {
  require(shape.rank() == 2 && begin >= 0 && count >= 0 && begin + count <= rows(), "rows [", begin,
          ", ", begin + count, ") of a tensor of shape ", shape);
  View v = *this;
  v.data = static_cast<std::byte*>(data) + begin * ld * static_cast<int64_t>(size_of(dtype));
  v.shape = Shape{count, cols()};
  return v;
}

View View::col_range(int64_t begin, int64_t count) const {
  require(shape.rank() == 2 && begin >= 0 && count >= 0 && begin + count <= cols(), "columns [",
          begin, ", ", begin + count, ") of a tensor of shape ", shape);
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

Tensor Tensor::clone() const {
  Tensor t(shape(), dtype(), device());
  ops::copy(view(), t.view());
  return t;
}

double View::item() const {
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
          "' has been reset; copy with clone() what must outlive a step");
}

}  // namespace nine
