// Changes a text part by part on all threads: while one thread reads or writes, the others work.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/error.h"

namespace nine {

class TextReader;

/// An error about a line of a part. change_in_parts() names the text and the line in it.
class LineError : public Error {
 public:
  /// `line` counts from 1 within the part; only LF ends a line.
  LineError(int64_t line, const std::string& message) : Error(message), line_(line) {}
  int64_t line() const { return line_; }

 private:
  int64_t line_;
};

/// Appends what a part of whole lines becomes to `out`. It belongs to one thread.
using ChangePart = std::function<void(std::string_view part, std::string& out)>;

/// Cuts a text into parts of whole lines that end with LF (the last may lack it) and calls
/// write(changed) with what each becomes, in order, one call at a time. Every thread calls
/// `for_thread` for a function of its own; what a part becomes must not depend on the thread.
/// Errors: those of the reader and of the change, after the earlier parts are written. After an
/// error nothing more is read.
void change_in_parts(TextReader& text, const std::function<ChangePart()>& for_thread,
                     const std::function<void(std::string_view)>& write);

}  // namespace nine
