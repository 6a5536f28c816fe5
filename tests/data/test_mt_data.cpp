// Parallel text and its batches: what is read, what is refused, and that batches hold what they
// promise.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "data/pair_batches.h"
#include "nn/models/translation_text.h"
#include "nn/training/translation_task.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_mt_data {
namespace {

using Strings = std::vector<std::string>;

Vocabulary dictionary_of(const Strings& lines) {
  return Vocabulary::build(PairCounts(pairs_of_lines(lines, lines), false).source,
                           Specials::kTranslation);
}

// Pairs of random lengths, 1 to `longest` words a side; those of one length are many.
struct RandomPairs {
  Strings source, target;
  Vocabulary words{Specials::kTranslation};
  RandomPairs(int64_t pairs, uint64_t longest, uint64_t seed) {
    RandomStream random({.seed = seed, .op = stream_id("test")});
    const auto sentence = [&](uint64_t length) {
      std::string line;
      for (uint64_t i = 0; i < length; ++i)
        line += (i > 0 ? " w" : "w") + std::to_string(random.below(50));
      return line;
    };
    for (int64_t i = 0; i < pairs; ++i) {
      const uint64_t length = 1 + random.below(longest);
      source.push_back(sentence(length));
      target.push_back(sentence(1 + random.below(length + 2)));
    }
    Strings all = source;
    all.insert(all.end(), target.begin(), target.end());
    words = dictionary_of(all);
  }
  ParallelCorpus corpus() const {
    return ParallelCorpus(pairs_of_lines(source, target), words, words);
  }
};

std::vector<std::vector<int32_t>> epoch_of(PairBatches& batches, int64_t epoch) {
  batches.start_epoch(epoch);
  std::vector<std::vector<int32_t>> out;
  PairBatch batch;
  for (;;) {
    const auto pairs = batches.pairs();
    out.emplace_back(pairs.begin(), pairs.end());
    if (!batches.next(batch)) break;
  }
  out.pop_back();
  return out;
}

}  // namespace

TEST_CASE("parallel text: line i belongs to line i, and spaces and tabs separate words") {
  const TemporaryDirectory dir;
  const std::string nbsp = "\xC2\xA0", separator = "\xE2\x80\xA8";
  const std::string s = dir.write("s", "a b\n\nx" + nbsp + "y\tz  w\n"),
                    t = dir.write("t", "A\nB\nC" + separator + "D\n");
  Strings read;
  pairs_of_files({s}, {t})([&](std::string_view a, std::string_view b) {
    read.push_back(std::string(a) + "|" + std::string(b));
  });
  CHECK(read == Strings{"a b|A", "|B", "x" + nbsp + "y\tz  w|C" + separator + "D"});
  const PairCounts counts(pairs_of_files({s}, {t}), false);
  const Vocabulary source = Vocabulary::build(counts.source, Specials::kTranslation),
                   target = Vocabulary::build(counts.target, Specials::kTranslation);
  CHECK(source.size() == 4 + 5);  // a, b, the word with NBSP, z, w
  CHECK(source.id("x" + nbsp + "y") >= 4);
  CHECK(source.dict_text().find('\t') == std::string::npos);
  CHECK(target.id("C" + separator + "D") >= 4);
  const ParallelCorpus corpus(pairs_of_files({s, s}, {t, t}), source,
                              target);  // two files are one text
  CHECK(corpus.pairs() == 6);
  CHECK(corpus.source_length(0) == 3);
  CHECK(corpus.source(0).back() == Specials::kTranslation.end);
  CHECK(corpus.source_length(1) == 1);
  CHECK(corpus.source_tokens() == 2 * (2 + 0 + 3 + 3));
  CHECK(corpus.target_unknown() == 0);
}

