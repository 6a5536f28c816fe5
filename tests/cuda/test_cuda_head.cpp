// The kernel softmax, CPU against CUDA: every kernel, mixtures, smoothing, penalties, both ways of
// holding products, and a vocabulary in several runs; gradients too, and what is read out for
// decoding.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <string>
#include <utility>

#include "autograd/functions.h"
#include "checks/op_cases.h"
#include "core/caller_stream.h"
#include "kernels/loss/cuda/spare_bytes.h"
#include "kernels/loss/head_blocks.h"
#include "kernels/loss/kernel_softmax.h"
#include "kernels/settings/learned_numbers.h"
#include "tests/cuda/device_cases.h"
#include "tests/support/bf16_mode.h"
#include "tests/support/compare.h"
#ifdef NINE_CUDA_ON_HOST
#include "tests/cuda_on_host/access.h"
#include "tests/cuda_on_host/card.h"
#endif

using namespace nine;
using namespace nine::checks;
using namespace nine::tests;

namespace {

struct Problem {
  std::string head;
  int64_t rows = 37, words = 75, size = 6;
  HeadLoss options = {};
  bool bias = true;
  double scale = 1;  // of the vectors
  bool untied = false;
  int64_t far = 0;  // so many words are at 1e7, and nobody's target
  std::string word_norm = "none", context_norm = "none";
  size_t pool = size_t{64} << 20;  // bytes
  // A sampled softmax: every second word counts only for the rows whose target it is.
  bool sampled = false;
  bool rows_differ = false;  // the rows' losses have different factors
  // Words are in order of frequency: the bias falls by so much, and targets are among the first
  // quarter of the words.
  double fall = 0;

