// kernel_inspect against a dense oracle in long double that shares nothing with the library: every
// kernel and option, mixtures tied and untied, all gradients by differences of the oracle; and what
// its errors name.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "apps/inspect/inspect.h"
#include "core/json.h"
#include "kernels/scores/vectors.h"
#include "tests/kernels/score_oracle.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_kernel_inspect {
namespace {

using Real = long double;

// A head and its options, as the oracle's formulas take them.
struct Case {
  std::string head;
  std::vector<Score> components;
  Json options = Json::object();
  bool mixture = false, contexts = false, untied = false, bias = true;
  Real smoothing = 0;
  bool others = false;
  std::string prior_kind = {}, norm_kind = {};
  Real prior_strength = 0, norm_strength = 0, norm = 0;
};

struct Numbers {
  size_t n, v, d, k;
  std::vector<Real> h, w, b, m, c;
  std::vector<int> targets;
};

struct Outputs {
  Real loss = 0;
  std::vector<Real> nll, scores, log_probs, pi;
};

Reals row_of(const std::vector<Real>& x, size_t row, size_t d) {
  return {x.begin() + static_cast<long>(row * d), x.begin() + static_cast<long>((row + 1) * d)};
}

Reals context(const Case& c, const Numbers& x, size_t n, size_t k) {
  Reals h = row_of(x.h, n, x.d);
  if (!c.contexts) return h;
  Reals out(x.d);
  for (size_t j = 0; j < x.d; ++j) {
    for (size_t i = 0; i < x.d; ++i) out[j] += h[i] * x.c[(k * x.d + i) * x.d + j];
    out[j] = std::tanh(out[j]);
  }
  return out;
}

Reals prior(const Case& c, const Numbers& x, size_t n) {
  Reals pi(x.k, 1);
  if (!c.mixture) return pi;
  Real sum = 0;
  for (size_t k = 0; k < x.k; ++k) {
    Real logit = 0;
    for (size_t i = 0; i < x.d; ++i) logit += x.h[n * x.d + i] * x.m[i * x.k + k];
    sum += pi[k] = std::exp(logit);
  }
  for (Real& p : pi) p /= sum;
  return pi;
}

Real variance(const Reals& x) {
  Real mean = 0, sum = 0;
  for (const Real v : x) mean += v / static_cast<Real>(x.size());
  for (const Real v : x) sum += (v - mean) * (v - mean) / static_cast<Real>(x.size());
  return sum;
}

Real target_weight(const Case& c, const Numbers& x, size_t n, size_t v) {
  const bool is_target = static_cast<int>(v) == x.targets[n];
  const Real words = static_cast<Real>(x.v);
  if (!c.others) return (is_target ? 1 - c.smoothing : 0) + c.smoothing / words;
  return is_target ? 1 - c.smoothing : c.smoothing / (words - 1);
}

Real penalties(const Case& c, const Numbers& x) {
  Real total = 0, counting = 0;
  Reals sums(x.k);
  for (size_t n = 0; n < x.n; ++n) counting += x.targets[n] >= 0;
  for (size_t n = 0; n < x.n; ++n) {
    if (x.targets[n] < 0) continue;
    const Reals pi = prior(c, x, n);
    if (c.prior_kind == "variance") total += c.prior_strength / counting * variance(pi);
    for (size_t k = 0; k < x.k; ++k) sums[k] += pi[k];
  }
  if (c.prior_kind == "cv2") {
    const Real mean = counting / static_cast<Real>(x.k);
    total += c.prior_strength * variance(sums) / (mean * mean);
  }
  Real square = 0;
  for (size_t r = 0; r < x.w.size() / x.d; ++r) {
    Real norm = 0;
    for (const Real e : row_of(x.w, r, x.d)) norm += e * e;
    square += (std::sqrt(norm) - c.norm) * (std::sqrt(norm) - c.norm);
  }
  if (c.norm_kind == "squared") total += c.norm_strength * square;
  if (c.norm_kind == "root") total += c.norm_strength * std::sqrt(square);
  return total;
}

Outputs oracle(const Case& c, const Numbers& x) {
  Outputs out;
  out.scores.resize(x.k * x.n * x.v);
  Real counting = 0;
  for (size_t n = 0; n < x.n; ++n) {
    const Reals pi = prior(c, x, n);
    out.pi.insert(out.pi.end(), pi.begin(), pi.end());
    Reals p(x.v);
    for (size_t k = 0; k < x.k; ++k) {
      const Reals h = context(c, x, n, k);
      Real sum = 0;
      Reals e(x.v);
      for (size_t v = 0; v < x.v; ++v) {
        const Real s =
            dense_score(c.components[k], row_of(x.w, (c.untied ? k * x.v : 0) + v, x.d), h) +
            (c.bias ? x.b[v] : 0);
        out.scores[(k * x.n + n) * x.v + v] = s;
        sum += e[v] = std::exp(s);
      }
      for (size_t v = 0; v < x.v; ++v) p[v] += pi[k] * e[v] / sum;
    }
    for (const Real q : p) out.log_probs.push_back(std::log(q));
    const bool counts = x.targets[n] >= 0;
    out.nll.push_back(counts ? -std::log(p[static_cast<size_t>(x.targets[n])]) : 0);
    if (!counts) continue;
    counting += 1;
    for (size_t v = 0; v < x.v; ++v) out.loss -= target_weight(c, x, n, v) * std::log(p[v]);
  }
  out.loss = out.loss / counting + penalties(c, x);
  return out;
}

std::vector<Real> oracle_gradient(const Case& c, Numbers x, std::vector<Real> Numbers::*field) {
  constexpr Real kStep = 1e-4L;
  std::vector<Real> g;
  for (size_t i = 0; i < (x.*field).size(); ++i) {
    const Real before = (x.*field)[i];
    const auto at = [&](Real steps) {
      (x.*field)[i] = before + steps * kStep;
      return oracle(c, x).loss;
    };
    g.push_back((8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * kStep));
    (x.*field)[i] = before;
  }
  return g;
}

Numbers random_numbers(const Case& c, size_t n, size_t v, size_t d) {
  std::mt19937 random(5);
  const size_t k = c.components.size();
  const auto fill = [&](size_t count, double scale) {
    std::vector<Real> x(count);
    for (Real& e : x)
      e = static_cast<Real>(scale * (static_cast<double>(random()) / 2147483648.0 - 1));
    return x;
  };
  Numbers x{n,
            v,
            d,
            k,
            fill(n * d, 0.9),
            fill((c.untied ? k : 1) * v * d, 0.8),
            fill(v, 0.5),
            fill(d * k, 1),
            fill(k * d * d, 0.7),
            {}};
  for (size_t i = 0; i < n; ++i) x.targets.push_back(static_cast<int>((3 * i + 1) % v));
  x.targets[1] = -1;  // a row of padding
  return x;
}

Json array_of(const Json& level, size_t from, size_t count) {
  Json out = Json::array();
  for (size_t i = 0; i < count; ++i) out.push_back(level[from + i]);
  return out;
}
Json shaped(const std::vector<Real>& x, std::vector<size_t> shape) {
  Json level = Json::array();
  for (const Real e : x) level.push_back(static_cast<double>(e));
  for (; shape.size() > 1; shape.pop_back()) {
    Json outer = Json::array();
    for (size_t i = 0; i < level.size(); i += shape.back())
      outer.push_back(array_of(level, i, shape.back()));
    level = outer;
  }
  return level;
}

Json input_of(const Case& c, const Numbers& x) {
  Json in{{"head", c.head}, {"options", c.options}, {"targets", x.targets}, {"check", "all"}};
  in["H"] = shaped(x.h, {x.n, x.d});
  in["W"] = c.untied ? shaped(x.w, {x.k, x.v, x.d}) : shaped(x.w, {x.v, x.d});
  if (c.bias) in["b"] = shaped(x.b, {x.v});
  if (c.mixture) in["M"] = shaped(x.m, {x.d, x.k});
  if (c.contexts) in["C"] = shaped(x.c, {x.k, x.d, x.d});
  return in;
}

void flat(const Json& value, std::vector<double>& out) {
  if (value.is_number()) return out.push_back(value.get<double>());
  for (const Json& part : value) flat(part, out);
}

double relative(const Json& a, const std::vector<Real>& b) {
  std::vector<double> x;
  flat(a, x);
  REQUIRE(x.size() == b.size());
  Real off = 0, size = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    off = std::max(off, std::abs(static_cast<Real>(x[i]) - b[i]));
    size = std::max(size, std::abs(b[i]));
  }
  return static_cast<double>(off == 0 ? 0 : off / size);
}

