// The names of tensors in Hugging Face's transformers, for reading and writing.
#pragma once

#include <array>
#include <utility>

#include "core/tensor.h"
#include "nn/models/hugging_face_config.h"

namespace nine {

/// Their name and Nine's.
using TheirName = std::pair<const char*, const char*>;

/// GPT-2's keys of config.json that transformers reads under a second name too (`attribute_map`).
inline constexpr std::array<OtherKeyName, 4> kGpt2Keys{{{"n_embd", "hidden_size"},
                                                        {"n_positions", "max_position_embeddings"},
                                                        {"n_head", "num_attention_heads"},
                                                        {"n_layer", "num_hidden_layers"}}};
/// GPT-2's norms of a layer, h.N there. Their parts are `weight` and `bias`.
inline constexpr std::array<TheirName, 2> kGpt2Norms{{{"ln_1", "norm1"}, {"ln_2", "norm2"}}};
/// A linear map of GPT-2, whose weight is transposed (Conv1D): their name, Nine's weight and bias.
struct TheirMap {
  const char *name, *weight, *bias;
};
inline constexpr std::array<TheirMap, 4> kGpt2Maps{
    {{"attn.c_attn", "self_attn.in_proj_weight", "self_attn.in_proj_bias"},
     {"attn.c_proj", "self_attn.out_proj.weight", "self_attn.out_proj.bias"},
     {"mlp.c_fc", "linear1.weight", "linear1.bias"},
     {"mlp.c_proj", "linear2.weight", "linear2.bias"}}};

/// Llama's tensors of a layer, layers.N there, without `.weight`.
inline constexpr std::array<TheirName, 6> kLlamaNames{{{"input_layernorm", "norm1"},
                                                       {"post_attention_layernorm", "norm2"},
                                                       {"self_attn.o_proj", "self_attn.out_proj"},
                                                       {"mlp.gate_proj", "linear1"},
                                                       {"mlp.up_proj", "linear3"},
                                                       {"mlp.down_proj", "linear2"}}};
/// The maps that Nine has below each other in self_attn.in_proj_weight, and Qwen3's norms, which
/// have the same names in Nine.
inline constexpr std::array<const char*, 3> kLlamaMaps{"q_proj", "k_proj", "v_proj"};
inline constexpr std::array<const char*, 2> kQwen3Norms{"self_attn.q_norm.weight",
                                                        "self_attn.k_norm.weight"};

}  // namespace nine
