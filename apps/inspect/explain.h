// kernel_inspect --explain: a small numeric example through forward and backward, every number by
// the library's own ops.
#pragma once

#include <string>
#include <vector>

#include "apps/inspect/worked_example.h"
#include "kernels/head.h"

namespace nine::app {

/// What can be explained besides kernels.
std::vector<std::string> layer_lessons();

/// The example of a kernel with its parameters ("pow:p=1") or of one of layer_lessons().
/// UsageError: neither.
WorkedExample explain(const std::string& name);

WorkedExample explain_kernel(const Score& score);
WorkedExample explain_softmax();
WorkedExample explain_mixture();
WorkedExample explain_layer_norm();
WorkedExample explain_lstm();
WorkedExample explain_attention();

}  // namespace nine::app
