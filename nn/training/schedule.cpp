#include "nn/training/schedule.h"

#include <algorithm>
#include <cmath>

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

double Schedule::rate(int64_t update) const {
  const auto t = static_cast<double>(update), warmup = static_cast<double>(config_.warmup);
  const double peak = config_.lr * state_.scale;
  if (update < config_.warmup) return peak * t / warmup;
  if (config_.kind == ScheduleKind::inverse_sqrt)
    return peak * std::sqrt(std::max(warmup, 1.0) / t);
  return peak;
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