  HeadNorms norms(Device device) const {
    HeadNorms n{
        {.word = word_norm_from_text(word_norm), .context = context_norm_from_text(context_norm)}};
    Doubles counts;
    for (int64_t v = 0; v < words; ++v) counts.push_back(static_cast<double>((7 * v + 3) % 23));
    n.follow(counts, device);
    if (n.context.of_batch()) {
      n.running = Tensor({parse_head(head).size()}, DType::float64, device);
      n.training = true;
    }
    return n;
  }
};

struct Result {
  Doubles loss, nll, prior, share, log_probs, scores, running, row_loss, lse, left_out;
  std::vector<Doubles> gradients;
};

Result run(const Problem& p, DType dtype, Device device) {
  const HeadSpec head = parse_head(p.head, {.untied = p.untied});
  const int64_t k = head.size(), copies = head.untied ? k : 1;
  std::vector<Input> shapes{{{p.rows, p.size}, -p.scale, p.scale},
                            {{copies, p.words, p.size}, -p.scale, p.scale},
                            {{p.words}},
                            {{k, p.size}},
                            {{k * p.size, p.size}}};
  std::vector<Doubles> values = random_values(shapes, 21);
  std::fill_n(values[1].begin(), p.far * p.size, 1e7);
  for (const LearnedNumber& n : learned_numbers(head)) {
    shapes.push_back({{1}});
    values.push_back({n.stored(n.start)});
  }
  Ints targets = random_indices({{{p.rows}, -1, static_cast<int32_t>(p.words)}}, 22)[0];
  for (size_t r = 0; r < targets.size(); r += 3) targets[r] = 1;  // words repeat
  for (int32_t& y : targets)
    if (p.far > 0) y = static_cast<int32_t>(p.words - 1);
  targets[0] = static_cast<int32_t>(p.words - 1);
  if (p.fall > 0) {
    for (int32_t& y : targets) y %= static_cast<int32_t>(p.words / 4);
    for (int64_t v = 0; v < p.words; ++v)
      values[2][static_cast<size_t>(v)] =
          -p.fall * static_cast<double>(v) / static_cast<double>(p.words);
  }
  Tape tape(poisoned_pool(device, p.pool));
  std::vector<Parameter> parameters(values.size());
  std::vector<Var> x;
  for (size_t i = 0; i < values.size(); ++i) {
    const Shape& shape = shapes[i].shape;
    parameters[i].set_memory(
        to_device(tensor_of(values[i], shape, dtype), device),
        to_device(tensor_of(Doubles(values[i].size(), std::nan("")), shape, dtype), device));
    x.push_back(tape.parameter(parameters[i]));
  }
  HeadWeights weights{{head.untied ? x[1] : reshape(x[1], {p.words, p.size})}};
  if (p.bias) weights.bias = x[2];
  if (head.mixture) weights.prior = x[3];
  if (head.contexts) weights.latent = x[4];
  weights.numbers.assign(x.begin() + 5, x.end());
  weights.norms = p.norms(device);
  if (p.sampled) {
    Doubles offsets(static_cast<size_t>(p.words));
    const auto on_device = [&] { return to_device(tensor_of(offsets, {p.words}, dtype), device); };
    weights.target_offset = on_device();
    for (size_t v = 0; v < offsets.size(); v += 2) offsets[v] = kLeftOut;
    weights.offset = on_device();
  }
  const Tensor y = to_device(tensor_of(targets, {p.rows}), device);
  SoftmaxRows rows{.loss = Tensor({p.rows}, DType::float64, device),
                   .lse = Tensor({k, p.rows}, DType::float64, device),
                   .left_out = Tensor({4}, DType::float64, device)};
  if (p.rows_differ) {
    Doubles factors;
    for (int64_t r = 0; r < p.rows; ++r) factors.push_back(0.5 * static_cast<double>(r % 7) - 1);
    rows.factor = to_device(tensor_of(factors, {p.rows}, DType::float64), device);
  }
  const SoftmaxLoss out = kernel_softmax(head, x[0], weights, y, 0.3, p.options, rows);
  weights.norms.training = false;
  const HeadNorms evaluation = weights.norms;
  const auto read = [](const Var& v) { return v ? v.value().to_vector() : Doubles{}; };
  Result r{.loss = read(out.loss),
           .nll = read(out.nll),
           .prior = read(out.prior),
           .share = read(out.share),
           .row_loss = rows.loss.to_vector(),
           .lse = rows.lse.to_vector()};
  tape.backward(out.loss);
  r.left_out = rows.left_out.to_vector();
  const bool used[] = {true, true, p.bias, head.mixture, head.contexts};
  for (size_t i = 0; i < parameters.size(); ++i)
    if (i >= 5 || used[i]) r.gradients.push_back(parameters[i].grad().to_vector());
  tape.reset();
  x.clear();
  for (Parameter& each : parameters) x.push_back(tape.parameter(each));
  weights = {{head.untied ? x[1] : reshape(x[1], {p.words, p.size})},
             p.bias ? x[2] : Var(),
             head.mixture ? x[3] : Var(),
             head.contexts ? x[4] : Var(),
             {x.begin() + 5, x.end()},
             evaluation};
  if (evaluation.running) r.running = evaluation.running.to_vector();
  r.log_probs = log_probabilities(head, x[0], weights).to_vector();
  r.scores = component_scores(head, x[0], weights, y).to_vector();
  return r;
}

void compare(const Problem& p, DType dtype, double limit) {
  CAPTURE(p.head);
  CAPTURE(dtype == DType::float64);
  const Result cpu = run(p, DType::float64, kCpu), gpu = run(p, dtype, kGpu);
  if (p.options.skip > 0) {
    REQUIRE(cpu.left_out[0] > 0.1 * cpu.left_out[1]);
    REQUIRE(cpu.left_out[0] < 0.9 * cpu.left_out[1]);
    CHECK(gpu.left_out[0] == cpu.left_out[0]);
    CHECK(gpu.left_out[1] == cpu.left_out[1]);
    CHECK(std::abs(gpu.left_out[2] / cpu.left_out[2] - 1) < 10 * limit);
    CHECK(std::abs(gpu.left_out[3] / cpu.left_out[3] - 1) < 10 * limit);
  }
  CHECK(relative_error(gpu.loss, cpu.loss) < limit);
  CHECK(relative_error(gpu.nll, cpu.nll) < limit);
  CHECK(relative_error(gpu.prior, cpu.prior) < limit);
  CHECK(relative_error(gpu.share, cpu.share) < limit);
  CHECK(relative_error(gpu.log_probs, cpu.log_probs) < limit);
  CHECK(relative_error(gpu.scores, cpu.scores) < limit);
  CHECK(relative_error(gpu.running, cpu.running) < limit);
  CHECK(relative_error(gpu.row_loss, cpu.row_loss) < limit);
  CHECK(relative_error(gpu.lse, cpu.lse) < limit);
  REQUIRE(gpu.gradients.size() == cpu.gradients.size());
  for (size_t i = 0; i < cpu.gradients.size(); ++i) {
    CAPTURE(i);
    // Learned numbers and the prior's weights: sums over all words and rows, most of which cancels
    // if a row's probabilities add up to 1. In float32 their sum is wrong by up to 2^-22
    // (cuda/exponential.cuh).
    const bool cancels = dtype == DType::float32 && cpu.gradients[i].size() < 20;
    CHECK(relative_error(gpu.gradients[i], cpu.gradients[i]) < (cancels ? 50 : 1) * limit);
  }
}
void compare(const Problem& p) {
  compare(p, DType::float64, 1e-10);
  compare(p, DType::float32, 1e-5);
}

constexpr const char* kKernels[] = {"lin",
                                    "log:p=2",
                                    "pow:p=1",
                                    "pow:p=2",
                                    "pol:p=3",
                                    "rbf:gamma=0.5",
                                    "ssg",
                                    "ssg:variance=0.5",
                                    "mog",
                                    "mog:form=mixture:components=3",
                                    "mog:form=mixture:variance=0.7",
                                    "hpb:ball=lorentz",
                                    "hpb:ball=tanh",
                                    "hpb:ball=clip",
                                    "hpb:ball=sigmoid",
                                    "wav",
                                    "sig"};

}  // namespace

