#include "apps/inspect/kernel_steps.h"

#include <cctype>
#include <cmath>

#include "apps/inspect/kernel_steps_parts.h"
#include "core/error.h"
#include "kernels/expression/formula.h"
#include "kernels/expression/parse.h"
#include "kernels/head.h"

namespace nine::app {
namespace {

using Doubles = std::vector<double>;

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '@' || c == '\'';
}

// A symbol with the subscripts of word (@) and component. A component's number comes first; word
// vectors are those of all components, and so is the context unless each has its own.
std::string symbol_of(const std::string& name, const Subscripts& names) {
  const std::string component = names.of_component();
  if (name == "h" || name == "dh") return name + (names.own_context ? component : "");
  if (name == "hh") return name + component;
  std::string out = name;
  const size_t at = out.find('@');
  if (at != std::string::npos)
    return out.replace(
        at, 1,
        out.starts_with("w@") || out.starts_with("dw@") ? names.word : component + names.word);
  if (out.ends_with("_h")) out.insert(out.size() - 2, component);
  return out;
}

// `text` with its symbols' subscripts and {k} replaced by parameter k's value.
std::string filled(const std::string& text, const Subscripts& names, const Score& score) {
  std::string out;
  for (size_t k = 0; k < text.size();) {
    if (is_name(text[k])) {
      size_t end = k;
      while (end < text.size() && is_name(text[end])) ++end;
      out += symbol_of(text.substr(k, end - k), names);
      k = end;
    } else if (text[k] == '{') {
      const double value = score.parameters[static_cast<size_t>(text[k + 1] - '0')];
      out += value < 0 ? concat('(', value, ')') : concat(value);
      k += 3;
    } else {
      out += text[k++];
    }
  }
  return out;
}

// In rules h and w are any context and word.
Steps all_filled(const Steps& steps, const Subscripts& names, const Score& score) {
  Steps out;
  for (const Step& s : steps)
    out.push_back({filled(s.symbol, names, score), filled(s.formula, names, score),
                   filled(s.rule, {.word = names.word}, score)});
  return out;
}

KernelSteps radial(Steps forward, Steps backward) {
  forward.insert(forward.begin(), kDistance);
  backward.push_back(kByWord);
  backward.push_back(kByContext);
  return {{}, std::move(forward), std::move(backward)};
}
KernelSteps product(Steps forward, Steps backward) {
  forward.insert(forward.begin(), kProduct);
  backward.push_back(kProductByWord);
  backward.push_back(kProductByContext);
  return {{}, std::move(forward), std::move(backward)};
}

// The formula's variables get the word's subscript, d its number.
std::string with_subscripts(const std::string& text, size_t size) {
  std::string out;
  for (size_t k = 0; k < text.size();) {
    size_t end = k;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
      ++end;
    if (end == k) {
      out += text[k++];
      continue;
    }
    const std::string name = text.substr(k, end - k);
    const bool own = name == "z" || name == "q" || name == "ww" || name == "c";
    out += own ? name + '@' : name == "d" ? std::to_string(size) : name;
    k = end;
  }
  return out;
}

KernelSteps formula_steps(const Score& score, size_t size) {
  using expression::Variable;
  const expression::Formula& f = *score.formula;
  const expression::Parsed typed = expression::parse(f.text());
  expression::Graph graph;
  const expression::Id root = expression::rebuild(
      typed.graph, typed.score, graph, std::span(score.parameters).first(typed.parameters.size()));
  const auto text = [&](expression::Id id) {
    return with_subscripts(to_text(graph, id, typed.parameters), size);
  };
  KernelSteps k;
  const bool c = f.uses(Variable::c), q = f.uses(Variable::q), ww = f.uses(Variable::ww),
             hh = f.uses(Variable::hh), z = f.uses(Variable::z);
  if (hh) k.context.push_back({"hh", "|h|^2", "the squared length"});
  if (z) k.forward.push_back(kProduct);
  if (q) k.forward.push_back(kDistance);
  if (ww) k.forward.push_back({"ww@", "|w@|^2", "the squared length"});
  if (c) k.forward.push_back({"c@", "w@.h/(|w@|*|h|)", "the cosine"});
  k.forward.push_back({"S@", text(root), "the formula, simplified, with the parameters' values"});
  std::string by_w, by_h, rule;
  const auto part = [&](Variable v, bool used, const std::string& to_w, const std::string& to_h,
                        const char* why) {
    if (!used) return;
    const std::string slope = concat("dS@/d", name_of(v));
    k.backward.push_back({slope, text(derivative(graph, root, graph.variable(v))),
                          concat("the derivation above, by ", name_of(v))});
    if (!to_w.empty()) by_w += concat(by_w.empty() ? "" : " + ", slope, to_w);
    if (!to_h.empty()) by_h += concat(by_h.empty() ? "" : " + ", slope, to_h);
    rule += concat(rule.empty() ? "chain rule: " : ", ", why);
  };
  part(Variable::z, z, "*h", "*w@", "z has h by w");
  part(Variable::q, q, "*2*(w@ - h)", "*2*(h - w@)", "q has 2 (w - h)");
  part(Variable::ww, ww, "*2*w@", "", "ww has 2 w");
  part(Variable::hh, hh, "", "*2*h", "hh has 2 h by h");
  part(Variable::c, c, "*(h/|h| - c@*w@/|w@|)/|w@|", "*(w@/|w@| - c@*h/|h|)/|h|",
       "c has (h/|h| - c w/|w|)/|w|");
  const std::string none = "0*h";
  k.backward.push_back({"dS@/dw@", by_w.empty() ? none : by_w, rule.empty() ? "constant" : rule});
  k.backward.push_back({"dS@/dh", by_h.empty() ? none : by_h, "the same with w and h changed"});
  return k;
}

KernelSteps templates(const Score& score, const Doubles& w, const Doubles& h) {
  switch (score.kind) {
    case ScoreKind::log:
      return radial(
          {{"t@", "q@^({0}/2)", "a power of the distance"}, {"S@", "-ln(1 + t@)", "the kernel"}},
          {{"dS@/dt", "-1/(1 + t@)", "chain rule: ln x has the slope 1/x"},
           {"dt@/dq", "({0}/2)*q@^({0}/2 - 1)", "power rule"},
           {"dS@/dq", "dS@/dt*dt@/dq", "chain rule"}});
    case ScoreKind::pow:
      return radial({{"S@", "-q@^({0}/2)", "the kernel"}},
                    {{"dS@/dq", "-({0}/2)*q@^({0}/2 - 1)", "power rule"}});
    case ScoreKind::pol:
      return product({{"y@", "{0}*z@ + {1}", "the base"}, {"S@", "y@^{2}", "the kernel"}},
                     {{"dS@/dy", "{2}*y@^({2} - 1)", "power rule"},
                      {"dS@/dz", "dS@/dy*{0}", "chain rule: y has the slope {0} by z"}});
    case ScoreKind::rbf:
      return radial({{"S@", "exp(-{0}*q@)", "the kernel"}},
                    {{"dS@/dq", "-{0}*S@", "chain rule: exp is its own slope, -{0} q has -{0}"}});
    case ScoreKind::wav:
      return radial({{"a@", "cos(q@/{0})", "the wave"},
                     {"b@", "exp(-q@/{1})", "its decay"},
                     {"S@", "a@*b@", "the kernel"}},
                    {{"da@/dq", "-sin(q@/{0})/{0}", "chain rule: cos has the slope -sin"},
                     {"db@/dq", "-b@/{1}", "chain rule: exp is its own slope"},
                     {"dS@/dq", "da@/dq*b@ + a@*db@/dq", "product rule"}});
    case ScoreKind::sig:
      return product(
          {{"g@", "1/(1 + exp(-z@))", "the sigmoid"}, {"S@", "z@ + ln(g@)", "the kernel"}},
          {{"dg@/dz", "g@*(1 - g@)", "chain rule: 1/x has -1/x^2, exp is its own slope"},
           {"dS@/dz", "1 + dg@/dz/g@", "sum rule, and chain rule: ln x has 1/x"}});
    case ScoreKind::ssg:
      return ssg_steps(score, w.size());
    case ScoreKind::mog:
      return mog_steps(score, w.size());
    case ScoreKind::hpb:
      return hyperbolic_steps(score, w, h);
    default:
      return product({{"S@", "z@", "the kernel"}}, {{"dS@/dz", "1", "S is z itself"}});
  }
}

// dS/d(parameter i), of a kernel without scale; null: it is not among these.
Step parameter_step(const Score& score, int i, size_t size) {
  const std::string symbol =
      concat("dS@/d", kernel_info(score).parameters[static_cast<size_t>(i)].name);
  switch (score.kind) {
    case ScoreKind::log:
      return {symbol, "dS@/dt*t@*ln(q@)/2",
              "chain rule: q^(p/2) has the slope q^(p/2) ln(q)/2 by p"};
    case ScoreKind::pow:
      return {symbol, "S@*ln(q@)/2", "q^(p/2) has the slope q^(p/2) ln(q)/2 by p"};
    case ScoreKind::pol:
      return {
          symbol, i == 0 ? "dS@/dy*z@" : "dS@/dy",
          i == 0 ? "chain rule: y has the slope z by alpha" : "chain rule: y has the slope 1 by c"};
    case ScoreKind::rbf:
      return {symbol, "-q@*S@", "chain rule: exp is its own slope, -gamma q has -q by gamma"};
    case ScoreKind::wav:
      return i == 0
                 ? Step{symbol, "sin(q@/{0})*q@/{0}^2*b@",
                        "chain rule: cos has -sin, q/a has -q/a^2 by a"}
                 : Step{symbol, "S@*q@/{1}^2", "chain rule: exp is its own slope, -q/b has q/b^2"};
    case ScoreKind::ssg:
      return {symbol, concat(size, "/2*(-1/{0}) + q@/(4*{0}^2)"),
              "sigma is twice the variance; ln x has the slope 1/x, 1/x has -1/x^2"};
    case ScoreKind::hpb:
      return {symbol, concat("dS@/dw@[", size, "] + dS@/dh[", size, "]"),
              "the shift is added to the last number of both vectors"};
    default:  // mog: the variance
      return {symbol,
              concat("sum(dS@/dxi*(q@/(4*{2}^2) - ",
                     size / static_cast<size_t>(score.parameters[0]), "/2/{2}))"),
              "chain rule, of each pair of parts: sigma is twice the variance"};
  }
}
Step formula_parameter_step(const Score& score, int i, size_t size) {
  const expression::Parsed typed = expression::parse(score.formula->text());
  expression::Graph symbolic, graph;
  const expression::Id root = expression::rebuild(typed.graph, typed.score, symbolic, {}),
                       slope = derivative(symbolic, root, symbolic.parameter(i)),
                       id = expression::rebuild(
                           symbolic, slope, graph,
                           std::span(score.parameters).first(typed.parameters.size()));
  const std::string& name = typed.parameters[static_cast<size_t>(i)];
  return {concat("dS@/d", name), with_subscripts(to_text(graph, id, typed.parameters), size),
          concat("the formula's derivative by ", name)};
}

// What is called S in the lines becomes K, and S is the scale times K.
void put_scale(const Score& score, KernelSteps& k) {
  const auto rename = [](std::string& text) {
    for (size_t at = 0; (at = text.find("S@", at)) != std::string::npos; ++at) {
      const bool starts =
          at == 0 || std::isalnum(static_cast<unsigned char>(text[at - 1])) == 0 ||
          (text[at - 1] == 'd' &&
           (at == 1 || std::isalnum(static_cast<unsigned char>(text[at - 2])) == 0));
      if (starts) text[at] = 'K';
    }
  };
  for (Steps* steps : {&k.forward, &k.backward})
    for (Step& s : *steps) rename(s.symbol), rename(s.formula);
  const std::string scale = concat(score.scale);
  k.forward.push_back({"S@", scale + "*K@", "the kernel times its scale"});
  Steps scaled;
  for (const Step& s : k.backward)
    if (s.symbol == "dK@/dw@" || s.symbol == "dK@/dh")
      scaled.push_back({"dS" + s.symbol.substr(2), scale + "*" + s.symbol, "constant factor"});
  k.backward.insert(k.backward.end(), scaled.begin(), scaled.end());
}

// The slopes by the score's learned numbers.
void add_number_steps(const Score& score, size_t size, KernelSteps& k) {
  const bool scaled = score.scale != 1 || score.learns(kScaleNumber);
  Steps numbers;
  for (int i = 0; i < kScaleNumber; ++i)
    if (score.learns(i))
      numbers.push_back(score.kind == ScoreKind::expr ? formula_parameter_step(score, i, size)
                                                      : parameter_step(score, i, size));
  k.backward.insert(k.backward.end(), numbers.begin(), numbers.end());
  if (!scaled) return;
  put_scale(score, k);
  for (const Step& s : numbers)
    k.backward.push_back(
        {s.symbol, concat(score.scale, "*dK", s.symbol.substr(2)), "constant factor"});
  if (score.learns(kScaleNumber))
    k.backward.push_back({"dS@/dscale", "K@", "S is linear in the scale"});
}

}  // namespace

std::string Subscripts::of_component() const {
  return component > 0 ? concat('_', component) : std::string();
}

KernelSteps kernel_steps(const Score& score, const Subscripts& names, const Doubles& w,
                         const Doubles& h) {
  KernelSteps k =
      score.kind == ScoreKind::expr ? formula_steps(score, w.size()) : templates(score, w, h);
  add_number_steps(score, w.size(), k);
  for (Steps* steps : {&k.context, &k.forward, &k.backward})
    *steps = all_filled(*steps, names, score);
  return k;
}

}  // namespace nine::app
