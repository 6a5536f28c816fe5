// What a run reads of its own directory when it goes on: a state that a training can have written,
// finite numbers, its own log.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/json.h"
#include "tests/support/checkpoints.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_training_state {
namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

// A run with checkpoints of steps 10 and 20, of which 10 or 20 is the best.
struct Run {
  TemporaryDirectory dir;
  Run() {
    const Outcome r = go("20u");
    REQUIRE_MESSAGE(r.code == 0, r.err);
  }
  std::string path() const { return dir / "run"; }
  Outcome go(const std::string& after, const Strings& more = {}) const {
    return run_program("lm_train", joined(joined(tiny_lm_flags(path(), after),
                                                 {"--valid-every", "10u", "--save-every", "10u"}),
                                          more));
  }
  fs::path latest() const { return fs::canonical(dir / "run/checkpoints/latest"); }
};

}  // namespace

TEST_CASE("training state: values that no training writes are named, and nothing is trained") {
  const Run run;
  const std::string state = slurp(run.latest() / "state.json");
  const auto says = [&](const std::string& path, const Json& value, const std::string& expected) {
    put(run.latest() / "state.json", state);
    seal(run.latest(), [&](Json& s) { s[Json::json_pointer("/" + path)] = value; });
    for (const char* after : {"30u", "20u"}) {
      const Outcome o = run.go(after);
      CHECK(o.code == 1);
      const std::string key = concat((run.latest() / "state.json").string(), ": the key '", path,
                                     "' is ", json_text(value), ", and ", expected);
      CHECK_MESSAGE(has(o.err, key), o.err);
    }
  };
  says("position/epoch", 7, "0");
  says("position/step", -1, "a whole number of at least 0");
  says("schedule/scale", 2, "a number above 0 and at most 1");
  says("schedule/scale", 0, "a number above 0 and at most 1");
  says("optimizer_updates", 19, "20");
  says("best/step", 21, "a whole number from 0 to 20");
  says("best/metric", -5, "");
  says("best/ppl", 1, "e to the power of ");
  says("tokens", 1.5, "a whole number of at least 0");
  says("stopped_early", "no", "true or false");
  says("time_s", -1, "a number of at least 0");
  // A place in the data that the state says twice.
  put(run.latest() / "state.json", state);
  seal(run.latest(), [](Json& s) { s["position"]["step"] = 1; });
  CHECK(has(run.go("30u").err, "its position {\"epoch\":0,\"step\":1} is after "));
  put(run.latest() / "state.json", state);
  seal(run.latest(), [](Json& s) { s.erase("schedule"); });
  CHECK(has(run.go("30u").err, "lacks a key or has one of the wrong type"));
  put(run.latest() / "state.json", state);
  CHECK(run.go("30u").code == 0);
}

TEST_CASE("training state: numbers that are not finite are named at the start, with their file") {
  const Run run;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto says = [&](const std::string& file, const std::string& tensor, double value,
                        const std::string& why) {
    fs::remove_all(run.dir / "copy");
    fs::copy(run.latest(), run.dir / "copy");
    change_tensor(run.latest(), file, tensor, 1, value);
    const Outcome o = run.go("30u");
    CHECK(o.code == 1);
    CHECK_MESSAGE(
        has(o.err, concat((run.latest() / file).string(), ": tensor '", tensor, "' has ")), o.err);
    CHECK_MESSAGE(has(o.err, why), o.err);
    CHECK_FALSE(has(o.err, "learning rate"));
    const fs::path latest = run.latest();
    fs::remove_all(latest);
    fs::copy(run.dir / "copy", latest);
  };
  says("model.safetensors", "embedding.weight", nan, "a model's weights must be finite numbers");
  says("optimizer.safetensors", "adam.m.embedding.weight", nan, "resumes must be finite");
  says("optimizer.safetensors", "adam.v.head.weight", -1e-9, "squared gradients is 0 or more");
  CHECK(run.go("30u").code == 0);
}

TEST_CASE("training state: a model that state.json does not list is not opened") {
  const Run run;
  for (const char* file : {"model.safetensors", "config.json", "dict.txt"}) {
    const fs::path copy = run.dir / (std::string("without ") + file);
    fs::copy(run.latest(), copy);
    seal(copy, [&](Json& s) { s["files"].erase(file); });
    const Outcome o = run_program("lm_score", {"--checkpoint", copy.string()}, "a\n");
    CHECK(o.code == 1);
    CHECK_MESSAGE(
        has(o.err, concat((copy / file).string(), " is not among the files that state.json lists")),
        o.err);
  }
}

