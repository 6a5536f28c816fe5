// What kernel_inspect explains, draws, checks and shows: worked examples hold together, experiments
// say what theory says.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "apps/inspect/check.h"
#include "apps/inspect/conditions.h"
#include "apps/inspect/exercise.h"
#include "apps/inspect/explain.h"
#include "apps/inspect/explain_derivation.h"
#include "apps/inspect/explain_page.h"
#include "apps/inspect/kernel_formulas.h"
#include "apps/inspect/linear_algebra.h"
#include "apps/inspect/plot.h"
#include "apps/inspect/score_at.h"
#include "apps/inspect/show.h"
#include "kernels/expression/kernel_lines.h"
#include "kernels/expression/parse.h"
#include "tests/support/compare.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_inspect_tools {

using namespace nine::app;

namespace {

using Doubles = std::vector<double>;

std::vector<std::string> shown_kernels() {
  std::vector<std::string> names;
  for (const KernelInfo& k : kernel_table()) names.emplace_back(k.name);
  for (const char* more :
       {"pow:p=1", "log:p=0.7", "ssg:variance=0.5", "mog:components=3:form=mixture",
        "hpb:ball=tanh", "hpb:ball=sigmoid", "pol:alpha=0.5:p=3"})
    names.emplace_back(more);
  return names;
}

Score kernel(const std::string& name) { return parse_head(name).components.front(); }

Doubles times(double a, Doubles x) {
  for (double& v : x) v *= a;
  return x;
}
Doubles plus(Doubles x, const Doubles& y) {
  for (size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  return x;
}

double square_distance(const Doubles& a, const Doubles& b) {
  double q = 0;
  for (size_t i = 0; i < a.size(); ++i) q += (a[i] - b[i]) * (a[i] - b[i]);
  return q;
}

void check_drawing(const std::string& svg) {
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(has(svg, "prefers-color-scheme: dark"));
  CHECK(has(svg, "class=\"line"));
  for (const char* bad : {" nan", "\"nan", "Mnan", "Lnan", "inf", "https://", "<script"})
    CHECK_MESSAGE(!has(svg, bad), bad);
}

}  // namespace

TEST_CASE(
    "explain: a kernel's lines follow from one another, from the exact gradients to the fused "
    "loss") {
  for (const std::string& name : shown_kernels()) {
    CAPTURE(name);
    const WorkedExample l = explain(name);
    const Doubles p = l.at("p"), s = l.at("S"), by_score = l.at("dL/dS");
    double total = 0;
    for (const double x : s) total += std::exp(x);
    for (size_t v = 0; v < 3; ++v)
      CHECK(p[v] == doctest::Approx(std::exp(s[v]) / total).epsilon(1e-12));
    CHECK(l.at("L")[0] == doctest::Approx(-std::log(p[0])).epsilon(1e-12));
    Doubles by_h(l.at("h").size());
    for (size_t v = 0; v < 3; ++v) {
      const std::string n = "_" + std::to_string(v + 1);
      CHECK(relative_error(l.at("dL/dw" + n), times(by_score[v], l.at("dS" + n + "/dw" + n))) <
            1e-10);
      by_h = plus(by_h, times(by_score[v], l.at("dS" + n + "/dh")));
    }
    CHECK(relative_error(l.at("dL/dh"), by_h) < 1e-10);
    CHECK(l.at("worst")[0] < 1e-6);
    CHECK(l.lines().back().symbol == "worst");
    const expression::KernelLines lines(kernel_expression(kernel(name)),
                                        kernel_info(kernel(name)).parameters);
    CHECK(has(l.text(), "S = " + lines.score_text()));
    CHECK(has(l.text(), "derivative: " + lines.derivative_text()));
  }
}

TEST_CASE("explain: numbers are those of a pencil") {
  const WorkedExample l = explain("pow:p=1");
  for (size_t v = 0; v < 3; ++v) {
    const std::string n = "_" + std::to_string(v + 1);
    const double q = square_distance(l.at("w" + n), l.at("h"));
    CHECK(l.at("q" + n)[0] == doctest::Approx(q));
    CHECK(l.at("S")[v] == doctest::Approx(-std::sqrt(q)));
    CHECK(l.at("dS" + n + "/dq")[0] == doctest::Approx(-0.5 / std::sqrt(q)));
  }
  const WorkedExample norm = explain("layer_norm");
  CHECK(norm.at("mean")[0] == doctest::Approx(3));
  CHECK(norm.at("r")[0] == doctest::Approx(1 / std::sqrt(14.0 / 3 + 1e-5)));
  const WorkedExample soft = explain("softmax");
  CHECK(soft.at("L")[0] ==
        doctest::Approx(std::log(std::exp(1.0) + std::exp(2.0) + std::exp(0.5)) - 1));
  CHECK(has(soft.text(), "  L "));
}

TEST_CASE("explain: layers' lines follow from one another") {
  const WorkedExample n = explain("layer_norm");
  for (size_t k = 0; k < 3; ++k)
    CHECK(n.at("dL/dx")[k] == doctest::Approx(n.at("r")[0] * (n.at("g")[k] - n.at("a")[0] -
                                                              n.at("xhat")[k] * n.at("b")[0])));

  const WorkedExample l = explain("lstm");
  // The example computes dh and dc of each step itself; dh_0 and dc_0 are those of the op.
  double dh0 = 0;
  for (size_t g = 0; g < 4; ++g) dh0 += l.at("W_hh")[g] * l.at("dL/da_1")[g];
  CHECK(l.at("dL/dh_0")[0] == doctest::Approx(dh0));
  CHECK(l.at("dL/dc_0")[0] == doctest::Approx(l.at("dL/dc_1")[0] * l.at("ifgo_1")[1]));
  const Doubles gate = l.at("ifgo_2"), da = l.at("dL/da_2");
  const double dc = l.at("dL/dc_2")[0];
  CHECK(da[0] == doctest::Approx(dc * gate[2] * gate[0] * (1 - gate[0])));
  CHECK(da[1] == doctest::Approx(dc * l.at("c_1")[0] * gate[1] * (1 - gate[1])));
  CHECK(da[2] == doctest::Approx(dc * gate[0] * (1 - gate[2] * gate[2])));
  CHECK(da[3] ==
        doctest::Approx(l.at("dL/dh_2")[0] * std::tanh(l.at("c_2")[0]) * gate[3] * (1 - gate[3])));

  const WorkedExample a = explain("attention");
  const Doubles by_a = a.at("dL/da"), p = a.at("p");
  const double root = std::sqrt(2.0);
  CHECK(p[0] + p[1] == doctest::Approx(1));
  CHECK(relative_error(a.at("y"), plus(times(p[0], a.at("v_1")), times(p[1], a.at("v_2")))) <
        1e-12);
  CHECK(relative_error(a.at("dL/dq"), plus(times(by_a[0] / root, a.at("k_1")),
                                           times(by_a[1] / root, a.at("k_2")))) < 1e-12);
  CHECK(relative_error(a.at("dL/dk_2"), times(by_a[1] / root, a.at("q"))) < 1e-12);
  CHECK(relative_error(a.at("dL/dv_1"), times(p[0], a.at("dL/dy"))) < 1e-12);

  const WorkedExample m = explain("mixture");
  const Doubles pi = m.at("pi_k"), share = m.at("gamma");
  for (size_t v = 0; v < 3; ++v)
    CHECK(m.at("p")[v] == doctest::Approx(pi[0] * m.at("p_1")[v] + pi[1] * m.at("p_2")[v]));
  CHECK(share[0] == doctest::Approx(pi[0] * m.at("p_1")[0] / m.at("p")[0]));
  CHECK(relative_error(m.at("dL/dm_1"), times(m.at("dL/da")[0], m.at("h"))) < 1e-12);

  for (const std::string& name : layer_examples()) CHECK(explain(name).at("worst")[0] < 1e-6);
}

TEST_CASE("explain: formulas of examples are computed and written as they are read") {
  SymbolTable symbols;
  symbols.set("w_1", {3, 4});
  symbols.set("w", {9});
  symbols.set("dL/dS", {2, -1});
  const auto value = [&](const char* text) { return symbols.compute(text); };
  CHECK(value("|w_1| + 2*w_1.w_1") == Doubles{55});
  CHECK(value("-w_1[2]^2/8") == Doubles{-2});
  CHECK(value("[dL/dS[1]*w_1, w]") == Doubles{6, 8, 9});
  CHECK(value("w_1[1..2] - 1 - 1") == Doubles{1, 2});
  CHECK(value("where(w < 9, 1, 2) + where(w <= 9, 10, 20)") == Doubles{12});
  CHECK(value("max(w_1) + min(w, 5) + sum(w_1)") == Doubles{16});
  CHECK(value("2^3^2 + 1e-1*10") == Doubles{513});
  for (const char* wrong :
       {"w_1 +", "w_2", "(w", "w)", "sin", "nothing(w)", "w_1[3]", "w_1 + [1,2,3]"})
    CHECK_THROWS_AS(value(wrong), Error);
  CHECK(to_mathml(symbols.read("dL/dS*(w - 1)/w")) ==
        "<mfrac><mrow><mrow><mfrac><mrow><mo>∂</mo><mi>L</mi></mrow><mrow><mo>∂</mo><mi>S</mi>"
        "</mrow></mfrac><mo>&#x2062;</mo><mrow><mo stretchy=\"false\">(</mo><mrow><mi>w</mi>"
        "<mo>−</mo><mn>1</mn></mrow><mo stretchy=\"false\">)</mo></mrow></mrow></mrow><mrow>"
        "<mi>w</mi></mrow></mfrac>");
  // A dot keeps words apart, numbers from numbers, and no sign stands behind a sign.
  symbols.set("count", {2});
  for (const auto& example : std::vector<std::pair<const char*, const char*>>{
           {"w*count", "<mi>w</mi><mo>·</mo><mi>count</mi>"},
           {"w*sin(w)", "<mi>w</mi><mo>·</mo>"},
           {"2*pi", "<mn>2</mn><mo>&#x2062;</mo><mi>π</mi>"},
           {"w + -2", "<mo>−</mo><mn>2</mn>"},
           {"2e-06", "<mn>2</mn><mo>·</mo><msup><mn>10</mn><mrow><mo>−</mo><mn>6</mn>"},
           {"where(w < 2, 1, w)", "<mtext>otherwise</mtext>"}})
    CHECK_MESSAGE(has(to_mathml(symbols.read(example.first)), example.second), example.first);
}

TEST_CASE("page: a long formula has places where its line may break") {
  using Strings = std::vector<std::string>;
  SymbolTable symbols;
  for (const char* name : {"a", "b", "c"}) symbols.set(name, {1});
  const auto parts = [&](const char* text) { return mathml_parts(symbols.read(text)); };
  const std::string plus = "<mo form=\"infix\">+</mo>", minus = "<mo form=\"infix\">−</mo>";
  CHECK(parts("a*b") == Strings{"<mrow>" + to_mathml(symbols.read("a*b")) + "</mrow>"});
  CHECK(parts("a + -b - 2*c") == Strings{"<mrow><mi>a</mi></mrow>", minus + "<mi>b</mi>",
                                         minus + to_mathml(symbols.read("2*c"))});
  // Parentheses are as high as the part that they stand at.
  CHECK(parts("[a, b/c]") ==
        Strings{"<mrow><mo fence=\"true\" symmetric=\"false\">(</mo><mi>a</mi><mo>,</mo></mrow>",
                to_mathml(symbols.read("b/c")) + "<mo fence=\"true\" symmetric=\"false\">)</mo>"});
  CHECK(parts("2*(a + b)") ==
        Strings{"<mn>2</mn><mo>&#x2062;</mo><mrow><mo stretchy=\"false\">(</mo><mi>a</mi></mrow>",
                plus + "<mi>b</mi><mo stretchy=\"false\">)</mo>"});
}

TEST_CASE(
    "page: a formula's slopes follow from its parts, line by line, as differences have them") {
  std::vector<std::string> formulas{"z+log(sigmoid(z))",
                                    "where(q<2,softplus(z),-sqrt(ww+hh+1))*u_1"};
  for (const char* kernel :
       {"lin", "log:p=3", "pow", "pol:p=3", "rbf", "wav", "ssg", "ssg:variance=2", "hpb",
        "hpb:ball=tanh", "hpb:ball=clip", "hpb:ball=sigmoid"})
    formulas.push_back(page_kernel(parse_head(kernel).components[0]).formula);
  formulas.push_back(margin_formula({nine::Margin::Kind::arc, 0.5}));
  formulas.push_back(margin_formula({nine::Margin::Kind::lsm, 3}));
  for (const std::string& formula : formulas) {
    CAPTURE(formula);
    std::map<std::string, double> at{{"z", 0.4},   {"q", 1.3}, {"ww", 0.7},
                                     {"hh", 0.55}, {"c", 0.3}, {"d", 2}};
    for (const std::string& p : expression::parse(formula).parameters)
      at.emplace(p, p == "s" ? 0.8 : 1.25);
    // S, computed by its lines.
    const auto lines = derivation(formula);
    REQUIRE(lines.front().by.empty());
    const auto symbols_at = [&](const std::map<std::string, double>& values) {
      SymbolTable symbols;
      for (const auto& [name, x] : values) symbols.set(name, {x});
      for (const DerivationLine& l : lines.front().lines) {
        const Numbers s = symbols.compute(l.formula);
        if (l.symbol == "S" && symbols.values().contains("S"))
          CHECK(symbols.values().at("S")[0] == doctest::Approx(s[0]));  // as typed, and by parts
        symbols.set(l.symbol, s);
      }
      return symbols;
    };
    for (size_t part = 1; part < lines.size(); ++part) {
      SymbolTable symbols = symbols_at(at);
      for (const DerivationLine& l : lines[part].lines) {
        CHECK_FALSE(l.rule.empty());
        const std::string& line = l.formula;
        CHECK_MESSAGE(line.size() <= 130, line);
        const Numbers slope = symbols.compute(l.formula);
        const double e = 1e-5, x = at.at(lines[part].by);
        auto up = at, down = at;
        up[lines[part].by] = x + e, down[lines[part].by] = x - e;
        const std::string of = l.of.empty() ? l.symbol.substr(1, l.symbol.find('/') - 1) : l.of;
        const double difference =
            (symbols_at(up).compute(of)[0] - symbols_at(down).compute(of)[0]) / (2 * e);
        CHECK_MESSAGE(slope[0] == doctest::Approx(difference).epsilon(1e-6).scale(1), of);
        if (l.of.empty()) symbols.set(l.symbol, slope);
      }
    }
  }
}

TEST_CASE("explain: a derivation that disagrees with the library is an error") {
  WorkedExample example("t");
  example.given("x", Numbers{1, 2});
  example.step("y", "2*x", "twice");
  example.agree("y", Numbers{2, 4});
  CHECK(has(error_of([&] { example.agree("y", Numbers{2, 4.1}); }), "differs from the library's"));
  CHECK(has(error_of([&] { example.step("z", "ln(-x)"); }), "is not finite"));
}

TEST_CASE("explain, show, plot: wrong names say what is there") {
  CHECK(has(error_of([] { explain("lsmt"); }), "did you mean lstm?"));
  CHECK(has(error_of([] { explain("rfb"); }), "did you mean rbf?"));
  CHECK(has(error_of([] { explain("mix:lin,rfb"); }), "did you mean rbf?"));
  CHECK(error_of([] { explain("foo"); }) ==
        "--explain foo: nothing is called 'foo'. Kernels: lin, log, pow, pol, rbf, ssg, mog, hpb, "
        "wav, sig; layers: softmax, mixture, label_smoothing, z_loss, pi_reg, weight_norm_reg, "
        "layer_norm, rms_norm, swiglu, geglu, rotary, lstm, attention, grouped_attention");
  CHECK(error_of([] { explain("lin:p=1"); }) ==
        "--explain lin:p=1: lin has no parameters, not 'p'");
  CHECK(has(error_of([] { show("dog_and_cat"); }), "did you mean dog-and-cat?"));
  CHECK(
      has(error_of([] { plot_svg({.kernels = "lin,rbf"}); }), "lin and rbf cannot share an axis"));
  CHECK(has(error_of([] { plot_svg({.kernels = "mos"}); }), "mixture"));
  CHECK(has(error_of([] { plot_svg({.from = 2, .to = 1}); }), "--from 2 --to 1"));
  CHECK(has(error_of([] { plot_svg({.kernels = "expr:{exp(exp(q+10))}", .to = 1e6}); }),
            "expr:{exp(exp(q+10))} has no finite value in the range --from 0 --to 1e+06"));
  CHECK(has(error_of([] { check_rows({.shape = "3,4"}); }), "must be N,V,d"));
  for (const char* shape : {"3000000000,3000000000,3000000000", "1,1,100000", "100000,100001,1"}) {
    CAPTURE(shape);
    CHECK(has(error_of([&] { check_rows({.shape = shape, .kernels = "lin"}); }),
              concat("--shape: ", shape, " is too large")));
  }
  CHECK(has(error_of([] { check_rows({.shape = "3,4,5"}); }), "mog"));
}

TEST_CASE("score_at: exact gradients against differences, at a size of every kernel") {
  for (const std::string& name : shown_kernels()) {
    CAPTURE(name);
    const Score score = kernel(name);
    const int64_t d = example_size(score);
    Doubles w = normal_numbers(d, 0.7, "w"), h = normal_numbers(d, 0.7, "h");
    const ScoreAt at = score_at(score, w, h);
    for (Doubles* x : {&w, &h}) {
      Doubles slopes;
      for (double& e : *x) {
        const double before = e;
        e = before + 1e-5;
        const double up = score_at(score, w, h).value;
        e = before - 1e-5;
        slopes.push_back((up - score_at(score, w, h).value) / 2e-5);
        e = before;
      }
      CHECK(relative_error(x == &w ? at.dw : at.dh, slopes) < 1e-8);
    }
  }
}

TEST_CASE("check: every op and head at fresh shapes; a step that is too coarse is noticed") {
  for (const uint64_t seed : {1, 2}) {
    const std::vector<CheckRow> rows = check_rows({.seed = seed});
    for (const CheckRow& r : rows) CHECK_MESSAGE(r.worst < 1e-6, r.name, ": ", r.where);
    CHECK(passed(rows));
    CHECK(rows.size() > checked_heads().size() + 30);
  }
  const std::vector<CheckRow> coarse = check_rows({.shape = "2,3,8", .eps = 0.3});
  CHECK_FALSE(passed(coarse));
  CHECK(has(check_text(coarse), "head mixbig 2x3x8"));
  CHECK_FALSE(has(check_text(coarse), "not checked: head"));  // the slope of floor is 0
}

TEST_CASE("check: a head whose gradients all vanish fails, and the check says so") {
  // exp(-1000 q) is 0 at every distance; with one word the loss is 0 whatever the scores are.
  for (const CheckSettings& s : {CheckSettings{.kernels = "rbf:gamma=1000"},
                                 CheckSettings{.shape = "3,1,8", .kernels = "lin"}}) {
    const std::vector<CheckRow> rows = check_rows(s);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].worst < 1e-6);
    CHECK_FALSE(passed(rows));
    const std::string text = check_text(rows);
    CHECK_MESSAGE(has(text, concat("not checked: ", rows[0].name,
                                   ": all gradients of the contexts and of the word vectors are ")),
                  text);
  }
  CHECK(passed(check_rows({.kernels = "rbf:gamma=1,mix:lin,rbf"})));
  // The gradients of another component hide those that vanish.
  const std::vector<CheckRow> mixture = check_rows({.kernels = "lin,mix:lin,rbf:gamma=1000"});
  REQUIRE(mixture.size() == 2);
  CHECK_FALSE(passed(mixture));
  CHECK_MESSAGE(has(check_text(mixture), "of its component rbf:gamma=1000 alone, are below 1e-7"),
                check_text(mixture));
  CHECK(run_program("kernel_inspect", {"--check", "--kernels", "lin,rbf:gamma=1000"}).code == 1);
}

