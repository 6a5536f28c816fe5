// Output heads by name: reading and writing head strings such as "mix:3*lin,log:p=1", whose grammar
// is described in docs/heads.md, section 9.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/scores/score.h"

namespace nine {

/// A parsed head string such as "lin", "pow:p=1" or "mix:3*lin,log": presets are expanded, and all
/// parameters have values.
struct HeadSpec {
  std::vector<Score> components{Score{}};
  /// True if there is a prior over the components: for `mix:` and head_presets(), even with one
  /// component.
  bool mixture = false;
  bool contexts = false;  ///< component k scores tanh(C_k' h) instead of h itself
  bool untied = false;    ///< true if each component has its own word vectors

  friend bool operator==(const HeadSpec&, const HeadSpec&) = default;

  int64_t size() const { return static_cast<int64_t>(components.size()); }
  /// Returns the head string with presets, @tuned (recorded parameters of a kernel) and default
  /// parameters written out, as config.json stores it. parse_head(to_text()) is the same head,
  /// unless HeadDefaults changed `contexts` or `untied`, which are not in the string.
  std::string to_text() const;
  /// Returns what is wrong with this head for vectors of d numbers, naming the component; "" if
  /// nothing.
  std::string check(int64_t d) const;
};

/// Settings beside the head string: defaults for what the string does not set.
struct HeadDefaults {
  /// Parameter `variance` of ssg and mog: split or a positive number; empty: the kernel's own
  /// default.
  std::string variance;
  /// Parameter `ball` of hpb: lorentz, tanh, clip or sigmoid; empty: the kernel's own default.
  std::string ball;
  /// none or tanh (HeadSpec::contexts); empty: tanh for mixtures, none for a single kernel.
  std::string head_context;
  bool untied = false;  ///< see HeadSpec
};

/// Reads a head string (docs/heads.md, section 9); a UsageError names the part that is wrong and
/// the nearest valid name.
HeadSpec parse_head(std::string_view text, const HeadDefaults& defaults = {});

/// Describes a kernel for kernel_inspect.
struct KernelInfo {
  const char* name = "";  ///< as in head strings
  const char* note = "";  ///< special cases and bounds
  std::span<const ParameterInfo> parameters;
};
/// Returns all kernels except expr, which is a formula, in the order of ScoreKind.
std::vector<KernelInfo> kernel_table();
/// Returns the kernel of a component.
KernelInfo kernel_info(const Score& score);
/// Returns a component's score, without its scale, as formulas.
KernelExpression kernel_expression(const Score& score);
/// Returns what is wrong with a component's numbers for vectors of d numbers; "" if nothing is.
std::string check_score(const Score& score, int64_t d);
/// Returns a component's text with all parameters, such as "hpb:ball=lorentz:shift=-2".
std::string to_text(const Score& score);
/// A preset: a name for a head string.
struct HeadPreset {
  const char *name, *text;
};
/// Returns the presets of mixtures: {"mos", "mix:9*lin"}, ...
std::span<const HeadPreset> head_presets();

}  // namespace nine
