// Training a small language model on one device: what the tests of CUDA compare.
#pragma once

#include <string>
#include <vector>

#include "nn/models/language_config.h"
#include "nn/training/optimizer.h"
#include "tests/cuda/device_cases.h"

namespace nine::tests {

struct Trained {
  std::vector<double> losses, weights;
  double nll = 0;
};

struct TrainingSettings {
  std::string load = {}, save = {};  // files; empty: not
  LanguageArch arch = LanguageArch::lstm;
  TransformerStyle style = TransformerStyle::gpt2();  // of a Transformer
  bool recompute = false;
  OptimizerConfig optimizer = {};
  int64_t hidden = 12, words = 0;  // words: so many made-up ones in place of the small text's
  bool sentences = false;          // batches of sentences of any length
  size_t pool = size_t{8} << 20;   // bytes
};

Trained train_on(Device device, const std::string& head, DType dtype, int64_t steps,
                 const TrainingSettings& settings = {});

}  // namespace nine::tests
