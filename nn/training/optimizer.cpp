#include "nn/training/optimizer.h"

#include "nn/training/optimizers/adam.h"
#include "nn/training/optimizers/adamw.h"
#include "nn/training/optimizers/averaged_sgd.h"
#include "nn/training/optimizers/lazy_adam.h"
#include "nn/training/optimizers/sgd.h"

namespace nine {

void Optimizer::step(double lr, const View& norm_squared, double clip) {
  ++updates_;
  update(lr, {norm_squared, clip});
}

Tensor Optimizer::add_slab(const std::string& prefix, const Tensor& slab) {
  slabs_.push_back({prefix, slab});
  return slab;
}

std::vector<NamedView> Optimizer::named() const {
  std::vector<NamedView> out;
  for (const Slab& s : slabs_) {
    const auto part = set_.named(s.slab, s.prefix);
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

void Optimizer::load(const Safetensors& file, int64_t updates, int64_t average_from) {
  for (const Slab& s : slabs_) set_.load(file, s.slab, s.prefix);
  updates_ = updates;
  set_average_from(average_from);
}

std::unique_ptr<Optimizer> make_optimizer(ParameterSet& set, const OptimizerConfig& config) {
  require(
      !config.lazy || (config.kind == OptimizerKind::adam && config.weight_decay == 0),
      "lazy updates are for adam without weight decay: only there does a row without a gradient "
      "need no update");
  if (config.lazy) return std::make_unique<LazyAdam>(set, config);
  switch (config.kind) {
    case OptimizerKind::sgd:
      return std::make_unique<Sgd>(set, config);
    case OptimizerKind::adam:
      return std::make_unique<Adam>(set, config);
    case OptimizerKind::adamw:
      return std::make_unique<AdamW>(set, config);
    case OptimizerKind::asgd:
      return std::make_unique<AveragedSgd>(set, config);
  }
  fail("[make_optimizer] a kind without an optimiser");
}

}  // namespace nine
