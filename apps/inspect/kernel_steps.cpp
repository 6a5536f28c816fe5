#include "apps/inspect/kernel_steps.h"

#include <algorithm>
#include <cctype>
#include <functional>

#include "core/error.h"
#include "kernels/expression/kernel_lines.h"
#include "kernels/settings/head.h"

namespace nine::app {
namespace {

using expression::KernelLines;
using Steps = std::vector<Step>;

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '@' || c == '\'';
}

// `text` with each of its words replaced.
std::string with_words(const std::string& text,
                       const std::function<std::string(const std::string&)>& replaced) {
  std::string out;
  for (size_t k = 0; k < text.size();) {
    size_t end = k;
    while (end < text.size() && is_word(text[end])) ++end;
    out += end == k ? std::string(1, text[k]) : replaced(text.substr(k, end - k));
    k = std::max(end, k + 1);
  }
  return out;
}

// In the steps below @ is the word's subscript. This puts it in, and that of the component: its
// number comes first; word vectors are those of all components, and so is the context unless each
// has its own.
std::string symbol_of(const std::string& name, const Subscripts& names) {
  const std::string component = names.of_component();
  if (name == "h" || name == "dh") return name + (names.own_context ? component : "");
  if (name == "hh" || name == "dhh") return name + component;
  std::string out = name;
  const size_t at = out.find('@');
  if (at != std::string::npos)
    return out.replace(
        at, 1,
        out.starts_with("w@") || out.starts_with("dw@") ? names.word : component + names.word);
  if (out.ends_with("_h")) out.insert(out.size() - 2, component);
  return out;
}

class Builder {
 public:
  Builder(const Score& score, size_t size)
      : score_(score),
        lines_(kernel_expression(score), kernel_info(score).parameters),
        parts_(static_cast<size_t>(lines_.expression().parts)),
        size_(size / parts_),
        extra_(!lines_.expression().extra.empty()),
        scaled_(score.scale != 1 || score.learns(kScaleNumber)),
        own_(scaled_ ? "K" : "S"),
        values_(score.parameters.begin(),
                score.parameters.begin() + std::ssize(kernel_info(score).parameters)) {}

  KernelSteps steps() {
    inputs();
    for (const KernelLines::Line& line : lines_.forward(values_))
      (line.symbol.ends_with("_h") ? all_.context : all_.forward).push_back(named(line));
    if (parts_ > 1) join_parts();
    for (const KernelLines::Line& line : lines_.backward(values_))
      all_.backward.push_back(named(line));
    gradient(true);
    gradient(false);
    for (int i = 0; i < std::ssize(values_); ++i)
      if (score_.learns(i)) by_number(i);
    if (scaled_) put_scale();
    return std::move(all_);
  }

 private:
  bool is_line(const std::string& name) const {
    const auto& lines = lines_.expression().lines;
    return std::any_of(lines.begin(), lines.end(),
                       [&](const ExpressionLine& l) { return l.name == name; });
  }
  // A word of KernelLines' formulas as a symbol of the steps: t is t@, e_w is e@, lh is l_h.
  std::string symbol(const std::string& word) const {
    if (word == "d") return std::to_string(size_ - (extra_ ? 1 : 0));
    if (word == "S" || word == "dS") return (word == "S" ? "" : "d") + own_ + "@";
    if (word == "lh") return "l_h";
    const bool variable = word == "z" || word == "q" || word == "ww" || word == "c";
    if (word == "lw" || variable || is_line(word)) return of_word(word, "@");
    // What a slope is by has no subscript: dS@/dt.
    const std::string by = word.substr(std::min<size_t>(1, word.size()));
    if (word[0] != 'd' || !(is_line(by) || by == "lw" || by == "lh")) return word;
    return by == "lh" ? "dl_h" : "d" + of_word(by, "");
  }
  static std::string of_word(const std::string& name, const std::string& subscript) {
    if (name.ends_with("_h")) return name;
    if (name == "lw") return "l" + subscript;
    return (name.ends_with("_w") ? name.substr(0, name.size() - 2) : name) + subscript;
  }
  std::string named(const std::string& text) const {
    return with_words(text, [this](const std::string& word) { return symbol(word); });
  }
  Step named(const KernelLines::Line& line) const {
    return {named(line.symbol), named(line.formula), line.rule};
  }

