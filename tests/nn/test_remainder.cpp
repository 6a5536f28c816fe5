// The end of an epoch of columns: every token counts once and alike, however columns, segments,
// micro-batches and processes divide the text.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "autograd/tape.h"
#include "core/error.h"
#include "core/ops.h"
#include "data/corpus.h"
#include "nn/models/lstm_language_model.h"
#include "nn/models/score_text.h"
#include "nn/models/transformer_language_model.h"
#include "nn/training/language_model_task.h"
#include "nn/training/optimizer.h"
#include "nn/training/train_step.h"
#include "tests/support/compare.h"
#include "tests/support/support.h"

namespace nine::tests::test_remainder {
namespace {

using Doubles = std::vector<double>;

constexpr double kAr = 2, kTar = 1;

// 77 tokens.
Corpus small_text() {
  std::vector<std::string> lines;
  for (int i = 0; i < 19; ++i) {
    std::string line;
    for (int k = 0; k < (i * 5) % 7 + (i == 0); ++k) line += concat("w", (i * 3 + k * k) % 11, " ");
    lines.push_back(line);
  }
  const Vocabulary words = Vocabulary::build(count_words_of_lines(lines), Specials::kLanguageModel);
  return Corpus::of_lines(lines, words);
}

std::unique_ptr<LanguageNetwork> network(ParameterSet& set, int64_t words, bool transformer,
                                         bool regularised) {
  const double ar = regularised ? kAr : 0, tar = regularised ? kTar : 0;
  if (transformer)
    return std::make_unique<TransformerLanguageModel>(
        set, TransformerLanguageModelConfig{.vocab = words,
                                            .layers = 1,
                                            .hidden = 8,
                                            .ffn = 12,
                                            .heads = 2,
                                            .window = 6,
                                            .dropout = 0,
                                            .attention_dropout = 0,
                                            .activation_reg = ar,
                                            .temporal_activation_reg = tar});
  return std::make_unique<LstmLanguageModel>(
      set, LstmLanguageModelConfig{.vocab = words,
                                   .embed = 7,
                                   .hidden = 9,
                                   .layers = 2,
                                   .dropout = 0,
                                   .activation_reg = ar,
                                   .temporal_activation_reg = tar});
}

struct Model {
  ParameterSet set{{.dtype = DType::float64, .seed = 3}};
  Arena arena{"remainder"};
  std::unique_ptr<LanguageNetwork> net;
  Model(int64_t words, bool transformer, bool regularised)
      : net(network(set, words, transformer, regularised)) {
    for (const Parameter& p : set.all())  // no gradient is tiny
      if (p.name != "head.bias" && p.name.find("norm") == std::string::npos)
        ops::scale(p.name.starts_with("lstm") ? 3 : 20, p.value(), {p.value()});
  }
};

// Adds `more` times `factor`.
void add(Doubles& to, const Doubles& more, double factor) {
  to.resize(more.size());
  for (size_t i = 0; i < more.size(); ++i) to[i] += factor * more[i];
}

// An epoch's updates with a rate of 0.
struct Epoch {
  std::vector<StepResult> updates;
  std::vector<Doubles> gradients;

