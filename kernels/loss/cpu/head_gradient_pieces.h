// The two products of the head's backward pass, dW and dH, computed from bfloat16 pieces
// (core/bf16_product.h).
#pragma once

#include "kernels/loss/cpu/kept_tiles.h"
#include "kernels/loss/cpu/stacked_components.h"

namespace nine::cpu {
inline namespace NINE_ISA {

/// Rows of a float32 matrix that a product writes or (`add`) adds to.
struct Rows {
  float* x = nullptr;
  int64_t ld = 0, count = 0;
  bool add = false;
};

/// Packs a block's contexts once, as the right factor of dW, and computes the products for strips
/// of words. The planes of gradients with respect to products, one for each pair of parts (i, j),
/// are `plane` columns apart. Products leave out the tiles of the gradients that are not kept. Uses
/// Scratch::packed_left, packed_right and kept_blocks.
class GradientPieces {
 public:
  /// True if pack_contexts() was called.
  bool used() const { return pieces_ > 0; }
  /// Packs the contexts into memory of the arena, in the caller's Scope.
  void pack_contexts(const StackedComponents<float>& stack, Arena& arena);

  /// Adds to the rows of dW, (words, d) from the strip's first word on: the gradients (words, rows)
  /// times the contexts h (rows, d) of one component, or of several consecutive components.
  void add_dw(const StackedComponent<float>& c, const bf16::Factor& h, int64_t rows,
              const bf16::Factor& gradients, int64_t plane, const Rows& dw,
              const KeptTiles& kept) const;
  /// Adds to the rows of dH, (rows, d): the transpose of the gradients (words, rows) times the word
  /// vectors w (words, d).
  void add_dh(const StackedComponent<float>& c, const bf16::Factor& w, int64_t words,
              const bf16::Factor& gradients, int64_t plane, const Rows& dh,
              const KeptTiles& kept) const;

 private:
  void add_dw_tiles(const bf16::Product& all, const bf16::Factor& gradients,
                    const KeptTiles& kept) const;
  void add_dh_tiles(const bf16::Product& all, const bf16::Factor& gradients,
                    const KeptTiles& kept) const;
  bf16::Packed pack_words(const bf16::Factor& w, int64_t dims, int64_t words, int64_t columns,
                          const KeptTiles& kept) const;

  int pieces_ = 0;
  bf16::Layout layout_;  // of `contexts_`: [stacked panel][part][group of columns]
  uint16_t* contexts_ = nullptr;
  uint32_t largest_ = 0;  // the largest |x| of all contexts
};

}  // namespace NINE_ISA
}  // namespace nine::cpu
