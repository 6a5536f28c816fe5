#include "apps/nine_serve/translate_call.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "apps/nine_serve/api_error.h"

namespace nine::app {

std::string languages_json(const std::vector<ModelPointer>& models) {
  std::map<std::string, std::set<std::string>> targets;
  for (const ModelPointer& model : models)
    if (model->translates()) {
      targets[model->source().from].insert(model->source().to);
      targets[model->source().to];
    }
  Json all = Json::array();
  for (const auto& [code, into] : targets) {
    Json language = Json{{"code", code}, {"name", code}};
    language["targets"] = into;
    all.push_back(std::move(language));
  }
  return json_text(all);
}

namespace {

ModelPointer model_for(const ServedModels& models, const TranslateRequest& r) {
  if (!r.model.empty()) return models.find(r.model, true);
  ModelPointer found;
  for (const ModelPointer& model : models.all()) {
    if (!model->translates()) continue;
    const ModelSource& own = model->source();
    const bool fits =
        (r.source == "auto" || r.source == own.from) && (r.target.empty() || r.target == own.to);
    if (!fits) continue;
    require_field(!found, "source", "several models translate from ", r.source, " to ",
                  r.target.empty() ? "any language" : r.target,
                  ": name the languages, or the model");
    found = model;
  }
  require_field(found != nullptr, "target", "no model translates from ", r.source, " to ",
                r.target.empty() ? "any language" : r.target, ": see /languages");
  return found;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    if (end < text.size() && lines.back().ends_with('\r')) lines.back().pop_back();
    begin = end + 1;
  }
  return lines;
}

}  // namespace

TranslateCall::TranslateCall(const ServedModels& models, TranslateRequest request,
                             const Limits& limits)
    : Call(model_for(models, request)), request_(std::move(request)) {
  const Translator& translator = model->translator();
  std::vector<std::string> all;
  for (const std::string& text : request_.q) {
    const std::vector<std::string> lines = lines_of(text);
    lines_.push_back(lines.size());
    all.insert(all.end(), lines.begin(), lines.end());
  }
  require_field(std::ssize(all) <= limits.texts, "q", "the texts have ", all.size(),
                " lines, and at most ", limits.texts, " are allowed");
  // A model of raw text reads these characters; for others they would be parts of words.
  if (!translator.reads_prose())
    for (const std::string& line : all) {
      require_field(line.find('\r') == std::string::npos, "q",
                    "a line has a carriage return within it: end lines with LF or with CR LF");
      require_field(line.find('\0') == std::string::npos, "q", kNul);
    }
  try {
    sources = translator.source_ids(all, "q");
  } catch (const Error& e) {
    throw ApiError(400, e.what(), "q");
  }
  for (const BeamSearch::Ids& ids : sources)
    require_field(std::ssize(ids) <= limits.prompt_tokens, "q", "a line has ", ids.size(),
                  " tokens, and at most ", limits.prompt_tokens, " are allowed");
  TokenCounts counts;
  for (const BeamSearch::Ids& ids : sources) model->count(ids, counts);
  model->require_known(counts, limits.max_unknown, "q");
  search = {.beam = request_.beam,
            .length_penalty = request_.length_penalty,
            .max_length = std::min(limits.max_tokens, SearchOptions{}.max_length),
            .n_best = request_.alternatives + 1,
            .excluded = translator.target_unknown(),
            .batch = limits.batch,
            .attention = request_.attention};
  search_key =
      concat(search.beam, " ", search.length_penalty, " ", search.n_best, " ", search.attention);
}

std::string TranslateCall::answer() const {
  const Translator& translator = model->translator();
  // The n-th translation of each line, or the last one if the search found fewer.
  const auto text_of = [&](size_t first, size_t lines, size_t n) {
    std::string out;
    for (size_t i = first; i < first + lines; ++i) {
      const Translation& found = translations[i];
      if (i > first) out += '\n';
      if (!found.empty()) out += translator.text(found[std::min(n, found.size() - 1)].words);
    }
    return out;
  };
  Json translated = Json::array(), alternatives = Json::array(), attention = Json::array();
  size_t first = 0;
  for (const size_t lines : lines_) {
    translated.push_back(text_of(first, lines, 0));
    Json others = Json::array();
    size_t found = 0;
    for (size_t i = first; i < first + lines; ++i) found = std::max(found, translations[i].size());
    for (size_t n = 1; n < found; ++n) others.push_back(text_of(first, lines, n));
    alternatives.push_back(std::move(others));
    first += lines;
  }
  if (request_.attention)
    for (size_t i = 0; i < translations.size(); ++i) {
      if (translations[i].empty()) continue;
      const Hypothesis& best = translations[i].front();
      const size_t columns = sources[i].size() + 1;
      Json from = Json::array(), to = Json::array(), rows = Json::array();
      for (const int32_t id : sources[i]) from.push_back(translator.source().word(id));
      from.push_back(translator.source().word(Specials::kTranslation.end));
      for (size_t t = 0; t < best.words.size(); ++t) {
        to.push_back(translator.target().word(best.words[t]));
        const auto begin = best.attention.begin() + static_cast<int64_t>(t * columns);
        rows.push_back(std::vector<float>(begin, begin + static_cast<int64_t>(columns)));
      }
      attention.push_back({{"source", std::move(from)},
                           {"target", std::move(to)},
                           {"weights", std::move(rows)},
                           {"log_p", best.log_prob}});
    }
  Json out{{"translatedText", request_.is_list ? std::move(translated) : translated.at(0)}};
  if (request_.alternatives > 0)
    out["alternatives"] = request_.is_list ? std::move(alternatives) : alternatives.at(0);
  // The model's language, because nothing else is translated.
  if (request_.source == "auto")
    out["detectedLanguage"] = {{"confidence", 0}, {"language", model->source().from}};
  if (request_.attention) out["attention"] = std::move(attention);
  return json_text(out);
}

}  // namespace nine::app
