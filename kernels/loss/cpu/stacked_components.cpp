#include "kernels/loss/cpu/stacked_components.h"

#include <array>
#include <limits>
#include <new>

#include "core/gemm.h"
#include "core/log_sum_exp.h"
#include "core/scratch.h"
#include "kernels/loss/cpu/expression_checks.h"
#include "kernels/loss/cpu/vector_pairs.h"

namespace nine::cpu {
inline namespace NINE_ISA {

template <class T>
StackedComponents<T>::StackedComponents(const HeadBlock& block, Arena& arena)
    : block_(block),
      components_(pool_array<StackedComponent<T>>(arena, block.size())),
      panels_(block.padded_rows() / kHeadPanel) {
  const int64_t d = block.dims();
  int64_t kept = 0;
  for (int64_t k = 0; k < size(); ++k) {
    const ops::HeadComponent& c = block.components[static_cast<size_t>(k)];
    const HeadKernel<T> kernel(c.score, d);
    const bool keeps = block.scores && ops::head_score_planes(c.score) > 0;
    T* row_stats =
        kernel.stats > 0 ? pool_array<T>(arena, panels_ * kernel.stats * kHeadPanel) : nullptr;
    new (components_ + k)
        StackedComponent<T>{.kernel = kernel,
                            .w = c.w,
                            .word_stats = static_cast<double*>(c.stats.data),
                            .first_panel = k * panels_,
                            .first_column = columns_,
                            .scores = keeps ? static_cast<T*>(block.scores.data) + kept : nullptr,
                            .first_stat = stats_,
                            .row_stats = row_stats,
                            .shares_words = k > 0 && c.w.data == components_[k - 1].w.data};
    columns_ += kernel.planes() * panels_ * kHeadPanel;
    if (keeps) kept += panels_ * kHeadPanel;
    stats_ += kernel.stats;
    max_planes_ = std::max(max_planes_, kernel.planes());
    if (kernel.stats > 0) compute_row_stats(row_stats, k);
    components_[k].any_extreme = any_extreme_in(components_[k]);
  }
  // Does not use pieces for vectors shorter than a block of terms, because most of the block would
  // be padding.
  if (std::is_same_v<T, float> && bf16::loops() != nullptr && d >= bf16::kDepth)
    pieces_ = bf16::pieces_of(matmul_precision());
  pieces_ > 0 ? pack_contexts_in_pieces(arena) : pack_contexts(arena);
}

template <class T>
void StackedComponents<T>::pack_contexts(Arena& arena) {
  const int64_t d = block_.dims();
  T* packed = pool_array<T>(arena, size() * panels_ * kHeadPanel * d);
  packed_ = packed;
  parallel_for(
      size() * panels_,
      [&](int64_t stacked_panel) {
        T* y = packed + stacked_panel * kHeadPanel * d;
        const int64_t k = stacked_panel / panels_, panel = stacked_panel % panels_,
                      rows = rows_of(panel);
        if (rows < kHeadPanel) std::fill_n(y, kHeadPanel * d, T(0));
        transpose_tile(context(k, panel * kHeadPanel), block_.h.ld, rows, d, y, kHeadPanel);
      },
      4.0 * static_cast<double>(block_.h.elements()));
}

// Packs the contexts as the right factor of the scores' product.
template <class T>
void StackedComponents<T>::pack_contexts_in_pieces(Arena& arena) {
  int64_t contexts = 0;
  for (int64_t k = 0; k < size(); ++k) {
    StackedComponent<T>& c = components_[k];
    const HeadKernel<T>& kernel = c.kernel;
    const bool same_words = c.shares_words && kernel.parts == components_[k - 1].kernel.parts;
    c.word_pack = same_words ? components_[k - 1].word_pack : word_packs_++;
    word_pack_size_ =
        std::max(word_pack_size_,
                 kernel.parts * bf16::packed_size(strip_words(), kernel.product_dims, pieces_));
    c.first_context = contexts;
    contexts +=
        kernel.parts * bf16::packed_size(panels_ * kHeadPanel, kernel.product_dims, pieces_);
  }
  packed_pieces_ = pool_array<uint16_t>(arena, contexts);
  largest_context_ = pool_array<uint32_t>(arena, size() * panels_);
  if constexpr (std::is_same_v<T, float>)
    parallel_for(
        size() * panels_,
        [&](int64_t stacked_panel) {
          const int64_t k = stacked_panel / panels_, panel = stacked_panel % panels_;
          const StackedComponent<T>& c = components_[k];
          const bf16::Layout layout = bf16::layout_of(c.kernel.product_dims, pieces_);
          uint32_t largest = 0;
          for (int64_t part = 0; part < c.kernel.parts; ++part) {
            const bf16::Packed to = context_pieces(c, k, panel, part);
            largest = std::max(
                largest, bf16::loops()->pack_right(to.source, rows_of(panel), c.kernel.product_dims,
                                                   layout, const_cast<uint16_t*>(to.tiles)));
            if (rows_of(panel) <= bf16::kGroup)  // the second group of the panel has no rows
              std::fill_n(const_cast<uint16_t*>(to.tiles) + layout.group_stride,
                          layout.group_stride, uint16_t{0});
          }
          largest_context_[stacked_panel] = largest;
        },
        8.0 * static_cast<double>(block_.h.elements()));
}

// Gives padding rows the statistics of the panel's first row, so that the kernel's results for
// these rows are finite.
template <class T>
void StackedComponents<T>::compute_row_stats(T* stats, int64_t k) {
  const HeadKernel<T>& kernel = components_[k].kernel;
  const int64_t d = block_.dims();
  parallel_for(
      panels_,
      [&](int64_t panel) {
        double* one = scratch<double>(Scratch::reduction, kernel.stats);
        for (int64_t r = 0; r < kHeadPanel; ++r) {
          kernel.loops->stats(kernel.args,
                              context(k, panel * kHeadPanel + (r < rows_of(panel) ? r : 0)), one);
          for (int64_t i = 0; i < kernel.stats; ++i)
            stats[(panel * kernel.stats + i) * kHeadPanel + r] = static_cast<T>(one[i]);
        }
      },
      4.0 * static_cast<double>(block_.rows() * d));
}

template <class T>
bool StackedComponents<T>::any_extreme_row(const StackedComponent<T>& c, int64_t panel) const {
  // A few statistics fit on the stack; a kernel with many parts (mog) has more.
  std::array<double, 16> few{};
  std::vector<double> many(c.kernel.stats > std::ssize(few) ? static_cast<size_t>(c.kernel.stats)
                                                            : 0);
  double* one = many.empty() ? few.data() : many.data();
  const T* stats = c.row_stats + panel * c.kernel.stats * kHeadPanel;
  bool any = false;
  for (int64_t r = 0; r < kHeadPanel && !any; ++r) {
    for (int64_t i = 0; i < c.kernel.stats; ++i)
      one[i] = static_cast<double>(stats[i * kHeadPanel + r]);
    any = c.kernel.loops->any_extreme(c.kernel.args, one, 1);
  }
  return any;
}

template <class T>
bool StackedComponents<T>::any_extreme_in(const StackedComponent<T>& c) const {
  if (c.kernel.loops->any_extreme == nullptr) return false;
  bool any = c.kernel.loops->any_extreme(c.kernel.args, c.word_stats, block_.words());
  for (int64_t p = 0; p < panels_ && !any; ++p) any = any_extreme_row(c, p);
  return any;
}

template <class T>
HeadTile<T> StackedComponents<T>::tile(const TilePlace<T>& at, T* z, int64_t plane,
                                       int64_t ld) const {
  const StackedComponent<T>& c = at.component;
  return {.z = z,
          .plane = plane,
          .ld = ld,
          .words = at.words,
          .scores = kept_scores(at),
          .scores_ld = block_.scores.ld,
          .word_stats = c.word_stats + at.word * c.kernel.stats,
          .row_stats = c.row_stats + at.panel * c.kernel.stats * kHeadPanel,
          .bias = block_.bias ? static_cast<T*>(block_.bias.data) + at.word : nullptr};
}

template <class T>
HeadTile<T> StackedComponents<T>::kept_tile(const TilePlace<T>& at) const {
  T* z = row_ptr<T>(block_.products, at.word) + at.component.first_column + at.panel * kHeadPanel;
  return tile(at, z, panels_ * kHeadPanel, block_.products.ld);
}

template <class T>
WordPacks StackedComponents<T>::word_packs() const {
  if (pieces_ == 0) return {};
  const int64_t head = (word_packs_ * static_cast<int64_t>(sizeof(WordPacks::Pack)) + 63) / 64 * 32;
  auto* memory = scratch<uint16_t>(Scratch::packed_words, head + word_packs_ * word_pack_size_);
  auto* packs = reinterpret_cast<WordPacks::Pack*>(memory);
  std::fill_n(packs, word_packs_, WordPacks::Pack{-1, 0});
  return {packs, memory + head, word_pack_size_};
}

template <class T>
void StackedComponents<T>::multiply(const TilePlace<T>& at, const HeadTile<T>& tile,
                                    WordPacks& packs) const {
  if (pieces_ > 0) return multiply_pieces(at, tile, packs);
  const StackedComponent<T>& c = at.component;
  const HeadKernel<T>& kernel = c.kernel;
  const TileProduct<T> product(kHeadPanel, at.words, kernel.product_dims, kHeadPanel, c.w.ld,
                               tile.ld, false);
  const T* contexts = packed_ + (c.first_panel + at.panel) * kHeadPanel * block_.dims();
  for (int64_t i = 0; i < kernel.parts; ++i)
    for (int64_t j = 0; j < kernel.parts; ++j)
      product(contexts + j * kernel.part_size * kHeadPanel,
              row_ptr<T>(c.w, at.word) + i * kernel.part_size,
              tile.z + (i * kernel.parts + j) * tile.plane);
}

// Returns the packed contexts of one panel and one part of component k.
template <class T>
bf16::Packed StackedComponents<T>::context_pieces(const StackedComponent<T>& c, int64_t k,
                                                  int64_t panel, int64_t part) const {
  bf16::Packed out;
  if constexpr (std::is_same_v<T, float>) {
    const bf16::Layout layout = bf16::layout_of(c.kernel.product_dims, pieces_);
    const int64_t groups = kHeadPanel / bf16::kGroup;
    out = {
        packed_pieces_ + c.first_context + (part * panels_ + panel) * groups * layout.group_stride,
        layout,
        largest_context_[k * panels_ + panel],
        {.x = context(k, panel * kHeadPanel) + part * c.kernel.part_size, .ld = block_.h.ld}};
  }
  return out;
}

template <class T>
void StackedComponents<T>::multiply_pieces(const TilePlace<T>& at, const HeadTile<T>& tile,
                                           WordPacks& packs) const {
  if constexpr (std::is_same_v<T, float>) {
    const StackedComponent<T>& c = at.component;
    const HeadKernel<T>& kernel = c.kernel;
    WordPacks::Pack& pack = packs.packs[c.word_pack];
    const bf16::Layout layout = bf16::layout_of(kernel.product_dims, pieces_);
    const auto words_of = [&](int64_t part) {
      return bf16::Packed{packs.tiles + c.word_pack * packs.size +
                              part * bf16::packed_size(strip_words(), kernel.product_dims, pieces_),
                          layout,
                          pack.largest,
                          {.x = row_ptr<T>(c.w, at.word) + part * kernel.part_size, .ld = c.w.ld}};
    };
    if (pack.word != at.word) {
      pack = {at.word, 0};
      for (int64_t part = 0; part < kernel.parts; ++part) {
        const bf16::Packed to = words_of(part);
        pack.largest = std::max(
            pack.largest, bf16::loops()->pack_left(to.source, at.words, kernel.product_dims, layout,
                                                   const_cast<uint16_t*>(to.tiles)));
      }
    }
    for (int64_t i = 0; i < kernel.parts; ++i)
      for (int64_t j = 0; j < kernel.parts; ++j) {
        bf16::Product p{.left = words_of(i),
                        .right = context_pieces(c, at.index, at.panel, j),
                        .m = at.words,
                        .n = kHeadPanel,
                        .k = kernel.product_dims,
                        .c = tile.z + (i * kernel.parts + j) * tile.plane,
                        .ldc = tile.ld};
        if (!bf16::fits(p.left.largest, p.right.largest, p.k)) {  // leaves out padding rows, which
                                                                  // the sources do not have
          for (int64_t v = 0; v < at.words; ++v) std::fill_n(p.c + v * p.ldc, kHeadPanel, 0.0f);
          p.n = rows_of(at.panel);
        }
        bf16::multiply(p);
      }
  }
}

template <class T>
void StackedComponents<T>::compute_scores(const TilePlace<T>& at, const HeadTile<T>& tile,
                                          T* out) const {
  const HeadKernel<T>& kernel = at.component.kernel;
  kernel.loops->values(kernel.args, tile, out);
  const int64_t first = at.panel * kHeadPanel, rows = rows_of(at.panel);
  const VectorPairs<T> pairs(*this);
  pairs.for_others(at, tile, [&](int64_t v, int64_t r) {
    out[v * kHeadPanel + r] = static_cast<T>(pairs.score(at.index, at.word + v, first + r)) +
                              (tile.bias != nullptr ? tile.bias[v] : T(0));
  });
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t v = target(first + r) - at.word;
    if (v >= 0 && v < at.words && target(first + r) >= 0)
      out[v * kHeadPanel + r] =
          static_cast<T>(kept(block_.target_score, block_.rows(), at.index, first + r));
  }
  refuse_not_finite(*this, at, out, kHeadPanel, false);
  T* keep = kept_scores(at);
  for (int64_t v = 0; keep != nullptr && v < at.words; ++v)
    std::copy_n(out + v * kHeadPanel, kHeadPanel, keep + v * block_.scores.ld);
}

template <class T>
void StackedComponents<T>::scores(const TilePlace<T>& at, const HeadTile<T>& tile, T* out) const {
  if (tile.scores == nullptr) return compute_scores(at, tile, out);
  for (int64_t v = 0; v < at.words; ++v)
    std::copy_n(tile.scores + v * tile.scores_ld, kHeadPanel, out + v * kHeadPanel);
}

template <class T>
void StackedComponents<T>::tile_scores(const TilePlace<T>& at, T* spare, WordPacks& packs,
                                       T* out) const {
  const HeadTile<T> t =
      block_.products ? kept_tile(at) : tile(at, spare, kTileElements, kHeadPanel);
  if (!block_.products) multiply(at, t, packs);
  scores(at, t, out);
}

template <class T>
StackLanes<T>::StackLanes(const StackedComponents<T>& stack, double row_weight, Arena& arena)
    : panels(stack.panels()) {
  const HeadBlock& block = stack.block();
  const int64_t rows = block.rows(), padded = panels * kHeadPanel, all = stack.size() * padded;
  for (T** v : {&lse, &lse_rest, &weight, &shift, &log_prior}) *v = pool_array<T>(arena, all);
  target = pool_array<Index>(arena, padded);
  for (int64_t r = 0; r < padded; ++r)
    target[r] = r < rows ? static_cast<Index>(stack.target(r)) : Index(-1);
  for (int64_t k = 0; k < stack.size(); ++k)
    for (int64_t r = 0; r < padded; ++r) {
      const int64_t at = k * padded + r;
      const bool real = r < rows, counts = real && target[r] >= 0;
      const double exact =
          real ? stack.kept(block.lse, rows, k, r) : std::numeric_limits<double>::infinity();
      lse[at] = static_cast<T>(exact);
      lse_rest[at] = real ? static_cast<T>(exact - static_cast<double>(lse[at])) : T(0);
      weight[at] =
          counts && block.weight ? static_cast<T>(stack.kept(block.weight, rows, k, r)) : T(0);
      const double factor =
          counts && block.row_factor ? static_cast<const double*>(block.row_factor.data)[r] : 1;
      shift[at] = counts ? static_cast<T>(row_weight * factor * block.options.spread) : T(0);
      log_prior[at] = real && block.log_prior ? row_ptr<T>(block.log_prior, r)[k] : T(0);
    }
}

template <class T>
HeadLanes<T> StackLanes<T>::of(int64_t k, int64_t panel) const {
  const int64_t at = (k * panels + panel) * kHeadPanel;
  return {lse + at, lse_rest + at, weight + at, shift + at, target + panel * kHeadPanel};
}

template <class T>
void mixture_tile(const StackedComponents<T>& stack, const StackLanes<T>& lanes, int64_t panel,
                  int64_t words, T* scores, T* out) {
  const int64_t size = stack.size();
  for (int64_t k = 0; k < size; ++k) {
    const HeadLanes<T> lane = lanes.of(k, panel);
    const T* log_prior = lanes.log_prior_of(k, panel);
    for (int64_t v = 0; v < words; ++v) {
      T* s = scores + k * kTileElements + v * kHeadPanel;
      for (int64_t r = 0; r < kHeadPanel; ++r)
        s[r] = ((s[r] - lane.lse[r]) - lane.lse_rest[r]) + log_prior[r];
    }
  }
  for (int64_t v = 0; v < words; ++v) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): see clear()
    LogSumExpLanes<T, kHeadPanel> all;
    all.clear();
    const T* s = scores + v * kHeadPanel;
    for (int64_t k = 0; k < size; ++k) all.cover(s + k * kTileElements);
    for (int64_t k = 0; k < size; ++k) all.add_covered(s + k * kTileElements);
    all.values(out + v * kHeadPanel);
  }
}

#define NINE_HEAD_BLOCK(T)                                                                        \
  template class StackedComponents<T>;                                                            \
  template struct StackLanes<T>;                                                                  \
  template void mixture_tile(const StackedComponents<T>&, const StackLanes<T>&, int64_t, int64_t, \
                             T*, T*);
NINE_HEAD_BLOCK(float)
NINE_HEAD_BLOCK(double)
#undef NINE_HEAD_BLOCK

}  // namespace NINE_ISA
}  // namespace nine::cpu
