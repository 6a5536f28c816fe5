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
  } catch (const UsageError&) {
    // The name may be that of a layer with a typing error rather than a wrong kernel.
    if (const std::string near = did_you_mean(name, layer_examples()); !near.empty())
      throw UsageError(concat("--explain: nothing is called '", name, "'", near));
    throw;
  }
  throw UsageError(concat(
      "--explain explains one kernel at a time; --explain mixture shows how they are mixed, not ",
      name));
}

}  // namespace nine::app
