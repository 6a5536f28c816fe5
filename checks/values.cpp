#include "checks/values.h"

#include <cmath>

#include "core/ops.h"
#include "core/random.h"

namespace nine::checks {

std::vector<Doubles> random_values(const std::vector<Input>& inputs, uint64_t seed) {
  std::vector<Doubles> all;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Input& in = inputs[i];
    const RandomKey key{
        .seed = seed, .step = static_cast<uint32_t>(i), .op = stream_id("test.values")};
    Doubles values(index_of(in.shape.elements()));
    for (size_t e = 0; e < values.size(); ++e)
      values[e] =
          in.nan ? std::nan("")
                 : static_cast<double>(static_cast<float>(
                       in.low + (in.high - in.low) * static_cast<double>(random_uniform(key, e))));
    all.push_back(std::move(values));
  }
  return all;
}

std::vector<Ints> random_indices(const std::vector<Indices>& indices, uint64_t seed) {
  std::vector<Ints> all;
  for (size_t i = 0; i < indices.size(); ++i) {
    RandomStream random(
        {.seed = seed, .step = static_cast<uint32_t>(i), .op = stream_id("test.indices")});
    Ints values(index_of(indices[i].shape.elements()));
    for (int32_t& v : values)
      v = indices[i].low + static_cast<int32_t>(random.below(
                               static_cast<uint64_t>(indices[i].high - indices[i].low)));
    all.push_back(std::move(values));
  }
  return all;
}

Tensor tensor_of(const Doubles& values, const Shape& shape, DType dtype, int64_t extra_columns) {
  const bool window = extra_columns > 0 && shape.rank() == 2;
  Tensor t(window ? Shape{shape.rows(), shape.cols() + extra_columns} : shape, dtype);
  if (window) {
    ops::fill(t, std::nan(""));  // a read outside of the view shows in the result
    t = t.col_range(extra_columns / 2, shape.cols());
  }
  dispatch_float(dtype, "tensor_of", [&]<class T>(T) {
    for (int64_t r = 0; r < shape.rows(); ++r)
      for (int64_t c = 0; c < shape.cols(); ++c)
        t.data<T>()[r * t.view().ld + c] = static_cast<T>(values[index_of(r * shape.cols() + c)]);
  });
  return t;
}

Tensor tensor_of(const Ints& values, const Shape& shape) {
  return Tensor::from<int32_t>(values, shape);
}

}  // namespace nine::checks
