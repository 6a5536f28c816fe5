#include "apps/inspect/explain.h"

#include <algorithm>
#include <optional>
#include <sstream>

#include "core/quote.h"
#include "core/suggest.h"
#include "kernels/settings/head_config.h"
#include "kernels/settings/head_fields.h"

namespace nine::app {
namespace {

struct Named {
  const char* name;
  WorkedExample (*make)(const ShortNumbers&);
};
constexpr Named kLayers[] = {{"softmax", explain_softmax},
                             {"mixture", explain_mixture},
                             {"label_smoothing", explain_label_smoothing},
                             {"z_loss", explain_z_loss},
                             {"pi_reg", explain_prior_penalty},
                             {"weight_norm_reg", explain_norm_penalty},
                             {"layer_norm", explain_layer_norm},
                             {"rms_norm", explain_rms_norm},
                             {"swiglu", explain_swiglu},
                             {"geglu", explain_geglu},
                             {"rotary", explain_rotary},
                             {"lstm", explain_lstm},
                             {"attention", explain_attention},
                             {"grouped_attention", explain_grouped_attention}};

// A UsageError that lists every example, unless the name begins with that of a kernel.
void refuse_unknown(const std::string& name) {
  std::vector<std::string> known = layer_examples();
  std::string layers, kernels;
  for (const std::string& layer : known) layers += (layers.empty() ? "" : ", ") + layer;
  const std::string kernel = name.substr(0, name.find_first_of(":@"));
  if (is_formula(name) || name.starts_with("mix:")) return;  // parse_head() says what is wrong
  for (const KernelInfo& k : kernel_table()) {
    if (kernel == k.name) return;
    known.emplace_back(k.name);
    kernels += (kernels.empty() ? "" : ", ") + known.back();
  }
  const std::string near = did_you_mean(kernel, known);
  throw UsageError(concat("--explain ", shortened(name), ": nothing is called ", quote(kernel),
                          near.empty() ? "." : near, " Kernels: ", kernels, "; layers: ", layers));
}

}  // namespace

std::vector<std::string> layer_examples() {
  std::vector<std::string> names;
  for (const Named& n : kLayers) names.emplace_back(n.name);
  return names;
}

std::string margin_examples() {
  std::string all;
  const auto settings = inner_product_settings();
  for (const HeadSetting* s : settings)
    all += concat(all.empty()            ? ""
                  : s == settings.back() ? " or "
                                         : ", ",
                  s->name, "=", s->example);
  return all;
}

std::optional<HeadSettings> margin_settings(const std::string& name) {
  if (name.find('=') == std::string::npos) return std::nullopt;
  HeadSettings settings;
  std::vector<std::pair<std::string, std::string>> parts;
  std::istringstream in(name);
  for (std::string part; std::getline(in, part, ',');) {
    const size_t equals = part.find('=');
    if (equals != std::string::npos) {
      parts.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    } else if (!parts.empty()) {
      parts.back().second += ',' + part;  // unigram:A,B
    }
  }
  for (const auto& [key, value] : parts) {
    const auto all = inner_product_settings();
    const auto setting = std::ranges::find(all, key, &HeadSetting::name);
    if (setting == all.end()) return std::nullopt;
    settings.*std::get<std::string HeadSettings::*>((*setting)->member) = value;
  }
  return settings;
}

WorkedExample explain(const std::string& name, const ShortNumbers& numbers) {
  if (const auto settings = margin_settings(name)) {
    try {
      return explain_margin(settings->head_config(), numbers);
    } catch (const UsageError& e) {
      throw UsageError(concat("--explain ", name, ": ", e.what()));
    }
  }
  for (const Named& n : kLayers)
    if (name == n.name) return n.make(numbers);
  try {
    const HeadSpec head = parse_head(name);
    return head.mixture ? explain_mixture_head(head, numbers)
                        : explain_kernel(head.components.front(), numbers);
  } catch (const UsageError& e) {
    refuse_unknown(name);
    throw UsageError(concat("--explain ", name, ": ", e.what()));
  }
}

}  // namespace nine::app
