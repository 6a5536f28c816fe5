#include "data/word_vectors.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/error.h"
#include "core/quote.h"
#include "data/text.h"

namespace nine {
namespace {

// Returns a whole number of decimal digits; -1 for another text.
int64_t whole_number(std::string_view text) {
  constexpr size_t kMostDigits = 15;
  if (text.empty() || text.size() > kMostDigits) return -1;
  int64_t out = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return -1;
    out = 10 * out + (digit - '0');
  }
  return out;
}

// The lines of a file of vectors, with the place of what is wrong in them.
class VectorLines {
 public:
  explicit VectorLines(const std::string& path) : path_(path), reader_({path}) {}

  bool next() {
    if (!reader_.next_line(line_)) return false;
    ++number_;
    split_words(line_, parts_);
    return true;
  }
  int64_t number() const { return number_; }
  const std::vector<std::string_view>& parts() const { return parts_; }

  // Returns "vectors.txt, line 3, column 7: ", the place of a part; behind the last one: of the
  // line's end.
  std::string at(size_t part) const {
    const auto column = part < parts_.size() ? parts_[part].data() - line_.data()
                                             : static_cast<std::ptrdiff_t>(line_.size());
    return concat(path_, ", line ", number_, ", column ", column + 1, ": ");
  }
  // Returns the text from the first part to before another one, without the space between.
  std::string_view text_before(size_t part) const {
    const char* const first = parts_.front().data();
    const std::string_view last = parts_[part - 1];
    return {first, static_cast<size_t>(last.data() + last.size() - first)};
  }

 private:
  const std::string& path_;
  TextReader reader_;
  std::string_view line_;
  std::vector<std::string_view> parts_;
  int64_t number_ = 0;
};

bool is_number(std::string_view text) {
  double ignored = 0;
  return parse_number(text, ignored);
}

// Returns at which part the numbers of a vector begin.
size_t begin_of_numbers(const VectorLines& lines, int64_t width) {
  const std::vector<std::string_view>& parts = lines.parts();
  const int64_t numbers = std::ssize(parts) - 1;
  require(numbers >= width, lines.at(parts.size()), numbers, " numbers, where vectors have ", width,
          ": a word and its numbers were expected");
  const auto begin = static_cast<size_t>(numbers - width + 1);
  // More numbers, or a word with spaces?
  require(begin == 1 ||
              !std::all_of(parts.begin() + 1, parts.begin() + std::ptrdiff_t(begin), is_number),
          lines.at(static_cast<size_t>(width) + 1), numbers, " numbers, where vectors have ",
          width);
  return begin;
}

}  // namespace

WordVectorsRead read_word_vectors(
    const std::string& path,
    const std::function<void(std::string_view, std::span<const double>, int64_t)>& take) {
  VectorLines lines(path);
  WordVectorsRead out;
  std::optional<int64_t> said;
  std::unordered_map<std::string, int64_t> line_of;
  std::vector<double> numbers;
  while (lines.next()) {
    const std::vector<std::string_view>& parts = lines.parts();
    if (lines.number() == 1 && parts.size() == 2 && whole_number(parts[0]) >= 0 &&
        whole_number(parts[1]) > 0) {
      said = whole_number(parts[0]);
      out.width = whole_number(parts[1]);
      continue;
    }
    require(!parts.empty(), lines.at(0),
            "an empty line, where a word and its numbers were expected");
    if (out.width == 0) out.width = std::ssize(parts) - 1;
    require(out.width > 0, lines.at(0), quote(parts[0]),
            " has no numbers behind it: a word and its vector were expected, as word2vec and GloVe "
            "write text");
    const size_t begin = begin_of_numbers(lines, out.width);
    numbers.clear();
    for (size_t i = begin; i < parts.size(); ++i) {
      double number = 0;
      require(parse_number(parts[i], number), lines.at(i), quote(parts[i]),
              " is not a finite number: a word and ", out.width, " numbers were expected");
      numbers.push_back(number);
    }
    const std::string_view word = lines.text_before(begin);
    const auto [first, is_new] = line_of.emplace(word, lines.number());
    require(is_new, lines.at(0), "the word ", quote(word), " has a vector already, in line ",
            first->second, ": leave one of them out");
    ++out.words;
    require(!said || out.words <= *said, lines.at(0), "the first line says ", *said,
            " words, and this is one more: correct the first line");
    take(word, numbers, lines.number());
  }
  require(!said || out.words == *said, path, ": the first line says ", said.value_or(0),
          " words, and the file has ", out.words, ": is the file whole?");
  require(out.words > 0, path, " has no vectors");
  return out;
}

}  // namespace nine
