// lm_rescore without a reference, the lists that it writes, and several first-pass scores.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "core/number_format.h"
#include "data/measures/posteriors.h"
#include "data/n_best.h"
#include "data/transcripts.h"
#include "tests/apps/rescoring_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_rescoring_choices {
namespace {

namespace fs = std::filesystem;

// The lists with two scores in place of one, whose sum is the score with noise taken back.
std::string two_scores(const std::string& nbest) {
  std::string text;
  int line = 0;
  for (const std::string& row : split(nbest, '\n')) {
    const Strings cells = split(row, '\t');
    const double noise = 40.0 * ((++line * 7) % 5);
    text +=
        concat(cells[0], '\t', std::stod(cells[1]) - 3 * noise, '\t', noise, '\t', cells[2], '\n');
  }
  return text;
}

// Runs lm_rescore on the lists to report without --reference and --output.
Outcome choose(const RescoringFiles& f, const Strings& more) {
  return run_program("lm_rescore", joined({"--nbest", f.dir / "test.nbest"}, more));
}

}  // namespace

TEST_CASE("lm_rescore without --reference: the same choice, printed or in --output") {
  const RescoringFiles f;
  const Strings given{"--checkpoint", model_a(), "--lambda", "30", "--mu", "2"};
  REQUIRE(f.run(given).code == 0);
  const std::string chosen = slurp(f.dir / "out/hyp.trn");
  CHECK(fs::exists(f.dir / "out/ref.trn"));
  const Outcome printed = choose(f, given);
  REQUIRE_MESSAGE(printed.code == 0, printed.err);
  std::string trn;
  for (const std::string& line : split(printed.out, '\n')) {
    const Strings cells = split(line, '\t');
    REQUIRE(cells.size() == 2);
    trn += concat(cells[1], " (", cells[0], ")\n");
  }
  CHECK(trn == chosen);
  // The files that need a reference are taken away, because they are of another run.
  const Outcome written = choose(f, joined(given, {"--output", f.dir / "out"}));
  REQUIRE_MESSAGE(written.code == 0, written.err);
  CHECK(slurp(f.dir / "out/hyp.trn") == chosen);
  CHECK(!fs::exists(f.dir / "out/ref.trn"));
  CHECK(!fs::exists(f.dir / "out/utterances.tsv"));
  CHECK(!f.results().contains("rescored"));
  CHECK_MESSAGE(has(written.out, "without --reference no errors are counted"), written.out);
  // Tuning needs references of its own lists alone.
  const Outcome tuned = choose(f, joined(f.tuning(), {"--json"}));
  REQUIRE_MESSAGE(tuned.code == 0, tuned.err);
  CHECK(Json::parse(tuned.out)["lambda"].get<double>() > 0);
  for (const Strings& more : std::vector<Strings>{{"--baseline", f.dir / "out/hyp.trn"},
                                                  {"--margin-wer", "1"},
                                                  {"--group-by", "before:_"},
                                                  {"--resamples", "200"}}) {
    const Outcome r = choose(f, joined(given, more));
    CHECK(r.code == 2);
    CHECK_MESSAGE(has(r.err, more[0] + " is for --reference"), r.err);
  }
}

