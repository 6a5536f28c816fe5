// lm_train and lm_score from the outside: what a user's commands do.
#include <doctest/doctest.h>

#include <cmath>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/json.h"
#include "core/safetensors.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace {

using namespace nine;
using namespace nine::tests;
using Strings = std::vector<std::string>;

// A small training on the sample text: some 190 updates an epoch, a fraction of a second.
Strings small(const std::string& run, const Strings& more = {}) {
  Strings a{"--sample", "--sample-sentences",
            "1500",     "--layers",
            "2",        "--hidden",
            "24",       "--embed",
            "20",       "--batch",
            "6",        "--bptt",
            "14",       "--lr",
            "0.01",     "--schedule",
            "plateau",  "--log-every",
            "25",       "--run",
            run};
  a.insert(a.end(), more.begin(), more.end());
  return a;
}

}  // namespace

// A validation at the end of a run that is trained on later must not count.
TEST_CASE("lm_train: early stopping of a run in parts is that of the whole one") {
  const TemporaryDirectory dir;
  const auto train = [&](const char* run, const char* after) {
    const Outcome r = run_program("lm_train", {"--sample", "--sample-sentences",
                                               "300",      "--layers",
                                               "1",        "--hidden",
                                               "16",       "--embed",
                                               "16",       "--optimizer",
                                               "sgd",      "--lr",
                                               "25",       "--batch",
                                               "8",        "--bptt",
                                               "8",        "--save-every",
                                               "0u",       "--threads",
                                               "1",        "--valid-every",
                                               "4u",       "--early-stop",
                                               "2",        "--after",
                                               after,      "--run",
                                               dir / run});
    REQUIRE_MESSAGE(r.code == 0, r.err);
    return log_of(dir / run).back()["step"].get<int64_t>();
  };
  const int64_t whole = train("whole", "60u");
  CHECK(whole < 60);
  CHECK(train("parts", "14u") ==
        14);  // its last validation, between two that are due, is better than the next ones
  CHECK(train("parts", "60u") == whole);
}

// dict.txt's own counts may be of another text.
TEST_CASE(
    "--init-bias log-frequency starts at the training text's frequencies, whatever --vocab says") {
  const TemporaryDirectory dir;
  std::ofstream(dir / "train.txt") << "a a a b\na a c\na a a a\na a a\n";
  std::ofstream(dir / "dict.txt") << "a 1\nb 1\nc 1\nd 99\n";
  const Outcome r = run_program("lm_train", {"--train",     dir / "train.txt",
                                             "--valid",     dir / "train.txt",
                                             "--vocab",     dir / "dict.txt",
                                             "--batch",     "1",
                                             "--bptt",      "2",
                                             "--hidden",    "2",
                                             "--embed",     "2",
                                             "--init-bias", "log-frequency",
                                             "--lr",        "1e-9",
                                             "--after",     "1u",
                                             "--run",       dir / "run"});
  REQUIRE_MESSAGE(r.code == 0, r.err);
  const std::vector<Json> log = log_of(dir / "run");
  const double first = log.back()["best_valid_ppl"], unigram = log.front()["unigram_ppl"];
  CHECK(first < 1.5 * unigram);  // by dict.txt's it is 29 times that
}

TEST_CASE(
    "lm_train --vocab: the model's dict.txt has the training text's counts, and the run goes on") {
  const TemporaryDirectory dir;
  const std::string dict = "a 1\nb 1\nd 99\nc 1\n";
  const auto train = [&](const char* after) {
    const Outcome r = run_program(
        "lm_train", {"--train", dir.write("train.txt", "a a a b\na e c\na a a a\na a a\n"),
                     "--vocab", dir.write("dict.txt", dict), "--batch", "1", "--bptt", "2",
                     "--hidden", "2", "--embed", "2", "--after", after, "--run", dir / "run"});
    REQUIRE_MESSAGE(r.code == 0, r.err);
    CHECK(slurp(dir / "run/checkpoints/latest/dict.txt") == "a 11\nb 1\nd 0\nc 1\n");
    return Json::parse(slurp(dir / "run/config.json"))["resolved"]["identity"]["vocab"];
  };
  // Of the words alone.
  const std::string words{"</s>\0<unk>\0a\0b\0d\0c\0", 19};
  const uint32_t checksum = crc32c(0, words.data(), words.size());
  CHECK(train("1u") == checksum);
  CHECK(train("2u") == checksum);
}

