// Weights of a training text's tokens: the files, the batches, and the weighted loss against the
// loss of each weight's tokens alone.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "data/lm_batches.h"
#include "data/token_weights.h"
#include "nn/models/lstm_language_model.h"
#include "nn/models/transformer_language_model.h"
#include "nn/training/language_model_task.h"
#include "nn/training/optimizer.h"
#include "nn/training/train_step.h"
#include "nn/training/translation_task.h"
#include "tests/support/compare.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_token_weights {
namespace {

using Doubles = std::vector<double>;
using Strings = std::vector<std::string>;

// Lines of 0 to 6 words; no word occurs twice.
struct Text {
  Strings lines;
  Vocabulary words;
  Corpus corpus;
  Text()
      : lines(lines_of_words()),
        words(Vocabulary::build(count_words_of_lines(lines), Specials::kLanguageModel)),
        corpus(Corpus::of_lines(lines, words)) {}
  static Strings lines_of_words() {
    Strings lines;
    for (int i = 0, next = 0; i < 17; ++i) {
      std::string line;
      for (int k = 0; k < (i * 5 + 1) % 7; ++k) line += concat("w", next++, " ");
      lines.push_back(line);
    }
    return lines;
  }
};

// The weight of a word; the words of weight 0 train nothing.
double weight_of(int32_t id) { return id % 5 * 0.75; }

Doubles by_word(const Corpus& corpus) {
  Doubles weights;
  for (const int32_t id : corpus.flat()) weights.push_back(weight_of(id));
  return weights;
}

std::unique_ptr<LanguageNetwork> network(ParameterSet& set, int64_t words, bool transformer,
                                         const HeadConfig& head) {
  if (!transformer)
    return std::make_unique<LstmLanguageModel>(
        set, LstmLanguageModelConfig{
                 .vocab = words, .embed = 7, .hidden = 9, .layers = 1, .dropout = 0, .head = head});
  return std::make_unique<TransformerLanguageModel>(set,
                                                    TransformerLanguageModelConfig{.vocab = words,
                                                                                   .layers = 1,
                                                                                   .hidden = 8,
                                                                                   .ffn = 12,
                                                                                   .heads = 2,
                                                                                   .window = 6,
                                                                                   .dropout = 0,
                                                                                   .head = head});
}

std::string message(const std::string& weights, const std::function<void(const std::string&)>& f) {
  const TemporaryDirectory dir;
  const std::string file = dir.write("weights.txt", weights), said = error_of([&] { f(file); });
  return said.substr(std::min(said.size(), said.find("weights.txt")));
}

}  // namespace

TEST_CASE("token weights: a file's numbers in order, and errors with file and line") {
  const auto read = [](const std::string& file) {
    return read_token_weights({file}, 3, [](int64_t line) { return 3 - line; });
  };
  const TemporaryDirectory dir;
  CHECK(read(dir.write("w", "1 .5 2\n0 3e-1\n7")) == Doubles{1, 0.5, 2, 0, 0.3, 7});
  CHECK(read_token_weights({dir / "w", dir / "w"}, 6, [](int64_t line) {
          return 3 - line % 3;
        }).size() == 12);
  // Lines that the text left out may have any number of weights.
  CHECK(read_token_weights({dir / "w"}, 3, [](int64_t line) { return line == 1 ? 2 : 0; }) ==
        Doubles{0, 0.3});
  CHECK(message("1 1 1\n1\n1\n", read) ==
        "weights.txt, line 2: 1 weight, but line 2 of the text has 1 word and </s>: write 2 "
        "numbers");
  CHECK(message("1 1 1\n1 1\n", read) ==
        "weights.txt, line 2 is the last line of weights, but the text has 3 lines");
  CHECK(
      message("1 1 1\n1 1\n1\n\n", read) ==
      "weights.txt, line 4: the text has 3 lines only, and each line of weights belongs to a line "
      "of the text");
  for (const char* wrong : {"-1", "nan", "inf", "1e999", "1,5", "x"})
    CHECK(message(concat("1 1 1\n1 ", wrong, "\n1\n"), read) ==
          concat("weights.txt, line 2: '", wrong,
                 "' is not a weight: a number from 0 on was expected"));
  CHECK(has(message("0 0 0\n0 0\n0\n", read), "all weights are 0"));
}

