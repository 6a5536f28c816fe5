// What lm_rescore warns of: lists, references and baselines that do not belong together, or that
// tell nothing.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "tests/apps/rescoring_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_rescoring_warnings {
namespace {

// Standard error of a run that must succeed.
std::string said_by(const RescoringFiles& f, const Strings& arguments) {
  const Outcome r = f.run(arguments);
  REQUIRE_MESSAGE(r.code == 0, r.err);
  return r.err;
}

// The lines that `change` makes of each line, given its number.
std::string changed_lines(const std::string& text,
                          const std::function<std::string(size_t, const std::string&)>& change) {
  std::string out;
  size_t number = 0;
  for (const std::string& line : split(text, '\n')) out += change(number++, line);
  return out;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

// References, or a .trn, whose words are those of the utterance after.
std::string shifted(const std::string& references) {
  const Strings lines = split(references, '\n');
  return changed_lines(references, [&](size_t i, const std::string& line) {
    return split(line, '\t')[0] + "\t" + split(lines[(i + 1) % lines.size()], '\t')[1] + "\n";
  });
}

std::string as_trn(const std::string& references) {
  return changed_lines(references, [](size_t, const std::string& line) {
    const Strings cells = split(line, '\t');
    return (cells.size() > 1 ? cells[1] + " " : "") + "(" + cells[0] + ")\n";
  });
}

}  // namespace

TEST_CASE("lm_rescore: lists that are tuned on and reported are known by what is in them") {
  const RescoringFiles f;
  const auto said = [&](const std::string& lists, const std::string& references) {
    f.dir.write("tune.nbest", lists);
    f.dir.write("tune.ref", references);
    const Outcome r = f.run(f.tuning());
    REQUIRE_MESSAGE(r.code == 0, r.err);
    const std::string warning = "warning: lambda is found on the very lists that it chooses from: ";
    const size_t at = r.err.find(warning);
    return at == std::string::npos ? "" : r.err.substr(at + warning.size());
  };
  CHECK(said(f.tune.nbest, f.tune.reference) == "");
  CHECK(said(f.test.nbest, f.test.reference).starts_with("60 of the 60 lists of "));
  // Under other names of utterances.
  const auto renamed = [](const std::string& lines) {
    std::string out;
    for (const std::string& line : split(lines, '\n')) out += "z" + line + "\n";
    return out;
  };
  CHECK(said(renamed(f.test.nbest), renamed(f.test.reference)).starts_with("60 of the 60 lists"));
  // Some of them, beside others.
  CHECK(said(f.tune.nbest + f.test.nbest.substr(0, f.test.nbest.find("y_r1\t")),
             f.tune.reference + f.test.reference.substr(0, f.test.reference.find("y_r1\t")))
            .starts_with("1 of the 60 lists of "));
}

TEST_CASE("lm_rescore: scores that run the wrong way get a hint at --nbest-cost") {
  const TemporaryDirectory dir;
  const auto run = [&](bool rising, const Strings& more) {
    std::string list, said;
    for (int u = 0; u < 3; ++u) {
      said += concat("u", u, "\tthe dog saw him\n");
      for (int h = 0; h < 3; ++h)
        list += concat("u", u, "\t", rising ? 10 + h : 10 - h, "\tthe dog saw",
                       h == 0 ? " him" : "", "\n");
    }
    const Outcome o = run_program(
        "lm_rescore",
        joined({"--checkpoint", model_a(), "--nbest", dir.write("list", list), "--reference",
                dir.write("said", said), "--lambda", "0", "--output", dir / "out"},
               more));
    REQUIRE_MESSAGE(o.code == 0, o.err);
    return o.err;
  };
  CHECK(has(run(true, {}), concat("lm_rescore: warning: ", dir / "list",
                                  ": in 3 of 3 lists the first hypothesis has the worst score; are "
                                  "these costs, as Kaldi's? then give --nbest-cost")));
  CHECK_FALSE(has(run(true, {"--nbest-cost"}), "nbest-cost"));
  CHECK_FALSE(has(run(false, {}), "nbest-cost"));
  CHECK(has(run(false, {"--nbest-cost"}), "are these no costs? then leave out --nbest-cost"));
}

TEST_CASE("lm_rescore: lists that tell nothing are said") {
  const RescoringFiles f;
  const auto said = [&] {
    const Outcome r = f.run(f.tuning());
    CHECK_MESSAGE(r.code == 0, r.err);
    return r.err;
  };
  const std::string nothing =
      concat("in no list of ", f.dir / "tune.nbest", " does one hypothesis");
  CHECK_FALSE(has(said(), "does one hypothesis"));
  // One hypothesis a list.
  std::string single, before;
  for (const std::string& line : split(f.tune.nbest, '\n'))
    if (const std::string name = split(line, '\t')[0]; std::exchange(before, name) != name)
      single += line + "\n";
  f.dir.write("tune.nbest", single);
  const std::string one = said();
  CHECK_MESSAGE(has(one, nothing), one);
  CHECK(f.results()["lambda"] == 0);
}

TEST_CASE(
    "lm_rescore: the first pass is the best first-pass score, and lists out of order are said") {
  const RescoringFiles f;
  const Strings given{"--checkpoint", model_a(), "--lambda", "0"};
  CHECK_FALSE(has(said_by(f, given), "does not have the best score"));
  const Json in_order = f.results();
  CHECK(in_order["lists_out_of_order"] == 0);
  // The first hypothesis of every list trades its place with the second, with its score.
  Strings lines = split(f.test.nbest, '\n');
  for (size_t i = 0; i + 1 < lines.size(); i += 7) std::swap(lines[i], lines[i + 1]);
  std::string swapped;
  for (const std::string& line : lines) swapped += line + "\n";
  f.dir.write("test.nbest", swapped);
  const std::string err = said_by(f, given);
  CHECK_MESSAGE(has(err, concat(f.dir / "test.nbest",
                                ": in 60 of 60 lists the first hypothesis does not have the best "
                                "score; the first pass is the hypothesis with the best score")),
                err);
  CHECK_FALSE(has(err, "--nbest-cost"));
  Json j = f.results();
  CHECK(j["lists_out_of_order"] == 60);
  CHECK(j["first_pass"] == in_order["first_pass"]);
  CHECK(slurp(f.dir / "out/first.trn") == slurp(f.dir / "out/hyp.trn"));
}

TEST_CASE("lm_rescore: references that do not fit the lists are counted, of lists to tune on too") {
  const RescoringFiles f;
  const Strings given{"--checkpoint", model_a(), "--lambda", "0"};
  const auto reported = [&](const std::string& references) {
    f.dir.write("test.ref", references);
    return said_by(f, given);
  };
  const auto fits_not = [&](const std::string& list, const std::string& count) {
    return concat("warning: ", f.dir / list, ".ref does not fit ", f.dir / list, ".nbest: in ",
                  count);
  };
  CHECK_FALSE(has(reported(f.test.reference), "does not fit"));
  // In capitals: all but one utterance, more than a tenth of the words, and fewer.
  const auto capitals = [&](size_t from) {
    return changed_lines(f.test.reference, [&](size_t i, const std::string& line) {
      return split(line, '\t')[0] + "\t" +
             (i >= from ? upper(split(line, '\t')[1]) : split(line, '\t')[1]) + "\n";
    });
  };
  const std::string most = reported(capitals(1));
  CHECK_MESSAGE(has(most, fits_not("test", "59 of 60 utterances")), most);
  const Strings second = split(split(f.test.reference, '\n')[1], '\t');
  CHECK_MESSAGE(has(most, concat("The first is '", second[0], "': reference '", upper(second[1]))),
                most);
  const std::string some = reported(capitals(45));
  CHECK_MESSAGE(has(some, fits_not("test", "15 of 60 utterances, with 16% ")), some);
  CHECK_FALSE(has(reported(capitals(58)), "does not fit"));
  // Of the utterance after; without words.
  CHECK(has(reported(shifted(f.test.reference)), fits_not("test", "")));
  CHECK(has(reported(changed_lines(f.test.reference,
                                   [](size_t i, const std::string& line) {
                                     return i < 30 ? split(line, '\t')[0] + "\t\n" : line + "\n";
                                   })),
            fits_not("test", "30 of 60 utterances")));
  f.dir.write("test.ref", f.test.reference);
  f.dir.write("tune.ref", shifted(f.tune.reference));
  const std::string tuned = said_by(f, f.tuning());
  CHECK_MESSAGE(has(tuned, fits_not("tune", "")), tuned);
  CHECK_FALSE(has(tuned, fits_not("test", "")));
}

TEST_CASE(
    "lm_rescore --baseline: other words, another case and empty texts are not taken in silence") {
  const RescoringFiles f;
  const std::string file = f.dir / "other.trn";
  const Strings given{"--checkpoint", model_a(), "--lambda", "0", "--baseline", file};
  const auto said = [&](const std::string& text) {
    f.dir.write("other.trn", text);
    return said_by(f, given);
  };
  const std::string warning =
      concat("warning: ", f.dir / "test.ref", " does not fit --baseline ", file, ": in ");
  CHECK_FALSE(has(said(as_trn(f.test.reference)), "does not fit"));
  const std::string capitals =
      said(as_trn(changed_lines(f.test.reference, [](size_t, const std::string& line) {
        return split(line, '\t')[0] + "\t" + upper(split(line, '\t')[1]) + "\n";
      })));
  CHECK_MESSAGE(has(capitals, warning + "60 of 60 utterances, with 100% of the words"), capitals);
  CHECK(has(said(as_trn(shifted(f.test.reference))), warning));
  CHECK(has(said(as_trn(changed_lines(f.test.reference,
                                      [](size_t, const std::string& line) {
                                        return split(line, '\t')[0] + "\tla vache rit\n";
                                      }))),
            warning + "60 of 60"));
  // Without words: an error, as in the lists.
  const std::string some =
      as_trn(changed_lines(f.test.reference, [](size_t i, const std::string& line) {
        return i < 2 ? split(line, '\t')[0] + "\t\n" : line + "\n";
      }));
  f.dir.write("other.trn", some);
  const Outcome refused = f.run(given);
  CHECK(refused.code == 1);
  CHECK_MESSAGE(
      has(refused.err, concat("--baseline ", file, ": 2 of 60 utterances have no words, '",
                              split(f.test.reference, '\t')[0],
                              "' first; give --allow-empty if this is silence")),
      refused.err);
  CHECK_FALSE(has(said_by(f, joined(given, {"--allow-empty"})), "does not fit"));
}

TEST_CASE("lm_rescore: lists to tune on are known with fewer hypotheses, under some other names") {
  const RescoringFiles f;
  const auto tuned_on = [&](const std::string& lists, const std::string& references) {
    f.dir.write("tune.nbest", lists);
    f.dir.write("tune.ref", references);
    const std::string err = said_by(f, f.tuning());
    const size_t at = err.find("warning: lambda is found on ");
    return at == std::string::npos ? "" : err.substr(at + 28, err.find('\n', at) - at - 28);
  };
  // The first 4 of 7 hypotheses; some utterances under other names.
  const auto with = [](const std::string& text, size_t hypotheses, size_t renamed_from) {
    return changed_lines(text, [&](size_t i, const std::string& line) {
      if (i % 7 >= hypotheses) return std::string();
      return (i / 7 >= renamed_from ? "z" : "") + line + "\n";
    });
  };
  const auto references = [&](size_t renamed_from) {
    return changed_lines(f.test.reference, [&](size_t i, const std::string& line) {
      return (i >= renamed_from ? "z" : "") + line + "\n";
    });
  };
  const std::string all = "the very lists that it chooses from: 60 of the 60 lists of ";
  CHECK(tuned_on(with(f.test.nbest, 4, 60), f.test.reference).starts_with(all));
  CHECK(tuned_on(with(f.test.nbest, 4, 30), references(30)).starts_with(all));
  CHECK(tuned_on(with(f.test.nbest, 4, 0), references(0)).starts_with(all));
  // Other hypotheses of the same sentences: the lists have no list in common.
  const auto only = [](const std::string& text) {
    return changed_lines(text, [](size_t, const std::string& line) {
      const Strings cells = split(line, '\t');
      return cells[0] + "\t-1\t" + cells[1] + " la vache\n" + cells[0] + "\t-2\tla vache " +
             cells[1] + "\n";
    });
  };
  const std::string sentences = tuned_on(only(f.test.reference), f.test.reference);
  CHECK_MESSAGE(
      sentences.starts_with("the sentences that it chooses from: 60 of the 60 references of "),
      sentences);
}

TEST_CASE("lm_rescore: utterances without reference words do not make the interval wider") {
  const TemporaryDirectory dir;
  std::string nbest, reference;
  // The first pass is wrong in 1 of 5 words, and hears a word in each of 9 silences.
  for (int i = 0; i < 12; ++i) {
    nbest += concat("u", i, i < 3 ? "\t-5\tthe cat saw a zebra\n" : "\t-5\tthe\n");
    nbest += concat("u", i, i < 3 ? "\t-6\tthe cat saw a\n" : "\t-6\t\n");
    reference += concat("u", i, i < 3 ? "\tthe cat saw a dog\n" : "\t\n");
  }
  const auto run = [&](const std::string& references, const Strings& more) {
    return run_program(
        "lm_rescore",
        joined({"--checkpoint", model_a(), "--lambda", "0", "--mu", "-10", "--max-unknown", "1",
                "--allow-empty", "--nbest", dir.write("nbest", nbest), "--reference",
                dir.write("reference", references), "--output", dir / "out"},
               more));
  };
  const Outcome r = run(reference, {});
  REQUIRE_MESSAGE(r.code == 0, r.err);
  const Json j = Json::parse(slurp(dir / "out/results.json"));
  // Each draw with words has at least one word in five wrong: a rate below 20% is of no draw.
  CHECK(j["rescored"]["interval"] == Json{20.0, 20.0});
  CHECK(j["compared"]["interval"][0] >= 20);
  // (3/4)^12 = 3.2% of the draws have no words.
  const int64_t again = j["difference"]["drawn_again"];
  CHECK(again > 10);
  CHECK(again < 70);
  CHECK(
      has(r.out, concat("draws without a word of a reference, left out and drawn again: ", again)));
  // Words in one utterance alone: nothing to draw from.
  std::string one;
  for (int i = 0; i < 12; ++i) one += concat("u", i, i < 1 ? "\tthe cat saw a dog\n" : "\t\n");
  const Outcome alone = run(one, {});
  REQUIRE_MESSAGE(alone.code == 0, alone.err);
  CHECK_MESSAGE(has(alone.out, "# one of 12 utterances has words in its reference"), alone.out);
  CHECK(Json::parse(slurp(dir / "out/results.json"))["difference"]["interval_95"].is_null());
  CHECK(has(run(one, {"--margin-wer", "1"}).err, "leave out --margin-wer"));
}

TEST_CASE("lm_rescore: outputs without errors, or that are the same, claim no margin") {
  const TemporaryDirectory dir;
  const auto run = [&](const std::string& heard) {
    std::string nbest, reference;
    for (int i = 0; i < 6; ++i) {
      nbest += concat("u", i, "\t-1\t", heard, "\n");
      reference += concat("u", i, "\tthe cat saw a dog\n");
    }
    const Outcome r =
        run_program("lm_rescore", {"--checkpoint", model_a(), "--lambda", "0", "--nbest",
                                   dir.write("nbest", nbest), "--reference",
                                   dir.write("reference", reference), "--output", dir / "out"});
    REQUIRE_MESSAGE(r.code == 0, r.err);
    CHECK_FALSE(has(r.out, "can be shown"));
    CHECK(has(r.out, "# the difference is the same in each draw from 6 utterances"));
    CHECK(Json::parse(slurp(dir / "out/results.json"))["power"]["margin"].is_null());
    return r.out;
  };
  CHECK(has(run("the cat saw a dog"), "MAPSSWE: no segments, as neither has an error"));
  CHECK(Json::parse(slurp(dir / "out/results.json"))["mapsswe"]["p"].is_null());
  CHECK(has(run("the cat saw a bird"), "MAPSSWE: 6 segments"));
}

TEST_CASE("lm_rescore: lists to tune on whose scores have another scale or direction") {
  const RescoringFiles f;
  const auto scaled = [&](double factor) {
    return changed_lines(f.tune.nbest, [&](size_t, const std::string& line) {
      const Strings cells = split(line, '\t');
      return concat(cells[0], "\t", factor * std::stod(cells[1]), "\t", cells[2], "\n");
    });
  };
  const auto said = [&](double factor) {
    f.dir.write("tune.nbest", scaled(factor));
    return said_by(f, f.tuning());
  };
  CHECK_FALSE(has(said(1), "spread"));
  CHECK_FALSE(has(said(0.2), "spread"));
  for (const double factor : {0.01, 50.0}) {
    const std::string err = said(factor);
    // Scores 7 apart, seven of them: a deviation of 14.
    CHECK_MESSAGE(has(err, concat("spread by ", factor < 1 ? "0.14" : "700", " in ",
                                  f.dir / "tune.nbest", " and by 14 in ", f.dir / "test.nbest")),
                  err);
  }
  const std::string err = said(-1);
  CHECK_MESSAGE(
      has(err, concat("change the sign of the scores in this file: --nbest-cost holds for ",
                      f.dir / "test.nbest", " too")),
      err);
  CHECK_FALSE(has(err, "then give --nbest-cost"));
}

TEST_CASE("lm_rescore: lists that are in the file twice, and few groups") {
  const RescoringFiles f;
  const Strings given{"--checkpoint", model_a(), "--lambda", "0"};
  const std::string warning = "repeat another list under another name", few = "makes 2 groups";
  CHECK_FALSE(has(said_by(f, given), warning));
  const auto twice = [](const std::string& lines) {
    return lines +
           changed_lines(lines, [](size_t, const std::string& line) { return "z_" + line + "\n"; });
  };
  f.dir.write("test.nbest", twice(f.test.nbest));
  f.dir.write("test.ref", twice(f.test.reference));
  const std::string err = said_by(f, given);
  CHECK_MESSAGE(has(err, "warning: 60 of 120 lists of " + (f.dir / "test.nbest") + " " + warning),
                err);
  CHECK_FALSE(has(err, "groups:"));
  // With the two of each in one group.
  std::string groups;
  for (const std::string& line : split(f.test.reference, '\n')) {
    const std::string name = split(line, '\t')[0];
    groups += concat(name, "\t", name, "\nz_", name, "\t", name, "\n");
  }
  const std::string file = f.dir.write("groups", groups);
  CHECK_FALSE(has(said_by(f, joined(given, {"--group-by", file})), "warning: "));
  f.dir.write("test.nbest", f.test.nbest);
  f.dir.write("test.ref", f.test.reference);
  CHECK(has(said_by(f, joined(given, {"--group-by", "before:_"})), few));
}

TEST_CASE("lm_rescore: models of other words, a baseline that is the reference, subwords") {
  const RescoringFiles f;
  const Strings given{"--checkpoint", model_a(), "--lambda", "0"};
  const std::string alone = "are known to some of the models alone";
  CHECK_FALSE(has(said_by(f, given), alone));
  CHECK_FALSE(has(said_by(f, joined(given, {"--checkpoint", model_b()})), alone));
  CHECK(has(said_by(f, joined(given, {"--checkpoint", model_c(), "--max-unknown", "1"})), alone));
  f.dir.write("other.trn", as_trn(f.test.reference));
  const Strings baseline = joined(given, {"--baseline", f.dir / "other.trn"});
  CHECK(has(said_by(f, baseline), "other.trn are those of the reference"));
  const auto cut = [](size_t i, const std::string& line) {
    const Strings cells = split(line, '\t');
    return cells[0] + "\t" + (i == 0 ? "so@@ " : "") + cells[1] + "\n";
  };
  f.dir.write("other.trn", as_trn(changed_lines(f.test.reference, cut)));
  const std::string err = said_by(f, baseline);
  CHECK_MESSAGE(has(err, concat("warning: --baseline ", f.dir / "other.trn",
                                " has 1 word that ends in @@, parts of subwords, and ",
                                f.dir / "test.ref", " has none")),
                err);
  CHECK_FALSE(has(err, "those of the reference"));
  f.dir.write("test.ref", changed_lines(f.test.reference, cut));
  CHECK(has(said_by(f, given),
            concat("warning: ", f.dir / "test.ref", " has 1 word that ends in @@")));
}

}  // namespace nine::tests::test_rescoring_warnings
