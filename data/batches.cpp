#include "data/batches.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "core/random.h"

namespace nine {

Batches::Batches(int64_t examples, const BatchesOptions& options)
    : examples_(examples), options_(options) {
  require(examples >= 1 && examples <= std::numeric_limits<int32_t>::max(), "batches of ", examples,
          " examples: there must be 1 to 2147483647 examples");
  require(options.batch >= 1, "a batch of ", options.batch, " examples: choose 1 or more");
  require(!options.drop_last || options.batch <= examples, "a batch of ", options.batch,
          " examples is larger than the data, ", examples,
          " examples, and drop_last leaves out what does not fill a batch");
  order_.resize(static_cast<size_t>(examples));
  std::iota(order_.begin(), order_.end(), 0);
}

int64_t Batches::per_epoch() const {
  return options_.drop_last ? examples_ / options_.batch
                            : (examples_ + options_.batch - 1) / options_.batch;
}

// Draws the order of the epoch; it does not depend on the order before.
void Batches::shuffle() {
  if (!options_.shuffle) return;
  std::iota(order_.begin(), order_.end(), 0);
  RandomStream random({.seed = options_.seed,
                       .step = static_cast<uint32_t>(state_.epoch),
                       .op = stream_id("batches.order")});
  for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random.below(i)]);
}

std::vector<int32_t> Batches::next() {
  if (state_.epoch == 0 || state_.batches == per_epoch()) {
    ++state_.epoch;
    state_.batches = 0;
    shuffle();
  }
  const int64_t begin = state_.batches * options_.batch,
                end = std::min(examples_, begin + options_.batch);
  ++state_.batches;
  return {order_.begin() + begin, order_.begin() + end};
}

void Batches::restore(const State& state) {
  const bool first = state.epoch == 0 && state.batches == 0;
  require(first || (state.epoch >= 1 && state.batches >= 1 && state.batches <= per_epoch()),
          "there is no batch ", state.batches, " of epoch ", state.epoch, ": an epoch has ",
          per_epoch(), " batches");
  state_ = state;
  if (!first) shuffle();
}

Tensor take_rows(const Tensor& x, std::span<const int32_t> ids) {
  const View from = x.view();
  require(from.shape.rank() >= 1 && from.device == kCpu && from.contiguous(),
          "[take_rows] the data must be on the CPU, contiguous and (n, ...), got shape ",
          from.shape, " on ", from.device);
  const int64_t n = from.shape[0];
  std::array<int64_t, Shape::kMaxRank> sizes{};
  for (int i = 0; i < from.shape.rank(); ++i) sizes[static_cast<size_t>(i)] = from.shape[i];
  sizes[0] = std::ssize(ids);
  Tensor y(Shape(sizes.data(), from.shape.rank()), from.dtype);
  const size_t bytes = n > 0 ? static_cast<size_t>(from.bytes() / n) : 0;
  auto* to = static_cast<std::byte*>(y.view().data);
  for (const int32_t id : ids) {
    require(id >= 0 && id < n, "[take_rows] example ", id, " is outside of [0, ", n, ")");
    if (bytes > 0)
      std::memcpy(to, static_cast<const std::byte*>(from.data) + static_cast<size_t>(id) * bytes,
                  bytes);
    to += bytes;
  }
  return y;
}

}  // namespace nine
