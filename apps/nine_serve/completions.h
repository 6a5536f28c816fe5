// Answers /v1/completions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/nine_serve/completion_request.h"
#include "apps/nine_serve/worker.h"

namespace nine::app {

/// The text of one continuation while it grows: stop texts, characters, places of tokens.
class CompletionText {
 public:
  /// `with_start`: the prompt's ids began with </s>, which logprobs() then lists first.
  CompletionText(const ServedModel& model, const CompletionRequest& request, std::string prompt,
                 bool with_start);

  /// Takes the tokens that `text` has since the last call. Sets text.stopped at a stop text.
  void grow(ReadText& text);
  /// Returns the bytes that can be sent: whole characters that no stop text can begin in. With
  /// `all`, everything.
  std::string take(bool all);

  /// Returns the whole answer's text: with echo from the prompt on, up to a stop text.
  std::string text() const;
  bool found_stop() const { return found_stop_; }
  /// Returns OpenAI's `logprobs` of the tokens from `first` on (of ReadText::log_p).
  Json logprobs(const ReadText& text, size_t first) const;
  /// Returns why the text ended: "stop" or "length".
  const char* finish_reason(const ReadText& text) const;

 private:
  const ServedModel& model_;
  const CompletionRequest& request_;
  std::string prompt_;  // as it was given
  std::string added_;   // bytes
  size_t seen_ = 0;     // ids that were taken
  size_t sent_ = 0;     // bytes of text() that were sent
  bool found_stop_ = false, with_start_;
};

/// A call of /v1/completions.
class CompletionCall : public Call {
 public:
  /// ApiErrors (400): a prompt has more than Limits::prompt_tokens tokens; those of
  /// ServedModel::ids().
  CompletionCall(ModelPointer model, CompletionRequest request, const Limits& limits);

  const CompletionRequest& request() const { return request_; }
  void grew(size_t text) override;
  /// Returns the whole answer; only when the call is done.
  std::string answer() const;
  /// Returns the events that can be sent, each "data: ...\n\n", and removes them.
  std::string take_events();
  bool has_events() const;
  /// Returns the last events of a stream: the ends of the texts, the usage, "data: [DONE]".
  std::string last_events();
  /// Returns the event of an error that ends a stream.
  static std::string error_event(const std::exception_ptr& error);

 private:
  Json head(const char* object) const;
  Json usage() const;
  std::string event(size_t text, bool last);

  CompletionRequest request_;
  std::string id_;
  int64_t created_, starts_ = 0;
  std::vector<CompletionText> grown_;
  std::vector<size_t> logprobs_sent_;
  std::string events_;
};

}  // namespace nine::app