TEST_CASE("training state: another run's log is not continued") {
  const Run run;
  const std::string log = slurp(run.dir / "run/log.jsonl");
  const auto refused = [&](const std::string& other, const std::string& why) {
    put(run.dir / "run/log.jsonl", other);
    const Outcome o = run.go("30u");
    CHECK(o.code == 2);
    CHECK_MESSAGE(has(o.err, concat(run.dir / "run/log.jsonl", ", line ")), o.err);
    CHECK_MESSAGE(has(o.err, why), o.err);
    CHECK(slurp(run.dir / "run/log.jsonl") == other);
  };
  const auto other_run = [&](const Strings& more) {
    const std::string path = run.dir / "other";
    fs::remove_all(path);
    REQUIRE(run_program("lm_train",
                        joined(joined(tiny_lm_flags(path, "20u"), {"--save-every", "10u"}), more))
                .code == 0);
    return slurp(path + "/log.jsonl");
  };
  const Strings valid{"--valid-every", "10u"};
  refused(other_run(joined(valid, {"--lr", "0.5"})), "is of another run: nll of step ");
  refused(other_run(joined(valid, {"--min-count", "2"})), "is of another run: ");
  put(run.dir / "run/log.jsonl", log);
  CHECK(run.go("30u").code == 0);
}

TEST_CASE("training state: --restart moves TensorBoard's events away, and runs do not share them") {
  const Run run;
  const std::string board = run.dir / "board";
  const auto events = [](const fs::path& directory) {
    int n = 0;
    for (const auto& entry : fs::directory_iterator(directory))
      n += has(entry.path().filename().string(), "tfevents") ? 1 : 0;
    return n;
  };
  REQUIRE(run.go("30u", {"--tensorboard", board}).code == 0);
  CHECK(events(board) == 1);
  const Outcome o = run.go("10u", {"--tensorboard", board, "--restart"});
  REQUIRE_MESSAGE(o.code == 0, o.err);
  CHECK_MESSAGE(has(o.err, "the events of the run before are in " + board + "/old-1"), o.err);
  CHECK(events(board) == 1);
  CHECK(events(board + "/old-1") == 1);
  const Outcome other = run_program(
      "lm_train", joined(tiny_lm_flags(run.dir / "second", "5u"), {"--tensorboard", board}));
  CHECK(other.code == 2);
  CHECK_MESSAGE(has(other.err, "--tensorboard " + board + " has the events of another run"),
                other.err);
  CHECK_FALSE(fs::exists(run.dir / "second"));
}

TEST_CASE("training state: files of the user's stay") {
  const Run run;
  const std::string report = run.dir / "run/report.html", lock = run.dir / "run/.lock";
  const auto message = [&](const std::string& after) {
    const Outcome o = run.go(after);
    CHECK_MESSAGE(o.code == 0, o.err);
    return o.err;
  };
  put(report, "<html>mine</html>");
  CHECK(has(message("30u"), report + " is not a page that Nine wrote: move it elsewhere"));
  CHECK(slurp(report) == "<html>mine</html>");
  const Outcome own = run_program("nine_report", {run.path()});
  CHECK(own.code == 1);
  CHECK_MESSAGE(has(own.err, "is not a page that Nine wrote"), own.err);
  CHECK(run_program("nine_report", {run.path(), "--output", report}).code == 0);
  fs::rename(report, run.dir / "elsewhere");
  fs::create_symlink(run.dir / "elsewhere", report);
  put(run.dir / "elsewhere", "mine");
  CHECK(has(message("40u"), report + " is a symbolic link"));
  CHECK(slurp(run.dir / "elsewhere") == "mine");
  fs::remove(report);
  // A note in the checkpoint that --keep removes.
  put(run.latest() / "note.txt", "mine");
  const std::string step = run.latest().filename().string();
  const std::string said = message("80u");
  CHECK_MESSAGE(has(said, step +
                              " is removed or replaced; what the run did not write there, "
                              "note.txt, is in " +
                              step + ".kept beside it"),
                said);
  CHECK(slurp(run.dir / ("run/checkpoints/" + step + ".kept/note.txt")) == "mine");
  CHECK_FALSE(fs::exists(run.dir / ("run/checkpoints/" + step)));
  // A lock that is none.
  fs::remove(lock);
  fs::create_symlink(run.dir / "elsewhere", lock);
  CHECK(has(run.go("90u").err, lock + " is a symbolic link"));
  CHECK(slurp(run.dir / "elsewhere") == "mine");
  fs::remove(lock);
  put(lock, "a list of mine\n");
  CHECK(has(run.go("90u").err, lock + " is not a run's lock"));
  CHECK(slurp(lock) == "a list of mine\n");
}

