#include "nn/models/model_description.h"

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>

#include "core/quote.h"
#include "nn/models/model_directory.h"
#include "nn/models/transformer_language_model.h"

namespace nine {

std::span<const NetworkKey> network_keys() {
  using C = TransformerLanguageModelConfig;
  static constexpr std::array<NetworkKey, 7> kKeys{
      {{"arch", [](const C&) -> std::string { return "transformer"; }, "lstm"},
       {"heads", [](const C& c) { return std::to_string(c.heads); }},
       {"bptt", [](const C& c) { return std::to_string(c.window); }, nullptr, false},
       {"activation", [](const C& c) { return std::string(to_text(c.activation)); }},
       {"positions", [](const C& c) { return std::string(to_text(c.positions)); }},
       {"norm", [](const C& c) { return std::string(to_text(c.norm)); }, "pre"},
       {"embed_scale", [](const C& c) { return c.embed_scale ? concat(*c.embed_scale) : ""; }}}};
  return kKeys;
}

std::map<std::string, std::string> ModelDescription::metadata() const {
  std::map<std::string, std::string> all = network;
  for (const HeadSetting& setting : head_settings())
    if (setting.use == SettingUse::decoding && setting.is_given(head))
      all[setting.name] = setting.text(head);
  all["head"] = head.head_spec().to_text();
  return all;
}

namespace {

constexpr std::string_view kHead = "head";

std::optional<double> number_in(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

// Returns the value of a key, or `usual` if the key is missing. UsageError: the value has another
// type than `usual`.
template <class T>
T value_of(const Json& config, const std::string& key, const T& usual) {
  const auto found = config.find(key);
  if (found == config.end()) return usual;
  constexpr bool kText = std::is_same_v<T, std::string>, kTruth = std::is_same_v<T, bool>;
  if (kText ? found->is_string() : kTruth ? found->is_boolean() : found->is_number())
    return found->template get<T>();
  throw UsageError(concat("the key '", key, "' is ", shortened(json_text(*found)), ", and ",
                          kText    ? "a text"
                          : kTruth ? "true or false"
                                   : "a number",
                          " was expected"));
}

HeadSettings settings_of(const Json& config, bool training) {
  HeadSettings head;
  for (const HeadSetting& setting : head_settings())
    if (training || setting.use == SettingUse::written || setting.use == SettingUse::decoding)
      std::visit([&](auto member) { head.*member = value_of(config, setting.name, head.*member); },
                 setting.member);
  // Uses the resolved head, which a run writes beside the options as they were given.
  const auto resolved = config.find("resolved");
  if (resolved != config.end() && resolved->is_object())
    head.head = value_of(*resolved, "head", head.head);
  return head;
}

// True if a value of config.json equals a text of metadata.
bool is_same(const Json& config, const std::string& key, const std::string& stored) {
  const Json& value = config[key];
  const std::string said = value.is_string() ? value.get<std::string>() : json_text(value);
  if (said == stored) return true;
  if (key != kHead) {
    const auto a = number_in(said), b = number_in(stored);
    return a && b && *a == *b;
  }
  try {
    return settings_of(config, false).head_spec().to_text() == parse_head(stored).to_text();
  } catch (const UsageError&) {  // another program's name of a head
    return false;
  }
}

// A key that config.json and metadata may both have.
struct SharedKey {
  std::string name;
  std::optional<std::string> usual = {};  // what Nine's metadata mean by leaving it out
  bool truth = false;                     // it is true or false
};

std::vector<SharedKey> shared_keys(bool own, bool transformer) {
  std::vector<SharedKey> all;
  for (const HeadSetting& setting : head_settings())
    if (setting.use == SettingUse::decoding) {
      all.push_back({setting.name, {}, setting.member.index() == 0});
      if (own && setting.name != kHead) all.back().usual = setting.text({});
    }
  for (const NetworkKey& key : network_keys()) {
    const bool arch = &key == network_keys().data();
    if (arch && !own) continue;  // what another program calls its network
    all.push_back({key.name});
    if (own && key.usual != nullptr && (transformer || arch)) all.back().usual = key.usual;
  }
  return all;
}

}  // namespace

void add_metadata(Json& config, const std::map<std::string, std::string>& metadata,
                  const std::filesystem::path& directory) {
  const auto arch = metadata.find("arch");
  for (const SharedKey& key : shared_keys(metadata.contains(kVersionKey),
                                          arch != metadata.end() && arch->second != "lstm")) {
    const auto found = metadata.find(key.name);
    const bool told = found != metadata.end();
    if (!told && !key.usual) continue;
    const std::string stored = told ? found->second : *key.usual;
    require(!key.truth || stored == "true" || stored == "false",
            (directory / kWeightsFile).string(), ": '", key.name, "' of the metadata is ",
            quote(stored), ", not true or false");
    if (config.contains(key.name))
      require(is_same(config, key.name, stored), (directory / "config.json").string(),
              ": the key '", key.name, "' is ", shortened(json_text(config[key.name])),
              ", but the metadata of ", kWeightsFile, told ? " have " : ", which Nine wrote, mean ",
              quote(stored), "; correct config.json, or leave the key out of it");
    else if (told)
      config[key.name] = key.truth ? Json(stored == "true") : Json(stored);
  }
}

HeadConfig head_of(const Json& config, bool training) {
  return settings_of(config, training).head_config();
}

}  // namespace nine
