// N-best lists and their references, as recognisers and translation systems write them.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/notice.h"
#include "data/n_best.h"
#include "data/transcripts.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_n_best {
namespace {

using Strings = std::vector<std::string>;

std::vector<NBestList> read(const std::string& text, const NBestOptions& options = {}) {
  const TemporaryDirectory dir;
  return read_n_best(dir.write("list", text), options);
}

std::string refusal(const std::string& text, const NBestOptions& options = {}) {
  return error_of([&] { read(text, options); });
}

}  // namespace

TEST_CASE("read_n_best: the four formats") {
  const auto tsv = read("u1\t-12.5\tthe  cat \nu1\t-13\ta cat\nu2\t1e3\tdog\n");
  REQUIRE(tsv.size() == 2);
  CHECK(tsv[0].utterance == "u1");
  REQUIRE(tsv[0].hypotheses.size() == 2);
  CHECK(tsv[0].hypotheses[0].words == "the cat");
  CHECK(tsv[0].hypotheses[0].score == -12.5);
  CHECK(tsv[1].hypotheses[0].score == 1000);
  CHECK(read("u1\t12.5\tcat\n", {.cost = true})[0].hypotheses[0].score == -12.5);
  const auto srilm =
      read("u1 -10.5 -2 4 <s> the cat </s>\nu1 -11 -2 1 cat\n", {.format = NBestFormat::srilm});
  CHECK(srilm[0].hypotheses[0].score == -12.5);
  CHECK(srilm[0].hypotheses[0].words == "the cat");
  CHECK(srilm[0].hypotheses[1].words == "cat");
  const auto kaldi = read("a-b-1 7.5 the cat\na-b-2 8 cat\nc-1 3 x\n",
                          {.format = NBestFormat::kaldi, .cost = true});
  REQUIRE(kaldi.size() == 2);
  CHECK(kaldi[0].utterance == "a-b");
  CHECK(kaldi[0].hypotheses[1].score == -8);
  const auto moses = read("0 ||| ein hund ||| lm= -3 ||| -7.25\n0 ||| hund ||| -8\n1 ||| x ||| 0\n",
                          {.format = NBestFormat::moses});
  REQUIRE(moses.size() == 2);
  CHECK(moses[0].hypotheses[0].words == "ein hund");
  CHECK(moses[0].hypotheses[0].score == -7.25);
  const auto features = read(
      "0 ||| a b ||| d: 0 -0.5 lm: -inf w: -5 ||| -1\n0 ||| b |||  ||| -2\n"
      "0|||c|||lm=-3 tm_0=1|||-3\n0 ||| d e ||| 0-0 12-1 ||| F0= -4 ||| -4\n",
      {.format = NBestFormat::moses});
  REQUIRE(features[0].hypotheses.size() == 4);
  CHECK(features[0].hypotheses[0].words == "a b");
  CHECK(features[0].hypotheses[1].words == "b");
  CHECK(features[0].hypotheses[2].score == -3);
  CHECK(features[0].hypotheses[3].words == "d e");
}

