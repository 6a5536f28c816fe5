#include "core/interrupt.h"

#include <utility>

namespace nine {
namespace {

// A pointer, because a variable with a destructor would need memory when a thread starts.
thread_local const std::function<void()>* t_check = nullptr;

}  // namespace

InterruptCheck::InterruptCheck(std::function<void()> check)
    : check_(std::move(check)), outer_(std::exchange(t_check, &check_)) {}

InterruptCheck::~InterruptCheck() { t_check = outer_; }

void check_interrupt() {
  if (t_check != nullptr) (*t_check)();
}

}  // namespace nine
