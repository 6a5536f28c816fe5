#include "kernels/loss/head_blocks.h"

#include <algorithm>
#include <cmath>

#include "core/bf16_product.h"
#include "core/instruction_set.h"
#include "core/least_memory.h"
#include "core/matmul_precision.h"
#include "core/ops.h"

namespace nine {
namespace {

constexpr int64_t kGroupRows = 224;  // of a group of blocks with tanh(C_k' h)
// Stacked rows of a block on a CPU: the fastest in measurements. Every block reads the word vectors
// twice and adds to their gradients. With AVX2 a block's contexts stay in the second cache.
int64_t stack_rows(DType dtype) {
  const bool fast = bf16::loops() != nullptr || instruction_set() >= InstructionSet::avx512;
  return dtype == DType::float32 && fast ? 576 : 224;
}
// Bytes of a block's products if the components' word vectors are untied.
constexpr int64_t kUntiedBytes = int64_t{128} << 20;
// Bytes of a block's products on a GPU: chosen by calculation, not by measurement.
constexpr int64_t kGpuBytes = int64_t{512} << 20;
int64_t gpu_bytes = kGpuBytes;
// Bytes of a block's products that are little with LeastMemory: about those of a chunk of PyTorch's
// linear_cross_entropy at V = 30,000.
constexpr int64_t kLeastBytes = int64_t{4} << 20;
int64_t least_bytes = kLeastBytes;

// A GPU multiplies fewer rows than this in float32. A product with few rows takes as long as its
// bytes: 4 for each number of W. The pieces of W are written and read besides, 4 bytes for each
// pair. In the time of all those bytes a float32 product of R rows, 2 R operations for each number,
// is done: 50 TFLOP/s and 4.3 TB/s were measured on an H200, 12 operations for a byte.
int64_t gpu_rows_in_pieces = 0;
int64_t fewest_rows_in_pieces(int pieces) {
  if (gpu_rows_in_pieces > 0) return gpu_rows_in_pieces;
  constexpr int64_t kOperationsPerByte = 12;
  const int64_t bytes = 4 + 4 * std::ssize(bf16::pairs_of(pieces));
  return bytes * kOperationsPerByte / 2;
}

View matrix(const View& v) { return v.shape.rank() == 2 ? v : v.reshaped({v.rows(), v.cols()}); }

int64_t planes_of(const HeadSpec& head, int64_t d) {
  int64_t planes = 0;
  for (const Score& s : head.components) planes += ops::head_product_planes(s, d);
  return planes;
}

int64_t whole_panels(int64_t rows) {
  return (rows + ops::kHeadPanel - 1) / ops::kHeadPanel * ops::kHeadPanel;
}

int64_t panels_within(int64_t rows) { return rows / ops::kHeadPanel * ops::kHeadPanel; }

}  // namespace

View vector_part(const View& v, int64_t begin, int64_t count) {
  if (!v) return v;
  View p = v;
  p.data = static_cast<std::byte*>(v.data) + begin * static_cast<int64_t>(size_of(v.dtype));
  p.shape = Shape{count};
  p.ld = count;
  return p;
}

void set_gpu_block_bytes(int64_t bytes) { gpu_bytes = bytes > 0 ? bytes : kGpuBytes; }
void set_gpu_rows_in_pieces(int64_t rows) { gpu_rows_in_pieces = rows; }
void set_least_block_bytes(int64_t bytes) { least_bytes = bytes > 0 ? bytes : kLeastBytes; }

int64_t head_block_rows(const HeadSpec& head, int64_t words, int64_t d, DType dtype,
                        Device device) {
  const int64_t panel = ops::kHeadPanel;
  const bool on_gpu = device.kind != DeviceKind::cpu;
  if (!head.untied && !on_gpu) {
    double stacked = 0;
    for (const Score& s : head.components)
      stacked += std::sqrt(static_cast<double>(ops::head_product_planes(s, d)));
    const auto panels = static_cast<int64_t>(
        std::lround(static_cast<double>(stack_rows(dtype)) / stacked / static_cast<double>(panel)));
    return std::max<int64_t>(1, panels) * panel;
  }
  const int64_t row_bytes = words * planes_of(head, d) * static_cast<int64_t>(size_of(dtype));
  return std::max(
      panel, (on_gpu ? gpu_bytes : kUntiedBytes) / std::max<int64_t>(1, row_bytes) / panel * panel);
}

int64_t balanced_block_rows(int64_t rows, int64_t most) {
  const int64_t blocks = (rows + most - 1) / most;
  return std::min(most, whole_panels((rows + blocks - 1) / blocks));
}

HeadBlocks::HeadBlocks(const char* op, const HeadSpec& head, const Var& h,
                       const HeadWeights& weights, bool gradients)
    : head_(head),
      weights_(weights),
      scaling_(weights.norms),
      arena_(h.tape().arena()),
      contexts_(matrix(h.value())),
      gradients_(gradients) {
  require(rows() > 0, "[", op, "] there are no contexts to score");
  require(!weights.w.empty(), "[", op, "] a head needs word vectors");
  const std::string wrong = head.check(contexts_.cols());
  require(wrong.empty(), "[", op, "] ", wrong);
  resolve_words(op, gradients);
  read_numbers(op, gradients);
  check_shapes(op);
  if (!gradients) return;
  if (weights.bias) dbias_ = weights.bias.grad_input();
  if (mixture()) dprior_ = weights.prior.grad_input();
  if (head.contexts) dlatent_ = weights.latent.grad_input();
}

// Finds component k's word vectors: rows kV .. (k+1)V of the stacked tensors, or all rows if the
// components share word vectors.
void HeadBlocks::resolve_words(const char* op, bool gradients) {
  int64_t all = 0;
  for (const Var& w : weights_.w) all += w.shape().rows();
  const int64_t copies = head_.untied ? size() : 1;
  words_ = all / copies;
  require(words_ > 0, "[", op, "] the vocabulary is empty");
  require(words_ * copies == all, "[", op, "] ", all, " word vectors are not ", copies,
          " times a vocabulary");
  require(head_.untied || weights_.w.size() == 1, "[", op, "] ", weights_.w.size(),
          " tensors of word vectors, but the components share one");
  for (const Var& w : weights_.w) {
    const View value = matrix(w.value());
    const OutputView dw = gradients ? w.grad_input() : OutputView{};
    require(value.rows() % words_ == 0, "[", op, "] word vectors of shape ", w.shape(),
            " for a vocabulary of ", words_);
    for (int64_t first = 0; first < value.rows(); first += words_) {
      const View part = value.row_range(first, words_);
      const View dpart = dw.view ? matrix(dw.view).row_range(first, words_) : View{};
      for (int64_t k = 0; k < (head_.untied ? 1 : size()); ++k) {
        components_.push_back({head_.components[components_.size()], part, {}});
        dw_.push_back({dpart, dw.add});
      }
    }
  }
}

// Stores the learned numbers' values in the components. Waits for a GPU.
void HeadBlocks::read_numbers(const char* op, bool gradients) {
  const std::vector<Var>& all = weights_.numbers;
  if (all.empty()) return;
  int64_t expected = 0;
  for (const ops::HeadComponent& c : components_) expected += c.score.learned_count();
  if (std::ssize(all) != expected)
    fail("[", op, "] ", all.size(), " learned numbers, but the head ", head_.to_text(), " has ",
         expected);
  size_t next = 0;
  for (ops::HeadComponent& c : components_) {
    for (int i = 0; i < kMaxScoreNumbers; ++i) {
      if (!c.score.learns(i)) continue;
      const Var& stored = all[next++];
      require(stored.shape().elements() == 1, "[", op, "] a learned number of shape ",
              stored.shape());
      const bool positive = (c.score.positive >> i & 1) != 0;
      const double x = stored.value().view().item();
      c.score.number(i) = positive ? std::exp(x) : x;
      number_slope_.push_back(positive ? c.score.number(i) : 1);
      dnumber_.push_back(gradients ? stored.grad_input() : OutputView{});
    }
    if (const std::string wrong = check_score(c.score, contexts_.cols()); !wrong.empty())
      fail("[", op, "] ", nine::to_text(c.score), ": ", wrong);
  }
}

void HeadBlocks::check_shapes(const char* op) const {
  const int64_t d = contexts_.cols();
  for (const ops::HeadComponent& c : components_)
    require(c.w.cols() == d, "[", op, "] contexts of shape ", contexts_.shape,
            " do not fit word vectors of shape ", c.w.shape);
  if (mixture())
    require(weights_.prior && weights_.prior.shape() == Shape{size(), d}, "[", op,
            "] a mixture of ", size(), " needs prior.weight of shape (", size(), ", ", d, ")",
            weights_.prior ? concat(", got ", weights_.prior.shape()) : "");
  else
    require(size() == 1, "[", op, "] ", size(), " components are a mixture: say mix:");
  if (head_.contexts)
    require(weights_.latent && weights_.latent.shape() == Shape{size() * d, d}, "[", op,
            "] contexts need latent.weight of shape (", size() * d, ", ", d, ")",
            weights_.latent ? concat(", got ", weights_.latent.shape()) : "");
}

void HeadBlocks::start(const View& targets, const ops::HeadBlockOptions& options, HeadMemory memory,
                       int64_t block_rows, const View& log_prior, const View& dh) {
  const int64_t d = contexts_.cols(), k = size();
  const DType type = contexts_.dtype;
  targets_ = targets.reshaped({rows()});
  require(targets_.dtype == DType::int32, "[kernel_softmax] targets are int32, got ",
          targets_.dtype);
  options_ = options;
  dh_ = dh;
  check_kernels("kernel_softmax", options);
  products_ = planes_of(head_, d);
  // A GPU recomputes scores faster than it reads them.
  for (const ops::HeadComponent& c : components_)
    kept_scores_ += arena_.device() == kCpu ? ops::head_score_planes(c.score) : 0;
  choose_blocks(memory, block_rows);

  start_words();
  cut_words();
  start_biases();
  if (mixture()) {
    log_prior_ = log_prior;
    const Tensor logits = arena_.temporary({rows(), k}, type);
    ops::matmul(contexts_, false, weights_.prior.value(), true, {logits});
    ops::log_softmax(logits, log_prior_);
    if (gradients_) dlogits_ = logits.view();
  }
  if (std::any_of(dnumber_.begin(), dnumber_.end(),
                  [](const OutputView& out) { return static_cast<bool>(out.view); })) {
    dnumbers_ = arena_.temporary({std::ssize(dnumber_)}, DType::float64).view();
    ops::fill(dnumbers_, 0);
  }
  const int64_t most = std::max(first_rows_, block_rows_);
  kept_ = arena_.temporary({7, k * most}, DType::float64);
  if (pieces_ > 0)
    h_pieces_ = arena_.temporary({k * most, ops::head_piece_columns(d, pieces_)}, DType::bfloat16);
  if (keeps_products_) block_products_ = arena_.temporary({words_, products_ * block_rows_}, type);
  if (block_products_ && kept_scores_ > 0)
    block_scores_ = arena_.temporary({words_, kept_scores_ * block_rows_}, type);
  if (k > 1 || head_.contexts) stack_ = arena_.temporary({k * most, d}, type);
  if (scaling_.contexts()) scaling_.start_contexts(k, rows(), most, d, type, gradients_, arena_);
  if (gradients_ && (stack_ || scaling_.contexts()))
    dstack_ = arena_.temporary({k * most, d}, type);
  if (head_.contexts) {
    const int64_t together = std::max(first_group_rows_, group_rows_);
    latent_ = arena_.temporary({together, k * d}, type);
    if (gradients_) dlatent_rows_ = arena_.temporary({together, k * d}, type);
  }
  if (scaling_.contexts() && scaling_.of_these_rows()) measure_contexts();
}

// Chooses the rows of blocks and of groups of blocks, and where the first block's products lie.
void HeadBlocks::choose_blocks(HeadMemory memory, int64_t block_rows) {
  const int64_t all = whole_panels(rows());
  const int64_t most = block_rows > 0 ? block_rows
                                      : head_block_rows(head_, words_, contexts_.cols(),
                                                        contexts_.dtype, arena_.device());
  // On the CPU `most` is the fastest in measurements, and a short last block costs no more per row.
  first_rows_ = block_rows_ =
      arena_.device() == kCpu ? std::min(most, all) : balanced_block_rows(rows(), most);
  keeps_products_ = gradients_ && memory == HeadMemory::blocks;
  if (keeps_products_ && LeastMemory::wanted() && arena_.device() == kCpu && !weights_.norms)
    choose_least_memory();
  group_rows_ = block_rows_;
  if (head_.contexts) group_rows_ = std::max(block_rows_, kGroupRows / block_rows_ * block_rows_);
  group_rows_ = std::min(group_rows_, all);
  first_group_rows_ = products_in_dw_ ? first_rows_ : group_rows_;
}

// Keeps the products of blocks only where they take little memory, or none.
void HeadBlocks::choose_least_memory() {
  const auto number = static_cast<int64_t>(size_of(contexts_.dtype));
  const int64_t d = contexts_.cols(), planes = products_ + kept_scores_;
  if (words_ * planes * block_rows_ * number <= least_bytes) return;
  keeps_products_ = false;
  // A row of the first block takes d numbers of each component: packed, in two threads' partial
  // sums of dH and, for mixtures, as context and product of the context, with gradients.
  const bool pieces = contexts_.dtype == DType::float32 && bf16::loops() != nullptr;
  const int64_t arrays = 3 + (size() > 1 || head_.contexts ? 2 : 0) + (head_.contexts ? 2 : 0),
                panel = words_ * ops::kHeadPanel * number,
                fit = std::max(least_bytes, panel) / (arrays * size() * d * number),
                rows_in_dw = panels_within(std::min(d / planes, pieces ? block_rows_ : fit));
  // A small block saves less than its passes over the words cost.
  products_in_dw_ = rows_in_dw > 0 && 2 * rows_in_dw >= block_rows_ && weights_.w.size() == 1 &&
                    !head_.untied && dw_.front().view && !dw_.front().add &&
                    dw_.front().view.dtype == contexts_.dtype;
  if (products_in_dw_) first_rows_ = std::min(rows_in_dw, whole_panels(rows()));
}

void HeadBlocks::set_rows(const View& factors, const View& losses) {
  for (const View* v : {&factors, &losses})
    require(!*v || (v->elements() == rows() && v->contiguous() && v->dtype == DType::float64 &&
                    v->device == contexts_.device),
            "[kernel_softmax] factor and loss of SoftmaxRows must be ", rows(),
            " float64 numbers side by side on ", contexts_.device, ", got shape ", v->shape, " of ",
            v->dtype, " on ", v->device, v->contiguous() ? "" : ", with gaps");
  row_factors_ = factors;
  row_losses_ = losses;
}

void HeadBlocks::check_kernels(const char* op, const ops::HeadBlockOptions& options) const {
  if (!options.margin && !weights_.norms) return;
  for (const Score& s : head_.components)
    require(s.is_lin(), "[", op, "] margins and norms are for inner products: ", head_.to_text(),
            " has a component ", nine::to_text(s), "; use lin, or a mixture of lin alone");
}

void HeadBlocks::start_words() {
  const int64_t d = contexts_.cols();
  if (scaling_.words()) {
    dstats_.resize(components_.size());
    return scaling_.start_words(components_, dw_, dstats_, arena_);
  }
  for (size_t i = 0; i < components_.size(); ++i) {
    ops::HeadComponent& c = components_[i];
    const int64_t stats = ops::head_stats_size(c.score, d);
    dstats_.push_back({});
    if (stats == 0) continue;
    c.stats = arena_.temporary({words_, stats}, DType::float64).view();
    ops::head_stats(c.score, c.w, c.stats);
    if (!dw_[i].view) continue;
    dstats_.back() = arena_.temporary({words_, stats}, DType::float64).view();
    ops::fill(dstats_.back(), 0);
  }
}

// Cuts the word vectors into bfloat16 pieces once for all blocks, for products of pieces on a GPU.
// The CPU's loops cut a factor's tiles themselves.
void HeadBlocks::cut_words() {
  if (arena_.device() == kCpu || contexts_.dtype != DType::float32) return;
  pieces_ = bf16::pieces_on_gpu();
  if (pieces_ == 0 || rows() * (head_.untied ? 1 : size()) < fewest_rows_in_pieces(pieces_)) {
    pieces_ = 0;
    return;
  }
  const int64_t d = contexts_.cols();
  for (size_t i = 0; i < components_.size(); ++i) {
    ops::HeadComponent& c = components_[i];
    if (i > 0 && c.w.data == components_[i - 1].w.data) {
      c.pieces = components_[i - 1].pieces;
      continue;
    }
    c.pieces =
        arena_.temporary({words_, ops::head_piece_columns(d, pieces_)}, DType::bfloat16).view();
    ops::head_pieces(c.w, pieces_, true, c.pieces);
  }
}

// Computes the words' biases, with the offsets of a sampled softmax.
void HeadBlocks::start_biases() {
  bias_ = weights_.bias ? weights_.bias.value().view() : View{};
  require(static_cast<bool>(weights_.offset) == static_cast<bool>(weights_.target_offset),
          "[kernel_softmax] HeadWeights has one of offset and target_offset: set both or neither");
  if (!weights_.offset) return;
  const auto with_offset = [&](const Tensor& offset) {
    require(offset.elements() == words_, "[kernel_softmax] ", offset.elements(), " offsets for ",
            words_, " words");
    if (!bias_) return offset.view();
    const View sum = arena_.temporary({words_}, contexts_.dtype).view();
    ops::binary(ops::Binary::add, offset.view(), bias_.reshaped({words_}), {sum});
    return sum;
  };
  target_bias_ = with_offset(weights_.target_offset);
  bias_ = with_offset(weights_.offset);
}

// Measures the norms of all contexts before the first block, because all blocks use the largest
// norm.
void HeadBlocks::measure_contexts() {
  for (int64_t group = 0, end = 0; group < rows(); group = end) {
    end = group_end(group);
    compute_contexts(group, end - group);
    for (int64_t first = group, count = 0; first < end; first += count) {
      count = std::min(block_end(first), end) - first;
      const View h = stacked_contexts(first, count, group);
      for (int64_t k = 0; k < size(); ++k)
        scaling_.measure(k, first, h.row_range(k * whole_panels(count), count));
    }
  }
  scaling_.finish_measuring(targets_);
}

void HeadBlocks::compute_contexts(int64_t first, int64_t count) {
  if (!head_.contexts) return;
  ops::matmul(contexts_.row_range(first, count), false, weights_.latent.value(), true,
              {latent_.view().row_range(0, count)});
}

View HeadBlocks::stacked_contexts(int64_t first, int64_t count, int64_t group_first) {
  const int64_t k = size(), d = contexts_.cols(), padded = whole_panels(count),
                stacked = k == 1 ? count : k * padded;
  const View h = contexts_.row_range(first, count);
  if (!stack_) return h;
  const View stack = stack_.view().row_range(0, stacked);
  for (int64_t i = 0; i < k; ++i) {
    const View own = stack.row_range(i * padded, count);
    if (head_.contexts) {
      const View product = latent_.view().row_range(first - group_first, count).col_range(i * d, d);
      ops::unary(ops::Unary::tanh, product, {own});
    } else {
      ops::copy(h, own);
    }
    if (k > 1 && padded > count) ops::fill(stack.row_range(i * padded + count, padded - count), 0);
  }
  return stack;
}

ops::HeadBlock HeadBlocks::block_of(int64_t first, int64_t count, int64_t group_first) {
  const int64_t k = size(), padded = whole_panels(count);
  View h = stacked_contexts(first, count, group_first);
  if (scaling_.contexts()) h = scaling_.scaled(h, count, padded);
  View h_pieces;
  if (pieces_ > 0) {
    h_pieces = h_pieces_.view().row_range(0, h.rows());
    ops::head_pieces(h, pieces_, false, h_pieces);
  }
  const auto kept = [&](int64_t i) {
    const int64_t each = kept_.shape().cols();
    return vector_part(kept_.view().reshaped({7 * each}), i * each, k * count);
  };
  const View in_dw = products_in_dw_ && first == 0 ? dw_.front().view : View{};
  const int64_t products = products_ * padded, scores = kept_scores_ * padded;
  ops::HeadBlock block{.components = components_,
                       .h = h,
                       .bias = bias_,
                       .target_bias = target_bias_,
                       .targets = vector_part(targets_, first, count),
                       .log_prior = log_prior_ ? log_prior_.row_range(first, count) : View{},
                       .row_factor = vector_part(row_factors_, first, count),
                       .options = options_,
                       .pieces = pieces_,
                       .h_pieces = h_pieces,
                       .products = in_dw             ? in_dw.col_range(0, products)
                                   : block_products_ ? block_products_.view().col_range(0, products)
                                                     : View{},
                       .scores = in_dw && scores > 0 ? in_dw.col_range(products, scores)
                                 : block_scores_     ? block_scores_.view().col_range(0, scores)
                                                     : View{},
                       .lse = kept(0),
                       .target_score = kept(1),
                       .plain_score = options_.margin ? kept(6) : View{},
                       .score_sum = options_.spread != 0 && k == 1 ? kept(2) : View{},
                       .share = kept(3),
                       .weight = kept(4),
                       .target_slope = kept(5),
                       .row_loss = vector_part(row_losses_, first, count),
                       .first_row = first};
  if (scaling_.contexts()) scaling_.give(block);
  return block;
}

void HeadBlocks::add_gradients(const ops::HeadBlock& block, double row_weight) {
  const int64_t first = block.first_row, count = block.rows(), padded = block.padded_rows(),
                d = contexts_.cols();
  const View dh = dh_ ? dh_.row_range(first, count) : View{};
  const bool scaled = scaling_.contexts(),
             through_stack = (stack_ || scaled) && (dh_ || dlatent_.view);
  const View dstack = through_stack ? dstack_.view().row_range(0, block.h.rows()) : View{};
  ops::HeadGradients gradients{.dh = through_stack ? dstack : dh,
                               .dw = dw_,
                               .dstats = dstats_,
                               .dbias = dbias_,
                               .dnumbers = dnumbers_,
                               .left_out = left_out_};
  if (through_stack && scaled) scaling_.collect(gradients, count);
  ops::head_gradients(block, row_weight, gradients, arena_);
  for (OutputView& s : dw_) s.add = true;  // further blocks add to what the first one wrote
  dbias_.add = true;
  if (!through_stack) return;
  for (int64_t i = 0; i < size(); ++i) {
    const View own = dstack.row_range(i * padded, count),
               context = stack_ ? stack_.view().row_range(i * padded, count)
                                : contexts_.row_range(first, count);
    if (scaled) scaling_.backward(i, context, own);
    if (head_.contexts) {
      const View out =
          dlatent_rows_.view().row_range(first - group_first_, count).col_range(i * d, d);
      ops::unary_backward(ops::Unary::tanh, context, context, own, {out});
    } else if (dh) {
      ops::scale(1, own, {dh, i > 0});
    }
  }
}

void HeadBlocks::compute_context_gradients(int64_t first, int64_t count) {
  if (!head_.contexts) return;
  const View h = contexts_.row_range(first, count), d = dlatent_rows_.view().row_range(0, count);
  if (dlatent_.view) ops::matmul(d, true, h, false, dlatent_);
  dlatent_.add = true;
  if (dh_) ops::matmul(d, false, weights_.latent.value(), false, {dh_.row_range(first, count)});
}

// Adds the gradient through the norm that all rows of component k share, to the row that has this
// norm.
void HeadBlocks::add_largest_gradient(int64_t k, const HeadScaling::Largest& largest) {
  if (largest.row < 0) return;
  const int64_t d = contexts_.cols();
  const View h = contexts_.row_range(largest.row, 1);
  if (!head_.contexts) {
    if (dh_) ops::scale(largest.gradient, h, {dh_.row_range(largest.row, 1), true});
    return;
  }
  const View product = latent_.view().row_range(0, 1).col_range(k * d, d),
             own = stack_.view().row_range(0, 1), down = dstack_.view().row_range(0, 1),
             latent = weights_.latent.value().view().row_range(k * d, d);
  ops::matmul(h, false, latent, true, {product});
  ops::unary(ops::Unary::tanh, product, {own});
  ops::scale(largest.gradient, own, {down});
  ops::unary_backward(ops::Unary::tanh, own, own, down, {product});
  if (dlatent_.view)
    ops::matmul(product, true, h, false, {dlatent_.view.row_range(k * d, d), true});
  if (dh_) ops::matmul(product, false, latent, false, {dh_.row_range(largest.row, 1), true});
}

void HeadBlocks::finish_number_gradients() {
  const View rounded = arena_.temporary({1}, contexts_.dtype).view();
  for (size_t i = 0; i < dnumber_.size(); ++i) {
    if (!dnumber_[i].view) continue;
    const View exact = vector_part(dnumbers_, static_cast<int64_t>(i), 1);
    ops::scale(number_slope_[i], exact, {exact});
    ops::copy(exact, rounded);
    ops::scale(1, rounded, {dnumber_[i].view.reshaped({1}), dnumber_[i].add});
  }
}

void HeadBlocks::finish_gradients() {
  if (dnumbers_) finish_number_gradients();
  for (int64_t k = 0; k < size() && scaling_.contexts(); ++k)
    add_largest_gradient(k, scaling_.largest(k));
  if (scaling_.words()) scaling_.finish_words(components_, dw_, dstats_);
  for (size_t i = 0; i < components_.size() && !scaling_.words(); ++i)
    if (dstats_[i])
      ops::head_stats_backward(components_[i].score, components_[i].w, components_[i].stats,
                               dstats_[i], dw_[i].view);
  if (!dlogits_) return;
  if (dprior_.view) ops::matmul(dlogits_, true, contexts_, false, dprior_);
  if (dh_) ops::matmul(dlogits_, false, weights_.prior.value(), false, {dh_, true});
}

}  // namespace nine
