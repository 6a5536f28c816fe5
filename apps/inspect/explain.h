// kernel_inspect --explain: a small numeric example through forward and backward, every number by the library's own ops.
#pragma once

#include <string>
#include <vector>

#include "apps/inspect/lesson.h"
#include "kernels/head.h"

namespace nine::app {

/// What can be explained besides kernels.
std::vector<std::string> layer_lessons();

/// The example of a kernel with its parameters ("pow:p=1") or of one of layer_lessons(). UsageError: neither.
Lesson explain(const std::string& name);

Lesson explain_kernel(const Score& score);
Lesson explain_softmax();
Lesson explain_mixture();
Lesson explain_layer_norm();
Lesson explain_lstm();
Lesson explain_attention();

}  // namespace nine::app