TEST_CASE("conditions: what is known of the kernels") {
  CHECK_FALSE(conditions_of(kernel("lin")).nonlinear);
  CHECK_FALSE(conditions_of(kernel("pow")).nonlinear);  // |h|^2 cancels between two words
  CHECK_FALSE(conditions_of(kernel("ssg:variance=0.5")).nonlinear);
  for (const char* name : {"log", "pow:p=1", "pol", "rbf", "ssg", "mog", "hpb", "wav", "sig"})
    CHECK_MESSAGE(conditions_of(kernel(name)).nonlinear, name);
  for (const char* name : {"pol", "wav"})
    CHECK_MESSAGE(!conditions_of(kernel(name)).increasing, name);
  for (const char* name : {"lin", "log", "pow", "rbf", "hpb", "sig", "ssg", "pol:p=3"})
    CHECK_MESSAGE(conditions_of(kernel(name)).increasing, name);
  CHECK_FALSE(conditions_of(kernel("pol")).stable);
  const Conditions sig = conditions_of(kernel("sig"));  // all four are what sigsoftmax was made for
  CHECK((sig.nonlinear && sig.stable && sig.nonnegative && sig.increasing));
  CHECK(conditions_of(kernel("rbf")).most <= 1);
}

TEST_CASE("linear algebra: matrices whose values are known") {
  CHECK(relative_error(eigenvalues({2, 1, 1, 2}, 2), Doubles{1, 3}) < 1e-14);
  CHECK(relative_error(singular_values({3, 0, 0, 0, -2, 0}, 2, 3), Doubles{3, 2}) < 1e-14);
}

