#include "nn/training/update_gradient.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/ops.h"
#include "core/profile.h"

namespace nine {
namespace {

View vector_of(double* data, int64_t n) { return {data, Shape{n}}; }
View flat(const View& v) { return v.reshaped({v.elements()}); }

double merged(const StepStatistic& s, double total, double part) {
  switch (s.merge) {
    case StepStatistic::Merge::sum:
      return total + part;
    case StepStatistic::Merge::largest:
      return std::max(total, part);
    case StepStatistic::Merge::average:
      return total > 0 ? s.decay * total + (1 - s.decay) * part : part;
  }
  return total;
}

}  // namespace

UpdateGradient::UpdateGradient(ParameterSet& set, Tape& tape, const TrainStep::Config& config)
    : set_(set),
      tape_(tape),
      communicator_(config.communicator != nullptr ? *config.communicator : one_process()),
      config_(config),
      slots_(MicroBatchSlots::of(config.accumulate, config.communicator)),
      tree_(set),
      device_totals_({2 * slots_.own() + 1, 1}, DType::float64, tape.arena().device()),
      host_totals_(static_cast<size_t>(device_totals_.elements())) {
  if (communicator_.size() == 1) return;
  require(
      tape.arena().device() == kCpu,
      "several processes train on CPUs only; to train on a GPU, start one process, without mpirun");
  shares_ = std::make_unique<SlabShares>(set.values().elements(), communicator_);
  for (int r = 0; r < communicator_.size(); ++r)
    most_blocks_ = std::max(most_blocks_, shares_->blocks_of(r).size());
}

View UpdateGradient::norm_squared() const {
  return device_totals_.view().row_range(2 * slots_.own(), 1).reshaped({});
}

const double* UpdateGradient::slot(int i) const {
  const int owner = i / slots_.own();
  return records_.data() + owner * record_size_ + 1 + most_blocks_ +
         (i - owner * slots_.own()) * slot_size_;
}

// Statistics need records only with several micro-batches; a single micro-batch adds to the totals
// itself.
void UpdateGradient::begin_records(TrainingSource& data) {
  statistics_.clear();
  if (slots_.all > 1) data.statistics(statistics_);
  slot_size_ = 2;
  for (const StepStatistic& s : statistics_) slot_size_ += s.value.elements();
  record_size_ = 1 + most_blocks_ + slots_.own() * slot_size_;
  records_.assign(static_cast<size_t>(record_size_ * communicator_.size()), 0.0);
}

StepResult UpdateGradient::compute(TrainingSource& data, int64_t step, int64_t tokens) {
  const int64_t weighing = data.weighing_tokens(tokens);
  const double begin = profile::clock_seconds(), row_weight = 1.0 / static_cast<double>(weighing);
  const int count = data.count();
  set_.zero_grad();
  begin_records(data);
  tree_.sum(slots_.first, slots_.end, count, tape_.arena(), [&](int i) {
    tape_.set_random_key({.seed = config_.seed,
                          .step = static_cast<uint32_t>(step),
                          .micro_batch = static_cast<uint16_t>(i)});
    micro_batch(data, i, row_weight);
  });
  if (!shares_) set_.sum_squares(norm_squared(), tape_.arena());
  ops::copy(device_totals_, View(host_totals_.data(), device_totals_.shape()));  // waits
  for (int i = slots_.first; i < std::min(count, slots_.end); ++i)
    std::copy_n(&host_totals_[2 * static_cast<size_t>(i - slots_.first)], 2, slot(i));
  record(communicator_.rank())[0] = profile::clock_seconds() - begin;
  if (shares_) form_norm(count);
  merge_statistics(count);
  StepResult result = totals(tokens, count);
  const double mean = static_cast<double>(weighing) / static_cast<double>(tokens);
  result.loss *= mean;
  result.nll *= mean;
  return result;
}

void UpdateGradient::micro_batch(TrainingSource& data, int i, double row_weight) {
  if (i > 0)
    for (const StepStatistic& s : statistics_) ops::fill(s.value, 0);
  const auto [loss, nll] = data.forward(tape_, i, row_weight);
  const Tensor objective = tape_.arena().saved({}, DType::float64),
               nats = tape_.arena().saved({}, DType::float64);
  ops::copy(loss.value().reshaped({}), objective);  // float32 losses become float64
  ops::sum(nll.value(), {nats});
  const auto total = [&](int64_t which) {
    return device_totals_.view().row_range(2 * (i - slots_.first) + which, 1).reshaped({});
  };
  ops::scale(1, objective, {total(0)});
  ops::scale(row_weight, nats, {total(1)});
  tape_.backward(loss);
  tape_.reset();
  double* to = slot(i) + 2;
  for (const StepStatistic& s : statistics_) {
    ops::copy(flat(s.value), vector_of(to, s.value.elements()));
    to += s.value.elements();
  }
}

// Sums the gradients of all processes and computes the squared norm of the sum.
void UpdateGradient::form_norm(int count) {
  shares_->reduce_scatter(set_.gradients(), [&](int rank) { return rank * slots_.own() < count; });
  const bool some_rows = std::any_of(set_.all().begin(), set_.all().end(),
                                     [](const Parameter& p) { return p.touched.has_value(); });
  if (!some_rows) sum_blocks();
  communicator_.all_gather(records_.data(), record_size_ * static_cast<int64_t>(sizeof(double)));
  double squares = 0;
  for (int64_t b = 0; !some_rows && b < shares_->blocks(); ++b)
    for (int r = 0; r < communicator_.size(); ++r)
      if (const auto own = shares_->blocks_of(r); own.begin <= b && b < own.end)
        squares += record(r)[1 + b - own.begin];
  *static_cast<double*>(norm_squared().data) = squares;
  if (!some_rows) return;
  // Computes the norm from the rows that any process has touched, in the order of a single process.
  merge_touched();
  shares_->all_gather(set_.gradients());
  set_.sum_squares(norm_squared(), tape_.arena());
}

void UpdateGradient::sum_blocks() {
  const View all = set_.gradients();
  const auto own = shares_->own_blocks();
  for (int64_t b = own.begin; b < own.end; ++b) {
    View block = all;
    block.data = static_cast<std::byte*>(all.data) +
                 b * SlabShares::kBlock * static_cast<int64_t>(size_of(all.dtype));
    block.shape = {std::min(SlabShares::kBlock, shares_->elements() - b * SlabShares::kBlock)};
    block.ld = block.shape.cols();
    ops::sum_squares(block, {&record(communicator_.rank())[1 + b - own.begin], Shape{}});
  }
}

void UpdateGradient::merge_touched() {
  for (const Parameter& const_parameter : set_.all()) {
    if (!const_parameter.touched) continue;
    Parameter& p = set_.at(const_parameter.name);
    const Shape& shape = p.value().shape();
    const int64_t rows = shape.rank() > 1 ? shape.rows() : shape.elements();
    // One bit per row, and one bit for all rows.
    std::vector<uint8_t> bits(static_cast<size_t>(rows / 8 + 1)), received(bits.size());
    const auto mark = [&](int64_t i) {
      bits[static_cast<size_t>(i / 8)] |= static_cast<uint8_t>(1U << (i % 8));
    };
    if (p.touched->all()) mark(rows);
    for (const int32_t id : p.touched->rows()) mark(id);
    const auto bytes = static_cast<int64_t>(bits.size());
    for (int step = 1; step < communicator_.size(); step *= 2) {
      const int other = communicator_.rank() ^ step;
      communicator_.exchange(other, bits.data(), bytes, other, received.data(), bytes);
      for (size_t i = 0; i < bits.size(); ++i) bits[i] |= received[i];
    }
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < rows; ++i)
      if ((bits[static_cast<size_t>(i / 8)] >> (i % 8) & 1) != 0)
        ids.push_back(static_cast<int32_t>(i));
    p.touched->touch(ids, rows);
    if ((bits[static_cast<size_t>(rows / 8)] >> (rows % 8) & 1) != 0) p.touched->touch_all();
  }
}

// The totals before the update are in the first slot, which adds to them itself.
void UpdateGradient::merge_statistics(int count) {
  int64_t at = 2;
  for (const StepStatistic& s : statistics_) {
    double* total = slot(0) + at;
    for (int64_t k = 0; k < s.value.elements(); ++k)
      for (int i = 1; i < count; ++i) total[k] = merged(s, total[k], slot(i)[at + k]);
    ops::copy(vector_of(total, s.value.elements()), flat(s.value));
    at += s.value.elements();
  }
}

StepResult UpdateGradient::totals(int64_t tokens, int count) const {
  StepResult result{.tokens = tokens};
  for (int i = 0; i < count; ++i) {
    result.loss += slot(i)[0];
    result.nll += slot(i)[1];
  }
  result.grad_norm =
      std::sqrt(shares_ ? *static_cast<double*>(norm_squared().data) : host_totals_.back());
  result.fastest_s = result.slowest_s = records_.front();
  for (int r = 1; r < communicator_.size(); ++r) {
    const double seconds = records_[static_cast<size_t>(r * record_size_)];
    result.fastest_s = std::min(result.fastest_s, seconds);
    result.slowest_s = std::max(result.slowest_s, seconds);
  }
  return result;
}

}  // namespace nine
