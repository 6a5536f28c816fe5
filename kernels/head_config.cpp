#include "kernels/head_config.h"

#include <nlohmann/json.hpp>

#include "core/json.h"

namespace nine {

HeadSpec HeadSettings::head_spec() const {
  return parse_head(
      head, {.variance = variance, .ball = ball, .head_context = head_context, .untied = untied});
}

HeadConfig HeadSettings::head_config() const {
  return {.spec = head_spec(),
          .bias = head_bias,
          .loss = {.smoothing = {.epsilon = label_smoothing,
                                 .kind = enum_from_text<LabelSmoothing::Kind>(smoothing)},
                   .prior = prior_regulariser_from_text(pi_reg),
                   .memory = enum_from_text<HeadMemory>(head_memory)},
          .norm_reg = norm_regulariser_from_text(weight_norm_reg)};
}

Json to_json(const HeadConfig& c) {
  return {{"head", c.spec.to_text()},
          {"head_context", c.spec.contexts ? "tanh" : "none"},
          {"untied", c.spec.untied},
          {"head_bias", c.bias},
          {"label_smoothing", c.loss.smoothing.epsilon},
          {"smoothing", to_text(c.loss.smoothing.kind)},
          {"pi_reg", to_text(c.loss.prior)},
          {"weight_norm_reg", to_text(c.norm_reg)},
          {"head_memory", to_text(c.loss.memory)}};
}

}  // namespace nine
