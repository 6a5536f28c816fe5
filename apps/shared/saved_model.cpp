#include "apps/shared/saved_model.h"

#include <nlohmann/json.hpp>

#include "nn/checkpoint.h"
#include "nn/files.h"

namespace nine::app {

namespace fs = std::filesystem;

fs::path model_directory(const std::string& path) {
  if (fs::exists(fs::path(path) / "model.safetensors") && !fs::exists(fs::path(path) / "state.json")) return path;
  return open_checkpoint(path).directory();
}

nlohmann::json model_config(const fs::path& directory) {
  if (!fs::exists(directory / "config.json")) return nlohmann::json::object();
  auto config = nlohmann::json::parse(read_text(directory / "config.json"), nullptr, false);
  require(config.is_object(), (directory / "config.json").string(), " is no JSON object");
  return config;
}

HeadSpec head_of(const nlohmann::json& config) {
  // What the run resolved --head to, where it says; its other options are as they were given.
  const std::string given = config.value("head", "lin");
  const std::string head = config.contains("resolved") ? config["resolved"].value("head", given) : given;
  return parse_head(head, {.variance = config.value("variance", ""),
                           .ball = config.value("ball", ""),
                           .head_context = config.value("head_context", ""),
                           .untied = config.value("untied", false)});
}

}  // namespace nine::app
