#include "apps/nine_serve/metrics.h"

#include <array>

#include "core/error.h"

namespace nine::app {
namespace {

constexpr std::array kBounds{0.001, 0.01, 0.1, 1.0, 10.0, 100.0};  // seconds

}  // namespace

void Metrics::answered(const std::string& path, int status, double seconds) {
  const std::lock_guard lock(mutex_);
  ++answers_[{path, status}];
  Times& times = times_[path];
  ++times.count;
  times.seconds += seconds;
  for (const double bound : kBounds) times.up_to[bound] += seconds <= bound ? 1 : 0;
}

std::string Metrics::text() const {
  std::string out;
  const auto metric = [&](const char* name, const char* type, const char* help, int64_t value) {
    out += concat("# HELP nine_", name, " ", help, "\n# TYPE nine_", name, " ", type, "\nnine_",
                  name, " ", value, "\n");
  };
  metric("prompt_tokens_total", "counter", "Tokens of prompts.", prompt_tokens);
  metric("read_tokens_total", "counter", "Tokens that the models read.", read_tokens);
  metric("added_tokens_total", "counter", "Tokens added to prompts.", added_tokens);
  metric("sentences_total", "counter", "Sentences translated.", sentences);
  metric("steps_total", "counter", "Steps of groups of texts.", steps);
  metric("step_texts_total", "counter", "Texts in these steps together.", step_texts);
  metric("gone_clients_total", "counter", "Requests whose client went away.", gone);
  metric("reloads_total", "counter", "Times that the models were opened anew.", reloads);
  metric("connections", "gauge", "Open connections.", connections);
  metric("requests_in_work", "gauge", "Requests that wait or are computed.", in_work);
  const std::lock_guard lock(mutex_);
  out +=
      "# HELP nine_answers_total Answers by path and status.\n"
      "# TYPE nine_answers_total counter\n";
  for (const auto& [key, count] : answers_)
    out += concat("nine_answers_total{path=\"", key.first, "\",status=\"", key.second, "\"} ",
                  count, "\n");
  out +=
      "# HELP nine_answer_seconds Time from a request's headers to its answer.\n"
      "# TYPE nine_answer_seconds histogram\n";
  for (const auto& [path, times] : times_) {
    for (const auto& [bound, count] : times.up_to)
      out += concat("nine_answer_seconds_bucket{path=\"", path, "\",le=\"", bound, "\"} ", count,
                    "\n");
    out += concat("nine_answer_seconds_bucket{path=\"", path, "\",le=\"+Inf\"} ", times.count,
                  "\nnine_answer_seconds_sum{path=\"", path, "\"} ", times.seconds,
                  "\nnine_answer_seconds_count{path=\"", path, "\"} ", times.count, "\n");
  }
  return out;
}

}  // namespace nine::app
