// Declares the CPU's implementations of the head's ops (kernels/op_list.h), with the names and
// signatures of kernels/ops.h. The functions of kernels/ops.h have already checked shapes and
// types.
#pragma once

#include <type_traits>

#include "core/isa.h"
#include "kernels/op_list.h"
#include "kernels/ops.h"

namespace nine::cpu {
inline namespace NINE_ISA {

#define NINE_CPU_OP(name) std::remove_pointer_t<decltype(&ops::name)> name;
NINE_FOR_EACH_HEAD_OP(NINE_CPU_OP)
#undef NINE_CPU_OP

}  // namespace NINE_ISA
}  // namespace nine::cpu
