// What lm_rescore computes and writes; sclite and sc_stats where they are installed (Debian's
// package sctk).
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "core/number_format.h"
#include "data/measures/significance.h"
#include "data/measures/word_errors.h"
#include "data/n_best.h"
#include "data/text.h"
#include "data/transcripts.h"
#include "nn/models/sentence_scores.h"
#include "tests/apps/rescoring_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_rescoring {
namespace {

using doctest::Approx;
namespace fs = std::filesystem;

std::string output_of(const std::string& command) {
  const TemporaryDirectory dir;
  CHECK(std::system(("{ " + command + "; } > " + (dir / "out") + " 2>&1").c_str()) == 0);
  return slurp(dir / "out");
}

}  // namespace

TEST_CASE("score_sentences_once: lm_score's sums, each sentence once, and mixtures of models") {
  const Strings text{"the cat saw a dog", "a dog", "the cat saw a dog", "a zebra heard him", ""};
  const auto sums = [&](const std::string& model) {
    std::vector<double> all;
    std::string lines;
    for (const std::string& line : text) lines += line + "\n";
    for (const std::string& line : split(lm_score({"--checkpoint", model}, lines), '\n'))
      all.push_back(std::stod(line));
    return all;
  };
  const std::vector<double> a = sums(model_a()), b = sums(model_b());
  const SentenceScores one = score_sentences_once({model_a()}, text, {.batch_tokens = 7});
  CHECK(one.distinct == 4);
  CHECK(one.tokens == 6 + 3 + 5 + 1);
  CHECK(one.unknown == std::vector<int64_t>{1});
  REQUIRE(one.log_p.size() == 5);
  for (size_t i = 0; i < 5; ++i) CHECK(one.log_p[i] == Approx(a[i]).epsilon(1e-5));
  const SentenceScores both =
      score_sentences_once({model_a(), model_b()}, text,
                           {.interpolation = Interpolation::log_linear, .weights = {0.5, 2}});
  for (size_t i = 0; i < 5; ++i)
    CHECK(both.log_p[i] == Approx(0.5 * a[i] + 2 * b[i]).epsilon(1e-5));
  // One token: the logarithm of the mean of two probabilities. More: between both models, and never
  // below the log-linear mean.
  const SentenceScores linear = score_sentences_once({model_a(), model_b()}, text, {});
  CHECK(linear.log_p[4] == Approx(std::log((std::exp(a[4]) + std::exp(b[4])) / 2)).epsilon(1e-5));
  for (size_t i = 0; i < 5; ++i) CHECK(linear.log_p[i] >= (a[i] + b[i]) / 2 - 1e-9);
  CHECK(score_sentences_once({model_a(), model_a()}, text, {}).log_p[0] ==
        Approx(a[0]).epsilon(1e-5));
  CHECK(has(error_of([&] {
              score_sentences_once({model_a()}, text, {.weights = {0.5, 0.5}});
            }),
            "2 weights for 1 model"));
  CHECK(has(error_of([&] {
              score_sentences_once({model_a(), model_b()}, text, {.weights = {0.5, 0.7}});
            }),
            "must add up to 1"));
}

// exp() of these is 0 in double.
TEST_CASE("score_sentences_once: linear, of words that no model finds likely") {
  const TemporaryDirectory dir;
  const std::string x = biased_model(dir, "x", "cat", -2000),
                    y = biased_model(dir, "y", "cat", -1000);
  const auto sum_of = [](const std::string& model) {
    return std::stod(lm_score({"--checkpoint", model}, "cat\n"));
  };
  const double at_x = sum_of(x), at_y = sum_of(y);
  CHECK(at_x < -1900);
  CHECK(std::fabs(at_x - at_y + 1000) < 1);
  const auto mixed = [](const Strings& models, const std::vector<double>& weights) {
    return score_sentences_once(models, Strings{"cat"}, {.weights = weights}).log_p.at(0);
  };
  CHECK(mixed({x, x}, {}) == Approx(at_x).epsilon(1e-6));
  // x adds nothing to y's share of "cat" and has y's probability of </s>.
  CHECK(mixed({x, y}, {}) == Approx(at_y + std::log(0.5)).epsilon(1e-6));
  CHECK(mixed({y, x}, {0.25, 0.75}) == Approx(at_y + std::log(0.25)).epsilon(1e-6));
  CHECK(mixed({x, y}, {1, 0}) == Approx(at_x).epsilon(1e-6));
  // Where the language model has no weight, what it finds impossible can be chosen or not.
  const Outcome r = run_program(
      "lm_rescore",
      {"--checkpoint", x, y, "--lambda", "0", "--nbest",
       dir.write("nbest", "u1\t-2\tcat\nu1\t-1\tdog\nu2\t-1\tcat\nu2\t-2\tdog\n"), "--reference",
       dir.write("reference", "u1\tdog\nu2\tcat\n"), "--output", dir / "out"});
  REQUIRE_MESSAGE(r.code == 0, r.err);
  CHECK(slurp(dir / "out/hyp.trn") == "dog (u1)\ncat (u2)\n");
}