TEST_CASE("parallel text: what is refused, and how") {
  const TemporaryDirectory dir;
  const std::string three = dir.write("three", "a\nb\nc\n"), two = dir.write("two", "a\nb\n"),
                    none = dir.write("none", ""), bad = dir.write("bad", "a\nb \xff\nc\n");
  const auto says = [](const Strings& s, const Strings& t) {
    return error_of([&] { PairCounts(pairs_of_files(s, t), false); });
  };
  CHECK(has(says({three}, {two}), "three has 3 lines, but " + two + " has 2"));
  CHECK(has(says({two}, {three}), "two has 2 lines, but " + three + " has 3"));
  CHECK(has(says({two, two}, {three}), two + ", " + two + " has 4 lines"));
  // As many files on each side belong together one by one, although the sums are the same.
  CHECK(has(says({three, two}, {two, three}), "three has 3 lines, but " + two + " has 2"));
  CHECK(
      has(says({two, two, three}, {two, three, two}), "two has 2 lines, but " + three + " has 3"));
  CHECK(says({two, two}, {two, two}).empty());
  CHECK(says({three, three}, {two, two, two}).empty());  // other numbers: one text each
  CHECK(has(says({none}, {three}), "none is empty"));
  CHECK(has(says({three}, {none}), "none is empty"));
  CHECK(has(says({three}, {bad}), "bad, line 2, byte 3: 0xff is not valid UTF-8"));
  CHECK(has(says({three}, {dir / "nowhere"}), "nowhere does not exist"));
}

TEST_CASE(
    "parallel text: pairs with an empty side and long pairs are left out where asked, and "
    "counted") {
  const Strings s{"a b c", "", "a", " ", "a b", "a b c d e"}, t{"A", "B", "", "", "A B C D", "A"};
  const Vocabulary source = dictionary_of(s), target = dictionary_of(t);
  const ParallelCorpus all(pairs_of_lines(s, t), source, target);
  CHECK(all.pairs() == 6);
  CHECK(all.longest() == 6);
  const ParallelCorpus some(pairs_of_lines(s, t), source, target,
                            {.keep_empty = false, .max_length = 5});
  CHECK(some.pairs() == 2);
  CHECK(some.skipped_empty() == 3);
  CHECK(some.skipped_long() == 1);
  CHECK(some.line(0) == 1);
  CHECK(some.line(1) == 5);
  CHECK(some.id_checksum() != all.id_checksum());
}

TEST_CASE(
    "dictionaries: rare words and those beyond the limit are <unk>, and a joint one counts both "
    "languages") {
  const Strings s{"a a a b b c"}, t{"b b d"};
  const PairCounts counts(pairs_of_lines(s, t), false), joint(pairs_of_lines(s, t), true);
  const Vocabulary twice =
                       Vocabulary::build(counts.source, Specials::kTranslation, {.min_count = 2}),
                   limited = Vocabulary::build(counts.source, Specials::kTranslation, {.size = 5}),
                   both = Vocabulary::build(joint.source, Specials::kTranslation, {.min_count = 2});
  CHECK(twice.dict_text() == "a 3\nb 2\n");
  CHECK(twice.id("c") == Specials::kTranslation.unknown);
  CHECK(twice.count(Specials::kTranslation.unknown) == 1);
  CHECK(limited.dict_text() == "a 3\n");
  CHECK(both.dict_text() == "b 4\na 3\n");
  CHECK(ParallelCorpus(pairs_of_lines(s, t), twice, twice).source_unknown() == 1);
}

