// Computes the log-probability and the scores of every word for the rows of a block, on the CPU.
#include "core/scratch.h"
#include "kernels/cpu/ops.h"
#include "kernels/loss/cpu/stacked_components.h"

namespace nine::cpu {
inline namespace NINE_ISA {
namespace {

// Writes a tile [word][row] into out (rows, V), transposed.
template <class T>
void write_tile(const T* tile, int64_t words, int64_t rows, double* out, int64_t vocabulary) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < words; ++v)
      out[r * vocabulary + v] = static_cast<double>(tile[v * kHeadPanel + r]);
}

template <class T>
void run_inference(const HeadBlock& block, const View& log_probs, const View& scores,
                   Arena& arena) {
  const Arena::Scope scope(arena);
  const StackedComponents<T> stack(block, arena);
  const StackLanes<T> lanes(stack, 0, arena);
  const int64_t size = stack.size(), vocabulary = block.words();
  parallel_for(
      kHeadChunks,
      [&](int64_t chunk) {
        const auto [begin, end] = chunk_words(vocabulary, chunk);
        T* spare = scratch<T>(Scratch::products, stack.max_planes() * kTileElements);
        T* tiles = scratch<T>(Scratch::tile, (size + 1) * kTileElements);
        WordPacks packs = stack.word_packs();
        for (int64_t word = begin; word < end; word += kHeadTile)
          for (int64_t p = 0; p < stack.panels(); ++p) {
            const int64_t words = std::min(kHeadTile, end - word), rows = stack.rows_of(p);
            const auto at = [&](const View& v, int64_t k) {
              return static_cast<double*>(v.data) +
                     (k * block.rows() + p * kHeadPanel) * vocabulary + word;
            };
            for (int64_t k = 0; k < size; ++k) {
              stack.tile_scores({stack[k], k, p, word, words}, spare, packs,
                                tiles + k * kTileElements);
              if (scores)
                write_tile(tiles + k * kTileElements, words, rows, at(scores, k), vocabulary);
            }
            if (!log_probs) continue;
            mixture_tile(stack, lanes, p, words, tiles, tiles + size * kTileElements);
            write_tile(tiles + size * kTileElements, words, rows, at(log_probs, 0), vocabulary);
          }
      },
      stack.operations());
}

}  // namespace

void head_inference(const HeadBlock& block, const View& log_probs, const View& scores,
                    Arena& arena) {
  dispatch_float(block.h.dtype, "head_inference",
                 [&]<class T>(T) { run_inference<T>(block, log_probs, scores, arena); });
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
