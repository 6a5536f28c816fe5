// The CPU's implementations of the ops in core/op_list.h, with the names and signatures of
// core/ops.h. Shapes and types have been checked there.
#pragma once

#include <type_traits>

#include "core/op_list.h"
#include "core/ops.h"

namespace nine::cpu {

#define NINE_CPU_OP(name) std::remove_pointer_t<decltype(&ops::name)> name;
NINE_FOR_EACH_OP(NINE_CPU_OP)
#undef NINE_CPU_OP

}  // namespace nine::cpu
