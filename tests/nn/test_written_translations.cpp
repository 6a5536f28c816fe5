// Translation models for other programs: heads that fold into inner products, against the heads'
// own probabilities; sinusoids; what is refused. Beside CTranslate2:
// tests/clients/ctranslate2_models.py.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "checks/op_cases.h"
#include "kernels/settings/head_config.h"
#include "nn/models/foreign_translation.h"
#include "nn/models/linear_form.h"
#include "nn/softmax_head.h"
#include "tests/support/support.h"

namespace nine::tests::test_written_translations {
namespace {

constexpr int64_t kWords = 11, kWidth = 8, kContexts = 5;

Tensor random_tensor(const Shape& shape, const char* name, double size) {
  const auto values = checks::random_values({{shape, -size, size}}, stream_id(name))[0];
  Tensor out(shape, DType::float32);
  std::transform(values.begin(), values.end(), out.data<float>(),
                 [](double x) { return static_cast<float>(x); });
  return out;
}

// Returns the largest difference between log p of the head and of its linear form.
double difference(const std::string& text, bool bias) {
  HeadSettings settings{.head = text, .head_bias = bias};
  const HeadConfig config = settings.head_config();
  ParameterSet set({.dtype = DType::float32, .gradients = false});
  const SoftmaxHead head(set, "head", config, kWords, kWidth);
  for (const NamedView& p : set.named(set.values())) {
    const Tensor values = random_tensor(p.view.shape, p.name.c_str(), 1);
    std::copy_n(values.data<float>(), values.elements(), p.view.as<float>());
  }
  const auto own = [&](const char* name) {
    Tensor out;
    for (const NamedView& p : set.named(set.values()))
      if (p.name == name) {
        out = Tensor(p.view.shape, DType::float32);
        std::copy_n(p.view.as<float>(), out.elements(), out.data<float>());
      }
    return out;
  };
  const auto form = linear_form(config, head.present_spec());
  REQUIRE_MESSAGE(form.has_value(), text);
  const LinearHead linear = linear_head(*form, own("head.weight"), own("head.bias"));
  const Tensor contexts = random_tensor({kContexts, kWidth}, "contexts", 1);
  Arena pool("linear form");
  Tape tape(pool);
  const std::vector<double> wanted = head.log_probabilities(tape.constant(contexts)).to_vector(),
                            w = linear.weight.to_vector(), h = contexts.to_vector(),
                            b = linear.bias ? linear.bias.to_vector()
                                            : std::vector<double>(kWords, 0.0);
  double largest = 0;
  for (size_t n = 0; n < kContexts; ++n) {
    std::vector<double> scores = b;
    double sum = 0;
    for (size_t v = 0; v < kWords; ++v) {
      for (size_t i = 0; i < kWidth; ++i) scores[v] += w[v * kWidth + i] * h[n * kWidth + i];
      sum += std::exp(scores[v]);
    }
    for (size_t v = 0; v < kWords; ++v)
      largest = std::max(largest, std::abs(scores[v] - std::log(sum) - wanted[n * kWords + v]));
  }
  return largest;
}

}  // namespace

TEST_CASE("linear form: heads that fold have the probabilities of inner products and biases") {
  for (const char* head :
       {"lin", "lin:scale=3", "lin:scale=learn:2", "pol:p=1:alpha=0.5:c=3", "pol:p=1:scale=2",
        "pow:p=2", "pow:p=2:scale=0.3", "ssg:variance=0.5", "ssg:variance=2:scale=3",
        "ssg:variance=learn:0.7", "mog:form=sum:variance=0.5",
        "mog:form=sum:variance=0.8:components=4:scale=1.5", "mog:components=1:variance=0.5",
        "mog:form=mixture:components=1:variance=0.5"})
    for (const bool bias : {false, true}) {
      const double found = difference(head, bias);
      CHECK_MESSAGE(found < 1e-4, head, ' ', bias, ' ', found);
    }
}

TEST_CASE("linear form: other heads have none") {
  for (const char* head :
       {"log", "pow:p=1", "pol", "rbf", "ssg", "mog", "mog:form=mixture:variance=1", "hpb", "wav",
        "sig", "mix:2*lin", "mix:lin"}) {
    const HeadConfig config = HeadSettings{.head = head}.head_config();
    CHECK_MESSAGE(!linear_form(config, config.spec), head);
  }
}

TEST_CASE("spread_sinusoids: fairseq's first rows, by its formula in double") {
  constexpr int64_t kFirst = 2, kRows = 3;
  const Tensor table = spread_sinusoids(kRows, kWidth, kFirst);
  const std::vector<double> found = table.to_vector();
  for (int64_t t = 0; t < kRows; ++t)
    for (int64_t i = 0; i < kWidth / 2; ++i) {
      const double rate =
                       std::exp(static_cast<double>(i) * -std::log(10000.0) / (0.5 * kWidth - 1)),
                   angle = static_cast<double>(t + kFirst) * rate;
      const auto at = [&](int64_t column) {
        return found[static_cast<size_t>(t * kWidth + column)];
      };
      CHECK(at(i) == doctest::Approx(std::sin(angle)).epsilon(1e-6));
      CHECK(at(kWidth / 2 + i) == doctest::Approx(std::cos(angle)).epsilon(1e-6));
    }
  CHECK(has(error_of([] { static_cast<void>(spread_sinusoids(1, 7, 0)); }), "an even width"));
}

}  // namespace nine::tests::test_written_translations
