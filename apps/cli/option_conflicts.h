// Errors about flags that are valid separately, but not together.
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

/// Throws a UsageError, unless `fits`, if one of the options with these configuration keys differs
/// from its default. The message says that the option is for `what`.
void only_with(const Options& options, bool fits, const char* what,
               const std::vector<const char*>& keys);

/// A flag, and whether it has an effect together with the other flags of the command line.
struct FlagUse {
  std::string flag;   ///< without dashes in front
  bool useful;        ///< true if the flag has an effect
  std::string needs;  ///< what the flag needs to have an effect: "--schedule plateau"
};

/// Throws a UsageError if one of these flags has no effect and its value differs from its default.
/// It compares values, because a dumped configuration gives every flag and must be accepted again.
void refuse_idle_flags(const Options& options, const std::vector<FlagUse>& flags);

}  // namespace nine::app