void check_case(const Case& c, double limit = 1e-12, double gradient_limit = 1e-9,
                const char* dtype = "float64") {
  CAPTURE(c.head);
  CAPTURE(c.options.dump());
  const Numbers x = random_numbers(c, 4, 7, 8);
  Json in = input_of(c, x);
  in["dtype"] = dtype;
  const Json out =
      Json::parse(app::inspect(app::read_inspect_input(Json::parse(in.dump()))).dump());
  const Outputs want = oracle(c, x);
  CHECK(relative(out["loss"], {want.loss}) < limit);
  CHECK(relative(out["nll"], want.nll) < limit);
  CHECK(relative(out["scores"], want.scores) < limit);
  CHECK(relative(out["log_probs"], want.log_probs) < limit);
  CHECK(relative(out["pi"], want.pi) < limit);
  CHECK(out["scores"].size() == (c.mixture ? x.k : x.n));
  CHECK(out["pi"][0].size() == x.k);
  CHECK(out["formulas"].size() == x.k);
  CHECK(relative(out["grad"]["H"], oracle_gradient(c, x, &Numbers::h)) < gradient_limit);
  CHECK(relative(out["grad"]["W"], oracle_gradient(c, x, &Numbers::w)) < gradient_limit);
  CHECK(out["grad"].contains("b") == c.bias);
  CHECK(out["grad"].contains("M") == c.mixture);
  CHECK(out["grad"].contains("C") == c.contexts);
  if (c.bias)
    CHECK(relative(out["grad"]["b"], oracle_gradient(c, x, &Numbers::b)) < gradient_limit);
  if (c.mixture && x.k > 1)
    CHECK(relative(out["grad"]["M"], oracle_gradient(c, x, &Numbers::m)) < gradient_limit);
  if (c.contexts)
    CHECK(relative(out["grad"]["C"], oracle_gradient(c, x, &Numbers::c)) < gradient_limit);
  CHECK(out["check"]["max_relative_error"].get<double>() < std::max(1e-6, gradient_limit));
}

