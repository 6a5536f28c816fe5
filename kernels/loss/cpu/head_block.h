// A block of the kernel softmax (ops::HeadBlock) on the CPU: its components, where their products
// and scores lie in memory, and how they are computed tile by tile.
//
// The products of one word lie together, row after row. Maximum, sum and exponential over words
// then have one row in each SIMD lane, and no factor of the three matrix products has to be
// transposed. The vocabulary is cut into kHeadChunks chunks. Each chunk is one task with maxima,
// sums and a dH of its own, which are combined in chunk order.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "core/arena.h"
#include "core/bf16_product.h"
#include "core/cpu/elementwise_loops.h"
#include "core/cpu/pool_array.h"
#include "kernels/options/angle.h"
#include "kernels/scores/cpu/head_kernels.h"
#include "kernels/scores/vectors.h"

namespace nine::cpu {
inline namespace NINE_ISA {

using ops::HeadBlock;
using ops::kHeadChunks;
using ops::kHeadPanel;
using ops::kHeadTile;

inline constexpr int64_t kTileElements = kHeadTile * kHeadPanel;

/// Words [begin, end) of the vocabulary.
struct WordRange {
  int64_t begin, end;
};
/// Chunk c of the vocabulary: whole tiles, spread evenly.
inline WordRange chunk_words(int64_t vocabulary, int64_t chunk) {
  const int64_t tiles = (vocabulary + kHeadTile - 1) / kHeadTile;
  const auto bound = [&](int64_t c) {
    return std::min(vocabulary, tiles * c / kHeadChunks * kHeadTile);
  };
  return {bound(chunk), bound(chunk + 1)};
}

/// Word tiles that are multiplied at once where products are made of bfloat16 pieces, so that
/// contexts and gradients of contexts come from memory a quarter as often.
inline constexpr int64_t kStripTiles = 4;

/// One component: its kernel, and where it lies among the block's stacked rows, products and
/// statistics.
template <class T>
struct StackedComponent {
  HeadKernel<T> kernel;
  View w;
  const double* word_stats = nullptr;
  int64_t first_panel = 0;       ///< among the stack's panels
  int64_t first_column = 0;      ///< among the columns of a row of products
  T* scores = nullptr;           ///< the kept score of word 0 and row 0, or null
  int64_t first_stat = 0;        ///< among all components' statistics of a word
  const T* row_stats = nullptr;  ///< [panel][stats][kHeadPanel]
  bool shares_words = false;     ///< with the component before it
  int64_t first_context = 0;     ///< number of the packed contexts, in pieces
  int64_t word_pack = 0;         ///< its words' place in WordPacks
  bool any_extreme = false;      ///< among its words and rows, see HeadLoops::any_extreme
};

/// One tile of one component: panel `panel` of its rows, `words` words from `word` on.
template <class T>
struct TilePlace {
  const StackedComponent<T>& component;
  int64_t index;  ///< of the component
  int64_t panel;  ///< within the component
  int64_t word, words;
};

/// A thread's packed word vectors, in bfloat16 pieces: of each component the strip that it
/// multiplied last. In float32, where word vectors are multiplied as they are, it is empty.
struct WordPacks {
  struct Pack {
    int64_t word;      ///< the strip's first one, or -1
    uint32_t largest;  ///< of all parts
  };
  Pack* packs = nullptr;
  uint16_t* tiles = nullptr;  ///< [pack][part]
  int64_t size = 0;           ///< numbers of a pack
};

/// A block as a stack of components. Its memory is the arena's, in the caller's Scope.
template <class T>
class StackedComponents {
 public:
  StackedComponents(const HeadBlock& block, Arena& arena);

  const HeadBlock& block() const { return block_; }
  int64_t size() const { return block_.size(); }
  const StackedComponent<T>& operator[](int64_t k) const { return components_[k]; }
  int64_t panels() const { return panels_; }    ///< of one component
  int64_t columns() const { return columns_; }  ///< products of a word
  int64_t stats() const { return stats_; }      ///< statistics of a word, of all components
  int64_t rows_of(int64_t panel) const {
    return std::min(kHeadPanel, block_.rows() - panel * kHeadPanel);
  }
  /// Row r of component k among the stacked contexts.
  int64_t stacked(int64_t k, int64_t r) const { return k * panels_ * kHeadPanel + r; }
  const T* context(int64_t k, int64_t r) const { return row_ptr<T>(block_.h, stacked(k, r)); }
  int64_t target(int64_t r) const { return static_cast<int32_t*>(block_.targets.data)[r]; }
  /// Operations of a pass over the block's scores, the product and about 20 for each element, for
  /// parallel_for.
  double operations() const {
    return static_cast<double>(block_.words() * columns_) *
           static_cast<double>(2 * block_.dims() + 20);
  }

  /// The target y of row r and component k as vectors with an angle between them; blocks that are
  /// by_angle().
  scores::AnglePair<T> target_pair(int64_t k, int64_t r, int64_t y) const {
    return {row_ptr<T>(components_[k].w, y), context(k, r), block_.dims(),
            block_.given_norms(k, y)};
  }

  /// The number of component k and row r in one of the block's (K, R) float64 results.
  static double kept(const View& v, int64_t rows, int64_t k, int64_t r) {
    return static_cast<double*>(v.data)[k * rows + r];
  }

  /// A tile of products and statistics over memory z: pairs `plane` elements apart, words ld.
  HeadTile<T> tile(const TilePlace<T>& at, T* z, int64_t plane, int64_t ld) const;
  /// The same where the block keeps its products.
  HeadTile<T> kept_tile(const TilePlace<T>& at) const;
  /// The products' pieces (core/bf16_product.h), or 0: they are TileProduct's.
  int pieces() const { return pieces_; }
  /// The words, in whole tiles, that multiply() is best called for.
  int64_t strip_words() const { return (pieces_ > 0 ? kStripTiles : 1) * kHeadTile; }
  /// This thread's, empty, in its Scratch::packed_words.
  WordPacks word_packs() const;
  /// Computes the products of a tile, or of a strip of up to strip_words() from a `word` on.
  void multiply(const TilePlace<T>& at, const HeadTile<T>& tile, WordPacks& packs) const;
  /// out [word][kHeadPanel]: scores of a tile whose products have been computed, exact for targets
  /// and close pairs; also stored in the block if it keeps scores.
  void compute_scores(const TilePlace<T>& at, const HeadTile<T>& tile, T* out) const;
  /// The same, read from the block if it keeps scores.
  void scores(const TilePlace<T>& at, const HeadTile<T>& tile, T* out) const;
  /// The same from the block's products, or if it keeps none from products computed into `spare`
  /// (kHeadTile x kHeadPanel numbers for each pair of parts).
  void tile_scores(const TilePlace<T>& at, T* spare, WordPacks& packs, T* out) const;
  int64_t max_planes() const { return max_planes_; }  ///< of any component

  /// Whether the scores of some of a component's pairs are computed from their vectors, as those of
  /// targets are. Of extreme vectors, whose products overflow; and in float64, where results are
  /// compared with formulas to nine digits and more, of close pairs: q = |w|^2 + |h|^2 - 2z has too
  /// few digits if the distance is small beside the norms.
  static bool has_exact_pairs(const StackedComponent<T>& c) {
    return c.kernel.exact && (std::is_same_v<T, double> || c.any_extreme);
  }
  /// Calls f(word within the tile, row within the panel) for those pairs of a tile whose products
  /// have been computed: for all of a tile with an extreme vector, else for the close ones.
  template <class F>
  void for_exact_pairs(const TilePlace<T>& at, const HeadTile<T>& tile, F&& f) const {
    const StackedComponent<T>& c = at.component;
    if (c.any_extreme && (any_extreme_row(c, at.panel) ||
                          c.kernel.loops->any_extreme(c.kernel.args, tile.word_stats, at.words))) {
      for (int64_t v = 0; v < at.words; ++v)
        for (int64_t r = 0; r < rows_of(at.panel); ++r) f(v, r);
    } else if (std::is_same_v<T, double>) {
      for_close_pairs(at, tile, f);
    }
  }

 private:
  bool any_extreme_row(const StackedComponent<T>& c, int64_t panel) const;
  bool any_extreme_in(const StackedComponent<T>& c) const;
  template <class F>
  void for_close_pairs(const TilePlace<T>& at, const HeadTile<T>& tile, F&& f) const {
    constexpr T kClose = T(1e-3);  // q loses three digits there
    const HeadKernel<T>& kernel = at.component.kernel;
    const int64_t first = at.panel * kHeadPanel, rows = rows_of(at.panel), parts = kernel.parts;
    const auto z = [&](int64_t pair, int64_t v, int64_t r) {
      return tile.z[pair * tile.plane + v * tile.ld + r];
    };
    if (kernel.loops->needs_exact != nullptr) {
      for (int64_t v = 0; v < at.words; ++v)
        for (int64_t r = 0; r < rows; ++r)
          if (kernel.loops->needs_exact(z(0, v, r), tile.word_stats + v * kernel.stats,
                                        tile.row_stats + r))
            f(v, r);
      return;
    }
    const auto norms_of = [&](const T* x, T* norms) {
      for (int64_t i = 0; i < parts; ++i)
        norms[i] =
            static_cast<T>(scores::square_norm(x + i * kernel.part_size, kernel.product_dims));
    };
    std::vector<T> of_word(static_cast<size_t>(parts)), of_rows(static_cast<size_t>(parts * rows));
    for (int64_t r = 0; r < rows; ++r)
      norms_of(context(at.index, first + r), of_rows.data() + r * parts);
    for (int64_t v = 0; v < at.words; ++v) {
      norms_of(row_ptr<T>(at.component.w, at.word + v), of_word.data());
      // For pair i * parts + j: part i of the word and part j of the row.
      const auto is_close = [&](int64_t pair, int64_t r) {
        const T both = of_word[static_cast<size_t>(pair / parts)] +
                       of_rows[static_cast<size_t>(r * parts + pair % parts)];
        return both - 2 * z(pair, v, r) < kClose * both;
      };
      for (int64_t r = 0; r < rows; ++r) {
        bool any = false;
        for (int64_t pair = 0; pair < parts * parts && !any; ++pair) any = is_close(pair, r);
        if (any) f(v, r);
      }
    }
  }

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
  const T* packed_ = nullptr;  // H as [stacked panel][k][32], rows past the last one zero
  // Or, in pieces, [component][part][panel], and the largest number of each stacked panel.
  int pieces_ = 0;
  uint16_t* packed_pieces_ = nullptr;
  uint32_t* largest_context_ = nullptr;
  int64_t word_packs_ = 0, word_pack_size_ = 0;
};

/// The numbers of each row from which gradients and posteriors are computed, panel by panel.
/// Padding rows have an infinite lse, so that their posteriors are 0 however large their scores
/// are.
template <class T>
struct StackLanes {
  using Index = typename HeadLanes<T>::Index;
  StackLanes(const StackedComponents<T>& stack, double row_weight, Arena& arena);

  /// The numbers of one panel of component k.
  HeadLanes<T> of(int64_t k, int64_t panel) const;
  const T* log_prior_of(int64_t k, int64_t panel) const {
    return log_prior + (k * panels + panel) * kHeadPanel;
  }

  int64_t panels;
  T *lse, *lse_rest, *weight, *shift, *log_prior;  // [component][panel][kHeadPanel]
  Index* target;                                   // [panel][kHeadPanel]
};

/// log pi_k + log p_k(v) in place of a tile's scores for all components, scores
/// [component][word][kHeadPanel], and out [word][kHeadPanel] = log p(v).
template <class T>
void mixture_tile(const StackedComponents<T>& stack, const StackLanes<T>& lanes, int64_t panel,
                  int64_t words, T* scores, T* out);

}  // namespace NINE_ISA
}  // namespace nine::cpu