TEST_CASE("class weights: a weight for each id, 1 without a line, and errors") {
  const std::vector<std::string> lines{"a b b c"};
  const Vocabulary words = Vocabulary::build(count_words_of_lines(lines), Specials::kLanguageModel);
  const auto read = [&](const std::string& file) { return read_class_weights(file, words); };
  const TemporaryDirectory dir;
  const Doubles weights = read(dir.write("w", "b 2.5\n</s> 0\n<unk> .1\n"));
  REQUIRE(weights.size() == 5);
  CHECK(weights[static_cast<size_t>(words.id("b"))] == 2.5);
  CHECK(weights[static_cast<size_t>(words.id("a"))] == 1);
  CHECK(weights[0] == 0);
  CHECK(weights[1] == 0.1);
  CHECK(message("b 1\nd 2\n", read) ==
        "weights.txt, line 2: the word 'd' is not in the vocabulary; leave it out, or list <unk>");
  CHECK(message("b 1\nb 2\n", read) == "weights.txt, line 2: the word 'b' has a weight already");
  CHECK(has(message("b\n", read), "line 1: 'b' is not a word and its weight"));
  CHECK(has(message("b -2\n", read), "line 1: '-2' is not a weight"));
}

TEST_CASE(
    "token and class weights: their product is finite and not 0 everywhere, in both trainers") {
  CHECK(error_of([] { require_trainable({0, 1e-300}, "t", "c"); }) == "");
  CHECK(has(error_of([] {
              require_trainable({0, 0}, "t", "c");
            }),
            "t and c: the products of tokens' and words' weights are all 0"));
  CHECK(has(error_of([] {
              require_trainable({0, 0}, "", "c");
            }),
            "c: the weights of the text are all 0"));
  for (const Doubles& large : {Doubles{1, INFINITY}, Doubles{1e308, 1e308}, Doubles{NAN, 1}})
    CHECK(has(error_of([&] { require_trainable(large, "t", "c"); }),
              "t and c: the products of tokens' and words' weights or their sum are too large"));

  CHECK(has(error_of([] {
              require_trainable({1e308, 1e308}, "t", "");
            }),
            "t: the weights of the text or their sum are too large"));

  const TemporaryDirectory dir;
  const std::string text = dir.write("text", "a b\na b b\n"),
                    tokens = dir.write("tokens", "0 1 1\n0 1 1 1\n"),
                    tiny = dir.write("tiny", "1e-300 1e-300 1e-300\n1e-300 0 0 0\n"),
                    huge = dir.write("huge", "1e300 1 1\n1 1 1 1\n"),
                    words = dir.write("words", "b 0\n</s> 0\n"),
                    tiny_words = dir.write("tiny-words", "a 1e-300\nb 1e-300\n</s> 1e-300\n"),
                    huge_words = dir.write("huge-words", "a 1e300\n"),
                    none = dir.write("none", "a 0\nb 0\n</s> 0\n");
  const auto trained = [&](bool translation, const Strings& weights) {
    Strings all = translation ? Strings{"--src", text, "--tgt", text, "--ffn", "4", "--heads", "1"}
                              : Strings{"--train", text, "--embed", "4", "--batch", "1"};
    for (const char* o : {"--hidden", "4", "--layers", "1", "--after", "1u", "--restart"})
      all.emplace_back(o);
    for (const std::string& o : Strings{"--run", dir / "run"}) all.push_back(o);
    all.insert(all.end(), weights.begin(), weights.end());
    return run_program(translation ? "mt_train" : "lm_train", all);
  };
  for (const bool translation : {false, true}) {
    for (const auto& [a, b, what] :
         {std::tuple(tokens, words, "are all 0, so that nothing would be trained"),
          {tiny, tiny_words, "are all 0, so that nothing would be trained"},
          {huge, huge_words, "or their sum are too large for a double"}}) {
      const Outcome o = trained(translation, {"--token-weights", a, "--class-weights", b});
      CHECK(o.code == 1);
      CHECK_MESSAGE(
          has(o.err, concat(a, " and ", b, ": the products of tokens' and words' weights ", what)),
          o.err);
      for (const Strings& alone : {Strings{"--token-weights", a}, Strings{"--class-weights", b}}) {
        const Outcome fine = trained(translation, alone);
        CHECK_MESSAGE(fine.code == 0, fine.err);
      }
    }
    const Outcome o = trained(translation, {"--class-weights", none});
    CHECK(o.code == 1);
    CHECK_MESSAGE(has(o.err, none + ": the weights of the text are all 0"), o.err);
  }
}

