#include "nn/models/saved_translation_model.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "kernels/head_json.h"
#include "core/safetensors.h"
#include "nn/models/model_directory.h"

namespace nine {
namespace {

namespace fs = std::filesystem;

TransformerConfig transformer_config(const Json& config, const Safetensors& weights,
                                     const std::string& file) {
  const auto key = [&](const char* name) -> const Json& {
    const auto found = config.find(name);
    require(found != config.end(), file, " lacks the key '", name,
            "' of a translation model (is this mt_train's checkpoint?)");
    return *found;
  };
  try {
    const auto number = [&](const char* name) { return key(name).get<int64_t>(); };
    TransformerConfig c{
        .src_vocab = number("src_vocab"),
        .tgt_vocab = number("tgt_vocab"),
        .encoder_layers = number("encoder_layers"),
        .decoder_layers = number("decoder_layers"),
        .dim = number("dim"),
        .ffn = number("ffn"),
        .heads = number("heads"),
        .dropout = 0,
        .norm = enum_from_text<NormOrder>(key("norm").get<std::string>()),
        .shared_vocab = key("shared_vocab").get<bool>(),
        .tie_embeddings = key("tie_embeddings").get<bool>(),
        .head = {.spec = head_of(config), .bias = weights.tensors.contains("head.bias")}};
    if (const auto positions = weights.tensors.find(kPositionsName);
        positions != weights.tensors.end())
      c.max_length = positions->second.shape().rank() == 2 ? positions->second.shape()[0] : 0;
    return c;
  } catch (const Json::exception& e) {
    fail(file, ": a key of the model is of the wrong type (", e.what(), ")");
  }
}

// The weights of another engine were trained with the table of positions beside them; this program
// computes its own, which must be the same.
void check_positions(const Safetensors& weights, const Transformer& model,
                     const std::string& file) {
  const auto found = weights.tensors.find(kPositionsName);
  if (found == weights.tensors.end()) return;
  require(found->second.shape() == model.positions().shape(), file, ": positions have the shape ",
          found->second.shape(), ", the model needs ", model.positions().shape());
  const std::vector<double> stored = found->second.to_vector(),
                            computed = model.positions().to_vector();
  for (size_t i = 0; i < computed.size(); ++i)
    require(std::abs(stored[i] - computed[i]) < 1e-4, file,
            ": positions differ from the sinusoids of this program (", stored[i],
            " where they are ", computed[i], "); such a model cannot be used here");
}

void check_size(const fs::path& file, const Vocabulary& dictionary, int64_t words) {
  require(dictionary.size() == words, file.string(), " has ", dictionary.size(),
          " words with the four specials, but the model has ", words);
}

void check_same_words(const std::string& path, const char* name, const Vocabulary& stored,
                      const Vocabulary& given) {
  for (int32_t id = 0; id < std::min(stored.size(), given.size()); ++id)
    require(stored.word(id) == given.word(id), "initial weights of ", path, ": in its ", name,
            " the word ", id, " is '", stored.word(id), "', here it is '", given.word(id),
            "'; train with the dictionaries from there (a shared vocabulary has the source's "
            "only)");
}

}  // namespace

Json translation_config(const Transformer& model) {
  const TransformerConfig& c = model.config();
  const Json head = to_json(c.head);
  return {{"task", "mt"},
          {"dtype", to_text(model.dtype())},
          {"src_vocab", c.src_vocab},
          {"tgt_vocab", c.tgt_vocab},
          {"dim", c.dim},
          {"ffn", c.ffn},
          {"heads", c.heads},
          {"encoder_layers", c.encoder_layers},
          {"decoder_layers", c.decoder_layers},
          {"norm", to_text(c.norm)},
          {"embed_scale", model.embed_scale()},
          {"pad", Specials::kTranslation.pad},
          {"label_smoothing", head["label_smoothing"]},
          {"smoothing", head["smoothing"]},
          {"shared_vocab", c.shared_vocab},
          {"head_bias", head["head_bias"]},
          {"tie_embeddings", c.tie_embeddings}};
}

SavedTranslationModel::SavedTranslationModel(const std::string& path, Device device)
    : directory_(model_directory(path, kSourceDict)),
      source_(Vocabulary::read_saved((directory_ / kSourceDict).string(), Specials::kTranslation)),
      target_(Vocabulary::read_saved((directory_ / kTargetDict).string(), Specials::kTranslation)) {
  const Safetensors weights = read_safetensors(directory_ / "model.safetensors");
  const std::string file = (directory_ / "config.json").string();
  const TransformerConfig config =
      transformer_config(model_config(directory_, weights.metadata), weights, file);
  check_size(directory_ / kSourceDict, source_, config.src_vocab);
  check_size(directory_ / kTargetDict, target_, config.tgt_vocab);
  parameters_ = std::make_unique<ParameterSet>(ParameterOptions{
      .dtype = weights.at("tgt_embedding.weight").dtype(), .gradients = false, .device = device});
  model_ = std::make_unique<Transformer>(*parameters_, config);
  parameters_->load(weights, parameters_->values());
  check_positions(weights, *model_, (directory_ / "model.safetensors").string());
}

void load_initial_weights(const std::string& path, const Vocabulary& source,
                          const Vocabulary& target, const ParameterSet& parameters) {
  const fs::path directory = model_directory(path, kSourceDict);
  check_same_words(
      path, kSourceDict,
      Vocabulary::read_saved((directory / kSourceDict).string(), Specials::kTranslation), source);
  check_same_words(
      path, kTargetDict,
      Vocabulary::read_saved((directory / kTargetDict).string(), Specials::kTranslation), target);
  parameters.load(read_safetensors(directory / "model.safetensors"), parameters.values());
}

}  // namespace nine
