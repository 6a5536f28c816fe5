#include "kernels/loss/cuda/stacked_components.cuh"

#include "core/bf16_product.h"
#include "core/log_sum_exp.h"
#include "kernels/loss/cuda/spare_bytes.h"

namespace nine::cuda {

namespace {
constexpr int64_t kSpareBytes = int64_t{64} << 20;
int64_t spare_bytes = kSpareBytes;
}  // namespace

void set_head_spare_bytes(int64_t bytes) { spare_bytes = bytes > 0 ? bytes : kSpareBytes; }

template <class T>
StackedComponents<T>::StackedComponents(const char* op, const HeadBlock& block, bool with_scores,
                                        Arena& arena)
    : op_(op), block_(block), device_(CudaDevice::of(block.h)) {
  const int64_t d = block.dims(), padded_rows = padded();
  components_.reserve(static_cast<size_t>(size()));
  for (int64_t k = 0; k < size(); ++k) {
    const ops::HeadComponent& c = block.components[static_cast<size_t>(k)];
    const HeadKernel<T> kernel(c.score, d);
    components_.push_back({.kernel = kernel,
                           .score = &c.score,
                           .w = c.w,
                           .pieces = c.pieces,
                           .word_stats = static_cast<double*>(c.stats.data),
                           .first_column = columns_,
                           .shares_words = k > 0 && c.w.data == components_.back().w.data});
    columns_ += kernel.planes() * padded_rows;
  }
  for (int64_t k = 0; k < size(); k += alike(k).count) {
    const HeadKernel<T>& kernel = (*this)[k].kernel;
    if (kernel.stats == 0) continue;
    const Alike same = alike(k);
    T* row_stats = pool_array<T>(arena, same.count * kernel.stats * padded_rows);
    for (int64_t i = 0; i < same.count; ++i)
      components_[static_cast<size_t>(k + i)].row_stats =
          row_stats + i * kernel.stats * padded_rows;
    kernel.launches->row_stats(score_of(k), contexts(k), same, padded_rows, row_stats);
  }
  const int64_t numbers =
      (block.products ? 0 : columns_) + (with_scores ? (size() + 1) * padded_rows : 0);
  const int64_t fitting =
      numbers > 0 ? spare_bytes / (numbers * static_cast<int64_t>(sizeof(T))) : block.words();
  run_words_ = std::min(block.words(), std::max(kSplitWords, fitting / kSplitWords * kSplitWords));
  if (numbers == 0) run_words_ = block.words();
  if (!block.products) spare_ = pool_array<T>(arena, run_words_ * columns_);
  if (with_scores) score_planes_ = pool_array<T>(arena, (size() + 1) * run_words_ * padded_rows);
}

template <class T>
int64_t StackedComponents<T>::joint_count(int64_t k) const {
  int64_t next = k + 1;
  while (next < size() && (*this)[next].shares_words && (*this)[k].kernel.whole(block_.dims()) &&
         (*this)[next].kernel.whole(block_.dims()))
    ++next;
  return next - k;
}

template <class T>
Alike StackedComponents<T>::alike(int64_t k) const {
  const auto words = [&](int64_t i) {  // views may lie in different allocations
    return static_cast<int64_t>(reinterpret_cast<intptr_t>((*this)[i].w.data)) /
           static_cast<int64_t>(sizeof(T));
  };
  const auto same = [&](int64_t i) {
    return *(*this)[i].score == *(*this)[k].score && (*this)[i].w.ld == (*this)[k].w.ld;
  };
  Alike out{.count = 1, .words = 0, .rows = padded()};
  if (k + 1 < size()) out.words = words(k + 1) - words(k);
  while (k + out.count < size() && same(k + out.count) &&
         words(k + out.count) - words(k) == out.count * out.words)
    ++out.count;
  return out;
}

template <class T>
Pieces StackedComponents<T>::pieces_in(const View& cut, bool left, int64_t column,
                                       int64_t columns) const {
  Pieces out;
  int64_t begin = 0;
  for (const auto& [of_left, of_right] : bf16::pairs_of(block_.pieces)) {
    out[static_cast<size_t>(left ? of_left : of_right)] = cut.col_range(begin + column, columns);
    begin += ops::bf16_ld(block_.dims());
  }
  return out;
}
template <class T>
Pieces StackedComponents<T>::word_factor(int64_t k, const WordRun& run, int64_t i) const {
  const StackedComponent<T>& c = (*this)[k];
  const int64_t column = i * c.kernel.part_size, columns = c.kernel.product_dims;
  if (block_.pieces == 0) return {c.w.row_range(run.begin, run.count).col_range(column, columns)};
  return pieces_in(c.pieces.row_range(run.begin, run.count), true, column, columns);
}
template <class T>
Pieces StackedComponents<T>::context_factor(int64_t k, int64_t j) const {
  const HeadKernel<T>& kernel = (*this)[k].kernel;
  const int64_t first = k * padded(), count = product_rows(joint_count(k)),
                column = j * kernel.part_size, columns = kernel.product_dims;
  if (block_.pieces == 0) return {block_.h.row_range(first, count).col_range(column, columns)};
  return pieces_in(block_.h_pieces.row_range(first, count), false, column, columns);
}
template <class T>
View StackedComponents<T>::plane(int64_t k, const WordRun& run, int64_t i, int64_t j) const {
  const StackedComponent<T>& c = (*this)[k];
  View out(products(run) + c.first_column + (i * c.kernel.parts + j) * padded(),
           {run.count, product_rows(joint_count(k))});
  out.device = block_.h.device;
  out.ld = products_ld();
  return out;
}

template <class T>
int64_t StackedComponents<T>::rest_columns() const {
  int64_t columns = 0;
  for (int64_t k = 0; k < size(); k += joint_count(k))
    columns = std::max(columns, joint_count(k) * padded());
  return columns;
}

template <class T>
std::vector<PieceColumns> StackedComponents<T>::slope_factor(int64_t k, const WordRun& run,
                                                             int64_t i, int64_t j,
                                                             const View& rest) const {
  View z = plane(k, run, i, j);
  if (block_.pieces == 0) return {{0, {z}}};
  // Cuts whole panels, whose pieces are aligned; dL/dz of padding rows is 0.
  const int64_t rows = z.cols();
  z.shape = {run.count, joint_count(k) * padded()};
  std::vector<PieceColumns> parts = cut_in_place(
      op_, z, block_.pieces, rest ? rest.row_range(0, run.count).col_range(0, z.cols()) : rest);
  for (PieceColumns& part : parts)
    for (View& piece : part.pieces)
      if (piece) piece = piece.col_range(0, std::min(piece.cols(), rows - part.first));
  return parts;
}

template <class T>
void StackedComponents<T>::multiply(const Pieces& a, bool transpose_a, const Pieces& b,
                                    bool transpose_b, const OutputView& c) const {
  if (block_.pieces > 0)
    return matmul_pieces(op_, block_.pieces, a, transpose_a, b, transpose_b, c);
  // Few rows, for which no pieces were cut, keep all digits: their products take as long as the
  // bytes of W in any precision.
  const bool few = bf16::pieces_on_gpu() > 0;
  cuda::multiply(device_, op_, a[0], transpose_a, b[0], transpose_b, c, 1,
                 few ? MatmulPrecision::highest : matmul_precision());
}

template <class T>
void StackedComponents<T>::multiply(const WordRun& run) const {
  for (int64_t k = 0; k < size(); k += joint_count(k)) {
    const StackedComponent<T>& c = (*this)[k];
    // Adds up all pairs of pieces in one product, so that the plane is written once.
    if (block_.pieces > 1 && c.kernel.whole(block_.dims())) {
      matmul_bf16(op_, c.pieces.row_range(run.begin, run.count), false,
                  block_.h_pieces.row_range(k * padded(), product_rows(joint_count(k))), true,
                  {plane(k, run, 0, 0)});
      continue;
    }
    for (int64_t i = 0; i < c.kernel.parts; ++i)
      for (int64_t j = 0; j < c.kernel.parts; ++j)
        multiply(word_factor(k, run, i), false, context_factor(k, j), true, {plane(k, run, i, j)});
  }
}

template <class T>
ComponentRun<T> StackedComponents<T>::component_run(int64_t k, const WordRun& run) const {
  const StackedComponent<T>& c = (*this)[k];
  return {
      .z = products(run) + c.first_column,
      .ld = products_ld(),
      .word = run.begin,
      .words = run.count,
      .rows = rows(),
      .padded = padded(),
      .word_stats = c.word_stats != nullptr ? c.word_stats + run.begin * c.kernel.stats : nullptr,
      .row_stats = c.row_stats,
      .bias = block_.bias ? static_cast<T*>(block_.bias.data) + run.begin : nullptr,
      .targets = targets(),
      .target_score = kept(block_.target_score, k),
      .scale = static_cast<T>((*this)[k].score->scale)};
}

template <class T>
void StackedComponents<T>::scores(const WordRun& run) const {
  for (int64_t k = 0; k < size(); ++k)
    (*this)[k].kernel.launches->values(score_of(k), component_run(k, run), score_plane(k));
}

namespace {

template <class T>
struct FillLanes {
  int64_t rows;
  double shift_of_1;                       // of a row whose factor is 1
  const double* factors;                   // [row], null: 1
  const double *exact_lse, *exact_weight;  // [component][row]
  const int32_t* targets;
  Matrix<T> prior;  // without memory: no prior
  T *lse, *lse_rest, *log_prior;
  T *weight, *shift;  // null, or both
  NINE_D void operator()(int64_t k, int64_t r) const {
    const int64_t at = k * rows + r;
    const double exact = exact_lse[at];
    lse[at] = static_cast<T>(exact);
    lse_rest[at] = static_cast<T>(exact - static_cast<double>(lse[at]));
    if (weight != nullptr) {
      const bool counts = targets[r] >= 0;
      const double factor = factors != nullptr ? factors[r] : 1;
      weight[at] = counts ? static_cast<T>(exact_weight[at]) : T(0);
      if (k == 0) shift[r] = counts ? static_cast<T>(shift_of_1 * factor) : T(0);
    }
    log_prior[at] = prior.data != nullptr ? prior.at(r, k) : T(0);
  }
};

// Mixes all components of one word and row.
template <class T>
struct Mix {
  T* planes;  // [component, then log p][word][padded]
  int64_t plane, padded, rows, size;
  const T *lse, *lse_rest, *log_prior;
  NINE_D void operator()(int64_t v, int64_t r) const {
    T* s = planes + v * padded + r;
    RunningLogSumExp<T> all;
    for (int64_t k = 0; k < size; ++k) {
      const int64_t at = k * rows + r;
      const T a = ((s[k * plane] - lse[at]) - lse_rest[at]) + log_prior[at];
      s[k * plane] = a;
      all.cover(a);
    }
    for (int64_t k = 0; k < size; ++k) all.add_covered(s[k * plane]);
    s[size * plane] = all.value();
  }
};

}  // namespace

template <class T>
StackLanes<T>::StackLanes(const StackedComponents<T>& stack, Use use, double row_weight,
                          Arena& arena)
    : rows(stack.rows()) {
  const HeadBlock& b = stack.block();
  for (T** v : {&lse, &lse_rest, &log_prior}) *v = pool_array<T>(arena, stack.size() * rows);
  if (use == Use::gradients) {
    weight = pool_array<T>(arena, stack.size() * rows);
    shift = pool_array<T>(arena, rows);
  }
  each(stack.device(), "kernel_softmax", {stack.size(), rows},
       FillLanes<T>{.rows = rows,
                    .shift_of_1 = row_weight * b.options.spread,
                    .factors = static_cast<const double*>(b.row_factor.data),
                    .exact_lse = stack.kept(b.lse, 0),
                    .exact_weight = stack.kept(b.weight, 0),
                    .targets = stack.targets(),
                    .prior = b.log_prior ? Matrix<T>(b.log_prior) : Matrix<T>(),
                    .lse = lse,
                    .lse_rest = lse_rest,
                    .log_prior = log_prior,
                    .weight = weight,
                    .shift = shift});
}

template <class T>
void mixture(const StackedComponents<T>& stack, const StackLanes<T>& lanes, const WordRun& run) {
  each(stack.device(), "kernel_softmax", {run.count, stack.rows()},
       Mix<T>{stack.score_plane(0), stack.score_plane(1) - stack.score_plane(0), stack.padded(),
              stack.rows(), stack.size(), lanes.lse, lanes.lse_rest, lanes.log_prior});
}

#define NINE_HEAD_BLOCK(T)             \
  template class StackedComponents<T>; \
  template struct StackLanes<T>;       \
  template void mixture(const StackedComponents<T>&, const StackLanes<T>&, const WordRun&);
NINE_HEAD_BLOCK(float)
NINE_HEAD_BLOCK(double)
#undef NINE_HEAD_BLOCK

}  // namespace nine::cuda
