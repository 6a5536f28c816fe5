// Every op, driven by the table of op cases: against oracles, against finite differences, precision
// against precision, windows against contiguous tensors, and one number of threads against another.
#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <regex>
#include <set>
#include <string>

#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "checks/op_cases.h"
#include "checks/raw_op_cases.h"
#include "core/error.h"
#include "core/op_list.h"
#include "core/ops.h"
#include "core/profile.h"
#include "core/threads.h"
#include "kernels/op_list.h"
#include "tests/support/compare.h"
#include "tests/support/support.h"

namespace nine::tests::test_ops {

using namespace nine::checks;

namespace {

constexpr uint64_t kSeed = 7;

struct Run {
  Doubles value;
  std::vector<Doubles> gradients;
};

// Both ends of the pool full of NaN, so that an element that an op leaves out shows.
void poison(Arena& arena) {
  constexpr int64_t kBytes = 4 << 20;
  const auto spoil = [](const Tensor& t) {
    std::memset(t.view().data, 0xff, static_cast<size_t>(t.view().bytes()));
  };
  {
    const Arena::Scope scope(arena);
    spoil(arena.saved({kBytes / 4}, DType::float32));
    spoil(arena.temporary({kBytes / 4}, DType::float32));
  }
  arena.reset();
}

Arena& pool() {
  static Arena arena("test_ops");
  return arena;
}

// Forward and backward of a row. Gradients start as NaN with has_grad = false: they have to be
// overwritten.
Run run_case(const OpCase& c, DType dtype, int64_t gap = 0) {
  const std::vector<Doubles> values = random_values(c.inputs, kSeed);
  const std::vector<Ints> ints = random_indices(c.indices, kSeed);
  std::vector<Parameter> parameters(values.size());
  std::vector<Tensor> indices;
  for (size_t i = 0; i < ints.size(); ++i)
    indices.push_back(tensor_of(ints[i], c.indices[i].shape));
  poison(pool());
  Tape tape(pool());
  std::vector<Var> x;
  for (size_t i = 0; i < values.size(); ++i) {
    const Shape& shape = c.inputs[i].shape;
    parameters[i].set_memory(tensor_of(values[i], shape, dtype, gap),
                             tensor_of(Doubles(values[i].size(), std::nan("")), shape, dtype, gap));
    x.push_back(tape.parameter(parameters[i]));
  }
  const Var y = c.run(x, indices);
  Run run{y.value().to_vector(), {}};
  Var loss = y;
  if (y.value().elements() > 1) {
    // The loss of gradcheck: no two elements weigh the same.
    Doubles weights = random_values({{y.shape(), 0.5, 1.5}}, 99)[0];
    loss = sum(mul(y, tape.constant(tensor_of(weights, y.shape(), dtype))));
  }
  tape.backward(loss);
  for (const Parameter& p : parameters) run.gradients.push_back(p.grad().to_vector());
  return run;
}

std::vector<Doubles> run_raw_op(const RawOpCase& c, DType dtype, int64_t gap = 0) {
  const std::vector<Doubles> values = random_values(c.inputs, kSeed);
  const std::vector<Ints> ints = random_indices(c.indices, kSeed);
  std::vector<Tensor> tensors, indices;
  for (size_t i = 0; i < values.size(); ++i)
    tensors.push_back(tensor_of(values[i], c.inputs[i].shape,
                                c.inputs[i].always_double ? DType::float64 : dtype, gap));
  for (size_t i = 0; i < ints.size(); ++i)
    indices.push_back(tensor_of(ints[i], c.indices[i].shape));
  c.run(tensors, indices);
  std::vector<Doubles> out;
  for (const Tensor& t : tensors) out.push_back(t.to_vector());
  return out;
}

std::vector<OpCase> tested_ops() {
  std::vector<OpCase> all = op_cases();
  std::erase_if(all, [](const OpCase& c) { return c.bench; });
  return all;
}
std::vector<RawOpCase> tested_raw_ops() {
  std::vector<RawOpCase> all = raw_op_cases();
  std::erase_if(all, [](const RawOpCase& c) { return c.bench; });
  return all;
}

struct ThreadsAgain {
  int before = threads();
  ~ThreadsAgain() { set_threads(before); }
};

// Names that a file declares: the first group of `pattern` at the beginning of a line.
std::set<std::string> declared(const std::string& file, const std::string& pattern) {
  std::ifstream in(std::string(NINE_SOURCE_DIR) + "/" + file);
  REQUIRE_MESSAGE(in.good(), file);
  const std::regex expression(pattern);
  std::set<std::string> names;
  std::smatch match;
  for (std::string line; std::getline(in, line);)
    if (std::regex_search(line, match, expression)) names.insert(match[1]);
  return names;
}

}  // namespace

TEST_CASE("ops: forward against the oracle, float64") {
  for (const OpCase& c : tested_ops()) {
    CAPTURE(c.name);
    const std::vector<Doubles> values = random_values(c.inputs, kSeed);
    const std::vector<Ints> indices = random_indices(c.indices, kSeed);
    CHECK(relative_error(run_case(c, DType::float64).value, c.oracle(values, indices)) < 1e-12);
  }
}

TEST_CASE("ops: float32 against float64, value and gradients") {
  for (const OpCase& c : tested_ops()) {
    CAPTURE(c.name);
    const Run exact = run_case(c, DType::float64), single = run_case(c, DType::float32);
    CHECK(relative_error(single.value, exact.value) < 1e-5);
    for (size_t i = 0; i < exact.gradients.size(); ++i) {
      CAPTURE(i);
      CHECK(relative_error(single.gradients[i], exact.gradients[i]) < 1e-5);
    }
  }
}

TEST_CASE("ops: windows give what contiguous tensors give") {
  const ThreadsAgain again;
  set_threads(1);
  for (const OpCase& c : tested_ops()) {
    if (!c.windows) continue;
    CAPTURE(c.name);
    const Run whole = run_case(c, DType::float64), window = run_case(c, DType::float64, 3);
    CHECK(relative_error(window.value, whole.value) < 1e-12);
    for (size_t i = 0; i < whole.gradients.size(); ++i)
      CHECK(relative_error(window.gradients[i], whole.gradients[i]) < 1e-12);
  }
}

TEST_CASE("ops: gradients against finite differences, float64") {
  const ThreadsAgain again;
  set_threads(1);  // thousands of small evaluations; other numbers of threads give the same bits
  for (const OpCase& c : tested_ops()) {
    CAPTURE(c.name);
    std::vector<Tensor> inputs, indices;
    const std::vector<Doubles> values = random_values(c.inputs, kSeed);
    const std::vector<Ints> ints = random_indices(c.indices, kSeed);
    for (size_t i = 0; i < values.size(); ++i)
      inputs.push_back(tensor_of(values[i], c.inputs[i].shape, DType::float64));
    for (size_t i = 0; i < ints.size(); ++i)
      indices.push_back(tensor_of(ints[i], c.indices[i].shape));
    const GradcheckReport report =
        gradcheck([&](std::span<const Var> x) { return c.run(x, indices); }, inputs,
                  {.max_elements = c.checked});
    CHECK_MESSAGE(report.worst < 1e-6, report.where);
    CHECK(report.checked > 0);
  }
}

TEST_CASE("ops: the same bits with 1, 2 and 3 threads") {
  const ThreadsAgain again;
  for (const OpCase& c : tested_ops()) {
    CAPTURE(c.name);
    set_threads(1);
    const Run one = run_case(c, DType::float32);
    for (const int n : {2, 3}) {
      CAPTURE(n);
      set_threads(n);
      const Run many = run_case(c, DType::float32);
      CHECK(many.value == one.value);
      CHECK(many.gradients == one.gradients);
    }
  }
}

TEST_CASE("plain ops: against the oracle, with and without gaps, float64 and float32") {
  const ThreadsAgain again;
  for (const RawOpCase& c : tested_raw_ops()) {
    CAPTURE(c.name);
    std::vector<Doubles> expected = random_values(c.inputs, kSeed);
    c.oracle(expected, random_indices(c.indices, kSeed));
    set_threads(3);
    const std::vector<Doubles> exact = run_raw_op(c, DType::float64),
                               gaps = run_raw_op(c, DType::float64, 3),
                               single = run_raw_op(c, DType::float32);
    set_threads(1);
    const std::vector<Doubles> serial = run_raw_op(c, DType::float32);
    for (size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(i);
      CHECK(relative_error(exact[i], expected[i]) < 1e-12);
      CHECK(relative_error(gaps[i], expected[i]) < 1e-12);
      CHECK(relative_error(single[i], expected[i]) < 1e-5);
      CHECK(serial[i] == single[i]);
    }
  }
}

TEST_CASE("plain ops: what lies between the rows of a window stays as it was") {
  for (const RawOpCase& c : tested_raw_ops()) {
    CAPTURE(c.name);
    const std::vector<Doubles> values = random_values(c.inputs, kSeed);
    const std::vector<Ints> ints = random_indices(c.indices, kSeed);
    std::vector<Tensor> wide, windows, indices;
    for (size_t i = 0; i < values.size(); ++i) {
      const Shape& s = c.inputs[i].shape;
      windows.push_back(
          tensor_of(values[i], s, c.inputs[i].always_double ? DType::float64 : DType::float32));
      wide.emplace_back();
      if (s.rank() != 2) continue;
      wide.back() = Tensor({s.rows(), s.cols() + 3}, windows.back().dtype());
      ops::fill(wide.back(), 12345);
      ops::copy(windows.back(), wide.back().col_range(1, s.cols()));
      windows.back() = wide.back().col_range(1, s.cols());
    }
    for (size_t i = 0; i < ints.size(); ++i)
      indices.push_back(tensor_of(ints[i], c.indices[i].shape));
    c.run(windows, indices);
    for (const Tensor& t : wide) {
      if (!t) continue;
      for (const int64_t column : {int64_t{0}, t.shape().cols() - 2, t.shape().cols() - 1})
        for (const double x : t.col_range(column, 1).to_vector()) REQUIRE(x == 12345);
    }
  }
}

TEST_CASE("ops: one without a row does not exist") {
  std::set<std::string> names = declared("core/ops.h", R"(^(?:void|bool) (\w+)\()");
  names.merge(declared("core/array_ops.h", R"(^void (\w+)\()"));
  names.merge(declared("kernels/ops.h", R"(^void (\w+)\()"));
  CHECK(names.size() >= 41);
#define NINE_IS_DECLARED(name) CHECK(names.contains(#name));
  NINE_FOR_EACH_OP(NINE_IS_DECLARED)
  NINE_FOR_EACH_HEAD_OP(NINE_IS_DECLARED)
#undef NINE_IS_DECLARED
  profile::reset();
  profile::enable(true);
  for (const OpCase& c : tested_ops()) run_case(c, DType::float32);
  // Ops without a differentiable function of their own.
  for (const RawOpCase& c : tested_raw_ops()) run_raw_op(c, DType::float32);
  profile::enable(false);
  std::set<std::string> exercised;
  for (const profile::Entry& e : profile::entries()) exercised.emplace(e.op);
  profile::reset();
  exercised.insert("lstm_through_time");  // runs inside of lstm_backward, which counts it
  exercised.insert("update");             // counts each rule by its name
  const auto add_rules = [&]<class... Step>(const std::variant<Step...>&) {
    (names.insert(Step::kName), ...);
  };
  add_rules(ops::UpdateStep());
  for (const std::string& name : names)
    CHECK_MESSAGE(exercised.contains(name),
                  "core/ops.h, core/array_ops.h or kernels/ops.h declares ", name,
                  ", but no row of checks/*_op_cases.cpp runs it");
  for (const std::string& name : exercised)
    CHECK_MESSAGE(names.contains(name), "the profile names ", name,
                  ", which no header of ops declares");
}

TEST_CASE("functions: one without a row does not exist") {
  std::set<std::string> names = declared("autograd/functions.h", R"(^(?:Var|LstmOutput) (\w+)\()");
  CHECK(names.size() >= 20);
  names.merge(declared("autograd/arrays.h", R"(^(?:Var|Sorted) (\w+)\()"));
  names.merge(declared("kernels/loss/kernel_softmax.h", R"(^SoftmaxLoss (\w+)\()"));
  for (const char* header : {"autograd/gru.h", "autograd/image_functions.h", "autograd/losses.h"})
    names.merge(declared(header, R"(^Var (\w+)\()"));
  std::set<std::string> rows;
  for (const OpCase& c : tested_ops()) rows.insert(c.name.substr(0, c.name.find(' ')));
  rows.insert("col_range");  // its row is row_range's, too
  for (const std::string& name : names)
    CHECK_MESSAGE(rows.contains(name), name, " has no row in checks/*_op_cases.cpp");
}

TEST_CASE("all_finite finds a single NaN or infinity anywhere") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor t({1000, 77}, dtype);
    CHECK(ops::all_finite(t));
    for (const int64_t at : {int64_t{0}, int64_t{31}, int64_t{32768}, int64_t{76999}})
      for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
        dispatch_float(dtype, "test", [&]<class T>(T) {
          t.data<T>()[at] = static_cast<T>(bad);
          CHECK_FALSE(ops::all_finite(t));
          t.data<T>()[at] = 0;
        });
      }
    // Two infinities of opposite sign do not cancel, and a NaN in a gap is not looked at.
    dispatch_float(dtype, "test", [&]<class T>(T) {
      t.data<T>()[3] = static_cast<T>(HUGE_VAL);
      t.data<T>()[4] = static_cast<T>(-HUGE_VAL);
    });
    CHECK_FALSE(ops::all_finite(t));
    CHECK(ops::all_finite(t.col_range(5, 70)));
  }
}

