#include "apps/nine_serve/worker.h"

#include <algorithm>
#include <chrono>

#include "apps/nine_serve/api_error.h"
#include "core/interrupt.h"

namespace nine::app {
namespace {

constexpr int kRetryAfter = 1;  // seconds

// Ends an op that no call waits for any more.
struct Cancelled : Error {
  Cancelled() : Error("nobody waits for the answer") {}
};

}  // namespace

void Call::finish(std::exception_ptr error) {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
    error_ = std::move(error);
  }
  changed_.notify_all();
}

bool Call::wait(double seconds, const std::function<bool()>& news) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                    [&] { return done_ || (news && news()); });
  return done_;
}

bool Call::done() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

void Call::rethrow() const {
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
}

void Worker::submit(std::shared_ptr<Call> call) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_)
      throw ApiError(503, "the server is stopping", {}, "server_stopping", 5 * kRetryAfter);
    if (open_ >= limits_.queue)
      throw ApiError(429,
                     concat("the queue is full: ", limits_.queue, " requests wait or are computed"),
                     {}, "queue_full", kRetryAfter);
    ++open_;
    metrics_.in_work = open_;
    waiting_.push_back(std::move(call));
  }
  changed_.notify_one();
}

void Worker::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
}

void Worker::end(Call& call, std::exception_ptr error) {
  {
    const std::lock_guard lock(mutex_);
    metrics_.in_work = --open_;
  }
  if (error) error = std::make_exception_ptr(work_error_of(error));
  call.finish(std::move(error));
}

void Worker::run() {
  using Clock = std::chrono::steady_clock;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      const auto idle = [&] { return waiting_.empty() && groups_.empty() && again_.empty(); };
      changed_.wait(lock, [&] { return !idle() || stopping_; });
      if (stopping_ && idle()) return;
    }
    step_groups();
    const std::vector<std::shared_ptr<Call>> calls = next_whole();
    if (calls.empty()) continue;
    const auto begin = Clock::now();
    compute_whole(calls);
    // Gives the groups as much time as the whole work took.
    const auto until = Clock::now() + (Clock::now() - begin);
    do step_groups();
    while (!groups_.empty() && Clock::now() < until);
  }
}

// Lets texts that wait join groups and begin groups, and steps all groups.
void Worker::step_groups() {
  drop_cancelled();
  for (Group& group : groups_) join(group);
  while (begin_group()) {
  }
  std::erase_if(groups_, [&](Group& group) { return !step(group); });
}

// Ends the calls that wait and that nobody waits for.
void Worker::drop_cancelled() {
  std::vector<std::shared_ptr<Call>> dropped;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(waiting_, [&](const std::shared_ptr<Call>& call) {
      if (!call->cancelled()) return false;
      if (call->begun_ == call->ended_) dropped.push_back(call);  // or its last text ends it
      return true;
    });
  }
  for (const auto& call : dropped) end(*call);
}

// Takes at most `most` texts of one model from the calls that wait: of the model `of`, or, if it is
// null, of the first call's. With `steps`: texts that may join them. With `in_order`: no text that
// came after one that may not join, because such a text waits until a group ends.
std::vector<Worker::Member> Worker::next_members(const ModelPointer& of, const TextSteps* steps,
                                                 int64_t most, bool in_order) {
  std::vector<Member> members;
  const std::lock_guard lock(mutex_);
  ModelPointer model = of;
  for (auto call = waiting_.begin(); call != waiting_.end() && std::ssize(members) < most;) {
    Call& c = **call;
    if (c.texts.empty() || (model && c.model != model)) {
      if (in_order && !c.texts.empty()) break;
      ++call;
      continue;
    }
    model = c.model;
    while (c.begun_ < c.texts.size() && std::ssize(members) < most &&
           (steps == nullptr || steps->joins(c.texts[c.begun_])))
      members.push_back({*call, c.begun_++});
    if (in_order && c.begun_ < c.texts.size()) break;
    call = c.begun_ == c.texts.size() ? waiting_.erase(call) : call + 1;
  }
  return members;
}

// Lets texts that wait take the places of texts that have ended, and further places.
void Worker::join(Group& group) {
  const int64_t live =
      std::ranges::count_if(group.members, [](const Member& m) { return m.call != nullptr; });
  const bool full = std::ssize(groups_) >= limits_.groups;
  if (!group.open || live >= limits_.batch || (full && !again_.empty())) return;
  std::vector<Member> members =
      next_members(group.model, group.steps.get(), limits_.batch - live, full);
  group.members.reserve(group.members.size() + members.size());  // so that no place is lost
  for (auto member = members.begin(); member != members.end(); ++member) {
    try {
      const size_t place = group.steps->add(&member->read());
      if (place == group.members.size()) group.members.emplace_back();
      group.members[place] = std::move(*member);
    } catch (const std::exception&) {  // no memory for one text more: a group of their own
      again_.emplace_back(std::make_move_iterator(member), std::make_move_iterator(members.end()));
      return;
    }
  }
}

bool Worker::begin_group() {
  if (std::ssize(groups_) >= limits_.groups) return false;
  Group group;
  if (again_.empty()) {
    group.members = next_members({}, nullptr, limits_.batch, false);
  } else {
    group.members = std::move(again_.front());
    again_.pop_front();
    group.open = false;
  }
  if (group.members.empty()) return false;
  group.model = group.members.front().call->model;
  std::vector<ReadText*> texts;
  for (const Member& member : group.members) texts.push_back(&member.read());
  try {
    group.steps = group.model->take_steps(pool_bytes_);
    group.steps->start(texts);
  } catch (...) {
    divide(group, std::current_exception());
    return true;
  }
  groups_.push_back(std::move(group));
  return true;
}

