#include "core/strided.h"

#include <algorithm>

namespace nine {

StridedView::StridedView(const View& v)
    : data(v.data), dtype(v.dtype), device(v.device), shape(v.shape) {
  int64_t stride = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[static_cast<size_t>(i)] = stride;
    stride = i == shape.rank() - 1 ? v.ld : stride * shape[i];
  }
}
StridedView::StridedView(const Tensor& t) : StridedView(t.view()) {}

StridedView StridedView::permuted(std::span<const int> order) const {
  StridedView v = *this;
  std::array<int64_t, Shape::kMaxRank> sizes{};
  std::array<bool, Shape::kMaxRank> used{};
  require(std::ssize(order) == shape.rank(), "[permute] ", order.size(),
          " dimensions are named for a tensor of shape ", shape);
  for (size_t i = 0; i < order.size(); ++i) {
    const int from = order[i] < 0 ? order[i] + shape.rank() : order[i];
    require(from >= 0 && from < shape.rank() && !used[static_cast<size_t>(from)],
            "[permute] the order must name each dimension of ", shape, " once; ", order[i],
            " is wrong");
    used[static_cast<size_t>(from)] = true;
    sizes[i] = shape[from];
    v.strides[i] = strides[static_cast<size_t>(from)];
  }
  v.shape = Shape(sizes.data(), shape.rank());
  return v;
}

StridedView StridedView::sliced(int dim, int64_t begin, int64_t count, int64_t step) const {
  StridedView v = *this;
  const auto at = static_cast<size_t>(dim);
  if (count > 0)
    v.data =
        static_cast<std::byte*>(data) + begin * strides[at] * static_cast<int64_t>(size_of(dtype));
  std::array<int64_t, Shape::kMaxRank> sizes{};
  for (int i = 0; i < shape.rank(); ++i) sizes[static_cast<size_t>(i)] = shape[i];
  sizes[at] = count;
  v.shape = Shape(sizes.data(), shape.rank());
  if (count > 1) v.strides[at] *= step;  // a step may be larger than any stride
  return v;
}

StridedView StridedView::broadcast_to(const Shape& to) const {
  const int missing = to.rank() - shape.rank();
  require(missing >= 0, "[broadcast_to] ", shape, " cannot be broadcast to ", to,
          ", which has fewer dimensions");
  StridedView v = *this;
  v.shape = to;
  v.strides = {};
  for (int i = 0; i < shape.rank(); ++i) {
    const int at = i + missing;
    require(shape[i] == 1 || shape[i] == to[at], "[broadcast_to] ", shape,
            " cannot be broadcast to ", to,
            ": aligned at the last, each dimension must be equal, 1 or missing");
    if (shape[i] == to[at]) v.strides[static_cast<size_t>(at)] = strides[static_cast<size_t>(i)];
  }
  return v;
}

Shape broadcast_shape(const char* op, const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::array<int64_t, Shape::kMaxRank> sizes{};
  for (int i = 1; i <= rank; ++i) {
    const int64_t of_a = i <= a.rank() ? a[-i] : 1, of_b = i <= b.rank() ? b[-i] : 1;
    require(of_a == of_b || of_a == 1 || of_b == 1, "[", op, "] shapes ", a, " and ", b,
            " do not agree: aligned at the last, each pair of dimensions must be equal, or one of "
            "them 1 or missing");
    sizes[static_cast<size_t>(rank - i)] = of_a == 1 ? of_b : of_a;
  }
  return {sizes.data(), rank};
}

}  // namespace nine
