#include "nn/training/mixture_weight_stats.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/ops.h"
#include "nn/softmax_head.h"
#include "nn/training/train_step.h"

namespace nine {
namespace {

template <class T>
void add_rows(const View& log_prior, const int32_t* target, double* sums, int64_t first,
              int64_t step) {
  const int64_t size = log_prior.cols();
  for (int64_t r = first; r < log_prior.rows(); r += step) {
    if (target[r] < 0) continue;
    ++sums[0];
    for (int64_t k = 0; k < size; ++k) {
      const double pi =
          std::exp(static_cast<double>(static_cast<T*>(log_prior.data)[r * log_prior.ld + k]));
      sums[1 + k] += pi;
      sums[1 + size + k] += pi * pi;
    }
  }
}

}  // namespace

void Evaluation::add_raw_figures(Json& event) const {
  if (bytes == 0) return;
  if (words > 0) event["word_ppl"] = std::exp(word_nll());
  event["bits_per_byte"] = bits_per_byte();
}

void MixtureWeightStats::add(const Tensor& log_prior, const Tensor& targets, int64_t first,
                             int64_t step) {
  if (sums_.device() != kCpu) {
    std::vector<double> counted(static_cast<size_t>(log_prior.shape().rows()));
    for (int64_t r = first; r < log_prior.shape().rows(); r += step)
      counted[static_cast<size_t>(r)] = targets.data<int32_t>()[r] < 0 ? 0 : 1;
    return add_on_device(log_prior, counted);
  }
  const bool here = log_prior.device() == kCpu;
  const Tensor p = here ? log_prior : Tensor(log_prior.shape(), log_prior.dtype());
  if (!here) ops::copy(log_prior, p);
  const auto* target = targets.data<int32_t>();
  if (p.dtype() == DType::float32) {
    add_rows<float>(p, target, sums_.data<double>(), first, step);
  } else {
    add_rows<double>(p, target, sums_.data<double>(), first, step);
  }
}

// Computes the sums of 1, pi and pi^2 over the counted rows as a matrix product: counted (1, N) by
// these terms (N, 2K + 1).
void MixtureWeightStats::add_on_device(const Tensor& log_prior,
                                       const std::vector<double>& counted) {
  const int64_t rows = log_prior.shape().rows(), size = log_prior.shape().cols();
  // Batches of sentences differ in their number of rows.
  if (!terms_ || terms_.shape().rows() < rows) {
    terms_ = Tensor({rows, 2 * size + 1}, DType::float64, sums_.device());
    counted_ = Tensor({1, rows}, DType::float64, sums_.device());
    ops::fill(terms_.col_range(0, 1), 1);
  }
  const Tensor terms = terms_.row_range(0, rows), pi = terms.col_range(1, size),
               counts = counted_.col_range(0, rows);
  ops::copy(Tensor::from(counted, {1, rows}), counts);
  ops::copy(log_prior, pi);
  ops::unary(ops::Unary::exp, pi, {pi});
  ops::unary(ops::Unary::square, pi, {terms.col_range(1 + size, size)});
  ops::matmul(counts, false, terms, false, {sums_.view().reshaped({1, 2 * size + 1}), true}, 1.0);
}

void MixtureWeightStats::add(const MixtureWeightStats& other) {
  for (int64_t i = 0; other.sums_ && i < sums_.elements(); ++i)
    sums_.data<double>()[i] += other.sums_.data<double>()[i];
}

void MixtureWeightStats::clear() {
  if (sums_) ops::fill(sums_, 0);
}

std::vector<NamedView> MixtureWeightStats::named() const {
  if (!sums_) return {};
  return {{"prior.sums", sums_}};
}

void MixtureWeightStats::load(const Safetensors& file) {
  if (!sums_) return;
  const Tensor sums = file.at("prior.sums");
  require(sums.shape() == sums_.shape() && sums.dtype() == DType::float64, "prior.sums has shape ",
          sums.shape(), ", expected ", sums_.shape());
  ops::copy(sums, sums_);
}

std::vector<double> MixtureWeightStats::mean() const {
  const std::vector<double> sums = sums_.to_vector();
  const auto size = static_cast<ptrdiff_t>(sums.size() / 2);
  std::vector<double> out(sums.begin() + 1, sums.begin() + 1 + size);
  for (double& x : out) x /= sums[0];
  return out;
}

std::vector<double> MixtureWeightStats::variance() const {
  const std::vector<double> sums = sums_.to_vector();
  std::vector<double> out = mean();
  for (size_t k = 0; k < out.size(); ++k)
    out[k] = std::max(0.0, sums[1 + out.size() + k] / sums[0] - out[k] * out[k]);
  return out;
}

void add_head_statistics(const SoftmaxHead& head, const MixtureWeightStats& weights,
                         std::vector<StepStatistic>& out) {
  if (weights.sums()) out.push_back({.value = weights.sums()});
  if (const HeadStats* stats = head.stats(); stats != nullptr)
    out.push_back({.value = stats->norm_sums()});
  if (head.left_out()) out.push_back({.value = head.left_out()});
  if (!head.running_contexts()) return;
  const bool average = head.norms().context.kind == ContextNorm::Kind::max_ema;
  out.push_back({.value = head.running_contexts(),
                 .merge = average ? StepStatistic::Merge::average : StepStatistic::Merge::largest,
                 .decay = kNormDecay});
}

std::vector<NamedView> head_sums(const SoftmaxHead& head) {
  std::vector<NamedView> all;
  if (const HeadStats* stats = head.stats(); stats != nullptr) all = stats->named();
  if (head.left_out()) all.push_back({"head_skip.sums", head.left_out()});
  return all;
}

void load_head_sums(const SoftmaxHead& head, const Safetensors& file) {
  if (HeadStats* stats = head.stats(); stats != nullptr) stats->load(file);
  if (!head.left_out()) return;
  const Tensor sums = file.at("head_skip.sums");
  require(sums.shape() == head.left_out().shape() && sums.dtype() == DType::float64,
          "head_skip.sums has shape ", sums.shape(), ", expected ", head.left_out().shape());
  ops::copy(sums, head.left_out());
}

}  // namespace nine
