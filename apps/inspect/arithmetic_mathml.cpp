// Formulas of worked examples as MathML.
#include <array>
#include <cstdlib>
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
  for (const char* tall : {"<mfrac", "<msup", "<msqrt", "<mtable"})
    if (inside.find(tall) != std::string::npos) return row(fence("(") + inside + fence(")"));
  return row("<mo stretchy=\"false\">(</mo>" + inside + "<mo stretchy=\"false\">)</mo>");
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

// 2e-06 as 2 times a power of 10.
std::string number_mathml(const std::string& text) {
  const size_t e = text.find('e');
  if (e == std::string::npos) return tag("mn", text);
  const int power = std::stoi(text.substr(e + 1));
  return row(tag("mn", text.substr(0, e)) + mo("·") +
             tag("msup", tag("mn", "10") + row((power < 0 ? mo("−") : "") +
                                               tag("mn", std::to_string(std::abs(power))))));
}

// How tightly it binds.
int level(const Formula& f) {
  if (f.kind != Kind::operation) return 5;
  switch (f.text[0]) {
    case '+':
    case '-':
      return 1;
    case '*':
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

// Whether it is written with a word, which what stands beside it would run into.
bool is_word(const Formula& f) {
  if (f.kind == Kind::part) return is_word(f.args[0]);
  if (f.kind == Kind::call) return f.text != "exp" && f.text != "sqrt" && f.text != "where";
  return f.kind == Kind::symbol && f.text.find_first_of("_/") == std::string::npos &&
         letter(f.text) == f.text && f.text.size() > 1 && f.text.back() != '\'';
}
const Formula& leftmost(const Formula& f) {
  return f.kind == Kind::operation && (f.text == "*" || f.text == "^") ? leftmost(f.args[0]) : f;
}
const Formula& rightmost(const Formula& f) {
  return f.kind == Kind::operation && f.text == "*" ? rightmost(f.args[1]) : f;
}
// Where a product needs its dot.
bool apart(const Formula& a, const Formula& b) {
  const Formula &left = rightmost(a), &right = leftmost(b);
  return (right.kind == Kind::number && right.text != "pi") || is_word(right) ||
         (is_word(left) && left.kind != Kind::call);
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
      return row(within(x[0], 2) + mo(apart(x[0], x[1]) ? "·" : "&#x2062;") +
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
      return f.text == "pi" || f.text == "e" ? tag("mi", letter(f.text)) : number_mathml(f.text);
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
