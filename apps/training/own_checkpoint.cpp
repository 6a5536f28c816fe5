#include "apps/training/own_checkpoint.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "apps/training/compare_configs.h"
#include "core/error.h"
#include "core/json.h"

namespace nine::app {

namespace fs = std::filesystem;

Json resolved_of(const Json& config, const fs::path& file) {
  const auto object = [&](const Json& in, const char* key) {
    Json value = in.value(key, Json::object());
    require(value.is_object(), file.string(), ": ", unexpected_value(key, value, "an object"));
    return value;
  };
  Json resolved = object(config, "resolved");
  object(resolved, kIdentity);
  return resolved;
}

void require_own_checkpoint(const Checkpoint& checkpoint, const fs::path& config_file,
                            const Json& config, const Options& flags,
                            const std::vector<RunInputs::Former>& former) {
  constexpr const char* kWhere = "in that checkpoint";
  const fs::path file = checkpoint.file("config.json");
  const Json stored = flags.in_present_names(read_json_object(file));
  const Json was = resolved_of(stored, file), is = resolved_of(config, config_file);
  Json options = config;
  options.erase("resolved");
  RunInputs inputs{.identity = is.value(kIdentity, Json::object()), .former = former};
  const auto [of_options, of_inputs] = config_differences(stored, options, keys_free_on_resume(),
                                                          flags.defaults_json(), inputs, kWhere);
  std::string all = of_options + of_inputs;
  for (const char* key : {"parameters", "remainder", "gradient_sum"}) {
    const auto text = [&](const Json& resolved) {
      return resolved.contains(key) ? json_text(resolved[key]) : "not recorded";
    };
    if (text(was) != text(is))
      all += concat(key, " was ", text(was), " ", kWhere, ", now ", text(is), "; ");
  }
  if (!all.empty())
    throw UsageError(concat(file.string(), " is of another run than ", config_file.string(), ": ",
                            all,
                            "put the run's own checkpoint in its place, or move it away to go ",
                            "on from an earlier one, or use --restart or another --run"));
}

void require_own_best(const fs::path& checkpoints, int64_t step, const fs::path& config_file,
                      const Json& config, const Options& flags,
                      const std::vector<RunInputs::Former>& former) {
  for (const fs::path& directory : checkpoints_in(checkpoints)) {
    if (std::stoll(directory.filename().string()) != step) continue;
    std::optional<Checkpoint> best;
    try {
      best.emplace(directory, CheckpointUse::model);
    } catch (const Error&) {  // damaged, which the trainer says
      return;
    }
    require_own_checkpoint(*best, config_file, config, flags, former);
  }
}

}  // namespace nine::app
