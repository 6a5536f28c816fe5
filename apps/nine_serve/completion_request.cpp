#include "apps/nine_serve/completion_request.h"

#include <nlohmann/json.hpp>

#include "apps/nine_serve/api_error.h"
#include "apps/nine_serve/request_fields.h"

namespace nine::app {
namespace {

constexpr int64_t kMostStops = 4;  // as OpenAI
constexpr double kMostTemperature = 100;

std::vector<int32_t> ids_in(const Json& list) {
  std::vector<int32_t> ids;
  for (const Json& id : list) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() > INT32_MAX)
      fail_field("prompt", id, "the id of a token");
    ids.push_back(id.get<int32_t>());
  }
  return ids;
}

// Reads a text, a list of texts, a list of ids, or a list of lists of ids.
std::vector<Prompt> prompts_in(const Json* value, const Limits& limits) {
  require_field(value != nullptr, "prompt", "the key 'prompt' is missing: give a text");
  if (value->is_string()) return {value->get<std::string>()};
  if (!value->is_array() || value->empty())
    fail_field("prompt", *value, "a text, a list of texts, or ids of tokens");
  if (value->front().is_number()) return {ids_in(*value)};
  require_field(std::ssize(*value) <= limits.texts, "prompt", "the key 'prompt' has ",
                value->size(), " prompts, and at most ", limits.texts, " are allowed");
  std::vector<Prompt> prompts;
  for (const Json& prompt : *value) {
    if (!prompt.is_string() && !prompt.is_array())
      fail_field("prompt", prompt, "a text or a list of ids");
    if (prompt.is_string())
      prompts.emplace_back(prompt.get<std::string>());
    else
      prompts.emplace_back(ids_in(prompt));
  }
  return prompts;
}

}  // namespace

CompletionRequest parse_completion(const std::string& body, const Limits& limits) {
  RequestFields fields(body, limits.json_levels);
  CompletionRequest r;
  r.model = fields.text("model");
  r.prompts = prompts_in(fields.find("prompt"), limits);
  r.max_tokens =
      fields.count("max_tokens", std::min<int64_t>(16, limits.max_tokens), 0, limits.max_tokens);
  r.sampling.temperature = fields.number("temperature", 1, 0, kMostTemperature);
  r.sampling.top_p = fields.number("top_p", 1, 0, 1);
  r.sampling.top_k = fields.count("top_k", 0, 0, INT32_MAX);
  r.sampling.allow_unknown = fields.flag("allow_unknown", false);
  r.n = fields.count("n", 1, 1, limits.texts);
  require_field(std::ssize(r.prompts) * r.n <= limits.texts, "n", r.prompts.size(),
                " prompts with ", r.n, " continuations each are more than the ", limits.texts,
                " texts that a request may have");
  r.echo = fields.flag("echo", false);
  // lm-evaluation-harness and vLLM's clients also say true and false.
  const Json* const logprobs = fields.find("logprobs");
  if (logprobs != nullptr && logprobs->is_boolean())
    r.logprobs = logprobs->get<bool>() ? std::min<int64_t>(1, limits.logprobs) : -1;
  else
    r.logprobs = fields.count("logprobs", -1, 0, limits.logprobs);
  r.stop = fields.texts("stop", kMostStops);
  for (const std::string& stop : r.stop)
    require_field(!stop.empty(), "stop", "a stop text is empty: leave it out");
  if (const Json* const seed = fields.find("seed")) {
    if (!seed->is_number_integer()) fail_field("seed", *seed, "a whole number");
    r.seed = seed->is_number_unsigned() ? seed->get<uint64_t>()
                                        : static_cast<uint64_t>(seed->get<int64_t>());
  }
  r.stream = fields.flag("stream", false);
  if (const Json* const options = fields.find("stream_options")) {
    if (!options->is_object()) fail_field("stream_options", *options, "an object");
    require_field(r.stream, "stream_options", "stream_options needs \"stream\": true");
    RequestFields own(json_text(*options), limits.json_levels);
    r.include_usage = own.flag("include_usage", false);
    own.ignore("include_obfuscation");
    own.require_all_known();
  }
  for (const char* name : {"presence_penalty", "frequency_penalty"})
    fields.require_usual(name, 0, "Nine has no penalties; leave it out");
  fields.require_usual("logit_bias", Json::object(), "Nine changes no logits; leave it out");
  fields.require_usual("suffix", "", "a language model of Nine reads from left to right");
  fields.require_usual("best_of", r.n, "Nine returns all continuations; leave it out");
  fields.ignore("user");
  fields.require_all_known();
  return r;
}

}  // namespace nine::app
