// Vocabulary, dict.txt and corpus.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "core/error.h"
#include "data/corpus.h"
#include "data/vocabulary.h"
#include "tests/support/corpus.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_vocabulary {
namespace {

using Strings = std::vector<std::string>;

Strings words_by_id(const Vocabulary& v) {
  Strings words;
  for (int32_t i = 0; i < v.size(); ++i) words.push_back(v.word(i));
  return words;
}

const Strings kText = {"b b a a z", "c \xC3\xA9 \xC3\xA9 </s> <unk> <unk>", "", "b rare"};

}  // namespace

TEST_CASE("vocabulary: by count, ties by code point, specials first and once") {
  const auto v = Vocabulary::build(count_words_of_lines(kText), Specials::kLanguageModel);
  CHECK(words_by_id(v) == Strings{"</s>", "<unk>", "b", "a", "\xC3\xA9", "c", "rare", "z"});
  CHECK(v.counts() == std::vector<int64_t>{4 + 1, 2, 3, 2, 2, 1, 1, 1});
  CHECK(v.id("a") == 3);
  CHECK(v.id("nothing") == Specials::kLanguageModel.unknown);
  CHECK(v.id("</s>") == Specials::kLanguageModel.end);
  CHECK(v.encode("a  <unk>\tzz </s> b") == std::vector<int32_t>{3, 1, 1, 0, 2});
}

TEST_CASE("vocabulary: min_count and vocab_size; what falls out is counted as <unk>") {
  const auto counts = count_words_of_lines(kText);
  const auto frequent = Vocabulary::build(counts, Specials::kLanguageModel, {.min_count = 2});
  CHECK(words_by_id(frequent) == Strings{"</s>", "<unk>", "b", "a", "\xC3\xA9"});
  CHECK(frequent.count(Specials::kLanguageModel.unknown) == 2 + 3);
  const auto four = Vocabulary::build(counts, Specials::kLanguageModel, {1, 4});
  CHECK(words_by_id(four) == Strings{"</s>", "<unk>", "b", "a"});
  CHECK(std::accumulate(four.counts().begin(), four.counts().end(), int64_t{0}) ==
        counts.tokens + counts.sentences);
  CHECK(Vocabulary::build(counts, Specials::kLanguageModel, {1, 1000}).size() == 8);
}

TEST_CASE("unigram perplexity: frequencies of one text on another") {
  const std::vector<int64_t> train{6, 3, 0}, same{6, 3, 1}, other{0, 0, 2};
  // Of p = .6, .3, .1: the unseen word counts as one.
  CHECK(
      unigram_perplexity(train, same) ==
      doctest::Approx(std::exp(-0.6 * std::log(0.6) - 0.3 * std::log(0.3) - 0.1 * std::log(0.1))));
  CHECK(unigram_perplexity(train, other) == doctest::Approx(10));
}

TEST_CASE("vocabulary: dict.txt is fairseq's and reads back") {
  TemporaryDirectory dir;
  auto v =
      Vocabulary::build(count_words_of_lines(kText), Specials::kLanguageModel, {.min_count = 2});
  v.write(dir / "dict.txt");
  CHECK(slurp(dir / "dict.txt") == "b 3\na 2\n\xC3\xA9 2\n");
  auto again = Vocabulary::read(dir / "dict.txt", Specials::kLanguageModel);
  CHECK(words_by_id(again) == words_by_id(v));
  CHECK(again.count(2) == 3);
  CHECK(again.count(Specials::kLanguageModel.end) == 0);
  again.set_special_counts(v.count(Specials::kLanguageModel.end),
                           v.count(Specials::kLanguageModel.unknown));
  CHECK(again.counts() == v.counts());
  CHECK(again.dict_text() == v.dict_text());
  CHECK(again.dict_text(std::vector<int64_t>{9, 8, 7, 0, 5}) == "b 7\na 0\n\xC3\xA9 5\n");
  CHECK(again.counts() == v.counts());
  CHECK(has(error_of([&] {
              static_cast<void>(again.dict_text(std::vector<int64_t>{1, 2, 3}));
            }),
            "3 counts for 5 words"));
}

TEST_CASE("vocabulary: a dictionary by others") {
  TemporaryDirectory dir;
  const auto v = Vocabulary::read(
      dir.write(
          "d",
          "the 10\r\n</s> 7\r\nfox 3 #fairseq:overwrite\r\n<unk> 2\r\n#hash 1\r\nmadeupword0000 0"),
      Specials::kLanguageModel);
  CHECK(words_by_id(v) == Strings{"</s>", "<unk>", "the", "fox", "#hash", "madeupword0000"});
  CHECK(v.counts() == std::vector<int64_t>{7, 2, 10, 3, 1, 0});
  // As in fairseq a flagged repetition keeps its line's id and is the one that is found.
  const auto repeated = Vocabulary::read(dir.write("r", "a 3\nb 2\na 1 #fairseq:overwrite\n"),
                                         Specials::kLanguageModel);
  CHECK(words_by_id(repeated) == Strings{"</s>", "<unk>", "a", "b", "a"});
  CHECK(repeated.id("a") == 4);
  CHECK(repeated.dict_text() == "a 3\nb 2\na 1 #fairseq:overwrite\n");
}

