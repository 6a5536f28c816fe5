#include "nn/transformer_style.h"

#include <array>
#include <charconv>
#include <type_traits>

namespace nine {

std::span<const StyleSetting> style_settings() {
  using S = TransformerStyle;
  static constexpr std::array<StyleSetting, 10> kSettings{
      {{.name = "activation",
        .member = &S::activation,
        .help =
            "activation function of the feed-forward layers; swiglu and geglu are gated, with a "
            "third matrix",
        .words = "activation",
        .always_written = true},
       {.name = "positions",
        .member = &S::positions,
        .help = "kind of positions: learned and sinusoidal are added to the embeddings, rotary "
                "rotates queries and keys",
        .words = "positions",
        .always_written = true},
       {.name = "rotary_base",
        .member = &S::rotary_base,
        .help = "base of the angles of rotary positions",
        .words = "rotary base",
        .has_effect = [](const S& s) { return s.positions == Positions::rotary; },
        .needs = "--positions rotary"},
       {.name = "rotary_scaling",
        .member = &S::rotary_scaling,
        .help =
            "how the angles of rotary positions are scaled for long texts: none, linear:FACTOR, "
            "or, as in Llama 3.1, llama3:factor=8,low=1,high=4,length=8192",
        .words = "rotary scaling",
        .has_effect = [](const S& s) { return s.positions == Positions::rotary; },
        .needs = "--positions rotary"},
       {.name = "norm",
        .member = &S::norm,
        .help = "place of the norms: pre, before each residual branch and after the last layer; "
                "post, after each residual sum",
        .words = "norm order"},
       {.name = "norm_type",
        .member = &S::norm_type,
        .help = "kind of the norms: layer, to mean 0 and variance 1, with a bias; rms, to mean "
                "square 1",
        .words = "norm type",
        .tensor = "norm1.bias",
        .present = "layer",
        .has_tensor = [](const S& s) { return has_bias(s.norm_type); }},
       {.name = "kv_heads",
        .member = &S::kv_heads,
        .help = "number of heads of keys and values, a divisor of --heads; each is read by as many "
                "heads of queries; 0: --heads",
        .words = "heads of keys",
        .default_text = "--heads"},
       {.name = "qk_norm",
        .member = &S::qk_norm,
        .help = "RMS norms of each head's queries and keys",
        .words = "norms of queries and keys",
        .tensor = "self_attn.q_norm.weight",
        .present = "true",
        .absent = "false",
        .has_tensor = [](const S& s) { return s.qk_norm; }},
       {.name = "layer_norm_eps",
        .member = &S::layer_norm_eps,
        .help = "number that every norm adds to the variance or the mean square",
        .words = "epsilon of norms"},
       {.name = "linear_bias",
        .member = &S::linear_bias,
        .help = "biases of the linear maps of the layers",
        .words = "biases of linear maps",
        .tensor = "linear1.bias",
        .present = "true",
        .absent = "false",
        .has_tensor = [](const S& s) { return s.linear_bias; }}}};
  return kSettings;
}

std::string StyleSetting::text(const TransformerStyle& style) const {
  return std::visit(
      [&](auto m) -> std::string {
        const auto value = style.*m;
        using T = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<T, bool>) {
          return value ? "true" : "false";
        } else if constexpr (std::is_arithmetic_v<T>) {
          return value != 0 ? concat(value) : "";
        } else {
          return to_text(value);
        }
      },
      member);
}

void StyleSetting::set(TransformerStyle& style, const std::string& value) const {
  std::visit(
      [&](auto m) {
        using T = std::remove_cvref_t<decltype(style.*m)>;
        if constexpr (std::is_same_v<T, bool>) {
          style.*m = value == "true";
        } else if constexpr (std::is_same_v<T, double>) {
          // Unlike std::stod, no error for a subnormal number.
          std::from_chars(value.data(), value.data() + value.size(), style.*m);
        } else if constexpr (std::is_same_v<T, int64_t>) {
          style.*m = value.empty() ? 0 : std::stoll(value);
        } else if constexpr (std::is_same_v<T, RotaryScaling>) {
          style.*m = RotaryScaling::from_text(value);
        } else {
          style.*m = enum_from_text<T>(value);
        }
      },
      member);
}

}  // namespace nine
