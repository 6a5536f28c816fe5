// The cost of each op: its calls, time, floating-point operations and bytes.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/device.h"

namespace nine::profile {

/// Returns the seconds of a clock that only goes forward, from an arbitrary beginning.
inline double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The clock of a device that works while the host goes ahead. The host's clock would measure only
/// the time to submit an op. A mark is a place in the device's work.
class DeviceClock {
 public:
  virtual ~DeviceClock() = default;
  /// Sets a mark after all work submitted so far, and returns it.
  virtual int64_t mark() = 0;
  /// Returns the seconds from one mark to a later mark; waits for the later mark.
  virtual double seconds(int64_t from, int64_t to) = 0;
  /// Allows earlier marks to be reused.
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

/// Turns counting on or off; counting is off at first. Times are those of `device`. Call this
/// function and those below between steps and from one thread.
void enable(bool on, Device device = kCpu);
bool enabled();
/// Sets all counts to zero.
void reset();
/// Returns the ops that ran, the longest time first. Waits for the device.
std::vector<Entry> entries();

/// Counts one op from construction to destruction. While counting is on, it costs two clock reads,
/// and on a device two marks without a wait. `op` must be a string literal. An op inside another op
/// is not counted separately: the products of an LSTM count as LSTM.
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
