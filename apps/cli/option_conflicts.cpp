#include "apps/cli/option_conflicts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace nine::app {

void only_with(const Options& options, bool fits, const char* what,
               std::initializer_list<const char*> keys) {
  if (fits) return;
  const auto now = options.to_json(), before = options.defaults_json();
  for (std::string key : keys) {
    const bool same = now[key] == before[key];
    std::replace(key.begin(), key.end(), '_', '-');
    require_usage(same, "--", key, " is for ", what, "; leave it out, or give what it belongs to");
  }
}

void refuse_idle_flags(const Options& options, const std::vector<FlagUse>& flags) {
  const auto now = options.to_json(), before = options.defaults_json();
  for (const FlagUse& f : flags) {
    std::string key = f.flag;
    std::replace(key.begin(), key.end(), '-', '_');
    require_usage(f.useful || now[key] == before[key], "--", f.flag,
                  " has no effect here: it needs ", f.needs);
  }
}

}  // namespace nine::app
