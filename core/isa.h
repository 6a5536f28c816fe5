// The namespace of code that is compiled for several instruction sets
// (cmake/instruction_sets.cmake). NINE_ISA is `base` in code for every CPU of NINE_ARCH, and the
// instruction set's name in code that is compiled again for a newer CPU. Other code calls it only
// through tables, which functions named install() fill.
#pragma once

#ifndef NINE_ISA
#define NINE_ISA base
#endif
