#include "apps/inspect/inspect.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "checks/values.h"
#include "core/json.h"
#include "core/random.h"
#include "kernels/expression/kernel_lines.h"
#include "kernels/loss/kernel_softmax.h"
#include "kernels/options/angle.h"
#include "kernels/settings/learned_numbers.h"

namespace nine::app {
namespace {

using Doubles = std::vector<double>;
using Arrays = std::array<InspectArray, InspectInput::kFields>;

constexpr int64_t kSampledElements = 200;  // of all gradients, compared with differences

// Transposes each of `blocks` matrices of rows x cols. The file's M and C are the transposes of the
// head's prior and latent weights.
Doubles transposed(const Doubles& x, int64_t blocks, int64_t rows, int64_t cols) {
  Doubles y(x.size());
  for (int64_t k = 0; k < blocks; ++k)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < cols; ++j)
        y[static_cast<size_t>(k * rows * cols + j * rows + i)] =
            x[static_cast<size_t>(k * rows * cols + i * cols + j)];
  return y;
}

// The norms of the input's head, with a running maximum that the loss fills.
HeadNorms norms_of(const InspectInput& in, Device device) {
  HeadNorms norms{in.head.norms};
  norms.training = true;
  norms.follow(in.counts.empty() ? Doubles(static_cast<size_t>(in.words), 1.0) : in.counts, device);
  if (norms.context.of_batch())
    norms.running = Tensor({in.head.spec.size()}, DType::float64, device);
  return norms;
}

// The same norms for finite differences, on the CPU: what no gradient passes through is a constant.
// `running`: as the loss has filled it.
HeadNorms frozen(const InspectInput& in, const Doubles& running) {
  HeadNorms norms = norms_of(in, kCpu);
  if (norms.first_word >= 0 && !norms.word.through) {
    const Doubles ratios = norms.ratios.to_vector(), &w = in.arrays[InspectInput::kW].values;
    const int64_t copies = in.head.spec.untied ? in.head.spec.size() : 1;
    Doubles all;
    for (int64_t k = 0; k < copies; ++k) {
      const double first =
          scores::norm(w.data() + (k * in.words + norms.first_word) * in.size, in.size);
      for (const double r : ratios) all.push_back(r * first);
    }
    norms.ratios = Tensor::from(all, {copies, in.words});
    norms.first_word = -1;
  }
  if (norms.context.of_batch()) {
    norms.training = norms.context.through;
    norms.running = norms.training ? Tensor() : Tensor::from(running, {std::ssize(running)});
  }
  return norms;
}

// The input's contexts, weights and targets on a tape.
struct HeadOnTape {
  Var h;
  HeadWeights weights;
  Tensor targets;

