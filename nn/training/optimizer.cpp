#include "nn/training/optimizer.h"

#include <algorithm>
#include <cmath>

#include "core/communicator.h"
#include "nn/training/process_shares.h"

namespace nine {

Optimizer::Optimizer(ParameterSet& set, const OptimizerConfig& config, bool shared)
    : set_(set),
      communicator_(config.communicator != nullptr ? *config.communicator : one_process()) {
  if (shared && communicator_.size() > 1)
    shares_ = std::make_unique<SlabShares>(set.values().elements(), communicator_);
  const auto* first = static_cast<const std::byte*>(set.values().view().data);
  for (const NamedView& p : set.named(set.values())) {
    const int64_t begin = (static_cast<const std::byte*>(p.view.data) - first) /
                          static_cast<int64_t>(size_of(set.dtype()));
    settings_.push_back({begin, begin + p.view.elements(), 1, config.weight_decay});
  }
  std::vector<bool> taken(settings_.size());
  for (const ParameterGroup& group : config.groups) {
    const std::vector<bool> chosen = set.matching(group.patterns, "of a group");
    for (size_t i = 0; i < chosen.size(); ++i) {
      if (!chosen[i] || taken[i]) continue;
      taken[i] = true;
      settings_[i].lr_factor = group.lr_factor;
      settings_[i].weight_decay = group.weight_decay.value_or(config.weight_decay);
    }
  }
  // The gaps between parameters are 0 and stay 0, so that a range may contain them.
  const int64_t from = share_begin(), size = share(set.values()).elements();
  const auto close = [&](int64_t end) {
    if (!ranges_.empty()) ranges_.back().end = std::clamp<int64_t>(end - from, 0, size);
  };
  for (const Range& p : settings_) {
    if (!ranges_.empty() && ranges_.back().lr_factor == p.lr_factor &&
        ranges_.back().weight_decay == p.weight_decay)
      continue;
    close(p.begin);
    ranges_.push_back(
        {std::clamp<int64_t>(p.begin - from, 0, size), 0, p.lr_factor, p.weight_decay});
  }
  close(from + size);
  std::erase_if(ranges_, [](const Range& r) { return r.begin >= r.end; });
}

View Optimizer::Range::of(const View& share) const {
  if (begin == 0 && end == share.elements()) return share;
  return share.reshaped({share.elements(), 1})
      .row_range(begin, end - begin)
      .reshaped({end - begin});
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
  if (!shares_) return communicator_.first() ? named() : std::vector<NamedView>();
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
    const Tensor whole = shares_ ? set_.new_slab() : s.slab;
    if (communicator_.first()) set_.load(file, whole, s.prefix);
    if (communicator_.size() > 1) communicator_.broadcast(whole.view().data, whole.view().bytes());
    if (shares_ && s.slab.elements() > 0) ops::copy(shares_->part(whole), s.slab);
  }
  updates_ = updates;
  set_average_from(average_from);
}

namespace {

/// g = clipped gradient + weight_decay * w; with momentum m: v = m v + g and w -= lr * v, else
/// w -= lr * g, as torch.optim.SGD. Checkpoints hold v as "sgd.velocity.NAME".
class Sgd : public Optimizer {
 public:
  Sgd(ParameterSet& set, const OptimizerConfig& config)
      : Optimizer(set, config), momentum_(config.momentum) {
    if (momentum_ != 0) velocity_ = add_slab("sgd.velocity.", new_state());
  }

 protected:
  void update(double lr, const ops::Clip& clip) override {
    for (const Range& r : ranges())
      ops::sgd(r.of(values()), r.of(gradients()), velocity_ ? r.of(velocity_) : View{}, clip,
               {.lr = lr * r.lr_factor, .momentum = momentum_, .weight_decay = r.weight_decay});
  }

