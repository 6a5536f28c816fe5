// What a run is known by when it goes on: the lines of its texts, the words of its vocabulary, its
// best model.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/training/compare_configs.h"
#include "core/crc32c.h"
#include "core/json.h"
#include "core/safetensors.h"
#include "data/corpus.h"
#include "nn/training/checkpoint.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_run_inputs {
namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

const std::string kWords = "the dog runs\na cat sleeps\nthe old cat runs\na dog sees the cat\n";
const std::string kOther = "runs the dog\nsleeps a cat\ncat old the runs\nsees dog a cat the\n";

std::string times(int n, const std::string& text) {
  std::string out;
  for (int i = 0; i < n; ++i) out += text;
  return out;
}

// What crc32c() is of the text, which has single blanks and line feeds.
uint32_t checksum(const std::string& text) { return crc32c(0, text.data(), text.size()); }

// A run directory with texts in `a` and copies in `b`.
struct LmRun {
  TemporaryDirectory dir;
  LmRun() {
    for (const char* folder : {"a", "b"}) {
      fs::create_directory(dir / folder);
      dir.write(std::string(folder) + "/train", times(20, kWords));
      dir.write(std::string(folder) + "/valid", times(4, kWords));
      dir.write(std::string(folder) + "/dict", "the 9\ncat 8\ndog 7\na 6\nruns 5\n");
    }
  }
  std::string at(const std::string& name) const { return dir / name; }
  Outcome go(const std::string& folder, const char* after, const Strings& more = {}) const {
    return run_program("lm_train", joined({"--layers",  "1",
                                           "--hidden",  "8",
                                           "--embed",   "8",
                                           "--batch",   "4",
                                           "--bptt",    "8",
                                           "--threads", "1",
                                           "--run",     at("run"),
                                           "--after",   after,
                                           "--train",   at(folder + "/train"),
                                           "--valid",   at(folder + "/valid")},
                                          more));
  }
  Json config() const { return Json::parse(slurp(at("run/config.json"))); }
};

}  // namespace

TEST_CASE("line checksum: of words and lines, however they are spaced and cut into files") {
  const TemporaryDirectory dir;
  const std::string text = "the cat\n\na dog runs\n";
  WordCounts counts;
  for (const char* line : {"the cat", "a dog runs"}) counts.add_sentence(line);
  const Vocabulary words = Vocabulary::of_all_words(counts, Specials::kLanguageModel);
  const auto of = [&](const Strings& files) { return Corpus(files, words).checksum(); };
  CHECK(of({dir.write("plain", text)}) == checksum(text));
  CHECK(of({dir.write("spaced", "\xEF\xBB\xBF the\tcat \r\n \r\na  dog runs")}) == checksum(text));
  CHECK(of({dir.write("1", "the cat\n"), dir.write("2", "\na dog runs\n")}) == checksum(text));
  CHECK(of({dir.write("joined", "the cat\na dog runs\n")}) != checksum(text));
  CHECK(of({dir.write("unknown", "the cat\n\na dog ran\n")}) != checksum(text));
  CHECK(Corpus::of_lines(Strings{"the cat", "", "a dog runs"}, words).checksum() == checksum(text));
}

TEST_CASE("run inputs: the same lines under other paths go on to the same bits, others are named") {
  const LmRun run;
  REQUIRE(run.go("a", "1e").code == 0);
  const Json identity = run.config()["resolved"]["identity"];
  CHECK(identity["train"] == checksum(times(20, kWords)));
  CHECK(identity["valid"] == checksum(times(4, kWords)));
  const Outcome moved = run.go("b", "2e");
  REQUIRE_MESSAGE(moved.code == 0, moved.err);
  CHECK(run.config()["train"] == Json{run.at("b/train")});
  CHECK(run.config()["resolved"]["identity"] == identity);
  const LmRun whole;
  REQUIRE(whole.go("a", "2e").code == 0);
  CHECK((weights_of(run.at("run")) == weights_of(whole.at("run"))));

  run.dir.write("a/train", times(20, kOther));
  const Outcome other = run.go("a", "3e");
  CHECK(other.code == 2);
  CHECK_MESSAGE(
      has(other.err, concat("--train was ", run.at("b/train"), " (checksum ",
                            checksum(times(20, kWords)), ") in this run, now ", run.at("a/train"),
                            " (checksum ", checksum(times(20, kOther)), ");")),
      other.err);
  CHECK(has(other.err, "give the files that this run began with, under any path"));
  CHECK_FALSE(has(other.err, "--valid"));
  // A vocabulary that was built from the text is no second difference.
  run.dir.write("a/train", times(20, kOther + "the hen\n"));
  CHECK_FALSE(has(run.go("a", "3e").err, "--vocab"));
}

