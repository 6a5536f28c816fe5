#include "kernels/loss/head_scaling.h"

#include "core/ops.h"
#include "kernels/loss/head_blocks.h"

namespace nine {
namespace {

// Returns elements of row k of a (K, n) tensor.
View row_of(const Tensor& t, int64_t k, int64_t count, int64_t first = 0) {
  return vector_part(t.view().reshaped({t.elements()}), k * t.shape().cols() + first, count);
}
View scalar_of(const Tensor& t, int64_t k) { return row_of(t, k, 1); }

}  // namespace

void HeadScaling::start_words(std::span<ops::HeadComponent> components,
                              std::span<const OutputView> dw, std::span<View> dstats,
                              Arena& arena) {
  const int64_t words = components.front().w.rows(), given = norms_.ratios.elements();
  require(given == words || given == words * std::ssize(components), "[kernel_softmax] word norm ",
          to_text(norms_.word), ": ", given, " ratios for ", words,
          " words; they follow from the words' counts in the training text");
  word_norms_ = arena.temporary({static_cast<int64_t>(components.size()), words}, DType::float64);
  for (size_t i = 0; i < components.size(); ++i) {
    ops::HeadComponent& c = components[i];
    c.score = {.kind = ScoreKind::scaled_lin};
    if (i > 0 && c.w.data == components[i - 1].w.data && given == words) {
      c.stats = components[i - 1].stats;
      dstats[i] = dstats[i - 1];
      continue;
    }
    const View norms = row_of(word_norms_, static_cast<int64_t>(i), words);
    c.stats = arena.temporary({words, 2}, DType::float64).view();
    ops::row_norms(c.w, norms);
    ops::word_scales(norms, ratios(i, words), norms_.first_word, c.stats);
    if (!dw[i].view) continue;
    dstats[i] = arena.temporary({words, 2}, DType::float64).view();
    ops::fill(dstats[i], 0);
  }
}

void HeadScaling::finish_words(std::span<const ops::HeadComponent> components,
                               std::span<const OutputView> dw, std::span<const View> dstats) const {
  for (size_t i = 0; i < components.size(); ++i) {
    const ops::HeadComponent& c = components[i];
    if (!dstats[i] || (i > 0 && dstats[i].data == dstats[i - 1].data)) continue;
    ops::word_scales_backward(c.w, row_of(word_norms_, static_cast<int64_t>(i), c.w.rows()),
                              ratios(i, c.w.rows()), norms_.word.through ? norms_.first_word : -1,
                              c.stats, dstats[i], dw[i].view);
  }
}

void HeadScaling::start_contexts(int64_t size, int64_t rows, int64_t block_rows, int64_t d,
                                 DType dtype, bool gradients, Arena& arena) {
  const ContextNorm& norm = norms_.context;
  const auto doubles = [&](const Shape& shape) { return arena.temporary(shape, DType::float64); };
  sizes_ = doubles({size, 1});
  block_norms_ = doubles({size, block_rows});
  scaled_ = arena.temporary({size * block_rows, d}, dtype);
  if (gradients) along_ = doubles({block_rows});
  if (gradients && norm.through) {
    dcontext_ = doubles({size * block_rows});
    dsizes_ = doubles({size, 1});
    ops::fill(dsizes_, 0);
  }
  if (of_these_rows()) {
    all_norms_ = doubles({size, rows});
    rows_ = arena.temporary({size, 1}, DType::int32);
    return;
  }
  if (norm.kind == ContextNorm::Kind::constant) return ops::fill(sizes_, norm.value);
  require(norms_.running.elements() == size, "[kernel_softmax] context norm ", to_text(norm), ": ",
          norms_.running.elements(), " running norms for ", size, " components");
  for (int64_t k = 0; k < size; ++k) ops::running_norm(running(k), scalar_of(sizes_, k));
}

void HeadScaling::measure(int64_t k, int64_t first, const View& contexts) {
  ops::row_norms(contexts, row_of(all_norms_, k, contexts.rows(), first));
}

void HeadScaling::finish_measuring(const View& targets) {
  const double decay = norms_.context.kind == ContextNorm::Kind::max_ema ? kNormDecay : 0;
  const int64_t size = sizes_.shape().rows();
  for (int64_t k = 0; k < size; ++k) {
    ops::largest_norm(row_of(all_norms_, k, targets.elements()), targets, scalar_of(sizes_, k),
                      scalar_of(rows_, k));
    if (norms_.running) ops::update_running_norm(scalar_of(sizes_, k), decay, running(k));
  }
}

View HeadScaling::scaled(const View& stacked, int64_t rows, int64_t padded) {
  const int64_t size = sizes_.shape().rows();
  const View out = scaled_.view().row_range(0, stacked.rows());
  for (int64_t k = 0; k < size; ++k) {
    const View from = stacked.row_range(k * padded, rows), norms = row_of(block_norms_, k, rows);
    ops::row_norms(from, norms);
    ops::set_norms(from, norms, scalar_of(sizes_, k), out.row_range(k * padded, rows));
    if (size > 1 && padded > rows) ops::fill(out.row_range(k * padded + rows, padded - rows), 0);
  }
  return out;
}

void HeadScaling::give(ops::HeadBlock& block) const {
  block.context_norm = sizes_.view().reshaped({sizes_.elements()});
}

void HeadScaling::collect(ops::HeadGradients& gradients, int64_t rows) const {
  if (dcontext_) gradients.dcontext_norm = vector_part(dcontext_, 0, sizes_.elements() * rows);
}

void HeadScaling::backward(int64_t k, const View& contexts, const View& dscaled) {
  const int64_t rows = contexts.rows();
  const View along = vector_part(along_, 0, rows);
  ops::set_norms_backward(contexts, row_of(block_norms_, k, rows), scalar_of(sizes_, k), dscaled,
                          dscaled, along);
  if (!dcontext_) return;
  const View total = scalar_of(dsizes_, k).reshaped({});
  ops::sum(along, {total, true});
  ops::sum(vector_part(dcontext_, k * rows, rows), {total, true});
}

View HeadScaling::ratios(size_t k, int64_t words) const {
  const View all = norms_.ratios.view().reshaped({norms_.ratios.elements()});
  return vector_part(all, all.elements() == words ? 0 : static_cast<int64_t>(k) * words, words);
}

View HeadScaling::running(int64_t k) const {
  return vector_part(norms_.running.view().reshaped({sizes_.elements()}), k, 1);
}

HeadScaling::Largest HeadScaling::largest(int64_t k) const {
  if (!dsizes_) return {};
  const auto row = static_cast<int64_t>(rows_.to_vector()[static_cast<size_t>(k)]);
  if (row < 0) return {};
  const double norm = scalar_of(sizes_, k).item();
  return {row, norm > 0 ? scalar_of(dsizes_, k).item() / norm : 0};
}

}  // namespace nine