TEST_CASE("plot: the paper's figure and others") {
  const std::string figure = plot_svg({});
  check_drawing(figure);
  for (const char* name : {">rbf<", ">wav<", ">log<", ">pow<", ">dS/dq<"}) CHECK(has(figure, name));
  check_drawing(plot_svg({.kernels = "ssg,mog,hpb,pow:p=1", .to = 10}));
  const std::string products = plot_svg({.kernels = "lin,sig", .from = -4, .to = 4});
  CHECK(has(products, ">dS/dz<"));
}

TEST_CASE("show: experiments say what theory says") {
  const ExperimentResult ranks = show("bottleneck");
  CHECK(has(ranks.text, table_line("lin", {5, 9, 17, 33}, "%11.0f")));
  CHECK(has(ranks.text, table_line("pow", {6, 10, 18, 34}, "%11.0f")));
  CHECK(has(ranks.text, table_line("sig", {64, 64, 64, 64}, "%11.0f")));
  check_drawing(ranks.svg);
  const ExperimentResult definite = show("definiteness");
  const auto line = [&](const std::string& name) {
    const size_t begin = definite.text.find("\n" + name + " ") + 1;
    return definite.text.substr(begin, definite.text.find('\n', begin) - begin);
  };
  for (const char* name : {"lin", "pol", "rbf"})
    CHECK(has(line(name), "definite: yes, centred: yes, e^S: yes"));
  for (const char* name : {"log", "pow", "hpb"})
    CHECK(has(line(name), "definite: no, centred: yes, e^S: yes"));
  CHECK(has(line("wav"), "definite: no, centred: no"));
  check_drawing(definite.svg);
  for (const char* name : {"kernel-trick", "reach", "geometry"}) {
    const ExperimentResult found = show(name);
    CHECK(found.text.size() > 200);
    check_drawing(found.svg);
  }
}

