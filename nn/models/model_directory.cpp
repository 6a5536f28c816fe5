#include "nn/models/model_directory.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "core/ops.h"
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

namespace {

constexpr const char* kOutputBias = "head.bias";

// "[2, 0]" of element 8 of a tensor (4, 4).
std::string index_text(const Shape& shape, int64_t element) {
  std::string text;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    text = concat(element % shape[i], text.empty() ? "" : ", ", text);
    element /= shape[i];
  }
  return "[" + text + "]";
}

}  // namespace

void require_finite_weights(const Safetensors& weights, const std::string& file,
                            ExcludedWords words) {
  for (const auto& [name, tensor] : weights.tensors) {
    if (tensor.dtype() == DType::int32 || tensor.elements() == 0) continue;
    Tensor wide = tensor;
    if (tensor.dtype() == DType::bfloat16) {
      wide = Tensor(tensor.shape(), DType::float32);
      ops::copy(tensor, wide);
    }
    if (ops::all_finite(wide)) continue;
    const std::vector<double> values = wide.to_vector();
    const bool excludes = name == kOutputBias && words == ExcludedWords::allowed;
    const auto wrong = std::ranges::find_if(
        values, [&](double x) { return !std::isfinite(x) && !(excludes && x == -INFINITY); });
    if (wrong != values.end())
      fail(file, ": tensor '", name, "' has ", *wrong, " at ",
           index_text(tensor.shape(), wrong - values.begin()),
           ", and a model's weights are finite numbers",
           name != kOutputBias ? ""
           : excludes          ? ", but for -inf in this bias, which excludes a word"
                               : "; training needs -10000 or so in place of -inf");
    require(std::ranges::any_of(values, [](double x) { return std::isfinite(x); }), file,
            ": tensor '", name, "' excludes every word: each has a bias of -inf");
  }
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