  HeadOnTape(Tape& tape, const InspectInput& in, const Arrays& a, DType dtype) {
    const int64_t d = in.size, size = in.head.spec.size();
    const auto leaf = [&](const Doubles& values, const Shape& shape) {
      return tape.leaf(tape.on_device(checks::tensor_of(values, shape, dtype)));
    };
    h = leaf(a[InspectInput::kH].values, {in.rows, d});
    weights.w = {leaf(a[InspectInput::kW].values,
                      in.head.spec.untied ? Shape{size, in.words, d} : Shape{in.words, d})};
    if (const auto& b = a[InspectInput::kB]) weights.bias = leaf(b.values, {in.words});
    if (const auto& m = a[InspectInput::kM])
      weights.prior = leaf(transposed(m.values, 1, d, size), {size, d});
    if (const auto& c = a[InspectInput::kC])
      weights.latent = leaf(transposed(c.values, size, d, d), {size * d, d});
    const std::vector<LearnedNumber> learned = learned_numbers(in.head.spec);
    for (size_t i = 0; i < learned.size(); ++i)
      weights.numbers.push_back(leaf({learned[i].stored(a[InspectInput::kScores].values[i])}, {1}));
    Tensor words({in.rows}, DType::int32);
    std::copy(in.targets.begin(), in.targets.end(), words.data<int32_t>());
    targets = tape.on_device(words);
  }
};

struct Losses {
  Var loss, nll;
};
Losses loss_of(const InspectInput& in, const HeadOnTape& p) {
  const auto counting =
      std::count_if(in.targets.begin(), in.targets.end(), [](int32_t y) { return y >= 0; });
  const SoftmaxLoss out = kernel_softmax(in.head.spec, p.h, p.weights, p.targets,
                                         1.0 / static_cast<double>(counting), in.head.loss);
  if (in.head.norm_reg.strength == 0) return {out.loss, out.nll};
  return {add(out.loss, norm_penalty(p.weights.w, in.head.norm_reg)), out.nll};
}

Arrays gradients_of(const InspectInput& in, const HeadOnTape& p) {
  Arrays g = in.arrays;
  const int64_t d = in.size, size = in.head.spec.size();
  g[InspectInput::kH].values = p.h.grad().to_vector();
  g[InspectInput::kW].values = p.weights.w[0].grad().to_vector();
  if (p.weights.bias) g[InspectInput::kB].values = p.weights.bias.grad().to_vector();
  if (p.weights.prior)
    g[InspectInput::kM].values = transposed(p.weights.prior.grad().to_vector(), 1, size, d);
  if (p.weights.latent)
    g[InspectInput::kC].values = transposed(p.weights.latent.grad().to_vector(), size, d, d);
  // By the numbers themselves, not by the logarithms that some are learned as.
  const std::vector<LearnedNumber> learned = learned_numbers(in.head.spec);
  for (size_t i = 0; i < learned.size(); ++i)
    g[InspectInput::kScores].values[i] = p.weights.numbers[i].grad().to_vector().front() /
                                         (learned[i].positive ? learned[i].start : 1);
  return g;
}

double loss_at(const InspectInput& in, const Arrays& arrays, const HeadNorms& norms, Arena& pool) {
  Tape tape(pool);
  tape.set_recording(false);
  HeadOnTape p(tape, in, arrays, DType::float64);
  p.weights.norms = norms;
  return loss_of(in, p).loss.value().item();
}

// The step of an element's differences. A number that stays positive takes steps that are small
// beside it.
double step_of(const InspectInput& in, size_t field, size_t element) {
  const double x = in.arrays[field].values[element], step = 1e-4 * std::max(1.0, std::abs(x) / 100);
  const bool positive =
      field == InspectInput::kScores && learned_numbers(in.head.spec)[element].positive;
  return positive ? std::min(step, 1e-3 * x) : step;
}

// The derivative of the loss by one element: central differences from five points, whose error is
// of the order step^4. Nothing where the head has no finite loss at one of them.
std::optional<double> finite_difference(const InspectInput& in, Arrays& arrays,
                                        const HeadNorms& norms, size_t field, size_t element,
                                        Arena& pool) {
  double& x = arrays[field].values[element];
  const double before = x, step = step_of(in, field, element);
  const auto at = [&](double steps) {
    x = before + steps * step;
    return loss_at(in, arrays, norms, pool);
  };
  std::optional<double> y;
  try {
    y = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step);
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error&) {  // the head refuses the point
  }
  x = before;
  return y && std::isfinite(*y) ? y : std::nullopt;
}

// Which elements to compare, counted through all arrays.
std::vector<int64_t> coordinates(const InspectInput& in) {
  int64_t total = 0;
  for (const InspectArray& a : in.arrays) total += static_cast<int64_t>(a.values.size());
  const bool all = in.check_all || total <= kSampledElements;
  std::vector<int64_t> chosen(static_cast<size_t>(all ? total : kSampledElements));
  // A stratified sample: one of each equal share, at random.
  const RandomKey key{.seed = 1, .op = stream_id("kernel_inspect")};
  for (size_t i = 0; i < chosen.size(); ++i) {
    const auto count = static_cast<int64_t>(chosen.size()), index = static_cast<int64_t>(i);
    const int64_t begin = total * index / count, end = total * (index + 1) / count;
    const auto share = static_cast<uint32_t>(std::max<int64_t>(1, end - begin));  // never 0
    chosen[i] = begin + static_cast<int64_t>(random_bits(key, i) % share);
  }
  return chosen;
}

