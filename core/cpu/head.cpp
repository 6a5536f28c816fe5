// The kernel softmax's block operations on the CPU (heads.md section 3, performance.md).
//
// Scores of a block lie by word, rows fastest: maximum, sum and exponent run over words with one row a SIMD lane, and no
// factor of the three products has to be transposed but the gradient tile for dH, in cache. The vocabulary is cut into
// kHeadChunks chunks; a chunk is one task, has partial maxima, sums and its own dH, and these are combined in chunk order.
#include <cmath>
#include <limits>

#include "core/arena.h"
#include "core/cpu/cpu.h"
#include "core/cpu/pieces.h"
#include "core/gemm.h"
#include "core/scores/all.h"
#include "core/scratch.h"
#include "core/vmath.h"

namespace nine::cpu {
namespace {

using ops::HeadBlock;
using ops::kHeadChunks;
using ops::kHeadPanel;
using ops::kHeadTile;

constexpr int64_t kDepthTile = 128;  // columns of dH and dW that one product writes

struct Words {
  int64_t begin, end;
};
// Chunk c of the vocabulary: whole tiles, spread evenly.
Words chunk_words(int64_t vocabulary, int64_t chunk) {
  const int64_t tiles = (vocabulary + kHeadTile - 1) / kHeadTile;
  const auto bound = [&](int64_t c) { return std::min(vocabulary, tiles * c / kHeadChunks * kHeadTile); };
  return {bound(chunk), bound(chunk + 1)};
}

int64_t padded_rows(int64_t rows) { return (rows + kHeadPanel - 1) / kHeadPanel * kHeadPanel; }

// Of the scores' product and what is done to a score.
double operations(const HeadBlock& block) {
  return static_cast<double>(block.h.rows()) * static_cast<double>(block.w.rows()) * static_cast<double>(2 * block.h.cols() + 20);
}

// H as [panel of 32 rows][k][32], rows past the last one zero.
template <class T>
void pack_contexts(const View& h, T* packed) {
  const int64_t d = h.cols();
  parallel_for(
      padded_rows(h.rows()) / kHeadPanel,
      [&](int64_t panel) {
        T* y = packed + panel * kHeadPanel * d;
        const int64_t first = panel * kHeadPanel, rows = std::min(kHeadPanel, h.rows() - first);
        if (rows < kHeadPanel) std::fill_n(y, kHeadPanel * d, T(0));
        transpose_tile(row_ptr<T>(h, first), h.ld, rows, d, y, kHeadPanel);
      },
      4.0 * static_cast<double>(h.elements()));
}

// The target's score as a direct sum: a GEMM's rounding must not put a word above its own normaliser.
template <class T, class S>
void target_scores(const HeadBlock& block, const S& score) {
  const int32_t* target = static_cast<int32_t*>(block.targets.data);
  double* out = static_cast<double*>(block.target_score.data);
  const int64_t d = block.h.cols();
  for (int64_t r = 0; r < block.h.rows(); ++r) {
    require(target[r] >= -1 && target[r] < block.w.rows(), "[head_scores] target ", target[r], " of row ", block.first_row + r,
            " is outside of the vocabulary of ", block.w.rows());
    if (target[r] < 0) continue;
    const T *h = row_ptr<T>(block.h, r), *w = row_ptr<T>(block.w, target[r]);
    constexpr int kLanes = 8;
    double lanes[kLanes] = {};
    int64_t k = 0;
    for (; k + kLanes <= d; k += kLanes)
      for (int j = 0; j < kLanes; ++j) lanes[j] += static_cast<double>(h[k + j]) * static_cast<double>(w[k + j]);
    for (int j = 0; k < d; ++k, ++j) lanes[j] += static_cast<double>(h[k]) * static_cast<double>(w[k]);
    const double z = ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
    const double bias = block.bias ? static_cast<double>(static_cast<T*>(block.bias.data)[target[r]]) : 0;
    out[r] = static_cast<double>(static_cast<T>(score.value(z, static_cast<const double*>(nullptr), static_cast<const double*>(nullptr)) + bias));
  }
}

// Running maximum and sum of exponents for the rows of one panel.
template <class T>
struct RunningSum {
  T top[kHeadPanel];
  double sum[kHeadPanel];