TEST_CASE("a model that stays at the word frequencies gets a hint") {
  const TemporaryDirectory dir;
  const Outcome r = run_program(
      "lm_train",
      small(dir / "run", {"--after", "2e", "--warmup", "1000000", "--init-bias", "log-frequency"}));
  REQUIRE_MESSAGE(r.code == 0, r.err);
  const std::vector<Json> log = log_of(dir / "run");
  const double unigram = log.front()["unigram_ppl"];
  CHECK(log.back()["best_valid_ppl"].get<double>() == doctest::Approx(unigram).epsilon(0.02));
  const size_t told = r.err.find(concat("word frequencies alone give ", fixed(unigram, 1)));
  REQUIRE(told != std::string::npos);
  CHECK(r.err.find("word frequencies", told + 1) == std::string::npos);  // once, of two validations
  CHECK(has(r.err, "try a lower --lr\n"));                               // it has the rest
}

TEST_CASE("a run on the sample learns, validates, tests and says what it reached") {
  const TemporaryDirectory dir;
  const Outcome r = run_program("lm_train", small(dir / "run", {"--after", "2e"}));
  REQUIRE_MESSAGE(r.code == 0, r.err);
  const std::vector<Json> log = log_of(dir / "run");
  CHECK(log.front()["event"] == "start");
  CHECK(log.back()["event"] == "done");
  CHECK(log.front()["parameters"].get<int64_t>() > 0);
  CHECK(log.back()["parameters"] == log.front()["parameters"]);
  double first = 0, last = 0;
  for (const Json& e : log) {
    if (e["event"] != "train") continue;
    for (const char* key : {"step", "epoch", "time_s", "loss", "nll", "ppl", "lr", "grad_norm",
                            "tokens_per_s", "ms_per_step", "peak_mib"})
      CHECK_MESSAGE(e.contains(key), key);
    CHECK(e["ppl"].get<double>() == doctest::Approx(std::exp(e["nll"].get<double>())));
    if (first == 0) first = e["ppl"];
    last = e["ppl"];
  }
  CHECK(last < 0.5 * first);
  const double best = log.back()["best_valid_ppl"];
  CHECK(best > 15.5);  // the language's own perplexity
  CHECK(best < 150);
  CHECK(has(r.out, "best validation perplexity"));
  CHECK(!has(r.err, "word frequencies alone"));
  // 1,500 sentences do not show every word, so the entropy is not a floor here; twenty thousand do.
  CHECK(!has(r.out, "floor"));
  CHECK(has(r.err, "not a floor"));
  const Outcome whole = run_program("lm_train", {"--sample", "--hidden", "8", "--embed", "8",
                                                 "--after", "1u", "--run", dir / "whole"});
  CHECK(has(whole.out, "floor 15.742"));
  CHECK(has(whole.out, "floor 15.503"));  // the test text has its own
  const std::vector<Json> whole_log = log_of(dir / "whole");
  CHECK(whole_log.front()["entropy_floor_ppl"].get<double>() ==
        doctest::Approx(15.742).epsilon(1e-4));
  const Json& test = whole_log[whole_log.size() - 2];
  REQUIRE(test["event"] == "test");
  CHECK(test.value("entropy_floor_ppl", 0.0) == doctest::Approx(15.503).epsilon(1e-4));
  CHECK(!log[log.size() - 2].contains("entropy_floor_ppl"));
  const std::string page = slurp(dir / "whole/report.html");
  CHECK(has(page, "× the floor of 15.74"));
  CHECK(has(page, "× the floor of 15.50"));
  CHECK(has(r.out, "parameters"));
  CHECK(has(slurp(dir / "run/report.html"), "<svg"));
  const Safetensors model = read_safetensors(dir / "run/checkpoints/best/model.safetensors");
  CHECK(model.at("lstm.weight_ih_l0").shape() == Shape{96, 20});
  CHECK(model.at("lstm.weight_hh_l1").shape() == Shape{96, 24});
  CHECK(model.at("head.weight").shape() == Shape{model.at("embedding.weight").shape()[0], 24});

  SUBCASE("the finished run started again changes nothing and exits 0") {
    const std::string before = slurp(dir / "run/log.jsonl"),
                      config = slurp(dir / "run/config.json");
    const Outcome again = run_program("lm_train", small(dir / "run", {"--after", "2e"}));
    CHECK(again.code == 0);
    CHECK(slurp(dir / "run/log.jsonl") == before);
    // Nor does what may differ: a run that goes on has it, this one does nothing.
    CHECK(run_program("lm_train", small(dir / "run", {"--after", "2e", "--keep", "1"})).code == 0);
    CHECK(slurp(dir / "run/log.jsonl") == before);
    CHECK(slurp(dir / "run/config.json") == config);
    CHECK(run_program("lm_train", small(dir / "run", {"--after", "10u", "--keep", "1"})).code == 0);
    CHECK(slurp(dir / "run/config.json") == config);
  }
  SUBCASE("a larger --after goes on, to the bits of one long run") {
    CHECK(run_program("lm_train", small(dir / "run", {"--after", "3e"})).code == 0);
    CHECK(Json::parse(slurp(dir / "run/config.json"))["after"] == "3e");
    CHECK(run_program("lm_train", small(dir / "long", {"--after", "3e"})).code == 0);
    CHECK(weights_of(dir / "run") == weights_of(dir / "long"));
    CHECK(results_of(dir / "run") == results_of(dir / "long"));
  }
  SUBCASE("another option is refused by name; --restart starts over and keeps the old run aside") {
    const Outcome other =
        run_program("lm_train", small(dir / "run", {"--after", "2e", "--dropout", "0.3"}));
    CHECK(other.code == 2);
    CHECK(has(other.err, "--dropout was 0.1"));
    const Outcome over = run_program(
        "lm_train", small(dir / "run", {"--after", "20u", "--dropout", "0.3", "--restart"}));
    CHECK(over.code == 0);
    CHECK(has(slurp(dir / "run/old-1/log.jsonl"), "\"done\""));
  }
}