TEST_CASE("run inputs: what a raw text holds out, and a model to begin from that is another one") {
  const TemporaryDirectory dir;
  const auto train = [&](const Strings& more) {
    return run_program("lm_train",
                       joined({"--layers", "1", "--hidden", "8", "--embed", "8", "--batch", "1",
                               "--bptt", "8", "--threads", "1", "--run", dir / "run"},
                              more));
  };
  const std::string text = dir.write("text", times(10, kWords));
  REQUIRE(train({"--text", text, "--vocab-size", "270", "--after", "1u"}).code == 0);
  std::string last_line = times(10, kWords);
  last_line.insert(last_line.size() - 1, " runs");
  dir.write("text", last_line);
  const Outcome other = train({"--text", text, "--vocab-size", "270", "--after", "2u"});
  CHECK(other.code == 2);
  CHECK_MESSAGE(has(other.err, "what is taken from the other inputs because --valid is not given"),
                other.err);

  // Without a checkpoint a run would begin from the model that is there.
  const Strings words{"--train", dir.write("words", times(10, kWords))};
  for (const char* seed : {"1", "2"})
    REQUIRE(run_program("lm_train", joined(words, {"--layers", "1", "--hidden", "8", "--embed", "8",
                                                   "--batch", "1", "--after", "1u", "--seed", seed,
                                                   "--run", dir / (std::string("model") + seed)}))
                .code == 0);
  fs::rename(dir / "model1", dir / "model");
  const auto on = [&](const char* after) {
    return run_program("lm_train", joined(words, {"--init", dir / "model", "--batch", "1",
                                                  "--after", after, "--run", dir / "on"}));
  };
  REQUIRE(on("1u").code == 0);
  fs::rename(dir / "model", dir / "model1");
  fs::rename(dir / "model2", dir / "model");
  CHECK(on("2u").code == 0);  // the checkpoint has all that the run needs
  fs::remove_all(dir / "on/checkpoints");
  const Outcome again = on("3u");
  CHECK(again.code == 2);
  CHECK_MESSAGE(has(again.err, concat(dir / "on",
                                      " has no checkpoint and would begin again from "
                                      "another model: ",
                                      dir / "model", " had the checksum ")),
                again.err);
  CHECK_FALSE(fs::exists(dir / "on/old-1"));
}

TEST_CASE("run inputs: a test text that is added or left out is named") {
  const LmRun run;
  REQUIRE(run.go("a", "1e", {"--test", run.at("a/valid")}).code == 0);
  CHECK(run.go("a", "2e", {"--test", run.at("b/valid")}).code == 0);
  const Outcome none = run.go("a", "3e");
  CHECK(none.code == 2);
  CHECK_MESSAGE(
      has(none.err, concat("--test was ", run.at("b/valid"), " in this run, now not given")),
      none.err);
}

TEST_CASE("run inputs: of --vocab the words count in their order, their counts do not") {
  const LmRun run;
  const auto go = [&](const char* after, const std::string& dict) {
    return run.go("a", after, {"--vocab", run.dir.write("dict", dict)});
  };
  REQUIRE(go("1e", "the 9\ncat 8\ndog 7\na 6\nruns 5\n").code == 0);
  const Outcome counts = go("2e", "the 1\ncat 1\ndog 2\na 1\nruns 40\n");
  CHECK_MESSAGE(counts.code == 0, counts.err);
  const Outcome order = go("3e", "cat 8\nthe 9\ndog 7\na 6\nruns 5\n");
  CHECK(order.code == 2);
  CHECK_MESSAGE(has(order.err, "--vocab was " + run.at("dict") + " (checksum "), order.err);
}

