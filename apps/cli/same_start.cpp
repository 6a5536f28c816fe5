#include "apps/cli/same_start.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>

#include "apps/cli/option_conflicts.h"
#include "apps/cli/option_data.h"
#include "apps/cli/processes.h"
#include "core/error.h"
#include "core/files.h"
#include "core/gemm.h"
#include "core/instruction_set.h"
#include "core/version.h"
#include "nn/models/model_directory.h"
#include "nn/models/read_model.h"

namespace nine::app {
namespace {

// The inputs that a configuration knows by their contents, of which the paths do not matter.
Json identity_of(const Json& config) {
  return config.value("resolved", Json::object()).value("identity", Json::object());
}

// What differs first between two configurations, as "--hidden 32, where process 0 has 16"; empty
// where nothing does. `options`: the keys are those of options.
std::string difference(const Json& own, const Json& first, bool options) {
  Json keys = own;
  keys.update(first);
  const Json known = identity_of(own), known_there = identity_of(first);
  for (const auto& [key, ignored] : keys.items()) {
    if (options && known.contains(key) && known_there.contains(key)) continue;
    const Json value = own.value(key, Json()), there = first.value(key, Json());
    if (value == there) continue;
    if (key == "resolved") return difference(value, there, false);
    if (key == "identity") return "other data, by checksum: " + difference(value, there, true);
    return concat(options ? "--" + flag_of(key) : key, " ", json_text(value),
                  ", where process 0 has ", json_text(there));
  }
  return {};
}

}  // namespace

void require_same_start(Communicator& communicator, const Json& config) {
  if (communicator.size() == 1) return;
  Json own = config;
  for (const char* key : {"threads", "mpi_timeout"}) own.erase(key);  // they change no result
  const std::vector<std::string> hosts = communicator.all_gather(host_name()),
                                 all = communicator.all_gather(json_text(own));
  const Json first = parse_json_object(all[0]);
  for (size_t r = 1; r < all.size(); ++r) {
    const std::string other = difference(parse_json_object(all[r]), first, true);
    if (!other.empty())
      throw UsageError(concat("process ", r, " on ", hosts[r], " has ", other, " (on ", hosts[0],
                              "): all processes need the same data, options, instruction set and "
                              "version"));
  }
}

void require_same_use(Communicator& communicator, const Options& options,
                      const std::vector<std::string>& models,
                      const std::vector<std::string>& files) {
  if (communicator.size() == 1) return;
  Json config = options.to_json();
  require_usage(config.value("device", "cpu") == "cpu", "--device ", config.value("device", "cpu"),
                " works in one process only; start it without mpirun");
  Json resolved{{"version", kVersion},
                {"instruction_set", to_text(instruction_set())},
                {"gemm", gemm_description()}};
  const auto add = [&](const std::string& name, const std::filesystem::path& file) {
    resolved["CRC-32C of " + name] = digest_of_file(file).crc32c;
  };
  for (const std::string& model : models) {
    if (model.empty()) continue;
    const std::filesystem::path directory = model_directory(model);
    for (const std::filesystem::path& file : weight_files(directory))
      add(concat(model, "'s ", file.filename().string()), file);
    std::vector<std::string> others{"config.json"};
    std::ranges::copy(text_file_names(), std::back_inserter(others));
    for (const std::string& name : others)
      if (exists(directory / name)) add(concat(model, "'s ", name), directory / name);
  }
  for (const std::string& file : files)
    if (!file.empty()) add(file, file);
  config["resolved"] = resolved;
  require_same_start(communicator, config);
}

}  // namespace nine::app