TEST_CASE("read_n_best: Moses' segmentation and alignment behind the score, Marian's before it") {
  // As Moses' OutputNBest writes them; a hypothesis without links has an empty field.
  const auto lists = read(
      "0 ||| a b  ||| LM0= -9 D0= 0 ||| -8 ||| 0=0 1-2=1  ||| 0-0 1-1 2-1 \n"
      "0 ||| a ||| LM0= -9 ||| -8.5 ||| 0-0\n"
      "0 ||| b ||| LM0= -9 ||| -9 ||| \n"
      "0 ||| c ||| F0= -4 ||| 0-0 10-1 ||| -4.25\n"
      "0 ||| d ||| 3 -5 ||| -5 ||| 0-1=2-3\n",
      {.format = NBestFormat::moses});
  Strings words;
  std::vector<double> scores;
  for (const NBestHypothesis& h : lists.at(0).hypotheses) {
    words.push_back(h.words);
    scores.push_back(h.score);
  }
  CHECK(words == Strings{"a b", "a", "b", "c", "d"});
  CHECK(scores == std::vector<double>{-8, -8.5, -9, -4.25, -5});
  // moses -report-segmentation, and -report-segmentation-enriched with alignment and scores.
  std::string said;
  set_notices([&](const std::string& text) { said += text; });
  const std::vector<NBestList> segmented = read(
      "0 ||| the |0-0| small house |1-2|  ||| LM0= -9 ||| -8\n"
      "0 ||| the |0-0,wa=0-0 ,total=-1.5,LM0= -2 TM0= 0 -1| house |1-2,wa=,total=-1| ||| -9\n"
      "0 ||| a|b |x| |0-| || |1-1,2| ||| -9.5\n",
      {.format = NBestFormat::moses});
  set_notices([](const std::string&) {});
  CHECK(segmented[0].hypotheses[0].words == "the small house");
  CHECK(segmented[0].hypotheses[1].words == "the house");
  CHECK(segmented[0].hypotheses[2].words == "a|b |x| |0-| || |1-1,2|");  // of other programs
  CHECK_MESSAGE(has(said, "such as |0-0|, are no words; they are in 2 of 3 lines"), said);
  CHECK(has(refusal("0 ||| the |0-0,wa=0-0 house ||| -8\n", {.format = NBestFormat::moses}),
            "the segmentation that begins with '|0-0,wa=0-0' does not end with |"));
  CHECK(has(refusal("0 ||| |0-0| ||| -8\n", {.format = NBestFormat::moses}), "has no words"));
  CHECK(has(refusal("0 ||| a ||| 0-0 ||| 1-1\n", {.format = NBestFormat::moses}),
            "'0-0' is not a score"));
  CHECK(has(refusal("0 ||| a ||| -8 ||| 0-0 b\n", {.format = NBestFormat::moses}),
            "'0-0 b' is not a score"));
}

TEST_CASE("read_n_best: SRILM's number of words is that of the words") {
  const auto words = [](const std::string& line) {
    return read("u1 -10.5 -2 " + line + "\n", {.format = NBestFormat::srilm})
        .at(0)
        .hypotheses.at(0)
        .words;
  };
  CHECK(words("2 the cat") == "the cat");
  CHECK(words("2 <s> the cat </s>") == "the cat");
  CHECK(words("4 <s> the cat </s>") == "the cat");
  for (const char* counted : {"2", "3"})  // SRILM counts no pauses
    CHECK(words(std::string(counted) + " the -pau- cat") == "the cat");
  for (const char* line : {"the cat sat", "3 the cat", "1 the cat", "2.0 the cat", "-2 the cat",
                           "3 <s> the cat </s>", "2cats the cat"})
    CHECK(has(refusal(concat("u1 -10.5 -2 ", line, "\n"), {.format = NBestFormat::srilm}),
              "list, line 1: the number of words is "));
}

TEST_CASE("read_n_best: numbers with a plus or too small for a double; long words in messages") {
  const auto lists = read("u1\t+5\ta\nu1\t1e-400\tb\nu1\t-1e-400\tc\n");
  CHECK(lists[0].hypotheses[0].score == 5);
  CHECK(lists[0].hypotheses[1].score == 0);
  CHECK(has(refusal("u1\t1e400\ta\n"), "'1e400' is not a score"));
  CHECK(refusal("u1\t" + std::string(9000, 'x') + "\ta\n").size() < 300);
}

