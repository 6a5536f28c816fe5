// Writes tensors as NumPy's print() does. The rules are those of numpy/_core/arrayprint.py with its
// default options.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "core/op_table.h"
#include "core/tensor.h"

namespace nine {
namespace {

constexpr int64_t kSummaryFrom = 1000, kEdge = 3;  // NumPy's threshold and edgeitems
constexpr size_t kLineWidth = 75, kDigits = 8;

// Returns the digits of x as `format` says: as few as tell x from its neighbours of type T, but at
// most kDigits behind the point, which is always there: "2.", "0.1", "1.5e+20".
template <class T>
std::string digits(T x, std::chars_format format) {
  char text[512];
  const char* const end = std::to_chars(text, text + sizeof text, x, format).ptr;
  std::string all(static_cast<const char*>(text), end);
  const size_t exponent = std::min(all.find('e'), all.size()), point = all.find('.');
  if (point != std::string::npos && exponent - point - 1 > kDigits) {
    const bool fixed = format == std::chars_format::fixed;
    std::snprintf(text, sizeof text, fixed ? "%.*f" : "%.*e", static_cast<int>(kDigits),
                  static_cast<double>(x));
    all = text;
  } else if (point == std::string::npos) {
    all.insert(exponent, ".");
  }
  const size_t tail = std::min(all.find('e'), all.size());
  size_t last = tail;
  while (all[last - 1] == '0') --last;
  return all.erase(last, tail - last);
}

// Returns a single number as Python's str() does.
template <class T>
std::string single(T x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  const auto size = std::abs(static_cast<double>(x));
  const double large = std::is_same_v<T, double> ? 1e16 : 1e6;
  const bool scientific = x != 0 && (size >= large || size < 1e-4);
  char text[64];
  std::string all(
      text, std::to_chars(text, text + sizeof text, x,
                          scientific ? std::chars_format::scientific : std::chars_format::fixed)
                .ptr);
  if (!scientific && all.find('.') == std::string::npos) all += ".0";
  return all;
}

// The parts of "12.5e+20": before the point, between point and e, and from e on.
struct Parts {
  std::string whole, fraction, exponent;
};
// Returns the parts of a number that has a point, or no digits behind it.
Parts parts_of(const std::string& text) {
  const size_t e = std::min(text.find('e'), text.size()), point = std::min(text.find('.'), e);
  return {text.substr(0, point), point < e ? text.substr(point + 1, e - point - 1) : "",
          text.substr(e)};
}

// Returns the words of all shown numbers, padded to one width.
template <class T>
std::vector<std::string> float_words(const std::vector<T>& values) {
  constexpr T kLarge = std::is_same_v<T, double> ? 1e8 : 1e6;
  T largest = 0, smallest = std::numeric_limits<T>::infinity();
  bool finite_only = true, negative_infinity = false;
  for (const T v : values) {
    finite_only = finite_only && std::isfinite(v);
    negative_infinity = negative_infinity || (std::isinf(v) && v < 0);
    if (!std::isfinite(v) || v == 0) continue;
    largest = std::max(largest, std::abs(v));
    smallest = std::min(smallest, std::abs(v));
  }
  const bool scientific =
      largest > 0 && (largest >= kLarge || smallest < T(1e-4) || largest / smallest > 1000);
  std::vector<Parts> parts;
  size_t left = 0, right = 0, exponent = 0;
  for (const T v : values) {
    Parts p;
    if (std::isfinite(v)) {
      p = parts_of(
          digits(v, scientific ? std::chars_format::scientific : std::chars_format::fixed));
      left = std::max(left, p.whole.size());
      right = std::max(right, p.fraction.size());
      exponent = std::max(exponent, p.exponent.size());
    }
    parts.push_back(std::move(p));
  }
  const size_t behind = right + exponent + 1;  // the point, the digits, the exponent
  if (!finite_only) {
    const size_t word = negative_infinity ? 4 : 3;
    left = std::max(left, word > behind ? word - behind : 0);
  }
  std::vector<std::string> words;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      const std::string text = single(values[i]);
      words.push_back(std::string(left + behind - text.size(), ' ') + text);
      continue;
    }
    Parts& p = parts[i];
    if (scientific) {
      if (p.fraction.size() < right) {  // the digits of the exact number then, not zeros
        char text[64];
        std::snprintf(text, sizeof text, "%.*e", static_cast<int>(right),
                      static_cast<double>(values[i]));
        p = parts_of(text);
      }
      // "e+05": all as long as the longest
      if (p.exponent.size() < exponent) p.exponent.insert(2, exponent - p.exponent.size(), '0');
    }
    std::string word =
        std::string(left - p.whole.size(), ' ') + p.whole + "." + p.fraction + p.exponent;
    if (!scientific) word.append(right - p.fraction.size(), ' ');
    words.push_back(std::move(word));
  }
  return words;
}

