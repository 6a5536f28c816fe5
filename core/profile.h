// The cost of each op: its calls, time, floating-point operations and bytes.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace nine::profile {

/// Totals of one op since reset().
struct Entry {
  std::string_view op;
  int64_t calls = 0;
  double seconds = 0;
  double flops = 0;  ///< floating-point operations, counted from shapes
  double bytes = 0;  ///< bytes read and written at least once
};

/// Turns counting on or off; it is off at first. To be called between steps, from one thread, as
/// are the functions below.
void enable(bool on);
bool enabled();
/// Sets all counts to zero.
void reset();
/// The ops that ran, in order of time, longest first.
std::vector<Entry> entries();

/// Counts one op from construction to destruction. Costs two clock reads while counting is on. `op`
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
};

}  // namespace nine::profile