  Epoch(Model& m, const Corpus& text, int64_t batch, int64_t bptt, int accumulate) {
    LanguageModelTask task(*m.net, text, nullptr,
                           {.batch = batch, .bptt = bptt, .seed = 5, .accumulate = accumulate});
    const std::unique_ptr<Optimizer> optimizer =
        make_optimizer(m.set, {.kind = OptimizerKind::sgd});
    TrainStep step(m.set, *optimizer, m.arena, {.accumulate = accumulate, .seed = 5});
    task.start_epoch(1);
    for (int64_t i = 1; !task.epoch_finished(); ++i) {
      updates.push_back(step.run(task, i, 0));
      gradients.push_back(m.set.gradients().to_vector());
    }
  }
  int64_t tokens() const {
    int64_t n = 0;
    for (const StepResult& r : updates) n += r.tokens;
    return n;
  }
  // Of the sum of all tokens' losses: each weighs 1 / (the tokens of a whole segment).
  Doubles gradient(int64_t whole_segment) const {
    Doubles sum;
    for (const Doubles& g : gradients) add(sum, g, static_cast<double>(whole_segment));
    return sum;
  }
  double nats() const {
    double sum = 0;
    for (const StepResult& r : updates) sum += r.nll * static_cast<double>(r.tokens);
    return sum;
  }
};

// The stream of that epoch, as one batch of one column gives it.
std::vector<int32_t> stream_of(const Corpus& text) {
  ColumnBatches batches(text, 1, text.tokens(), 5);
  batches.start_epoch(1);
  LmBatch all;
  batches.next(all);
  return all.target;
}

// One column after another, each alone, without a row of padding: nats and gradient of the sum.
struct Directly {
  double nats = 0;
  Doubles gradient;
  // Sums over each segment's columns: squares of outputs, of differences, and how many of either.
  std::vector<std::array<double, 4>> squares;

  Directly(Model& m, const std::vector<int32_t>& stream, int64_t columns, int64_t bptt) {
    const auto all = static_cast<int64_t>(stream.size());
    Tape tape(m.arena);
    for (int64_t c = 0, begin = 0; c < columns; ++c) {
      const int64_t length = all / columns + (c < all % columns ? 1 : 0);
      CarriedState carried = m.net->new_state(1);
      for (int64_t t = 0, segment = 0; t < length; t += bptt, ++segment) {
        const int64_t rows = std::min(bptt, length - t);
        std::vector<int32_t> input, target;
        for (int64_t at = begin + t; at < begin + t + rows; ++at) {
          input.push_back(at > 0 ? stream[static_cast<size_t>(at - 1)] : 0);
          target.push_back(stream[static_cast<size_t>(at)]);
        }
        m.set.zero_grad();  // the head forms its gradients on the way forward
        std::vector<LstmState> state;
        carried.on(tape, state);
        const LanguageNetwork::Hidden hidden =
            m.net->run(tape, Tensor::from(input, {rows, 1}), state);
        carried.store(state);
        const SoftmaxLoss loss = m.net->loss(hidden.output, Tensor::from(target, {rows, 1}), 1.0);
        for (const double x : loss.nll.value().to_vector()) nats += x;
        add_squares(segment, hidden.raw.value().to_vector(), rows);
        tape.backward(loss.loss);
        m.set.zero_missing_grads();
        tape.reset();
        add(gradient, m.set.gradients().to_vector(), 1);
      }
      begin += length;
    }
    m.set.zero_grad();
  }

  double penalty(size_t segment) const {
    const auto& [output, outputs, difference, differences] = squares[segment];
    return kAr * output / outputs + (differences > 0 ? kTar * difference / differences : 0);
  }