namespace {
// The numbers of the line of an experiment's table that begins with `name`.
std::vector<double> numbers_of(const std::string& text, const std::string& name) {
  const size_t at = text.find("\n" + name + " ");
  REQUIRE(at != std::string::npos);
  std::istringstream line(
      text.substr(at + 1, text.find('\n', at + 1) - at - 1).substr(name.size()));
  std::vector<double> numbers;
  for (double x = 0; line >> x;) numbers.push_back(x);
  return numbers;
}
}  // namespace

TEST_CASE("show dog-and-cat: what rank and bounds allow" * doctest::test_suite("check")) {
  const ExperimentResult found = show("dog-and-cat");
  check_drawing(found.svg);
  const std::vector<double> lin = numbers_of(found.text, "lin"),
                            three = numbers_of(found.text, "mix:3*lin"),
                            rbf = numbers_of(found.text, "rbf");
  REQUIRE(lin.size() == 3);
  REQUIRE(three.size() == 3);
  REQUIRE(rbf.size() == 3);
  // The differences of the wanted log-probabilities have rank 3.
  CHECK(lin[0] > lin[1]);
  CHECK(lin[1] > 0.01);
  CHECK(lin[2] < 1e-3);
  CHECK(three[1] < 1e-3);
  // Scores in [0, 1]: no word can be more than e times as likely as another.
  const double e = std::exp(1.0);
  const auto divergence = [&](double likely, int words) {  // each of `words` has `likely`
    const double rest = (1 - words * likely) / (4 - words), all = words * e + 4 - words;
    return words * likely * std::log(likely * all / e) + (4 - words) * rest * std::log(rest * all);
  };
  const double bound = (divergence(0.45, 2) + 4 * divergence(0.85, 1)) / 5;
  for (const double reached : rbf) CHECK(reached > bound - 1e-4);
}

