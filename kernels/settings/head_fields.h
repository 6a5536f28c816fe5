// Cuts head strings into parts, and reads the `NAME=VALUE` fields of their components and the
// component `expr:{FORMULA}:NAME=VALUE:...`. Text between { and } is not part of the grammar of
// head strings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/scores/score.h"

namespace nine {

/// Splits a head string at each character `at` outside of braces.
std::vector<std::string_view> split_head(std::string_view text, char at);
/// Returns the first place of one of `characters` outside of braces; npos if there is none.
size_t find_outside_braces(std::string_view text, std::string_view characters);

/// A number of a component: `p=2`, `p=learn:2`, `p=learn+:2` or `p=learn`.
struct HeadField {
  std::string_view name;
  std::string_view value;  ///< a number or a word; if learned, the start, which may be empty
  bool learned = false;
  bool plus = false;  ///< true for learn+: the number is kept positive
};
/// Returns the fields of a component from field `first` on. A UsageError names a wrong or repeated
/// field.
std::vector<HeadField> head_fields(std::string_view component, size_t first);

/// Makes number `i` of the score a learned number, which starts from its present value. The number
/// is kept positive if the field says so or `must_be_positive` is set. UsageError, which calls the
/// number `what`: a number that is kept positive does not start above 0.
void learn_number(Score& score, int i, const HeadField& field, bool must_be_positive,
                  const std::string& what);
/// Reads the field `scale` of any kernel. A UsageError says what is wrong.
void read_scale(const HeadField& field, const std::string& kernel, Score& score);

/// Returns ":NAME=VALUE", with learn or learn+ if number `i` of the score is learned. With
/// `always_positive` the kernel keeps the number positive, so learn is written instead of learn+.
std::string number_text(const Score& score, int i, const std::string& name, bool always_positive);
/// Returns ":scale=X", or "" if the scale is 1 and not learned.
std::string scale_text(const Score& score);

/// Reads the whole text as a finite number. Returns false if it is not a finite number.
bool read_number(std::string_view text, double& value);

/// True if a component is a formula: "expr" or "expr:...".
bool is_formula(std::string_view component);

/// Reads a component that is a formula. A UsageError names the place in the formula, or the
/// parameter.
Score parse_formula(std::string_view component);
/// Returns the component's whole text, without spaces. parse_formula() of this text is the same
/// score.
std::string formula_text(const Score& score);

}  // namespace nine
