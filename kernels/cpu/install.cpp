#include "kernels/cpu/ops.h"
#include "kernels/op_table.h"

namespace nine::cpu {
inline namespace NINE_ISA {

void install(HeadOpTable& table) {
#define NINE_SET_OP(name) table.name = name;
  NINE_FOR_EACH_HEAD_OP(NINE_SET_OP)
#undef NINE_SET_OP
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
