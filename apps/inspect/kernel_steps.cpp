#include "apps/inspect/kernel_steps.h"

#include <cctype>
#include <cmath>

#include "apps/inspect/score_at.h"
#include "core/error.h"
#include "kernels/expression/formula.h"
#include "kernels/expression/parse.h"
#include "kernels/head.h"
#include "kernels/scores/all.h"

namespace nine::app {
namespace {

using Doubles = std::vector<double>;
using Steps = std::vector<Step>;

// `text` with every @ replaced by the word's subscript and {k} by parameter k's value.
std::string filled(const std::string& text, const std::string& word, const Score& score) {
  std::string out;
  for (size_t k = 0; k < text.size(); ++k) {
    if (text[k] == '@') {
      out += word;
    } else if (text[k] == '{') {
      const double value = score.parameters[static_cast<size_t>(text[k + 1] - '0')];
      out += value < 0 ? concat('(', value, ')') : concat(value);
      k += 2;
    } else {
      out += text[k];
    }
  }
  return out;
}

Steps all_filled(const Steps& steps, const std::string& word, const Score& score) {
  Steps out;
  for (const Step& s : steps)
    out.push_back({filled(s.symbol, word, score), filled(s.formula, word, score),
                   filled(s.rule, word, score)});
  return out;
}

const char* const kSquares = "|w - h|^2 is a sum of squares: the chain rule, 2 (w - h) by w";
const Step kDistance = {"q@", "|w@ - h|^2", "the squared distance"};
const Step kByWord = {"dS@/dw@", "dS@/dq*2*(w@ - h)", kSquares};
const Step kByContext = {"dS@/dh", "-dS@/dw@", "w - h changes sign when w and h change places"};
const Step kProduct = {"z@", "w@.h", "the inner product"};
const Step kProductByWord = {"dS@/dw@", "dS@/dz*h", "chain rule: z = w.h has the slope h by w"};
const Step kProductByContext = {"dS@/dh", "dS@/dz*w@", "chain rule: and the slope w by h"};

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

KernelSteps ssg_steps(const Score& score, size_t size) {
  const bool split = score.parameters[0] == 0;
  const size_t d = split ? size - 1 : size;
  const std::string means = concat("[1..", d, "]"), last = concat("[", size, "]");
  KernelSteps k;
  if (!split) {
    k.forward = {kDistance,
                 {"sigma@", "{0} + {0}", "both variances are the constant"},
                 {"S@", concat("-(", d, "/2)*ln(2*pi*sigma@) - q@/(2*sigma@)"), "the kernel"}};
    k.backward = {
        {"dS@/dq", "-1/(2*sigma@)", "S is linear in q; sigma is constant"}, kByWord, kByContext};
    return k;
  }
  k.context = {{"m_h", "h" + means, "the mean"},
               {"s_h", "exp(h" + last + ") + 0.000001", "the variance from the last number"}};
  k.forward = {{"m@", "w@" + means, "the mean"},
               {"s@", "exp(w@" + last + ") + 0.000001", "the variance from the last number"},
               {"q@", "|m@ - m_h|^2", "the squared distance of the means"},
               {"sigma@", "s@ + s_h", "variances add"},
               {"S@", concat("-(", d, "/2)*ln(2*pi*sigma@) - q@/(2*sigma@)"), "the kernel"}};
  k.backward = {
      {"dS@/dq", "-1/(2*sigma@)", "S is linear in q"},
      {"dS@/dsigma", concat("-", d, "/(2*sigma@) + q@/(2*sigma@^2)"),
       "sum rule: ln x has the slope 1/x, 1/x has -1/x^2"},
      {"dS@/dm", "dS@/dq*2*(m@ - m_h)", "chain rule: |m - m_h|^2 has 2 (m - m_h)"},
      {"dS@/dl", "dS@/dsigma*exp(w@" + last + ")", "chain rule: sigma = s + s_h, s has e^l by l"},
      {"dS@/dw@", "[dS@/dm, dS@/dl]", "w is its mean and l, its last number"},
      {"dS@/dl_h", "dS@/dsigma*exp(h" + last + ")", "the same for the context's last number"},
      {"dS@/dh", "[-dS@/dm, dS@/dl_h]", "m - m_h changes sign when they change places"}};
  return k;
}

// The parts of both vectors as lists, and sums over the pairs that one part is in.
class MogSteps {
 public:
  MogSteps(const Score& score, size_t size)
      : parts_(static_cast<size_t>(score.parameters[0])),
        size_(size / parts_),
        mixture_(score.parameters[1] == 1),
        split_(score.parameters[2] == 0),
        means_(split_ ? size_ - 1 : size_) {}

