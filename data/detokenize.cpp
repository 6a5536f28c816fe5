#include "data/detokenize.h"

#include <algorithm>
#include <array>
#include <new>
#include <set>
#include <vector>

#include "core/error.h"
#include "core/quote.h"
#include "data/pcre2_text.h"
#include "data/text.h"

namespace nine {
namespace {

// A class of words, as a regular expression.
class WordClass {
 public:
  explicit WordClass(std::string_view pattern)
      : code_(compiled(pattern)),
        data_(::pcre2_match_data_create(1, nullptr), ::pcre2_match_data_free) {
    if (!data_) throw std::bad_alloc();
  }
  bool has(std::string_view word) const {
    return ::pcre2_match(code_.get(), pcre2_bytes(word), word.size(), 0, 0, data_.get(), nullptr) >=
           0;
  }

 private:
  static Pcre2Owned<pcre2_code> compiled(std::string_view pattern) {
    int error = 0;
    PCRE2_SIZE at = 0;
    Pcre2Owned<pcre2_code> code(
        ::pcre2_compile(pcre2_bytes(pattern), pattern.size(),
                        PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | PCRE2_DOLLAR_ENDONLY,
                        &error, &at, nullptr),
        ::pcre2_code_free);
    require(code != nullptr, "[WordClass] ", pattern, ": ", pcre2_meaning(error));
    return code;
  }

  Pcre2Owned<pcre2_code> code_;
  Pcre2Owned<pcre2_match_data> data_;
};

// Characters of scripts that put no spaces between words. Korean, which does, is left out.
constexpr const char* kCjk =
    "[\\x{2E80}-\\x{3130}\\x{3190}-\\x{31FF}\\x{3220}-\\x{325F}\\x{3280}-\\x{A4CF}"
    "\\x{F900}-\\x{FAFF}\\x{FE30}-\\x{FE4F}\\x{FF01}-\\x{FF9F}\\x{20000}-\\x{3FFFF}]";

// The words that the rules name.
struct WordClasses {
  // Moses
  WordClass quote{"^(?:['\"`]|[„“”‚‘’«»‹›])+$"}, french_quote{"^[«»‹›]+$"};
  WordClass opening{R"(^[\p{Sc}(\[{¿¡]+$)"}, currency{R"(^\p{Sc}+$)"};
  WordClass closing{R"(^[,.?!:;\\%}\]\)…]+$)"}, french_closing{R"(^[?!:;\\%]$)"};
  WordClass contraction{"^(?:['’]\\p{L}|[nN]['’][tT]$)"}, elision{"\\p{L}['’]$"};
  WordClass cjk_first{concat("^", kCjk)}, cjk_last{concat(kCjk, "$")};
  // 13a, which splits off only ASCII
  WordClass opening_13a{R"(^[(\[{$#]$)"}, closing_13a{R"(^[,.?!:;%}\])]$)"}, quote_13a{"^[\"`]$"};
  // Both
  WordClass letter{"^\\p{L}"}, one_letter{"^\\p{L}$"};
  WordClass digit_first{"^[.,]?[0-9]"}, digit_last{"[0-9]$"}, alphanumeric{"^[\\p{L}\\p{N}]"};
};

// The neighbours that a word touches.
struct Joint {
  bool left = false, right = false;
  bool apart = false;  // true: from the word before, even if that touches this word
};
constexpr Joint kLeft{.left = true}, kRight{.right = true}, kBoth{.left = true, .right = true};

class Joiner {
 public:
  explicit Joiner(const DetokenizeOptions& o)
      : moses_(o.rules == Detokenizing::moses),
        english_(o.language == "en"),
        french_(o.language == "fr"),
        elides_(french_ || o.language == "it" || o.language == "ca" || o.language == "ga"),
        spaced_(o.language == "ko") {}

  std::string join(std::vector<std::string> words) {
    words_ = std::move(words);
    std::string out;
    Joint before;
    for (size_t i = 0; i < words_.size(); ++i) {
      const Joint joint = moses_ ? moses(i) : mteval_13a(i);
      if (i > 0 && (joint.apart || (!joint.left && !before.right))) out += ' ';
      out += words_[i];
      before = joint;
    }
    return out;
  }

 private:
  static const WordClasses& classes() {
    static thread_local const WordClasses all;
    return all;
  }
  std::string_view word(size_t i) const {
    return i < words_.size() ? words_[i] : std::string_view();
  }
  std::string_view word_before(size_t i) const { return i > 0 ? word(i - 1) : std::string_view(); }

