// Learning-rate schedules.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/enum_names.h"

namespace nine {

/// The kinds of schedules; Schedule::rate() has their formulas.
enum class ScheduleKind : uint8_t { constant, inverse_sqrt, plateau, cosine, linear, wsd };
template <>
inline constexpr EnumNames<ScheduleKind, 6> kEnumNames<ScheduleKind>{
    "schedule",
    {{{ScheduleKind::constant, "constant"},
      {ScheduleKind::inverse_sqrt, "inverse-sqrt"},
      {ScheduleKind::plateau, "plateau"},
      {ScheduleKind::cosine, "cosine"},
      {ScheduleKind::linear, "linear"},
      {ScheduleKind::wsd, "wsd"}}}};

/// True if the rate falls to a lowest rate over a length that is known beforehand.
constexpr bool has_length(ScheduleKind kind) {
  return kind == ScheduleKind::cosine || kind == ScheduleKind::linear || kind == ScheduleKind::wsd;
}

/// The kind of a schedule and its settings.
struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::constant;
  double lr = 1e-3;  ///< the rate at the end of the warm-up
  /// Any kind: number of updates over which the rate rises from lr / warmup to lr.
  int64_t warmup = 0;
  double decay = 0.5;    ///< plateau: factor of the rate
  int64_t patience = 0;  ///< plateau: validations without improvement before the rate falls
  double min_lr = 1e-6;  ///< plateau: lower bound of the rate; cosine, linear, wsd: last rate
  double fall = 0.2;     ///< wsd: share of the length, at its end, over which the rate falls
  /// cosine, linear, wsd: the length, for rate(update); 0: callers of rate() give the share done.
  int64_t updates = 0;
};

/// The rate lr that is multiplied by `factor` after each `every` updates: torch.optim's StepLR.
struct StepDecay {
  double lr = 1e-3;
  int64_t every = 1000;  ///< 1 or more
  double factor = 0.1;

  /// Returns the rate of update t = 1, 2, ...
  double rate(int64_t update) const;
};

/// One cycle (Smith & Topin, 2018): the rate rises from lr / start_divisor to lr over the first
/// `rise` of the updates, and falls to lr / start_divisor / end_divisor at the last one, both along
/// half a cosine: torch.optim's OneCycleLR.
struct OneCycle {
  double lr = 1e-3;        ///< the largest rate
  int64_t updates = 1000;  ///< the length, 2 or more
  double rise = 0.3;       ///< between 1 / updates and 1
  double start_divisor = 25, end_divisor = 1e4;

  /// Returns the rate of update t = 1, 2, ...; after the last one, the last rate.
  double rate(int64_t update) const;
};

/// Decides when averaged SGD begins to average (NT-ASGD; Merity et al., 2018, algorithm 1). Fires
/// at the first validation that is worse than the best earlier one, where the `interval`
/// validations just before it do not count.
class NonMonotoneTrigger {
 public:
  /// interval 0: the trigger never fires.
  explicit NonMonotoneTrigger(int64_t interval) : interval_(interval) {}

  /// Call this with every validation's metric (lower is better). Returns true once, when the
  /// trigger fires.
  bool validated(double metric);

  /// The state for a checkpoint.
  struct State {
    /// The best metric of the validations that are no longer in `last`.
    double best = std::numeric_limits<double>::infinity();
    std::vector<double> last;  ///< at most `interval`, oldest first
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

  /// Returns the rate of update t = 1, 2, ...: lr, scaled by t / warmup while t < warmup. After the
  /// warm-up inverse-sqrt scales lr by sqrt(warmup / t), where a warm-up of 0 counts as 1 (Vaswani
  /// et al., 2017, in fairseq's form). plateau scales lr by the decays so far.
  ///
  /// `done` is the share of the schedule's length that the updates before t have done. r is the
  /// same share of the length after the warm-up, and rises from 0 to 1. cosine has min_lr + (lr -
  /// min_lr) (1 + cos(pi r)) / 2 (Loshchilov & Hutter, 2017). linear has lr + (min_lr - lr) r. wsd
  /// (Hu et al., 2024) stays at lr, and falls linearly to min_lr in the last part, `fall`, of the
  /// length.
  double rate(int64_t update, double done) const;
  /// Returns rate(t, done) for a length of ScheduleConfig::updates: done = (t - 1) / updates, at
  /// most 1. Error: cosine, linear or wsd with updates 0.
  double rate(int64_t update) const;

  /// Takes a validation's metric (lower is better), and returns true if it lowers the rate; call it
  /// after every validation. plateau lowers the rate, down to min_lr, when more than `patience`
  /// validations in a row bring no new best metric. Other kinds do nothing.
  bool validated(double metric);

  /// The state for a checkpoint: the product of the decays so far, the best metric, and the number
  /// of validations since the best metric or the last decay.
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
