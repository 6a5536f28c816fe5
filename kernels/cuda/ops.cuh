// Declares CUDA's implementations of the head's ops (kernels/op_list.h), with the names and
// signatures of kernels/ops.h. The functions of kernels/ops.h have already checked shapes and
// types.
#pragma once

#include <type_traits>

#include "kernels/op_list.h"
#include "kernels/ops.h"

namespace nine::cuda {

#define NINE_CUDA_OP(name) std::remove_pointer_t<decltype(&ops::name)> name;
NINE_FOR_EACH_HEAD_OP(NINE_CUDA_OP)
#undef NINE_CUDA_OP

}  // namespace nine::cuda
