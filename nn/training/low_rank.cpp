#include "nn/training/low_rank.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/ops.h"
#include "core/quote.h"

namespace nine {
namespace {

// Returns the matrices that patterns match, in the set's order. Error: a pattern without a matrix.
std::vector<NamedView> matrices_of(const ParameterSet& set, const LowRankConfig& config) {
  std::vector<NamedView> out;
  std::vector<bool> used(config.matrices.size());
  std::string names;
  for (const NamedView& parameter : set.named(set.values())) {
    if (parameter.view.shape.rank() != 2) continue;
    names += (names.empty() ? "" : ", ") + parameter.name;
    bool any = false;
    for (size_t i = 0; i < used.size(); ++i)
      if (fnmatch(config.matrices[i].c_str(), parameter.name.c_str(), 0) == 0) any = used[i] = true;
    if (any) out.push_back(parameter);
  }
  for (size_t i = 0; i < used.size(); ++i)
    if (!used[i])
      throw UsageError(concat("there is no matrix called ", quote(config.matrices[i]),
                              " for a low-rank update; there are ", names));
  for (const NamedView& matrix : out)
    require(config.rank <= std::min(matrix.view.rows(), matrix.view.cols()), "the rank ",
            config.rank, " of low-rank updates is above the smaller side of ", matrix.name, ", ",
            matrix.view.shape, ": lower it");
  return out;
}

}  // namespace

LowRankUpdates::LowRankUpdates(ParameterSet& set, const LowRankConfig& config)
    : factor_(config.alpha / static_cast<double>(config.rank)),
      factors_({.dtype = set.dtype(), .seed = config.seed, .device = set.device()}) {
  require(config.rank >= 1, "the rank of low-rank updates is ", config.rank,
          ": it must be 1 or more");
  const std::vector<NamedView> chosen = matrices_of(set, config);
  for (const Parameter& parameter : set.all()) set.at(parameter.name).frozen = true;
  for (const NamedView& matrix : chosen) {
    Parameter& whole = set.at(matrix.name);
    whole.frozen = false;
    const int64_t out = matrix.view.rows(), in = matrix.view.cols();
    const double deviation = 1 / std::sqrt(static_cast<double>(in));
    Parameter &a =
                  factors_.add(matrix.name + ".lora_a", {config.rank, in}, Init::normal(deviation)),
              &b = factors_.add(matrix.name + ".lora_b", {out, config.rank}, Init::zeros());
    matrices_.push_back({&whole, whole.value().clone(), &a, &b});
  }
}

void LowRankUpdates::set_gradients() {
  for (const Matrix& m : matrices_) {
    const Tensor& g = m.whole->grad();
    ops::matmul(m.b->value(), true, g, false, {m.a->grad()}, factor_);
    ops::matmul(g, false, m.a->value(), true, {m.b->grad()}, factor_);
    m.a->has_grad = m.b->has_grad = true;
  }
}

void LowRankUpdates::apply() {
  for (const Matrix& m : matrices_) {
    ops::copy(m.original, m.whole->value());
    ops::matmul(m.b->value(), false, m.a->value(), false, {m.whole->value(), true}, factor_);
  }
}

std::vector<NamedView> LowRankUpdates::originals(const std::string& prefix) const {
  std::vector<NamedView> out;
  for (const Matrix& m : matrices_) out.push_back({prefix + m.whole->name, m.original});
  return out;
}

void LowRankUpdates::load_originals(const Safetensors& file, const std::string& prefix) {
  for (const Matrix& m : matrices_) {
    const Tensor& stored = file.at(prefix + m.whole->name);
    require(stored.shape() == m.original.shape(), "tensor ", quote(prefix + m.whole->name),
            " has shape ", stored.shape(), ", but this model needs ", m.original.shape());
    ops::copy(stored, m.original);
  }
}

LowRankSize low_rank_size(const ParameterSet& set, const LowRankConfig& config) {
  LowRankSize out;
  for (const NamedView& matrix : matrices_of(set, config)) {
    out.matrices.push_back(matrix.name);
    out.numbers += config.rank * (matrix.view.rows() + matrix.view.cols());
  }
  return out;
}

}  // namespace nine
