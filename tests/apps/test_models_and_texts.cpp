// Programs that open a model: whether its files belong together, and whether its texts fit it.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/number_format.h"
#include "core/safetensors.h"
#include "tests/apps/lm_runs.h"
#include "tests/support/checkpoints.h"
#include "tests/support/support.h"

namespace nine::tests::test_models_and_texts {
namespace {

namespace fs = std::filesystem;

// Sentences whose words depend on those of the sentence alone, so that a carried state misleads.
std::string lines(int count, int step) {
  std::string all;
  for (int i = 0; i < count; ++i)
    all += (i * step) % 3 == 0   ? "the cat saw the dog\n"
           : (i * step) % 5 == 1 ? "a dog ran and saw a cat and the dog\n"
                                 : "dogs ran\n";
  return all;
}

struct SentenceRun {
  TemporaryDirectory dir;
  std::string train = dir.write("train", lines(90, 1)), valid = dir.write("valid", lines(20, 2)),
              test = dir.write("test", lines(23, 7)), run = dir / "run";
  Strings flags;

  explicit SentenceRun(const Strings& network)
      : flags{"--train",     train,       "--valid", valid,       "--test", test,       "--batch",
              "4",           "--lr",      "0.02",    "--dropout", "0",      "--layers", "1",
              "--sentences", "--threads", "1",       "--run",     run} {
    flags.insert(flags.end(), network.begin(), network.end());
  }
  Outcome go(const char* after) const {
    Strings all = flags;
    all.insert(all.end(), {"--after", after});
    return run_program("lm_train", all);
  }
  Json config() const { return read_json_object(run + "/config.json"); }
};

// What lm_score prints for a text: "perplexity N over".
std::string perplexity(const std::string& model, const std::string& text,
                       const Strings& more = {}) {
  Strings all{"--checkpoint", model, "--input", text};
  all.insert(all.end(), more.begin(), more.end());
  const Outcome scored = run_program("lm_score", all);
  REQUIRE_MESSAGE(scored.code == 0, scored.err);
  const size_t at = scored.err.find("perplexity ") + 11;
  return scored.err.substr(at, scored.err.find(' ', at) - at);
}

// A number of the log with the digits of lm_score.
std::string digits(const Json& nll) { return power_of_e(nll.get<double>(), 5); }

Json event(const std::string& run, const char* name) {
  Json found;
  for (const Json& e : log_of(run))
    if (e["event"] == name) found = e;
  REQUIRE(found.is_object());
  return found;
}

}  // namespace

TEST_CASE("lm_train --sentences: validation and test are lm_score's perplexities, to its digits") {
  for (const Strings& network :
       {Strings{"--hidden", "12", "--embed", "8", "--head", "mix:2*lin,log"},
        Strings{"--arch", "transformer", "--hidden", "8", "--heads", "2", "--bptt", "6"}}) {
    CAPTURE(network[1]);
    const SentenceRun r(network);
    const Outcome trained = r.go("40u");
    REQUIRE_MESSAGE(trained.code == 0, trained.err);
    CHECK(r.config()["resolved"]["evaluation"] == "sentences");
    CHECK(digits(event(r.run, "test")["nll"]) == perplexity(r.run, r.test));
    CHECK(digits(event(r.run, "valid")["nll"]) ==
          perplexity(r.run + "/checkpoints/latest", r.valid));
    CHECK(perplexity(r.run, r.test) != perplexity(r.run, r.test, {"--carry-state"}));
  }
}

TEST_CASE("lm_train --sentences: a run that carried the state in validation goes on so") {
  const SentenceRun r({"--hidden", "12", "--embed", "8"});
  REQUIRE(r.go("10u").code == 0);
  const auto without_rule = [](const std::string& file) {
    Json config = read_json_object(file);
    config["resolved"].erase("evaluation");
    put(file, config.dump());
  };
  without_rule(r.run + "/config.json");
  const Outcome refused = r.go("20u");
  CHECK(refused.code == 2);
  CHECK_MESSAGE(
      has(refused.err, "evaluation was \"sentences\" in that checkpoint, now not recorded"),
      refused.err);
  for (const auto& checkpoint : fs::directory_iterator(r.run + "/checkpoints")) {
    if (checkpoint.is_symlink()) continue;
    without_rule((checkpoint.path() / "config.json").string());
    seal(checkpoint.path());
  }
  const Outcome older = r.go("30u");
  REQUIRE_MESSAGE(older.code == 0, older.err);
  CHECK(!r.config()["resolved"].contains("evaluation"));
  CHECK(digits(event(r.run, "test")["nll"]) == perplexity(r.run, r.test, {"--carry-state"}));
}

namespace {

struct TranslationRuns {
  TemporaryDirectory dir;
  std::string source = dir.write("a", lines(30, 1)), target = dir.write("b", lines(30, 1));

