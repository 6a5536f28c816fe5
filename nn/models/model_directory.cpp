#include "nn/models/model_directory.h"

#include <nlohmann/json.hpp>

#include "core/json.h"
#include "nn/training/checkpoint.h"

namespace nine {

namespace fs = std::filesystem;

fs::path model_directory(const std::string& path, const char* dictionary) {
  std::error_code ignored;
  require(!fs::is_regular_file(path, ignored), path, " is a file: a checkpoint is a directory");
  const bool no_checkpoint = fs::exists(fs::path(path) / "model.safetensors") &&
                             !fs::exists(fs::path(path) / "state.json");
  fs::path directory = no_checkpoint ? fs::path(path) : open_checkpoint(path).directory();
  if (dictionary == nullptr) return directory;
  const auto has = [&](const char* file) { return fs::exists(directory / file); };
  require(has(dictionary) || !has("dict.txt"), path,
          " is a language model's (lm_train, lm_score), not a translation model's");
  require(has(dictionary) || !has("src.dict.txt"), path,
          " is a translation model's (mt_train, mt_translate), not a language model's");
  return directory;
}

Json model_config(const fs::path& directory, const std::map<std::string, std::string>& metadata) {
  if (!fs::exists(directory / "config.json")) {
    Json config = Json::object();
    for (const char* key : {"head", "head_context", "word_norm", "context_norm", "heads", "bptt",
                            "activation", "positions"})
      if (const auto it = metadata.find(key); it != metadata.end()) config[key] = it->second;
    if (metadata.contains("untied")) config["untied"] = true;
    return config;
  }
  return read_json_object(directory / "config.json");
}

HeadSpec head_of(const Json& config) {
  // A run writes the head that it resolved, beside its options as they were given.
  const std::string given = config.value("head", "lin");
  const std::string head =
      config.contains("resolved") ? config["resolved"].value("head", given) : given;
  return parse_head(head, {.variance = config.value("variance", ""),
                           .ball = config.value("ball", ""),
                           .head_context = config.value("head_context", ""),
                           .untied = config.value("untied", false)});
}

void read_norms(const Json& config, HeadConfig& head) {
  head.word_norm = word_norm_from_text(config.value("word_norm", "none"));
  head.context_norm = context_norm_from_text(config.value("context_norm", "none"));
}

void fail_for_type(const std::string& file, const std::exception& error) {
  fail(file, ": a key of the model is of the wrong type (", error.what(), ")");
}

}  // namespace nine
