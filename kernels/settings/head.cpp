#include "kernels/settings/head.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/quote.h"
#include "core/suggest.h"
#include "kernels/expression/formula.h"
#include "kernels/scores/all.h"
#include "kernels/settings/head_fields.h"

namespace nine {
namespace {

constexpr HeadPreset kPresets[] = {{"mos", "mix:9*lin"},
                                   {"mixbig", "mix:lin,log,pow,pol,rbf,ssg,mog,hpb,wav"},
                                   {"mix1", "mix:lin,log,rbf,hpb,wav"},
                                   {"mix2", "mix:3*lin,log"},
                                   {"mix3", "mix:lin,log,pow,pol"},
                                   {"mix4", "mix:lin,log,rbf,hpb"},
                                   {"mix5", "mix:2*lin,2*rbf"}};

// The meaning of NAME@tuned. A new entry needs a line here and a line in docs/heads.md, section 10,
// with the command that found the parameters.
constexpr HeadPreset kTuned[] = {{"lin", "lin"},
                                 {"log", "log:p=4"},
                                 {"pow", "pow:p=2"},
                                 {"pol", "pol:p=2"},
                                 {"rbf", "rbf:gamma=1"},
                                 {"ssg", "ssg:variance=0.5"},
                                 {"mog", "mog:form=sum:variance=0.5"},
                                 {"hpb", "hpb:ball=tanh"},
                                 {"wav", "wav:a=1:b=1"},
                                 {"sig", "sig"}};

constexpr int64_t kMaxComponents = 1024;

// Calls f with the struct of a kernel of this kind.
template <class F>
void with_kernel(ScoreKind kind, F&& f) {
  scores::for_each_kernel([&]<class K>() {
    if (K::kKind == kind) f.template operator()<K>();
  });
}

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (const KernelInfo& k : kernel_table()) names.emplace_back(k.name);
  return names;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& w : words) text += (text.empty() ? "" : ", ") + w;
  return text;
}

// Returns the value of a parameter. Errors call the parameter `where`.
double parameter_value(const ParameterInfo& info, std::string_view text, const std::string& where) {
  std::vector<std::string> words;
  for (const char* const* word = info.words; word != nullptr && *word != nullptr; ++word) {
    if (text == *word) return static_cast<double>(words.size());
    words.emplace_back(*word);
  }
  double value = 0;
  const bool number = read_number(text, value);
  if (words.empty() && !number) fail_usage(where, " is not a number: ", quote(text));
  if (!words.empty() && !(number && info.numbers_too && value > 0))
    fail_usage(where, " is ", quote(text), ", which must be ", words.size() > 1 ? "one of " : "",
               joined(words), info.numbers_too ? " or a number > 0" : "",
               did_you_mean(text, words));
  return value;
}

size_t parameter_index(const KernelInfo& kernel, std::string_view name) {
  std::vector<std::string> names;
  for (const ParameterInfo& p : kernel.parameters) {
    if (name == p.name) return names.size();
    names.emplace_back(p.name);
  }
  if (names.empty()) fail_usage(kernel.name, " has no parameters, not ", quote(name));
  fail_usage(kernel.name, " has no parameter ", quote(name), ", only ", joined(names),
             did_you_mean(name, names));
}

KernelInfo kernel_named(std::string_view name) {
  for (const KernelInfo& k : kernel_table())
    if (name == k.name) return k;
  for (const HeadPreset& p : kPresets)
    if (name == p.name)
      fail_usage(quote(name), " is a mixture itself (", p.text, ") and cannot be a component");
  std::vector<std::string> known = kernel_names();
  const std::string kernels = joined(known) + ", expr:{FORMULA}";
  known.emplace_back("expr");
  for (const HeadPreset& p : kPresets) known.emplace_back(p.name);
  const std::string near = did_you_mean(name, known);
  fail_usage("no kernel is called ", quote(name), near.empty() ? "." : near, " Kernels: ", kernels);
}

const char* tuned_text(std::string_view name) {
  for (const HeadPreset& t : kTuned)
    if (name == t.name) return t.text;
  fail_usage("no tuned parameters are recorded for ", name,
             " (docs/heads.md): leave out @tuned, or name the parameters");
}

