// HeadDecoder against inference and the loss that training uses, and that rows do not depend on
// others.
#include <doctest/doctest.h>

#include <cmath>

#include "autograd/functions.h"
#include "checks/op_cases.h"
#include "core/ops.h"
#include "kernels/decoding/head_decoder.h"
#include "kernels/loss/kernel_softmax.h"
#include "tests/support/bf16_mode.h"
#include "tests/support/compare.h"
#include "tests/support/support.h"

namespace nine::tests::test_head_decoder {

using namespace nine::checks;

namespace {

struct Case {
  HeadSpec head;
  int64_t rows, words, size;
  Tensor h, bias, prior, latent;
  std::vector<Tensor> w;
  Ints targets;

  Case(const std::string& text, const HeadDefaults& defaults, int64_t rows_, int64_t words_,
       int64_t size_, DType dtype)
      : head(parse_head(text, defaults)), rows(rows_), words(words_), size(size_) {
    const int64_t k = head.size();
    // HeadDecoder needs memory for whole tiles of rows: here up to four more.
    const std::vector<Doubles> v = random_values({{{rows + 4, size}},
                                                  {{words, size}},
                                                  {{words}},
                                                  {{k, size}},
                                                  {{k * size, size}},
                                                  {{k * words, size}}},
                                                 5);
    h = tensor_of(v[0], {rows + 4, size}, dtype);
    bias = tensor_of(v[2], {words}, dtype);
    if (head.mixture) prior = tensor_of(v[3], {k, size}, dtype);
    if (head.contexts) latent = tensor_of(v[4], {k * size, size}, dtype);
    if (!head.untied) {
      w = {tensor_of(v[1], {words, size}, dtype)};
    } else {  // as where the embedding takes the first place
      const Tensor all = tensor_of(v[5], {k * words, size}, dtype);
      w = {all.row_range(0, words),
           all.row_range(words, (k - 1) * words).reshaped({k - 1, words, size})};
    }
    targets = random_indices({{{rows}, 0, static_cast<int32_t>(words)}}, 6)[0];
  }
  HeadValues values() const {
    HeadValues out{.bias = bias,
                   .prior = prior ? prior.view() : View{},
                   .latent = latent ? latent.view() : View{}};
    out.w.assign(w.begin(), w.end());
    return out;
  }
  HeadWeights weights(Tape& tape) const {
    HeadWeights out;
    for (const Tensor& t : w) out.w.push_back(tape.constant(t));
    out.bias = tape.constant(bias);
    if (prior) out.prior = tape.constant(prior);
    if (latent) out.latent = tape.constant(latent);
    return out;
  }
};

template <class T>
typename HeadDecoder<T>::Answer ask(const Case& c, int64_t first, int64_t rows, int64_t k,
                                    int32_t excluded = -1, std::span<const int32_t> targets = {}) {
  const HeadDecoder<T> decoder(c.head, c.values());
  typename HeadDecoder<T>::Memory memory;
  typename HeadDecoder<T>::Answer answer;
  decoder({.h = c.h.data<T>() + first * c.size,
           .rows = rows,
           .k = k,
           .excluded = excluded,
           .targets = targets},
          memory, answer);
  return answer;
}

const char* kHeads[] = {"lin",
                        "log",
                        "pow:p=1",
                        "pol",
                        "rbf",
                        "ssg",
                        "mog",
                        "mog:form=mixture",
                        "hpb",
                        "hpb:ball=tanh",
                        "wav",
                        "sig",
                        "mix:3*lin",
                        "mixbig",
                        "mix:2*lin,log",
                        "mix:1*lin",
                        "mix:2*mog:components=2,ssg"};

}  // namespace

TEST_CASE(
    "head_decoder: the likeliest words and their log-probabilities are those of kernel_softmax, "
    "whatever the head") {
  for (const char* text : kHeads)
    for (const auto& [head_context, untied] :
         {std::pair("", false), {"tanh", false}, {"none", false}, {"", true}}) {
      const char* context = head_context;
      if (untied && std::string(text).rfind("mix", 0) != 0) continue;
      CAPTURE(text);
      CAPTURE(context);
      const Case c(text, {.head_context = context, .untied = untied}, 7, 150, 12, DType::float64);
      Arena pool("head");
      Tape tape(pool);
      const NoGrad guard(tape);
      const Var h = tape.constant(c.h.row_range(0, c.rows));
      const HeadWeights weights = c.weights(tape);
      const WordScores top = top_words(c.head, h, weights, 9);
      const auto found = ask<double>(c, 0, c.rows, 9);
      CHECK(found.words == top.words);
      CHECK(relative_error(found.log_probs, top.log_probs) < 1e-12);
      // All words, and a word that is left out: the others share its probability.
      const Doubles log_p = log_probabilities(c.head, h, weights).to_vector();
      const auto without = ask<double>(c, 0, c.rows, c.words - 1, 17);
      for (int64_t r = 0; r < c.rows; ++r)
        for (int64_t i = 0; i < c.words - 1; ++i) {
          const auto at = static_cast<size_t>(r * (c.words - 1) + i);
          REQUIRE(without.words[at] != 17);
          const auto of = [&](int64_t v) { return log_p[static_cast<size_t>(r * c.words + v)]; };
          CHECK(without.log_probs[at] ==
                doctest::Approx(of(without.words[at]) - std::log1p(-std::exp(of(17))))
                    .epsilon(1e-11));
        }
      // Given words, as the loss scores them.
      const Doubles nll = kernel_softmax(c.head, h, weights, tensor_of(c.targets, {c.rows}), 1)
                              .nll.value()
                              .to_vector();
      const auto given = ask<double>(c, 0, c.rows, 0, -1, c.targets);
      for (size_t r = 0; r < nll.size(); ++r)
        CHECK(given.log_probs[r] == doctest::Approx(-nll[r]).epsilon(1e-12));
      // Float32.
      const Case single(text, {.head_context = context, .untied = untied}, 7, 150, 12,
                        DType::float32);
      CHECK(relative_error(ask<float>(single, 0, c.rows, 9).log_probs, top.log_probs) < 2e-5);
    }
}

TEST_CASE(
    "head_decoder: vectors whose products overflow float32, where the score itself does not") {
  for (const char* text : {"hpb", "hpb:ball=tanh", "log", "rbf", "wav"}) {
    CAPTURE(text);
    Case c(text, {.head_context = "none"}, 4, 150, 12, DType::float32),
        exact(text, {.head_context = "none"}, 4, 150, 12, DType::float64);
    for (int64_t i = 0; i < c.size; ++i) {
      c.h.data<float>()[2 * c.size + i] *= 0x1p67F;
      exact.h.data<double>()[2 * c.size + i] *= 0x1p67;
      c.w[0].data<float>()[17 * c.size + i] *= 0x1p67F;
      exact.w[0].data<double>()[17 * c.size + i] *= 0x1p67;
    }
    const auto found = ask<float>(c, 0, 4, 8);
    CHECK(relative_error(found.log_probs, ask<double>(exact, 0, 4, 8).log_probs) < 2e-5);
  }
}

TEST_CASE(
    "head_decoder: the other words' order does not depend on how sure a word is that is left out") {
  for (const char* text : {"lin", "mix:1*lin", "mix:3*lin", "mixbig"})
    for (const double sure : {20.0, 90.0, 1000.0}) {
      CAPTURE(text);
      CAPTURE(sure);
      Case c(text, {.head_context = "none"}, 4, 150, 12, DType::float32),
          exact(text, {.head_context = "none"}, 4, 150, 12, DType::float64);
      c.bias.data<float>()[17] = static_cast<float>(sure);
      exact.bias.data<double>()[17] = sure;
      const auto found = ask<float>(c, 0, 4, 8, 17);
      const auto expected = ask<double>(exact, 0, 4, 8, 17);
      CHECK(found.words == expected.words);
      CHECK(relative_error(found.log_probs, expected.log_probs) < 2e-5);
      // Against the definition, where doubles still hold 1 - p(17).
      if (sure > 20) continue;
      Arena pool("head");
      Tape tape(pool);
      const NoGrad guard(tape);
      const Doubles log_p =
          log_probabilities(exact.head, tape.constant(exact.h.row_range(0, 4)), exact.weights(tape))
              .to_vector();
      for (int64_t r = 0; r < 4; ++r) {
        double rest = 0;
        for (int64_t v = 0; v < 150; ++v)
          rest += v == 17 ? 0 : std::exp(log_p[static_cast<size_t>(r * 150 + v)]);
        for (int64_t i = 0; i < 8; ++i) {
          const auto at = static_cast<size_t>(r * 8 + i);
          CHECK(expected.log_probs[at] ==
                doctest::Approx(log_p[static_cast<size_t>(r * 150 + expected.words[at])] -
                                std::log(rest))
                    .epsilon(1e-9));
        }
      }
    }
}

TEST_CASE(
    "head_decoder: from bfloat16 pieces, as near to float64 as in float32, whatever the head") {
  const Bf16Mode mode(MatmulPrecision::highest);
  for (const char* text : kHeads)
    for (const bool untied : {false, true}) {
      if (untied && std::string(text).rfind("mix", 0) != 0) continue;
      CAPTURE(text);
      CAPTURE(untied);
      const HeadDefaults defaults{.untied = untied};
      const Case c(text, defaults, 21, 150, 64, DType::float32),
          exact(text, defaults, 21, 150, 64, DType::float64);
      const auto found = ask<float>(c, 0, c.rows, 9);
      const auto expected = ask<double>(exact, 0, c.rows, 9);
      CHECK(found.words == expected.words);
      CHECK(relative_error(found.log_probs, expected.log_probs) < 2e-5);
      const auto given = ask<float>(c, 0, c.rows, 0, -1, c.targets);
      CHECK(relative_error(given.log_probs,
                           ask<double>(exact, 0, c.rows, 0, -1, c.targets).log_probs) < 2e-5);
    }
}

namespace {

void check_rows_alone() {
  const Restore restore;
  for (const char* text : {"lin", "mixbig", "mix:4*lin"}) {
    CAPTURE(text);
    const Case c(text, {}, 300, 700, 32, DType::float32);
    set_threads(1);
    const auto all = ask<float>(c, 0, c.rows, 4);
    set_threads(3);
    const auto again = ask<float>(c, 0, c.rows, 4);
    CHECK(again.words == all.words);
    CHECK(again.log_probs == all.log_probs);
    for (const int64_t r : {0, 1, 6, 131, 299}) {
      const auto one = ask<float>(c, r, 1, 4);
      CHECK(std::equal(one.words.begin(), one.words.end(), all.words.begin() + r * 4));
      CHECK(std::equal(one.log_probs.begin(), one.log_probs.end(), all.log_probs.begin() + r * 4));
    }
  }
}

}  // namespace

TEST_CASE("head_decoder: a row's bits depend neither on the others nor on the threads") {
  check_rows_alone();
}

TEST_CASE("head_decoder: nor do they with bfloat16 pieces") {
  const Bf16Mode mode(MatmulPrecision::high);
  check_rows_alone();
}

TEST_CASE("head_decoder: equal words by the smaller number, over tiles and chunks; errors") {
  Case c("lin", {}, 3, 1000, 8, DType::float32);
  ops::fill(c.w.front(), 0);
  ops::fill(c.bias, 0);
  for (const int64_t v : {65, 66, 300, 999}) c.bias.data<float>()[v] = 1;
  const auto found = ask<float>(c, 0, 3, 6);
  CHECK(std::vector(found.words.begin(), found.words.begin() + 6) == Ints{65, 66, 300, 999, 0, 1});
  CHECK(has(error_of([&] { ask<float>(c, 0, 3, 1001); }), "the best 1001 of 1000 words"));
  c.h.data<float>()[8] = NAN;
  const std::string said = error_of([&] { ask<float>(c, 0, 3, 6); });
  CHECK_MESSAGE(has(said, "component 0 (lin) has scores without a finite normaliser ("), said);
  CHECK_MESSAGE(has(said, ") for row 1:"), said);
}

TEST_CASE("head_decoder: a target has no probability by a bias of -infinity alone") {
  Case c("lin", {}, 1, 100, 8, DType::float64);
  c.bias.data<double>()[7] = 1e308;
  const auto log_p = [&](double bias) {
    c.bias.data<double>()[5] = bias;
    return ask<double>(c, 0, 1, 1, -1, Ints{5}).log_probs[0];
  };
  CHECK(log_p(0) == doctest::Approx(-1e308));
  CHECK(log_p(-INFINITY) == -INFINITY);
  CHECK(has(error_of([&] { log_p(-1e308); }),
            "log p of word 5 in row 0 is -inf, and no bias of -inf excludes it"));
}

namespace {

template <class T>
typename HeadDecoder<T>::Answer drawn(const Case& c, std::span<const Draw> draws, bool all = false,
                                      int32_t excluded = -1) {
  const HeadDecoder<T> decoder(c.head, c.values());
  typename HeadDecoder<T>::Memory memory;
  typename HeadDecoder<T>::Answer answer;
  decoder({.h = c.h.data<T>(), .rows = c.rows, .excluded = excluded, .all = all, .draws = draws},
          memory, answer);
  return answer;
}

// The words before `word`, and `word` too, have these shares of the sum: the number that draws
// `word` lies between them.
std::pair<double, double> shares(std::span<const double> log_p, const Draw& draw, int32_t word) {
  double before = 0, with = 0, all = 0;
  for (int32_t v = 0; v < std::ssize(log_p); ++v) {
    if (v == word) before = all;
    if (v != draw.never) all += std::exp(log_p[static_cast<size_t>(v)] / draw.temperature);
    if (v == word) with = all;
  }
  return {before / all, with / all};
}

}  // namespace

TEST_CASE("head_decoder: a draw passes the shares of the words before the drawn one") {
  for (const char* text : {"lin", "pow:p=1", "mog", "rbf", "mix:1*lin"}) {
    const Case c(text, {}, 7, 1000, 12, DType::float64),
        single(text, {}, 7, 1000, 12, DType::float32);
    if (c.head.mixture) {
      CHECK(
          has(error_of([&] { drawn<double>(c, std::vector<Draw>(7)); }), "its head is no mixture"));
      continue;
    }
    CAPTURE(text);
    Ints words;
    for (const double temperature : {1.0, 0.4, 3.0, 1e-300})
      for (const int32_t excluded : {-1, 17})
        for (const double uniform : {0.0, 0.01, 0.3, 0.6, 0.97, 1 - 1e-9}) {
          CAPTURE(temperature);
          CAPTURE(uniform);
          std::vector<Draw> draws;
          for (int32_t r = 0; r < 7; ++r)
            draws.push_back(
                {std::min(uniform + 0.01 * r, 1 - 1e-9), temperature, r % 2 == 0 ? 3 : -1});
          const auto alone = drawn<double>(c, draws, false, excluded),
                     all = drawn<double>(c, draws, true, excluded);
          CHECK(alone.words == all.words);
          const Ints of_single = drawn<float>(single, draws, false, excluded).words;
          for (size_t r = 0; r < 7; ++r) {
            const auto log_p = std::span(all.log_probs).subspan(r * 1000, 1000);
            const int32_t word = alone.words[r];
            REQUIRE(word >= 0);
            CHECK(word != excluded);
            CHECK(word != draws[r].never);
            CHECK(alone.log_probs[r] == log_p[static_cast<size_t>(word)]);
            if (temperature < 1e-9) {
              CHECK(word == std::ranges::max_element(log_p) - log_p.begin());
              continue;
            }
            const auto [before, with] = shares(log_p, draws[r], word);
            CHECK(before <= draws[r].uniform + 1e-12);
            CHECK(with >= draws[r].uniform - 1e-12);
            const auto [before32, with32] = shares(log_p, draws[r], of_single[r]);
            CHECK(before32 <= draws[r].uniform + 1e-5);
            CHECK(with32 >= draws[r].uniform - 1e-5);
            words.push_back(word);
          }
        }
    std::ranges::sort(words);
    CHECK(std::unique(words.begin(), words.end()) - words.begin() > 60);
  }
}

TEST_CASE("head_decoder: a draw takes no word without probability") {
  Case c("lin", {}, 2, 1000, 8, DType::float32);
  ops::fill(c.bias, -INFINITY);
  for (const int64_t v : {65, 700}) c.bias.data<float>()[v] = 0;
  for (const double uniform : {0.0, 0.5, 1 - 1e-16}) {
    const Ints words = drawn<float>(c, std::vector<Draw>(2, {uniform, 1, -1})).words;
    for (const int32_t word : words) CHECK((word == 65 || word == 700));
    CHECK(drawn<float>(c, std::vector<Draw>(2, {uniform, 1, 65})).words == Ints{700, 700});
  }
  c.bias.data<float>()[65] = -INFINITY;
  const auto none = drawn<float>(c, std::vector<Draw>(2, {0.5, 1, 700}));
  CHECK(none.words == Ints{-1, -1});
  CHECK(has(error_of([&] { drawn<float>(c, std::vector<Draw>(3)); }), "3 draws for 2 rows"));
}

}  // namespace nine::tests::test_head_decoder
