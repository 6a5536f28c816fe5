#include "kernels/decoding/head_decoder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/log_sum_exp.h"
#include "core/row_loops.h"
#include "core/scratch.h"
#include "kernels/loss/cpu/stacked_components.h"

namespace nine {
namespace {

constexpr int64_t kPanel = PackedLinear<float>::kPanel;
constexpr int64_t kStackRows = 256;  // stacked rows of a block: its scores fit into the L3 cache
constexpr int64_t kChunks = ops::kHeadChunks;
static_assert(kPanel == ops::kHeadTile, "a chunk of the vocabulary is whole panels");

template <class T>
constexpr T kLowest = -std::numeric_limits<T>::infinity();

template <class T>
T largest(const T* x, int64_t n) {
  return cpu::row_loops<T>().largest(x, n);
}

// Returns the k-th largest of n numbers; the lowest number of T if n < k.
template <class T>
T threshold(const T* x, int64_t n, int64_t k) {
  if (n < k) return kLowest<T>;
  T* order = scratch<T>(Scratch::reduction, n);
  std::copy_n(x, n, order);
  std::nth_element(order, order + k - 1, order + n, std::greater<>());
  return order[k - 1];
}

}  // namespace

template <class T>
struct HeadDecoder<T>::Component {
  cpu::HeadKernel<T> kernel;
  View w;
  std::vector<int64_t> packs;  // of its parts
  int64_t first_stat = 0;      // in a row's statistics
  const T* word_stats = nullptr;
  std::vector<bool> extreme_words;  // see HeadLoops::any_extreme; empty: no word is extreme
  Tensor scales;                    // scaled_lin: (words, 2) float64, see ops::word_scales
};

// Some rows of a query. Row r has K stacked rows, r * K + k, each with `ld` scores.
template <class T>
struct HeadDecoder<T>::Block {
  const T* h;                            // (rows, d)
  const T* stack;                        // (rows * K, d)
  T* scores;                             // (rows * K, ld): scores; in mixtures replaced by e_k(v)
  T* tile_top;                           // (rows * K, tiles)
  T* chunk_top;                          // (rows * K, kChunks)
  double* chunk_sum;                     // (rows * K, kChunks)
  T* factors;                            // (rows * K, kChunks)
  T* row_stats;                          // (rows * K, stats)
  int32_t* extreme_rows;                 // (rows * K): 0 or 1, see HeadLoops::any_extreme
  double *log_prior, *lse;               // (rows * K)
  double* target_score;                  // (rows * K); without targets: of the excluded word
  const int32_t* targets;                // (rows), or null
  int64_t first, rows, size, ld, tiles;  // `first`: the query's row that is row 0 here
  int32_t excluded;
  bool exponents;                                  // true: scores are replaced by e_k(v)
  const typename PackedLinear<T>::Rows* contexts;  // in the order of each_product()
};

template <class T>
HeadDecoder<T>::HeadDecoder(HeadDecoder&& other) noexcept = default;
template <class T>
HeadDecoder<T>::~HeadDecoder() = default;

template <class T>
HeadDecoder<T>::HeadDecoder(const HeadSpec& head, const HeadValues& values)
    : head_(head), norms_(values.norms, head), bias_(values.bias) {
  const int64_t size = head.size(), copies = head.untied ? size : 1;
  require(!values.w.empty(), "[HeadDecoder] a head needs word vectors");
  dims_ = values.w.front().cols();
  const std::string wrong = head.check(dims_);
  require(wrong.empty(), "[HeadDecoder] ", wrong);
  for (Score& s : head_.components)
    if (norms_.words()) s.kind = ScoreKind::scaled_lin;
  int64_t all = 0;
  for (const View& w : values.w) all += w.rows();
  words_ = all / copies;
  require(words_ > 0 && words_ * copies == all && (head.untied || values.w.size() == 1),
          "[HeadDecoder] ", all, " word vectors in ", values.w.size(), " tensors are not ", copies,
          " times a vocabulary");
  for (const View& w : values.w) {
    const View rows = w.reshaped({w.rows(), w.cols()});
    require(rows.cols() == dims_ && rows.rows() % words_ == 0,
            "[HeadDecoder] word vectors of shape ", w.shape, " for ", words_, " words of ", dims_);
    for (int64_t first = 0; first < rows.rows(); first += words_)
      for (int64_t k = 0; k < (head.untied ? 1 : size); ++k)
        add_component(head_.components[components_.size()], rows.row_range(first, words_));
  }
  require(!bias_ || bias_.elements() == words_, "[HeadDecoder] a bias of shape ", bias_.shape,
          " for ", words_, " words");
  if (head.mixture) {
    require(values.prior && values.prior.shape == Shape{size, dims_}, "[HeadDecoder] a mixture of ",
            size, " needs prior.weight of shape (", size, ", ", dims_, ")");
    prior_ = PackedLinear<T>(values.prior);
  }
  if (!head.contexts) return;
  require(values.latent && values.latent.shape == Shape{size * dims_, dims_},
          "[HeadDecoder] contexts need latent.weight of shape (", size * dims_, ", ", dims_, ")");
  latent_ = PackedLinear<T>(values.latent);
}

template <class T>
int64_t HeadDecoder<T>::pack_of(const View& part) {
  const auto same = [&](const Pack& p) {
    return p.of.data == part.data && p.of.cols() == part.cols();
  };
  const auto found = std::find_if(packs_.begin(), packs_.end(), same);
  if (found != packs_.end()) return found - packs_.begin();
  packs_.push_back({part, PackedLinear<T>(part)});
  return static_cast<int64_t>(packs_.size()) - 1;
}

template <class T>
void HeadDecoder<T>::add_component(const Score& score, const View& w) {
  const cpu::HeadKernel<T> kernel(score, dims_);
  std::vector<int64_t> packs;
  for (int64_t i = 0; i < kernel.parts; ++i)
    packs.push_back(pack_of(w.col_range(i * kernel.part_size, kernel.product_dims)));
  one_pack_ = one_pack_ && packs.size() == 1 && packs.front() == 0;
  const T* stats = nullptr;
  std::vector<bool> extreme_words;
  Tensor of_words;
  if (kernel.stats > 0) {
    if (norms_.words()) {
      of_words = norms_.word_scales(w);
    } else {
      of_words = Tensor({words_, kernel.stats}, DType::float64);
      ops::head_stats(score, w, of_words);
    }
    T* transposed =
        word_stats_.emplace_back(Shape{kernel.stats, words_}, dtype_of<T>).template data<T>();
    for (int64_t v = 0; v < words_; ++v)
      for (int64_t i = 0; i < kernel.stats; ++i)
        transposed[i * words_ + v] = static_cast<T>(of_words.data<double>()[v * kernel.stats + i]);
    stats = transposed;
    const auto any_extreme = kernel.loops->any_extreme;
    const double* all = of_words.data<double>();
    if (any_extreme != nullptr && any_extreme(kernel.args, all, words_))
      for (int64_t v = 0; v < words_; ++v)
        extreme_words.push_back(any_extreme(kernel.args, all + v * kernel.stats, 1));
  }
  components_.push_back({kernel, w, std::move(packs), stats_, stats, std::move(extreme_words),
                         norms_.words() ? of_words : Tensor()});
  stats_ += kernel.stats;
}

// Computes the contexts of the block's components, the statistics of each context, and the prior.
template <class T>
void HeadDecoder<T>::stack_contexts(const Block& b, Memory& m) const {
  const int64_t d = dims_, size = b.size;
  if (head_.contexts) {
    latent_(b.h, d, b.rows, m.stack.data(), size * d);
    T* stack = m.stack.data();
    cpu::row_loops<T>().tanh(stack, b.rows * size * d);
  } else if (b.stack != b.h) {
    for (int64_t i = 0; i < b.rows * size; ++i)
      std::copy_n(b.h + i / size * d, d, m.stack.data() + i * d);
  }
  for (int64_t i = 0; i < b.rows * size && norms_.contexts(); ++i)
    norms_.set_norm(i % size, m.stack.data() + i * d, d);
  std::vector<double> stats(static_cast<size_t>(stats_));
  for (int64_t i = 0; i < b.rows * size && stats_ > 0; ++i) {
    const Component& c = components_[static_cast<size_t>(i % size)];
    c.kernel.loops->stats(c.kernel.args, b.stack + i * d, stats.data());
    for (int64_t j = 0; j < c.kernel.stats; ++j)
      b.row_stats[i * stats_ + c.first_stat + j] = static_cast<T>(stats[static_cast<size_t>(j)]);
    const auto any_extreme = c.kernel.loops->any_extreme;
    b.extreme_rows[i] =
        any_extreme != nullptr && any_extreme(c.kernel.args, stats.data(), 1) ? 1 : 0;
  }
  if (!head_.mixture) {
    std::fill_n(b.log_prior, b.rows * size, 0.0);
    return;
  }
  T* logits = m.prior.get(b.rows * size);
  prior_(b.h, d, b.rows, logits, size);
  for (int64_t r = 0; r < b.rows; ++r) {
    const T *x = logits + r * size, top = *std::max_element(x, x + size);
    const auto logit = [&](int64_t k) { return static_cast<double>(x[k] - top); };
    const double lse = LogSumExp::of(size, logit).value();
    for (int64_t k = 0; k < size; ++k) b.log_prior[r * size + k] = logit(k) - lse;
  }
}

// Calls f(words, x, ld, rows) for the contexts of each product of a panel: all stacked rows at
// once, or each component's rows, part by part. The contexts are prepared in the same way for every
// part of the words.
template <class T>
template <class F>
void HeadDecoder<T>::each_product(const Block& b, F&& f) const {
  if (one_pack_) return f(packs_.front().words, b.stack, dims_, b.rows * b.size);
  for (int64_t k = 0; k < b.size; ++k) {
    const Component& c = components_[static_cast<size_t>(k)];
    for (int64_t j = 0; j < c.kernel.parts; ++j)
      f(packs_[static_cast<size_t>(c.packs.front())].words,
        b.stack + k * dims_ + j * c.kernel.part_size, b.size * dims_, b.rows);
  }
}

template <class T>
void HeadDecoder<T>::prepare_contexts(Block& b, Memory& m) const {
  using Words = PackedLinear<T>;
  int64_t numbers = 0;
  each_product(b, [&](const Words& words, const T*, int64_t, int64_t rows) {
    numbers += words.piece_numbers(rows);
  });
  bfloat16* pieces = m.pieces.get(numbers);
  m.contexts.clear();
  each_product(b, [&](const Words& words, const T* x, int64_t ld, int64_t rows) {
    m.contexts.push_back(words.rows(x, ld, rows, pieces));
    pieces += words.piece_numbers(rows);
  });
  b.contexts = m.contexts.data();
}

// Computes the scores of one panel of words for all stacked rows.
template <class T>
void HeadDecoder<T>::score_panel(const Block& b, int64_t panel) const {
  const int64_t size = b.size, d = dims_, word = panel * kPanel,
                words = std::min(kPanel, words_ - word);
  T* scores = b.scores + word;
  const auto* contexts = b.contexts;
  if (one_pack_) packs_.front().words.multiply(panel, *contexts, scores, b.ld);
  for (int64_t k = 0; k < size; ++k) {
    const Component& c = components_[static_cast<size_t>(k)];
    const int64_t parts = c.kernel.parts, plane = b.rows * kPanel;
    T* pairs = parts > 1 ? scratch<T>(Scratch::products, parts * parts * plane) : nullptr;
    for (int64_t i = 0; i < parts && !one_pack_; ++i) {
      const PackedLinear<T>& w = packs_[static_cast<size_t>(c.packs[static_cast<size_t>(i)])].words;
      for (int64_t j = 0; j < parts; ++j) {
        if (parts > 1) {
          w.multiply(panel, contexts[j], pairs + (i * parts + j) * plane, kPanel);
        } else {
          w.multiply(panel, *contexts, scores + k * b.ld, size * b.ld);
        }
      }
    }
    if (!one_pack_) contexts += parts;
    if (c.kernel.args.score.is_lin()) continue;  // the product is the score
    for (int64_t r = 0; r < b.rows; ++r) {
      T* row = scores + (r * size + k) * b.ld;
      const T* row_stats =
          stats_ > 0 ? b.row_stats + (r * size + k) * stats_ + c.first_stat : nullptr;
      c.kernel.loops->row_values(
          c.kernel.args,
          {.z = parts > 1 ? pairs + r * kPanel : row,
           .plane = plane,
           .words = words,
           .word_stats = c.word_stats != nullptr ? c.word_stats + word : nullptr,
           .word_stride = words_,
           .row_stats = row_stats},
          row);
      const bool all_exact = stats_ > 0 && b.extreme_rows[r * size + k] != 0;
      for (int64_t v = 0; v < words && (all_exact || !c.extreme_words.empty()); ++v)
        if (all_exact || c.extreme_words[static_cast<size_t>(word + v)])
          row[v] = static_cast<T>(c.kernel.loops->exact(
              c.kernel.args, cpu::row_ptr<T>(c.w, word + v), b.stack + (r * size + k) * d));
    }
  }
}

// Adds the bias, stores the targets' exact scores, and removes the excluded word. Then finds each
// row's largest score in the panel.
template <class T>
void HeadDecoder<T>::finish_panel(const Block& b, int64_t panel) const {
  const int64_t word = panel * kPanel, words = std::min(kPanel, words_ - word);
  const T* bias = bias_ ? static_cast<T*>(bias_.data) + word : nullptr;
  for (int64_t i = 0; i < b.rows * b.size; ++i) {
    T* row = b.scores + i * b.ld + word;
    if (bias != nullptr) cpu::row_loops<T>().scaled(T(1), bias, words, true, row);
    const int64_t target = b.targets != nullptr ? b.targets[i / b.size] - word : -1;
    if (target >= 0 && target < words) row[target] = static_cast<T>(b.target_score[i]);
    if (b.excluded >= word && b.excluded < word + words) {
      b.target_score[i] = static_cast<double>(row[b.excluded - word]);
      row[b.excluded - word] = kLowest<T>;
    }
    b.tile_top[i * b.tiles + panel] = largest(row, words);
  }
}

template <class T>
void HeadDecoder<T>::sum_chunk(const Block& b, int64_t chunk) const {
  const auto [begin, end] = cpu::chunk_words(words_, chunk);
  const int64_t first = begin / kPanel, tiles = (end - begin + kPanel - 1) / kPanel;
  for (int64_t i = 0; i < b.rows * b.size; ++i) {
    const T top = tiles > 0 ? largest(b.tile_top + i * b.tiles + first, tiles) : kLowest<T>;
    b.chunk_top[i * kChunks + chunk] = top;
    double& sum = b.chunk_sum[i * kChunks + chunk];
    T* row = b.scores + i * b.ld + begin;
    if (top == kLowest<T>) {
      sum = 0;
      if (b.exponents) std::fill_n(row, end - begin, T(0));
    } else {
      sum = cpu::row_loops<T>().exponents(row, end - begin, top, b.exponents);
    }
  }
}

template <class T>
void HeadDecoder<T>::normalise(const Block& b) const {
  for (int64_t i = 0; i < b.rows * b.size; ++i) {
    const auto chunk = [&](int64_t c) {
      return RunningLogSumExp<T, double>{b.chunk_top[i * kChunks + c],
                                         b.chunk_sum[i * kChunks + c]};
    };
    b.lse[i] = LogSumExp::of(kChunks, chunk).value();
    require(std::isfinite(b.lse[i]), "[HeadDecoder] component ", i % b.size, " (",
            components_[static_cast<size_t>(i % b.size)].kernel.name,
            ") has scores without a finite normaliser (", b.lse[i], ") for row ",
            b.first + i / b.size,
            ": the model's weights are not finite, or too large for this kernel");
  }
  if (b.excluded >= 0) {
    for (int64_t r = 0; r < b.rows; ++r) weigh_without_excluded(b, r);
  }
  for (int64_t i = 0; i < b.rows * b.size; ++i)
    for (int64_t c = 0; c < kChunks; ++c) {
      const double top = static_cast<double>(b.chunk_top[i * kChunks + c]);
      b.factors[i * kChunks + c] = static_cast<T>(std::exp(b.log_prior[i] + top - b.lse[i]));
    }
}

// Computes the components' weights without the excluded word: pi_k (1 - p_k(excluded)), normalised
// over k. Works with logarithms, because the weights may be as small as e^-1000 for all components.
template <class T>
void HeadDecoder<T>::weigh_without_excluded(const Block& b, int64_t row) const {
  double* weight = b.log_prior + row * b.size;
  for (int64_t k = 0; k < b.size; ++k) {
    // The logarithm of p_k(excluded) / (1 - p_k(excluded)): lse is over the other words.
    const double log_odds = b.target_score[row * b.size + k] - b.lse[row * b.size + k];
    weight[k] -=
        log_odds > 0 ? log_odds + std::log1p(std::exp(-log_odds)) : std::log1p(std::exp(log_odds));
  }
  const double all = LogSumExp::of(b.size, [&](int64_t k) { return weight[k]; }).value();
  for (int64_t k = 0; k < b.size; ++k) weight[k] -= all;
}

// Computes p(v) of the mixture for row `row`.
template <class T>
void HeadDecoder<T>::mix(const Block& b, int64_t row, T* p) const {
  for (int64_t c = 0; c < kChunks; ++c) {
    const auto [begin, end] = cpu::chunk_words(words_, c);
    for (int64_t k = 0; k < b.size; ++k) {
      const int64_t i = row * b.size + k;
      const T factor = b.factors[i * kChunks + c];
      cpu::row_loops<T>().scaled(factor, b.scores + i * b.ld + begin, end - begin, k > 0,
                                 p + begin);
    }
  }
}

// Only tiles whose maximum is among the k largest tile maxima can contain one of a row's k largest
// values.
template <class T>
void HeadDecoder<T>::best_words(const Block& b, int64_t row, int64_t k, int32_t* words,
                                double* log_probs) const {
  const T *values = b.scores + row * b.size * b.ld, *tops = b.tile_top + row * b.size * b.tiles;
  double shift = -b.lse[row * b.size];
  if (head_.mixture) {
    T* p = scratch<T>(Scratch::tile, b.ld + b.tiles);
    mix(b, row, p);
    shift = 0;
    for (int64_t t = 0; t < b.tiles; ++t)
      p[b.ld + t] = largest(p + t * kPanel, std::min(kPanel, words_ - t * kPanel));
    values = p;
    tops = p + b.ld;
  }
  int32_t* order = scratch<int32_t>(Scratch::lanes, words_);
  int64_t count = 0;
  const T least = threshold(tops, b.tiles, k);
  for (int64_t t = 0; t < b.tiles; ++t) {
    if (!(tops[t] >= least)) continue;
    const int64_t end = std::min(words_, (t + 1) * kPanel);
    for (int64_t v = t * kPanel; v < end; ++v)
      if (values[v] >= least) order[count++] = static_cast<int32_t>(v);
  }
  std::partial_sort(order, order + k, order + count, [&](int32_t x, int32_t y) {
    return values[x] > values[y] || (values[x] == values[y] && x < y);
  });
  for (int64_t i = 0; i < k; ++i) {
    const double value = static_cast<double>(values[order[i]]);
    words[i] = order[i];
    log_probs[i] = (head_.mixture ? std::log(value) : value) + shift;
  }
}

template <class T>
double HeadDecoder<T>::target_log_prob(const Block& b, int64_t row) const {
  const auto joint = [&](int64_t k) {
    return b.log_prior[row * b.size + k] + b.target_score[row * b.size + k] -
           b.lse[row * b.size + k];
  };
  const double log_p = LogSumExp::of(b.size, joint).value();
  if (!std::isfinite(log_p)) {
    const int64_t y = b.targets[row];
    const bool excluded = bias_ && static_cast<T*>(bias_.data)[y] == kLowest<T>;
    require(excluded, "[HeadDecoder] log p of word ", y, " in row ", b.first + row, " is ", log_p,
            ", and no bias of -inf excludes it: the model's weights are too large for their type");
  }
  return log_p;
}

template <class T>
double HeadDecoder<T>::log_prob(const Block& b, int64_t row, int64_t word) const {
  const auto joint = [&](int64_t k) {
    const int64_t i = row * b.size + k;
    return b.log_prior[i] + static_cast<double>(b.scores[i * b.ld + word]) - b.lse[i];
  };
  return head_.mixture ? LogSumExp::of(b.size, joint).value() : joint(0);
}

// Divides scores by the temperature in double, so that no temperature overflows. Sums the shares
// e^((S(v) - top) / temperature) panel by panel, and then word by word in the chosen panel.
template <class T>
int32_t HeadDecoder<T>::drawn_word(const Block& b, int64_t row, const Draw& draw) const {
  T* share = scratch<T>(Scratch::tile, b.ld);
  std::copy_n(b.scores + row * b.ld, words_, share);
  if (draw.never >= 0 && draw.never < words_) share[draw.never] = kLowest<T>;
  const T top = largest(share, words_);
  if (top == kLowest<T>) return -1;
  if (draw.temperature != 1)
    for (int64_t v = 0; v < words_; ++v)
      share[v] = static_cast<T>(static_cast<double>(share[v] - top) / draw.temperature);
  double* sums = scratch<double>(Scratch::reduction, b.tiles);
  double all = 0;
  for (int64_t t = 0; t < b.tiles; ++t) {
    const int64_t first = t * kPanel;
    all += cpu::row_loops<T>().exponents(share + first, std::min(kPanel, words_ - first),
                                         draw.temperature == 1 ? top : T(0), true);
    sums[t] = all;
  }
  const double passed = draw.uniform * all;
  const int64_t t = std::min(std::upper_bound(sums, sums + b.tiles, passed) - sums, b.tiles - 1);
  int64_t word = -1;
  double sum = t > 0 ? sums[t - 1] : 0;
  for (int64_t v = t * kPanel; v < std::min(words_, (t + 1) * kPanel) && sum <= passed; ++v) {
    if (share[v] == 0) continue;
    sum += static_cast<double>(share[v]);
    word = v;  // the last word with a share stays, if rounding keeps the sum from being reached
  }
  return static_cast<int32_t>(word);
}

// Computes the targets' scores from the vectors, as in ops::head_scores, so that rounding makes no
// probability exceed 1 and distances keep their digits.
template <class T>
void HeadDecoder<T>::score_targets(const Block& b) const {
  for (int64_t i = 0; i < b.rows * b.size; ++i) {
    const int64_t y = b.targets[i / b.size];
    require(y >= 0 && y < words_, "[HeadDecoder] target ", y, " is outside of the vocabulary of ",
            words_);
    const Component& c = components_[static_cast<size_t>(i % b.size)];
    const double bias = bias_ ? static_cast<double>(static_cast<T*>(bias_.data)[y]) : 0;
    const T *w = cpu::row_ptr<T>(c.w, y), *h = b.stack + i * dims_;
    const double score = norms_.words() || norms_.contexts()
                             ? norms_.score(i % b.size, c.scales, y, w, h, dims_)
                             : c.kernel.loops->exact(c.kernel.args, w, h);
    b.target_score[i] = static_cast<double>(static_cast<T>(score + bias));
  }
}

template <class T>
typename HeadDecoder<T>::Block HeadDecoder<T>::block(const Query& q, int64_t first, int64_t rows,
                                                     Memory& m) const {
  const int64_t size = head_.size(), all = rows * size,
                ld = (words_ + kPanel - 1) / kPanel * kPanel, tiles = ld / kPanel;
  return {.h = q.h + first * dims_,
          .stack = own_stack() ? m.stack.get(all * dims_) : q.h + first * dims_,
          .scores = m.scores.get(all * ld),
          .tile_top = m.tile_top.get(all * tiles),
          .chunk_top = m.chunk_top.get(all * kChunks),
          .chunk_sum = m.chunk_sum.get(all * kChunks),
          .factors = m.factors.get(all * kChunks),
          .row_stats = m.row_stats.get(all * stats_),
          .extreme_rows = m.extreme_rows.get(all),
          .log_prior = m.log_prior.get(all),
          .lse = m.lse.get(all),
          .target_score = m.target_score.get(all),
          .targets = q.targets.empty() ? nullptr : q.targets.data() + first,
          .first = first,
          .rows = rows,
          .size = size,
          .ld = ld,
          .tiles = tiles,
          .excluded = q.excluded,
          .exponents = head_.mixture && !q.all};
}

template <class T>
void HeadDecoder<T>::check(const Query& q) const {
  const bool best = q.targets.empty() && q.draws.empty() && !q.all;
  require(!best || (q.k >= 1 && q.k <= words_ - (q.excluded >= 0 ? 1 : 0)),
          "[HeadDecoder] cannot return the best ", q.k, " of ", words_, " words");
  require(
      q.targets.empty() || q.excluded < 0,
      "[HeadDecoder] a word can be excluded when searching for the best words, not with targets");
  require(q.targets.empty() || q.all || std::ssize(q.targets) == q.rows, "[HeadDecoder] ",
          q.targets.size(), " targets for ", q.rows, " rows");
  require(q.draws.empty() || (std::ssize(q.draws) == q.rows && !head_.mixture && q.targets.empty()),
          "[HeadDecoder] ", q.draws.size(), " draws for ", q.rows, " rows and ", q.targets.size(),
          " targets, from a head of ", head_.size(),
          " components: a draw belongs to each row, and "
          "its head is no mixture");
}

template <class T>
void HeadDecoder<T>::operator()(const Query& q, Memory& memory, Answer& answer) const {
  check(q);
  const bool draws = !q.draws.empty(), best = q.targets.empty() && !draws && !q.all;
  const int64_t k = best ? q.k : q.all ? words_ : 1;
  answer.words.resize(static_cast<size_t>(best ? q.rows * k : draws ? q.rows : 0));
  answer.log_probs.resize(static_cast<size_t>(q.rows * k));
  const int64_t blocks = (q.rows * head_.size() + kStackRows - 1) / kStackRows;
  const int64_t block_rows = blocks > 0 ? (q.rows + blocks - 1) / blocks : 0;
  for (int64_t first = 0; first < q.rows; first += block_rows) {
    Block b = block(q, first, std::min(block_rows, q.rows - first), memory);
    const double work =
        static_cast<double>(b.rows * b.size * words_) * static_cast<double>(2 * dims_ + 20);
    stack_contexts(b, memory);
    prepare_contexts(b, memory);
    if (b.targets != nullptr) score_targets(b);
    parallel_for(
        kChunks,
        [&](int64_t chunk) {
          const auto [begin, end] = cpu::chunk_words(words_, chunk);
          for (int64_t word = begin; word < end; word += kPanel) {
            score_panel(b, word / kPanel);
            finish_panel(b, word / kPanel);
          }
          sum_chunk(b, chunk);
        },
        work);
    normalise(b);
    if (q.all || draws) {
      parallel_for(
          b.rows,
          [&](int64_t r) {
            double* log_p = answer.log_probs.data() + (first + r) * k;
            for (int64_t v = 0; v < words_ && q.all; ++v) log_p[v] = log_prob(b, r, v);
            if (!draws) return;
            int32_t& word = answer.words[static_cast<size_t>(first + r)];
            word = drawn_word(b, r, q.draws[static_cast<size_t>(first + r)]);
            if (!q.all) *log_p = word < 0 ? -INFINITY : log_prob(b, r, word);
          },
          static_cast<double>(20 * b.rows * b.size * words_));
      continue;
    }
    if (!best) {
      for (int64_t r = 0; r < b.rows; ++r)
        answer.log_probs[static_cast<size_t>(first + r)] = target_log_prob(b, r);
      continue;
    }
    parallel_for(
        b.rows,
        [&](int64_t r) {
          best_words(b, r, k, answer.words.data() + (first + r) * k,
                     answer.log_probs.data() + (first + r) * k);
        },
        static_cast<double>(b.rows * b.size * words_));
  }
}

template class HeadDecoder<float>;
template class HeadDecoder<double>;

}  // namespace nine
