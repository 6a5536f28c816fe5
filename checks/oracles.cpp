#include "checks/oracles.h"

#include <algorithm>
#include <cmath>

namespace nine::checks {

Doubles each(const Doubles& x, double (*f)(double)) {
  Doubles y(x.size());
  std::transform(x.begin(), x.end(), y.begin(), f);
  return y;
}

Doubles pairwise(const Doubles& a, const Doubles& b, double (*f)(double, double)) {
  Doubles y(std::max(a.size(), b.size()));
  for (size_t i = 0; i < y.size(); ++i) y[i] = f(a[i % a.size()], b[i % b.size()]);
  return y;
}

Doubles product(const Doubles& a, bool transpose_a, const Doubles& b, bool transpose_b, int64_t m,
                int64_t n, int64_t k) {
  Doubles y(index_of(m * n));
  for (int64_t r = 0; r < m; ++r)
    for (int64_t c = 0; c < n; ++c) {
      double s = 0;
      for (int64_t i = 0; i < k; ++i)
        s += a[index_of(transpose_a ? i * m + r : r * k + i)] *
             b[index_of(transpose_b ? c * k + i : i * n + c)];
      y[index_of(r * n + c)] = s;
    }
  return y;
}

Doubles column_sums(const Doubles& x, int64_t cols) {
  Doubles y(index_of(cols));
  for (size_t i = 0; i < x.size(); ++i) y[i % y.size()] += x[i];
  return y;
}

Doubles log_softmax_of(const Doubles& x, int64_t cols) {
  Doubles y(x.size());
  for (size_t r = 0; r < x.size(); r += index_of(cols)) {
    const double top = *std::max_element(x.begin() + static_cast<long>(r),
                                         x.begin() + static_cast<long>(r) + cols);
    double sum = 0;
    for (size_t c = r; c < r + index_of(cols); ++c) sum += std::exp(x[c] - top);
    for (size_t c = r; c < r + index_of(cols); ++c) y[c] = x[c] - top - std::log(sum);
  }
  return y;
}

double nll_of(const Doubles& log_probs, const Ints& targets, int64_t cols, double weight) {
  double loss = 0;
  for (size_t r = 0; r < targets.size(); ++r)
    if (targets[r] >= 0)
      loss -= weight * log_probs[r * index_of(cols) + static_cast<size_t>(targets[r])];
  return loss;
}

Doubles layer_norm_of(const Doubles& x, const Doubles& gamma, const Doubles& beta, double eps) {
  const size_t d = gamma.size();
  Doubles y(x.size());
  for (size_t r = 0; r < x.size(); r += d) {
    double mean = 0, variance = 0;
    for (size_t c = 0; c < d; ++c) mean += x[r + c] / static_cast<double>(d);
    for (size_t c = 0; c < d; ++c)
      variance += (x[r + c] - mean) * (x[r + c] - mean) / static_cast<double>(d);
    for (size_t c = 0; c < d; ++c)
      y[r + c] = (x[r + c] - mean) / std::sqrt(variance + eps) * gamma[c] + beta[c];
  }
  return y;
}

Doubles rms_norm_of(const Doubles& x, const Doubles& gamma, double eps) {
  const size_t d = gamma.size();
  Doubles y(x.size());
  for (size_t r = 0; r < x.size(); r += d) {
    double mean = eps;
    for (size_t c = 0; c < d; ++c) mean += x[r + c] * x[r + c] / static_cast<double>(d);
    for (size_t c = 0; c < d; ++c) y[r + c] = x[r + c] / std::sqrt(mean) * gamma[c];
  }
  return y;
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

Doubles lstm_of(Values in, int64_t steps, int64_t batch, int64_t input, int64_t hidden) {
  const Doubles &x = in[0], &w_ih = in[1], &w_hh = in[2], &b_ih = in[3], &b_hh = in[4];
  Doubles h = in[5], c = in[6], out;
  for (int64_t t = 0; t < steps; ++t) {
    const Doubles h_before = h;
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t u = 0; u < hidden; ++u) {
        double gate[4];
        for (int64_t g = 0; g < 4; ++g) {
          const int64_t row = g * hidden + u;
          double s = b_ih[index_of(row)] + b_hh[index_of(row)];
          for (int64_t i = 0; i < input; ++i)
            s += x[index_of((t * batch + b) * input + i)] * w_ih[index_of(row * input + i)];
          for (int64_t i = 0; i < hidden; ++i)
            s += h_before[index_of(b * hidden + i)] * w_hh[index_of(row * hidden + i)];
          gate[g] = g == 2 ? std::tanh(s) : logistic(s);
        }
        const size_t k = index_of(b * hidden + u);
        c[k] = gate[1] * c[k] + gate[0] * gate[2];
        h[k] = gate[3] * std::tanh(c[k]);
      }
    out.insert(out.end(), h.begin(), h.end());
  }
  out.insert(out.end(), h.begin(), h.end());
  out.insert(out.end(), c.begin(), c.end());
  return out;
}

Doubles attention_of(const Doubles& q, const Doubles& k, const Doubles& v, int64_t batch,
                     int64_t heads, int64_t d, const Ints& lengths, bool causal, double dropout) {
  const int64_t queries = static_cast<int64_t>(q.size()) / (batch * d),
                keys = static_cast<int64_t>(k.size()) / (batch * d), size = d / heads;
  Doubles y(q.size());
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t t = 0; t < queries; ++t) {
      int64_t seen = lengths.empty() ? keys : lengths[index_of(b)];
      if (causal) seen = std::min(seen, t + 1);
      for (int64_t h = 0; h < heads; ++h) {
        const auto at = [&](int64_t row, int64_t c) { return index_of(row * d + h * size + c); };
        Doubles weight(index_of(seen));
        double total = 0;
        for (int64_t s = 0; s < seen; ++s) {
          double score = 0;
          for (int64_t c = 0; c < size; ++c)
            score += q[at(b * queries + t, c)] * k[at(b * keys + s, c)];
          total += weight[index_of(s)] = std::exp(score / std::sqrt(static_cast<double>(size)));
        }
        const RandomKey key{.op = stream_id("dropout.test")};
        for (int64_t s = 0; s < seen && dropout > 0; ++s) {
          const int64_t element = ((b * heads + h) * keys + s) * queries + t;
          const bool kept =
              random_uniform(key, static_cast<uint64_t>(element)) >= static_cast<float>(dropout);
          weight[index_of(s)] *= kept ? 1 / (1 - dropout) : 0;
        }
        for (int64_t s = 0; s < seen; ++s)
          for (int64_t c = 0; c < size; ++c)
            y[at(b * queries + t, c)] += weight[index_of(s)] / total * v[at(b * keys + s, c)];
      }
    }
  return y;
}

Doubles columns(const Doubles& x, int64_t width, int64_t first, int64_t count) {
  Doubles y;
  for (auto row = x.begin(); row != x.end(); row += width)
    y.insert(y.end(), row + first, row + first + count);
  return y;
}

}  // namespace nine::checks