  RunningSum() {
    std::fill_n(top, kHeadPanel, -std::numeric_limits<T>::infinity());
    std::fill_n(sum, kHeadPanel, 0.0);
  }
  // Takes in a tile of scores, [word][row] with leading dimension ld.
  void add(const T* scores, int64_t ld, int64_t words) {
    T high[kHeadPanel], part[kHeadPanel] = {};
    std::copy_n(top, kHeadPanel, high);
    for (int64_t v = 0; v < words; ++v)
      for (int64_t r = 0; r < kHeadPanel; ++r) high[r] = scores[v * ld + r] > high[r] ? scores[v * ld + r] : high[r];
    for (int64_t v = 0; v < words; ++v)
      for (int64_t r = 0; r < kHeadPanel; ++r) part[r] += vexp(scores[v * ld + r] - high[r]);
    for (int64_t r = 0; r < kHeadPanel; ++r) {
      sum[r] = sum[r] * static_cast<double>(vexp(top[r] - high[r])) + static_cast<double>(part[r]);
      top[r] = high[r];
    }
  }
};

// Adds a tile's scores, row by row of the panel, to sums (label smoothing needs sum_v S).
template <class T>
void add_scores(const T* scores, int64_t ld, int64_t words, double* sums) {
  T part[kHeadPanel] = {};
  for (int64_t v = 0; v < words; ++v)
    for (int64_t r = 0; r < kHeadPanel; ++r) part[r] += scores[v * ld + r];
  for (int64_t r = 0; r < kHeadPanel; ++r) sums[r] += static_cast<double>(part[r]);
}

// Scores of one (panel x tile): product, kernel and bias, target's entry put right.
template <class T, class S>
void finish_tile(const HeadBlock& block, const S& score, int64_t panel, int64_t word, int64_t words, T* tile, int64_t ld) {
  const T* bias = block.bias ? static_cast<T*>(block.bias.data) + word : nullptr;
  for (int64_t v = 0; v < words; ++v) {
    const T b = bias != nullptr ? bias[v] : T(0);
    for (int64_t r = 0; r < kHeadPanel; ++r)
      tile[v * ld + r] = score.value(tile[v * ld + r], static_cast<const T*>(nullptr), static_cast<const T*>(nullptr)) + b;
  }
  const int32_t* target = static_cast<int32_t*>(block.targets.data);
  const double* exact = static_cast<double*>(block.target_score.data);
  const int64_t first = panel * kHeadPanel, rows = std::min(kHeadPanel, block.h.rows() - first);
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t v = target[first + r] - word;
    if (target[first + r] >= 0 && v >= 0 && v < words) tile[v * ld + r] = static_cast<T>(exact[first + r]);
  }
}

template <class T, class S>
void scores(const HeadBlock& block, const S& score, Arena& arena) {
  const int64_t rows = block.h.rows(), panels = padded_rows(rows) / kHeadPanel, d = block.h.cols(), vocabulary = block.w.rows();
  target_scores<T>(block, score);
  const Arena::Scope scope(arena);
  T* packed = arena.temporary({panels, d * kHeadPanel}, dtype_of<T>).template data<T>();
  // Partial [chunk][panel]: maxima as double, sums.
  auto* partial = reinterpret_cast<RunningSum<T>*>(
      arena.temporary({kHeadChunks * panels, static_cast<int64_t>(sizeof(RunningSum<T>) / sizeof(double))}, DType::float64).template data<double>());
  // And [chunk][panel][row]: sums of scores, where labels are smoothed.
  const bool smoothed = static_cast<bool>(block.smoothing.score_sum);
  double* partial_scores = smoothed ? arena.temporary({kHeadChunks * panels, kHeadPanel}, DType::float64).template data<double>() : nullptr;
  pack_contexts(block.h, packed);
  T* kept = block.scores ? static_cast<T*>(block.scores.data) : nullptr;

  parallel_for(
      kHeadChunks,
      [&](int64_t chunk) {
        const auto [begin, end] = chunk_words(vocabulary, chunk);
        for (int64_t p = 0; p < panels; ++p) partial[chunk * panels + p] = RunningSum<T>();
        if (smoothed) std::fill_n(partial_scores + chunk * panels * kHeadPanel, panels * kHeadPanel, 0.0);
        T* spare = kept != nullptr ? nullptr : scratch<T>(Scratch::tile, kHeadPanel * kHeadTile);
        const int64_t ld = kept != nullptr ? block.scores.ld : kHeadPanel;
        const TileProduct<T> whole(kHeadPanel, kHeadTile, d, kHeadPanel, block.w.ld, ld, false);
        for (int64_t word = begin; word < end; word += kHeadTile) {
          const int64_t words = std::min(kHeadTile, end - word);
          const TileProduct<T> product = words == kHeadTile ? whole : TileProduct<T>(kHeadPanel, words, d, kHeadPanel, block.w.ld, ld, false);
          for (int64_t p = 0; p < panels; ++p) {
            T* tile = kept != nullptr ? kept + word * ld + p * kHeadPanel : spare;
            product(packed + p * kHeadPanel * d, row_ptr<T>(block.w, word), tile);
            finish_tile(block, score, p, word, words, tile, ld);
            partial[chunk * panels + p].add(tile, ld, words);
            if (smoothed) add_scores(tile, ld, words, partial_scores + (chunk * panels + p) * kHeadPanel);
          }
        }
      },
      operations(block));

  double* lse = static_cast<double*>(block.lse.data);
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t p = r / kHeadPanel, lane = r % kHeadPanel;
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t c = 0; c < kHeadChunks; ++c) top = std::max(top, static_cast<double>(partial[c * panels + p].top[lane]));
    for (int64_t c = 0; c < kHeadChunks; ++c) {
      const RunningSum<T>& part = partial[c * panels + p];
      if (part.sum[lane] != 0) sum += part.sum[lane] * std::exp(static_cast<double>(part.top[lane]) - top);
    }
    lse[r] = top + std::log(sum);
  }
  if (!smoothed) return;
  double* score_sum = static_cast<double*>(block.smoothing.score_sum.data);
  for (int64_t r = 0; r < rows; ++r) {
    score_sum[r] = 0;
    for (int64_t c = 0; c < kHeadChunks; ++c) score_sum[r] += partial_scores[c * panels * kHeadPanel + r];
  }
}