  // f of every pair of parts; a list, unless there is one.
  template <class F>
  std::string pairs(F&& f) const {
    if (parts_ == 1) return f(0, 0);
    std::string all;
    for (size_t i = 0; i < parts_; ++i)
      for (size_t j = 0; j < parts_; ++j) all += (i + j > 0 ? ", " : "") + f(i, j);
    return "[" + all + "]";
  }
  // The coordinates of part i of w@ or h.
  std::string coordinates(const std::string& x, size_t i) const {
    if (parts_ == 1) return !extra_ ? x : x == "h" ? "m_h" : "m@";
    return concat(x, "[", i * size_ + 1, "..", (i + 1) * size_ - (extra_ ? 1 : 0), "]");
  }
  std::string last(const std::string& x, size_t i) const {
    return concat(x, "[", (i + 1) * size_, "]");
  }

  void inputs() {
    const auto w = [this](size_t i) { return coordinates("w@", i); };
    const auto h = [this](size_t j) { return coordinates("h", j); };
    const std::string what = "the last number: " + lines_.expression().extra;
    if (extra_ && parts_ == 1) {
      const std::string all = concat("[1..", size_ - 1, "]"), why = "all numbers but the last";
      all_.context.push_back({"m_h", "h" + all, why});
      all_.forward.push_back({"m@", "w@" + all, why});
    }
    if (lines_.uses("lh"))
      all_.context.push_back({"l_h", pairs([&](size_t, size_t j) { return last("h", j); }), what});
    if (lines_.uses("lw"))
      all_.forward.push_back({"l@", pairs([&](size_t i, size_t) { return last("w@", i); }), what});
    if (lines_.uses("hh"))
      all_.context.push_back({"hh",
                              pairs([&](size_t, size_t j) { return concat("|", h(j), "|^2"); }),
                              "the squared length"});
    if (lines_.uses("z"))
      all_.forward.push_back({"z@", pairs([&](size_t i, size_t j) { return w(i) + "." + h(j); }),
                              "the inner product"});
    if (lines_.uses("q"))
      all_.forward.push_back(
          {"q@", pairs([&](size_t i, size_t j) { return concat("|", w(i), " - ", h(j), "|^2"); }),
           "the squared distance"});
    if (lines_.uses("ww"))
      all_.forward.push_back({"ww@",
                              pairs([&](size_t i, size_t) { return concat("|", w(i), "|^2"); }),
                              "the squared length"});
    if (lines_.uses("c"))
      all_.forward.push_back({"c@", pairs([&](size_t i, size_t j) {
                                return concat(w(i), ".", h(j), "/(|", w(i), "|*|", h(j), "|)");
                              }),
                              "the cosine of the angle"});
  }

  void join_parts() {
    all_.forward.push_back(named(lines_.joined()));
    KernelLines::Line slope = lines_.joined_slope();
    if (slope.formula.find("xi") == std::string::npos)
      slope.formula = pairs([&](size_t, size_t) { return slope.formula; });
    all_.backward.push_back(named(slope));
  }

