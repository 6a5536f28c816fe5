// The backward pass of a block with CUDA: one pass turns the products z into dL/dz, and two matrix
// products with dL/dz give dW and dH.
#include "core/vmath.h"
#include "cuda/layers.cuh"
#include "cuda/ops.cuh"
#include "kernels/cuda/ops.cuh"
#include "kernels/loss/cuda/kept_tiles.cuh"
#include "kernels/loss/cuda/stacked_components.cuh"

namespace nine::cuda {
namespace {

using ops::HeadGradients;

constexpr const char* kOp = "head_gradients";

// dL/dS from the score plane of one component; 0 for the targets, which are computed elsewhere.
template <class T>
struct PlainUp {
  const T* scores;
  T* up;
  int64_t word, padded;
  const int32_t* targets;
  const T *lse, *lse_rest, *weight, *shift;
  NINE_D void operator()(int64_t v, int64_t r) const {
    const T p = vexp((scores[v * padded + r] - lse[r]) - lse_rest[r]);
    up[v * padded + r] = targets[r] == word + v ? T(0) : weight[r] * p - shift[r];
  }
};

// The same for a smoothed mixture, in place of log pi_k + log p_k(v): R_k p_k(v) - t gamma_k(v),
// with t = `spread` for every word but the target.
template <class T>
struct JointUp {
  T* joint;
  const T* all;  // log p(v)
  int64_t word, padded;
  const int32_t* targets;
  const T *weight, *log_prior, *shift;
  NINE_D void operator()(int64_t v, int64_t r) const {
    T& a = joint[v * padded + r];
    const T own = weight[r] * vexp(a - log_prior[r]) - shift[r] * vexp(a - all[v * padded + r]);
    a = targets[r] == word + v ? T(0) : own;
  }
};

constexpr int kCombineWarps = 16;

// dL/d(statistics of the rows): sums over all tiles of words and, for kernels of parts, over all
// parts of the words. Block (32, kCombineWarps): one row per lane; a warp sums every 16th term,
// then the warps' sums are added in their order. Grid (panels of rows, statistics).
template <class T>
__global__ void combine_row_stats_kernel(
    const T* __restrict__ partial,  // [tile][part of w][part of h][stat of a part][padded]
    int64_t terms, int64_t padded, bool add, double* __restrict__ out) {  // out [stat][padded]
  double* shared = shared_memory<double>();                               // [kCombineWarps][32]
  const int64_t stats = gridDim.y, r = static_cast<int64_t>(blockIdx.x) * kWarp + threadIdx.x;
  const T* own = partial + blockIdx.y * padded + r;
  double sum = 0;
#pragma unroll 8
  for (int64_t i = threadIdx.y; i < terms; i += kCombineWarps)
    sum += static_cast<double>(own[i * stats * padded]);
  shared[threadIdx.y * kWarp + threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0) return;
  for (int i = 1; i < kCombineWarps; ++i) sum += shared[i * kWarp + threadIdx.x];
  put(add, out[blockIdx.y * padded + r], sum);
}

// The gradients of targets that are scored by their angle: dw [row] (rows, d) and the sum in dh;
// for each row d loss / dF and d loss / dG. One warp per row.
template <class T>
struct AngleSlopes {
  AngleTargets<T> all;
  const double* up;
  T *dh, *dw;  // may be null
  int64_t ldh;
  double *of_word_norm, *of_context_norm;    // [row]; of_context_norm may be null
  NINE_D void operator()(int64_t r) const {  // a warp
    const int64_t y = all.targets[r], d = all.d;
    const bool counts = y >= 0 && y < all.w.count;
    if (dw != nullptr)
      for (int64_t i = lane_of_warp(); i < d; i += kWarp) dw[r * d + i] = T(0);
    double by_word = 0, by_context = 0;
    if (counts) {
      const scores::AnglePair<InWarp<T>> pair = all.pair(r, y);
      const scores::AngleScore psi = scores::margin_at(all.margin, pair.cosine, pair.sine);
      pair.add_gradients(psi, up[r], dw != nullptr ? in_warp(dw + r * d) : nullptr,
                         dh != nullptr ? in_warp(dh + r * ldh) : nullptr);
      by_word = up[r] * pair.by_word_scale(psi);
      by_context = up[r] * pair.by_context_scale(psi);
    }
    if (lane_of_warp() != 0) return;
    of_word_norm[r] = by_word;
    if (of_context_norm != nullptr) of_context_norm[r] = by_context;
  }
};
template <class T>
struct NoSlope {
  T* dz;
  NINE_D void operator()(int64_t, int64_t i) const { dz[i] = T(0); }
};
template <class T>
class Backward {
 public:
  Backward(const HeadBlock& block, double row_weight, const HeadGradients& g, Arena& arena)
      : block_(block),
        joint_(block.options.spread != 0 && block.size() > 1),
        stack_(kOp, block, joint_ || has_parts(block) || g.dnumbers, arena),
        lanes_(stack_, StackLanes<T>::Use::gradients, row_weight, arena),
        kept_(kOp, block, row_weight, max_run_words(), block.dims(), arena),
        g_(g),
        device_(stack_.device()),
        d_(block.dims()) {
    const int64_t padded = stack_.padded(),
                  max_tiles = (std::min<int64_t>(block.words(), max_run_words()) + kTileWords - 1) /
                              kTileWords;
    int64_t tile_stats = 0, rows_dw = 0, word_numbers = 1;
    for (int64_t k = 0; k < stack_.size(); ++k) {
      const HeadKernel<T>& kernel = stack_[k].kernel;
      if (g.dh) tile_stats = std::max(tile_stats, kernel.parts * kernel.stats);
      word_numbers = std::max(word_numbers, 1 + kernel.stats / kernel.parts);
      if ((kernel.exact || block.by_angle()) && g.dw[static_cast<size_t>(k)].view)
        rows_dw = stack_.rows();
      row_stats_.push_back(
          g.dh && kernel.stats > 0 ? pool_array<double>(arena, kernel.stats * padded) : nullptr);
    }
    target_dz_ = pool_array<T>(arena, stack_.size() * stack_.rows());
    chunks_ = pool_array<T>(arena, slope_chunks(padded) * word_numbers *
                                       std::min<int64_t>(block.words(), max_run_words()));
    if (tile_stats > 0) partial_ = pool_array<T>(arena, max_tiles * tile_stats * padded);
    if (rows_dw > 0) target_dw_ = pool_array<T>(arena, rows_dw * d_);
    if (block.by_angle()) of_word_norm_ = pool_array<double>(arena, stack_.rows());
    if (block.pieces > 2 && !kept_)
      rest_ = arena.temporary({max_run_words(), stack_.rest_columns()}, DType::bfloat16).view();
  }

