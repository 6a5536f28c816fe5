#include "nn/head_stats.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/ops.h"
#include "kernels/ops.h"

namespace nine {
namespace {

Tensor rows_of(const Tensor& x) {
  return x.with(x.view().reshaped({x.shape().rows(), x.shape().cols()}));
}

std::vector<double> norms_of(const Tensor& x) {
  const Tensor norms({x.shape().rows()}, DType::float64, x.device());
  ops::row_norms(x, norms);
  return norms.to_vector();
}

void require_targets(const Tensor& hidden, const Tensor& targets) {
  require(targets.elements() == hidden.shape().rows(), "[HeadStats] ", targets.elements(),
          " targets for ", hidden.shape().rows(), " rows");
}

}  // namespace

void HeadStats::add_norms(const Tensor& hidden, const Tensor& targets) {
  require_targets(hidden, targets);
  const std::vector<double> norms = norms_of(rows_of(hidden));
  const auto* y = targets.data<int32_t>();
  double* sums = sums_.data<double>();
  for (size_t r = 0; r < norms.size(); ++r) {
    if (y[r] < 0) continue;
    ++sums[0];
    sums[1] += norms[r];
  }
}

void HeadStats::add_angles(const Tensor& hidden, const Tensor& targets, const Tensor& words) {
  require_targets(hidden, targets);
  require(counts_angles(), "[HeadStats] angles are not counted: call count_angles(true) first");
  const std::vector<double> h = hidden.to_vector(), w = words.to_vector();
  const auto d = static_cast<size_t>(words.shape().cols());
  const auto* y = targets.data<int32_t>();
  for (size_t r = 0; r < h.size() / d; ++r) {
    if (y[r] < 0) continue;
    require(y[r] < words.shape().rows(), "[HeadStats] target ", y[r],
            " is outside of the vocabulary of ", words.shape().rows());
    const double *a = h.data() + r * d, *b = w.data() + static_cast<size_t>(y[r]) * d;
    double dot = 0, aa = 0, bb = 0;
    for (size_t k = 0; k < d; ++k) dot += a[k] * b[k], aa += a[k] * a[k], bb += b[k] * b[k];
    const double length = std::sqrt(aa) * std::sqrt(bb),
                 angle = std::acos(length > 0 ? std::clamp(dot / length, -1.0, 1.0) : 0.0);
    const auto bin = static_cast<int64_t>(angle / std::numbers::pi * kBins);
    ++angles_[static_cast<size_t>(std::min(bin, kBins - 1))];
  }
}

double HeadStats::mean_norm() const {
  const double* sums = sums_.data<double>();
  return sums[0] > 0 ? sums[1] / sums[0] : 0;
}

void HeadStats::clear_norms() { ops::fill(sums_, 0); }

void HeadStats::count_angles(bool on) { angles_.assign(on ? kBins : 0, 0); }

std::vector<NamedView> HeadStats::named() const { return {{"context.norm_sums", sums_}}; }

void HeadStats::load(const Safetensors& file) {
  const auto found = file.tensors.find("context.norm_sums");
  if (found == file.tensors.end()) return;  // the checkpoint is older than these statistics
  require(found->second.shape() == sums_.shape(), "context.norm_sums has shape ",
          found->second.shape(), ", expected ", sums_.shape());
  ops::copy(found->second, sums_);
}

}  // namespace nine