TEST_CASE("batches: every pair once an epoch, none over the limit, each as large as fits") {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const RandomPairs text(400, 30, seed);
    const ParallelCorpus corpus = text.corpus();
    for (const PairBatchSize size :
         {PairBatchSize{.tokens = 60}, PairBatchSize{.tokens = 300}, PairBatchSize{.pairs = 7},
          PairBatchSize{.tokens = 200, .pairs = 9}}) {
      PairBatches batches(corpus, size, seed);
      for (int64_t epoch = 0; epoch < 2; ++epoch) {
        std::vector<int> seen(400, 0);
        int64_t padded = 0, full = 0;
        const auto plan = epoch_of(batches, epoch);
        for (const auto& pairs : plan) {
          int64_t s = 0, t = 0;
          for (const int32_t p : pairs) {
            ++seen[static_cast<size_t>(p)];
            s = std::max(s, corpus.source_length(p));
            t = std::max(t, corpus.target_length(p));
          }
          const int64_t count = std::ssize(pairs);
          if (size.tokens > 0) CHECK(count * std::max(s, t) <= size.tokens);
          if (size.pairs > 0) CHECK(count <= size.pairs);
          padded += count * (s + t);
          // The next larger pair, at most 33 tokens long, would not have fitted.
          full += (size.tokens > 0 && (count + 1) * 33 > size.tokens) ||
                  (size.pairs > 0 && count == size.pairs);
        }
        CHECK(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
        CHECK(full >= std::ssize(plan) / 3);
        CHECK(batches.padding_share() ==
              doctest::Approx(1 -
                              static_cast<double>(corpus.source_tokens() + corpus.target_tokens()) /
                                  static_cast<double>(padded)));
      }
    }
  }
}

TEST_CASE("batches: sorting keeps the padding low") {
  const RandomPairs text(4000, 30, 3);
  const ParallelCorpus corpus = text.corpus();
  const PairBatches batches(corpus, {.tokens = 600}, 1);
  // In the text's order more than 40% of such batches' positions are padding.
  CHECK(batches.padding_share() < 0.1);
}

TEST_CASE("batches: what comes next follows from seed, epoch and step") {
  const RandomPairs text(300, 12, 7);
  const ParallelCorpus corpus = text.corpus();
  const PairBatchSize size{.tokens = 100};
  PairBatches a(corpus, size, 5), b(corpus, size, 5), other(corpus, size, 6);
  const auto first = epoch_of(a, 0), second = epoch_of(a, 1);
  CHECK(first == epoch_of(b, 0));
  CHECK(first != second);
  CHECK(first != epoch_of(other, 0));
  // In another order, and of other pairs among equals.
  auto sorted = [](std::vector<std::vector<int32_t>> x) {
    for (auto& pairs : x) std::sort(pairs.begin(), pairs.end());
    std::sort(x.begin(), x.end());
    return x;
  };
  CHECK(sorted(first) != sorted(second));
  b.seek({1, 3});
  CHECK(b.position() == BatchPosition{1, 3});
  CHECK(std::equal(second[3].begin(), second[3].end(), b.pairs().begin(), b.pairs().end()));
  b.seek({0, b.steps()});
  PairBatch none;
  CHECK_FALSE(b.next(none));
  CHECK(has(error_of([&] { b.seek({0, b.steps() + 1}); }), "training cannot continue at step"));
  // Without a seed: from the shortest to the longest, whatever the epoch.
  PairBatches plain(corpus, size, std::nullopt);
  const auto ordered = epoch_of(plain, 0);
  CHECK(ordered == epoch_of(plain, 1));
  for (size_t i = 1; i < ordered.size(); ++i)
    CHECK(corpus.target_length(ordered[i - 1].back()) <= corpus.target_length(ordered[i].front()));
}

TEST_CASE("batches: rows hold words, </s> and padding where the model expects them") {
  const Strings s{"a b c", "b"}, t{"A", "B A B"};
  const Vocabulary source = dictionary_of(s), target = dictionary_of(t);
  const ParallelCorpus corpus(pairs_of_lines(s, t), source, target);
  PairBatches batches(corpus, {.pairs = 2}, std::nullopt);
  PairBatch batch;
  REQUIRE(batches.next(batch));
  const int32_t a = source.id("a"), b = source.id("b"), c = source.id("c"), A = target.id("A"),
                B = target.id("B");
  const int32_t end = Specials::kTranslation.end, pad = Specials::kTranslation.pad;
  CHECK(batch.pairs == 2);
  CHECK(batch.src == std::vector<int32_t>{a, b, c, end, b, end, pad, pad});
  CHECK(batch.tgt_in == std::vector<int32_t>{end, A, pad, pad, end, B, A, B});
  CHECK(batch.tgt_out == std::vector<int32_t>{A, end, -1, -1, B, A, B, end});
  CHECK(batch.src_lengths == std::vector<int32_t>{4, 2});
  CHECK(batch.tgt_lengths == std::vector<int32_t>{2, 4});
  CHECK_FALSE(batches.next(batch));
}