TEST_CASE("vocabulary: the first word of a dict.txt may begin with U+FEFF") {
  TemporaryDirectory dir;
  const std::string mark = "\xEF\xBB\xBF";
  const auto v = Vocabulary::build(count_words_of_lines(Strings{concat(mark, "a ", mark, "a b")}),
                                   Specials::kLanguageModel);
  CHECK(words_by_id(v) == Strings{"</s>", "<unk>", concat(mark, "a"), "b"});
  CHECK(v.dict_text() == concat(mark, mark, "a 2\nb 1\n"));
  v.write(dir / "dict.txt");
  CHECK(words_by_id(Vocabulary::read(dir / "dict.txt", Specials::kLanguageModel)) ==
        words_by_id(v));
  const auto one = Vocabulary::read(dir.write("one", concat(mark, "a 2\n", mark, "b 1\n")),
                                    Specials::kLanguageModel);
  CHECK(words_by_id(one) == Strings{"</s>", "<unk>", "a", concat(mark, "b")});
  CHECK(one.dict_text() == concat("a 2\n", mark, "b 1\n"));
}

TEST_CASE("vocabulary: an older dict.txt with a tab in a word opens, and its ids stay") {
  TemporaryDirectory dir;
  const std::string text = "a 3\nb\tc 2\nd 1\n";
  const auto v = Vocabulary::read(dir.write("dict.txt", text), Specials::kTranslation);
  CHECK(v.size() == 4 + 3);
  CHECK(v.word(5) == "b\tc");
  CHECK(v.dict_text() == text);
  // No text has that word: a tab separates its words.
  CHECK(v.encode_sentence("a b\tc\td") == std::vector<int32_t>{4, 3, 3, 6, 2});
}

TEST_CASE("vocabulary: a translation model's specials, and which of them a dict.txt may list") {
  TemporaryDirectory dir;
  const Strings lines = {"a <pad> a </s>", "<unk> b <s>"};
  const auto v =
      Vocabulary::build(count_words_of_lines(lines), Specials::kTranslation, {.min_count = 2});
  CHECK(words_by_id(v) == Strings{"<s>", "<pad>", "</s>", "<unk>", "a"});
  CHECK(v.counts() == std::vector<int64_t>{1, 1, 1 + 2, 1 + 1, 2});
  CHECK(v.dict_text() == "a 2\n");
  const std::string listed = dir.write("dict.txt", "a 2\n</s> 3\n");
  CHECK(Vocabulary::read(listed, Specials::kLanguageModel).count(0) == 3);
  CHECK(has(error_of([&] { Vocabulary::read(listed, Specials::kTranslation); }),
            "dict.txt, line 2: '</s>' is already in the dictionary, which begins with <s>, <pad>, "
            "</s> and <unk>"));
  // As in fairseq: flagged, it becomes a word of its own, which is found from then on.
  const auto flagged = Vocabulary::read(dir.write("flagged", "a 2\n</s> 3 #fairseq:overwrite\n"),
                                        Specials::kTranslation);
  CHECK(flagged.size() == 6);
  CHECK(flagged.id("</s>") == 5);
}