 private:
  double momentum_;
  Tensor velocity_;  // only with momentum
};

/// Sgd that also keeps the mean of the weights after each update since averaging began (Polyak &
/// Juditsky, 1992; as the ASGD of Merity et al., 2018). Before averaging begins the mean equals the
/// latest weights. Checkpoints hold the mean as "asgd.average.NAME".
class AveragedSgd : public Sgd {
 public:
  AveragedSgd(ParameterSet& set, const OptimizerConfig& config)
      : Sgd(set, config),
        average_from_(config.average_from),
        average_(add_slab("asgd.average.", new_state())) {
    copy(values(), average_);
  }

  int64_t average_from() const override { return average_from_; }
  void start_averaging() override { average_from_ = updates(); }
  void swap_average() override {
    const Tensor before = new_state();
    copy(values(), before);
    copy(average_, values());
    copy(before, average_);
    hand_out_values();
  }

 protected:
  void update(double lr, const ops::Clip& clip) override {
    Sgd::update(lr, clip);
    if (updates() <= average_from_) {
      ops::copy(values(), average_);
    } else {
      ops::average(average_, values(), 1.0 / static_cast<double>(updates() - average_from_));
    }
  }
  void set_average_from(int64_t updates) override { average_from_ = updates; }

 private:
  // A share may be empty.
  static void copy(const View& from, const View& to) {
    if (from.elements() > 0) ops::copy(from, to);
  }

  int64_t average_from_;
  Tensor average_;
};

/// Adam (Kingma & Ba, 2015) as torch.optim.Adam adds weight decay to the gradient. AdamW
/// (Loshchilov & Hutter, 2019) as torch.optim.AdamW applies weight decay outside the moments.
/// Checkpoints hold the averages of gradient and squared gradient as "adam.m.NAME" and
/// "adam.v.NAME".
class Adam : public Optimizer {
 public:
  Adam(ParameterSet& set, const OptimizerConfig& config)
      : Optimizer(set, config),
        config_(config),
        first_moment_(add_slab("adam.m.", new_state())),
        second_moment_(add_slab("adam.v.", new_state())) {}

 protected:
  void update(double lr, const ops::Clip& clip) override {
    for (const Range& r : ranges()) {
      ops::AdamStep step = numbers(lr * r.lr_factor);
      step.weight_decay = r.weight_decay;
      ops::adam(r.of(values()), r.of(gradients()), r.of(first_moment_), r.of(second_moment_), clip,
                step);
    }
  }

  ops::AdamStep numbers(double lr) const {
    return {.lr = lr,
            .beta1 = config_.beta1,
            .beta2 = config_.beta2,
            .eps = config_.eps,
            .weight_decay = config_.weight_decay,
            .decoupled = config_.kind == OptimizerKind::adamw,
            .t = updates()};
  }
  const Tensor& first_moment() const { return first_moment_; }
  const Tensor& second_moment() const { return second_moment_; }

 private:
  OptimizerConfig config_;
  Tensor first_moment_, second_moment_;
};

/// Adam that updates, in row-tracking parameters (Parameter::touched), only the rows that had a
/// gradient in this update, as torch.optim.SparseAdam. Other rows keep their values and both
/// moments, which do not decay. The bias correction uses the number of all updates. Checkpoints are
/// those of Adam.
class LazyAdam : public Adam {
 public:
  LazyAdam(ParameterSet& set, const OptimizerConfig& config) : Adam(set, config) {}

 protected:
  void update(double lr, const ops::Clip& clip) override {
    const std::vector<GradientPart> parts = set().gradient_parts();
    if (values().elements() < set().values().elements()) return update_share(parts, lr, clip);
    for (const GradientPart& part : parts) {
      const View w = part.of(set().values()), g = part.of(set().gradients()),
                 m = part.of(first_moment()), v = part.of(second_moment());
      if (part.rows) {
        ops::adam_rows(w, g, m, v, part.rows, clip, numbers(lr));
      } else {
        ops::adam(w, g, m, v, clip, numbers(lr));
      }
    }
  }

