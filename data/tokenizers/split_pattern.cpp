#include "data/tokenizers/split_pattern.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>

#include "core/error.h"
#include "core/quote.h"
#include "data/pcre2_text.h"
#include "data/text.h"

namespace nine {

namespace {

constexpr size_t kMostBytes = 4096;           // of a pattern
constexpr uint64_t kSteps = 100'000;          // of a search, besides those for each byte
constexpr uint64_t kStepsPerByte = 16;        // a search reads a byte a few times
constexpr uint32_t kMostKilobytes = 262'144;  // memory for backtracking

// Replaces \s and \S, which in PCRE2 also take U+180E for white space, by Unicode's White_Space.
std::string with_white_space(std::string_view pattern) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '\\' || i + 1 == pattern.size()) {
      out += pattern[i];
      continue;
    }
    const char letter = pattern[++i];
    if (letter == 's' || letter == 'S') {
      out += letter == 's' ? "\\p{White_Space}" : "\\P{White_Space}";
    } else {
      (out += '\\') += letter;
    }
  }
  return out;
}

}  // namespace

const char* pattern_of(Split split) {
  if (split == Split::gpt2)
    return R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
  return R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
}

struct SplitPattern::Compiled {
  Pcre2Owned<pcre2_code> code{nullptr, ::pcre2_code_free};
  bool jit = false;
};

SplitPattern::SplitPattern(const std::string& pattern) : text_(pattern) {
  require(!pattern.empty() && pattern.size() <= kMostBytes, "the pattern ", quote(pattern), " has ",
          pattern.size(), " bytes: give 1 to ", kMostBytes);
  require(find_invalid_utf8(pattern) == std::string_view::npos, "the pattern ", quote(pattern),
          " is not valid UTF-8");
  for (Split split : {Split::gpt2, Split::gpt4})
    if (pattern == pattern_of(split)) named_ = split;
  if (named_) return;
  const std::string text = with_white_space(pattern);
  auto compiled = std::make_shared<Compiled>();
  int error = 0;
  PCRE2_SIZE at = 0;
  compiled->code.reset(::pcre2_compile(pcre2_bytes(text), text.size(),
                                       PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &at,
                                       nullptr));
  if (!compiled->code) {
    if (error == PCRE2_ERROR_HEAP_FAILED) throw std::bad_alloc();
    fail("the pattern ", quote(pattern), " is not a regular expression: ", pcre2_meaning(error));
  }
  uint32_t may_be_empty = 0;
  ::pcre2_pattern_info(compiled->code.get(), PCRE2_INFO_MATCHEMPTY, &may_be_empty);
  require(may_be_empty == 0, "the pattern ", quote(pattern), " can match the empty text, which ",
          "Nine does not know: write it so that each match has a character");
  compiled->jit = ::pcre2_jit_compile(compiled->code.get(), PCRE2_JIT_COMPLETE) == 0;
  compiled_ = std::move(compiled);
}

struct SplitPattern::Search::Data {
  Pcre2Owned<pcre2_match_data> match{nullptr, ::pcre2_match_data_free};
  Pcre2Owned<pcre2_match_context> limits{nullptr, ::pcre2_match_context_free};
};

SplitPattern::Search::Search(const SplitPattern& pattern, std::string_view text)
    : pattern_(pattern), text_(text), data_(std::make_unique<Data>()) {
  data_->match.reset(::pcre2_match_data_create(1, nullptr));
  data_->limits.reset(::pcre2_match_context_create(nullptr));
  if (!data_->match || !data_->limits) throw std::bad_alloc();
  const uint64_t steps = kSteps + kStepsPerByte * text.size();
  ::pcre2_set_match_limit(data_->limits.get(), static_cast<uint32_t>(std::min<uint64_t>(
                                                   steps, std::numeric_limits<uint32_t>::max())));
  ::pcre2_set_heap_limit(data_->limits.get(), kMostKilobytes);
}

SplitPattern::Search::~Search() = default;

bool SplitPattern::Search::next(size_t& begin, size_t& end) {
  if (at_ >= text_.size()) return false;
  const pcre2_code* const code = pattern_.compiled_->code.get();
  pcre2_match_data* const match = data_->match.get();
  constexpr uint32_t kOptions = PCRE2_NO_UTF_CHECK;
  int result = PCRE2_ERROR_JIT_STACKLIMIT;
  if (pattern_.compiled_->jit)
    result = ::pcre2_jit_match(code, pcre2_bytes(text_), text_.size(), at_, kOptions, match,
                               data_->limits.get());
  // The interpreter takes its memory from the heap, whose limit is higher than that of JIT's stack.
  if (result == PCRE2_ERROR_JIT_STACKLIMIT)
    result = ::pcre2_match(code, pcre2_bytes(text_), text_.size(), at_, kOptions | PCRE2_NO_JIT,
                           match, data_->limits.get());
  if (result == PCRE2_ERROR_NOMATCH) return false;
  if (result == PCRE2_ERROR_NOMEMORY) throw std::bad_alloc();
  require(result >= 0, "the pattern ", quote(pattern_.text_), " cannot be searched for in ",
          quote(text_.substr(at_)), ": ", pcre2_meaning(result),
          "; write it without a repetition of a repetition, such as (a+)+");
  const PCRE2_SIZE* const ends = ::pcre2_get_ovector_pointer(match);
  // \K can move the beginning of a match behind its end, or before the last match.
  require(ends[0] >= at_ && ends[1] > ends[0], "the pattern ", quote(pattern_.text_),
          R"( moves the beginning of a match by \K: write it without \K)");
  begin = ends[0];
  at_ = end = ends[1];
  return true;
}

}  // namespace nine