TEST_CASE("token weights: each target has its own weight, padding 0, in every kind of batch") {
  Text text;
  text.corpus.set_weights(by_word(text.corpus));
  CHECK(has(error_of([&] { text.corpus.set_weights({1, 2}); }), "2 weights of"));
  const auto check = [](auto& batches) {
    double sum = 0;
    LmBatch batch;
    for (batches.start_epoch(1); batches.next(batch);)
      for (size_t i = 0; i < batch.target.size(); ++i) {
        const int32_t id = batch.target[i];
        CHECK(batch.weight[i] == (id < 0 ? 0 : weight_of(id)));
        sum += batch.weight[i];
      }
    return sum;
  };
  double all = 0;
  for (const double w : text.corpus.weights()) all += w;
  for (const TextOrder order : {TextOrder::shuffled, TextOrder::file}) {
    ColumnBatches whole(text.corpus, 4, 3, 7, {0, 4}, Remainder::read, order),
        part(text.corpus, 4, 3, 7, {1, 2}, Remainder::read, order);
    CHECK(check(whole) == doctest::Approx(all));
    CHECK(check(part) < all);
  }
  SentenceBatches sentences(text.corpus, {.sentences = 3}, 7);
  CHECK(check(sentences) == doctest::Approx(all));
  text.corpus.join_documents();
  SentenceBatches documents(text.corpus, {.tokens = 30}, 7);
  CHECK(check(documents) == doctest::Approx(all));
}

// PyTorch's rule (cross_entropy with `weight`): sum of w_i l_i over the sum of w_i. The oracle adds
// the losses and gradients of the tokens of one weight after another, from the unweighted loss.
TEST_CASE("token weights: an update has the weighted mean and its gradient, micro-batches or not") {
  Text text;
  text.corpus.set_weights(by_word(text.corpus));
  for (const bool transformer : {false, true})
    for (const bool sentences : {false, true})
      for (const int accumulate : {1, 2}) {
        CAPTURE(transformer);
        CAPTURE(sentences);
        CAPTURE(accumulate);
        ParameterSet set({.dtype = DType::float64, .seed = 3});
        const HeadConfig head{.bias = true,
                              .loss = {.smoothing = {.epsilon = 0.1}, .z_loss = 0.01}};
        const auto net = network(set, text.words.size(), transformer, head);
        Arena arena("weights");
        LanguageModelTask task(
            *net, text.corpus, nullptr,
            {.batch = 3, .bptt = 5, .sentences = sentences, .seed = 5, .accumulate = accumulate});
        const auto optimizer = make_optimizer(set, {.kind = OptimizerKind::sgd});
        TrainStep step(set, *optimizer, arena, {.accumulate = accumulate, .seed = 5});
        task.start_epoch(0);
        const StepResult result = step.run(task, 1, 0);
        const Doubles gradient = set.gradients().to_vector();
        std::set<double> levels;
        double sum = 0;
        for (int i = 0; i < task.count(); ++i)
          for (const double id : task.target(i).to_vector())
            if (id >= 0) {
              levels.insert(weight_of(static_cast<int32_t>(id)));
              sum += weight_of(static_cast<int32_t>(id));
            }
        CHECK(levels.size() == 5);
        double loss = 0;
        Doubles expected(gradient.size());
        Tape tape(arena);
        for (int i = 0; i < task.count(); ++i)
          for (const double level : levels) {
            set.zero_grad();
            const Tensor targets = task.target(i).clone();
            for (int64_t k = 0; k < targets.elements(); ++k)
              if (int32_t& id = targets.data<int32_t>()[k]; id >= 0 && weight_of(id) != level)
                id = -1;
            CarriedState carried = net->new_state(targets.shape()[1]);
            std::vector<LstmState> state;
            carried.on(tape, state);
            const Var hidden = net->encode(tape, task.input(i), state);
            const Var part = net->loss(hidden, targets, level / sum).loss;
            loss += part.value().item();
            tape.backward(part);
            set.zero_missing_grads();
            tape.reset();
            const Doubles own = set.gradients().to_vector();
            for (size_t k = 0; k < own.size(); ++k) expected[k] += own[k];
          }
        CHECK(result.loss == doctest::Approx(loss).epsilon(1e-12));
        CHECK(std::abs(result.nll - result.loss) > 1e-3);
        CHECK(relative_error(gradient, expected) < 1e-11);
      }
}

TEST_CASE("token weights: the remainder of an epoch weighs as much as its share of tokens") {
  Text text;
  text.corpus.set_weights(Doubles(text.corpus.flat().size(), 2.5));
  Text plain;
  const auto run = [](const Corpus& corpus, int64_t words) {
    ParameterSet set({.dtype = DType::float64, .seed = 3});
    const auto net = network(set, words, false, {});
    Arena arena("weights");
    LanguageModelTask task(*net, corpus, nullptr, {.batch = 4, .bptt = 5, .seed = 5});
    const auto optimizer = make_optimizer(set, {.kind = OptimizerKind::sgd});
    TrainStep step(set, *optimizer, arena, {});
    task.start_epoch(0);
    for (int64_t i = 1; !task.epoch_finished(); ++i) step.run(task, i, 0.1);
    return set.values().to_vector();
  };
  CHECK(run(text.corpus, text.words.size()) == run(plain.corpus, plain.words.size()));
}

