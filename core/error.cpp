#include "core/error.h"

namespace nine {
namespace {

std::string without_nul(std::string text) {
  for (size_t at = 0; (at = text.find('\0', at)) != std::string::npos; at += 2)
    text.replace(at, 1, "\\0");
  return text;
}

}  // namespace

Error::Error(const std::string& message) : std::runtime_error(without_nul(message)) {}

std::string bytes_text(uint64_t bytes) {
  const auto in_units_of = [&](int shift) { return (bytes + (uint64_t{1} << shift) - 1) >> shift; };
  if (bytes >= uint64_t{1} << 20) return concat(in_units_of(20), " MiB");
  if (bytes >= uint64_t{1} << 10) return concat(in_units_of(10), " KiB");
  return concat(bytes, " bytes");
}

}  // namespace nine
