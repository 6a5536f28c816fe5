// What the users of PCRE2 share: ownership, texts as PCRE2 takes them, and the meaning of errors.
#pragma once

#include <pcre2.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

namespace nine {

/// An object of PCRE2 and the function that frees it.
template <class T>
using Pcre2Owned = std::unique_ptr<T, void (*)(T*)>;

/// Returns a text as PCRE2 takes it; its size is the text's.
inline PCRE2_SPTR pcre2_bytes(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

/// Returns PCRE2's message of an error.
inline std::string pcre2_meaning(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  ::pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace nine
