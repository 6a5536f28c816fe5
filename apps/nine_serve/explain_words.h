// Answers /explain: how a head derives the probability of each word of a text.
#pragma once

#include <string>
#include <vector>

#include "apps/nine_serve/score_request.h"
#include "apps/nine_serve/worker.h"

namespace nine::app {

/// A call of /explain. For each position the answer has, of the word of the text and of the
/// likeliest words: the product z, the distance q, the score S of each component, the component's
/// log normaliser and prior, and log p = log sum_k prior_k exp(S_k - log_z_k). All are computed in
/// double from the vectors; `engine_log_p` is what the engine answers.
class ExplainCall : public Call {
 public:
  /// ApiErrors: a model on a GPU; too many tokens.
  ExplainCall(ModelPointer served, ExplainRequest request, const Limits& limits);
  std::string answer() const { return answer_; }

 private:
  void explain();

  ExplainRequest request_;
  std::vector<int32_t> ids_;
  std::string answer_;
};

}  // namespace nine::app
