#include "core/communicator.h"

#include <algorithm>

#include "core/error.h"

namespace nine {
namespace {

// Long messages are cut, so that a rank that has stopped is noticed within a message.
constexpr int64_t kMaxMessage = int64_t{4} << 20;

class OneProcess : public Communicator {
 public:
  OneProcess() : Communicator(0, 1) {}

 private:
  void transfer(int, const void*, int64_t, int, void*, int64_t) override {
    fail("[Communicator] a run of one process has no other process to send to");
  }
};

}  // namespace

Communicator& one_process() {
  static OneProcess alone;
  return alone;
}

void Communicator::exchange(int to, const void* send, int64_t send_bytes, int from, void* receive,
                            int64_t receive_bytes) {
  const auto* out = static_cast<const char*>(send);
  auto* in = static_cast<char*>(receive);
  for (int64_t at = 0; at < std::max(send_bytes, receive_bytes); at += kMaxMessage) {
    const auto part = [&](int64_t bytes) {
      return std::clamp<int64_t>(bytes - at, 0, kMaxMessage);
    };
    transfer(to, out + (part(send_bytes) > 0 ? at : 0), part(send_bytes), from,
             in + (part(receive_bytes) > 0 ? at : 0), part(receive_bytes));
  }
  bytes_sent_ += send_bytes;
}

// A binomial tree: in round k the ranks below 2^k, which have the data, send it on.
void Communicator::broadcast(void* data, int64_t bytes) {
  for (int step = 1; step < size_; step *= 2) {
    if (rank_ < step && rank_ + step < size_) send(rank_ + step, data, bytes);
    if (rank_ >= step && rank_ < 2 * step) receive(rank_ - step, data, bytes);
  }
}

std::string Communicator::broadcast(const std::string& text) {
  auto length = static_cast<int64_t>(text.size());
  broadcast(&length, sizeof length);
  std::string out = text;
  out.resize(static_cast<size_t>(length));
  broadcast(out.data(), length);
  return out;
}

bool Communicator::broadcast(bool flag) {
  broadcast(&flag, sizeof flag);
  return flag;
}

// Recursive doubling where it fits, a ring elsewhere.
void Communicator::all_gather(void* all, int64_t bytes) {
  auto* parts = static_cast<char*>(all);
  if (is_power_of_two(size_)) {
    for (int step = 1; step < size_; step *= 2) {
      const int other = rank_ ^ step, mine = rank_ & ~(step - 1), theirs = other & ~(step - 1);
      exchange(other, parts + mine * bytes, step * bytes, other, parts + theirs * bytes,
               step * bytes);
    }
    return;
  }
  for (int i = 0; i + 1 < size_; ++i) {
    const int mine = (rank_ - i + size_) % size_, theirs = (rank_ - i - 1 + size_) % size_;
    exchange((rank_ + 1) % size_, parts + mine * bytes, bytes, (rank_ - 1 + size_) % size_,
             parts + theirs * bytes, bytes);
  }
}

std::vector<std::string> Communicator::all_gather(const std::string& text) {
  const auto mine = static_cast<size_t>(rank_), count = static_cast<size_t>(size_);
  std::vector<int64_t> lengths(count);
  lengths[mine] = static_cast<int64_t>(text.size());
  all_gather(lengths.data(), sizeof lengths[0]);
  const auto longest = static_cast<size_t>(*std::max_element(lengths.begin(), lengths.end()));
  std::string all(longest * count, '\0');
  std::copy(text.begin(), text.end(), all.begin() + static_cast<std::ptrdiff_t>(mine * longest));
  all_gather(all.data(), static_cast<int64_t>(longest));
  std::vector<std::string> out;
  for (size_t r = 0; r < count; ++r)
    out.push_back(all.substr(r * longest, static_cast<size_t>(lengths[r])));
  return out;
}

bool Communicator::any(bool flag) {
  if (size_ == 1) return flag;
  std::vector<char> flags(static_cast<size_t>(size_));
  flags[static_cast<size_t>(rank_)] = flag ? 1 : 0;
  all_gather(flags.data(), 1);
  return std::any_of(flags.begin(), flags.end(), [](char f) { return f != 0; });
}

}  // namespace nine