Score plain() { return {ScoreKind::lin, {}}; }
Score log_of(double p) { return {ScoreKind::log, {p}}; }

// mixbig's nine, with their defaults.
std::vector<Score> nine_kernels() {
  return {plain(),
          log_of(2),
          {ScoreKind::pow, {2}},
          {ScoreKind::pol, {1, 1, 2}},
          {ScoreKind::rbf, {1}},
          {ScoreKind::ssg, {0, 1}},
          {ScoreKind::mog, {2, 0, 0, 1}},
          {ScoreKind::hpb, {0, -2}},
          {ScoreKind::wav, {1, 1}}};
}

Json small_input() {
  return Json::parse(
      R"({"head": "lin", "H": [[1, 2], [3, 4]], "W": [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]], "targets": [0, 2]})");
}
std::string refusal(const std::string& patch) {
  Json in = small_input();
  in.merge_patch(Json::parse(patch));
  return error_of([&] { app::inspect(app::read_inspect_input(in)); });
}

}  // namespace

TEST_CASE("kernel_inspect: every kernel and parameter") {
  for (const auto& [head, score] : std::vector<std::pair<std::string, Score>>{
           {"lin", plain()},
           {"log", log_of(2)},
           {"log:p=0.7", log_of(0.7)},
           {"pow", {ScoreKind::pow, {2}}},
           {"pow:p=1", {ScoreKind::pow, {1}}},
           {"pow:p=3", {ScoreKind::pow, {3}}},
           {"pol", {ScoreKind::pol, {1, 1, 2}}},
           {"pol:alpha=0.5:c=0.3:p=3", {ScoreKind::pol, {0.5, 0.3, 3}}},
           {"rbf:gamma=0.5", {ScoreKind::rbf, {0.5}}},
           {"ssg", {ScoreKind::ssg, {0, 1}}},
           {"ssg:variance=0.5", {ScoreKind::ssg, {0.5, 1}}},
           {"mog", {ScoreKind::mog, {2, 0, 0, 1}}},
           {"ssg:pace=0.2", {ScoreKind::ssg, {0, 0.2}}},
           {"mog:components=4:form=mixture", {ScoreKind::mog, {4, 1, 0, 1}}},
           {"mog:variance=0.3:form=mixture", {ScoreKind::mog, {2, 1, 0.3, 1}}},
           {"hpb", {ScoreKind::hpb, {0, -2}}},
           {"hpb:ball=tanh", {ScoreKind::hpb, {1, -2}}},
           {"hpb:ball=sigmoid:shift=0.5", {ScoreKind::hpb, {3, 0.5}}},
           {"wav:a=2:b=3", {ScoreKind::wav, {2, 3}}},
           {"sig", {ScoreKind::sig, {}}}}) {
    check_case({.head = head, .components = {score}});
    check_case({.head = head, .components = {score}}, 1e-4, 1e-4, "float32");
  }
  // On the ball's rim the oracle's own differences have fewer digits.
  check_case({.head = "hpb:ball=clip", .components = {{ScoreKind::hpb, {2, -2}}}}, 1e-11, 1e-6);
}

