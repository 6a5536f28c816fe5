// Mini-batches of a data set in memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/tensor.h"

namespace nine {

/// The settings of Batches.
struct BatchesOptions {
  int64_t batch = 32;
  bool shuffle = true;     ///< a new order in each epoch; false: the order of the data
  uint64_t seed = 1;       ///< the seed and the number of the epoch determine an epoch's order
  bool drop_last = false;  ///< leaves out an epoch's last batch if it is not full
};

/// Goes through the examples 0 ... n - 1 in batches, epoch after epoch, without an end.
///
///   Batches batches(images.shape()[0], {.batch = 64});
///   for (...) {
///     const std::vector<int32_t> ids = batches.next();
///     const Tensor x = take_rows(images, ids), y = take_rows(labels, ids);
class Batches {
 public:
  /// Errors: no examples; more than 2^31 - 1; a batch below 1; `drop_last` with fewer examples than
  /// a batch.
  explicit Batches(int64_t examples, const BatchesOptions& options = {});

  /// Returns the examples of the next batch. The last one of an epoch may be smaller.
  std::vector<int32_t> next();
  /// Returns how many batches an epoch has.
  int64_t per_epoch() const;
  /// Returns the epoch of the last batch, 1, 2, ...; 0 before the first batch.
  int64_t epoch() const { return state_.epoch; }
  /// True if the last batch ended its epoch.
  bool ends_epoch() const { return state_.epoch > 0 && state_.batches == per_epoch(); }

  /// The place in the data, to resume there.
  struct State {
    int64_t epoch = 0;    ///< of the last batch
    int64_t batches = 0;  ///< batches of this epoch so far
  };
  State state() const { return state_; }
  /// Continues after the batch that had this state, in an object with the same options. Error: a
  /// state that no batch can have.
  void restore(const State& state);

 private:
  void shuffle();

  int64_t examples_;
  BatchesOptions options_;
  State state_;
  std::vector<int32_t> order_;
};

/// Returns the examples `ids` of x (n, ...), in their order: (ids, ...), of x's type. x is on the
/// CPU and contiguous. A tensor of rank 1 has single numbers as examples. Error: an id outside of
/// [0, n).
Tensor take_rows(const Tensor& x, std::span<const int32_t> ids);

}  // namespace nine
