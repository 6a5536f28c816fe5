#include "nn/models/fairseq.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/quote.h"
#include "nn/models/foreign_keys.h"
#include "nn/models/foreign_tensors.h"
#include "nn/models/model_directory.h"
#include "nn/models/weight_type.h"

namespace nine {
namespace {

namespace fs = std::filesystem;

// Errors: arguments that change the network to one that Nine does not have.
void require_known_fairseq(const std::string& place, const ForeignKeys& args) {
  for (const char* key :
       {"no_token_positional_embeddings", "layernorm_embedding", "adaptive_input",
        "cross_self_attention", "no_cross_attention", "char_inputs", "character_embeddings",
        "tie_adaptive_weights", "offload_activations_of_embeddings"})
    args.only(key, false);
  require(args.find("adaptive_softmax_cutoff") == nullptr, place,
          ": the key 'adaptive_softmax_cutoff' is set, and Nine reads heads of inner products");
  for (const auto& [one, other] :
       {std::pair("encoder_normalize_before", "decoder_normalize_before"),
        {"encoder_learned_pos", "decoder_learned_pos"}})
    require(args.yes(one, false) == args.yes(other, false), place, ": the keys '", one, "' and '",
            other, "' differ, and Nine has one choice for both sides");
  for (const auto& [one, other] : {std::pair("encoder_attention_heads", "decoder_attention_heads"),
                                   {"encoder_embed_dim", "decoder_embed_dim"},
                                   {"encoder_ffn_embed_dim", "decoder_ffn_embed_dim"}})
    require(args.whole(one) == args.whole(other), place, ": the keys '", one, "' and '", other,
            "' differ, and Nine has one size for both sides");
}

// Returns Nine's name of the activation.
std::string activation_of_fairseq(const std::string& place, const ForeignKeys& args) {
  const std::string name = args.text("activation_fn", "relu");
  for (const auto& [theirs, ours] : {std::pair("relu", "relu"),
                                     {"gelu", "gelu"},
                                     {"gelu_accurate", "gelu-tanh"},
                                     {"gelu_fast", "gelu-tanh"},
                                     {"swish", "silu"}})
    if (name == theirs) return ours;
  fail(place, ": the key 'activation_fn' is ", quote(name),
       ", and Nine reads relu, gelu, gelu_accurate, gelu_fast and swish");
}

// Takes the tensors of the layers of one side.
class FairseqLayers {
 public:
  FairseqLayers(const std::string& place, ForeignTensors& in, std::map<std::string, Tensor>& out)
      : place_(place), in_(in), out_(out) {}

  void side(const std::string& side, int64_t layers) {
    const bool decodes = side == "decoder";
    const std::string of = concat("transformer.", side);
    for (int64_t i = 0; i < layers; ++i) {
      const std::string from = concat(side, ".layers.", i, '.'),
                        to = concat(of, ".layers.", i, '.');
      attention(from + "self_attn", to + "self_attn");
      both(from + "self_attn_layer_norm", to + "norm1");
      if (decodes) {
        attention(from + "encoder_attn", to + "multihead_attn");
        both(from + "encoder_attn_layer_norm", to + "norm2");
      }
      both(from + "fc1", to + "linear1");
      both(from + "fc2", to + "linear2");
      both(from + "final_layer_norm", to + (decodes ? "norm3" : "norm2"));
    }
    if (in_.has(side + ".layer_norm.weight")) both(side + ".layer_norm", of + ".norm");
  }

 private:
  void both(const std::string& from, const std::string& to) {
    for (const char* part : {".weight", ".bias"}) out_[to + part] = in_.take(from + part);
  }
  // Queries, keys and values are three maps, or, in models of before 2019, one.
  void attention(const std::string& from, const std::string& to) {
    both(from + ".out_proj", to + ".out_proj");
    for (const char* part : {"weight", "bias"}) {
      const std::string whole = concat(from, ".in_proj_", part);
      std::vector<Tensor> parts;
      if (in_.has(whole))
        parts.push_back(in_.take(whole));
      else
        for (const char* map : {".q_proj.", ".k_proj.", ".v_proj."})
          parts.push_back(in_.take(concat(from, map, part)));
      out_[concat(to, ".in_proj_", part)] =
          stacked(concat(place_, ": the tensors ", from, ".q_proj, k_proj, v_proj"), parts);
    }
  }

