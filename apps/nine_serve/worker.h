// Computes the requests that wait: texts of one model together, translations of one model together.
//
// One thread computes. HTTP threads submit calls and wait for them. A text that waits joins a group
// of its model that has a place, or begins a group. Groups take turns, a step each, so that a long
// text does not hold back a short one. Translations and other work take turns with the groups. No
// answer depends on the other calls: rows are computed independently, and if calls fail together,
// each is tried without the others.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "apps/nine_serve/limits.h"
#include "apps/nine_serve/metrics.h"
#include "apps/nine_serve/served_model.h"
#include "apps/nine_serve/text_steps.h"

namespace nine::app {

/// A request's work, which an HTTP thread and the worker share. A call has texts to read, or lines
/// to translate, or other work that is computed alone.
class Call {
 public:
  explicit Call(ModelPointer model_) : model(std::move(model_)) {}
  virtual ~Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const ModelPointer model;
  std::vector<ReadText> texts;
  /// Lines to translate, with the search's options; calls of one key are translated together.
  std::vector<BeamSearch::Ids> sources;
  SearchOptions search;
  std::string search_key;
  std::vector<Translation> translations;  ///< the results
  std::function<void()> work;             ///< other work

  /// The worker calls this after a step in which texts[i] grew. It may set `stopped`. Returns true
  /// if a waiting thread has something to do, so that other steps wake no thread.
  virtual bool grew(size_t) { return false; }

  /// Ends the call's work as soon as possible, because nobody waits for it any more.
  void cancel() { cancelled_ = true; }
  bool cancelled() const { return cancelled_; }

  /// Called by the worker: the work is done, or has failed.
  void finish(std::exception_ptr error = {});
  /// Tells waiting threads that there is something new.
  void notify() { changed_.notify_all(); }
  /// Waits until the work is done, `seconds` are over, or news() is true. Holds mutex() while it
  /// calls news(). Returns true if the work is done.
  bool wait(double seconds, const std::function<bool()>& news = {});
  bool done() const;
  /// Throws the error with which the work ended, if it did.
  void rethrow() const;
  std::mutex& mutex() { return mutex_; }

 private:
  friend class Worker;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> cancelled_ = false;
  bool done_ = false;
  std::exception_ptr error_;
  size_t begun_ = 0, ended_ = 0;  // of `texts`; the worker's own
};

/// The thread that computes, and the queue before it.
class Worker {
 public:
  /// `pool_bytes`: the memory for the steps of a group; 0: as much as there is (ServedModel).
  Worker(const Limits& limits, Metrics& metrics, size_t pool_bytes = 0)
      : limits_(limits), metrics_(metrics), pool_bytes_(pool_bytes) {}

  /// Gives a call to the worker. ApiErrors: 429 if the queue is full; 503 after stop().
  void submit(std::shared_ptr<Call> call);
  /// Computes until stop() was called and all calls are done.
  void run();
  /// Refuses further calls, and lets run() return after the last call.
  void stop();

 private:
  struct Member {
    std::shared_ptr<Call> call;  // null: the text has ended
    size_t text = 0;
    ReadText& read() const { return call->texts[text]; }
  };
  struct Group {
    ModelPointer model;
    std::unique_ptr<TextSteps> steps;
    std::vector<Member> members;  // in the order of the steps' texts
    bool open = true;             // further texts may join
  };

  void drop_cancelled();
  std::vector<Member> next_members(const ModelPointer& of, const TextSteps* steps, int64_t most,
                                   bool in_order);
  std::vector<std::shared_ptr<Call>> next_whole();
  bool begin_group();
  void join(Group& group);
  bool step(Group& group);
  void step_groups();
  void publish(Member& member, size_t ids_before);
  void end_text(Member& member);
  void divide(Group& group, const std::exception_ptr& error);
  using Calls = std::span<const std::shared_ptr<Call>>;
  void compute_whole(Calls calls);
  void translate(Calls calls);
  void end(Call& call, std::exception_ptr error = {});

  const Limits& limits_;
  Metrics& metrics_;
  const size_t pool_bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Call>> waiting_;
  int64_t open_ = 0;  // calls that wait or are computed
  bool stopping_ = false;
  std::vector<Group> groups_;
  std::deque<std::vector<Member>> again_;  // texts of groups that failed together
};

}  // namespace nine::app
