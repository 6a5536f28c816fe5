// Products of bfloat16 pieces on any CPU, while an object lives.
#pragma once

#include "core/bf16_product.h"

namespace nine::tests {

/// Computes with an emulation of bfloat16 tiles in this precision until it is destroyed.
class Bf16Mode {
 public:
  explicit Bf16Mode(MatmulPrecision precision, const bf16::Loops& loops = bf16::emulation())
      : before_(matmul_precision()), emulated_(bf16::loops() == &bf16::emulation()) {
    set_matmul_precision(precision);
    bf16::use_loops(&loops);
  }
  ~Bf16Mode() {
    bf16::use_loops(emulated_ ? &bf16::emulation() : nullptr);
    set_matmul_precision(before_);
  }
  Bf16Mode(const Bf16Mode&) = delete;
  Bf16Mode& operator=(const Bf16Mode&) = delete;

 private:
  MatmulPrecision before_;
  bool emulated_;
};

}  // namespace nine::tests
