// An LSTM's loop over time on a GPU: as one kernel whose blocks wait for each other, and as a
// kernel a time step.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/ops.h"
#include "cuda/cuda.h"
#include "tests/cuda/device_cases.h"
#include "tests/cuda/small_training.h"
#include "tests/support/compare.h"
#include "tests/support/support.h"
#ifdef NINE_CUDA_ON_HOST
#include "tests/cuda_on_host/card.h"
#include "tests/cuda_on_host/probe.h"
#endif

using namespace nine;
using namespace nine::checks;
using namespace nine::tests;

namespace {

struct Sizes {
  int64_t steps, batch, input, size;
};
/// What lstm_backward is given, and whether dL/dh_0 is wanted.
struct Given {
  bool dy = true, last = true, dh0 = true;
};

struct Named {
  std::string name;
  Doubles numbers;
};

/// All results of an LSTM layer, forward and backward. With a gap the matrices are windows.
std::vector<Named> run_lstm(Device device, DType dtype, const Sizes& s, const Given& given = {},
                            int64_t gap = 0) {
  const int64_t rows = s.steps * s.batch, gates = 4 * s.size;
  const std::vector<Shape> shapes{
      {rows, s.input},   {gates, s.input},  {gates, s.size}, {gates},           {gates},
      {s.batch, s.size}, {s.batch, s.size}, {rows, s.size},  {s.batch, s.size}, {s.batch, s.size}};
  std::vector<Input> inputs;
  for (const Shape& shape : shapes) inputs.push_back({shape, -0.5, 0.5});
  for (size_t weight : {1, 2}) {  // as an LSTM's weights are initialised
    const double most = 1 / std::sqrt(static_cast<double>(shapes[weight].cols()));
    inputs[weight] = {shapes[weight], -most, most};
  }
  const std::vector<Doubles> values = random_values(inputs, 11);
  std::vector<Tensor> x;
  for (size_t i = 0; i < shapes.size(); ++i)
    x.push_back(
        to_device(tensor_of(values[i], shapes[i], dtype), device, shapes[i].rank() == 2 ? gap : 0));
  const auto result = [&](const Shape& shape) {
    const Doubles zeros(static_cast<size_t>(shape.elements()));
    return to_device(tensor_of(zeros, shape, dtype), device, shape.rank() == 2 ? gap : 0);
  };
  const Shape states{rows + s.batch, s.size}, state{s.batch, s.size};
  const Tensor hidden = result(states), cells = result(states), z = result({rows, gates}),
               dx = result(shapes[0]), dw_ih = result(shapes[1]), dw_hh = result(shapes[2]),
               db_ih = result({gates}), db_hh = result({gates}), dh0 = result(state),
               dc0 = result(state);
  const ops::Lstm io{.x = x[0],
                     .w_ih = x[1],
                     .w_hh = x[2],
                     .b_ih = x[3],
                     .b_hh = x[4],
                     .h0 = x[5],
                     .c0 = x[6],
                     .hidden = hidden,
                     .cells = cells,
                     .gates = z};
  Arena& arena = poisoned_pool(device, size_t{256} << 20);
  ops::lstm(io, arena);
  std::vector<Named> all{
      {"hidden", hidden.to_vector()}, {"cells", cells.to_vector()}, {"gates", z.to_vector()}};
  ops::LstmGradients g{.dx = {dx},
                       .dw_ih = {dw_ih},
                       .dw_hh = {dw_hh},
                       .db_ih = {db_ih},
                       .db_hh = {db_hh},
                       .dc0 = {dc0}};
  if (given.dy) g.dy = x[7];
  if (given.last) {
    g.dh_n = x[8];
    g.dc_n = x[9];
  }
  if (given.dh0) g.dh0 = {dh0};
  ops::lstm_backward(io, g, arena);
  const std::vector<std::pair<std::string, Tensor>> gradients{
      {"dgates", z},    {"dx", dx},       {"dw_ih", dw_ih}, {"dw_hh", dw_hh},
      {"db_ih", db_ih}, {"db_hh", db_hh}, {"dh0", dh0},     {"dc0", dc0}};
  for (const auto& [name, tensor] : gradients) all.push_back({name, tensor.to_vector()});
  return all;
}

void check_near(const std::vector<Named>& a, const std::vector<Named>& b, double limit) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    CAPTURE(a[i].name);
    CHECK(relative_error(a[i].numbers, b[i].numbers) < limit);
  }
}
void check_same(const std::vector<Named>& a, const std::vector<Named>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    CAPTURE(a[i].name);
    CHECK(a[i].numbers == b[i].numbers);
  }
}

// Both ways are used again when a test ends.
struct SideBySide {
  explicit SideBySide(bool on) { cuda::use_side_by_side(on); }
  ~SideBySide() { cuda::use_side_by_side(true); }
  SideBySide(const SideBySide&) = delete;
  SideBySide& operator=(const SideBySide&) = delete;
};

// Units and rows that fill no block; more columns than a block's warps load at a time; a state
// alone.
const std::vector<Sizes> kSizes{{2, 1, 3, 1},   {5, 17, 4, 21}, {3, 16, 8, 32},
                                {4, 33, 3, 12}, {2, 3, 5, 300}, {3, 5, 40, 40}};

// One kernel for all steps and one for each: near the CPU's numbers, and the same bits again, also
// at other addresses.
void check_both_ways(const Sizes& s, double tolerance) {
  CAPTURE(s.steps);
  CAPTURE(s.batch);
  CAPTURE(s.size);
  const std::vector<Named> right = run_lstm(kCpu, DType::float64, s);
  for (const bool together : {true, false}) {
    CAPTURE(together);
    const SideBySide way(together);
    const std::vector<Named> gpu = run_lstm(kGpu, DType::float32, s);
    check_near(gpu, right, tolerance);
    check_same(run_lstm(kGpu, DType::float32, s), gpu);
    check_same(run_lstm(kGpu, DType::float32, s, {}, 3), gpu);
  }
}

}  // namespace