TEST_CASE("read_n_best: what is malformed") {
  CHECK(has(refusal("u1\t-1\tcat\nu1 -1 cat\n"), "line 2: a line is 'utterance TAB score"));
  CHECK(has(refusal("\t-1\tcat\n"), "no utterance"));
  CHECK(has(refusal("u1\tx\tcat\n"), "'x' is not a score"));
  CHECK(has(refusal("u1\tnan\tcat\n"), "'nan' is not a score"));
  CHECK(has(refusal("u1\t1\t\n"), "line 1: a hypothesis of 'u1' has no words; give --allow-empty"));
  CHECK(read("u1\t1\t\n", {.allow_empty = true})[0].hypotheses[0].words.empty());
  CHECK(has(refusal("u1\t1\ta\nu2\t1\ta\nu1\t1\tb\n"), "line 3: 'u1' is in line 1 already"));
  // Kaldi's keys: a hypothesis has one.
  const NBestOptions kaldi{.format = NBestFormat::kaldi};
  CHECK(has(refusal("u1-1 3 a\nu1-2 2 b\nu1-1 1 c\n", kaldi),
            "line 3: 'u1-1' is in line 1 already; a hypothesis has one line"));
  CHECK(has(refusal("u1-1 3 a\nu2-1 2 b\nu1-2 1 c\n", kaldi),
            "line 3: 'u1' is in line 1 already; the lines of an utterance must follow"));
  CHECK(read("u1-1 3 a\nu1-2 2 b\nu1-1-1 1 c\n", kaldi).size() == 2);
  CHECK(has(refusal("u (1)\t1\ta\n"), "a space or a parenthesis"));
  CHECK(has(refusal("u1-x 3 a\n", {.format = NBestFormat::kaldi}), "such as u17-1"));
  CHECK(has(refusal("u1 3 4\n", {.format = NBestFormat::srilm}), "has 3 fields"));
  CHECK(has(refusal("u1 ||| a\n", {.format = NBestFormat::moses}), "has 1 |||"));
  CHECK(has(refusal("u 1 ||| a ||| 2\n", {.format = NBestFormat::moses}), "not the name"));
  // What stands behind a ||| that is a word would be left out of the hypothesis.
  CHECK(has(refusal("0 ||| a ||| -1\n0 ||| a ||| b ||| -1\n", {.format = NBestFormat::moses}),
            "line 2: between words and score a line may have features such as 'lm= -3' and an "
            "alignment such as 0-0, but this has 'b'; write a word ||| as &#124;"));
  CHECK(has(refusal("0 ||| a ||| lm= -3 b ||| -1\n", {.format = NBestFormat::moses}),
            "this has 'lm= -3 b'"));
  CHECK(has(refusal("0 ||| a ||| b ||| lm= -3 ||| -1\n", {.format = NBestFormat::moses}),
            "line 1: between words and score a line may have features such as 'lm= -3' and an "
            "alignment such as 0-0, but this has 'b'"));
}

TEST_CASE("read_n_best: a log zero, as programs write it") {
  const auto score = [](const std::string& text, const NBestOptions& options = {}) {
    return read("u1\t" + text + "\ta\n", options)[0].hypotheses[0].score;
  };
  // SRILM and PyTorch, HTK, Kaldi, DBL_MAX.
  for (const char* zero : {"-inf", "-Infinity", "-1e10", "-1e30", "-1.7976931348623157e308"})
    CHECK(score(zero) == -INFINITY);
  for (const char* zero : {"inf", "1e10", "1e300"}) CHECK(score(zero, {.cost = true}) == -INFINITY);
  CHECK(score("-9999999999") == -9999999999);
  CHECK(score("9999999999") == 9999999999);
  const NBestOptions srilm{.format = NBestFormat::srilm}, kaldi{.format = NBestFormat::kaldi};
  CHECK(read("u1 -inf -3 1 a\n", srilm)[0].hypotheses[0].score == -INFINITY);
  CHECK(read("u1 -10000000000 -3 1 a\n", srilm)[0].hypotheses[0].score == -INFINITY);
  CHECK(read("u1 5000 -1e10 1 a\n", srilm)[0].hypotheses[0].score == -INFINITY);
  CHECK(has(refusal("u1\t-1\ta\nu1\tinf\tb\n"),
            "line 2, column 4: the score inf is too large for the logarithm of a probability"));
  CHECK(has(refusal("u1\t+inf\ta\n"),
            "line 1, column 4: the score inf is too large for the logarithm"));
  CHECK(has(refusal("u1\t+-inf\ta\n"), "line 1, column 4: '+-inf' is not a score"));
  CHECK(has(refusal("u1-1 1e10 a\n", kaldi), "line 1, column 6: the score 1e+10 is too large"));
  CHECK(has(refusal("u1\t-inf\ta\n", {.cost = true}),
            "line 1, column 4: the cost -inf is too small for a cost"));
  CHECK(
      has(refusal("u1 -inf inf 1 a\n", srilm), "line 1, column 4: infinite scores of both signs"));
}

