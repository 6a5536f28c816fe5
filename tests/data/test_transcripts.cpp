// References as trn, STM, CTM and fairseq, and lists of fairseq, ESPnet and Whisper's JSON.
#include <doctest/doctest.h>
#include <zlib.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "core/notice.h"
#include "data/n_best.h"
#include "data/transcripts.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_transcripts {
namespace {

namespace fs = std::filesystem;
using doctest::Approx;
using Strings = std::vector<std::string>;

// Writes a gzip file.
std::string packed(const TemporaryDirectory& dir, const std::string& name,
                   const std::string& text) {
  std::string path = dir / name;
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return path;
}

}  // namespace

TEST_CASE("transcripts: the format is told by the name, then by the lists") {
  CHECK(transcript_format("a/ref.trn", NBestFormat::tsv) == TranscriptFormat::trn);
  CHECK(transcript_format("ref.stm.gz", NBestFormat::kaldi) == TranscriptFormat::stm);
  CHECK(transcript_format("ref.ctm.zst", NBestFormat::tsv) == TranscriptFormat::ctm);
  CHECK(transcript_format("ref.tsv", NBestFormat::kaldi) == TranscriptFormat::kaldi);
  CHECK(transcript_format("text", NBestFormat::espnet) == TranscriptFormat::kaldi);
  CHECK(transcript_format("ref.en", NBestFormat::moses) == TranscriptFormat::lines);
  CHECK(transcript_format("gen.txt", NBestFormat::fairseq) == TranscriptFormat::fairseq);
  CHECK(transcript_format("ref", NBestFormat::whisper) == TranscriptFormat::tsv);
}

TEST_CASE("transcripts: STM in the order of time, channels, comments, labels, gzip") {
  const TemporaryDirectory dir;
  const std::string text =
      ";; a comment\n\nu1 1 spk 2.0 3.5 <o,f0,male> a  dog\nu1 1 spk 0 1.99 the cat saw\n"
      "u2 A x 0 1 hello\nu2 B y 0.5 1.5\n";
  const Transcripts expected{{"u1", "the cat saw a dog"}, {"u2-A", "hello"}, {"u2-B", ""}};
  CHECK(read_transcripts(dir.write("ref.stm", text), TranscriptFormat::stm) == expected);
  CHECK(read_transcripts(packed(dir, "ref.stm.gz", text), TranscriptFormat::automatic) == expected);
  const auto says = [&](const std::string& line) {
    return error_of([&] { read_transcripts(dir.write("r", line + "\n"), TranscriptFormat::stm); });
  };
  CHECK(has(says("u1 1 spk 2.0"), "line 1: a line is 'waveform channel speaker begin end"));
  CHECK(has(says("u1 1 spk x 3 a"), "line 1, column 10: 'x' is not a time in seconds"));
  CHECK(has(says("u1 1 spk 3 2 a"), "line 1, column 12: the segment ends at 2, before it begins"));
  CHECK(has(says("u1 1 s 0 2 a\nu1 1 s 1 3 b"), "line 2: the segment begins at 1, before that of"));
  CHECK(has(says("u1 1 s 0 2 a { b / c }"), "column 14: '{' is part of alternatives"));
  CHECK(has(says("u1 1 s 0 2 a (uh)"), "'(uh)' may be left out in sclite"));
  CHECK(has(says("u1 1 s 0 2 IGNORE_TIME_SEGMENT_IN_SCORING"), "is not to be scored"));
  CHECK(has(says(";; nothing"), "has no texts"));
}

TEST_CASE("transcripts: CTM in the order of time, and what it cannot say") {
  const TemporaryDirectory dir;
  const auto read = [&](const std::string& text) {
    return read_transcripts(dir.write("ref.ctm", text), TranscriptFormat::ctm);
  };
  CHECK(read("u1 1 0.5 0.2 cat 0.9\nu1 1 0.1 0.3 the\nu2 1 0 1 hello 0.5 lex\nu1 1 0.9 0.1 sat "
             "NA\n") == Transcripts{{"u1", "the cat sat"}, {"u2", "hello"}});
  const auto says = [&](const std::string& text) { return error_of([&] { read(text); }); };
  CHECK(has(says("u1 1 0.5 cat\n"), "line 1: a line is 'waveform channel begin duration word"));
  CHECK(has(says("u1 1 -1 0.2 cat\n"), "line 1, column 6: '-1' is not a time"));
  CHECK(has(says("u1 1 0 0.2 cat high\n"), "column 16: the confidence is not a number"));
  CHECK(has(says("u1 1 * * <ALT_BEGIN>\n"), "begins alternatives"));
  CHECK(has(says("u1 1 0 1 uh 0.5 fp\n"), "the type of a word is lex"));
}

