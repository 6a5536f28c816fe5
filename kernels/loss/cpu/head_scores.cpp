// The forward pass of a block on the CPU: the scores of the targets, and the log sum of
// exponentials of each component.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/bf16_product.h"
#include "core/log_sum_exp.h"
#include "core/ops.h"
#include "core/scratch.h"
#include "kernels/cpu/ops.h"
#include "kernels/loss/cpu/vector_pairs.h"

namespace nine::cpu {
inline namespace NINE_ISA {
namespace {

// Computes the targets' scores from the vectors.
template <class T>
void target_scores(const StackedComponents<T>& stack) {
  const HeadBlock& block = stack.block();
  const int64_t rows = block.rows(), words = block.words();
  const View& biases = block.target_bias ? block.target_bias : block.bias;
  double* out = static_cast<double*>(block.target_score.data);
  for (int64_t r = 0; r < rows; ++r)
    require(stack.target(r) >= -1 && stack.target(r) < words, "[head_scores] target ",
            stack.target(r), " of row ", block.first_row + r, " is outside of the vocabulary of ",
            words);
  const VectorPairs<T> pairs(stack);
  for (int64_t k = 0; k < stack.size(); ++k)
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t y = stack.target(r);
      if (y < 0) continue;
      const double bias = biases ? static_cast<double>(static_cast<T*>(biases.data)[y]) : 0;
      const auto rounded = [&](double score) {
        return static_cast<double>(static_cast<T>(score + bias));
      };
      const TargetScore score = pairs.target_score(k, r);
      out[k * rows + r] = rounded(score.value);
      if (block.plain_score)
        static_cast<double*>(block.plain_score.data)[k * rows + r] = rounded(score.plain);
      if (is_expr(stack[k].kernel) && !std::isfinite(out[k * rows + r]))
        refuse_pair(stack, k, y, r, false);
    }
}

// The running log sum of exponentials of the rows of one panel, over the words of a chunk.
template <class T>
using RunningSum = LogSumExpLanes<T, kHeadPanel, double>;

// Adds a tile's scores, row by row of the panel, to sums (label smoothing needs sum_v S).
template <class T>
void add_scores(const T* scores, int64_t words, double* sums) {
  T part[kHeadPanel] = {};
  for (int64_t v = 0; v < words; ++v)
    for (int64_t r = 0; r < kHeadPanel; ++r) part[r] += scores[v * kHeadPanel + r];
  for (int64_t r = 0; r < kHeadPanel; ++r) sums[r] += static_cast<double>(part[r]);
}

// Throws an Error, which names the kernel and the row, if finite vectors have scores without a
// finite log sum of exponentials.
template <class T>
void check_normaliser(const StackedComponents<T>& stack, int64_t k, int64_t r, double lse) {
  if (std::isfinite(lse)) return;
  const HeadBlock& block = stack.block();
  // A bias of -infinity excludes its word. Other biases that are not finite are found in the same
  // way as vectors that are not finite.
  const auto sound = [](const View& bias) {
    const T* b = static_cast<const T*>(bias.data);
    return std::all_of(b, b + bias.elements(),
                       [](T x) { return x < std::numeric_limits<T>::infinity(); });
  };
  if (!ops::all_finite(block.h.row_range(stack.stacked(k, r), 1)) || !ops::all_finite(stack[k].w) ||
      (block.bias && !sound(block.bias)))
    return;
  fail("[kernel_softmax] component ", k, " (", stack[k].kernel.name,
       ") has scores without a finite normaliser (", lse, ") for row ", block.first_row + r,
       " although its vectors are finite: they are too large for this kernel; in training, lower "
       "the learning rate or the initial weights");
}

template <class T>
void combine(const StackedComponents<T>& stack, const RunningSum<T>* partial,
             const double* partial_scores) {
  const HeadBlock& block = stack.block();
  const int64_t rows = block.rows(), all_panels = stack.size() * stack.panels();
  double* lse = static_cast<double*>(block.lse.data);
  double* score_sum = static_cast<double*>(block.score_sum.data);
  for (int64_t k = 0; k < stack.size(); ++k)
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t panel = stack[k].first_panel + r / kHeadPanel, lane = r % kHeadPanel;
      const auto of_chunk = [&](int64_t c) { return partial[c * all_panels + panel].lane(lane); };
      lse[k * rows + r] = LogSumExp::of(kHeadChunks, of_chunk).value();
      check_normaliser(stack, k, r, lse[k * rows + r]);
      if (partial_scores == nullptr) continue;
      double scores = 0;
      for (int64_t c = 0; c < kHeadChunks; ++c)
        scores += partial_scores[(c * all_panels + panel) * kHeadPanel + lane];
      score_sum[k * rows + r] = scores;
    }
}

template <class T>
void run_scores(const HeadBlock& block, Arena& arena) {
  const Arena::Scope scope(arena);
  const StackedComponents<T> stack(block, arena);
  target_scores(stack);
  const int64_t all_panels = stack.size() * stack.panels();
  auto* partial = pool_array<RunningSum<T>>(arena, kHeadChunks * all_panels);
  double* partial_scores =
      block.score_sum ? pool_array<double>(arena, kHeadChunks * all_panels * kHeadPanel) : nullptr;

  parallel_for(
      kHeadChunks,
      [&](int64_t chunk) {
        const auto [begin, end] = chunk_words(block.words(), chunk);
        RunningSum<T>* sums = partial + chunk * all_panels;
        double* score_sums = nullptr;
        for (int64_t p = 0; p < all_panels; ++p) sums[p].clear();
        if (partial_scores != nullptr) {
          score_sums = partial_scores + chunk * all_panels * kHeadPanel;
          std::fill_n(score_sums, all_panels * kHeadPanel, 0.0);
        }
        const int64_t strip = stack.strip_words(), plane = strip * kHeadPanel;
        T* spare =
            block.products ? nullptr : scratch<T>(Scratch::products, stack.max_planes() * plane);
        T* scores = scratch<T>(Scratch::tile, kTileElements);
        WordPacks packs = stack.word_packs();
        for (int64_t first = begin; first < end; first += strip)
          for (int64_t k = 0; k < stack.size(); ++k)
            for (int64_t p = 0; p < stack.panels(); ++p) {
              const int64_t last = std::min(end, first + strip);
              const auto tile_of = [&](const TilePlace<T>& at) {
                return block.products ? stack.kept_tile(at)
                                      : stack.tile(at, spare + (at.word - first) * kHeadPanel,
                                                   plane, kHeadPanel);
              };
              const TilePlace<T> whole{stack[k], k, p, first, last - first};
              stack.multiply(whole, tile_of(whole), packs);
              for (int64_t word = first; word < last; word += kHeadTile) {
                const TilePlace<T> at{stack[k], k, p, word, std::min(kHeadTile, last - word)};
                stack.compute_scores(at, tile_of(at), scores);
                sums[stack[k].first_panel + p].add_terms(scores, at.words);
                if (partial_scores != nullptr)
                  add_scores(scores, at.words,
                             score_sums + (stack[k].first_panel + p) * kHeadPanel);
              }
            }
      },
      stack.operations());
  combine(stack, partial, partial_scores);
}

}  // namespace