TEST_CASE("kernel_inspect: mixtures, tied and untied" * doctest::test_suite("check")) {
  check_case({.head = "mixbig", .components = nine_kernels(), .mixture = true, .contexts = true});
  check_case({.head = "mixbig",
              .components = nine_kernels(),
              .options = {{"untied", true}},
              .mixture = true,
              .contexts = true,
              .untied = true});
  check_case({.head = "mix:2*lin,log:p=1",
              .components = {plain(), plain(), log_of(1)},
              .options = {{"head_context", "none"}, {"head_bias", false}},
              .mixture = true,
              .bias = false});
  check_case({.head = "mix:lin", .components = {plain()}, .mixture = true, .contexts = true});
  check_case({.head = "mix:lin",
              .components = {plain()},
              .options = {{"untied", "true"}},
              .mixture = true,
              .contexts = true,
              .untied = true});
  check_case({.head = "rbf",
              .components = {{ScoreKind::rbf, {1}}},
              .options = {{"head_context", "tanh"}},
              .contexts = true});
  check_case({.head = "mix:ssg,hpb,hpb:ball=lorentz",
              .components = {{ScoreKind::ssg, {0.5, 1}},
                             {ScoreKind::hpb, {1, -2}},
                             {ScoreKind::hpb, {0, -2}}},
              .options = {{"variance", 0.5}, {"ball", "tanh"}},
              .mixture = true,
              .contexts = true});
}

TEST_CASE("kernel_inspect: label smoothing and regularisers" * doctest::test_suite("check")) {
  for (const bool others : {false, true}) {
    const Json options{{"label_smoothing", 0.2}, {"smoothing", others ? "others" : "uniform"}};
    check_case({.head = "lin",
                .components = {plain()},
                .options = options,
                .smoothing = 0.2L,
                .others = others});
    check_case({.head = "mog:form=mixture",
                .components = {{ScoreKind::mog, {2, 1, 0, 1}}},
                .options = options,
                .smoothing = 0.2L,
                .others = others});
    check_case({.head = "mixbig",
                .components = nine_kernels(),
                .options = options,
                .mixture = true,
                .contexts = true,
                .smoothing = 0.2L,
                .others = others});
  }
  for (const char* kind : {"variance", "cv2"})
    check_case({.head = "mix2",
                .components = {plain(), plain(), plain(), log_of(2)},
                .options = {{"pi_reg", std::string(kind) + ":0.5"}, {"label_smoothing", "0.1"}},
                .mixture = true,
                .contexts = true,
                .smoothing = 0.1L,
                .prior_kind = kind,
                .prior_strength = 0.5});
  for (const char* kind : {"squared", "root"})
    for (const bool untied : {false, true})
      check_case(
          {.head = "mix:lin,log",
           .components = {plain(), log_of(2)},
           .options = {{"weight_norm_reg", std::string(kind) + ":0.25,1.5"}, {"untied", untied}},
           .mixture = true,
           .contexts = true,
           .untied = untied,
           .norm_kind = kind,
           .norm_strength = 0.25,
           .norm = 1.5});
}

