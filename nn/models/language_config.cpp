#include "nn/models/language_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/quote.h"
#include "nn/models/read_style.h"

namespace nine {
namespace {

constexpr const char *kTransformer = "transformer.", *kLayers = "transformer.layers.",
                     *kAttention = "transformer.layers.0.self_attn.in_proj_weight",
                     *kRecurrent = "lstm.weight_hh_l0",
                     *kEmbeddingHas = "the tensor embedding.weight has ";

Shape matrix_of(const Safetensors& weights, const std::string& name) {
  const Shape shape = weights.at(name).shape();
  require(shape.rank() == 2, name, " must be a matrix, got ", shape);
  return shape;
}

// Sets the sizes from the tensors, and the other settings from the configuration.
TransformerLanguageModelConfig transformer_of(ModelFiles& files, const HeadConfig& head) {
  const Safetensors& weights = files.weights;
  const bool learned = weights.tensors.contains("positions.weight");
  if (!files.foreign) {
    files.require_keys({"heads"});
  } else if (learned) {
    files.require_keys({"heads", "norm", "activation"});
  } else {
    files.require_keys({"heads", "norm", "activation", "positions", "bptt"},
                       "; PyTorch adds no positions: of a model that adds Nine's formula say "
                       "\"positions\": \"sinusoidal\" and \"bptt\": T, the words read together, "
                       "with \"rotary\" instead where it rotates queries and keys; of any other "
                       "store its table as the tensor 'positions.weight'");
  }
  TransformerLanguageModelConfig c;
  const Shape words = matrix_of(weights, "embedding.weight");
  c.vocab = words[0];
  c.hidden = files.shown("hidden", words[1], kEmbeddingHas, " columns");
  c.ffn = files.shown("ffn", matrix_of(weights, concat(kLayers, 0, ".linear1.weight"))[0],
                      "the tensor transformer.layers.0.linear1.weight has ", " rows");
  c.layers = 0;
  while (weights.tensors.contains(concat(kLayers, c.layers, ".linear1.weight"))) ++c.layers;
  files.shown("layers", c.layers, "there are ", " tensors transformer.layers.N.linear1.weight");
  c.heads = files.count("heads");
  files.check_positions(learned, "positions.weight");
  TransformerStyle style = TransformerStyle::gpt2();
  if (!learned) style.positions = files.choice("positions", Positions::sinusoidal);
  c.style = read_style(files, concat(kLayers, 0), c.heads, style);
  c.final_norm = weights.tensors.contains("transformer.norm.weight");
  // Models of Nine have this norm if norms stand before the branches. Models of other programs may
  // have it or not.
  require(files.foreign || *c.final_norm == (c.style.norm == NormOrder::pre), files.said_in("norm"),
          ": the key 'norm' is '", c.style.norm, "', but there is ", *c.final_norm ? "a" : "no",
          " tensor transformer.norm.weight");
  c.window =
      !learned ? files.positions("bptt")
               : files.shown("bptt", matrix_of(weights, "positions.weight")[0],
                             "the tensor positions.weight has ", " rows, the words read together");
  if (const double usual = c.embedding_factor();
      !files.foreign && !weights.metadata.contains("embed_scale"))
    files.only("embed_scale", usual);  // Nine leaves out the usual factor
  else if (const double factor = files.factor("embed_scale", usual); factor != usual)
    c.embed_scale = factor;
  c.dropout = 0;
  c.tie_embeddings = has_tied_embeddings(weights, head.spec);
  c.head = head;
  return c;
}

LstmLanguageModelConfig lstm_of(const ModelFiles& files, const HeadConfig& head) {
  LstmLanguageModelConfig c = LstmLanguageModelConfig::of_weights(files.weights, head.spec);
  c.head = head;
  if (const Json* const factor = files.foreign ? files.find("embed_scale") : nullptr)
    require(*factor == 1 || *factor == "1", files.said_in("embed_scale"),
            ": the key 'embed_scale' is ", shortened(json_text(*factor)),
            ", but the tensors are an LSTM's, and the key is for Transformers: multiply "
            "embedding.weight by the factor and leave out the key");
  files.shown("embed", c.embed, kEmbeddingHas, " columns");
  files.shown("hidden", c.hidden, "the tensor lstm.weight_hh_l0 has ", " columns");
  files.shown("layers", c.layers, "there are ", " tensors lstm.weight_ih_lN");
  return c;
}

// Checks that the files name the network of the tensors. Other programs may use their own names for
// it, but not Nine's name of the other network.
void check_arch(const ModelFiles& files) {
  const LanguageArch arch = arch_of(files.weights);
  const char* const tensor = arch == LanguageArch::lstm ? kRecurrent : kAttention;
  const auto known = enum_names<LanguageArch>();
  if (!files.foreign) files.find("arch");  // what Nine says in two places is compared
  for (const ModelSource& source : files.sources) {
    const Json said = source.implied ? Json() : source.keys.value("arch", Json());
    const std::string name = said.is_string() ? said.get<std::string>() : "";
    if (name.empty() || (files.foreign && std::ranges::find(known, name) == known.end())) continue;
    require(name == to_text(arch), source.place, ": the key 'arch' is ", shortened(json_text(said)),
            ", but ",
            files.weights.tensors.contains(tensor)
                ? concat("the tensor ", tensor, " is of the network '", arch, "'")
                : concat("there is no tensor ", tensor == kAttention ? kRecurrent : kAttention));
  }
}

// Returns the head. The tensors show its bias; the other settings are those of the files, and must
// fit the tensors.
HeadConfig checked_head(ModelFiles& files) {
  static_cast<void>(files.embedding("lm"));
  files.check_kind("lm", "embedding.weight");
  files.check_types("embedding.weight");
  check_arch(files);
  HeadConfig head = files.head();
  const bool tied =
      files.shown("tie_embeddings", has_tied_embeddings(files.weights, head.spec), "head.weight");
  files.check_ties(tied ? tie_text(head.spec, "embedding.weight") : "");
  if (files.foreign)  // a run's --vocab is a file
    files.shown("vocab", matrix_of(files.weights, "embedding.weight")[0], kEmbeddingHas, " rows");
  return head;
}

}  // namespace

LanguageArch arch_of(const Safetensors& weights) {
  const auto found = weights.tensors.lower_bound(kTransformer);
  return found != weights.tensors.end() && found->first.starts_with(kTransformer)
             ? LanguageArch::transformer
             : LanguageArch::lstm;
}

LanguageConfig language_config(ModelFiles& files) {
  files.assume_head();
  const HeadConfig head = checked_head(files);
  if (arch_of(files.weights) == LanguageArch::transformer) return transformer_of(files, head);
  return lstm_of(files, head);
}

std::unique_ptr<LanguageNetwork> make_language_network(ParameterSet& set, ModelFiles& files) {
  const LanguageConfig config = language_config(files);
  if (const auto* const transformer = std::get_if<TransformerLanguageModelConfig>(&config))
    return std::make_unique<TransformerLanguageModel>(set, *transformer);
  return std::make_unique<LstmLanguageModel>(set, std::get<LstmLanguageModelConfig>(config));
}

}  // namespace nine
