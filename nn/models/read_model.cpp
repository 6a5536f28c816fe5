#include "nn/models/read_model.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/dtype.h"
#include "core/files.h"
#include "core/misfit.h"
#include "core/notice.h"
#include "core/quote.h"
#include "core/version.h"
#include "nn/models/dictionary_identity.h"
#include "nn/models/hugging_face.h"
#include "nn/models/model_description.h"
#include "nn/models/transformer.h"
#include "nn/models/transformer_language_model.h"
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

std::string metadata_of(const fs::path& file) { return concat("the metadata of ", file.string()); }

// Adds the metadata of each file to `sources`.
Safetensors read_weights(const fs::path& directory, ExcludedWords words,
                         std::vector<ModelSource>& sources) {
  const auto read = [&](const fs::path& file) {
    Safetensors part = read_finite_weights(file, words);
    sources.push_back({metadata_of(file), keys_of(part.metadata)});
    return part;
  };
  const fs::path index = directory / kWeightsIndex;
  if (is_there(directory / kWeightsFile)) {
    if (is_there(index))
      notice(concat(index.string(), " was not read, because ", kWeightsFile, " lies beside it"));
    return read(directory / kWeightsFile);
  }
  Safetensors all;
  for (const auto& [file, names] : parts_of(index)) {
    Safetensors part = read(directory / file);
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

// Whether the files show that Nine wrote them. What other programs call their architecture or write
// into their config.json is their own: all that a version of Nine has written has to be there.
bool is_own(const ModelFiles& files, const Json& config) {
  const auto& metadata = files.weights.metadata;
  const auto has = [&](const char* key) { return metadata.contains(key); };
  if (has(kVersionKey) || holds_state(files.directory)) return true;
  if (has("arch") && metadata.at("arch") == "transformer" && has("heads") && has("bptt") &&
      has("activation") && has("positions"))
    return true;
  const auto resolved = config.find("resolved");
  return resolved != config.end() && resolved->is_object() && resolved->contains("version") &&
         resolved->contains("head") && resolved->contains("parameters");
}

// Returns the first three numbers of a version such as "0.3.1" or "0.3.1-rc1"; 0 for those that it
// lacks. Error, with the place and the key: the value is no version.
std::array<int, 3> numbers_of(const std::string& place, const char* key, const Json& version) {
  const std::string text = version.is_string() ? version.get<std::string>() : "";
  std::array<int, 3> n{};
  const char *at = text.data(), *const stop = at + text.size();
  bool sound = true;
  for (int& number : n) {
    const auto [end, error] = std::from_chars(at, stop, number);
    sound = error == std::errc{} && *at != '-';
    at = end;
    if (!sound || at == stop || *at != '.') break;
    ++at;
  }
  sound = sound && (at == stop || *at == '-' || *at == '+');
  require(sound, place, ": ", unexpected_value(key, version, "a version of Nine such as 0.2.0"));
  return n;
}

std::string quoted_list(const std::vector<std::string>& keys) {
  std::string all;
  for (size_t i = 0; i < keys.size(); ++i)
    all += concat(i == 0 ? "" : i + 1 < keys.size() ? ", " : " and ", '"', keys[i], '"');
  return all;
}

// Adds the head that a run resolved, which config.json has beside the run's options. Error: it is
// not an object.
void add_resolved(ModelFiles& files, Json& config, const Json& resolved) {
  ModelSource& file = files.sources.front();
  require(resolved.is_object(), file.place, ": ",
          unexpected_value("resolved", resolved, "an object"));
  const auto head = resolved.find("head");
  if (head == resolved.end()) return;
  // A name such as log@tuned may mean another head in another version. The run resolved it.
  if (const auto name = config.find("head");
      name != config.end() && name->is_string() &&
      name->get<std::string>().find('@') != std::string::npos)
    config.erase(name);
  files.sources.insert(files.sources.begin() + 1,
                       {concat("'resolved' of ", file.place), {{"head", *head}}});
}

constexpr const char *kWords = "embedding.weight", *kTargetWords = "tgt_embedding.weight",
                     *kSourceWords = "src_embedding.weight", *kHeadWords = "head.weight",
                     *kRecurrentInput = "lstm.weight_ih_l0", *kPositionVectors = "positions.weight";

// Whether a tensor is of Nine's own optimisers.
bool is_of_optimizer(const std::string& name) {
  const auto beginnings = {"adam.m.", "adam.v.", "sgd.velocity.", "asgd.average."};
  return std::ranges::any_of(beginnings, [&](const char* s) { return name.starts_with(s); });
}

// Compares the sizes that a run resolved with the tensors. Error: config.json is of another model.
void check_resolved(const ModelFiles& files, const Json& resolved) {
  const auto& tensors = files.weights.tensors;
  const auto compare = [&](const char* key, int64_t size, std::string_view of) {
    const auto said = resolved.find(key);
    if (said == resolved.end() || *said == size) return;
    fail(files.sources.front().place, ": 'resolved' says that '", key, "' is ",
         shortened(json_text(*said)), ", but ", of, " ", size,
         ": put the model's own config.json there");
  };
  int64_t parameters = 0;
  for (const auto& [name, tensor] : tensors) {
    bool buffer = name == kPositionsName;
    for (const HeadBuffer& b : head_buffers()) buffer = buffer || name == concat("head", b.name);
    if (!buffer) parameters += tensor.elements();
  }
  compare("parameters", parameters, "the number of the tensors' parameters is");
  for (const auto& [key, table] : {std::pair("vocab", kWords), std::pair("src_vocab", kSourceWords),
                                   std::pair("tgt_vocab", kTargetWords)})
    if (const auto found = tensors.find(table);
        found != tensors.end() && found->second.shape().rank() > 0)
      compare(key, found->second.shape()[0], concat("the number of rows of ", table, " is"));
}

// Error: a table of vectors, or the first map of an LSTM, is 0 everywhere, as a file that was not
// written to its end is.
void require_word_vectors(const ModelFiles& files) {
  for (const char* name : {kWords, kSourceWords, kTargetWords, kHeadWords, kRecurrentInput,
                           kPositionVectors, kPositionsName}) {
    const auto found = files.weights.tensors.find(name);
    if (found == files.weights.tensors.end() || found->second.elements() == 0) continue;
    const bool zero = dispatch_float(found->second.dtype(), "read_model", [&]<class T>(T) {
      const T* const values = found->second.data<T>();
      return std::all_of(values, values + found->second.elements(), [](T x) { return x == 0; });
    });
    require(!zero, files.directory.string(), ": the tensor ", name,
            " is 0 everywhere, as if the file had not been written to its end: copy it again");
  }
}

// Gives keys and activations Nine's names where Hugging Face's transformers has another name, and a
// notice() of each key. Without it Nine would assume a value that config.json contradicts.
void use_own_names(ModelFiles& files) {
  for (ModelSource& source : files.sources) {
    for (const auto& [name, own] : {std::pair("rms_norm_eps", "layer_norm_eps"),
                                    {"layer_norm_epsilon", "layer_norm_eps"},
                                    {"norm_eps", "layer_norm_eps"},
                                    {"rope_theta", "rotary_base"}}) {
      if (!source.keys.contains(name) || source.keys.contains(own)) continue;
      source.keys[own] = source.keys[name];
      notice(concat(source.place, ": the key '", name, "' is read as '", own, "'"));
    }
    const auto said = source.keys.find("activation");
    if (said == source.keys.end()) continue;
    for (const auto& [name, own] : {std::pair("gelu_new", "gelu-tanh"),
                                    {"gelu_pytorch_tanh", "gelu-tanh"},
                                    {"swish", "silu"}})
      if (*said == name) *said = own;
  }
}

std::optional<double> number_in(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

// Whether a key's value is that of a JSON text. In metadata the value is a text itself, perhaps as
// Python writes it.
bool means(const Json& said, const std::string& json) {
  if (!said.is_string()) return said == parse_json(json);
  std::string text = said.get<std::string>();
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto x = number_in(text), y = number_in(json);
  return x && y ? *x == *y : text == (json == "null" ? "none" : json);
}

// Whether two sources have one value of a key, which one of them may have as a text.
bool say_the_same(std::string_view key, const Json& one, const Json& other) {
  const auto text_in = [&](const Json& keys) {
    const Json& value = *keys.find(key);
    return value.is_string() ? value.get<std::string>() : json_text(value);
  };
  const std::string a = text_in(one), b = text_in(other);
  if (a == b) return true;
  if (key == "head") {
    const auto head_in = [](const Json& keys) {
      return head_settings_of(keys).head_spec().to_text();
    };
    try {
      return head_in(one) == head_in(other);
    } catch (const UsageError&) {  // another program's name of a head
      return false;
    }
  }
  const auto x = number_in(a), y = number_in(b);
  return x && y && *x == *y;
}

}  // namespace

std::vector<fs::path> weight_files(const fs::path& directory) {
  if (is_there(directory / kWeightsFile) || !is_there(directory / kWeightsIndex))
    return {directory / kWeightsFile};
  std::vector<fs::path> files{directory / kWeightsIndex};
  for (const auto& [file, names] : parts_of(files[0])) files.push_back(directory / file);
  return files;
}

ModelFiles read_model(const fs::path& directory, ExcludedWords words) {
  ModelFiles files{.directory = directory};
  const std::string config_file = (directory / "config.json").string();
  require_regular_file(directory / "state.json");
  Json config = model_config(directory);
  files.sources.push_back({config_file, Json::object()});
  Safetensors stored = read_weights(directory, words, files.sources);
  for (const auto& [name, tensor] : stored.tensors) {
    require(!is_of_optimizer(name), directory.string(), ": the tensor ", quote(name),
            " is of an optimiser, as in ", kOptimizerFile, ", not of a model: put the model's own ",
            kWeightsFile, " there");
    require(
        tensor.dtype() != DType::int32, directory.string(), ": tensor ", quote(name),
        " holds whole numbers, and a model's tensors hold F32, F64, F16 or BF16: leave it out if "
        "it counts or numbers something, as n_averaged and position_ids do; otherwise convert it");
    require(files.weights.tensors.emplace(unwrapped(name), tensor).second, directory.string(),
            ": two tensors are called '", unwrapped(name),
            "' without the prefixes of PyTorch's wrappers; one of them is '", name, "'");
  }
  files.hugging_face = is_hugging_face(files.weights.tensors, config);
  if (files.hugging_face)
    config =
        read_hugging_face(config_file, config, files.weights.tensors,
                          words == ExcludedWords::by_infinity ? -INFINITY : kExclusionInTraining);
  else
    leave_out_beginning(files);
  files.weights.metadata = std::move(stored.metadata);
  const auto& metadata = files.weights.metadata;
  files.foreign = !is_own(files, config);
  const Json resolved = config.value("resolved", Json::object());
  config.erase("resolved");
  require_word_vectors(files);
  if (!files.foreign) {
    add_resolved(files, config, resolved);
    check_resolved(files, resolved);
    if (const std::string wrong =
            dictionary_differences(directory, resolved.value("identity", Json()));
        !wrong.empty())
      fail(config_file, " is of another model than the dictionary in ", directory.string(), ": ",
           wrong, "put the model's own files together");
  }
  if (const auto said = metadata.find(kWordsKey); said != metadata.end())  // Nine alone writes it
    if (const std::string wrong = dictionary_differences(directory, parse_json(said->second));
        !wrong.empty())
      fail("model.safetensors is of another model than the dictionary in ", directory.string(),
           ": ", wrong, "put the model's own files together");
  files.sources.front().keys = std::move(config);
  if (files.foreign) use_own_names(files);
  files.sources.push_back(
      {metadata_of(weight_files(directory).front()), keys_left_out(metadata), true});
  const auto version = metadata.find(kVersionKey);
  if (!files.foreign && resolved.contains("version"))
    numbers_of(config_file, "resolved/version", resolved["version"]);
  if (version != metadata.end() &&
      numbers_of(metadata_of(weight_files(directory).front()), kVersionKey, version->second) >
          numbers_of("", kVersionKey, kVersion))
    notice(concat(directory.string(), " was written by Nine ", version->second, "; this is ",
                  kVersion, ", which may not know all that the model needs"));
  if (is_there(directory / "state.json") && !holds_state(directory)) {
    // Beside weights of Nine's it was a checkpoint's, and opening that says what stands there.
    if (!files.foreign) static_cast<void>(Checkpoint(directory, CheckpointUse::model));
    notice(concat((directory / "state.json").string(),
                  " is another program's, without the keys \"files\" and \"crc32c\": it was not "
                  "read"));
  }
  return files;
}

const Json* ModelFiles::find(std::string_view key) const {
  const ModelSource* first = nullptr;
  for (const ModelSource& source : sources) {
    const auto value = source.keys.find(key);
    if (value == source.keys.end()) continue;
    if (first == nullptr && source.implied) return nullptr;
    if (first == nullptr) {
      first = &source;
      continue;
    }
    const std::string text = shortened(json_text(*value));
    require(say_the_same(key, first->keys, source.keys), first->place, ": the key '", key, "' is ",
            shortened(json_text(first->keys[key])), ", but ",
            source.implied
                ? concat(source.place, ", which Nine wrote, mean ", text, " by leaving it out")
                : concat(text, " in ", source.place),
            "; correct one of them");
  }
  return first == nullptr ? nullptr : &*first->keys.find(key);
}

std::string ModelFiles::said_in(std::string_view key) const {
  for (const ModelSource& source : sources)
    if (!source.implied && source.keys.contains(key)) return source.place;
  return sources.front().place;
}

int64_t ModelFiles::count(const char* key) const {
  require_keys({key});
  const Json& value = *find(key);
  const std::string text = value.is_string()           ? value.get<std::string>()
                           : value.is_number_integer() ? value.dump()
                                                       : std::string();
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  require(error == std::errc{} && end == text.data() + text.size() && number > 0, said_in(key),
          ": ", unexpected_value(key, value, "a whole number from 1 on"));
  return number;
}

int64_t ModelFiles::positions(const char* key) const {
  const int64_t number = count(key);
  require(number <= kMostPositions, said_in(key), ": the key '", key, "' is ", number,
          ", and a table of at most ", kMostPositions, " positions was expected: lower it");
  return number;
}

bool ModelFiles::is_translation() const { return weights.tensors.contains(kTargetWords); }

const Tensor& ModelFiles::embedding(std::string_view task) const {
  const auto& tensors = weights.tensors;
  const char *const own = task == "mt" ? kTargetWords : kWords, *const other = task == "mt"
                                                                                   ? kWords
                                                                                   : kTargetWords;
  if (const auto found = tensors.find(own); found != tensors.end()) return found->second;
  require(!tensors.contains(other), directory.string(), " is a ",
          task == "mt" ? "language model (lm_train, lm_score), not a translation model"
                       : "translation model (mt_train, mt_translate), not a language model");
  return weights.at(own);  // its error lists the tensors
}

void ModelFiles::check_types(const char* table) const {
  const auto& tensors = weights.tensors;
  const DType own = weights.at(table).dtype();
  for (const auto& [name, tensor] : tensors) {
    bool buffer = name == kPositionsName;
    for (const HeadBuffer& b : head_buffers()) buffer = buffer || name == concat("head", b.name);
    if (buffer || tensor.dtype() == own) continue;
    notice(concat(directory.string(), ": the tensor ", name, " is of type ", tensor.dtype(),
                  " and ", table, " of type ", own, ": the model computes with ", own));
    break;
  }
  const Json* const said = find("dtype");
  if (said == nullptr || (foreign && !said->is_string())) return;
  std::string text = said->is_string() ? said->get<std::string>() : "";
  if (foreign && text.starts_with("torch.")) text.erase(0, std::string_view("torch.").size());
  // Other programs may name the type that they computed with, of 16 bits or of other names.
  const bool known = text == to_text(DType::float32) || text == to_text(DType::float64);
  require(foreign || known, said_in("dtype"), ": ",
          unexpected_value("dtype", *said, "float32 or float64"));
  require(!known || text == to_text(own), said_in("dtype"), ": the key 'dtype' is ",
          shortened(json_text(*said)), ", but the tensor ", table, " is of type ", own,
          "; correct the key, or put the model's own weights there");
}

bool ModelFiles::names_directory(std::string_view message) const {
  const std::string place = directory.string();
  return message.starts_with(place + ":") || message.starts_with(place + " ") ||
         message.starts_with(place + "/") ||
         message.find(" " + place + "/") != std::string_view::npos;
}

int64_t ModelFiles::shown(const char* key, int64_t size, std::string_view before,
                          std::string_view after) const {
  if (const Json* said = find(key))
    require(count(key) == size, said_in(key), ": the key '", key, "' is ", json_text(*said),
            ", but ", before, size, after);
  return size;
}

bool ModelFiles::shown(const char* key, bool value, const char* tensor) const {
  const Json* said = find(key);
  if (said == nullptr) return value;
  const auto found = weights.tensors.find(tensor);
  require(said->is_boolean(), said_in(key), ": ", unexpected_value(key, *said, "true or false"));
  require(*said == value, said_in(key), ": the key '", key, "' is ", json_text(*said), ", but ",
          found == weights.tensors.end()
              ? concat("there is no tensor ", tensor)
              : concat("there is a tensor ", tensor, ", ", found->second.shape()));
  return value;
}

void ModelFiles::check_kind(const char* task, const char* tensor) const {
  const Json* const said = find("task");
  require(said == nullptr || *said == task, said_in("task"), ": the key 'task' is ",
          said == nullptr ? "" : shortened(json_text(*said)), ", but the tensor ", tensor,
          " is of a model of the task '", task, "'");
  const Json *const first = find("norm_first"), *const norm = find("norm");
  if (first == nullptr || first->is_null()) return;
  require(first->is_boolean(), said_in("norm_first"), ": ",
          unexpected_value("norm_first", *first, "true or false"));
  require(norm == nullptr || *first == (*norm == "pre"), said_in("norm_first"),
          ": the key 'norm_first' is ", json_text(*first), ", but the key 'norm' is ",
          norm == nullptr ? "" : json_text(*norm), "; norm_first=True is \"norm\": \"pre\"");
}

HeadConfig ModelFiles::head() const {
  HeadSettings settings;
  const auto read = [&](const char* key, const auto& set) {
    try {
      set();
    } catch (const UsageError& e) {  // about a value of the files, not of the command line
      fail(said_in(key), ": ", e.what());
    }
  };
  for (const HeadSetting& setting : head_settings())
    if (setting.use == SettingUse::written || setting.use == SettingUse::decoding)
      if (const Json* value = find(setting.name))
        read(setting.name, [&] {
          set_from_json(settings, setting, *value);
          if (setting.check != nullptr && !is_empty_text(*value))
            setting.check(value->get<std::string>());
        });
  HeadConfig head;
  read("head", [&] { head = settings.head_config(); });
  head.bias = shown("head_bias", weights.tensors.contains("head.bias"), "head.bias");
  check_buffers(head);
  return head;
}

void ModelFiles::check_buffers(const HeadConfig& head) const {
  for (const LearnedNumber& number : learned_numbers(head.spec)) {
    const std::string name = concat("head.", number.tensor_name());
    const auto tensor = weights.tensors.find(name);
    require(tensor != weights.tensors.end(), directory.string(), ": there is no tensor ", name,
            ", which holds a number that the head ", head.spec.to_text(), " learned");
    if (tensor->second.elements() != 1) continue;  // an error where the shapes are compared
    const double value = number.value(tensor->second.to_vector().front());
    const std::string wrong =
        number.positive && value == 0 ? "must be above 0" : misfit(value, tensor->second.dtype());
    require(wrong.empty(), directory.string(), ": the tensor ", name, " makes ", number.name, ' ',
            value, ", which ", wrong);
  }
  for (const HeadBuffer& buffer : head_buffers()) {
    const std::string name = concat("head", buffer.name);
    const bool there = weights.tensors.contains(name);
    if (there == buffer.is_of(head)) continue;
    // Training alone needs the counts for a sampled softmax, which metadata do not mention.
    const Json* const sampled = find("sampled_softmax");
    const bool of_words = &buffer == &head_buffers().front();
    if (there && of_words && (sampled != nullptr ? !is_empty_text(*sampled) : !foreign)) continue;
    fail(directory.string(), ": there is ", there ? "a" : "no", " tensor ", name,
         ", but the word norm is ", to_text(head.norms.word), " and the context norm ",
         to_text(head.norms.context), "; config.json or the metadata must say the \"word_norm\" ",
         "and \"context_norm\" that the model was trained with (docs/margins.md)");
  }
}

void ModelFiles::check_ties(const std::string& shown) const {
  const auto found = weights.metadata.find("tied");
  const std::string said = found == weights.metadata.end() ? "" : found->second;
  // Other programs may mean something else by the key.
  const bool compared =
      weights.metadata.contains(kVersionKey) || said.find('=') != std::string::npos;
  const auto text = [](const std::string& ties) {
    return ties.empty() ? std::string("no ties") : to_text(quote(ties));
  };
  require(!compared || said == shown, sources.back().place, " say by the key 'tied' ", text(said),
          ", but the tensors show ", text(shown));
}

void ModelFiles::check_positions(bool learned, const char* table) {
  if (!says("positions")) return;
  const Positions said = choice("positions", learned ? Positions::learned : Positions::sinusoidal);
  require(learned == (said == Positions::learned), said_in("positions"),
          ": the key 'positions' is \"", said, "\", but ",
          learned ? "there is a tensor " : "there is no tensor ", table);
}

double ModelFiles::factor(const char* key, double usual) {
  const double value = number(key, usual);
  const auto computed = static_cast<float>(value);
  require(computed != 0 && std::isfinite(computed), said_in(key), ": the key '", key, "' is ",
          value, ", which is ", computed == 0 ? "0" : "infinite", " in float32");
  return value;
}

double ModelFiles::number(const char* key, double usual) {
  const Json* const value = find(key);
  if (value == nullptr) {
    if (foreign) assumed[key] = usual;
    return usual;
  }
  double found = NAN;
  if (value->is_number()) found = value->get<double>();
  if (value->is_string()) found = number_in(value->get<std::string>()).value_or(NAN);
  require(std::isfinite(found), said_in(key), ": ", unexpected_value(key, *value, "a number"));
  return found;
}

void ModelFiles::only(const char* key, double wanted) {
  const double said = number(key, wanted);
  require(said == wanted, said_in(key), ": the key '", key, "' is ", said, ", but Nine has ",
          wanted, " only");
}

std::string ModelFiles::text_or(const char* key, const std::string& usual) {
  const Json* const value = find(key);
  if (value == nullptr) {
    if (foreign) assumed[key] = usual;
    return usual;
  }
  require(value->is_string(), said_in(key), ": ", unexpected_value(key, *value, "a text"));
  return value->get<std::string>();
}

void ModelFiles::require_keys(std::initializer_list<const char*> keys,
                              std::string_view more) const {
  std::vector<std::string> missing;
  for (const char* key : keys)
    if (!says(key)) missing.emplace_back(key);
  if (missing.empty()) return;
  const bool there = is_there(directory / "config.json");
  require(foreign,
          there ? (directory / "config.json").string() + " lacks "
                : directory.string() + " has no config.json, and nothing else says ",
          quoted_list(missing), ", which tensors do not show: copy the config.json of the model's ",
          "own run or checkpoint there");
  fail(there ? (directory / "config.json").string() + " lacks "
             : directory.string() + " has no config.json, and nothing else says ",
       quoted_list(missing),
       ", which tensors do not show; of PyTorch's defaults it has {\"heads\": N, ",
       "\"norm\": \"post\", \"activation\": \"relu\"}, and norm_first=True is \"norm\": \"pre\"",
       more, " (docs/pytorch.md)");
}

void ModelFiles::require_known_settings() const {
  // Keys by which other programs change a network in a way that tensors do not show, and the value
  // without an effect, as JSON.
  struct OtherSetting {
    const char *key = "", *without_effect = "null";
  };
  constexpr std::array kOtherSettings = {OtherSetting{"sliding_window"},
                                         OtherSetting{"attention_chunk_size"},
                                         OtherSetting{"attention_multiplier"},
                                         OtherSetting{"query_pre_attn_scalar"},
                                         OtherSetting{"attn_logit_softcapping"},
                                         OtherSetting{"final_logit_softcapping"},
                                         OtherSetting{"clip_qkv"},
                                         OtherSetting{"scale_depth"},
                                         OtherSetting{"dim_model_base"},
                                         OtherSetting{"logit_scale", "1"},
                                         OtherSetting{"logits_scaling", "1"},
                                         OtherSetting{"lm_head_multiplier", "1"},
                                         OtherSetting{"embedding_multiplier", "1"},
                                         OtherSetting{"scale_emb", "1"},
                                         OtherSetting{"residual_multiplier", "1"},
                                         OtherSetting{"key_multiplier", "1"},
                                         OtherSetting{"scale_attn_weights", "true"},
                                         OtherSetting{"scale_attn_by_inverse_layer_idx", "false"},
                                         OtherSetting{"use_parallel_residual", "false"},
                                         OtherSetting{"parallel_attn", "false"},
                                         OtherSetting{"alibi", "false"}};
  const Json* const windows = find("use_sliding_window");
  for (const auto& [key, without_effect] : kOtherSettings) {
    const Json* const said = find(key);
    if (said == nullptr || means(*said, "null") || means(*said, without_effect)) continue;
    if (key == std::string_view("sliding_window") && windows != nullptr && means(*windows, "false"))
      continue;
    fail(said_in(key), ": the key '", key, "' is ", shortened(json_text(*said)),
         ", and Nine has no such setting: if the model computes without it, leave out the key ",
         "(docs/pytorch.md)");
  }
}

void ModelFiles::say_assumed() const {
  if (foreign) require_known_settings();
  // Words of other programs for keys that are assumed.
  struct OtherName {
    const char *key, *other;
  };
  constexpr std::array kOtherNames = {
      OtherName{"activation", "activation_function"}, OtherName{"activation", "hidden_act"},
      OtherName{"activation", "hidden_activation"}, OtherName{"embed_scale", "scale_embedding"}};
  for (const auto& [key, other] : kOtherNames) {
    const Json* const said = assumed.contains(key) ? find(other) : nullptr;
    if (said == nullptr) continue;
    const Json& value = assumed[key];
    const bool same = said->is_boolean() ? *said == (value != 1) : *said == value;
    require(same, said_in(other), ": the key '", other, "' is ", shortened(json_text(*said)),
            ", and Nine reads the key '", key, "', which is not there, so that ", json_text(value),
            " is assumed: say it under that key (docs/pytorch.md)");
  }
  if (!assumed.empty())
    notice(concat(directory.string(),
                  " was not written by Nine, and nothing in it says what is assumed: ",
                  json_text(assumed), "; its config.json can say it (docs/pytorch.md)"));
}

}  // namespace nine