TEST_CASE("training state: no program writes into a checkpoint or over a run's files") {
  const Run run;
  const std::string best = fs::canonical(run.dir / "run/checkpoints/best");
  const auto refused = [&](const std::string& file) {
    const std::string before = slurp(file);
    for (const auto& [program, arguments] :
         {std::pair<std::string, Strings>{"nine_report", {run.path()}},
          {"bpe", {"learn", "--input", run.dir / "text"}}}) {
      const Outcome o = run_program(program, joined(arguments, {"--output", file}));
      CHECK(o.code == 2);
      CHECK_MESSAGE(has(o.err, "--output " + file + " is "), o.err);
      CHECK(slurp(file) == before);
    }
  };
  run.dir.write("text", "a b\n");
  refused(best + "/model.safetensors");
  refused(best + "/new");
  refused(run.dir / "run/log.jsonl");
  refused(run.dir / "run/config.json");
  const Outcome board = run.go("30u", {"--tensorboard", best});
  CHECK(board.code == 1);
  CHECK_MESSAGE(has(board.err, "--tensorboard " + best + " is a checkpoint"), board.err);
}

TEST_CASE("training state: a named pipe in the place of a run's file is named, not waited for") {
  const Run run;
  for (const char* name : {"run/log.jsonl", "run/config.json"}) {
    const std::string file = run.dir / name;
    fs::rename(file, run.dir / "kept");
    REQUIRE(mkfifo(file.c_str(), 0600) == 0);
    const Outcome o = run.go("30u");
    CHECK(o.code == 1);
    CHECK_MESSAGE(has(o.err, file + " is a named pipe"), o.err);
    fs::remove(file);
    fs::rename(run.dir / "kept", file);
  }
}

TEST_CASE("training state: texts that are one text are said") {
  const TemporaryDirectory dir;
  std::string text, other;
  for (int i = 0; i < 30; ++i) text += "a b c d\nb c\n", other += "d c b a\nc b\n";
  dir.write("text", text);
  dir.write("copy", text);
  dir.write("other", other);
  int n = 0;
  const auto said = [&](const std::string& valid, const std::string& test) {
    const Outcome o = run_program(
        "lm_train", {"--train", dir / "text", "--valid", dir / valid, "--test", dir / test,
                     "--hidden", "4", "--embed", "4", "--batch", "2", "--bptt", "4", "--after",
                     "1u", "--run", dir / std::to_string(n++)});
    CHECK_MESSAGE(o.code == 0, o.err);
    return o.err;
  };
  const std::string plain = said("other", "other");
  CHECK_FALSE(has(plain, "is the training text"));
  CHECK_MESSAGE(has(plain, "the test text is the validation text, by which the best model"), plain);
  const std::string same = said("copy", "copy");
  CHECK_MESSAGE(has(same, "the validation text is the training text"), same);
  CHECK(has(same, "the test text is the training text"));
}

TEST_CASE(
    "training state: nine_report tells a run's copy, and a log beside another's config.json") {
  const Run run;
  fs::copy(run.path(), run.dir / "copy",
           fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  const Outcome copies =
      run_program("nine_report", {run.path(), run.dir / "copy", "--output", run.dir / "page"});
  CHECK(copies.code == 2);
  CHECK_MESSAGE(has(copies.err, concat(run.path(), " and ", run.dir / "copy",
                                       " are one run under two names (log.jsonl is the same)")),
                copies.err);
  Json config = Json::parse(slurp(run.dir / "copy/config.json"));
  config["resolved"]["parameters"] = 7;
  put(run.dir / "copy/config.json", config.dump());
  REQUIRE(run_program("nine_report", {run.dir / "copy"}).code == 0);
  CHECK(has(slurp(run.dir / "copy/report.html"),
            "config.json and log.jsonl are not of one run: parameters is 7 in the one and "));
}

}  // namespace nine::tests::test_training_state
