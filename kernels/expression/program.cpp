#include "kernels/expression/program.h"

#include <algorithm>

#include "core/error.h"
#include "kernels/expression/evaluate.h"

namespace nine::expression {
namespace {

// The free registers, lowest first.
class Registers {
 public:
  int take() {
    const auto free = std::find(taken_.begin(), taken_.end(), false);
    const auto place = static_cast<int>(free - taken_.begin());
    if (free == taken_.end()) taken_.push_back(false);
    taken_[static_cast<size_t>(place)] = true;
    if (place >= Operand::kRegisters)
      throw UsageError(concat("a formula and its derivative need more than ", Operand::kRegisters,
                              " numbers of a pair at once: make it shorter"));
    return place;
  }
  void release(int place) { taken_[static_cast<size_t>(place)] = false; }
  int most() const { return static_cast<int>(taken_.size()); }

 private:
  std::vector<bool> taken_;
};

// True if an instruction's k-th argument may be a constant; other arguments go into a register.
bool takes_constant(Op op, size_t k) {
  switch (op) {
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::divide:
    case Op::min:
    case Op::max:
      return true;
    case Op::power:
      return k == 1;
    default:
      return false;
  }
}

}  // namespace

void Constants::compute(double d, std::span<const double> parameters, double* values) const {
  for (size_t k = 0; k < given.size(); ++k) {
    const Node& n = given[k];
    if (n.op == Op::number) values[k] = n.value;
    if (n.op == Op::variable) values[k] = d;
    if (n.op == Op::parameter) values[k] = parameters[n.index];
  }
  for (const Instruction& i : code) {
    double args[4] = {};
    for (int k = 0; k < arguments_of(i.op); ++k) args[k] = values[i.args[k].constant()];
    values[i.out] = apply(i.op, args);
  }
}

Compiler::Compiler(const Graph& graph)
    : graph_(graph), constant_(graph.size()), place_(graph.size(), -1) {
  for (Id id = 0; id < graph.size(); ++id) {
    const Node& n = graph[id];
    bool all = n.op != Op::variable || static_cast<Variable>(n.index) == Variable::d;
    for (int k = 0; k < arguments_of(n.op); ++k)
      all = all && constant_[n.args[static_cast<size_t>(k)]];
    constant_[id] = all;
  }
}

Operand Compiler::constant_of(Id id) {
  if (place_[id] < 0) {
    const Node n = graph_[id];
    Instruction i{.op = n.op};
    for (int k = 0; k < arguments_of(n.op); ++k)
      i.args[k] = constant_of(n.args[static_cast<size_t>(k)]);
    place_[id] = static_cast<int>(constants_.given.size());
    if (place_[id] >= Operand::kConstants)
      throw UsageError(concat("a formula and its derivative have more than ", Operand::kConstants,
                              " different constants: make it shorter"));
    const bool computed = arguments_of(n.op) > 0;
    constants_.given.push_back(computed ? Node{.op = n.op} : n);
    if (computed) {
      i.out = static_cast<uint8_t>(place_[id]);
      constants_.code.push_back(i);
    }
  }
  return {static_cast<uint8_t>(Operand::kFirstConstant + place_[id])};
}

Program Compiler::compile(std::span<const Id> roots) {
  Program program;
  Registers registers;
  const std::vector<Id> nodes = needed(graph_, roots);
  std::vector<size_t> last(graph_.size());  // the last step that uses a node
  for (size_t step = 0; step < nodes.size(); ++step)
    for (int k = 0; k < arguments_of(graph_[nodes[step]].op); ++k)
      last[graph_[nodes[step]].args[static_cast<size_t>(k)]] = step;
  for (const Id root : roots) last[root] = nodes.size();
  std::vector<Operand> place(graph_.size());

  for (size_t step = 0; step < nodes.size(); ++step) {
    const Id id = nodes[step];
    const Node& n = graph_[id];
    if (is_constant(id)) continue;
    if (n.op == Op::variable) {
      program.uses[n.index] = true;
      place[id] = {static_cast<uint8_t>(Operand::kFirstVariable + n.index)};
      continue;
    }
    const auto count = static_cast<size_t>(arguments_of(n.op));
    if (n.op == Op::detach) {  // shares its argument's place while either is used
      const Id of = n.args[0];
      place[id] = place[of];
      if (place[of].place < Operand::kRegisters) {
        place[id] = {static_cast<uint8_t>(registers.take())};
        program.code.push_back({Op::detach, place[id].place, {place[of]}});
      }
    } else {
      Instruction i{.op = n.op};
      std::vector<int> filled;
      for (size_t k = 0; k < count; ++k) {
        i.args[k] = is_constant(n.args[k]) ? constant_of(n.args[k]) : place[n.args[k]];
        if (!i.args[k].is_constant() || takes_constant(n.op, k)) continue;
        const int spare = registers.take();
        filled.push_back(spare);
        program.code.push_back({Op::number, static_cast<uint8_t>(spare), {i.args[k]}});
        i.args[k] = {static_cast<uint8_t>(spare)};
      }
      i.out = static_cast<uint8_t>(registers.take());
      place[id] = {i.out};
      program.code.push_back(i);
      for (const int spare : filled) registers.release(spare);
    }
    for (size_t k = 0; k < count; ++k) {
      const Id arg = n.args[k];
      const bool again = std::find(n.args.begin(), n.args.begin() + static_cast<long>(k), arg) !=
                         n.args.begin() + static_cast<long>(k);
      if (!again && !is_constant(arg) && last[arg] == step &&
          place[arg].place < Operand::kRegisters)
        registers.release(place[arg].place);
    }
  }
  for (const Id root : roots)
    program.outputs.push_back(is_constant(root) ? constant_of(root) : place[root]);
  program.registers = registers.most();
  return program;
}

}  // namespace nine::expression
