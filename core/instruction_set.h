// Which instructions of the CPU compute. The whole program is compiled for the CPUs that NINE_ARCH
// names, by default x86-64-v3 (AVX2 and FMA). Loops and products (core/cpu/, every cpu/ in
// kernels/, core/gemm.cpp) also exist in code for newer CPUs, and the best that this CPU can run is
// chosen when the program starts. cmake/instruction_sets.cmake says how they are built.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nine {

/// From the smallest to the largest; a CPU that has one has those before it.
///
/// generic  what NINE_ARCH names, where that is less than avx2 or no x86: "x86-64", "aarch64"
/// avx2     x86-64-v3: AVX2, FMA, BMI2
/// avx512   x86-64-v4: AVX-512 F, BW, CD, DQ and VL
/// avx512_bf16  avx512 and AVX512-BF16, products of pairs of bfloat16; loops are those of avx512
/// amx      avx512_bf16 and AMX tiles of bfloat16; loops are those of avx512
enum class InstructionSet : uint8_t { generic, avx2, avx512, avx512_bf16, amx };

/// "avx2", "avx512", "avx512_bf16", "amx"; of `generic` the CPU type that this build is for.
std::string to_text(InstructionSet set);

/// What this process computes with: the largest instruction set that this build has code for and
/// this CPU can run, or the one that the environment variable NINE_ISA names. Chosen by the first
/// call; for amx that call asks Linux for the permission to use tiles, which is then this
/// process's. Errors: NINE_ISA names none, one that this build has no code for, or one that the CPU
/// lacks.
InstructionSet instruction_set();

/// What this build has code for, the smallest first.
std::vector<InstructionSet> built_instruction_sets();

/// The first feature that `set` needs and this CPU, or its operating system, does not have
/// ("avx512f", "amx-tile"); empty where it can run.
std::string missing_feature(InstructionSet set);

}  // namespace nine