TEST_CASE("lm_rescore --output-nbest: every score, in each format, and the same choice again") {
  const RescoringFiles f;
  const Strings given{"--checkpoint", model_a(), "--lambda", "30", "--mu", "2.5"};
  const Outcome plain = choose(f, given);
  const std::string file = f.dir / "written";
  for (const std::string format : {"tsv", "kaldi", "moses", "srilm"}) {
    CAPTURE(format);
    const Outcome r =
        choose(f, joined(given, {"--output-nbest", file, "--output-nbest-format", format}));
    REQUIRE_MESSAGE(r.code == 0, r.err);
    CHECK(r.out == plain.out);
    NBestOptions options{.format = enum_from_text<NBestFormat>(format)};
    if (format != "srilm") options.scores = {"score", "log_p", "length", "total"};
    const NBestFile read = read_n_best_file(file, options);
    const std::vector<NBestList> from = read_n_best(f.dir / "test.nbest", {});
    REQUIRE(read.lists.size() == from.size());
    for (size_t l = 0; l < from.size(); ++l) {
      CHECK(read.lists[l].hypotheses.size() == from[l].hypotheses.size());
      double last = INFINITY;
      for (const NBestHypothesis& h : read.lists[l].hypotheses) {
        if (format == "srilm") {
          CHECK(h.score <= last + 1e-9);
          last = h.score;
          continue;
        }
        const std::vector<double>& s = h.scores;
        CHECK(s[0] + 30 * s[1] + 2.5 * s[2] == doctest::Approx(s[3]).epsilon(1e-14));
        CHECK(s[3] <= last);
        last = s[3];
        CHECK(std::ranges::count_if(from[l].hypotheses, [&](const NBestHypothesis& own) {
                return own.words == h.words && own.score == s[0];
              }) > 0);
      }
    }
    // What was written is a first pass whose choice is this one.
    const Outcome again =
        run_program("lm_rescore", {"--nbest", file, "--nbest-format", format, "--nbest-scores",
                                   "total", "--checkpoint", model_a(), "--lambda", "0"});
    if (format == "tsv" || format == "moses") CHECK_MESSAGE(again.out == plain.out, again.err);
  }
  // A packed file has the same text, and the same bytes each time.
  REQUIRE(choose(f, joined(given, {"--output-nbest", file})).code == 0);
  REQUIRE(choose(f, joined(given, {"--output-nbest", file + ".gz"})).code == 0);
  const std::string packed = slurp(file + ".gz");
  CHECK(packed.starts_with("\x1f\x8b"));
  CHECK(packed.size() < slurp(file).size() / 2);
  CHECK(std::system(concat("zcat ", file, ".gz | cmp - ", file).c_str()) == 0);
  CHECK(read_n_best(file + ".gz", {}).size() == 60);
  REQUIRE(choose(f, joined(given, {"--output-nbest", file + ".gz"})).code == 0);
  CHECK(slurp(file + ".gz") == packed);
  const Outcome refused = choose(f, joined(given, {"--output-nbest-format", "tsv"}));
  CHECK(refused.code == 2);
  CHECK_MESSAGE(has(refused.err, "--output-nbest-format is for --output-nbest"), refused.err);
  const Outcome nowhere = choose(f, joined(given, {"--output-nbest", f.dir / "none/x"}));
  CHECK(nowhere.code == 1);
  CHECK_MESSAGE(has(nowhere.err, "cannot write"), nowhere.err);
}

TEST_CASE("lm_rescore: several first-pass scores are tuned together, and flags give them again") {
  RescoringFiles f;
  f.dir.write("tune.nbest", two_scores(f.tune.nbest));
  f.dir.write("test.nbest", two_scores(f.test.nbest));
  const Strings names{"--nbest-scores", "acoustic", "noise"};
  const Outcome r = f.run(joined(f.tuning(), names));
  REQUIRE_MESSAGE(r.code == 0, r.err);
  const Json j = f.results();
  CHECK(j["first_pass_scores"] == Json{"acoustic", "noise"});
  REQUIRE(j["first_weights"].size() == 2);
  CHECK(j["rescored"]["errors"].get<int>() < j["first_pass"]["errors"].get<int>());
  CHECK_MESSAGE(has(r.out, "# first pass: acoustic 1.000, noise "), r.out);
  const std::string chosen = slurp(f.dir / "out/hyp.trn"),
                    flags = j["weight_flags"].get<std::string>();
  CHECK(has(r.out, "# the same weights by hand: " + flags));
  Strings given{"--checkpoint", model_a()};
  for (const std::string& word : split(flags, ' ')) given.push_back(word);
  const Outcome again = f.run(joined(given, names));
  REQUIRE_MESSAGE(again.code == 0, again.err);
  CHECK(slurp(f.dir / "out/hyp.trn") == chosen);
  CHECK(f.results()["rescored"] == j["rescored"]);
  // The same search finds the same; the grid leaves the first pass as it is.
  REQUIRE(f.run(joined(joined(f.tuning(), names), {"--threads", "1"})).code == 0);
  CHECK(f.results()["weight_flags"] == flags);
  REQUIRE(f.run(joined(joined(f.tuning(), names), {"--tuning", "grid"})).code == 0);
  CHECK(f.results()["first_weights"].empty());
  REQUIRE(f.run(joined(joined(f.tuning(), names), {"--first-weights", "1", "3"})).code == 0);
  CHECK(f.results()["first_weights"] == Json{1.0, 3.0});
  const auto says = [&](const Strings& more, int code, const std::string& why) {
    const Outcome refused = f.run(more);
    CHECK(refused.code == code);
    CHECK_MESSAGE(has(refused.err, why), refused.err);
  };
  says(joined({"--checkpoint", model_a(), "--lambda", "1", "--first-weights", "1"}, names), 1,
       "--first-weights gives 1 numbers for the 2 first-pass scores");
  says(joined(f.tuning(), joined(names, {"--tuning", "mert", "--first-weights", "1", "2"})), 2,
       "leave one of them out");
  says(joined(f.tuning(), {"--nbest-scores", "a", "a"}), 2, "two scores have the name 'a'");
  f.dir.write("tune.nbest", f.tune.nbest);
  says(joined(f.tuning(), names), 1, "line 1: a line is 'utterance TAB scores TAB words'");
}

