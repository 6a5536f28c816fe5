#include "nn/training/mixture_weight_stats.h"

#include <algorithm>
#include <cmath>

#include "core/ops.h"

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

void MixtureWeightStats::add(const Tensor& log_prior, const Tensor& targets, int64_t first,
                             int64_t step) {
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

void MixtureWeightStats::add(const MixtureWeightStats& other) {
  for (int64_t i = 0; other.sums_ && i < sums_.elements(); ++i)
    sums_.data<double>()[i] += other.sums_.data<double>()[i];
}

void MixtureWeightStats::clear() {
  if (sums_) std::fill_n(sums_.data<double>(), sums_.elements(), 0.0);
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
  const int64_t size = sums_.elements() / 2;
  std::vector<double> out(sums_.data<double>() + 1, sums_.data<double>() + 1 + size);
  for (double& x : out) x /= rows();
  return out;
}

std::vector<double> MixtureWeightStats::variance() const {
  std::vector<double> out = mean();
  const double* squares = sums_.data<double>() + 1 + out.size();
  for (size_t k = 0; k < out.size(); ++k)
    out[k] = std::max(0.0, squares[k] / rows() - out[k] * out[k]);
  return out;
}

}  // namespace nine
