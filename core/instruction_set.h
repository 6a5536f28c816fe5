// The CPU's instruction set for computing. The whole program is compiled for the CPUs that
// NINE_ARCH names, by default x86-64-v3 (AVX2 and FMA). Loops and products (core/cpu/, every cpu/
// in kernels/, core/gemm.cpp) also exist in code for newer CPUs. The program chooses the best that
// the CPU can run when it starts. cmake/instruction_sets.cmake says how they are built.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nine {

/// The instruction sets from the smallest to the largest. A CPU with one of them has those before
/// it.
///
/// generic  what NINE_ARCH names, where that is less than avx2 or no x86: "x86-64", "aarch64"
/// avx2     x86-64-v3: AVX2, FMA, BMI2
/// avx512   x86-64-v4: AVX-512 F, BW, CD, DQ and VL
/// avx512_bf16  avx512 and AVX512-BF16, products of pairs of bfloat16; loops are those of avx512
/// amx      avx512_bf16 and AMX tiles of bfloat16; loops are those of avx512
enum class InstructionSet : uint8_t { generic, avx2, avx512, avx512_bf16, amx };

/// Returns "avx2", "avx512", "avx512_bf16" or "amx"; for `generic` the CPU type that this build is
/// for.
std::string to_text(InstructionSet set);

/// Returns the instruction set of this process: the one that the environment variable NINE_ISA
/// names, or the largest that this build has code for and this CPU can run. avx512_bf16 is left out
/// on CPUs that are not AMD's, because their products of pairs may be slower than those of float32.
/// The first call chooses it. For amx the first call asks Linux for permission to use tiles, for
/// the whole process. Errors: NINE_ISA names no instruction set; this build has no code for the
/// named one; this CPU lacks it.
InstructionSet instruction_set();

/// Returns the instruction sets that this build has code for, the smallest first.
std::vector<InstructionSet> built_instruction_sets();

/// Returns the first feature of `set` that this CPU or its operating system lacks ("avx512f",
/// "amx-tile"); empty if the process can run `set`.
std::string missing_feature(InstructionSet set);

}  // namespace nine
