// What lm_rescore refuses, and when.
#include <doctest/doctest.h>

#include <filesystem>

#include "tests/apps/rescoring_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_rescoring_refused {
namespace {

namespace fs = std::filesystem;

}  // namespace

TEST_CASE("lm_rescore: what is refused") {
  const RescoringFiles f;
  const auto refused = [&](const Strings& arguments, int code, const std::string& why) {
    const Outcome r = f.run(arguments);
    CHECK(r.code == code);
    CHECK_MESSAGE(has(r.err, why), r.err);
    CHECK(!fs::exists(f.dir / "out"));
  };
  const Strings model{"--checkpoint", model_a()};
  refused(model, 2, "give --tune-nbest and --tune-reference");
  refused({"--lambda", "1"}, 2, "checkpoint");
  refused(joined(model, {"--tune-nbest", f.dir / "tune.nbest"}), 2, "belong together");
  refused(joined(f.tuning(), {"--lambda", "1"}), 2, "leave one of them out");
  refused(joined(f.tuning(), {"--mu", "1"}), 2, "--mu needs --lambda");
  refused(joined(f.tuning(), {"--weights", "1"}), 2, "there is only one model");
  const auto weighed = [&](const Strings& weights) {
    return joined(joined(f.tuning(), {"--checkpoint", model_b(), "--weights"}), weights);
  };
  refused(weighed({"1", "1", "1"}), 2, "--weights gives 3 numbers for 2 models");
  refused(weighed({"2", "-1"}), 2, "--weights -1: a weight is 0 or more");
  refused(weighed({"1", "1"}), 2, "must add up to 1");
  refused(joined(weighed({"1", "1e300"}), {"--interpolate", "log-linear"}), 2, "at most 10000000");
  refused(joined(model, {"--lambda", "1e308"}), 2, "--lambda 1e308: must be a number from -1 to 1");
  refused(joined(weighed({"0", "0"}), {"--interpolate", "log-linear"}), 2, "--weights add up to 0");
  refused(joined(f.tuning(), {"--checkpoint", model_a()}), 2, model_a() + " is named twice");
  refused(joined(f.tuning(), {"--checkpoint", model_b(), model_a() + "/checkpoints/best"}), 2,
          "checkpoints/best has the weights of " + model_a());
  refused(joined(f.tuning(), {"--scale", "3"}), 2, "--choice mbr or --output-nbest");
  refused(joined(f.tuning(), {"--output-nbest", f.dir / "x.zst"}), 2, "the name ends with .zst");
  refused(joined(f.tuning(), {"--baseline", ""}), 2, "--baseline '': is empty");
  refused(joined(f.tuning(), {"--margin-wer", "0"}), 2, "--margin-wer 0: must be");
  refused(joined(f.tuning(), {"--measure", "bleu", "--seed", "3"}), 2, "--measure wer");
  refused(joined(f.tuning(), {"--measure", "bleu", "--margin-wer", "1"}), 2, "--measure wer");
  refused(joined(model, {"--lambda", "1", "--tune-nbest", f.dir / "none", "--tune-reference", "x"}),
          2, "--lambda");
  refused({"--checkpoint", model_a(), "--tune-nbest", f.dir / "none", "--tune-reference",
           f.dir / "tune.ref"},
          1, "none");
  refused({"--checkpoint", model_a(), "--tune-nbest", f.dir / "tune.nbest", "--tune-reference",
           f.dir / "test.ref"},
          1, "no text for the utterance");
  refused(joined(model, {"--lambda", "1", "--baseline", f.dir / "test.ref"}), 1, ".trn");
  refused(joined(model, {"--lambda", "1", "--group-by", "before:#"}), 1, "--group-by");
  refused(joined(model, {"--lambda", "1", "--group-by", f.dir / "tune.ref"}), 1, "no text for");
  refused({"--checkpoint", f.dir / "nowhere", "--lambda", "1"}, 1, "nowhere");
  // An output that cannot be made is said before any list is read and scored.
  const auto written_to = [&](const std::string& output, int code = 1) {
    const Outcome r =
        run_program("lm_rescore", {"--nbest", f.dir / "none", "--reference", f.dir / "test.ref",
                                   "--checkpoint", model_a(), "--lambda", "1", "--output", output});
    CHECK(r.code == code);
    return r.err;
  };
  CHECK(has(written_to("-", 2), "--output - names no directory"));
  CHECK(has(written_to("", 2), "--output '': is empty"));
  const std::string file = f.dir / "test.ref";
  for (const auto& [output, named] :
       {std::pair{file, file}, {file + "/results", file + "/results: " + file}}) {
    const std::string err = written_to(output);
    CHECK_MESSAGE(has(err, concat("--output ", named, " is a file, not a directory; give another")),
                  err);
  }
  // A baseline or a file of groups that the output would write over.
  fs::create_directory(f.dir / "out");
  put(f.dir / "out/hyp.trn", "kept");
  CHECK(f.run(joined(model, {"--lambda", "1", "--baseline", f.dir / "out/hyp.trn"})).code == 2);
  CHECK(slurp(f.dir / "out/hyp.trn") == "kept");
  put(f.dir / "out/utterances.tsv", "kept");
  const Outcome groups =
      f.run(joined(model, {"--lambda", "1", "--group-by", f.dir / "out/utterances.tsv"}));
  CHECK(groups.code == 2);
  CHECK_MESSAGE(has(groups.err, "is also --group-by"), groups.err);
  CHECK(slurp(f.dir / "out/utterances.tsv") == "kept");
}

