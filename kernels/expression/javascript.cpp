#include "kernels/expression/javascript.h"

#include <cmath>
#include <string_view>

#include "core/error.h"
#include "kernels/expression/operations.h"

namespace nine::expression {
namespace {

std::string name(Operand o) {
  if (o.is_constant()) return concat('k', o.constant());
  if (o.is_variable()) return name_of(o.variable());
  return concat('r', static_cast<int>(o.place));
}

const char* template_of(Op op) {
  switch (op) {
#define NINE_CASE(op, name, result, exact, javascript, rule) \
  case Op::op:                                               \
    return javascript;
    NINE_UNARY_OPERATIONS(NINE_CASE)
#undef NINE_CASE
#define NINE_CASE(op, name, result, javascript) \
  case Op::op:                                  \
    return javascript;
    NINE_BINARY_OPERATIONS(NINE_CASE)
#undef NINE_CASE
#define NINE_CASE(op, condition, javascript) \
  case Op::op:                               \
    return javascript " ? % : &";
    NINE_CHOICES(NINE_CASE)
#undef NINE_CASE
    case Op::power:
      return "Math.pow(#, $)";
    default:
      return "#";  // a number
  }
}

// Writes an instruction's arguments into its template.
std::string text_of(Op op, const Operand* args) {
  constexpr std::string_view kPlaces = "#$%&";
  std::string out;
  for (const char* c = template_of(op); *c != '\0'; ++c) {
    const size_t place = kPlaces.find(*c);
    out += place == std::string_view::npos ? std::string(1, *c) : name(args[place]);
  }
  return out;
}

std::string number_text(double x) {
  return std::isfinite(x) ? concat(x) : std::isnan(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity";
}

std::string constants_text(const Constants& constants) {
  std::string out;
  for (size_t k = 0; k < constants.given.size(); ++k) {
    const Node& n = constants.given[k];
    if (n.op != Op::number && n.op != Op::variable && n.op != Op::parameter) continue;
    out += concat("  const k", k, " = ",
                  n.op == Op::number     ? number_text(n.value)
                  : n.op == Op::variable ? std::string("d")
                                         : concat("P[", static_cast<int>(n.index), "]"),
                  ";\n");
  }
  for (const Instruction& i : constants.code)
    out += concat("  const k", static_cast<int>(i.out), " = ", text_of(i.op, i.args), ";\n");
  return out;
}

}  // namespace

std::string to_javascript(const Program& program, const Constants& constants) {
  std::string out = "(z, q, ww, hh, c, d, P) => {\n" + constants_text(constants), registers;
  for (int k = 0; k < program.registers; ++k) registers += concat(k > 0 ? ", r" : "r", k);
  if (!registers.empty()) out += "  let " + registers + ";\n";
  for (const Instruction& i : program.code)
    out += concat("  r", static_cast<int>(i.out), " = ", text_of(i.op, i.args), ";\n");
  std::string outputs;
  for (const Operand o : program.outputs) outputs += (outputs.empty() ? "" : ", ") + name(o);
  return out + "  return [" + outputs + "];\n}";
}

std::string javascript_functions() {
  // Computes erf by a series of positive terms, which loses no digits, and beyond 3 by the
  // continued fraction of erfc (Abramowitz and Stegun, 7.1.6 and 7.1.14).
  return R"(const sigmoid = x => x < 0 ? Math.exp(x) / (1 + Math.exp(x)) : 1 / (1 + Math.exp(-x));
const softplus = x => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
const erf = x => {
  const a = Math.abs(x), gauss = Math.exp(-a * a) / Math.sqrt(Math.PI);
  if (!(a < 6)) return a >= 6 ? Math.sign(x) : NaN;
  if (a < 3) {
    let term = a, sum = a;
    for (let n = 1; term > 1e-17 * sum; ++n) sum += term *= 2 * a * a / (2 * n + 1);
    return Math.sign(x) * 2 * gauss * sum;
  }
  let fraction = a;
  for (let n = 80; n > 0; --n) fraction = a + n / 2 / fraction;
  return Math.sign(x) * (1 - gauss / fraction);
};
)";
}

}  // namespace nine::expression