  KernelSteps steps() const {
    KernelSteps k;
    if (split_) {
      k.context.push_back({"s_h", variances("h"), "a variance from each part's last number"});
      k.forward.push_back({"s@", variances("w@"), "a variance from each part's last number"});
    }
    const std::string half = concat(means_, "/2");
    k.forward.insert(
        k.forward.end(),
        {{"q@",
          pairs([&](size_t i, size_t j) { return concat("|w@", mean(i), " - h", mean(j), "|^2"); }),
          "each mean of w with each of h"},
         {"sigma@", pairs([&](size_t i, size_t j) {
            return split_ ? concat("s@[", i + 1, "] + s_h[", j + 1, "]") : std::string("{2} + {2}");
          }),
          "variances add"},
         {"xi@", concat("-(", half, ")*ln(2*pi*sigma@) - q@/(2*sigma@)"), "ssg of each pair"},
         mixture_ ? Step{"S@", concat("ln(sum(exp(xi@))/", parts_ * parts_, ")"), "form=mixture"}
                  : Step{"S@", "sum(xi@)", "form=sum"}});
    const std::string ones = pairs([](size_t, size_t) { return std::string("1"); });
    k.backward = {mixture_ ? Step{"dS@/dxi", "exp(xi@)/sum(exp(xi@))",
                                  "chain rule: ln x has the slope 1/x, exp is its own"}
                           : Step{"dS@/dxi", ones, "sum rule"},
                  {"dS@/dq", "-dS@/dxi/(2*sigma@)", "chain rule: xi is linear in q"}};
    if (split_)
      k.backward.push_back({"dS@/dsigma",
                            concat("dS@/dxi*(q@/(2*sigma@^2) - ", means_, "/(2*sigma@))"),
                            "chain rule: ln x has the slope 1/x, 1/x has -1/x^2"});
    gradient(k, "w@", "w", true);
    gradient(k, "h", "h", false);
    return k;
  }

 private:
  std::string mean(size_t i) const {
    return concat("[", i * size_ + 1, "..", i * size_ + means_, "]");
  }
  std::string last(size_t i) const { return concat("[", (i + 1) * size_, "]"); }
  std::string variances(const std::string& of) const {
    std::string all;
    for (size_t i = 0; i < parts_; ++i) all += concat(i > 0 ? ", " : "", of, last(i));
    return "exp([" + all + "]) + 0.000001";
  }
  template <class F>
  std::string pairs(F&& f) const {
    std::string all;
    for (size_t i = 0; i < parts_; ++i)
      for (size_t j = 0; j < parts_; ++j) all += (i + j > 0 ? ", " : "") + f(i, j);
    return "[" + all + "]";
  }
  // The sum over the pairs of part i, of w (rows) or of h (columns).
  template <class F>
  std::string over(bool of_w, F&& f) const {
    std::string all;
    for (size_t j = 0; j < parts_; ++j) all += (j > 0 ? " + " : "") + f(j);
    return of_w || parts_ > 0 ? all : "";
  }
  void gradient(KernelSteps& k, const std::string& own, const std::string& name, bool of_w) const {
    const std::string other = of_w ? "h" : "w@";
    std::string joined;
    for (size_t i = 0; i < parts_; ++i) {
      const auto pair = [&](size_t j) { return of_w ? i * parts_ + j + 1 : j * parts_ + i + 1; };
      const std::string by_mean = concat("dS@/dm", i + 1, "_", name),
                        by_last = concat("dS@/dl", i + 1, "_", name);
      k.backward.push_back({by_mean,
                            "2*(" +
                                over(of_w,
                                     [&](size_t j) {
                                       return concat("dS@/dq[", pair(j), "]*(", own, mean(i), " - ",
                                                     other, mean(j), ")");
                                     }) +
                                ")",
                            concat("chain rule and sum rule, over the pairs of mean ", i + 1)});
      joined += (i > 0 ? ", " : "") + by_mean;
      if (!split_) continue;
      k.backward.push_back(
          {by_last,
           concat("exp(", own, last(i), ")*(") +
               over(of_w, [&](size_t j) { return concat("dS@/dsigma[", pair(j), "]"); }) + ")",
           "chain rule: s has the slope e^l by l"});
      joined += ", " + by_last;
    }
    k.backward.push_back({of_w ? "dS@/dw@" : "dS@/dh", "[" + joined + "]", "the parts in order"});
  }