TEST_CASE("run inputs: a run of an older version goes on by its own checksums") {
  const LmRun run;
  REQUIRE(run.go("a", "1e", {"--vocab", run.at("a/dict")}).code == 0);
  Json config = run.config();
  const std::string dict = slurp(run.at("a/dict"));
  const Vocabulary words = Vocabulary::read(run.at("a/dict"), Specials::kLanguageModel);
  const auto crc_of = [&](const std::string& file, uint32_t crc) {
    const Corpus text({run.at(file)}, words);
    return crc32c(crc, text.flat().data(), text.flat().size_bytes());
  };
  config["resolved"].erase("identity");
  config["resolved"]["train_crc32c"] = crc32c(crc_of("a/train", 0), dict.data(), dict.size());
  config["resolved"]["valid_crc32c"] = crc_of("a/valid", 0);
  const std::string before = config.dump();
  run.dir.write("run/config.json", before);
  const Outcome moved = run.go("b", "2e", {"--vocab", run.at("b/dict")});
  REQUIRE_MESSAGE(moved.code == 0, moved.err);
  CHECK(run.config()["resolved"].contains("identity"));

  run.dir.write("run/config.json", before);
  run.dir.write("b/valid", times(4, kOther));
  const Outcome other = run.go("b", "3e", {"--vocab", run.at("b/dict")});
  CHECK(other.code == 2);
  CHECK_MESSAGE(has(other.err, concat("--valid: valid_crc32c was ", crc_of("a/valid", 0),
                                      " in this run, now ", crc_of("b/valid", 0))),
                other.err);
  CHECK(has(other.err, "--valid was " + run.at("a/valid")));
}

TEST_CASE(
    "run inputs: mt_train goes on with its lines under other paths, a vocabulary's counts "
    "aside") {
  const TemporaryDirectory dir;
  for (const char* folder : {"a", "b"}) {
    fs::create_directory(dir / folder);
    dir.write(std::string(folder) + "/s", times(20, kWords));
    dir.write(std::string(folder) + "/t", times(20, kOther));
  }
  dir.write("a/dict", "the 9\ncat 8\ndog 7\na 6\nruns 5\n");
  dir.write("b/dict", "the 1\ncat 1\ndog 1\na 1\nruns 1\n");
  const auto go = [&](const std::string& folder, const char* after) {
    const auto at = [&](const std::string& name) { return dir / (folder + "/" + name); };
    return run_program(
        "mt_train",
        {"--layers",    "1",     "--hidden",    "8",         "--ffn",          "8",
         "--heads",     "2",     "--run",       dir / "run", "--after",        after,
         "--src",       at("s"), "--tgt",       at("t"),     "--src-dict",     at("dict"),
         "--valid-src", at("s"), "--valid-tgt", at("t"),     "--batch-tokens", "100"});
  };
  REQUIRE(go("a", "1u").code == 0);
  const Outcome moved = go("b", "2u");
  REQUIRE_MESSAGE(moved.code == 0, moved.err);
  dir.write("b/t", times(19, kOther) + "other words here\na b\nc\nd\n");
  const Outcome other = go("b", "3u");
  CHECK(other.code == 2);
  CHECK_MESSAGE(has(other.err, "--tgt was " + (dir / "b/t") + " (checksum "), other.err);
  CHECK(has(other.err, "--valid-tgt was " + (dir / "b/t") + " (checksum "));
  CHECK_FALSE(has(other.err, "--src was"));
}