  // The gradient by w or by h, from the slopes by what depends on it.
  void gradient(bool of_w) {
    const std::string own = own_ + "@";
    struct Source {
      const char* variable;
      std::function<std::string(const std::string&, const std::string&)> slope;
      const char* why;
    };
    const std::string length = of_w ? "ww" : "hh";
    const Source sources[] = {
        {"z", [](auto&, auto& y) { return "*" + y; }, "z has the slope h by w, and w by h"},
        {"q", [](auto& x, auto& y) { return concat("*2*(", x, " - ", y, ")"); },
         "|w - h|^2 has 2 (w - h) by w, and 2 (h - w) by h"},
        {length.c_str(), [](auto& x, auto&) { return "*2*" + x; }, "|x|^2 has 2 x"},
        {"c",
         [](auto& x, auto& y) {
           return concat("*(", y, "/|", y, "| - c#*", x, "/|", x, "|)/|", x, "|");
         },
         "c has (h/|h| - c w/|w|)/|w| by w, by h the same with w and h exchanged"}};
    std::string rule, joined;
    for (size_t i = 0; i < parts_; ++i) {
      std::string by_coordinates, by_last;
      for (size_t j = 0; j < parts_; ++j) {
        const std::string x = coordinates(of_w ? "w@" : "h", i),
                          y = coordinates(of_w ? "h" : "w@", j),
                          index =
                              parts_ == 1
                                  ? ""
                                  : concat("[", (of_w ? i * parts_ + j : j * parts_ + i) + 1, "]");
        for (const Source& s : sources) {
          if (!lines_.uses(s.variable)) continue;
          std::string slope = s.slope(x, y);
          if (const size_t mark = slope.find('#'); mark != std::string::npos)
            slope.replace(mark, 1, "@" + index);
          by_coordinates +=
              concat(by_coordinates.empty() ? "" : " + ", "d", own, "/d", s.variable, index, slope);
          if (i + j == 0) rule += concat(rule.empty() ? "chain rule: " : "; ", s.why);
        }
        const std::string l = of_w ? "/dl" : "/dl_h";
        by_last += concat(j > 0 ? " + " : "", "d", own, l, index);
      }
      if (by_coordinates.empty()) {
        by_coordinates = "0*" + coordinates(of_w ? "w@" : "h", i);
        rule = "S is the same for all words";
      }
      const std::string sub = parts_ == 1 ? "" : std::to_string(i + 1), side = of_w ? "" : "_h";
      if (parts_ == 1 && !extra_) {
        joined = by_coordinates;
        break;
      }
      const std::string mean = concat("d", own, "/dm", sub, side);
      all_.backward.push_back({mean, by_coordinates, rule});
      joined += (i > 0 ? ", " : "") + mean;
      if (!extra_) continue;
      std::string by = by_last;
      if (parts_ > 1) {
        by = concat("d", own, "/dl", sub, side);
        all_.backward.push_back({by, by_last, "sum rule, over the pairs of that part"});
      }
      joined += ", " + by;
    }
    const bool whole = parts_ == 1 && !extra_;
    all_.backward.push_back({concat("d", own, of_w ? "/dw@" : "/dh"),
                             whole ? joined : "[" + joined + "]",
                             whole ? rule : "the parts in their order"});
  }

  void by_number(int i) {
    Step step = named(lines_.by_parameter(static_cast<size_t>(i), values_));
    const ParameterInfo info = kernel_info(score_).parameters[static_cast<size_t>(i)];
    step.symbol = concat("d", own_, "@/d", info.name);
    if (parts_ > 1) step.formula = concat("sum(", step.formula, ")");
    all_.backward.push_back(step);
  }

  // S is the scale times K.
  void put_scale() {
    const std::string scale = concat(score_.scale);
    all_.forward.push_back({"S@", scale + "*K@", "the kernel times its scale"});
    std::vector<std::string> by{"dw@", "dh"};
    for (int i = 0; i < std::ssize(values_); ++i)
      if (score_.learns(i))
        by.push_back(concat("d", kernel_info(score_).parameters[static_cast<size_t>(i)].name));
    for (const std::string& x : by)
      all_.backward.push_back({"dS@/" + x, concat(scale, "*dK@/", x), "constant factor"});
    if (score_.learns(kScaleNumber))
      all_.backward.push_back({"dS@/dscale", "K@", "S is linear in the scale"});
  }

  const Score& score_;
  KernelLines lines_;
  size_t parts_, size_;
  bool extra_, scaled_;
  std::string own_;
  std::vector<double> values_;
  KernelSteps all_;
};

}  // namespace

std::string Subscripts::of_component() const {
  return component > 0 ? concat('_', component) : std::string();
}

KernelSteps kernel_steps(const Score& score, const Subscripts& names, size_t size) {
  KernelSteps k = Builder(score, size).steps();
  const auto filled = [](std::string& text, const Subscripts& with) {
    text = with_words(text, [&](const std::string& word) { return symbol_of(word, with); });
  };
  for (Steps* steps : {&k.context, &k.forward, &k.backward})
    for (Step& s : *steps) {
      filled(s.symbol, names);
      filled(s.formula, names);
    }
  return k;
}

}  // namespace nine::app