TEST_CASE("lm_rescore: fewer errors than the first pass, the files say so, nothing is random") {
  const RescoringFiles f;
  const Outcome r = f.run(f.tuning());
  REQUIRE_MESSAGE(r.code == 0, r.err);
  CHECK(has(r.err, "420 hypotheses"));
  CHECK(has(r.err, "unknown to"));  // zebra
  CHECK(r.out.find("can be shown") < r.out.find("first pass"));
  const Json j = f.results();
  CHECK(j["rescored"]["errors"].get<int>() < j["first_pass"]["errors"].get<int>());
  CHECK(j["rescored"]["errors"].get<int>() >= j["oracle"]["errors"].get<int>());
  CHECK(j["oracle"]["errors"] == 0);  // each list has its reference
  CHECK(j["lambda"].get<double>() > 0);
  CHECK(j["tokens"].get<int64_t>() > 0);
  CHECK(j["difference"]["units"] == 60);
  // The counts of hyp.trn against ref.trn, and of utterances.tsv.
  const auto hyp = read_trn(f.dir / "out/hyp.trn"), ref = read_trn(f.dir / "out/ref.trn");
  WordErrors sum;
  for (const auto& [name, words] : ref) {
    std::vector<std::string_view> x, y;
    split_words(words, x);
    split_words(hyp.at(name), y);
    sum += count_errors(align_words(x, y));
  }
  CHECK(sum.errors() == j["rescored"]["errors"]);
  CHECK(sum.words() == j["rescored"]["words"]);
  int64_t listed = 0;
  for (const std::string& line : split(slurp(f.dir / "out/utterances.tsv"), '\n')) {
    const Strings cells = split(line, '\t');
    REQUIRE(cells.size() == 8);
    if (cells[0] != "utterance")
      listed += std::stoi(cells[5]) + std::stoi(cells[6]) + std::stoi(cells[7]);
  }
  CHECK(listed == sum.errors());
  const std::string before = slurp(f.dir / "out/results.json");
  const Outcome again = f.run(joined(f.tuning(), {"--threads", "1", "--json"}));
  CHECK(slurp(f.dir / "out/results.json") == before);
  CHECK(again.out == before);
  // The weights that were found, given by hand, choose the same.
  const Outcome given = f.run(
      {"--checkpoint", model_a(), "--lambda", shortest(j["lambda"]), "--mu", shortest(j["mu"])});
  REQUIRE_MESSAGE(given.code == 0, given.err);
  CHECK(f.results()["rescored"] == j["rescored"]);
  // Without the language model the first pass comes back.
  REQUIRE(f.run({"--checkpoint", model_a(), "--lambda", "0"}).code == 0);
  CHECK(slurp(f.dir / "out/hyp.trn") == slurp(f.dir / "out/first.trn"));
  CHECK(f.results()["difference"]["points"] == 0);
}

TEST_CASE("lm_rescore --nbest-cost: lists with costs give what lists with scores give") {
  const RescoringFiles f;
  REQUIRE(f.run(f.tuning()).code == 0);
  const Json scores = f.results();
  const std::string chosen = slurp(f.dir / "out/hyp.trn");
  for (const char* name : {"tune.nbest", "test.nbest"}) {
    std::string lists = slurp(f.dir / name);
    for (size_t at = 0; (at = lists.find("\t-", at)) != std::string::npos;) lists.erase(at + 1, 1);
    f.dir.write(name, lists);
  }
  REQUIRE(f.run(joined(f.tuning(), {"--nbest-cost"})).code == 0);
  CHECK(f.results()["rescored"] == scores["rescored"]);
  CHECK(f.results()["first_pass"] == scores["first_pass"]);
  CHECK(slurp(f.dir / "out/hyp.trn") == chosen);
  REQUIRE(f.run(f.tuning()).code == 0);
  CHECK(f.results()["rescored"] != scores["rescored"]);  // without it the worst are the best
}

