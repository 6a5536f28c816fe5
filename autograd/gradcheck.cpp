#include "autograd/gradcheck.h"

#include <algorithm>
#include <cmath>

#include "autograd/functions.h"
#include "core/random.h"

namespace nine {
namespace {

using Function = std::function<Var(std::span<const Var>)>;

// Returns a different weight in [0.5, 1.5) for each element.
Tensor unequal_weights(const Shape& shape, uint64_t seed) {
  Tensor w(shape, DType::float64);
  const RandomKey key{.seed = seed, .op = stream_id("gradcheck.weights")};
  for (int64_t i = 0; i < w.elements(); ++i)
    w.data<double>()[i] = 0.5 + static_cast<double>(random_uniform(key, static_cast<uint64_t>(i)));
  return w;
}

std::vector<Var> leaves_of(Tape& tape, const std::vector<Tensor>& inputs) {
  std::vector<Var> leaves;
  for (const Tensor& t : inputs) leaves.push_back(tape.leaf(t));
  return leaves;
}

std::vector<int64_t> chosen_elements(int64_t n, size_t input, const GradcheckOptions& o) {
  std::vector<int64_t> all(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) all[static_cast<size_t>(i)] = i;
  if (o.max_elements == 0 || n <= o.max_elements) return all;
  RandomStream random({.seed = o.seed,
                       .step = static_cast<uint32_t>(input),
                       .op = stream_id("gradcheck.elements")});
  for (int64_t i = 0; i < o.max_elements; ++i)
    std::swap(all[static_cast<size_t>(i)],
              all[static_cast<size_t>(i) + random.below(static_cast<uint64_t>(n - i))]);
  all.resize(static_cast<size_t>(o.max_elements));
  return all;
}

void check_inputs(const std::vector<Tensor>& inputs) {
  for (const Tensor& t : inputs)
    require(t.dtype() == DType::float64 && t.view().contiguous(),
            "[gradcheck] inputs must be contiguous float64 tensors");
}

}  // namespace

Var checked_loss(const Var& y, uint64_t seed) {
  if (y.value().elements() == 1) return y;
  return sum(mul(y, y.tape().constant(unequal_weights(y.shape(), seed))));
}

GradcheckReport gradcheck(const Function& f, const std::vector<Tensor>& given_inputs,
                          const GradcheckOptions& o) {
  check_inputs(given_inputs);
  std::vector<Tensor> inputs;  // copies, because given tensors may share memory
  for (const Tensor& t : given_inputs) inputs.push_back(t.clone());
  Arena arena("gradcheck");
  Tape tape(arena);
  const std::vector<Var> leaves = leaves_of(tape, inputs);
  tape.backward(checked_loss(f(leaves), o.seed));
  std::vector<std::vector<double>> gradients;
  for (const Var& leaf : leaves) gradients.push_back(leaf.grad().to_vector());
  tape.reset();
  std::vector<std::string> names;
  for (size_t i = 0; i < inputs.size(); ++i) names.push_back(concat("input ", i));
  // The numeric side records too, because functions such as dropout differ under NoGrad.
  const auto value = [&] {
    const double loss = checked_loss(f(leaves_of(tape, inputs)), o.seed).value().to_vector()[0];
    tape.reset();
    return loss;
  };
  return compare_gradients(names, inputs, gradients, value, o);
}

GradcheckReport compare_gradients(const std::vector<std::string>& names,
                                  const std::vector<Tensor>& inputs,
                                  const std::vector<std::vector<double>>& gradients,
                                  const std::function<double()>& value, const GradcheckOptions& o) {
  check_inputs(inputs);
  GradcheckReport report;
  for (size_t i = 0; i < inputs.size(); ++i) {
    double* x = inputs[i].data<double>();
    double largest = 0, largest_analytic = 0, difference = 0;
    std::string where;
    for (const int64_t e : chosen_elements(inputs[i].elements(), i, o)) {
      const double before = x[e], step = o.eps * std::max(1.0, std::abs(before));
      x[e] = before + step;
      const double above = value(), up = x[e];
      x[e] = before - step;
      const double numeric = (above - value()) / (up - x[e]);
      x[e] = before;
      const double analytic = gradients[i][static_cast<size_t>(e)],
                   error = std::abs(analytic - numeric);
      largest = std::max(largest, std::abs(numeric));
      largest_analytic = std::max(largest_analytic, std::abs(analytic));
      ++report.checked;
      if (error > difference || std::isnan(error)) {
        difference = std::isnan(error) ? INFINITY : error;
        where = concat(names[i], " of shape ", inputs[i].shape(), ", element ", e, ": analytic ",
                       analytic, ", numeric ", numeric);
      }
    }
    // If the whole gradient is zero, only rounding errors can be compared: take the absolute
    // difference.
    const double relative = difference / (largest > kVanishingGradient ? largest : 1.0);
    if (std::max({largest, largest_analytic, difference}) <= kVanishingGradient)
      report.vanished.push_back(i);
    if (relative > report.worst || report.where.empty()) {
      report.worst = relative;
      report.where = where;
    }
  }
  return report;
}

}  // namespace nine
