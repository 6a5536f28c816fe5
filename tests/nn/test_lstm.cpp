// The fused LSTM layer against its composed twin: the same layer out of plain differentiable
// functions, step by step.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "checks/op_cases.h"
#include "core/error.h"
#include "core/gemm.h"
#include "core/threads.h"
#include "tests/support/compare.h"
#include "tests/support/skip.h"
#include "tests/support/support.h"

namespace nine::tests::test_lstm {

using namespace nine::checks;

namespace {

struct Sizes {
  int64_t steps, batch, input, hidden;
};

// x, w_ih, w_hh, b_ih, b_hh, h0, c0.
std::vector<Tensor> inputs_of(const Sizes& s, DType dtype) {
  const int64_t h = s.hidden;
  const std::vector<Input> inputs = {{{s.steps * s.batch, s.input}},
                                     {{4 * h, s.input}, -0.3, 0.3},
                                     {{4 * h, h}, -0.3, 0.3},
                                     {{4 * h}},
                                     {{4 * h}},
                                     {{s.batch, h}},
                                     {{s.batch, h}}};
  const std::vector<Doubles> values = random_values(inputs, 3);
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < values.size(); ++i)
    tensors.push_back(tensor_of(values[i], inputs[i].shape, dtype));
  return tensors;
}

LstmOutput fused(std::span<const Var> in) {
  return lstm(in[0], {in[1], in[2], in[3], in[4]}, {in[5], in[6]});
}

LstmOutput composed(std::span<const Var> in) {
  Var h = in[5], c = in[6];
  const int64_t batch = h.shape().rows(), size = h.shape().cols(),
                steps = in[0].shape().rows() / batch;
  std::vector<Var> all;
  for (int64_t t = 0; t < steps; ++t) {
    const Var gates =
        add(linear(row_range(in[0], t * batch, batch), in[1], in[3]), linear(h, in[2], in[4]));
    const Var i = sigmoid(col_range(gates, 0, size)), f = sigmoid(col_range(gates, size, size));
    const Var g = tanh(col_range(gates, 2 * size, size)),
              o = sigmoid(col_range(gates, 3 * size, size));
    c = add(mul(f, c), mul(i, g));
    h = mul(o, tanh(c));
    all.push_back(h);
  }
  return {concat_rows(all), {h, c}};
}

Var everything(const LstmOutput& out) {
  const Var parts[] = {out.y, out.last.h, out.last.c};
  return concat_rows(parts);
}

struct Result {
  Doubles y, h_n, c_n;
  std::vector<Doubles> gradients;
};

// `use` picks what the loss sees of the outputs.
template <class Layer, class Use>
Result run(const Layer& layer, const std::vector<Tensor>& inputs, const Use& use,
           std::span<const bool> frozen = {}) {
  Arena pool("step");
  Tape tape(pool);
  std::vector<Var> in;
  for (size_t i = 0; i < inputs.size(); ++i)
    in.push_back(i < frozen.size() && frozen[i] ? tape.constant(inputs[i]) : tape.leaf(inputs[i]));
  const LstmOutput out = layer(in);
  Result r{out.y.value().to_vector(),
           out.last.h.value().to_vector(),
           out.last.c.value().to_vector(),
           {}};
  const Var seen = use(out);
  const Tensor weights =
      tensor_of(random_values({{seen.shape(), 0.5, 1.5}}, 5)[0], seen.shape(), seen.dtype());
  tape.backward(sum(mul(seen, tape.constant(weights))));
  for (size_t i = 0; i < in.size(); ++i)
    r.gradients.push_back(i < frozen.size() && frozen[i] ? Doubles{} : in[i].grad().to_vector());
  return r;
}

void check_close(const Result& a, const Result& b, double tolerance) {
  CHECK(relative_error(a.y, b.y) < tolerance);
  CHECK(relative_error(a.h_n, b.h_n) < tolerance);
  CHECK(relative_error(a.c_n, b.c_n) < tolerance);
  for (size_t i = 0; i < b.gradients.size(); ++i) {
    CAPTURE(i);
    CHECK(relative_error(a.gradients[i], b.gradients[i]) < tolerance);
  }
}

bool same_bits(const Result& a, const Result& b) {
  return a.y == b.y && a.h_n == b.h_n && a.c_n == b.c_n && a.gradients == b.gradients;
}

}  // namespace

