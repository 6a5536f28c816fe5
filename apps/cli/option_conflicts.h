// Command lines whose flags are right one by one but not together.
#pragma once

#include <initializer_list>

#include "apps/cli/options.h"
#include "core/error.h"

namespace nine::app {

/// A UsageError of that text unless `ok`.
template <class... Text>
void usage(bool ok, const Text&... text) {
  if (!ok) throw UsageError(concat(text...));
}

/// Unless `fits`, a UsageError when one of the options with these configuration keys differs from
/// its default: they are for `what`.
void only_with(const Options& options, bool fits, const char* what,
               std::initializer_list<const char*> keys);

}  // namespace nine::app
