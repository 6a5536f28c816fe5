#include "nn/models/read_style.h"

#include <nlohmann/json.hpp>
#include <type_traits>

#include "core/quote.h"

namespace nine {
namespace {

// Sets a choice that the presence of a tensor shows. A key may name another kind that has the
// tensor too. Error: the key's kind does not have the tensor that is there, or has one that is not.
void read_shown(ModelFiles& files, const StyleSetting& setting, const std::string& tensor,
                const char* value, TransformerStyle& style) {
  setting.set(style, value);
  const Json* const said = files.find(setting.name);
  if (said == nullptr) return;
  const std::string text = said->is_string() ? said->get<std::string>() : json_text(*said),
                    shown = setting.text(style);
  std::visit(
      [&](auto m) {
        if constexpr (NamedEnum<std::remove_cvref_t<decltype(style.*m)>>)
          style.*m = files.choice(setting.name, style.*m);
      },
      setting.member);
  const bool there = files.weights.tensors.contains(tensor);
  require(text == setting.text(style) && setting.has_tensor(style) == there,
          files.said_in(setting.name), ": the key '", setting.name, "' is ", shortened(text),
          ", but there is ", there ? "a" : "no", " tensor ", tensor, ", which means ", shown);
}

// Returns the heads of keys, 0 for as many as there are of queries.
int64_t kv_heads_of(const ModelFiles& files, const std::string& layer, int64_t heads) {
  const std::string name = layer + ".self_attn.in_proj_weight";
  const Shape shape = files.weights.at(name).shape();
  require(shape.rank() == 2 && shape[1] % heads == 0, name, " of shape ", shape,
          " does not divide into ", heads, " heads");
  const int64_t size = shape[1] / heads, rows = shape[0] - shape[1];
  require(rows > 0 && rows % (2 * size) == 0 && heads % (rows / (2 * size)) == 0, name,
          " of shape ", shape, " does not hold queries of ", heads, " heads of ", size,
          " numbers, then keys and values of a divisor of these heads");
  const int64_t shown = rows / (2 * size);
  const Json* const said = files.find("kv_heads");
  if (said == nullptr || *said != 0)  // 0: as many
    files.shown("kv_heads", shown, concat("the tensor ", name, " has the keys of "), " heads");
  return shown == heads ? 0 : shown;
}

// Error: a key of another program says that heads are rotated in another way than Nine's.
void require_plain_rotation(const ModelFiles& files) {
  for (const char* key :
       {"rope_scaling", "rope_parameters", "partial_rotary_factor", "rotary_pct", "rotary_dim"})
    if (const Json* const said = files.find(key); said != nullptr)
      require(said->is_null() || *said == 1, files.said_in(key), ": the key '", key, "' is ",
              shortened(json_text(*said)), ", but Nine rotates whole heads by the angles of ",
              "rotary_base alone: if the model does so too, leave out the key");
}

}  // namespace

TransformerStyle read_style(ModelFiles& files, const std::string& layer, int64_t heads,
                            const TransformerStyle& usual) {
  TransformerStyle style = usual;
  for (const StyleSetting& setting : style_settings()) {
    if (setting.has_effect != nullptr && !setting.has_effect(style)) continue;
    if (setting.tensor != nullptr) {
      const std::string tensor = concat(layer, '.', setting.tensor);
      const bool there = files.weights.tensors.contains(tensor);
      if (const char* const value = there ? setting.present : setting.absent; value != nullptr) {
        read_shown(files, setting, tensor, value, style);
        continue;
      }
      files.require_keys({setting.name}, concat("; there is no tensor ", tensor,
                                                ", as of RMS norms, which say \"", setting.name,
                                                "\": \"rms\"; of layer norms with bias=False store "
                                                "biases of zeros"));
    }
    std::visit(
        [&](auto m) {
          using T = std::remove_cvref_t<decltype(style.*m)>;
          if constexpr (std::is_same_v<T, Positions>) {
            // The caller knows it from a table of positions.
          } else if constexpr (NamedEnum<T>) {
            style.*m = files.choice(setting.name, style.*m);
          } else if constexpr (std::is_same_v<T, double>) {
            style.*m = files.factor(setting.name, style.*m);
            require(style.*m > 0, files.said_in(setting.name), ": the key '", setting.name, "' is ",
                    style.*m, ", which is not above 0");
          } else if constexpr (std::is_same_v<T, RotaryScaling>) {
            if (const Json* const said = files.find(setting.name)) try {
                require(said->is_string(), unexpected_value(setting.name, *said, "a text"));
                style.*m = RotaryScaling::from_text(said->get<std::string>());
              } catch (const Error& e) {
                fail(files.said_in(setting.name), ": ", e.what());
              }
          } else if constexpr (std::is_same_v<T, int64_t>) {
            style.*m = kv_heads_of(files, layer, heads);
          }
        },
        setting.member);
  }
  if (files.foreign && style.positions == Positions::rotary) require_plain_rotation(files);
  return style;
}

}  // namespace nine
