#include "nn/training/optimizer.h"

namespace nine {
namespace {

bool is_adam(OptimizerKind k) { return k == OptimizerKind::adam || k == OptimizerKind::adamw; }

}  // namespace

Optimizer::Optimizer(ParameterSet& set, const OptimizerConfig& config)
    : set_(set), config_(config) {
  if (is_adam(config.kind)) second_ = set.new_slab();
  if (is_adam(config.kind) || config.momentum != 0) first_ = set.new_slab();
  if (averages()) average_ = set.values().clone();
}

void Optimizer::step(double lr, const View& norm_squared, double clip) {
  ++updates_;
  const ops::Clip clipping{norm_squared, clip};
  if (is_adam(config_.kind)) {
    ops::adam(set_.values(), set_.gradients(), first_, second_, clipping,
              {.lr = lr,
               .beta1 = config_.beta1,
               .beta2 = config_.beta2,
               .eps = config_.eps,
               .weight_decay = config_.weight_decay,
               .decoupled = config_.kind == OptimizerKind::adamw,
               .t = updates_});
    return;
  }
  ops::sgd(set_.values(), set_.gradients(), first_ ? first_.view() : View{}, clipping,
           {.lr = lr, .momentum = config_.momentum, .weight_decay = config_.weight_decay});
  if (!averages()) return;
  if (updates_ <= config_.average_from) {
    ops::copy(set_.values(), average_);  // until averaging begins the average is the last point
  } else {
    ops::average(average_, set_.values(),
                 1.0 / static_cast<double>(updates_ - config_.average_from));
  }
}

void Optimizer::swap_average() {
  if (!averages()) return;
  const Tensor values = set_.values().clone();
  ops::copy(average_, set_.values());
  ops::copy(values, average_);
}

std::vector<Optimizer::Slab> Optimizer::slabs() const {
  std::vector<Slab> out;
  if (first_) out.push_back({is_adam(config_.kind) ? "adam.m." : "sgd.velocity.", first_});
  if (second_) out.push_back({"adam.v.", second_});
  if (average_) out.push_back({"asgd.average.", average_});
  return out;
}

std::vector<NamedView> Optimizer::named() const {
  std::vector<NamedView> out;
  for (const Slab& s : slabs()) {
    const auto part = set_.named(s.slab, s.prefix);
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

void Optimizer::load(const Safetensors& file, int64_t updates, int64_t average_from) {
  for (const Slab& s : slabs()) set_.load(file, s.slab, s.prefix);
  updates_ = updates;
  config_.average_from = average_from;
}

}  // namespace nine