TEST_CASE("lm_rescore: two models, a baseline, groups, equivalence") {
  const RescoringFiles f;
  REQUIRE(f.run(joined(f.tuning(), {})).code == 0);
  fs::copy_file(f.dir / "out/hyp.trn", f.dir / "a.trn");
  const Json alone = f.results();
  const Outcome r = f.run(joined(
      f.tuning(), {"--checkpoint", model_b(), "--interpolate", "log-linear", "--weights", "1", "2",
                   "--baseline", f.dir / "a.trn", "--group-by", "before:_", "--margin-wer", "50"}));
  REQUIRE_MESSAGE(r.code == 0, r.err);
  const Json j = f.results();
  CHECK(j["compared"]["errors"] == alone["rescored"]["errors"]);
  CHECK(j["difference"]["units"] == 2);
  CHECK(j["models"].size() == 2);
  CHECK(j["tost"]["equivalent"] == true);
  CHECK(has(r.out, "TOST at 5%, margin 50 points"));
  CHECK(has(r.out, "2 groups (before:_)"));
  std::string groups;
  for (const auto& [name, words] : read_trn(f.dir / "a.trn"))
    groups += name + "\t" + (name.size() % 2 == 0 ? "even" : "odd") + "\n";
  const Outcome by_file = f.run(joined(f.tuning(), {"--group-by", f.dir.write("groups", groups)}));
  REQUIRE_MESSAGE(by_file.code == 0, by_file.err);
  CHECK(f.results()["difference"]["units"] == 2);
}

TEST_CASE("lm_rescore: a Transformer chooses what lm_score's sums say, and goes with an LSTM") {
  const RescoringFiles f;
  const double lambda = 30;
  const Outcome r = f.run({"--checkpoint", transformer_model(), "--lambda", "30"});
  REQUIRE_MESSAGE(r.code == 0, r.err);
  std::string texts;
  std::vector<Strings> hypotheses;  // utterance, first-pass score, words
  for (const std::string& line : split(f.test.nbest, '\n')) {
    hypotheses.push_back(split(line, '\t'));
    texts += hypotheses.back()[2] + "\n";
  }
  const Strings sums = split(lm_score({"--checkpoint", transformer_model()}, texts), '\n');
  REQUIRE(sums.size() == hypotheses.size());
  const auto chosen = read_trn(f.dir / "out/hyp.trn");
  for (size_t i = 0, end = 0; i < hypotheses.size(); i = end) {
    const auto score = [&](size_t h) {
      return std::stod(hypotheses[h][1]) + lambda * std::stod(sums[h]);
    };
    size_t best = i;
    for (end = i; end < hypotheses.size() && hypotheses[end][0] == hypotheses[i][0]; ++end)
      if (score(end) > score(best)) best = end;
    std::vector<std::string_view> expected, words;
    split_words(hypotheses[best][2], expected);
    split_words(chosen.at(hypotheses[i][0]), words);
    CHECK(words == expected);
  }
  CHECK(f.results()["rescored"]["errors"] < f.results()["first_pass"]["errors"]);
  const Outcome both = f.run(joined(f.tuning(), {"--checkpoint", transformer_model()}));
  REQUIRE_MESSAGE(both.code == 0, both.err);
  CHECK(f.results()["models"].size() == 2);
}

TEST_CASE("lm_rescore --measure bleu: a translation's n-best lists") {
  const TemporaryDirectory dir;
  std::string nbest, reference;
  const Strings all = sentences(0, 20);
  for (size_t i = 0; i < all.size(); ++i) {
    nbest += concat(i, " ||| today today ", all[i], " zebra ||| -1\n", i, " ||| ", all[i],
                    " ||| -1.5\n");
    reference += all[i] + "\n";
  }
  const std::string lists = dir.write("n", nbest), references = dir.write("r", reference);
  fs::create_directory(dir / "out");
  dir.write("out/utterances.tsv", "of another rescoring\n");
  dir.write("out/results.json", R"({"nbest":"x","models":[]})");
  const Outcome r = run_program(
      "lm_rescore", {"--nbest", lists, "--reference", references, "--tune-nbest", lists,
                     "--tune-reference", references, "--nbest-format", "moses", "--measure", "bleu",
                     "--checkpoint", model_a(), "--output", dir / "out"});
  REQUIRE_MESSAGE(r.code == 0, r.err);
  CHECK(has(r.err, "warning: lambda is found on the very lists that it chooses from"));
  const Json j = Json::parse(slurp(dir / "out/results.json"));
  CHECK(j["bleu"]["rescored"].get<double>() == Approx(100));
  CHECK(j["bleu"]["first_pass"].get<double>() < 90);
  CHECK_FALSE(fs::exists(dir / "out/utterances.tsv"));
}

