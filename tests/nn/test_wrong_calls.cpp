// What a call of the library gets that cannot be right, from a program of one's own: an Error that
// says what is wrong, where memory of others would be read or written, or nothing would end.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>

#include "data/bpe.h"
#include "data/glossary.h"
#include "data/vocabulary.h"
#include "kernels/options/sampled_softmax.h"
#include "kernels/settings/head_config.h"
#include "nn/head_stats.h"
#include "nn/models/sampling.h"
#include "nn/nine.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_wrong_calls {
namespace {

struct Step {
  Arena pool{"wrong calls"};
  Tape tape{pool};
};

template <class Call>
void refused(Call&& call, const char* why) {
  const std::string error = error_of(call);
  CHECK_MESSAGE(has(error, why), error);
}

}  // namespace

TEST_CASE("wrong calls: a step of decoding") {
  ParameterSet set;
  const MultiHeadAttention layer(set, "a", 4, 2);
  Step step;
  KeyValueCache cache(4, DType::float32, kCpu);
  ReadWords read;
  read.start(2);
  const auto add = [&](const std::vector<DecoderRow>& rows) {
    read.read(rows);
    const Var x = step.tape.constant(Tensor({std::ssize(rows), 4}, DType::float32));
    return layer.add_next_to(x, x, cache, read.lists(step.tape));
  };
  refused([&] { add({{0, 1}}); }, "a step of decoding has no gradient");
  const NoGrad no_grad(step.tape);
  refused([&] { cache.append(Tensor({2, 10}, DType::float32)); }, "(2, 10), not of 8 numbers");
  refused([&] { add({{2, 1}}); }, "slot 2 of 2");
  refused([&] { read.reorder(std::vector<int32_t>{0}); }, "a slot for each of 2");
  // The cache lacks rows that the words need.
  read.start(2);
  cache.clear();
  read.read(std::vector<DecoderRow>{{0, 1}, {1, 1}});
  refused([&] { add({{0, 1}, {1, 1}}); }, "[listed_attention] index 2 at position 1");
}

TEST_CASE("wrong calls: shapes that cannot be cut") {
  Step step;
  const Var ten = step.tape.leaf(Tensor({2, 10}, DType::float32)),
            nine = step.tape.leaf(Tensor({2, 9}, DType::float32)),
            four = step.tape.leaf(Tensor({2, 4}, DType::float32));
  refused([&] { attention(ten, {}); }, "(2, 10) is not queries, keys and values");
  refused([&] { attention(four, nine, {}); }, "(2, 9) is not keys and values");
  refused([&] { linear(mean(ten), four, {}); }, "a scalar has no last dimension");
  const Tensor matrix({3, 4}, DType::float32);
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  refused([&] { matrix.view().row_range(1, kHuge); }, "rows [1, 1 + 9223372036854775807) of");
  refused([&] { matrix.view().col_range(1, kHuge); }, "columns [1, 1 + 9223372036854775807) of");
  CHECK(matrix.view().row_range(3, 0).rows() == 0);
}

TEST_CASE("wrong calls: nothing where a value is needed") {
  refused([] { return Tensor().item(); }, "an empty tensor has no value");
  refused([] { return Tensor().to_vector(); }, "an empty tensor has no values");
  refused([] { sum_squares(Var()); }, "an empty Var is on no tape");
  ParameterSet set({.gradients = false});
  const Linear layer(set, "a", 2, 2);
  set.zero_missing_grads();  // there are none
  const Tensor nothing, number({}, DType::float32), total({}, DType::float64);
  refused([&] { layer.weight().grad().clone(); }, "[copy] x is an empty");
  refused([&] { nothing.to(kCpu); }, "[copy] x is an empty");
  refused([&] { ops::copy(number, nothing); }, "[copy] y is an empty");
  refused([&] { ops::fill(nothing, 0); }, "[fill] y is an empty");
  refused([&] { ops::all_finite(nothing); }, "[all_finite] x is an empty");
  refused([&] { ops::sum(number, {nothing}); }, "[sum] y is an empty");
  refused([&] { ops::sum_squares(nothing, total); }, "[sum_squares] the first tensor is an empty");
  refused([&] { ops::sum_squares(number, nothing); }, "[sum_squares] the result is an empty");
}

TEST_CASE("wrong calls: an LSTM without units, and gradients of other shapes") {
  Arena pool("wrong calls");
  const auto zeros = [](const Shape& shape) { return Tensor(shape, DType::float32); };
  const auto of = [&](int64_t units, const auto& call) {
    const Tensor x = zeros({4, 3}), w_ih = zeros({4 * units, 3}), w_hh = zeros({4 * units, units}),
                 b = zeros({4 * units}), state = zeros({2, units}), all = zeros({6, units}),
                 cells = zeros({6, units}), gates = zeros({4, 4 * units});
    call(ops::Lstm{.x = x,
                   .w_ih = w_ih,
                   .w_hh = w_hh,
                   .b_ih = b,
                   .b_hh = b,
                   .h0 = state,
                   .c0 = state,
                   .hidden = all,
                   .cells = cells,
                   .gates = gates},
         zeros({2, units}), zeros({2, units}));
  };
  of(0, [&](const ops::Lstm& io, const Tensor&, const Tensor&) {
    refused([&] { ops::lstm(io, pool); }, "[lstm] a state of shape (2, 0) has no numbers");
  });
  of(5, [&](const ops::Lstm& io, const Tensor& dh, const Tensor& dc) {
    const Tensor small = zeros({3, 5}), other({4, 5}, DType::float64);
    refused([&] { ops::lstm_through_time(io, {.dy = small}, dh, dc, pool); },
            "[lstm_through_time] dy must be (4, 5), got (3, 5)");
    refused([&] { ops::lstm_through_time(io, {.dy = other}, dh, dc, pool); },
            "[lstm_through_time] mixes float32 and float64");
    refused([&] { ops::lstm_through_time(io, {.dh_n = small}, dh, dc, pool); },
            "[lstm_through_time] dh_n must be (2, 5), got (3, 5)");
  });
}