// `max_relative_error`: the largest |gradient - difference| of an array over its largest gradient.
// Where the gradients of an array nearly vanish, the divisor is a thousandth of the largest
// gradient of all arrays, or 1e-5 of the loss: finite differences have no more digits. `left_out`,
// unless it is 0: elements without a difference. `unchecked`, unless it is empty: the arrays whose
// gradients and differences all vanish, where 0 agrees with 0.
Json check_json(const InspectInput& in, const Arrays& gradients, const HeadNorms& norms,
                double loss) {
  const auto size_of_array = [](const InspectArray& a) {
    double largest = 0;
    for (const double x : a.values) largest = std::max(largest, std::abs(x));
    return largest;
  };
  double least = 1e-5 * std::max(1.0, std::abs(loss));
  for (const InspectArray& g : gradients) least = std::max(least, 1e-3 * size_of_array(g));
  Arrays arrays = in.arrays;
  Arena pool("kernel_inspect");
  double worst = 0;
  int64_t left_out = 0;
  std::vector<double> differences(arrays.size(), 0);  // the largest of each array
  for (int64_t at : coordinates(in)) {
    size_t field = 0;
    for (; at >= static_cast<int64_t>(arrays[field].values.size()); ++field)
      at -= static_cast<int64_t>(arrays[field].values.size());
    const auto element = static_cast<size_t>(at);
    const auto difference = finite_difference(in, arrays, norms, field, element, pool);
    if (!difference) {
      ++left_out;
      continue;
    }
    differences[field] = std::max(differences[field], std::abs(*difference));
    const double off = std::abs(gradients[field].values[element] - *difference);
    worst = std::max(worst, off / std::max(size_of_array(gradients[field]), least));
  }
  Json out = Json::object();
  out["max_relative_error"] = worst;
  if (left_out > 0) out["left_out"] = left_out;
  for (size_t i = 0; i < arrays.size(); ++i)
    if (arrays[i] && std::max(size_of_array(gradients[i]), differences[i]) <= kVanishingGradient)
      out["unchecked"].push_back(arrays[i].name);
  return out;
}

// Nested arrays of the shape. Error: a number that is not finite, which JSON cannot write.
Json nested(const Doubles& values, const std::vector<int64_t>& shape, const std::string& name) {
  const auto wrong = std::ranges::find_if(values, [](double x) { return !std::isfinite(x); });
  if (wrong != values.end())
    fail("[kernel_inspect] ", name, " has ", *wrong, " at ",
         index_text({shape.data(), static_cast<int>(shape.size())}, wrong - values.begin()),
         ", which JSON cannot write: numbers of the input are too large for the head");
  Json level(values);
  for (size_t axis = shape.size(); axis-- > 1;) {
    Json outer = Json::array();
    const auto count = static_cast<size_t>(shape[axis]);
    for (size_t begin = 0; begin < level.size(); begin += count) {
      Json inner = Json::array();
      for (size_t i = 0; i < count; ++i) inner.push_back(std::move(level[begin + i]));
      outer.push_back(std::move(inner));
    }
    level = std::move(outer);
  }
  return level;
}

Json parameters_json(const Score& score) {
  Json out = Json::object();
  const auto parameters = kernel_info(score).parameters;
  for (size_t k = 0; k < parameters.size(); ++k) {
    const ParameterInfo& p = parameters[k];
    const bool word = p.words != nullptr && (!p.numbers_too || score.parameters[k] == 0);
    out[p.name] =
        word ? Json(p.words[static_cast<int>(score.parameters[k])]) : Json(score.parameters[k]);
  }
  if (score.scale != 1 || score.learns(kScaleNumber)) out["scale"] = score.scale;
  return out;
}

Json formulas(const HeadSpec& head) {
  Json out = Json::array();
  for (const Score& score : head.components) {
    const KernelInfo k = kernel_info(score);
    const expression::KernelLines lines(kernel_expression(score), k.parameters);
    out.push_back({{"name", k.name},
                   {"score", lines.score_text()},
                   {"derivative", lines.derivative_text()},
                   {"parameters", parameters_json(score)}});
  }
  return out;
}