 private:
  // Does the same for this process's share of the slabs, which may begin and end within a row.
  void update_share(const std::vector<GradientPart>& parts, double lr, const ops::Clip& clip) {
    const auto update_range = [&](int64_t begin, int64_t end) {
      const int64_t from = std::max<int64_t>(0, begin - share_begin()),
                    to = std::min(values().elements(), end - share_begin());
      if (from >= to) return;
      const auto part = [&](const View& all) {
        return all.reshaped({all.elements(), 1}).row_range(from, to - from).reshaped({to - from});
      };
      ops::adam(part(values()), part(gradients()), part(first_moment()), part(second_moment()),
                clip, numbers(lr));
    };
    for (const GradientPart& part : parts) {
      if (!part.rows) {
        update_range(part.first, part.first + part.shape.elements());
        continue;
      }
      for (int64_t i = 0; i < part.rows.elements(); ++i) {
        const int64_t begin = part.first + part.rows.data<int32_t>()[i] * part.shape.cols();
        update_range(begin, begin + part.shape.cols());
      }
    }
  }
};

/// Lion (Chen et al., 2023). Checkpoints hold the mean of gradients as "lion.m.NAME".
class Lion : public Optimizer {
 public:
  Lion(ParameterSet& set, const OptimizerConfig& config)
      : Optimizer(set, config), config_(config), moment_(add_slab("lion.m.", new_state())) {}

 protected:
  void update(double lr, const ops::Clip& clip) override {
    for (const Range& r : ranges())
      ops::update(r.of(values()), r.of(gradients()), {r.of(moment_)}, nullptr, clip,
                  ops::LionStep{.lr = lr * r.lr_factor,
                                .beta1 = config_.beta1,
                                .beta2 = config_.beta2,
                                .weight_decay = r.weight_decay});
  }

 private:
  OptimizerConfig config_;
  Tensor moment_;
};

/// Muon (Jordan et al., 2024) for the weights of linear maps (Parameter::linear_map), as
/// torch.optim.Muon with Nesterov momentum and adjust_lr_fn="match_rms_adamw" (Liu et al., 2025):
/// v = momentum v + g, u = g + momentum v, w -= 0.2 sqrt(max(rows, columns)) lr O(u), where O makes
/// all singular values nearly 1 by five Newton-Schulz steps. Attention's queries, keys and values
/// are one matrix. All other parameters are updated as by AdamW. Checkpoints hold v and the mean
/// gradient as "muon.m.NAME", and the mean squared gradient as "muon.v.NAME", which stays 0 for
/// linear maps. Each of several processes makes the whole update, because a share of the weights
/// may end inside of a matrix.
class Muon : public Optimizer {
 public:
  Muon(ParameterSet& set, const OptimizerConfig& config)
      : Optimizer(set, config, false),
        config_(config),
        moment_(add_slab("muon.m.", new_state())),
        square_(add_slab("muon.v.", new_state())),
        norm_squared_({}, DType::float64, set.device()),
        norm_({}, set.dtype(), set.device()),
        eps_({}, set.dtype(), set.device()) {
    ops::fill(eps_, 1e-7);
    if (config.communicator != nullptr && config.communicator->size() > 1)
      gradient_shares_ =
          std::make_unique<SlabShares>(set.values().elements(), *config.communicator);
    int64_t whole = 0, square = 0;
    for (const Parameter& p : set.all()) {
      if (!p.linear_map) continue;
      const Shape& shape = p.value().shape();
      const int64_t n = std::min(shape.rows(), shape.cols());
      whole = std::max(whole, shape.elements());
      square = std::max(square, n * n);
    }
    for (Tensor* buffer : {&update_, &next_}) *buffer = Tensor({whole}, set.dtype(), set.device());
    for (Tensor* buffer : {&square_a_, &square_b_})
      *buffer = Tensor({square}, set.dtype(), set.device());
  }

