// The namespace of code that is compiled for several instruction sets
// (cmake/instruction_sets.cmake): NINE_ISA is `base` in what every CPU of NINE_ARCH runs, and the
// instruction set's name in what is compiled once more for a newer one. Such code is reached
// through tables alone, which functions named install() fill.
#pragma once

#ifndef NINE_ISA
#define NINE_ISA base
#endif
