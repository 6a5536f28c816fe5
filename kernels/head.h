// Output heads by name: the grammar of heads.md section 2. This build knows the inner product, `lin`; the other kernels
// and mixtures take their place in core/scores/ and here.
#pragma once

#include <string>
#include <string_view>

#include "core/scores/score.h"

namespace nine {

/// What a head string such as "lin" stands for.
struct HeadSpec {
  Score score;

  /// The string with everything resolved, as config.json stores it.
  std::string to_text() const;
};

/// Reads a head string; a UsageError names the part that is wrong and what is known.
HeadSpec parse_head(std::string_view text);

}  // namespace nine