TEST_CASE("show margin: the learned probabilities solve their equation, and can be undone") {
  const ExperimentResult found = show("margin");
  check_drawing(found.svg);
  const std::vector<double> q{0.45, 0.25, 0.15, 0.1, 0.05};
  for (const double margin : {0.0, 0.5, 1.0, 2.0, 4.0}) {
    CAPTURE(margin);
    const double kappa = 1 - std::exp(-margin);
    const std::string name = concat("M = ", margin);
    const std::vector<double> trained = numbers_of(found.text, name + " trained"),
                              undone = numbers_of(found.text, name + " undone");
    REQUIRE(trained.size() == 6);
    REQUIRE(undone.size() == 6);
    double sum = 0;
    for (size_t v = 0; v < q.size(); ++v) {
      sum += trained[v];
      // p (1 - kappa p) / q is the same of all words.
      CHECK(trained[v] * (1 - kappa * trained[v]) / q[v] ==
            doctest::Approx(trained[0] * (1 - kappa * trained[0]) / q[0]).epsilon(1e-4));
      CHECK(std::fabs(undone[v] - q[v]) < 1e-6);
    }
    CHECK(sum == doctest::Approx(1).epsilon(1e-5));
    CHECK(trained[5] < 1e-12);
    CHECK(undone[5] < 1e-12);
  }
}

