#include "data/text.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <istream>
#include <utility>

#include "core/error.h"

namespace nine {

namespace {

constexpr size_t kBufferBytes = size_t{1} << 18;

std::string hexadecimal(char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto byte = static_cast<uint8_t>(c);
  return {'0', 'x', digits[byte >> 4], digits[byte & 15]};
}

bool starts_with_ascii_block(std::string_view text, size_t at) {
  uint64_t block = 0;
  if (at + sizeof block > text.size()) return false;
  std::memcpy(&block, text.data() + at, sizeof block);
  return (block & 0x8080808080808080u) == 0;
}

/// Bytes of the character that starts at `at`, or 0 when it is invalid (table 3-7 of the Unicode
/// standard).
size_t utf8_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<uint8_t>(text[at + i]) : 0;
  };
  const auto follows = [&](size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4 || !follows(1)) return 0;
  if (first < 0xE0) return 2;
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) || !follows(2)) return 0;
  if (first < 0xF0) return 3;
  if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F) || !follows(3)) return 0;
  return 4;
}

}  // namespace

size_t find_invalid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (starts_with_ascii_block(text, at)) {
      at += sizeof(uint64_t);
      continue;
    }
    const size_t length = utf8_length(text, at);
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

LineReader::LineReader(std::vector<std::string> paths)
    : paths_(std::move(paths)), buffer_(kBufferBytes) {
  require(!paths_.empty(), "no text file was given");
}

LineReader::LineReader(std::istream& in, std::string name) : in_(&in), name_(std::move(name)) {}

void LineReader::open(const std::string& path) {
  std::error_code ignored;
  require(!std::filesystem::is_directory(path, ignored), path,
          " is a directory, not a text file: name the file in it");
  require(std::filesystem::exists(path, ignored), path, " does not exist: check the path");
  stream_ = std::ifstream();
  stream_.rdbuf()->pubsetbuf(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  stream_.open(path, std::ios::binary);
  require(stream_.is_open(), path, " cannot be opened: ", std::strerror(errno));
  in_ = &stream_;
  name_ = path;
  line_number_ = 0;
}

bool LineReader::next(std::string_view& line) {
  for (;;) {
    if (in_ == nullptr) {
      if (file_ == paths_.size()) return false;
      open(paths_[file_++]);
    }
    if (std::getline(*in_, line_)) break;
    require(!in_->bad(), name_, " cannot be read after line ", line_number_,
            ": the system reported a read error");
    std::error_code ignored;
    const bool pipe = in_ == &stream_ && !std::filesystem::is_regular_file(name_, ignored);
    require(in_ != &stream_ || line_number_ > 0, name_, " is empty",
            pipe
                ? ", or a pipe that was read already: texts are read more than once, so give a file"
                : ": it should hold one sentence a line");
    in_ = nullptr;
  }
  ++line_number_;
  line = line_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line_number_ == 1 && line.starts_with(kByteOrderMark))
    line.remove_prefix(kByteOrderMark.size());
  check(line);
  return true;
}

void LineReader::check(std::string_view line) const {
  if (const size_t nul = line.find('\0'); nul != std::string_view::npos)
    fail(place(), ", byte ", nul + 1,
         ": a NUL byte, so this is no UTF-8 text (UTF-16? a compressed file?): convert or unpack "
         "it");
  if (const size_t bad = find_invalid_utf8(line); bad != std::string_view::npos)
    fail(place(), ", byte ", bad + 1, ": ", hexadecimal(line[bad]),
         " is not valid UTF-8: convert the file, for example with `iconv -f LATIN1 -t UTF-8`");
}

std::string LineReader::place() const { return concat(name_, ", line ", line_number_); }

void split_words(std::string_view line, std::vector<std::string_view>& words) {
  const auto separates = [](char c) { return c == ' ' || c == '\t'; };
  words.clear();
  for (size_t at = 0; at < line.size();) {
    if (separates(line[at])) {
      ++at;
      continue;
    }
    const size_t begin = at;
    while (at < line.size() && !separates(line[at])) ++at;
    words.push_back(line.substr(begin, at - begin));
  }
}

void read_sentences(const std::vector<std::string>& paths,
                    const std::function<void(std::span<const std::string_view>)>& visit) {
  LineReader reader(paths);
  std::string_view line;
  std::vector<std::string_view> words;
  while (reader.next(line)) {
    split_words(line, words);
    visit(words);
  }
}

}  // namespace nine