TEST_CASE("what only watches, and where the head's products are kept: the same bits") {
  const TemporaryDirectory dir;
  const auto run = [&](const std::string& name, const Strings& more) {
    Strings options{"--after", "40u"};
    options.insert(options.end(), more.begin(), more.end());
    const Outcome r = run_program("lm_train", small(dir / name, options));
    REQUIRE_MESSAGE(r.code == 0, r.err);
    return r.out;
  };
  CHECK(!has(run("plain", {}), "profile:"));
  const std::string profiled = run("profile", {"--profile"});
  CHECK(has(profiled, "profile: 40 steps; this machine"));
  for (const char* op : {"\nhead_gradients ", "\nlstm ", "\nadam ", "\nall ops "})
    CHECK_MESSAGE(has(profiled, op), op);
  // Killed after its last update, before it was done: nothing is left that could be timed.
  std::string log = slurp(dir / "profile/log.jsonl");
  REQUIRE(log.ends_with("}\n"));
  log.erase(log.rfind('\n', log.size() - 2) + 1);
  put(dir / "profile/log.jsonl", log);
  const std::string again = run("profile", {"--profile"});
  CHECK(has(again, "40 updates"));
  CHECK_MESSAGE(!has(again, "profile:"), again);
  run("anomaly", {"--detect-anomaly"});
  run("tiles", {"--head-memory", "tiles"});
  for (const char* name : {"profile", "anomaly", "tiles"})
    CHECK_MESSAGE(weights_of(dir / name) == weights_of(dir / "plain"), name);
}

