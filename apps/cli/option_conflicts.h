// Command lines whose flags are right one by one but not together.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "apps/cli/options.h"
#include "core/error.h"

namespace nine::app {

/// As require(), but throws a UsageError.
template <class... Text>
void require_usage(bool ok, const Text&... text) {
  if (!ok) throw UsageError(concat(text...));
}

/// Unless `fits`, a UsageError when one of the options with these configuration keys differs from
/// its default: they are for `what`.
void only_with(const Options& options, bool fits, const char* what,
               std::initializer_list<const char*> keys);

/// A flag and whether it does anything beside the others.
struct FlagUse {
  std::string flag;  ///< without dashes in front
  bool useful;
  std::string needs;  ///< what it would need: "--schedule plateau"
};

/// A UsageError when one of these flags would do nothing and its value differs from its default.
/// (Values are compared, not what was given: a dumped configuration names every flag and must be
/// readable again.)
void refuse_idle_flags(const Options& options, const std::vector<FlagUse>& flags);

}  // namespace nine::app