 protected:
  void update(double lr, const ops::Clip& clip) override {
    if (gradient_shares_) gradient_shares_->all_gather(set().gradients());
    const std::vector<NamedView> w = set().named(set().values()),
                                 g = set().named(set().gradients()), m = set().named(moment_),
                                 v = set().named(square_);
    size_t i = 0;
    for (const Parameter& p : set().all()) {
      const View weight = w[i].view, gradient = g[i].view, first = m[i].view, second = v[i].view;
      const Range& of = settings(i);
      ++i;
      if (p.linear_map) {
        update_map(weight, gradient, first, clip, lr * of.lr_factor, of.weight_decay);
      } else {
        ops::adam(weight, gradient, first, second, clip,
                  {.lr = lr * of.lr_factor,
                   .beta1 = config_.beta1,
                   .beta2 = config_.beta2,
                   .eps = config_.eps,
                   .weight_decay = of.weight_decay,
                   .decoupled = true,
                   .t = updates()});
      }
    }
  }

 private:
  void update_map(const View& w, const View& g, const View& v, const ops::Clip& clip, double lr,
                  double weight_decay) {
    const View u = part_of(update_, w.shape);
    const double momentum = config_.momentum;
    // v_new = momentum v + g, with the clipped g, so g + momentum v_new = (1 + momentum) v_new -
    // momentum v. A rate of 0 leaves the weights as they are.
    ops::scale(-momentum, v, {u});
    ops::sgd(w, g, v, clip, {.lr = 0, .momentum = momentum});
    ops::scale(1 + momentum, v, {u, true});
    const double longer = static_cast<double>(std::max(w.rows(), w.cols()));
    if (weight_decay != 0) ops::scale(1 - lr * weight_decay, w, {w});
    ops::scale(-0.2 * std::sqrt(longer) * lr, orthogonal(u), {w, true});
  }

  // Returns nearly U V' of u = U S V': X = u / |u|, then five times X = a X + (b A + c A A) X with
  // A = X X', of the side that is shorter.
  View orthogonal(const View& u) {
    ops::sum_squares(u, norm_squared_);
    ops::copy(norm_squared_, norm_);
    ops::unary(ops::Unary::sqrt, norm_, {norm_});
    ops::binary(ops::Binary::add, norm_, eps_, {norm_});
    ops::binary(ops::Binary::div, u, norm_, {u});
    const bool wide = u.cols() >= u.rows();
    const int64_t n = std::min(u.rows(), u.cols());
    const View a = part_of(square_a_, {n, n}), b = part_of(square_b_, {n, n});
    View x = u, y = part_of(next_, u.shape);
    for (int i = 0; i < 5; ++i) {
      ops::matmul(x, !wide, x, wide, {a});
      ops::matmul(a, false, a, false, {b}, 2.0315);
      ops::scale(-4.7750, a, {b, true});
      ops::scale(3.4445, x, {y});
      if (wide) {
        ops::matmul(b, false, x, false, {y, true});
      } else {
        ops::matmul(x, false, b, false, {y, true});
      }
      std::swap(x, y);
    }
    return x;
  }

  // The first elements of a buffer, as a matrix.
  static View part_of(const Tensor& buffer, const Shape& shape) {
    return buffer.view()
        .reshaped({buffer.elements(), 1})
        .row_range(0, shape.elements())
        .reshaped(shape);
  }

  OptimizerConfig config_;
  Tensor moment_, square_, norm_squared_, norm_, eps_;
  // For one matrix at a time, as large as the largest needs.
  Tensor update_, next_, square_a_, square_b_;
  std::unique_ptr<SlabShares> gradient_shares_;  // null with one process
};

/// Trains low-rank updates: an optimiser of their factors, behind which the matrices follow.
/// Checkpoints hold A and B as "lora.value.NAME.lora_a", ..., W0 as "lora.original.NAME", and the
/// state of the factors' own optimiser.
class LowRank final : public Optimizer {
 public:
  LowRank(ParameterSet& set, const OptimizerConfig& config)
      : Optimizer(set, config, false),
        updates_of_matrices_(set, config.low_rank),
        factors_kind_(config.kind),
        norm_squared_({}, DType::float64, set.device()),
        arena_("low-rank updates", set.device()) {
    require(config.communicator == nullptr || config.communicator->size() == 1,
            "low-rank updates are for one process: start one");
    OptimizerConfig own = config;
    own.low_rank = {};
    factors_ = make_optimizer(factor_set(), own);
  }

