// The head and the LSTM computed from bfloat16 pieces, on any CPU: no further from float64 than
// float32 arithmetic is, the same bits at any number of threads, and numbers that pieces cannot
// hold.
#include <doctest/doctest.h>

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "autograd/functions.h"
#include "checks/op_cases.h"
#include "core/threads.h"
#include "kernels/loss/kernel_softmax.h"
#include "tests/support/bf16_mode.h"
#include "tests/support/compare.h"
#include "tests/support/support.h"

namespace nine::tests::test_bf16_layers {

using namespace nine::checks;

namespace {

// What an op gives: its values, then its gradients.
using Results = std::vector<Doubles>;

// A head, whose inputs are contexts, word vectors, bias, prior and latent contexts.
struct Head {
  std::string text;
  bool untied = false;
  int64_t rows = 150, words = 1100, size = 72;
};

std::vector<Doubles> inputs_of(const Head& head, const HeadSpec& spec) {
  const int64_t copies = head.untied ? spec.size() : 1;
  return random_values({{{head.rows, head.size}, -0.7, 0.7},
                        {{copies * head.words, head.size}, -0.7, 0.7},
                        {{head.words}},
                        {{spec.size(), head.size}},
                        {{spec.size() * head.size, head.size}, -0.2, 0.2}},
                       5);
}

Results run(const Head& head, const std::vector<Doubles>& in, DType dtype) {
  const HeadSpec spec = parse_head(head.text, {.untied = head.untied});
  Arena pool("head");
  Tape tape(pool);
  const int64_t copies = head.untied ? spec.size() : 1;
  const Var h = tape.leaf(tensor_of(in[0], {head.rows, head.size}, dtype)),
            w = tape.leaf(tensor_of(in[1], {copies * head.words, head.size}, dtype)),
            b = tape.leaf(tensor_of(in[2], {head.words}, dtype)),
            prior = tape.leaf(tensor_of(in[3], {spec.size(), head.size}, dtype));
  Ints targets = random_indices({{{head.rows}, -1, static_cast<int32_t>(head.words)}}, 6)[0];
  HeadWeights weights{{w}, b};
  if (spec.mixture) weights.prior = prior;
  if (spec.contexts)
    weights.latent = tape.leaf(tensor_of(in[4], {spec.size() * head.size, head.size}, dtype));
  const SoftmaxLoss out =
      kernel_softmax(spec, h, weights, tensor_of(targets, {head.rows}), 1.0 / 150, {});
  Results r{out.nll.value().to_vector()};
  tape.backward(out.loss);
  for (const Var& v : {h, w, b}) r.push_back(v.grad().to_vector());
  return r;
}

struct LstmSizes {
  int64_t steps, batch, input, hidden;
};

std::vector<Doubles> inputs_of(const LstmSizes& s) {
  const int64_t h = s.hidden;
  return random_values({{{s.steps * s.batch, s.input}},
                        {{4 * h, s.input}, -0.1, 0.1},
                        {{4 * h, h}, -0.1, 0.1},
                        {{4 * h}},
                        {{4 * h}},
                        {{s.batch, h}},
                        {{s.batch, h}}},
                       3);
}

Results run(const LstmSizes& s, const std::vector<Doubles>& values, DType dtype) {
  const int64_t h = s.hidden;
  const std::vector<Shape> shapes{{s.steps * s.batch, s.input},
                                  {4 * h, s.input},
                                  {4 * h, h},
                                  {4 * h},
                                  {4 * h},
                                  {s.batch, h},
                                  {s.batch, h}};
  Arena pool("lstm");
  Tape tape(pool);
  std::vector<Var> in;
  for (size_t i = 0; i < shapes.size(); ++i)
    in.push_back(tape.leaf(tensor_of(values[i], shapes[i], dtype)));
  const LstmOutput out = lstm(in[0], {in[1], in[2], in[3], in[4]}, {in[5], in[6]});
  Results r{out.y.value().to_vector()};
  tape.backward(sum(mul(out.y, out.y)));
  for (const Var& v : in) r.push_back(v.grad().to_vector());
  return r;
}

// Against float64: highest is no worse than float32's own arithmetic, medium is bfloat16's.
template <class Case>
void check_errors(const Case& c, const std::vector<Doubles>& in) {
  const Results exact = run(c, in, DType::float64), plain = run(c, in, DType::float32);
  const auto in_pieces = [&](MatmulPrecision precision) {
    const Bf16Mode mode(precision);
    return run(c, in, DType::float32);
  };
  const Results highest = in_pieces(MatmulPrecision::highest),
                medium = in_pieces(MatmulPrecision::medium);
  for (size_t i = 0; i < exact.size(); ++i) {
    CAPTURE(i);
    const double error = relative_error(highest[i], exact[i]);
    CHECK(error < 1.5 * relative_error(plain[i], exact[i]) + 1e-6);
    CHECK(error < 3e-6);
    CHECK(relative_error(medium[i], exact[i]) < 0.05);
    CHECK(medium[i] != highest[i]);
  }
}

template <class Case>
void check_threads(const Case& c, const std::vector<Doubles>& in) {
  const int before = threads();
  for (const MatmulPrecision precision :
       {MatmulPrecision::highest, MatmulPrecision::high, MatmulPrecision::medium}) {
    const Bf16Mode mode(precision);
    set_threads(1);
    const Results one = run(c, in, DType::float32);
    set_threads(3);
    CHECK(run(c, in, DType::float32) == one);
  }
  set_threads(before);
}

}  // namespace

TEST_CASE("bf16 pieces: heads are as near to float64 as in float32, at any number of threads" *
          doctest::test_suite("check")) {
  for (const Head& head : {Head{"lin"}, Head{"log:p=2"}, Head{"hpb"}, Head{"mog:variance=split"},
                           Head{"rbf"}, Head{"mix:lin,log,lin"}, Head{"mix:lin,rbf", true},
                           Head{"lin", false, 33, 65, 33}, Head{"lin", false, 1, 300, 40}}) {
    CAPTURE(head.text);
    CAPTURE(head.rows);
    const std::vector<Doubles> in = inputs_of(head, parse_head(head.text, {.untied = head.untied}));
    check_errors(head, in);
    check_threads(head, in);
  }
}

TEST_CASE("bf16 pieces: LSTMs are as near to float64 as in float32, at any number of threads") {
  for (const LstmSizes& s : {LstmSizes{4, 40, 32, 64},  // cut by rows
                             LstmSizes{3, 18, 48, 288}, LstmSizes{2, 1, 32, 32}}) {
    CAPTURE(s.hidden);
    const std::vector<Doubles> in = inputs_of(s);
    check_errors(s, in);
    check_threads(s, in);
  }
}

TEST_CASE("bf16 pieces: layers give what float32 gives where a factor is too large for pieces") {
  constexpr double kMax = std::numeric_limits<float>::max();
  const Head head{"lin", false, 40, 200, 64};
  std::vector<Doubles> in = inputs_of(head, parse_head(head.text, {}));
  in[1][static_cast<size_t>(70 * head.size + 3)] = kMax;  // a word; the contexts have 0 there
  for (int64_t n = 0; n < head.rows; ++n) in[0][static_cast<size_t>(n * head.size + 3)] = 0;
  const LstmSizes lstm{3, 18, 32, 96};
  std::vector<Doubles> weights = inputs_of(lstm);
  weights[2][5] = kMax;  // an input gate is 0 or 1
  const Results plain_head = run(head, in, DType::float32),
                plain_lstm = run(lstm, weights, DType::float32);
  const Bf16Mode mode(MatmulPrecision::highest);
  const Results pieces_head = run(head, in, DType::float32),
                pieces_lstm = run(lstm, weights, DType::float32);
  for (const size_t i : {0, 2, 3}) CHECK(relative_error(pieces_head[i], plain_head[i]) < 1e-5);
  CHECK(relative_error(pieces_lstm[0], plain_lstm[0]) < 1e-5);
}

}  // namespace nine::tests::test_bf16_layers
