// The two products of the head's backward pass, dW and dH, of bfloat16 pieces
// (core/bf16_product.h).
#pragma once

#include "kernels/loss/cpu/stacked_components.h"

namespace nine::cpu {
inline namespace NINE_ISA {

/// Rows of a float32 matrix that a product writes or (`add`) adds to.
struct Rows {
  float* x = nullptr;
  int64_t ld = 0, count = 0;
  bool add = false;
};

/// A block's contexts, packed once as the right factor of dW, and the products of strips of words.
/// Planes of gradients by products, pairs of parts (i, j), are `plane` columns apart. Uses
/// Scratch::packed_left and packed_right.
class GradientPieces {
 public:
  /// Whether pack_contexts() was called.
  bool used() const { return pieces_ > 0; }
  /// Packs the contexts; memory is the arena's, in the caller's Scope.
  void pack_contexts(const StackedComponents<float>& stack, Arena& arena);

  /// dW's rows, (words, d) at the strip's first word, += (words, rows) gradients times the contexts
  /// h (rows, d) of a component or of several in succession.
  void add_dw(const StackedComponent<float>& c, const bf16::Factor& h, int64_t rows,
              const bf16::Factor& gradients, int64_t plane, const Rows& dw) const;
  /// dH's rows, (rows, d), += (words, rows) gradients, transposed, times the words w (words, d).
  void add_dh(const StackedComponent<float>& c, const bf16::Factor& w, int64_t words,
              const bf16::Factor& gradients, int64_t plane, const Rows& dh) const;

 private:
  int pieces_ = 0;
  bf16::Layout layout_;  // of `contexts_`: [stacked panel][part][group of columns]
  uint16_t* contexts_ = nullptr;
  uint32_t largest_ = 0;  // of all contexts
};

}  // namespace NINE_ISA
}  // namespace nine::cpu