  int64_t average_from() const override { return factors_->average_from(); }
  void start_averaging() override { factors_->start_averaging(); }
  void swap_average() override {
    if (factors_kind_ != OptimizerKind::asgd) return;
    factors_->swap_average();
    updates_of_matrices_.apply();
  }

  std::vector<NamedView> named() const override {
    std::vector<NamedView> out = factor_set().named(factor_set().values(), kValues);
    for (const auto& more : {updates_of_matrices_.originals(kOriginals), factors_->named()})
      out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  std::vector<NamedView> gather() override { return named(); }
  bool owns(const std::string& name) const override {
    return name.starts_with(kValues) || name.starts_with(kOriginals) || factors_->owns(name);
  }
  void load(const Safetensors& file, int64_t updates, int64_t average_from) override {
    factor_set().load(file, factor_set().values(), kValues);
    updates_of_matrices_.load_originals(file, kOriginals);
    factors_->load(file, updates, average_from);
    Optimizer::load(file, updates, average_from);
  }

 protected:
  void update(double lr, const ops::Clip& clip) override {
    updates_of_matrices_.set_gradients();
    if (clip.max_norm > 0) factor_set().sum_squares(norm_squared_, arena_);
    factors_->step(lr, norm_squared_, clip.max_norm);
    factor_set().zero_grad();
    updates_of_matrices_.apply();
  }

 private:
  static constexpr const char *kValues = "lora.value.", *kOriginals = "lora.original.";

  ParameterSet& factor_set() const { return updates_of_matrices_.factors(); }

  mutable LowRankUpdates updates_of_matrices_;
  OptimizerKind factors_kind_;
  Tensor norm_squared_;
  Arena arena_;
  std::unique_ptr<Optimizer> factors_;
};

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(ParameterSet& set, const OptimizerConfig& config) {
  require(!config.lazy || (config.kind == OptimizerKind::adam && config.weight_decay == 0),
          "lazy updates need adam without weight decay: with another optimizer, rows without a "
          "gradient need an update too");
  require(!config.lazy || config.groups.empty(), "lazy updates have no groups of parameters");
  require(config.low_rank.rank >= 0, "the rank of low-rank updates is ", config.low_rank.rank,
          ": it must be 1 or more, or 0 for no such updates");
  require(!config.low_rank || config.groups.empty(),
          "low-rank updates have no groups of parameters: choose one of them");
  require(!config.lazy || !config.low_rank,
          "lazy updates are of rows of tables, and low-rank updates change whole matrices: choose "
          "one of them");
  if (config.low_rank) return std::make_unique<LowRank>(set, config);
  if (config.lazy) return std::make_unique<LazyAdam>(set, config);
  switch (config.kind) {
    case OptimizerKind::sgd:
      return std::make_unique<Sgd>(set, config);
    case OptimizerKind::adam:
    case OptimizerKind::adamw:
      return std::make_unique<Adam>(set, config);
    case OptimizerKind::asgd:
      return std::make_unique<AveragedSgd>(set, config);
    case OptimizerKind::lion:
      return std::make_unique<Lion>(set, config);
    case OptimizerKind::muon:
      require(config.momentum > 0, "the optimizer muon needs a momentum above 0");
      return std::make_unique<Muon>(set, config);
  }
  fail("[make_optimizer] a kind without an optimiser");
}

}  // namespace nine
