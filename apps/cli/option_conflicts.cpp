#include "apps/cli/option_conflicts.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace nine::app {

void only_with(const Options& options, bool fits, const char* what,
               std::initializer_list<const char*> keys) {
  if (fits) return;
  const auto now = options.to_json(), before = options.defaults_json();
  for (std::string key : keys) {
    const bool same = now[key] == before[key];
    std::replace(key.begin(), key.end(), '_', '-');
    usage(same, "--", key, " is for ", what, "; leave it out, or give what it belongs to");
  }
}

}  // namespace nine::app
