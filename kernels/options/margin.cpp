#include "kernels/options/margin.h"

#include <charconv>
#include <cmath>
#include <numbers>

#include "core/quote.h"

namespace nine {
namespace {

constexpr const char* kForm = "none, cos:M, arc:M or lsm:M";

template <class... Parts>
[[noreturn]] void refuse(std::string_view text, const Parts&... parts) {
  throw UsageError(concat("margin ", quote(text), ": ", parts...));
}

}  // namespace

std::string to_text(const Margin& m) {
  return m ? concat(to_text(m.kind), ":", m.size) : to_text(m.kind);
}

Margin margin_from_text(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon),
                         number = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  Margin m;
  bool known = false;
  for (const auto& [kind, kind_name] : kEnumNames<Margin::Kind>.values)
    if (name == kind_name) m.kind = kind, known = true;
  if (!known)
    refuse(text, "no margin is called ", quote(name), "; write ", kForm,
           did_you_mean(name, enum_names<Margin::Kind>()));
  if (!m && colon == std::string_view::npos) return m;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), m.size);
  if (!m || error != std::errc{} || end != number.data() + number.size() || !std::isfinite(m.size))
    refuse(text, quote(number), " is not a number M; write ", kForm);
  if (m.size < 0) refuse(text, "M must be at least 0");
  if (m.kind == Margin::Kind::arc && m.size >= std::numbers::pi)
    refuse(text, "M is an angle in radians, from 0 to below pi");
  if (m.kind == Margin::Kind::lsm && (m.size < 1 || m.size > 64 || m.size != std::floor(m.size)))
    refuse(text, "M must be an integer from 1 to 64");
  return m;
}

}  // namespace nine