TEST_CASE("vocabulary: lists of other programs are read, without the marks beside their words") {
  TemporaryDirectory dir;
  const auto words = [&](const std::string& text, const Specials& specials) {
    const auto v = Vocabulary::read(dir.write("list", text), specials);
    const Strings all = words_by_id(v);
    return Strings(all.begin() + specials.size, all.end());
  };
  const Strings expected{"the", "cat:", ","};
  const std::vector<std::string> lists{
      // Marian's .yml, in another order, with both kinds of quotation marks
      "\"</s>\": 0\n\"<unk>\": 1\n\",\": 4\nthe: 2\n'cat:': 3\n",
      // OpenNMT-py's
      "<unk>\t1\n<blank>\t1\n<s>\t1\n</s>\t1\nthe\t20\ncat:\t3\n,\t2\n",
      // SentencePiece's .vocab
      "<unk>\t0\n<s>\t0\n</s>\t0\nthe\t-3.25\ncat:\t-4\n,\t-5\n",
      // OpenNMT-tf's and SRILM's
      "<blank>\n<s>\n</s>\nthe\ncat:\n,\n", "<s>\n</s>\n<unk>\nthe\ncat:\n,\n",
      // Kaldi's words.txt
      "<eps> 0\nthe 1\ncat: 2\n, 3\n#0 4\n<s> 5\n</s> 6\n",
      // the same sorted by word, with OpenFst's tabs, and without <eps>
      "#0 4\n, 3\n</s> 6\n<eps> 0\n<s> 5\ncat: 2\nthe 1\n",
      "<eps>\t0\nthe\t1\ncat:\t2\n,\t3\n#0\t4\n", ", 2\ncat: 1\n<s> 3\nthe 0\n",
      // blank lines at the end
      "the\ncat:\n,\n\n\n", "the: 0\n'cat:': 1\n\",\": 2\n\n"};
  for (const std::string& list : lists) {
    CAPTURE(list);
    CHECK(words(list, Specials::kLanguageModel) == expected);
    CHECK(words(list, Specials::kTranslation) == expected);
  }
  const auto v = Vocabulary::read(dir.write("list", lists[1]), Specials::kLanguageModel);
  CHECK(v.counts() == std::vector<int64_t>{0, 0, 20, 3, 2});
  // What a double-quoted key of YAML may escape.
  CHECK(words("\"a\\\"b\\\\\": 0\n\"\\u00e9\\x41\": 1\n'don''t': 2\n", Specials::kLanguageModel) ==
        Strings{"a\"b\\",
                "\xC3\xA9"
                "A",
                "don't"});
}

