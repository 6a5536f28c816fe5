#include "apps/training/own_checkpoint.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/training/compare_configs.h"
#include "core/error.h"
#include "core/json.h"
#include "core/quote.h"
#include "data/vocabulary.h"
#include "nn/models/dictionary_identity.h"
#include "nn/models/model_directory.h"
#include "nn/training/training_state.h"

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
  for (const char* key : {"parameters", "remainder", "evaluation", "gradient_sum"}) {
    const auto text = [&](const Json& resolved) {
      return resolved.contains(key) ? json_text(resolved[key]) : "not recorded";
    };
    if (text(was) != text(is))
      all += concat(key, " was ", text(was), " ", kWhere, ", now ", text(is), "; ");
  }
  all += dictionary_differences(checkpoint.directory(), was.value(kIdentity, Json::object()));
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
    read_training_weights(*best);  // whose errors are better known now than at the end
  }
}

namespace {

// The event of a log that the checkpoint's state has the nats of.
struct KnownEvent {
  const char* event;
  Json step, nll;
};

// A number of a line and what it should be.
void require_same(const fs::path& log, int64_t line, const std::string& key, const Json& value,
                  const Json& expected, const std::string& where) {
  if (value == expected) return;
  throw UsageError(concat(log.string(), ", line ", line, ", is of another run: ", key, " is ",
                          shortened(json_text(value)), " there, and ", json_text(expected), " in ",
                          where,
                          "; put the run's own log back, or move this one away, then the "
                          "run goes on without those lines"));
}

}  // namespace

void require_own_log(const fs::path& log, const Checkpoint& checkpoint, const Json& start) {
  std::error_code ignored;
  if (!fs::is_regular_file(log, ignored)) return;
  const std::string of_checkpoint = (checkpoint.directory() / "state.json").string();
  std::vector<KnownEvent> known;
  for (const auto& [key, event] : {std::pair("best", "valid"), std::pair("logged", "train")}) {
    const Json entry = checkpoint.state().value(key, Json::object());
    if (entry.value("step", int64_t{0}) > 0 && entry.contains("nll"))
      known.push_back({event, entry["step"], entry["nll"]});
  }
  std::ifstream in(log, std::ios::binary);
  std::string text;
  for (int64_t line = 1; std::getline(in, text); ++line) {
    const Json event = parse_json_object(text);
    if (!event.is_object() || !event.contains("event")) continue;
    if (event["event"] == "start")
      for (const auto& [key, value] : start.items())
        if (value.is_number_integer() && event.contains(key))
          require_same(log, line, key, event[key], value, "this run");
    if (!event.contains("step") || !event.contains("nll")) continue;
    for (const KnownEvent& k : known)
      if (event["event"] == k.event && event["step"] == k.step)
        require_same(log, line, concat("nll of step ", json_text(k.step)), event["nll"], k.nll,
                     of_checkpoint);
  }
}

}  // namespace nine::app
