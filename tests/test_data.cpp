// Text, vocabulary, corpus, batches and the sample language, each against a plain re-implementation or a closed form.
#include <doctest/doctest.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "core/random.h"
#include "data/corpus.h"
#include "data/grammar.h"
#include "data/lm_batches.h"
#include "data/sample.h"
#include "data/sample_lexicon.h"
#include "data/text.h"
#include "data/vocabulary.h"
#include "tests/programs.h"
#include "tests/support.h"

using namespace nine;
using namespace nine::tests;

namespace {

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> lines_of(const std::vector<std::string>& paths) {
  LineReader reader(paths);
  std::vector<std::string> lines;
  for (std::string_view line; reader.next(line);) lines.emplace_back(line);
  return lines;
}

using Strings = std::vector<std::string>;

}  // namespace

// --- text ----------------------------------------------------------------------------------------------------------

TEST_CASE("text: lines of several files, with either line end, without a last one, empty ones kept") {
  TemporaryDirectory dir;
  const auto unix = dir.write("unix", "a b\n\nc\n"), dos = dir.write("dos", "d e\r\n\r\nf"), mark = dir.write("mark", "\xEF\xBB\xBFg\n");
  CHECK(lines_of({unix}) == Strings{"a b", "", "c"});
  CHECK(lines_of({unix, dos, mark}) == Strings{"a b", "", "c", "d e", "", "f", "g"});
  CHECK(lines_of({dir.write("newline", "\n")}) == Strings{""});
}

TEST_CASE("text: words are separated by spaces and tabs only") {
  std::vector<std::string_view> words;
  split_words("  the\tred \t fox\xC2\xA0here . ", words);
  CHECK(words == std::vector<std::string_view>{"the", "red", "fox\xC2\xA0here", "."});
  split_words(" \t ", words);
  CHECK(words.empty());
}

TEST_CASE("text: read_sentences gives each line's words") {
  TemporaryDirectory dir;
  Strings seen;
  read_sentences({dir.write("t", "a  b\n\nc")}, [&](std::span<const std::string_view> sentence) {
    std::string joined = "|";
    for (auto w : sentence) joined += std::string(w) + "|";
    seen.push_back(joined);
  });
  CHECK(seen == Strings{"|a|b|", "|", "|c|"});
}

TEST_CASE("text: a line of ten megabytes") {
  TemporaryDirectory dir;
  std::string text;
  while (text.size() < 10'000'000) text += "word ";
  const auto lines = lines_of({dir.write("long", "first\n" + text + "\nlast")});
  REQUIRE(lines.size() == 3);
  CHECK(lines[1] == text);
  CHECK(lines[2] == "last");
}

TEST_CASE("text: a stream may be empty, a file may not") {
  std::istringstream empty, some("a\nb");
  std::string_view line;
  LineReader none(empty, "standard input"), two(some, "standard input");
  CHECK(!none.next(line));
  CHECK(two.next(line));
  CHECK(two.next(line));
  CHECK(line == "b");
  CHECK(two.place() == "standard input, line 2");
  CHECK(!two.next(line));
  CHECK(!two.next(line));
}

TEST_CASE("text: errors name file, line and byte") {
  TemporaryDirectory dir;
  const auto good = dir.write("good", "a\n");
  const auto message = [&](const std::string& path) { return error_of([&] { lines_of({good, path}); }); };
  CHECK(message(dir / "nowhere") == dir / "nowhere" + " does not exist: check the path");
  CHECK(has(message(dir / ""), "is a directory"));
  CHECK(has(message(dir.write("empty", "")), "empty is empty"));
  CHECK(has(message(dir.write("nul", std::string("a\nbc\0d\n", 7))), "nul, line 2, byte 3: a NUL byte"));
  CHECK(has(message(dir.write("latin1",
                              "fine\n\nstra\xDF"
                              "e\n")),
            "latin1, line 3, byte 5: 0xdf is not valid UTF-8"));
  CHECK(has(message(dir.write("utf16",
                              "\xFF\xFE"
                              "a")),
            "utf16, line 1, byte 1: 0xff"));
  CHECK(has(error_of([] { LineReader reader(Strings{}); }), "no text file"));
}