TEST_CASE("copy converts between float types and refuses other conversions") {
  const Tensor x = Tensor::from<float>({1.0f, -2.5f, 3.14159274f, 1e30f}, {2, 2});
  const Tensor b({2, 2}, DType::bfloat16), d({2, 2}, DType::float64), i({2, 2}, DType::int32),
      j = Tensor::from<int32_t>({1, 2, 3, 4}, {2, 2});
  ops::copy(x, b);
  ops::copy(b, d);
  CHECK(d.to_vector() ==
        Doubles{1, -2.5, 3.140625, static_cast<double>(static_cast<float>(bfloat16(1e30f)))});
  const Tensor wide = Tensor::from<int64_t>({1, 2, 3, 4}, {2, 2}), truth({2, 2}, DType::boolean);
  for (const Tensor& other : {i, wide, truth}) {
    CHECK_THROWS_AS(ops::copy(x, other), Error);
    CHECK_THROWS_AS(ops::copy(other, x), Error);
  }
  CHECK_THROWS_AS(ops::copy(wide, i), Error);
  CHECK_THROWS_AS(ops::copy(truth, wide), Error);
  ops::copy(j, i);
  CHECK(i.to_vector() == Doubles{1, 2, 3, 4});
}

namespace {
bool contains(const std::string& text, std::initializer_list<const char*> parts) {
  return std::all_of(parts.begin(), parts.end(),
                     [&](const char* p) { return text.find(p) != std::string::npos; });
}
}  // namespace