TEST_CASE("cuda head: vectors whose products overflow make the loss NaN, never a wrong number") {
  for (const char* head : {"hpb", "hpb:ball=tanh", "log", "rbf", "wav"}) {
    const Problem p{.head = head, .scale = 1e25};
    CAPTURE(head);
    CHECK(std::isfinite(run(p, DType::float32, kCpu).loss[0]));
    CHECK(std::isnan(run(p, DType::float32, kGpu).loss[0]));
  }
}

TEST_CASE("cuda head: every kernel against the CPU") {
  // Vectors within the unit ball for those whose points are there.
  for (const char* kernel : kKernels)
    compare({.head = kernel, .scale = std::string(kernel).starts_with("hpb:ball=clip") ? 0.35 : 1});
}

// dL/d(bias) of words whose scores are 0, -1/4, -1/2, ... for one row. The vectors have one number,
// so that the products are exact, and all of the error is in the probabilities.
Doubles slopes_of_falling_scores(int64_t words, DType dtype, Device device) {
  Doubles scores;
  for (int64_t v = 0; v < words; ++v) scores.push_back(-0.25 * static_cast<double>(v));
  const auto on_device = [&](const Doubles& values, const Shape& shape) {
    return to_device(tensor_of(values, shape, dtype), device);
  };
  Tape tape(poisoned_pool(device));
  Parameter bias;
  const Doubles nothing(scores.size(), 0.0);
  bias.set_memory(on_device(nothing, {words}), on_device(nothing, {words}));
  HeadWeights weights{{tape.constant(on_device(scores, {words, 1}))}};
  weights.bias = tape.parameter(bias);
  const Tensor y = to_device(tensor_of(Ints{0}, {1}), device);
  const SoftmaxLoss out =
      kernel_softmax(parse_head("lin"), tape.constant(on_device({1.0}, {1, 1})), weights, y, 1.0);
  tape.backward(out.loss);
  return bias.grad().to_vector();
}

TEST_CASE("cuda head: a probability's relative error is that of ex2.approx, of any size") {
  constexpr int64_t kWords = 320;
  const Doubles exact = slopes_of_falling_scores(kWords, DType::float64, kCpu),
                found = slopes_of_falling_scores(kWords, DType::float32, kGpu);
  for (size_t v = 0; v < exact.size(); ++v) {
    CAPTURE(v);
    // Twice 2^-22, for the term and the log sum; x log2 e, x and a few results are rounded.
    const double x = 0.25 * static_cast<double>(v), limit = std::ldexp(8 + 4 + 3 * x, -24);
    CHECK(std::abs(found[v] / exact[v] - 1) <= limit);
  }
}

// Words at the distances 0, 1/4, 1/2, ... from a context of one number, 0: q is exact, and all of
// the error is in the formula.
TEST_CASE("cuda head: scores of rbf, wav and pow have the error of ex2.approx") {
  constexpr int64_t kWords = 64;
  Doubles places, squares;
  for (int64_t v = 0; v < kWords; ++v) {
    places.push_back(0.25 * static_cast<double>(v));
    squares.push_back(places.back() * places.back());
  }
  const auto scores = [&](const char* head) {
    Tape tape(poisoned_pool(kGpu));
    const auto constant = [&](const Doubles& x, const Shape& shape) {
      return tape.constant(to_device(tensor_of(x, shape, DType::float32), kGpu));
    };
    return component_scores(parse_head(head), constant({0.0}, {1, 1}),
                            {{constant(places, {kWords, 1})}})
        .to_vector();
  };
  const Doubles rbf = scores("rbf:gamma=0.5"), wav = scores("wav:a=2:b=3"), pow = scores("pow:p=1"),
                square = scores("pow:p=2");
  for (size_t v = 0; v < places.size(); ++v) {
    CAPTURE(v);
    const double q = squares[v], tiny = std::ldexp(1, -126);
    // 2^-22 of the instruction, 1.3 |x| 2^-24 of x log2 e, and roundings of x and of the result.
    const auto limit = [](double x) { return std::ldexp(4 + 2 + 3 * std::abs(x), -24); };
    CHECK(std::abs(rbf[v] - std::exp(-q / 2)) <= limit(q / 2) * std::exp(-q / 2) + tiny);
    CHECK(std::abs(wav[v] - std::cos(q / 2) * std::exp(-q / 3)) <=
          (limit(q / 3) + std::ldexp(4 + q, -24)) * std::exp(-q / 3) + tiny);
    if (v > 0)  // log q is rounded besides
      CHECK(std::abs(pow[v] + places[v]) <= limit(2 * std::log(places[v])) * places[v]);
    CHECK(std::abs(square[v] + q) <= std::ldexp(q, -22));
  }
}

