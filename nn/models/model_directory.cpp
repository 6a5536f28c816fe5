#include "nn/models/model_directory.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/json.h"
#include "core/ops.h"
#include "nn/training/checkpoint.h"

namespace nine {

namespace fs = std::filesystem;

namespace {

bool is_pickle(const fs::path& file) {
  const std::string end = file.extension().string();
  return end == ".bin" || end == ".pt" || end == ".pth" || end == ".ckpt";
}

// The files that torch.save wrote of a model: all pytorch_model*.bin, or else one of those that
// look as if they were.
std::vector<fs::path> pickles_in(const fs::path& directory) {
  std::vector<fs::path> parts, others;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!is_pickle(name)) continue;
    (name.starts_with("pytorch_model") ? parts : others).push_back(it->path());
  }
  std::sort(parts.begin(), parts.end());
  std::sort(others.begin(), others.end());
  if (parts.empty() && !others.empty()) parts.push_back(others.front());
  return parts;
}

[[noreturn]] void fail_for_pickles(const std::vector<fs::path>& files) {
  Json names = Json::array();
  for (const fs::path& file : files) names.push_back(file.string());
  const Json weights = (files[0].parent_path() / kWeightsFile).string();
  fail(files[0].string(), " is a pickle of Python's, which Nine does not read; these lines make ",
       kWeightsFile, " of it (docs/pytorch.md):\n",
       "import torch\n"
       "from safetensors.torch import save_file\n"
       "state = {}\n"
       "for file in ",
       json_text(names),
       ":\n"
       "    state.update(torch.load(file, map_location=\"cpu\", weights_only=True))\n"
       "for key in (\"state_dict\", \"model_state_dict\", \"model\"):\n"
       "    state = state.get(key, state)\n"
       "save_file({k: v.clone().contiguous() for k, v in state.items() if torch.is_tensor(v)}, ",
       json_text(weights), ")");
}

bool holds(const fs::path& directory, const char* file) { return fs::exists(directory / file); }

// A run's checkpoint, verified; what else may lie at `path` is an error that says what to do.
fs::path checkpoint_directory(const std::string& path) {
  try {
    resolve_checkpoint(path);
  } catch (const Error& e) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) throw;
    if (const auto pickles = pickles_in(path); !pickles.empty()) fail_for_pickles(pickles);
    fail(e.what(), ", or a directory with ", kWeightsFile);
  }
  return open_checkpoint(path, CheckpointUse::model).directory();
}

}  // namespace

fs::path model_directory(const std::string& path, const char* dictionary) {
  std::error_code ignored;
  const bool is_file = fs::is_regular_file(path, ignored);
  if (is_file && is_pickle(path)) fail_for_pickles({path});
  require(!is_file, path, " is a file: a checkpoint is a directory");
  const bool weights_alone =
      (holds(path, kWeightsFile) || holds(path, kWeightsIndex)) && !holds(path, "state.json");
  fs::path directory = weights_alone ? fs::path(path) : checkpoint_directory(path);
  if (dictionary == nullptr) return directory;
  const auto has = [&](const char* file) { return holds(directory, file); };
  require(has(dictionary) || !has("dict.txt"), path,
          " is a language model's (lm_train, lm_score), not a translation model's");
  require(has(dictionary) || !has("src.dict.txt"), path,
          " is a translation model's (mt_train, mt_translate), not a language model's");
  return directory;
}

Json model_config(const fs::path& directory, const std::map<std::string, std::string>& metadata) {
  Json config = Json::object();
  if (holds(directory, "config.json")) config = read_json_object(directory / "config.json");
  for (const char* key : {"head", "head_context", "word_norm", "context_norm", "heads", "bptt",
                          "activation", "positions", "norm", "embed_scale"})
    if (const auto it = metadata.find(key); it != metadata.end() && !config.contains(key))
      config[key] = it->second;
  if (metadata.contains("untied") && !config.contains("untied")) config["untied"] = true;
  return config;
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
    const bool excludes = name.ends_with(kOutputBias) && words == ExcludedWords::allowed;
    const auto wrong = std::ranges::find_if(
        values, [&](double x) { return !std::isfinite(x) && !(excludes && x == -INFINITY); });
    if (wrong != values.end())
      fail(file, ": tensor '", name, "' has ", *wrong, " at ",
           index_text(tensor.shape(), wrong - values.begin()),
           ", and a model's weights are finite numbers",
           !name.ends_with(kOutputBias) ? ""
           : excludes                   ? ", but for -inf in this bias, which excludes a word"
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