TEST_CASE("kernel_inspect: errors name the field") {
  const std::vector<std::vector<std::string>> wrong{
      {R"({"head": 3})", "head: must be a string"},
      {R"({"head": "rfb"})", "head: no kernel is called 'rfb'; did you mean rbf?"},
      {R"({"heads": 3})", "heads: no such field; did you mean head?"},
      {R"({"options": {"unteid": true}})",
       "options.unteid: no such field; did you mean options.untied?"},
      {R"({"options": {"untied": "yes"}})", "options.untied: must be true or false"},
      {R"({"options": {"margin": "lsm:2.5"}})", "options.margin"},
      {R"({"options": {"matmul_precision": "bf16"}})", "options.matmul_precision: "},
      {R"({"options": {"matmul_precision": "medium"}})",
       "options.matmul_precision: works with float32 only; add \"dtype\": \"float32\""},
      {R"({"head": "rbf", "options": {"margin": "cos:0.1"}})", "inner products"},
      {R"({"head": "pow:p=1e-300", "dtype": "float32"})",
       "head, options: p of pow, 1e-300, is too small for float32"},
      {R"({"dtype": "float32", "H": [[1e300, 1], [3, 4]]})", "H: 1e+300 is too large for float32"},
      {R"({"options": {"word_norm": "uniform"}})", "counts"},
      {R"({"options": {"label_smoothing": 2}})",
       "options.label_smoothing: must be a number from 0 to 1"},
      {R"({"options": {"smoothing": "some"}})", "options.smoothing"},
      {R"({"options": {"pi_reg": "varience:1"}})", "options.pi_reg"},
      {R"({"options": {"pi_reg": "cv2:1"}})", "options.pi_reg: has no effect here"},
      {R"({"options": {"variance": "split"}})", "options.variance: has no effect here"},
      {R"({"options": {"ball": "tanh"}})", "options.ball: has no effect here"},
      {R"({"options": {"smoothing": "others"}})", "options.smoothing: has no effect here"},
      {R"({"options": {"weight_norm_reg": "root"}})", "options.weight_norm_reg"},
      {R"({"options": {"variance": -1}})", "options.variance"},
      {R"({"options": {"ball": "cube"}})", "options.ball"},
      {R"({"options": {"head_context": "relu"}})", "options.head_context"},
      {R"({"options": {"head_bias": [1]}})",
       "options.head_bias: must be a string, a number or a boolean"},
      {R"({"dtype": "float16"})", "dtype: must be float64 or float32"},
      {R"({"device": "gpu"})", "device"},
      {R"({"check": "none"})", "check: must be \"all\""},
      {R"({"H": null})", "H: is missing"},
      {R"({"H": []})", "H (N x d): H: must be an array of arrays"},
      {R"({"H": [[1, 2], [3]]})", "H[1]: has 1 elements, but must have 2"},
      {R"({"H": [[1, "x"], [3, 4]]})", "H[0][1]: must be a number"},
      {R"({"W": [[1, 2, 3]]})", "W[0]: has 3 elements, but must have 2"},
      {R"({"W": [[[1, 2]]]})", "W[0]: has 1 elements"},
      {R"({"head": "mix:2*lin", "options": {"untied": true}})", "W (K x V x d, untied)"},
      {R"({"options": {"untied": true}})", "options.untied: has no effect here"},
      {R"({"b": [1, 2]})", "b (V): b: has 2 elements, but must have 3"},
      {R"({"M": [[1], [2]]})", "M: a single kernel has no prior"},
      {R"({"C": [[[1, 2], [3, 4]]]})", "C: head_context none uses no C"},
      {R"({"head": "mix:lin"})", "M: is missing; it must be d x K"},
      {R"({"head": "mix:lin", "M": [[1], [2]]})", "C: is missing; it must be K x d x d"},
      {R"({"targets": [0]})", "targets: has 1 elements, but must have 2"},
      {R"({"targets": [0, 3]})", "targets[1]: 3 must be a word from 0 to 2"},
      {R"({"targets": [0, 0.5]})", "targets[1]: 0.5"},
      {R"({"targets": [-1, -1]})", "targets: no row has a target"},
      {R"({"counts": [1, 2, -1]})", "counts: must not be below 0"},
      {R"({"counts": [1, 2, 1]})", "counts: has no effect here: it needs a word_norm"},
      {R"({"options": {"head_bias": true}})", "options.head_bias: has no effect here: it needs b"},
      {R"({"head": "mog:components=2"})", "head: mog:components=2"}};
  for (const auto& w : wrong) {
    CAPTURE(w[0]);
    const std::string message = refusal(w[0]);
    CHECK_MESSAGE(has(message, w[1]), message);
  }
  CHECK(has(refusal(R"({"head": "pol:p=900", "H": [[1e4, 2], [3, 4]]})"),
            "(pol) has scores without a finite normaliser"));
  CHECK(has(refusal(R"({"head": "rbf", "H": [[1, 2], [1e200, 4]]})"), "grad.H has nan at [1, 0]"));
  CHECK(has(refusal(R"({"b": [1e17, 1e17, 1e17]})"), "b: 3 words have a bias of 1e+17 or more"));
  CHECK(has(refusal(R"({"counts": [1e308, 1e308, 1], "options": {"word_norm": "unigram:1,2"}})"),
            "the counts of words add up to more than a double holds"));
  CHECK(refusal("{}").empty());
}

