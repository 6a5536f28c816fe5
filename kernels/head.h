// Output heads by name: the grammar of heads.md section 2.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/scores/score.h"

namespace nine {

/// What a head string such as "lin", "pow:p=1" or "mix:3*lin,log" stands for, with everything
/// resolved.
struct HeadSpec {
  std::vector<Score> components{Score{}};
  bool mixture = false;   ///< a `mix:` or preset has a prior over components, also with one of them
  bool contexts = false;  ///< component k sees tanh(C_k' h), not h itself
  bool untied = false;    ///< word vectors of its own for each component

  friend bool operator==(const HeadSpec&, const HeadSpec&) = default;

  int64_t size() const { return static_cast<int64_t>(components.size()); }
  /// The string with presets, @tuned and parameters written out, as config.json stores it:
  /// parse_head(to_text()) is the same head.
  std::string to_text() const;
  /// What is wrong with this head for vectors of d numbers, naming the component; "" if nothing.
  std::string check(int64_t d) const;
};

/// Settings beside the head string: each fills in what a component does not say itself.
struct HeadDefaults {
  /// ssg and mog: split or a positive number; empty: the kernel's own default.
  std::string variance;
  /// hpb: lorentz, tanh, clip or sigmoid; empty: the kernel's own default.
  std::string ball;
  /// none or tanh (HeadSpec::contexts); empty: tanh for mixtures, none for a single kernel.
  std::string head_context;
  bool untied = false;  ///< see HeadSpec
};

/// Reads a head string (docs/heads.md); a UsageError names the part that is wrong and the nearest
/// thing that is known.
HeadSpec parse_head(std::string_view text, const HeadDefaults& defaults = {});

/// One kernel as people read it.
struct KernelInfo {
  const char *name = "", *formula = "", *derivative = "", *note = "";
  std::span<const ParameterInfo> parameters;
};
/// All of them, in the order of heads.md section 1.
std::vector<KernelInfo> kernel_table();
/// The kernel of a component.
KernelInfo kernel_info(ScoreKind kind);
/// A component with its parameters in full, such as "hpb:ball=lorentz:shift=-2".
std::string to_text(const Score& score);
/// Presets of mixtures with what they stand for: {"mos", "mix:9*lin"}, ...
struct HeadPreset {
  const char *name, *text;
};
std::span<const HeadPreset> head_presets();

}  // namespace nine
