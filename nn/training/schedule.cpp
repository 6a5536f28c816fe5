#include "nn/training/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"

namespace nine {

bool NonMonotoneTrigger::validated(double metric) {
  if (interval_ == 0 || state_.fired) return false;
  state_.fired = metric > state_.best;
  state_.last.push_back(metric);
  if (static_cast<int64_t>(state_.last.size()) > interval_) {
    state_.best = std::min(state_.best, state_.last.front());
    state_.last.erase(state_.last.begin());
  }
  return state_.fired;
}

double StepDecay::rate(int64_t update) const {
  require(every >= 1 && update >= 1, "a rate that falls after each ", every, " updates, at update ",
          update, ": both must be 1 or more");
  const int64_t falls = (update - 1) / every;
  return lr * std::pow(factor, static_cast<double>(falls));
}

double OneCycle::rate(int64_t update) const {
  const double top = rise * static_cast<double>(updates) - 1,
               end = static_cast<double>(updates) - 1;
  require(update >= 1 && top > 0 && top < end, "one cycle of ", updates, " updates that rises for ",
          rise, " of them has no rise or no fall: choose a longer cycle");
  const double t = std::min(static_cast<double>(update) - 1, end), start = lr / start_divisor;
  // From a to b along half a cosine.
  const auto between = [](double a, double b, double part) {
    return b + (a - b) * (1 + std::cos(std::numbers::pi * part)) / 2;
  };
  return t <= top ? between(start, lr, t / top)
                  : between(lr, start / end_divisor, (t - top) / (end - top));
}

double Schedule::rate(int64_t update) const {
  if (!has_length(config_.kind)) return rate(update, 0);
  require(config_.updates > 0, "the schedule ", to_text(config_.kind),
          " has a length: set ScheduleConfig::updates, or give rate() the share that is done");
  return rate(update, std::min(1.0, static_cast<double>(update - 1) /
                                        static_cast<double>(config_.updates)));
}

double Schedule::rate(int64_t update, double done) const {
  const auto t = static_cast<double>(update), warmup = static_cast<double>(config_.warmup);
  const double peak = config_.lr * state_.scale;
  if (update < config_.warmup) return peak * t / warmup;
  if (config_.kind == ScheduleKind::inverse_sqrt)
    return peak * std::sqrt(std::max(warmup, 1.0) / t);
  if (!has_length(config_.kind)) return peak;
  // The warm-up's share: as much of the length for each update as the updates before took.
  const double before = t - 1, share = before > 0 ? std::min(1.0, done * warmup / before) : 0;
  const double part = share < 1 ? std::clamp((done - share) / (1 - share), 0.0, 1.0) : 1;
  const double low = config_.min_lr;
  if (config_.kind == ScheduleKind::cosine)
    return low + (peak - low) * (1 + std::cos(std::numbers::pi * part)) / 2;
  if (config_.kind == ScheduleKind::linear) return peak + (low - peak) * part;
  const double begin = 1 - config_.fall;
  return done <= begin ? peak : peak + (low - peak) * std::min(1.0, (done - begin) / config_.fall);
}

bool Schedule::validated(double metric) {
  if (config_.kind != ScheduleKind::plateau) return false;
  if (metric < state_.best) {
    state_.best = metric;
    state_.bad = 0;
    return false;
  }
  if (++state_.bad <= config_.patience || config_.lr * state_.scale <= config_.min_lr) return false;
  state_.bad = 0;
  state_.scale = std::max(state_.scale * config_.decay, config_.min_lr / config_.lr);
  return true;
}

}  // namespace nine
