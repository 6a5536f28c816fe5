#include "data/tokenizers/unicode_forms.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#ifdef NINE_WITH_UTF8PROC
#include <utf8proc.h>
#endif

#include "core/error.h"
#include "data/unicode.h"

namespace nine {

namespace {

bool is_separator(std::string_view text) { return text[0] >= 0x1C && text[0] <= 0x1F; }

}  // namespace

size_t white_space_at_start(std::string_view text) {
  return text.empty() || is_separator(text) ? 0 : space_at_start(text);
}

size_t white_space_at_end(std::string_view text) {
  return text.empty() || is_separator(text.substr(text.size() - 1)) ? 0 : space_at_end(text);
}

#ifdef NINE_WITH_UTF8PROC

bool has_unicode_forms() { return true; }

void normalize_unicode(std::string& text, UnicodeForm form) {
  if (std::all_of(text.begin(), text.end(), [](char c) { return static_cast<uint8_t>(c) < 0x80; }))
    return;
  const bool composes = form == UnicodeForm::nfc || form == UnicodeForm::nfkc;
  const bool compatible = form == UnicodeForm::nfkc || form == UnicodeForm::nfkd;
  const auto options = static_cast<utf8proc_option_t>(
      UTF8PROC_STABLE | (composes ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
      (compatible ? UTF8PROC_COMPAT : 0));
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t size =
      ::utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                     static_cast<utf8proc_ssize_t>(text.size()), &made, options);
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owned(made, std::free);
  if (size == UTF8PROC_ERROR_NOMEM) throw std::bad_alloc();
  require(size >= 0, "a text of ", text.size(),
          " bytes cannot be normalised: ", ::utf8proc_errmsg(size));
  text.assign(reinterpret_cast<const char*>(made), static_cast<size_t>(size));
}

#else

bool has_unicode_forms() { return false; }

void normalize_unicode(std::string&, UnicodeForm) {
  fail(
      "this copy of Nine was built without utf8proc, which normalises text: install "
      "libutf8proc-dev and build Nine again");
}

#endif

}  // namespace nine
