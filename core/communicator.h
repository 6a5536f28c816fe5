// Processes that work on one task and exchange messages: the interface, and the collectives that
// are built on it. One process is the same code with nobody to talk to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nine {

/// The processes ("ranks", from 0) of a run. Every function but send and receive is called by all
/// ranks, in the same order. Errors: another rank does not answer within the time that the
/// implementation allows; a message cannot be sent.
class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool first() const { return rank_ == 0; }
  /// Of messages, since this object was made.
  int64_t bytes_sent() const { return bytes_sent_; }

  /// Sends `send_bytes` to rank `to` while it receives `receive_bytes` from rank `from`; 0 bytes:
  /// nothing. The other side names the same numbers.
  void exchange(int to, const void* send, int64_t send_bytes, int from, void* receive,
                int64_t receive_bytes);
  void send(int to, const void* data, int64_t bytes) { exchange(to, data, bytes, 0, nullptr, 0); }
  void receive(int from, void* data, int64_t bytes) { exchange(0, nullptr, 0, from, data, bytes); }

  /// Rank 0's bytes, in all ranks.
  void broadcast(void* data, int64_t bytes);
  std::string broadcast(const std::string& text);
  bool broadcast(bool flag);
  /// `all` has size() parts of `bytes`, of which this rank has filled its own: afterwards all are
  /// there.
  void all_gather(void* all, int64_t bytes);
  /// Everybody's texts by rank, in all ranks.
  std::vector<std::string> all_gather(const std::string& text);
  /// Whether any rank says so.
  bool any(bool flag);

 protected:
  Communicator(int rank, int size) : rank_(rank), size_(size) {}

 private:
  /// exchange() of at most kMaxMessage bytes a direction.
  virtual void transfer(int to, const void* send, int64_t send_bytes, int from, void* receive,
                        int64_t receive_bytes) = 0;

  int rank_, size_;
  int64_t bytes_sent_ = 0;
};

/// A run of one process.
Communicator& one_process();

/// Whether n is 1, 2, 4, ...
inline bool is_power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

}  // namespace nine
