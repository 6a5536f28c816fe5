#include "data/tokenizers/token_text.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstring>
#include <memory>
#include <vector>

#include "core/error.h"
#include "core/quote.h"
#include "data/bpe_text.h"
#include "data/text.h"
#include "data/text_in_parts.h"

namespace nine {

namespace {

constexpr size_t kMostOfId = 12;  // bytes of an id and a space

// Writes an id in decimal, without a branch for each digit: to_chars() needs twice the time.
// Returns the end; bytes behind it are written too, kMostOfId in all at most.
char* write_id(char* to, int32_t id) {
  constexpr int32_t kDigits8 = 100'000'000;
  if (id < 0 || id >= kDigits8) return std::to_chars(to, to + kMostOfId, id).ptr;
  // Eight digits, the first in the lowest byte: two numbers of four digits, then four of two.
  const auto number = static_cast<uint64_t>(id);
  uint64_t digits = number / 10'000 | number % 10'000 << 32;
  const uint64_t hundreds = digits * 5243 >> 19 & 0x0000'007F'0000'007F;
  digits = hundreds | (digits - 100 * hundreds) << 16;
  const uint64_t tens = digits * 103 >> 10 & 0x000F'000F'000F'000F;
  digits = tens | (digits - 10 * tens) << 8;
  constexpr uint64_t kLast = uint64_t{1} << 56;  // the last digit is written also if it is 0
  const int zeros = std::countr_zero(digits | kLast) / 8;
  const uint64_t text = (digits | 0x3030'3030'3030'3030) >> 8 * zeros;
  std::memcpy(to, &text, sizeof text);
  return to + sizeof text - zeros;
}

void append_ids(const std::vector<int32_t>& ids, std::string& out) {
  const size_t begin = out.size();
  out.resize(begin + kMostOfId * ids.size());
  char* at = out.data() + begin;
  for (const int32_t id : ids) {
    at = write_id(at, id);
    *at++ = ' ';
  }
  if (!ids.empty()) --at;
  out.resize(static_cast<size_t>(at - out.data()));
}

void append_tokens(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, std::string& out) {
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string_view token = tokenizer.token(ids[i]);
    require(token.find_first_of(" \n") == std::string_view::npos, "the token ", quote(token),
            " has a space or an end of line, which a line of tokens cannot hold: write ids");
    if (i > 0) out += ' ';
    out += token;
  }
}

// Calls f(line, end) for each line of a block. An error becomes a LineError.
template <class F>
void for_each_numbered_line(std::string_view block, F&& f) {
  int64_t number = 0;
  for_each_text_line(block, [&](std::string_view line, std::string_view end) {
    ++number;
    try {
      f(line, end);
    } catch (const OutOfMemory&) {
      throw;
    } catch (const Error& e) {
      throw LineError(number, e.what());
    }
  });
}

}  // namespace

int64_t encode_lines(const Tokenizer& tokenizer, const TokenText& how, std::string_view block,
                     TokenCache& cache, std::string& out) {
  const int32_t unknown_id = tokenizer.unknown();
  int64_t unknown = 0;
  std::vector<int32_t> ids;
  for_each_numbered_line(block, [&](std::string_view line, std::string_view end) {
    ids.clear();
    tokenizer.encode(line, how.encode, cache, ids);
    if (unknown_id != Tokenizer::kNone) unknown += std::ranges::count(ids, unknown_id);
    if (how.form == TokenForm::ids) {
      append_ids(ids, out);
    } else {
      append_tokens(tokenizer, ids, out);
    }
    out += end;
  });
  return unknown;
}

void decode_lines(const Tokenizer& tokenizer, const TokenText& how, std::string_view block,
                  std::string& out) {
  std::vector<int32_t> ids;
  for_each_numbered_line(block, [&](std::string_view line, std::string_view end) {
    ids.clear();
    std::string_view fields = line;
    if (fields.ends_with('\r')) fields.remove_suffix(1);
    for_each_bpe_word(fields, [&](std::string_view field) {
      int32_t id = Tokenizer::kNone;
      if (how.form == TokenForm::tokens) {
        id = tokenizer.find(field);
        require(id >= 0, quote(field), " is no token of the tokenizer");
      } else {
        const auto [stop, error] = std::from_chars(field.data(), field.data() + field.size(), id);
        require(error == std::errc() && stop == field.data() + field.size() && id >= 0 &&
                    id < tokenizer.size(),
                quote(field), " is no id of the tokenizer, whose ids are 0 to ",
                tokenizer.size() - 1);
      }
      ids.push_back(id);
    });
    tokenizer.decode(ids, how.keep_special, out);
    out += end;
  });
}

int64_t encode_text(const Tokenizer& tokenizer, const TokenText& how, TextReader& text,
                    const std::function<void(std::string_view)>& write) {
  std::atomic<int64_t> unknown = 0;
  const auto for_thread = [&]() -> ChangePart {
    return [&, cache = std::make_shared<TokenCache>()](std::string_view part, std::string& out) {
      unknown += encode_lines(tokenizer, how, part, *cache, out);
    };
  };
  change_in_parts(text, for_thread, write);
  return unknown;
}

void decode_text(const Tokenizer& tokenizer, const TokenText& how, TextReader& text,
                 const std::function<void(std::string_view)>& write) {
  const auto for_thread = [&]() -> ChangePart {
    return
        [&](std::string_view part, std::string& out) { decode_lines(tokenizer, how, part, out); };
  };
  change_in_parts(text, for_thread, write);
}

}  // namespace nine
