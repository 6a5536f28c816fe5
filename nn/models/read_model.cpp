#include "nn/models/read_model.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "core/notice.h"
#include "core/quote.h"
#include "core/version.h"
#include "nn/training/checkpoint.h"

namespace nine {

namespace fs = std::filesystem;

namespace {

// Returns the names of the tensors in each part of a sharded model.
std::map<std::string, std::set<std::string>> parts_of(const fs::path& index) {
  const Json json = read_json_object(index);
  const auto map = json.find("weight_map");
  require(map != json.end() && map->is_object() && !map->empty(), index.string(),
          " lacks the object 'weight_map', which names the file of each tensor");
  std::map<std::string, std::set<std::string>> parts;
  for (const auto& [name, value] : map->items()) {
    const std::string file = value.is_string() ? value.get<std::string>() : std::string();
    require(fs::path(file).filename().string() == file && file.ends_with(".safetensors"),
            index.string(), ": the file of the tensor '", name,
            "' is not the name of a .safetensors file beside it");
    parts[file].insert(name);
  }
  return parts;
}

Safetensors read_weights(const fs::path& directory, ExcludedWords words) {
  if (fs::exists(directory / kWeightsFile))
    return read_finite_weights(directory / kWeightsFile, words);
  const fs::path index = directory / kWeightsIndex;
  Safetensors all;
  for (const auto& [file, names] : parts_of(index)) {
    Safetensors part = read_finite_weights(directory / file, words);
    for (const std::string& name : names)
      require(part.tensors.contains(name), (directory / file).string(), " lacks the tensor '", name,
              "', but ", index.string(), " names this file for it");
    for (const auto& [name, tensor] : part.tensors)
      require(names.contains(name), (directory / file).string(), " holds a tensor '", name,
              "', but ", index.string(), " does not name this file for it");
    all.tensors.merge(part.tensors);
    all.metadata.merge(part.metadata);
  }
  return all;
}

// Removes the names that DistributedDataParallel, torch.compile and FullyShardedDataParallel add.
// They wrap a module into another module, whose name then stands at the beginning or, for a part of
// the model, in the middle.
std::string unwrapped(const std::string& name) {
  std::string out;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    const std::string_view part = std::string_view(name).substr(begin, end - begin);
    if (part != "module" && part != "_orig_mod" && part != "_fsdp_wrapped_module")
      out += concat(out.empty() ? "" : ".", part);
    begin = end + 1;
  }
  return out;
}

// Returns the common beginning of all names, such as "model." in Lightning's checkpoints. Nine's
// own names have no common beginning.
std::string common_beginning(const std::map<std::string, Tensor>& tensors) {
  if (tensors.size() < 2) return {};
  const std::string &first = tensors.begin()->first, &last = tensors.rbegin()->first;
  const auto same = std::ranges::mismatch(first, last).in1 - first.begin();
  return first.substr(0, first.substr(0, static_cast<size_t>(same)).rfind('.') + 1);
}

// Removes the common beginning of all names, and gives a notice() of it.
void leave_out_beginning(ModelFiles& files) {
  auto& tensors = files.weights.tensors;
  const std::string beginning = common_beginning(tensors);
  if (beginning.empty()) return;
  std::map<std::string, Tensor> rest;
  for (const auto& [name, tensor] : tensors) rest.emplace(name.substr(beginning.size()), tensor);
  tensors = std::move(rest);
  notice(concat(files.directory.string(), ": the names of all tensors begin with ",
                quote(beginning), ", which is left out"));
}

// True if the files show that Nine wrote them. Other programs may use the same keys with other
// meanings, so all keys that a version of Nine writes must be present.
bool is_own(const ModelFiles& files) {
  const auto& metadata = files.weights.metadata;
  const auto has = [&](const char* key) { return metadata.contains(key); };
  if (has(kVersionKey) || holds_state(files.directory)) return true;
  if (has("arch") && metadata.at("arch") == "transformer" && has("heads") && has("bptt") &&
      has("activation") && has("positions"))
    return true;
  const auto resolved = files.config.find("resolved");
  return resolved != files.config.end() && resolved->is_object() && resolved->contains("version") &&
         resolved->contains("head") && resolved->contains("parameters");
}

// Returns the numbers of a version such as "0.3.1"; 0 for parts that are not numbers.
std::array<int, 3> numbers_of(const std::string& version) {
  std::array<int, 3> n{};
  char dot = 0;
  std::istringstream(version) >> n[0] >> dot >> n[1] >> dot >> n[2];
  return n;
}

std::string quoted_list(const std::vector<std::string>& keys) {
  std::string all;
  for (size_t i = 0; i < keys.size(); ++i)
    all += concat(i == 0 ? "" : i + 1 < keys.size() ? ", " : " and ", '"', keys[i], '"');
  return all;
}

}  // namespace

