#include "apps/inspect/explain.h"

#include "core/suggest.h"

namespace nine::app {
namespace {

struct Named {
  const char* name;
  WorkedExample (*make)();
};
constexpr Named kLayers[] = {{"softmax", explain_softmax},
                             {"mixture", explain_mixture},
                             {"layer_norm", explain_layer_norm},
                             {"lstm", explain_lstm},
                             {"attention", explain_attention}};

// A UsageError that lists every example, unless the name begins with that of a kernel.
void refuse_unknown(const std::string& name) {
  std::vector<std::string> known = layer_examples();
  std::string layers, kernels;
  for (const std::string& layer : known) layers += (layers.empty() ? "" : ", ") + layer;
  const std::string kernel = name.substr(0, name.find_first_of(":@"));
  for (const KernelInfo& k : kernel_table()) {
    if (kernel == k.name) return;
    known.emplace_back(k.name);
    kernels += (kernels.empty() ? "" : ", ") + known.back();
  }
  const std::string near = did_you_mean(kernel, known);
  throw UsageError(concat("--explain ", name, ": nothing is called '", kernel, "'",
                          near.empty() ? "." : near, " Kernels: ", kernels, "; layers: ", layers));
}

}  // namespace

std::vector<std::string> layer_examples() {
  std::vector<std::string> names;
  for (const Named& n : kLayers) names.emplace_back(n.name);
  return names;
}

WorkedExample explain(const std::string& name) {
  for (const Named& n : kLayers)
    if (name == n.name) return n.make();
  try {
    const HeadSpec head = parse_head(name);
    if (!head.mixture) return explain_kernel(head.components.front());
  } catch (const UsageError& e) {
    refuse_unknown(name);
    throw UsageError(concat("--explain ", name, ": ", e.what()));
  }
  throw UsageError(concat(
      "--explain explains one kernel at a time; --explain mixture shows how they are mixed, not ",
      name));
}

}  // namespace nine::app