class Printer {
 public:
  explicit Printer(const Shape& shape) : shape_(shape), summary_(shape.elements() > kSummaryFrom) {}

  // Returns the indices of a dimension that are shown; -1 stands for those left out.
  std::vector<int64_t> shown(int dim) const {
    std::vector<int64_t> all;
    const int64_t n = shape_[dim];
    for (int64_t i = 0; i < n; ++i) {
      if (summary_ && 2 * kEdge < n && i == kEdge) {
        all.push_back(-1);
        i = n - kEdge;
      }
      all.push_back(i);
    }
    return all;
  }
  // Appends the numbers of the shown elements, in row-major order.
  void collect(int dim, int64_t offset, std::vector<int64_t>& to) const {
    if (dim == shape_.rank()) {
      to.push_back(offset);
      return;
    }
    for (const int64_t i : shown(dim))
      if (i >= 0) collect(dim + 1, offset * shape_[dim] + i, to);
  }
  // Returns the text of the part of the tensor from dimension `dim` on; takes the next words.
  std::string text(int dim, const std::vector<std::string>& words, size_t& next) const {
    if (dim == shape_.rank()) return words[next++];
    const int left = shape_.rank() - dim;
    const std::string indent(static_cast<size_t>(dim) + 1, ' ');
    const size_t width = kLineWidth - static_cast<size_t>(dim) - 1;
    std::string all, line = indent;
    bool first = true;
    for (const int64_t i : shown(dim)) {
      const std::string word = i < 0 ? "..." : text(dim + 1, words, next);
      if (left > 1) {
        if (!first) all += std::string(static_cast<size_t>(left - 1), '\n');
        all += indent + word;
      } else {
        if (!first) line += ' ';
        if (line.size() > indent.size() && line.size() + word.size() > width) {
          line.erase(line.find_last_not_of(' ') + 1);
          all += line + "\n";
          line = indent;
        }
        line += word;
      }
      first = false;
    }
    if (left == 1) all += line;
    return "[" + all.substr(indent.size()) + "]";
  }

 private:
  Shape shape_;
  bool summary_;
};

}  // namespace

std::ostream& operator<<(std::ostream& out, const Tensor& t) {
  require(static_cast<bool>(t), "[print] an empty tensor has no values");
  if (t.elements() == 0) return out << "[]";
  const Tensor host = t.to(kCpu);
  const Printer printer(t.shape());
  std::vector<int64_t> places;
  printer.collect(0, 0, places);
  const bool scalar = t.shape().rank() == 0;
  std::vector<std::string> words;
  dispatch_all(t.dtype(), [&]<class T>(T) {
    const T* p = host.data<T>();
    if constexpr (std::is_same_v<T, bool>) {
      for (const int64_t i : places)
        words.emplace_back(p[i] ? (scalar ? "True" : " True") : "False");
    } else if constexpr (std::is_integral_v<T>) {
      size_t width = 0;
      for (const int64_t i : places) words.push_back(std::to_string(p[i]));
      for (const std::string& word : words) width = std::max(width, word.size());
      for (std::string& word : words) word.insert(0, width - word.size(), ' ');
    } else {
      using F = std::conditional_t<std::is_same_v<T, double>, double, float>;
      std::vector<F> values;
      for (const int64_t i : places) values.push_back(static_cast<F>(p[i]));
      words = scalar ? std::vector<std::string>{single(values[0])} : float_words(values);
    }
  });
  size_t next = 0;
  return out << printer.text(0, words, next);
}

}  // namespace nine
