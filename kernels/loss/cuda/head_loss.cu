// Mixture, loss and penalties on the prior (docs/heads.md, section 4) with CUDA, in log space: one
// thread for each row.
#include <limits>

#include "core/log_sum_exp.h"
#include "cuda/reduce.cuh"
#include "kernels/cuda/ops.cuh"
#include "kernels/loss/cuda/stacked_components.cuh"
#include "kernels/options/angle.h"

namespace nine::cuda {
namespace {

// --- label smoothing of a mixture: sums over the vocabulary

template <class T>
struct LogProb {
  const T* plane;  // [word][padded]
  int64_t padded;
  NINE_D double operator()(int64_t v, int64_t r) const {
    return static_cast<double>(plane[v * padded + r]);
  }
};
template <class T>
struct Posterior {
  const T *joint, *all;
  int64_t padded;
  NINE_D double operator()(int64_t v, int64_t r) const {
    return static_cast<double>(vexp(joint[v * padded + r] - all[v * padded + r]));
  }
};

struct VocabularySums {
  double* log_probs;  // (R): sum_v log p(v)
  double* shares;     // (K, R): sum_v gamma_k(v)
};
template <class T>
void sum_over_vocabulary(const HeadBlock& block, const VocabularySums& out, Arena& arena) {
  const Arena::Scope scope(arena);
  const StackedComponents<T> stack("head_loss", block, true, arena);
  const StackLanes<T> lanes(stack, StackLanes<T>::Use::posteriors, 1, arena);
  const int64_t size = stack.size(), rows = stack.rows(), padded = stack.padded();
  stack.for_runs([&](const WordRun& run) {
    stack.ensure_products(run);
    stack.scores(run);
    mixture(stack, lanes, run);
    const bool later = run.begin > 0;
    const T* log_p = stack.score_plane(size);
    sum_columns(stack.device(), "head_loss", run.count, rows, LogProb<T>{log_p, padded},
                out.log_probs, later);
    for (int64_t k = 0; k < size; ++k)
      sum_columns(stack.device(), "head_loss", run.count, rows,
                  Posterior<T>{stack.score_plane(k), log_p, padded}, out.shares + k * rows, later);
  });
}

// --- the loss

template <class T>
struct RowLoss {
  int64_t rows, size;
  double spread, words, row_weight, z_loss;  // z_loss: of one component
  const double* factors;                     // null: 1
  const int32_t* targets;
  Matrix<T> prior, dlogits;  // without memory: no prior
  const double *lse, *target_score, *score_sum;
  const double* plain_score;  // null: no margin
  double *share, *weight, *slope, *nll, *total;
  double* row_loss;     // may be null
  VocabularySums sums;  // without memory: no smoothing of a mixture

