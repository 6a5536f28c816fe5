// The parts of the table of op cases (op_cases.cpp), by subject, each in a separate file. Their
// order is the table's.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "checks/op_cases.h"
#include "core/random.h"

namespace nine::checks {

/// Draws the sizes of random cases, uniformly from 1 to `max_size`. All groups share one object, so
/// that a seed decides the whole table.
class RandomSize {
 public:
  RandomSize(uint64_t seed, int64_t max_size)
      : random_({.seed = seed, .op = stream_id("checks.shapes")}), max_size_(max_size) {}
  int64_t operator()() {
    return 1 + static_cast<int64_t>(random_.below(static_cast<uint64_t>(max_size_)));
  }

 private:
  RandomStream random_;
  int64_t max_size_;
};

/// Elementwise functions, broadcasting, parts of matrices, sums, dropout, matmul
/// (tensor_op_cases.cpp).
void add_tensor_cases(std::vector<OpCase>& all);
void add_random_tensor_cases(std::vector<OpCase>& all, RandomSize& n);
/// Broadcasting, reductions, moving, picking and sorting elements, batched products
/// (array_op_cases.cpp).
void add_array_cases(std::vector<OpCase>& all);
void add_random_array_cases(std::vector<OpCase>& all, RandomSize& n);
/// Linear maps, embeddings, layer norm, LSTM, attention (layer_op_cases.cpp).
void add_layer_cases(std::vector<OpCase>& all);
void add_random_layer_cases(std::vector<OpCase>& all, RandomSize& n);
/// Convolutions, pooling, norms by channels, GRU, losses of autograd/losses.h (image_op_cases.cpp).
void add_image_cases(std::vector<OpCase>& all);
void add_random_image_cases(std::vector<OpCase>& all, RandomSize& n);
/// Softmax and losses: log_softmax, nll, cross_entropy, kernel_softmax, ... (head_op_cases.cpp).
void add_head_cases(std::vector<OpCase>& all);
void add_random_head_cases(std::vector<OpCase>& all, RandomSize& n);

/// Returns " 3x4x5", for the name of a case.
std::string sizes(std::initializer_list<int64_t> all);

}  // namespace nine::checks
