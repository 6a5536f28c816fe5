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
  require(skip >= 0 && skip <= std::numeric_limits<double>::max(),
          "[kernel_softmax] the limit below which gradients are left out must be a finite number "
          "from 0 on, not ",
          skip);
  require(block_rows >= 0 && block_rows % ops::kHeadPanel == 0,
          "[kernel_softmax] a block must have a multiple of ", ops::kHeadPanel, " contexts, not ",
          block_rows);
  return {.spread = smoothing.spread(words), .margin = margin, .z_loss = z_loss, .skip = skip};
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
    throw UsageError(
        concat("sampled softmax ", to_text(sampled),
               " computes no probabilities of the words that were not drawn, but label smoothing ",
               label_smoothing, " needs them: set label smoothing 0"));
  return {.spec = head_spec(),
          .bias = head_bias,
          .loss = {.smoothing = {.epsilon = label_smoothing,
                                 .kind = enum_from_text<LabelSmoothing::Kind>(smoothing)},
                   .prior = prior_regulariser_from_text(pi_reg),
                   .memory = enum_from_text<HeadMemory>(head_memory),
                   .margin = margin_from_text(margin),
                   .z_loss = z_loss,
                   .skip = head_skip,
                   .block_rows = block_rows},
          .norm_reg = norm_regulariser_from_text(weight_norm_reg),
          .norms = {.word = word_norm_from_text(word_norm),
                    .context = context_norm_from_text(context_norm)},
          .sampled = sampled};
}

std::vector<std::string> HeadConfig::warnings(std::span<const int64_t> counts) const {
  std::vector<std::string> out;
  if (loss.margin.kind == Margin::Kind::arc && loss.margin.size >= kArcJumpsUp)
    out.push_back(concat("warning: margin ", to_text(loss.margin), ": with M of ", kArcJumpsUp,
                         " or more, a target whose angle is above pi - M scores higher than a "
                         "target whose angle is just below"));
  const WordNorm& word = norms.word;
  const bool log_counts =
      word.kind == WordNorm::Kind::log_unigram || word.kind == WordNorm::Kind::log_unigram_scaled;
  const auto rare = std::count_if(counts.begin(), counts.end(), [](int64_t c) { return c <= 1; });
  if (log_counts && rare > 0)
    out.push_back(concat("warning: word norm ", to_text(word), " is 0 for the ", rare,
                         " words that occur at most once in the training targets: the score of "
                         "such a word is its bias alone"));
  return out;
}