TEST_CASE("token weights: a translation's update has the weighted mean") {
  const Strings source{"a b", "b c d", "d", "a a c"}, target{"x y z", "y", "z z", "x"};
  const Vocabulary from = Vocabulary::build(count_words_of_lines(source), Specials::kTranslation),
                   to = Vocabulary::build(count_words_of_lines(target), Specials::kTranslation);
  ParallelCorpus pairs(pairs_of_lines(source, target), from, to);
  Doubles weights;
  for (int64_t i = 0; i < pairs.pairs(); ++i)
    for (const int32_t id : pairs.target(i)) weights.push_back(weight_of(id));
  pairs.set_target_weights(weights);
  for (const int accumulate : {1, 2}) {
    ParameterSet set({.dtype = DType::float64, .seed = 3});
    const Transformer model(set, {.src_vocab = from.size(),
                                  .tgt_vocab = to.size(),
                                  .encoder_layers = 1,
                                  .decoder_layers = 1,
                                  .dim = 8,
                                  .ffn = 12,
                                  .heads = 2,
                                  .dropout = 0});
    TranslationTask task(model, pairs, {}, {.pairs = 4 / accumulate}, 5);
    task.start_epoch(0);
    const int64_t tokens = task.fetch(accumulate);
    CHECK(tokens == 11);
    Arena arena("weights");
    Tape tape(arena);
    double loss = 0, weighted = 0, sum = 0;
    for (int i = 0; i < task.count(); ++i) {
      const auto objective = task.forward(tape, i, 1.0 / 11);
      loss += objective.loss.value().item();
      const Doubles nll = objective.nll.value().to_vector(),
                    ids = task.source().batch(i).tgt_out.to_vector();
      for (size_t k = 0; k < ids.size(); ++k) {
        if (ids[k] < 0) continue;
        weighted += weight_of(static_cast<int32_t>(ids[k])) * nll[k];
        sum += weight_of(static_cast<int32_t>(ids[k]));
      }
      tape.reset();
    }
    CHECK(loss == doctest::Approx(weighted / sum).epsilon(1e-12));
  }
}

TEST_CASE(
    "--token-weights, --class-weights: equal weights change no bit; others go on and differ") {
  const TemporaryDirectory dir;
  dir.write("train.txt", "a b c\n\nb a\nc c a b\na\nb b\n");
  dir.write("ones.txt", "1 1 1 1\n1\n1 1 1\n1 1 1 1 1\n1 1\n1 1 1\n");
  dir.write("some.txt", "1 0 2 1\n1\n1 .5 1\n1 1 3 1 1\n1 0\n1 1 1\n");
  dir.write("words.txt", "a 2\n</s> 0.5\n");
  const auto run = [&](const std::string& name, const Strings& more) {
    Strings all{
        "--train", dir / "train.txt", "--layers", "1",      "--hidden", "8",     "--embed",
        "8",       "--batch",         "2",        "--bptt", "4",        "--run", dir / name};
    all.insert(all.end(), more.begin(), more.end());
    return run_program("lm_train", all);
  };
  const auto weights = [&](const std::string& name, const Strings& more) {
    const Outcome r = run(name, more);
    REQUIRE_MESSAGE(r.code == 0, r.err);
    return weights_of(dir / name);
  };
  const auto plain = weights("plain", {"--after", "6u"});
  CHECK(weights("ones", {"--after", "6u", "--token-weights", dir / "ones.txt"}) == plain);
  const Strings some{"--token-weights", dir / "some.txt", "--class-weights", dir / "words.txt"};
  const auto with = [&](Strings more) {
    more.insert(more.end(), some.begin(), some.end());
    return more;
  };
  const auto whole = weights("whole", with({"--after", "6u"}));
  CHECK(whole != plain);
  CHECK(weights("parts", with({"--after", "2u"})) != whole);
  CHECK(weights("parts", with({"--after", "6u"})) == whole);
  dir.write("words.txt", "a 3\n</s> 0.5\n");
  CHECK(has(run("parts", with({"--after", "8u"})).err, "--class-weights was"));
  CHECK(has(run("parts", {"--after", "8u"}).err, "--token-weights was"));
  CHECK(has(run("wrong", {"--token-weights", dir / "train.txt"}).err,
            "train.txt, line 1: 3 weights, but line 1 of the text has 3 words and </s>: write 4"));
  CHECK(has(run("wrong", with({"--head", "mix:2*lin", "--pi-reg", "variance:0.1"})).err,
            "--pi-reg is a penalty on all tokens alike"));
  CHECK(has(run_program("lm_train", {"--sample", "--token-weights", dir / "some.txt"}).err,
            "--token-weights are those of the words of --train"));
}

}  // namespace nine::tests::test_token_weights
