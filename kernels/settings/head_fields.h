// How head strings are cut into parts, the `NAME=VALUE` fields of their components, and the
// component `expr:{FORMULA}:NAME=VALUE:...`. Nothing between { and } is grammar of head strings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/scores/score.h"

namespace nine {

/// The parts of a head string between the characters `at` that are not within braces.
std::vector<std::string_view> split_head(std::string_view text, char at);
/// Where one of `characters` first stands outside of braces; npos: nowhere.
size_t find_outside_braces(std::string_view text, std::string_view characters);

/// One number of a component: `p=2`, `p=learn:2`, `p=learn+:2` or `p=learn`.
struct HeadField {
  std::string_view name;
  std::string_view value;  ///< a number or a word; learned: where it starts, or empty
  bool learned = false;
  bool plus = false;  ///< learn+: it is kept positive
};
/// The fields of a component from field `first` on; a UsageError says which is wrong, or was given
/// twice.
std::vector<HeadField> head_fields(std::string_view component, size_t first);

/// Sets number `i` of the score, which is called `what` in errors, to be learned from its value at
/// the moment on; `must_be_positive`: whatever the field says. UsageError: the value is not > 0
/// although it is kept positive.
void learn_number(Score& score, int i, const HeadField& field, bool must_be_positive,
                  const std::string& what);
/// Reads the field `scale`, of any kernel; a UsageError says what is wrong.
void read_scale(const HeadField& field, const std::string& kernel, Score& score);

/// ":NAME=VALUE", with learn or learn+ where number `i` of the score is learned.
/// `always_positive`: the kernel keeps it positive, so that learn says enough.
std::string number_text(const Score& score, int i, const std::string& name, bool always_positive);
/// ":scale=X"; "" where it is 1 and not learned.
std::string scale_text(const Score& score);

/// The whole text as a finite number.
bool read_number(std::string_view text, double& value);

/// Whether a component is a formula: "expr" or "expr:...".
bool is_formula(std::string_view component);

/// Reads such a component; a UsageError names the place in the formula, or the parameter.
Score parse_formula(std::string_view component);
/// The component in full, without spaces: parse_formula() of it is the same score.
std::string formula_text(const Score& score);

}  // namespace nine
