#include "data/text_in_parts.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <vector>

#include "core/threads.h"
#include "data/text.h"

namespace nine {

namespace {

constexpr size_t kPartBytes = size_t{32} << 10;  // the smallest size of a part, except for the last
                                                 // part of a block
constexpr int64_t kAhead = 4;  // parts for each thread that may be changed before the part that is
                               // written next

// Numbers parts of whole lines, and writes the results in the order of these numbers.
class Parts {
 public:
  Parts(TextReader& text, const std::function<void(std::string_view)>& write)
      : text_(text), write_(write) {}

  // Sets `part` to the next part, `number` to its number and `lines` to the lines before it.
  // Returns false after the last part, or after an error.
  bool take(std::string& part, int64_t& number, int64_t& lines) {
    const std::scoped_lock lock(input_);
    if (ended_ || stopped_) return false;
    ended_ = true;  // also after an error
    if (block_.empty() && !text_.next_block(block_)) return false;
    ended_ = false;
    const size_t end = block_.size() <= kPartBytes
                           ? block_.size()
                           : std::min(block_.find('\n', kPartBytes), block_.size() - 1) + 1;
    part = block_.substr(0, end);  // a copy, because the next block replaces this block
    block_.remove_prefix(end);
    number = taken_++;
    lines = lines_;
    lines_ += std::count(part.begin(), part.end(), '\n');
    return true;
  }

  std::string name() {
    const std::scoped_lock lock(input_);
    return text_.name();
  }

  // Writes the result of a part after the results of all earlier parts; `cut` may hold any text
  // afterwards.
  void put(int64_t number, std::string& cut) {
    std::unique_lock lock(output_);
    turn_.wait(lock, [&] { return stopped_ || number < written_ + std::ssize(waiting_); });
    if (stopped_) return;
    Waiting& own = waiting_at(number);
    own.ready = true;
    own.text.swap(cut);
    for (; waiting_at(written_).ready; ++written_) {
      waiting_at(written_).ready = false;
      write_(waiting_at(written_).text);
    }
    turn_.notify_all();
  }

  // Stops: nothing more is written, and only threads that already wait for text read it.
  void stop() {
    const std::scoped_lock lock(output_);
    stopped_ = true;
    turn_.notify_all();
  }

 private:
  struct Waiting {
    std::string text;
    bool ready = false;
  };
  Waiting& waiting_at(int64_t number) {
    return waiting_[static_cast<size_t>(number) % waiting_.size()];
  }

  std::mutex input_;
  TextReader& text_;
  std::string_view block_;  // the rest of the reader's block
  int64_t taken_ = 0, lines_ = 0;
  bool ended_ = false;

  std::mutex output_;
  std::condition_variable turn_;
  const std::function<void(std::string_view)>& write_;
  std::vector<Waiting> waiting_{static_cast<size_t>(kAhead * threads())};
  int64_t written_ = 0;
  std::atomic<bool> stopped_ = false;
};

}  // namespace

void change_in_parts(TextReader& text, const std::function<ChangePart()>& for_thread,
                     const std::function<void(std::string_view)>& write) {
  Parts parts(text, write);
  parallel_for(threads(), [&](int64_t) {
    const ChangePart change = for_thread();
    std::string part, changed;
    for (int64_t number = 0, lines = 0; parts.take(part, number, lines);) {
      try {
        changed.clear();
        change(part, changed);
        parts.put(number, changed);
      } catch (const LineError& e) {
        parts.stop();
        fail(parts.name(), ", line ", lines + e.line(), ": ", e.what());
      } catch (...) {
        parts.stop();  // otherwise the other threads would wait for this part
        throw;
      }
    }
  });
}

}  // namespace nine
