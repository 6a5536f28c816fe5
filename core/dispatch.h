// Chooses the compiled copy of the loops in core/cpu/ and in every cpu/ of kernels/.
// NINE_CPU_TABLE(Table), at file scope, declares install(Table&) for each instruction set that the
// build has code for (core/isa.h). It also defines nine::cpu::install_best(Table&), which calls
// install() of the instruction set in use.
#pragma once

#include "core/instruction_set.h"
#include "core/isa.h"

#ifdef NINE_DISPATCH
#define NINE_CPU_TABLE(Table)                                               \
  namespace nine::cpu::inline NINE_ISA {                                    \
  void install(Table&);                                                     \
  }                                                                         \
  namespace nine::cpu::avx512 {                                             \
  void install(Table&);                                                     \
  }                                                                         \
  namespace nine::cpu {                                                     \
  inline void install_best(Table& table) {                                  \
    instruction_set() >= InstructionSet::avx512 ? avx512::install(table)    \
                                                : NINE_ISA::install(table); \
  }                                                                         \
  }
#else
#define NINE_CPU_TABLE(Table)                     \
  namespace nine::cpu::inline NINE_ISA {          \
  void install(Table&);                           \
  }                                               \
  namespace nine::cpu {                           \
  inline void install_best(Table& table) {        \
    instruction_set(); /* an error of NINE_ISA */ \
    NINE_ISA::install(table);                     \
  }                                               \
  }
#endif
