// Runs a program for one pair of vectors: on the CPU for exact scores and inspection, in CUDA
// kernels with one thread per pair.
#pragma once

#include <type_traits>

#include "kernels/expression/operations.h"
#include "kernels/expression/program.h"

namespace nine::expression {

/// Points to a program's parts in memory of the CPU or of a GPU.
struct ProgramView {
  const Instruction* code = nullptr;
  const Operand* outputs = nullptr;
  int32_t instructions = 0, output_count = 0;

  ProgramView() = default;
  explicit ProgramView(const Program& p)
      : code(p.code.data()),
        outputs(p.outputs.data()),
        instructions(static_cast<int32_t>(p.code.size())),
        output_count(static_cast<int32_t>(p.outputs.size())) {}
};

/// Registers: an array in the object, or a T* to Operand::kRegisters numbers that several runs
/// share, one after another. nvcc would give the arrays of two runs in one kernel two places on the
/// stack.
template <class T, class Registers = T[Operand::kRegisters]>
class PairRun {
 public:
  /// `variables`: z, q, ww, hh, c of the pair. `constants`: the result of Constants::compute. Both
  /// must outlive the run.
  NINE_HD PairRun(const ProgramView& program, const double* constants, const T* variables)
      : outputs_(program.outputs), constants_(constants), variables_(variables) {
    run(program);
  }
  NINE_HD PairRun(const ProgramView& program, const double* constants, const T* variables,
                  Registers registers) requires std::is_pointer_v<Registers>
      : outputs_(program.outputs),
        constants_(constants),
        variables_(variables),
        registers_(registers) {
    run(program);
  }

  NINE_HD T output(int k) const { return value(outputs_[k]); }

 private:
  NINE_HD T value(Operand o) const {
    if (o.is_constant()) return static_cast<T>(constants_[o.constant()]);
    return o.is_variable() ? variables_[static_cast<int>(o.variable())] : registers_[o.place];
  }

  NINE_HD void run(const ProgramView& program) {
    for (int32_t i = 0; i < program.instructions; ++i) step(program.code[i]);
  }
  NINE_HD void step(const Instruction& i) {
    const T a = value(i.args[0]);
    T& out = registers_[i.out];
    switch (i.op) {
#define NINE_CASE(op, name, result, exact, javascript, rule) \
  case Op::op:                                               \
    out = result;                                            \
    return;
      NINE_UNARY_OPERATIONS(NINE_CASE)
#undef NINE_CASE
      default:
        break;
    }
    if (i.op == Op::number) {
      out = a;
      return;
    }
    if (i.op == Op::power && i.args[1].is_constant()) {
      out = power_of(a, constants_[i.args[1].constant()]);
      return;
    }
    const T b = value(i.args[1]);
    switch (i.op) {
#define NINE_CASE(op, name, result, javascript) \
  case Op::op:                                  \
    out = result;                               \
    return;
      NINE_BINARY_OPERATIONS(NINE_CASE)
#undef NINE_CASE
#define NINE_CASE(op, condition, javascript)                 \
  case Op::op:                                               \
    out = (condition) ? value(i.args[2]) : value(i.args[3]); \
    return;
      NINE_CHOICES(NINE_CASE)
#undef NINE_CASE
      default:
        out = vpow(a, b);
    }
  }

  const Operand* outputs_;
  const double* constants_;
  const T* variables_;
  Registers registers_;
};

}  // namespace nine::expression
