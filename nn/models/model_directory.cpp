#include "nn/models/model_directory.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/dtype.h"
#include "core/files.h"
#include "core/json.h"
#include "core/notice.h"
#include "core/ops.h"
#include "core/quote.h"
#include "data/tokenizers/model_tokenizer.h"
#include "data/tokenizers/read_tokenizer.h"
#include "data/vocabulary.h"
#include "kernels/settings/head_misfit.h"
#include "nn/models/language_words.h"
#include "nn/models/read_model.h"
#include "nn/training/checkpoint.h"

namespace nine {

namespace fs = std::filesystem;

namespace {

bool is_pickle(const fs::path& file) {
  const std::string end = file.extension().string();
  return end == ".bin" || end == ".pt" || end == ".pth" || end == ".ckpt";
}

constexpr const char* kAdapter = "adapter_config.json";
constexpr const char* kPickleParts = "pytorch_model-";  // -00001-of-00002.bin

// True if a file of this name belongs to the training, not to the model.
bool is_of_training(const std::string& name) {
  const auto parts = {"optim", "sched", "scaler", "rng", "trainer", "training"};
  return std::ranges::any_of(
      parts, [&](const char* part) { return name.find(part) != std::string::npos; });
}

// Returns the files of a model that torch.save may have written: pytorch_model.bin, otherwise its
// parts, otherwise model.pt and similar names, otherwise all files that do not belong to a
// training.
std::vector<fs::path> pickles_in(const fs::path& directory) {
  std::array<std::vector<fs::path>, 4> found;  // by what the names say
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string(), stem = it->path().stem().string();
    if (!is_pickle(name) || it->is_directory(error) || is_of_training(name)) continue;
    const size_t rank = stem == "pytorch_model"          ? 0
                        : stem.starts_with(kPickleParts) ? 1
                        : stem == "model"                ? 2
                                                         : 3;
    found[rank].push_back(it->path());
  }
  for (std::vector<fs::path>& files : found)
    if (std::ranges::sort(files); !files.empty()) return files;
  return {};
}

// Throws an Error with the lines of Python that convert a file of torch.save. State dicts lie at
// the top of a pickle or under any keys. State dicts of optimisers are recognised by their keys,
// which are numbers.
[[noreturn]] void fail_for_pickles(const std::vector<fs::path>& files) {
  Json names = Json::array();
  for (const fs::path& file : files) {
    require(!begins_as_safetensors(file), file.string(), " is a safetensors file: rename it to ",
            kWeightsFile);
    const std::string_view kind = kind_of_file(file);
    require(kind.empty() || kind == kPickle, file.string(), " is ", kind);
    names.push_back(file.string());
  }
  const Json weights = (files[0].parent_path() / kWeightsFile).string();
  fail(files[0].string(), " is ", kPickle, ", which Nine does not read; these lines make ",
       kWeightsFile, " of it (docs/pytorch.md):\n",
       "import torch\n"
       "from safetensors.torch import save_file\n"
       "found, todo = {}, []\n"
       "for file in ",
       json_text(names),
       ":\n"
       "    todo.append((\"\", torch.load(open(file, \"rb\"), map_location=\"cpu\", "
       "weights_only=True)))\n"
       "while todo:\n"
       "    path, tree = todo.pop()\n"
       "    for key, value in tree.items():\n"
       "        if torch.is_tensor(value):\n"
       "            found.setdefault(path, {})[key] = value.clone().contiguous()\n"
       "        elif isinstance(key, str) and isinstance(value, dict):\n"
       "            todo.append((f\"{path}/{key}\", value))\n"
       "assert len(found) == 1, f\"keep the one of the model in found: {list(found)}\"\n"
       "save_file(*found.values(), ",
       json_text(weights), ")");
}

// Does the same for the files of a directory. Error: several files may be the model.
[[noreturn]] void fail_for_directory(const std::vector<fs::path>& files) {
  if (files.size() == 1 || files[0].filename().string().starts_with(kPickleParts))
    fail_for_pickles(files);
  std::string names;
  for (const fs::path& file : files)
    names += (names.empty() ? "" : ", ") + file.filename().string();
  fail(files[0].parent_path().string(), " has no ", kWeightsFile, ", and these files may be the ",
       "model: ", names, "; name the file of the model, such as ", files[0].string(),
       ", to see the lines of Python that convert it");
}

bool holds(const fs::path& directory, const char* file) { return is_there(directory / file); }

// Checks, by the two configurations, that a run's checkpoint belongs to the run. Error, which names
// both files: it belongs to another run.
void require_of_run(const fs::path& run, const fs::path& checkpoint) {
  const fs::path own = run / "config.json", other = checkpoint / "config.json";
  if (!fs::exists(run / "checkpoints") || !fs::exists(own) || !fs::exists(other)) return;
  const auto known = [](const fs::path& file) {
    const Json config = parse_json_object(read_text(file));
    const Json resolved = config.is_object() ? config.value("resolved", Json()) : Json();
    Json out = Json::object();
    for (const char* key : {"seed", "head", "hidden"})
      if (config.is_object() && config.contains(key)) out[key] = config[key];
    for (const char* key : {"parameters", "identity"})
      if (resolved.is_object() && resolved.contains(key)) out[key] = resolved[key];
    return Json(out.flatten());
  };
  const Json is = known(own), was = known(other);
  for (const auto& [path, value] : is.items())
    require(!was.contains(path) || was[path] == value || path == "/identity/init", other.string(),
            " is of another run than ", own.string(), ": '", path.substr(path.rfind('/') + 1),
            "' is ", json_text(was[path]), " there and ", json_text(value),
            " here; name the checkpoint ", checkpoint.string(), " itself to use it");
}

// Returns a run's checkpoint, verified. If `path` holds something else, the error says what to do.
fs::path checkpoint_directory(const std::string& path) {
  try {
    resolve_checkpoint(path);
  } catch (const Error& e) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) throw;
    if (const auto pickles = pickles_in(path); !pickles.empty()) fail_for_directory(pickles);
    fail(e.what(), ", or a directory with ", kWeightsFile);
  }
  const Checkpoint checkpoint = open_checkpoint(path, CheckpointUse::model);
  const fs::path& directory = checkpoint.directory();
  std::vector<std::string> own{kWeightsFile, "config.json"};
  std::ranges::copy(text_file_names(), std::back_inserter(own));
  for (const std::string& name : own)
    require(checkpoint.has(name) || !is_there(directory / name), (directory / name).string(),
            " is not among the files that state.json lists, so that nothing tells whether it is ",
            "the checkpoint's own: put the run's own state.json back, or move ", name, " away");
  require_of_run(path, directory);
  return directory;
}

}  // namespace