TEST_CASE("cuda head: mixtures against the CPU") {
  for (const char* head :
       {"mix:lin", "mix:2*lin,rbf", "mix:lin,ssg,pow:p=1", "mix:mog:form=mixture,lin"})
    compare({.head = head});
  compare({.head = "mix:2*lin,sig", .bias = false, .untied = true});
}

TEST_CASE("cuda head: the z-loss and factors of rows, with and without smoothing") {
  for (const char* head : {"lin", "rbf", "mog", "mix:2*lin,rbf"})
    for (const double epsilon : {0.0, 0.1})
      compare({.head = head,
               .options = {.smoothing = {.epsilon = epsilon}, .z_loss = 0.1},
               .rows_differ = true});
}

TEST_CASE("cuda head: rows in several chunks, and equal components in one launch") {
  const auto check = [](Problem p) {
    p.rows = 300, p.words = 70;
    compare(p, DType::float64, 1e-10);
  };
  for (const char* head : {"lin", "ssg", "mog:form=mixture", "mix:3*rbf"}) check({.head = head});
  for (const char* head : {"mix:3*lin", "mix:2*ssg,2*lin", "mix:2*pol:p=3,rbf"})
    check({.head = head, .untied = true});
}

TEST_CASE("cuda head: scales and learned numbers against the CPU") {
  const LabelSmoothing smoothing{0.1, LabelSmoothing::Kind::uniform};
  for (const char* head :
       {"lin:scale=learn:0.7", "log:p=learn:3", "log:p=3:scale=2", "pow:p=learn:1.5:scale=learn",
        "pol:alpha=learn:0.5:c=learn:0.3:p=3", "rbf:gamma=learn:0.4:scale=learn:2",
        "ssg:variance=learn:0.5", "ssg:scale=learn", "mog:variance=learn:1",
        "mog:form=mixture:components=2:variance=learn:0.7:scale=learn:2",
        "mog:form=mixture:components=3:variance=split:scale=0.5",
        "hpb:ball=sigmoid:shift=learn:-1:scale=learn", "hpb:ball=lorentz:scale=2",
        "wav:a=learn:2:b=learn:3", "sig:scale=learn:3",
        "mix:2*rbf:gamma=learn:0.5,lin:scale=3,log:p=learn"}) {
    compare({.head = head});
    compare({.head = head, .options = {.smoothing = smoothing}});
  }
}

TEST_CASE("cuda head: formulas against the CPU") {
  const LabelSmoothing smoothing{0.1, LabelSmoothing::Kind::uniform};
  for (const char* head :
       {"expr:{z}", "expr:{s*tanh(z/s)}:s=3", "expr:{-log(1+q^(p/2))}:p=learn:3",
        "expr:{erf(z)+atan(q)-acosh(1+q)+sin(z)*cos(q)}:scale=2",
        "expr:{where(z<0,z,log1p(z))-max(q,ww)*a+min(z,q)}:a=learn:0.1:scale=learn",
        "expr:{4*c-acos(c)+sqrt(1+ww)-softplus(hh)*expm1(-q)+sigmoid(z)^3-abs(z)/d}",
        "mix:2*expr:{s*z}:s=learn:0.5,lin,expr:{detach(q)-q^1.5}"}) {
    compare({.head = head});
    compare({.head = head, .options = {.smoothing = smoothing}});
  }
  compare({.head = "mix:expr:{z-ww/2},sig", .bias = false, .untied = true});
}

TEST_CASE("cuda head: smoothed labels and penalties on the prior against the CPU") {
  const LabelSmoothing smoothing{0.1, LabelSmoothing::Kind::uniform};
  for (const char* head :
       {"lin", "rbf", "mog:form=mixture", "mix:lin,rbf", "mix:lin,mog:form=mixture"})
    compare({.head = head, .options = {.smoothing = smoothing}});
  for (const auto kind : {ops::PriorPenalty::variance, ops::PriorPenalty::cv2})
    compare({.head = "mix:3*lin", .options = {.prior = {kind, 0.2}}});
}

TEST_CASE("cuda head: products computed again, and a vocabulary in several runs") {
  for (const char* head : {"rbf", "mog:form=mixture", "mix:2*lin,rbf"})
    compare({.head = head, .options = {.memory = HeadMemory::tiles}});
  cuda::set_head_spare_bytes(1);  // runs of 512 words
  const LabelSmoothing smoothing{0.1, LabelSmoothing::Kind::others};
  for (const char* head : {"lin", "ssg", "mog:form=mixture"})
    compare({.head = head, .words = 1100, .size = 4, .options = {.memory = HeadMemory::tiles}},
            DType::float64, 1e-10);
  compare({.head = "mix:lin,rbf", .words = 600, .size = 4, .options = {.smoothing = smoothing}},
          DType::float64, 1e-10);
  cuda::set_head_spare_bytes(0);
}