  NINE_D double log_prior(int64_t r, int64_t k) const {
    return prior.data != nullptr ? static_cast<double>(prior.at(r, k)) : 0.0;
  }
  NINE_D double log_joint(int64_t r, int64_t k) const {
    return log_prior(r, k) + (target_score[k * rows + r] - lse[k * rows + r]);
  }
  NINE_D double plain_log_p(int64_t r) const {
    return scores::plain_log_p(size, [&](int64_t k) {
      const int64_t at = k * rows + r;
      return scores::TargetScores{log_prior(r, k), lse[at], target_score[at], plain_score[at]};
    });
  }
  NINE_D void operator()(int64_t, int64_t r) const {
    const bool counts = targets[r] >= 0;
    const double factor = factors != nullptr ? factors[r] : 1, own_weight = row_weight * factor;
    double log_p = 0;
    bool excluded = false;  // the target has a bias of -infinity: no component gives it a share
    if (counts) {
      const auto of = [&](int64_t k) { return log_joint(r, k); };
      log_p = size == 1 ? of(0) : LogSumExp::of(size, of).value();
      excluded = log_p == -std::numeric_limits<double>::infinity();
    }
    nll[r] = counts ? -(plain_score != nullptr ? plain_log_p(r) : log_p) : 0.0;
    for (int64_t k = 0; k < size; ++k) {
      const int64_t at = k * rows + r;
      const double gamma = counts && !excluded ? exp(log_joint(r, k) - log_p) : 0.0;
      // sum_v gamma_k(v); with one component gamma = 1.
      const double all = sums.shares != nullptr ? sums.shares[at] : words * gamma;
      const double posterior_minus_1 = counts ? expm1(target_score[at] - lse[at]) : 0.0;
      const double labels = counts ? spread * (all - words * gamma) + gamma : 0.0;  // R_k
      share[at] = gamma;
      weight[at] = own_weight * labels;
      // p_k R_k - t gamma_k = R_k (p_k - 1) + (R_k - t gamma_k), where the second difference is
      // the sum over the other words.
      slope[at] = counts ? own_weight * (labels * posterior_minus_1 + spread * (all - gamma)) : 0.0;
      if (dlogits.data != nullptr)
        dlogits.at(r, k) =
            static_cast<T>(counts ? own_weight * (exp(log_prior(r, k)) - labels) : 0.0);
      if (z_loss == 0 || !counts) continue;
      // d lse / dS(v) = p_k(v), so the z-loss adds to what multiplies p_k.
      const double by_lse = own_weight * 2 * z_loss * lse[at];
      weight[at] += by_lse;
      slope[at] += by_lse * (1 + posterior_minus_1);
    }
    double loss = counts ? -log_p : 0.0;
    if (counts && spread != 0)
      loss +=
          spread * (words * log_p - (sums.log_probs != nullptr ? sums.log_probs[r]
                                                               : score_sum[r] - words * lse[r]));
    for (int64_t k = 0; k < size && counts && z_loss != 0; ++k)
      loss += z_loss * lse[k * rows + r] * lse[k * rows + r];
    if (row_loss != nullptr) row_loss[r] = loss;
    total[r] = factor * loss;
  }
};
struct Element {
  const double* x;
  NINE_D double operator()(int64_t i) const { return x[i]; }
};

template <class T>
void run_loss(const HeadBlock& block, double row_weight, const View& nll, const OutputView& loss,
              const View& dlogits, Arena& arena) {
  const Arena::Scope scope(arena);
  const int64_t rows = block.rows(), size = block.size();
  const auto at = [](const View& v) { return static_cast<double*>(v.data); };
  VocabularySums sums{};
  if (block.options.spread != 0 && size > 1) {
    sums = {pool_array<double>(arena, rows), pool_array<double>(arena, size * rows)};
    sum_over_vocabulary<T>(block, sums, arena);
  }
  CudaDevice& device = CudaDevice::of(block.h);
  double* total = pool_array<double>(arena, rows);
  each(device, "head_loss", {1, rows},
       RowLoss<T>{.rows = rows,
                  .size = size,
                  .spread = block.options.spread,
                  .words = static_cast<double>(block.words()),
                  .row_weight = row_weight,
                  .z_loss = block.options.z_loss / static_cast<double>(size),
                  .factors = at(block.row_factor),
                  .targets = static_cast<int32_t*>(block.targets.data),
                  .prior = block.log_prior ? Matrix<T>(block.log_prior) : Matrix<T>(),
                  .dlogits = dlogits ? Matrix<T>(dlogits) : Matrix<T>(),
                  .lse = at(block.lse),
                  .target_score = at(block.target_score),
                  .score_sum = at(block.score_sum),
                  .plain_score = at(block.plain_score),
                  .share = at(block.share),
                  .weight = at(block.weight),
                  .slope = at(block.target_slope),
                  .nll = at(nll),
                  .total = total,
                  .row_loss = at(block.row_loss),
                  .sums = sums});
  sum_of(device, "head_loss", rows, Element{total},
         PutSum<double>{at(loss.view), loss.add, row_weight});
}

// --- penalties on the prior

// Computes Var_k / mean^2 of n numbers s_k, or Var_k alone, and its gradient with respect to each
// s_k.
struct Penalty {
  bool relative;
  double n, mean, variance;