const std::vector<std::string>& text_file_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all{kDictionaryFile, kSourceDict, kTargetDict};
    std::ranges::copy(ModelTokenizer::file_names(), std::back_inserter(all));
    return all;
  }();
  return names;
}

fs::path model_directory(const std::string& path, const char* dictionary) {
  std::error_code ignored;
  const bool is_file = fs::exists(path, ignored) && !fs::is_directory(path, ignored);
  if (is_file && (is_pickle(path) || kind_of_file(path) == kPickle)) fail_for_pickles({path});
  if (is_file) {
    const std::string_view kind = kind_of_file(path);
    fail(path, " is ", kind.empty() ? "a file" : kind, ": a checkpoint is a directory",
         begins_as_safetensors(path) ? ", and the one of this file may be it" : "");
  }
  // transformers would put the adapter onto the weights.
  require(!holds(path, kAdapter), path, " has ", kAdapter, ", an adapter of Hugging Face's PEFT, ",
          "which Nine does not put onto its model: merge both in Python and save the result, ",
          "model.merge_and_unload().save_pretrained(FOLDER)");
  const bool weights_alone =
      (holds(path, kWeightsFile) || holds(path, kWeightsIndex)) && !holds_state(path);
  fs::path directory = weights_alone ? fs::path(path) : checkpoint_directory(path);
  if (const fs::path run = fs::path(path) / "checkpoints";
      weights_alone && !checkpoints_in(run).empty())
    notice(concat(path, " has a model beside a run's checkpoints, and the checkpoints in ",
                  run.string(), " were not read: name ", run.string(),
                  " to use the run's model, or move the other model away"));
  if (dictionary == nullptr || holds(directory, dictionary)) return directory;
  const std::string_view wanted = dictionary;
  const char* const other = wanted == kDictionaryFile ? kSourceDict : kDictionaryFile;
  if (!holds(directory, other)) {
    // A folder of transformers has no dictionary, and may be no translation model.
    if (wanted != kDictionaryFile) read_model(directory).embedding("mt");
    return directory;
  }
  // The tensors say which model it is; a dictionary may lie there by mistake.
  const ModelFiles files = read_model(directory);
  files.embedding(wanted == kDictionaryFile ? "lm" : "mt");
  fail(directory.string(), " lacks ", dictionary, ", the dictionary of its model, and has ", other,
       " of another kind of model: put the model's own dictionary there");
}

bool reads_raw_text(const std::string& path) try {
  const bool weights_alone =
      (holds(path, kWeightsFile) || holds(path, kWeightsIndex)) && !holds_state(path);
  const fs::path directory = weights_alone ? fs::path(path) : resolve_checkpoint(path);
  if (!holds(directory, kDictionaryFile)) return !tokenizer_in(directory).empty();
  return !ModelTokenizer::file_in(directory, "").empty();
} catch (const Error&) {  // opening the model says what is wrong
  return false;
}

