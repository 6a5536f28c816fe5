#include "apps/nine_serve/connection.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "apps/nine_serve/api_error.h"

namespace nine::app {
namespace {

thread_local Connection* current_connection = nullptr;

std::chrono::steady_clock::time_point after(double seconds) {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(
             std::chrono::duration<double>(seconds));
}

void address_of(int socket, decltype(&::getpeername) ask, std::string& ip, int& port) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (ask(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return;
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    port = ntohs(v4.sin_port);
  } else if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    port = ntohs(v6.sin6_port);
  }
  ip = text;
}

}  // namespace

Connection::Connection(int socket, const Limits& limits) : socket_(socket), limits_(limits) {
  fcntl(socket_, F_SETFL, fcntl(socket_, F_GETFL) | O_NONBLOCK);
  const int on = 1;  // an event of a stream is sent at once
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  current_connection = this;
}

// Reads what the client still sends for a moment, because the system drops an answer on the way
// when a socket is closed with unread bytes.
Connection::~Connection() {
  current_connection = nullptr;
  ::shutdown(socket_, SHUT_WR);
  const auto until = after(lingers_ ? 0.2 : 0);
  char bytes[4096];
  for (int64_t read = 0; read < limits_.body && wait_for(POLLIN, until);) {
    const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
    if (got <= 0) break;
    read += got;
  }
  ::close(socket_);
}

Connection* Connection::current() { return current_connection; }

bool Connection::wait_for(short events, Clock::time_point until) const {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left < 0) return false;
    pollfd waited{socket_, events, 0};
    const int ready = ::poll(&waited, 1, static_cast<int>(std::min<int64_t>(left + 1, 60'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

bool Connection::next_request(const std::function<bool()>& stopping) {
  if (closing_ || closed_) return false;
  in_header_ = true;
  header_bytes_ = 0;
  line_bytes_ = 0;
  const auto until = after(limits_.keep_alive);
  while (buffer_begin_ == buffer_.size()) {
    if (Clock::now() > until) return false;
    if (!wait_for(POLLIN, std::min(until, after(0.1)))) {
      if (stopping()) return false;  // a request that has come is answered: 503
      continue;
    }
    char byte = 0;
    const ssize_t got = ::recv(socket_, &byte, 1, MSG_PEEK);
    if (got > 0) break;
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) return false;
  }
  until_ = after(limits_.read_timeout);
  return true;
}

bool Connection::client_gone() const {
  pollfd waited{socket_, POLLIN | POLLRDHUP, 0};
  if (::poll(&waited, 1, 0) <= 0) return false;
  if ((waited.revents & (POLLERR | POLLHUP | POLLRDHUP | POLLNVAL)) != 0) return true;
  char byte = 0;
  return ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

bool Connection::is_writable() const { return !closed_ && !client_gone(); }

// Counts the bytes up to the empty line that ends the headers.
void Connection::count_header(std::string_view bytes) {
  for (const char c : bytes) {
    if (!in_header_) return;
    ++header_bytes_;
    ++line_bytes_;
    if (c == '\n') {  // httplib's end of the headers: a line that is CR and LF, and no other
      in_header_ = line_bytes_ != 2 || last_ != '\r';
      line_bytes_ = 0;
    }
    last_ = c;
  }
}

ssize_t Connection::read(char* to, size_t size) {
  if (closed_) return -1;
  if (buffer_begin_ == buffer_.size()) {
    if (!wait_for(POLLIN, until_)) {
      refuse("408 Request Timeout",
             concat("the request did not arrive within ", limits_.read_timeout, " seconds"));
      return -1;
    }
    buffer_.resize(16 << 10);
    buffer_begin_ = 0;
    const ssize_t got = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
    buffer_.resize(got > 0 ? static_cast<size_t>(got) : 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return read(to, size);
    if (got <= 0) {
      closed_ = true;
      return got;
    }
  }
  const size_t given = std::min(size, buffer_.size() - buffer_begin_);
  std::memcpy(to, buffer_.data() + buffer_begin_, given);
  buffer_begin_ += given;
  count_header({to, given});
  if (header_bytes_ > limits_.headers) {
    refuse("431 Request Header Fields Too Large",
           concat("the headers have more than ", limits_.headers, " bytes"));
    return -1;
  }
  return static_cast<ssize_t>(given);
}

ssize_t Connection::write(const char* from, size_t size) {
  if (closed_) return -1;
  constexpr size_t kPart = 64 << 10;  // bytes that a client must take within the limit
  auto until = after(limits_.write_timeout);
  for (size_t sent = 0, part_begin = 0; sent < size;) {
    const ssize_t part = ::send(socket_, from + sent, size - sent, MSG_NOSIGNAL);
    if (part > 0) {
      sent += static_cast<size_t>(part);
      if (sent - part_begin >= kPart) {
        until = after(limits_.write_timeout);
        part_begin = sent;
      }
      continue;
    }
    const bool full = part < 0 && (errno == EAGAIN || errno == EINTR);
    if (!full || !wait_for(POLLOUT, until)) {
      closed_ = true;
      return -1;
    }
  }
  return static_cast<ssize_t>(size);
}

void Connection::refuse(const char* status, const std::string& message, int retry_after) {
  refused_ = std::atoi(status);
  const std::string body = openai_error(ApiError(refused_, message));
  const std::string answer =
      concat("HTTP/1.1 ", status, "\r\nContent-Type: application/json\r\nConnection: close\r\n",
             retry_after > 0 ? concat("Retry-After: ", retry_after, "\r\n") : std::string(),
             "Content-Length: ", body.size(), "\r\n\r\n", body);
  write(answer.data(), answer.size());
  closing_ = closed_ = true;
}

void Connection::get_remote_ip_and_port(std::string& ip, int& port) const {
  address_of(socket_, ::getpeername, ip, port);
}
void Connection::get_local_ip_and_port(std::string& ip, int& port) const {
  address_of(socket_, ::getsockname, ip, port);
}

}  // namespace nine::app
