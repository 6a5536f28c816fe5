// lm_train and lm_score from the outside: what a training computes.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/json.h"
#include "core/safetensors.h"
#include "tests/apps/lm_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_lm_train {
namespace {}  // namespace

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
  // While the rate rises, a lower --lr is no advice.
  CHECK(has(r.err, "the learning rate rises until update 1000000 (--warmup), so train longer"));
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

TEST_CASE("--head-skip: logged and recorded, the same bits in parts, none without small tiles") {
  const TemporaryDirectory dir;
  const auto with = [&](const std::string& run, Strings more) {
    const Strings all{"--save-every", "10u"};
    more.insert(more.end(), all.begin(), all.end());
    return small(dir / run, more);
  };
  const auto skips = [&](const std::string& run) {
    std::vector<Json> lines;
    for (const Json& line : log_of(dir / run))
      if (line.at("event") == "train") lines.push_back(line.at("head_skip"));
    return lines;
  };
  const auto run = [&](const std::string& name, const Strings& more) {
    const Outcome r = run_program("lm_train", with(name, more));
    REQUIRE_MESSAGE(r.code == 0, r.err);
  };
  run("plain", {"--after", "30u"});
  run("tiny", {"--after", "30u", "--head-skip", "1e-30"});
  CHECK(weights_of(dir / "tiny") == weights_of(dir / "plain"));
  for (const Json& line : skips("tiny")) {
    const double tiles = line.at("tiles");
    CHECK(tiles == 0);
  }

  run("whole", {"--after", "30u", "--head-skip", "0.05"});
  run("parts", {"--after", "10u", "--head-skip", "0.05"});
  run("parts", {"--after", "30u", "--head-skip", "0.05", "--threads", "1"});
  CHECK(weights_of(dir / "whole") == weights_of(dir / "parts"));
  CHECK(weights_of(dir / "whole") != weights_of(dir / "plain"));
  const std::vector<Json> whole = skips("whole");
  REQUIRE(!whole.empty());
  CHECK(whole.back() == skips("parts").back());  // of 25 updates; "parts" has a line of ten, too
  for (const Json& line : whole)
    for (const char* key : {"tiles", "gradient"}) {
      const double share = line.at(key);
      CHECK(share > 0);
      CHECK(share <= 1);
    }
  const double recorded = parse_json(slurp(dir / "whole/config.json")).at("head_skip");
  CHECK(recorded == 0.05);

  const Outcome much =
      run_program("lm_train", with("much", {"--after", "5u", "--head-skip", "0.5"}));
  CHECK(much.code == 0);
  CHECK_MESSAGE(has(much.err + much.out, "% of the sum of |dL/dz|: a smaller limit keeps more"),
                much.err);
  const Outcome other =
      run_program("lm_train", with("parts", {"--after", "40u", "--head-skip", "0.01"}));
  CHECK(other.code == 2);
  CHECK_MESSAGE(has(other.err, "--head-skip was 0.05"), other.err);
  for (const char* wrong : {"-0.1", "nan", "inf", "1e-300", "1"}) {
    const Outcome r = run_program("lm_train", with("wrong", {"--head-skip", wrong}));
    CHECK(r.code == 2);
    CHECK_MESSAGE(has(r.err, "head-skip"), r.err);
  }
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

}  // namespace nine::tests::test_lm_train
