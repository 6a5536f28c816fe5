// Counts what the server does, for /metrics.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace nine::app {

/// The counters of the server. Any thread may change them.
class Metrics {
 public:
  std::atomic<int64_t> prompt_tokens = 0;  ///< tokens of prompts
  std::atomic<int64_t> read_tokens = 0;    ///< tokens that models read
  std::atomic<int64_t> added_tokens = 0;   ///< tokens added to prompts
  std::atomic<int64_t> sentences = 0;      ///< sentences translated
  std::atomic<int64_t> steps = 0;          ///< steps of groups of texts
  std::atomic<int64_t> step_texts = 0;     ///< texts in these steps together
  std::atomic<int64_t> gone = 0;           ///< requests whose client went away
  std::atomic<int64_t> reloads = 0;        ///< times that the models were opened anew
  std::atomic<int64_t> connections = 0;    ///< open connections
  std::atomic<int64_t> in_work = 0;        ///< requests that wait or are computed

  /// Counts an answer.
  void answered(const std::string& path, int status, double seconds);
  /// Returns all counters in Prometheus' text form.
  std::string text() const;

 private:
  struct Times {
    int64_t count = 0;
    double seconds = 0;
    std::map<double, int64_t> up_to;
  };
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, int64_t> answers_;
  std::map<std::string, Times> times_;
};

}  // namespace nine::app
