#include "apps/training/compare_configs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/cli/option_data.h"
#include "core/error.h"
#include "core/json.h"

namespace nine::app {
namespace {

std::string value_text(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  if (value.is_string())
    return value.get<std::string>().empty() ? "not given" : value.get<std::string>();
  if (!value.is_array()) return json_text(value);
  std::string out;
  for (const Json& item : value)
    out +=
        (out.empty() ? "" : ",") + (item.is_string() ? item.get<std::string>() : json_text(item));
  return out.empty() ? "not given" : out;
}

std::string difference(const std::string& key, const Json& now, const Json& stored,
                       const Json& defaults) {
  if (const auto was = stored.find(key); was != stored.end())
    return *was == now ? std::string{}
                       : concat("--", flag_of(key), " was ", value_text(*was), " in this run, now ",
                                value_text(now));
  if (const auto usual = defaults.find(key); usual != defaults.end() && *usual != now)
    return concat("--", flag_of(key), " did not exist when this run began, now ", value_text(now));
  return {};
}

// As it comes back from config.json, which has neither bytes that are not UTF-8 (of a path, say)
// nor numbers that are not finite.
Json as_stored(const Json& config) { return parse_json(json_text(config)); }

}  // namespace

const std::vector<std::string>& keys_free_on_resume() {
  static const std::vector<std::string> keys{
      "after",   "threads",     "keep",        "save_every", "profile",    "run",
      "restart", "tensorboard", "mpi_timeout", "other_gpu",  "max_unknown"};
  return keys;
}

std::string compare_configs(const Json& stored, const Json& now,
                            const std::vector<std::string>& free_keys, const Json& defaults) {
  std::string out;
  const Json given = as_stored(now), usual = as_stored(defaults);
  for (const auto& [key, value] : given.items()) {
    if (std::find(free_keys.begin(), free_keys.end(), key) != free_keys.end()) continue;
    if (const std::string text = difference(key, value, stored, usual); !text.empty())
      out += text + "; ";
  }
  return out.empty() ? out : out + "use --restart or another --run";
}

}  // namespace nine::app
