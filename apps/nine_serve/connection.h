// A connection of the server, with limits on what a client may send and on how long it may take.
#pragma once

#include <httplib.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "apps/nine_serve/limits.h"

namespace nine::app {

/// The stream from which httplib reads a request and to which it writes the answer. When a limit
/// is passed, the stream writes the error as a whole answer and then reads and writes nothing more.
class Connection : public httplib::Stream {
 public:
  Connection(int socket, const Limits& limits);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Waits for the first byte of the next request, at most Limits::keep_alive seconds. Returns
  /// false if the client closed the connection, or if `stopping` holds.
  bool next_request(const std::function<bool()>& stopping);
  /// True if the client closed its end or the connection broke.
  bool client_gone() const;
  /// Leaves out the wait for bytes that the client still sends when the connection closes.
  void close_at_once() { lingers_ = false; }
  /// Makes the connection close after this answer.
  void close_after() { closing_ = true; }
  bool closing() const { return closing_; }
  /// Returns the connection that this thread serves.
  static Connection* current();

  bool is_readable() const override { return !closed_; }
  bool is_writable() const override;
  ssize_t read(char* to, size_t size) override;
  ssize_t write(const char* from, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return socket_; }

  /// Writes a whole answer and closes. `status` is such as "503 Service Unavailable". refused()
  /// then has its number, which is otherwise 0.
  void refuse(const char* status, const std::string& message, int retry_after = 0);
  int refused() const { return refused_; }

 private:
  using Clock = std::chrono::steady_clock;
  bool wait_for(short events, Clock::time_point until) const;
  void count_header(std::string_view bytes);

  int socket_, refused_ = 0;
  const Limits& limits_;
  Clock::time_point until_;  // the request must have arrived
  bool in_header_ = true, closing_ = false, closed_ = false, lingers_ = true;
  int64_t header_bytes_ = 0;
  int64_t line_bytes_ = 0;  // of the header's line so far
  char last_ = 0;           // byte of the header
  std::string buffer_;      // bytes that were received and not read
  size_t buffer_begin_ = 0;
};

}  // namespace nine::app
