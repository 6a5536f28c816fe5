// Batches of language models, against a plain re-implementation of the usual batching: the text
// cut into columns, read bptt rows at a time.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/random.h"
#include "data/corpus.h"
#include "data/lm_batches.h"
#include "data/text.h"
#include "data/vocabulary.h"
#include "data/word_counts.h"
#include "tests/support/support.h"

namespace nine::tests::test_lm_batches {
namespace {

using Strings = std::vector<std::string>;

/// Sentences of 0 to 9 words, every token of a different id so that a misplaced one shows.
Corpus numbered_corpus(int sentences, uint64_t seed = 3) {
  RandomStream random({.seed = seed});
  Strings lines;
  WordCounts counts;
  int next = 0;
  for (int i = 0; i < sentences; ++i) {
    std::string line;
    for (uint64_t k = random.below(10); k > 0; --k) line += "w" + std::to_string(next++) + " ";
    lines.push_back(line);
    counts.add_sentence(lines.back());
  }
  return Corpus::of_lines(lines, Vocabulary::build(counts, Specials::kLanguageModel));
}

using Rows = std::vector<std::vector<int32_t>>;

/// The text in `batch` columns: T + 1 rows of `batch` tokens, of which the first holds what
/// precedes each column.
Rows reference_columns(const std::vector<int32_t>& flat, size_t batch) {
  const size_t n = flat.size() / batch;
  Rows rows(n + 1, std::vector<int32_t>(batch, 0));
  for (size_t c = 0; c < batch; ++c)
    for (size_t t = 0; t < n; ++t) rows[t + 1][c] = flat[c * n + t];
  for (size_t c = 1; c < batch; ++c) rows[0][c] = rows[n][c - 1];
  return rows;
}

std::vector<int32_t> join(const Rows& rows, size_t from, size_t to) {
  std::vector<int32_t> out;
  for (size_t t = from; t < to; ++t) out.insert(out.end(), rows[t].begin(), rows[t].end());
  return out;
}

std::vector<int32_t> order_of_epoch(const Corpus& corpus, uint64_t seed, int64_t epoch) {
  std::vector<int32_t> order(static_cast<size_t>(corpus.sentences()));
  std::iota(order.begin(), order.end(), 0);
  RandomStream random(
      {.seed = seed, .step = static_cast<uint32_t>(epoch), .op = stream_id("lm.shuffle")});
  for (size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
  return order;
}

std::vector<int32_t> shuffled_stream(const Corpus& corpus, uint64_t seed, int64_t epoch) {
  std::vector<int32_t> flat;
  for (int32_t i : order_of_epoch(corpus, seed, epoch)) {
    const auto s = corpus.sentence(i);
    flat.insert(flat.end(), s.begin(), s.end());
  }
  return flat;
}

struct Segment {
  std::vector<int32_t> input, target;
  bool operator==(const Segment&) const = default;
};

/// All segments of an epoch, in order.
std::vector<Segment> reference_segments(const Corpus& corpus, int64_t batch, int64_t bptt,
                                        uint64_t seed, int64_t epoch) {
  const Rows cols =
      reference_columns(shuffled_stream(corpus, seed, epoch), static_cast<size_t>(batch));
  std::vector<Segment> segments;
  for (int64_t t = 0; t < std::ssize(cols) - bptt; t += bptt) {
    const auto at = static_cast<size_t>(t), end = static_cast<size_t>(t + bptt);
    segments.push_back({join(cols, at, end), join(cols, at + 1, end + 1)});
  }
  return segments;
}

std::vector<Segment> rest_of_epoch(ColumnBatches& batches) {
  std::vector<Segment> segments;
  LmBatch batch;
  while (batches.next(batch)) segments.push_back({batch.input, batch.target});
  return segments;
}

}  // namespace

TEST_CASE(
    "column batches: the baseline's segments where the remainder is left out, also where columns "
    "divide the text or rows the columns") {
  const Corpus corpus = numbered_corpus(200);
  std::vector<std::pair<int64_t, int64_t>> shapes = {
      {1, 1},  {1, corpus.tokens()}, {7, 5},
      {32, 9}, {corpus.tokens(), 1}, {10, corpus.tokens() / 10}};
  for (int64_t divisor = 2; divisor < 40; ++divisor)
    if (corpus.tokens() % divisor == 0) shapes.emplace_back(divisor, corpus.tokens() / divisor);
  for (const auto& shape : shapes) {
    const int64_t batch = shape.first, bptt = shape.second;
    CAPTURE(batch);
    CAPTURE(bptt);
    ColumnBatches batches(corpus, batch, bptt, 11, {0, batch}, Remainder::left_out);
    for (int64_t epoch : {0, 1, 5}) {
      const auto expected = reference_segments(corpus, batch, bptt, 11, epoch);
      batches.start_epoch(epoch);
      CHECK(batches.begins_epoch());
      CHECK(batches.steps() == std::ssize(expected));
      CHECK(rest_of_epoch(batches) == expected);
      CHECK(!batches.begins_epoch());
      CHECK(batches.position() == BatchPosition{epoch, batches.steps()});
      CHECK(batches.whole_steps() == batches.steps());
    }
  }
}

TEST_CASE("corpus: lines between blank lines are documents") {
  const std::vector<std::string> lines{"", "a b", "c", "", "", "d", "a", ""};
  const Vocabulary vocabulary =
      Vocabulary::build(count_words_of_lines(lines), Specials::kLanguageModel);
  Corpus text = Corpus::of_lines(lines, vocabulary);
  const std::vector<int32_t> all(text.flat().begin(), text.flat().end());
  const uint32_t checksum = text.checksum();
  text.join_documents();
  const auto read = [&](int64_t i) {
    std::string words;
    for (const int32_t id : text.sentence(i)) words += vocabulary.word(id) + " ";
    return words;
  };
  REQUIRE(text.sentences() == 4);
  CHECK(read(0) == "</s> ");
  CHECK(read(1) == "a b </s> c </s> </s> ");
  CHECK(read(2) == "</s> ");
  CHECK(read(3) == "d </s> a </s> </s> ");
  CHECK(std::vector<int32_t>(text.flat().begin(), text.flat().end()) == all);
  CHECK(text.checksum() == checksum);
  Corpus open = Corpus::of_lines(std::vector<std::string>{"a", "b"}, vocabulary);
  open.join_documents();
  CHECK(open.sentences() == 1);
}

TEST_CASE(
    "column batches: in the order of the file, a ring that each later epoch enters elsewhere") {
  const Corpus corpus = numbered_corpus(200);
  const std::vector<int32_t> text(corpus.flat().begin(), corpus.flat().end());
  const int64_t n = corpus.tokens(), batch = 7, bptt = 5;
  ColumnBatches batches(corpus, batch, bptt, 11, {0, batch}, Remainder::read, TextOrder::file),
      again(corpus, batch, bptt, 11, {2, 3}, Remainder::read, TextOrder::file);
  std::vector<std::vector<int32_t>> epochs;
  for (const int64_t epoch : {0, 1, 2}) {
    batches.start_epoch(epoch);
    std::vector<std::vector<int32_t>> inputs(batch), targets(batch);
    int64_t step = 0;
    for (LmBatch b; batches.next(b); ++step) {
      again.seek({epoch, step});
      LmBatch part;
      REQUIRE(again.next(part));
      for (int64_t t = 0; t < b.rows; ++t)
        for (int64_t c = 0; c < batch; ++c) {
          const auto at = static_cast<size_t>(t * batch + c);
          if (b.target[at] >= 0) {
            inputs[static_cast<size_t>(c)].push_back(b.input[at]);
            targets[static_cast<size_t>(c)].push_back(b.target[at]);
          }
          if (c >= 2 && c < 5)
            CHECK(part.target[static_cast<size_t>(t * 3 + c - 2)] == b.target[at]);
        }
    }
    std::vector<int32_t> read, before;
    for (size_t c = 0; c < targets.size(); ++c) {
      read.insert(read.end(), targets[c].begin(), targets[c].end());
      before.insert(before.end(), inputs[c].begin(), inputs[c].end());
    }
    REQUIRE(std::ssize(read) == n);
    // One rotation of the text, and each input is the token before its target in the ring.
    const auto rotated = [&](int64_t first) {
      std::vector<int32_t> ring(text.begin() + first, text.end());
      ring.insert(ring.end(), text.begin(), text.begin() + first);
      return ring;
    };
    int64_t first = 0;
    while (first < n && rotated(first) != read) ++first;
    REQUIRE(first < n);
    CHECK((epoch > 0 || first == 0));
    CHECK(before == rotated((first + n - 1) % n));
    epochs.push_back(read);
  }
  CHECK(epochs[0] != epochs[1]);
  CHECK(epochs[1] != epochs[2]);
}

TEST_CASE("column batches: every token is predicted once an epoch, after the one before it") {
  const Corpus corpus = numbered_corpus(200);
  for (const auto& [wide, length] : std::vector<std::pair<int64_t, int64_t>>{{1, 1},
                                                                             {1, corpus.tokens()},
                                                                             {7, 5},
                                                                             {32, 9},
                                                                             {40, 21},
                                                                             {corpus.tokens(), 1},
                                                                             {300, 2}}) {
    const int64_t batch = wide, bptt = length;
    CAPTURE(batch);
    CAPTURE(bptt);
    ColumnBatches batches(corpus, batch, bptt, 11);
    for (const int64_t epoch : {0, 3}) {
      const std::vector<int32_t> stream = shuffled_stream(corpus, 11, epoch);
      std::vector<std::vector<int32_t>> inputs(static_cast<size_t>(batch)), targets(inputs);
      batches.start_epoch(epoch);
      int64_t steps = 0, rows = 0;
      for (LmBatch b; batches.next(b); ++steps, rows += b.rows) {
        const bool last = batches.epoch_finished();
        CHECK((last ? b.rows <= bptt : b.rows == bptt));
        CHECK(b.cols == batch);
        CHECK(b.all_tokens == b.tokens);
        int64_t tokens = 0;
        for (int64_t t = 0; t < b.rows; ++t)
          for (int64_t c = 0; c < batch; ++c) {
            const auto at = static_cast<size_t>(t * batch + c), column = static_cast<size_t>(c);
            if (b.target[at] == LmBatch::kPaddingTarget) {
              CHECK((last && t == b.rows - 1));
              continue;
            }
            ++tokens;
            inputs[column].push_back(b.input[at]);
            targets[column].push_back(b.target[at]);
          }
        CHECK(b.tokens == tokens);
        CHECK((steps >= batches.whole_steps() || tokens == bptt * batch));
      }
      CHECK(steps == batches.steps());
      std::vector<int32_t> read, predicted;
      for (size_t c = 0; c < inputs.size(); ++c) {
        CHECK(rows - std::ssize(targets[c]) <= 1);
        read.insert(read.end(), inputs[c].begin(), inputs[c].end());
        predicted.insert(predicted.end(), targets[c].begin(), targets[c].end());
      }
      CHECK(predicted == stream);
      CHECK(read.front() == Specials::kLanguageModel.end);
      CHECK(std::equal(read.begin() + 1, read.end(), stream.begin()));
    }
  }
}

TEST_CASE("column batches: parts of the columns are the same columns") {
  const Corpus corpus = numbered_corpus(60);
  ColumnBatches all(corpus, 12, 4, 11), left(corpus, 12, 4, 11, {0, 5}),
      right(corpus, 12, 4, 11, {5, 7});
  for (const int64_t step : {int64_t{0}, all.steps() - 1}) {
    LmBatch a, l, r;
    for (ColumnBatches* batches : {&all, &left, &right}) batches->seek({2, step});
    while (all.next(a)) {
      REQUIRE((left.next(l) && right.next(r)));
      CHECK(l.tokens + r.tokens == a.tokens);
      CHECK((l.all_tokens == a.tokens && r.all_tokens == a.tokens));
      for (int64_t t = 0; t < a.rows; ++t)
        for (int64_t c = 0; c < 12; ++c) {
          const LmBatch& part = c < 5 ? l : r;
          const auto from = static_cast<size_t>(t * part.cols + (c < 5 ? c : c - 5)),
                     at = static_cast<size_t>(t * 12 + c);
          CHECK((part.input[from] == a.input[at] && part.target[from] == a.target[at]));
        }
    }
  }
}

TEST_CASE("column batches: seek continues anywhere, epochs and seeds differ") {
  const Corpus corpus = numbered_corpus(150);
  ColumnBatches batches(corpus, 4, 6, 11), fresh(corpus, 4, 6, 11), other(corpus, 4, 6, 12);
  const auto epoch0 = rest_of_epoch(fresh);
  CHECK(rest_of_epoch(other) != epoch0);
  fresh.start_epoch(1);
  const auto epoch1 = rest_of_epoch(fresh);
  CHECK(epoch1 != epoch0);
  for (int64_t step = 0; step <= batches.steps(); ++step) {
    batches.seek({1, step});
    CHECK(batches.position() == BatchPosition{1, step});
    CHECK(rest_of_epoch(batches) == std::vector<Segment>(epoch1.begin() + step, epoch1.end()));
  }
  batches.start_epoch(0);
  CHECK(rest_of_epoch(batches) == epoch0);
}

TEST_CASE("column batches: errors say what to lower") {
  const Corpus corpus = numbered_corpus(10);
  CHECK(has(error_of([&] { ColumnBatches(corpus, 3200, 35, 1); }),
            "tokens, too few for batch size 3200 columns: lower the batch size"));
  // A text shorter than a segment is one short segment; the older rule left it out.
  CHECK(ColumnBatches(corpus, 2, 35, 1).steps() == 1);
  CHECK(has(error_of([&] {
              ColumnBatches(corpus, 2, 35, 1, {0, 2}, Remainder::left_out);
            }),
            "too few for one segment of batch size 2 columns x bptt length 35 rows: lower one"));
  CHECK(has(error_of([&] { ColumnBatches(corpus, 0, 35, 1); }), "batch size 0"));
  CHECK(has(error_of([&] { ColumnBatches(corpus, 1, 0, 1); }), "bptt length 0"));
  ColumnBatches batches(corpus, 2, 3, 1);
  CHECK(has(error_of([&] { batches.seek({0, batches.steps() + 1}); }), "cannot continue at step"));
  CHECK(has(error_of([&] { batches.seek({-1, 0}); }), "epoch -1"));
}

namespace {

struct Seen {
  std::vector<int32_t> sentences;
  int64_t positions = 0, tokens = 0, steps = 0;
};

/// Runs an epoch and checks every batch's layout against its sentences.
Seen run_epoch(SentenceBatches& batches, const Corpus& corpus, int64_t epoch) {
  Seen seen;
  LmBatch b;
  batches.start_epoch(epoch);
  for (std::vector<int32_t> ids;; ++seen.steps) {
    const auto coming = batches.sentences();
    ids.assign(coming.begin(), coming.end());
    if (!batches.next(b)) break;
    REQUIRE(b.cols == std::ssize(ids));
    REQUIRE(std::ssize(b.input) == b.rows * b.cols);
    REQUIRE(std::ssize(b.target) == b.rows * b.cols);
    int64_t longest = 0, tokens = 0, wrong = 0;
    for (int64_t c = 0; c < b.cols; ++c) {
      const auto s = corpus.sentence(ids[static_cast<size_t>(c)]);
      longest = std::max(longest, std::ssize(s));
      tokens += std::ssize(s);
      std::vector<int32_t> input(s.begin(), s.end() - 1), target(s.begin(), s.end());
      input.insert(input.begin(), 0);
      input.resize(static_cast<size_t>(b.rows), 0);
      target.resize(static_cast<size_t>(b.rows), -1);
      for (int64_t t = 0; t < b.rows; ++t) {
        wrong += b.input[static_cast<size_t>(t * b.cols + c)] != input[static_cast<size_t>(t)];
        wrong += b.target[static_cast<size_t>(t * b.cols + c)] != target[static_cast<size_t>(t)];
      }
    }
    CHECK(wrong == 0);
    CHECK(b.rows == longest);
    CHECK(b.tokens == tokens);
    seen.sentences.insert(seen.sentences.end(), ids.begin(), ids.end());
    seen.positions += b.rows * b.cols;
    seen.tokens += tokens;
  }
  CHECK(seen.steps == batches.steps());
  CHECK(batches.padding_share() == doctest::Approx(1.0 - static_cast<double>(seen.tokens) /
                                                             static_cast<double>(seen.positions)));
  return seen;
}

std::vector<int32_t> sorted(std::vector<int32_t> v) {
  std::sort(v.begin(), v.end());
  return v;
}

}  // namespace

TEST_CASE("sentence batches: every sentence once an epoch, within the limit, little padding") {
  const Corpus corpus = numbered_corpus(1500);
  std::vector<int32_t> all(1500);
  std::iota(all.begin(), all.end(), 0);
  for (const SentenceBatchSize size : {SentenceBatchSize{.sentences = 1},
                                       {.sentences = 16},
                                       {.sentences = 5000},
                                       {.tokens = 1},
                                       {.tokens = 6},
                                       {.tokens = 64},
                                       {.tokens = 100000}}) {
    CAPTURE(size.sentences);
    CAPTURE(size.tokens);
    SentenceBatches batches(corpus, size, 5);
    const Seen first = run_epoch(batches, corpus, 0), second = run_epoch(batches, corpus, 1);
    CHECK(sorted(first.sentences) == all);
    CHECK(sorted(second.sentences) == all);
    if (first.steps > 1) CHECK(first.sentences != second.sentences);
    CHECK(run_epoch(batches, corpus, 0).sentences == first.sentences);
    if (size.sentences == 16) CHECK(batches.padding_share() < 0.1);
    if (size.sentences > 0) CHECK(first.steps == (1500 + size.sentences - 1) / size.sentences);
    batches.start_epoch(0);
    int64_t over = 0;
    for (LmBatch b; batches.next(b);)
      over +=
          size.tokens > 0 ? b.rows * b.cols > size.tokens && b.cols > 1 : b.cols > size.sentences;
    CHECK(over == 0);
  }
}

TEST_CASE("sentence batches: sizes that stand for no limit") {
  const Corpus corpus = numbered_corpus(40);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (const SentenceBatchSize size : {SentenceBatchSize{.sentences = kMost}, {.tokens = kMost}}) {
    SentenceBatches batches(corpus, size, 5);
    CHECK(batches.steps() == 1);
    CHECK(batches.sentences().size() == 40);
  }
}

TEST_CASE("sentence batches: a batch is as large as fits") {
  // One pool: in order of length, no batch could have taken the next one's shortest sentence.
  const Corpus corpus = numbered_corpus(300);
  SentenceBatches batches(corpus, {.tokens = 50}, 5);
  std::vector<std::pair<int64_t, int64_t>> sizes;  // rows, cols
  std::vector<int64_t> shortest;
  for (LmBatch b;;) {
    const auto ids = batches.sentences();
    if (ids.empty()) break;
    const int64_t low = corpus.length(ids.front());
    batches.next(b);
    sizes.emplace_back(b.rows, b.cols);
    shortest.push_back(low);
  }
  std::vector<size_t> by(sizes.size());
  std::iota(by.begin(), by.end(), 0u);
  // Of equal lengths the full batches come first.
  std::sort(by.begin(), by.end(), [&](size_t a, size_t b) {
    return std::tuple(shortest[a], sizes[a].first, -sizes[a].second) <
           std::tuple(shortest[b], sizes[b].first, -sizes[b].second);
  });
  for (size_t i = 0; i + 1 < by.size(); ++i)
    CHECK((sizes[by[i]].second + 1) * shortest[by[i + 1]] > 50);
}

TEST_CASE("sentence batches: seek continues anywhere; errors") {
  const Corpus corpus = numbered_corpus(100);
  SentenceBatches batches(corpus, {.tokens = 40}, 5), again(corpus, {.tokens = 40}, 5);
  std::vector<Segment> epoch;
  LmBatch b;
  batches.start_epoch(3);
  while (batches.next(b)) epoch.push_back({b.input, b.target});
  for (int64_t step = 0; step <= std::ssize(epoch); ++step) {
    again.start_epoch(step % 2);
    again.seek({3, step});
    std::vector<Segment> rest;
    while (again.next(b)) rest.push_back({b.input, b.target});
    CHECK(rest == std::vector<Segment>(epoch.begin() + step, epoch.end()));
  }
  CHECK(has(error_of([&] { again.seek({3, std::ssize(epoch) + 1}); }), "cannot continue at step"));
  CHECK(has(error_of([&] { SentenceBatches(corpus, {}, 1); }),
            "exactly one of them must be above 0"));
  CHECK(has(error_of([&] { SentenceBatches(corpus, {.sentences = 2, .tokens = 2}, 1); }),
            "exactly one of them must be above 0"));
  CHECK(has(error_of([&] { SentenceBatches(corpus, {.tokens = -2}, 1); }), "must not be negative"));
}

TEST_CASE("evaluation segments: the baseline's where the remainder is left out, to the last row") {
  const Corpus corpus = numbered_corpus(120);
  const std::vector<int32_t> flat(corpus.flat().begin(), corpus.flat().end());
  for (const auto& shape : std::vector<std::pair<int64_t, int64_t>>{
           {10, 100}, {10, 7}, {1, 50}, {7, 1}, {corpus.tokens(), 3}, {4, corpus.tokens() / 4}}) {
    const int64_t columns = shape.first, segment = shape.second;
    CAPTURE(columns);
    CAPTURE(segment);
    EvalSegments segments(corpus, columns, segment, {0, columns}, Remainder::left_out);
    const Rows cols = reference_columns(flat, static_cast<size_t>(columns));
    int64_t tokens = 0, n = 0;
    LmBatch b;
    CHECK(segments.begins_text());
    for (int64_t t = 0; t < std::ssize(cols) - 1; t += segment, ++n) {
      const int64_t end = std::min(t + segment, std::ssize(cols) - 1);
      REQUIRE(segments.next(b));
      CHECK(!segments.begins_text());
      CHECK(b.rows == end - t);
      CHECK(b.cols == columns);
      CHECK(b.input == join(cols, static_cast<size_t>(t), static_cast<size_t>(end)));
      CHECK(b.target == join(cols, static_cast<size_t>(t + 1), static_cast<size_t>(end + 1)));
      tokens += b.tokens;
    }
    CHECK(!segments.next(b));
    CHECK(segments.segments() == n);
    CHECK(segments.columns().tokens() == tokens);
    CHECK(tokens == corpus.tokens() - corpus.tokens() % columns);
    segments.restart();
    CHECK(segments.next(b));
    CHECK(b.input[0] == Specials::kLanguageModel.end);
  }
  CHECK(has(error_of([&] { EvalSegments(corpus, corpus.tokens() + 1); }), "fewer than the"));
  CHECK(has(error_of([&] { EvalSegments(corpus, 0); }), "at least one column"));
  CHECK(has(error_of([&] { EvalSegments(corpus, 10, 0); }), "at least one column and one row"));
}

TEST_CASE("evaluation segments: every token once, in file order down the columns") {
  const Corpus corpus = numbered_corpus(120);
  for (const int64_t columns : {int64_t{1}, int64_t{7}, int64_t{10}, corpus.tokens() - 1})
    for (const int64_t segment : {1, 4, 1000}) {
      CAPTURE(columns);
      CAPTURE(segment);
      EvalSegments segments(corpus, columns, segment);
      std::vector<std::vector<int32_t>> targets(static_cast<size_t>(columns));
      int64_t n = 0, tokens = 0;
      for (LmBatch b; segments.next(b); ++n) {
        tokens += b.tokens;
        for (size_t at = 0; at < b.target.size(); ++at)
          if (b.target[at] >= 0) targets[at % static_cast<size_t>(columns)].push_back(b.target[at]);
      }
      std::vector<int32_t> all;
      for (const auto& column : targets) all.insert(all.end(), column.begin(), column.end());
      CHECK(std::equal(all.begin(), all.end(), corpus.flat().begin(), corpus.flat().end()));
      CHECK(n == segments.segments());
      CHECK(tokens == corpus.tokens());
      CHECK(segments.columns().tokens() == corpus.tokens());
    }
}

}  // namespace nine::tests::test_lm_batches