TEST_CASE("show: every experiment has its page and its figure") {
  namespace fs = std::filesystem;
  for (const Experiment& e : experiments()) {
    const std::string page = slurp(concat(NINE_SOURCE_DIR, "/docs/ideas/", e.name, ".md"));
    CHECK_MESSAGE(has(page, concat("--show ", e.name)), e.name);
    CHECK_MESSAGE(has(page, concat("(../images/ideas/", e.name, ".svg)")), e.name);
    CHECK(fs::exists(concat(NINE_SOURCE_DIR, "/docs/images/ideas/", e.name, ".svg")));
    CHECK_MESSAGE(has(slurp(NINE_SOURCE_DIR "/docs/inspect.md"), concat("ideas/", e.name, ".md")),
                  e.name);
  }
}

TEST_CASE("exercise: short numbers, a problem without its answers, and its solution" *
          doctest::test_suite("check")) {
  const std::string problem = exercise_text("pow:p=1", 3, false),
                    solution = exercise_text("pow:p=1", 3, true);
  CHECK(problem == exercise_text("pow:p=1", 3, false));
  CHECK(problem != exercise_text("pow:p=1", 4, false));
  CHECK(has(problem, "Compute S, L,"));
  CHECK(has(problem, "--exercise pow:p=1 --seed 3 --solution"));
  CHECK_FALSE(has(problem, "q_1"));
  CHECK(has(solution, "dL/dw_1"));
  CHECK(has(exercise_text("expr:{-q}", 1, false), "--exercise 'expr:{-q}' --seed 1"));
  // What comes from above is given as well, though it stands behind the forward pass.
  CHECK(has(exercise_text("attention", 1, false), "\n  dL/dy = "));
  CHECK_FALSE(has(exercise_text("attention", 1, false), "dL/dq ="));
  CHECK(has(error_of([] { exercise_text("rfb", 1, false); }), "did you mean rbf?"));
  CHECK(error_of([] { exercise_text("rfb", 1, false); }).starts_with("--exercise rfb: nothing"));
}

