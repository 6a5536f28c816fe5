#include "data/text.h"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <utility>

#include "core/error.h"
#include "core/file_kind.h"
#include "core/files.h"
#include "core/memory_reserve.h"
#include "data/unpack.h"
#include "data/utf8_blocks.h"

namespace nine {

namespace {

constexpr size_t kBlockBytes = size_t{512} << 10, kReadBytes = size_t{256} << 10;

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

/// Reads the bytes that `in` has, at least one and at most `most`. Waits only if there are no
/// bytes.
std::streamsize read_available(std::istream& in, char* to, std::streamsize most) {
  if (in.peek() == std::istream::traits_type::eof()) return 0;
  return in.read(to, std::clamp<std::streamsize>(in.rdbuf()->in_avail(), 1, most)).gcount();
}

/// Returns the number of bytes of the character that starts at `at`, or 0 if it is invalid (table
/// 3-7 of the Unicode standard).
size_t valid_sequence_length(std::string_view text, size_t at) {
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

/// Returns the same for most characters of two or three bytes, with fewer comparisons; 0 for
/// others.
size_t usual_sequence_length(std::string_view text, size_t at) {
  uint32_t bytes = 0;
  if (at + sizeof bytes > text.size()) return 0;
  std::memcpy(&bytes, text.data() + at, sizeof bytes);  // the first byte is the lowest
  if ((bytes & 0xC0E0) == 0x80C0 && (bytes & 0x1E) != 0) return 2;
  // Of three bytes, those after 0xE0 and 0xED have limits.
  const uint32_t last = bytes & 0x0F;
  return (bytes & 0xC0C0F0) == 0x8080E0 && last != 0x00 && last != 0x0D ? 3 : 0;
}

/// True if the bytes are the beginning of a character whose end is missing.
bool is_cut_character(std::string_view bytes) {
  const auto whole_with = [&](char fill) {
    return valid_sequence_length(std::string(bytes) + std::string(3, fill), 0) > bytes.size();
  };
  return bytes.size() < 4 && (whole_with('\x80') || whole_with('\xBF'));
}

/// Returns the index of the first CR inside a line: one that neither LF nor the text's end follows;
/// or npos.
size_t find_inner_cr(std::string_view text) {
  for (size_t at = text.find('\r'); at < text.size(); at = text.find('\r', at + 1))
    if (at + 1 < text.size() && text[at + 1] != '\n') return at;
  return std::string_view::npos;
}

/// True if a decimal number beyond the range of a double is too small; false if it is too large.
bool is_tiny(std::string_view text) {
  const size_t exponent = text.find_first_of("eE");
  if (exponent != std::string_view::npos) return text.substr(exponent + 1).starts_with('-');
  return text.substr(0, text.find('.')).find_first_not_of("-0") == std::string_view::npos;
}

}  // namespace

size_t find_invalid_utf8(std::string_view text) {
  for (size_t at = detail::valid_utf8_blocks(text); at < text.size();) {
    if (starts_with_ascii_block(text, at)) {
      at += sizeof(uint64_t);
      continue;
    }
    if (static_cast<uint8_t>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    size_t length = usual_sequence_length(text, at);
    if (length == 0) length = valid_sequence_length(text, at);
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

TextReader::TextReader(std::vector<std::string> paths, const TextRules& rules, LineFilter filter)
    : paths_(std::move(paths)), rules_(rules), filter_(std::move(filter)) {
  require(!paths_.empty(), "no text file was given");
}

TextReader::TextReader(std::istream& in, std::string name, const TextRules& rules,
                       LineFilter filter)
    : rules_(rules), filter_(std::move(filter)), in_(&in), name_(std::move(name)) {}

/// Opens the next file if no file is open. Returns false after the last file.
bool TextReader::open() {
  if (in_ != nullptr) return true;
  if (file_ == paths_.size()) return false;
  const std::string& path = paths_[file_++];
  std::error_code ignored;
  require(!std::filesystem::is_directory(path, ignored), path,
          " is a directory, not a text file: name the file in it");
  require(path != "-" || std::filesystem::exists(path, ignored),
          "'-' is not the name of a file: name a file; for standard input, name /dev/stdin");
  require(std::filesystem::exists(path, ignored), path, " does not exist: check the path");
  stream_ = std::ifstream(path, std::ios::binary);
  require(stream_.is_open(), path, " cannot be opened: ", std::strerror(errno));
  in_ = &stream_;
  begun_ = false;
  name_ = path;
  lines_ = 0;
  return true;
}

/// Reads the first bytes of a file. Unpacks a packed file from here on. Throws an Error that names
/// the kind of a file that is not text.
void TextReader::begin() {
  begun_ = true;
  if (!may_be_packed(in_->peek())) return;
  unpacked_ = std::make_unique<UnpackedStream>(*in_, name_);
  in_ = unpacked_.get();
}

/// Closes a file that was read to its end.
void TextReader::close() {
  require(paths_.empty() || lines_ > 0 || !rules_.refuse_empty_file || is_device_or_pipe(name_),
          name_, " is empty: it must hold one sentence a line");
  in_ = nullptr;
  unpacked_.reset();
}

/// Reads up to kReadBytes more bytes after the unread text. Returns false at the end of the file.
bool TextReader::read_more() {
  if (!in_->good()) return false;
  // The first bytes show the kind of a file, also if they come one by one.
  constexpr std::ptrdiff_t kStart = 1024;
  if (!begun_) begin();
  if (begin_ > 0) std::copy(buffer_.begin() + begin_, buffer_.begin() + end_, buffer_.begin());
  end_ -= std::exchange(begin_, 0);
  const auto needed = static_cast<size_t>(end_) + kReadBytes;
  if (buffer_.size() < needed) {
    // Leaves room for longer lines, where resize() alone would double the memory.
    if (needed <= 2 * kBlockBytes) buffer_.reserve(needed + kReadBytes / 4);
    buffer_.resize(needed);
  }
  constexpr auto most = static_cast<std::streamsize>(kReadBytes);
  char* const to = buffer_.data() + end_;
  const std::streamsize count =
      rules_.line_by_line ? read_available(*in_, to, most) : in_->read(to, most).gcount();
  // std::cin reads through stdin and takes an error of stdin for the end.
  require(!in_->bad() && (in_ != &std::cin || std::ferror(stdin) == 0), name_,
          " cannot be read after line ", lines_, ": the system reported a read error");
  end_ += count;
  const bool at_start = rules_.refuse_other_kinds && lines_ == 0 && end_ - count < kStart;
  if (const std::string what = at_start ? what_it_is(unread()) : ""; !what.empty())
    fail(name_, " ", what);
  return true;
}

std::string_view TextReader::peek() {
  if (!open()) return {};
  if (unread().empty()) read_more();
  return unread();
}

/// Returns where the first line end begins, from byte `from` of the unread text on, or npos.
size_t TextReader::find_line_end(size_t from) const {
  const std::string_view text = unread();
  const size_t feed = text.find('\n', from);
  if (!rules_.cr_ends_line) return feed;
  const size_t at = std::min(text.substr(0, feed).find('\r', from), feed);
  // A CR at the end of the bytes that were read so far may be the first half of CRLF.
  const bool open_end = at < text.size() && text.substr(at) == "\r" && in_->good();
  return open_end ? std::string_view::npos : at;
}

/// Finds the next line of the unread text: its size without and with its end. Returns false after
/// the last line.
bool TextReader::find_line(size_t& size, size_t& with_end) {
  for (size_t searched = 0;;) {
    if (!open()) return false;
    size = std::min(find_line_end(searched), unread().size());
    if (size < unread().size()) break;
    searched = size - (unread().ends_with('\r') ? 1 : 0);
    if (read_more()) continue;
    if (size > 0) break;  // the last line, which has no end
    close();
  }
  const bool crlf = unread().substr(size).starts_with("\r\n");
  with_end = std::min(size + (crlf ? 2 : 1), unread().size());
  return true;
}

bool TextReader::next_line(std::string_view& line) {
  require_memory();
  size_t size = 0, with_end = 0;
  if (!find_line(size, with_end)) return false;
  line = unread().substr(0, size);
  begin_ += static_cast<std::ptrdiff_t>(with_end);
  check(line);
  if (!rules_.cr_ends_line && line.ends_with('\r')) line.remove_suffix(1);
  drop_byte_order_mark(line);
  ++lines_;
  if (filter_) line = filtered_ = filter_(line);
  return true;
}

/// Finds the size of the next block of the unread text. Returns false after the last block.
bool TextReader::find_block(size_t& size) {
  for (size_t searched = 0;;) {
    if (!open()) return false;
    // Reads in steps, so that a short text does not need the memory of a whole block.
    for (const size_t wanted = unread().size() + kBlockBytes;
         unread().size() < wanted && read_more();) {
    }
    const size_t last = unread().substr(searched).rfind('\n');
    size = last == std::string_view::npos ? 0 : searched + last + 1;
    if (!in_->good()) size = unread().size();
    if (size > 0) return true;
    searched = unread().size();
    if (!in_->good()) close();
  }
}

bool TextReader::next_block(std::string_view& block) {
  size_t size = 0, without_end = 0;
  if (!(rules_.line_by_line ? find_line(without_end, size) : find_block(size))) return false;
  block = unread().substr(0, size);
  begin_ += static_cast<std::ptrdiff_t>(size);
  check(block);
  drop_byte_order_mark(block);
  const bool ended = !block.empty() && line_ends(block.substr(block.size() - 1)) > 0;
  lines_ += line_ends(block) + (ended ? 0 : 1);
  if (filter_) {
    filtered_.clear();
    for_each_line(block, [&](std::string_view line, std::string_view end) {
      filtered_ += filter_(line);
      filtered_ += end;
    });
    block = filtered_;
  }
  return true;
}

void TextReader::drop_byte_order_mark(std::string_view& text) const {
  if (lines_ == 0 && rules_.drop_byte_order_mark && text.starts_with(kByteOrderMark))
    text.remove_prefix(kByteOrderMark.size());
}

int64_t TextReader::line_ends(std::string_view text) const {
  int64_t ends = std::count(text.begin(), text.end(), '\n');
  if (!rules_.cr_ends_line) return ends;
  for (size_t at = text.find('\r'); at < text.size(); at = text.find('\r', at + 1))
    if (!text.substr(at + 1).starts_with('\n')) ++ends;
  return ends;
}

/// Refuses NUL and invalid UTF-8 in the next lines, a byte-order mark included, so that bytes count
/// as in the file; and a CR inside a line, which is the end of a line that LF does not follow.
void TextReader::check(std::string_view text) const {
  const auto place_of = [&](size_t bad) {
    const std::string_view before = text.substr(0, bad);
    const size_t end = before.find_last_of(rules_.cr_ends_line ? "\n\r" : "\n");
    return concat(name_, ", line ", lines_ + 1 + line_ends(before), ", byte ",
                  bad - (end + 1) + 1);  // npos + 1 is 0
  };
  const size_t nul = rules_.refuse_nul ? text.find('\0') : std::string_view::npos;
  if (nul != std::string_view::npos) fail(place_of(nul), ": a NUL byte", why_invalid(text, nul));
  if (const size_t bad = find_invalid_utf8(text); bad != std::string_view::npos)
    fail(place_of(bad), ": ", hexadecimal(text[bad]), why_invalid(text, bad));
  const size_t cr = rules_.cr_ends_line ? std::string_view::npos : find_inner_cr(text);
  if (cr != std::string_view::npos)
    fail(place_of(cr),
         ": a CR inside a line, and lines end with LF or CRLF: convert the file with ",
         "`tr '\\r' '\\n'` if CR ends its lines, otherwise with `tr -d '\\r'`");
}

/// Whether bytes that were read are the last ones.
bool TextReader::ends_file(std::string_view text) const {
  return text.data() + text.size() == buffer_.data() + end_ && !in_->good();
}

/// Returns the end of the message about a wrong byte: what the byte shows, and what to do.
std::string TextReader::why_invalid(std::string_view text, size_t bad) const {
  constexpr std::ptrdiff_t kAround = 2048;
  const std::ptrdiff_t at = text.data() + bad - buffer_.data(),
                       begin = std::max(at - kAround, std::ptrdiff_t{0});
  const auto size = static_cast<size_t>(std::min(at + kAround, end_) - begin);
  if (looks_binary({buffer_.data() + begin, size}))
    return " among control characters: this seems to be a binary file; name a text";
  if (text[bad] == '\0') return ", which no text has: remove it, for example with `tr -d '\\000'`";
  if (ends_file(text) && is_cut_character(text.substr(bad)))
    return " begins a character whose end is missing at the end of the file: it was cut, for "
           "example by `head -c`; copy it again, or remove that character";
  return " is not valid UTF-8: convert the file, for example with `iconv -f LATIN1 -t UTF-8`";
}

std::string TextReader::place() const { return concat(name_, ", line ", lines_); }

bool parse_count(std::string_view text, int64_t& count) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc{} && end == text.data() + text.size() && count >= 0;
}

bool parse_number(std::string_view text, double& number) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const char* const stop = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), stop, number);
  const bool tiny = error == std::errc::result_out_of_range && is_tiny(text);
  if (tiny) number = 0;
  return end == stop && (tiny || error == std::errc{}) && std::isfinite(number);
}

void split_words(std::string_view line, std::vector<std::string_view>& words) {
  words.clear();
  for_each_word(line, [&](std::string_view word) { words.push_back(word); });
}

void read_sentences(const std::vector<std::string>& paths,
                    const std::function<void(std::span<const std::string_view>)>& visit) {
  TextReader reader(paths);
  std::vector<std::string_view> words;
  for (std::string_view line; reader.next_line(line);) {
    split_words(line, words);
    visit(words);
  }
}

}  // namespace nine