namespace {

constexpr MatmulPrecision kPrecisions[] = {MatmulPrecision::highest, MatmulPrecision::high,
                                           MatmulPrecision::medium};

// A problem in which --head-skip leaves out some tiles. No tile lies within rounding of the limit:
// its side would be chance.
Problem falling(const char* head, int64_t rows = 40) {
  return {.head = head,
          .rows = rows,
          .words = 400,
          .size = 36,
          .options = {.skip = 1e-4},
          .scale = 0.3,
          .rows_differ = true,
          .fall = 14};
}

}  // namespace

TEST_CASE("cuda head: --head-skip takes the tiles that the CPU takes") {
  for (const char* head : {"lin", "log:p=2", "rbf:gamma=0.5", "ssg",
                           "mog:form=mixture:components=3", "mix:3*lin", "mix:lin,rbf"})
    compare(falling(head), DType::float64, 1e-10);
  for (const char* head : {"lin", "sig:scale=learn:3"})
    compare(falling(head), DType::float32, 1e-5);
  Problem untied = falling("mix:2*lin");
  untied.untied = true;
  compare(untied, DType::float64, 1e-10);
}

TEST_CASE("cuda head: --head-skip with smoothing, norms and a vocabulary in several runs") {
  Problem smooth = falling("mix:lin,rbf");
  smooth.options.smoothing = {1e-3, LabelSmoothing::Kind::uniform};
  compare(smooth, DType::float64, 1e-10);
  Problem norms = falling("lin");
  norms.word_norm = "unigram:1,2";
  norms.context_norm = "max";
  compare(norms, DType::float64, 1e-10);
  cuda::set_head_spare_bytes(1);  // runs of 512 words
  for (const char* head : {"lin", "mog:form=mixture:components=3"}) {
    Problem runs = falling(head);
    runs.words = 900;
    runs.options.memory = HeadMemory::tiles;
    compare(runs, DType::float64, 1e-10);
  }
  cuda::set_head_spare_bytes(0);
}

TEST_CASE("cuda head: --head-skip keeps each precision's digits, and two runs give the same bits") {
  const Problem p = falling("lin", 130);
  const Result exact = run(p, DType::float64, kCpu);
  const double limits[] = {1e-6, 2e-3, 1e-2};
  for (const MatmulPrecision precision : kPrecisions) {
    const Bf16Mode mode(precision);
    CAPTURE(static_cast<int>(precision));
    const Result first = run(p, DType::float32, kGpu), second = run(p, DType::float32, kGpu);
    CHECK(first.gradients == second.gradients);
    CHECK(first.left_out == second.left_out);
    for (size_t i = 0; i < 2; ++i) {
      const double error = relative_error(first.gradients[i], exact.gradients[i]);
      CHECK(error < limits[static_cast<size_t>(precision)]);
      if (precision != MatmulPrecision::highest)
        CHECK(error > limits[static_cast<size_t>(precision)] / 100);
    }
  }
}

TEST_CASE("cuda head: --head-skip never leaves out a gradient that is not finite") {
  Problem p = falling("lin");
  p.options.skip = 0.5;
  p.scale = 1e30;  // products overflow
  const Result got = run(p, DType::float32, kGpu);
  CHECK(got.left_out[0] == 0);
  CHECK(std::isnan(got.gradients[0][0]));
}

// Of the size that a language model has: products as the library chooses them there, and the blocks
// of rows that it cuts. On the stand-in, which would take hours, so many blocks of a thousandth of
// that size.
TEST_CASE("cuda head: full size, several blocks of rows") {
#ifdef NINE_CUDA_ON_HOST
  constexpr int64_t kShare = 16, kWordShare = 64, kBlockShare = 1280;
  constexpr size_t kPool = size_t{64} << 20;
#else
  constexpr int64_t kShare = 1, kWordShare = 1, kBlockShare = 1;
  constexpr size_t kPool = size_t{4} << 30;
#endif
  struct Case {
    const char* head;
    int64_t rows, blocks;
  };
  Problem p{.words = 30000 / kWordShare, .size = 512 / kShare, .scale = 0.3, .pool = kPool};
  set_gpu_block_bytes((int64_t{512} << 20) / kBlockShare);
  for (const Case& c : {Case{"lin", 4480, 2}, {"rbf", 1120, 1}, {"mix:9*lin", 1120, 3}}) {
    p.head = c.head;
    p.rows = c.rows / kShare;
    const int64_t most = head_block_rows(parse_head(p.head), p.words, p.size, DType::float32, kGpu),
                  each = balanced_block_rows(p.rows, most);
    CHECK((p.rows + each - 1) / each == c.blocks);
    compare(p, DType::float32, 1e-5);
  }
  set_gpu_block_bytes(0);
}

