// Margins and norms through the programs: training, going on to the same bits, what a checkpoint
// holds, scoring, decoding and generation from it, and options that do not fit together.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/safetensors.h"
#include "nn/models/language_model.h"
#include "nn/models/model_directory.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_margin_runs {
namespace {

using Strings = std::vector<std::string>;

const Strings kNorms{"--margin", "arc:0.1", "--word-norm", "log-rank", "--context-norm", "max"};

Outcome run(const std::string& program, Strings arguments, const Strings& more = {},
            const std::string& input = {}) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(program, arguments, input);
}

Strings lm(const std::string& run, const std::string& updates) {
  Strings flags = tiny_lm_flags(run, updates);
  flags.insert(flags.end(), {"--dtype", "float64"});
  return flags;
}

// The last validation in a run's log.
double last_nll(const std::string& run) {
  double nll = -1;
  for (const Json& event : log_of(run))
    if (event["event"] == "valid") nll = event["nll"];
  return nll;
}

Safetensors model_of(const std::string& run) {
  return read_safetensors((model_directory(run) / "model.safetensors").string());
}

}  // namespace

TEST_CASE("margin runs: a run goes on to the same bits, with its counts and its largest norm") {
  const TemporaryDirectory dir;
  for (const Strings& options :
       {kNorms, Strings{"--margin", "lsm:2", "--word-norm", "log-unigram:scaled:through",
                        "--context-norm", "max:ema:through", "--head", "mix:2*lin"}}) {
    const std::string whole = dir / (options[1] + "-whole"), parts = dir / (options[1] + "-parts");
    const Outcome once = run("lm_train", lm(whole, "20u"), options);
    REQUIRE_MESSAGE(once.code == 0, once.err);
    REQUIRE(run("lm_train", lm(parts, "10u"), options).code == 0);
    REQUIRE(run("lm_train", lm(parts, "20u"), options).code == 0);
    CHECK(weights_of(whole) == weights_of(parts));
    CHECK(last_nll(whole) == last_nll(parts));
  }
}

TEST_CASE("margin runs: what a checkpoint holds scores as validation does") {
  const TemporaryDirectory dir;
  const std::string model = dir / "run", text = dir / "text";
  const Outcome trained = run("lm_train", lm(model, "40u"), kNorms);
  REQUIRE_MESSAGE(trained.code == 0, trained.err);
  const Safetensors weights = model_of(model);
  CHECK(weights.metadata.at("word_norm") == "log-rank");
  CHECK(weights.metadata.at("context_norm") == "max");
  const std::vector<double> counts = weights.at("head.counts").to_vector(),
                            largest = weights.at("head.context_max").to_vector();
  CHECK(counts[0] == 300);  // </s>, once a line
  CHECK(largest.size() == 1);
  CHECK(largest[0] > 0);
  // Training's loss has the margin, its nll has not.
  for (const Json& event : log_of(model))
    if (event["event"] == "train") CHECK(event["loss"] > event["nll"]);

  // The model by its checkpoint, and by its tensors and metadata alone.
  std::filesystem::create_directory(dir / "alone");
  for (const char* file : {"model.safetensors", "dict.txt"})
    std::filesystem::copy(model_directory(model) / file, dir / "alone");
  const Strings lines{"the cat saw the dog", "a man", ""};
  const LanguageModel opened = LanguageModel::load(model),
                      alone = LanguageModel::load(dir / "alone");
  const auto log_p = opened.score(lines);
  CHECK(log_p == alone.score(lines));
  // A sentence's neighbours change nothing.
  for (size_t i = 0; i < lines.size(); ++i) CHECK(opened.score({lines[i]})[0] == log_p[i]);
  const auto expected = opened.top_words(lines, 1000);
  for (size_t i = 0; i < lines.size(); ++i)
    for (size_t t = 0; t < log_p[i].size(); ++t) {
      CHECK(std::abs(expected[i][t].log_p - log_p[i][t]) < 1e-12);
      double sum = 0;
      for (const double x : expected[i][t].top_log_p) sum += std::exp(x);
      CHECK(std::abs(sum - 1) < 1e-12);
    }
  put(text, "the cat saw the dog\na man\n");
  CHECK(
      run("lm_score", {"--checkpoint", model, "--generate", "--seed", "1", "--input", text}).code ==
      0);
  CHECK(run("lm_score", {"--compare", model, model, "--input", text}).code == 0);
  // A word norm without counts is an error, not another model.
  std::vector<NamedView> without;
  for (const auto& [name, tensor] : weights.tensors)
    if (name != "head.counts") without.push_back({name, tensor});
  write_safetensors(dir / "alone/model.safetensors", without, weights.metadata);
  const Outcome lost = run("lm_score", {"--checkpoint", dir / "alone", "--input", text});
  CHECK(lost.code != 0);
  CHECK(has(lost.err, "head.counts"));
}

