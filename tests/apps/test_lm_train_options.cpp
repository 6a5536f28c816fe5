// lm_train from the outside: command lines, configurations, models to start from.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json.h"
#include "tests/apps/lm_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_lm_train_options {
namespace {}  // namespace

TEST_CASE("wrong command lines: exit 2 and the way out") {
  const TemporaryDirectory dir;
  put(dir / "tiny.txt", "a b\n");
  put(dir / "bad.txt", "good line\nbad \xff line\n");
  put(dir / "empty.txt", "");
  struct Case {
    Strings arguments;
    int code;
    const char* says;
  };
  const std::vector<Case> cases{
      {{}, 2, "no training text"},
      {{"--sample", "--train", dir / "tiny.txt"}, 2, "exclude each other"},
      {{"--smaple"}, 2, "--sample"},
      {{"--sample", "--hiden", "3"}, 2, "--hidden"},
      {{"--sample", "--optimizer", "adamm"}, 2, "adam"},
      {{"--sample", "--lr", "-1"}, 2, "--lr"},
      {{"--sample", "--lr", "nan"}, 2, "--lr"},
      {{"--sample", "--dropout", "1"}, 2, "--dropout"},
      {{"--sample", "--layers", "0"}, 2, "--layers"},
      {{"--sample", "--after", "10"}, 2, "10e"},
      {{"--sample", "--after", "0e"}, 2, "--after"},
      {{"--sample", "--head", "rbff"}, 2, "lin"},
      {{"--sample", "--tie-embeddings", "--embed", "8"}, 2, "--hidden"},
      {{"--sample", "--batch-tokens", "100"}, 2, "--sentences"},
      {{"--sample", "--dtype", "float16"}, 2, "float32"},
      {{"--sample", "--export-parity", dir / "p"}, 2, "--dropout 0"},
      {{"--sample", "--device", "cuda", "--run", dir / "r"}, 1, "CUDA"},
      {{"--train", dir / "missing.txt", "--run", dir / "r"}, 1, "missing.txt"},
      {{"--train", dir / "empty.txt", "--run", dir / "r"}, 1, "empty.txt"},
      {{"--train", dir / "tiny.txt", "--run", dir / "r"}, 1, "--batch"},
      {{"--train", dir / "bad.txt", "--run", dir / "r"}, 1, "line 2"},
      {{"--sample", "--init", dir / "nowhere", "--run", dir / "r"}, 1, "nowhere"},
  };
  for (const Case& c : cases) {
    const Outcome r = run_program("lm_train", c.arguments);
    CAPTURE(r.err);
    CHECK(r.code == c.code);
    CHECK(has(r.err, c.says));
    CHECK(has(r.err, "lm_train: "));
  }
  CHECK(run_program("lm_score", {}).code == 2);
  CHECK(run_program("lm_score", {"--checkpoint", dir / "nowhere"}).code == 1);
  CHECK(run_program("lm_train", {"--help"}).code == 0);
}

TEST_CASE("--dump-config is a --config that gives the same run") {
  const TemporaryDirectory dir;
  const Outcome dumped =
      run_program("lm_train", small(dir / "a", {"--after", "30u", "--dump-config"}));
  REQUIRE(dumped.code == 0);
  Json config = Json::parse(dumped.out);
  config["run"] = dir / "b";
  put(dir / "c.json", config.dump());
  REQUIRE(run_program("lm_train", small(dir / "a", {"--after", "30u"})).code == 0);
  REQUIRE(run_program("lm_train", {"--config", dir / "c.json"}).code == 0);
  CHECK(weights_of(dir / "a") == weights_of(dir / "b"));
}