TEST_CASE("exercise: the course has eight pages, each with a command, a figure and an exercise" *
          doctest::test_suite("check")) {
  const std::string index = slurp(NINE_SOURCE_DIR "/docs/course.md");
  int lessons = 0;
  for (const auto& file : std::filesystem::directory_iterator(NINE_SOURCE_DIR "/docs/course")) {
    const std::string page = slurp(file.path()), name = file.path().filename().string();
    CAPTURE(name);
    ++lessons;
    CHECK(has(index, concat("(course/", name, ")")));
    const auto count = [&](const std::string& what) {
      int n = 0;
      for (size_t at = page.find(what); at != std::string::npos; at = page.find(what, at + 1)) ++n;
      return n;
    };
    for (const char* what : {"\n    kernel_inspect --explain ", "\n![", "\n*`kernel_inspect --",
                             "\n**Exercise.** `kernel_inspect --exercise "})
      CHECK_MESSAGE(count(what) == 1, what);
    const std::string image = page.substr(page.find("](../images/") + 2),
                      command = "`kernel_inspect --exercise ";
    CHECK(std::filesystem::exists(
        concat(NINE_SOURCE_DIR, "/docs/course/", image.substr(0, image.find(')')))));
    const size_t at = page.find(command) + command.size(), seed = page.find(" --seed ", at);
    std::string exercise = page.substr(at, seed - at);
    std::erase(exercise, '\'');
    CHECK(exercise_text(exercise, std::stoull(page.substr(seed + 8)), false).size() > 80);
  }
  CHECK(lessons == 8);
}

TEST_CASE("page: one file without a request; every operator is in JavaScript") {
  std::string page = explain_page("hpb:ball=sigmoid");
  const size_t font = page.find("base64,");  // letters at random
  REQUIRE(font != std::string::npos);
  page.erase(font, page.find(')', font) - font);
  for (const char* part : {"<math", "const NINE", "Math.acosh(", "names: [", "id=\"board\""})
    CHECK_MESSAGE(has(page, part), part);
  for (const char* bad : {"https://", "<link", "src=", "nan", "@import"})
    CHECK_MESSAGE(!has(page, bad), bad);
  CHECK_FALSE(has(explain_page("lstm"), "id=\"board\""));
  // Formulas bring their font, the only thing that the page's policy allows as data.
  for (const char* name : {"hpb", "lstm"})
    for (const char* part : {"math { font-family: \"Nine Math\"",
                             "@font-face { font-family: \"Nine Math\"; src: url(data:",
                             "default-src 'none'; style-src 'unsafe-inline'; script-src "
                             "'unsafe-inline'; font-src data:",
                             "addEventListener('beforeprint'"})
      CHECK_MESSAGE(has(explain_page(name), part), name, " lacks ", part);
  CHECK(has(error_of([] { explain_page("rfb"); }), "did you mean rbf?"));
  const auto [code, names, slopes_by] = javascript_of(
      "exp(z)+log(z)*log1p(q)/"
      "expm1(q)-sqrt(q)^abs(z)+tanh(z)+sigmoid(z)+softplus(z)+sin(z)+cos(z)+"
      "acos(c)+acosh(ww)+atan(z)+erf(z)+min(z,q)+max(z,q)+where(z<q,z,b)+where(z<=q,q,a)+detach("
      "z)+"
      "d+s*F");
  CHECK(slopes_by == std::vector<std::string>{"F", "s"});
  CHECK(names == std::vector<std::string>{"b", "a", "s", "F"});
  for (const char* part : {"Math.exp(", "Math.log1p(", "Math.expm1(", "Math.pow(", "erf(",
                           "softplus(", "P[0]", "P[1]", " ? ", "Math.atan("})
    CHECK_MESSAGE(has(code, part), part);
  // Where q = 0 the slope by ww is 0 times infinity: the page has a rule for it, as the head has.
  CHECK(has(javascript_of("sqrt(q/(1+ww))").code, " ? "));
}