namespace {

/// Decodes to a code point and encodes it again: valid is what comes back the same. Independent of the table in use.
bool valid_utf8_by_decoding(const std::string& s) {
  for (size_t i = 0; i < s.size();) {
    const auto b = static_cast<uint8_t>(s[i]);
    const int n = b < 0x80 ? 1 : b >> 5 == 6 ? 2 : b >> 4 == 14 ? 3 : b >> 3 == 30 ? 4 : 0;
    if (n == 0 || i + static_cast<size_t>(n) > s.size()) return false;
    uint32_t point = n == 1 ? b : b & (0x7Fu >> n);
    for (int k = 1; k < n; ++k) {
      const auto c = static_cast<uint8_t>(s[i + static_cast<size_t>(k)]);
      if (c >> 6 != 2) return false;
      point = point << 6 | (c & 63u);
    }
    const int shortest = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    if (shortest != n || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) return false;
    i += static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

TEST_CASE("text: UTF-8 is judged as by decoding, at every place of a line") {
  const std::vector<int> bytes = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0,
                                  0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF7, 0xF8, 0xFE, 0xFF};
  int wrong = 0;
  for (int a : bytes)
    for (int b : bytes)
      for (int c : bytes)
        for (int d : bytes) {
          const std::string s = {static_cast<char>(a), static_cast<char>(b), static_cast<char>(c), static_cast<char>(d)};
          wrong += (find_invalid_utf8(s) == std::string_view::npos) != valid_utf8_by_decoding(s);
        }
  CHECK(wrong == 0);
  for (size_t at = 0; at < 20; ++at) {
    CHECK(find_invalid_utf8(std::string(at, 'x') + "\xFF" + std::string(9, 'y')) == at);
    CHECK(find_invalid_utf8(std::string(at, 'x') + "\xC3") == at);
    CHECK(find_invalid_utf8(std::string(at, 'x') + "\xF0\x9F\xA6\x8A") == std::string_view::npos);
  }
}

// --- vocabulary ------------------------------------------------------------------------------------------------------

namespace {

Strings words_by_id(const Vocabulary& v) {
  Strings words;
  for (int32_t i = 0; i < v.size(); ++i) words.push_back(v.word(i));
  return words;
}

const Strings kText = {"b b a a z", "c \xC3\xA9 \xC3\xA9 </s> <unk> <unk>", "", "b rare"};

}  // namespace

TEST_CASE("vocabulary: by count, ties by code point, specials first and once") {
  const auto v = Vocabulary::build(count_words_of_lines(kText));
  CHECK(words_by_id(v) == Strings{"</s>", "<unk>", "b", "a", "\xC3\xA9", "c", "rare", "z"});
  CHECK(v.counts() == std::vector<int64_t>{4 + 1, 2, 3, 2, 2, 1, 1, 1});
  CHECK(v.id("a") == 3);
  CHECK(v.id("nothing") == Vocabulary::kUnknown);
  CHECK(v.id("</s>") == Vocabulary::kEnd);
  CHECK(v.encode("a  <unk>\tzz </s> b") == std::vector<int32_t>{3, 1, 1, 0, 2});
}

TEST_CASE("vocabulary: min_count and vocab_size; what falls out is counted as <unk>") {
  const auto counts = count_words_of_lines(kText);
  const auto frequent = Vocabulary::build(counts, 2);
  CHECK(words_by_id(frequent) == Strings{"</s>", "<unk>", "b", "a", "\xC3\xA9"});
  CHECK(frequent.count(Vocabulary::kUnknown) == 2 + 3);
  const auto four = Vocabulary::build(counts, 1, 4);
  CHECK(words_by_id(four) == Strings{"</s>", "<unk>", "b", "a"});
  CHECK(std::accumulate(four.counts().begin(), four.counts().end(), int64_t{0}) == counts.tokens + counts.sentences);
  CHECK(Vocabulary::build(counts, 1, 1000).size() == 8);
}

TEST_CASE("vocabulary: dict.txt is fairseq's and reads back") {
  TemporaryDirectory dir;
  auto v = Vocabulary::build(count_words_of_lines(kText), 2);
  v.write(dir / "dict.txt");
  CHECK(contents(dir / "dict.txt") == "b 3\na 2\n\xC3\xA9 2\n");
  auto again = Vocabulary::read(dir / "dict.txt");
  CHECK(words_by_id(again) == words_by_id(v));
  CHECK(again.count(2) == 3);
  CHECK(again.count(Vocabulary::kEnd) == 0);
  again.set_special_counts(v.count(Vocabulary::kEnd), v.count(Vocabulary::kUnknown));
  CHECK(again.counts() == v.counts());
  CHECK(again.dict() == v.dict());
}

TEST_CASE("vocabulary: a dictionary by others") {
  TemporaryDirectory dir;
  const auto v = Vocabulary::read(dir.write("d", "the 10\r\n</s> 7\r\nfox 3 #fairseq:overwrite\r\n<unk> 2\r\n#hash 1\r\nmadeupword0000 0"));
  CHECK(words_by_id(v) == Strings{"</s>", "<unk>", "the", "fox", "#hash", "madeupword0000"});
  CHECK(v.counts() == std::vector<int64_t>{7, 2, 10, 3, 1, 0});
  // As in fairseq a flagged repetition keeps its line's id and is the one that is found.
  const auto repeated = Vocabulary::read(dir.write("r", "a 3\nb 2\na 1 #fairseq:overwrite\n"));
  CHECK(words_by_id(repeated) == Strings{"</s>", "<unk>", "a", "b", "a"});
  CHECK(repeated.id("a") == 4);
  CHECK(repeated.dict() == "a 3\nb 2\na 1 #fairseq:overwrite\n");
}

TEST_CASE("vocabulary: the first word of a dict.txt may begin with U+FEFF") {
  TemporaryDirectory dir;
  const std::string mark = "\xEF\xBB\xBF";
  const auto v = Vocabulary::build(count_words_of_lines(Strings{concat(mark, "a ", mark, "a b")}));
  CHECK(words_by_id(v) == Strings{"</s>", "<unk>", concat(mark, "a"), "b"});
  CHECK(v.dict() == concat(mark, mark, "a 2\nb 1\n"));
  v.write(dir / "dict.txt");
  CHECK(words_by_id(Vocabulary::read(dir / "dict.txt")) == words_by_id(v));
  const auto one = Vocabulary::read(dir.write("one", concat(mark, "a 2\n", mark, "b 1\n")));
  CHECK(words_by_id(one) == Strings{"</s>", "<unk>", "a", concat(mark, "b")});
  CHECK(one.dict() == concat("a 2\n", mark, "b 1\n"));
}

TEST_CASE("vocabulary: errors") {
  TemporaryDirectory dir;
  const auto reading = [&](const std::string& text) { return error_of([&] { Vocabulary::read(dir.write("dict.txt", text)); }); };
  CHECK(has(reading("a 2\nb 1\na 1\n"), "dict.txt, line 3: 'a' is already in the dictionary"));
  CHECK(has(reading("</s> 2\na 1\n</s> 2\n"), "line 3: '</s>' is already"));
  CHECK(has(reading("a\n"), "line 1: 'a' lacks a word or its count"));
  CHECK(has(reading("a 2\n\n"), "line 2: '' lacks a word or its count"));
  CHECK(has(reading("a 2\n 3\n"), "line 2"));
  CHECK(has(reading("a #fairseq:overwrite\n"), "lacks a word or its count"));
  CHECK(has(reading("a 1.5\n"), "the count '1.5' of 'a' is not a whole number"));
  CHECK(has(reading("a -1\n"), "the count '-1'"));
  CHECK(has(reading("a b 1\n"), "'a b' is not one word"));
  CHECK(has(reading("a 99999999999999999999\n"), "is not a whole number"));
  CHECK(has(reading("</s> 2\n<unk> 1\n"), "lists no word beside"));
  CHECK(has(reading(""), "is empty"));
  const auto counts = count_words_of_lines(kText);
  CHECK(has(error_of([&] { Vocabulary::build(counts, 100); }), "no word occurs 100 times in 4 sentences of 13 words: lower --min-count"));
  CHECK(has(error_of([&] { Vocabulary::build(counts, 1, 2); }), "--vocab-size 2"));
  CHECK(has(error_of([&] { Vocabulary::build(counts, 1, -1); }), "--vocab-size -1"));
  CHECK(has(error_of([&] { Vocabulary::build(counts).word(8); }), "no word has the id 8: this vocabulary has 8"));
  CHECK(has(error_of([&] { Vocabulary::build(counts).count(-1); }), "id -1"));
  CHECK(has(error_of([&] { Vocabulary::build(counts).write(dir / "no/dict.txt"); }), "cannot be written"));
}

TEST_CASE("vocabulary: the captions have 9,713 words seen three times or more") {
#ifdef NINE_SOURCE_DIR
  const std::string captions = std::string(NINE_SOURCE_DIR) + "/../shared/data/captions/train.en";
#else
  const std::string captions = "../shared/data/captions/train.en";
#endif
  if (!std::filesystem::exists(captions)) {
    MESSAGE("skipped: there is no ", captions);
    return;
  }
  const auto counts = count_words({captions});
  const auto v = Vocabulary::build(counts, 3);
  CHECK(counts.sentences == 145000);
  CHECK(counts.words.size() == 19585);
  CHECK(v.size() == 9715);
  const Corpus corpus({captions}, v);
  CHECK(corpus.tokens() == counts.tokens + counts.sentences);
  CHECK(corpus.unknown() == v.count(Vocabulary::kUnknown));
}

// --- corpus ----------------------------------------------------------------------------------------------------------

TEST_CASE("corpus: sentences of several files in order, each with </s>") {
  TemporaryDirectory dir;
  const Strings paths = {dir.write("one", "b a\n\n"), dir.write("two", "rare </s> b")};
  const auto v = Vocabulary::build(count_words_of_lines(kText), 2);
  const Corpus corpus(paths, v);
  REQUIRE(corpus.sentences() == 3);
  const std::vector<std::vector<int32_t>> expected = {{2, 3, 0}, {0}, {1, 0, 2, 0}};
  for (int64_t i = 0; i < 3; ++i) {
    const auto s = corpus.sentence(i);
    CHECK(std::vector<int32_t>(s.begin(), s.end()) == expected[static_cast<size_t>(i)]);
    CHECK(corpus.length(i) == std::ssize(s));
  }
  CHECK(corpus.tokens() == 8);
  CHECK(corpus.unknown() == 1);
  CHECK(corpus.flat().size() == 8);
  const Strings lines = {"b a", "", "rare </s> b"};
  const Corpus same = Corpus::of_lines(lines, v);
  CHECK(std::ranges::equal(same.flat(), corpus.flat()));
  CHECK(same.unknown() == 1);
  CHECK(has(error_of([&] { Corpus({dir / "nowhere"}, v); }), "does not exist"));
  CHECK(has(error_of([&] { Corpus({"/dev/null"}, v); }), "is a pipe or a device"));
}

// --- batches ---------------------------------------------------------------------------------------------------------

namespace {

/// Sentences of 0 to 9 words, every token of a different id so that a misplaced one shows.
Corpus numbered_corpus(int sentences, uint64_t seed = 3) {
  RandomStream random({.seed = seed});
  Strings lines;
  WordCounts counts;
  std::vector<std::string_view> words;
  int next = 0;
  for (int i = 0; i < sentences; ++i) {
    std::string line;
    for (uint64_t k = random.below(10); k > 0; --k) line += "w" + std::to_string(next++) + " ";
    lines.push_back(line);
    split_words(lines.back(), words);
    counts.add(words);
  }
  return Corpus::of_lines(lines, Vocabulary::build(counts));
}

using Rows = std::vector<std::vector<int32_t>>;

/// The baseline's columns(): T + 1 rows of `batch` tokens.
Rows columns_of_baseline(const std::vector<int32_t>& flat, size_t batch) {
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
  RandomStream random({.seed = seed, .step = static_cast<uint32_t>(epoch), .op = stream_id("lm.shuffle")});
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

/// The baseline's loop over an epoch.
std::vector<Segment> segments_of_baseline(const Corpus& corpus, int64_t batch, int64_t bptt, uint64_t seed, int64_t epoch) {
  const Rows cols = columns_of_baseline(shuffled_stream(corpus, seed, epoch), static_cast<size_t>(batch));
  std::vector<Segment> segments;
  for (int64_t t = 0; t < std::ssize(cols) - bptt; t += bptt) {
    const auto at = static_cast<size_t>(t), end = static_cast<size_t>(t + bptt);
    segments.push_back({join(cols, at, end), join(cols, at + 1, end + 1)});
  }
  return segments;
}

std::vector<Segment> rest_of_epoch(ColumnBatches& batches) {
  std::vector<Segment> segments;
  const auto size = static_cast<size_t>(batches.batch() * batches.bptt());
  Segment s{std::vector<int32_t>(size), std::vector<int32_t>(size)};
  while (batches.next(s.input.data(), s.target.data())) segments.push_back(s);
  return segments;
}

}  // namespace

TEST_CASE("column batches: the baseline's segments, also where columns divide the text or rows the columns") {
  const Corpus corpus = numbered_corpus(200);
  std::vector<std::pair<int64_t, int64_t>> shapes = {{1, 1}, {1, corpus.tokens()}, {7, 5}, {32, 9}, {corpus.tokens(), 1}, {10, corpus.tokens() / 10}};
  for (int64_t divisor = 2; divisor < 40; ++divisor)
    if (corpus.tokens() % divisor == 0) shapes.emplace_back(divisor, corpus.tokens() / divisor);
  for (const auto& shape : shapes) {
    const int64_t batch = shape.first, bptt = shape.second;
    CAPTURE(batch);
    CAPTURE(bptt);
    ColumnBatches batches(corpus, batch, bptt, 11);
    for (int64_t epoch : {0, 1, 5}) {
      const auto expected = segments_of_baseline(corpus, batch, bptt, 11, epoch);
      batches.start_epoch(epoch);
      CHECK(batches.begins_epoch());
      CHECK(batches.steps_per_epoch() == std::ssize(expected));
      CHECK(rest_of_epoch(batches) == expected);
      CHECK(!batches.begins_epoch());
      CHECK(batches.position() == BatchPosition{epoch, batches.steps_per_epoch()});
      CHECK(batches.dropped() == corpus.tokens() - batches.steps_per_epoch() * batch * bptt);
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
  for (int64_t step = 0; step <= batches.steps_per_epoch(); ++step) {
    batches.seek({1, step});
    CHECK(batches.position() == BatchPosition{1, step});
    CHECK(rest_of_epoch(batches) == std::vector<Segment>(epoch1.begin() + step, epoch1.end()));
  }
  batches.start_epoch(0);
  CHECK(rest_of_epoch(batches) == epoch0);
}

TEST_CASE("column batches: errors say what to lower") {
  const Corpus corpus = numbered_corpus(10);
  CHECK(has(error_of([&] { ColumnBatches(corpus, 32, 35, 1); }), "too few for one segment of --batch 32 columns x --bptt 35 rows: lower one"));
  CHECK(has(error_of([&] { ColumnBatches(corpus, 0, 35, 1); }), "--batch 0"));
  CHECK(has(error_of([&] { ColumnBatches(corpus, 1, 0, 1); }), "--bptt 0"));
  ColumnBatches batches(corpus, 2, 3, 1);
  CHECK(has(error_of([&] { batches.seek({0, batches.steps_per_epoch() + 1}); }), "cannot continue at step"));
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
  CHECK(batches.padding_share() == doctest::Approx(1.0 - static_cast<double>(seen.tokens) / static_cast<double>(seen.positions)));
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
    for (LmBatch b; batches.next(b);) over += size.tokens > 0 ? b.rows * b.cols > size.tokens && b.cols > 1 : b.cols > size.sentences;
    CHECK(over == 0);
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
    return std::tuple(shortest[a], sizes[a].first, -sizes[a].second) < std::tuple(shortest[b], sizes[b].first, -sizes[b].second);
  });
  for (size_t i = 0; i + 1 < by.size(); ++i) CHECK((sizes[by[i]].second + 1) * shortest[by[i + 1]] > 50);
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
  CHECK(has(error_of([&] { SentenceBatches(corpus, {}, 1); }), "give one of the two"));
  CHECK(has(error_of([&] { SentenceBatches(corpus, {.sentences = 2, .tokens = 2}, 1); }), "give one of the two"));
  CHECK(has(error_of([&] { SentenceBatches(corpus, {.tokens = -2}, 1); }), "must not be negative"));
}

TEST_CASE("evaluation segments: the baseline's, to the last row") {
  const Corpus corpus = numbered_corpus(120);
  const std::vector<int32_t> flat(corpus.flat().begin(), corpus.flat().end());
  for (const auto& shape :
       std::vector<std::pair<int64_t, int64_t>>{{10, 100}, {10, 7}, {1, 50}, {7, 1}, {corpus.tokens(), 3}, {4, corpus.tokens() / 4}}) {
    const int64_t columns = shape.first, segment = shape.second;
    CAPTURE(columns);
    CAPTURE(segment);
    EvalSegments segments(corpus, columns, segment);
    const Rows cols = columns_of_baseline(flat, static_cast<size_t>(columns));
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
    CHECK(segments.tokens() == tokens);
    CHECK(segments.dropped() == corpus.tokens() % columns);
    segments.restart();
    CHECK(segments.next(b));
    CHECK(b.input[0] == Vocabulary::kEnd);
  }
  CHECK(has(error_of([&] { EvalSegments(corpus, corpus.tokens() + 1); }), "fewer than the"));
  CHECK(has(error_of([&] { EvalSegments(corpus, 0); }), "at least one column"));
  CHECK(has(error_of([&] { EvalSegments(corpus, 10, 0); }), "at least one column and one row"));
}

// --- grammar and sample language -------------------------------------------------------------------------------------

namespace {

using Symbol = Grammar::Symbol;

/// All texts of a small grammar with the probabilities of their derivations, by plain expansion.
std::vector<std::pair<std::string, double>> expand(const Grammar& g, Symbol s) {
  if (s.is_word) return {{g.words()[static_cast<size_t>(s.index)] + " ", 1.0}};
  std::vector<std::pair<std::string, double>> out;
  const auto& rule = g.rules()[static_cast<size_t>(s.index)];
  for (const auto& a : rule.alternatives) {
    std::vector<std::pair<std::string, double>> texts = {{"", a.weight / rule.weight}};
    for (Symbol part : a.symbols) {
      std::vector<std::pair<std::string, double>> longer;
      const auto parts = expand(g, part);
      for (const auto& [text, p] : texts)
        for (const auto& [more, q] : parts) longer.emplace_back(text + more, p * q);
      texts = std::move(longer);
    }
    out.insert(out.end(), texts.begin(), texts.end());
  }
  return out;
}

/// Entropy of the text, derivations of one text taken together.
double entropy_of_texts(const Grammar& g, Symbol start) {
  std::map<std::string, double> p;
  for (const auto& [text, q] : expand(g, start)) p[text] += q;
  double nats = 0;
  for (const auto& [text, q] : p) nats -= q * std::log(q);
  return nats;
}

/// Counts a sentence's derivations and sums their probabilities by trying everything (memoised by symbol and place).
class Parser {
 public:
  struct Parse {
    double derivations = 0, probability = 0;
  };

  explicit Parser(const Grammar& grammar) : grammar_(grammar) {
    for (size_t i = 0; i < grammar.words().size(); ++i) index_[grammar.words()[i]] = static_cast<int32_t>(i);
  }

  Parse parse(Symbol start, const std::string& line) {
    sentence_.clear();
    std::istringstream in(line);
    for (std::string w; in >> w;) sentence_.push_back(index_.at(w));
    memo_.assign(grammar_.rules().size() * (sentence_.size() + 1), {});
    known_.assign(memo_.size(), false);
    const auto ends = parses(start, 0);
    const auto whole = ends.find(sentence_.size());
    return whole == ends.end() ? Parse{} : whole->second;
  }

 private:
  using Ends = std::map<size_t, Parse>;  // where the symbol's text may end

  Ends parses(Symbol s, size_t at) {
    if (s.is_word) return at < sentence_.size() && sentence_[at] == s.index ? Ends{{at + 1, {1, 1}}} : Ends{};
    const size_t slot = static_cast<size_t>(s.index) * (sentence_.size() + 1) + at;
    if (!known_[slot]) {
      Ends found = parses_of_rule(grammar_.rules()[static_cast<size_t>(s.index)], at);
      memo_[slot] = std::move(found);
      known_[slot] = true;
    }
    return memo_[slot];
  }

  Ends parses_of_rule(const Grammar::Rule& rule, size_t at) {
    Ends out;
    for (const auto& a : rule.alternatives) {
      Ends ends = {{at, {1, a.weight / rule.weight}}};
      for (Symbol part : a.symbols) {
        Ends longer;
        for (const auto& [end, so_far] : ends)
          for (const auto& [next, more] : parses(part, end)) {
            longer[next].derivations += so_far.derivations * more.derivations;
            longer[next].probability += so_far.probability * more.probability;
          }
        ends = std::move(longer);
        if (ends.empty()) break;
      }
      for (const auto& [end, p] : ends) {
        out[end].derivations += p.derivations;
        out[end].probability += p.probability;
      }
    }
    return out;
  }

  const Grammar& grammar_;
  std::map<std::string, int32_t> index_;
  std::vector<int32_t> sentence_;
  std::vector<Ends> memo_;
  std::vector<bool> known_;
};

const SampleLanguage& language() {
  static const SampleLanguage instance;
  return instance;
}

}  // namespace

TEST_CASE("grammar: entropy and length in closed form are those of all texts, written out") {
  Grammar g;
  const Symbol a = g.word("a"), b = g.word("b"), c = g.word("c"), stop = g.word(".");
  const Symbol x = g.rule({{1, {a}}, {2, {b, b}}, {0.5, {}}});
  const Symbol y = g.rule({{3, {c, x}}, {1, {c, c, x}}});
  const Symbol s = g.rule({{0.3, {y, stop}}, {0.7, {y, y, stop}}});
  CHECK(g.weight(x) == 3.5);
  double nats = 0, words = 0;
  for (const auto& [text, p] : expand(g, s)) {
    nats -= p * std::log(p);
    words += p * static_cast<double>(std::count(text.begin(), text.end(), ' '));
  }
  CHECK(g.entropy(s) == doctest::Approx(nats).epsilon(1e-12));
  CHECK(g.expected_words(s) == doctest::Approx(words).epsilon(1e-12));

  // This one is ambiguous: "c c" is y y as well as y. The parser of these tests notices.
  CHECK(entropy_of_texts(g, s) < g.entropy(s) - 1e-3);
  CHECK(Parser(g).parse(s, "c c .").derivations == 2);
  // And with the second alternative of y gone it is not.
  const Symbol z = g.rule({{1, {c, x}}}), t = g.rule({{0.3, {z, stop}}, {0.7, {z, z, stop}}});
  CHECK(entropy_of_texts(g, t) == doctest::Approx(g.entropy(t)).epsilon(1e-12));
  CHECK(Parser(g).parse(t, "c c .").derivations == 1);
  CHECK(Parser(g).parse(t, "c .  a").derivations == 0);
}

TEST_CASE("grammar: texts come as often as their probabilities say") {
  Grammar g;
  const Symbol x = g.rule({{1, {g.word("a")}}, {2, {g.word("b")}}, {5, {}}});
  const Symbol s = g.rule({{1, {x, g.word("."), x}}, {3, {x}}});
  std::map<std::string, double> expected, seen;
  for (auto [text, p] : expand(g, s)) expected[text.empty() ? text : text.substr(0, text.size() - 1)] += p;
  RandomStream random({.seed = 9});
  constexpr int draws = 20000;
  for (int i = 0; i < draws; ++i) {
    std::string line;
    const auto d = g.generate(s, random, line);
    seen[line] += 1.0 / draws;
    CHECK_MESSAGE(d.words == std::ssize(words_of(line)), line);
  }
  CHECK(seen.size() == expected.size());
  for (const auto& e : expected) {
    const double p = e.second;
    CHECK_MESSAGE(std::abs(seen[e.first] - p) < 4.5 * std::sqrt(p * (1 - p) / draws), e.first);
  }
}

TEST_CASE("grammar: errors") {
  Grammar g;
  CHECK(has(error_of([&] { g.word("two words"); }), "is not one word"));
  CHECK(has(error_of([&] { g.rule({}); }), "at least one alternative"));
  CHECK(has(error_of([&] { g.rule({{0, {}}}); }), "weight 0"));
  CHECK(has(error_of([&] { g.rule({{1, {{0, false}}}}); }), "not of this grammar"));
  CHECK(has(error_of([&] { g.entropy(g.word("a")); }), "not a rule"));
}

TEST_CASE("sample: each sentence has exactly one derivation, and its probability is the one reported") {
  const auto corpus = language().generate(21, "test", 500);
  Parser parser(language().grammar());
  for (size_t i = 0; i < corpus.lines.size(); ++i) {
    const auto parse = parser.parse(language().start(), corpus.lines[i]);
    CHECK_MESSAGE(parse.derivations == 1, corpus.lines[i]);
    CHECK_MESSAGE(-std::log(parse.probability) == doctest::Approx(corpus.sentence_nats[i]).epsilon(1e-10), corpus.lines[i]);
  }
  for (const char* wrong : {"the dog are tired .", "the dogs near the river is tired .", "a apple was clean .", "yesterday the dog sleeps .",
                            "an red apple was clean .", "the table sleeps .", "the dog eats a table ."})
    CHECK_MESSAGE(parser.parse(language().start(), wrong).derivations == 0, wrong);
  for (const char* right : {"yesterday the old farmers near the river saw a red fox .", "the dog that the teachers follow is eating an apple ."})
    CHECK_MESSAGE(parser.parse(language().start(), right).derivations == 1, right);
}

TEST_CASE("sample: the closed form agrees with how often each rule is used, and with drawn texts") {
  const auto& rules = language().grammar().rules();
  // From the start down: rules use only earlier ones, so that a rule's uses are known when its turn comes.
  std::vector<double> uses(rules.size(), 0.0);
  uses[static_cast<size_t>(language().start().index)] = 1;
  double nats = 0, words = 0;
  for (size_t r = rules.size(); r-- > 0;)
    for (const auto& a : rules[r].alternatives) {
      const double p = a.weight / rules[r].weight;
      nats -= uses[r] * p * std::log(p);
      for (Symbol s : a.symbols) (s.is_word ? words : uses[static_cast<size_t>(s.index)]) += uses[r] * p;
    }
  CHECK(language().entropy_per_sentence() == doctest::Approx(nats).epsilon(1e-10));
  CHECK(language().expected_tokens() == doctest::Approx(words + 1).epsilon(1e-10));

  const auto corpus = language().generate(1, "train", 20000);
  const auto n = static_cast<double>(corpus.lines.size());
  double squares = 0;
  for (double x : corpus.sentence_nats) squares += x * x;
  const double mean = corpus.nats / n, error = std::sqrt((squares / n - mean * mean) / n);
  CHECK(std::abs(mean - language().entropy_per_sentence()) < 4 * error);
  CHECK(std::abs(static_cast<double>(corpus.tokens) / n - language().expected_tokens()) < 0.15);
  CHECK(corpus.perplexity() == doctest::Approx(language().perplexity()).epsilon(0.01));
  MESSAGE("sample language: ", language().words().size(), " words, ", language().expected_tokens(), " tokens a sentence, ",
          language().entropy_per_token(), " nats a token, perplexity ", language().perplexity());
}

TEST_CASE("sample: no form stands for two words") {
  std::map<std::string, std::string> owner;
  const auto claim = [&](const std::string& form, const std::string& by) {
    const auto claimed = owner.try_emplace(form, by);
    CHECK_MESSAGE((claimed.second || claimed.first->second == by), form << " is both " << claimed.first->second << " and " << by);
    CHECK_MESSAGE(claimed.second, form << " is listed twice");
  };
  for (int c = 0; c <= static_cast<int>(NounClass::place); ++c)
    for (const Noun& n : nouns(static_cast<NounClass>(c))) {
      claim(n.singular, "noun " + n.singular);
      claim(n.plural, "nouns " + n.singular);
    }
  for (int c = 0; c <= static_cast<int>(VerbClass::say); ++c)
    for (const Verb& v : verbs(static_cast<VerbClass>(c))) {
      claim(v.base, "verb " + v.base);
      claim(v.third, "third person of " + v.base);
      claim(v.past, "past of " + v.base);
      claim(v.participle, "participle of " + v.base);
    }
  for (const auto& names : {female_names(), male_names(), manner_adverbs()})
    for (const auto& w : names) claim(w, "name or adverb " + w);
  // Adjectives are shared by classes of nouns, but stand in one slot of each.
  std::set<std::string> adjective_forms;
  for (int c = 0; c <= static_cast<int>(NounClass::place); ++c) {
    std::set<std::string> mine;
    for (AdjectiveSlot slot : {AdjectiveSlot::quality, AdjectiveSlot::size, AdjectiveSlot::colour})
      for (const auto& w : adjectives(static_cast<NounClass>(c), slot)) {
        CHECK_MESSAGE(mine.insert(w).second, w);
        adjective_forms.insert(w);
      }
  }
  for (bool alive : {false, true})
    for (const auto& w : states(alive)) adjective_forms.insert(w);
  for (const auto& w : adjective_forms) claim(w, "adjective " + w);
  for (const char* w : {"the",  "a",  "an", "this", "that", "who",  "will", "be",  "is",    "are", "was",
                        "were", "to", "in", "with", "and",  "near", "one",  "day", "these", "last"})
    claim(w, "function word");
}

TEST_CASE("sample: articles, repeatability, splits") {
  const auto train = language().generate(7, "train", 2000), shorter = language().generate(7, "train", 50),
             valid = language().generate(7, "valid", 50);
  CHECK(std::equal(shorter.lines.begin(), shorter.lines.end(), train.lines.begin()));
  CHECK(shorter.lines != valid.lines);
  CHECK(shorter.lines != language().generate(8, "train", 50).lines);
  CHECK(SampleLanguage().entropy_per_sentence() == language().entropy_per_sentence());
  int64_t tokens = 0, wrong_articles = 0;
  for (const auto& line : train.lines) {
    const Words words = words_of(line);
    tokens += std::ssize(words) + 1;
    CHECK(words.back() == ".");
    for (size_t i = 0; i + 1 < words.size(); ++i) {
      const bool vowel = std::string_view("aeiou").find(words[i + 1][0]) != std::string_view::npos;
      wrong_articles += words[i] == (vowel ? "a" : "an");
    }
  }
  CHECK(tokens == train.tokens);
  CHECK(wrong_articles == 0);
  CHECK(train.nats == doctest::Approx(std::accumulate(train.sentence_nats.begin(), train.sentence_nats.end(), 0.0)));
  CHECK(language().generate(7, "train", 0).lines.empty());
  CHECK(has(error_of([] { language().generate(7, "train", -1); }), "negative"));
}

TEST_CASE("sample: the language is the one that the documentation's figures are about") {
  CHECK(language().words().size() == 1049);
  CHECK(language().expected_tokens() == doctest::Approx(10.7124).epsilon(1e-4));
  CHECK(language().perplexity() == doctest::Approx(15.5163).epsilon(1e-5));
  CHECK(language().generate(1, "train", 3).lines ==
        Strings{"a fresh apple was clean .", "a lazy small monkey that bites the owl swallows the small apples that each kind man eats .",
                "today every uncle prays quietly in the harbours ."});
}

TEST_CASE("sample: the demo's text knows nearly every word") {
  const auto counts = count_words_of_lines(language().generate(1, "train", 20000).lines);
  const auto v = Vocabulary::build(counts);
  CHECK(std::ssize(language().words()) >= v.size() - 2);
  CHECK(Corpus::of_lines(language().generate(1, "valid", 1000).lines, v).unknown() == 0);
}

TEST_CASE("sample: write_sample writes the three texts") {
  TemporaryDirectory dir;
  const auto files = write_sample(dir / "new/sample", 5, {.train = 40, .valid = 10, .test = 20});
  const char* splits[] = {"train", "valid", "test"};
  const int64_t sizes[] = {40, 10, 20};
  for (size_t i = 0; i < 3; ++i) {
    const auto expected = language().generate(5, splits[i], sizes[i]);
    CHECK(files[i].path == dir / "new/sample/" + splits[i] + ".txt");
    CHECK(lines_of({files[i].path}) == expected.lines);
    CHECK(files[i].sentences == sizes[i]);
    CHECK(files[i].tokens == expected.tokens);
    CHECK(files[i].nats == doctest::Approx(expected.nats));
    CHECK(files[i].perplexity() == doctest::Approx(expected.perplexity()));
  }
  CHECK(has(error_of([&] { write_sample(dir / "s", 5, {.train = 0}); }), "the train text needs at least one sentence"));
  CHECK(has(error_of([&] { write_sample(dir.write("file", "x"), 5, {}); }), "cannot be"));
}
