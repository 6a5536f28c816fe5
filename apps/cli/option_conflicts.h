// Errors about flags that are valid separately, but not together.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
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

/// Throws a UsageError if one of the options with these configuration keys was given as an empty
/// text, as a shell does with an empty variable: the program would do as if nobody had given it.
void refuse_empty(const Options& given, std::initializer_list<const char*> keys);

/// Throws a UsageError if the name of an output ends as another kind of file does: a program writes
/// its own format under any name, and a viewer goes by the name. `what` ("an SVG figure") is
/// written, `ending` (".svg") is its name's.
void require_format(const char* flag, const std::string& file, const char* what,
                    std::string_view ending);

}  // namespace nine::app