TEST_CASE("transcripts: trn as lm_rescore writes it, and fairseq's T- lines") {
  const TemporaryDirectory dir;
  CHECK(read_transcripts(packed(dir, "ref.trn.gz", "the cat (u1)\n(u2)\n"),
                         TranscriptFormat::automatic) ==
        Transcripts{{"u1", "the cat"}, {"u2", ""}});
  const std::string generated = dir.write("g", "S-7\tein hund\nT-7\ta dog\nH-7\t-0.5\ta cat\n");
  CHECK(read_transcripts(generated, NBestFormat::fairseq) == Transcripts{{"7", "a dog"}});
  CHECK(has(error_of([&] {
              read_transcripts(dir.write("g", "S-7\tein hund\n"), TranscriptFormat::fairseq);
            }),
            "has no lines T-"));
  CHECK(has(error_of([&] {
              read_transcripts(dir.write("g", "T-7\ta\nT-7\tb\n"), TranscriptFormat::fairseq);
            }),
            "line 2: '7' is in line 1 already"));
}

TEST_CASE("read_n_best_file: fairseq-generate's lines") {
  const TemporaryDirectory dir;
  // As fairseq 0.12 prints them with --nbest 2 and --print-alignment.
  const std::string text =
      "2022-05-05 10:00:00 | INFO | fairseq_cli.generate | loading model(s) from m.pt\n"
      "S-3\tein hund\nT-3\ta dog\nH-3\t-0.25\ta dog\nD-3\t-0.25\ta dog\nP-3\t-0.5 -0.25 0.0\n"
      "A-3\t0-0 1-1\nH-3\t-1.5\tthe  dog\nD-3\t-1.5\tthe dog\nP-3\t-4 -0.5 0.0\n"
      "S-0\tja\nT-0\tyes\nH-0\t-inf\tyes\nP-0\t-inf -1\n"
      "Generate test with beam=2: BLEU4 = 50.00\n";
  const auto file = [&](const std::string& lines, const Strings& scores) {
    return read_n_best_file(dir.write("g", lines),
                            {.format = NBestFormat::fairseq, .scores = scores});
  };
  const NBestFile plain = file(text, {});
  REQUIRE(plain.lists.size() == 2);
  CHECK(plain.lists[0].utterance == "3");
  CHECK(plain.lists[0].hypotheses[1].words == "the dog");
  CHECK(plain.lists[0].hypotheses[1].score == -1.5);
  CHECK(plain.lists[1].hypotheses[0].score == -INFINITY);
  const NBestFile sums = file(text, {"sum"});
  CHECK(sums.lists[0].hypotheses[0].score == -0.75);
  CHECK(sums.lists[0].hypotheses[1].score == -4.5);
  const NBestFile both = file(text, {"all"});
  CHECK(both.scores == Strings{"score", "sum"});
  CHECK(both.lists[0].hypotheses[1].scores == std::vector<double>{-1.5, -4.5});
  CHECK(both.lists[0].hypotheses[1].score == -1.5);
  const auto says = [&](const std::string& lines, const Strings& scores) {
    return error_of([&] { file(lines, scores); });
  };
  CHECK(has(says("H-0\t-1\n", {}), "line 1: a line is 'H-N TAB score TAB words'"));
  CHECK(has(says("H-0\tx\ta\n", {}), "line 1, column 5: 'x' is not a score"));
  CHECK(has(says("0\t-1\ta\n", {}), "begins with a letter, a dash and the number"));
  CHECK(has(says("H-x1\t-1\ta\n", {}), "begins with a letter"));
  CHECK(has(says("H-0\t-1\ta\nH-0\t-2\tb\n", {"sum"}), "line 2: the hypothesis before this one"));
  CHECK(has(says("H-0\t-1\ta\n", {"sum"}), "the last hypothesis has no line P-"));
  CHECK(has(says("H-0\t-1\ta\nP-1\t-1\n", {"sum"}), "line 2: a line P- follows its line H-"));
  CHECK(has(says("H-0\t-1\ta\nP-0\t-1\n", {"lm"}), "are score and sum"));
  CHECK(has(says("H-0\t-1\ta b\nP-0\t-1 -1\n", {"sum"}),
            "line 2: 2 numbers for a hypothesis of 2 words and its end"));
  // The pieces of a word are joined in the line H-.
  CHECK(says("H-0\t-1\tab\nP-0\t-1 -1 -1\n", {"sum"}).empty());
}

