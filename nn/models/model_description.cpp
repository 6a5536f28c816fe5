#include "nn/models/model_description.h"

#include <nlohmann/json.hpp>
#include <type_traits>

#include "nn/models/model_directory.h"
#include "nn/models/transformer_language_model.h"

namespace nine {

const std::vector<NetworkKey>& network_keys() {
  using C = TransformerLanguageModelConfig;
  static const std::vector<NetworkKey> kKeys = [] {
    std::vector<NetworkKey> keys{
        {"arch", [](const C&) { return std::string("transformer"); }, "lstm"},
        {"heads", [](const C& c) { return std::to_string(c.heads); }},
        {"bptt", [](const C& c) { return std::to_string(c.window); }, "", false}};
    for (const StyleSetting& setting : style_settings())
      keys.push_back({setting.name, [&setting](const C& c) { return setting.text(c.style); },
                      setting.always_written ? "" : setting.text(TransformerStyle::gpt2())});
    keys.push_back(
        {"embed_scale", [](const C& c) { return c.embed_scale ? concat(*c.embed_scale) : ""; }});
    return keys;
  }();
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

Json keys_of(const std::map<std::string, std::string>& metadata) {
  Json keys = Json::object();
  for (const auto& [key, text] : metadata) {
    const bool yes = text == "true" || text == "True", no = text == "false" || text == "False";
    keys[key] = yes || no ? Json(yes) : Json(text);
  }
  return keys;
}

Json keys_left_out(const std::map<std::string, std::string>& metadata) {
  if (!metadata.contains(kVersionKey)) return Json::object();
  std::map<std::string, std::string> usual;
  for (const HeadSetting& setting : head_settings())
    if (setting.use == SettingUse::decoding) usual[setting.name] = setting.text({});
  const std::vector<NetworkKey>& keys = network_keys();
  const NetworkKey& arch = keys.front();
  const auto said = metadata.find(arch.name);
  const bool transformer = said != metadata.end() && said->second != arch.usual;
  for (const NetworkKey& key : keys)
    if (!key.usual.empty() && (transformer || &key == &arch)) usual[key.name] = key.usual;
  for (const auto& [key, text] : metadata) usual.erase(key);
  return keys_of(usual);
}

void set_from_json(HeadSettings& settings, const HeadSetting& setting, const Json& value) {
  std::visit(
      [&](auto member) {
        using T = std::remove_cvref_t<decltype(settings.*member)>;
        constexpr bool kText = std::is_same_v<T, std::string>, kTruth = std::is_same_v<T, bool>;
        const bool fits = kText    ? value.is_string()
                          : kTruth ? value.is_boolean()
                                   : value.is_number();
        if (!fits)
          throw UsageError(unexpected_value(setting.name, value,
                                            kText    ? "a text"
                                            : kTruth ? "true or false"
                                                     : "a number"));
        settings.*member = value.get<T>();
      },
      setting.member);
}

HeadSettings head_settings_of(const Json& keys, bool training) {
  HeadSettings settings;
  for (const HeadSetting& setting : head_settings()) {
    const bool read =
        training || setting.use == SettingUse::written || setting.use == SettingUse::decoding;
    if (const auto value = keys.find(setting.name); read && value != keys.end())
      set_from_json(settings, setting, *value);
  }
  return settings;
}

}  // namespace nine