namespace {

// Multiplies in bfloat16 pieces in this precision while an object lives, on the CPU by its
// emulation of tiles, and on the GPU for any number of rows.
class InPieces {
 public:
  explicit InPieces(MatmulPrecision precision) : mode_(precision) {
    setenv("NINE_CUDA_PIECES", "highest", 1);
    set_gpu_rows_in_pieces(1);
  }
  ~InPieces() {
    set_gpu_rows_in_pieces(0);
    unsetenv("NINE_CUDA_PIECES");
  }
  InPieces(const InPieces&) = delete;
  InPieces& operator=(const InPieces&) = delete;

 private:
  Bf16Mode mode_;
};

// True in the stand-in's strict build, which is slow.
bool strict() {
#ifdef NINE_CUDA_ON_HOST
  return cuda_on_host::sees_accesses();
#else
  return false;
#endif
}

// Compares each precision on the GPU with the CPU's emulation of tiles: both multiply the same
// pieces, so scores and sums over words differ as float32's do. Products of dL/dz may differ by one
// rounding of a factor's last piece, 2^-8 of a term in `medium` and 2^-16 in `high`. A mixture's
// prior comes from a product of K columns, which the CPU computes in float32, and its contexts from
// another tanh before they are cut.
void compare_pieces(const Problem& p, bool only_high = false) {
  CAPTURE(p.head);
  const bool mixture = parse_head(p.head).mixture;
  for (const MatmulPrecision precision : kPrecisions) {
    if (only_high && precision != MatmulPrecision::high) continue;
    CAPTURE(to_text(precision));
    const bool medium = precision == MatmulPrecision::medium;
    const double own = medium ? 1e-3 : 5e-5,        // of gradients
        other = medium ? std::ldexp(1, -8) : 2e-3;  // of a mixture: `high` has TF32 elsewhere
    const double limit = mixture ? other : 2e-5;
    const InPieces mode(precision);
    const Result cpu = run(p, DType::float32, kCpu), gpu = run(p, DType::float32, kGpu);
    CHECK(relative_error(gpu.loss, cpu.loss) < limit);
    CHECK(relative_error(gpu.share, cpu.share) < limit);
    CHECK(relative_error(gpu.log_probs, cpu.log_probs) < limit);
    CHECK(relative_error(gpu.lse, cpu.lse) < (mixture ? 1e-3 : 1e-5));
    REQUIRE(gpu.gradients.size() == cpu.gradients.size());
    for (size_t i = 0; i < cpu.gradients.size(); ++i) {
      CAPTURE(i);
      CHECK(relative_error(gpu.gradients[i], cpu.gradients[i]) < (mixture ? 2 * limit : own));
    }
  }
}

}  // namespace

TEST_CASE("cuda head: pieces are those that the CPU's tiles multiply, with every kernel") {
  for (const char* kernel : kKernels)
    compare_pieces({.head = kernel,
                    .size = 48,
                    .scale = std::string(kernel).starts_with("hpb:ball=clip") ? 0.1 : 0.4},
                   strict());
}

TEST_CASE("cuda head: pieces with mixtures, smoothing, learned numbers, norms and runs of words") {
  const LabelSmoothing smoothing{0.1, LabelSmoothing::Kind::uniform};
  // Vectors of 42 numbers: rows of copies are padded, and a part begins at an odd place.
  for (const char* head : {"mix:3*lin", "mix:2*lin,rbf", "mix:mog:form=mixture,lin"})
    for (const bool smooth : {false, true}) {
      Problem p{.head = head, .size = 42, .scale = 0.4};
      if (smooth) p.options.smoothing = smoothing;
      compare_pieces(p);
    }
  compare_pieces({.head = "mix:2*lin,sig", .size = 48, .scale = 0.4, .untied = true});
  compare_pieces({.head = "rbf:gamma=learn:0.4:scale=learn:2", .size = 48, .scale = 0.4});
  compare_pieces({.head = "lin", .size = 48, .scale = 0.4, .context_norm = "const:3"});
  // A block whose rows' slopes are cut in two parts.
  if (!strict())
    compare_pieces({.head = "lin", .rows = 8300, .words = 40, .size = 32, .scale = 0.4});
  cuda::set_head_spare_bytes(1);  // runs of 512 words
  compare_pieces({.head = "lin",
                  .words = 1100,
                  .size = 48,
                  .options = {.memory = HeadMemory::tiles},
                  .scale = 0.4});
  cuda::set_head_spare_bytes(0);
}