TEST_CASE("read_n_best_file: ESPnet's directory") {
  const TemporaryDirectory dir;
  const auto write = [&](const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(dir / name).parent_path());
    dir.write(name, text);
  };
  write("1best_recog/text", "u2 a  dog\nu1 the cat\n");
  write("1best_recog/score", "u2 -1.5\nu1 tensor(-2.5)\n");
  write("1best_recog/token", "u2 _a _do g\nu1 _the _cat\n");
  write("2best_recog/text", "u1 the bat\n");
  write("2best_recog/score", "u1 tensor(-3.5, device='cuda:0')\n");
  const NBestOptions options{.format = NBestFormat::espnet};
  const auto lists = read_n_best(dir / "", options);
  REQUIRE(lists.size() == 2);
  CHECK(lists[0].utterance == "u2");
  CHECK(lists[0].hypotheses.size() == 1);
  CHECK(lists[1].hypotheses[0].score == -2.5);
  CHECK(lists[1].hypotheses[1].words == "the bat");
  CHECK(lists[1].hypotheses[1].score == -3.5);
  const auto says = [&] { return error_of([&] { read_n_best(dir / "", options); }); };
  write("4best_recog/text", "u1 the rat\n");
  CHECK(has(says(), "has 4best_recog, but no 3best_recog: copy or create the directory again"));
  fs::remove_all(fs::path(dir / "4best_recog"));
  write("2best_recog/score", "u1 none\n");
  CHECK(has(says(), "2best_recog/score, line 1: 'none' is not a score"));
  write("2best_recog/score", "u1 -3\nu3 -4\n");
  CHECK(has(says(), "'u3' has a score, but"));
  write("2best_recog/text", "u1 the bat\nu4 x\n");
  CHECK(has(says(), "2best_recog/text, line 2: "));
  write("2best_recog/text", "u3 x\n");
  write("2best_recog/score", "u3 -4\n");
  CHECK(has(says(), "'u3' is not in 1best_recog"));
  fs::remove(fs::path(dir / "1best_recog/score"));
  CHECK(has(says(), "1best_recog has no score"));
  packed(dir, "1best_recog/score.gz", "u2 -1.5\nu1 -2.5\n");
  fs::remove_all(fs::path(dir / "2best_recog"));
  CHECK(read_n_best(dir / "", options).size() == 2);
  CHECK(
      has(error_of([&] { read_n_best(dir / "1best_recog/text", options); }), "is not a directory"));
}