TEST_CASE("lm_rescore: log zeros, and words that the model excludes, are counted and not chosen") {
  const RescoringFiles f;
  f.dir.write("tune.nbest", f.tune.nbest + "x_zero\t-1\tthe cat\nx_zero\t-1e30\tthe dog\n");
  f.dir.write("tune.ref", f.tune.reference + "x_zero\tthe cat\n");
  f.dir.write("test.nbest", f.test.nbest + "x_zero\t-inf\tthe cat\nx_zero\t-1\tthe dog\n");
  f.dir.write("test.ref", f.test.reference + "x_zero\tthe cat\n");
  const Outcome r = f.run(f.tuning());
  REQUIRE_MESSAGE(r.code == 0, r.err);
  for (const char* file : {"tune.nbest", "test.nbest"})
    CHECK_MESSAGE(has(r.err, concat(file,
                                    ": hypotheses that cannot be chosen: 1, whose scores, "
                                    "-inf or -1e10 and below, are log zeros")),
                  r.err);
  CHECK(read_trn(f.dir / "out/hyp.trn").at("x_zero") == "the dog");
  CHECK(f.results()["lambda"].get<double>() > 0);
  CHECK(f.results()["log_zero_scores"] == 1);
  CHECK(f.results()["excluded_hypotheses"] == 0);
  // A word with a bias of -inf.
  f.dir.write("test.nbest", "u1\t-1\tthe cat\nu1\t-9\tthe dog\n");
  f.dir.write("test.ref", "u1\tthe dog\n");
  const std::string model = biased_model(f.dir, "excluding", "cat", -INFINITY);
  const Outcome excluding = f.run({"--checkpoint", model, "--lambda", "0.001"});
  REQUIRE_MESSAGE(excluding.code == 0, excluding.err);
  CHECK_MESSAGE(has(excluding.err, "cannot be chosen: 1, with a word that a model excludes"),
                excluding.err);
  CHECK(f.results()["excluded_hypotheses"] == 1);
  CHECK(slurp(f.dir / "out/hyp.trn") == "the dog (u1)\n");
  REQUIRE(f.run({"--checkpoint", model, "--lambda", "0"}).code == 0);
  CHECK(slurp(f.dir / "out/hyp.trn") == "the cat (u1)\n");
}

TEST_CASE("lm_rescore: the table rounds halves up, as sclite does") {
  const RescoringFiles f;
  f.dir.write("test.nbest", "u1\t-1\tthe cat saw a dog the cat saw a dog the cat saw a dog cat\n");
  f.dir.write("test.ref", "u1\tthe cat saw a dog the cat saw a dog the cat saw a dog dog\n");
  const Outcome r = f.run({"--checkpoint", model_a(), "--lambda", "0"});
  REQUIRE_MESSAGE(r.code == 0, r.err);
  CHECK_MESSAGE(has(r.out, "rescored       16       1     6.3"), r.out);  // of 6.25
}

TEST_CASE("lm_rescore: one utterance has no intervals, and needs no second") {
  const RescoringFiles f;
  f.dir.write("test.nbest", "u1\t-1\tthe cat\nu1\t-9\tthe dog\n");
  f.dir.write("test.ref", "u1\tthe dog\n");
  const Strings given{"--checkpoint", model_a(), "--lambda", "0"};
  const Outcome r = f.run(given);
  REQUIRE_MESSAGE(r.code == 0, r.err);
  CHECK_MESSAGE(has(r.out, "# one utterance has no intervals"), r.out);
  CHECK(!has(r.out, "["));
  CHECK(has(r.out, "difference: rescored - first pass = 0.00 points\n"));
  const Json j = f.results();
  CHECK(j["rescored"]["errors"] == 1);
  CHECK(j["rescored"]["interval"].is_null());
  CHECK(j["difference"]["units"] == 1);
  CHECK(j["difference"]["interval_95"].is_null());
  CHECK(j["power"]["margin"].is_null());
  const Outcome margin = f.run(joined(given, {"--margin-wer", "1"}));
  CHECK(margin.code == 1);
  CHECK_MESSAGE(has(margin.err, "has one utterance, but --margin-wer needs two"), margin.err);
}