TEST_CASE("cuda head: each precision keeps its digits, and two runs give the same bits") {
  // 96 stacked rows or more: `high` cuts its factors by itself.
  const Problem p{.head = "lin", .rows = 100, .size = 48, .scale = 0.4};
  const Result exact = run(p, DType::float64, kCpu);
  const auto lost = [&](MatmulPrecision precision) {
    const Bf16Mode mode(precision);
    const Result gpu = run(p, DType::float32, kGpu);
    return std::pair(relative_error(gpu.lse, exact.lse),
                     relative_error(gpu.gradients[1], exact.gradients[1]));
  };
  for (const MatmulPrecision precision : kPrecisions) {
    const InPieces mode(precision);
    CHECK(run(p, DType::float32, kGpu).gradients == run(p, DType::float32, kGpu).gradients);
  }
  const auto medium = lost(MatmulPrecision::medium), high = lost(MatmulPrecision::high),
             highest = lost(MatmulPrecision::highest);
  CHECK(highest.first < 1e-6);
  CHECK(highest.second < 1e-5);
  CHECK(high.first < 2e-6);
  CHECK(high.second < std::ldexp(1, -15));
  CHECK(medium.first > 3e-6);
  CHECK(medium.second > std::ldexp(1, -13));
  CHECK(medium.second < std::ldexp(1, -6));
  setenv("NINE_CUDA_PIECES", "medium", 1);
  const auto tf32 = lost(MatmulPrecision::high);
  setenv("NINE_CUDA_PIECES", "highest", 1);
  const auto six = lost(MatmulPrecision::highest);
  unsetenv("NINE_CUDA_PIECES");
  CHECK(tf32.second > 4 * high.second);
  CHECK(six.first < 1e-6);
  CHECK(six.second < 1e-5);
}

TEST_CASE("cuda head: few rows are multiplied in float32, and how many are few depends on bytes") {
  const auto result = [](int64_t rows, MatmulPrecision precision, const char* head = "lin") {
    const Bf16Mode mode(precision);
    return run({.head = head, .rows = rows, .size = 48, .scale = 0.4}, DType::float32, kGpu);
  };
  using enum MatmulPrecision;
  for (const MatmulPrecision precision : {medium, high}) {
    const int64_t fewest = precision == medium ? 48 : 96;
    CAPTURE(fewest);
    CHECK(result(fewest - 1, precision).gradients == result(fewest - 1, highest).gradients);
    CHECK(result(fewest, precision).gradients != result(fewest, highest).gradients);
  }
  // Contexts of components that share word vectors count together.
  const auto in_float32 = [&](int64_t rows) {
    set_gpu_rows_in_pieces(1000);
    Doubles lse = result(rows, medium, "mix:2*lin").lse;
    set_gpu_rows_in_pieces(0);
    return lse;
  };
  CHECK(result(23, medium, "mix:2*lin").lse == in_float32(23));
  CHECK(result(24, medium, "mix:2*lin").lse != in_float32(24));
}

TEST_CASE("cuda head: large scores, and one word") {
  compare({.head = "lin", .rows = 5, .words = 40, .scale = 30}, DType::float64, 1e-10);
  compare({.head = "pow:p=2", .rows = 5, .words = 40, .scale = 30}, DType::float64, 1e-10);
  compare({.head = "rbf", .rows = 1, .words = 1, .size = 1}, DType::float64, 1e-10);
}

TEST_CASE("cuda: words whose scores are out of float32's reach leave the normaliser finite") {
  const Problem p{.head = "pow:p=6", .far = 70};
  CHECK(relative_error(run(p, DType::float32, kGpu).nll, run(p, DType::float64, kCpu).nll) < 1e-5);
}

TEST_CASE("cuda head: words that a sampled softmax leaves out have no gradient") {
  for (const char* head : {"lin", "rbf", "mog:form=mixture"})
    compare({.head = head, .sampled = true});
  // Parts with scores above 88, whose exponential is no float.
  const Problem p{
      .head = "mog:form=mixture:variance=5e-5", .size = 64, .scale = 0.01, .sampled = true};
  compare(p, DType::float64, 1e-10);
  compare(p, DType::float32, 1e-4);
}

TEST_CASE("cuda head: the largest norm is that of the first such row with a target") {
  constexpr int64_t kRows = 700;
  Doubles norms;
  for (int64_t r = 0; r < kRows; ++r) norms.push_back(static_cast<double>(r * 37 % 501));
  const auto largest = [&](const Ints& targets) {
    const Tensor out({1}, DType::float64, kGpu), row({1}, DType::int32, kGpu);
    ops::largest_norm(to_device(tensor_of(norms, {kRows}, DType::float64), kGpu).view(),
                      to_device(tensor_of(targets, {kRows}), kGpu).view(), out.view(), row.view());
    return std::pair(out.to_vector()[0], row.to_vector()[0]);
  };
  Ints targets(kRows, 0);
  const auto of = [&](double norm, bool counts) {  // the first row by a plain search
    for (size_t r = 0; r < norms.size(); ++r)
      if (norms[r] == norm && (!counts || targets[r] >= 0)) return static_cast<double>(r);
    return -1.0;
  };
  CHECK(largest(targets) == std::pair(500.0, of(500, true)));
  targets[index_of(static_cast<int64_t>(of(500, true)))] = -1;  // a later row has this norm too
  CHECK(of(500, true) > of(500, false));
  CHECK(largest(targets) == std::pair(500.0, of(500, true)));
  CHECK(largest(Ints(kRows, -1)) == std::pair(500.0, of(500, false)));
  norms[650] = std::nan("");
  CHECK(std::isnan(largest(targets).first));
}

