// Answers /score and /restrict.
#pragma once

#include <string>
#include <vector>

#include "apps/nine_serve/limits.h"
#include "apps/nine_serve/worker.h"
#include "nn/models/restricted_prediction.h"

namespace nine::app {

/// The request of /score: {"model", "texts", "top"}.
struct ScoreRequest {
  std::string model;
  std::vector<std::string> texts;
  int64_t top = 0;  ///< likeliest tokens shown at each position
};
/// Reads the request. ApiErrors (400) name the field.
ScoreRequest parse_score(const std::string& body, const Limits& limits);

/// A call of /score: log p of each token of each text, and of </s> if the model reads words.
class ScoreCall : public Call {
 public:
  /// ApiErrors (400): those of ServedModel::ids(); a text has too many tokens.
  ScoreCall(ModelPointer served, ScoreRequest request, const Limits& limits);
  std::string answer() const;

 private:
  ScoreRequest request_;
};

/// The request of /restrict: {"model", "texts", "sets"}.
struct RestrictRequest {
  std::string model;
  std::vector<std::string> texts;
  std::vector<WordSet> sets;
};
RestrictRequest parse_restrict(const std::string& body, const Limits& limits);

/// A call of /restrict: which word of a set the model takes, wherever a text has a word of the set.
class RestrictCall : public Call {
 public:
  /// ApiErrors: a model of raw text; a word that the model does not know.
  RestrictCall(ModelPointer served, RestrictRequest request, const Limits& limits);
  std::string answer() const;

 private:
  RestrictRequest request_;
  std::vector<RestrictedChoice> choices_;
  RestrictedMeasures measures_;
};

/// Reads the keys `model` and `texts`, which several requests have. ApiErrors (400) name the field.
std::vector<std::string> texts_in(class RequestFields& fields, const Limits& limits);

}  // namespace nine::app
