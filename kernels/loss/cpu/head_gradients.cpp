// The backward pass of a block on the CPU. It replaces the products z by dL/dz tile by tile. Two
// matrix products with each tile give dW and dH.
#include <atomic>
#include <utility>

#include "core/gemm.h"
#include "core/least_memory.h"
#include "core/scratch.h"
#include "core/threads.h"
#include "kernels/cpu/ops.h"
#include "kernels/loss/cpu/head_gradient_pieces.h"
#include "kernels/loss/cpu/kept_tiles.h"
#include "kernels/loss/cpu/vector_pairs.h"

namespace nine::cpu {
inline namespace NINE_ISA {
namespace {

using ops::HeadGradients;

constexpr int64_t kDepthTile = 128;  // columns of dH and dW that one product writes

// A matrix (rows, columns) as the first factor of TileProduct, which takes some columns at a time.
// The matrix is used in place or, if there is a tile_panel(), copied as [panel][row][column].
template <class T>
class FirstFactor {
 public:
  FirstFactor() = default;
  // Returns the size of the copy in numbers; 0 without a copy.
  static int64_t copied_size(int64_t rows, int64_t columns) {
    const int64_t panel = tile_panel<T>();
    return panel == 0 ? 0 : (columns + panel - 1) / panel * panel * rows;
  }
  // `copy` is memory for copied_size() numbers.
  FirstFactor(const T* x, int64_t ld, int64_t rows, int64_t columns, T* copy) : x_(x), ld_(ld) {
    if (copied_size(rows, columns) == 0) return;
    const int64_t panel = tile_panel<T>();
    const auto copy_panel = [&](int64_t i) {
      for (int64_t r = 0; r < rows; ++r)
        std::copy_n(x + r * ld + i * panel, std::min(panel, columns - i * panel),
                    copy + (i * rows + r) * panel);
    };
    parallel_for((columns + panel - 1) / panel, copy_panel,
                 2.0 * static_cast<double>(rows * columns));
    x_ = copy;
    ld_ = width_ = panel;
    copied_rows_ = rows;
  }

  int64_t ld() const { return ld_; }
  const T* at(int64_t row, int64_t column) const {
    const int64_t within = column % width_;
    return copied_rows_ == 0 ? x_ + row * ld_ + column
                             : x_ + (column - within) * copied_rows_ + row * ld_ + within;
  }
  // Returns how many of `columns` columns from `column` on one product takes.
  int64_t width(int64_t column, int64_t columns) const {
    return std::min(copied_rows_ == 0 ? width_ : width_ - column % width_, columns);
  }

 private:
  const T* x_ = nullptr;
  int64_t ld_ = 0, width_ = kDepthTile, copied_rows_ = 0;
};

// Returns the sum over the rows of a panel, always in the same order.
template <class T>
T sum_lanes(const T* x) {
  T half[kHeadPanel / 2];
  for (int64_t r = 0; r < kHeadPanel / 2; ++r) half[r] = x[r] + x[r + kHeadPanel / 2];
  for (int64_t width = kHeadPanel / 4; width > 0; width /= 2)
    for (int64_t r = 0; r < width; ++r) half[r] += half[r + width];
  return half[0];
}

template <class T>
void add_row(int64_t n, const T* __restrict x, T* __restrict y) {
  for (int64_t m = 0; m < n; ++m) y[m] += x[m];
}

template <class T>
class Backward {
 public:
  Backward(const HeadBlock& block, double row_weight, const HeadGradients& g, Arena& arena)
      : block_(block),
        stack_(block, arena),
        pairs_(stack_),
        lanes_(stack_, row_weight, arena),
        limit_(block, row_weight, stack_.columns(), arena),
        g_(g),
        d_(block.dims()),
        padded_(stack_.panels() * kHeadPanel),
        joint_(block.options.spread != 0 && stack_.size() > 1),
        in_dw_(block.products && g.dw.front().view.data == block.products.data),
        partial_sums_(LeastMemory::wanted() ? std::min<int64_t>(threads(), kHeadChunks)
                                            : kHeadChunks) {
    for (int64_t k = 0; k < stack_.size(); ++k) exact_ = exact_ || pairs_.others(stack_[k]);
    if (g.dnumbers) {
      numbers_ = g.dnumbers.elements();
      partial_numbers_ = pool_array<double>(arena, kHeadChunks * numbers_);
      std::fill_n(partial_numbers_, kHeadChunks * numbers_, 0.0);
    }
    if constexpr (std::is_same_v<T, float>)
      if (stack_.pieces() > 0) pieces_.pack_contexts(stack_, arena);
    const bool any_dw = std::any_of(
        g.dw.begin(), g.dw.end(), [](const OutputView& dw) { return static_cast<bool>(dw.view); });
    const View& h = block.h;
    if (!pieces_.used() && any_dw)
      contexts_ = {row_ptr<T>(h, 0), h.ld, h.rows(), d_,
                   pool_array<T>(arena, FirstFactor<T>::copied_size(h.rows(), d_))};
    if (g.dh) partial_dh_ = pool_array<T>(arena, partial_sums_ * block.h.rows() * d_);
    if (g.dcontext_norm)
      std::fill_n(static_cast<double*>(g.dcontext_norm.data), stack_.size() * block.rows(), 0.0);
    if (g.dh)
      partial_row_stats_ = pool_array<double>(arena, kHeadChunks * stack_.stats() * padded_);
  }

  void run() {
    parallel_for(
        kHeadChunks, [&](int64_t chunk) { run_chunk(chunk); }, 2 * stack_.operations());
    if (g_.dh) finish_dh();
    if (limit_ && g_.left_out) limit_.add_sums(static_cast<double*>(g_.left_out.data));
    for (int64_t i = 0; i < numbers_; ++i)
      for (int64_t c = 0; c < kHeadChunks; ++c)
        static_cast<double*>(g_.dnumbers.data)[i] += partial_numbers_[c * numbers_ + i];
  }

 private:
  // The sums of a thread over the rows of a tile, with one SIMD lane for each row.
  struct Lanes {
    T *bias, *word_stats, *up;
    // [component][panel][word][kHeadPanel]: dL/dS of the VectorPairs that are not targets.
    T* exact;
  };

  void run_chunk(int64_t chunk) {
    const Turn turn(*this, chunk);  // first, because later chunks wait for one that fails
    const auto [begin, end] = chunk_words(block_.words(), chunk);
    // `lanes` has one tile of the pairs that are computed from their vectors.
    const int64_t strip = exact_ ? kHeadTile : stack_.strip_words();
    T* z = block_.products && !in_dw_ ? nullptr
                                      : scratch<T>(Scratch::products, strip * stack_.columns());
    WordPacks packs = stack_.word_packs();
    const int64_t all_panels = stack_.columns() / kHeadPanel;
    uint8_t* const flags =
        limit_ ? scratch<uint8_t>(Scratch::kept_tiles, kStripTiles * all_panels) : nullptr;
    const KeptTiles kept{flags, all_panels};
    // Memory for the bias, for the statistics, and, for smoothed mixtures, for the scores of all
    // components and log p.
    const int64_t up_tiles = joint_ || exact_ || numbers_ > 0 ? stack_.size() + 1 : 0,
                  exact_tiles = exact_ ? stack_.size() * stack_.panels() : 0;
    T* memory =
        scratch<T>(Scratch::lanes, kTileElements * (1 + stack_.stats() + up_tiles + exact_tiles));
    T* up = memory + kTileElements * (1 + stack_.stats());
    const Lanes lanes{memory, memory + kTileElements, up, up + kTileElements * up_tiles};
    if (g_.dh) clear_dh(chunk, begin == end);
    for (int64_t first = begin; first < end; first += strip) {
      const int64_t last = std::min(end, first + strip);
      if (in_dw_)
        take_products(z, first, last - first);
      else if (z != nullptr)
        multiply(z, first, last - first, packs);
      for (int64_t word = first; word < last; word += kHeadTile) {
        const int64_t words = std::min(kHeadTile, last - word);
        T* tile_z = z == nullptr ? nullptr : z + (word - first) * stack_.columns();
        std::fill_n(lanes.exact, kTileElements * exact_tiles, T(0));
        slopes(chunk, tile_z, word, words, lanes);
        if (limit_)
          limit_.mark(chunk, column(z, first, (word - first) * stride(z)), stride(z), words,
                      flags + (word - first) / kHeadTile * all_panels);
        if (g_.dbias.view) add_bias(word, words, lanes.bias);
        add_word_stats(word, words, lanes.word_stats);
      }
      add_dw(z, first, last - first, kept);
      if (g_.dh) add_dh(chunk, z, first, last - first, first == begin, kept);
      for (int64_t word = first; word < last; word += kHeadTile)
        add_targets(chunk, word, std::min(kHeadTile, last - word));
      if (exact_) add_exact_pairs(chunk, first, last - first, lanes.exact);
    }
    turn.take();
  }

  // A chunk's turn to add its dH to the sum of the chunks before it, if there are fewer partial
  // sums than chunks. Chunks begin in order, so a chunk's partial sum has been added when a later
  // chunk begins to use its memory. The destructor ends the turn, also if the chunk failed.
  class Turn {
   public:
    Turn(Backward& all, int64_t chunk) : all_(all), chunk_(chunk) {}
    ~Turn() {
      if (!all_.in_turn()) return;
      wait();
      all_.turn_ = static_cast<int>(chunk_) + 1;
      all_.turn_.notify_all();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    void take() const {
      if (!all_.in_turn()) return;
      wait();
      all_.add_partial_dh(chunk_);
    }

   private:
    void wait() const {
      for (int t = all_.turn_; t != chunk_; t = all_.turn_) all_.turn_.wait(t);
    }
    Backward& all_;
    int64_t chunk_;
  };
  bool in_turn() const { return g_.dh && partial_sums_ < kHeadChunks; }
  void add_partial_dh(int64_t chunk) const {
    for (int64_t k = 0; k < stack_.size(); ++k)
      for (int64_t r = stack_.stacked(k, 0); r < stack_.stacked(k, block_.rows()); ++r) {
        T* sum = row_ptr<T>(g_.dh, r);
        if (chunk == 0)
          std::copy_n(dh_row(chunk, r), d_, sum);
        else
          add_row(d_, dh_row(chunk, r), sum);
      }
  }

  // Copies the products of words from dW's memory, which the words' dW will overwrite.
  void take_products(T* z, int64_t word, int64_t words) const {
    for (int64_t v = 0; v < words; ++v)
      std::copy_n(row_ptr<T>(block_.products, word + v), stack_.columns(),
                  z + v * stack_.columns());
  }

  HeadTile<T> tile(const TilePlace<T>& at, T* z) const {
    if (z == nullptr) return stack_.kept_tile(at);
    return stack_.tile(at, z + at.component.first_column + at.panel * kHeadPanel, padded_,
                       stack_.columns());
  }
  const T* column(T* z, int64_t word, int64_t first) const {
    return (z != nullptr ? z : row_ptr<T>(block_.products, word)) + first;
  }
  int64_t stride(T* z) const { return z != nullptr ? stack_.columns() : block_.products.ld; }

  void multiply(T* z, int64_t word, int64_t words, WordPacks& packs) const {
    for (int64_t k = 0; k < stack_.size(); ++k)
      for (int64_t p = 0; p < stack_.panels(); ++p) {
        const TilePlace<T> at{stack_[k], k, p, word, words};
        stack_.multiply(at, tile(at, z), packs);
      }
  }

  // Replaces z by dL/dz.
  void slopes(int64_t chunk, T* z, int64_t word, int64_t words, const Lanes& lanes) {
    std::fill_n(lanes.bias, words * kHeadPanel, T(0));
    for (int64_t k = 0; k < stack_.size(); ++k)
      std::fill_n(lanes.word_stats + stack_[k].first_stat * kTileElements,
                  words * stack_[k].kernel.stats * kHeadPanel, T(0));
    for (int64_t p = 0; p < stack_.panels(); ++p) {
      if (joint_) joint_slopes(z, p, word, words, lanes.up);
      double* of_numbers = chunk_numbers(chunk);
      for (int64_t k = 0; k < stack_.size(); ++k) {
        const TilePlace<T> at{stack_[k], k, p, word, words};
        const HeadKernel<T>& kernel = at.component.kernel;
        const int learned = learned_by(k);
        T* row_stats =
            scratch<T>(Scratch::reduction, std::max<int64_t>(1, kernel.stats) * kHeadPanel);
        std::fill_n(row_stats, kernel.stats * kHeadPanel, T(0));
        const HeadSums<T> sums{g_.dbias.view ? lanes.bias : nullptr,
                               lanes.word_stats + at.component.first_stat * kTileElements,
                               row_stats};
        const HeadTile<T> t = tile(at, z);
        T* up = lanes.up + k * kTileElements;
        const bool exact_pairs = pairs_.others(at.component);
        if ((exact_pairs || learned > 0) && !joint_) plain_slopes(at, t, up);
        if (exact_pairs)
          extract_exact_pairs(at, t, sums, up,
                              lanes.exact + (k * stack_.panels() + p) * kTileElements);
        if (learned > 0) add_numbers(at, t, up, of_numbers);
        of_numbers += learned;
        if (joint_ || exact_pairs || learned > 0) {
          kernel.loops->slopes(kernel.args, t, up, sums);
        } else {
          kernel.loops->gradients(kernel.args, t, lanes_.of(k, p),
                                  static_cast<typename HeadLanes<T>::Index>(word), sums);
        }
        refuse_not_finite(stack_, at, t.z, t.ld, true);
        put_targets(at, t, sums);
        if (g_.dh) {
          double* to = partial_row_stats_ + chunk * stack_.stats() * padded_ +
                       at.component.first_stat * padded_ + p * kernel.stats * kHeadPanel;
          for (int64_t i = 0; i < kernel.stats * kHeadPanel; ++i)
            to[i] += static_cast<double>(row_stats[i]);
        }
      }
    }
  }

  // Returns how many learned numbers of a component have a gradient.
  int learned_by(int64_t k) const {
    return numbers_ > 0 ? stack_[k].kernel.args.score.learned_count() : 0;
  }
  double* chunk_numbers(int64_t chunk) const { return partial_numbers_ + chunk * numbers_; }
  // Adds the gradients by a component's learned numbers, from the dL/dS of one tile.
  void add_numbers(const TilePlace<T>& at, const HeadTile<T>& t, const T* up, double* out) const {
    const HeadKernel<T>& kernel = at.component.kernel;
    T sums[kMaxScoreNumbers * kHeadPanel] = {};
    kernel.loops->number_gradients(kernel.args, t, up, sums);
    refuse_number_slopes(stack_, at, t, up, sums);
    for (int i = 0; i < kernel.args.score.learned_count(); ++i)
      out[i] += static_cast<double>(sum_lanes(sums + i * kHeadPanel));
  }
  // Returns where a pair of VectorPairs adds its slopes.
  PairSlopes<T> slopes_of_pair(int64_t chunk, int64_t k, int64_t word, int64_t row) const {
    const View &dw = g_.dw[static_cast<size_t>(k)].view,
               &dstats = g_.dstats[static_cast<size_t>(k)];
    return {.dw = dw ? row_ptr<T>(dw, word) : nullptr,
            .dh = g_.dh ? dh_row(chunk, stack_.stacked(k, row)) : nullptr,
            .dstats = dstats ? row_ptr<double>(dstats, word) : nullptr,
            .dg = g_.dcontext_norm
                      ? static_cast<double*>(g_.dcontext_norm.data) + k * block_.rows() + row
                      : nullptr};
  }

  // Computes dL/dS of one panel and all components of a smoothed mixture: R_k p_k(v) - t
  // gamma_k(v), with t = `spread` for every word except the target.
  void joint_slopes(T* z, int64_t panel, int64_t word, int64_t words, T* up) const {
    T* log_p = up + stack_.size() * kTileElements;
    for (int64_t k = 0; k < stack_.size(); ++k) {
      const TilePlace<T> at{stack_[k], k, panel, word, words};
      stack_.scores(at, tile(at, z), up + k * kTileElements);
    }
    mixture_tile(stack_, lanes_, panel, words, up, log_p);
    const int64_t rows = stack_.rows_of(panel);
    for (int64_t k = 0; k < stack_.size(); ++k) {
      const HeadLanes<T> lane = lanes_.of(k, panel);
      const T* log_prior = lanes_.log_prior_of(k, panel);
      for (int64_t v = 0; v < words; ++v) {
        T* a = up + k * kTileElements + v * kHeadPanel;
        const T* all = log_p + v * kHeadPanel;
        const auto here = static_cast<typename HeadLanes<T>::Index>(word + v);
        for (int64_t r = 0; r < kHeadPanel; ++r) {
          const T g =
              lane.weight[r] * vexp(a[r] - log_prior[r]) - lane.shift[r] * vexp(a[r] - all[r]);
          a[r] = r >= rows || lane.target[r] == here ? T(0) : g;
        }
      }
    }
  }

  // Computes dL/dS of one panel of a component, as HeadLoops::gradients does.
  void plain_slopes(const TilePlace<T>& at, const HeadTile<T>& t, T* up) const {
    stack_.scores(at, t, up);
    const HeadLanes<T> lane = lanes_.of(at.index, at.panel);
    const int64_t rows = stack_.rows_of(at.panel);
    for (int64_t v = 0; v < at.words; ++v) {
      const auto here = static_cast<typename HeadLanes<T>::Index>(at.word + v);
      for (int64_t r = 0; r < kHeadPanel; ++r) {
        T& g = up[v * kHeadPanel + r];
        g = r >= rows || lane.target[r] == here
                ? T(0)
                : lane.weight[r] * vexp((g - lane.lse[r]) - lane.lse_rest[r]) - lane.shift[r];
      }
    }
  }

  // Moves the slopes of pairs that are computed from their vectors from `up` to `exact`.
  void extract_exact_pairs(const TilePlace<T>& at, const HeadTile<T>& t, const HeadSums<T>& sums,
                           T* up, T* exact) const {
    pairs_.for_others(at, t, [&](int64_t v, int64_t r) {
      const int64_t i = v * kHeadPanel + r;
      if (sums.bias != nullptr) sums.bias[i] += up[i];
      exact[i] = std::exchange(up[i], T(0));
    });
  }
  void add_exact_pairs(int64_t chunk, int64_t word, int64_t words, const T* exact) const {
    double* of_numbers = chunk_numbers(chunk);
    for (int64_t k = 0; k < stack_.size(); of_numbers += learned_by(k), ++k) {
      for (int64_t p = 0; p < stack_.panels(); ++p, exact += kTileElements)
        for (int64_t v = 0; v < words; ++v)
          for (int64_t lane = 0; lane < stack_.rows_of(p); ++lane) {
            const auto up = static_cast<double>(exact[v * kHeadPanel + lane]);
            const int64_t r = p * kHeadPanel + lane;
            if (up == 0) continue;
            pairs_.add_slopes(k, word + v, r, up, slopes_of_pair(chunk, k, word + v, r));
            if (learned_by(k) > 0) pairs_.add_number_slopes(k, word + v, r, up, of_numbers);
          }
    }
  }

  // Calls f(row, word within the tile) for the rows of a panel whose target lies in the tile, in
  // the order of the rows.
  template <class F>
  void for_targets(const TilePlace<T>& at, F&& f) const {
    const int64_t first = at.panel * kHeadPanel, rows = stack_.rows_of(at.panel);
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t v = stack_.target(first + r) - at.word;
      if (v >= 0 && v < at.words && stack_.target(first + r) >= 0) f(first + r, v);
    }
  }
  double target_slope(int64_t k, int64_t r) const {
    return stack_.kept(block_.target_slope, block_.rows(), k, r);
  }

  // Adds the targets' own dL/dS, which the loops leave out, if the slope goes through the product.
  // add_targets adds the other targets' slopes.
  void put_targets(const TilePlace<T>& at, const HeadTile<T>& t, const HeadSums<T>& sums) const {
    for_targets(at, [&](int64_t r, int64_t v) {
      const double up = target_slope(at.index, r);
      const int64_t lane = r % kHeadPanel;
      if (sums.bias != nullptr) sums.bias[v * kHeadPanel + lane] += static_cast<T>(up);
      if (!pairs_.target_slopes(at.index))
        t.z[v * t.ld + lane] = static_cast<T>(up * pairs_.target_dz(at.index, r, up));
    });
  }
  void add_targets(int64_t chunk, int64_t word, int64_t words) const {
    double* of_numbers = chunk_numbers(chunk);
    for (int64_t k = 0; k < stack_.size(); of_numbers += learned_by(k), ++k) {
      const bool slopes = pairs_.target_slopes(k), numbers = learned_by(k) > 0;
      for (int64_t p = 0; p < stack_.panels() && (slopes || numbers); ++p)
        for_targets({stack_[k], k, p, word, words}, [&](int64_t r, int64_t v) {
          const double up = target_slope(k, r);
          if (numbers) pairs_.add_number_slopes(k, word + v, r, up, of_numbers);
          if (slopes) pairs_.add_slopes(k, word + v, r, up, slopes_of_pair(chunk, k, word + v, r));
        });
    }
  }

  void add_bias(int64_t word, int64_t words, const T* lanes) const {
    T* out = static_cast<T*>(g_.dbias.view.data) + word;
    for (int64_t v = 0; v < words; ++v)
      out[v] = (g_.dbias.add ? out[v] : T(0)) + sum_lanes(lanes + v * kHeadPanel);
  }
  void add_word_stats(int64_t word, int64_t words, const T* lanes) const {
    for (int64_t k = 0; k < stack_.size(); ++k) {
      const View& out = g_.dstats[static_cast<size_t>(k)];
      const int64_t stats = stack_[k].kernel.stats;
      if (!out) continue;
      for (int64_t i = 0; i < words * stats; ++i)
        row_ptr<double>(out, word)[i] += static_cast<double>(
            sum_lanes(lanes + stack_[k].first_stat * kTileElements + i * kHeadPanel));
    }
  }

  // Computes dW (words x d) += tile' H. One product computes consecutive components that share word
  // vectors and multiply whole contexts.
  void add_dw(T* z, int64_t word, int64_t words, const KeptTiles& kept) const {
    for (int64_t k = 0; k < stack_.size();) {
      const StackedComponent<T>& c = stack_[k];
      const OutputView& dw = g_.dw[static_cast<size_t>(k)];
      int64_t next = k + 1;
      while (next < stack_.size() && stack_[next].shares_words && c.kernel.whole(d_) &&
             stack_[next].kernel.whole(d_))
        ++next;
      if (dw.view) {
        const bool fresh = !dw.add && !c.shares_words;
        if (fresh && !c.kernel.whole(d_))
          for (int64_t v = 0; v < words; ++v) std::fill_n(row_ptr<T>(dw.view, word + v), d_, T(0));
        const bool add = !fresh || !c.kernel.whole(d_);
        const int64_t rows = stack_.size() == 1 ? block_.rows() : (next - k) * padded_;
        add_dw_of(c, stack_.stacked(k, 0), rows, column(z, word, c.first_column), stride(z),
                  dw.view, word, words, add, kept.from(c.first_column));
      }
      k = next;
    }
  }
  void add_dw_of(const StackedComponent<T>& c, int64_t first_row, int64_t rows, const T* g,
                 int64_t ldg, const View& dw, int64_t word, int64_t words, bool add,
                 const KeptTiles& kept) const {
    if constexpr (std::is_same_v<T, float>)
      if (pieces_.used())
        return pieces_.add_dw(c, {row_ptr<T>(block_.h, first_row), block_.h.ld, false}, rows,
                              {g, ldg}, padded_, {row_ptr<T>(dw, word), dw.ld, words, add}, kept);
    const HeadKernel<T>& kernel = c.kernel;
    for (int64_t j = 0; j < kernel.parts; ++j) {
      const int64_t part = j * kernel.part_size;
      for (int64_t m = 0, width = 0; m < kernel.product_dims; m += width) {
        width = contexts_.width(part + m, kernel.product_dims - m);
        const TileProduct<T> product(width, words, rows, contexts_.ld(), ldg, dw.ld, add);
        for (int64_t i = 0; i < kernel.parts; ++i) {
          const int64_t plane = (i * kernel.parts + j) * padded_;
          const KeptTiles of_plane = kept.from(plane);
          T* const to = row_ptr<T>(dw, word) + i * kernel.part_size + m;
          if (of_plane.all(1, panels_of(rows))) {
            product(contexts_.at(first_row, part + m), g + plane, to);
            continue;
          }
          bool added = add;  // true if the memory holds a sum
          for (int64_t r = 0; r < rows; r += kHeadPanel) {
            if (!of_plane.kept(0, r / kHeadPanel)) continue;
            TileProduct<T>(width, words, std::min(kHeadPanel, rows - r), contexts_.ld(), ldg, dw.ld,
                           added)(contexts_.at(first_row + r, part + m), g + plane + r, to);
            added = true;
          }
          for (int64_t v = 0; v < words && !added; ++v) std::fill_n(to + v * dw.ld, width, T(0));
        }
      }
    }
  }

  T* dh_row(int64_t chunk, int64_t stacked) const {
    return partial_dh_ + (chunk % partial_sums_ * block_.h.rows() + stacked) * d_;
  }
  void clear_dh(int64_t chunk, bool empty) const {
    std::fill_n(partial_row_stats_ + chunk * stack_.stats() * padded_, stack_.stats() * padded_,
                0.0);
    for (int64_t k = 0; k < stack_.size(); ++k)
      if (empty || !stack_[k].kernel.whole(d_))
        std::fill_n(dh_row(chunk, stack_.stacked(k, 0)), block_.rows() * d_, T(0));
  }
  // Computes the chunk's dH (rows x d) += tile W.
  void add_dh(int64_t chunk, T* z, int64_t word, int64_t words, bool first,
              const KeptTiles& kept_all) const {
    FirstFactor<T> of_words;
    for (int64_t k = 0; k < stack_.size(); ++k) {
      const StackedComponent<T>& c = stack_[k];
      const T* g = column(z, word, c.first_column);
      T* out = dh_row(chunk, stack_.stacked(k, 0));
      const bool add = !first || !c.kernel.whole(d_);
      const KeptTiles kept = kept_all.from(c.first_column);
      if constexpr (std::is_same_v<T, float>)
        if (pieces_.used()) {
          pieces_.add_dh(c, {row_ptr<T>(c.w, word), c.w.ld, false}, words, {g, stride(z), false},
                         padded_, {out, d_, block_.rows(), add}, kept);
          continue;
        }
      if (!c.shares_words)
        of_words = {row_ptr<T>(c.w, word), c.w.ld, words, d_,
                    scratch<T>(Scratch::tile, FirstFactor<T>::copied_size(words, d_))};
      // Multiplies whole panels of rows, then the remaining rows, because libxsmm compiles code for
      // each number of rows.
      const int64_t rows = block_.rows();
      if (!kept.all(1, c.kernel.planes() * stack_.panels())) {
        add_dh_tiles(c.kernel, of_words, words, g, stride(z), out, add, kept);
        continue;
      }
      const int64_t together = rows > kHeadPanel ? rows / kHeadPanel * kHeadPanel : rows;
      add_dh_of(c.kernel, of_words, words, g, stride(z), together, out, add);
      if (together < rows)
        add_dh_of(c.kernel, of_words, words, g + together, stride(z), rows - together,
                  out + together * d_, add);
    }
  }
  // Computes the same for the tiles that are kept, panel by panel.
  void add_dh_tiles(const HeadKernel<T>& kernel, const FirstFactor<T>& of_words, int64_t words,
                    const T* g, int64_t ldg, T* out, bool add, const KeptTiles& kept) const {
    for (int64_t p = 0; p < stack_.panels(); ++p)
      for (int64_t i = 0; i < kernel.parts; ++i) {
        const int64_t part = i * kernel.part_size, rows = stack_.rows_of(p);
        for (int64_t m = 0, width = 0; m < kernel.product_dims; m += width) {
          width = of_words.width(part + m, kernel.product_dims - m);
          const TileProduct<T> product(width, rows, words, of_words.ld(), ldg, d_, add, true);
          for (int64_t j = 0; j < kernel.parts; ++j) {
            const int64_t plane = (i * kernel.parts + j) * padded_;
            T* const to = out + p * kHeadPanel * d_ + j * kernel.part_size + m;
            if (kept.from(plane).kept(0, p)) {
              product(of_words.at(0, part + m), g + plane + p * kHeadPanel, to);
            } else if (!add) {
              for (int64_t r = 0; r < rows; ++r) std::fill_n(to + r * d_, width, T(0));
            }
          }
        }
      }
  }
  void add_dh_of(const HeadKernel<T>& kernel, const FirstFactor<T>& of_words, int64_t words,
                 const T* g, int64_t ldg, int64_t rows, T* out, bool add) const {
    for (int64_t i = 0; i < kernel.parts; ++i) {
      const int64_t part = i * kernel.part_size;
      for (int64_t m = 0, width = 0; m < kernel.product_dims; m += width) {
        width = of_words.width(part + m, kernel.product_dims - m);
        const TileProduct<T> product(width, rows, words, of_words.ld(), ldg, d_, add, true);
        for (int64_t j = 0; j < kernel.parts; ++j)
          product(of_words.at(0, part + m), g + (i * kernel.parts + j) * padded_,
                  out + j * kernel.part_size + m);
      }
    }
  }

  void finish_dh() const {
    for (int64_t k = 0; k < stack_.size(); ++k)
      parallel_ranges(block_.rows(), std::max<int64_t>(1, kGrain / d_),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t r = begin; r < end; ++r) finish_dh_row(k, r);
                      });
  }
  void finish_dh_row(int64_t k, int64_t r) const {
    const int64_t stacked = stack_.stacked(k, r);
    T* out = row_ptr<T>(g_.dh, stacked);
    if (!in_turn()) {
      T* sum = dh_row(0, stacked);  // the sums are formed in place, chunk after chunk
      for (int64_t c = 1; c < kHeadChunks; ++c) add_row(d_, dh_row(c, stacked), sum);
      std::copy_n(sum, d_, out);
    }
    const HeadKernel<T>& kernel = stack_[k].kernel;
    if (kernel.stats == 0) return;
    double* s = scratch<double>(Scratch::reduction, 2 * kernel.stats);
    double* ds = s + kernel.stats;
    kernel.loops->stats(kernel.args, stack_.context(k, r), s);
    for (int64_t i = 0; i < kernel.stats; ++i) {
      ds[i] = 0;
      for (int64_t c = 0; c < kHeadChunks; ++c)
        ds[i] +=
            partial_row_stats_[(c * stack_.stats() + stack_[k].first_stat) * padded_ +
                               (r / kHeadPanel * kernel.stats + i) * kHeadPanel + r % kHeadPanel];
    }
    kernel.loops->stats_backward(kernel.args, stack_.context(k, r), s, ds, out);
  }

  const HeadBlock& block_;
  StackedComponents<T> stack_;
  VectorPairs<T> pairs_;
  StackLanes<T> lanes_;
  TileLimit<T> limit_;
  const HeadGradients& g_;
  int64_t d_, padded_;
  bool joint_;  // true for smoothed labels of a mixture: gradients then depend on the scores of all
                // components
  GradientPieces pieces_;    // the products of dW and dH if they are computed from bfloat16 pieces
  FirstFactor<T> contexts_;  // all stacked rows
  int64_t numbers_ = 0;      // learned numbers of all components that have a gradient
  double* partial_numbers_ = nullptr;  // [chunk][number]
  bool exact_ = false;         // true if a component has pairs that are computed from their vectors
  bool in_dw_;                 // true if the products lie in dW's memory
  int64_t partial_sums_;       // of dH: one for each chunk, or as many as threads (LeastMemory)
  T* partial_dh_ = nullptr;    // [partial sum][stacked row][d]
  std::atomic<int> turn_ = 0;  // the chunk that adds its partial sum next
  double* partial_row_stats_ = nullptr;  // [chunk][component][panel][stats][kHeadPanel]
};

}  // namespace

void head_gradients(const HeadBlock& block, double row_weight, const HeadGradients& g,
                    Arena& arena) {
  dispatch_float(block.h.dtype, "head_gradients", [&]<class T>(T) {
    const Arena::Scope scope(arena);
    Backward<T>(block, row_weight, g, arena).run();
  });
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
