// lm_rescore --ngram-scores: an n-gram model's log p as a first-pass score with a weight of its
// own.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <numbers>

#include "data/n_best.h"
#include "tests/apps/rescoring_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_rescoring_ngrams {
namespace {

using doctest::Approx;

std::string arpa(bool with_unknown) {
  return concat("\\data\\\nngram 1=", with_unknown ? 5 : 4,
                "\nngram 2=4\nngram 3=2\n\n\\1-grams:\n", with_unknown ? "-1.1\t<unk>\n" : "",
                "-99\t<s>\t-0.3\n-0.8\t</s>\n-0.5\ta\t-0.2\n-0.7\tb\t0.1\n\n\\2-grams:\n"
                "-0.2\t<s> a\t-0.1\n-0.4\ta b\n-0.3\tb </s>\n-0.6\tb a\t-0.05\n\n\\3-grams:\n"
                "-0.11\t<s> a b\n-0.21\ta b </s>\n\n\\end\\\n");
}

// Words of the small models.
const std::string kWords =
    "\\data\\\nngram 1=7\nngram 2=2\n\n\\1-grams:\n-99\t<s>\t-0.4\n-0.9\t</s>\n-1.5\t<unk>\n"
    "-0.5\tthe\t-0.3\n-0.7\tcat\n-1\tdog\n-0.8\told\n\n\\2-grams:\n-0.2\t<s> the\n-0.3\tthe cat\n\n"
    "\\end\\\n";

}  // namespace

TEST_CASE("lm_rescore --ngram-scores: KenLM's log p of each hypothesis, times its weight") {
  const TemporaryDirectory dir;
  // Sums of kenlm 0.2.0's full_scores(), log10, of the same model with <unk>.
  const std::map<std::string, double> kenlm{{"a b", -0.519999995},
                                            {"b a b a", -3.699999996},
                                            {"zebra a b", -2.510000094},
                                            {"a a a", -2.700000003}};
  std::string nbest;
  for (const auto& line : kenlm) nbest += "u\t-1\t" + line.first + "\n";
  const Strings run{"--nbest",       dir.write("list", nbest),
                    "--checkpoint",  model_a(),
                    "--max-unknown", "1",
                    "--lambda",      "0.5",
                    "--mu",          "0.25"};
  const std::string open = dir.write("open.arpa", arpa(true)),
                    closed = dir.write("closed.arpa", arpa(false)), out = dir / "scored.tsv";
  const Outcome r =
      run_program("lm_rescore", joined(run, {"--ngram-scores", open, closed, "--first-weights", "1",
                                             "3", "0", "--output-nbest", out}));
  REQUIRE_MESSAGE(r.code == 0, r.err);
  CHECK_MESSAGE(has(r.err, "all hypotheses: 1 of 12 words are unknown to " + open), r.err);
  CHECK_MESSAGE(has(r.err, "that cannot be chosen: 1, with a word that " + closed), r.err);
  CHECK(r.out == "u\ta b\n");
  const NBestFile scored = read_n_best_file(out, {.scores = {"all"}});
  CHECK(scored.scores == Strings{"score", "ngram_1", "ngram_2", "log_p", "length", "total"});
  for (const NBestHypothesis& h : scored.lists.at(0).hypotheses) {
    const double log_p = kenlm.at(h.words) * std::numbers::ln10;
    CAPTURE(h.words);
    CHECK(h.scores[0] == -1);
    CHECK(h.scores[1] == Approx(log_p).epsilon(1e-6));
    if (h.words.starts_with("zebra")) {
      CHECK(std::isinf(h.scores[2]));
      CHECK(std::isinf(h.scores[5]));
      continue;
    }
    CHECK(h.scores[2] == h.scores[1]);
    CHECK(h.scores[5] ==
          Approx(-1 + 3 * h.scores[1] + 0.5 * h.scores[3] + 0.25 * h.scores[4]).epsilon(1e-12));
  }
  // Lists that have the column already keep it.
  const Outcome again = run_program(
      "lm_rescore",
      joined({"--nbest", out, "--nbest-scores", "score", "ngram_1"},
             {"--checkpoint", model_a(), "--max-unknown", "1", "--lambda", "0", "--ngram-scores",
              open, "--first-weights", "1", "1", "1", "--output-nbest", dir / "again.tsv"}));
  REQUIRE_MESSAGE(again.code == 0, again.err);
  CHECK(slurp(dir / "again.tsv").starts_with("utterance\tscore\tngram_1\tngram\tlog_p\t"));
}

TEST_CASE("lm_rescore --ngram-scores: the weights are tuned together, and flags give them again") {
  RescoringFiles f;
  const std::string model = f.dir.write("n.arpa", kWords);
  REQUIRE(f.run(f.tuning()).code == 0);
  const Json alone = f.results();
  const Outcome r = f.run(joined(f.tuning(), {"--ngram-scores", model}));
  REQUIRE_MESSAGE(r.code == 0, r.err);
  const Json j = f.results();
  CHECK(j["first_pass_scores"] == Json{"score", "ngram"});
  CHECK(j["first_pass"] == alone["first_pass"]);  // what the recogniser chose, without the model
  CHECK_MESSAGE(has(r.out, "# first pass: score 1.000, ngram "), r.out);
  const std::string chosen = slurp(f.dir / "out/hyp.trn");
  Strings given{"--checkpoint", model_a(), "--ngram-scores", model};
  for (const std::string& word : split(j["weight_flags"].get<std::string>(), ' '))
    given.push_back(word);
  const Outcome again = f.run(given);
  REQUIRE_MESSAGE(again.code == 0, again.err);
  CHECK(slurp(f.dir / "out/hyp.trn") == chosen);
  const auto says = [&](const Strings& more, int code, const std::string& why) {
    const Outcome refused = f.run(joined(more, {"--ngram-scores", model}));
    CHECK(refused.code == code);
    CHECK_MESSAGE(has(refused.err, why), refused.err);
  };
  const Strings by_hand{"--checkpoint", model_a(), "--lambda", "1"};
  says(by_hand, 2, "--ngram-scores have no weights: give --first-weights");
  says(joined(f.tuning(), {"--tuning", "grid"}), 2, "--ngram-scores have no weights");
  says(joined(by_hand, {"--first-weights", "1"}), 1,
       "--first-weights gives 1 numbers for the 2 first-pass scores of ");
  says(joined(by_hand, {"--first-weights", "1", "1", "1", "--ngram-scores", model_a()}), 2,
       "a directory is no n-gram model");
  says(joined(by_hand, {"--first-weights", "1", "1", "1", "--ngram-scores", model}), 2,
       "is named twice");
  says(joined(by_hand, {"--first-weights", "1", "1", "1", "--ngram-scores",
                        f.dir.write("x.arpa", "text\n")}),
       1, "x.arpa has no line \\data\\");
}

}  // namespace nine::tests::test_rescoring_ngrams