// The component contexts h~ of the input, [component][row][d].
Doubles component_contexts(const InspectInput& in) {
  const Doubles &h = in.arrays[InspectInput::kH].values, &c = in.arrays[InspectInput::kC].values;
  const auto n = static_cast<size_t>(in.rows), d = static_cast<size_t>(in.size);
  Doubles out;
  for (size_t k = 0; k < static_cast<size_t>(in.head.spec.size()); ++k)
    for (size_t r = 0; r < n; ++r)
      for (size_t j = 0; j < d; ++j) {
        double sum = 0;
        for (size_t i = 0; i < d && !c.empty(); ++i) sum += h[r * d + i] * c[(k * d + i) * d + j];
        out.push_back(c.empty() ? h[r * d + j] : std::tanh(sum));
      }
  return out;
}

// c and psi(c) of the targets, N numbers or K of each; null where a row has none.
void put_angles(const InspectInput& in, Json& out) {
  const Doubles contexts = component_contexts(in), &w = in.arrays[InspectInput::kW].values;
  Json cosines = Json::array(), psis = Json::array();
  for (int64_t k = 0; k < in.head.spec.size(); ++k) {
    Json c = Json::array(), psi = Json::array();
    for (int64_t r = 0; r < in.rows; ++r) {
      const int64_t y = in.targets[static_cast<size_t>(r)];
      if (y < 0) {
        c.push_back(nullptr);
        psi.push_back(nullptr);
        continue;
      }
      const scores::AnglePair<double> pair(
          w.data() + ((in.head.spec.untied ? k * in.words : 0) + y) * in.size,
          contexts.data() + (k * in.rows + r) * in.size, in.size);
      c.push_back(pair.cosine);
      psi.push_back(scores::margin_at(in.head.loss.margin, pair.cosine, pair.sine).value);
    }
    cosines.push_back(c);
    psis.push_back(psi);
  }
  out["cos"] = in.head.spec.mixture ? cosines : cosines[0];
  out["psi"] = in.head.spec.mixture ? psis : psis[0];
}

}  // namespace

Json inspect(const InspectInput& in) {
  const int64_t size = in.head.spec.size(), n = in.rows, words = in.words;
  Arena pool("kernel_inspect", in.device);
  Tape tape(pool);
  HeadOnTape p(tape, in, in.arrays, in.dtype);
  p.weights.norms = norms_of(in, in.device);
  Json out;
  const Losses losses = loss_of(in, p);
  p.weights.norms.training = false;
  const Doubles scores = component_scores(in.head.spec, p.h, p.weights, p.targets).to_vector();
  const Doubles pi = prior_probabilities(in.head.spec, p.h, p.weights).to_vector();
  Doubles log_probs = log_probabilities(in.head.spec, p.h, p.weights).to_vector();
  const double loss = losses.loss.value().item();
  require(std::isfinite(loss), "[kernel_inspect] the loss is not finite: ", loss,
          "; the head's scores overflow ", in.dtype);
  const Doubles nll = losses.nll.value().to_vector();
  // The loss computes log p of the targets more accurately: its values are used.
  for (size_t r = 0; r < nll.size(); ++r)
    if (in.targets[r] >= 0)
      log_probs[r * static_cast<size_t>(words) + static_cast<size_t>(in.targets[r])] = -nll[r];
  out["loss"] = loss;
  out["nll"] = nested(nll, {n}, "nll");
  out["scores"] = nested(
      scores,
      in.head.spec.mixture ? std::vector<int64_t>{size, n, words} : std::vector<int64_t>{n, words},
      "scores");
  out["log_probs"] = nested(log_probs, {n, words}, "log_probs");
  out["pi"] = nested(pi, {n, size}, "pi");
  if (in.by_angle()) put_angles(in, out);
  const HeadNorms fixed =
      frozen(in, p.weights.norms.running ? p.weights.norms.running.to_vector() : Doubles{});
  tape.backward(losses.loss);
  const Arrays gradients = gradients_of(in, p);
  for (const InspectArray& g : gradients)
    if (g) out["grad"][g.name] = nested(g.values, g.shape, concat("grad.", g.name));
  out["check"] = check_json(in, gradients, fixed, loss);
  out["formulas"] = formulas(in.head.spec);
  return out;
}

std::string inspect_json(const std::string& text) {
  const InspectInput in = read_inspect_input(parse_json(text));
  set_matmul_precision(in.precision);
  return json_text(inspect(in)) + '\n';
}

}  // namespace nine::app
