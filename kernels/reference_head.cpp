#include "kernels/reference_head.h"

#include <algorithm>
#include <cmath>

#include "core/log_sum_exp.h"
#include "kernels/options/angle.h"
#include "kernels/scores/all.h"
#include "kernels/settings/learned_numbers.h"

namespace nine {
namespace {

double dot(const double* a, const double* b, int64_t d) {
  double sum = 0;
  for (int64_t i = 0; i < d; ++i) sum += a[i] * b[i];
  return sum;
}

// y += a x.
void add(double a, const double* x, double* y, int64_t d) {
  for (int64_t i = 0; i < d; ++i) y[i] += a * x[i];
}

double log_sum_exp(std::span<const double> x) {
  return LogSumExp::of(std::ssize(x), [&](int64_t i) { return x[i]; }).value();
}

// Computes the score S(w, h) of a component. If dw is not null, adds up * dS/dw to dw, up * dS/dh
// to dh and, for each number that the component learns, up * dS/d(stored number) to `numbers`.
double score(const Score& component, const double* w, const double* h, int64_t d, double up = 0,
             double* dw = nullptr, double* dh = nullptr, double* numbers = nullptr) {
  double s = 0;
  const double scale = component.scale, z = dot(w, h, d);
  scores::visit(component, d, [&](const auto& kernel) {
    using Kernel = std::remove_cvref_t<decltype(kernel)>;
    double* const none = nullptr;
    if constexpr (Kernel::kExactTarget) {  // the kernel's formula over whole vectors
      s = kernel.exact(w, h, d, scale * up, dw, dh);
    } else {  // a function of the product z
      s = kernel.value(z, none, none);
      const double by_z = scale * up * kernel.slopes(z, none, none).z;
      if (dw != nullptr) add(by_z, h, dw, d), add(by_z, w, dh, d);
    }
    for (int i = 0; i < kMaxScoreNumbers && dw != nullptr; ++i) {
      if (!component.learns(i)) continue;
      double slope = s;  // with respect to the scale
      if (i != kScaleNumber) {
        if constexpr (requires { kernel.exact_parameter_slope(i, w, h, d); })
          slope = scale * kernel.exact_parameter_slope(i, w, h, d);
        else if constexpr (requires { kernel.parameter_slope(i, z, none, none); })
          slope = scale * kernel.parameter_slope(i, z, none, none);
      }
      const bool stored_as_log = (component.positive >> i & 1) != 0;
      *numbers++ += up * slope * (stored_as_log ? component.number(i) : 1);
    }
  });
  return scale * s;
}

// Computes the target's score with a margin: |w| |h| psi(cos theta). Adds its gradients in the same
// way as score().
double target_score(const Margin& margin, const double* w, const double* h, int64_t d,
                    double up = 0, double* dw = nullptr, double* dh = nullptr) {
  const scores::AnglePair<double> pair(w, h, d);
  const scores::AngleScore psi = scores::margin_at(margin, pair.cosine, pair.sine);
  if (dw != nullptr) pair.add_gradients(psi, up, dw, dh);
  return pair.score(psi);
}

}  // namespace

ReferenceLoss reference_loss(const HeadSpec& written_head, const ReferenceWeights& weights,
                             std::span<const double> all_h, std::span<const int32_t> targets,
                             int64_t d, double given_row_weight, const LabelSmoothing& smoothing,
                             const Margin& margin, double z_loss, std::span<const double> factors) {
  const std::vector<LearnedNumber> learned = learned_numbers(written_head);
  std::vector<double> values;
  for (size_t i = 0; i < learned.size(); ++i)
    values.push_back(learned[i].value(weights.numbers[i]));
  const HeadSpec head = with_numbers(written_head, values);
  const int64_t K = head.size(), V = std::ssize(weights.w) / d / (head.untied ? K : 1);

  ReferenceLoss out;
  out.nll.resize(targets.size());
  out.rows.resize(targets.size());
  out.h.resize(all_h.size());
  out.gradients = {std::vector<double>(weights.w.size()), std::vector<double>(weights.bias.size()),
                   std::vector<double>(weights.prior.size()),
                   std::vector<double>(weights.latent.size()), std::vector<double>(learned.size())};

  for (size_t n = 0; n < targets.size(); ++n) {
    if (targets[n] < 0) continue;
    const int64_t y = targets[n];
    const double row_weight = given_row_weight * (factors.empty() ? 1 : factors[n]);
    const double* const h = all_h.data() + static_cast<int64_t>(n) * d;
    double* const dh = out.h.data() + static_cast<int64_t>(n) * d;
    const auto word = [&](auto& all, int64_t k, int64_t v) {
      return all.data() + ((head.untied ? k * V : 0) + v) * d;
    };

    // The prior: log pi = log softmax(M' h); 0 for a single kernel.
    std::vector<double> log_pi(static_cast<size_t>(K));
    if (head.mixture) {
      for (int64_t k = 0; k < K; ++k) log_pi[k] = dot(weights.prior.data() + k * d, h, d);
      const double lse = log_sum_exp(log_pi);
      for (double& x : log_pi) x -= lse;
    }

    // The contexts: h_k = tanh(C_k' h), or h itself.
    std::vector<double> h_k(static_cast<size_t>(K * d));
    for (int64_t i = 0; i < K * d; ++i)
      h_k[i] = head.contexts ? std::tanh(dot(weights.latent.data() + i * d, h, d)) : h[i % d];

    // The scores S_kv + b_v, with and without the target's margin, and each component's softmax:
    // log q_kv = S_kv + b_v - LSE_v. Then the mixture: log p_v = LSE_k (log pi_k + log q_kv).
    std::vector<double> log_q(static_cast<size_t>(K * V)), log_p(static_cast<size_t>(V)),
        normaliser(static_cast<size_t>(K));
    for (const bool with_margin : {false, true}) {
      for (int64_t k = 0; k < K; ++k) {
        const std::span<double> row(log_q.data() + k * V, static_cast<size_t>(V));
        const double* const context = h_k.data() + k * d;
        for (int64_t v = 0; v < V; ++v) {
          const double* const w = word(weights.w, k, v);
          row[v] = with_margin && margin && v == y ? target_score(margin, w, context, d)
                                                   : score(head.components[k], w, context, d);
          if (!weights.bias.empty()) row[v] += weights.bias[v];
        }
        const double lse = log_sum_exp(row);
        for (double& s : row) s -= lse;
        normaliser[k] = lse;
      }
      for (int64_t v = 0; v < V; ++v) {
        std::vector<double> joint(static_cast<size_t>(K));
        for (int64_t k = 0; k < K; ++k) joint[k] = log_pi[k] + log_q[k * V + v];
        log_p[v] = log_sum_exp(joint);
      }
      if (!with_margin) out.nll[n] = -log_p[y];
    }

    // The loss: the cross-entropy with the target distribution t, with label smoothing; and the
    // z-loss, z mean_k LSE_k^2.
    std::vector<double> t(static_cast<size_t>(V), smoothing.spread(V));
    t[y] = 1 - smoothing.epsilon;
    if (smoothing.kind == LabelSmoothing::Kind::uniform) t[y] += smoothing.spread(V);
    for (int64_t v = 0; v < V; ++v)
      if (t[v] != 0) out.rows[n] -= t[v] * log_p[v];
    for (const double lse : normaliser) out.rows[n] += z_loss * lse * lse / static_cast<double>(K);
    out.loss += row_weight * out.rows[n];

    // The gradients. gamma_kv = pi_k q_kv / p_v is the posterior of component k given word v, and
    // R_k = sum_v t_v gamma_kv. Then dL/dS_kv = q_kv R_k - t_v gamma_kv, and the z-loss adds
    // q_kv 2 z LSE_k / K. With respect to the prior's logits the gradient is pi_k - R_k.
    double* numbers = out.gradients.numbers.data();
    for (int64_t k = 0; k < K; ++k) {
      std::vector<double> t_gamma(static_cast<size_t>(V)), dh_k(static_cast<size_t>(d));
      double r = 0;
      for (int64_t v = 0; v < V; ++v)
        r += t_gamma[v] = t[v] * std::exp(log_pi[k] + log_q[k * V + v] - log_p[v]);
      for (int64_t v = 0; v < V; ++v) {
        const double q = std::exp(log_q[k * V + v]),
                     by_lse = 2 * z_loss * normaliser[k] / static_cast<double>(K),
                     up = row_weight * (q * (r + by_lse) - t_gamma[v]);
        const double *const w = word(weights.w, k, v), *const context = h_k.data() + k * d;
        double* const dw = word(out.gradients.w, k, v);
        if (margin && v == y)
          target_score(margin, w, context, d, up, dw, dh_k.data());
        else
          score(head.components[k], w, context, d, up, dw, dh_k.data(), numbers);
        if (!weights.bias.empty()) out.gradients.bias[v] += up;
      }
      numbers += head.components[k].learned_count();

      // Back through tanh(C_k' h), and through the prior's softmax.
      for (int64_t i = 0; i < d; ++i) {
        if (!head.contexts) {
          dh[i] += dh_k[i];
          continue;
        }
        const double tanh_i = h_k[k * d + i], up = dh_k[i] * (1 - tanh_i * tanh_i);
        add(up, h, out.gradients.latent.data() + (k * d + i) * d, d);
        add(up, weights.latent.data() + (k * d + i) * d, dh, d);
      }
      if (head.mixture) {
        const double up = row_weight * (std::exp(log_pi[k]) - r);
        add(up, h, out.gradients.prior.data() + k * d, d);
        add(up, weights.prior.data() + k * d, dh, d);
      }
    }
  }
  return out;
}

}  // namespace nine