TEST_CASE("read_n_best_file: several scores, by columns, by a header, as features") {
  const TemporaryDirectory dir;
  const auto file = [&](const std::string& text, const NBestOptions& options) {
    return read_n_best_file(dir.write("list", text), options);
  };
  const auto says = [&](const std::string& text, const NBestOptions& options) {
    return error_of([&] { file(text, options); });
  };
  using Numbers = std::vector<double>;
  const NBestFile columns =
      file("u1\t-1\t-2.5\ta b\nu1\t-3\t-1\tb\n", {.scores = {"acoustic", "ngram"}});
  CHECK(columns.scores == Strings{"acoustic", "ngram"});
  CHECK(columns.lists[0].hypotheses[0].scores == Numbers{-1, -2.5});
  CHECK(columns.lists[0].hypotheses[0].score == -3.5);  // the sum
  CHECK(has(says("u1\t-1\t-2\ta\nu1\t-1\ta\n", {.scores = {"x", "y"}}),
            "line 2: a line is 'utterance TAB scores TAB words', but this has 2 tabs"));
  CHECK(has(says("u1\t-1\tx\ta\n", {.scores = {"x", "y"}}), "line 1, column 7: 'x' is not"));
  const std::string header = "utterance\tacoustic\tngram\ttotal\twords\nu1\t-1\t-2\t-7\ta b\n";
  CHECK(file(header, {}).scores == Strings{"total"});
  CHECK(file(header, {}).lists[0].hypotheses[0].score == -7);
  CHECK(file(header, {.scores = {"ngram", "acoustic"}}).lists[0].hypotheses[0].scores ==
        Numbers{-2, -1});
  CHECK(file(header, {.scores = {"all"}}).scores == Strings{"acoustic", "ngram", "total"});
  CHECK(file("utterance\tx\ty\twords\nu\t1\t2\ta\n", {}).scores == Strings{"x", "y"});
  CHECK(has(says(header, {.scores = {"tm"}}),
            "line 1: the header has no score 'tm'; its scores are acoustic, ngram, total"));
  CHECK(has(says(header + "u2\t1\ta\n", {}), "line 3: the header has 4 tabs, but this line has 2"));
  CHECK(has(says("utterance\tx\tx\twords\n", {}), "line 1: two scores have the name 'x'"));
  CHECK(has(says("u\t1\ta\n", {.scores = {"all"}}), "needs a header"));
  // An utterance of this name is no header, and words may be the word "words".
  CHECK(file("utterance\t-1\twords\n", {}).lists[0].utterance == "utterance");
  const NBestFile kaldi =
      file("u1-1 2 3 4 a\n", {.format = NBestFormat::kaldi, .cost = true, .scores = {"ac", "lm"}});
  CHECK(kaldi.lists[0].hypotheses[0].scores == Numbers{-2, -3});
  CHECK(kaldi.lists[0].hypotheses[0].words == "4 a");
  CHECK(has(says("u1-1 2\n", {.format = NBestFormat::kaldi, .scores = {"ac", "lm"}}),
            "a line is 'utterance-N 2 scores words', but this has 2 fields"));
  const NBestFile srilm = file("u -1 -2 1 a\n", {.format = NBestFormat::srilm, .scores = {"lm"}});
  CHECK(srilm.lists[0].hypotheses[0].score == -2);
  CHECK(file("u -1 -2 1 a\n", {.format = NBestFormat::srilm, .scores = {"all"}})
            .lists[0]
            .hypotheses[0]
            .scores == Numbers{-1, -2});
  // Moses: lm: and tm= with one number and several, d=-4 in one word, links between.
  const std::string moses =
      "0 ||| a b ||| lm: -3 tm: -1 -2 d=-4 ||| 0-0 1-1 ||| -9\n"
      "0 ||| b ||| tm: -5 -6 lm: -7 d= -inf ||| -8 ||| 0-0\n";
  const NBestFile all = file(moses, {.format = NBestFormat::moses, .scores = {"all"}});
  CHECK(all.scores == Strings{"lm", "tm_1", "tm_2", "d"});
  CHECK(all.lists[0].hypotheses[0].scores == Numbers{-3, -1, -2, -4});
  CHECK(all.lists[0].hypotheses[0].score == -9);
  CHECK(all.lists[0].hypotheses[1].scores == Numbers{-7, -5, -6, -INFINITY});
  const NBestFile some = file(moses, {.format = NBestFormat::moses, .scores = {"tm", "total"}});
  CHECK(some.scores == Strings{"tm_1", "tm_2", "total"});
  CHECK(some.lists[0].hypotheses[1].scores == Numbers{-5, -6, -8});
  CHECK(file(moses, {.format = NBestFormat::moses}).scores == Strings{"score"});
  CHECK(
      file("0 ||| a ||| 3 -5 ||| -1\n", {.format = NBestFormat::moses, .scores = {"all"}}).scores ==
      Strings{"feature_1", "feature_2"});
  CHECK(has(says(moses, {.format = NBestFormat::moses, .scores = {"w"}}),
            "line 1: the hypothesis has no score 'w'; its scores are lm, tm_1, tm_2, d, total"));
  CHECK(has(says(moses + "0 ||| c ||| lm: 1 tm: 1 d= 2 ||| 3\n",
                 {.format = NBestFormat::moses, .scores = {"all"}}),
            "line 3: the hypothesis has no score 'tm_1'; its scores are lm, tm, d, total"));
  // With all features, one that the first line lacks would be lost.
  const std::string sparse = "0 ||| a ||| lm: -1 ||| -2\n0 ||| b ||| lm: -1 wp: -3 ||| -4\n";
  CHECK(has(says(sparse, {.format = NBestFormat::moses, .scores = {"all"}}),
            "line 2: the feature 'wp' is not in the first line, whose features are lm"));
  CHECK(says(sparse, {.format = NBestFormat::moses, .scores = {"lm"}}).empty());
  for (const char* name : {"", "a b", "a=", "a:", "|"})
    CHECK(has(says(header, {.scores = {name}}), "the name of a score"));
}

