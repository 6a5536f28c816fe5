// The CPU's implementations of the ops in core/op_list.h, with the names and signatures of
// core/ops.h. ops:: checks shapes and types before the call. All files of this folder but table.cpp
// are compiled for several instruction sets (core/isa.h).
#pragma once

#include <type_traits>

#include "core/array_ops.h"
#include "core/isa.h"
#include "core/op_list.h"

namespace nine::cpu {
inline namespace NINE_ISA {

#define NINE_CPU_OP(name) std::remove_pointer_t<decltype(&ops::name)> name;
NINE_FOR_EACH_OP(NINE_CPU_OP)
#undef NINE_CPU_OP

}  // namespace NINE_ISA
}  // namespace nine::cpu
