#include "kernels/settings/head_config.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/quote.h"
#include "core/suggest.h"
#include "kernels/ops.h"
#include "kernels/settings/head_json.h"

namespace nine {

ops::HeadBlockOptions HeadLoss::for_block(int64_t words) const {
  require(z_loss >= 0 && z_loss <= std::numeric_limits<double>::max(),
          "[kernel_softmax] the z-loss must be a finite number from 0 on, not ", z_loss);
  return {.spread = smoothing.spread(words), .margin = margin, .z_loss = z_loss};
}

HeadSpec HeadSettings::head_spec() const {
  return parse_head(
      head, {.variance = variance, .ball = ball, .head_context = head_context, .untied = untied});
}

namespace {
void require_lin(const HeadSpec& spec, const char* what, const std::string& value) {
  if (value == "none") return;
  for (const Score& s : spec.components)
    if (!s.is_lin())
      throw UsageError(concat(what, " ", value,
                              " is for inner products, alone or as every component of a mixture, "
                              "but the head ",
                              spec.to_text(), " has a component ", to_text(s),
                              ": use the head lin or mix:2*lin, or leave the ", what, " at none"));
}
}  // namespace

HeadConfig HeadSettings::head_config() const {
  for (const HeadSetting* setting : inner_product_settings())
    require_lin(head_spec(), setting->words, setting->text(*this));
  if (!(label_smoothing >= 0 && label_smoothing <= 1))
    throw UsageError(concat("label smoothing ", label_smoothing, " is not in [0, 1]"));
  const SampledSoftmax sampled = sampled_softmax_from_text(sampled_softmax);
  if (sampled && label_smoothing > 0)
    throw UsageError(concat("sampled softmax ", to_text(sampled),
                            " has no probabilities of the words that were not drawn, which label "
                            "smoothing ",
                            label_smoothing, " needs: set label smoothing 0"));
  return {.spec = head_spec(),
          .bias = head_bias,
          .loss = {.smoothing = {.epsilon = label_smoothing,
                                 .kind = enum_from_text<LabelSmoothing::Kind>(smoothing)},
                   .prior = prior_regulariser_from_text(pi_reg),
                   .memory = enum_from_text<HeadMemory>(head_memory),
                   .margin = margin_from_text(margin)},
          .norm_reg = norm_regulariser_from_text(weight_norm_reg),
          .norms = {.word = word_norm_from_text(word_norm),
                    .context = context_norm_from_text(context_norm)},
          .sampled = sampled};
}

std::vector<std::string> HeadConfig::warnings(std::span<const int64_t> counts) const {
  std::vector<std::string> out;
  if (loss.margin.kind == Margin::Kind::arc && loss.margin.size >= kArcJumpsUp)
    out.push_back(
        concat("warning: margin ", to_text(loss.margin), ": from ", kArcJumpsUp,
               " on a target whose angle is above pi - M scores higher than one just below"));
  const WordNorm& word = norms.word;
  const bool log_counts =
      word.kind == WordNorm::Kind::log_unigram || word.kind == WordNorm::Kind::log_unigram_scaled;
  const auto rare = std::count_if(counts.begin(), counts.end(), [](int64_t c) { return c <= 1; });
  if (log_counts && rare > 0)
    out.push_back(
        concat("warning: word norm ", to_text(word), " is 0 for the ", rare,
               " words with a count of 1 or none in the training targets: their scores are "
               "their biases"));
  return out;
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
  text += " expr:{FORMULA}; mixtures:";
  for (const HeadPreset& p : head_presets()) text += concat(" ", p.name);
  return text;
}

void read(const HeadSetting&, bool& member, const std::string& text) {
  if (text != "true" && text != "false")
    throw UsageError(concat("must be true or false, not ", quote(text)));
  member = text == "true";
}

void read(const HeadSetting& setting, double& member, const std::string& text) {
  const char* const last = text.data() + text.size();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last || !(value >= setting.low && value <= setting.high))
    throw UsageError(
        concat("must be a number from ", setting.low, " to ", setting.high, ", not ", quote(text)));
  member = value;
}

