#include "kernels/head_config.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/suggest.h"
#include "kernels/head_json.h"
#include "kernels/ops.h"

namespace nine {

ops::HeadBlockOptions HeadLoss::for_block(int64_t words) const {
  return {.spread = smoothing.spread(words)};
}

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

namespace {

// The kernels with their parameters, and the presets.
std::string head_help() {
  std::string text =
      "score function of the output layer, such as lin, pow:p=1 or mix:3*lin,log. Kernels:";
  for (const KernelInfo& k : kernel_table()) {
    text += concat(" ", k.name);
    for (const ParameterInfo& p : k.parameters) text += concat(":", p.name);
  }
  text += "; mixtures:";
  for (const HeadPreset& p : head_presets()) text += concat(" ", p.name);
  return text;
}

void read(const HeadSetting&, bool& member, const std::string& text) {
  if (text != "true" && text != "false")
    throw UsageError(concat("must be true or false, not '", text, "'"));
  member = text == "true";
}

void read(const HeadSetting& setting, double& member, const std::string& text) {
  const char* const last = text.data() + text.size();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last || !(value >= setting.low && value <= setting.high))
    throw UsageError(
        concat("must be a number from ", setting.low, " to ", setting.high, ", not '", text, "'"));
  member = value;
}

void read(const HeadSetting& setting, std::string& member, const std::string& text) {
  const bool left_open = text.empty() && member.empty();
  const std::vector<std::string>& known = setting.choices;
  if (!left_open && !known.empty() && std::find(known.begin(), known.end(), text) == known.end()) {
    std::string all;
    for (const std::string& choice : known) all += (all.empty() ? "" : ", ") + choice;
    throw UsageError(
        concat("must be one of ", all, ", not '", text, "'", did_you_mean(text, known)));
  }
  if (!left_open && setting.check != nullptr) setting.check(text);
  member = text;
}

// Whether the head depends on a default for what its components leave open, by two values of it.
bool head_depends_on(const HeadSettings& settings, std::string HeadSettings::*member,
                     const char* one, const char* other) {
  try {
    HeadSettings changed = settings;
    changed.*member = one;
    const HeadSpec first = changed.head_spec();
    changed.*member = other;
    return !(first == changed.head_spec());
  } catch (const UsageError&) {
    return true;  // not for every value: the head's own check says so
  }
}
bool is_mixture(const HeadSettings& s) { return s.head_spec().mixture; }
constexpr const char* kNeedsMixture = "a mixture, such as mix:2*lin";

}  // namespace

void HeadSetting::set(HeadSettings& settings, const std::string& text) const {
  std::visit([&](auto pointer) { read(*this, settings.*pointer, text); }, member);
}

std::span<const HeadSetting> head_settings() {
  using S = HeadSettings;
  static const std::vector<HeadSetting> all{
      {.name = "head",
       .member = &S::head,
       .help = head_help(),
       .words = "head",
       // With the ball that has a `shift`, since the setting `ball` may select it.
       .check = [](const std::string& text) { parse_head(text, {.ball = "sigmoid"}); }},
      {.name = "untied",
       .member = &S::untied,
       .help = "mixtures: word vectors of its own for each component",
       .words = "untied",
       .has_effect = is_mixture,
       .needs = kNeedsMixture},
      {.name = "head_context",
       .member = &S::head_context,
       .help = "what a component sees of the context: none, the context itself; tanh, its own "
               "projection of it",
       .words = "head context",
       .choices = {"none", "tanh"},
       .default_text = "tanh for mixtures, none for a single kernel"},
      {.name = "variance",
       .member = &S::variance,
       .help = "ssg, mog: split, a vector's last number is its log-variance, or a constant > 0; "
               "where the head does not say it",
       .words = "variance",
       .check = [](const std::string& text) { parse_head("ssg", {.variance = text}); },
       .has_effect =
           [](const HeadSettings& s) {
             return head_depends_on(s, &HeadSettings::variance, "split", "1");
           },
       .needs = "a component of ssg or mog that does not name its variance",
       .unit = "split|NUMBER",
       .default_text = "split"},
      {.name = "ball",
       .member = &S::ball,
       .help = "hpb: how vectors enter the unit ball: lorentz, tanh, clip or sigmoid; where the "
               "head does not say it",
       .words = "ball",
       .choices = {"lorentz", "tanh", "clip", "sigmoid"},
       .has_effect =
           [](const HeadSettings& s) {
             return head_depends_on(s, &HeadSettings::ball, "lorentz", "tanh");
           },
       .needs = "a component of hpb that does not name its ball",
       .default_text = "lorentz"},
      {.name = "head_bias", .member = &S::head_bias, .help = "one bias a word in the output layer"},
      {.name = "head_memory",
       .member = &S::head_memory,
       .help = "how the head's scores are held: blocks of rows, or tiles computed again: less "
               "memory, a third more work",
       .words = "head memory",
       .choices = enum_names<HeadMemory>()},
      {.name = "label_smoothing",
       .member = &S::label_smoothing,
       .help = "probability that the targets spread over the vocabulary",
       .words = "label smoothing",
       .regularises = true,
       .low = 0,
       .high = 1},
      {.name = "smoothing",
       .member = &S::smoothing,
       .help = "label smoothing: uniform gives every word its share, others every word but the "
               "target",
       .words = "smoothing",
       .regularises = true,
       .choices = enum_names<LabelSmoothing::Kind>(),
       .has_effect = [](const HeadSettings& s) { return s.label_smoothing > 0; },
       .needs = "label smoothing above 0"},
      {.name = "pi_reg",
       .member = &S::pi_reg,
       .help = "penalty on a mixture's prior: variance:RHO or cv2:RHO",
       .words = "prior regulariser",
       .regularises = true,
       .check = [](const std::string& text) { prior_regulariser_from_text(text); },
       .has_effect = is_mixture,
       .needs = kNeedsMixture},
      {.name = "weight_norm_reg",
       .member = &S::weight_norm_reg,
       .help = "penalty on how far the head's word vectors are from norm NU: squared:RHO,NU or "
               "root:RHO,NU",
       .words = "weight-norm regulariser",
       .regularises = true,
       .check = [](const std::string& text) { norm_regulariser_from_text(text); }}};
  return all;
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
