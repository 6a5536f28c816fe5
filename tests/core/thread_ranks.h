// Threads that play the processes of a Communicator.
#pragma once

#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/communicator.h"

namespace nine::tests {

/// Their messages.
struct Mail {
  std::mutex mutex;
  std::condition_variable arrived;
  std::map<std::pair<int, int>, std::deque<std::string>> boxes;  // from, to
};

/// One of them.
class ThreadRank : public Communicator {
 public:
  ThreadRank(Mail& mail, int rank, int size) : Communicator(rank, size), mail_(mail) {}

 private:
  void transfer(int to, const void* send, int64_t send_bytes, int from, void* receive,
                int64_t receive_bytes) override {
    std::unique_lock lock(mail_.mutex);
    if (send_bytes > 0) {
      mail_.boxes[{rank(), to}].emplace_back(static_cast<const char*>(send),
                                             static_cast<size_t>(send_bytes));
      mail_.arrived.notify_all();
    }
    if (receive_bytes == 0) return;
    auto& box = mail_.boxes[{from, rank()}];
    mail_.arrived.wait(lock, [&] { return !box.empty(); });
    if (std::ssize(box.front()) == receive_bytes)
      std::memcpy(receive, box.front().data(), static_cast<size_t>(receive_bytes));
    box.pop_front();
  }

  Mail& mail_;
};

/// body(communicator) on `size` threads.
template <class Body>
void with_ranks(int size, Body&& body) {
  Mail mail;
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r)
    threads.emplace_back([&, r] {
      ThreadRank rank(mail, r, size);
      body(rank);
    });
  for (std::thread& t : threads) t.join();
}

}  // namespace nine::tests
