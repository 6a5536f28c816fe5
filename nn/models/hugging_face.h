// Language models of Hugging Face's transformers: their tensors and their config.json in Nine's
// names. docs/models.md says which models are read, and how their special tokens are used.
#pragma once

#include <map>
#include <string>

#include "core/json.h"
#include "core/tensor.h"

namespace nine {

/// The keys of the tokens that begin and end a text, in config.json and in the metadata of a model
/// of Nine that was made of one.
inline constexpr const char *kBeginToken = "bos_token_id", *kEndToken = "eos_token_id";

/// True if `config`, a config.json, has the key `model_type`, and the tensors have not Nine's names
/// already.
bool is_hugging_face(const std::map<std::string, Tensor>& tensors, const Json& config);

/// Renames a model's tensors, brings them into Nine's forms, and returns the keys of Nine that
/// describe the model. The rows of `</s>` and `<unk>` stand before those of the model's tokens.
/// `</s>` is read by the vector of bos_token_id and predicted by the vector of eos_token_id.
/// `head.bias` is `excluded` for `<unk>` and for the model's own row of eos_token_id. The
/// probabilities of the other tokens are therefore the model's. Errors name `config_file`: a model
/// type that Nine does not read; a setting that Nine does not have; a key or a tensor that is
/// missing; a tensor that is left over. Gives a notice() of keys that are not read and may mean
/// something.
Json read_hugging_face(const std::string& config_file, const Json& config,
                       std::map<std::string, Tensor>& tensors, double excluded);

}  // namespace nine
