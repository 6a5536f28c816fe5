// Expressions as a short list of instructions over whole arrays. Each instruction runs over some
// hundred pairs of vectors in the L1 cache, so that decoding the instruction costs almost nothing
// per pair.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/random.h"  // NINE_HD
#include "kernels/expression/expression.h"

namespace nine::expression {

/// The place of an instruction's argument: a register (an array with one number per pair), a
/// variable of the pairs (likewise an array), or a constant (one number).
struct Operand {
  static constexpr int kRegisters = 48, kFirstVariable = 48, kFirstConstant = 56;
  static constexpr int kConstants = 200;
  uint8_t place = 0;

  NINE_HD bool is_constant() const { return place >= kFirstConstant; }
  NINE_HD bool is_variable() const { return place >= kFirstVariable && !is_constant(); }
  NINE_HD int constant() const { return place - kFirstConstant; }
  NINE_HD Variable variable() const { return static_cast<Variable>(place - kFirstVariable); }
};

/// The number of a pair's variables; without d, which is the same for all pairs.
inline constexpr int kPairVariables = 5;

struct Instruction {
  Op op = Op::number;  ///< number: copies the constant args[0] to all elements of a register
  uint8_t out = 0;     ///< a register; for the instructions of Constants, a constant
  Operand args[4] = {};
};

/// Constants of a program: numbers, parameters, d, and values computed from these alone.
struct Constants {
  /// The source of constant k: a number, the value of a parameter or of d, or the result of `code`.
  std::vector<Node> given;
  std::vector<Instruction> code;  ///< in order of execution; arguments and results are constants

  /// Fills `values`, an array of Operand::kConstants numbers.
  void compute(double d, std::span<const double> parameters, double* values) const;
};

/// The program of several expressions of one graph; shared subexpressions are computed once.
struct Program {
  std::vector<Instruction> code;
  std::vector<Operand> outputs;
  int registers = 0;
  bool uses[kPairVariables] = {};  ///< which variables of a pair the program reads
};

/// Compiles roots of a graph. Several programs of the graph share `constants`, to which each
/// compile() adds its constants. UsageError: the formula needs too many registers or constants.
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
  std::vector<int> place_;  // of each constant; -1: not assigned yet
  Constants constants_;
};

}  // namespace nine::expression