TEST_CASE("batches: limits that cannot be kept are errors") {
  const Strings s{"a", "a b c d e f g"}, t{"A", "B"};
  const Vocabulary source = dictionary_of(s), target = dictionary_of(t);
  const ParallelCorpus corpus(pairs_of_lines(s, t), source, target);
  CHECK(has(error_of([&] { PairBatches(corpus, {.tokens = 7}, 1); }),
            "line 2 has a sentence of 8 tokens"));
  CHECK_NOTHROW(PairBatches(corpus, {.tokens = 8}, 1));
  CHECK(has(error_of([&] { PairBatches(corpus, {}, 1); }), "one of them must be at least 1"));
  const Strings nothing;
  CHECK(has(error_of([&] {
              PairBatches(ParallelCorpus(pairs_of_lines(nothing, nothing), source, target),
                          {.pairs = 1}, 1);
            }),
            "no pair"));
}

TEST_CASE("validation: the loss of a text is that of its pairs one by one, whatever the batches") {
  const RandomPairs text(40, 8, 2);
  const ParallelCorpus corpus = text.corpus();
  ParameterSet parameters({.dtype = DType::float64, .gradients = false});
  const Transformer model(parameters, {.src_vocab = text.words.size(),
                                       .tgt_vocab = text.words.size(),
                                       .encoder_layers = 1,
                                       .decoder_layers = 1,
                                       .dim = 8,
                                       .ffn = 8,
                                       .heads = 2,
                                       .head = {.loss = {.smoothing = {.epsilon = 0.1}}}});
  Arena arena("test");
  Tape tape(arena);
  const Evaluation one = evaluate_pairs(model, tape, corpus, {.pairs = 1});
  CHECK(one.tokens == corpus.target_tokens());
  CHECK(one.nll() == doctest::Approx(std::log(text.words.size())).epsilon(0.3));
  for (const PairBatchSize size : {PairBatchSize{.tokens = 5}, PairBatchSize{.tokens = 60},
                                   PairBatchSize{.pairs = 7}}) {  // 5: longer pairs go alone
    const Evaluation all = evaluate_pairs(model, tape, corpus, size);
    CHECK(all.tokens == one.tokens);
    CHECK(all.nats == doctest::Approx(one.nats).epsilon(1e-12));
  }
}

TEST_CASE("validation: subwords are whole words again before BLEU compares them") {
  CHECK(join_subwords("a hou@@ se@@ boat .") == "a houseboat .");
  const Strings lines{"ga@@ r@@ ten tisch in der stadt"};
  const Vocabulary words = dictionary_of(lines);
  const std::vector<int32_t> ids = words.encode_sentence(lines[0]);
  CHECK(text_of(words, std::span(ids).first(ids.size() - 1), true) == "garten tisch in der stadt");
  const HeldOutPairs text{ParallelCorpus(pairs_of_lines(lines, lines), words, words), lines};
  CHECK(validation_bleu({"garten tisch in der stadt"}, text, false).score == doctest::Approx(100));
  CHECK(validation_bleu({"garten tisch in der"}, text, false).score ==
        doctest::Approx(100 * std::exp(-0.25)));
  CHECK(validation_search(text.pairs, 3).max_length == 2 * 8);
}

}  // namespace nine::tests::test_mt_data
