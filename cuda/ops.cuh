// CUDA's implementations of the ops in core/op_list.h, with the names and signatures of core/ops.h.
// Shapes and types have been checked there.
#pragma once

#include <type_traits>

#include "core/array_ops.h"
#include "core/op_list.h"

namespace nine::cuda {

#define NINE_CUDA_OP(name) std::remove_pointer_t<decltype(&ops::name)> name;
NINE_FOR_EACH_OP(NINE_CUDA_OP)
#undef NINE_CUDA_OP

}  // namespace nine::cuda