TEST_CASE("read_n_best_file: Whisper's JSON, in an array or one object a line") {
  const TemporaryDirectory dir;
  std::string said;
  set_notices([&](const std::string& text) { said = text; });
  const auto read = [&](const std::string& text) {
    return read_n_best(dir.write("w", text), {.format = NBestFormat::whisper, .allow_empty = true});
  };
  const std::string first =
      R"({"utterance":"u1","segments":[{"text":" The cat\n","avg_logprob":-0.25,"tokens":[1,2,3]},)"
      R"({"text":" sat","avg_logprob":-0.5,"tokens":[4]}]})";
  const std::string second =
      R"({"utterance":"u1","segments":[{"text":"a cat","avg_logprob":-1,)"
      R"("words":[{"word":" a","start":0.5,"end":0.75},{"word":" cat","start":1,"end":1.5}]}]})";
  for (const std::string& text :
       {first + "\n\n" + second + "\n", "[" + first + ",\n" + second + "]"}) {
    const auto lists = read(text);
    REQUIRE(lists.size() == 1);
    REQUIRE(lists[0].hypotheses.size() == 2);
    CHECK(lists[0].hypotheses[0].words == "The cat sat");
    CHECK(lists[0].hypotheses[0].score == -2);  // 3 tokens and 1, each with an end
    CHECK(lists[0].hypotheses[0].times.empty());
    CHECK(lists[0].hypotheses[1].score == -3);  // 2 words and an end
    REQUIRE(lists[0].hypotheses[1].times.size() == 2);
    CHECK(lists[0].hypotheses[1].times[1].end == 1.5);
  }
  CHECK(read_n_best(packed(dir, "w.gz", first), {.format = NBestFormat::whisper}).size() == 1);
  // Parts of a word, also over segments; the text says where words end.
  const auto hypothesis = [&](const std::string& text, const std::string& words) {
    return read(concat(R"({"utterance":"u","text":")", text,
                       R"(","segments":[{"text":" x","avg_logprob":-1,"words":[)", words, "]}]}"))
        .at(0)
        .hypotheses.at(0);
  };
  const auto part = [](const std::string& text, int at) {
    return concat(R"({"word":")", text, R"(","start":)", at, R"(,"end":)", at + 1, "}");
  };
  const std::string parts = part(" co", 0) + "," + part("-", 1) + "," + part("op", 2);
  for (const std::string& last :
       {part(" now", 5), part("now", 5), part(" no", 5) + "," + part("w", 6)}) {
    const NBestHypothesis h = hypothesis(" co-op now", parts + "," + last);
    CHECK(h.words == "co-op now");
    REQUIRE(h.times.size() == 2);
    CHECK(h.times[0].begin == 0);
    CHECK(h.times[0].end == 3);
    CHECK(h.times[1].begin == 5);
  }
  CHECK(said.empty());
  // One part of two words; a part without a time, as whisperX leaves it.
  CHECK(hypothesis("a b", part("a b", 3)).times.at(1).begin == 3);
  CHECK(hypothesis("a 5", part("a", 3) + R"(,{"word":"5"})").times.empty());
  CHECK(hypothesis("a", "").times.empty());
  CHECK(said.empty());
  CHECK(hypothesis("a b", part("a", 3)).times.empty());
  CHECK_MESSAGE(has(said,
                    "without times, because their 'words' are not the words of their texts: "
                    "1 of 1"),
                said);
  set_notices([](const std::string&) {});
  const auto says = [&](const std::string& text) { return error_of([&] { read(text); }); };
  CHECK(has(says(first + "\n{\"utterance\": }"), "w, line 2: "));
  CHECK(has(says("[1]"), "hypothesis 1: a hypothesis is an object"));
  CHECK(has(says(R"([{"segments":[]}])"), "hypothesis 1: the key 'utterance' is missing"));
  CHECK(has(says(first + "\n" + R"({"segments":[]})"), "line 2: the key 'utterance' is missing"));
  CHECK(has(says(R"({"utterance":"u"})"), "has an array 'segments'"));
  CHECK(has(says(R"({"utterance":"u","segments":[{"text":"a"}]})"),
            "w, segment 1: the key 'avg_logprob' is missing"));
  CHECK(has(says(R"({"utterance":"u","segments":[{"text":"a","avg_logprob":"x"}]})"),
            "a number was expected"));
  CHECK(has(says(R"({"utterance":"u v","segments":[]})"), "a space or a parenthesis"));
  CHECK(has(says(R"({"utterance":"u","segments":[{"text":"a","avg_logprob":-1,)"
                 R"("words":[{"word":"a","start":2,"end":1}]}]})"),
            "segment 1: the word 'a' is from 2 to 1 seconds"));
  CHECK(has(says(R"({"utterance":"u","segments":[{"text":"a\u0000b","avg_logprob":-1}]})"),
            "the key 'text' has a NUL"));
  CHECK(has(says("\xff"), "byte 1 is not valid UTF-8"));
  CHECK(has(says(""), "is empty"));
}

// The files in tests/data/written are what these programs' own code wrote: written.py beside them.
TEST_CASE("read_n_best_file: files of openai-whisper 20250625, from several runs") {
  const std::string folder = concat(NINE_SOURCE_DIR, "/tests/data/written/whisper-20250625");
  std::string said;
  set_notices([&](const std::string& text) { said = text; });
  const auto lists = read_n_best(folder, {.format = NBestFormat::whisper});
  set_notices([](const std::string&) {});
  CHECK(said.empty());
  REQUIRE(lists.size() == 2);
  CHECK(lists[0].utterance == "u1");
  CHECK(lists[1].utterance == "u2");
  REQUIRE(lists[0].hypotheses.size() == 2);
  const NBestHypothesis &drug = lists[0].hypotheses[0], &words = lists[0].hypotheses[1];
  CHECK(drug.words == "drug drug drug drug drug drug");
  // Three windows: 3 * 3 tokens, 3 tokens, 2 * 3 tokens, each with one end.
  CHECK(drug.score ==
        Approx(-4.266740417480468 * 10 - 4.632370910644531 * 4 - 4.6639599609375 * 7));
  REQUIRE(drug.times.size() == 6);
  CHECK(drug.times[4].begin == 5.84);
  CHECK(drug.times[5].end == 7.1);
  CHECK(words.words == "tengan regardezorgeous Deadpool chez familiar Passcekילו");
  REQUIRE(words.times.size() == 6);
  CHECK(words.times[1].end == 0.46);  // the word is in two segments
  CHECK(lists[1].hypotheses[1].times.size() == 3);
  // One file is the list of its name.
  const auto one = read_n_best(folder + "/2/u2.json", {.format = NBestFormat::whisper});
  REQUIRE(one.size() == 1);
  CHECK(one[0].utterance == "u2");
  CHECK(one[0].hypotheses[0].words == lists[1].hypotheses[1].words);
  const TemporaryDirectory dir;
  CHECK(has(error_of([&] { read_n_best(dir / "", {.format = NBestFormat::whisper}); }),
            "has no file whose name ends with .json"));
}

