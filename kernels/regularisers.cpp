#include "kernels/regularisers.h"

#include <charconv>
#include <cmath>
#include <vector>

namespace nine {
namespace {

std::string number_text(double x) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, x).ptr};
}

// A number >= 0, all of the text.
double number(const char* option, std::string_view text, std::string_view part, const char* form) {
  double x = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), x);
  if (error != std::errc{} || end != part.data() + part.size() || !(x >= 0) || !std::isfinite(x))
    throw UsageError(
        concat(option, " ", text, ": '", part, "' is not a number >= 0; write ", form));
  return x;
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
  if (r.strength == 0) return {};
  return concat(r.kind == ops::PriorPenalty::variance ? "variance:" : "cv2:",
                number_text(r.strength));
}

PriorRegulariser prior_regulariser_from_text(std::string_view text) {
  constexpr const char *kOption = "--pi-reg", *kForm = "variance:RHO or cv2:RHO";
  if (text.empty()) return {};
  const auto [name, rest] = split(text, ':');
  if (name != "variance" && name != "cv2")
    throw UsageError(
        concat(kOption, " ", text, ": no penalty is called '", name, "'; write ", kForm));
  return {name == "cv2" ? ops::PriorPenalty::cv2 : ops::PriorPenalty::variance,
          number(kOption, text, rest, kForm)};
}

std::string to_text(const NormRegulariser& r) {
  if (r.strength == 0) return {};
  return concat(r.kind == NormRegulariser::Kind::squared ? "squared:" : "root:",
                number_text(r.strength), ",", number_text(r.norm));
}

NormRegulariser norm_regulariser_from_text(std::string_view text) {
  constexpr const char *kOption = "--weight-norm-reg", *kForm = "squared:RHO,NU or root:RHO,NU";
  if (text.empty()) return {};
  const auto [name, rest] = split(text, ':');
  if (name != "squared" && name != "root")
    throw UsageError(
        concat(kOption, " ", text, ": no penalty is called '", name, "'; write ", kForm));
  const auto [strength, norm] = split(rest, ',');
  return {name == "root" ? NormRegulariser::Kind::root : NormRegulariser::Kind::squared,
          number(kOption, text, strength, kForm), number(kOption, text, norm, kForm)};
}

Var norm_penalty(std::span<const Var> w, const NormRegulariser& r) {
  require(!w.empty(), "[norm_penalty] needs word vectors");
  Tape& tape = w.front().tape();
  const std::span<const Var> all = tape.keep(w);
  const Var y = tape.result("norm_penalty", {}, DType::float64, all),
            gaps = tape.result("norm_penalty", {}, DType::float64, {});
  for (size_t i = 0; i < all.size(); ++i)
    ops::row_norm_penalty(all[i].value(), r.norm, {gaps.value(), i > 0});
  const bool root = r.kind == NormRegulariser::Kind::root;
  const double sum = gaps.value().item(), value = root ? std::sqrt(sum) : sum;
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
