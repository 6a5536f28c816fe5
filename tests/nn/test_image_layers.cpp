// Convolutions, pooling, norms by channels, GRU, bidirectional LSTM and losses against values of
// PyTorch 2.15 in float64. Inputs and parameters are waves, sin(k (i + 1)) for element i.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "autograd/losses.h"
#include "core/error.h"
#include "core/ops.h"
#include "nn/batch_norm.h"
#include "nn/bidirectional_lstm.h"
#include "nn/convolution.h"
#include "nn/gradcheck_model.h"
#include "nn/group_norm.h"
#include "nn/gru.h"
#include "nn/pooling.h"
#include "tests/support/compare.h"

namespace nine::tests::test_image_layers {

namespace {

using Doubles = std::vector<double>;

Tensor wave(const Shape& shape, double k, double scale = 1) {
  Doubles values;
  for (int64_t i = 0; i < shape.elements(); ++i)
    values.push_back(scale * std::sin(k * static_cast<double>(i + 1)));
  return Tensor::from<double>(values, shape);
}

struct Bench {
  ParameterSet parameters{{.dtype = DType::float64}};
  Arena arena{"test_image_layers"};
  Tape tape{arena};

  Var input(const Shape& shape, double k) { return tape.constant(wave(shape, k)); }
  void set(const std::string& name, double k, double scale = 1) {
    const Tensor& to = parameters.at(name).value();
    ops::copy(wave(to.shape(), k, scale), to);
  }
  // Parameter i has the wave k + i / 10, halved.
  void set_all(double k) {
    double i = 0;
    for (const Parameter& p : parameters.all())
      ops::copy(wave(p.value().shape(), k + 0.1 * i++, 0.5), p.value());
  }
};

void check(const Tensor& got, const Doubles& expected) {
  const Doubles values = got.to_vector();
  REQUIRE(values.size() == expected.size());
  CHECK(relative_error(values, expected) < 1e-10);
}
void check(const Var& got, const Doubles& expected) { check(got.value(), expected); }

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("Conv2d and Conv1d compute what PyTorch computes") {
  Bench b;
  const Conv2d two(b.parameters, "two", 4, 2, {3, 2},
                   {.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}, .groups = 2});
  const Conv1d one(b.parameters, "one", 2, 3, 3, {.stride = 2, .padding = 1});
  for (const char* name : {"two", "one"}) {
    b.set(std::string(name) + ".weight", 0.3);
    b.set(std::string(name) + ".bias", 0.9);
  }
  const Var y = two(b.input({1, 4, 5, 4}, 0.7));
  CHECK(y.shape() == Shape{1, 2, 3, 2});
  check(y, {1.22496615775, 0.181248417339, 0.58030665952, 0.524909320807, -0.23797473683,
            0.741614647689, 2.26817989128, 1.46175413058, 0.931646315362, 0.745111297376,
            -0.543899041551, -0.070776064058});
  check(one(b.input({2, 2, 7}, 0.7)),
        {1.3056977402,    3.45769446615,   2.08574953942,   -0.0971247640889, 1.92229344573,
         2.01218173375,   0.517010898318,  -0.339273637978, -0.525968702017,  -2.71881104262,
         -0.667454224421, 1.90451935969,   -0.55012324792,  -2.0202887603,    0.483764861316,
         2.28086719063,   0.0824234716282, 0.243279606275,  1.81392308788,    2.29975884897,
         2.16589691026,   3.56296872117,   0.345208121483,  -1.67266001302});
}

TEST_CASE("convolutions: initial values, gradients and errors") {
  Bench b;
  const Conv2d conv(b.parameters, "conv", 4, 8, 3, {.padding = 1, .groups = 2});
  const Conv1d plain(b.parameters, "plain", 8, 2, 5, {}, false);
  CHECK(plain.bias() == nullptr);
  double largest = 0;
  for (const double w : conv.weight().value().to_vector()) largest = std::max(largest, std::abs(w));
  const double bound = 1 / std::sqrt(2.0 * 9);
  CHECK(largest <= bound);
  CHECK(largest > 0.9 * bound);
  const GradcheckReport report = gradcheck(b.parameters, [&](Tape& tape) {
    const Var h = tanh(conv(tape.constant(wave({2, 4, 3, 5}, 0.7))));
    return plain(reshape(h, {2, 8, 15}));
  });
  CHECK_MESSAGE(report.worst < 1e-7, report.where);
  CHECK(report.checked == 8 * 2 * 9 + 8 + 80);

  CHECK(error_of([&] {
          conv(b.input({2, 3, 3, 5}, 0.7));
        }).find("do not divide 3 channels") != std::string::npos);
  CHECK(error_of([&] { conv(b.input({2, 12}, 0.7)); }).find("(N, C, H, W)") != std::string::npos);
  CHECK(error_of([&] {
          plain(b.input({2, 8, 4}, 0.7));
        }).find("do not fit into") != std::string::npos);
  CHECK(error_of([&] {
          conv2d(b.input({1, 4, 5, 5}, 1), b.input({2, 2, 3, 3}, 1), {}, {.stride = 0});
        }).find("must be (2") == std::string::npos);
  CHECK_THROWS_AS(conv2d(b.input({1, 2, 5, 5}, 1), b.input({2, 2, 3, 3}, 1), {}, {.stride = 0}),
                  UsageError);
  CHECK(error_of([&] {
          conv2d(b.input({0, 2, 5, 5}, 1), b.input({2, 2, 3, 3}, 1));
        }).find("has no examples") != std::string::npos);
  CHECK_THROWS(Conv2d(b.parameters, "x", 4, 6, 3, {.groups = 4}));
}

TEST_CASE("MaxPool and AvgPool compute what PyTorch computes") {
  Bench b;
  const MaxPool top{{.kernel = 3, .stride = 2, .padding = 1}};
  const AvgPool mean{{.kernel = 3, .stride = 2, .padding = 1, .count_padding = false}};
  check(top(b.input({1, 2, 5, 5}, 0.7)),
        {0.985449729988, 0.985449729988, 0.656986598719, 0.988168233877, 0.854598908088,
         0.990607355695, 0.845746831143, 0.669569762197, 0.990607355695, 0.287052651328,
         0.992766405836, 0.992766405836, 0.694164668252, 0.994644773878, 0.827327900595,
         0.996241928755, 0.996241928755, 0.254682332844});
  check(mean(b.input({1, 2, 5, 5}, 0.7)),
        {-0.0560902419529, 0.0977903161302, 0.164501355417, -0.268096014077, -0.0782923901829,
         0.181300454645, -0.112112413375, -0.146910732807, -0.0507539802895, -0.166228291598,
         -0.0898981304957, 0.0665665171907, -0.110768741411, -0.244041104305, -0.15977714591,
         0.0967323071211, -0.0632125447774, -0.166810231352});
  check(max_pool(b.input({1, 2, 7}, 0.7), {.kernel = 3, .stride = 2}),
        {0.985449729988, 0.863209366649, -0.35078322769, 0.656986598719, 0.988168233877,
         0.854598908088});
  CHECK_THROWS(max_pool(b.input({1, 2, 7}, 0.7), {.kernel = 3, .padding = 2}));
  // A NaN is not lost, and of equal elements the first has the gradient.
  const Var x = b.tape.leaf(Tensor::from<double>({1, 1, 0, 1}, {1, 1, 2, 2}));
  b.tape.backward(sum(max_pool(x)));
  CHECK(x.grad().to_vector() == Doubles{1, 0, 0, 0});
  b.tape.reset();
  const Var nan = b.tape.constant(Tensor::from<double>({1, std::nan(""), 5, 1}, {1, 1, 2, 2}));
  CHECK(std::isnan(max_pool(nan).value().item()));
}

TEST_CASE("BatchNorm: batches, running statistics, their file, as PyTorch") {
  Bench b;
  BatchNorm norm(b.parameters, "norm", 2, {.eps = 1e-3, .momentum = 0.3});
  b.set("norm.weight", 0.4);
  b.set("norm.bias", 0.8);
  const Var x = b.tape.leaf(wave({3, 2, 2, 1}, 0.7));
  const Var y = norm(x);
  check(y, {0.996633966172, 1.2020042459, 1.57915163081, 1.08958148635, 0.397793322183,
            0.0843546728432, -0.131459328407, 0.194029620209, 0.619031411176, 1.00431892712,
            1.69496699144, 1.57117121785});
  b.tape.backward(sum(y * b.input({3, 2, 2, 1}, 0.2)));
  check(x.grad(), {-0.22317901077, -0.0473163770208, -0.109720610921, -0.0533638529163,
                   -0.0143559051381, -0.0530387897943, -0.0173414983873, 0.0523821651616,
                   0.131093158696, 0.206796924028, 0.136441235536, -0.00839743847317});
  check(b.parameters.at("norm.weight").grad(), {-1.15425666973, -0.808020360444});
  b.tape.reset();
  norm(b.input({3, 2, 2, 1}, 1.1));
  check(b.parameters.buffer("norm.running_mean"), {0.0302477471463, 0.080261774735});
  check(b.parameters.buffer("norm.running_var"), {0.790143693567, 0.805143275229});
  const Doubles expected{0.914011996971, 1.07252022382, 1.73241238466, 1.66194547241};
  const auto file = std::filesystem::temp_directory_path() / "nine_batch_norm.safetensors";
  b.parameters.save(file);
  Bench other;
  BatchNorm same(other.parameters, "norm", 2, {.eps = 1e-3, .momentum = 0.3});
  other.parameters.load(file);
  std::filesystem::remove(file);
  {
    const NoGrad no_grad(other.tape);
    check(same(other.input({1, 2, 2, 1}, 0.5)), expected);
    check(same(other.input({1, 2, 2, 1}, 0.5)), expected);  // unchanged by the first call
  }
  same.use_running_statistics(true);
  check(same(other.input({1, 2, 2, 1}, 0.5)), expected);
  same.use_running_statistics(false);
  CHECK(error_of([&] {
          same(other.input({1, 2, 1, 1}, 0.5));
        }).find("single element") != std::string::npos);
  CHECK_THROWS(same(other.input({4, 3}, 0.5)));
}

TEST_CASE("GroupNorm computes what PyTorch computes") {
  Bench b;
  const GroupNorm norm(b.parameters, "norm", 2, 4, 1e-3);
  b.set("norm.weight", 0.4);
  b.set("norm.bias", 0.8);
  check(norm(b.input({2, 4, 2}, 0.7)),
        {0.61927440931, 1.15265110972, 1.44946072339, -0.0715016204762, 2.03979024857,
         0.0563751221634, -1.17518730283, 0.259200815348, 0.0797547302148, 0.746350046662,
         1.68824141971, 1.43203486904, 2.11311567992, 0.874370728498, -0.839558403941,
         -1.03233325374});
  CHECK_THROWS(GroupNorm(b.parameters, "three", 3, 4)(b.input({2, 4, 2}, 0.7)));
}

TEST_CASE("Gru computes what PyTorch computes") {
  Bench b;
  const Gru gru(b.parameters, "gru", 2, 3, 2);
  b.set_all(0.3);
  std::vector<Var> state = gru.zero_state(b.tape, 2, DType::float64);
  const Doubles all{-0.179082119618, 0.523548826442,  0.382255524018,  -0.156068270842,
                    0.520879666752,  0.381307079246,  -0.196565036486, 0.655609121632,
                    0.550480436819,  -0.109236476372, 0.625058703119,  0.540853619331,
                    -0.421393750426, 0.742295010743,  0.659871212926,  -0.383973459199,
                    0.739997977816,  0.652183151122};
  check(gru(b.input({6, 2}, 0.7), state), all);
  check(state[0], {-0.264663157983, -0.42726871699, -0.51146548577, -0.213931475437, -0.38242807117,
                   -0.599495079458});
  check(state[1], {all.end() - 6, all.end()});
  check(gru(b.input({6, 2}, 0.7), 2), all);
  check(gru(b.input({3, 2, 2}, 0.7), 2), all);  // rows of any shape
  // The state carries on: two calls are one.
  std::vector<Var> halves = gru.zero_state(b.tape, 2, DType::float64);
  const Var x = b.input({6, 2}, 0.7);
  gru(row_range(x, 0, 4), halves);
  check(gru(row_range(x, 4, 2), halves), {all.end() - 6, all.end()});
  const GradcheckReport report = gradcheck(b.parameters, [&](Tape& tape) {
    return gru(tape.constant(wave({6, 2}, 0.7)), 2);
  });
  CHECK_MESSAGE(report.worst < 1e-7, report.where);
  std::vector<Var> one(1, state[0]);
  CHECK(error_of([&] { gru(x, one); }).find("1 states for 2 layers") != std::string::npos);
  CHECK_THROWS(gru(b.input({5, 2}, 0.7), 2));
}

TEST_CASE("BidirectionalLstm computes what PyTorch computes, with and without padding") {
  Bench b;
  const BidirectionalLstm lstm(b.parameters, "lstm", 2, 2, 2);
  b.set_all(0.3);
  const Var x = b.input({6, 2}, 0.7);
  check(lstm(x, 2),
        {0.0765374781918, 0.0942686968107, 0.318790083256,  -0.372613427792, 0.0759590685966,
         0.0922552732282, 0.316307170007,  -0.381264239835, 0.0902482628254, 0.124886551887,
         0.31479957651,   -0.332433711658, 0.100074927971,  0.127452507538,  0.284997997652,
         -0.335380750578, 0.108527876532,  0.140316515014,  0.175654323577,  -0.209619172469,
         0.106897007907,  0.140288080707,  0.145025014026,  -0.21247320417});
  const Tensor lengths = Tensor::from<int32_t>({3, 2}, {2});
  const Var y = lstm(x, 2, lengths);
  check(row_range(y, 0, 5),  // row 5 is padding
        {0.0765374781918, 0.0942686968107, 0.318790083256,  -0.372613427792, 0.0854835501889,
         0.0948205097267, 0.278530390336,  -0.310916480655, 0.0902482628254, 0.124886551887,
         0.31479957651,   -0.332433711658, 0.124099194115,  0.132636672393,  0.218194250522,
         -0.196114597352, 0.108527876532,  0.140316515014,  0.175654323577,  -0.209619172469});
  check(lstm.final_states(y, 2, lengths),
        {0.108527876532, 0.140316515014, 0.318790083256, -0.372613427792, 0.124099194115,
         0.132636672393, 0.278530390336, -0.310916480655});
  CHECK_THROWS(lstm(x, 2, Tensor::from<int32_t>({3, 4}, {2})));
  const GradcheckReport report = gradcheck(
      b.parameters,
      [&](Tape& tape) {
        return lstm.final_states(lstm(tape.constant(wave({6, 2}, 0.7)), 2, lengths), 2, lengths);
      },
      {.max_elements = 12});
  CHECK_MESSAGE(report.worst < 1e-7, report.where);
}

TEST_CASE("losses compute what PyTorch computes") {
  Bench b;
  const Var z = b.tape.constant(wave({2, 3}, 0.7, 20)), t = b.input({2, 3}, 0.3) * 0.5 + 0.5;
  check(binary_cross_entropy(z, t), {5.85653364926});
  const auto constant = [&](const Doubles& values, const Shape& shape) {
    return b.tape.constant(Tensor::from<double>(values, shape));
  };
  const Doubles far =
      logistic_loss(constant({-40, 40, 30}, {3}), constant({0, 1, 0}, {3})).value().to_vector();
  CHECK(far[0] == doctest::Approx(4.24835425529e-18));
  CHECK(far[1] == doctest::Approx(4.24835425529e-18));  // PyTorch has 0 here
  CHECK(far[2] == doctest::Approx(30));
  check(kl_divergence(log_softmax(z), Tensor::from<double>({.5, .5, 0, .2, .3, .5}, {2, 3})),
        {8.97698663689});
  const Tensor targets = Tensor::from<int32_t>({2, -1, 0, 2}, {4}),
               weights = Tensor::from<double>({.5, 2, 3}, {3});
  check(cross_entropy(b.input({4, 3}, 0.7), targets, weights), {1.12398163456});
  check(cross_entropy(b.input({4, 3}, 0.7), Tensor::from<int64_t>({2, -1, 0, 2}, {4}), weights),
        {1.12398163456});
  CHECK_THROWS(
      cross_entropy(b.input({4, 3}, 0.7), Tensor::from<int32_t>({2, -1, 0, 3}, {4}), weights));
  CHECK(error_of([&] {
          cross_entropy(b.input({4, 3}, 0.7), targets, Tensor::from<double>({0, 2, 0}, {3}));
        }).find("sum to 0") != std::string::npos);
  CHECK_THROWS(normal_kl(z, b.input({3, 2}, 1)));
}

}  // namespace nine::tests::test_image_layers
