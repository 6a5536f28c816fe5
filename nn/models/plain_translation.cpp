#include "nn/models/plain_translation.h"

#include <cmath>
#include <optional>
#include <utility>

#include "core/ops.h"
#include "nn/models/linear_form.h"
#include "nn/models/weight_type.h"

namespace nine {
namespace {

constexpr const char *kTargetTable = "tgt_embedding.weight", *kHeadTable = "head.weight",
                     *kHeadBias = "head.bias";

// Error: the head has other probabilities than inner products and biases.
LinearForm form_of(const std::string& place, const HeadConfig& head, const HeadSpec& spec) {
  const std::optional<LinearForm> form = linear_form(head, spec);
  const char* const what = spec.mixture    ? "is a mixture"
                           : spec.contexts ? "has contexts of its own (head context tanh)"
                           : spec.untied   ? "has word vectors for each component"
                           : head.norms    ? "has norms of words or contexts"
                                           : "has scores that are no inner products";
  require(form.has_value(), place, ": the head ", spec.to_text(), ' ', what,
          ", and the formats of other programs have inner products and a bias for each word alone: "
          "train the head lin, or one that folds into lin: pol:p=1, pow:p=2, ssg:variance=S, "
          "mog:form=sum:variance=S");
  return *form;
}

}  // namespace

PlainTranslation plain_translation(ModelFiles files) {
  const std::string place = files.directory.string();
  PlainTranslation out{.sides = read_sides(files.directory)};
  LinearForm form;
  files.opening([&] {
    out.config = transformer_config(files, out.sides);
    ParameterSet parameters({.dtype = files.embedding("mt").dtype(), .gradients = false});
    Transformer network(parameters, out.config);
    parameters.load(files.weights);
    form = form_of(place, out.config.head, network.head().present_spec());
    out.config.embed_scale = network.embed_scale();
    const auto table = files.weights.tensors.find(kPositionsName);
    if (table != files.weights.tensors.end()) network.use_positions(table->second);
    if (network.positions()) out.tensors[kPositionsName] = in_float32(network.positions());
  });
  for (auto& [name, tensor] : files.weights.tensors)
    if (!name.starts_with("head.") && name != kPositionsName)
      out.tensors[name] = in_float32(std::exchange(tensor, Tensor()));
  const auto own = [&](const char* name) {
    const auto found = files.weights.tensors.find(name);
    return found == files.weights.tensors.end() ? Tensor() : in_float32(found->second);
  };
  const bool tied = out.config.tie_embeddings;
  const Tensor vectors = tied ? out.tensors.at(kTargetTable) : own(kHeadTable);
  const LinearHead head = linear_head(form, vectors, own(kHeadBias));
  const bool same = head.weight.view().data == vectors.view().data;
  out.config.tie_embeddings = tied && same;
  if (!out.config.tie_embeddings) out.tensors[kHeadTable] = head.weight;
  out.config.head = {.bias = static_cast<bool>(head.bias)};
  for (const auto& [name, tensor] : out.tensors)
    require(ops::all_finite(tensor), place, ": the tensor '", name,
            "' has a number beyond 3.4e38, where float32 ends");
  if (head.bias) {
    for (const double bias : head.bias.to_vector())
      require(bias < INFINITY, place, ": a bias of the head is beyond 3.4e38, where float32 ends");
    out.tensors[kHeadBias] = head.bias;
  }
  files.say_assumed();
  return out;
}

}  // namespace nine