  void run() {
    // The gradient of a target that is scored by its angle bypasses the product.
    if (block_.by_angle())
      each(device_, kOp, {1, stack_.size() * stack_.rows()}, NoSlope<T>{target_dz_});
    for (int64_t k = 0; k < stack_.size() && !block_.by_angle(); k += stack_.alike(k).count)
      stack_[k].kernel.launches->target_slopes(
          stack_.score_of(k), stack_.target_rows(k, stack_.alike(k)),
          stack_.kept(block_.target_slope, k), target_dz_ + k * stack_.rows());
    for (int64_t k = 0; k < stack_.size(); ++k) {
      if (g_.dh && !stack_[k].kernel.whole(d_))
        fill(g_.dh.row_range(k * stack_.padded(), stack_.product_rows(1)), 0);
    }
    stack_.for_runs([&](const WordRun& run) {
      stack_.ensure_products(run);
      if (joint_) joint_slopes(run);
      for (int64_t k = 0; k < stack_.size(); ++k) slopes(k, run);
      for (int64_t k = 0; k < stack_.size(); k += kept_ ? 1 : stack_.joint_count(k))
        add_products(k, run);
    });
    for (int64_t k = 0; k < stack_.size(); ++k) finish(k);
  }

 private:
  static bool has_parts(const HeadBlock& block) {
    return std::any_of(block.components.begin(), block.components.end(),
                       [&](const ops::HeadComponent& c) {
                         return HeadKernel<T>(c.score, block.dims()).parts > 1;
                       });
  }
  int64_t max_run_words() const {
    int64_t max_words = 0;
    stack_.for_runs([&](const WordRun& run) { max_words = std::max(max_words, run.count); });
    return max_words;
  }
  int learned_by(int64_t k) const { return g_.dnumbers ? stack_[k].score->learned_count() : 0; }
  double* numbers_of(int64_t k) const {
    auto* out = static_cast<double*>(g_.dnumbers.data);
    for (int64_t before = 0; before < k; ++before) out += learned_by(before);
    return out;
  }
  const T* of_rows(const T* x, int64_t k) const { return x + k * stack_.rows(); }
  const View& dw(int64_t k) const { return g_.dw[static_cast<size_t>(k)].view; }