  Outcome train(const std::string& run, const char* heads) const {
    return run_program("mt_train",
                       {"--src",        source, "--tgt",    target,   "--valid-src",    source,
                        "--valid-tgt",  target, "--layers", "1",      "--hidden",       "16",
                        "--ffn",        "32",   "--heads",  heads,    "--lr",           "0.01",
                        "--warmup",     "4",    "--after",  "4u",     "--batch-tokens", "200",
                        "--valid-beam", "1",    "--run",    dir / run});
  }
  // The files of the best model, without state.json.
  std::string copied(const std::string& run, const std::string& to,
                     const std::vector<const char*>& files) const {
    fs::create_directories(dir / to);
    for (const char* file : files)
      fs::copy_file(fs::path(dir / run) / "checkpoints/best" / file, fs::path(dir / to) / file,
                    fs::copy_options::overwrite_existing);
    return dir / to;
  }
  Outcome translate(const Strings& arguments, const std::string& input) const {
    return run_program("mt_translate", arguments, input);
  }
};

// A dictionary with its lines in the other order.
std::string reversed(const std::string& text) {
  std::string all;
  for (size_t end = text.size(); end > 0;) {
    const size_t begin = end < 2 ? 0 : text.rfind('\n', end - 2) + 1;
    all += text.substr(begin, end - begin);
    end = begin;
  }
  return all;
}

}  // namespace

TEST_CASE("without state.json, a dictionary of other words than config.json's is refused") {
  const SentenceRun r({"--hidden", "12", "--embed", "8"});
  REQUIRE(r.go("5u").code == 0);
  const std::string best = r.run + "/checkpoints/best", copy = r.dir / "copy";
  fs::create_directories(copy);
  for (const char* file : {"model.safetensors", "config.json", "dict.txt"})
    fs::copy_file(fs::path(best) / file, fs::path(copy) / file);
  CHECK(perplexity(copy, r.test) == perplexity(best, r.test));
  put(copy + "/dict.txt", reversed(slurp(best + "/dict.txt")));
  const Outcome refused = run_program("lm_score", {"--checkpoint", copy, "--input", r.test});
  CHECK(refused.code == 1);
  CHECK_MESSAGE(has(refused.err, copy + "/config.json is of another model than the dictionary in " +
                                     copy + ": the words of dict.txt have the checksum "),
                refused.err);
  // The weights' metadata have the checksum too.
  fs::remove(copy + "/config.json");
  const Outcome bare = run_program("lm_score", {"--checkpoint", copy, "--input", r.test});
  CHECK(bare.code == 1);
  CHECK_MESSAGE(has(bare.err, "model.safetensors is of another model than the dictionary in "),
                bare.err);
  put(copy + "/dict.txt", slurp(best + "/dict.txt"));
  CHECK(perplexity(copy, r.test) == perplexity(best, r.test));

  const TranslationRuns t;
  REQUIRE(t.train("mt", "2").code == 0);
  const std::string mt =
      t.copied("mt", "mtc", {"model.safetensors", "config.json", "src.dict.txt", "tgt.dict.txt"});
  CHECK(t.translate({"--checkpoint", mt}, "dogs ran\n").code == 0);
  for (const char* name : {"src.dict.txt", "tgt.dict.txt"}) {
    const std::string file = mt + "/" + name, own = slurp(file);
    put(file, reversed(own));
    const Outcome o = t.translate({"--checkpoint", mt}, "dogs ran\n");
    CHECK(o.code == 1);
    CHECK_MESSAGE(has(o.err, concat("the words of ", name, " have the checksum ")), o.err);
    put(file, own);
  }
}

TEST_CASE("a translation model's metadata say its heads and layers, and config.json must agree") {
  const TranslationRuns t;
  REQUIRE(t.train("two", "2").code == 0);
  REQUIRE(t.train("four", "4").code == 0);
  const std::string mixed = t.copied(
      "two", "mixed", {"model.safetensors", "config.json", "src.dict.txt", "tgt.dict.txt"});
  const auto metadata = read_safetensors(mixed + "/model.safetensors").metadata;
  CHECK(metadata.at("heads") == "2");
  CHECK(metadata.at("norm") == "post");
  CHECK(metadata.at("activation") == "relu");
  t.copied("four", "mixed", {"config.json"});
  const Outcome o = t.translate({"--checkpoint", mixed}, "dogs ran\n");
  CHECK(o.code == 1);
  CHECK_MESSAGE(has(o.err, "the key 'heads' is 4, but \"2\" in the metadata of "), o.err);
  // As files of older versions, which say nothing.
  Safetensors old = read_safetensors(mixed + "/model.safetensors");
  std::vector<NamedView> tensors;
  for (const auto& [name, tensor] : old.tensors) tensors.push_back({name, tensor});
  for (const char* key : {"heads", "activation", "norm", "norm_type", "qk_norm", "linear_bias"})
    CHECK(old.metadata.erase(key) == 1);
  write_safetensors(mixed + "/model.safetensors", tensors, old.metadata);
  t.copied("two", "mixed", {"config.json"});
  const Outcome opened = t.translate({"--checkpoint", mixed}, "dogs ran\na dog ran\n"),
                before = t.translate({"--checkpoint", t.dir / "two"}, "dogs ran\na dog ran\n");
  REQUIRE_MESSAGE(opened.code == 0, opened.err);
  CHECK(opened.out == before.out);
}

TEST_CASE("mt_translate --prefix: unknown words, words spelled as specials, length and subwords") {
  const TranslationRuns t;
  REQUIRE(t.train("mt", "2").code == 0);
  const auto go = [&](const std::string& prefix, const Strings& more = {}) {
    Strings all{"--checkpoint", t.dir / "mt", "--prefix", t.dir.write("prefix", prefix)};
    all.insert(all.end(), more.begin(), more.end());
    return t.translate(all, "dogs ran\nthe cat saw the dog\n");
  };
  const std::string place = t.dir / "prefix";
  const Outcome unknown = go("dogs\nthe cat zebra saw the\n");
  CHECK(unknown.code == 0);
  CHECK_MESSAGE(has(unknown.err, "12.50% of the prefixes' tokens are unknown to the model"),
                unknown.err);
  const Outcome many = go("zebra zebra zebra\nzebra zebra\n");
  CHECK(many.code == 1);
  CHECK_MESSAGE(has(many.err, place), many.err);
  const Outcome excluded = go("dogs\nthe cat zebra saw the\n", {"--no-allow-unknown"});
  CHECK(excluded.code == 1);
  CHECK_MESSAGE(has(excluded.err, place + ", line 2: 'zebra' is unknown to the model"),
                excluded.err);
  const Outcome special = go("dogs </s>\nthe\n");
  CHECK_MESSAGE(has(special.err, place + ": 1 word is spelled </s>"), special.err);
  CHECK(special.out.starts_with("dogs\n"));
  // </s> ends the translation, whose other words would be lost, or whose score would be -inf.
  for (const auto& [prefix, why] :
       {std::pair("the\ndogs </s> ran\n", "before the other words of the prefix"),
        {"the\n</s>\n", "before its first word"}}) {
    const Outcome lost = go(prefix, {"--n-best", "1"});
    const std::string expected = concat(place, ", line 2: </s> ends the translation ", why);
    CHECK(lost.code == 1);
    CHECK_MESSAGE(has(lost.err, expected), lost.err);
  }
  const Outcome longer = go("dogs\nthe cat saw the\n", {"--max-length", "3"});
  CHECK(longer.code == 1);
  CHECK_MESSAGE(
      has(longer.err, place + ", line 2 has 4 tokens, more than the option max-length, 3,"),
      longer.err);

  // Codes that make whole words of the text, and one that cuts.
  const std::string codes = t.dir.write("codes", "#version: 0.2\nr a\nra n</w>\n");
  const Outcome cut = go("ran\n\n", {"--codes", codes, "--max-unknown", "1"});
  REQUIRE_MESSAGE(cut.code == 0, cut.err);
  CHECK(cut.out.starts_with("ran"));
  CHECK(!has(cut.err, "is cut into subwords already"));
  const Outcome already = go("do@@ gs ran\n\n", {"--codes", codes, "--max-unknown", "1"});
  CHECK_MESSAGE(has(already.err, place + " is cut into subwords already"), already.err);
  const Outcome input = t.translate(
      {"--checkpoint", t.dir / "mt", "--codes", codes, "--max-unknown", "1"}, "do@@ gs ran\n");
  CHECK_MESSAGE(has(input.err, "warning: 1 words of standard input end with @@"), input.err);
}

TEST_CASE("codes of version 0.2 that lost their first line are doubted, those of 0.1 are not") {
  const TemporaryDirectory dir;
  const auto said = [&](const std::string& codes) {
    const Outcome o =
        run_program("bpe", {"apply", "--codes", dir.write("codes", codes)}, "the hen\n");
    REQUIRE_MESSAGE(o.code == 0, o.err);
    return o.err;
  };
  CHECK_MESSAGE(has(said("t h\nth e</w>\n"), "no merge makes the symbol 'e</w>'"),
                said("t h\nth e</w>\n"));
  CHECK(said("#version: 0.2\nt h\nth e</w>\n").empty());
  CHECK(said("e </w>\nt h\nth e</w>\n").empty());
  CHECK(said("t h 5\nth e</w> 4\n").empty());
  // Merges that were sorted, or of which one is missing.
  for (const char* codes :
       {"#version: 0.2\nth e</w>\nt h\n", "#version: 0.2\nth e</w>\n", "th e</w> 5\nt h 4\n"})
    CHECK_MESSAGE(has(said(codes), "no merge makes the symbol 'th' before it is merged"),
                  said(codes));
}

TEST_CASE("lm_score --generate: unknown words of prompts are said") {
  const SentenceRun r({"--hidden", "12", "--embed", "8"});
  REQUIRE(r.go("5u").code == 0);
  const auto said = [&](const char* prompts) {
    return run_program("lm_score", {"--checkpoint", r.run, "--generate"}, prompts).err;
  };
  CHECK_MESSAGE(
      has(said("the zebra saw\na\n"), "words of the prompts that the model does not know: 1 of 4"),
      said("the zebra saw\na\n"));
  CHECK(!has(said("the dog\n"), "does not know"));
}

}  // namespace nine::tests::test_models_and_texts