TEST_CASE("lstm: fused = composed, float64") {
  const Restore restore;
  set_threads(
      1);  // many small problems; another test holds the bits of 2 and 3 threads against those of 1
  for (const int64_t hidden : {5, 33, 64, 90, 130})
    for (const int64_t batch : {1, 3, 70})
      for (const int64_t steps : {1, 7}) {
        CAPTURE(hidden);
        CAPTURE(batch);
        CAPTURE(steps);
        const std::vector<Tensor> inputs =
            inputs_of({steps, batch, hidden / 2 + 1, hidden}, DType::float64);
        check_close(run(fused, inputs, everything), run(composed, inputs, everything), 1e-12);
      }
  // The widest blocks of hidden units, the last of them narrow.
  const std::vector<Tensor> wide = inputs_of({2, 2, 30, 530}, DType::float64);
  check_close(run(fused, wide, everything), run(composed, wide, everything), 1e-12);
}

TEST_CASE("lstm: fused = composed where the loss sees only some outputs") {
  const std::vector<Tensor> inputs = inputs_of({4, 3, 6, 20}, DType::float64);
  const auto check = [&](auto&& use) {
    check_close(run(fused, inputs, use), run(composed, inputs, use), 1e-12);
  };
  check([](const LstmOutput& out) { return out.y; });
  check([](const LstmOutput& out) { return out.last.h; });
  check([](const LstmOutput& out) { return out.last.c; });
  check([](const LstmOutput& out) { return mul(out.last.h, out.last.c); });
  check([](const LstmOutput& out) { return row_range(out.y, 3, 3); });
}

TEST_CASE("lstm: frozen inputs change no other gradient") {
  const std::vector<Tensor> inputs = inputs_of({4, 3, 6, 20}, DType::float64);
  const Result all = run(fused, inputs, everything);
  for (size_t only = 0; only < inputs.size(); ++only) {
    CAPTURE(only);
    bool frozen[7];
    for (size_t i = 0; i < 7; ++i) frozen[i] = i != only;
    CHECK(run(fused, inputs, everything, frozen).gradients[only] == all.gradients[only]);
  }
}

TEST_CASE("lstm: a sequence in two halves with the state carried is the whole sequence") {
  const Sizes s{6, 4, 5, 18};
  const std::vector<Tensor> inputs = inputs_of(s, DType::float64);
  const auto halves = [](std::span<const Var> in) {
    const int64_t half = in[0].shape().rows() / 2;
    const LstmWeights w{in[1], in[2], in[3], in[4]};
    const LstmOutput first = lstm(row_range(in[0], 0, half), w, {in[5], in[6]});
    const LstmOutput second = lstm(row_range(in[0], half, half), w, first.last);
    const Var both[] = {first.y, second.y};
    return LstmOutput{concat_rows(both), second.last};
  };
  check_close(run(halves, inputs, everything), run(fused, inputs, everything), 1e-12);
}

TEST_CASE("lstm: gradients against finite differences") {
  const Restore restore;
  set_threads(1);
  const std::vector<Tensor> inputs = inputs_of({3, 3, 4, 17}, DType::float64);
  const GradcheckReport r = gradcheck([](std::span<const Var> in) { return everything(fused(in)); },
                                      inputs, {.max_elements = 60});
  CHECK_MESSAGE(r.worst < 1e-6, r.where);
}

TEST_CASE("lstm: float32 is float64 to 1e-5") {
  const Sizes s{7, 9, 40, 64};
  check_close(run(fused, inputs_of(s, DType::float32), everything),
              run(fused, inputs_of(s, DType::float64), everything), 1e-5);
}

