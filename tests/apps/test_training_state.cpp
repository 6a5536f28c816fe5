// What a run reads of its own directory when it goes on: a state that a training can have written,
// finite numbers, its own log.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/directory_lock.h"
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

TEST_CASE("training state: whose events --tensorboard has is asked before anything changes") {
  const Run run;
  const auto second = [&](const std::string& path, const Strings& more) {
    return run_program("lm_train", joined(tiny_lm_flags(path, "5u"), more));
  };
  const auto refused = [&](const Outcome& o, const std::string& why) {
    CHECK(o.code == 2);
    CHECK_MESSAGE(has(o.err, why), o.err);
  };
  const std::string board = run.dir / "board", other = run.dir / "other";
  {  // another run has begun there, and written no event yet
    fs::create_directories(board);
    const DirectoryLock lock(board);
    REQUIRE_FALSE(lock.taken());
    refused(second(other, {"--seed", "3", "--tensorboard", board}),
            concat("--tensorboard ", board, ": another run writes its events there"));
    CHECK(fs::is_empty(board));
    CHECK_FALSE(fs::exists(other));
  }
  REQUIRE(second(other, {"--seed", "3", "--tensorboard", board}).code == 0);
  const std::string log = slurp(run.dir / "run/log.jsonl"),
                    of_other =
                        concat("--tensorboard ", board, " has the events of another run, ", other);
  // A run that goes on, one that starts over, a new one: the other run is still there.
  refused(run.go("30u", {"--tensorboard", board}), of_other);
  refused(run.go("30u", {"--tensorboard", board, "--restart"}), of_other);
  refused(second(run.dir / "third", {"--tensorboard", board}), of_other);
  CHECK(slurp(run.dir / "run/log.jsonl") == log);
  CHECK_FALSE(fs::exists(board + "/old-1"));
  CHECK_FALSE(fs::exists(run.dir / "run/old-1"));
  CHECK_FALSE(fs::exists(run.dir / "third"));
  // The other run is gone: its settings tell it, and --restart says whose the events were.
  fs::remove_all(other);
  refused(run.go("30u", {"--tensorboard", board}),
          concat(of_other, " (its seed is 3, and 1 in this run)"));
  const Outcome anew = run.go("10u", {"--tensorboard", board, "--restart"});
  CHECK_MESSAGE(anew.code == 0, anew.err);
  CHECK_MESSAGE(
      has(anew.err, concat("the events of the run before, ", other, ", are in ", board, "/old-1")),
      anew.err);
  // Settings alike and another course: events of this directory's earlier run with other words.
  const std::string late = run.dir / "late";
  REQUIRE(second(other, {"--betas", "0.5,0.9", "--tensorboard", late}).code == 0);
  fs::remove_all(other);
  refused(run.go("30u", {"--tensorboard", late}), " of step 5 is ");
  // A run that was renamed has its events, also if another run is now where it was.
  const std::string first = run.dir / "first", kept = run.dir / "kept";
  REQUIRE(second(first, {"--tensorboard", kept}).code == 0);
  fs::rename(first, run.dir / "renamed");
  REQUIRE(second(first, {"--seed", "4"}).code == 0);
  const Outcome renamed = run_program(
      "lm_train", joined(tiny_lm_flags(run.dir / "renamed", "9u"), {"--tensorboard", kept}));
  CHECK_MESSAGE(renamed.code == 0, renamed.err);
  refused(run_program("lm_train",
                      joined(tiny_lm_flags(first, "9u"), {"--seed", "4", "--tensorboard", kept})),
          "(its seed is 1, and 4 in this run)");
  // Events of another program.
  const std::string mixed = run.dir / "mixed";
  fs::create_directory(mixed);
  put(mixed + "/events.out.tfevents.1700000000.host.1.0", "");
  for (const Strings& more : {Strings{}, {"--restart"}})
    refused(run.go("30u", joined({"--tensorboard", mixed}, more)),
            "has event files of another program (events.out.tfevents.1700000000.host.1.0)");
  // Where checkpoints alone are, said at once and not when the run goes on.
  for (const char* part : {"checkpoints", "checkpoints/tb", "average"}) {
    refused(
        second(run.dir / "fourth", {"--tensorboard", run.dir / (std::string("fourth/") + part)}),
        "where checkpoints alone are; give another --tensorboard");
    CHECK_FALSE(fs::exists(run.dir / "fourth"));
  }
  CHECK(second(run.dir / "fourth", {"--tensorboard", run.dir / "fourth/tb"}).code == 0);
}

