// What a step costs: every op counts its operations, bytes and time.
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

/// Off at first; while off nothing is counted. Call these between steps, from one thread.
void enable(bool on);
bool enabled();
void reset();  ///< forgets what was counted
/// Ops in order of time, longest first.
std::vector<Entry> entries();

/// Times one op; costs two clock reads when enabled and nothing else. `op` must be a string
/// literal. Nested scopes charge the outer one (an LSTM's products count as LSTM).
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