TEST_CASE("lm_rescore: every segment is better by the same number of errors") {
  const TemporaryDirectory dir;
  std::string nbest, reference, baseline;
  for (int i = 0; i < 40; ++i) {
    nbest += concat("u", i, "\t-1\tthe cat saw a dog\n");
    reference += concat("u", i, "\tthe cat saw a dog\n");
    baseline += concat("the cat saw a bird (u", i, ")\n");
  }
  const Outcome r = run_program(
      "lm_rescore", {"--checkpoint", model_a(), "--lambda", "0", "--nbest",
                     dir.write("nbest", nbest), "--reference", dir.write("reference", reference),
                     "--baseline", dir.write("baseline.trn", baseline), "--output", dir / "out"});
  REQUIRE_MESSAGE(r.code == 0, r.err);
  CHECK_MESSAGE(has(r.out, "40 segments, mean 1.000, deviation 0.000, Z inf, p <0.0001"), r.out);
  const Json j = Json::parse(slurp(dir / "out/results.json"));
  CHECK(j["mapsswe"]["z"].is_null());
  CHECK(j["mapsswe"]["p"] == 0);
  // One segment has no test.
  const Outcome one =
      run_program("lm_rescore", {"--checkpoint", model_a(), "--lambda", "0", "--nbest",
                                 dir.write("nbest", "u0\t-1\tthe cat saw a dog\n"), "--reference",
                                 dir.write("reference", "u0\tthe cat saw a dog\n"), "--baseline",
                                 dir.write("baseline.trn", "the cat saw a bird (u0)\n"), "--output",
                                 dir / "one"});
  CHECK_MESSAGE(has(one.out, "MAPSSWE: 1 segment, difference 1.000: a test needs two or more"),
                one.out);
  CHECK(Json::parse(slurp(dir / "one/results.json"))["mapsswe"]["p"].is_null());
}

TEST_CASE("lm_rescore: sclite's Sum/Avg and sc_stats' MAPSSWE of what it wrote" *
          doctest::test_suite("check needs sctk")) {
  require_sctk();
  const RescoringFiles f;
  REQUIRE(f.run(f.tuning()).code == 0);
  const Json j = f.results();
  const std::string cd = "cd " + (f.dir / "out") + " && ";
  for (const char* name : {"first", "hyp"}) {
    const std::string file = name;
    output_of(cd + "sctk sclite -r ref.trn trn -h " + file + ".trn trn " + file +
              " -i rm -s -o sgml");
    const std::string sum =
        output_of(cd + "sctk sclite -r ref.trn trn -h " + file + ".trn trn -i rm -s -o sum stdout");
    const Json& own = j[file == "hyp" ? "rescored" : "first_pass"];
    std::smatch avg;
    REQUIRE_MESSAGE(
        std::regex_search(sum, avg,
                          std::regex(R"(Sum/Avg *\| *(\d+) +(\d+) *\| *([\d.]+) +([\d.]+) )"
                                     R"(+([\d.]+) +([\d.]+) +([\d.]+))")),
        sum);
    const auto percent = [&](const char* what) {
      return percent_text(own[what].get<int64_t>(), own["words"].get<int64_t>());
    };
    CHECK(avg[2] == concat(own["words"].get<int64_t>()));
    CHECK(avg[4] == percent("substitutions"));
    CHECK(avg[5] == percent("deletions"));
    CHECK(avg[6] == percent("insertions"));
    CHECK(avg[7] == percent("errors"));
  }
  const std::string stats = output_of(cd +
                                      "for how in v u; do cat first.trn.sgml hyp.trn.sgml | "
                                      "sctk sc_stats -p -t mapsswe -$how -n $how; done; "
                                      "cat v.stats.mapsswe u.stats.unified");
  std::smatch z;
  REQUIRE_MESSAGE(
      std::regex_search(stats, z, std::regex(R"(# segs: (\d+)\)[^\n]*Z Stat: (-?[\d.]+)\))")),
      stats);
  CHECK(z[1] == concat(j["mapsswe"]["segments"].get<int64_t>()));
  const double own = j["mapsswe"]["z"].get<double>();
  CHECK(z[2] == fixed(own, 3));
  // sc_stats looks Z up in steps of 0.01, at the next lower one.
  std::smatch p;
  REQUIRE_MESSAGE(
      std::regex_search(stats, p, std::regex(R"(MP +\|\|[^\n]*\| +\S+ +(<?[\d.]+)[ *]+\|\|)")),
      stats);
  const double looked_up = normal_two_sided(std::floor(std::fabs(own) * 100) / 100);
  CHECK(p[1] == (looked_up < 0.001 ? "<0.001" : fixed(looked_up, 3)));
  CHECK(j["mapsswe"]["p"].get<double>() <= looked_up);
}

}  // namespace nine::tests::test_rescoring
