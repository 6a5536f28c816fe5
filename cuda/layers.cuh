// What of cuda/layers.cu other ops use.
#pragma once

#include "cuda/launch.cuh"

namespace nine::cuda {

/// grad(ids[r], :) += dy(r, :), rows in ascending order, for the rows whose id is a row of grad;
/// others are reported as faults, if asked for.
template <class T>
void add_rows(CudaDevice& card, const char* op, const Matrix<T>& dy, const int32_t* ids,
              const Matrix<T>& grad, bool report_others);

}  // namespace nine::cuda
