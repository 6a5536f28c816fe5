#include "data/count_runs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <queue>
#include <utility>

#include "core/error.h"
#include "core/quote.h"
#include "data/word_counts.h"

namespace nine {

namespace {

constexpr size_t kMostRuns = 64;                 // that are merged at once
constexpr size_t kLeastBytes = size_t{4} << 10;  // of a buffer
constexpr size_t kMostBytes = size_t{1} << 20;

// An entry of a run: the size of the word, its count, its bytes.
struct Head {
  uint64_t size;
  int64_t count;
};

void append(std::string& bytes, std::string_view word, int64_t count) {
  const Head head{word.size(), count};
  bytes.append(reinterpret_cast<const char*>(&head), sizeof head);
  bytes += word;
}

}  // namespace

/// Reads the entries of a run.
class CountRuns::Reader {
 public:
  Reader(const CountRuns& file, Run run, size_t bytes) : file_(file), rest_(run), bytes_(bytes) {}

  /// Sets word() and count() to the next entry. Returns false after the last entry.
  bool next() {
    if (at_ == buffer_.size() && rest_.begin == rest_.end) return false;
    Head head{};
    need(sizeof head);
    std::memcpy(&head, buffer_.data() + at_, sizeof head);
    need(sizeof head + head.size);
    word_ = std::string_view(buffer_).substr(at_ + sizeof head, head.size);
    count_ = head.count;
    at_ += sizeof head + head.size;
    return true;
  }
  std::string_view word() const { return word_; }
  int64_t count() const { return count_; }

 private:
  /// Reads on until the buffer has `size` bytes behind at_.
  void need(size_t size) {
    if (buffer_.size() - at_ >= size) return;
    buffer_.erase(0, std::exchange(at_, 0));
    const auto more = static_cast<size_t>(std::min<int64_t>(
        rest_.end - rest_.begin, static_cast<int64_t>(std::max(size, bytes_) - buffer_.size())));
    size_t filled = buffer_.size();
    buffer_.resize(filled + more);
    while (filled < buffer_.size()) {
      const ssize_t got =
          ::pread(file_.descriptor_, buffer_.data() + filled, buffer_.size() - filled, rest_.begin);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) file_.fail_file("read", got < 0 ? errno : EIO);
      filled += static_cast<size_t>(got);
      rest_.begin += got;
    }
  }

  const CountRuns& file_;
  Run rest_;
  size_t bytes_;  // of the buffer
  std::string buffer_;
  size_t at_ = 0;
  std::string_view word_;
  int64_t count_ = 0;
};

/// Writes entries one behind the other.
class CountRuns::Writer {
 public:
  Writer(const CountRuns& file, int64_t begin) : file_(file), end_(begin) {}
  void put(std::string_view word, int64_t count) {
    append(buffer_, word, count);
    if (buffer_.size() >= kMostBytes / 4) flush();
  }
  /// Returns the end of the entries.
  int64_t flush() {
    file_.write(end_, buffer_);
    end_ += std::ssize(buffer_);
    buffer_.clear();
    return end_;
  }

 private:
  const CountRuns& file_;
  int64_t end_;
  std::string buffer_;
};

CountRuns::CountRuns(std::filesystem::path directory, size_t memory)
    : directory_(std::move(directory)), memory_(memory) {
  std::string name = (directory_ / "nine-counts-XXXXXX").string();
  descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor_ < 0) fail_file("make", errno);
  ::unlink(name.c_str());
}

CountRuns::~CountRuns() { ::close(descriptor_); }

void CountRuns::fail_file(const char* doing, int error) const {
  if (error == ENOSPC || error == EDQUOT)
    fail("no space left on device for counts in ", directory_.string(),
         ": free some, name another folder, or allow more memory");
  fail("cannot ", doing, " a temporary file of counts in ", directory_.string(), ": ",
       std::strerror(error), "; name a folder that takes large files");
}

void CountRuns::write(int64_t at, std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail_file("write", written < 0 ? errno : ENOSPC);
    bytes.remove_prefix(static_cast<size_t>(written));
    at += written;
  }
}

void CountRuns::add(const WordCounts& counts) {
  std::vector<int32_t> order(counts.counts.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int32_t a, int32_t b) { return counts.words.text(a) < counts.words.text(b); });
  Run run{};
  for (int32_t word : order)
    run.end += static_cast<int64_t>(sizeof(Head) + counts.words.text(word).size());
  {
    const std::scoped_lock lock(adding_);
    run.begin = end_;
    run.end = end_ += run.end;
    runs_.push_back(run);
  }
  Writer out(*this, run.begin);
  for (int32_t word : order)
    out.put(counts.words.text(word), counts.counts[static_cast<size_t>(word)]);
  out.flush();
}

void CountRuns::for_each(const std::function<void(std::string_view, int64_t)>& f) {
  while (runs_.size() > kMostRuns) {  // merges the oldest into one
    const auto last = runs_.begin() + kMostRuns;
    const std::vector<Run> oldest(runs_.begin(), last);
    runs_.erase(runs_.begin(), last);
    Writer out(*this, end_);
    merge(oldest, [&](std::string_view word, int64_t count) { out.put(word, count); });
    const int64_t begin = std::exchange(end_, out.flush());
    runs_.push_back({begin, end_});
  }
  merge(runs_, f);
}

void CountRuns::merge(const std::vector<Run>& runs,
                      const std::function<void(std::string_view, int64_t)>& f) {
  const size_t bytes =
      std::clamp(memory_ / std::max<size_t>(1, runs.size()), kLeastBytes, kMostBytes);
  std::vector<Reader> readers;
  readers.reserve(runs.size());
  const auto after = [&](size_t a, size_t b) { return readers[a].word() > readers[b].word(); };
  std::priority_queue<size_t, std::vector<size_t>, decltype(after)> queue(after);
  for (const Run& run : runs)
    if (readers.emplace_back(*this, run, bytes).next()) queue.push(readers.size() - 1);
  std::string word;
  while (!queue.empty()) {
    word = readers[queue.top()].word();
    int64_t count = 0;
    while (!queue.empty() && readers[queue.top()].word() == word) {
      const size_t first = queue.top();
      queue.pop();
      require(!__builtin_add_overflow(count, readers[first].count(), &count), "the counts of ",
              quote(word), " add up to more than a number of 64 bits holds");
      if (readers[first].next()) queue.push(first);
    }
    f(word, count);
  }
}

}  // namespace nine
