// The lines of hpb: distances in hyperbolic space.
#include "apps/inspect/kernel_steps_parts.h"
#include "core/error.h"
#include "kernels/scores/all.h"

namespace nine::app {
namespace {

using Doubles = std::vector<double>;

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

}  // namespace

KernelSteps hyperbolic_steps(const Score& score, const Doubles& w, const Doubles& h) {
  return score.parameters[0] == 0 ? lorentz_steps() : BallSteps(score, w.size()).steps(w, h);
}

}  // namespace nine::app