TEST_CASE("same bits with one and two threads, and after kill -9, SIGTERM and resume") {
  const TemporaryDirectory dir;
  const Strings options{"--after", "500u", "--save-every", "60u", "--valid-every", "130u"};
  const auto with = [&](const std::string& run, const Strings& more) {
    Strings all = small(dir / run, options);
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  REQUIRE(run_program("lm_train", with("one", {"--threads", "1"})).code == 0);
  REQUIRE(run_program("lm_train", with("two", {"--threads", "2"})).code == 0);
  CHECK(weights_of(dir / "one") == weights_of(dir / "two"));
  CHECK(results_of(dir / "one") == results_of(dir / "two"));

  int interrupted = 0;
  for (int round = 0; round < 40; ++round) {
    const bool polite = round % 3 == 2;
    const Outcome r =
        run_program("lm_train", with("broken", {"--threads", round % 2 == 0 ? "1" : "2"}), {},
                    60 + 45 * (round % 7), polite ? SIGTERM : SIGKILL);
    if (r.code == 0) break;
    REQUIRE_MESSAGE((r.code == 130 || r.code == 128 + SIGKILL || r.code == 128 + SIGTERM), r.code,
                    ": ", r.err);
    ++interrupted;
  }
  REQUIRE(run_program("lm_train", with("broken", {})).code == 0);
  MESSAGE("interrupted ", interrupted, " times");
  CHECK(interrupted > 0);
  CHECK(weights_of(dir / "broken") == weights_of(dir / "one"));
  CHECK(results_of(dir / "broken") == results_of(dir / "one"));
}

TEST_CASE("learned numbers of a head: logged, the same bits in parts, drawn, frozen") {
  const TemporaryDirectory dir;
  const Strings head{"--head", "mix:rbf:gamma=learn:0.5,lin:scale=learn", "--save-every", "10u"};
  const auto with = [&](const std::string& run, Strings more) {
    more.insert(more.end(), head.begin(), head.end());
    return small(dir / run, more);
  };
  REQUIRE(run_program("lm_train", with("whole", {"--after", "60u"})).code == 0);
  REQUIRE(run_program("lm_train", with("parts", {"--after", "30u"})).code == 0);
  REQUIRE(run_program("lm_train", with("parts", {"--after", "60u", "--threads", "1"})).code == 0);
  CHECK(weights_of(dir / "whole") == weights_of(dir / "parts"));
  std::vector<double> gamma;
  std::istringstream log(slurp(dir / "whole/log.jsonl"));
  for (std::string line; std::getline(log, line);) {
    if (!has(line, "\"train\"")) continue;
    const Json learned = parse_json(line).at("learned");
    CHECK(learned.size() == 2);
    CHECK(learned.contains("1.lin.scale"));
    gamma.push_back(learned.at("0.rbf.gamma"));
  }
  REQUIRE(gamma.size() > 1);
  CHECK(gamma.front() != gamma.back());
  const std::string report = slurp(dir / "whole/report.html");
  CHECK(has(report, "Learned: gamma"));
  CHECK(has(report, "Learned: scale"));

  // A model whose numbers were fixed goes on with them learned, and nothing else.
  const Strings fixed{"--after", "20u", "--head", "mix:rbf:gamma=0.5,lin"};
  REQUIRE(run_program("lm_train", small(dir / "fixed", fixed)).code == 0);
  REQUIRE(run_program("lm_train", with("on", {"--after", "20u", "--init", dir / "fixed", "--freeze",
                                              "embedding.*,lstm.*,head.[wblp]*"}))
              .code == 0);
  const Safetensors before = read_safetensors(dir / "fixed/checkpoints/best/model.safetensors"),
                    after = read_safetensors(dir / "on/checkpoints/best/model.safetensors");
  CHECK(after.tensors.size() == before.tensors.size() + 2);
  for (const auto& tensor : before.tensors)
    CHECK_MESSAGE(after.at(tensor.first).to_vector() == tensor.second.to_vector(), tensor.first);
  CHECK(after.at("head.scores.0.gamma").to_vector()[0] != doctest::Approx(std::log(0.5)));

  const auto refused = [&](const Strings& more) {
    return run_program("lm_train", with("no", more)).err;
  };
  CHECK(has(refused({"--freeze", "hed.*"}), "called 'hed.*'; there are embedding.weight,"));
  CHECK(has(refused({"--freeze", "*"}), "nothing is left to train"));
  CHECK(has(refused({"--freeze", "head.*", "--weight-decay", "0.1"}), "--weight-decay 0"));
}

TEST_CASE("the end of an epoch is trained on: the same bits in parts and with two threads") {
  // 225 tokens in 4 columns: 57 rows, of which the last has one token.
  const TemporaryDirectory dir;
  std::string text;
  for (int i = 0; i < 45; ++i) text += concat("the cat", i % 7, " saw dog", i % 11, "\n");
  put(dir / "train.txt", text);
  const auto train = [&](const char* run, const char* after, const char* threads) {
    const Outcome r = run_program("lm_train", {"--train",      dir / "train.txt",
                                               "--layers",     "1",
                                               "--hidden",     "8",
                                               "--embed",      "8",
                                               "--batch",      "2",
                                               "--bptt",       "29",
                                               "--accumulate", "2",
                                               "--ar",         "1",
                                               "--tar",        "1",
                                               "--valid",      dir / "train.txt",
                                               "--after",      after,
                                               "--threads",    threads,
                                               "--run",        dir / run});
    REQUIRE_MESSAGE(r.code == 0, r.err);
  };
  train("whole", "3e", "1");
  for (const char* after : {"1u", "2u", "3u", "5u", "3e"}) train("parts", after, "2");
  const auto file = [&](const char* run, const char* name) {
    return slurp(dir / run + "/checkpoints/latest/" + name);
  };
  for (const char* name : {"model.safetensors", "optimizer.safetensors"})
    CHECK(file("whole", name) == file("parts", name));
  const Json state = Json::parse(file("whole", "state.json"));
  CHECK(state["step"] == 6);
  CHECK(state["tokens"] == 3 * 225);
  for (const Json& event : log_of(dir / "whole"))
    if (event["event"] == "valid") CHECK(event["tokens"] == 225);
}

TEST_CASE("SIGINT saves and exits 130") {
  const TemporaryDirectory dir;
  Program program("lm_train", small(dir / "run", {"--after", "100Ku", "--save-every", "0u"}));
  REQUIRE(
      soon([&] { return has(slurp(dir / "run/log.jsonl"), "\"train\"") || !program.running(); }));
  program.signal(SIGINT);
  const Outcome r = program.wait();
  CHECK(r.code == 130);
  CHECK(has(r.err, "is saved"));
  CHECK(!weights_of(dir / "run").empty());
}

TEST_CASE(
    "gradient accumulation, sentence mode, other optimisers and schedules train and resume to the "
    "same bits" *
    doctest::test_suite("check")) {
  const TemporaryDirectory dir;
  const std::vector<Strings> variants{
      {"--accumulate", "3"},
      {"--sentences", "--batch-tokens", "90"},
      {"--sentences"},
      {"--optimizer", "sgd", "--lr", "0.5", "--momentum", "0.9", "--schedule", "inverse-sqrt",
       "--warmup", "20"},
      {"--optimizer", "asgd", "--lr", "1", "--asgd-start", "40"},
      {"--optimizer", "adamw", "--weight-decay", "0.01", "--dtype", "float64"},
      {"--tie-embeddings", "--embed", "24", "--no-head-bias", "--layers", "1"},
  };
  int n = 0;
  for (const Strings& variant : variants) {
    CAPTURE(variant[0]);
    const auto with = [&](const std::string& run, const Strings& more) {
      // Later flags must not repeat earlier ones, so start from the bare minimum.
      Strings a{"--sample",
                "--sample-sentences",
                "600",
                "--run",
                dir / (run + std::to_string(n)),
                "--hidden",
                "24"};
      const auto given = [&](const char* name) {
        return std::find(variant.begin(), variant.end(), name) != variant.end();
      };
      if (!given("--embed")) a.insert(a.end(), {"--embed", "20"});
      if (!given("--sentences")) a.insert(a.end(), {"--bptt", "14"});
      if (!given("--batch-tokens")) a.insert(a.end(), {"--batch", "6"});
      if (!given("--lr")) a.insert(a.end(), {"--lr", "0.01"});
      a.insert(a.end(), variant.begin(), variant.end());
      a.insert(a.end(), more.begin(), more.end());
      return a;
    };
    const Outcome whole = run_program("lm_train", with("whole", {"--after", "90u"}));
    REQUIRE_MESSAGE(whole.code == 0, whole.err);
    REQUIRE(run_program("lm_train", with("parts", {"--after", "37u"})).code == 0);
    REQUIRE(run_program("lm_train", with("parts", {"--after", "90u", "--threads", "1"})).code == 0);
    // The short run ended with a validation of its own, so only the weights can be compared, not
    // the log.
    const bool plateau = std::find(variant.begin(), variant.end(), "plateau") != variant.end();
    if (!plateau)
      CHECK(weights_of(dir / ("whole" + std::to_string(n))) ==
            weights_of(dir / ("parts" + std::to_string(n))));
    const std::vector<Json> log = log_of(dir / ("whole" + std::to_string(n)));
    double first = 0, last = 0;
    for (const Json& e : log)
      if (e["event"] == "train") (first == 0 ? first : last) = e["nll"];
    CHECK(last < first);
    ++n;
  }
}

TEST_CASE("a log that was removed while the run goes on is said, and how much is lost") {
  const TemporaryDirectory dir;
  const std::string run = dir / "run", log = dir / "run/log.jsonl";
  const auto train = [&](const std::string& updates) {
    const Outcome r = run_program("lm_train", tiny_lm_flags(run, updates));
    REQUIRE_MESSAGE(r.code == 0, r.err);
    return r.err;
  };
  train("12u");
  CHECK(!has(train("17u"), "was removed or cut"));
  std::filesystem::remove(log);
  for (const char* updates : {"22u", "32u"}) {  // also when it goes on a second time
    CAPTURE(updates);
    CHECK(has(train(updates), log + " was removed or cut: it lacks 15 of the "));
    const std::vector<Json> events = log_of(run);
    CHECK(events.front()["event"] == "resume");
    CHECK(events.front()["lost_updates"] == 15);
  }
  CHECK(has(slurp(dir / "run/report.html"),
            "log.jsonl lacks 15 updates: it was removed or cut while the run went on."));
}

TEST_CASE("a damaged checkpoint is passed over for the one before it") {
  const TemporaryDirectory dir;
  REQUIRE(run_program("lm_train",
                      small(dir / "run", {"--after", "200u", "--save-every", "50u", "--keep", "3"}))
              .code == 0);
  const std::string latest = dir / "run/checkpoints/latest/model.safetensors";
  std::string bytes = slurp(latest);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  put(latest, bytes);
  const Outcome r = run_program(
      "lm_train", small(dir / "run", {"--after", "220u", "--save-every", "50u", "--keep", "3"}));
  CHECK_MESSAGE(r.code == 0, r.err);
  CHECK(has(r.err, "model.safetensors"));
  REQUIRE(run_program("lm_train", small(dir / "fresh", {"--after", "220u"})).code == 0);
  CHECK(weights_of(dir / "run") == weights_of(dir / "fresh"));
}

TEST_CASE("lm_score: a line out for each line in, and validation's perplexity with carried state") {
  const TemporaryDirectory dir;
  // A text of its own, with an empty line and unknown words.
  std::string train, text = "the cat saw a zzyzx\n\nthe dog saw the cat and the cat saw the dog\n";
  for (int i = 0; i < 400; ++i)
    train += i % 3 == 0   ? "the cat saw the dog\n"
             : i % 3 == 1 ? "a dog saw the cat and ran\n"
                          : "the dog ran\n";
  for (int i = 0; i < 60; ++i) text += i % 2 == 0 ? "the dog ran\n" : "a dog saw the cat\n";
  put(dir / "train.txt", train);
  put(dir / "valid.txt", text);
  const Outcome trained =
      run_program("lm_train", {"--train", dir / "train.txt", "--valid", dir / "valid.txt",
                               "--hidden", "16", "--embed", "16", "--batch", "4", "--bptt", "8",
                               "--after", "60u", "--lr", "0.01", "--run", dir / "run"});
  REQUIRE_MESSAGE(trained.code == 0, trained.err);

  const Outcome plain =
      run_program("lm_score", {"--checkpoint", dir / "run", "--input", dir / "valid.txt"});
  REQUIRE_MESSAGE(plain.code == 0, plain.err);
  const Outcome tokens = run_program(
      "lm_score",
      {"--checkpoint", dir / "run/checkpoints/best", "--tokens", "--batch-tokens", "30"}, text);
  REQUIRE_MESSAGE(tokens.code == 0, tokens.err);
  std::istringstream sums(plain.out), each(tokens.out), lines(text);
  std::string sum, numbers, line;
  int64_t count = 0;
  while (std::getline(lines, line)) {
    REQUIRE(std::getline(sums, sum));
    REQUIRE(std::getline(each, numbers));
    std::istringstream words(line), values(numbers);
    double total = 0, value = 0;
    int64_t n = 0, expected = 1;
    for (std::string w; words >> w;) ++expected;
    while (values >> value) {
      CHECK(value < 0);
      total += value;
      ++n;
    }
    CHECK(n == expected);
    CHECK(total == doctest::Approx(std::stod(sum)).epsilon(1e-5));
    count += n;
  }
  CHECK(!std::getline(sums, sum));
  CHECK(has(tokens.err, std::to_string(count) + " tokens"));

  const Outcome carried =
      run_program("lm_score", {"--checkpoint", dir / "run", "--input", dir / "valid.txt",
                               "--carry-state", "--output", dir / "scores"});
  REQUIRE_MESSAGE(carried.code == 0, carried.err);
  const double ppl = log_of(dir / "run").back()["best_valid_ppl"];
  char expected[64];
  std::snprintf(expected, sizeof expected, "perplexity %.5f", ppl);
  CHECK_MESSAGE(has(carried.err, expected), carried.err, " against ", ppl);
  const std::string written = slurp(dir / "scores");
  CHECK(std::count(written.begin(), written.end(), '\n') ==
        std::count(text.begin(), text.end(), '\n'));
}

TEST_CASE("the test's perplexity is the best model's, not the last one's") {
  const TemporaryDirectory dir;
  // After the first epochs the model learns the training text by heart, and what is validated
  // becomes less likely.
  std::string train, other;
  for (int i = 0; i < 60; ++i) {
    train += i % 2 == 0 ? "the cat saw the dog and ran\n" : "a dog saw a cat\n";
    other += i % 2 == 0 ? "the dog ran and saw a cat\n" : "the cat saw a dog\n";
  }
  const std::string run = dir / "run", text = dir.write("other", other);
  const Outcome trained = run_program("lm_train", {"--train",       dir.write("train", train),
                                                   "--valid",       text,
                                                   "--test",        text,
                                                   "--hidden",      "16",
                                                   "--embed",       "16",
                                                   "--batch",       "4",
                                                   "--bptt",        "8",
                                                   "--dropout",     "0",
                                                   "--valid-every", "5u",
                                                   "--after",       "150u",
                                                   "--lr",          "0.03",
                                                   "--run",         run});
  REQUIRE_MESSAGE(trained.code == 0, trained.err);
  const std::vector<Json> log = log_of(run);
  double last = 0, test = 0;
  for (const Json& e : log) {
    if (e["event"] == "valid") last = e["ppl"];
    if (e["event"] == "test") test = e["ppl"];
  }
  const Json& done = log.back();
  CHECK(done["best_step"] < done["step"]);
  REQUIRE(last > 1.1 * done["best_valid_ppl"].get<double>());
  // The same text was validated, so the same numbers; and they are lm_score's of that model.
  CHECK(done["test_ppl"] == done["best_valid_ppl"]);
  CHECK(done["test_ppl"] == test);
  const Outcome scored =
      run_program("lm_score", {"--checkpoint", run, "--input", text, "--carry-state"});
  REQUIRE_MESSAGE(scored.code == 0, scored.err);
  char expected[64];
  std::snprintf(expected, sizeof expected, "perplexity %.5f", test);
  CHECK_MESSAGE(has(scored.err, expected), scored.err);
}

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
  const Outcome other =
      run_program("lm_train", small(dir / "c", {"--init", dir / "moved", "--head", "mix:lin,log"}));
  CHECK(other.code == 1);
  CHECK_MESSAGE(has(other.err, concat("initial weights of ", dir / "moved", ": ")), other.err);
  CHECK(has(other.err, "must be those of the initial weights"));

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
  CHECK(has(over.out + over.err, "the run starts over from the beginning"));
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
  CHECK(heads.code == 1);
  CHECK_MESSAGE(has(heads.err, "with heads 2, but this network has 4"), heads.err);
  const Outcome other = train("c", {"--heads", "2", "--activation", "relu", "--init", dir / "a"});
  CHECK(other.code == 1);
  CHECK_MESSAGE(has(other.err, "with activation gelu"), other.err);
  REQUIRE(run_program("lm_train",
                      {"--sample", "--sample-sentences", "200", "--layers", "1", "--hidden", "8",
                       "--embed", "8", "--batch", "4", "--after", "1u", "--run", dir / "lstm"})
              .code == 0);
  const Outcome lstm = train("c", {"--heads", "2", "--init", dir / "lstm"});
  CHECK(lstm.code == 1);
  CHECK_MESSAGE(has(lstm.err, "with arch lstm, but this network has transformer"), lstm.err);
}

