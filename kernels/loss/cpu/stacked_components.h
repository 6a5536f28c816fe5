// A block of the kernel softmax (ops::HeadBlock) on the CPU: its components, the places of their
// products and scores in memory, and their computation tile by tile.
//
// The products of one word lie together, row after row. So maximum, sum and exponential over words
// have one row in each SIMD lane, and no factor of the three matrix products has to be transposed.
// The vocabulary is cut into kHeadChunks chunks. Each chunk is one task with its own maxima, sums
// and dH, which are combined in chunk order.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/arena.h"
#include "core/bf16_product.h"
#include "core/elementwise_loops.h"
#include "core/pool_array.h"
#include "kernels/scores/cpu/head_loops.h"

namespace nine::cpu {
inline namespace NINE_ISA {

using ops::HeadBlock;
using ops::kHeadChunks;
using ops::kHeadPanel;
using ops::kHeadTile;

inline constexpr int64_t kTileElements = kHeadTile * kHeadPanel;

/// The words [begin, end) of the vocabulary.
struct WordRange {
  int64_t begin, end;
};
/// Returns chunk c of the vocabulary. Chunks are whole tiles, and their sizes differ by a tile at
/// most.
inline WordRange chunk_words(int64_t vocabulary, int64_t chunk) {
  const int64_t tiles = (vocabulary + kHeadTile - 1) / kHeadTile;
  const auto bound = [&](int64_t c) {
    return std::min(vocabulary, tiles * c / kHeadChunks * kHeadTile);
  };
  return {bound(chunk), bound(chunk + 1)};
}

/// The word tiles of a strip, which are multiplied at once if products are computed from bfloat16
/// pieces. So contexts and gradients of contexts are read from memory a quarter as often.
inline constexpr int64_t kStripTiles = 4;

/// One component: its kernel, and its place in the block's stacked rows, products and statistics.
template <class T>
struct StackedComponent {
  HeadKernel<T> kernel;
  View w;
  const double* word_stats = nullptr;
  int64_t first_panel = 0;       ///< number of its first panel in the stack
  int64_t first_column = 0;      ///< its first column in a row of products
  T* scores = nullptr;           ///< the kept score of word 0 and row 0; null if scores are not
                                 ///< kept
  int64_t first_stat = 0;        ///< its first place in a word's statistics of all components
  const T* row_stats = nullptr;  ///< [panel][stats][kHeadPanel]
  bool shares_words = false;     ///< true if it shares word vectors with the component before
  int64_t first_context = 0;     ///< number of its first packed context, if products are computed
                                 ///< from pieces
  int64_t word_pack = 0;         ///< place of its words in WordPacks
  bool any_extreme = false;      ///< true if a word or a row is extreme, see HeadLoops::any_extreme
};

/// One tile of one component: panel `panel` of the component's rows, and `words` words from `word`
/// on.
template <class T>
struct TilePlace {
  const StackedComponent<T>& component;
  int64_t index;  ///< of the component
  int64_t panel;  ///< within the component
  int64_t word, words;
};

/// The word vectors that a thread has packed into bfloat16 pieces: for each component, the strip
/// that the thread multiplied last. Empty if word vectors are multiplied in float32, without
/// packing.
struct WordPacks {
  struct Pack {
    int64_t word;      ///< the first word of the strip, or -1
    uint32_t largest;  ///< the largest |x| of all parts
  };
  Pack* packs = nullptr;
  uint16_t* tiles = nullptr;  ///< [pack][part]
  int64_t size = 0;           ///< size of a pack in numbers
};

/// A block as a stack of components. It takes memory of the arena, in the caller's Scope.
template <class T>
class StackedComponents {
 public:
  StackedComponents(const HeadBlock& block, Arena& arena);

  const HeadBlock& block() const { return block_; }
  int64_t size() const { return block_.size(); }
  const StackedComponent<T>& operator[](int64_t k) const { return components_[k]; }
  int64_t panels() const { return panels_; }    ///< number of panels of one component
  int64_t columns() const { return columns_; }  ///< number of products of a word
  int64_t stats() const {
    return stats_;
  }  ///< number of statistics of a word for all
     ///< components
  int64_t rows_of(int64_t panel) const {
    return std::min(kHeadPanel, block_.rows() - panel * kHeadPanel);
  }
  /// Returns row r of component k in the stacked contexts.
  int64_t stacked(int64_t k, int64_t r) const { return k * panels_ * kHeadPanel + r; }
  const T* context(int64_t k, int64_t r) const { return row_ptr<T>(block_.h, stacked(k, r)); }
  int64_t target(int64_t r) const { return static_cast<int32_t*>(block_.targets.data)[r]; }
  /// Returns, for parallel_for, the number of operations of a pass over the block's scores: the
  /// product, and about 20 operations for each element.
  double operations() const {
    return static_cast<double>(block_.words() * columns_) *
           static_cast<double>(2 * block_.dims() + 20);
  }

  /// Returns the element of component k and row r in one of the block's (K, R) float64 results.
  static double kept(const View& v, int64_t rows, int64_t k, int64_t r) {
    return static_cast<double*>(v.data)[k * rows + r];
  }

  /// Returns a tile of products and statistics in memory z. Planes are `plane` elements apart,
  /// words are ld elements apart.
  HeadTile<T> tile(const TilePlace<T>& at, T* z, int64_t plane, int64_t ld) const;
  /// Returns the same for the products that the block keeps.
  HeadTile<T> kept_tile(const TilePlace<T>& at) const;
  /// Returns the number of pieces of a factor (core/bf16_product.h); 0 if TileProduct computes the
  /// products.
  int pieces() const { return pieces_; }
  /// Returns the best number of words, in whole tiles, for a call of multiply().
  int64_t strip_words() const { return (pieces_ > 0 ? kStripTiles : 1) * kHeadTile; }
  /// Returns empty packs for this thread, in its Scratch::packed_words.
  WordPacks word_packs() const;
  /// Computes the products of a tile, or of a strip of up to strip_words() words from `word` on.
  void multiply(const TilePlace<T>& at, const HeadTile<T>& tile, WordPacks& packs) const;
  /// Computes the scores of a tile, out [word][kHeadPanel], from its products; the scores of
  /// VectorPairs from their vectors. Also stores the scores in the block if the block keeps scores.
  void compute_scores(const TilePlace<T>& at, const HeadTile<T>& tile, T* out) const;
  /// Returns the same scores; reads them from the block if the block keeps scores.
  void scores(const TilePlace<T>& at, const HeadTile<T>& tile, T* out) const;
  /// Computes the same scores from the products that the block keeps. If the block keeps no
  /// products, computes them into `spare` (kHeadTile x kHeadPanel numbers for each pair of parts).
  void tile_scores(const TilePlace<T>& at, T* spare, WordPacks& packs, T* out) const;
  int64_t max_planes() const { return max_planes_; }  ///< the most planes of a component

  /// True if a row of the panel is extreme, see HeadLoops::any_extreme.
  bool any_extreme_row(const StackedComponent<T>& c, int64_t panel) const;

 private:
  bool any_extreme_in(const StackedComponent<T>& c) const;
  T* kept_scores(const TilePlace<T>& at) const {
    return at.component.scores == nullptr
               ? nullptr
               : at.component.scores + at.word * block_.scores.ld + at.panel * kHeadPanel;
  }
  void pack_contexts(Arena& arena);
  void pack_contexts_in_pieces(Arena& arena);
  bf16::Packed context_pieces(const StackedComponent<T>& c, int64_t k, int64_t panel,
                              int64_t part) const;
  void multiply_pieces(const TilePlace<T>& at, const HeadTile<T>& tile, WordPacks& packs) const;
  void compute_row_stats(T* stats, int64_t k);

  const HeadBlock& block_;
  StackedComponent<T>* components_;
  int64_t panels_, columns_ = 0, stats_ = 0, max_planes_ = 0;
  const T* packed_ = nullptr;  // H as [stacked panel][k][32], with zeros after the last row
  // The same in pieces, as [component][part][panel], and the largest number of each stacked panel.
  int pieces_ = 0;
  uint16_t* packed_pieces_ = nullptr;
  uint32_t* largest_context_ = nullptr;
  int64_t word_packs_ = 0, word_pack_size_ = 0;
};

/// Holds, panel by panel, the numbers of each row from which gradients and posteriors are computed.
/// Padding rows have an infinite lse, so that their posteriors are 0 for all scores.
template <class T>
struct StackLanes {
  using Index = typename HeadLanes<T>::Index;
  StackLanes(const StackedComponents<T>& stack, double row_weight, Arena& arena);

  /// Returns the numbers of one panel of component k.
  HeadLanes<T> of(int64_t k, int64_t panel) const;
  const T* log_prior_of(int64_t k, int64_t panel) const {
    return log_prior + (k * panels + panel) * kHeadPanel;
  }

  int64_t panels;
  T *lse, *lse_rest, *weight, *shift, *log_prior;  // [component][panel][kHeadPanel]
  Index* target;                                   // [panel][kHeadPanel]
};

/// Replaces the scores [component][word][kHeadPanel] of a tile by log pi_k + log p_k(v) for all
/// components, and sets out [word][kHeadPanel] to log p(v).
template <class T>
void mixture_tile(const StackedComponents<T>& stack, const StackLanes<T>& lanes, int64_t panel,
                  int64_t words, T* scores, T* out);

}  // namespace NINE_ISA
}  // namespace nine::cpu