TEST_CASE("kernel_inspect: whatever is wrong with a field, the error begins with its name") {
  const std::map<std::string, std::vector<std::string>> wrong{
      {"head",
       {"3", "true", "[]", "{}", "\"\"", "\"rfb\"", "\"mix:\"", "\"mix:lin,\"", "\"0*lin\"",
        "\"pow:p=0\"", "\"pow:q=1\"", "\"rbf:gamma=-1\"", "\"pol:p=1.5\"", "\"wav:a=0\"",
        "\"hpb:ball=cube\"", "\"ssg:variance=0\"", "\"mog:components=3\"", "\"mog:form=max\"",
        "\"lin:p=1\""}},
      {"options", {"3", "[]", "\"untied\"", "true"}},
      {"dtype", {"3", "\"float16\"", "\"\"", "[]", "true"}},
      {"device", {"3", "\"gpu\"", "\"cpu:1\"", "[]"}},
      {"check", {"3", "\"none\"", "true", "[]"}},
      {"H",
       {"3", "\"x\"", "true", "{}", "[]", "[[]]", "[1, 2]", "[[1, 2], [3]]", "[[1, 2], [3, \"x\"]]",
        "[[1, 2], [3, [4]]]", "[[1, 2], [3, true]]"}},
      {"W",
       {"3", "\"x\"", "{}", "[]", "[[]]", "[1, 2]", "[[1, 2, 3]]", "[[[1, 2]]]",
        "[[1, 2], [3, false]]"}},
      {"b", {"3", "\"x\"", "{}", "[]", "[1, 2]", "[[1, 2, 3]]", "[1, 2, \"x\"]"}},
      {"M", {"3", "[]", "[[1], [2]]", "[[1, 2], [3, 4]]"}},
      {"C", {"3", "[]", "[[1, 2], [3, 4]]", "[[[1, 2], [3, 4]]]"}},
      {"targets",
       {"3", "\"x\"", "{}", "[]", "[0]", "[0, 3]", "[0, -2]", "[0, 0.5]", "[0, \"x\"]", "[[0, 1]]",
        "[0, 1e99]"}},
      {"counts", {"3", "[]", "[1, 2]", "[1, 2, -1]", "[1, 2, \"x\"]", "[[1, 2, 3]]"}}};
  for (const auto& [name, values] : wrong)
    for (const std::string& value : values) {
      const std::string& field = name;
      const std::string message = refusal("{\"" + field + "\": " + value + "}");
      CHECK_MESSAGE(message.starts_with(field), field, " = ", value, ": ", message);
    }
  const std::map<std::string, std::vector<std::string>> options{
      {"untied", {"3", "\"yes\"", "[]", "{}"}},
      {"head_bias", {"3", "\"yes\"", "[]", "{}"}},
      {"head_context", {"3", "\"relu\"", "[]", "true"}},
      {"label_smoothing", {"2", "-0.1", "\"x\"", "true", "[]", "\"0.1x\""}},
      {"smoothing", {"3", "\"some\"", "true", "[]"}},
      {"pi_reg",
       {"3", "\"variance\"", "\"variance:\"", "\"variance:x\"", "\"varience:1\"", "\"cv2:-1\"",
        "\"cv2:1\"", "true", "[]"}},
      {"weight_norm_reg",
       {"3", "\"root\"", "\"root:1\"", "\"root:1,x\"", "\"rot:1,1\"", "\"squared:-1,1\"", "true",
        "[]"}},
      {"variance", {"-1", "0", "\"x\"", "true", "[]"}},
      {"ball", {"3", "\"cube\"", "true", "[]"}},
      {"margin", {"\"lsm:0\"", "3", "[]"}},
      {"word_norm", {"\"const:0\"", "true"}},
      {"context_norm", {"\"max:1\"", "{}"}},
      {"heads", {"3"}}};
  for (const auto& [name, values] : options)
    for (const std::string& value : values) {
      const std::string& field = name;
      const std::string message = refusal("{\"options\": {\"" + field + "\": " + value + "}}");
      CHECK_MESSAGE(message.starts_with("options." + field), field, " = ", value, ": ", message);
    }
  // Of a mixture, tied and untied.
  const std::string mixture =
      R"("head": "mix:lin,rbf", "M": [[1, 2], [3, 4]], "C": [[[1, 2], [3, 4]], [[1, 2], [3, 4]]])";
  CHECK(refusal("{" + mixture + "}").empty());
  for (const auto& [name, json] : std::vector<std::pair<std::string, std::string>>{
           {"M", "[[1], [2]]"},
           {"M", "[[1, 2], [3, 4], [5, 6]]"},
           {"M", "[[[1, 2], [3, 4]]]"},
           {"M", "[[1, 2], [3, null]]"},
           {"C", "[[[1, 2], [3, 4]]]"},
           {"C", "[[1, 2], [3, 4]]"},
           {"C", "[[[1, 2], [3, 4]], [[1, 2], [3, \"x\"]]]"}}) {
    const std::string &field = name, &value = json;
    const std::string message = refusal("{" + mixture + ", \"" + field + "\": " + value + "}");
    CHECK_MESSAGE(message.starts_with(field), field, " = ", value, ": ", message);
  }
  const std::string untied = refusal(
      "{" + mixture + R"(, "options": {"untied": true}, "W": [[[1, 2]], [[3, 4], [5, 6]]]})");
  CHECK_MESSAGE(untied.starts_with("W"), untied);
}