TEST_CASE("lstm: the same bits with 1, 2 and 3 threads, both backends") {
  const Restore restore;
  for (const GemmBackend backend : built_backends()) {
    set_gemm_backend(backend);
    for (const Sizes& s :
         {Sizes{3, 2, 4, 5}, Sizes{5, 70, 33, 100}, Sizes{5, 70, 33, 130}, Sizes{3, 20, 65, 256}}) {
      CAPTURE(s.hidden);
      const std::vector<Tensor> inputs = inputs_of(s, DType::float32);
      set_threads(1);
      const Result one = run(fused, inputs, everything);
      for (const int n : {2, 3}) {
        set_threads(n);
        CHECK(same_bits(run(fused, inputs, everything), one));
      }
    }
  }
}

TEST_CASE("lstm: both backends agree, float64" * doctest::test_suite("needs libxsmm")) {
  if (!gemm_backend_built(GemmBackend::libxsmm)) return skip("a build without libxsmm");
  const Restore restore;
  for (const Sizes& s : {Sizes{4, 3, 6, 33}, Sizes{3, 70, 40, 130}}) {
    const std::vector<Tensor> inputs = inputs_of(s, DType::float64);
    set_gemm_backend(GemmBackend::eigen);
    const Result eigen = run(fused, inputs, everything);
    set_gemm_backend(GemmBackend::libxsmm);
    check_close(run(fused, inputs, everything), eigen, 1e-12);
  }
}

TEST_CASE("lstm: NoGrad gives the same bits") {
  const std::vector<Tensor> inputs = inputs_of({4, 5, 6, 40}, DType::float32);
  const Result with = run(fused, inputs, everything);
  Arena pool("step");
  Tape tape(pool);
  const NoGrad off(tape);
  std::vector<Var> in;
  for (const Tensor& t : inputs) in.push_back(tape.leaf(t));
  const LstmOutput out = fused(in);
  CHECK(out.y.value().to_vector() == with.y);
  CHECK(out.last.c.value().to_vector() == with.c_n);
}

TEST_CASE("lstm: saturated gates stay finite") {
  std::vector<Tensor> inputs = inputs_of({5, 2, 3, 6}, DType::float32);
  for (const size_t i : {0, 3, 4, 5, 6})
    for (int64_t e = 0; e < inputs[i].elements(); ++e) inputs[i].data<float>()[e] *= 1e4f;
  const Result r = run(fused, inputs, everything);
  for (const Doubles& g : r.gradients)
    for (const double x : g) REQUIRE(std::isfinite(x));
}

TEST_CASE("lstm: shapes that do not fit are an Error with the numbers") {
  Arena pool("step");
  Tape tape(pool);
  const auto zeros = [&](const Shape& s) { return tape.constant(Tensor(s, DType::float32)); };
  const LstmWeights w{zeros({16, 3}), zeros({16, 4}), zeros({16}), zeros({16})};
  const LstmState state{zeros({2, 4}), zeros({2, 4})};
  CHECK_NOTHROW(lstm(zeros({6, 3}), w, state));
  CHECK_THROWS_WITH_AS(
      lstm(zeros({5, 3}), w, state),
      doctest::Contains("5 rows of input are not whole time steps of a batch of 2"), Error);
  CHECK_THROWS_WITH_AS(lstm(zeros({6, 5}), w, state),
                       doctest::Contains("w_ih must be (16, 5), got (16, 3)"), Error);
  CHECK_THROWS_WITH_AS(lstm(zeros({6, 3}), {w.w_ih, w.w_ih, w.b_ih, w.b_hh}, state),
                       doctest::Contains("w_hh must be (16, 4)"), Error);
  CHECK_THROWS_WITH_AS(lstm(zeros({6, 3}), {w.w_ih, w.w_hh, zeros({4}), w.b_hh}, state),
                       doctest::Contains("b_ih"), Error);
  CHECK_THROWS_WITH_AS(lstm(zeros({6, 3}), w, {state.h, zeros({3, 4})}),
                       doctest::Contains("c0 must be (2, 4)"), Error);
}

}  // namespace nine::tests::test_lstm
