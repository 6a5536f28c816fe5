// The mixture, the loss and the penalties on the prior (docs/heads.md, section 4) on the CPU, in
// log space. The cost is O(rows x components); label smoothing of a mixture needs another pass over
// the vocabulary.
#include <cmath>
#include <limits>

#include "core/log_sum_exp.h"
#include "core/scratch.h"
#include "kernels/cpu/ops.h"
#include "kernels/loss/cpu/stacked_components.h"
#include "kernels/options/angle.h"

namespace nine::cpu {
inline namespace NINE_ISA {
namespace {

double log_prior_of(const HeadBlock& block, int64_t r, int64_t k) {
  if (!block.log_prior) return 0;
  return block.log_prior.dtype == DType::float32
             ? static_cast<double>(row_ptr<float>(block.log_prior, r)[k])
             : row_ptr<double>(block.log_prior, r)[k];
}

void set_element(const View& matrix, int64_t r, int64_t c, double value) {
  if (matrix.dtype == DType::float32) {
    row_ptr<float>(matrix, r)[c] = static_cast<float>(value);
  } else {
    row_ptr<double>(matrix, r)[c] = value;
  }
}

// Returns log p(target) of a row without the margin.
double plain_log_p(const HeadBlock& block, int64_t r) {
  return scores::plain_log_p(block.size(), [&](int64_t k) {
    const auto at = [&](const View& v) {
      return static_cast<double*>(v.data)[k * block.rows() + r];
    };
    return scores::TargetScores{log_prior_of(block, r, k), at(block.lse), at(block.target_score),
                                at(block.plain_score)};
  });
}

// The sums over the vocabulary that smoothed labels need: of log p(v), and of each gamma_k(v).
struct VocabularySums {
  double* log_probs;  // (R)
  double* shares;     // (K, R)
};

template <class T>
void sum_over_vocabulary(const HeadBlock& block, const VocabularySums& out, Arena& arena) {
  const Arena::Scope scope(arena);
  const StackedComponents<T> stack(block, arena);
  const StackLanes<T> lanes(stack, 0, arena);
  const int64_t size = stack.size(), panels = stack.panels(), rows = block.rows(),
                sums = (size + 1) * panels * kHeadPanel;
  double* partial = pool_array<double>(arena, kHeadChunks * sums);
  parallel_for(
      kHeadChunks,
      [&](int64_t chunk) {
        const auto [begin, end] = chunk_words(block.words(), chunk);
        double* own = partial + chunk * sums;  // [component, then log p][panel][row]
        std::fill_n(own, sums, 0.0);
        T* spare = block.products
                       ? nullptr
                       : scratch<T>(Scratch::products, stack.max_planes() * kTileElements);
        T* scores = scratch<T>(Scratch::tile, (size + 1) * kTileElements);
        T* log_p = scores + size * kTileElements;
        WordPacks packs = stack.word_packs();
        for (int64_t word = begin; word < end; word += kHeadTile)
          for (int64_t p = 0; p < panels; ++p) {
            const int64_t words = std::min(kHeadTile, end - word);
            for (int64_t k = 0; k < size; ++k)
              stack.tile_scores({stack[k], k, p, word, words}, spare, packs,
                                scores + k * kTileElements);
            mixture_tile(stack, lanes, p, words, scores, log_p);
            for (int64_t k = 0; k <= size; ++k) {
              T sum[kHeadPanel] = {};
              const T* a = scores + k * kTileElements;
              for (int64_t v = 0; v < words * kHeadPanel; v += kHeadPanel)
                for (int64_t r = 0; r < kHeadPanel; ++r)
                  sum[r] += k < size ? vexp(a[v + r] - log_p[v + r]) : a[v + r];
              for (int64_t r = 0; r < kHeadPanel; ++r)
                own[(k * panels + p) * kHeadPanel + r] += static_cast<double>(sum[r]);
            }
          }
      },
      stack.operations());
  for (int64_t k = 0; k <= size; ++k)
    for (int64_t r = 0; r < rows; ++r) {
      double sum = 0;
      for (int64_t c = 0; c < kHeadChunks; ++c)
        sum += partial[c * sums + k * panels * kHeadPanel + r];
      (k < size ? out.shares[k * rows + r] : out.log_probs[r]) = sum;
    }
}

}  // namespace

void head_loss(const HeadBlock& block, double row_weight, const View& nll, const OutputView& loss,
               const View& dlogits, Arena& arena) {
  const Arena::Scope scope(arena);
  const int64_t rows = block.rows(), size = block.size();
  const double spread = block.options.spread, words = static_cast<double>(block.words()),
               z_loss = block.options.z_loss / static_cast<double>(size);
  const auto at = [&](const View& v) { return static_cast<double*>(v.data); };
  const double* factors = at(block.row_factor);
  double *share = at(block.share), *weight = at(block.weight), *slope = at(block.target_slope),
         *out = at(nll);
  const bool smoothed_mixture = spread != 0 && size > 1;
  VocabularySums sums{};
  if (smoothed_mixture) {
    sums = {pool_array<double>(arena, rows), pool_array<double>(arena, size * rows)};
    dispatch_float(block.h.dtype, "head_loss",
                   [&]<class T>(T) { sum_over_vocabulary<T>(block, sums, arena); });
  }
  double total = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const bool counts = static_cast<int32_t*>(block.targets.data)[r] >= 0;
    const double factor = factors != nullptr ? factors[r] : 1, own_weight = row_weight * factor;
    const auto log_joint = [&](int64_t k) {
      return log_prior_of(block, r, k) +
             (at(block.target_score)[k * rows + r] - at(block.lse)[k * rows + r]);
    };
    double log_p = 0;
    bool excluded = false;  // true if the target has a bias of -infinity: no component then has a
                            // share
    if (counts) {
      log_p = size == 1 ? log_joint(0) : LogSumExp::of(size, log_joint).value();
      excluded = log_p == -std::numeric_limits<double>::infinity();
    }
    out[r] = !counts ? 0.0 : block.options.margin ? -plain_log_p(block, r) : -log_p;
    for (int64_t k = 0; k < size; ++k) {
      const double gamma = counts && !excluded ? std::exp(log_joint(k) - log_p) : 0.0;
      // sum_v gamma_k(v); with one component gamma = 1.
      const double all = smoothed_mixture ? sums.shares[k * rows + r] : words * gamma;
      const double posterior_minus_1 =
          counts ? std::expm1(at(block.target_score)[k * rows + r] - at(block.lse)[k * rows + r])
                 : 0.0;
      const double labels = counts ? spread * (all - words * gamma) + gamma : 0.0;  // R_k
      share[k * rows + r] = gamma;
      weight[k * rows + r] = own_weight * labels;
      // Uses p_k R_k - t gamma_k = R_k (p_k - 1) + (R_k - t gamma_k). The second difference is the
      // sum over the other words.
      slope[k * rows + r] =
          counts ? own_weight * (labels * posterior_minus_1 + spread * (all - gamma)) : 0.0;
      if (dlogits)
        set_element(dlogits, r, k,
                    counts ? own_weight * (std::exp(log_prior_of(block, r, k)) - labels) : 0.0);
      if (z_loss == 0 || !counts) continue;
      // d lse / dS(v) = p_k(v), so the z-loss adds to what multiplies p_k.
      const double by_lse = own_weight * 2 * z_loss * at(block.lse)[k * rows + r];
      weight[k * rows + r] += by_lse;
      slope[k * rows + r] += by_lse * (1 + posterior_minus_1);
    }
    const double log_loss = counts ? -log_p : 0.0;
    double smoothed = 0, squares = 0;
    total += factor * log_loss;
    if (counts && spread != 0) {
      const double sum_log_p =
          smoothed_mixture ? sums.log_probs[r] : at(block.score_sum)[r] - words * at(block.lse)[r];
      smoothed = words * log_p - sum_log_p;
      total += factor * spread * smoothed;
    }
    if (counts && z_loss != 0) {
      for (int64_t k = 0; k < size; ++k) {
        const double lse = at(block.lse)[k * rows + r];
        squares += lse * lse;
      }
      total += factor * z_loss * squares;
    }
    if (block.row_loss) at(block.row_loss)[r] = log_loss + spread * smoothed + z_loss * squares;
  }
  auto* total_loss = at(loss.view);
  *total_loss = (loss.add ? *total_loss : 0.0) + row_weight * total;
}

namespace {

// Returns Var_k / mean^2 of s, or Var_k, and its gradient by each s_k.
double penalty(ops::PriorPenalty kind, const double* s, int64_t size, double* gradient) {
  const auto n = static_cast<double>(size);
  double mean = 0, variance = 0;
  for (int64_t k = 0; k < size; ++k) mean += s[k] / n;
  for (int64_t k = 0; k < size; ++k) variance += (s[k] - mean) * (s[k] - mean) / n;
  const double scale = kind == ops::PriorPenalty::cv2 ? 1 / (mean * mean) : 1;
  // The mean of pi is 1/K for all logits. cv2 divides by the mean of its sums; the derivative of
  // this mean vanishes through the softmax.
  for (int64_t k = 0; k < size; ++k)
    gradient[k] = scale * 2 * (s[k] - mean) / n -
                  (kind == ops::PriorPenalty::cv2 ? 2 * variance * scale / (mean * n) : 0);
  return variance * scale;
}

template <class T>
void add_prior_penalty(ops::PriorPenalty kind, double strength, const View& log_prior,
                       const View& targets, double row_weight, double* loss, const View& dlogits) {
  const int64_t rows = log_prior.rows(), size = log_prior.cols();
  const int32_t* target = static_cast<int32_t*>(targets.data);
  double* work = scratch<double>(Scratch::reduction, 3 * size);
  double *pi = work, *gradient = work + size, *sums = work + 2 * size;
  const auto read = [&](int64_t r) {
    for (int64_t k = 0; k < size; ++k)
      pi[k] = std::exp(static_cast<double>(row_ptr<T>(log_prior, r)[k]));
  };
  double weight = strength * row_weight;
  if (kind == ops::PriorPenalty::cv2) {
    std::fill_n(sums, size, 0.0);
    double counted = 0;
    for (int64_t r = 0; r < rows; ++r) {
      if (target[r] < 0) continue;
      read(r);
      ++counted;
      for (int64_t k = 0; k < size; ++k) sums[k] += pi[k];
    }
    if (counted == 0) return;
    weight *= counted;
    *loss += weight * penalty(kind, sums, size, gradient);
  }
  for (int64_t r = 0; r < rows; ++r) {
    if (target[r] < 0) continue;
    read(r);
    if (kind == ops::PriorPenalty::variance) *loss += weight * penalty(kind, pi, size, gradient);
    if (!dlogits) continue;
    double mean = 0;
    for (int64_t k = 0; k < size; ++k) mean += pi[k] * gradient[k];
    for (int64_t k = 0; k < size; ++k)
      row_ptr<T>(dlogits, r)[k] += static_cast<T>(weight * pi[k] * (gradient[k] - mean));
  }
}

}  // namespace

void prior_penalty(ops::PriorPenalty kind, double strength, const View& log_prior,
                   const View& targets, double row_weight, const View& loss, const View& dlogits) {
  dispatch_float(log_prior.dtype, "prior_penalty", [&]<class T>(T) {
    add_prior_penalty<T>(kind, strength, log_prior, targets, row_weight,
                         static_cast<double*>(loss.data), dlogits);
  });
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