  size_t parts_, size_;
  bool mixture_, split_;
  size_t means_;
};

KernelSteps lorentz_steps() {
  return {{{"c_h", "sqrt(1 + |h|^2)", "the context's height on the hyperboloid"}},
          {{"c@", "sqrt(1 + |w@|^2)", "the word's height on the hyperboloid"},
           kProduct,
           {"A@", "c@*c_h - z@", "the hyperbolic cosine of the distance, 1 + u"},
           {"S@", "-arcosh(A@)", "minus the distance"}},
          {{"dS@/dA", "-1/sqrt(A@^2 - 1)", "arcosh x has the slope 1/sqrt(x^2 - 1)"},
           {"dc@/dw", "w@/c@", "chain rule: sqrt x has 1/(2 sqrt x), |w|^2 has 2w"},
           {"dS@/dw@", "dS@/dA*(c_h*dc@/dw - h)", "chain rule: z = w.h has the slope h by w"},
           {"dc_h/dh", "h/c_h", "as for c of the word"},
           {"dS@/dh", "dS@/dA*(c@*dc_h/dh - w@)", "chain rule: z has the slope w by h"}}};
}

// The three other balls: from lengths r to radii rho, and the angle's cosine k.
class BallSteps {
 public:
  BallSteps(const Score& score, size_t size)
      : ball_(static_cast<scores::Hpb::Ball>(static_cast<int>(score.parameters[0]))), size_(size) {}

  KernelSteps steps(const Doubles& w, const Doubles& h) const {
    KernelSteps k{point("h", "_h", h), point("w@", "@", w), {}};
    k.forward.insert(k.forward.end(), {{"k@", "u@.u_h", "the cosine of the angle"},
                                       {"A@", "cosh(rho@)*cosh(rho_h) - sinh(rho@)*sinh(rho_h)*k@",
                                        "the hyperbolic law of cosines: A = 1 + u"},
                                       {"S@", "-arcosh(A@)", "minus the distance"}});
    k.backward = {
        {"dS@/dA", "-1/sqrt(A@^2 - 1)", "arcosh x has the slope 1/sqrt(x^2 - 1)"},
        {"dA@/drho", "sinh(rho@)*cosh(rho_h) - cosh(rho@)*sinh(rho_h)*k@",
         "sinh and cosh are each other's slopes"},
        {"dA@/drho_h", "cosh(rho@)*sinh(rho_h) - sinh(rho@)*cosh(rho_h)*k@", "the same by rho_h"},
        {"dA@/dk", "-sinh(rho@)*sinh(rho_h)", "A is linear in k"},
        {"dk@/dw", "(u_h - k@*u@)/r@",
         "quotient rule: u = w/|w| turns, the part along u is taken off"}};
    side(k, "w@", "@", "dw", w, "dA@/drho");
    k.backward.push_back({"dk@/dh", "(u@ - k@*u_h)/r_h", "the same for the context's direction"});
    side(k, "h", "_h", "dh", h, "dA@/drho_h");
    return k;
  }