void head_stats(const Score& score, const View& w, const View& stats) {
  dispatch_float(w.dtype, "head_stats", [&]<class T>(T) {
    const HeadKernel<T> kernel(score, w.cols());
    for_rows(w, [&](int64_t begin, int64_t end) {
      for (int64_t v = begin; v < end; ++v)
        kernel.loops->stats(kernel.args, row_ptr<T>(w, v), row_ptr<double>(stats, v));
    });
  });
}

void head_stats_backward(const Score& score, const View& w, const View& stats, const View& dstats,
                         const View& dw) {
  dispatch_float(w.dtype, "head_stats_backward", [&]<class T>(T) {
    const HeadKernel<T> kernel(score, w.cols());
    for_rows(w, [&](int64_t begin, int64_t end) {
      for (int64_t v = begin; v < end; ++v)
        kernel.loops->stats_backward(kernel.args, row_ptr<T>(w, v), row_ptr<double>(stats, v),
                                     row_ptr<double>(dstats, v), row_ptr<T>(dw, v));
    });
  });
}

void head_pieces(const View& x, int pieces, bool left, const View& out) {
  const int64_t d = x.cols(), ld = ops::bf16_ld(d);
  for_rows(x, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const float* const from = row_ptr<float>(x, r);
      bfloat16* to = row_ptr<bfloat16>(out, r);
      for (const auto& [of_left, of_right] : bf16::pairs_of(pieces)) {
        for (int64_t i = 0; i < ld; ++i) {
          float rest = i < d ? from[i] : 0;
          for (int p = 0; p < (left ? of_left : of_right); ++p)
            rest -= static_cast<float>(bfloat16(rest));
          to[i] = bfloat16(rest);
        }
        to += ld;
      }
    }
  });
}

void head_scores(const HeadBlock& block, Arena& arena) {
  dispatch_float(block.h.dtype, "head_scores", [&]<class T>(T) { run_scores<T>(block, arena); });
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
