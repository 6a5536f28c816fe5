#include "data/bpe_text.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "data/text.h"

namespace nine {

namespace {

constexpr size_t kBlockBytes = size_t{4} << 20, kReadBytes = size_t{256} << 10;

}  // namespace

TextBlocks::TextBlocks(const std::string& path, LineFilter filter)
    : in_(&file_), name_(path), filter_(std::move(filter)) {
  std::error_code ignored;
  require(!std::filesystem::is_directory(path, ignored), path,
          " is a directory, not a text file: name the file in it");
  file_.open(path, std::ios::binary);
  require(file_.is_open(), path, " cannot be opened: ", std::strerror(errno));
}

TextBlocks::TextBlocks(std::istream& in, std::string name, LineFilter filter)
    : in_(&in), name_(std::move(name)), filter_(std::move(filter)) {}

void TextBlocks::read_more() {
  // In steps, so that a short text does not cost a whole block of memory.
  for (const size_t wanted = buffer_.size() + kBlockBytes;
       buffer_.size() < wanted && in_->good();) {
    const size_t kept = buffer_.size();
    buffer_.resize(kept + kReadBytes);
    in_->read(buffer_.data() + kept, static_cast<std::streamsize>(kReadBytes));
    require(!in_->bad(), name_, " cannot be read after line ", lines_,
            ": the system reported a read error");
    buffer_.resize(kept + static_cast<size_t>(in_->gcount()));
  }
}

bool TextBlocks::next(std::string_view& block) {
  buffer_.erase(0, given_);
  given_ = 0;
  size_t searched = buffer_.size();  // the start of a line, without its end
  for (;;) {
    read_more();
    const size_t last = std::string_view(buffer_).substr(searched).rfind('\n');
    given_ = last == std::string_view::npos ? 0 : searched + last + 1;
    if (!in_->good()) given_ = buffer_.size();
    if (given_ > 0 || !in_->good()) break;
    searched = buffer_.size();
  }
  block = std::string_view(buffer_).substr(0, given_);
  check(block);
  if (filter_) {
    filtered_.clear();
    for_each_line(block, [&](std::string_view line, std::string_view end) {
      filtered_ += filter_(line);
      filtered_ += end;
    });
    block = filtered_;
  }
  return !block.empty();
}

void TextBlocks::check(std::string_view block) {
  const size_t bad = find_invalid_utf8(block);
  if (bad != std::string_view::npos) {
    const std::string_view before = block.substr(0, bad);
    const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
    fail(name_, ", line ", lines_ + 1 + std::count(before.begin(), before.end(), '\n'), ", byte ",
         bad - line_start + 1,
         ": not valid UTF-8; convert the file, for example with `iconv -f LATIN1 -t UTF-8`");
  }
  lines_ += std::count(block.begin(), block.end(), '\n');
}

void WordTally::add(std::string_view word, int64_t count) {
  const auto id = static_cast<size_t>(words.add(word));
  if (id == counts.size()) counts.push_back(0);
  counts[id] += count;
}

void WordTally::add(TextBlocks& text) {
  for (std::string_view block; text.next(block);)
    for_each_line(block, [&](std::string_view line, std::string_view) {
      for_each_word(line, [&](std::string_view word) { add(word); });
    });
}

void WordTally::add_dictionary(TextBlocks& text, const std::string& name) {
  int64_t number = 0;
  for (std::string_view block; text.next(block);)
    for_each_line(block, [&](std::string_view line, std::string_view) {
      ++number;
      std::string_view word, field;
      int64_t count = 0;
      require(
          split_in_two(line, word, field) && parse_count(field, count), name, ", line ", number,
          ": '", line,
          "' is not `word count`; each line of a dictionary is a word, a space and a whole number");
      add(word, count);
    });
}

std::vector<int32_t> WordTally::by_count() const {
  std::vector<int32_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return counts[static_cast<size_t>(a)] > counts[static_cast<size_t>(b)];
  });
  return order;
}

std::string WordTally::vocabulary_text() const {
  std::string text;
  for (int32_t id : by_count())
    text += concat(words.text(id), ' ', counts[static_cast<size_t>(id)], '\n');
  return text;
}

bool parse_count(std::string_view text, int64_t& count) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc{} && end == text.data() + text.size() && count >= 0;
}

bool split_in_two(std::string_view line, std::string_view& first, std::string_view& second) {
  const LineMargins margins(line);
  line = line.substr(margins.begin, margins.end - margins.begin);
  const size_t space = line.find(' ');
  if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
    return false;
  first = line.substr(0, space);
  second = line.substr(space + 1);
  return true;
}

}  // namespace nine