TEST_CASE("a log stays as it is where --tensorboard cannot be written") {
  const TemporaryDirectory dir;
  REQUIRE(run_program("lm_train", small(dir / "r", {"--after", "20u"})).code == 0);
  const std::string log = slurp(dir / "r/log.jsonl"), config = slurp(dir / "r/config.json");
  const Outcome r = run_program(
      "lm_train", small(dir / "r", {"--after", "30u", "--tensorboard", dir.write("file", "")}));
  CHECK(r.code == 1);
  CHECK(has(r.err, "is a file, not a directory"));
  CHECK(slurp(dir / "r/log.jsonl") == log);
  CHECK(slurp(dir / "r/config.json") == config);
}

TEST_CASE(
    "a loss that is not finite names the op and the step, and keeps the last good checkpoint") {
  const TemporaryDirectory dir;
  const Strings wild{"--sample",  "--sample-sentences",
                     "600",       "--hidden",
                     "16",        "--embed",
                     "16",        "--batch",
                     "4",         "--bptt",
                     "8",         "--optimizer",
                     "sgd",       "--lr",
                     "1e38",      "--clip",
                     "0",         "--after",
                     "50u",       "--save-every",
                     "1u",        "--run",
                     dir / "wild"};
  const Outcome diverged = run_program("lm_train", wild);
  CAPTURE(diverged.err);
  CHECK(diverged.code == 1);
  CHECK(has(diverged.err, "NaN or infinity"));
  CHECK(has(diverged.err, "step "));
  CHECK(has(diverged.err, "["));
  CHECK(!weights_of(dir / "wild").empty());
}

