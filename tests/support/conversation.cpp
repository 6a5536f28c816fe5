#include "tests/support/conversation.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

namespace nine::tests {
namespace {

void make_pipe(int (&ends)[2]) {
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
}

void close_end(int& end) {
  if (end >= 0) close(end);
  end = -1;
}

}  // namespace

bool open_terminal(int (&ends)[2]) {
  ends[0] = -1;
  ends[1] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  std::array<char, 256> name{};
  if (ends[1] >= 0 && grantpt(ends[1]) == 0 && unlockpt(ends[1]) == 0 &&
      ptsname_r(ends[1], name.data(), name.size()) == 0)
    ends[0] = open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (ends[0] < 0) close_end(ends[1]);
  return ends[0] >= 0;
}
bool has_terminal() {
  int ends[2] = {-1, -1};
  const bool opened = open_terminal(ends);
  for (int& end : ends) close_end(end);
  return opened;
}

Conversation::Streams::Streams(Input input) {
  if (input == Input::terminal) {
    if (!open_terminal(in)) throw std::runtime_error("no terminal");
  } else {
    make_pipe(in);
  }
  make_pipe(out);
}
Conversation::Streams::~Streams() {
  for (int* ends : {in, out})
    for (int i = 0; i < 2; ++i) close_end(ends[i]);
}

Conversation::Conversation(const std::string& program, const std::vector<std::string>& arguments,
                           Input input)
    : terminal_(input == Input::terminal),
      streams_(input),
      program_(program, arguments, {}, [this] {
        dup2(streams_.in[0], STDIN_FILENO);
        dup2(streams_.out[1], STDOUT_FILENO);
      }) {
  close_end(streams_.in[0]);
  close_end(streams_.out[1]);
}

void Conversation::say(const std::string& text) {
  // A program that has ended is seen when its answer is missing.
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  for (size_t at = 0; at < text.size();) {
    const ssize_t count = write(streams_.in[1], text.data() + at, text.size() - at);
    if (count <= 0) break;
    at += static_cast<size_t>(count);
  }
  std::signal(SIGPIPE, before);
}

bool Conversation::read(int milliseconds) {
  pollfd ready{.fd = streams_.out[0], .events = POLLIN, .revents = 0};
  if (poll(&ready, 1, milliseconds) <= 0) return false;
  std::array<char, 65536> bytes{};
  const ssize_t count = ::read(streams_.out[0], bytes.data(), bytes.size());
  if (count <= 0) return false;
  heard_.append(bytes.data(), static_cast<size_t>(count));
  return true;
}

std::string Conversation::hear(int lines) {
  const auto enough = [&] { return std::count(heard_.begin(), heard_.end(), '\n') >= lines; };
  while (!enough() && read(60'000)) {
  }
  if (!enough()) {
    program_.signal(SIGKILL);
    FAIL("no answer; so far: ", heard_, "; standard error: ", program_.wait().err);
  }
  size_t end = 0;
  for (int i = 0; i < lines; ++i) end = heard_.find('\n', end) + 1;
  std::string answer = heard_.substr(0, end);
  heard_.erase(0, end);
  return answer;
}

bool Conversation::silent() { return heard_.empty() && !read(20); }

void Conversation::stop_listening() { close_end(streams_.out[0]); }

Outcome Conversation::end() {
  if (terminal_) {
    say("\x04");  // the end of input, at a line's start
  } else {
    close_end(streams_.in[1]);
  }
  while (streams_.out[0] >= 0 && read(60'000)) {
  }
  if (!soon([&] { return !program_.running(); })) program_.signal(SIGKILL);
  Outcome outcome = program_.wait();
  outcome.out = heard_;
  return outcome;
}

}  // namespace nine::tests