TEST_CASE("read_n_best_file: a file of whisper-timestamped 1.15.9") {
  const TemporaryDirectory dir;
  const std::string written =
      slurp(concat(NINE_SOURCE_DIR, "/tests/data/written/whisper-timestamped-1.15.9.json"));
  const auto lists =
      read_n_best(dir.write("u-7.wav.words.json", written), {.format = NBestFormat::whisper});
  REQUIRE(lists.size() == 1);
  CHECK(lists[0].utterance == "u-7");
  REQUIRE(lists[0].hypotheses.size() == 1);
  const NBestHypothesis& h = lists[0].hypotheses[0];
  CHECK(h.words == "volcanic structures");
  CHECK(h.score == Approx(-7.218818664550781 * 7));
  REQUIRE(h.times.size() == 2);
  CHECK(h.times[1].begin == 26.96);
}

TEST_CASE("read_n_best_file: files of espnet 202511, one job or several") {
  const std::string folder = concat(NINE_SOURCE_DIR, "/tests/data/written/espnet-202511");
  const NBestOptions options{.format = NBestFormat::espnet, .allow_empty = true};
  for (const std::string& path : {folder, folder + "/output.1"}) {
    const auto lists = read_n_best(path, options);
    REQUIRE(lists.size() == 3);
    CHECK(lists[0].utterance == "u2");
    CHECK(lists[0].hypotheses.size() == 2);
    CHECK(lists[0].hypotheses[0].words == "a dog");
    CHECK(lists[0].hypotheses[1].score == -3.25);
    CHECK(lists[1].hypotheses.size() == 3);
    CHECK(lists[1].hypotheses[0].score == -12.3457);
    CHECK(lists[1].hypotheses[1].score == -150000);
    CHECK(std::isinf(lists[1].hypotheses[2].score));
    CHECK(lists[2].hypotheses.size() ==
          3);  // too short an utterance: empty texts with a score of 0
    CHECK(lists[2].hypotheses[2].words.empty());
  }
  CHECK(has(error_of([&] { read_n_best(folder, {.format = NBestFormat::espnet}); }),
            "give --allow-empty if this is silence"));
  const TemporaryDirectory dir;
  for (const char* job : {"output.10", "output.2"}) {
    fs::create_directories(fs::path(dir / job) / "1best_recog");
    dir.write(concat(job, "/1best_recog/text"), concat(job, " a\n"));
    dir.write(concat(job, "/1best_recog/score"), concat(job, " -1\n"));
  }
  const auto jobs = read_n_best(dir / "", options);
  REQUIRE(jobs.size() == 2);
  CHECK(jobs[0].utterance == "output.2");
  fs::create_directories(dir / "output.3");
  CHECK(has(error_of([&] { read_n_best(dir / "", options); }), "output.3 has no 1best_recog"));
  const TemporaryDirectory empty;
  CHECK(has(error_of([&] { read_n_best(empty / "", options); }),
            "has neither 1best_recog nor output.1"));
}

TEST_CASE("read_n_best_file: fairseq-generate's output, fairseq 0.12.2") {
  const std::string file = concat(NINE_SOURCE_DIR, "/tests/data/written/fairseq-0.12.2.txt");
  const NBestFile all = read_n_best_file(
      file, {.format = NBestFormat::fairseq, .allow_empty = true, .scores = {"all"}});
  REQUIRE(all.lists.size() == 3);
  CHECK(all.lists[0].utterance == "3");
  CHECK(all.lists[0].hypotheses[0].words == "a dog sees the c@@ at .");
  // fairseq writes P- with four digits, and the length counts </s>.
  CHECK(all.lists[0].hypotheses[0].scores[1] ==
        Approx(8 * all.lists[0].hypotheses[0].scores[0]).epsilon(1e-3));
  CHECK(all.lists[0].hypotheses[1].words == "the dog sees a <unk>");
  CHECK(all.lists[1].hypotheses[1].words.empty());
  CHECK(std::isinf(all.lists[2].hypotheses[1].scores[0]));
  CHECK(read_transcripts(file, TranscriptFormat::fairseq) ==
        Transcripts{{"3", "a dog sees the c@@ at ."}, {"0", "a dog"}, {"1", "a <<unk>> ."}});
}

}  // namespace nine::tests::test_transcripts
