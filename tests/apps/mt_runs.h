// What the suites of mt_train share: a text, and trainings that take a moment.
#pragma once

#include <string>
#include <vector>

#include "tests/support/programs.h"

namespace nine::tests {

using Strings = std::vector<std::string>;

/// The flags of a model so small that an update takes a millisecond.
Strings tiny(const std::string& run, const Strings& more = {});

/// Runs mt_train.
Outcome train(const Strings& arguments);

/// A text whose translation is the source reversed, in capitals.
struct Reversed {
  TemporaryDirectory dir;
  explicit Reversed(int pairs = 200);
  /// The flags of training and validation on it.
  Strings files(const Strings& more = {}) const;
};

}  // namespace nine::tests