TEST_CASE("lm_rescore --tuning mert: at most the errors of the grid on the lists to tune on") {
  const RescoringFiles f;
  int64_t errors[2];
  for (const int mert : {0, 1}) {
    Strings own{"--nbest",  f.dir / "tune.nbest", "--reference", f.dir / "tune.ref",
                "--output", f.dir / "out",        "--tuning",    mert == 1 ? "mert" : "grid"};
    const Outcome r = run_program("lm_rescore", joined(own, f.tuning()));
    REQUIRE_MESSAGE(r.code == 0, r.err);
    errors[mert] = f.results()["rescored"]["errors"].get<int64_t>();
  }
  CHECK(errors[1] <= errors[0]);
}

TEST_CASE("lm_rescore --confidences: one for each chosen word, the same from flags by hand") {
  const RescoringFiles f;
  const Outcome r = f.run(joined(f.tuning(), {"--confidences"}));
  REQUIRE_MESSAGE(r.code == 0, r.err);
  const Json j = f.results();
  const std::string table = slurp(f.dir / "out/confidences.tsv");
  std::map<std::string, std::string> texts;
  int64_t rows = 0;
  for (const std::string& line : split(table, '\n')) {
    const Strings cells = split(line, '\t');
    REQUIRE(cells.size() == 4);
    if (cells[0] == "utterance") continue;
    ++rows;
    std::string& text = texts[cells[0]];
    text += (text.empty() ? "" : " ") + cells[2];
    CHECK(std::stod(cells[3]) >= 0);
    CHECK(std::stod(cells[3]) <= 1);
  }
  CHECK(texts == read_trn(f.dir / "out/hyp.trn"));
  CHECK(rows == j["confident_words"]);
  CHECK(j["normalised_cross_entropy"].get<double>() > 0);
  // The line of the settings is made of flags.
  const size_t at = r.out.find("--scale "), end = r.out.find(", tuned", at);
  REQUIRE(at != std::string::npos);
  Strings given{"--checkpoint", model_a(), "--confidences"};
  for (const std::string& word : split(j["weight_flags"].get<std::string>(), ' '))
    given.push_back(word);
  for (const std::string& word : split(r.out.substr(at, end - at), ' ')) given.push_back(word);
  REQUIRE(f.run(given).code == 0);
  CHECK(slurp(f.dir / "out/confidences.tsv") == table);
  // Without tuning, the scale is 1 / lambda.
  REQUIRE(f.run({"--checkpoint", model_a(), "--lambda", "8", "--confidences"}).code == 0);
  CHECK(f.results()["scale"] == 0.125);
  REQUIRE(f.run({"--checkpoint", model_a(), "--lambda", "8"}).code == 0);
  CHECK(!fs::exists(f.dir / "out/confidences.tsv"));
  const Outcome wrong = f.run(
      {"--checkpoint", model_a(), "--lambda", "8", "--confidences", "--confidence-map", "1", "0"});
  CHECK(wrong.code == 2);
  CHECK_MESSAGE(has(wrong.err, "LOW is at most HIGH"), wrong.err);
}

TEST_CASE("lm_rescore --choice mbr: what brute force over the written posteriors chooses") {
  const RescoringFiles f;
  const std::string written = f.dir / "written";
  const Outcome r = f.run({"--checkpoint", model_a(), "--lambda", "10", "--choice", "mbr",
                           "--scale", "0.05", "--output-nbest", written});
  REQUIRE_MESSAGE(r.code == 0, r.err);
  const Transcripts chosen = read_trn(f.dir / "out/hyp.trn");
  const NBestFile file = read_n_best_file(written, {.scores = {"log_posterior", "total"}});
  double expected = 0;
  int other = 0;
  for (const NBestList& list : file.lists) {
    double least = INFINITY, own = INFINITY;
    for (const NBestHypothesis& h : list.hypotheses) {
      double risk = 0;
      for (const NBestHypothesis& x : list.hypotheses)
        risk += std::exp(x.scores[0]) * static_cast<double>(word_distance(h.words, x.words));
      least = std::min(least, risk);
      if (h.words == chosen.at(list.utterance)) own = std::min(own, risk);
    }
    CHECK(own <= least + 1e-9);
    expected += least;
    other += list.hypotheses[0].words != chosen.at(list.utterance) ? 1 : 0;
  }
  CHECK(other > 0);  // not always the largest total
  CHECK(f.results()["expected_errors"].get<double>() == doctest::Approx(expected));
}