TEST_CASE("training state: a run's report is named only if it was written") {
  const Run run;
  const std::string report = run.dir / "run/report.html";
  const auto names_it = [&](const Outcome& o) { return has(o.out, "report " + report); };
  fs::remove(report);
  fs::create_directory(report);
  const Outcome folder = run.go("30u");
  CHECK_MESSAGE(folder.code == 0, folder.err);
  CHECK_MESSAGE(
      has(folder.err, report + " is a directory, and the page is a file of this name: move"),
      folder.err);
  CHECK_FALSE(has(folder.err, "--output"));
  CHECK_FALSE(names_it(folder));
  fs::remove(report);
  put(report, "mine");
  CHECK_FALSE(names_it(run.go("40u")));
  fs::remove(report);
  CHECK(names_it(run.go("50u")));
}

TEST_CASE("training state: what is in the place of a run is said, and what to give") {
  const Run run;
  const auto refused = [](const Outcome& o, int code, const std::string& why) {
    CHECK(o.code == code);
    CHECK_MESSAGE(has(o.err, why), o.err);
  };
  fs::rename(run.dir / "run/config.json", run.dir / "kept");
  const std::string saved = run.dir / "run/checkpoints/latest/config.json";
  refused(run.go("30u"), 1,
          "without config.json; copy " + saved + " there to resume the run, or use --restart");
  fs::copy(saved, run.dir / "run/config.json");
  CHECK(run.go("30u").code == 0);
  // A config.json that is none.
  const std::string own = slurp(run.dir / "run/config.json");
  for (const char* none : {"", "[]", "{}", "{\"task\": \"lm\"}"}) {
    put(run.dir / "run/config.json", none);
    refused(run.go("40u"), 1, "; copy " + saved + " there to resume the run, or use --restart");
  }
  put(run.dir / "run/config.json", own);
  // The other trainer's run.
  run.dir.write("s", "a b\nb a\n");
  const Strings pairs{"--src",   run.dir / "s", "--tgt",   run.dir / "s", "--layers",
                      "1",       "--hidden",    "8",       "--ffn",       "8",
                      "--heads", "1",           "--after", "1u"};
  refused(run_program("mt_train", joined(pairs, {"--run", run.path()})), 2,
          run.path() +
              " holds a run of lm_train, and this is mt_train: give another --run, or --restart");
  const std::string mt = run.dir / "mt";
  REQUIRE(run_program("mt_train", joined(pairs, {"--run", mt})).code == 0);
  refused(run_program("lm_train", tiny_lm_flags(mt, "5u")), 2,
          mt + " holds a run of mt_train, and this is lm_train");
  refused(run_program("mt_train", {"--run", run.path(), "--average", "1"}), 1,
          "holds a run of lm_train, and --average reads those of mt_train");
  // A mean's directory.
  REQUIRE(run_program("mt_train", {"--run", mt, "--average", "1"}).code == 0);
  refused(run_program("mt_train", joined(pairs, {"--run", mt + "/average"})), 2,
          concat("--run ", mt,
                 "/average holds checkpoints, as the directories checkpoints and average of a run "
                 "do, and no run; give --run ",
                 mt));
  CHECK_FALSE(fs::exists(mt + "/average/config.json"));
}

TEST_CASE("training state: checkpoints that are gone are said, and the log is kept") {
  const Run run;
  // As an interrupted run has it: without its last line.
  const std::string log = slurp(run.dir / "run/log.jsonl"),
                    open_end = log.substr(0, log.find("{\"event\":\"done\""));
  REQUIRE(open_end.size() < log.size());
  put(run.dir / "run/log.jsonl", open_end);
  fs::remove_all(run.dir / "run/checkpoints");
  const Outcome o = run.go("20u");
  CHECK_MESSAGE(o.code == 0, o.err);
  CHECK_MESSAGE(has(o.err, concat(run.dir / "run/checkpoints",
                                  " has no checkpoint, and the log is of a run that wrote some: "
                                  "the run starts over; its log is in ",
                                  run.dir / "run/old-1")),
                o.err);
  CHECK(slurp(run.dir / "run/old-1/log.jsonl") == open_end);
  // A run that was killed before its first checkpoint starts over without a word.
  put(run.dir / "run/log.jsonl", open_end.substr(0, open_end.find("{\"event\":\"valid\"")));
  fs::remove_all(run.dir / "run/checkpoints");
  const Outcome early = run.go("20u");
  CHECK_MESSAGE(early.code == 0, early.err);
  CHECK_FALSE(has(early.err, "starts over"));
  CHECK_FALSE(fs::exists(run.dir / "run/old-2"));
}

