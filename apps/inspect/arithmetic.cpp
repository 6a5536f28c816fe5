#include "apps/inspect/arithmetic.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/error.h"
#include "kernels/expression/evaluate.h"

namespace nine::app {
namespace {

using Kind = Formula::Kind;
using expression::apply;
using expression::Op;

// Names that formulas of heads do not have.
struct Alias {
  const char* name;
  Op op;
};
constexpr Alias kAliases[] = {{"ln", Op::log}, {"arccos", Op::acos}, {"arcosh", Op::acosh}};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '\'';
}

class Reader {
 public:
  Reader(const std::map<std::string, Numbers>& symbols, std::string_view text)
      : symbols_(symbols), text_(text) {}

  Formula run() {
    Formula all = sum();
    if (next() != '\0') wrong();
    return all;
  }

 private:
  [[noreturn]] void wrong() const {
    fail("[kernel_inspect] a worked example has a formula that cannot be read at character ",
         at_ + 1, ": ", text_);
  }
  char next() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (next() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) wrong();
  }
  // A list in braces would copy the trees.
  template <class... Args>
  static Formula with_args(Formula f, Args... args) {
    f.args.reserve(sizeof...(args));
    (f.args.push_back(std::move(args)), ...);
    return f;
  }
  template <class... Args>
  static Formula operation(const char* op, Args... args) {
    return with_args({.kind = Kind::operation, .text = op}, std::move(args)...);
  }

  Formula sum() {
    Formula left = product();
    while (true) {
      if (take('+'))
        left = operation("+", std::move(left), product());
      else if (take('-'))
        left = operation("-", std::move(left), product());
      else
        return left;
    }
  }
  Formula product() {
    Formula left = dotted();
    while (true) {
      if (take('*'))
        left = operation("*", std::move(left), dotted());
      else if (take('/'))
        left = operation("/", std::move(left), dotted());
      else
        return left;
    }
  }
  Formula dotted() {
    Formula left = signed_power();
    while (next() == '.' && !text_.substr(at_).starts_with("..")) {
      ++at_;
      left = operation(".", std::move(left), signed_power());
    }
    return left;
  }
  Formula signed_power() {
    if (take('-')) return operation("neg", signed_power());
    Formula base = indexed();
    return take('^') ? operation("^", std::move(base), signed_power()) : base;
  }
  Formula indexed() {
    Formula of = atom();
    while (take('[')) {
      Formula part{.kind = Kind::part};
      part.from = part.to = whole_number();
      next();
      if (text_.substr(at_).starts_with("..")) {
        at_ += 2;
        part.to = whole_number();
      }
      expect(']');
      of = with_args(std::move(part), std::move(of));
    }
    return of;
  }
  int whole_number() {
    next();
    int n = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), n);
    if (error != std::errc()) wrong();
    at_ = static_cast<size_t>(end - text_.data());
    return n;
  }

  std::vector<Formula> list(char end) {
    std::vector<Formula> all;
    do all.push_back(sum());
    while (take(','));
    expect(end);
    return all;
  }
  Formula atom() {
    const char c = next();
    if (take('(')) {
      Formula inside = sum();
      expect(')');
      return inside;
    }
    if (take('|')) {
      Formula inside = sum();
      expect('|');
      return with_args({.kind = Kind::norm}, std::move(inside));
    }
    if (take('[')) return {.kind = Kind::list, .args = list(']')};
    if ((c >= '0' && c <= '9') || c == '.') return number();
    return word();
  }
  Formula number() {
    Formula n;
    size_t end = at_;
    // "1..2" is a range and "2.h" no number with a point.
    while (end < text_.size() &&
           ((text_[end] >= '0' && text_[end] <= '9') ||
            (text_[end] == '.' && end + 1 < text_.size() && text_[end + 1] >= '0' &&
             text_[end + 1] <= '9') ||
            (text_[end] == 'e' && end + 1 < text_.size() &&
             (text_[end + 1] == '-' || text_[end + 1] == '+' || is_digit(text_[end + 1]))) ||
            ((text_[end] == '-' || text_[end] == '+') && text_[end - 1] == 'e' && end > at_)))
      ++end;
    std::from_chars(text_.data() + at_, text_.data() + end, n.value);
    n.text = text_.substr(at_, end - at_);
    at_ = end;
    return n;
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  Formula word() {
    const std::string_view rest = text_.substr(at_);
    size_t longest = 0;
    // Of the names with the same first character: what begins the text is at most the text.
    for (auto at = symbols_.lower_bound(std::string(rest.substr(0, 1)));
         at != symbols_.end() && at->first <= rest; ++at)
      if (const std::string& name = at->first;
          name.size() > longest && rest.starts_with(name) &&
          (name.size() == rest.size() || !is_word(rest[name.size()])))
        longest = name.size();
    if (longest > 0) {
      at_ += longest;
      return {.kind = Kind::symbol, .text = std::string(rest.substr(0, longest))};
    }
    size_t end = 0;
    while (end < rest.size() && is_word(rest[end])) ++end;
    const std::string name(rest.substr(0, end));
    if (name.empty()) wrong();
    if (name == "pi") {
      at_ += end;
      return {.text = name, .value = std::numbers::pi};
    }
    if (name == "e") {
      at_ += end;
      return {.text = name, .value = std::numbers::e};
    }
    at_ += end;
    expect('(');
    if (name == "where") return where();
    return {.kind = Kind::call, .text = name, .args = list(')')};
  }
  Formula where() {
    Formula left = sum();
    expect('<');
    const bool equal = take('=');
    Formula condition =
        with_args({.kind = Kind::compare, .text = equal ? "<=" : "<"}, std::move(left), sum());
    expect(',');
    Formula call = with_args({.kind = Kind::call, .text = "where"}, std::move(condition));
    for (Formula& f : list(')')) call.args.push_back(std::move(f));
    return call;
  }

  const std::map<std::string, Numbers>& symbols_;
  std::string_view text_;
  size_t at_ = 0;
};