void read(const HeadSetting& setting, std::string& member, const std::string& text) {
  const bool left_open = text.empty() && member.empty();
  const std::vector<std::string>& known = setting.choices;
  if (!left_open && !known.empty() && std::find(known.begin(), known.end(), text) == known.end()) {
    std::string all;
    for (const std::string& choice : known) all += (all.empty() ? "" : ", ") + choice;
    throw UsageError(
        concat("must be one of ", all, ", not ", quote(text), did_you_mean(text, known)));
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
// Throws what is wrong with a head whatever the settings beside it say: the ball may be the one
// that has a `shift`, and the variance a number, from which `variance=learn` starts.
void check_head_text(const std::string& text) {
  HeadDefaults beside{.ball = "sigmoid"};
  try {
    parse_head(text, beside);
  } catch (const UsageError&) {
    beside.variance = "1";
    try {
      parse_head(text, beside);
      return;
    } catch (const UsageError&) {  // the first one says what is wrong
    }
    throw;
  }
}
bool is_mixture(const HeadSettings& s) { return s.head_spec().mixture; }
constexpr const char* kNeedsMixture = "a mixture, such as mix:2*lin";

}  // namespace

void HeadSetting::set(HeadSettings& settings, const std::string& text) const {
  std::visit([&](auto pointer) { read(*this, settings.*pointer, text); }, member);
}

std::string HeadSetting::text(const HeadSettings& settings) const {
  return std::visit(
      [&](auto pointer) -> std::string {
        if constexpr (std::is_same_v<decltype(pointer), bool HeadSettings::*>)
          return settings.*pointer ? "true" : "false";
        else
          return concat(settings.*pointer);
      },
      member);
}

bool HeadSetting::is_given(const HeadSettings& settings) const {
  return std::visit([&](auto pointer) { return settings.*pointer != HeadSettings{}.*pointer; },
                    member);
}

std::span<const HeadSetting> head_settings() {
  using S = HeadSettings;
  using C = HeadConfig;
  using Value = std::variant<bool, double, std::string>;
  static const std::vector<HeadSetting> all{
      {.name = "head",
       .member = &S::head,
       .help = head_help(),
       .words = "head",
       .use = SettingUse::decoding,
       .value = [](const C& c) -> Value { return c.spec.to_text(); },
       .check = check_head_text},
      {.name = "untied",
       .member = &S::untied,
       .help = "mixtures: word vectors of its own for each component",
       .words = "untied",
       .use = SettingUse::decoding,
       .value = [](const C& c) -> Value { return c.spec.untied; },
       .has_effect = is_mixture,
       .needs = kNeedsMixture},
      {.name = "head_context",
       .member = &S::head_context,
       .help = "what a component sees of the context: none, the context itself; tanh, its own "
               "projection of it",
       .words = "head context",
       .use = SettingUse::decoding,
       .value = [](const C& c) -> Value { return c.spec.contexts ? "tanh" : "none"; },
       .choices = {"none", "tanh"},
       .default_text = "tanh for mixtures, none for a single kernel"},
      {.name = "variance",
       .member = &S::variance,
       .help = "ssg, mog: split, a vector's last number is its log-variance, or a constant > 0; "
               "where the head does not say it",
       .words = "variance",
       .use = SettingUse::written,
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
       .use = SettingUse::written,
       .choices = {"lorentz", "tanh", "clip", "sigmoid"},
       .has_effect =
           [](const HeadSettings& s) {
             return head_depends_on(s, &HeadSettings::ball, "lorentz", "tanh");
           },
       .needs = "a component of hpb that does not name its ball",
       .default_text = "lorentz"},
      {.name = "head_bias",
       .member = &S::head_bias,
       .help = "one bias a word in the output layer",
       .use = SettingUse::tensors,
       .value = [](const C& c) -> Value { return c.bias; }},
      {.name = "head_memory",
       .member = &S::head_memory,
       .help = "how the head's scores are held: blocks of rows, or tiles computed again: less "
               "memory, a third more work",
       .words = "head memory",
       .value = [](const C& c) -> Value { return to_text(c.loss.memory); },
       .choices = enum_names<HeadMemory>()},
      {.name = "word_norm",
       .member = &S::word_norm,
       .help =
           "lin: norms that the score gives word vectors in place of their own: const:X, uniform, "
           "log-rank, log-rank:ratio, unigram:A,B, log-unigram or log-unigram:scaled; a multiple "
           "of a word's norm may end in :through",
       .words = "word norm",
       .use = SettingUse::decoding,
       .inner_products = true,
       .example = "uniform",
       .value = [](const C& c) -> Value { return to_text(c.norms.word); },
       .check = [](const std::string& text) { word_norm_from_text(text); },
       .unit = "NORM"},
      {.name = "context_norm",
       .member = &S::context_norm,
       .help =
           "lin: norm that the score gives contexts: const:X, max (the largest of the batch; in "
           "evaluation of training) or max:ema; the last two may end in :through",
       .words = "context norm",
       .use = SettingUse::decoding,
       .inner_products = true,
       .example = "max",
       .value = [](const C& c) -> Value { return to_text(c.norms.context); },
       .check = [](const std::string& text) { context_norm_from_text(text); },
       .unit = "NORM"},
      {.name = "margin",
       .member = &S::margin,
       .help = "lin: margin on the target's angle to the context: cos:M, arc:M (radians) or lsm:M",
       .words = "margin",
       .inner_products = true,
       .example = "cos:0.3",
       .value = [](const C& c) -> Value { return to_text(c.loss.margin); },
       .regularises = true,
       .check = [](const std::string& text) { margin_from_text(text); },
       .unit = "MARGIN"},
      {.name = "sampled_softmax",
       .member = &S::sampled_softmax,
       .help =
           "train with the softmax over K words that are drawn for each batch, and the targets: "
           "K:log-uniform (the default), K:unigram or K:unigram^0.75",
       .words = "sampled softmax",
       .value = [](const C& c) -> Value { return to_text(c.sampled); },
       .regularises = true,
       .check = [](const std::string& text) { sampled_softmax_from_text(text); },
       .unit = "K[:Q]",
       .default_text = "all words"},
      {.name = "label_smoothing",
       .member = &S::label_smoothing,
       .help = "probability that the targets spread over the vocabulary",
       .words = "label smoothing",
       .value = [](const C& c) -> Value { return c.loss.smoothing.epsilon; },
       .regularises = true,
       .low = 0,
       .high = 1},
      {.name = "smoothing",
       .member = &S::smoothing,
       .help = "label smoothing: uniform gives every word its share, others every word but the "
               "target",
       .words = "smoothing",
       .value = [](const C& c) -> Value { return to_text(c.loss.smoothing.kind); },
       .regularises = true,
       .choices = enum_names<LabelSmoothing::Kind>(),
       .has_effect = [](const HeadSettings& s) { return s.label_smoothing > 0; },
       .needs = "label smoothing above 0"},
      {.name = "pi_reg",
       .member = &S::pi_reg,
       .help = "penalty on a mixture's prior: variance:RHO or cv2:RHO",
       .words = "prior regulariser",
       .value = [](const C& c) -> Value { return to_text(c.loss.prior); },
       .regularises = true,
       .check = [](const std::string& text) { prior_regulariser_from_text(text); },
       .has_effect = [](const HeadSettings& s) { return s.head_spec().components.size() > 1; },
       .needs = "a mixture of two components or more, such as mix:2*lin"},
      {.name = "weight_norm_reg",
       .member = &S::weight_norm_reg,
       .help = "penalty on how far the head's word vectors are from norm NU: squared:RHO,NU or "
               "root:RHO,NU",
       .words = "weight-norm regulariser",
       .value = [](const C& c) -> Value { return to_text(c.norm_reg); },
       .regularises = true,
       .check = [](const std::string& text) { norm_regulariser_from_text(text); }}};
  return all;
}

std::vector<const HeadSetting*> inner_product_settings() {
  std::vector<const HeadSetting*> all;
  for (const HeadSetting& setting : head_settings())
    if (setting.inner_products) all.insert(setting.regularises ? all.begin() : all.end(), &setting);
  return all;
}

Json to_json(const HeadConfig& config) {
  Json all = Json::object();
  for (const HeadSetting& setting : head_settings())
    if (setting.value != nullptr)
      std::visit([&](const auto& value) { all[setting.name] = value; }, setting.value(config));
  return all;
}

}  // namespace nine
