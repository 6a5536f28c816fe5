// Expressions as a short list of instructions over whole arrays: each instruction runs over some
// hundred pairs of vectors that lie in the L1 cache, so that what it is costs nothing for each of
// them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/random.h"  // NINE_HD
#include "kernels/expression/expression.h"

namespace nine::expression {

/// Where an instruction finds an argument: a register (an array, one number a pair), a variable of
/// the pairs (likewise), or a constant (one number).
struct Operand {
  static constexpr int kRegisters = 48, kFirstVariable = 48, kFirstConstant = 56;
  static constexpr int kConstants = 200;
  uint8_t place = 0;

  NINE_HD bool is_constant() const { return place >= kFirstConstant; }
  NINE_HD bool is_variable() const { return place >= kFirstVariable && !is_constant(); }
  NINE_HD int constant() const { return place - kFirstConstant; }
  NINE_HD Variable variable() const { return static_cast<Variable>(place - kFirstVariable); }
};

/// The variables of a pair, without d, which is the same for all.
inline constexpr int kPairVariables = 5;

struct Instruction {
  Op op = Op::number;  ///< number: the constant args[0] in every place of a register
  uint8_t out = 0;     ///< a register; of the instructions for constants, a constant
  Operand args[4] = {};
};

/// Constants of a program: numbers, parameters, d, and what is computed of them alone.
struct Constants {
  /// What constant k is: a number, a parameter's or d's value, or the result of `code`.
  std::vector<Node> given;
  std::vector<Instruction> code;  ///< in order; arguments and results are constants

  /// Fills `values`, which holds Operand::kConstants numbers.
  void compute(double d, std::span<const double> parameters, double* values) const;
};

/// Some expressions of one graph, with what they share computed once.
struct Program {
  std::vector<Instruction> code;
  std::vector<Operand> outputs;
  int registers = 0;
  bool uses[kPairVariables] = {};  ///< which variables of a pair are read
};

/// Compiles `roots` of a graph; `constants` may be shared by several programs of that graph, and
/// gets what this one needs. UsageError: the formula needs too many registers or constants.
class Compiler {
 public:
  explicit Compiler(const Graph& graph);
  Program compile(std::span<const Id> roots);
  const Constants& constants() const { return constants_; }

 private:
  bool is_constant(Id id) const { return constant_[id]; }
  Operand constant_of(Id id);

  const Graph& graph_;
  std::vector<bool> constant_;
  std::vector<int> place_;  // of a constant; -1: not yet
  Constants constants_;
};

}  // namespace nine::expression
