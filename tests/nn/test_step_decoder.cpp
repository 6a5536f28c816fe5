// Reading texts word by word: texts that continue others, rows alone, and the choice of next words.
#include <doctest/doctest.h>

#include "core/ops.h"
#include "core/random.h"
#include "nn/models/lstm_language_model.h"
#include "nn/models/next_words.h"
#include "nn/models/transformer_language_model.h"
#include "tests/support/compare.h"
#include "tests/support/support.h"

namespace nine::tests::test_step_decoder {
namespace {

using Doubles = std::vector<double>;
using Texts = std::vector<std::vector<int32_t>>;

constexpr int64_t kWords = 11;

std::unique_ptr<LanguageNetwork> network_of(bool lstm, ParameterSet& set,
                                            const char* head = "lin") {
  std::unique_ptr<LanguageNetwork> network;
  const HeadConfig config{.spec = parse_head(head), .bias = true};
  if (lstm)
    network = std::make_unique<LstmLanguageModel>(
        set, LstmLanguageModelConfig{
                 .vocab = kWords, .embed = 6, .hidden = 12, .layers = 2, .head = config});
  else
    network = std::make_unique<TransformerLanguageModel>(
        set,
        TransformerLanguageModelConfig{
            .vocab = kWords, .hidden = 12, .ffn = 20, .heads = 3, .window = 8, .head = config});
  RandomStream random({.seed = 9, .op = stream_id("test")});
  const Tensor noise(set.values().shape(), DType::float64);
  for (int64_t i = 0; i < noise.elements(); ++i)
    noise.data<double>()[i] = 1.2 * (random.uniform() - 0.5);
  ops::copy(noise, set.values());
  return network;
}

struct Reader {
  explicit Reader(const LanguageNetwork& network) : decoder(network.decoder()) {}
  Doubles step(const std::vector<DecoderRow>& rows) {
    tape.reset();
    return decoder->step(tape, rows).value().to_vector();
  }
  // Reads texts of one length from their start; returns the last contexts.
  Doubles read(const Texts& texts) {
    decoder->start(std::ssize(texts));
    Doubles last;
    for (size_t t = 0; t < texts.front().size(); ++t) {
      std::vector<DecoderRow> rows;
      for (size_t i = 0; i < texts.size(); ++i)
        rows.push_back({static_cast<int32_t>(i), texts[i][t]});
      last = step(rows);
    }
    return last;
  }
  Arena arena{"test"};
  Tape tape{arena};
  NoGrad guard{tape};
  std::unique_ptr<StepDecoder> decoder;
};

}  // namespace

TEST_CASE("step decoder: a text that continues another one is read as if alone") {
  for (const bool lstm : {true, false}) {
    CAPTURE(lstm);
    ParameterSet set({.dtype = DType::float64});
    const auto network = network_of(lstm, set);
    Reader reader(*network), other(*network);
    for (const size_t before : {size_t{2}, size_t{7}, size_t{11}}) {  // windows have 8 words
      CAPTURE(before);
      Texts texts(4);
      for (size_t i = 0; i < texts.size(); ++i)
        for (size_t t = 0; t < before; ++t)
          texts[i].push_back(static_cast<int32_t>((3 * i + 5 * t + i * t) % kWords));
      reader.read(texts);
      reader.decoder->reorder(std::vector<int32_t>{2, 0, 2, -1});
      texts = {texts[2], texts[0], texts[2]};
      for (int32_t t = 0; t < 5; ++t) {
        std::vector<DecoderRow> rows;
        for (int32_t i = 0; i < 3; ++i) {
          rows.push_back({i, (t + 4 * i) % static_cast<int32_t>(kWords)});
          texts[static_cast<size_t>(i)].push_back(rows.back().word);
        }
        CHECK(relative_error(reader.step(rows), other.read(texts)) < 1e-12);
      }
    }
  }
}

TEST_CASE("step decoder: a row has the same bits alone and among others") {
  for (const bool lstm : {true, false}) {
    ParameterSet set;
    const auto network = network_of(lstm, set);
    Reader all(*network), some(*network);
    all.decoder->start(7);
    some.decoder->start(7);
    for (int32_t t = 0; t < 10; ++t) {
      std::vector<DecoderRow> rows;
      for (int32_t i = 0; i < 7; ++i) rows.push_back({i, (2 * t + i) % 9});
      const Doubles whole = all.step(rows), alone = some.step({rows[3], rows[5]});
      const auto width = static_cast<size_t>(network->width());
      for (size_t c = 0; c < width; ++c) {
        CHECK(alone[c] == whole[3 * width + c]);
        CHECK(alone[width + c] == whole[5 * width + c]);
      }
    }
  }
}

TEST_CASE("step decoder: words read together have the bits that they have one after the other") {
  for (const bool lstm : {true, false}) {
    CAPTURE(lstm);
    ParameterSet set;
    const auto network = network_of(lstm, set);
    const auto width = static_cast<size_t>(network->width());
    constexpr int32_t kTexts = 4;
    const auto word = [](int32_t text, int32_t t) { return (5 * t + 3 * text + t * text) % 11; };
    Reader one(*network), many(*network);
    // Over three windows of 8 words. A Transformer's texts begin and end at different places.
    for (int round = 0; round < 2; ++round) {
      one.decoder->start(kTexts);
      many.decoder->start(kTexts);
      std::vector<Doubles> wanted(kTexts);
      for (int32_t t = 0; t < 24; ++t) {
        std::vector<DecoderRow> rows;
        for (int32_t i = 0; i < kTexts; ++i) rows.push_back({i, word(i, t)});
        const Doubles found = one.step(rows);
        for (size_t i = 0; i < kTexts; ++i)
          wanted[i].insert(wanted[i].end(), found.begin() + static_cast<int64_t>(i * width),
                           found.begin() + static_cast<int64_t>((i + 1) * width));
      }
      std::vector<int32_t> read(kTexts, 0);
      for (int32_t turn = 0; read.back() < 24; ++turn) {
        std::vector<DecoderRow> rows;
        std::vector<std::pair<size_t, size_t>> places;  // of each row: its text, its position
        for (int32_t i = 0; i < kTexts; ++i) {
          const int32_t length = many.decoder->mixes_counts() ? 1 + (7 * turn + 5 * i + round) % 11
                                                              : 1 + (7 * turn + round) % 5;
          for (int32_t n = 0; n < length && read[static_cast<size_t>(i)] < 24; ++n) {
            const int32_t t = read[static_cast<size_t>(i)]++;
            places.emplace_back(i, t);
            rows.push_back({i, word(i, t)});
          }
        }
        const Doubles found = many.step(rows);
        REQUIRE(found.size() == rows.size() * width);
        for (size_t r = 0; r < rows.size(); ++r)
          for (size_t c = 0; c < width; ++c)
            REQUIRE(found[r * width + c] == wanted[places[r].first][places[r].second * width + c]);
      }
    }
  }
}

TEST_CASE("step decoder: a text that begins in the slot of an earlier one, or in a new slot") {
  for (const bool lstm : {true, false}) {
    CAPTURE(lstm);
    ParameterSet set;
    const auto network = network_of(lstm, set);
    const auto width = static_cast<size_t>(network->width());
    Reader all(*network), alone(*network);
    // Of each slot: the word of each turn; -1: the slot's text ends. A later text has other words.
    const std::vector<std::vector<int32_t>> words{
        {1, 2, 3, -1, 4, 4, 7, 9, 1, 0, 3, 3, 5, 6, 2, 1},
        {5, 5, 6, 7, 8, 9, 1, 2, 3, 4, -1, 7, 7, 7, 2, 2},
        {-1, -1, 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, -1},
    };
    std::vector<std::vector<int32_t>> read(words.size());
    all.decoder->start(2);
    for (size_t turn = 0; turn < words[0].size(); ++turn) {
      std::vector<DecoderRow> rows;
      for (size_t slot = 0; slot < words.size(); ++slot) {
        const int32_t word = words[slot][turn];
        const bool begins = turn > 0 && word >= 0 && words[slot][turn - 1] < 0;
        if (begins) all.decoder->begin(all.tape, static_cast<int32_t>(slot));
        if (word < 0 || begins) read[slot].clear();
        if (word < 0) continue;
        read[slot].push_back(word);
        rows.push_back({static_cast<int32_t>(slot), word});
      }
      const Doubles found = all.step(rows);
      for (size_t r = 0; r < rows.size(); ++r) {
        const Doubles wanted = alone.read({read[static_cast<size_t>(rows[r].slot)]});
        for (size_t c = 0; c < width; ++c) REQUIRE(found[r * width + c] == wanted[c]);
      }
    }
  }
}

TEST_CASE("step decoder: a recurrent network reads equally many words into each slot") {
  ParameterSet set;
  const auto network = network_of(true, set);
  Reader reader(*network);
  reader.decoder->start(2);
  CHECK(has(error_of([&] { reader.step({{0, 1}, {0, 2}, {1, 3}}); }), "equally many words"));
  CHECK(has(error_of([&] { reader.step({{2, 1}}); }), "slot 2 of 2"));
}

TEST_CASE("next words: a choice among few words is that among all") {
  for (const char* head : {"lin", "mix:2*lin,log", "rbf"}) {
    CAPTURE(head);
    ParameterSet set({.dtype = DType::float64});
    const auto network = network_of(true, set, head);
    const DecodingHead decoding(network->head());
    Reader reader(*network);
    reader.read({{3, 4}, {5, 1}, {7, 7}});
    const std::vector<DecoderRow> rows{{0, 2}, {1, 6}, {2, 9}};
    reader.tape.reset();
    const Var contexts = reader.decoder->step(reader.tape, rows);
    const Doubles log_p = network->log_probabilities(contexts).to_vector();
    int different = 0;
    for (const SamplingOptions& options : {SamplingOptions{},
                                           {.temperature = 0},
                                           {.allow_unknown = true, .top_k = 4},
                                           {.temperature = 0.7, .top_k = 3},
                                           {.temperature = 2, .top_k = 6, .top_p = 0.7},
                                           {.top_k = 100},
                                           {.top_p = 0.5}}) {
      NextWords next(decoding);
      std::vector<int32_t> at_zero;
      for (const double uniform : {0.0, 0.3, 0.5, 0.77, 0.999})
        for (const bool all : {false, true}) {
          std::vector<WantedWord> wanted;
          for (int32_t r = 2; r >= 0; --r)
            wanted.push_back({.row = r, .sampling = &options, .uniform = uniform, .all = all});
          std::vector<int32_t> words(3, -1);
          next.predict({&contexts, 1}, wanted, [&](size_t i, const NextWord& found) {
            found.rethrow();
            const auto r = static_cast<size_t>(wanted[i].row);
            const Doubles row(log_p.begin() + static_cast<int64_t>(r) * kWords,
                              log_p.begin() + static_cast<int64_t>(r + 1) * kWords);
            CHECK(found.word == choose_word(row, options, uniform));
            CHECK(found.log_p ==
                  doctest::Approx(row[static_cast<size_t>(found.word)]).epsilon(1e-12));
            if (all)
              CHECK(relative_error(Doubles(found.all.begin(), found.all.end()), row) < 1e-12);
            words[r] = found.word;
          });
          CHECK(std::ranges::count(words, -1) == 0);
          if (uniform == 0) at_zero = words;
          for (size_t r = 0; r < words.size(); ++r) different += words[r] != at_zero[r];
        }
    }
    CHECK(different > 10);
  }
}

TEST_CASE("decoding head: log p of all words, of targets, and without a word") {
  for (const char* head : {"lin", "pow", "mix:2*lin"}) {
    CAPTURE(head);
    ParameterSet set({.dtype = DType::float64});
    const auto network = network_of(true, set, head);
    const DecodingHead decoding(network->head());
    Reader reader(*network);
    reader.decoder->start(2);
    const std::vector<DecoderRow> rows{{0, 2}, {1, 6}};
    const Var contexts = reader.decoder->step(reader.tape, rows);
    const Doubles want = network->log_probabilities(contexts).to_vector();
    DecodingHead::Memory memory;
    Doubles all;
    decoding.all_log_probs({&contexts, 1}, -1, memory, all);
    CHECK(relative_error(all, want) < 1e-12);
    const std::vector<int32_t> targets{4, 9};
    CHECK(relative_error(decoding.log_probs({&contexts, 1}, targets, memory),
                         Doubles{want[4], want[kWords + 9]}) < 1e-12);
    decoding.all_log_probs({&contexts, 1}, 5, memory, all);
    WordScores best;
    decoding.best_words({&contexts, 1}, kWords - 1, 5, memory, best);
    for (size_t r = 0; r < 2; ++r) {
      const double rest = std::log1p(-std::exp(want[r * kWords + 5]));
      CHECK(all[r * kWords + 5] == -INFINITY);
      for (size_t i = 0; i < kWords - 1; ++i) {
        const auto word = static_cast<size_t>(best.words[r * (kWords - 1) + i]);
        const double expected = want[r * kWords + word] - rest;
        CHECK(best.log_probs[r * (kWords - 1) + i] == doctest::Approx(expected).epsilon(1e-11));
        CHECK(all[r * kWords + word] == doctest::Approx(expected).epsilon(1e-11));
      }
    }
  }
}

TEST_CASE("decoding head: an ensemble's probabilities are the mean of the heads'") {
  ParameterSet one({.dtype = DType::float64}), two({.dtype = DType::float64});
  const auto a = network_of(true, one, "lin"), b = network_of(false, two, "mix:2*lin");
  const std::vector<const SoftmaxHead*> heads{&a->head(), &b->head()};
  const DecodingHead decoding(heads);
  Reader first(*a), second(*b);
  first.decoder->start(2);
  second.decoder->start(2);
  const std::vector<DecoderRow> rows{{0, 2}, {1, 6}};
  const std::vector<Var> contexts{first.decoder->step(first.tape, rows),
                                  second.decoder->step(second.tape, rows)};
  Doubles want = a->log_probabilities(contexts[0]).to_vector();
  const Doubles other = b->log_probabilities(contexts[1]).to_vector();
  for (size_t i = 0; i < want.size(); ++i)
    want[i] = std::log((std::exp(want[i]) + std::exp(other[i])) / 2);
  DecodingHead::Memory memory;
  Doubles all;
  decoding.all_log_probs(contexts, -1, memory, all);
  CHECK(relative_error(all, want) < 1e-12);
  const std::vector<int32_t> targets{4, 9};
  CHECK(relative_error(decoding.log_probs(contexts, targets, memory),
                       Doubles{want[4], want[kWords + 9]}) < 1e-12);
  WordScores best;
  decoding.best_words(contexts, 2, -1, memory, best);
  const auto top = std::max_element(want.begin(), want.begin() + kWords);
  CHECK(best.words[0] == top - want.begin());
  CHECK(best.log_probs[0] == doctest::Approx(*top).epsilon(1e-12));
}

}  // namespace nine::tests::test_step_decoder
