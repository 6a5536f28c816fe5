// Talking to a program that answers line by line, as a program that started it would.
#pragma once

#include <string>
#include <vector>

#include "tests/support/programs.h"

namespace nine::tests {

/// Opens a pseudo terminal: ends[0] is the program's end, ends[1] that of whoever types. Returns
/// false, and both are -1, if the machine has no pseudo terminals.
bool open_terminal(int (&ends)[2]);
/// Returns whether open_terminal() succeeds.
bool has_terminal();

/// A program whose standard input and output are pipes that stay open; killed at the latest with
/// this object.
class Conversation {
 public:
  enum class Input { pipe, terminal };
  Conversation(const std::string& program, const std::vector<std::string>& arguments,
               Input input = Input::pipe);
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  void say(const std::string& text);
  /// The next `lines` lines of the answer. Fails the test case where they are not there within a
  /// minute.
  std::string hear(int lines = 1);
  std::string ask(const std::string& text, int lines = 1) {
    say(text);
    return hear(lines);
  }
  /// Whether nothing was answered beyond what was heard, within 20 ms.
  bool silent();
  void stop_listening();
  /// The program, for its signals.
  Program& program() { return program_; }
  /// Ends the input; `out` is the rest of the answer.
  Outcome end();

 private:
  /// Reads once, for at most so long; false at the output's end and where nothing came.
  bool read(int milliseconds);

  // Each pipe's end to read and its end to write.
  struct Streams {
    explicit Streams(Input input);
    ~Streams();
    int in[2] = {-1, -1}, out[2] = {-1, -1};
  };

  bool terminal_;
  Streams streams_;
  std::string heard_;
  Program program_;
};

}  // namespace nine::tests
