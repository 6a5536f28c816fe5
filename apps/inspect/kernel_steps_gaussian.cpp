// The lines of ssg and mog.
#include "apps/inspect/kernel_steps_parts.h"
#include "core/error.h"

namespace nine::app {
namespace {

// A log-variance of a last number is the number itself, or so many times it; "{1}" is the value of
// parameter 1.
std::string factor(double pace, int parameter) {
  return pace == 1 ? "" : concat("{", parameter, "}*");
}

}  // namespace

KernelSteps ssg_steps(const Score& score, size_t size) {
  const bool split = score.parameters[0] == 0;
  const size_t d = split ? size - 1 : size;
  const std::string means = concat("[1..", d, "]"), last = concat("[", size, "]"),
                    pace = factor(score.parameters[1], 1);
  KernelSteps k;
  if (!split) {
    k.forward = {kDistance,
                 {"sigma@", "{0} + {0}", "both variances are the constant"},
                 {"S@", concat("-(", d, "/2)*ln(2*pi*sigma@) - q@/(2*sigma@)"), "the kernel"}};
    k.backward = {
        {"dS@/dq", "-1/(2*sigma@)", "S is linear in q; sigma is constant"}, kByWord, kByContext};
    return k;
  }
  k.context = {
      {"m_h", "h" + means, "the mean"},
      {"s_h", "exp(" + pace + "h" + last + ") + 0.000001", "the variance from the last number"}};
  k.forward = {
      {"m@", "w@" + means, "the mean"},
      {"s@", "exp(" + pace + "w@" + last + ") + 0.000001", "the variance from the last number"},
      {"q@", "|m@ - m_h|^2", "the squared distance of the means"},
      {"sigma@", "s@ + s_h", "variances add"},
      {"S@", concat("-(", d, "/2)*ln(2*pi*sigma@) - q@/(2*sigma@)"), "the kernel"}};
  k.backward = {{"dS@/dq", "-1/(2*sigma@)", "S is linear in q"},
                {"dS@/dsigma", concat("-", d, "/(2*sigma@) + q@/(2*sigma@^2)"),
                 "sum rule: ln x has the slope 1/x, 1/x has -1/x^2"},
                {"dS@/dm", "dS@/dq*2*(m@ - m_h)", "chain rule: |m - m_h|^2 has 2 (m - m_h)"},
                {"dS@/dl", "dS@/dsigma*" + pace + "exp(" + pace + "w@" + last + ")",
                 "chain rule: sigma = s + s_h, s has e^l by l"},
                {"dS@/dw@", "[dS@/dm, dS@/dl]", "w is its mean and l, its last number"},
                {"dS@/dl_h", "dS@/dsigma*" + pace + "exp(" + pace + "h" + last + ")",
                 "the same for the context's last number"},
                {"dS@/dh", "[-dS@/dm, dS@/dl_h]", "m - m_h changes sign when they change places"}};
  return k;
}

namespace {

// The parts of both vectors as lists, and sums over the pairs that one part is in.
class MogSteps {
 public:
  MogSteps(const Score& score, size_t size)
      : parts_(static_cast<size_t>(score.parameters[0])),
        size_(size / parts_),
        mixture_(score.parameters[1] == 1),
        split_(score.parameters[2] == 0),
        pace_(factor(score.parameters[3], 3)),
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
    return "exp(" + pace_ + "[" + all + "]) + 0.000001";
  }
  template <class F>
  std::string pairs(F&& f) const {
    std::string all;
    for (size_t i = 0; i < parts_; ++i)
      for (size_t j = 0; j < parts_; ++j) all += (i + j > 0 ? ", " : "") + f(i, j);
    return "[" + all + "]";
  }
  // A sum over the other vector's parts.
  template <class F>
  std::string over(F&& f) const {
    std::string all;
    for (size_t j = 0; j < parts_; ++j) all += (j > 0 ? " + " : "") + f(j);
    return all;
  }
  void gradient(KernelSteps& k, const std::string& own, const std::string& name, bool of_w) const {
    const std::string other = of_w ? "h" : "w@";
    std::string joined;
    for (size_t i = 0; i < parts_; ++i) {
      const auto pair = [&](size_t j) { return of_w ? i * parts_ + j + 1 : j * parts_ + i + 1; };
      const std::string by_mean = concat("dS@/dm", i + 1, "_", name),
                        by_last = concat("dS@/dl", i + 1, "_", name);
      k.backward.push_back({by_mean, "2*(" + over([&](size_t j) {
                                       return concat("dS@/dq[", pair(j), "]*(", own, mean(i), " - ",
                                                     other, mean(j), ")");
                                     }) + ")",
                            concat("chain rule and sum rule, over the pairs of mean ", i + 1)});
      joined += (i > 0 ? ", " : "") + by_mean;
      if (!split_) continue;
      k.backward.push_back({by_last,
                            concat(pace_, "exp(", pace_, own, last(i), ")*(") + over([&](size_t j) {
                              return concat("dS@/dsigma[", pair(j), "]");
                            }) + ")",
                            "chain rule: s has the slope e^l by l"});
      joined += ", " + by_last;
    }
    k.backward.push_back({of_w ? "dS@/dw@" : "dS@/dh", "[" + joined + "]", "the parts in order"});
  }

  size_t parts_, size_;
  bool mixture_, split_;
  std::string pace_;
  size_t means_;
};

}  // namespace

KernelSteps mog_steps(const Score& score, size_t size) { return MogSteps(score, size).steps(); }

}  // namespace nine::app