// Ends the only text of a group that failed. Of several texts, each half is tried anew: one of them
// may be the reason, or memory may not be enough for all at once. A text goes on where it stood.
void Worker::divide(Group& group, const std::exception_ptr& error) {
  group.steps.reset();  // releases its memory, and before it its model may be
  std::vector<Member> live;
  for (Member& member : group.members) {
    if (!member.call) continue;
    if (member.read().begun && member.read().done()) {  // it ended in the step that failed
      end_text(member);
    } else {
      live.push_back(std::move(member));
    }
  }
  group.members.clear();
  if (live.size() == 1) {
    live.front().read().error = error;
    end_text(live.front());
  } else if (!live.empty()) {
    const auto half = live.begin() + std::ssize(live) / 2;
    again_.emplace_back(std::make_move_iterator(live.begin()), std::make_move_iterator(half));
    again_.emplace_back(std::make_move_iterator(half), std::make_move_iterator(live.end()));
  }
}

// Takes a step of each text, and ends the texts that need no more. Returns false if the group has
// ended.
bool Worker::step(Group& group) {
  std::vector<size_t> before;
  int64_t live = 0;
  for (const Member& member : group.members) {
    before.push_back(member.call ? member.read().ids.size() : 0);
    if (!member.call) continue;
    if (member.call->cancelled()) member.read().stopped = true;
    ++live;
  }
  std::exception_ptr error;
  try {
    metrics_.read_tokens += group.steps->step();
  } catch (...) {
    error = std::current_exception();
  }
  for (size_t i = 0; i < group.members.size(); ++i)
    if (group.members[i].call) publish(group.members[i], before[i]);
  if (error) {
    divide(group, error);
    return false;
  }
  ++metrics_.steps;
  metrics_.step_texts += live;
  for (const size_t place : group.steps->take_done()) end_text(group.members[place]);
  if (!group.steps->idle()) return true;
  group.model->give_back(std::move(group.steps));
  return false;
}

void Worker::publish(Member& member, size_t ids_before) {
  if (member.read().ids.size() == ids_before) return;
  ++metrics_.added_tokens;
  bool news = false;
  {
    const std::lock_guard lock(member.call->mutex_);
    try {
      news = member.call->grew(member.text);
    } catch (...) {  // no memory for the answer: it ends this text alone
      member.read().error = std::current_exception();
    }
  }
  if (news) member.call->notify();
}

void Worker::end_text(Member& member) {
  metrics_.prompt_tokens += static_cast<int64_t>(member.read().given);
  const std::shared_ptr<Call> owner = std::move(member.call);
  Call& call = *owner;
  ++call.ended_;
  const bool last =
      call.ended_ == call.texts.size() || (call.cancelled() && call.ended_ == call.begun_);
  if (!last) return;
  {  // it may still wait for a place for its other texts
    const std::lock_guard lock(mutex_);
    std::erase(waiting_, owner);
  }
  std::exception_ptr error;
  for (const ReadText& text : call.texts)
    if (!error) error = text.error;
  end(call, error);
}

// Takes the first call that is not of texts, and with a call of lines to translate the others of
// the same model and options.
std::vector<std::shared_ptr<Call>> Worker::next_whole() {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Call>> calls;
  int64_t lines = 0;
  for (auto call = waiting_.begin(); call != waiting_.end();) {
    const Call& c = **call;
    const bool fits =
        calls.empty() ||
        (!c.sources.empty() && !calls.front()->work && c.model == calls.front()->model &&
         c.search_key == calls.front()->search_key && lines < limits_.batch);
    if (!c.texts.empty() || !fits) {
      ++call;
      continue;
    }
    lines += std::ssize(c.sources);
    calls.push_back(*call);
    call = waiting_.erase(call);
    if (calls.front()->work) break;
  }
  return calls;
}

// Computes calls together. If that fails, each half is computed without the other: one of them may
// be the reason, or memory may not be enough for all at once.
void Worker::compute_whole(Calls calls) {
  const auto all_cancelled = [&] {
    return std::ranges::all_of(calls, [](const auto& call) { return call->cancelled(); });
  };
  std::exception_ptr error;
  try {
    const InterruptCheck check([&] {
      if (all_cancelled()) throw Cancelled();
    });
    if (calls.front()->work) {
      calls.front()->work();
    } else {
      translate(calls);
    }
  } catch (...) {
    error = std::current_exception();
  }
  if (error && calls.size() > 1 && !all_cancelled()) {
    compute_whole(calls.first(calls.size() / 2));
    compute_whole(calls.subspan(calls.size() / 2));
    return;
  }
  for (const auto& call : calls) end(*call, error);
}

void Worker::translate(Calls calls) {
  std::vector<BeamSearch::Ids> sources;
  for (const auto& call : calls)
    sources.insert(sources.end(), call->sources.begin(), call->sources.end());
  std::vector<Translation> found =
      calls.front()->model->translator().search().translate(sources, calls.front()->search);
  auto next = found.begin();
  for (const auto& call : calls) {
    const auto end = next + std::ssize(call->sources);
    call->translations.assign(std::make_move_iterator(next), std::make_move_iterator(end));
    next = end;
  }
  metrics_.sentences += std::ssize(sources);
}

}  // namespace nine::app