  template <class F>
  NINE_D Penalty(ops::PriorPenalty kind, int64_t size, const F& s)
      : relative(kind == ops::PriorPenalty::cv2),
        n(static_cast<double>(size)),
        mean(0),
        variance(0) {
    for (int64_t k = 0; k < size; ++k) mean += s(k) / n;
    for (int64_t k = 0; k < size; ++k) variance += (s(k) - mean) * (s(k) - mean) / n;
  }
  NINE_D double value() const { return relative ? variance / (mean * mean) : variance; }
  NINE_D double slope(double s) const {
    const double scale = relative ? 1 / (mean * mean) : 1;
    return scale * 2 * (s - mean) / n - (relative ? 2 * variance * scale / (mean * n) : 0);
  }
};

template <class T>
struct PriorRows {
  ops::PriorPenalty kind;
  Matrix<T> log_prior;
  const int32_t* targets;
  const double* sums;  // cv2: [component] sum over rows of pi; then the number of counted rows
  double weight;
  Matrix<T> dlogits;

  NINE_D double pi(int64_t r, int64_t k) const {
    return exp(static_cast<double>(log_prior.at(r, k)));
  }
  // For column sums: the sums of pi, followed by the number of counted rows.
  NINE_D double operator()(int64_t r, int64_t k) const {
    return targets[r] < 0 ? 0.0 : k == log_prior.cols ? 1.0 : pi(r, k);
  }
  // Returns a row's part of the loss, for `variance`.
  NINE_D double operator()(int64_t r) const {
    if (targets[r] < 0) return 0;
    return Penalty(kind, log_prior.cols, [&](int64_t k) { return pi(r, k); }).value();
  }
};
template <class T>
struct PriorSlopes {
  PriorRows<T> of;
  NINE_D void operator()(int64_t, int64_t r) const {
    if (of.targets[r] < 0) return;
    const int64_t size = of.log_prior.cols;
    const auto number = [&](int64_t k) { return of.sums != nullptr ? of.sums[k] : of.pi(r, k); };
    const Penalty p(of.kind, size, number);
    const double weight = of.sums != nullptr ? of.weight * of.sums[size] : of.weight;
    double mean = 0;
    for (int64_t k = 0; k < size; ++k) mean += of.pi(r, k) * p.slope(number(k));
    for (int64_t k = 0; k < size; ++k)
      of.dlogits.at(r, k) += static_cast<T>(weight * of.pi(r, k) * (p.slope(number(k)) - mean));
  }
};
struct PutPenalty {  // cv2
  const double* sums;
  int64_t size;
  double weight;
  double* loss;
  NINE_D void operator()(int64_t, int64_t) const {
    if (sums[size] == 0) return;
    const double* s = sums;
    *loss += weight * sums[size] *
             Penalty(ops::PriorPenalty::cv2, size, [s](int64_t k) { return s[k]; }).value();
  }
};

}  // namespace

void head_loss(const HeadBlock& block, double row_weight, const View& nll, const OutputView& loss,
               const View& dlogits, Arena& arena) {
  dispatch_float(block.h.dtype, "head_loss",
                 [&]<class T>(T) { run_loss<T>(block, row_weight, nll, loss, dlogits, arena); });
}

void prior_penalty(ops::PriorPenalty kind, double strength, const View& log_prior,
                   const View& targets, double row_weight, const View& loss, const View& dlogits) {
  dispatch_float(log_prior.dtype, "prior_penalty", [&]<class T>(T) {
    constexpr const char* kOp = "prior_penalty";
    CudaDevice& device = CudaDevice::of(log_prior);
    const int64_t rows = log_prior.rows(), size = log_prior.cols();
    PriorRows<T> of{.kind = kind,
                    .log_prior = Matrix<T>(log_prior),
                    .targets = static_cast<int32_t*>(targets.data),
                    .sums = nullptr,
                    .weight = strength * row_weight,
                    .dlogits = dlogits ? Matrix<T>(dlogits) : Matrix<T>()};
    auto* out = static_cast<double*>(loss.data);
    if (kind == ops::PriorPenalty::cv2) {
      double* sums = device.scratch<double>(size + 1, 1);
      sum_columns(device, kOp, rows, size + 1, of, sums, false);
      of.sums = sums;
      each(device, kOp, {1, 1}, PutPenalty{sums, size, of.weight, out});
    } else {
      sum_of(device, kOp, rows, of, PutSum<double>{out, true, of.weight});
    }
    if (dlogits) each(device, kOp, {1, rows}, PriorSlopes<T>{of});
  });
}

}  // namespace nine::cuda
