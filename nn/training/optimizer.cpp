#include "nn/training/optimizer.h"

#include <algorithm>

#include "core/communicator.h"
#include "nn/training/optimizers/adam.h"
#include "nn/training/optimizers/adamw.h"
#include "nn/training/optimizers/averaged_sgd.h"
#include "nn/training/optimizers/lazy_adam.h"
#include "nn/training/optimizers/sgd.h"
#include "nn/training/slab_shares.h"

namespace nine {

Optimizer::Optimizer(ParameterSet& set, Communicator* communicator)
    : set_(set), communicator_(communicator != nullptr ? *communicator : one_process()) {
  if (communicator_.size() > 1)
    shares_ = std::make_unique<SlabShares>(set.values().elements(), communicator_);
}

Optimizer::~Optimizer() = default;

void Optimizer::step(double lr, const View& norm_squared, double clip) {
  ++updates_;
  if (values().elements() > 0) update(lr, {norm_squared, clip});
  hand_out_values();
}

View Optimizer::share(const Tensor& slab) const {
  return shares_ ? shares_->part(slab) : slab.view();
}

int64_t Optimizer::share_begin() const { return shares_ ? shares_->own().begin : 0; }

Tensor Optimizer::new_state() const {
  return shares_ ? Tensor({shares_->own().size()}, set_.dtype(), set_.device()) : set_.new_slab();
}

void Optimizer::hand_out_values() const {
  if (shares_) shares_->all_gather(set_.values());
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

std::vector<NamedView> Optimizer::gather() {
  if (!shares_) return named();
  std::vector<NamedView> out;
  for (const Slab& s : slabs_) {
    if (communicator_.first()) gathered_.push_back(set_.new_slab());
    shares_->gather(s.slab, communicator_.first() ? gathered_.back().view() : View{});
    if (!communicator_.first()) continue;
    const auto part = set_.named(gathered_.back(), s.prefix);
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

bool Optimizer::owns(const std::string& name) const {
  return std::any_of(slabs_.begin(), slabs_.end(),
                     [&](const Slab& s) { return name.starts_with(s.prefix); });
}

void Optimizer::load(const Safetensors& file, int64_t updates, int64_t average_from) {
  for (const Slab& s : slabs_) {
    if (!shares_) {
      set_.load(file, s.slab, s.prefix);
      continue;
    }
    const Tensor whole = set_.new_slab();
    if (communicator_.first()) set_.load(file, whole, s.prefix);
    communicator_.broadcast(whole.view().data, whole.view().bytes());
    if (s.slab.elements() > 0) ops::copy(shares_->part(whole), s.slab);
  }
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