  const std::string& place_;
  ForeignTensors& in_;
  std::map<std::string, Tensor>& out_;
};

// Returns the table of positions that both sides add.
Tensor fairseq_positions(const std::string& place, const ForeignKeys& args, int64_t width,
                         ForeignTensors& in) {
  constexpr int64_t kFirst = Specials::kTranslation.pad + 1;
  const std::string encoder = "encoder.embed_positions.", decoder = "decoder.embed_positions.";
  if (args.yes("encoder_learned_pos", false)) {
    const Tensor table = in.matrix(encoder + "weight");
    require(same_tensor(table, in.matrix(decoder + "weight")), place,
            ": encoder and decoder have learned positions of their own, and Nine has one table for "
            "both");
    require(table.shape()[0] > kFirst, place, ": the table of positions has ", table.shape()[0],
            " rows, and the first ", kFirst, " are those of special words");
    return table.row_range(kFirst, table.shape()[0] - kFirst);
  }
  for (const std::string& side : {encoder, decoder})
    for (const char* buffer : {"_float_tensor", "weights"}) in.drop(side + buffer);
  int64_t most = 1;
  for (const char* key : {"max_source_positions", "max_target_positions"})
    most = std::max(most, args.find(key) == nullptr ? kSinusoids : args.whole(key));
  require(most <= kMostPositions, place, ": the model has ", most, " positions, and at most ",
          kMostPositions, " are read");
  return spread_sinusoids(most, width, kFirst);
}

}  // namespace

ForeignTranslation read_fairseq(const fs::path& directory) {
  const std::string place = (directory / kFairseqFile).string();
  const Json json = read_json_object(place);
  const auto found = json.find("args");
  require(found != json.end() && found->is_object(), place,
          " lacks the object 'args': write it by experiments/baselines/fairseq_checkpoint.py");
  const ForeignKeys args(place, *found);
  require_known_fairseq(place, args);
  ForeignTranslation out{.sides = read_sides(directory)};
  out.files.directory = directory;
  out.files.foreign = true;
  Safetensors stored = read_finite_weights(directory / kWeightsFile);
  for (auto& [name, tensor] : stored.tensors) tensor = in_float32(tensor);
  ForeignTensors in(place, stored.tensors);
  std::map<std::string, Tensor>& tensors = out.files.weights.tensors;
  FairseqLayers layers(place, in, tensors);
  layers.side("encoder", args.whole("encoder_layers"));
  layers.side("decoder", args.whole("decoder_layers"));
  for (const char* version : {"encoder.version", "decoder.version"}) in.drop(version);
  const Tensor source = in.matrix("encoder.embed_tokens.weight"),
               target = in.matrix("decoder.embed_tokens.weight");
  tensors["tgt_embedding.weight"] = target;
  if (!args.yes("share_all_embeddings", false) || !same_tensor(source, target))
    tensors["src_embedding.weight"] = source;
  constexpr const char *kOut = "decoder.output_projection.weight", *kOutOld = "decoder.embed_out";
  const bool tied = args.yes("share_decoder_input_output_embed", false) ||
                    args.yes("share_all_embeddings", false);
  const Tensor head = in.has(kOut)      ? in.matrix(kOut)
                      : in.has(kOutOld) ? in.matrix(kOutOld)
                      : tied            ? target
                                        : in.matrix(kOut);
  if (!same_tensor(head, target)) tensors["head.weight"] = head;
  tensors[kPositionsName] = fairseq_positions(place, args, target.shape()[1], in);
  in.require_empty();
  const double root = std::sqrt(static_cast<double>(target.shape()[1]));
  out.files.sources.push_back(
      {place,
       {{"task", "mt"},
        {"heads", args.whole("encoder_attention_heads")},
        {"norm",
         to_text(args.yes("encoder_normalize_before", false) ? NormOrder::pre : NormOrder::post)},
        {"activation", activation_of_fairseq(place, args)},
        {"layer_norm_eps", 1e-5},
        {"embed_scale", args.yes("no_scale_embedding", false) ? 1 : root},
        {"head", "lin"}}});
  return out;
}

}  // namespace nine
