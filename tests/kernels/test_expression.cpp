// Formulas of a head: reading, printing, simplifying, and derivatives against finite differences.
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string>

#include "core/error.h"
#include "kernels/expression/formula.h"
#include "kernels/expression/parse.h"
#include "kernels/expression/run.h"

namespace nine::tests::test_expression {

using namespace nine::expression;

namespace {

const std::vector<std::string> kNames = {"p", "s"};
constexpr double kParameters[] = {1.3, 0.7};

double value_of(const Graph& g, Id id, const Variables& at) {
  return evaluate(g, id, at, kParameters);
}

// A formula with its value, as typed.
struct Typed {
  explicit Typed(const std::string& text) : parsed(parse(text)) {}
  double at(const Variables& x, std::span<const double> parameters = {}) const {
    return evaluate(parsed.graph, parsed.score, x, parameters);
  }
  Parsed parsed;
};

const Variables kPoint = {0.8, 1.7, 2.1, 1.2, 0.5, 4};  // z q ww hh c d

std::string simplified(const std::string& text) {
  const Parsed p = parse(text);
  Graph g;
  return to_text(g, rebuild(p.graph, p.score, g, {}), p.parameters);
}
std::string slope(const std::string& text, Variable v) {
  const Parsed p = parse(text);
  Graph g;
  const Id id = rebuild(p.graph, p.score, g, {});
  return to_text(g, derivative(g, id, g.variable(v)), p.parameters);
}
std::string error_of(const std::string& text) {
  try {
    parse(text);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Random formulas in a graph that does not simplify.
class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}
  Id make(Graph& g, int depth) {
    if (depth == 0 || below(6) == 0) return leaf(g);
    constexpr Op kOps[] = {Op::add,        Op::subtract, Op::multiply, Op::divide,  Op::power,
                           Op::negate,     Op::exp,      Op::log,      Op::log1p,   Op::expm1,
                           Op::sqrt,       Op::abs,      Op::tanh,     Op::sigmoid, Op::sin,
                           Op::cos,        Op::acos,     Op::acosh,    Op::atan,    Op::erf,
                           Op::min,        Op::max,      Op::less,     Op::detach,  Op::softplus,
                           Op::less_equal, Op::add,      Op::multiply, Op::power,   Op::divide,
                           Op::subtract,   Op::add,      Op::multiply, Op::log,     Op::exp};
    const Op op = kOps[below(std::size(kOps))];
    std::array<Id, 4> args{};
    const auto count = static_cast<size_t>(arguments_of(op));
    for (size_t k = 0; k < count; ++k) args[k] = make(g, depth - 1);
    return g.make(op, std::span<const Id>(args.data(), count));
  }
  double between(double a, double b) {
    return a + (b - a) * static_cast<double>(random_()) / 4294967296.0;
  }

 private:
  size_t below(size_t n) { return random_() % n; }
  Id leaf(Graph& g) {
    constexpr double kNumbers[] = {0, 1, -1, 2, 0.5, 3, -2, 0.25};
    const size_t kind = below(8);
    if (kind < 5) return g.variable(static_cast<Variable>(kind));
    if (kind == 5) return g.parameter(static_cast<int>(below(2)));
    return g.number(kNumbers[below(8)]);
  }
  std::mt19937 random_;
};

// How far numbers are apart, relative to the larger or to 1.
double apart(double a, double b) {
  return std::abs(a - b) / std::max({1.0, std::abs(a), std::abs(b)});
}

}  // namespace

TEST_CASE("expression: precedence, as in mathematics") {
  CHECK(Typed("1+2*3^2").at(kPoint) == 19);
  CHECK(Typed("-2^2").at(kPoint) == -4);
  CHECK(Typed("2^3^2").at(kPoint) == 512);
  CHECK(Typed("2^-3").at(kPoint) == 0.125);
  CHECK(Typed("2^-1^2").at(kPoint) == 0.5);
  CHECK(Typed("7-3-2").at(kPoint) == 2);
  CHECK(Typed("8/4/2").at(kPoint) == 1);
  CHECK(Typed(" ( 1 + z ) * q ").at(kPoint) == 1.8 * 1.7);
  CHECK(Typed("1e3+.5").at(kPoint) == 1000.5);
  CHECK(Typed("cos(pi)+log(e)").at(kPoint) == doctest::Approx(0));
  CHECK(Typed("z*-q").at(kPoint) == doctest::Approx(-1.36));
  CHECK(Typed("pow(q, 2) + d").at(kPoint) == doctest::Approx(6.89));
  const double given[] = {3, 5};
  CHECK(Typed("a_1*z+b").at(kPoint, given) == doctest::Approx(7.4));
  CHECK(Typed("where(z < q, 1, 2) + where(z >= q, 10, 20)").at(kPoint) == 21);
  CHECK(Typed("where(1 <= 1, 1, 2) + where(1 > 1, 10, 20)").at(kPoint) == 21);
  CHECK(Typed("where(1 \u2264 1, 1, 2) + where(1 \u2265 2, 10, 20)").at(kPoint) == 21);
}

TEST_CASE("expression: errors point at the place") {
  CHECK(error_of("-log(1+q^") ==
        "the formula ends where a number, a name or ( is needed\n"
        "  expr:{-log(1+q^}\n"
        "                 ^ here");
  CHECK(error_of("-log(1+)") ==
        "a number, a name or ( is needed\n"
        "  expr:{-log(1+)}\n"
        "               ^ here");
  CHECK(has(error_of("tnh(z)"), "no function is called 'tnh'; did you mean tanh?"));
  CHECK(has(error_of("besselj(z)"), "Functions: where, exp"));
  CHECK(has(error_of("2 z"), "an operator is missing"));
  CHECK(has(error_of("2e"), "an operator is missing"));
  CHECK(has(error_of("z < q"), "a comparison may only stand in where("));
  CHECK(has(error_of("where(z, 1, 2)"), "where() begins with a comparison"));
  CHECK(has(error_of("min(z)"), "',' is missing"));
  CHECK(has(error_of("exp(z, q)"), "')' is missing after the one argument"));
  CHECK(has(error_of("(z"), "to close a parenthesis"));
  CHECK(has(error_of("z)"), "this ) has no ("));
  CHECK(has(error_of("tanh + 1"), "tanh is a function: write tanh(...)"));
  CHECK(has(error_of("z*scale"), "scale multiplies the whole formula"));
  CHECK(has(error_of("z $ q"), "'$' has no meaning"));
  CHECK(has(error_of(""), "the formula ends"));
  CHECK(has(error_of("1e999"), "this is not a number"));
  CHECK(has(error_of(std::string(70, '(') + "z" + std::string(70, ')')), "64 parentheses"));
  CHECK(has(error_of(std::string(3000, 'z')), "3000 characters"));
  CHECK(has(error_of("a+b+f+g+h+i+j+k+l"), "8 parameters"));
  // The mark stands under a character, however many bytes those before it have.
  CHECK(has(error_of("where(z \u2264 q, 1, $)"), "\n                        ^ here"));
}

TEST_CASE("expression: simplified and printed as a person would") {
  CHECK(simplified("log(sigmoid(z))") == "-softplus(-z)");
  CHECK(simplified("z + log(sigmoid(z))") == "z - softplus(-z)");
  CHECK(simplified("-log(1+q)") == "-log1p(q)");
  CHECK(simplified("-log(1+q^(p/2))") == "-softplus((p/2)*log(q))");
  CHECK(simplified("exp(z)-1") == "expm1(z)");
  CHECK(simplified("1/(1+exp(-z))") == "sigmoid(z)");
  CHECK(simplified("log(1+exp(z))") == "softplus(z)");
  CHECK(simplified("0*z+1*q-0") == "q");
  CHECK(simplified("z*z*z") == "z^3");
  CHECK(simplified("z*2*3") == "6*z");
  CHECK(simplified("2*z/4") == "z/2");
  CHECK(simplified("z+z") == "2*z");
  CHECK(simplified("q^0.5") == "sqrt(q)");
  CHECK(simplified("a-(b-z)") == "a - (b - z)");
  CHECK(simplified("s*tanh(z/s)") == "s*tanh(z/s)");
  CHECK(simplified("2^(a*b)") == "2^(a*b)");
  CHECK(simplified("2^-z") == "2^-z");
  CHECK(simplified("(z-1)^2") == "(z - 1)^2");
  CHECK(simplified("cos(2*pi)+pi*z") == "1 + pi*z");
  CHECK(slope("z", Variable::z) == "1");
  CHECK(slope("s*tanh(z/s)", Variable::z) == "1 - tanh(z/s)^2");
  CHECK(slope("exp(-g*q)", Variable::q) == "-g*exp(-g*q)");
  CHECK(slope("-q^(p/2)", Variable::q) == "-(p/2)*q^(p/2 - 1)");
  CHECK(slope("-log(1+q)", Variable::q) == "-1/(1 + q)");
  CHECK(slope("z + log(sigmoid(z))", Variable::z) == "1 + sigmoid(-z)");
  CHECK(slope("abs(z)", Variable::z) == "sign(z)");
  CHECK(slope("detach(z)+q", Variable::z) == "0");
  CHECK(slope("where(z < 1, z^2, q)", Variable::z) == "where(z < 1, 2*z, 0)");
}

TEST_CASE("expression: powers in logarithms are kept where asked, but those of q") {
  const auto kept = [](const std::string& text) {
    const Parsed p = parse(text);
    Graph g(Graph::Simplify::keep_powers);
    return to_text(g, rebuild(p.graph, p.score, g, {}), p.parameters);
  };
  CHECK(simplified("log(1+softplus(z)^2)") == "softplus(2*log(softplus(z)))");
  CHECK(kept("log(1+softplus(z)^2)") == "log1p(softplus(z)^2)");
  CHECK(kept("log(1+abs(z)^p)") == "log1p(abs(z)^p)");
  for (const char* text :
       {"log(1+q^p)", "log(1+(q/2)^3)", "log(1+(3*q)^1.5)", "log(1+(q/d)^p)", "log(1+exp(z))"})
    CHECK(kept(text) == simplified(text));
}

TEST_CASE("expression: a formula's slopes are its derivatives wherever these are numbers") {
  for (const char* text :
       {"-log(1+q^1.5)", "-log(1+(q/(1+ww))^2)", "0.3*log(1+softplus(z)^2)-q", "log(1+abs(c)^3)*z",
        "-sqrt(q/(1+ww))", "-acosh(1+2*q/((1+ww)*(1+hh)))", "-sqrt((1-c)*(1+ww))-q*hh"}) {
    CAPTURE(text);
    const Formula formula(text, {});
    const Parsed p = parse(text);
    Graph g;
    const Id score = rebuild(p.graph, p.score, g, {});
    size_t root = 1;
    for (const Variable v : {Variable::z, Variable::q, Variable::ww, Variable::hh, Variable::c}) {
      const double slope = value_of(formula.graph(), formula.roots()[root++], kPoint);
      CHECK(slope == value_of(g, derivative(g, score, g.variable(v)), kPoint));
      CHECK(std::isfinite(slope));
    }
  }
}

TEST_CASE("expression: one-sided slopes at kinks") {
  const auto at = [](const std::string& text, double z) {
    const Parsed p = parse(text);
    Graph g;
    const Id id = rebuild(p.graph, p.score, g, {});
    Variables x = kPoint;
    x[0] = z;
    return evaluate(g, derivative(g, id, g.variable(Variable::z)), x, {});
  };
  CHECK(at("abs(z)", 0) == 0);
  CHECK(at("abs(z)", -2) == -1);
  CHECK(at("min(z, 2*z)", 0) == 1);
  CHECK(at("min(2*z, z)", 0) == 2);
  CHECK(at("max(z, 2*z)", 0) == 1);
  CHECK(at("max(3*z, 2*z)", 0) == 3);
  CHECK(at("where(z < 0, z, 5*z)", 0) == 5);
  CHECK(at("where(z <= 0, z, 5*z)", 0) == 1);
  CHECK(at("detach(z^2 - z) + z", 3) == 1);
}

TEST_CASE("expression: min and max of a NaN are NaN, whichever argument it is") {
  Variables x = kPoint;
  x[0] = -1;
  for (const char* text : {"min(z, sqrt(z))", "min(sqrt(z), z)", "max(2, log(z))", "max(log(z), 2)",
                           "max(q, max(z, sqrt(z)))"}) {
    const Parsed p = parse(text);
    Graph g;
    CHECK_MESSAGE(std::isnan(evaluate(g, rebuild(p.graph, p.score, g, {}), x, {})), text);
  }
}

TEST_CASE("expression: 10,000 random formulas keep their value and slopes when simplified") {
  int values = 0, raw_slopes = 0, differences = 0;
  for (uint32_t seed = 1; seed <= 10000; ++seed) {
    Generator random(seed);
    Graph raw(Graph::Simplify::no), simple;
    const Id score = random.make(raw, 4);
    Variables at{};
    for (const Variable v : {Variable::z, Variable::q, Variable::ww, Variable::hh, Variable::c})
      at[static_cast<size_t>(v)] = v == Variable::z   ? random.between(-2, 2)
                                   : v == Variable::c ? random.between(-0.95, 0.95)
                                                      : random.between(0.1, 3);
    at[5] = 8;
    const Id short_score = rebuild(raw, score, simple, {});
    const double value = value_of(raw, score, at);
    CAPTURE(seed);
    CAPTURE(to_text(raw, score, kNames));
    CAPTURE(to_text(simple, short_score, kNames));
    if (!std::isfinite(value) || std::abs(value) > 1e6) continue;
    REQUIRE(apart(value_of(simple, short_score, at), value) < 1e-8);
    ++values;
    for (const Variable v : {Variable::z, Variable::q, Variable::ww, Variable::hh, Variable::c}) {
      const double short_slope =
          value_of(simple, derivative(simple, short_score, simple.variable(v)), at);
      const double long_slope = value_of(raw, derivative(raw, score, raw.variable(v)), at);
      const bool comparable = std::isfinite(long_slope) && std::abs(long_slope) < 1e6;
      CAPTURE(name_of(v));
      CAPTURE(to_text(simple, derivative(simple, short_score, simple.variable(v)), kNames));
      if (comparable) {
        REQUIRE(apart(short_slope, long_slope) < 1e-7);
        ++raw_slopes;
      }
      if (!std::isfinite(short_slope) && !std::isfinite(long_slope)) continue;
      // Detached parts have no slope, and differences know nothing of that.
      const std::vector<Id> all = needed(raw, {&score, 1});
      if (std::any_of(all.begin(), all.end(), [&](Id n) { return raw.is(n, Op::detach); }))
        continue;
      const auto difference = [&](double eps) {
        Variables up = at, down = at;
        up[static_cast<size_t>(v)] += eps;
        down[static_cast<size_t>(v)] -= eps;
        return (value_of(raw, score, up) - value_of(raw, score, down)) / (2 * eps);
      };
      // Two steps that agree: neither a kink nor rounding lies between.
      const double one = difference(1e-5), other = difference(3e-6);
      if (!(apart(one, other) < 1e-6) || !(std::abs(one) < 1e3)) continue;
      REQUIRE(apart(short_slope, one) < 1e-4);
      ++differences;
    }
  }
  MESSAGE(values, " values, ", raw_slopes, " slopes, ", differences, " differences compared");
  CHECK(values > 4000);
  CHECK(raw_slopes > 20000);
  CHECK(differences > 15000);
}

TEST_CASE("expression: programs compute what the graph says") {
  int compared = 0;
  for (uint32_t seed = 1; seed <= 2000; ++seed) {
    Generator random(seed);
    Graph raw(Graph::Simplify::no), g;
    const Id score = rebuild(raw, random.make(raw, 5), g, {});
    const std::vector<Id> roots = {score, derivative(g, score, g.variable(Variable::z)),
                                   derivative(g, score, g.variable(Variable::q))};
    Compiler compiler(g);
    const Program program = compiler.compile(roots);
    double constants[Operand::kConstants];
    compiler.constants().compute(8, kParameters, constants);
    constexpr int64_t kPairs = 40;
    double inputs[kPairVariables][kPairs];
    for (int64_t k = 0; k < kPairs; ++k) {
      inputs[0][k] = random.between(-2, 2);
      for (const int v : {1, 2, 3}) inputs[v][k] = random.between(0.01, 3);
      inputs[4][k] = random.between(-1, 1);
    }
    const double* variables[kPairVariables];
    for (int v = 0; v < kPairVariables; ++v) variables[v] = inputs[v];
    std::vector<double> registers(static_cast<size_t>(program.registers * kStrip));
    const Run<double> run(program, constants, variables, kPairs, registers.data());
    CAPTURE(seed);
    CAPTURE(to_text(g, score, kNames));
    for (int64_t k = 0; k < kPairs; ++k)
      for (size_t o = 0; o < roots.size(); ++o) {
        Variables at{};
        for (size_t v = 0; v < kPairVariables; ++v) at[v] = inputs[v][k];
        at[5] = 8;
        const std::vector<double> all = evaluate_all(g, roots[o], at, kParameters);
        const std::vector<Id> used = needed(g, {&roots[o], 1});
        // The sine of a large number has as many digits fewer, and so on.
        if (!std::all_of(used.begin(), used.end(), [&](Id n) { return std::abs(all[n]) < 1e4; }))
          continue;
        const double expected = all[roots[o]];
        REQUIRE(apart(run.output_at(o, k), expected) < 1e-7);
        ++compared;
      }
  }
  MESSAGE(compared, " compared");
  CHECK(compared > 100000);
}

TEST_CASE("expression: functions of vectors against the C library") {
  for (int k = -4000; k <= 4000; ++k) {
    const double x = k / 500.0;
    CHECK(std::abs(vatan(x) - std::atan(x)) <= 5e-16);
    CHECK(std::abs(verf(x) - std::erf(x)) <= 4e-16 * std::max(0.05, std::abs(std::erf(x))) + 1e-18);
    CHECK(std::abs(vatan(static_cast<float>(x)) - std::atan(x)) <= 3e-7);
    CHECK(std::abs(verf(static_cast<float>(x)) - std::erf(x)) <= 2e-7);
    if (std::abs(x) <= 1) CHECK(std::abs(vacos(x) - std::acos(x)) <= 1e-15);
    if (x >= 1) CHECK(std::abs(vacosh(x) - std::acosh(x)) <= 2e-15);
  }
  CHECK(vacos(1.0) == 0);
  CHECK(vacos(-1.0) == doctest::Approx(std::acos(-1.0)).epsilon(1e-15));
  CHECK(std::isnan(vacos(1.1)));
  CHECK(std::isnan(vacosh(0.9)));
  CHECK(vacosh(1e200) == doctest::Approx(std::acosh(1e200)).epsilon(1e-15));
  CHECK(std::isnan(verf(std::nan(""))));
  CHECK(vpow(-2.0, 3.0) == doctest::Approx(-8));
  CHECK(vpow(-2.0, 2.0) == doctest::Approx(4));
  CHECK(std::isnan(vpow(-2.0, 0.5)));
  CHECK(vpow(0.0, 0.0) == 1);
  CHECK(vpow(0.0, 2.0) == 0);
}

}  // namespace nine::tests::test_expression
