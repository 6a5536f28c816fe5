// The choices of a Transformer's layers, in one structure and one table. The trainers' flags,
// config.json, the metadata and the opening of models follow the table. A new choice is a member
// here, its line in transformer_style.cpp, and the code that uses it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "core/enum_names.h"
#include "nn/feed_forward.h"
#include "nn/norm.h"
#include "nn/norm_order.h"
#include "nn/rotary_scaling.h"

namespace nine {

/// How a Transformer represents a word's position.
enum class Positions : uint8_t {
  learned,     ///< a table of vectors, `positions.weight`
  sinusoidal,  ///< sinusoidal_positions
  rotary       ///< RotaryAngles, in every layer's attention
};
template <>
inline constexpr EnumNames<Positions, 3> kEnumNames<Positions>{
    "positions",
    {{{Positions::learned, "learned"},
      {Positions::sinusoidal, "sinusoidal"},
      {Positions::rotary, "rotary"}}}};

/// True if a model adds these positions to its embeddings. The layers have all others:
/// TransformerLayerConfig::make_positions().
constexpr bool added_to_embeddings(Positions positions) {
  return positions == Positions::learned || positions == Positions::sinusoidal;
}

/// The choices. The defaults are those of Vaswani et al. (2017).
struct TransformerStyle {
  Activation activation = Activation::relu;
  Positions positions = Positions::sinusoidal;
  double rotary_base = 10000;         ///< of rotary positions
  RotaryScaling rotary_scaling = {};  ///< of rotary positions
  NormOrder norm = NormOrder::post;
  NormType norm_type = NormType::layer;
  int64_t kv_heads = 0;                     ///< AttentionStyle::kv_heads
  bool qk_norm = false;                     ///< AttentionStyle::qk_norm
  double layer_norm_eps = LayerNorm::kEps;  ///< added to the variance or mean square by each norm
  bool linear_bias = true;                  ///< biases of the layers' linear maps

  /// Returns GPT-2's choices (Radford et al., 2019): gelu, learned positions, norms before the
  /// branches.
  static TransformerStyle gpt2() {
    return {
        .activation = Activation::gelu, .positions = Positions::learned, .norm = NormOrder::pre};
  }
  /// Returns Llama's choices (Touvron et al., 2023): swiglu, rotary positions, RMS norms before the
  /// branches, no biases.
  static TransformerStyle llama() {
    return {.activation = Activation::swiglu,
            .positions = Positions::rotary,
            .norm = NormOrder::pre,
            .norm_type = NormType::rms,
            .linear_bias = false};
  }
};

/// A member of TransformerStyle, for code that reads the choices by name.
struct StyleSetting {
  using S = TransformerStyle;
  const char* name;  ///< key in configuration files; the flag has dashes for underscores
  std::variant<Activation S::*, Positions S::*, NormOrder S::*, NormType S::*, double S::*,
               int64_t S::*, bool S::*, RotaryScaling S::*>
      member;
  const char* help;   ///< text of the help
  const char* words;  ///< its name in error messages
  /// The end of the name of a layer's tensor that shows the choice, such as "norm1.bias"; null: no
  /// tensor shows it. If a model's files lack the choice's key, the choice is `present` if the
  /// tensor is there, and `absent` if it is not. A null `present` or `absent` means that the tensor
  /// alone does not decide in this case, so that the files must have the key. (Norms without
  /// biases, for example, may be RMS norms, or layer norms with PyTorch's bias=False.)
  const char* tensor = nullptr;
  const char *present = nullptr, *absent = nullptr;
  /// True if a model of this style has the tensor; null without `tensor`.
  bool (*has_tensor)(const TransformerStyle& style) = nullptr;
  /// True: metadata always have the key. False: only if the value is not that of gpt2().
  bool always_written = false;
  const char* default_text = "";  ///< the help's default, if the value does not explain itself
  /// True if the choice has an effect, given the others; null: it always has. `needs` says in words
  /// what the effect requires.
  bool (*has_effect)(const TransformerStyle& style) = nullptr;
  const char* needs = "";

  /// Returns the member as a text; "" for a number that is 0 and so stands for a default, as
  /// kv_heads.
  std::string text(const TransformerStyle& style) const;
  /// Sets the member from a text that text() returns. UsageError: an enumeration has no such value.
  /// Error: RotaryScaling::from_text() does not read the text. Other texts are not checked.
  void set(TransformerStyle& style, const std::string& value) const;
};
/// Returns every member of TransformerStyle, in the order of help pages.
std::span<const StyleSetting> style_settings();

}  // namespace nine