TEST_CASE("kernel_inspect: a word that equals its context") {
  for (const KernelInfo& k : kernel_table()) {
    Json in = small_input();
    in["head"] = k.name;
    in["H"] = Json::parse("[[0.123, 0.456, -0.789, 1.01], [1e-3, 3.3, 0.7, -0.1]]");
    in["W"] =
        Json::parse("[[0.123, 0.456, -0.789, 1.01], [0.5, -0.2, 0.1, 0.3], [0.3, 0.9, -0.4, 0.2]]");
    in["targets"] = {0, 0};
    const Json out = Json::parse(app::inspect(app::read_inspect_input(in)).dump());
    CAPTURE(k.name);
    for (size_t n : {size_t{0}, size_t{1}})
      CHECK(out["log_probs"][n][0].get<double>() ==
            doctest::Approx(-out["nll"][n].get<double>()).epsilon(1e-13));
  }
}

TEST_CASE("kernel_inspect: a slope that is infinite times a gradient of 0") {
  Json in = small_input();
  in["H"] = Json::parse("[[1, 0]]");
  for (const char* patch :
       {R"({"head": "expr:{sqrt(abs(z))}", "W": [[0, 1]], "targets": [0]})",
        R"({"head": "expr:{-sqrt(abs(z))}", "W": [[0, 1], [1e8, 0]], "targets": [0]})"}) {
    in.merge_patch(Json::parse(patch));
    const Json out = Json::parse(app::inspect(app::read_inspect_input(in)).dump());
    CHECK_MESSAGE(out["grad"]["H"] == Json::parse("[[0.0, 0.0]]"), out["grad"]["H"].dump());
  }
}

