// The request of /v1/completions (OpenAI, "Create completion").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "apps/nine_serve/limits.h"
#include "nn/models/sampling.h"

namespace nine::app {

/// A prompt: a text, or ids of tokens as the model's tokenizer counts them.
using Prompt = std::variant<std::string, std::vector<int32_t>>;

/// The fields of the request. Keys that OpenAI has and a language model of Nine cannot honour are
/// errors unless they have their usual values.
struct CompletionRequest {
  std::string model;  ///< empty: left out
  std::vector<Prompt> prompts;
  int64_t max_tokens = 16;
  SamplingOptions sampling = {};
  int64_t n = 1;          ///< continuations of each prompt
  bool echo = false;      ///< the answer begins with the prompt
  int64_t logprobs = -1;  ///< likeliest tokens shown for each token; -1: no log-probabilities
  std::vector<std::string> stop;  ///< texts that end an answer
  std::optional<uint64_t> seed;
  bool stream = false, include_usage = false;
};

/// Reads the request. ApiErrors (400) name the field.
CompletionRequest parse_completion(const std::string& body, const Limits& limits);

}  // namespace nine::app