TEST_CASE("margin runs: a margin of 0 trains as none does") {
  const TemporaryDirectory dir;
  const Strings norms{"--word-norm", "uniform", "--context-norm", "const:4"};
  REQUIRE(run("lm_train", lm(dir / "plain", "20u"), norms).code == 0);
  Strings zero = norms;
  zero.insert(zero.end(), {"--margin", "cos:0"});
  REQUIRE(run("lm_train", lm(dir / "zero", "20u"), zero).code == 0);
  CHECK(std::abs(last_nll(dir / "zero") - last_nll(dir / "plain")) < 1e-9);
}

TEST_CASE("margin runs: translation trains, goes on, and translates") {
  const TemporaryDirectory dir;
  const auto arguments = [&](const std::string& updates, const std::string& to) {
    return Strings{"--sample", "--sample-pairs",
                   "200",      "--hidden",
                   "16",       "--ffn",
                   "16",       "--heads",
                   "2",        "--encoder-layers",
                   "1",        "--decoder-layers",
                   "1",        "--after",
                   updates,    "--log-every",
                   "2",        "--batch-tokens",
                   "200",      "--valid-beam",
                   "1",        "--run",
                   to};
  };
  const Outcome once = run("mt_train", arguments("8u", dir / "whole"), kNorms);
  REQUIRE_MESSAGE(once.code == 0, once.err);
  REQUIRE(run("mt_train", arguments("4u", dir / "parts"), kNorms).code == 0);
  REQUIRE(run("mt_train", arguments("8u", dir / "parts"), kNorms).code == 0);
  CHECK(weights_of(dir / "whole") == weights_of(dir / "parts"));
  CHECK(model_of(dir / "whole").at("head.context_max").to_vector()[0] > 0);
  const Outcome translated =
      run("mt_translate", {"--checkpoint", dir / "whole"}, {}, "der mann\nein mann\n");
  CHECK_MESSAGE(translated.code == 0, translated.err);
}

TEST_CASE("margin runs: what does not fit together is an error that says what would do") {
  const TemporaryDirectory dir;
  const auto refused = [&](const Strings& options) {
    const Outcome r = run("lm_train", lm(dir / "run", "5u"), options);
    CHECK(r.code == 2);
    return r.err;
  };
  const std::string other = refused({"--head", "log", "--margin", "cos:0.1"});
  CHECK(has(other, "--margin"));
  CHECK(has(other, "mix:2*lin"));
  CHECK(has(refused({"--head", "mix:lin,rbf", "--word-norm", "uniform"}), "component rbf"));
  CHECK(has(refused({"--margin", "arc:3.2"}), "below pi"));
  CHECK(has(refused({"--margin", "lsm:1.5"}), "integer from 1 to 64"));
  CHECK(has(refused({"--context-norm", "const:0"}), "above 0"));
  CHECK(has(refused({"--word-norm", "unigram"}), "unigram:A,B"));
  CHECK(has(refused({"--word-norm", "const:1:through"}), "leave it out"));
  // Legal, with a warning.
  const Outcome warned = run("lm_train", lm(dir / "warned", "2u"),
                             {"--margin", "arc:2.5", "--word-norm", "log-unigram"});
  CHECK(warned.code == 0);
  CHECK(has(warned.out + warned.err, "warning: margin arc:2.5"));
  CHECK(has(warned.out + warned.err, "warning: word norm log-unigram is 0 for"));
}

}  // namespace nine::tests::test_margin_runs