TEST_CASE("ops: errors are sentences with the op, the shapes and the types") {
  const Tensor a({32, 512}, DType::float32), b({256, 2048}, DType::float32),
      d({32, 512}, DType::float64), c({32, 2048}, DType::float32);
  const Tensor ids({4}, DType::int32), four({4, 512}, DType::float32);
  CHECK(error_of([&] { ops::matmul(a, false, b, false, {c}); }) ==
        "[matmul] inner dimensions differ: (32, 512) x (256, 2048)");
  CHECK(contains(error_of([&] { ops::matmul(a, false, b, true, {c}); }),
                 {"[matmul]", "(256, 2048)'"}));
  CHECK(contains(error_of([&] { ops::matmul(a, false, a, true, {c}); }),
                 {"[matmul]", "(32, 32)", "(32, 2048)"}));
  CHECK(contains(error_of([&] { ops::matmul(a, false, View{}, false, {c}); }),
                 {"[matmul]", "empty tensor"}));
  const Tensor column({3, 1}, DType::float32);  // an empty view has the shape of a scalar
  CHECK_THROWS_AS(ops::matmul(column, false, View{}, false, {column}), Error);
  CHECK(contains(error_of([&] { ops::scale(1, a, {d}); }), {"[scale]", "float32", "float64"}));
  CHECK(contains(error_of([&] { ops::scale(1, a, {c}); }), {"[scale]", "(32, 512)", "(32, 2048)"}));
  CHECK(contains(error_of([&] { ops::binary(ops::Binary::add, a, c, {a}); }),
                 {"[binary]", "(32, 512)", "(32, 2048)"}));
  CHECK(contains(error_of([&] { ops::unary(ops::Unary::exp, ids, {ids}); }), {"[unary]", "int32"}));
  CHECK(
      contains(error_of([&] { ops::embedding(a, d, four); }), {"[embedding]", "int32", "float64"}));
  CHECK(contains(error_of([&] { ops::dropout(a, 1.0, {}, {a}); }), {"[dropout]", "[0, 1)"}));
  CHECK(contains(error_of([&] { ops::column_sums(a, {ids}); }),
                 {"[column_sums]", "float32", "int32"}));
  ids.data<int32_t>()[2] = 32;
  CHECK(contains(error_of([&] { ops::embedding(a, ids, four); }),
                 {"[embedding]", "32", "position 2", "[0, 32)"}));
  ids.data<int32_t>()[2] = -1;
  CHECK(contains(error_of([&] { ops::embedding(a, ids, four); }),
                 {"[embedding]", "-1", "position 2"}));
  ids.data<int32_t>()[1] = 512;
  const Tensor loss({}, DType::float64), wrong_loss({}, DType::float32);
  CHECK(
      contains(error_of([&] { ops::nll(four, ids, 1, {loss}); }), {"[nll]", "512", "position 1"}));
  CHECK(contains(error_of([&] { ops::nll(four, ids, 1, {wrong_loss}); }),
                 {"[nll]", "float64 scalar"}));
  CHECK(contains(error_of([&] { ops::sgd(a, a, View{}, {}, {.momentum = 0.9}); }),
                 {"[sgd]", "has 1 states, not 0"}));
  CHECK(contains(error_of([&] { ops::adam(a, a, a, a, {.norm_squared = {}, .max_norm = 1}, {}); }),
                 {"[adam]", "norm"}));
}