TEST_CASE("the parity export holds what the replay reads") {
  const TemporaryDirectory dir;
  const Outcome r =
      run_program("lm_train", {"--sample", "--sample-sentences", "400", "--hidden", "12", "--embed",
                               "10", "--dropout", "0", "--batch", "4", "--bptt", "6", "--dtype",
                               "float64", "--export-parity", dir / "p", "--export-steps", "7"});
  REQUIRE_MESSAGE(r.code == 0, r.err);
  const Json config = Json::parse(slurp(dir / "p/config.json")),
             losses = Json::parse(slurp(dir / "p/losses.json"));
  CHECK(config["task"] == "lm");
  CHECK(config["hidden"] == 12);
  CHECK(losses["loss"].size() == 7);
  CHECK(losses["grad_norm"].size() == 7);
  const Safetensors batches = read_safetensors(dir / "p/batches.safetensors"),
                    init = read_safetensors(dir / "p/init.safetensors");
  CHECK(batches.at("input").shape() == Shape{7, 6, 4});
  CHECK(init.at("embedding.weight").dtype() == DType::float64);
  // The first loss, computed here from the exported weights alone, would be log V at zero weights:
  // it must be near.
  CHECK(losses["loss"][0].get<double>() ==
        doctest::Approx(std::log(static_cast<double>(init.at("embedding.weight").shape()[0])))
            .epsilon(0.05));
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