std::vector<fs::path> weight_files(const fs::path& directory) {
  if (fs::exists(directory / kWeightsFile) || !fs::exists(directory / kWeightsIndex))
    return {directory / kWeightsFile};
  std::vector<fs::path> files{directory / kWeightsIndex};
  for (const auto& [file, names] : parts_of(files[0])) files.push_back(directory / file);
  return files;
}

ModelFiles read_model(const fs::path& directory, ExcludedWords words) {
  ModelFiles files{.directory = directory};
  Safetensors stored = read_weights(directory, words);
  for (const auto& [name, tensor] : stored.tensors)
    require(files.weights.tensors.emplace(unwrapped(name), tensor).second, directory.string(),
            ": two tensors are called '", unwrapped(name),
            "' without the prefixes of PyTorch's wrappers; one of them is '", name, "'");
  leave_out_beginning(files);
  files.weights.metadata = std::move(stored.metadata);
  files.config = model_config(directory, files.weights.metadata);
  const Json own = model_config(directory);
  for (const auto& [key, value] : files.config.items())
    if (!own.contains(key)) files.of_metadata.push_back(key);
  files.foreign = !is_own(files);
  if (files.foreign) files.config.erase("resolved");
  const auto version = files.weights.metadata.find(kVersionKey);
  if (version != files.weights.metadata.end() && numbers_of(version->second) > numbers_of(kVersion))
    notice(concat(directory.string(), " was written by Nine ", version->second, "; this is ",
                  kVersion, ", which may not know all that the model needs"));
  const Json resolved = files.config.value("resolved", Json::object());
  require(resolved.is_object(), files.said_in("resolved"), ": the key 'resolved' is ",
          shortened(json_text(resolved)), ", and an object was expected");
  if (fs::exists(directory / "state.json") && !holds_state(directory)) {
    // If Nine wrote the weights, state.json belongs to a checkpoint, and opening the checkpoint
    // reports its fault.
    if (!files.foreign) static_cast<void>(Checkpoint(directory, CheckpointUse::model));
    notice(concat((directory / "state.json").string(),
                  " is another program's, without the keys \"files\" and \"crc32c\": it was not "
                  "read"));
  }
  return files;
}

std::string ModelFiles::said_in(std::string_view key) const {
  return std::ranges::find(of_metadata, key) == of_metadata.end()
             ? (directory / "config.json").string()
             : concat("the metadata of ", (directory / kWeightsFile).string());
}

int64_t ModelFiles::count(const char* key) const {
  require_keys({key});
  const Json& value = config[key];
  const std::string text = value.is_string()           ? value.get<std::string>()
                           : value.is_number_integer() ? value.dump()
                                                       : std::string();
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  require(error == std::errc{} && end == text.data() + text.size() && number > 0, said_in(key),
          ": the key '", key, "' is ", shortened(json_text(value)),
          ", and a whole number from 1 on was expected");
  return number;
}

int64_t ModelFiles::shown(const char* key, int64_t size, std::string_view before,
                          std::string_view after) const {
  require(!says(key) || count(key) == size, said_in(key), ": the key '", key, "' is ",
          json_text(config.value(key, Json())), ", but ", before, size, after);
  return size;
}

