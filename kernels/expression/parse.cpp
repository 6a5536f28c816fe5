#include "kernels/expression/parse.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

#include "core/error.h"
#include "core/quote.h"
#include "core/suggest.h"

namespace nine::expression {
namespace {

constexpr std::string_view kLessEqual = "\u2264", kGreaterEqual = "\u2265";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t'; }

// By recursive descent: sum = product {+|- product}, product = signed {*|/ signed},
// signed = -signed | power, power = atom [^ signed].
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Parsed run() {
    if (text_.size() > kMaxLength)
      throw UsageError(
          concat("a formula has ", text_.size(), " characters, more than ", kMaxLength));
    out_.score = sum();
    skip_spaces();
    if (at_ < text_.size()) fail_here(unexpected());
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail_at(size_t at, const std::string& what) const {
    constexpr size_t kMost = 60;  // number of characters to show
    // The mark stands under a character, not a byte: continuation bytes have no column.
    std::vector<size_t> starts;
    for (size_t i = 0; i < text_.size(); ++i)
      if ((static_cast<unsigned char>(text_[i]) & 0xC0) != 0x80) starts.push_back(i);
    const auto column =
        static_cast<size_t>(std::lower_bound(starts.begin(), starts.end(), at) - starts.begin());
    const size_t last = starts.size() - std::min(starts.size(), kMost),
                 first = std::min(column - std::min(column, kMost / 2), last),
                 begin = first == 0 ? 0 : starts[first],
                 end = first == last ? text_.size() : starts[first + kMost];
    const std::string_view before = first == 0 ? "expr:{" : "expr:{…";
    const size_t columns = column - first + (first == 0 ? before.size() : before.size() - 2);
    throw UsageError(concat(what, "\n  ", before, text_.substr(begin, end - begin),
                            end == text_.size() ? "}" : "…}", "\n  ", std::string(columns, ' '),
                            "^ here"));
  }
  [[noreturn]] void fail_here(const std::string& what) const { fail_at(at_, what); }

  void skip_spaces() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  char next() {
    skip_spaces();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(std::string_view token) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(char token, const char* where) {
    if (!take({&token, 1})) fail_here(concat("'", token, "' is missing ", where));
  }
  bool at_comparison() {
    const char c = next();
    return c == '<' || c == '>' || c == '=' || text_.substr(at_).starts_with(kLessEqual) ||
           text_.substr(at_).starts_with(kGreaterEqual);
  }
  // Returns the error message for the character where an operator might stand.
  std::string unexpected() {
    const char c = next();
    if (at_comparison()) return "a comparison may only stand in where(a < b, x, y)";
    if (c == ')') return "this ) has no (";
    if (c == ',') return "a comma may only stand between the arguments of a function";
    if (is_letter(c) || is_digit(c) || c == '.' || c == '(')
      return "an operator is missing before this; a product is written a*b";
    return concat("'", std::string(1, c), "' has no meaning in a formula");
  }

  Id sum() {
    Id left = product();
    for (;;) {
      if (take("+"))
        left = out_.graph.make(Op::add, {left, product()});
      else if (take("-"))
        left = out_.graph.make(Op::subtract, {left, product()});
      else
        return left;
    }
  }
  Id product() {
    Id left = signed_power();
    for (;;) {
      if (take("*"))
        left = out_.graph.make(Op::multiply, {left, signed_power()});
      else if (take("/"))
        left = out_.graph.make(Op::divide, {left, signed_power()});
      else
        return left;
    }
  }
  Id signed_power() {
    if (++depth_ > kMaxDepth)
      fail_here(concat("a formula may nest at most ", kMaxDepth, " parentheses, signs and powers"));
    Id id = 0;
    if (take("-")) {
      id = out_.graph.make(Op::negate, {signed_power()});
    } else if (take("+")) {
      id = signed_power();
    } else {
      id = atom();
      if (take("^")) id = out_.graph.make(Op::power, {id, signed_power()});
    }
    --depth_;
    return id;
  }
  Id atom() {
    const char c = next();
    if (is_digit(c) || c == '.') return number();
    if (is_letter(c)) return name();
    if (take("(")) {
      const Id id = sum();
      expect(')', "to close a parenthesis");
      return id;
    }
    fail_here(c == '\0' ? "the formula ends where a number, a name or ( is needed"
                        : "a number, a name or ( is needed");
  }
  Id number() {
    double value = 0;
    const char* const first = text_.data() + at_;
    const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), value);
    if (error != std::errc() || !std::isfinite(value)) fail_here("this is not a number");
    at_ += static_cast<size_t>(end - first);
    return out_.graph.number(value);
  }
  Id name() {
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (is_letter(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '_'))
      ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (next() == '(') return call(word, begin);
    for (int v = 0; v < kVariables; ++v)
      if (word == name_of(static_cast<Variable>(v)))
        return out_.graph.variable(static_cast<Variable>(v));
    if (word == "pi") return out_.graph.number(std::numbers::pi);
    if (word == "e") return out_.graph.number(std::numbers::e);
    if (!is_parameter_name(word))
      fail_at(begin,
              word == "scale"
                  ? "scale multiplies the whole formula and stands after it: expr:{...}:scale=2"
                  : concat(word, " is a function: write ", word, "(...)"));
    auto& known = out_.parameters;
    const auto found = std::find(known.begin(), known.end(), word);
    const auto index = found - known.begin();
    if (found == known.end()) known.emplace_back(word);
    if (std::ssize(known) > kMaxParameters)
      fail_at(begin, concat("a formula may have at most ", kMaxParameters, " parameters"));
    return out_.graph.parameter(static_cast<int>(index));
  }
  Id call(std::string_view word, size_t begin) {
    if (word == "where") return where();
    const auto all = functions();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Function& f) { return word == f.name; });
    if (found == all.end()) {
      std::vector<std::string> names{"where"};
      std::string listed = "where";
      for (const Function& f : all) {
        names.emplace_back(f.name);
        listed += concat(", ", f.name);
      }
      const std::string near = did_you_mean(word, names);
      fail_at(begin, concat("no function is called ", quote(word),
                            near.empty() ? ". Functions: " + listed : near));
    }
    expect('(', "");
    std::array<Id, 4> args{sum()};
    for (int k = 1; k < found->arguments; ++k) {
      expect(',', "between the two arguments");
      args[static_cast<size_t>(k)] = sum();
    }
    expect(')', found->arguments == 1 ? "after the one argument" : "after the second argument");
    return out_.graph.make(found->op,
                           std::span<const Id>(args.data(), static_cast<size_t>(found->arguments)));
  }
  Id where() {
    expect('(', "");
    const Id a = sum();
    const bool less_equal = take("<=") || take(kLessEqual),
               greater_equal = !less_equal && (take(">=") || take(kGreaterEqual)),
               less = !less_equal && !greater_equal && take("<");
    if (!less_equal && !greater_equal && !less && !take(">"))
      fail_here("where() begins with a comparison by < <= > or >=: where(a < b, x, y)");
    const Id b = sum();
    expect(',', "after the comparison");
    const Id x = sum();
    expect(',', "between the two sides of where()");
    const Id y = sum();
    expect(')', "after the second side of where()");
    const Op op = less_equal || greater_equal ? Op::less_equal : Op::less;
    const bool swapped = !less_equal && !less;
    return out_.graph.make(op, {swapped ? b : a, swapped ? a : b, x, y});
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
  Parsed out_;
};

}  // namespace

bool is_parameter_name(std::string_view name) {
  if (name.empty() || !is_letter(name.front()) || name == "pi" || name == "e" || name == "scale" ||
      name == "where")
    return false;
  for (int v = 0; v < kVariables; ++v)
    if (name == name_of(static_cast<Variable>(v))) return false;
  for (const Function& f : functions())
    if (name == f.name) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

std::string without_spaces(std::string_view formula) {
  std::string out;
  for (size_t k = 0; k < formula.size(); ++k) {
    const std::string_view rest = formula.substr(k);
    if (rest.starts_with(kLessEqual) || rest.starts_with(kGreaterEqual)) {
      out += rest.starts_with(kLessEqual) ? "<=" : ">=";
      k += kLessEqual.size() - 1;
    } else if (!is_space(formula[k])) {
      out += formula[k];
    }
  }
  return out;
}

Parsed parse(std::string_view formula) { return Parser(formula).run(); }

}  // namespace nine::expression
