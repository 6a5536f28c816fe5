// Reads the requests of /score, /restrict and /explain. ApiErrors (400) name the field.
#pragma once

#include <string>
#include <vector>

#include "apps/nine_serve/limits.h"
#include "data/word_sets.h"

namespace nine::app {

/// The request of /score: {"model", "texts", "top"}.
struct ScoreRequest {
  std::string model;
  std::vector<std::string> texts;
  int64_t top = 0;  ///< likeliest tokens shown at each position
};
ScoreRequest parse_score(const std::string& body, const Limits& limits);

/// The request of /restrict: {"model", "texts", "sets"}.
struct RestrictRequest {
  std::string model;
  std::vector<std::string> texts;
  std::vector<WordSet> sets;
};
RestrictRequest parse_restrict(const std::string& body, const Limits& limits);

/// The request of /explain: {"model", "text", "top"}.
struct ExplainRequest {
  std::string model, text;
  int64_t top = 3;  ///< likeliest words that are explained beside each word of the text
};
ExplainRequest parse_explain(const std::string& body, const Limits& limits);

}  // namespace nine::app