  Joint moses(size_t i) {
    const WordClasses& is = classes();
    std::string& w = words_[i];
    const std::string_view before = word_before(i), after = word(i + 1);
    if (w.size() == 3 && w.front() == '@' && w.back() == '@' &&
        std::string_view("-/,.:").find(w[1]) != std::string_view::npos) {
      w = w[1];
      return kBoth;
    }
    if (!spaced_ && is.cjk_first.has(w) && is.cjk_last.has(before)) return kLeft;
    if (is.currency.has(w) && is.digit_last.has(before) && !is.digit_first.has(after)) return {};
    if (is.opening.has(w)) return kRight;
    if (is.closing.has(w))
      return french_ && is.french_closing.has(w) ? Joint{.apart = true} : kLeft;
    if (english_ && i > 0 && is.contraction.has(w)) return kLeft;
    if (elides_ && is.elision.has(w) && is.letter.has(after)) return kRight;
    if (french_ && is.french_quote.has(w)) return {};
    if (is.quote.has(w)) return quote(w, before);
    return {};
  }

  Joint mteval_13a(size_t i) {
    const WordClasses& is = classes();
    const std::string_view w = words_[i], before = word_before(i), after = word(i + 1);
    const bool after_digit = is.digit_last.has(before);
    if (w == "/" || w == "_" || w == "@") return kBoth;
    if (w == ":" && after_digit && is.digit_first.has(after)) return kBoth;
    if (w == "-" && after_digit && is.alphanumeric.has(after)) return kBoth;
    if (w == "." && is.one_letter.has(before) && is.one_letter.has(after)) return kBoth;
    if (w == "'" && (before == "." || before == ",")) return kLeft;
    if (is.opening_13a.has(w)) return kRight;
    if (is.closing_13a.has(w)) return kLeft;
    if (is.quote_13a.has(w)) return quote(words_[i], before);
    return {};
  }

  // The first quote of a kind opens, the next one closes.
  Joint quote(const std::string& w, std::string_view before) {
    const bool single = w == "'" || w == "’" || w == "‘" || w == "‚",
               doubled = w == "\"" || w == "„" || w == "“" || w == "”" || w == "``" || w == "''";
    const bool opens = w == "„" || w == "‚" || w == "``";
    const std::string kind = single                 ? "'"
                             : doubled              ? "\""
                             : w == "»" || w == "«" ? "«"
                             : w == "›" || w == "‹" ? "‹"
                                                    : w;
    if (!opens && open_.erase(kind) > 0) return kLeft;
    // the girls ' dresses
    if (english_ && (w == "'" || w == "’") && before.ends_with('s')) return kLeft;
    open_.insert(kind);
    return kRight;
  }

  bool moses_, english_, french_, elides_, spaced_;
  std::vector<std::string> words_;
  std::set<std::string> open_;  // kinds of quotes
};

// Replaces the escapes of Moses, of its older versions too.
std::string unescaped(std::string_view word) {
  static constexpr std::array<std::pair<std::string_view, char>, 11> kEscapes{{{"&#124;", '|'},
                                                                               {"&#91;", '['},
                                                                               {"&#93;", ']'},
                                                                               {"&amp;", '&'},
                                                                               {"&apos;", '\''},
                                                                               {"&bar;", '|'},
                                                                               {"&bra;", '['},
                                                                               {"&gt;", '>'},
                                                                               {"&ket;", ']'},
                                                                               {"&lt;", '<'},
                                                                               {"&quot;", '"'}}};
  std::string out;
  while (!word.empty()) {
    const auto* const found = std::find_if(
        kEscapes.begin(), kEscapes.end(), [&](const auto& e) { return word.starts_with(e.first); });
    const bool escape = found != kEscapes.end();
    out += escape ? found->second : word.front();
    word.remove_prefix(escape ? found->first.size() : 1);
  }
  return out;
}

}  // namespace

void check_language(const std::string& language) {
  const auto small = [](char c) { return c >= 'a' && c <= 'z'; };
  require(language.size() == 2 && std::ranges::all_of(language, small), quote(language),
          " is not a code of two small letters, such as en or fr (ISO 639-1)");
}

std::string detokenize(std::string_view line, const DetokenizeOptions& options) {
  if (options.rules == Detokenizing::none) return std::string(line);
  check_language(options.language);
  std::vector<std::string> words;
  for_each_word(line, [&](std::string_view word) {
    words.push_back(options.rules == Detokenizing::moses ? unescaped(word) : std::string(word));
  });
  return Joiner(options).join(std::move(words));
}

}  // namespace nine
