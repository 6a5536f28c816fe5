#include "kernels/cpu/head_block.h"

#include <limits>
#include <new>

#include "core/gemm.h"
#include "core/scratch.h"

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
  T* packed = pool_array<T>(arena, size() * panels_ * kHeadPanel * d);
  pack_contexts(packed);
  packed_ = packed;
}

template <class T>
void StackedComponents<T>::pack_contexts(T* packed) {
  const int64_t d = block_.dims();
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

// Padding rows have the statistics of the panel's first row, so that a kernel's results for them
// are finite.
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
  std::vector<double> one(static_cast<size_t>(c.kernel.stats));
  const T* stats = c.row_stats + panel * c.kernel.stats * kHeadPanel;
  bool any = false;
  for (int64_t r = 0; r < kHeadPanel && !any; ++r) {
    for (int64_t i = 0; i < c.kernel.stats; ++i)
      one[static_cast<size_t>(i)] = static_cast<double>(stats[i * kHeadPanel + r]);
    any = c.kernel.loops->any_extreme(c.kernel.args, one.data(), 1);
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
void StackedComponents<T>::multiply(const TilePlace<T>& at, const HeadTile<T>& tile) const {
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

template <class T>
void StackedComponents<T>::compute_scores(const TilePlace<T>& at, const HeadTile<T>& tile,
                                          T* out) const {
  const HeadKernel<T>& kernel = at.component.kernel;
  kernel.loops->values(kernel.args, tile, out);
  const int64_t first = at.panel * kHeadPanel, rows = rows_of(at.panel);
  if (has_exact_pairs(at.component))
    for_exact_pairs(at, tile, [&](int64_t v, int64_t r) {
      const double score = kernel.loops->exact(kernel.args, row_ptr<T>(at.component.w, at.word + v),
                                               context(at.index, first + r));
      out[v * kHeadPanel + r] =
          static_cast<T>(score) + (tile.bias != nullptr ? tile.bias[v] : T(0));
    });
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t v = target(first + r) - at.word;
    if (v >= 0 && v < at.words && target(first + r) >= 0)
      out[v * kHeadPanel + r] =
          static_cast<T>(kept(block_.target_score, block_.rows(), at.index, first + r));
  }
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
void StackedComponents<T>::tile_scores(const TilePlace<T>& at, T* spare, T* out) const {
  const HeadTile<T> t =
      block_.products ? kept_tile(at) : tile(at, spare, kTileElements, kHeadPanel);
  if (!block_.products) multiply(at, t);
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
      shift[at] = counts ? static_cast<T>(row_weight * block.options.spread) : T(0);
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
    T top[kHeadPanel], sum[kHeadPanel] = {};
    std::copy_n(scores + v * kHeadPanel, kHeadPanel, top);
    for (int64_t k = 1; k < size; ++k) {
      const T* s = scores + k * kTileElements + v * kHeadPanel;
      for (int64_t r = 0; r < kHeadPanel; ++r) top[r] = s[r] > top[r] ? s[r] : top[r];
    }
    for (int64_t k = 0; k < size; ++k) {
      const T* s = scores + k * kTileElements + v * kHeadPanel;
      for (int64_t r = 0; r < kHeadPanel; ++r) sum[r] += vexp(s[r] - top[r]);
    }
    for (int64_t r = 0; r < kHeadPanel; ++r) out[v * kHeadPanel + r] = top[r] + vlog(sum[r]);
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