TEST_CASE("cuda head: margins and norms") {
  for (const char* head : {"lin", "mix:2*lin"})
    for (const char* margin : {"none", "cos:0.3", "arc:0.5", "lsm:3"})
      for (const char* word : {"none", "unigram:3,0.5", "log-rank:through"})
        for (const char* context : {"none", "const:3", "max:through"}) {
          Problem p{.head = head, .scale = 1.5, .word_norm = word, .context_norm = context};
          p.options.margin = margin_from_text(margin);
          if (margin[0] == 'l') p.options.smoothing.epsilon = 0.1;
          if (margin[0] == 'a') p.options.memory = HeadMemory::tiles;
          CAPTURE(margin);
          CAPTURE(word);
          CAPTURE(context);
          compare(p);
        }
  Problem untied{.head = "mix:2*lin",
                 .untied = true,
                 .word_norm = "uniform:through",
                 .context_norm = "max:ema"};
  untied.options.margin = margin_from_text("cos:0.2");
  compare(untied);
}

#ifdef NINE_CUDA_ON_HOST
namespace {

// A tensor as another library has it: in memory of its own, filled on its stream.
class Foreign {
 public:
  Foreign(const Tensor& host, cudaStream_t stream) : host_(host), stream_(stream) {
    REQUIRE(cudaMalloc(&memory_, bytes()) == cudaSuccess);
    copy(memory_, host.view().data, cudaMemcpyHostToDevice);
  }
  ~Foreign() { cudaFree(memory_); }
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;

  Tensor view() const {
    return Tensor::view_of(memory_, host_.dtype(), host_.shape(), {}, nullptr, kGpu);
  }
  Doubles read() const {
    copy(host_.view().data, memory_, cudaMemcpyDeviceToHost);
    REQUIRE(cudaStreamSynchronize(stream_) == cudaSuccess);
    return host_.to_vector();
  }

 private:
  size_t bytes() const { return static_cast<size_t>(host_.view().bytes()); }
  void copy(void* to, const void* from, cudaMemcpyKind kind) const {
    REQUIRE(cudaMemcpyAsync(to, from, bytes(), kind, stream_) == cudaSuccess);
  }

  Tensor host_;
  cudaStream_t stream_;
  void* memory_ = nullptr;
};

}  // namespace

TEST_CASE("cuda head: within a caller's stream, on views of its memory") {
  const HeadSpec head = parse_head("lin");
  const Shape shapes[] = {{37, 6}, {75, 6}};
  const std::vector<Doubles> values = random_values({{shapes[0]}, {shapes[1]}}, 21);
  const Tensor y = tensor_of(random_indices({{{37}, -1, 75}}, 22)[0], {37});
  const auto run_on = [&](const auto& view_of) {
    Tape tape(poisoned_pool(kGpu));
    std::vector<Parameter> parameters(2);
    std::vector<Var> x;
    for (size_t i = 0; i < 2; ++i) {
      parameters[i].set_memory(view_of(tensor_of(values[i], shapes[i], DType::float32)),
                               view_of(Tensor(shapes[i], DType::float32)));
      x.push_back(tape.parameter(parameters[i]));
    }
    const SoftmaxLoss out = kernel_softmax(head, x[0], {.w = {x[1]}}, view_of(y), 1);
    const double loss = out.loss.value().item();
    tape.backward(out.loss);
    return loss;
  };
  std::vector<Tensor> own;
  const double expected = run_on([&](const Tensor& t) {
    own.push_back(to_device(t, kGpu));
    return own.back();
  });
  cudaStream_t stream{};
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  std::deque<Foreign> foreign;
  cuda_on_host::take_orders();
  {
    const cuda::CallerStream within(kGpu.index, stream);
    CHECK(run_on([&](const Tensor& t) { return foreign.emplace_back(t, stream).view(); }) ==
          expected);
  }
  const auto orders = cuda_on_host::take_orders();
  REQUIRE(orders.size() == 2);
  CHECK(orders[0].first == stream);
  CHECK(orders[1] == std::pair(orders[0].second, stream));
  for (size_t i = 0; i < own.size(); ++i) CHECK(foreign[i].read() == own[i].to_vector());
  foreign.clear();
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK_THROWS_AS(cuda::CallerStream(7, nullptr), Error);  // there is no such GPU
}
#endif
