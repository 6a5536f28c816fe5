#include "apps/cli/option_conflicts.h"

#include <nlohmann/json.hpp>

#include "apps/cli/option_data.h"

namespace nine::app {

void only_with(const Options& options, bool fits, const char* what,
               const std::vector<const char*>& keys) {
  if (fits) return;
  const auto now = options.to_json(), before = options.defaults_json();
  for (const char* key : keys)
    require_usage(now[key] == before[key], "--", flag_of(key), " is for ", what,
                  "; leave it out, or give the options that it needs");
}

void refuse_idle_flags(const Options& options, const std::vector<FlagUse>& flags) {
  const auto now = options.to_json(), before = options.defaults_json();
  for (const FlagUse& f : flags) {
    const std::string key = key_of(f.flag);
    require_usage(f.useful || now[key] == before[key], "--", f.flag,
                  " has no effect here: it needs ", f.needs);
  }
}

}  // namespace nine::app
