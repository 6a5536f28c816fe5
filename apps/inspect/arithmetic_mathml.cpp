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
std::string mrow(const std::string& inside) { return tag("mrow", inside); }
std::string mo(const char* op) { return tag("mo", op); }
// Chooses the signs around something: as high as a fraction or a table, which may reach further up
// than down. Others do not grow, since browsers keep the widest size's room beside what grows.
std::array<std::string, 2> fences_of(const std::string& inside, const char* open,
                                     const char* close) {
  const bool tall =
      inside.find("<mfrac") != std::string::npos || inside.find("<mtable") != std::string::npos;
  const char* grows = tall ? "<mo fence=\"true\" symmetric=\"false\">" : "<mo stretchy=\"false\">";
  return {concat(grows, open, "</mo>"), concat(grows, close, "</mo>")};
}
std::string fenced(const std::string& inside, const char* open, const char* close) {
  const auto [before, behind] = fences_of(inside, open, close);
  return mrow(before + inside + behind);
}
std::string in_parentheses(const std::string& inside) { return fenced(inside, "(", ")"); }

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
  return mrow(tag("mn", text.substr(0, e)) + mo("·") +
              tag("msup", tag("mn", "10") + mrow((power < 0 ? mo("−") : "") +
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
  return mrow(mo("{") + tag("mtable", line(to_mathml(f.args[1]),
                                           mrow(tag("mtext", "if&#xA0;") + to_mathml(f.args[0]))) +
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

bool is_sum(const Formula& f) {
  return f.kind == Kind::operation && (f.text == "+" || f.text == "-");
}
// The second term of a sum or difference, and its sign.
struct Term {
  const char* sign;
  std::string mathml;
};
Term second_term(const Formula& f) {
  const Formula& x = f.args[1];
  if (f.text == "-") return {"−", within(x, 2)};
  if (x.kind == Kind::operation && x.text == "neg") return {"−", within(x.args[0], 2)};  // a + -2
  return {"+", within(x, 1)};
}
// The first factor of a product, and the sign.
std::string first_factor(const Formula& f) {
  return within(f.args[0], 2) + mo(apart(f.args[0], f.args[1]) ? "·" : "&#x2062;");
}

// The terms of a sum, from the second on with their signs before them.
void append_terms(const Formula& f, std::vector<std::string>& parts) {
  if (!is_sum(f)) return parts.push_back(to_mathml(f));
  append_terms(f.args[0], parts);
  const Term term = second_term(f);
  parts.push_back(infix_mathml(term.sign) + term.mathml);
}

std::string operation(const Formula& f) {
  const auto& x = f.args;
  switch (f.text[0]) {
    case '+':
    case '-': {
      const Term term = second_term(f);
      return mrow(to_mathml(x[0]) + mo(term.sign) + term.mathml);
    }
    case '*':
      return mrow(first_factor(f) + within(x[1], x[1].text == "neg" ? 5 : 2));
    case '/':
      return tag("mfrac", mrow(to_mathml(x[0])) + mrow(to_mathml(x[1])));
    case '^':
      return tag("msup", within(x[0], 5) + mrow(to_mathml(x[1])));
    case '.':
      return mrow(within(x[0], 3) + mo("·") + within(x[1], 4));
    default:
      return mrow(mo("−") + within(x[0], 2));
  }
}

}  // namespace

std::string infix_mathml(const char* op) { return concat("<mo form=\"infix\">", op, "</mo>"); }

std::vector<std::string> mathml_parts(const Formula& f) {
  std::vector<std::string> parts;
  std::string factor;  // before the parentheses
  std::array<std::string, 2> around;
  if (f.kind == Kind::list && !f.args.empty()) {
    around = fences_of(to_mathml(f), "(", ")");
    for (const Formula& x : f.args)
      parts.push_back(to_mathml(x) + (&x == &f.args.back() ? "" : mo(",")));
  } else if (f.kind == Kind::operation && f.text == "*" && is_sum(f.args[1])) {
    around = fences_of(to_mathml(f.args[1]), "(", ")");
    append_terms(f.args[1], parts);
    factor = first_factor(f);
  } else {
    append_terms(f, parts);
  }
  parts.back() += around[1];
  parts.front() = factor + mrow(around[0] + parts.front());
  return parts;
}

std::string symbol_mathml(const std::string& symbol) {
  // dA/dB, and A' or A_1 by their parts.
  const size_t over = symbol.find("/d");
  if (symbol.starts_with('d') && over != std::string::npos)
    return tag("mfrac", mrow(mo("∂") + symbol_mathml(symbol.substr(1, over - 1))) +
                            mrow(mo("∂") + symbol_mathml(symbol.substr(over + 2))));
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
      return fenced(to_mathml(f.args[0]), "‖", "‖");
    case Kind::list:
      return in_parentheses(commas(f.args));
    case Kind::part:
      return tag("msub",
                 within(f.args[0], 5) +
                     fenced(tag("mn", std::to_string(f.from)) +
                                (f.to > f.from ? mo("…") + tag("mn", std::to_string(f.to)) : ""),
                            "[", "]"));
    case Kind::compare:
      return mrow(to_mathml(f.args[0]) + mo(f.text == "<" ? "&lt;" : "≤") + to_mathml(f.args[1]));
    case Kind::call:
      break;
  }
  if (f.text == "sqrt") return tag("msqrt", to_mathml(f.args[0]));
  if (f.text == "exp") return tag("msup", tag("mi", "e") + mrow(to_mathml(f.args[0])));
  if (f.text == "where") return cases(f);
  static const std::map<std::string, const char*> kUsual = {
      {"acos", "arccos"}, {"acosh", "arcosh"}, {"atan", "arctan"}, {"log", "ln"}};
  const auto usual = kUsual.find(f.text);
  const std::string name = usual == kUsual.end() ? f.text : usual->second;
  return mrow(tag("mi", name) + mo("&#x2061;") + in_parentheses(commas(f.args)));
}

}  // namespace nine::app
