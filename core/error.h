// Errors of Nine: exceptions whose message is a sentence that a user can act on. The message names
// the op, the shapes or the setting, and says what to do.
//
//   require(a.cols() == b.rows(), "[matmul] inner dimensions differ: ", a.shape, " x ", b.shape);
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/number_format.h"

namespace nine {

/// A failure; programs exit with 1.
class Error : public std::runtime_error {
 public:
  /// Writes a NUL character of the message as \0, because what() would end there. Messages that
  /// quote input may hold NUL characters.
  explicit Error(const std::string& message);
};

/// A wrong command line or configuration; programs exit with 2 instead of 1.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// A lack of memory. Programs add to the message the options that reduce memory use
/// (apps/cli/run_main.h).
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// Returns a number of bytes as text, rounded up to a whole unit: "12 MiB", "3 KiB", "100 bytes".
std::string bytes_text(uint64_t bytes);

namespace detail {
template <class T>
void append(std::string& out, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    out += value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, char>) {
    out += value;
  } else if constexpr (std::is_floating_point_v<T>) {
    out += shortest(static_cast<double>(value));
  } else if constexpr (std::is_arithmetic_v<T>) {
    out += std::to_string(value);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    out += std::string_view(value);
  } else {
    out += to_text(value);  // found by argument-dependent look-up: Shape, DType, Device, ...
  }
}
}  // namespace detail

/// Returns the texts of all arguments, joined. An argument is a string, a bool, a number (shortest
/// form for floating point), or of a type with a free function to_text(x).
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string out;
  (detail::append(out, parts), ...);
  return out;
}

/// Throws Error with the joined text.
template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw Error(concat(parts...));
}

/// Throws UsageError with the joined text.
template <class... Parts>
[[noreturn]] void fail_usage(const Parts&... parts) {
  throw UsageError(concat(parts...));
}

/// Throws Error with the joined text unless `ok`. The text is made only if `ok` is false.
template <class... Parts>
void require(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]]
    fail(parts...);
}

}  // namespace nine
