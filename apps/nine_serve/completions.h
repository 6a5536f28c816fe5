// Answers /v1/completions.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/nine_serve/completion_request.h"
#include "apps/nine_serve/stop_texts.h"
#include "apps/nine_serve/worker.h"
#include "core/json.h"

namespace nine::app {

/// The text of one continuation while it grows: stop texts, characters, places of tokens. The work
/// for a text is proportional to its length, however often it is asked for its next part.
class CompletionText {
 public:
  /// What the continuations of a request share.
  struct Shared {
    const ServedModel& model;
    const CompletionRequest& request;
    const StopTexts stops;
  };
  /// `prompt`: as it was given. `with_start`: the prompt's ids began with </s>, which
  /// take_logprobs() then lists first. `shared` must outlive the object.
  CompletionText(const Shared& shared, std::shared_ptr<const std::string> prompt, bool with_start);

  /// Takes the tokens that `text` has since the last call. Sets text.stopped at a stop text.
  void grow(ReadText& text);
  /// Returns the next part of the answer's text that can be sent: whole characters in which no stop
  /// text can begin. With `all`, everything. The parts together are text().
  std::string take(bool all);

  /// Returns the whole answer's text: with echo from the prompt on, up to a stop text; U+FFFD
  /// stands for bytes that are no characters (visible_text).
  std::string text() const;
  bool found_stop() const { return found_stop_; }
  /// Returns OpenAI's `logprobs` of the tokens of ReadText::log_p that no earlier call returned.
  Json take_logprobs(const ReadText& text);
  /// Returns why the text ended: "stop" or "length".
  const char* finish_reason(const ReadText& text) const;

 private:
  void count_places(size_t bytes);

  const Shared& shared_;
  std::shared_ptr<const std::string> prompt_;
  std::string added_;           // bytes
  StopTexts::Matched matched_;  // at the end of added_
  size_t seen_ = 0;             // ids that were taken
  size_t sent_ = 0;             // bytes of the answer's text that were sent
  bool sent_bad_ = false;       // these ended with bytes that are no character
  size_t logprobs_ = 0;         // elements of ReadText::log_p that were taken
  int64_t place_ = -1;          // characters before the next of them; -1: not counted yet
  std::string unplaced_;        // bytes of tokens before it, of a character that is not whole
  bool bad_place_ = false;      // the bytes before these ended with no character
  bool found_stop_ = false, with_start_;
};

/// A call of /v1/completions.
class CompletionCall : public Call {
 public:
  /// ApiErrors (400): a prompt has more than Limits::prompt_tokens tokens; those of
  /// ServedModel::ids().
  CompletionCall(ModelPointer served, CompletionRequest request, const Limits& limits);

  const CompletionRequest& request() const { return request_; }
  bool grew(size_t text) override;
  /// Returns the whole answer; only when the call is done.
  std::string answer();
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
  std::optional<CompletionText::Shared> shared_;  // of grown_
  std::vector<CompletionText> grown_;
  std::string events_;
};

}  // namespace nine::app
