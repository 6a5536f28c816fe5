// docs/kernels.md's worked example, in a build of its own whose list of kernels is lin and rat:
// found by name, its gradients those of finite differences through the fused op, and it trains. The
// page shows the very file that is compiled.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/random.h"
#include "kernels/loss/kernel_softmax.h"

using namespace nine;

namespace {

constexpr int64_t kRows = 6, kWords = 9, kSize = 5;

struct SimpleTrainer {
  std::vector<double> h, w;

  SimpleTrainer() : h(kRows * kSize), w(kWords * kSize) {
    for (size_t i = 0; i < h.size(); ++i) h[i] = random_uniform({.op = 1}, i) - 0.5;
    for (size_t i = 0; i < w.size(); ++i) w[i] = random_uniform({.op = 2}, i) - 0.5;
  }
  double loss(const HeadSpec& head, std::vector<double>* dh = nullptr,
              std::vector<double>* dw = nullptr) const {
    Arena pool("example_kernel");
    Tape tape(pool);
    const Var hv = tape.leaf(Tensor::from(h, {kRows, kSize})),
              wv = tape.leaf(Tensor::from(w, {kWords, kSize}));
    const SoftmaxLoss out =
        kernel_softmax(head, hv, {.w = {wv}},
                       Tensor::from(std::vector<int32_t>{0, 1, 2, 3, 4, 5}, {kRows}), 1.0 / kRows);
    const double value = out.loss.value().item();
    if (dh == nullptr) return value;
    tape.backward(out.loss);
    *dh = hv.grad().to_vector();
    *dw = wv.grad().to_vector();
    return value;
  }
};

std::string text_of(const std::string& file) {
  std::ifstream in(std::string(NINE_SOURCE_DIR) + "/" + file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("example_kernel: known by name, with its parameters and errors") {
  CHECK(parse_head("rat").to_text() == "rat:gamma=1");
  CHECK(parse_head("mix:lin,rat:gamma=3").to_text() == "mix:lin,rat:gamma=3");
  CHECK_THROWS_WITH_AS(parse_head("rat:gamma=0"), doctest::Contains("gamma must be > 0"),
                       UsageError);
}

TEST_CASE("example_kernel: gradients are finite differences") {
  const HeadSpec head = parse_head("rat:gamma=0.7");
  SimpleTrainer model;
  std::vector<double> dh, dw;
  model.loss(head, &dh, &dw);
  for (auto* x : {&model.h, &model.w})
    for (size_t i = 0; i < x->size(); ++i) {
      const double before = (*x)[i];
      (*x)[i] = before + 1e-5;
      const double above = model.loss(head);
      (*x)[i] = before - 1e-5;
      const double below = model.loss(head);
      (*x)[i] = before;
      CHECK((x == &model.h ? dh : dw)[i] == doctest::Approx((above - below) / 2e-5).epsilon(1e-6));
    }
}

TEST_CASE("example_kernel: trains") {
  const HeadSpec head = parse_head("rat:gamma=0.3");
  SimpleTrainer model;
  const double start = model.loss(head);
  std::vector<double> dh, dw;
  for (int step = 0; step < 400; ++step) {
    model.loss(head, &dh, &dw);
    for (size_t i = 0; i < dh.size(); ++i) model.h[i] -= 3 * dh[i];
    for (size_t i = 0; i < dw.size(); ++i) model.w[i] -= 3 * dw[i];
  }
  const double end = model.loss(head);
  CHECK(end < start - 0.3);
  CHECK(std::exp(end) >= 1 + (kWords - 1) * std::exp(-1));  // scores within (0, 1] can do no better
  CHECK(std::exp(end) < 1.2 * (1 + (kWords - 1) * std::exp(-1)));
}

TEST_CASE("example_kernel: the page shows this file") {
  CHECK(text_of("docs/kernels.md").find(text_of("tests/kernels/example_kernel/rat.h")) !=
        std::string::npos);
}