// Turns a tile of scores into dL/dS in place: weight * (p - t), the target's own as expm1(log p).
template <bool kSmoothed, class T>
void gradient_tile(const HeadBlock& block, const T* lse, const T* lse_rest, const T* weight, const T* target_gradient, int64_t word, int64_t words,
                   T* tile, int64_t ld) {
  const int64_t rows = padded_rows(block.h.rows());
  const T spread = static_cast<T>(block.smoothing.spread);
  for (int64_t v = 0; v < words; ++v) {
    T* row = tile + v * ld;
    for (int64_t r = 0; r < rows; ++r) {
      const T p = vexp((row[r] - lse[r]) - lse_rest[r]);
      row[r] = weight[r] * (kSmoothed ? p - spread : p);
    }
  }
  const int32_t* target = static_cast<int32_t*>(block.targets.data);
  for (int64_t r = 0; r < block.h.rows(); ++r) {
    const int64_t v = target[r] - word;
    if (target[r] >= 0 && v >= 0 && v < words) tile[v * ld + r] = target_gradient[r];
  }
}

template <class T, class S>
void gradients(const HeadBlock& block, const S&, double row_weight, const Sink& dh, const Sink& dw, const Sink& dbias, Arena& arena) {
  const int64_t rows = block.h.rows(), stride = block.scores.ld, padded = padded_rows(rows), d = block.h.cols(), vocabulary = block.w.rows();
  const Arena::Scope scope(arena);
  T* per_row = arena.temporary({4, padded}, dtype_of<T>).template data<T>();
  // lse in two parts, so that large scores lose nothing to its rounding.
  T *lse = per_row, *weight = per_row + padded, *target_gradient = per_row + 2 * padded, *lse_rest = per_row + 3 * padded;
  const int32_t* target = static_cast<int32_t*>(block.targets.data);
  const bool smoothed = block.smoothing.spread != 0;
  const double rest = block.smoothing.spread * static_cast<double>(vocabulary - 1);
  for (int64_t r = 0; r < padded; ++r) {
    const bool counts = r < rows && target[r] >= 0;
    // Rows of padding score the bias alone: an infinite lse makes their posteriors 0, however large it is.
    const double exact_lse = r < rows ? static_cast<double*>(block.lse.data)[r] : std::numeric_limits<double>::infinity();
    lse[r] = static_cast<T>(exact_lse);
    lse_rest[r] = r < rows ? static_cast<T>(exact_lse - static_cast<double>(lse[r])) : T(0);
    weight[r] = static_cast<T>(counts ? row_weight : 0);
    // p - t = (p - 1) + (1 - t).
    target_gradient[r] =
        counts ? static_cast<T>(row_weight * (std::expm1(static_cast<double*>(block.target_score.data)[r] - exact_lse) + rest)) : T(0);
  }
  T* partial_dh = dh.view ? arena.temporary({kHeadChunks, rows * d}, dtype_of<T>).template data<T>() : nullptr;
  T* all_scores = static_cast<T*>(block.scores.data);

  parallel_for(
      kHeadChunks,
      [&](int64_t chunk) {
        const auto [begin, end] = chunk_words(vocabulary, chunk);
        T* my_dh = partial_dh + chunk * rows * d;
        T* turned = scratch<T>(Scratch::tile, kHeadTile * kHeadPanel);
        for (int64_t word = begin; word < end; word += kHeadTile) {
          const int64_t words = std::min(kHeadTile, end - word);
          T* g = all_scores + word * stride;
          if (smoothed) {
            gradient_tile<true>(block, lse, lse_rest, weight, target_gradient, word, words, g, stride);
          } else {
            gradient_tile<false>(block, lse, lse_rest, weight, target_gradient, word, words, g, stride);
          }
          if (dbias.view) {
            T* out = static_cast<T*>(dbias.view.data) + word;
            for (int64_t v = 0; v < words; ++v) {
              T lanes[kHeadPanel] = {}, sum = 0;
              for (int64_t r = 0; r < padded; r += kHeadPanel)
                for (int64_t j = 0; j < kHeadPanel; ++j) lanes[j] += g[v * stride + r + j];
              for (const T x : lanes) sum += x;
              out[v] = (dbias.add ? out[v] : T(0)) + sum;
            }
          }
          if (dw.view) {
            for (int64_t k = 0; k < d; k += kDepthTile) {
              const TileProduct<T> product(std::min(kDepthTile, d - k), words, rows, block.h.ld, stride, dw.view.ld, dw.add);
              product(row_ptr<T>(block.h, 0) + k, g, row_ptr<T>(dw.view, word) + k);
            }
          }
          if (dh.view) {
            for (int64_t r = 0; r < rows; r += kHeadPanel) {
              const int64_t panel_rows = std::min(kHeadPanel, rows - r);
              transpose_tile(g + r, stride, words, panel_rows, turned, kHeadTile);
              for (int64_t k = 0; k < d; k += kDepthTile) {
                const TileProduct<T> product(std::min(kDepthTile, d - k), panel_rows, words, block.w.ld, kHeadTile, d, word > begin);
                product(row_ptr<T>(block.w, word) + k, turned, my_dh + r * d + k);
              }
            }
          }
        }
        if (dh.view && begin == end) std::fill_n(my_dh, rows * d, T(0));
      },
      operations(block));

  if (!dh.view) return;
  with_add(dh.add, [&](auto put) {
    for_rows(dh.view, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        T* out = row_ptr<T>(dh.view, r);
        T* first = partial_dh + r * d;  // summed in place, chunk after chunk
        for (int64_t c = 1; c < kHeadChunks; ++c)
          for (int64_t k = 0; k < d; ++k) first[k] += first[c * rows * d + k];
        for (int64_t k = 0; k < d; ++k) put(out[k], first[k]);
      }
    });
  });
}

}  // namespace

