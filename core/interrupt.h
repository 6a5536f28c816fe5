// Lets the caller of a long op end it early.
#pragma once

#include <functional>

namespace nine {

/// While the object exists, long ops of this thread, scoring, generation and translation with a
/// trained model, and the writing of files (OutputFile) call `check` between two blocks of their
/// work. If `check` throws, the op ends, and the exception reaches the op's caller; results are
/// then incomplete. A nested object replaces the outer one while it exists.
class InterruptCheck {
 public:
  explicit InterruptCheck(std::function<void()> check);
  ~InterruptCheck();
  InterruptCheck(const InterruptCheck&) = delete;
  InterruptCheck& operator=(const InterruptCheck&) = delete;

 private:
  std::function<void()> check_;
  const std::function<void()>* outer_;
};

/// Calls the `check` of this thread's InterruptCheck, if there is one; for long ops.
void check_interrupt();

}  // namespace nine
