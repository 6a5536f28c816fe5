#include "kernels/options/regularisers.h"

#include <charconv>
#include <cmath>
#include <vector>

#include "core/ops.h"
#include "core/quote.h"
#include "kernels/ops.h"

namespace nine {
namespace {

// Returns the number >= 0 that `part` of `text` consists of; `form` describes the whole text.
template <NamedEnum Kind>
double number(std::string_view text, std::string_view part, const char* form) {
  double x = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), x);
  if (error != std::errc{} || end != part.data() + part.size() || !(x >= 0) || !std::isfinite(x))
    throw UsageError(concat(kEnumNames<Kind>.what, " ", text, ": ", quote(part),
                            " is not a number >= 0; write ", form));
  return x;
}

// Returns the penalty that `text` names in the form `form`.
template <NamedEnum Kind>
Kind penalty_named(std::string_view name, std::string_view text, const char* form) {
  for (const auto& [kind, known] : kEnumNames<Kind>.values)
    if (name == known) return kind;
  throw UsageError(concat(kEnumNames<Kind>.what, " ", text, ": no penalty is called ", quote(name),
                          "; write ", form));
}

struct Parts {
  std::string_view name, rest;
};
Parts split(std::string_view text, char at) {
  const size_t i = text.find(at);
  return i == std::string_view::npos ? Parts{text, {}}
                                     : Parts{text.substr(0, i), text.substr(i + 1)};
}

}  // namespace

std::string to_text(const PriorRegulariser& r) {
  return r.strength == 0 ? std::string() : concat(to_text(r.kind), ":", r.strength);
}

PriorRegulariser prior_regulariser_from_text(std::string_view text) {
  constexpr const char* kForm = "variance:RHO or cv2:RHO";
  if (text.empty()) return {};
  const auto [name, rest] = split(text, ':');
  const auto kind = penalty_named<ops::PriorPenalty>(name, text, kForm);
  return {kind, number<ops::PriorPenalty>(text, rest, kForm)};
}

std::string to_text(const NormRegulariser& r) {
  return r.strength == 0 ? std::string() : concat(to_text(r.kind), ":", r.strength, ",", r.norm);
}

NormRegulariser norm_regulariser_from_text(std::string_view text) {
  using Kind = NormRegulariser::Kind;
  constexpr const char* kForm = "squared:RHO,NU or root:RHO,NU";
  if (text.empty()) return {};
  const auto [name, rest] = split(text, ':');
  const auto kind = penalty_named<Kind>(name, text, kForm);
  const auto [strength, norm] = split(rest, ',');
  return {kind, number<Kind>(text, strength, kForm), number<Kind>(text, norm, kForm)};
}

Var norm_penalty(std::span<const Var> w, const NormRegulariser& r) {
  require(!w.empty(), "[norm_penalty] needs word vectors");
  Tape& tape = w.front().tape();
  const std::span<const Var> all = tape.keep(w);
  const Var y = tape.result("norm_penalty", {}, DType::float64, all),
            squares = tape.result("norm_penalty", {}, DType::float64, {});
  for (size_t i = 0; i < all.size(); ++i)
    ops::row_norm_penalty(all[i].value(), r.norm, {squares.value(), i > 0});
  const bool root = r.kind == NormRegulariser::Kind::root;
  const double sum = squares.value().item(), value = root ? std::sqrt(sum) : sum;
  ops::fill(y.value(), r.strength * value);
  // d sqrt(s) = ds / (2 sqrt(s)), 0 where the root is 0.
  const double factor = !root ? r.strength : value > 0 ? r.strength / (2 * value) : 0;
  return tape.record(y, [y, all, factor, norm = r.norm] {
    for (const Var& x : all)
      if (const OutputView dx = x.grad_input(); dx.view)
        ops::row_norm_penalty_backward(x.value(), norm, factor, y.grad_output(), dx);
  });
}

}  // namespace nine