TEST_CASE("kernel_inspect: the program explains, draws, shows and checks") {
  const TemporaryDirectory directory;
  CHECK(has(run_program("kernel_inspect", {"--explain", "pow:p=1"}).out, "dL/dw_1"));
  CHECK(has(run_program("kernel_inspect", {}).out, "Kanai's four conditions"));
  CHECK(
      run_program("kernel_inspect", {"--plot", directory / "a.svg", "--kernels", "log,hpb"}).code ==
      0);
  check_drawing(slurp(directory / "a.svg"));
  CHECK(run_program("kernel_inspect", {"--show", "reach", "--plot", directory / "b.svg"}).code ==
        0);
  check_drawing(slurp(directory / "b.svg"));
  CHECK(run_program("kernel_inspect", {"--check", "--shape", "2,3,8", "--seed", "5"}).code == 0);
  CHECK(run_program("kernel_inspect", {"--check", "--eps", "0.3"}).code == 1);
  const Outcome tiny = run_program("kernel_inspect", {"--check", "--eps", "1e-17"});
  CHECK(tiny.code == 2);
  CHECK_MESSAGE(has(tiny.err, "--eps 1e-17: must be a number from 2.22"), tiny.err);
  // A range in which a curve has values in a part only, or everywhere.
  const auto said_of = [&](const std::string& kernel) {
    const Outcome r = run_program("kernel_inspect", {"--plot", directory / "d.svg", "--kernels",
                                                     kernel, "--from", "-5", "--to", "5"});
    CHECK(r.code == 0);
    return r.err;
  };
  CHECK(has(said_of("expr:{log(z)}"),
            "expr:{log(z)} has no finite value at 200 of 400 points, between -4.9875 and -0.0125"));
  CHECK(said_of("lin").empty());
  CHECK(run_program("kernel_inspect", {"--check", "--explain", "lin"}).code == 2);
  // A format by its name, and a name that is empty.
  for (const auto& [flag, name, message] :
       {std::tuple("--plot", "f.png", "f.png: an SVG figure is written, whatever the name"),
        {"--plot", "f.PDF", "f.PDF: an SVG figure is written, whatever the name"},
        {"--page", "f.svg", "f.svg: an HTML page is written, whatever the name"},
        {"--plot", "", "--plot '': is empty"}}) {
    const std::string file = *name == 0 ? "" : directory / name;
    const Outcome r = run_program("kernel_inspect", {flag, file, "--explain", "lin"});
    CHECK(r.code == 2);
    CHECK_MESSAGE(has(r.err, message), r.err);
    CHECK((file.empty() || !std::filesystem::exists(file)));
  }
  CHECK(run_program("kernel_inspect", {"--plot", directory / "figure.1"}).code == 0);
  for (const char* kernels : {"log,rbf,log:p=2", "arc:0.5,arc:0.5"}) {
    const Outcome r =
        run_program("kernel_inspect", {"--plot", directory / "e.svg", "--kernels", kernels});
    CHECK(r.code == 2);
    CHECK_MESSAGE(has(r.err, "is named twice"), r.err);
  }
  const Outcome both = run_program(
      "kernel_inspect", {"--plot", directory / "c.svg", "--output", directory / "c.txt"});
  CHECK(both.code == 2);
  CHECK(has(both.err, "--output is for the text of a table, an example, checks or --show"));
  CHECK_FALSE(std::filesystem::exists(directory / "c.svg"));
  const Outcome seed = run_program("kernel_inspect", {"--seed", "3"});
  CHECK(seed.code == 2);
  CHECK(has(seed.err, "--seed is for --check or --exercise"));
  for (const char* flag : {"--from", "--to"}) {
    const Outcome r = run_program(
        "kernel_inspect", {"--plot", directory / "c.svg", "--kernels", "arc:0.5", flag, "2"});
    CHECK(r.code == 2);
    CHECK_MESSAGE(has(r.err, concat(flag, " is for --plot of kernels, not of margins")), r.err);
    CHECK_FALSE(std::filesystem::exists(directory / "c.svg"));
  }
  for (const std::vector<std::string>& mixed :
       {std::vector<std::string>{"--show", "reach", "--plot", "-"},
        {"--explain", "wav", "--page", "-", "--output", "-"}})
    CHECK(has(run_program("kernel_inspect", mixed).err, "would mix on standard output"));
  check_drawing(run_program("kernel_inspect", {"--plot", "-", "--kernels", "log"}).out);
  CHECK(run_program("kernel_inspect", {"--solution"}).code == 2);
  CHECK(run_program("kernel_inspect", {"--page", directory / "a.html"}).code == 2);
  CHECK(has(run_program("kernel_inspect", {"--exercise", "lin", "--seed", "2"}).out, "Compute S"));
  CHECK(run_program("kernel_inspect", {"--explain", "wav", "--page", directory / "a.html"}).code ==
        0);
  CHECK(has(slurp(directory / "a.html"), "</html>"));
  CHECK(run_program("kernel_inspect", {"--kernels", "lin"}).code == 2);
}

}  // namespace nine::tests::test_inspect_tools