// Sets the parameters to their defaults: those of the settings beside the head, otherwise those of
// the kernel.
void set_defaults(const KernelInfo& kernel, const HeadDefaults& defaults, Score& score) {
  for (size_t k = 0; k < kernel.parameters.size(); ++k) {
    score.parameters[k] = kernel.parameters[k].default_value;
    const std::string_view name = kernel.parameters[k].name;
    const std::string& option = name == "variance" ? defaults.variance : defaults.ball;
    if (!option.empty() && (name == "variance" || name == "ball"))
      score.parameters[k] = parameter_value(kernel.parameters[k], option, std::string(name));
  }
}

void read_parameter(const KernelInfo& kernel, const HeadField& field, Score& score) {
  const size_t k = parameter_index(kernel, field.name);
  const ParameterInfo& info = kernel.parameters[k];
  const std::string where = concat(kernel.name, "'s ", field.name);
  double& value = score.parameters[k];
  if (!field.learned) {
    value = parameter_value(info, field.value, where);
    return;
  }
  if (info.learnable == Learnable::no)
    fail_usage(where, " cannot be learned (", info.meaning, "): give it a value");
  if (!field.value.empty() && !read_number(field.value, value))
    fail_usage(where, " starts at ", quote(field.value), ", which is not a number");
  if (field.value.empty() && info.words != nullptr && value == 0)
    fail_usage(where, " is learned and needs a number to start from, because its default is ",
               info.words[0], ": write ", field.name, "=learn:START, such as ", field.name,
               "=learn:1");
  learn_number(score, static_cast<int>(k), field, info.learnable == Learnable::positive, where);
}

// Parses "NAME[@tuned][:PARAMETER=VALUE]...".
Score parse_component(std::string_view text, const HeadDefaults& defaults) {
  if (is_formula(text)) return parse_formula(text);
  std::string_view name = split_head(text, ':').front();
  constexpr std::string_view kSuffix = "@tuned";
  const bool tuned = name.ends_with(kSuffix);
  if (tuned) name.remove_suffix(kSuffix.size());
  if (tuned && is_formula(name))
    fail_usage("a formula has no tuned parameters: write expr:{...} without @tuned");
  const KernelInfo kernel = kernel_named(name);
  Score score;
  scores::for_each_kernel([&]<class K>() {
    if (name == K::kName) score.kind = K::kKind;
  });
  if (tuned) {
    score = parse_component(tuned_text(kernel.name), {});
  } else {
    set_defaults(kernel, defaults, score);
  }
  for (const HeadField& field : head_fields(text, 1))
    if (field.name == "scale") {
      read_scale(field, kernel.name, score);
    } else {
      read_parameter(kernel, field, score);
    }
  const std::string wrong = check_score(score, -1);
  if (!wrong.empty()) fail_usage("component ", quote(text), " of the head: ", wrong);
  return score;
}

// Parses "[COUNT*]COMPONENT" and appends the result to `components`.
void parse_item(std::string_view text, const HeadDefaults& defaults,
                std::vector<Score>& components) {
  const size_t star = find_outside_braces(text, "*");
  int64_t count = 1;
  if (star != std::string_view::npos) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + star, count);
    if (error != std::errc() || end != text.data() + star || count < 1 || count > kMaxComponents)
      fail_usage("the count in ", quote(text), " must be an integer from 1 to ", kMaxComponents);
    text.remove_prefix(star + 1);
  }
  if (text.empty()) fail_usage("a component is empty; write mix:lin,log or mix:3*lin,log:p=1");
  components.insert(components.end(), static_cast<size_t>(count), parse_component(text, defaults));
}