namespace {

// Returns the help of --head: the kernels with their parameters, and the presets.
std::string head_help() {
  std::string text =
      "score function of the output layer, such as lin, pow:p=1 or mix:3*lin,log. Kernels with "
      "their parameters:";
  for (const KernelInfo& k : kernel_table()) {
    text += concat(" ", k.name);
    for (const ParameterInfo& p : k.parameters) text += concat(":", p.name);
  }
  text += " expr:{FORMULA}. Presets of mixtures:";
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

// True if the head depends on a default for its components. Compares the heads with two values of
// this default.
bool head_depends_on(const HeadSettings& settings, std::string HeadSettings::*member,
                     const char* one, const char* other) {
  try {
    HeadSettings changed = settings;
    changed.*member = one;
    const HeadSpec first = changed.head_spec();
    changed.*member = other;
    return !(first == changed.head_spec());
  } catch (const UsageError&) {
    return true;  // a value is wrong; the check of the head reports it
  }
}
// Throws a UsageError if a head is wrong for all settings beside it. It tries the ball that has a
// `shift`, and a variance that is a number, because `variance=learn` starts from a number.
void check_head_text(const std::string& text) {
  HeadDefaults beside{.ball = "sigmoid"};
  try {
    parse_head(text, beside);
  } catch (const UsageError&) {
    beside.variance = "1";
    try {
      parse_head(text, beside);
      return;
    } catch (const UsageError&) {  // the first error is thrown
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
       .help = "mixtures: give each component its own word vectors",
       .words = "untied",
       .use = SettingUse::decoding,
       .value = [](const C& c) -> Value { return c.spec.untied; },
       .has_effect = is_mixture,
       .needs = kNeedsMixture},
      {.name = "head_context",
       .member = &S::head_context,
       .help = "context that each component scores: none, the context h itself; tanh, the "
               "component's own projection tanh(C'h)",
       .words = "head context",
       .use = SettingUse::decoding,
       .value = [](const C& c) -> Value { return c.spec.contexts ? "tanh" : "none"; },
       .choices = {"none", "tanh"},
       .default_text = "tanh for mixtures, none for a single kernel"},
      {.name = "variance",
       .member = &S::variance,
       .help = "ssg, mog: variance, if the head string does not set it: split, each vector's last "
               "number is its log-variance; NUMBER, a constant above 0",
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
       .help = "hpb: how vectors are mapped into the unit ball, if the head string does not set it",
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
       .help = "one bias for each word in the output layer",
       .use = SettingUse::tensors,
       .value = [](const C& c) -> Value { return c.bias; }},
      {.name = "head_memory",
       .member = &S::head_memory,
       .help = "scores that a training step keeps: blocks keeps those of a block of contexts; "
               "tiles keeps few and computes scores twice, with less memory and a third more work",
       .words = "head memory",
       .value = [](const C& c) -> Value { return to_text(c.loss.memory); },
       .choices = enum_names<HeadMemory>()},
      {.name = "word_norm",
       .member = &S::word_norm,
       .help = "lin: norm to which the score scales word vectors (docs/margins.md): const:X, "
               "uniform, log-rank, log-rank:ratio, unigram:A,B, log-unigram or log-unigram:scaled. "
               ":through at the end lets gradients pass through the norm of the most frequent word",
       .words = "word norm",
       .use = SettingUse::decoding,
       .inner_products = true,
       .example = "uniform",
       .value = [](const C& c) -> Value { return to_text(c.norms.word); },
       .check = [](const std::string& text) { word_norm_from_text(text); },
       .unit = "NORM"},
      {.name = "context_norm",
       .member = &S::context_norm,
       .help = "lin: norm to which the score scales contexts: const:X, max or max:ema. In "
               "training, the last two are the largest norm of the batch; in evaluation, max is "
               "the largest norm of training and max:ema a moving average. :through at the end "
               "lets gradients pass through the largest norm",
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
       .help = "train with a softmax over the targets and K words that are drawn for each batch; "
               "Q, the words' distribution, is log-uniform (the default), unigram or unigram^0.75",
       .words = "sampled softmax",
       .value = [](const C& c) -> Value { return to_text(c.sampled); },
       .regularises = true,
       .check = [](const std::string& text) { sampled_softmax_from_text(text); },
       .unit = "K[:Q]",
       .default_text = "all words"},
      {.name = "label_smoothing",
       .member = &S::label_smoothing,
       .help = "probability that is spread over the vocabulary",
       .words = "label smoothing",
       .value = [](const C& c) -> Value { return c.loss.smoothing.epsilon; },
       .regularises = true,
       .low = 0,
       .high = 1},
      {.name = "smoothing",
       .member = &S::smoothing,
       .help = "words that share the probability of --label-smoothing: uniform, every word; "
               "others, every word except the target",
       .words = "smoothing",
       .value = [](const C& c) -> Value { return to_text(c.loss.smoothing.kind); },
       .regularises = true,
       .choices = enum_names<LabelSmoothing::Kind>(),
       .has_effect = [](const HeadSettings& s) { return s.label_smoothing > 0; },
       .needs = "label smoothing above 0"},
      {.name = "z_loss",
       .member = &S::z_loss,
       .help = "factor of the squared log of the softmax's normaliser, which keeps the sum of the "
               "exponentials of the scores near 1",
       .words = "z-loss",
       .value = [](const C& c) -> Value { return c.loss.z_loss; },
       .regularises = true,
       .low = 0},
      {.name = "head_skip",
       .member = &S::head_skip,
       .help = "leave tiles of 32 contexts by 64 words out of the products for the "
               "gradients of contexts and word vectors if every gradient of a score's product in "
               "the tile is below this, such as 0.000244; 0: never",
       .words = "limit of --head-skip",
       .value = [](const C& c) -> Value { return c.loss.skip; },
       .regularises = true,
       .low = 0,
       .high = 0.5},
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
       .help = "penalty on output word vectors whose norm differs from NU: squared:RHO,NU or "
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