  void joint_slopes(const WordRun& run) const {
    stack_.scores(run);
    mixture(stack_, lanes_, run);
    for (int64_t k = 0; k < stack_.size(); ++k)
      each(device_, kOp, {run.count, stack_.rows()},
           JointUp<T>{stack_.score_plane(k), stack_.score_plane(stack_.size()), run.begin,
                      stack_.padded(), stack_.targets(), of_rows(lanes_.weight, k),
                      of_rows(lanes_.log_prior, k), lanes_.shift});
  }

  // Replaces component k's products by dL/dz and sums over words and rows.
  void slopes(int64_t k, const WordRun& run) const {
    const StackedComponent<T>& c = stack_[k];
    const ComponentRun<T> products = stack_.component_run(k, run);
    HeadLanes<T> lanes{.lse = of_rows(lanes_.lse, k),
                       .lse_rest = of_rows(lanes_.lse_rest, k),
                       .weight = of_rows(lanes_.weight, k),
                       .shift = lanes_.shift,
                       .target_slope = stack_.kept(block_.target_slope, k),
                       .target_dz = of_rows(target_dz_, k),
                       .up = joint_ ? stack_.score_plane(k) : nullptr,
                       .scores = nullptr};
    const bool learns = learned_by(k) > 0;
    if (c.kernel.parts > 1 || learns) {
      T* scores = stack_.score_plane(joint_ ? stack_.size() : k);
      c.kernel.launches->values(stack_.score_of(k), products, scores);
      if (c.kernel.parts > 1) lanes.scores = scores;
      if (!joint_) {
        T* up = stack_.score_plane(stack_.size());
        each(device_, kOp, {run.count, stack_.rows()},
             PlainUp<T>{scores, up, run.begin, stack_.padded(), stack_.targets(), lanes.lse,
                        lanes.lse_rest, lanes.weight, lanes.shift});
        lanes.up = up;
      }
    }
    if (learns) c.kernel.launches->numbers(stack_.score_of(k), products, lanes.up, numbers_of(k));
    const View &dbias = g_.dbias.view, &dstats = g_.dstats[static_cast<size_t>(k)];
    double* row_stats = row_stats_[static_cast<size_t>(k)];
    c.kernel.launches->slopes(
        stack_.score_of(k), products, lanes,
        {.bias = dbias ? static_cast<T*>(dbias.data) + run.begin : nullptr,
         .add_bias = g_.dbias.add || k > 0,
         .word_stats =
             dstats ? static_cast<double*>(dstats.data) + run.begin * c.kernel.stats : nullptr,
         .row_stats = row_stats != nullptr ? partial_ : nullptr,
         .chunks = chunks_});
    if (row_stats != nullptr)
      launch(device_, kOp, combine_row_stats_kernel<T>,
             dim3(blocks_of(stack_.padded(), kWarp), static_cast<unsigned>(c.kernel.stats)),
             dim3(kWarp, kCombineWarps), kCombineWarps * kWarp * sizeof(double), partial_,
             (run.count + kTileWords - 1) / kTileWords * c.kernel.parts, stack_.padded(),
             run.begin > 0, row_stats);
  }

  // dW (words x d) [+]= Z H and dH (rows x d) [+]= Z' W. If the products take all tiles, one
  // product computes the components that share word vectors.
  void add_products(int64_t k, const WordRun& run) const {
    const StackedComponent<T>& c = stack_[k];
    const HeadKernel<T>& kernel = c.kernel;
    const bool whole = kernel.whole(d_),
               overwrite = !g_.dw[static_cast<size_t>(k)].add && !c.shares_words;
    const View words = dw(k) ? dw(k).row_range(run.begin, run.count) : View{};
    if (words && overwrite && !whole) fill(words, 0);
    for (int64_t i = 0; i < kernel.parts; ++i)
      for (int64_t j = 0; j < kernel.parts; ++j) {
        if (kept_) {
          add_kept_tiles(k, run, i, j, {words, !overwrite || !whole});
          continue;
        }
        for (const PieceColumns& z : stack_.slope_factor(k, run, i, j, rest_)) {
          const int64_t rows = z.pieces[0].cols();
          if (words) {
            Pieces contexts = stack_.context_factor(k, j);
            for (View& piece : contexts)
              if (piece) piece = piece.row_range(z.first, rows);
            stack_.multiply(z.pieces, false, contexts, false,
                            {words.col_range(i * kernel.part_size, kernel.product_dims),
                             !overwrite || !whole || z.first > 0});
          }
          if (!g_.dh) continue;
          const View dh = g_.dh.row_range(k * stack_.padded() + z.first, rows);
          stack_.multiply(
              z.pieces, true, stack_.word_factor(k, run, i), false,
              {dh.col_range(j * kernel.part_size, kernel.product_dims), run.begin > 0 || !whole});
        }
      }
  }

