// Errors about flags that are valid one by one but not together.
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

/// A flag, and whether it has an effect together with the other flags.
struct FlagUse {
  std::string flag;   ///< without dashes in front
  bool useful;        ///< it has an effect
  std::string needs;  ///< what it would need: "--schedule plateau"
};

/// A UsageError when one of these flags would have no effect and its value differs from its
/// default. (Values are compared, not what was given: a dumped configuration names every flag and
/// must be readable again.)
void refuse_idle_flags(const Options& options, const std::vector<FlagUse>& flags);

}  // namespace nine::app
