// The cost of each op: its calls, time, floating-point operations and bytes.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/device.h"

namespace nine::profile {

/// Seconds of a clock that only goes forward, from an arbitrary beginning.
inline double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The clock of a device that works on while the host goes ahead: there the host's clock would only
/// see how long it takes to submit an op. A mark is a place in the device's work.
class DeviceClock {
 public:
  virtual ~DeviceClock() = default;
  /// A mark behind all work that was submitted so far.
  virtual int64_t mark() = 0;
  /// The seconds from one mark to a later one; waits for that one.
  virtual double seconds(int64_t from, int64_t to) = 0;
  /// Marks of before may be given out again.
  virtual void forget() = 0;
};

/// Totals of one op since reset().
struct Entry {
  std::string_view op;
  int64_t calls = 0;
  double seconds = 0;
  double flops = 0;  ///< floating-point operations, counted from shapes
  double bytes = 0;  ///< bytes read and written at least once
};

/// Turns counting on or off; it is off at first. Times are those of `device`. To be called between
/// steps, from one thread, as are the functions below.
void enable(bool on, Device device = kCpu);
bool enabled();
/// Sets all counts to zero.
void reset();
/// The ops that ran, in order of time, longest first. Waits for the device.
std::vector<Entry> entries();

/// Counts one op from construction to destruction. Costs two clock reads while counting is on, and
/// on a device two marks, for which nobody waits. `op`
/// must be a string literal. An op inside another one is not counted by itself: the products of an
/// LSTM count as LSTM.
class Scope {
 public:
  Scope(std::string_view op, double flops, double bytes);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  bool active_ = false;
  std::string_view op_;
  double flops_, bytes_;
  std::chrono::steady_clock::time_point start_;
  int64_t mark_ = 0;
};

}  // namespace nine::profile
