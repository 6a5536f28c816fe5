// Heads with a formula (expr): their grammar, their numbers against the built-in kernels and
// against finite differences, and their errors.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <random>
#include <string>

#include "autograd/gradcheck.h"
#include "core/error.h"
#include "core/ops.h"
#include "kernels/decoding/head_decoder.h"
#include "kernels/expression/kernel_lines.h"
#include "kernels/loss/kernel_softmax.h"
#include "kernels/settings/head_config.h"
#include "kernels/settings/head_fields.h"
#include "kernels/settings/learned_numbers.h"
#include "tests/support/programs.h"

namespace nine::tests::test_head_formula {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
std::string error_of(const std::string& head) {
  try {
    parse_head(head);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

Tensor as_type(const Tensor& x, DType type) {
  Tensor out(x.shape(), type);
  ops::copy(x, out);
  return out;
}
Tensor random_tensor(const Shape& shape, double size, uint32_t seed, DType type) {
  std::mt19937 random(seed);
  std::vector<double> values(static_cast<size_t>(shape.elements()));
  for (double& v : values) v = size * (static_cast<double>(random()) / 2147483648.0 - 1);
  return as_type(Tensor::from(values, shape), type);
}

struct Result {
  double loss;
  std::vector<double> dh, dw, db;
};

struct Problem {
  int64_t rows, words, dims;
  double size;
};

Result run(const std::string& head, const Problem& p, DType type,
           HeadMemory memory = HeadMemory::blocks, const HeadLoss& loss = {}) {
  Arena arena("test");
  Tape tape(arena);
  const Var h = tape.leaf(random_tensor({p.rows, p.dims}, p.size, 1, type)),
            w = tape.leaf(random_tensor({p.words, p.dims}, p.size, 2, type)),
            b = tape.leaf(random_tensor({p.words}, 0.1, 3, type));
  std::vector<int32_t> y;
  for (int64_t r = 0; r < p.rows; ++r) y.push_back(static_cast<int32_t>(r * 7 % p.words));
  HeadLoss options = loss;
  options.memory = memory;
  const HeadSpec spec = parse_head(head, {.head_context = "none"});
  HeadWeights weights{.w = {w}, .bias = b};
  if (spec.mixture) weights.prior = tape.leaf(random_tensor({spec.size(), p.dims}, 0.5, 4, type));
  const Var out = kernel_softmax(spec, h, weights, Tensor::from(y, {p.rows}),
                                 1.0 / static_cast<double>(p.rows), options)
                      .loss;
  const double value = out.value().item();
  tape.backward(out);
  return {value, h.grad().to_vector(), w.grad().to_vector(), b.grad().to_vector()};
}

double relative(const std::vector<double>& a, const std::vector<double>& b) {
  double off = 0, size = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    if (!std::isfinite(a[k])) return HUGE_VAL;
    off = std::max(off, std::abs(a[k] - b[k]));
    size = std::max(size, std::abs(b[k]));
  }
  return off == 0 ? 0 : off / size;
}

void check_same(const Result& a, const Result& b, double limit) {
  CHECK(relative({a.loss}, {b.loss}) < limit);
  CHECK(relative(a.dh, b.dh) < limit);
  CHECK(relative(a.dw, b.dw) < limit);
  CHECK(relative(a.db, b.db) < limit);
}

struct Twin {
  const char *formula, *kernel;
};
constexpr Twin kTwins[] = {
    {"expr:{z}", "lin"},
    {"expr:{-log(1+q^(p/2))}:p=2", "log"},
    {"expr:{-log(1+q^(p/2))}:p=4", "log:p=4"},
    {"expr:{-log(1+q^(p/2))}:p=0.7", "log:p=0.7"},
    {"expr:{-q^(p/2)}:p=2", "pow"},
    {"expr:{-q^(p/2)}:p=1", "pow:p=1"},
    {"expr:{-q^(p/2)}:p=2.6", "pow:p=2.6"},
    {"expr:{(alpha*z+k)^p}:alpha=0.5:k=0.3:p=3", "pol:alpha=0.5:c=0.3:p=3"},
    {"expr:{exp(-gamma*q)}:gamma=0.4", "rbf:gamma=0.4"},
    {"expr:{cos(q/a)*exp(-q/b)}:a=2:b=3", "wav:a=2:b=3"},
    {"expr:{z+log(sigmoid(z))}", "sig"},
};

// A formula in plain C++, of two vectors of two numbers, with its slopes by central differences.
using Vector = std::array<double, 2>;
struct PairScore {
  const char* head;
  double (*of)(double z, double q, double ww, double hh, double c);

  double at(const Vector& w, const Vector& h) const {
    const auto dot = [](const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1]; };
    const Vector e{w[0] - h[0], w[1] - h[1]};
    const double z = dot(w, h), ww = dot(w, w), hh = dot(h, h);
    return of(z, dot(e, e), ww, hh, ww > 0 && hh > 0 ? z / std::sqrt(ww * hh) : 0);
  }
  Vector by_word(const Vector& w, const Vector& h) const {
    return slopes([&](const Vector& x) { return at(x, h); }, w);
  }
  Vector by_context(const Vector& w, const Vector& h) const {
    return slopes([&](const Vector& x) { return at(w, x); }, h);
  }

 private:
  template <class F>
  static Vector slopes(F&& f, const Vector& x) {
    constexpr double kStep = 1e-5;
    Vector out{};
    for (size_t k = 0; k < 2; ++k) {
      Vector up = x, down = x;
      up[k] += kStep;
      down[k] -= kStep;
      out[k] = (f(up) - f(down)) / (2 * kStep);
    }
    return out;
  }
};

// The head's gradients of the context h and of two words, w and another one. `flat`: the score has
// no slope at w and h.
void check_pair(const PairScore& s, const Vector& h, const Vector& w, bool flat, int32_t target,
                DType type) {
  CAPTURE(s.head);
  CAPTURE(target);
  CAPTURE(type == DType::float64);
  const Vector other{0.3, -0.8};
  Arena arena("test");
  Tape tape(arena);
  const Var context = tape.leaf(as_type(Tensor::from<double>({h[0], h[1]}, {1, 2}), type)),
            words = tape.leaf(
                as_type(Tensor::from<double>({w[0], w[1], other[0], other[1]}, {2, 2}), type));
  const Var loss = kernel_softmax(parse_head(s.head), context, {.w = {words}},
                                  Tensor::from<int32_t>({target}, {1}), 1.0)
                       .loss;
  tape.backward(loss);
  const double p = 1 / (1 + std::exp(s.at(other, h) - s.at(w, h))),
               up = target == 0 ? p - 1 : p;  // dL/dS of w; that of the other is its opposite
  const Vector dw = flat ? Vector{} : s.by_word(w, h), dh = flat ? Vector{} : s.by_context(w, h),
               dw_other = s.by_word(other, h), dh_other = s.by_context(other, h);
  const double limit = type == DType::float64 ? 1e-8 : 1e-5;
  CHECK(relative(words.grad().to_vector(),
                 {up * dw[0], up * dw[1], -up * dw_other[0], -up * dw_other[1]}) < limit);
  CHECK(relative(context.grad().to_vector(),
                 {up * (dh[0] - dh_other[0]), up * (dh[1] - dh_other[1])}) < limit);
}

// What kernel_softmax says of these contexts and words; nothing: "".
std::string complaint(const std::string& head, const Tensor& h, const Tensor& w,
                      const std::vector<int32_t>& targets, DType type) {
  Arena arena("test");
  Tape tape(arena);
  const HeadSpec spec = parse_head(head);
  HeadWeights weights{.w = {tape.leaf(as_type(w, type))}};
  for (const LearnedNumber& n : learned_numbers(spec))
    weights.numbers.push_back(
        tape.leaf(as_type(Tensor::from<double>({n.stored(n.start)}, {1}), type)));
  try {
    kernel_softmax(spec, tape.leaf(as_type(h, type)), weights,
                   Tensor::from(targets, {std::ssize(targets)}), 1.0);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("formula heads: nothing between braces is grammar") {
  const std::string text = "mix:2*expr:{min(z, -q)*a^b + where(z<=1,a,b)}:a=2:b=-0.5,lin,expr:{-q}";
  const HeadSpec head = parse_head(text);
  REQUIRE(head.size() == 4);
  CHECK(head.components[0] == head.components[1]);
  CHECK(head.components[0].parameters[0] == 2);
  CHECK(head.components[0].parameters[1] == -0.5);
  CHECK(head.to_text() == "mix:2*expr:{min(z,-q)*a^b+where(z<=1,a,b)}:a=2:b=-0.5,lin,expr:{-q}");
  CHECK(parse_head(head.to_text()) == head);
  CHECK(parse_head("expr:{ - q }") == parse_head("expr:{-q}"));
  CHECK(!(parse_head("expr:{p*z}:p=1") == parse_head("expr:{p*z}:p=2")));
  CHECK(!parse_head("expr:{pow(q,2)*3}").mixture);
  const Score score = parse_head("expr:{b*exp(-g*q)}:b=3:g=0.01").components[0];
  CHECK(kernel_info(score).parameters.size() == 2);
  const expression::KernelLines lines(kernel_expression(score), kernel_info(score).parameters);
  CHECK(lines.score_text() == "b*exp(-g*q)");
  CHECK(lines.derivative_text() == "dS/dq = -b*g*exp(-g*q)");
}

TEST_CASE("kernel lines: how the parts of a kernel join") {
  const auto lines_of = [](const char* head) {
    const Score score = parse_head(head).components[0];
    return expression::KernelLines(kernel_expression(score), kernel_info(score).parameters);
  };
  const auto mixture = lines_of("mog:components=3:form=mixture"),
             sum = lines_of("mog:components=3:form=sum");
  CHECK(mixture.forward().back().symbol == "xi");
  CHECK(mixture.joined().symbol == "S");
  CHECK(mixture.joined().formula == "ln(sum(exp(xi))/9)");
  CHECK(mixture.joined_slope().symbol == "dS/dxi");
  CHECK(mixture.joined_slope().formula == "exp(xi)/sum(exp(xi))");
  CHECK(mixture.score_text().starts_with("log(sum_ij e^xi_ij / C^2), xi = "));
  CHECK(mixture.derivative_text().starts_with("dS/dxi = softmax_ij(xi_ij), "));
  CHECK(sum.joined().formula == "sum(xi)");
  CHECK(sum.joined_slope().formula == "1");
  CHECK(sum.score_text().starts_with("sum_ij xi_ij, xi = "));
  CHECK(sum.derivative_text().starts_with("dS/dxi = 1, "));
}

TEST_CASE("formula heads: errors name the place and the way out") {
  CHECK(has(error_of("expr"), "expr needs a formula in braces"));
  CHECK(has(error_of("expr:z"), "must stand in braces"));
  CHECK(has(error_of("expr:{z"), "has no }"));
  CHECK(has(error_of("expr:{z}x"), "after the }"));
  CHECK(has(error_of("expr:{p*z}"), "the parameter p of expr:{p*z} has no value"));
  CHECK(has(error_of("expr:{gama*z}:gamma=1"),
            "has no parameter 'gamma', only gama; did you mean gama?"));
  CHECK(has(error_of("expr:{s*z}:t=1"), "has no parameter 't', only s"));
  CHECK(has(error_of("expr:{s*z}:s=1:s=2"), "names s twice"));
  CHECK(has(error_of("expr:{s*z}:s=one"), "expr's s is not a number: 'one'"));
  CHECK(has(error_of("expr:{scale*z}:scale=2"), "scale"));
  CHECK(has(error_of("expr:{s*z}:s"), "must be PARAMETER=VALUE"));
  CHECK(has(error_of("mix:lin,expr:{-log(1+q^}"), "^ here"));
  CHECK(has(error_of("exp:{z}"), "did you mean expr?"));
}

TEST_CASE("formula heads: the built-in kernels as formulas give their numbers") {
  for (const Twin& t : kTwins)
    for (const HeadMemory memory : {HeadMemory::blocks, HeadMemory::tiles}) {
      CAPTURE(t.formula);
      const Problem p{70, 205, 12, 0.6};
      check_same(run(t.formula, p, DType::float64, memory),
                 run(t.kernel, p, DType::float64, memory), 1e-12);
      check_same(run(t.formula, p, DType::float32, memory),
                 run(t.kernel, p, DType::float64, memory), 1e-5);
    }
}

TEST_CASE("formula heads: in mixtures, with smoothed labels") {
  HeadLoss loss;
  loss.smoothing.epsilon = 0.1;
  const Problem p{40, 130, 8, 0.7};
  check_same(
      run("mix:lin,expr:{-log(1+q)},expr:{exp(-q)}", p, DType::float64, HeadMemory::blocks, loss),
      run("mix:lin,log,rbf", p, DType::float64, HeadMemory::blocks, loss), 1e-12);
}

TEST_CASE("formula heads: gradients are finite differences, of every variable") {
  for (const char* head :
       {"expr:{s*tanh(z/s)}:s=3", "expr:{4*c}", "expr:{-acos(c)}", "expr:{z-ww/2}",
        "expr:{hh*z-0.1*ww^2}", "expr:{erf(z)+atan(q)-acosh(1+q)}", "expr:{z/sqrt(d)}",
        "expr:{where(z<0,z,log1p(z))-max(q,ww)*0.1}", "expr:{c*sqrt(ww)+min(z,q)-softplus(hh)}",
        "expr:{-q^0.35*expm1(-ww)}"}) {
    CAPTURE(head);
    const Tensor h = random_tensor({3, 4}, 0.8, 11, DType::float64),
                 w = random_tensor({7, 4}, 0.8, 12, DType::float64),
                 y = Tensor::from<int32_t>({2, 0, 6}, {3});
    const HeadSpec spec = parse_head(head);
    const GradcheckReport result = gradcheck(
        [&](std::span<const Var> x) {
          return kernel_softmax(spec, x[0], {.w = {x[1]}}, y, 0.5).loss;
        },
        {h, w});
    CHECK_MESSAGE(result.worst < 1e-6, result.where);
  }
}

TEST_CASE("formula heads: pairs at distance 0 and vectors of norm 0") {
  for (const char* head :
       {"expr:{-q^0.25}", "expr:{-log(1+q^(p/2))}:p=1", "expr:{c}", "expr:{-acos(c)}"}) {
    CAPTURE(head);
    Arena arena("test");
    Tape tape(arena);
    const Var h = tape.leaf(Tensor::from<double>({1, 2, 0, 0}, {2, 2})),
              w = tape.leaf(Tensor::from<double>({1, 2, 0, 0, 2, 4}, {3, 2}));
    const Var loss =
        kernel_softmax(parse_head(head), h, {.w = {w}}, Tensor::from<int32_t>({0, 1}, {2}), 1.0)
            .loss;
    CHECK(std::isfinite(loss.value().item()));
    tape.backward(loss);
    for (const Var& x : {h, w})
      for (const double g : x.grad().to_vector()) CHECK(std::isfinite(g));
  }
}

TEST_CASE("formula heads: q and c have no slope at their extremes, whatever is mixed with them") {
  const PairScore of_distance[] = {
      {"expr:{-acosh(1+2*q/((1+ww)*(1+hh)))}",
       [](double, double q, double ww, double hh, double) {
         return -std::acosh(1 + 2 * q / ((1 + ww) * (1 + hh)));
       }},
      {"expr:{-sqrt(q/(1+ww))}",
       [](double, double q, double ww, double, double) { return -std::sqrt(q / (1 + ww)); }},
      {"expr:{-(q/hh)^0.75}",
       [](double, double q, double, double hh, double) { return -std::pow(q / hh, 0.75); }},
      {"expr:{-log(1+(q/(1+ww))^2)}", [](double, double q, double ww, double, double) {
         return -std::log1p(std::pow(q / (1 + ww), 2));
       }}};
  for (const PairScore& s : of_distance) {
    for (const DType type : {DType::float64, DType::float32})
      for (const int32_t target : {0, 1}) check_pair(s, {1, 0.5}, {1, 0.5}, true, target, type);
    // Two vectors whose q is 0 in float32.
    check_pair(s, {1, 1e-5}, {1, 1.0001e-5}, true, 1, DType::float32);
  }
  const PairScore of_cosine[] = {
      {"expr:{-sqrt((1-c)*(1+ww))}",
       [](double, double, double ww, double, double c) { return -std::sqrt((1 - c) * (1 + ww)); }},
      {"expr:{-sqrt(q*(1-c))}",
       [](double, double q, double, double, double c) { return -std::sqrt(q * (1 - c)); }}};
  for (const PairScore& s : of_cosine)
    for (const DType type : {DType::float64, DType::float32})
      for (const int32_t target : {0, 1}) check_pair(s, {1, 0}, {4, 0}, true, target, type);
}

TEST_CASE("formula heads: log(1 + x^k) has a slope where x is 0") {
  struct Case {
    PairScore score;
    Vector h, w;
  };
  const Case cases[] = {
      {{"expr:{log(1+softplus(z)^2)}",
        [](double z, double, double, double, double) {
          return std::log1p(std::pow(std::log1p(std::exp(z)), 2));
        }},
       {1, 0},
       {-100, 0}},  // softplus(z) is no float
      {{"expr:{log(1+ww^2)+z}",
        [](double z, double, double ww, double, double) { return std::log1p(ww * ww) + z; }},
       {1, 0.5},
       {0, 0}},
      {{"expr:{z+log(1+abs(z)^3)}",
        [](double z, double, double, double, double) {
          return z + std::log1p(std::pow(std::abs(z), 3));
        }},
       {0, 0},
       {1, 2}},
      {{"expr:{-log(1+abs(c)^3)}", [](double, double, double, double,
                                      double c) { return -std::log1p(std::pow(std::abs(c), 3)); }},
       {1, 0},
       {0, 2}}};
  for (const Case& c : cases)
    for (const DType type : {DType::float64, DType::float32})
      for (const int32_t target : {0, 1}) check_pair(c.score, c.h, c.w, false, target, type);
  // Of a context of 0 the slope by a learned exponent is 0, too.
  for (const DType type : {DType::float64, DType::float32}) {
    Arena arena("test");
    Tape tape(arena);
    const Var h = tape.leaf(Tensor({1, 2}, type)),
              p = tape.leaf(as_type(Tensor::from<double>({3}, {1}), type)),
              w = tape.leaf(random_tensor({3, 2}, 1, 7, type));
    const Var loss =
        kernel_softmax(parse_head("expr:{z+log(1+abs(z)^p)}:p=learn:3"), h,
                       {.w = {w}, .numbers = {p}}, Tensor::from<int32_t>({0}, {1}), 1.0)
            .loss;
    tape.backward(loss);
    CHECK(p.grad().to_vector() == std::vector<double>{0});
  }
}

TEST_CASE("formula heads: slopes by norms and learned numbers that are not finite are explained") {
  const Tensor h = Tensor::from<double>({1, 0.5}, {1, 2}),
               w = Tensor::from<double>({1, 1, 0, 0}, {2, 2}),
               crossed = Tensor::from<double>({1, -2, 1, 1}, {2, 2}),
               nothing = Tensor::from<double>({0, 0}, {1, 2});
  Tensor many = random_tensor({70, 4}, 1, 8, DType::float64);
  std::fill_n(many.data<double>() + 66 * 4, 4, 0.0);
  std::vector<int32_t> targets(35);
  const char* learned = "expr:{z+sqrt(p*detach(ww))}:p=learn:2";
  for (const DType type : {DType::float64, DType::float32}) {
    CAPTURE(type == DType::float64);
    // Of a word that is no target, and of the target.
    for (const int32_t target : {0, 1})
      CHECK(complaint("expr:{z+sqrt(ww)}", h, w, {target}, type) ==
            "[kernel_softmax] expr:{z+sqrt(ww)}: the slope of the score of word 1 and row 0 is not "
            "finite: 1/(2*sqrt(ww)) is inf where 2*sqrt(ww) = 0");
    CHECK(complaint("expr:{sqrt(z)}", h, crossed, {0}, type) ==
          "[kernel_softmax] expr:{sqrt(z)}: the slope of the score of word 0 and row 0 is not "
          "finite: 1/(2*sqrt(z)) is inf where 2*sqrt(z) = 0");
    CHECK(has(complaint("expr:{z+sqrt(hh)}", nothing, w, {0}, type),
              "and row 0 is not finite: 1/(2*sqrt(hh)) is inf"));
    for (const int32_t target : {0, 1}) {
      const std::string text = complaint(learned, h, w, {target}, type);
      CHECK_MESSAGE(has(text, "word 1 and row 0 is not finite: "), text);
      CHECK_MESSAGE(has(text, "sqrt(p*detach(ww)) = 0"), text);
    }
    for (const char* head : {"expr:{z+sqrt(ww)}", learned}) {
      const std::string text =
          complaint(head, random_tensor({35, 4}, 1, 9, DType::float64), many, targets, type);
      CHECK_MESSAGE(has(text, "word 66 and row 0 is not finite: "), text);
    }
  }
}

TEST_CASE("formula heads: a score or slope that is not finite is explained") {
  const auto error = [](const std::string& head, DType type = DType::float64) -> std::string {
    Arena arena("test");
    Tape tape(arena);
    const Var h = tape.leaf(as_type(Tensor::from<double>({1, 0.5}, {1, 2}), type)),
              w = tape.leaf(as_type(Tensor::from<double>({1, 1, -1, 0, 0, 1}, {3, 2}), type));
    try {
      kernel_softmax(parse_head(head), h, {.w = {w}}, Tensor::from<int32_t>({0}, {1}), 1.0);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  CHECK(error("expr:{log(z)}") ==
        "[kernel_softmax] expr:{log(z)}: the score of word 1 and row 0 is not finite: log(z) is "
        "nan where z = -1");
  CHECK(has(error("expr:{2*log(z+1)}", DType::float32),
            "word 1 and row 0 is not finite: log1p(z) is -inf where z = -1"));
  CHECK(
      has(error("expr:{sqrt(z+1)}"), "the slope of the score of word 1 and row 0 is not finite: "));
  CHECK(has(error("expr:{sqrt(z+1)}"), "sqrt(z + 1) = 0"));
  CHECK(has(error("expr:{-log(z-1.5)}"), "word 0 and row 0"));  // the target
  CHECK(
      has(error("expr:{exp(200*z)/1e38}", DType::float32), "although it is in float64 (z = 1.5)"));
  CHECK(error("expr:{detach(sqrt(z+1))+z}") == "");
  // A number beside the NaN does not hide it.
  for (const DType type : {DType::float32, DType::float64})
    for (const char* head : {"expr:{max(-5,log(z))}", "expr:{max(log(z),-5)}"})
      CHECK_MESSAGE(has(error(head, type), "word 1 and row 0 is not finite: log(z) is nan"), head);
}

TEST_CASE("formula heads: kernel_inspect derives, draws, checks and computes them") {
  const auto inspect = [](const std::vector<std::string>& arguments) {
    return tests::run_program("kernel_inspect", arguments);
  };
  const auto explained = inspect({"--explain", "expr:{-log(1+q^(p/2))}:p=3"});
  CHECK(explained.code == 0);
  for (const char* part :
       {"Simplified: S = -softplus((p/2)*log(q))", "d/dq [log(q)] = 1/q", "(chain rule)",
        "dS/dq = -sigmoid((p/2)*log(q))*p/(2*q)", "estimate, on a grid of q"})
    CHECK_MESSAGE(has(explained.out, part), part);
  const auto wrong = inspect({"--explain", "expr:{-log(1+q^}"});
  CHECK(wrong.code == 2);
  CHECK(has(wrong.err, "\n  expr:{-log(1+q^}\n                 ^ here"));
  const auto drawn = inspect({"--plot", "-", "--kernels", "expr:{exp(-min(q,4)*g)}:g=0.5,rbf"});
  CHECK_MESSAGE(drawn.code == 0, drawn.err);
  CHECK(has(drawn.out, "expr:{exp(-min(q,4)*g)}:g=0.5"));
  const auto checked = inspect({"--check", "--kernels", "expr:{s*tanh(z/s)}:s=3,expr:{ c - q }"});
  CHECK_MESSAGE(checked.code == 0, checked.err);
  CHECK(has(checked.out, "head expr:{c-q}"));
  CHECK(!has(checked.out, "matmul"));
}

TEST_CASE("formula heads: decoding computes what the loss does") {
  const int64_t rows = 3, words = 150, d = 6;
  for (const char* head : {"expr:{-log(1+q)}", "expr:{3*c+z}", "mix:expr:{z-ww},lin"}) {
    const HeadSpec spec = parse_head(head, {.head_context = "none"});
    const Tensor h = random_tensor({rows, d}, 1, 5, DType::float64),
                 w = random_tensor({words, d}, 1, 6, DType::float64),
                 m = random_tensor({spec.size(), d}, 1, 7, DType::float64);
    Arena arena("test");
    Tape tape(arena);
    HeadWeights weights{.w = {tape.leaf(w)}};
    if (spec.mixture) weights.prior = tape.leaf(m);
    const std::vector<double> expected = log_probabilities(spec, tape.leaf(h), weights).to_vector();
    HeadValues values{.w = {w.view()}};
    if (spec.mixture) values.prior = m.view();
    const HeadDecoder<double> decoder(spec, values);
    const std::vector<int32_t> targets = {0, 77, 149};
    const std::vector<double> flat = h.to_vector();
    HeadDecoder<double>::Memory memory;
    HeadDecoder<double>::Answer answer;
    decoder({.h = flat.data(), .rows = rows, .targets = targets}, memory, answer);
    for (size_t r = 0; r < targets.size(); ++r)
      CHECK(answer.log_probs[r] ==
            doctest::Approx(expected[r * words + static_cast<size_t>(targets[r])]).epsilon(1e-12));
  }
}

}  // namespace nine::tests::test_head_formula
