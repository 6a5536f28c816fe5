// Formulas of worked examples as MathML.
#include <array>
#include <map>

#include "apps/inspect/arithmetic.h"
#include "apps/svg/text.h"
#include "core/error.h"

namespace nine::app {
namespace {

using Kind = Formula::Kind;

std::string tag(const char* name, const std::string& inside) {
  return concat("<", name, ">", inside, "</", name, ">");
}
std::string row(const std::string& inside) { return tag("mrow", inside); }
std::string mo(const char* op) { return tag("mo", op); }
// Parentheses as high as what they hold, which may reach further up than down.
std::string fence(const char* op) {
  return concat("<mo fence=\"true\" symmetric=\"false\">", op, "</mo>");
}
std::string in_parentheses(const std::string& inside) {
  return row(fence("(") + inside + fence(")"));
}

// Greek letters by their names.
std::string letter(const std::string& name) {
  static constexpr std::array kGreek = {
      std::array{"alpha", "α"}, std::array{"beta", "β"},   std::array{"gamma", "γ"},
      std::array{"delta", "δ"}, std::array{"sigma", "σ"},  std::array{"rho", "ρ"},
      std::array{"theta", "θ"}, std::array{"psi", "ψ"},    std::array{"psi'", "ψ′"},
      std::array{"xi", "ξ"},    std::array{"pi", "π"},     std::array{"xhat", "x̂"},
      std::array{"mu", "μ"},    std::array{"lambda", "λ"}, std::array{"nu", "ν"}};
  for (const auto& [word, sign] : kGreek)
    if (name == word) return sign;
  return name;
}

// How tightly it binds.
int level(const Formula& f) {
  if (f.kind != Kind::operation) return 5;
  switch (f.text[0]) {
    case '+':
    case '-':
      return 1;
    case '*':
      return 2;
    case 'n':
      return 2;
    case '.':
      return 3;
    case '^':
      return 4;
    default:
      return 5;  // a fraction
  }
}

std::string within(const Formula& f, int least) {
  const std::string inside = to_mathml(f);
  return level(f) < least ? in_parentheses(inside) : inside;
}

std::string commas(const std::vector<Formula>& all, size_t from = 0) {
  std::string out;
  for (size_t k = from; k < all.size(); ++k) out += (k > from ? mo(",") : "") + to_mathml(all[k]);
  return out;
}

// where(a < b, x, y): x, if a < b; y otherwise.
std::string cases(const Formula& f) {
  const auto line = [](const std::string& value, const std::string& when) {
    return tag("mtr", tag("mtd", value) + tag("mtd", when));
  };
  return row(mo("{") + tag("mtable", line(to_mathml(f.args[1]),
                                          row(tag("mtext", "if&#xA0;") + to_mathml(f.args[0]))) +
                                         line(to_mathml(f.args[2]), tag("mtext", "otherwise"))));
}

std::string operation(const Formula& f) {
  const auto& x = f.args;
  switch (f.text[0]) {
    case '+':
      if (x[1].kind == Kind::operation && x[1].text == "neg")  // a + -2
        return row(to_mathml(x[0]) + mo("−") + within(x[1].args[0], 2));
      return row(to_mathml(x[0]) + mo("+") + within(x[1], 1));
    case '-':
      return row(to_mathml(x[0]) + mo("−") + within(x[1], 2));
    case '*':
      return row(within(x[0], 2) + mo(x[1].kind == Kind::number ? "·" : "&#x2062;") +
                 within(x[1], x[1].text == "neg" ? 5 : 2));
    case '/':
      return tag("mfrac", row(to_mathml(x[0])) + row(to_mathml(x[1])));
    case '^':
      return tag("msup", within(x[0], 5) + row(to_mathml(x[1])));
    case '.':
      return row(within(x[0], 3) + mo("·") + within(x[1], 4));
    default:
      return row(mo("−") + within(x[0], 2));
  }
}

}  // namespace

std::string symbol_mathml(const std::string& symbol) {
  // dA/dB, and A' or A_1 by their parts.
  const size_t over = symbol.find("/d");
  if (symbol.starts_with('d') && over != std::string::npos)
    return tag("mfrac", row(mo("∂") + symbol_mathml(symbol.substr(1, over - 1))) +
                            row(mo("∂") + symbol_mathml(symbol.substr(over + 2))));
  const size_t below = symbol.find('_');
  if (below != std::string::npos && below > 0)
    return tag("msub", tag("mi", escaped(letter(symbol.substr(0, below)))) +
                           tag("mi", escaped(symbol.substr(below + 1))));
  return tag("mi", escaped(letter(symbol)));
}

std::string to_mathml(const Formula& f) {
  switch (f.kind) {
    case Kind::number:
      return f.text == "pi" || f.text == "e" ? tag("mi", letter(f.text)) : tag("mn", f.text);
    case Kind::symbol:
      return symbol_mathml(f.text);
    case Kind::operation:
      return operation(f);
    case Kind::norm:
      return row(fence("‖") + to_mathml(f.args[0]) + fence("‖"));
    case Kind::list:
      return in_parentheses(commas(f.args));
    case Kind::part:
      return tag("msub", within(f.args[0], 5) +
                             row(mo("[") + tag("mn", std::to_string(f.from)) +
                                 (f.to > f.from ? mo("…") + tag("mn", std::to_string(f.to)) : "") +
                                 mo("]")));
    case Kind::compare:
      return row(to_mathml(f.args[0]) + mo(f.text == "<" ? "&lt;" : "≤") + to_mathml(f.args[1]));
    case Kind::call:
      break;
  }
  if (f.text == "sqrt") return tag("msqrt", to_mathml(f.args[0]));
  if (f.text == "exp") return tag("msup", tag("mi", "e") + row(to_mathml(f.args[0])));
  if (f.text == "where") return cases(f);
  static const std::map<std::string, const char*> kUsual = {
      {"acos", "arccos"}, {"acosh", "arcosh"}, {"atan", "arctan"}, {"log", "ln"}};
  const auto usual = kUsual.find(f.text);
  const std::string name = usual == kUsual.end() ? f.text : usual->second;
  return row(tag("mi", name) + mo("&#x2061;") + in_parentheses(commas(f.args)));
}

}  // namespace nine::app