TEST_CASE("lm_rescore --confidences: sclite's NCE" * doctest::test_suite("check needs sctk")) {
  require_sctk();
  const RescoringFiles f;
  for (const char* choice : {"best", "mbr"}) {
    REQUIRE(f.run({"--checkpoint", model_a(), "--lambda", "10", "--scale", "0.05", "--confidences",
                   "--confidence-map", "0.1", "0.9", "--choice", choice})
                .code == 0);
    // A word takes a tenth of a second.
    std::string ctm, stm;
    for (const std::string& line : split(slurp(f.dir / "out/confidences.tsv"), '\n')) {
      const Strings cells = split(line, '\t');
      if (cells[0] != "utterance")
        ctm += concat(cells[0], " 1 ", 0.1 * std::stoi(cells[1]), " 0.1 ", cells[2], " ", cells[3],
                      "\n");
    }
    for (const auto& [name, words] : read_trn(f.dir / "out/ref.trn"))
      stm += concat(name, " 1 speaker 0 99 ", words, "\n");
    f.dir.write("hyp.ctm", ctm);
    f.dir.write("ref.stm", stm);
    REQUIRE(std::system(("cd " + (f.dir / ".") +
                         " && sort -k1,1 -k2,2 -k3,3n -s hyp.ctm > s.ctm && sctk sclite -r ref.stm "
                         "stm -h s.ctm ctm -s -o sum stdout > sum 2>&1")
                            .c_str()) == 0);
    const std::string sum = slurp(f.dir / "sum");
    const size_t line = sum.find("Sum/Avg");
    REQUIRE_MESSAGE(line != std::string::npos, sum);
    const Strings cells = split(sum.substr(line, sum.find('\n', line) - line), '|');
    REQUIRE(cells.size() >= 4);
    const double own = f.results()["normalised_cross_entropy"].get<double>();
    CHECK_MESSAGE(std::fabs(std::stod(cells[3]) - own) < 0.00051, sum);
  }
}

TEST_CASE("lm_rescore: its own ref.trn is a reference; hyp.ctm if the lists have times") {
  const RescoringFiles f;
  const Strings given{"--checkpoint", model_a(), "--lambda", "30"};
  REQUIRE(f.run(given).code == 0);
  const Json first = f.results();
  CHECK(!fs::exists(f.dir / "out/hyp.ctm"));
  fs::copy_file(f.dir / "out/ref.trn", f.dir / "own.trn");
  const Outcome again =
      run_program("lm_rescore", joined(given, {"--nbest", f.dir / "test.nbest", "--reference",
                                               f.dir / "own.trn", "--output", f.dir / "out"}));
  REQUIRE_MESSAGE(again.code == 0, again.err);
  CHECK(f.results()["rescored"] == first["rescored"]);
  const std::string json =
      R"({"utterance":"u1","segments":[{"text":"the cat","avg_logprob":-1,"words":)"
      R"([{"word":"the","start":0.5,"end":0.75},{"word":"cat","start":1,"end":1.5}]}]})"
      "\n"
      R"({"utterance":"u1","segments":[{"text":"a cat","avg_logprob":-3,"words":)"
      R"([{"word":"a","start":0.5,"end":0.75},{"word":"cat","start":1,"end":1.5}]}]})";
  const Outcome timed =
      run_program("lm_rescore", {"--checkpoint", model_a(), "--lambda", "0", "--nbest",
                                 f.dir.write("w.json", json), "--nbest-format", "whisper",
                                 "--output", f.dir / "timed", "--confidences", "--scale", "0.5"});
  REQUIRE_MESSAGE(timed.code == 0, timed.err);
  const std::string ctm = slurp(f.dir / "timed/hyp.ctm");
  CHECK_MESSAGE(ctm.starts_with("u1 1 0.500 0.250 the 0.9525741268224"), ctm);  // 1 / (1 + e^-3)
  CHECK_MESSAGE(has(ctm, "\nu1 1 1.000 0.500 cat "), ctm);
  CHECK(read_transcripts(f.dir / "timed/hyp.ctm", TranscriptFormat::automatic) ==
        Transcripts{{"u1", "the cat"}});
  const Outcome written = run_program(
      "lm_rescore", {"--checkpoint", model_a(), "--lambda", "0", "--nbest", f.dir / "w.json",
                     "--nbest-format", "whisper", "--output-nbest", f.dir / "x"});
  CHECK(written.code == 2);
  CHECK_MESSAGE(has(written.err, "--output-nbest is not written as whisper"), written.err);
}

}  // namespace nine::tests::test_rescoring_choices