void require_same_tokens(const std::string& a, const std::string& b) {
  // Says first what is wrong with a path.
  const fs::path in_a = model_directory(a, kDictionaryFile),
                 in_b = model_directory(b, kDictionaryFile);
  const bool raw = reads_raw_text(a);
  constexpr const char* kSo =
      ", so that their probabilities cannot be compared or mixed token by token: ";
  require(raw == reads_raw_text(b), a, " and ", b, " cut a text into different tokens, one of ",
          "raw text and one of words", kSo, "give models that read texts in the same way");
  if (!raw || in_a == in_b) return;
  const LanguageWords of_a = language_words(in_a), of_b = language_words(in_b);
  require(of_a.vocabulary.word_checksum() == of_b.vocabulary.word_checksum() &&
              of_a.tokenizer->checksum() == of_b.tokenizer->checksum(),
          a, " and ", b, " cut a text into different tokens", kSo,
          "compare the bits per byte that lm_score prints for each");
}

Json model_config(const fs::path& directory) {
  const fs::path file = directory / "config.json";
  return is_there(file) ? read_json_object(file) : Json::object();
}

namespace {

// Whether a tensor of truth values is the causal mask of GPT-2, which older transformers stored.
bool is_causal_mask(std::string_view name) { return name.ends_with(".attn.bias"); }

}  // namespace

void require_finite(const std::string& name, const Tensor& tensor, const fs::path& file,
                    std::string_view output_bias) {
  if (tensor.dtype() == DType::int32 || tensor.elements() == 0 || ops::all_finite(tensor)) return;
  const bool excludes = name.ends_with(output_bias);
  require_numbers(
      file, name, tensor,
      [&](double x) { return std::isfinite(x) || (excludes && x == -INFINITY); },
      concat("a model's weights must be finite numbers",
             excludes ? " (or -inf in this bias, which excludes a word)" : ""));
  const std::vector<double> values = tensor.to_vector();
  require(std::ranges::any_of(values, [](double x) { return std::isfinite(x); }), file.string(),
          ": tensor '", name, "' excludes every word: each has a bias of -inf");
}

namespace {

// Replaces -infinity by kExclusionInTraining.
void exclude_for_training(const Tensor& bias) {
  if (bias.dtype() == DType::int32) return;
  dispatch_float(bias.dtype(), "model_directory", [&]<class T>(T) {
    T* const values = bias.data<T>();
    std::replace(values, values + bias.elements(), -std::numeric_limits<T>::infinity(),
                 static_cast<T>(kExclusionInTraining));
  });
}

// Checks that the output bias, as it was stored, does not hide the differences between words.
void require_usable_bias(const std::string& name, const Tensor& tensor, const StoredType& stored,
                         const fs::path& file) {
  if (!name.ends_with(kOutputBias) || tensor.dtype() == DType::int32) return;
  const std::string wrong = bias_misfit(tensor.to_vector(), stored);
  require(wrong.empty(), file.string(), ": tensor '", name, "': ", wrong);
}

// Checks the counts of words, which must have a finite sum, and the running norms of contexts,
// which must be above 0.
void require_usable_buffer(const std::string& name, const Tensor& tensor, const fs::path& file) {
  const bool counts = name.ends_with(".counts"),
             norms = name.ends_with(".context_max") || name.ends_with(".context_max_ema");
  if (!counts && !norms) return;
  const std::vector<double> values = tensor.to_vector();
  require(!counts || std::isfinite(std::accumulate(values.begin(), values.end(), 0.0)),
          file.string(), ": the counts of words in the tensor '", name,
          "' add up to more than a double holds");
  if (norms)
    require_numbers(
        file, name, tensor, [](double x) { return x > 0; },
        "the largest norm of a batch's contexts is above 0");
}

}  // namespace

void require_numbers(const fs::path& file, const std::string& name, const Tensor& tensor,
                     const std::function<bool(double)>& sound, std::string_view rule) {
  if (tensor.elements() == 0) return;
  const std::vector<double> values = tensor.to_vector();
  const auto wrong = std::ranges::find_if_not(values, sound);
  if (wrong != values.end())
    fail(file.string(), ": tensor '", name, "' has ", *wrong, " at ",
         index_text(tensor.shape(), wrong - values.begin()), ", but ", rule);
}

Safetensors read_finite_weights(const fs::path& file, ExcludedWords words) {
  Safetensors weights;
  try {
    weights = read_safetensors(file, is_causal_mask);
  } catch (const Error&) {
    if (kind_of_file(file) == kPickle) fail_for_pickles({file});
    throw;
  }
  for (auto& [name, tensor] : weights.tensors) {
    const bool half = name.ends_with(kOutputBias) && dtype_in_file(file, name) == "F16";
    const StoredType stored = half ? kFloat16 : stored_type_of(tensor.dtype());
    if (tensor.dtype() == DType::bfloat16) {
      const Tensor wide(tensor.shape(), DType::float32);
      ops::copy(tensor, wide);
      tensor = wide;
    }
    require_finite(name, tensor, file);
    require_usable_buffer(name, tensor, file);
    require_usable_bias(name, tensor, stored, file);
    if (words == ExcludedWords::for_training && name.ends_with(kOutputBias))
      exclude_for_training(tensor);
  }
  return weights;
}

}  // namespace nine