bool ModelFiles::shown(const char* key, bool value, const char* tensor) const {
  const auto found = weights.tensors.find(tensor);
  require(!says(key) || config[key].is_boolean(), said_in(key), ": the key '", key, "' is ",
          shortened(json_text(config.value(key, Json()))), ", and true or false was expected");
  require(!says(key) || config[key] == value, said_in(key), ": the key '", key, "' is ",
          json_text(config.value(key, Json())), ", but ",
          found == weights.tensors.end()
              ? concat("there is no tensor ", tensor)
              : concat("there is a tensor ", tensor, ", ", found->second.shape()));
  return value;
}

void ModelFiles::check_kind(const char* task, const char* tensor) const {
  require(!says("task") || config["task"] == task, said_in("task"), ": the key 'task' is ",
          shortened(json_text(config.value("task", Json()))), ", but the tensor ", tensor,
          " is of a model of the task '", task, "'");
  const Json first = config.value("norm_first", Json());
  require(first.is_null() || !says("norm") || first == (config["norm"] == "pre"),
          said_in("norm_first"), ": the key 'norm_first' is ", json_text(first),
          ", but the key 'norm' is ", json_text(config.value("norm", Json())),
          "; norm_first=True is \"norm\": \"pre\"");
}

double ModelFiles::factor(const char* key, double usual) {
  const double value = number(key, usual);
  const auto computed = static_cast<float>(value);
  require(computed != 0 && std::isfinite(computed), said_in(key), ": the key '", key, "' is ",
          value, ", which is ", computed == 0 ? "0" : "infinite", " in float32");
  return value;
}

double ModelFiles::number(const char* key, double usual) {
  if (!says(key)) {
    if (foreign) assumed[key] = usual;
    return usual;
  }
  const Json& value = config[key];
  if (value.is_number() && std::isfinite(value.get<double>())) return value.get<double>();
  const std::string text = value.is_string() ? value.get<std::string>() : std::string();
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  require(error == std::errc{} && end == text.data() + text.size() && std::isfinite(number),
          said_in(key), ": the key '", key, "' is ", shortened(json_text(value)),
          ", and a number was expected");
  return number;
}

void ModelFiles::only(const char* key, double wanted) {
  const double said = number(key, wanted);
  require(said == wanted, said_in(key), ": the key '", key, "' is ", said, ", but Nine has ",
          wanted, " only");
}

std::string ModelFiles::text_or(const char* key, const std::string& usual) {
  if (!says(key)) {
    if (foreign) assumed[key] = usual;
    return usual;
  }
  require(config[key].is_string(), said_in(key), ": the key '", key, "' is ",
          shortened(json_text(config[key])), ", and a text was expected");
  return config[key].get<std::string>();
}

void ModelFiles::require_keys(std::initializer_list<const char*> keys,
                              std::string_view more) const {
  std::vector<std::string> missing;
  for (const char* key : keys)
    if (!says(key)) missing.emplace_back(key);
  if (missing.empty()) return;
  const bool there = fs::exists(directory / "config.json");
  fail(there ? (directory / "config.json").string() + " lacks "
             : directory.string() + " has no config.json, and nothing else says ",
       quoted_list(missing),
       ", which tensors do not show; of PyTorch's defaults it has {\"heads\": N, ",
       "\"norm\": \"post\", \"activation\": \"relu\"}, and norm_first=True is \"norm\": \"pre\"",
       more, " (docs/pytorch.md)");
}

void ModelFiles::fail_for_config() const {
  try {
    throw;
  } catch (const Json::exception& e) {
    fail_for_type(said_in("head"), e);
  } catch (const UsageError& e) {  // a name that config.json has, not the command line
    fail(said_in("head"), ": ", e.what());
  }
}

void ModelFiles::say_assumed() const {
  if (!assumed.empty())
    notice(concat(directory.string(),
                  " was not written by Nine, and nothing in it says what is assumed: ",
                  json_text(assumed), "; its config.json can say it (docs/pytorch.md)"));
}

}  // namespace nine
