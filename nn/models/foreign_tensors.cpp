#include "nn/models/foreign_tensors.h"

#include <algorithm>
#include <utility>

#include "core/dtype.h"
#include "core/error.h"

namespace nine {

void ForeignTensors::leave_out(const std::string& part) {
  std::map<std::string, Tensor> rest;
  for (auto& [name, tensor] : tensors_)
    rest.emplace(name.starts_with(part) ? name.substr(part.size()) : name, std::move(tensor));
  tensors_ = std::move(rest);
}

Tensor ForeignTensors::take(const std::string& name) {
  const auto found = tensors_.find(name);
  require(found != tensors_.end(), place_, ": the model lacks the tensor '", name, "'");
  Tensor out = std::move(found->second);
  tensors_.erase(found);
  return out;
}

Tensor ForeignTensors::matrix(const std::string& name) {
  Tensor out = take(name);
  require(out.shape().rank() == 2, place_, ": the tensor '", name, "' must be a matrix, got ",
          out.shape());
  return out;
}

Tensor ForeignTensors::vector(const std::string& name) {
  const Tensor all = take(name);
  const Shape& shape = all.shape();
  require(shape.rank() == 1 || (shape.rank() == 2 && shape[0] == 1), place_, ": the tensor '", name,
          "' must be a vector, got ", shape);
  return all.reshaped({all.elements()});
}

void ForeignTensors::require_empty() const {
  require(tensors_.empty(), place_, ": Nine does not read the tensor '",
          tensors_.empty() ? "" : tensors_.begin()->first, "', one of ", tensors_.size(),
          " that such a model does not have here");
}

Tensor transposed_matrix(const Tensor& matrix) {
  const int64_t rows = matrix.shape()[0], cols = matrix.shape()[1];
  Tensor out({cols, rows}, matrix.dtype());
  dispatch_float(matrix.dtype(), "foreign_tensors", [&]<class T>(T) {
    const T* const from = matrix.data<T>();
    T* const to = out.data<T>();
    constexpr int64_t kBlock = 32;  // both sides stay in the cache
    for (int64_t r0 = 0; r0 < rows; r0 += kBlock)
      for (int64_t c = 0; c < cols; ++c)
        for (int64_t r = r0; r < std::min(rows, r0 + kBlock); ++r)
          to[c * rows + r] = from[r * cols + c];
  });
  return out;
}

Tensor stacked(const std::string& what, const std::vector<Tensor>& parts) {
  const Shape first = parts.front().shape();
  int64_t rows = 0;
  for (const Tensor& part : parts) {
    require(part.dtype() == parts.front().dtype(), what, " are of types ", parts.front().dtype(),
            " and ", part.dtype(), ": store the model in one type");
    require(
        part.shape().rank() == first.rank() && (first.rank() < 2 || part.shape()[1] == first[1]),
        what, " have shapes ", first, " and ", part.shape(),
        ", which do not have one number of columns");
    rows += part.shape()[0];
  }
  Tensor out(first.rank() < 2 ? Shape{rows} : Shape{rows, first[1]}, parts.front().dtype());
  dispatch_float(out.dtype(), "foreign_tensors", [&]<class T>(T) {
    T* to = out.data<T>();
    for (const Tensor& part : parts) to = std::copy_n(part.data<T>(), part.elements(), to);
  });
  return out;
}

bool same_tensor(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  return dispatch_float(a.dtype(), "foreign_tensors", [&]<class T>(T) {
    return std::equal(a.data<T>(), a.data<T>() + a.elements(), b.data<T>());
  });
}

}  // namespace nine
