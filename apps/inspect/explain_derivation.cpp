#include "apps/inspect/explain_derivation.h"

#include <algorithm>
#include <map>
#include <vector>

#include "apps/inspect/arithmetic.h"
#include "apps/svg/text.h"
#include "core/error.h"
#include "kernels/expression/derivative.h"
#include "kernels/expression/evaluate.h"
#include "kernels/expression/parse.h"

namespace nine::app {
namespace {

using expression::Graph;
using expression::Id;
using expression::Variable;
using NodeNames = std::map<Id, std::string>;

// In letters: what stands in one line of a phone, and what is not worth a name.
constexpr size_t kLongLine = 24, kShort = 7;

class Derivation {
 public:
  explicit Derivation(const std::string& formula) : typed_(expression::parse(formula)) {
    root_ = expression::rebuild(typed_.graph, typed_.score, graph_, {});
    if (to_text(graph_, root_, typed_.parameters).size() > kLongLine) name_parts();
  }

  std::vector<DerivationPart> all() {
    std::vector<DerivationPart> out(1);
    std::vector<DerivationLine>& forward = out.front().lines;
    forward.push_back(
        {"S", "", to_text(typed_.graph, typed_.score, typed_.parameters), "the kernel"});
    for (const Id id : parts_)
      forward.push_back({names_.at(id), "", text(id, names_), "a part of it, by a name"});
    const std::string short_text = text(root_, names_);
    if (short_text != forward.front().formula)
      forward.push_back({"S", "", short_text,
                         parts_.empty() ? "simplified" : "the kernel by its parts, simplified"});
    for (const Id variable : variables())
      if (DerivationPart slopes = by(variable); !slopes.lines.empty())
        out.push_back(std::move(slopes));
    return out;
  }

 private:
  std::string text(Id id, const NodeNames& names) const {
    return to_text(graph_, id, typed_.parameters, names);
  }
  // Names what occurs more than once, and what would make a line too long.
  void name_parts() {
    const auto taken = [](const std::string& p) { return p.starts_with("u_"); };
    const bool u = std::none_of(typed_.parameters.begin(), typed_.parameters.end(), taken);
    const std::string letter = u ? "u_" : "v_";
    const std::vector<Id> all = expression::needed(graph_, {&root_, 1});
    std::map<Id, int> uses;
    for (const Id id : all)
      for (int k = 0; k < expression::arguments_of(graph_[id].op); ++k)
        ++uses[graph_[id].args[static_cast<size_t>(k)]];
    for (const Id id : all) {
      if (id == root_ || expression::arguments_of(graph_[id].op) == 0) continue;
      const size_t size = text(id, names_).size();
      if (size <= kShort || (uses[id] < 2 && size <= kLongLine)) continue;
      parts_.push_back(id);
      names_.emplace(id, concat(letter, parts_.size()));
    }
  }
  // What it is derived by: pair variables, and the numbers of a vector that a formula takes as
  // parameters.
  std::vector<Id> variables() {
    std::vector<Id> out;
    for (const Variable v : {Variable::z, Variable::q, Variable::ww, Variable::hh, Variable::c})
      out.push_back(graph_.variable(v));
    for (size_t k = 0; k < typed_.parameters.size(); ++k)
      for (const char* vector_number : {"lw", "lh", "F", "G", "s"})
        if (typed_.parameters[k] == vector_number)
          out.push_back(graph_.parameter(static_cast<int>(k)));
    return out;
  }

  DerivationPart by(Id variable) {
    std::vector<expression::Step> steps;
    derivative(graph_, root_, variable, &steps);
    const NodeNames before = names_;
    DerivationPart out{text(variable, {}), {}};
    if (variable == root_) out.lines.push_back({concat("dS/d", out.by), "", "1", "S is it"});
    for (const expression::Step& s : steps) {
      const auto part = before.find(s.of);
      const bool named = s.of == root_ || part != before.end();
      const std::string slope = concat("d",
                                       s.of == root_ ? "S"
                                       : named       ? part->second
                                                     : "",
                                       "/d", out.by);
      out.lines.push_back(
          {slope, named ? "" : text(s.of, names_), text(s.derivative, names_), s.rule});
      // Parts that follow have this slope by its name.
      if (s.of != root_ && named && text(s.derivative, names_).size() > kShort)
        names_.emplace(s.derivative, slope);
    }
    names_ = before;
    return out;
  }

  expression::Parsed typed_;
  Graph graph_;
  Id root_ = 0;
  std::vector<Id> parts_;
  NodeNames names_;
};

}  // namespace

std::vector<std::string> equals_mathml(const std::string& left, std::vector<std::string> right) {
  right.front() = infix_mathml("=") + right.front();
  right.insert(right.begin(), left);
  return right;
}

std::string step_html(const std::vector<std::string>& formula, const std::string& numbers,
                      const std::string& rule) {
  std::string parts;
  for (const std::string& part : formula) parts += concat("<math>", part, "</math>");
  return concat("<li><div class=\"scroll\">", parts, "</div>",
                rule.empty() ? "" : concat("<div class=\"rule-text\">", escaped(rule), "</div>"),
                numbers.empty() ? "" : concat("<div class=\"result\">= ", numbers, "</div>"),
                "</li>\n");
}

std::vector<DerivationPart> derivation(const std::string& formula) {
  return Derivation(formula).all();
}

namespace {

// The parts, whose formulas name `names` and variables.
std::string parts_html(const std::vector<DerivationPart>& parts,
                       const std::vector<std::string>& names) {
  SymbolTable symbols;
  for (const std::string& name : names) symbols.set(name, {1});
  for (int v = 0; v < expression::kVariables; ++v)
    symbols.set(name_of(static_cast<Variable>(v)), {1});
  std::string out;
  for (const DerivationPart& part : parts) {
    if (!part.by.empty()) out += concat("<h3>By ", escaped(part.by), "</h3>\n");
    out += "<ol class=\"steps\">\n";
    for (const DerivationLine& line : part.lines) {
      std::string left = symbol_mathml(line.symbol);
      if (!line.of.empty())
        left += to_mathml(symbols.read(concat("[", line.of, "]")));  // in parentheses
      out +=
          step_html(equals_mathml(left, mathml_parts(symbols.read(line.formula))), "", line.rule);
      if (line.of.empty()) symbols.set(line.symbol, {1});
    }
    out += "</ol>\n";
  }
  return out;
}

}  // namespace

std::string derivation_html(const std::string& formula) {
  return parts_html(derivation(formula), expression::parse(formula).parameters);
}

std::string derivation_html(const expression::KernelLines& lines) {
  if (lines.expression().lines.size() == 1) return derivation_html(lines.one_formula());
  const std::vector<std::string> names = expression::parse(lines.one_formula()).parameters;
  std::vector<DerivationPart> parts(1);
  for (const auto& [symbol, formula, rule] : lines.forward())
    parts[0].lines.push_back({symbol, "", formula, rule});
  if (lines.expression().parts > 1) {
    const auto [symbol, formula, rule] = lines.joined();
    parts[0].lines.push_back({symbol, "", formula, rule});
    const auto [slope, by, why] = lines.joined_slope();
    parts.push_back({"xi", {{slope, "", by, concat("of each pair of parts: ", why)}}});
  }
  for (const auto& [symbol, formula, rule] : lines.backward()) {
    DerivationPart& part = parts.emplace_back();
    part.by = symbol.substr(symbol.find("/d") + 2);
    part.lines.push_back({symbol, "", formula, rule});
  }
  return parts_html(parts, names);
}

}  // namespace nine::app