TEST_CASE("n_best_text: what is written is read back, number for number") {
  const TemporaryDirectory dir;
  NBestFile file{
      .scores = {"acoustic", "x_1"},
      .lists = {{"u-1", {{0.1 + 0.2, "a 4 b", {1.0 / 3, -1e-300}}, {-5, "", {-5, -0.0}}}},
                {"utterance", {{-INFINITY, "words", {-INFINITY, 7}}}}}};
  const auto back = [&](NBestFormat format, bool cost) {
    return read_n_best_file(
        dir.write("list", n_best_text(file, format, cost)),
        {.format = format,
         .cost = cost,
         .allow_empty = true,
         .scores = format == NBestFormat::moses ? Strings{"all"} : file.scores});
  };
  for (const NBestFormat format :
       {NBestFormat::tsv, NBestFormat::kaldi, NBestFormat::moses, NBestFormat::srilm})
    for (const bool cost : {false, true}) {
      if (format == NBestFormat::srilm) file.scores = {"acoustic", "lm"};
      const NBestFile read = back(format, cost);
      CHECK(read.scores == file.scores);
      REQUIRE(read.lists.size() == 2);
      for (size_t l = 0; l < 2; ++l) {
        CHECK(read.lists[l].utterance == file.lists[l].utterance);
        REQUIRE(read.lists[l].hypotheses.size() == file.lists[l].hypotheses.size());
        for (size_t i = 0; i < read.lists[l].hypotheses.size(); ++i) {
          const NBestHypothesis& own = file.lists[l].hypotheses[i];
          CHECK(read.lists[l].hypotheses[i].words == own.words);
          CHECK(read.lists[l].hypotheses[i].scores == own.scores);
          if (format == NBestFormat::moses) CHECK(read.lists[l].hypotheses[i].score == own.score);
        }
      }
    }
  const auto refused = [](const std::string& words, NBestFormat format, const Strings& scores) {
    return error_of([&] {
      n_best_text({scores, {{"u7", {{0, words, std::vector<double>(scores.size(), 1)}}}}}, format);
    });
  };
  CHECK(has(refused("a|||b", NBestFormat::moses, {"x", "y"}), "of the utterance 'u7' has |||"));
  CHECK(has(refused("a |0-1| b", NBestFormat::moses, {"x", "y"}), "such as |0-1|"));
  CHECK(has(refused("a </s>", NBestFormat::srilm, {"x", "y"}), "srilm reads otherwise"));
  CHECK(has(refused("a", NBestFormat::srilm, {"x", "y", "z"}), "srilm's lists have two scores"));
  CHECK(has(refused("a", NBestFormat::moses, {"x", "total"}), "no other score is named total"));
  CHECK(has(refused("a", NBestFormat::tsv, {"x", "x"}), "two scores have the name 'x'"));
}

