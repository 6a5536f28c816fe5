// The forward pass of a block with CUDA: the targets' scores and each component's log sum of
// exponentials; and inference: the log-probability and scores of every word.
#include "core/bf16_product.h"
#include "cuda/bf16.cuh"
#include "kernels/cuda/ops.cuh"
#include "kernels/loss/cuda/stacked_components.cuh"

namespace nine::cuda {
namespace {

// Combines the running sums of all splits of a row. Block (32, kCombineWarps): one row per lane; a
// warp sums every 8th split, then the warps' sums are added in their order. Grid (panels of rows,
// components).
constexpr int kCombineWarps = 8;
template <class T>
__global__ void combine_kernel(
    const RunningSum<T>* __restrict__ partial,  // [component][split][padded]
    int64_t splits, int64_t padded, int64_t rows, double* __restrict__ lse,
    double* __restrict__ score_sum) {      // [component][row]; score_sum may be null
  double* tops = shared_memory<double>();  // [kCombineWarps][32]
  double *sums = tops + kCombineWarps * kWarp, *all_scores = sums + kCombineWarps * kWarp;
  const int64_t r = static_cast<int64_t>(blockIdx.x) * kWarp + threadIdx.x;
  const unsigned own = threadIdx.y * kWarp + threadIdx.x;
  const RunningSum<T>* of_row = partial + blockIdx.y * splits * padded + r;
  LogSumExp all;
  double scores = 0;
  if (r < rows) {
#pragma unroll 4
    for (int64_t i = threadIdx.y; i < splits; i += kCombineWarps) all.cover(of_row[i * padded]);
  }
  tops[own] = all.top;
  __syncthreads();
  for (unsigned i = 0; i < kCombineWarps; ++i) all.cover(tops[i * kWarp + threadIdx.x]);
  if (r < rows) {
#pragma unroll 4
    for (int64_t i = threadIdx.y; i < splits; i += kCombineWarps) {
      const RunningSum<T> part = of_row[i * padded];
      all.add_covered(part);
      scores += part.scores;
    }
  }
  sums[own] = all.sum;
  all_scores[own] = scores;
  __syncthreads();
  if (threadIdx.y != 0 || r >= rows) return;
  for (unsigned i = 1; i < kCombineWarps; ++i) {
    all.sum += sums[i * kWarp + threadIdx.x];
    scores += all_scores[i * kWarp + threadIdx.x];
  }
  lse[blockIdx.y * rows + r] = all.value();
  if (score_sum != nullptr) score_sum[blockIdx.y * rows + r] = scores;
}

// Computes the targets' scores by their angle, with and without the margin.
template <class T>
struct AngleScores {
  AngleTargets<T> all;
  const T* bias;
  double *out, *plain;  // plain may be null
  IndexErrors errors;
  int64_t first_row;
  NINE_D void operator()(int64_t r) const {  // a warp
    const int64_t y = checked(all.targets, r, -1, all.w.count, errors, first_row);
    if (y < 0) return;
    const scores::AnglePair<InWarp<T>> pair = all.pair(r, y);
    const double b = bias != nullptr ? static_cast<double>(bias[y]) : 0.0;
    const scores::AngleScore psi = scores::margin_at(all.margin, pair.cosine, pair.sine);
    if (lane_of_warp() != 0) return;
    out[r] = static_cast<double>(static_cast<T>(pair.score(psi) + b));
    if (plain != nullptr)
      plain[r] = static_cast<double>(static_cast<T>(pair.score({pair.cosine, 1}) + b));
  }
};

template <class T>
void target_scores(const StackedComponents<T>& stack) {
  const HeadBlock& block = stack.block();
  const T* bias = static_cast<T*>((block.target_bias ? block.target_bias : block.bias).data);
  for (int64_t k = 0; k < stack.size() && block.by_angle(); ++k)
    each_vector(stack.device(), "head_scores", stack.rows(),
                AngleScores<T>{stack.angle_targets(k), bias, stack.kept(block.target_score, k),
                               stack.kept(block.plain_score, k),
                               stack.device().index_errors("head_scores"), block.first_row});
  for (int64_t k = 0; k < stack.size() && !block.by_angle(); k += stack.alike(k).count)
    stack[k].kernel.launches->exact(stack.score_of(k), stack.target_rows(k, stack.alike(k)),
                                    block.first_row, bias, stack.kept(block.target_score, k));
}

template <class T>
void run_scores(const HeadBlock& block, Arena& arena) {
  const Arena::Scope scope(arena);
  const StackedComponents<T> stack("head_scores", block, false, arena);
  CudaDevice& device = stack.device();
  const int64_t padded = stack.padded(), splits = stack.splits();
  const auto partial_bytes = static_cast<int64_t>(sizeof(RunningSum<T>)) * splits * padded;
  auto* partial = reinterpret_cast<RunningSum<T>*>(pool_array<double>(
      arena, stack.size() * partial_bytes / static_cast<int64_t>(sizeof(double))));
  target_scores(stack);
  stack.for_runs([&](const WordRun& run) {
    stack.multiply(run);
    for (int64_t k = 0; k < stack.size(); ++k)
      stack[k].kernel.launches->running(stack.score_of(k), stack.component_run(k, run),
                                        partial + (k * splits + run.begin / kSplitWords) * padded);
  });
  launch(device, "head_scores", combine_kernel<T>,
         dim3(blocks_of(stack.rows(), kWarp), static_cast<unsigned>(stack.size())),
         dim3(kWarp, kCombineWarps), 3 * kCombineWarps * kWarp * sizeof(double), partial, splits,
         padded, stack.rows(), stack.kept(block.lse, 0), stack.kept(block.score_sum, 0));
}

// Transposes words by rows to out (rows, V).
template <class T>
struct WriteTransposed {
  const T* plane;
  int64_t padded;
  double* out;
  int64_t ld;
  NINE_D void operator()(int64_t r, int64_t v) const {
    out[r * ld + v] = static_cast<double>(plane[v * padded + r]);
  }
};

template <class T>
void run_inference(const HeadBlock& block, const View& log_probs, const View& scores,
                   Arena& arena) {
  const Arena::Scope scope(arena);
  const StackedComponents<T> stack("head_inference", block, true, arena);
  const StackLanes<T> lanes(stack, StackLanes<T>::Use::posteriors, 1, arena);
  const int64_t words = block.words(), rows = stack.rows();
  stack.for_runs([&](const WordRun& run) {
    const auto write = [&](int64_t plane, double* out) {
      each(stack.device(), "head_inference", {rows, run.count},
           WriteTransposed<T>{stack.score_plane(plane), stack.padded(), out + run.begin, words});
    };
    stack.ensure_products(run);
    stack.scores(run);
    for (int64_t k = 0; k < stack.size() && scores; ++k)
      write(k, static_cast<double*>(scores.data) + k * rows * words);
    if (!log_probs) return;
    mixture(stack, lanes, run);
    write(stack.size(), static_cast<double*>(log_probs.data));
  });
}

// See ops::head_pieces. The padding of a vector is 0.
struct CutVectors {
  Matrix<float> x;
  Matrix<uint16_t> out;
  int64_t ld;
  int pairs;
  int piece_of[6];  // [pair]
  NINE_D void operator()(int64_t r, int64_t c) const {
    float rest = c < x.cols ? x.at(r, c) : 0.0F;
    uint16_t piece[3];
#pragma unroll
    for (uint16_t& p : piece) p = next_piece(rest);
#pragma unroll
    for (int i = 0; i < 6; ++i)
      if (i < pairs)
        out.at(r, i * ld + c) = piece_of[i] == 0   ? piece[0]
                                : piece_of[i] == 1 ? piece[1]
                                                   : piece[2];
  }
};

}  // namespace

void head_stats(const Score& score, const View& w, const View& stats) {
  dispatch_float(w.dtype, "head_stats", [&]<class T>(T) {
    const HeadKernel<T> kernel(score, w.cols());
    kernel.launches->word_stats({CudaDevice::of(w), score, w.cols()},
                                {static_cast<T*>(w.data), w.ld, w.rows()},
                                static_cast<double*>(stats.data));
  });
}

void head_stats_backward(const Score& score, const View& w, const View&, const View& dstats,
                         const View& dw) {
  dispatch_float(w.dtype, "head_stats_backward", [&]<class T>(T) {
    const HeadKernel<T> kernel(score, w.cols());
    kernel.launches->stats_backward(
        {CudaDevice::of(w), score, w.cols()}, {static_cast<T*>(w.data), w.ld, w.rows()},
        static_cast<double*>(dstats.data), kernel.stats, 1, static_cast<T*>(dw.data), dw.ld);
  });
}

void head_pieces(const View& x, int pieces, bool left, const View& out) {
  const int64_t ld = ops::bf16_ld(x.cols());
  CutVectors cut{Matrix<float>(x), Matrix<uint16_t>(out), ld, 0, {}};
  for (const auto& [of_left, of_right] : bf16::pairs_of(pieces))
    cut.piece_of[cut.pairs++] = left ? of_left : of_right;
  each(CudaDevice::of(x), "head_pieces", {x.rows(), ld}, cut);
}

void head_scores(const HeadBlock& block, Arena& arena) {
  dispatch_float(block.h.dtype, "head_scores", [&]<class T>(T) { run_scores<T>(block, arena); });
}

void head_inference(const HeadBlock& block, const View& log_probs, const View& scores,
                    Arena& arena) {
  dispatch_float(block.h.dtype, "head_inference",
                 [&]<class T>(T) { run_inference<T>(block, log_probs, scores, arena); });
}

}  // namespace nine::cuda