TEST_CASE("cuda lstm: one kernel for all steps, and one for each, against the CPU") {
  for (const Sizes& s : kSizes) check_both_ways(s, 1e-5);
}

TEST_CASE("cuda lstm: gradients that are not given count as zero, and dh0 need not be wanted") {
  const Sizes s{4, 18, 6, 19};
  for (const Given& given : {Given{.dy = false}, Given{.last = false}, Given{.dh0 = false},
                             Given{.dy = false, .last = false, .dh0 = false}}) {
    CAPTURE(given.dy);
    CAPTURE(given.last);
    CAPTURE(given.dh0);
    check_near(run_lstm(kGpu, DType::float32, s, given), run_lstm(kCpu, DType::float64, s, given),
               1e-5);
  }
}

TEST_CASE("cuda lstm: a training with one kernel for all steps follows one with a kernel a step") {
  const auto train = [](bool together) {
    const SideBySide way(together);
    return train_on(kGpu, "lin", DType::float32, 12, {.hidden = 20});
  };
  const Trained one = train(true), each = train(false);
  CHECK(relative_error(one.losses, each.losses) < 1e-5);
  CHECK(relative_error(one.weights, each.weights) < 1e-4);
}

#ifdef NINE_CUDA_ON_HOST

namespace {

struct CardOf {
  explicit CardOf(const cuda_on_host::CardSize& size) { cuda_on_host::set_card_size(size); }
  ~CardOf() { cuda_on_host::set_card_size({}); }
  CardOf(const CardOf&) = delete;
  CardOf& operator=(const CardOf&) = delete;
};
/// Barriers of all blocks that a layer of these sizes passes.
int64_t barriers_of(const Sizes& s, const Given& given = {}) {
  const int64_t before = cuda_on_host::counts().grid_barriers;
  run_lstm(kGpu, DType::float32, s, given);
  return cuda_on_host::counts().grid_barriers - before;
}

}  // namespace

TEST_CASE("cuda lstm: a step has one barrier of all blocks") {
  for (const Sizes& s : kSizes) {
    CAPTURE(s.size);
    CHECK(barriers_of(s) == 2 * s.steps - 1);
    CHECK(barriers_of(s, {.dh0 = false}) == 2 * s.steps - 2);
  }
  CHECK(barriers_of({1, 3, 4, 5}) == 0);
  const SideBySide way(false);
  CHECK(barriers_of({3, 3, 4, 5}) == 0);
}

TEST_CASE("cuda lstm: blocks of four units where those of eight do not fit, or a kernel a step") {
  // A block of eight units has 42 KB of shared memory forward, one of four 31; backward 24 and 13.
  const Sizes s{3, 18, 7, 130};
  const std::vector<Named> right = run_lstm(kCpu, DType::float64, s);
  const auto barriers_with = [&](size_t kilobytes) {
    const CardOf card({.multiprocessors = 40, .shared = kilobytes << 10});
    const int64_t before = cuda_on_host::counts().grid_barriers;
    check_near(run_lstm(kGpu, DType::float32, s), right, 1e-5);
    return cuda_on_host::counts().grid_barriers - before;
  };
  CHECK(barriers_with(10) == 0);
  CHECK(barriers_with(16) == s.steps);  // backward alone, as is the next
  CHECK(barriers_with(28) == s.steps);
  CHECK(barriers_with(36) == 2 * s.steps - 1);
  CHECK(barriers_with(60) == 2 * s.steps - 1);
  const CardOf card({.most_shared = 30 << 10});  // of a block
  CHECK(barriers_of(s) == s.steps);
}

TEST_CASE("cuda on the host: blocks that wait for each other") {
  using namespace cuda_on_host;
  const int64_t before = counts().grid_barriers;
  for (uint64_t seed = 1; seed < 6; ++seed) {
    set_seed(seed);
    CHECK(probe_grid("barrier") == 7 * 8 / 2);  // of the numbers that eight blocks have stored
  }
  CHECK(counts().grid_barriers == before + 5);
  const auto said = [](const char* what) { return error_of([&] { probe_grid(what); }); };
  CHECK(has(said("one leaves"), "1 of 8 blocks have left the kernel, and the others wait"));
  CHECK(has(said("plain launch"), "waits for its other blocks, which may not have begun"));
  CHECK(has(said("some threads"), "16 for other blocks, and 16 have left the kernel"));
  const CardOf card({.multiprocessors = 3});
  CHECK(has(said("barrier"), "8 blocks cannot run side by side: there is room for 6"));
}
#else

namespace {

const std::vector<Sizes> kFullSizes{{35, 32, 512, 512},
                                    {12, 64, 512, 512},
                                    {8, 32, 650, 650},
                                    {6, 32, 1024, 1024},
                                    {4, 20, 1500, 1500}};

}  // namespace

// With larger weights a loop of 35 steps would make 1e-2 of a rounding, whatever computes it.
TEST_CASE("cuda lstm: at full size a step makes rounding no larger, on the CPU") {
  for (const Sizes& s : kFullSizes) {
    CAPTURE(s.size);
    check_near(run_lstm(kCpu, DType::float32, s), run_lstm(kCpu, DType::float64, s), 1e-5);
  }
}

TEST_CASE("cuda lstm: a layer at full size against the CPU") {
  for (const Sizes& s : kFullSizes) check_both_ways(s, 3e-5);
}
#endif