TEST_CASE("run inputs: a model to start from may move, and may have been trained on since") {
  const LmRun run;
  REQUIRE(run.go("a", "1e").code == 0);
  fs::rename(run.at("run"), run.at("from"));
  fs::copy(run.at("from"), run.at("copy"),
           fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  REQUIRE(run.go("a", "1e", {"--init", run.at("from")}).code == 0);
  const Outcome moved = run.go("a", "2e", {"--init", run.at("copy")});
  CHECK_MESSAGE(moved.code == 0, moved.err);
  REQUIRE(run_program("lm_train", {"--config", run.at("copy/config.json"), "--run", run.at("copy"),
                                   "--after", "2e"})
              .code == 0);
  CHECK(run.go("a", "3e", {"--init", run.at("copy")}).code == 0);
  fs::remove_all(run.at("copy"));
  CHECK(run.go("a", "4e", {"--init", run.at("copy")}).code == 0);
  const Outcome gone = run.go("a", "5e", {"--init", run.at("nowhere")});
  CHECK(gone.code == 2);
  CHECK(has(gone.err, "--init was " + run.at("copy") + " in this run, now " + run.at("nowhere")));
}

TEST_CASE("run inputs: a model to start from in several files is known by each of them") {
  const LmRun run;
  REQUIRE(run.go("a", "1e").code == 0);
  const fs::path model = fs::canonical(run.at("run/checkpoints/best"));
  const Safetensors whole = read_safetensors(model / "model.safetensors");
  // The model in two files: the embedding, and the rest times `factor`.
  const auto parts = [&](const char* folder, float factor) {
    fs::create_directory(run.at(folder));
    std::vector<NamedView> first, second;
    std::vector<Tensor> kept;
    Json map = Json::object();
    for (const auto& [name, tensor] : whole.tensors) {
      const bool words = name == "embedding.weight";
      kept.push_back(tensor.clone());
      for (int64_t i = 0; !words && i < tensor.elements(); ++i)
        kept.back().data<float>()[i] *= factor;
      (words ? first : second).push_back({name, kept.back()});
      map[name] = words ? "model-1.safetensors" : "model-2.safetensors";
    }
    const fs::path to = run.at(folder);
    write_safetensors(to / "model-1.safetensors", first, whole.metadata);
    write_safetensors(to / "model-2.safetensors", second, whole.metadata);
    put(to / "model.safetensors.index.json", Json{{"weight_map", map}}.dump());
    for (const char* name : {"dict.txt", "config.json"}) fs::copy_file(model / name, to / name);
    return to.string();
  };
  const std::string one = parts("one", 1), copy = parts("copy", 1), other = parts("other", 1.5);
  fs::remove_all(run.at("run"));
  const Outcome begun = run.go("a", "1e", {"--init", one});
  REQUIRE_MESSAGE(begun.code == 0, begun.err);
  const Outcome moved = run.go("a", "2e", {"--init", copy});
  CHECK_MESSAGE(moved.code == 0, moved.err);
  const Outcome changed = run.go("a", "3e", {"--init", other});
  CHECK(changed.code == 2);
  CHECK_MESSAGE(has(changed.err, "--init was " + copy + " (checksum "), changed.err);
  // The index names the files, so that it is one of the inputs.
  fs::remove_all(other);
  fs::copy(copy, other);
  put(fs::path(other) / "model.safetensors.index.json",
      slurp(copy + "/model.safetensors.index.json") + "\n");
  CHECK(run.go("a", "3e", {"--init", other}).code == 2);
}

namespace {

// A run that got worse after its first epoch: best is not latest. `go(after)` goes on.
template <class Go>
void check_lost_best(const std::string& run, Go&& go) {
  const fs::path checkpoints = run + "/checkpoints";
  REQUIRE(go("12u").code == 0);
  const std::string best = fs::read_symlink(checkpoints / "best"),
                    latest = fs::read_symlink(checkpoints / "latest");
  REQUIRE(best != latest);
  SUBCASE("gone, and its link") {
    fs::remove_all(checkpoints / best);
    fs::remove(checkpoints / "best");
  }
  SUBCASE("gone") { fs::remove_all(checkpoints / best); }
  SUBCASE("damaged") {
    std::string bytes = slurp(checkpoints / best / "model.safetensors");
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    put(checkpoints / best / "model.safetensors", bytes);
  }
  const bool damaged = fs::exists(checkpoints / best);
  const Outcome o = go("14u");
  REQUIRE_MESSAGE(o.code == 0, o.err);
  const std::string lost =
      concat("the best model so far, of step ", std::stoi(best), ", is lost: ");
  CHECK_MESSAGE(has(o.err, lost + (damaged ? "the checkpoint " : "there is no ")), o.err);
  CHECK(o.err.find(lost) < o.err.find("going on from step"));
  CHECK(has(o.err, concat("step ", std::stoi(latest), " takes the place of the best model")));
  // Figures of one model, which is there.
  const Json done = log_of(run).back();
  REQUIRE(done["event"] == "done");
  const Checkpoint now(checkpoints / "best");
  CHECK(done["best_step"] == now.step());
  CHECK(now.step() >= std::stoi(latest));
  CHECK(done["best_valid_ppl"].get<double>() > 0);
  for (const Json& event : log_of(run)) {
    if (event["event"] == "valid" && event["step"] == now.step())
      CHECK(event["ppl"] == done["best_valid_ppl"]);
    if (event["event"] == "resume" && event["step"] == std::stoi(latest))
      CHECK(event.contains("lost_best"));
  }
  // Of a finished run it is said, too, and the run ends once more.
  const std::string weights = weights_of(run);
  fs::remove_all(fs::canonical(checkpoints / "best"));
  const bool whole = fs::exists(checkpoints / "latest" / "state.json");
  const Outcome again = go("14u");
  REQUIRE_MESSAGE(again.code == 0, again.err);
  CHECK(log_of(run).back()["best_step"] == Checkpoint(checkpoints / "best").step());
  if (whole) {
    CHECK(has(again.err, "is lost: there is no "));
    CHECK((weights_of(run) == weights));
  }
}

}  // namespace

TEST_CASE("best model lost: lm_train says so at the start and ends with the figures of one model") {
  const LmRun run;
  // Validation is on other sentences than training, and a high rate makes it worse.
  run.dir.write("a/valid", times(4, kOther));
  check_lost_best(run.at("run"), [&](const char* after) {
    return run.go(
        "a", after,
        {"--keep", "1", "--lr", "0.1", "--valid-every", "2u", "--test", run.at("a/train")});
  });
}

TEST_CASE("best model lost: mt_train says so at the start and ends with the figures of one model") {
  const TemporaryDirectory dir;
  dir.write("s", times(10, kWords));
  dir.write("t", times(10, kOther));
  dir.write("v", times(40, "old old\n"));  // which is less and less likely
  check_lost_best(dir / "run", [&](const char* after) {
    return run_program(
        "mt_train",
        {"--layers",      "1",       "--hidden",       "16",        "--ffn",       "16",
         "--heads",       "2",       "--run",          dir / "run", "--after",     after,
         "--src",         dir / "s", "--tgt",          dir / "t",   "--valid-src", dir / "s",
         "--valid-tgt",   dir / "v", "--batch-tokens", "40",        "--keep",      "1",
         "--lr",          "0.02",    "--warmup",       "0",         "--schedule",  "constant",
         "--valid-every", "2u",      "--test-src",     dir / "s",   "--test-tgt",  dir / "t"});
  });
}

TEST_CASE("best model lost: a program that opens the run says so, and takes no other model") {
  const LmRun run;
  REQUIRE(run.go("a", "1e").code == 0);
  fs::remove_all(fs::canonical(run.at("run/checkpoints/best")));
  const Outcome o = run_program("lm_score", {"--checkpoint", run.at("run")}, "the cat\n");
  CHECK(o.code == 1);
  CHECK_MESSAGE(has(o.err, "which is not there: the best model is lost"), o.err);
}

TEST_CASE("best model lost: a run copied without its links keeps its best model") {
  const LmRun run;
  run.dir.write("a/valid", times(4, kOther));
  REQUIRE(run.go("a", "6e", {"--keep", "9", "--lr", "0.1", "--valid-every", "2u"}).code == 0);
  const auto score = [&] {
    return run_program("lm_score", {"--checkpoint", run.at("run")}, "the cat\n");
  };
  const fs::path checkpoints = run.at("run/checkpoints"),
                 best = fs::canonical(checkpoints / "best");
  REQUIRE(best != fs::canonical(checkpoints / "latest"));
  const Outcome linked = score();
  fs::remove(checkpoints / "best");
  CHECK(score().out == linked.out);
  fs::remove(checkpoints / "latest");
  CHECK(score().out == linked.out);
  fs::remove_all(best);
  CHECK(has(score().err, concat("the best model's checkpoint, ", best.string(), ", is not there")));
}

TEST_CASE("best model lost: a finished run without checkpoints keeps its log") {
  const LmRun run;
  REQUIRE(run.go("a", "1e").code == 0);
  const std::string log = slurp(run.at("run/log.jsonl"));
  fs::remove_all(run.at("run/checkpoints"));
  const Outcome o = run.go("a", "1e");
  CHECK(o.code == 0);
  CHECK_MESSAGE(
      has(o.err, "run/checkpoints has no checkpoint, and the log is of a run that wrote some"),
      o.err);
  CHECK(slurp(run.at("run/old-1/log.jsonl")) == log);
}

TEST_CASE("another run's checkpoint in a run's place is named, before any work") {
  const LmRun run;
  run.dir.write("a/valid", times(4, kOther));  // which gets worse, so that best is not latest
  const auto go = [&](const char* after, const char* seed = "1") {
    return run.go("a", after,
                  {"--keep", "9", "--lr", "0.1", "--valid-every", "2u", "--seed", seed});
  };
  REQUIRE(go("12u", "2").code == 0);
  fs::rename(run.at("run"), run.at("other"));
  REQUIRE(go("12u").code == 0);
  const fs::path checkpoints = run.at("run/checkpoints");
  const std::string latest = fs::read_symlink(checkpoints / "latest"),
                    best = fs::read_symlink(checkpoints / "best");
  REQUIRE(latest != best);
  const std::string log = slurp(run.at("run/log.jsonl"));
  const auto put_other = [&](const std::string& step) {
    fs::remove_all(checkpoints / step);
    fs::copy(run.at("other/checkpoints/" + step), checkpoints / step);
  };
  const auto check_named = [&](const std::string& step, const std::string& what) {
    for (const char* after : {"12u", "14u"}) {
      const Outcome o = go(after);
      CHECK(o.code == 2);
      CHECK_MESSAGE(has(o.err, concat((checkpoints / step / "config.json").string(),
                                      " is of another run than ", run.at("run/config.json"), ": ",
                                      what, "; put the run's own checkpoint in its place")),
                    o.err);
      CHECK(slurp(run.at("run/log.jsonl")) == log);
    }
  };
  SUBCASE("the latest") {
    put_other(latest);
    check_named(latest, "--seed was 2 in that checkpoint, now 1");
    fs::remove_all(checkpoints / latest);
    CHECK(go("14u").code == 0);
  }
  SUBCASE("the best") {
    put_other(best);
    check_named(best, "--seed was 2 in that checkpoint, now 1");
    const auto score = [&](const std::string& model) {
      return run_program("lm_score", {"--checkpoint", model}, "the cat\n");
    };
    const Outcome o = score(run.at("run"));
    CHECK(o.code == 1);
    CHECK_MESSAGE(has(o.err, concat((checkpoints / best / "config.json").string(),
                                    " is of another run than ", run.at("run/config.json"),
                                    ": 'seed' is 2 there and 1 here; name the checkpoint ")),
                  o.err);
    CHECK(score(checkpoints / best).code == 0);
  }
  SUBCASE("of the run, of another step") {
    fs::remove_all(checkpoints / best);
    fs::copy(checkpoints / latest, checkpoints / best);
    const Outcome o = go("14u");
    CHECK_MESSAGE(has(o.err, "is lost: the checkpoint "), o.err);
    CHECK(has(o.err, "another checkpoint stands in the place of this checkpoint"));
  }
  SUBCASE("a run's configuration that lost what decides on the order of the text") {
    Json config = run.config();
    config["resolved"].erase("remainder");
    run.dir.write("run/config.json", config.dump());
    check_named(latest, "remainder was \"read\" in that checkpoint, now not recorded");
  }
}

TEST_CASE("a run's config.json with values of another type is named with what stands there") {
  const LmRun run;
  REQUIRE(run.go("a", "2u").code == 0);
  const Json before = run.config();
  const auto says = [&](const char* key, const Json& value) {
    Json config = before;
    config[key] = value;
    run.dir.write("run/config.json", config.dump());
    const Outcome o = run.go("a", "3u");
    CHECK(o.code != 0);
    return o.err;
  };
  const std::string text = says("hidden", "8");
  CHECK_MESSAGE(has(text, "--hidden was \"8\", a string, in this run, now 8;"), text);
  const std::string resolved = says("resolved", "none");
  CHECK_MESSAGE(has(resolved, run.at("run/config.json") +
                                  ": the key 'resolved' is \"none\", and an object was expected"),
                resolved);
  CHECK(has(says("resolved", {{"identity", 3}}), "the key 'identity' is 3, and an object was"));
}

TEST_CASE("nine_report --differences: only on the text that the runs were validated on") {
  const LmRun run;
  const auto train = [&](const std::string& name, const char* seed) {
    REQUIRE(run.go("a", "1e", {"--seed", seed}).code == 0);
    fs::rename(run.at("run"), run.at(name));
  };
  train("r1", "1");
  train("r2", "2");
  const auto report = [&] {
    return run_program("nine_report", {run.at("r1"), run.at("r2"), "--differences", "--output",
                                       run.at("page.html")});
  };
  const auto as_older = [&] {  // its checksum is of the ids
    for (const char* name : {"r1", "r2"}) {
      Json config = Json::parse(slurp(run.at(std::string(name) + "/config.json")));
      config["resolved"].erase("identity");
      const Corpus text({run.at("b/valid")},
                        Vocabulary::read(run.at(std::string(name) + "/checkpoints/best/dict.txt"),
                                         Specials::kLanguageModel));
      config["resolved"]["valid_crc32c"] = crc32c(0, text.flat().data(), text.flat().size_bytes());
      put(run.at(std::string(name) + "/config.json"), config.dump());
    }
  };
  bool older = false;
  SUBCASE("by its lines") {}
  SUBCASE("by its ids, as of an older version") {
    as_older();
    older = true;
  }
  const Outcome same = report();
  CHECK_MESSAGE(same.code == 0, same.err);
  run.dir.write("a/valid", "");
  const Outcome emptied = report();
  CHECK(emptied.code == 1);
  if (!older)
    CHECK_MESSAGE(has(emptied.err, concat(run.at("a/valid"), " is not the text that ")),
                  emptied.err);
  run.dir.write("a/valid", times(4, kOther));
  const Outcome other = report();
  CHECK(other.code == 1);
  CHECK_MESSAGE(has(other.err, concat(run.at("a/valid"), " is not the text that ", run.at("r1"),
                                      " was validated on (checksum ")),
                other.err);
  if (!older)
    CHECK(has(other.err, concat("(checksum ", checksum(times(4, kOther)), ", the run's is ",
                                checksum(times(4, kWords)), ")")));
}

TEST_CASE("nine_report --differences: a run of mt_train is named for what it is") {
  const LmRun run;
  for (const char* seed : {"1", "2"})
    REQUIRE(run_program("mt_train", {"--sample", "--sample-pairs", "100", "--layers", "1",
                                     "--hidden", "8", "--ffn", "8", "--heads", "2", "--after", "1u",
                                     "--seed", seed, "--run", run.at(seed)})
                .code == 0);
  const Outcome o = run_program(
      "nine_report", {run.at("1"), run.at("2"), "--differences", "--output", run.at("page.html")});
  CHECK(o.code == 1);
  CHECK_MESSAGE(has(o.err, run.at("1") + " is a run of mt_train: --differences compares words"),
                o.err);
}

}  // namespace nine::tests::test_run_inputs