template <class F>
Numbers combine(const Numbers& a, const Numbers& b, F&& f) {
  require(a.size() == b.size() || a.size() == 1 || b.size() == 1,
          "[kernel_inspect] a formula combines vectors of ", a.size(), " and ", b.size());
  Numbers out(std::max(a.size(), b.size()));
  for (size_t k = 0; k < out.size(); ++k)
    out[k] = f(a[a.size() == 1 ? 0 : k], b[b.size() == 1 ? 0 : k]);
  return out;
}
Numbers combine(Op op, const Numbers& a, const Numbers& b) {
  return combine(a, b, [op](double x, double y) {
    const double both[] = {x, y};
    return apply(op, both);
  });
}
double dot_of(const Numbers& a, const Numbers& b) {
  double sum = 0;
  for (const double x : combine(a, b, [](double x, double y) { return x * y; })) sum += x;
  return sum;
}

Numbers call(const std::string& name, const std::vector<Numbers>& x) {
  if (name == "sum") {
    double total = 0;
    for (const double v : x[0]) total += v;
    return {total};
  }
  if (name == "where") {
    Numbers out = combine(x[1], x[2], [](double a, double) { return a; });
    for (size_t k = 0; k < out.size(); ++k)
      out[k] = x[0][x[0].size() == 1 ? 0 : k] != 0 ? x[1][x[1].size() == 1 ? 0 : k]
                                                   : x[2][x[2].size() == 1 ? 0 : k];
    return out;
  }
  // Of one vector, its largest element.
  if (name == "max" && x.size() == 1) return {*std::max_element(x[0].begin(), x[0].end())};
  const auto computed = [&](Op op) {
    if (x.size() == 2) return combine(op, x[0], x[1]);
    Numbers out = x[0];
    for (double& v : out) v = apply(op, &v);
    return out;
  };
  for (const Alias& alias : kAliases)
    if (name == alias.name) return computed(alias.op);
  for (const expression::Function& f : expression::functions())
    if (name == f.name && std::ssize(x) == f.arguments) return computed(f.op);
  fail("[kernel_inspect] no function of worked examples is called ", name);
}

Numbers operate(const std::string& op, const std::vector<Numbers>& x) {
  switch (op[0]) {
    case '+':
      return combine(Op::add, x[0], x[1]);
    case '-':
      return combine(Op::subtract, x[0], x[1]);
    case '*':
      return combine(Op::multiply, x[0], x[1]);
    case '/':
      return combine(Op::divide, x[0], x[1]);
    case '^':
      return combine(Op::power, x[0], x[1]);
    case '.':
      return {dot_of(x[0], x[1])};
    default:
      return combine(Op::multiply, {-1}, x[0]);
  }
}

}  // namespace

Formula SymbolTable::read(std::string_view text) const { return Reader(values_, text).run(); }

Numbers SymbolTable::compute(const Formula& f) const {
  std::vector<Numbers> x;
  for (const Formula& a : f.args) x.push_back(compute(a));
  switch (f.kind) {
    case Kind::number:
      return {f.value};
    case Kind::symbol:
      return values_.at(f.text);
    case Kind::operation:
      return operate(f.text, x);
    case Kind::call:
      return call(f.text, x);
    case Kind::norm:
      return {std::sqrt(dot_of(x[0], x[0]))};
    case Kind::list: {
      Numbers all;
      for (const Numbers& part : x) all.insert(all.end(), part.begin(), part.end());
      return all;
    }
    case Kind::part:
      require(f.from >= 1 && f.from <= f.to && f.to <= static_cast<int>(x[0].size()),
              "[kernel_inspect] a formula takes elements ", f.from, " to ", f.to, " of ",
              x[0].size());
      return {x[0].begin() + f.from - 1, x[0].begin() + f.to};
    case Kind::compare:
      return f.text == "<" ? combine(x[0], x[1], [](double a, double b) { return double(a < b); })
                           : combine(x[0], x[1], [](double a, double b) { return double(a <= b); });
  }
  return {};
}

}  // namespace nine::app
