#include "nn/models/linear_form.h"

#include <string_view>

namespace nine {

std::optional<LinearForm> linear_form(const HeadConfig& head, const HeadSpec& spec) {
  if (spec.mixture || spec.contexts || spec.untied || head.norms) return std::nullopt;
  const Score& score = spec.components.front();
  const auto number = [&](std::string_view name) {
    const auto infos = kernel_info(score).parameters;
    size_t i = 0;
    while (infos[i].name != name) ++i;
    return score.parameters[i];
  };
  // Of a distance q = |w|^2 + |h|^2 - 2 w.h in the score -q * by_distance.
  const auto of_distance = [&](double by_distance, int64_t parts) {
    return LinearForm{.factor = 2 * by_distance,
                      .norm_factor = -by_distance * static_cast<double>(parts),
                      .parts = parts};
  };
  switch (score.kind) {
    case ScoreKind::lin:
      return LinearForm{.factor = score.scale};
    case ScoreKind::pol:
      if (number("p") == 1) return LinearForm{.factor = score.scale * number("alpha")};
      break;
    case ScoreKind::pow:
      if (number("p") == 2) return of_distance(score.scale, 1);
      break;
    case ScoreKind::ssg:
    case ScoreKind::mog: {
      const double variance = number("variance");
      const bool mog = score.kind == ScoreKind::mog;
      const auto parts = mog ? static_cast<int64_t>(number("components")) : 1;
      const bool sum = !mog || number("form") == 0 || parts == 1;
      if (variance > 0 && sum) return of_distance(score.scale / (4 * variance), parts);
      break;
    }
    default:
      break;
  }
  return std::nullopt;
}

LinearHead linear_head(const LinearForm& form, const Tensor& vectors, const Tensor& bias) {
  const int64_t words = vectors.shape()[0], width = vectors.shape()[1], part = width / form.parts;
  if (form.factor == 1 && form.norm_factor == 0 && form.parts == 1) return {vectors, bias};
  LinearHead out{Tensor(vectors.shape(), DType::float32), bias};
  if (form.norm_factor != 0) out.bias = Tensor({words}, DType::float32);
  for (int64_t v = 0; v < words; ++v) {
    const float* const w = vectors.data<float>() + v * width;
    float* const to = out.weight.data<float>() + v * width;
    double squares = 0;
    for (int64_t i = 0; i < width; ++i) {
      squares += static_cast<double>(w[i]) * static_cast<double>(w[i]);
      double sum = 0;
      for (int64_t p = 0; p < form.parts; ++p) sum += static_cast<double>(w[p * part + i % part]);
      to[i] = static_cast<float>(form.factor * sum);
    }
    if (form.norm_factor != 0)
      out.bias.data<float>()[v] = static_cast<float>(
          form.norm_factor * squares + (bias ? static_cast<double>(bias.data<float>()[v]) : 0));
  }
  return out;
}

}  // namespace nine