TEST_CASE("ops: a view of another shape is an Error, never a write past its end") {
  const auto t = [](const Shape& s) { return Tensor(s, DType::float64); };
  const Tensor w = t({4, 3}), other = t({2, 3}), norm({}, DType::float64), four = t({4}),
               two = t({2}), ids({4}, DType::int32);
  CHECK_THROWS_AS(ops::adam(w, w, other, other, {norm, 0}, {}), Error);
  CHECK_THROWS_AS(ops::sgd(w, w, other, {norm, 0}, {.momentum = 0.5}), Error);
  CHECK_THROWS_AS(ops::average(w, other, 0.5), Error);
  CHECK_THROWS_AS(ops::unary_backward(ops::Unary::tanh, w, other, other, {w}), Error);
  CHECK_THROWS_AS(ops::log_softmax_backward(w, w, {other}), Error);
  CHECK_THROWS_AS(ops::layer_norm_backward(w, two, four, four, w, {w}, {}, {}), Error);
  CHECK_THROWS_AS(ops::layer_norm_backward(w, t({3}), four, four, w, {other}, {}, {}), Error);
  CHECK_THROWS_AS(ops::layer_norm_backward(w, t({3}), four, four, w, {}, {two}, {}), Error);
  ids.data<int32_t>()[2] = 9;
  CHECK_THROWS_AS(ops::embedding_backward(w, ids, other), Error);
  CHECK_THROWS_AS(ops::nll_backward(ids, 1, norm, w), Error);

  Arena arena("test");
  const Tensor gates = t({4, 8}), states = t({6, 2}), w_hh = t({8, 2}), b = t({8}),
               state = t({2, 2});
  const ops::Lstm io{.x = w,
                     .w_ih = t({8, 3}),
                     .w_hh = w_hh,
                     .b_ih = b,
                     .b_hh = b,
                     .h0 = state,
                     .c0 = state,
                     .hidden = states,
                     .cells = states,
                     .gates = gates};
  CHECK_THROWS_AS(ops::lstm_backward(io, {.dy = two}, arena), Error);
  CHECK_THROWS_AS(ops::lstm_backward(io, {.dh_n = two}, arena), Error);
  CHECK_THROWS_AS(ops::lstm_backward(io, {.dw_ih = {other}}, arena), Error);
  CHECK_THROWS_AS(ops::lstm_backward(io, {.db_hh = {two}}, arena), Error);
}

}  // namespace nine::tests::test_ops