// The first model cannot be opened, so that whatever is said instead was found before.
TEST_CASE("lm_rescore: an --output that cannot be written, or is somebody else's, is said first") {
  const RescoringFiles f;
  const std::string broken = broken_model(f.dir), out = f.dir / "out";
  const auto says = [&](const std::string& why) {
    const Outcome r = f.run({"--checkpoint", broken, "--lambda", "1"});
    CHECK(r.code == 1);
    CHECK_MESSAGE(has(r.err, why), r.err);
    CHECK(!has(r.err, broken));
    fs::remove_all(out);
    fs::create_directory(out);
  };
  fs::create_directories(out + "/hyp.trn");
  says("--output " + out + ": " + out + "/hyp.trn is a directory, and a file is written there");
  put(out + "/utterances.tsv", "mine");
  says("--output " + out + " has a utterances.tsv that lm_rescore did not write there");
  put(out + "/results.json", R"({"mine":1})");
  says("has a results.json that lm_rescore did not write there");
  put(out + "/log.jsonl", "");
  says("--output " + out + " holds a run or a model (its log.jsonl)");
  fs::create_directories(out + "/checkpoints/x");
  put(out + "/log.jsonl", "");
  const Outcome inside = run_program(
      "lm_rescore", {"--nbest", f.dir / "test.nbest", "--reference", f.dir / "test.ref",
                     "--checkpoint", broken, "--lambda", "1", "--output", out + "/checkpoints/x"});
  CHECK_MESSAGE(has(inside.err, "lies within the checkpoints of the run " + out), inside.err);
  fs::remove_all(out);
  // Of an earlier rescoring.
  for (int i = 0; i < 2; ++i) CHECK(f.run({"--checkpoint", model_a(), "--lambda", "1"}).code == 0);
}

// The first model cannot be opened, so that whatever is said instead was found before.
TEST_CASE("lm_rescore: a wrong file is an error before anything is scored") {
  const RescoringFiles f;
  const std::string broken = broken_model(f.dir), none = f.dir / "none";
  const Strings model{"--checkpoint", broken}, given = joined(model, {"--lambda", "1"});
  const auto says = [&](const Strings& arguments) {
    const Outcome r = f.run(arguments);
    CHECK(r.code == 1);
    CHECK(!fs::exists(f.dir / "out"));
    return r.err;
  };
  CHECK(has(says(given), broken));
  const auto before = [&](const Strings& arguments, const std::string& why) {
    const std::string err = says(arguments);
    CHECK_MESSAGE(has(err, why), err);
    CHECK_MESSAGE(!has(err, broken), err);
  };
  before(joined(given, {"--baseline", none}), none);
  before(joined(given, {"--baseline", f.dir / "test.ref"}), ".trn");
  before(joined(given, {"--group-by", none}), none);
  before(joined(given, {"--group-by", "before:#"}), "--group-by");
  before(joined(given, {"--group-by", f.dir / "tune.ref"}), "no text for");
  before({"--checkpoint", broken, none, "--lambda", "1"}, none);
  std::string one_group;
  for (const std::string& line : split(f.test.reference, '\n'))
    one_group += split(line, '\t')[0] + "\tg\n";
  before(joined(given, {"--group-by", f.dir.write("one", one_group)}),
         "all utterances are one group");
  std::string silence;
  for (const std::string& line : split(f.test.reference, '\n'))
    silence += split(line, '\t')[0] + "\t\n";
  f.dir.write("test.ref", silence);
  before(given, "test.ref has no words");
  // The lists that are reported, before those that are tuned on are scored.
  f.dir.write("test.nbest", "no tabs\n");
  before(
      joined(model, {"--tune-nbest", f.dir / "tune.nbest", "--tune-reference", f.dir / "tune.ref"}),
      "test.nbest, line 1");
}

}  // namespace nine::tests::test_rescoring_refused
