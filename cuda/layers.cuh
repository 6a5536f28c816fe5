// The part of cuda/layers.cu that other ops use.
#pragma once

#include "cuda/launch.cuh"

namespace nine::cuda {

/// grad(ids[r], :) += dy(r, :) for the rows whose id is a row of grad, always in the same order.
/// With `report_others`, other ids are reported as errors of `op`.
template <class T>
void add_rows(CudaDevice& device, const char* op, const Matrix<T>& dy, const int32_t* ids,
              const Matrix<T>& grad, bool report_others);

}  // namespace nine::cuda
