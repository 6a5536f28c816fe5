// Runs the library for Python: other Python threads run meanwhile, and Ctrl-C ends the work.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/interrupt.h"
#include "core/threads.h"

namespace nine_python {

namespace nb = nanobind;

/// Runs `compute` without Python's lock and returns its result. Ctrl-C, or any other signal whose
/// handler raises, ends it. Opens a team of threads unless `team` is false.
template <class F>
auto without_lock(F&& compute, bool team = true) {
  constexpr auto kPatience = std::chrono::milliseconds(50);
  auto next = std::chrono::steady_clock::now() + kPatience;
  const nb::gil_scoped_release release;
  const nine::InterruptCheck check([&] {
    if (std::chrono::steady_clock::now() < next) return;
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    next = std::chrono::steady_clock::now() + kPatience;
  });
  if (!team) return compute();
  std::optional<decltype(compute())> result;
  nine::in_team([&] { result.emplace(compute()); });
  return *std::move(result);
}

/// Calls a Python function f(done, all), or nothing for None, a few times a second and at the end.
/// For calls without the lock, from one thread at a time; destroyed with the lock.
class Progress {
 public:
  explicit Progress(nb::object function) : function_(std::move(function)) {}
  explicit operator bool() const { return !function_.is_none(); }
  void operator()(int64_t done, int64_t all) {
    const auto now = std::chrono::steady_clock::now();
    if (done < all && now < next_) return;
    next_ = now + std::chrono::milliseconds(200);
    const nb::gil_scoped_acquire acquire;
    function_(done, all);
  }

 private:
  nb::object function_;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace nine_python