TEST_CASE("--init starts from another run's weights") {
  const TemporaryDirectory dir;
  REQUIRE(run_program("lm_train", small(dir / "a", {"--after", "120u"})).code == 0);
  const Outcome r = run_program(
      "lm_train", small(dir / "b", {"--after", "25u", "--seed", "1", "--init", dir / "a"}));
  REQUIRE_MESSAGE(r.code == 0, r.err);
  const auto first_ppl = [&](const std::string& run) {
    for (const Json& e : log_of(run))
      if (e["event"] == "train") return e["ppl"].get<double>();
    return 0.0;
  };
  CHECK(first_ppl(dir / "b") < 0.7 * first_ppl(dir / "a"));
  const std::string taken =
      concat(" tensors of ", std::filesystem::canonical(dir / "a/checkpoints/best").string(),
             " were taken");
  CHECK_MESSAGE(has(r.err, taken + "\n"), r.err);
  const Outcome kernel = run_program(
      "lm_train", small(dir / "k", {"--after", "2u", "--init", dir / "a", "--head", "log"}));
  CHECK(kernel.code == 0);
  CHECK_MESSAGE(has(kernel.err, taken + "; the head is log:"), kernel.err);
  CHECK(has(kernel.err, " in this run and was lin in the initial weights\n"));
  const Outcome on = run_program(
      "lm_train", small(dir / "k", {"--after", "3u", "--init", dir / "a", "--head", "log"}));
  CHECK(on.code == 0);
  CHECK_FALSE(has(on.err, "were taken"));

  // Once begun, a run does not need them.
  std::filesystem::rename(dir / "a", dir / "moved");
  const auto go_on = [&](const Strings& more) {
    return run_program("lm_train",
                       small(dir / "b", joined({"--seed", "1", "--init", dir / "a"}, more)));
  };
  CHECK(go_on({"--after", "25u"}).code == 0);
  CHECK(go_on({"--after", "27u"}).code == 0);
  const std::string log = slurp(dir / "b/log.jsonl");
  const Outcome anew = go_on({"--after", "27u", "--restart"});
  CHECK(anew.code == 1);
  CHECK(has(anew.err, concat("--init: there is no checkpoint at ", dir / "a")));
  CHECK(slurp(dir / "b/log.jsonl") == log);
  CHECK(run_program("lm_train", small(dir / "c", {"--init", dir / "a"})).code == 1);
  CHECK_FALSE(std::filesystem::exists(dir / "c"));
  const Outcome mixture = run_program(
      "lm_train",
      small(dir / "c", {"--init", dir / "moved", "--head", "mix:lin,log", "--after", "1u"}));
  CHECK_MESSAGE(mixture.code == 0, mixture.err);
  CHECK_MESSAGE(has(mixture.err, "; head.prior.weight, head.latent.weight begin anew\n"),
                mixture.err);

  // Without a checkpoint that is intact it does, and is left as it is.
  for (const auto& checkpoint : std::filesystem::directory_iterator(dir / "b/checkpoints"))
    if (!checkpoint.is_symlink()) put(checkpoint.path() / "state.json", "{");
  const Outcome damaged = go_on({"--after", "29u"});
  CHECK(damaged.code == 1);
  CHECK_MESSAGE(has(damaged.err, "--init: there is no checkpoint at"), damaged.err);
  CHECK(slurp(dir / "b/log.jsonl") == log);
  std::filesystem::rename(dir / "moved", dir / "a");
  const Outcome over = go_on({"--after", "29u"});
  REQUIRE_MESSAGE(over.code == 0, over.err);
  CHECK(has(over.out + over.err, "the run starts over"));
}

TEST_CASE("--init refuses a Transformer that shapes alone do not tell from another") {
  const TemporaryDirectory dir;
  const auto train = [&](const char* run, const Strings& more) {
    return run_program("lm_train",
                       joined({"--sample", "--sample-sentences", "200", "--arch", "transformer",
                               "--layers", "1", "--hidden", "8", "--batch", "4", "--bptt", "16",
                               "--after", "1u", "--run", dir / run},
                              more));
  };
  REQUIRE(train("a", {"--heads", "2"}).code == 0);
  CHECK(train("b", {"--heads", "2", "--init", dir / "a"}).code == 0);
  const Outcome heads = train("c", {"--heads", "4", "--init", dir / "a"});
  CHECK(heads.code == 2);
  CHECK_MESSAGE(has(heads.err, "--heads 4 contradicts --init"), heads.err);
  CHECK_MESSAGE(has(heads.err, "a model with --heads 2"), heads.err);
  const Outcome other = train("c", {"--heads", "2", "--activation", "relu", "--init", dir / "a"});
  CHECK(other.code == 2);
  CHECK_MESSAGE(has(other.err, "a model with --activation gelu"), other.err);
  REQUIRE(run_program("lm_train",
                      {"--sample", "--sample-sentences", "200", "--layers", "1", "--hidden", "8",
                       "--embed", "8", "--batch", "4", "--after", "1u", "--run", dir / "lstm"})
              .code == 0);
  const Outcome lstm = train("c", {"--heads", "2", "--init", dir / "lstm"});
  CHECK(lstm.code == 2);
  CHECK_MESSAGE(has(lstm.err, "a model with --arch lstm"), lstm.err);
}

TEST_CASE("lm_train: a text too small for --accumulate is said with --batch and --accumulate") {
  const TemporaryDirectory dir;
  const Outcome o =
      run_program("lm_train", {"--train", dir.write("text", "a b c d e f g\na b c\n"), "--batch",
                               "2", "--bptt", "3", "--accumulate", "100", "--run", dir / "run"});
  CHECK(o.code == 1);
  CHECK_MESSAGE(has(o.err,
                    "12 tokens, too few for one update of batch size (--batch) 2 columns x "
                    "accumulation steps (--accumulate) 100: lower one of them"),
                o.err);
}

}  // namespace nine::tests::test_lm_train_options