bool parses(const std::string& text, const HeadDefaults& defaults) {
  try {
    parse_head(text, defaults);
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool has_contexts(const HeadDefaults& defaults, bool mixture) {
  if (defaults.head_context.empty()) return mixture;
  if (defaults.head_context != "none" && defaults.head_context != "tanh")
    fail_usage("head context is ", quote(defaults.head_context), ", which must be none or tanh",
               did_you_mean(defaults.head_context, {"none", "tanh"}));
  return defaults.head_context == "tanh";
}

// Returns the text of the components of a preset or of `mix:`; empty for a single kernel.
std::string_view mixture_text(std::string_view text) {
  constexpr std::string_view kMix = "mix:";
  for (const HeadPreset& p : kPresets) {
    const std::string_view rest =
        text.starts_with(p.name) ? text.substr(std::string_view(p.name).size()) : "-";
    if (rest.empty()) text = p.text;
    if (rest == "@tuned") text = tuned_text(p.name);
    if (rest.starts_with(':'))
      fail_usage("the preset ", p.name, " takes no parameters; write out ", p.text);
  }
  return text.starts_with(kMix) ? text.substr(kMix.size()) : std::string_view{};
}

}  // namespace

std::vector<KernelInfo> kernel_table() {
  std::vector<KernelInfo> all;
  scores::for_each_kernel([&]<class K>() { all.push_back({K::kName, K::kNote, K::parameters()}); });
  return all;
}

KernelInfo kernel_info(const Score& score) {
  if (score.kind == ScoreKind::expr)
    return {"expr", "a formula of your own", score.formula->parameters()};
  KernelInfo info{};
  with_kernel(score.kind, [&]<class K>() {
    require(std::ssize(K::parameters()) <= kMaxScoreParameters, "[head] ", K::kName,
            " has more parameters than kMaxScoreParameters (kernels/scores/score.h)");
    info = {K::kName, K::kNote, K::parameters()};
  });
  return info;
}

KernelExpression kernel_expression(const Score& score) {
  if (score.kind == ScoreKind::expr) return {{{"S", score.formula->text(), "the formula"}}};
  KernelExpression all;
  with_kernel(score.kind, [&]<class K>() { all = K::expression(score); });
  return all;
}

std::string check_score(const Score& score, int64_t d) {
  std::string wrong;
  with_kernel(score.kind, [&]<class K>() { wrong = K::check(score, d); });
  for (int i = 0; i < kMaxScoreNumbers && wrong.empty(); ++i)
    if (score.learns(i) && !std::isfinite(score.number(i)))
      wrong = "a learned number is not finite";
  if (wrong.empty() && !(score.scale > 0)) wrong = "scale must be > 0";
  return wrong;
}

std::span<const HeadPreset> head_presets() { return kPresets; }

std::string to_text(const Score& score) {
  if (score.kind == ScoreKind::expr) return formula_text(score);
  const KernelInfo kernel = kernel_info(score);
  std::string text = kernel.name;
  for (size_t k = 0; k < kernel.parameters.size(); ++k) {
    const ParameterInfo& p = kernel.parameters[k];
    const double value = score.parameters[k];
    if (p.silent && value == p.default_value) continue;
    int words = 0;
    while (p.words != nullptr && p.words[words] != nullptr) ++words;
    const bool word = words > 0 && (!p.numbers_too || value == 0);
    text +=
        word ? concat(":", p.name, "=", p.words[static_cast<int>(value)])
             : number_text(score, static_cast<int>(k), p.name, p.learnable == Learnable::positive);
  }
  return text + scale_text(score);
}

std::string HeadSpec::to_text() const {
  if (!mixture) return nine::to_text(components.front());
  std::string text = "mix:";
  for (size_t k = 0; k < components.size();) {
    size_t end = k;
    while (end < components.size() && components[end] == components[k]) ++end;
    text += concat(k == 0 ? "" : ",", end - k > 1 ? concat(end - k, "*") : "",
                   nine::to_text(components[k]));
    k = end;
  }
  return text;
}

std::string HeadSpec::check(int64_t d) const {
  for (size_t k = 0; k < components.size(); ++k) {
    const std::string wrong = check_score(components[k], d);
    if (!wrong.empty())
      return concat(mixture ? concat("component ", k + 1, ", ") : "", nine::to_text(components[k]),
                    ", with vectors of ", d, " numbers: ", wrong);
  }
  return {};
}

HeadSpec parse_head(std::string_view text, const HeadDefaults& defaults) {
  if (text.empty()) fail_usage("the head is empty; the plain softmax layer is lin");
  HeadSpec head{.components = {}, .mixture = false, .contexts = false, .untied = defaults.untied};
  const std::string_view mixture = mixture_text(text);
  head.mixture = mixture.data() != nullptr;
  head.contexts = has_contexts(defaults, head.mixture);
  if (head.mixture) {
    for (const std::string_view item : split_head(mixture, ','))
      parse_item(item, defaults, head.components);
    if (head.size() > kMaxComponents)
      fail_usage("the head has ", head.size(), " components, more than ", kMaxComponents);
    return head;
  }
  if (find_outside_braces(text, ",*") != std::string_view::npos)
    fail_usage(quote(text), " has several components, so it is a mixture; write ",
               parses(concat("mix:", text), defaults)
                   ? concat("mix:", text)
                   : "mix:lin,log or mix:3*lin,log:p=1 (a preset stands alone)");
  if (text == "mix") fail_usage("mix names no components; write mix:lin,log");
  head.components.push_back(parse_component(text, defaults));
  return head;
}

}  // namespace nine
