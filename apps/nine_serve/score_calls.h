// Answers /score and /restrict.
#pragma once

#include <string>
#include <vector>

#include "apps/nine_serve/score_request.h"
#include "apps/nine_serve/worker.h"
#include "nn/models/restricted_prediction.h"

namespace nine::app {

/// A call of /score: log p of each token of each text, and of </s> if the model reads words.
class ScoreCall : public Call {
 public:
  /// ApiErrors (400): those of ServedModel::ids(); a text has too many tokens.
  ScoreCall(ModelPointer served, ScoreRequest request, const Limits& limits);
  std::string answer() const;

 private:
  ScoreRequest request_;
};

/// A call of /restrict: which word of a set the model takes, wherever a text has a word of the set.
class RestrictCall : public Call {
 public:
  /// ApiErrors: a model of raw text; a word that the model does not know, or excludes.
  RestrictCall(ModelPointer served, RestrictRequest request, const Limits& limits);
  std::string answer() const;

 private:
  RestrictRequest request_;
  std::vector<RestrictedChoice> choices_;
  RestrictedMeasures measures_;
};

}  // namespace nine::app