TEST_CASE("kernel_inspect: gradients by small learned numbers are checked by small steps") {
  for (const char* head : {"rbf:gamma=learn:1e-4", "ssg:variance=learn:1e-4",
                           "lin:scale=learn:0.0001", "wav:b=learn:1e-4"}) {
    CAPTURE(head);
    Json in = small_input();
    in["head"] = head;
    if (std::string(head).starts_with("wav"))  // whose gradients vanish at larger distances
      in.merge_patch(Json::parse(
          R"({"H": [[0.1, 0.2]], "W": [[0.103, 0.2], [0.105, 0.201], [0.1, 0.21]], "targets": [0]})"));
    const Json out = Json::parse(app::inspect(app::read_inspect_input(in)).dump());
    CHECK(out["check"]["max_relative_error"].get<double>() < 1e-6);
    CHECK(!out["check"].contains("left_out"));
    CHECK(!out["check"].contains("unchecked"));
  }
}

TEST_CASE("kernel_inspect: the check of an input names the arrays whose gradients all vanish") {
  Json in = small_input();
  in["head"] = "rbf:gamma=1000";
  in["b"] = Json(std::vector<double>(in["W"].size(), 0.5));
  const Json out = Json::parse(app::inspect(app::read_inspect_input(in)).dump());
  CHECK(out["check"]["unchecked"] == Json({"H", "W"}));  // b has gradients
}

TEST_CASE("kernel_inspect: what the head refuses beside a number is left out of the check") {
  Json in = small_input();
  in.merge_patch(Json::parse(
      R"({"head": "expr:{c^p}:p=learn:2", "H": [[1, 2]], "W": [[-1, -3], [1, 0]], "targets": [0]})"));
  const Json out = Json::parse(app::inspect(app::read_inspect_input(in)).dump());
  // c = -7 / sqrt(50) and 1 / sqrt(5).
  CHECK(out["scores"][0][0].get<double>() == doctest::Approx(0.98).epsilon(1e-12));
  CHECK(out["scores"][0][1].get<double>() == doctest::Approx(0.2).epsilon(1e-12));
  CHECK(out["check"]["left_out"] == 1);  // p = 2.0001: a power of a negative number
  CHECK(out["check"]["max_relative_error"].get<double>() < 1e-6);
}

TEST_CASE("kernel_inspect: a vector whose square is no double is given a norm, too") {
  Json in = small_input();
  in.merge_patch(Json::parse(R"({"H": [[1e-170, 0]], "W": [[1, 0], [0, 1]], "targets": [0],
                                 "options": {"context_norm": "const:1"}})"));
  const Json out = Json::parse(app::inspect(app::read_inspect_input(in)).dump());
  CHECK(out["nll"][0].get<double>() == doctest::Approx(std::log1p(std::exp(-1.0))));
  CHECK(scores::scaled(1e42, 1e-42f) == doctest::Approx(1).epsilon(1e-3));
}

TEST_CASE("kernel_inspect: the program") {
  const TemporaryDirectory directory;
  std::ofstream(directory / "in.json") << small_input().dump();
  const Outcome done = run_program(
      "kernel_inspect", {"--input", directory / "in.json", "--output", directory / "out.json"});
  CHECK(done.code == 0);
  const Json out = Json::parse(slurp(directory / "out.json"));
  CHECK(out == Json::parse(app::inspect(app::read_inspect_input(small_input())).dump()));
  CHECK(out["pi"] == Json::parse("[[1.0], [1.0]]"));
  const Outcome table = run_program("kernel_inspect", {});
  CHECK(table.code == 0);
  for (const KernelInfo& k : kernel_table()) CHECK(has(table.out, std::string("\n") + k.name));
  CHECK(has(table.out, "mixbig"));
  const Outcome wrong = run_program("kernel_inspect", {"--input", "-"}, R"({"head": "lni"})");
  CHECK(wrong.code == 2);
  CHECK(has(wrong.err, "standard input: head: no kernel is called 'lni'; did you mean lin?"));
  CHECK(run_program("kernel_inspect", {"--input", "-"}, "{").code == 2);
  CHECK(has(run_program("kernel_inspect", {"--input", "-"},
                        R"({"head": "lin", "options": {"untied": true, "untied": false}})")
                .err,
            "standard input: \"untied\" is given twice"));
  CHECK(run_program("kernel_inspect", {"--input", directory / "none.json"}).code == 1);
}

}  // namespace nine::tests::test_kernel_inspect
