#include "nn/models/hugging_face_config.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/notice.h"
#include "core/quote.h"

namespace nine {
namespace {

// Keys that change nothing in what a trained model computes: of training, of classifiers, of
// generate(), and of memory.
constexpr auto kWithoutEffect = std::to_array<std::string_view>({"architectures",
                                                                 "attention_dropout",
                                                                 "attn_implementation",
                                                                 "attn_pdrop",
                                                                 "auto_map",
                                                                 "bad_words_ids",
                                                                 "begin_suppress_tokens",
                                                                 "chunk_size_feed_forward",
                                                                 "decoder_start_token_id",
                                                                 "diversity_penalty",
                                                                 "do_sample",
                                                                 "dtype",
                                                                 "early_stopping",
                                                                 "embd_pdrop",
                                                                 "encoder_no_repeat_ngram_size",
                                                                 "exponential_decay_length_penalty",
                                                                 "finetuning_task",
                                                                 "forced_bos_token_id",
                                                                 "forced_eos_token_id",
                                                                 "id2label",
                                                                 "initializer_range",
                                                                 "is_decoder",
                                                                 "label2id",
                                                                 "length_penalty",
                                                                 "max_length",
                                                                 "min_length",
                                                                 "model_type",
                                                                 "n_ctx",
                                                                 "name_or_path",
                                                                 "no_repeat_ngram_size",
                                                                 "num_beam_groups",
                                                                 "num_beams",
                                                                 "num_labels",
                                                                 "num_return_sequences",
                                                                 "output_attentions",
                                                                 "output_hidden_states",
                                                                 "output_scores",
                                                                 "pad_token_id",
                                                                 "prefix",
                                                                 "pretraining_tp",
                                                                 "problem_type",
                                                                 "repetition_penalty",
                                                                 "resid_pdrop",
                                                                 "return_dict",
                                                                 "return_dict_in_generate",
                                                                 "remove_invalid_values",
                                                                 "sep_token_id",
                                                                 "summary_activation",
                                                                 "summary_first_dropout",
                                                                 "summary_proj_to_labels",
                                                                 "summary_type",
                                                                 "summary_use_proj",
                                                                 "suppress_tokens",
                                                                 "task_specific_params",
                                                                 "temperature",
                                                                 "tf_legacy_loss",
                                                                 "tie_encoder_decoder",
                                                                 "tokenizer_class",
                                                                 "top_k",
                                                                 "top_p",
                                                                 "torch_dtype",
                                                                 "torchscript",
                                                                 "transformers_version",
                                                                 "typical_p",
                                                                 "use_bfloat16",
                                                                 "use_cache"});

}  // namespace

const char* HuggingFaceConfig::name_of(const char* key) const {
  read_.insert(key);
  for (const auto& [own, other] : other_names_) {
    if (std::string_view(own) != key) continue;
    read_.insert(other);
    const Json a = keys_.value(own, Json()), b = keys_.value(other, Json());
    require(a.is_null() || b.is_null() || a == b, place_, ": the key '", own, "' is ",
            shortened(json_text(a)), ", and the key '", other, "', another name of it, is ",
            shortened(json_text(b)), ": keep the one that the model was trained with");
    return a.is_null() && keys_.contains(other) ? other : own;
  }
  return key;
}

const Json* HuggingFaceConfig::said(const char* key) const {
  const auto found = keys_.find(name_of(key));
  return found == keys_.end() ? nullptr : &*found;
}

const Json* HuggingFaceConfig::find(const char* key) const {
  const Json* const value = said(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

bool HuggingFaceConfig::has(const char* key) const { return said(key) != nullptr; }

void HuggingFaceConfig::size(const char* key, int64_t of_tensors,
                             std::optional<int64_t> usual) const {
  if (find(key) != nullptr) {
    require(whole(key) == of_tensors, place_, ": the key '", name_of(key), "' is ", whole(key),
            ", and the tensors have ", of_tensors);
  } else {
    require(usual.value_or(of_tensors) == of_tensors, place_, " lacks the key '", key,
            "', which then means ", usual.value_or(0), ", but the tensors have ", of_tensors,
            ": write the key");
  }
}

int64_t HuggingFaceConfig::whole(const char* key) const {
  const Json* const value = find(key);
  require(value != nullptr, place_, " lacks the key '", key, "'");
  require(value->is_number_integer() && *value > 0 && *value < int64_t{1} << 40, place_, ": ",
          unexpected_value(name_of(key), *value, "a whole number from 1 on"));
  return value->get<int64_t>();
}

double HuggingFaceConfig::number(const char* key, double usual) const {
  const Json* const value = said(key);
  if (value == nullptr) return usual;
  require(value->is_number(), place_, ": ", unexpected_value(key, *value, "a number"));
  return value->get<double>();
}

bool HuggingFaceConfig::yes(const char* key, bool usual) const {
  const Json* const value = said(key);
  if (value == nullptr) return usual;
  require(value->is_boolean(), place_, ": ", unexpected_value(key, *value, "true or false"));
  return value->get<bool>();
}

std::string HuggingFaceConfig::text(const char* key, const char* usual) const {
  const Json* const value = said(key);
  if (value == nullptr) return usual;
  require(value->is_string(), place_, ": ", unexpected_value(key, *value, "a text"));
  return value->get<std::string>();
}

void HuggingFaceConfig::only(const char* key, const Json& only) const {
  const Json* const value = find(key);
  require(value == nullptr || *value == only, place_, ": the key '", key, "' is ",
          value == nullptr ? "" : shortened(json_text(*value)), ", and Nine has ", json_text(only),
          " alone");
}

void HuggingFaceConfig::refuse(const char* key, std::string_view reason) const {
  const Json* const value = find(key);
  require(value == nullptr, place_, ": the key '", key, "' is ",
          value == nullptr ? "" : shortened(json_text(*value)), ", and ", reason);
}

std::optional<int64_t> HuggingFaceConfig::token(const char* key,
                                                std::optional<int64_t> usual) const {
  if (!has(key)) return usual;
  const Json* value = find(key);
  if (value != nullptr && value->is_array()) {
    if (value->size() > 1)
      notice(concat(place_, ": '", key, "' has ", value->size(), " tokens, and the first, ",
                    shortened(json_text(value->front())), ", is the one that counts"));
    value = value->empty() ? nullptr : &value->front();
  }
  if (value == nullptr) return std::nullopt;
  require(value->is_number_integer() && *value >= 0 && *value < int64_t{1} << 31, place_, ": ",
          unexpected_value(key, *value, "the number of a token"));
  return value->get<int64_t>();
}

std::string HuggingFaceConfig::unread() const {
  std::string all;
  for (const auto& item : keys_.items()) {
    const Json& value = item.value();
    const bool empty = value.is_null() || value == false ||
                       (value.is_string() && value.get_ref<const std::string&>().empty()) ||
                       (value.is_structured() && value.empty());
    if (empty || item.key().starts_with('_') || read_.contains(item.key()) ||
        std::ranges::find(kWithoutEffect, item.key()) != kWithoutEffect.end())
      continue;
    all += concat(all.empty() ? "" : ", ", quote(item.key()));
  }
  return all;
}

}  // namespace nine