TEST_CASE("wrong calls: states of other layers; rows of nothing are transposed to nothing") {
  Step step;
  CarriedState two(2, 1, 3, DType::float32);
  const CarriedState one(1, 1, 3, DType::float32);
  refused([&] { two.copy_from(one); }, "the state of 1 layers cannot be carried by 2");
  refused([&] { two.store({}); }, "states of 0 layers cannot be carried by 2");
  const Var x = step.tape.leaf(Tensor({0, 3}, DType::float32));
  step.tape.backward(sum(transpose_rows(x, 2)));
  CHECK(x.grad().elements() == 0);
}

TEST_CASE("wrong calls: targets that are no words, or not one for each row") {
  const Tensor hidden({4, 2}, DType::float32), words({3, 2}, DType::float32);
  const auto targets = [](std::initializer_list<int32_t> ids) {
    return Tensor::from<int32_t>(ids, {static_cast<int64_t>(ids.size())});
  };
  HeadStats stats;
  refused([&] { stats.add_norms(hidden, targets({1})); }, "1 targets for 4 rows");
  refused(
      [&] {
        stats.add_angles(hidden, targets({0, 1, 2, 0}), words);
      },
      "angles are not counted");
  stats.count_angles(true);
  refused([&] { stats.add_angles(hidden, targets({1}), words); }, "1 targets for 4 rows");
  refused(
      [&] {
        stats.add_angles(hidden, targets({0, 1, 2, 3}), words);
      },
      "target 3 is outside of the vocabulary of 3");
  ParameterSet set;
  const SoftmaxHead head(set, "head", {.norms = {.context = {.kind = ContextNorm::Kind::max}}}, 3,
                         2);
  Step step;
  refused([&] { head.loss(step.tape.constant(hidden), targets({1}), 1.0); }, "1 targets for 4");
}

TEST_CASE("wrong calls: a margin to undo of a kernel that is not lin") {
  ParameterSet set;
  const SoftmaxHead head(set, "head", {.spec = parse_head("rbf")}, 3, 2);
  Step step;
  const NoGrad no_grad(step.tape);
  refused(
      [&] {
        head.log_probabilities_undoing(step.tape.constant(Tensor({1, 2}, DType::float32)), 0.1);
      },
      "for a single lin, not for rbf");
}

TEST_CASE("wrong calls: words that cannot be drawn or chosen") {
  // Of K = 2 one has all but 2e-11 of the probability.
  const WordSampler sampler({.size = 2, .proposal = SampledSoftmax::Proposal::unigram},
                            std::array{1e11, 1.0, 1.0});
  refused([&] { sampler.sample(RandomKey{}, {}); }, "have only 1 different words, not 2");
  refused([] { choose_word({}, {.allow_unknown = true}, 0.5); }, "no word to choose");
  refused([] { choose_word(std::array{-1.0}, {}, 0.5); }, "no word to choose");
  CHECK(choose_word(std::array{-1.0}, {.allow_unknown = true}, 0.5) == 0);
}

TEST_CASE("wrong calls: vocabularies, glossaries, settings") {
  refused([] { Vocabulary({.texts = {"<unk>"}, .size = 1, .unknown = 0}); },
          "needs </s> and <unk> among its 1 specials");
  const Glossaries letters({"[a-z]+"});
  refused([&] { return letters.holds(std::string(1'000'000, 'a')); }, "1000000 characters");
  CHECK(letters.holds("abc"));
  const TemporaryDirectory dir;
  std::string pieces;
  BpeSegmenter(BpeCodes::read(dir.write("codes", "#version: 0.2\na b</w>\n")), {})
      .segment_word({}, pieces);
  CHECK(pieces.empty());  // an empty word has none
  HeadSettings settings;
  for (const double wrong : {2.0, -1.0, std::nan("")}) {
    settings.label_smoothing = wrong;
    refused([&] { return settings.head_config(); }, "is not in [0, 1]");
  }
}

TEST_CASE("wrong calls: a name of a model's file that is taken") {
  ParameterSet set;
  set.add("weight", {2, 2}, {.kind = Init::Kind::zeros});
  set.add_buffer("counts", {2});
  const auto add = [&](const char* name) { set.add(name, {2}, {.kind = Init::Kind::zeros}); };
  refused([&] { add("weight"); }, "two parameters are called 'weight'");
  refused([&] { set.add_buffer("counts", {2}); }, "two buffers are called 'counts'");
  refused([&] { add("counts"); }, "a parameter and a buffer are called 'counts'");
  refused([&] { set.add_buffer("weight", {2}); }, "a parameter and a buffer are called 'weight'");
  CHECK(set.state().size() == 2);
}

}  // namespace nine::tests::test_wrong_calls