  // Does the same for parts i of words and j of contexts of one component, with the tiles of dL/dz
  // that --head-skip keeps. dw: of all parts; its view may be without memory.
  void add_kept_tiles(int64_t k, const WordRun& run, int64_t i, int64_t j,
                      const OutputView& dw) const {
    const StackedComponent<T>& c = stack_[k];
    const HeadKernel<T>& kernel = c.kernel;
    const auto part = [&](const View& rows, int64_t of) {
      return rows.col_range(of * kernel.part_size, kernel.product_dims);
    };
    View z = stack_.plane(k, run, i, j);
    z.shape = {run.count, stack_.padded()};
    kept_.mark(z, g_.left_out);
    const int64_t first = k * stack_.padded();
    if (dw.view)
      kept_.add_dw(z, part(block_.h.row_range(first, stack_.rows()), j),
                   {part(dw.view, i), dw.add});
    if (g_.dh)
      kept_.add_dh(
          z, part(c.w.row_range(run.begin, run.count), i),
          {part(g_.dh.row_range(first, stack_.rows()), j), run.begin > 0 || !kernel.whole(d_)});
  }

  // Computes the parts that bypass the products: the targets of kernels with an exact score, and
  // the rows' statistics.
  void finish(int64_t k) const {
    const StackedComponent<T>& c = stack_[k];
    if (block_.by_angle()) finish_angles(k);
    if (learned_by(k) > 0)
      c.kernel.launches->exact_numbers(stack_.score_of(k), stack_.target_rows(k),
                                       stack_.kept(block_.target_slope, k), numbers_of(k));
    if (c.kernel.exact && (dw(k) || g_.dh)) {
      c.kernel.launches->exact_slopes(stack_.score_of(k), stack_.target_rows(k),
                                      stack_.kept(block_.target_slope, k), g_.dh ? dh(k) : nullptr,
                                      g_.dh.ld, dw(k) ? target_dw_ : nullptr);
      if (dw(k))
        add_rows<T>(device_, kOp, target_rows(), stack_.targets(), Matrix<T>(dw(k)),
                    false);  // head_scores has reported wrong targets
    }
    if (const double* row_stats = row_stats_[static_cast<size_t>(k)])
      c.kernel.launches->stats_backward(stack_.score_of(k), stack_.contexts(k), row_stats, 1,
                                        stack_.padded(), dh(k), g_.dh.ld);
  }

  void finish_angles(int64_t k) const {
    double* of_context_norm = g_.dcontext_norm ? stack_.kept(g_.dcontext_norm, k) : nullptr;
    each_vector(device_, kOp, stack_.rows(),
                AngleSlopes<T>{stack_.angle_targets(k), stack_.kept(block_.target_slope, k),
                               g_.dh ? dh(k) : nullptr, dw(k) ? target_dw_ : nullptr, g_.dh.ld,
                               of_word_norm_, of_context_norm});
    if (dw(k)) add_rows<T>(device_, kOp, target_rows(), stack_.targets(), Matrix<T>(dw(k)), false);
    const View& dstats = g_.dstats[static_cast<size_t>(k)];
    if (!dstats) return;
    // The second statistic is the norm F that a word was given.
    const Matrix<double> of_words(dstats.col_range(1, 1));
    add_rows<double>(device_, kOp, Matrix<double>(View(of_word_norm_, {stack_.rows(), 1})),
                     stack_.targets(), of_words, false);
  }

  T* dh(int64_t k) const { return static_cast<T*>(g_.dh.data) + k * stack_.padded() * g_.dh.ld; }
  Matrix<T> target_rows() const { return Matrix<T>(View(target_dw_, {stack_.rows(), d_})); }

  const HeadBlock& block_;
  bool joint_;  // smoothed labels of a mixture: gradients then depend on all components' scores
  StackedComponents<T> stack_;
  StackLanes<T> lanes_;
  KeptTiles<T> kept_;
  const HeadGradients& g_;
  CudaDevice& device_;
  int64_t d_;
  T *target_dz_ = nullptr, *partial_ = nullptr, *chunks_ = nullptr, *target_dw_ = nullptr;
  double* of_word_norm_ = nullptr;
  View rest_;                       // see StackedComponents::slope_factor
  std::vector<double*> row_stats_;  // per component: [stat][padded], or null
};

}  // namespace

void head_gradients(const HeadBlock& block, double row_weight, const HeadGradients& g,
                    Arena& arena) {
  dispatch_float(block.h.dtype, "head_gradients", [&]<class T>(T) {
    const Arena::Scope scope(arena);
    Backward<T>(block, row_weight, g, arena).run();
  });
}

}  // namespace nine::cuda