void head_scores(const HeadBlock& block, Arena& arena) {
  for_float(block.h.dtype, "head_scores",
            [&]<class T>(T) { nine::scores::visit(block.score, block.w.cols(), [&](const auto& score) { scores<T>(block, score, arena); }); });
}

void head_loss(const View& lse, const View& target_score, const View& targets, double row_weight, const ops::HeadSmoothing& smoothing, int64_t words,
               const View& nll, const Sink& loss) {
  const auto *l = static_cast<double*>(lse.data), *s = static_cast<double*>(target_score.data);
  const auto* target = static_cast<int32_t*>(targets.data);
  auto* out = static_cast<double*>(nll.data);
  double sum = 0;
  for (int64_t r = 0; r < lse.elements(); ++r) sum += out[r] = target[r] >= 0 ? l[r] - s[r] : 0.0;
  if (smoothing.spread != 0) {
    const auto* all = static_cast<double*>(smoothing.score_sum.data);
    for (int64_t r = 0; r < lse.elements(); ++r)
      if (target[r] >= 0) sum += smoothing.spread * (static_cast<double>(words) * s[r] - all[r]);
  }
  auto* total = static_cast<double*>(loss.view.data);
  *total = (loss.add ? *total : 0.0) + row_weight * sum;
}

void head_gradients(const HeadBlock& block, double row_weight, const Sink& dh, const Sink& dw, const Sink& dbias, Arena& arena) {
  for_float(block.h.dtype, "head_gradients", [&]<class T>(T) {
    nine::scores::visit(block.score, block.w.cols(), [&](const auto& score) { gradients<T>(block, score, row_weight, dh, dw, dbias, arena); });
  });
}

}  // namespace nine::cpu