 private:
  using Ball = scores::Hpb::Ball;
  static constexpr double kRim = 1 - 1e-5;
  bool beyond(const Doubles& x) const {
    double square = 0;
    for (const double v : x) square += v * v;
    return ball_ == Ball::clip && square > kRim * kRim;
  }
  Steps point(const std::string& x, const std::string& sub, const Doubles& at) const {
    Steps s;
    if (ball_ == Ball::sigmoid) {
      s.push_back({"m" + sub, concat(x, "[1..", size_ - 1, "]"), "all numbers but the last"});
      s.push_back({"r" + sub, "|m" + sub + "|", "the length"});
      s.push_back({"u" + sub, "m" + sub + "/r" + sub, "the direction"});
      s.push_back({"rho" + sub, concat("ln(1 + 2*exp(", x, "[", size_, "] + {1}))"),
                   "ball=sigmoid: the radius from the last number"});
      return s;
    }
    s.push_back({"r" + sub, "|" + x + "|", "the length"});
    s.push_back({"u" + sub, x + "/r" + sub, "the direction"});
    if (ball_ == Ball::tanh)
      s.push_back({"rho" + sub, "2*r" + sub, "ball=tanh: twice the length"});
    else
      s.push_back({"rho" + sub, beyond(at) ? "2*artanh(0.99999)" : "2*artanh(r" + sub + ")",
                   beyond(at) ? "ball=clip: held at the rim" : "ball=clip: inside the ball"});
    return s;
  }
  // The lines of dS/dx of one of both vectors.
  void side(KernelSteps& k, const std::string& x, const std::string& sub, const std::string& d,
            const Doubles& at, const std::string& by_rho) const {
    const std::string whole = d == "dw" ? "dS@/dw@" : "dS@/dh";
    if (ball_ == Ball::sigmoid) {
      const std::string grown = concat("2*exp(", x, "[", size_, "] + {1})"),
                        slope = concat("drho", sub, "/dt");
      k.backward.push_back({slope, concat(grown, "/(1 + ", grown, ")"),
                            "chain rule: ln x has the slope 1/x, exp is its own"});
      k.backward.push_back({whole,
                            concat("[dS@/dA*dA@/dk*dk@/", d, ", dS@/dA*", by_rho, "*", slope, "]"),
                            "chain rule, of the direction and of the last number"});
      return;
    }
    const std::string slope = concat("drho", sub, "/dr");
    if (ball_ == Ball::tanh)
      k.backward.push_back({slope, "2", "rho is linear in r"});
    else
      k.backward.push_back(
          {slope, beyond(at) ? "0" : concat("2/(1 - r", sub, "^2)"),
           beyond(at) ? "at the rim rho is constant" : "artanh x has the slope 1/(1 - x^2)"});
    k.backward.push_back(
        {whole, concat("dS@/dA*(", by_rho, "*", slope, "*u", sub, " + dA@/dk*dk@/", d, ")"),
         "chain rule: |x| has the slope x/|x| = u; product rule"});
  }

  Ball ball_;
  size_t size_;
};

// The formula's variables get the word's subscript, d its number.
std::string with_subscripts(const std::string& text, const std::string& word, size_t size) {
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
    out += own ? name + word : name == "d" ? std::to_string(size) : name;
    k = end;
  }
  return out;
}

KernelSteps formula_steps(const Score& score, const std::string& word, size_t size) {
  using expression::Variable;
  const expression::Formula& f = *score.formula;
  const expression::Parsed typed = expression::parse(f.text());
  expression::Graph graph;
  const expression::Id root = expression::rebuild(
      typed.graph, typed.score, graph, std::span(score.parameters).first(typed.parameters.size()));
  const auto text = [&](expression::Id id) {
    return with_subscripts(to_text(graph, id, typed.parameters), word, size);
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
      return MogSteps(score, w.size()).steps();
    case ScoreKind::hpb:
      return score.parameters[0] == 0 ? lorentz_steps() : BallSteps(score, w.size()).steps(w, h);
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
Step formula_parameter_step(const Score& score, int i, const std::string& word, size_t size) {
  const expression::Parsed typed = expression::parse(score.formula->text());
  expression::Graph symbolic, graph;
  const expression::Id root = expression::rebuild(typed.graph, typed.score, symbolic, {}),
                       slope = derivative(symbolic, root, symbolic.parameter(i)),
                       id = expression::rebuild(
                           symbolic, slope, graph,
                           std::span(score.parameters).first(typed.parameters.size()));
  const std::string& name = typed.parameters[static_cast<size_t>(i)];
  return {concat("dS@/d", name), with_subscripts(to_text(graph, id, typed.parameters), word, size),
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
void add_number_steps(const Score& score, const std::string& word, size_t size, KernelSteps& k) {
  const bool scaled = score.scale != 1 || score.learns(kScaleNumber);
  Steps numbers;
  for (int i = 0; i < kScaleNumber; ++i)
    if (score.learns(i))
      numbers.push_back(score.kind == ScoreKind::expr ? formula_parameter_step(score, i, word, size)
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

KernelSteps kernel_steps(const Score& score, const std::string& word, const Doubles& w,
                         const Doubles& h) {
  KernelSteps k =
      score.kind == ScoreKind::expr ? formula_steps(score, word, w.size()) : templates(score, w, h);
  add_number_steps(score, word, w.size(), k);
  for (Steps* steps : {&k.context, &k.forward, &k.backward})
    *steps = all_filled(*steps, word, score);
  return k;
}

}  // namespace nine::app
