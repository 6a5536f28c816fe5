#include "apps/nine_serve/score_request.h"

#include <nlohmann/json.hpp>

#include "apps/nine_serve/api_error.h"
#include "apps/nine_serve/request_fields.h"

namespace nine::app {
namespace {

constexpr int64_t kMostSets = 256, kMostSetWords = 1000;

std::vector<std::string> texts_in(RequestFields& fields, const Limits& limits) {
  std::vector<std::string> texts = fields.texts("texts", limits.texts);
  require_field(!texts.empty(), "texts", "the key 'texts' is missing: give a text or a list");
  return texts;
}

}  // namespace

ScoreRequest parse_score(const std::string& body, const Limits& limits) {
  RequestFields fields(body, limits.json_levels);
  ScoreRequest r;
  r.model = fields.text("model");
  r.texts = texts_in(fields, limits);
  r.top = fields.count("top", 0, 0, limits.logprobs);
  fields.require_all_known();
  return r;
}

RestrictRequest parse_restrict(const std::string& body, const Limits& limits) {
  RequestFields fields(body, limits.json_levels);
  RestrictRequest r;
  r.model = fields.text("model");
  r.texts = texts_in(fields, limits);
  const Json* const sets = fields.find("sets");
  require_field(
      sets != nullptr && sets->is_array() && !sets->empty() && std::ssize(*sets) <= kMostSets,
      "sets", "the key 'sets' must be a list of 1 to ", kMostSets, " lists of words");
  std::vector<std::string> lines;
  for (const Json& set : *sets) {
    if (!set.is_array() || std::ssize(set) > kMostSetWords)
      fail_field("sets", set, concat("a list of at most ", kMostSetWords, " words"));
    std::string line;
    for (const Json& word : set) {
      const bool is_word =
          word.is_string() && !word.get_ref<const std::string&>().empty() &&
          word.get_ref<const std::string&>().find_first_of(" \t\r\n") == std::string::npos;
      if (!is_word) fail_field("sets", word, "a word");
      line += ' ' + word.get_ref<const std::string&>();
    }
    lines.push_back(std::move(line));
  }
  try {
    r.sets = parse_word_sets(lines, "sets");
  } catch (const Error& e) {
    throw ApiError(400, e.what(), "sets");
  }
  fields.require_all_known();
  return r;
}

ExplainRequest parse_explain(const std::string& body, const Limits& limits) {
  RequestFields fields(body, limits.json_levels);
  ExplainRequest r;
  r.model = fields.text("model");
  require_field(fields.find("text") != nullptr, "text", "the key 'text' is missing");
  r.text = fields.text("text");
  r.top = fields.count("top", 3, 0, limits.logprobs);
  fields.require_all_known();
  return r;
}

}  // namespace nine::app