TEST_CASE("transcripts: by name, by number, sclite's, and what is wrong with them") {
  const TemporaryDirectory dir;
  const auto file = [&](const std::string& text) { return dir.write("t", text); };
  CHECK(read_transcripts(file("u1\tthe  cat\nu2\t\n")).at("u1") == "the cat");
  CHECK(read_transcripts(file("u1\tthe cat\nu2\t\n")).at("u2").empty());
  CHECK(read_transcripts(file("the cat\n\ndog\n"), NBestFormat::moses).at("2") == "dog");
  CHECK(read_trn(file("the cat (u1)\n(u2) \nwell (he) said (u3)\n")).at("u3") == "well (he) said");
  CHECK(has(error_of([&] { read_transcripts(file("u1\tspk1\tthe man\n")); }),
            "line 1: a line is 'utterance TAB words', but this has 2 tabs"));
  CHECK(has(error_of([&] { read_transcripts(file("0 ||| a\n"), NBestFormat::moses); }),
            "but this has |||, as a list has"));
  CHECK(has(error_of([&] { read_transcripts(file("0 the man\n1 ran\n"), NBestFormat::moses); }),
            "every line begins with a number and a space"));
  CHECK(read_transcripts(file("0 degrees\n2 men\n"), NBestFormat::moses).at("0") == "0 degrees");
  CHECK(has(error_of([&] { read_transcripts(file("u1\ta\nu1\tb\n")); }),
            "line 2: 'u1' is in line 1 already"));
  CHECK(has(error_of([&] { read_transcripts(file("u1 a\nu2 b\nu1 c\n"), NBestFormat::kaldi); }),
            "line 3: 'u1' is in line 1 already; an utterance has one text"));
  CHECK(has(error_of([&] { read_trn(file("a (u1)\nb (u1)\n")); }), "line 2: 'u1' is in line 1"));
  CHECK(has(error_of([&] { read_transcripts(file("u1 a\n")); }), "no tab"));
  // Kaldi's own `text`: a space or a tab behind the name, which may stand alone.
  const Transcripts kaldi =
      read_transcripts(file("u1 the  cat\nu2\nu3\ta dog\nu4 \n"), NBestFormat::kaldi);
  CHECK(kaldi == Transcripts{{"u1", "the cat"}, {"u2", ""}, {"u3", "a dog"}, {"u4", ""}});
  CHECK(has(error_of([&] { read_transcripts(file("u1 a\n b\n"), NBestFormat::kaldi); }),
            "line 2: a line is 'utterance words', but this has no utterance"));
  CHECK(has(error_of([&] { read_trn(file("the cat\n")); }), "ends with '(utterance)'"));
  const auto lists = read("u1\t1\ta\nu2\t1\tb\n");
  CHECK(texts_of(lists, {{"u2", "y"}, {"u1", "x"}}, "r") == Strings{"x", "y"});
  CHECK(has(error_of([&] {
              texts_of(lists, {{"u1", "x"}}, "r");
            }),
            "r has no text for the utterance 'u2'"));
  CHECK(has(error_of([&] {
              texts_of(lists, {{"u1", "x"}, {"u2", "y"}, {"u3", "z"}}, "r");
            }),
            "'u3', which has no n-best list"));
}

}  // namespace nine::tests::test_n_best
