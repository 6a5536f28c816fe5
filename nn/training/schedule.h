// Learning-rate schedules.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/enum_names.h"

namespace nine {

enum class ScheduleKind : uint8_t { constant, inverse_sqrt, plateau };
template <>
inline constexpr EnumNames<ScheduleKind, 3> kEnumNames<ScheduleKind>{
    "schedule",
    {{{ScheduleKind::constant, "constant"},
      {ScheduleKind::inverse_sqrt, "inverse-sqrt"},
      {ScheduleKind::plateau, "plateau"}}}};

/// The kind of a schedule and its numbers.
struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::constant;
  double lr = 1e-3;
  int64_t warmup = 0;    ///< any kind: updates over which the rate rises from lr / warmup to lr
  double decay = 0.5;    ///< plateau: what the rate is multiplied by
  int64_t patience = 0;  ///< plateau: validations without improvement that keep the rate
  double min_lr = 1e-6;  ///< plateau: lower bound of the rate
};

/// When averaged SGD begins to average (NT-ASGD; Merity et al., 2018, algorithm 1): at the first
/// validation that is worse than the best of all validations but the last `interval`.
class NonMonotoneTrigger {
 public:
  /// interval 0: never fires.
  explicit NonMonotoneTrigger(int64_t interval) : interval_(interval) {}

  /// To be called with every validation's metric (lower is better). True once, when it fires.
  bool validated(double metric);

  /// For checkpoints.
  struct State {
    double best = std::numeric_limits<double>::infinity();  ///< of all but the last ones
    std::vector<double> last;                               ///< at most `interval`, oldest first
    bool fired = false;
  };
  const State& state() const { return state_; }
  void restore(State state) { state_ = std::move(state); }

 private:
  int64_t interval_;
  State state_;
};

/// The learning rate of each update.
class Schedule {
 public:
  explicit Schedule(const ScheduleConfig& config) : config_(config) {}

  /// The rate of update t = 1, 2, ...: lr, scaled by t / warmup while t < warmup; then,
  /// inverse-sqrt, by sqrt(warmup / t) (Vaswani et al., 2017, in fairseq's form), plateau, by the
  /// decays so far.
  double rate(int64_t update) const;

  /// To be called with every validation's metric (lower is better). Returns whether it lowered the
  /// rate.
  bool validated(double metric);

  /// For checkpoints.
  struct State {
    double scale = 1, best = std::numeric_limits<double>::infinity();
    int64_t bad = 0;
  };
  const State& state() const { return state_; }
  void restore(const State& state) { state_ = state; }

 private:
  ScheduleConfig config_;
  State state_;
};

}  // namespace nine