TEST_CASE("training state: options that a training is too short for are said") {
  const TemporaryDirectory dir;
  dir.write("text", "a b c d\nb c\na c\nd b\n");
  int n = 0;
  const auto said = [&](const Strings& more) {
    Strings flags{"--train", dir / "text", "--hidden", "4", "--embed", "4",
                  "--batch", "1",          "--bptt",   "4", "--run",   dir / std::to_string(n++)};
    if (std::ranges::find(more, "--log-every") == more.end())
      flags.insert(flags.end(), {"--log-every", "1"});
    const Outcome o = run_program("lm_train", joined(flags, more));
    CHECK_MESSAGE(o.code == 0, o.err);
    return o.err;
  };
  const std::string more = " is more than the 3 updates of this training: ";
  // 14 tokens in one column: an epoch has 4 updates.
  const struct {
    Strings flags;
    std::string says;
  } cases[] = {
      {{"--after", "3u", "--warmup", "4"},
       concat("--warmup 4", more, "the learning rate does not reach --lr 0.001")},
      {{"--after", "1e", "--warmup", "5"},
       "--warmup 5 is more than the 4 updates of this training"},
      {{"--after", "3u", "--log-every", "4"},
       concat("--log-every 4", more, "log.jsonl gets no line")},
      {{"--after", "3u", "--optimizer", "asgd", "--asgd-start", "3"},
       "--asgd-start 3 is not less than the 3 updates of this training: no weights are averaged"},
      {{"--after", "3u", "--optimizer", "asgd", "--asgd-start", "9"},
       "--asgd-start 9 is more than the 3 updates"},
      {{"--after", "3u", "--schedule", "linear", "--schedule-length", "2u"},
       "--schedule-length 2u is less than --after 3u: the learning rate stays at --min-lr 1e-04 "
       "from there on"},
      {{"--after", "3u", "--schedule", "linear", "--schedule-length", "9u"},
       "--schedule-length 9u is more than --after 3u: the learning rate does not fall to "
       "--min-lr"}};
  for (const auto& c : cases) {
    const std::string err = said(c.flags);
    const size_t at = err.find(c.says);
    CHECK_MESSAGE(at != err.npos, err);
    CHECK_MESSAGE(err.find(c.says, at + 1) == err.npos, err);
  }
  for (const Strings& flags : {Strings{"--after", "3u", "--warmup", "3", "--log-every", "3"},
                               {"--after", "1e", "--warmup", "4"},
                               {"--after", "3u", "--optimizer", "asgd", "--asgd-start", "2"},
                               {"--after", "3u"}})
    CHECK_FALSE(has(said(flags), "of this training"));
  CHECK_FALSE(has(said({"--after", "3u", "--schedule", "linear"}), "--schedule-length"));
  // Of the text's sentences one has five tokens with </s>, the others have three.
  for (const auto& [size, says] :
       {std::pair("4",
                  "sentences longer than --batch-tokens 4, each a batch of its own: 1, of up to 5 "
                  "tokens"),
        {"5", ""}}) {
    const Outcome o = run_program(
        "lm_train", {"--train", dir / "text", "--hidden", "4", "--embed", "4", "--sentences",
                     "--batch-tokens", size, "--after", "2u", "--run", dir / concat("b", size)});
    CHECK_MESSAGE(o.code == 0, o.err);
    CHECK_MESSAGE(has(o.err, *says != 0 ? says : "training tokens"), o.err);
    CHECK(has(o.err, "--batch-tokens") == (*says != 0));
  }
}

TEST_CASE("training state: while the rate rises, its end is said in the place of a lower rate") {
  const TemporaryDirectory dir;
  std::string text;
  for (int i = 0; i < 40; ++i) text += "a b c d\nb c\na c\nd b\n";
  dir.write("text", text);
  const auto said = [&](const std::string& run, const Strings& more) {
    return run_program("lm_train",
                       joined({"--train", dir / "text", "--valid", dir / "text", "--hidden", "4",
                               "--embed", "4", "--batch", "8", "--bptt", "4", "--lr", "1e-9",
                               "--after", "1e", "--run", dir / run},
                              more))
        .err;
  };
  const std::string yet = ": the model has learnt nothing from contexts yet; ";
  const std::string plain = said("plain", {}), rising = said("rising", {"--warmup", "4000"});
  CHECK_MESSAGE(has(plain, yet + "if this does not change, try a lower --lr or --warmup"), plain);
  CHECK_MESSAGE(has(rising, yet + "the learning rate rises until update 4000 (--warmup), so train "
                                  "longer, or lower --warmup"),
                rising);
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
  const Outcome own = run.go("30u", {"--tensorboard", best});
  CHECK(own.code == 2);
  CHECK_MESSAGE(has(own.err, "--tensorboard " + best + " lies in "), own.err);
  const Outcome board = run_program(
      "lm_train", joined(tiny_lm_flags(run.dir / "other", "5u"), {"--tensorboard", best}));
  CHECK(board.code == 1);
  CHECK_MESSAGE(has(board.err, "--tensorboard " + best + " is a checkpoint"), board.err);
  CHECK_FALSE(fs::exists(run.dir / "other"));
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
