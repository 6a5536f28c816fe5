// Processes that work on one task and exchange messages: the interface, and the collectives that
// are built on it. A run of one process uses the same code without messages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nine {

/// The processes ("ranks", from 0) of a run. All ranks must call every function but send() and
/// receive(), in the same order. Errors: another rank does not answer within the implementation's
/// time limit; a message cannot be sent.
class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool first() const { return rank_ == 0; }
  /// Returns the bytes of the messages sent since construction.
  int64_t bytes_sent() const { return bytes_sent_; }

  /// Sends `send_bytes` to rank `to` while it receives `receive_bytes` from rank `from`; 0 bytes:
  /// no message. Both ends of a message must name the same number of bytes.
  void exchange(int to, const void* send, int64_t send_bytes, int from, void* receive,
                int64_t receive_bytes);
  void send(int to, const void* data, int64_t bytes) { exchange(to, data, bytes, 0, nullptr, 0); }
  void receive(int from, void* data, int64_t bytes) { exchange(0, nullptr, 0, from, data, bytes); }

  /// Copies rank 0's bytes to all ranks. The other forms return rank 0's text or flag.
  void broadcast(void* data, int64_t bytes);
  std::string broadcast(const std::string& text);
  bool broadcast(bool flag);
  /// Copies each rank's part to all ranks. `all` has size() parts of `bytes`, of which this rank
  /// has filled part rank().
  void all_gather(void* all, int64_t bytes);
  /// Returns the texts of all ranks, by rank, in all ranks.
  std::vector<std::string> all_gather(const std::string& text);
  /// True, in all ranks, if `flag` is true in any rank.
  bool any(bool flag);

 protected:
  Communicator(int rank, int size) : rank_(rank), size_(size) {}

 private:
  /// Exchanges at most kMaxMessage bytes a direction.
  virtual void transfer(int to, const void* send, int64_t send_bytes, int from, void* receive,
                        int64_t receive_bytes) = 0;

  int rank_, size_;
  int64_t bytes_sent_ = 0;
};

/// Returns the communicator of a run of one process.
Communicator& one_process();

/// True if n is 1, 2, 4, ...
inline bool is_power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

}  // namespace nine