TEST_CASE("vocabulary: what is wrong with lists of other programs, and JSON") {
  TemporaryDirectory dir;
  const auto refusal = [&](const std::string& text) {
    return error_of([&] { Vocabulary::read(dir.write("list", text), Specials::kTranslation); });
  };
  CHECK(has(refusal("a: 0\nb: 2\n"), "list, line 2: the id 2 in a vocabulary of 2 words"));
  CHECK(has(refusal("a: 0\nb: 0\n"), "list, line 2: the id 0 is that of line 1 already"));
  CHECK(has(refusal("a: 0\n\"\\q\": 1\n"), "list, line 2: '\"\\q\"' is not a word"));
  CHECK(has(refusal("<s>\na\nb\na\n"), "list, line 4: 'a' stands in the list twice"));
  // No model could open a dictionary that held these.
  for (const char* word : {"\"the cat\"", "\" \"", "\"\\x00\""})
    CHECK_MESSAGE(
        has(refusal(concat("</s>: 0\n<unk>: 1\n", word, ": 2\n")), "has a space or a NUL byte"),
        word);
  CHECK(has(refusal("a: 0\n\"the: 1\n"), "list, line 2: '\"the' is not a word"));
  CHECK(Vocabulary::read(dir.write("list", "\"a\" : 0\nb: 1\n"), Specials::kTranslation)
            .word(Specials::kTranslation.size) == "a");
  CHECK(has(refusal("<s>\n</s>\n"), "lists no word beside"));
  // Kaldi's words.txt with a gap, or an id twice.
  CHECK(has(refusal("<eps> 0\na 1\nb 3\n"),
            "list, line 3: the id 3 in a vocabulary of 3 words; the ids of Kaldi's words.txt are"));
  CHECK(has(refusal("a 0\nb 1\nc 5\n"), "list, line 3: the id 5"));
  CHECK(has(refusal("<eps> 0\na 1\nb 1\n"), "list, line 3: the id 1 is that of line 2 already"));
  // Counts, which fall, or repeat, or have no 0.
  for (const char* counts : {"a 2\nb 1\nc 0\n", "a 3\nb 0\nc 0\n", "a 1\nb 2\nc 3\n", "a 0\nb 1\n"})
    CHECK(refusal(counts).empty());
  for (const char* json :
       {"{\"</s>\": 0, \"the\": 1}", "{\"a\":0}\n", "{\n  \"a\": 0\n}\n", "[\"a\", \"b\"]\n",
        "[\n\"a\"\n]\n", "{\n\n\t\t\"a\\\"}\"\n  :\n 0 }", "\xEF\xBB\xBF{\r\n    \"a\": 0\r\n}\r\n",
        " {\"a\":\n0}", "[\n  [\n    \"a\",\n    -1.5\n  ]\n]\n", "[\n {\"a\" : 1}]",
        "{\n    \"model\": {\n        \"vocab\": {}\n    }\n}\n"})
    CHECK_MESSAGE(has(refusal(json), "is JSON, as Hugging Face's vocab.json"), json);
  // These are words of a dict.txt, or of a list of words.
  for (const char* words : {"{ 3\n[ 2\n", "[ 1\n] 1\n", "{\n}\n", "{\n\"\n:\n", "[\n\"a\nb\"\n,\n"})
    CHECK_MESSAGE(refusal(words).empty(), words);
  // A line of any length is quoted in part.
  CHECK(refusal("a 1\n" + std::string(30'000, 'x') + "\n").size() < 250);
  // A saved model's dict.txt is nothing else.
  CHECK(has(error_of([&] {
              Vocabulary::read_saved(dir.write("list", "a\nb\n"), Specials::kLanguageModel);
            }),
            "line 1: 'a' lacks a word"));
}

TEST_CASE("vocabulary: errors") {
  TemporaryDirectory dir;
  const auto read_error = [&](const std::string& text) {
    return error_of(
        [&] { Vocabulary::read(dir.write("dict.txt", text), Specials::kLanguageModel); });
  };
  CHECK(has(read_error("a 2\nb 1\na 1\n"), "dict.txt, line 3: 'a' is already in the dictionary"));
  CHECK(has(read_error("</s> 2\na 1\n</s> 2\n"), "line 3: '</s>' is already"));
  CHECK(has(read_error("a 2\nb\n"), "line 2: 'b' lacks a word or its count"));
  CHECK(has(read_error("a 2\n\nb 1\n"), "line 2: '' lacks a word or its count"));
  CHECK(has(read_error("a 2\n 3\n"), "line 2"));
  CHECK(has(read_error("a #fairseq:overwrite\n"), "lacks a word or its count"));
  CHECK(has(read_error("a 1.5\n"), "the count '1.5' of 'a' is not a whole number"));
  CHECK(has(read_error("a -1\n"), "the count '-1'"));
  CHECK(has(read_error("a b 1\n"), "'a b' is not a single word"));
  CHECK(has(read_error("a 2\nb\t1\n"),
            "lacks a word or its count"));  // only the space separates in a dict.txt
  CHECK(has(read_error("a 99999999999999999999\n"), "is not a whole number"));
  CHECK(has(read_error("</s> 2\n<unk> 1\n"), "lists no word beside"));
  CHECK(has(read_error(""), "lists no word beside"));
  const auto counts = count_words_of_lines(kText);
  CHECK(has(
      error_of([&] { Vocabulary::build(counts, Specials::kLanguageModel, {.min_count = 100}); }),
      "no word occurs 100 times in 4 sentences of 13 words: lower the minimum count"));
  CHECK(has(error_of([&] {
              Vocabulary::build(counts, Specials::kLanguageModel, {1, 2});
            }),
            "vocabulary size 2 leaves no room"));
  CHECK(has(error_of([&] {
              Vocabulary::build(counts, Specials::kLanguageModel, {1, -1});
            }),
            "vocabulary size -1"));
  CHECK(has(error_of([&] { Vocabulary::build(counts, Specials::kLanguageModel).word(8); }),
            "no word has the id 8: this vocabulary has 8"));
  CHECK(has(error_of([&] { Vocabulary::build(counts, Specials::kLanguageModel).count(-1); }),
            "id -1"));
  CHECK(has(error_of([&] {
              Vocabulary::build(counts, Specials::kLanguageModel).write(dir / "no/dict.txt");
            }),
            "cannot be written"));
}

TEST_CASE("vocabulary: the captions have 9,713 words seen three times or more" *
          doctest::test_suite("needs DATA")) {
  const std::string captions = corpus_file("captions/train.en");
  if (captions.empty()) return;
  const auto counts = count_words({captions});
  const auto v = Vocabulary::build(counts, Specials::kLanguageModel, {.min_count = 3});
  CHECK(counts.sentences == 145000);
  CHECK(counts.words.size() == 19585);
  CHECK(v.size() == 9715);
  const Corpus corpus({captions}, v);
  CHECK(corpus.tokens() == counts.tokens + counts.sentences);
  CHECK(corpus.unknown() == v.count(Specials::kLanguageModel.unknown));
}

TEST_CASE("vocabulary: a model's dictionary has special words in the order of its rows") {
  TemporaryDirectory dir;
  const auto read = [&](const std::string& text) {
    return error_of(
        [&] { Vocabulary::read_saved(dir.write("saved", text), Specials::kLanguageModel); });
  };
  CHECK(read("</s> 4\n<unk> 0\na 2\n").empty());
  CHECK(read("a 2\n").empty());
  // Its first word may be how a zip archive begins.
  CHECK(read("PK\x03\x04 2\n").empty());
  CHECK(has(read("<unk> 0\n</s> 4\na 2\n"),
            "line 1: '<unk>' is row 1 of a model here, and not row 0"));
  CHECK(has(read("a 2\n</s> 4\n<unk> 0\n"), "line 2: '</s>' is row 0 of a model here"));
}

TEST_CASE("corpus: sentences of several files in order, each with </s>") {
  TemporaryDirectory dir;
  const Strings paths = {dir.write("one", "b a\n\n"), dir.write("two", "rare </s> b")};
  const auto v =
      Vocabulary::build(count_words_of_lines(kText), Specials::kLanguageModel, {.min_count = 2});
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

}  // namespace nine::tests::test_vocabulary