 private:
  void add_squares(int64_t segment, const Doubles& h, int64_t rows) {
    if (std::ssize(squares) <= segment) squares.push_back({});
    auto& [output, outputs, difference, differences] = squares[static_cast<size_t>(segment)];
    const size_t width = h.size() / static_cast<size_t>(rows);
    for (size_t i = 0; i < h.size(); ++i) {
      output += h[i] * h[i];
      ++outputs;
      if (i < width) continue;
      difference += (h[i] - h[i - width]) * (h[i] - h[i - width]);
      ++differences;
    }
  }
};

}  // namespace

// Of 77 tokens. 7 columns have 11 rows each; of 12 five have 7, which are a segment of five tokens
// with bptt 6, and the others 6.
TEST_CASE("remainder: an epoch's updates add up to the whole text, every token once and alike") {
  const Corpus text = small_text();
  REQUIRE(text.tokens() == 77);
  const std::vector<int32_t> stream = stream_of(text);
  const int64_t words = *std::max_element(stream.begin(), stream.end()) + 1;
  for (const bool transformer : {false, true})
    for (const auto& [wide, length] :
         {std::pair<int64_t, int64_t>{5, 6}, {7, 6}, {9, 3}, {1, 6}, {77, 1}, {12, 6}}) {
      const int64_t columns = wide, bptt = length;
      CAPTURE(transformer);
      CAPTURE(columns);
      CAPTURE(bptt);
      Model m(words, transformer, false);
      const Epoch epoch(m, text, columns, bptt, 1);
      const Directly whole(m, stream, columns, bptt);
      CHECK(epoch.tokens() == 77);
      CHECK(epoch.nats() == doctest::Approx(whole.nats).epsilon(1e-12));
      CHECK(relative_error(epoch.gradient(columns * bptt), whole.gradient) < 1e-11);
    }
}

TEST_CASE("remainder: accumulated columns are one batch's, and AR and TAR count no padding") {
  const Corpus text = small_text();
  const std::vector<int32_t> stream = stream_of(text);
  const int64_t words = *std::max_element(stream.begin(), stream.end()) + 1;
  // 12 columns: five of 7 rows, seven of 6; 24: five of 4, the others of 3, so that with bptt 3
  // most micro-batches have nothing in the last row.
  for (const auto& [wide, length] : {std::pair<int64_t, int64_t>{12, 4}, {12, 3}, {24, 3}}) {
    const int64_t columns = wide, bptt = length;
    CAPTURE(columns);
    CAPTURE(bptt);
    Model m(words, false, true);
    const Epoch whole(m, text, columns, bptt, 1);
    const Directly directly(m, stream, columns, bptt);
    REQUIRE(whole.updates.size() == directly.squares.size());
    for (size_t i = 0; i < whole.updates.size(); ++i)
      CHECK(whole.updates[i].loss - whole.updates[i].nll ==
            doctest::Approx(directly.penalty(i)).epsilon(1e-9));
    for (const int parts : {2, 4, 12}) {
      CAPTURE(parts);
      const Epoch split(m, text, columns / parts, bptt, parts);
      REQUIRE(split.updates.size() == whole.updates.size());
      for (size_t i = 0; i < whole.updates.size(); ++i) {
        CAPTURE(i);
        CHECK(split.updates[i].tokens == whole.updates[i].tokens);
        CHECK(split.updates[i].loss == doctest::Approx(whole.updates[i].loss).epsilon(1e-12));
        CHECK(split.updates[i].nll == doctest::Approx(whole.updates[i].nll).epsilon(1e-12));
        CHECK(relative_error(split.gradients[i], whole.gradients[i]) < 1e-12);
      }
    }
  }
}

TEST_CASE("remainder: validation reads every token; by the older rule it leaves out what it did") {
  const Corpus text = small_text();
  const std::span<const int32_t> flat = text.flat();
  const std::vector<int32_t> words(flat.begin(), flat.end());
  for (const bool transformer : {false, true}) {
    CAPTURE(transformer);
    Model m(*std::max_element(words.begin(), words.end()) + 1, transformer, false);
    Tape tape(m.arena);
    Doubles nats;
    const Evaluation all = evaluate_carried(*m.net, tape, text, 10, 4, &nats);
    CHECK(all.tokens == 77);
    CHECK(nats.size() == 77);
    CHECK(std::accumulate(nats.begin(), nats.end(), 0.0) ==
          doctest::Approx(all.nats).epsilon(1e-12));
    const Evaluation old =
        evaluate_carried(*m.net, tape, text, 10, 4, &nats, one_process(), 0, Remainder::left_out);
    CHECK(old.tokens == 70);
    CHECK(!std::isnan(nats[69]));
    CHECK(std::isnan(nats[70]));
    if (transformer) continue;  // reads windows, with what is before them
    CHECK(all.nats == doctest::Approx(Directly(m, words, 10, 4).nats).epsilon(1e-12));
  }
}

}  // namespace nine::tests::test_remainder
