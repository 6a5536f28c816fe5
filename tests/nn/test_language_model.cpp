// LanguageModel, the library's way to a trained model: against lm_score on the same text, digit by
// digit.
#include "nn/models/language_model.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <thread>
#include <type_traits>

#include "core/interrupt.h"
#include "core/number_format.h"
#include "core/ops.h"
#include "nn/models/lstm_language_model.h"
#include "nn/models/model_directory.h"
#include "tests/apps/lm_score_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_language_model {
namespace {

using Rows = std::vector<std::vector<double>>;

static_assert(std::is_nothrow_move_constructible_v<LanguageModel>);
static_assert(std::is_nothrow_move_assignable_v<LanguageModel>);
static_assert(!std::is_copy_constructible_v<LanguageModel>);

const Strings kLines = split(kLmText, '\n');

std::string number(double x) { return std::isnan(x) ? "-" : shortest(x); }

// As lm_score --tokens prints them.
std::string printed(const Rows& log_p) {
  std::string text;
  for (const std::vector<double>& line : log_p) {
    for (size_t i = 0; i < line.size(); ++i) text += (i > 0 ? " " : "") + number(line[i]);
    text += '\n';
  }
  return text;
}

std::string probability(double log_p) {
  char text[32];
  std::snprintf(text, sizeof text, "\t%.6g", std::exp(log_p));
  return text;
}

std::string text_of(const Strings& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace

TEST_CASE("LanguageModel::score: what lm_score prints, to the last digit") {
  CHECK(kLines[1].empty());
  for (const std::string& path :
       {model_a(), model_a() + "/checkpoints", model_a() + "/checkpoints/best", model_b()}) {
    CAPTURE(path);
    const LanguageModel model = LanguageModel::load(path);
    const Rows log_p = model.score(kLines);
    CHECK(printed(log_p) == lm_score({"--checkpoint", path, "--tokens"}, kLmText));
    std::string sums;
    for (const std::vector<double>& line : log_p) {
      double sum = 0;
      for (const double x : line) sum += x;
      sums += number(sum) + "\n";
    }
    CHECK(sums == lm_score({"--checkpoint", path}, kLmText));
    CHECK(printed(model.score(kLines, {.batch_tokens = 7})) ==
          lm_score({"--checkpoint", path, "--tokens", "--batch-tokens", "7"}, kLmText));
  }
}

TEST_CASE("LanguageModel::score: with carried state as validation does") {
  const LanguageModel model = LanguageModel::load(model_a());
  const std::string text = longer_text();
  const Rows log_p = model.score(split(text, '\n'), {.carry_state = true});
  CHECK(printed(log_p) == lm_score({"--checkpoint", model_a(), "--tokens", "--carry-state"}, text));
  CHECK(has(error_of([&] { model.score({"the dog"}, {.carry_state = true}); }),
            "fewer than the 10 columns"));
}

TEST_CASE("LanguageModel::score: a braced line, an unknown word, no line") {
  const LanguageModel model = LanguageModel::load(model_a());
  const Rows one = model.score({"the dog saw him"});
  REQUIRE(one.size() == 1);
  REQUIRE(one[0].size() == 5);
  const Rows more = model.score({"the dog", "a zebra", "a <unk>", ""});
  REQUIRE(more.size() == 4);
  CHECK(more[0][0] == doctest::Approx(one[0][0]).epsilon(1e-6));
  CHECK(more[1] == more[2]);
  CHECK(more[3].size() == 1);
  CHECK(model.score({}).empty());
  CHECK(has(error_of([&] { model.score({"the"}, {.batch_tokens = 0}); }),
            "batch tokens 0 must be at least 1"));
}

TEST_CASE("LanguageModel::top_words: the table of lm_score --top") {
  const LanguageModel model = LanguageModel::load(model_a());
  const Vocabulary& words = model.vocabulary();
  const auto expected = model.top_words(kLines, 5);
  REQUIRE(expected.size() == kLines.size());
  std::string table =
      "line\tposition\tword\tprobability\trank\tword.1\tp.1\tword.2\tp.2\tword.3\tp.3\tword.4\tp."
      "4\t"
      "word.5\tp.5\n";
  for (size_t s = 0; s < kLines.size(); ++s) {
    Strings typed = split(kLines[s], ' ');
    typed.push_back("</s>");
    REQUIRE(expected[s].size() == typed.size());
    for (size_t t = 0; t < typed.size(); ++t) {
      const WordExpectation& e = expected[s][t];
      table += std::to_string(s + 1) + "\t" + std::to_string(t + 1) + "\t" + typed[t] +
               (typed[t] == "zebra" ? " (<unk>)" : "") + probability(e.log_p) + "\t" +
               std::to_string(e.rank);
      for (size_t i = 0; i < e.top.size(); ++i)
        table += "\t" + words.word(e.top[i]) + probability(e.top_log_p[i]);
      table += "\n";
    }
  }
  CHECK(table == lm_score({"--checkpoint", model_a(), "--top", "5"}, kLmText));
  CHECK(model.top_words({"the"}, 1000)[0][0].top.size() == static_cast<size_t>(words.size()));
  CHECK(model.top_words({"the"}, 0)[0][1].top.empty());
  CHECK(model.top_words({}, 5).empty());
  CHECK(has(error_of([&] { model.top_words({"the"}, -1); }), "at least 0"));
}

TEST_CASE("LanguageModel::generate: the texts of lm_score --generate with the same seed") {
  const LanguageModel model = LanguageModel::load(model_b());
  const Strings prompts{"", "a zebra heard", "the  dog\tsaw", "she"};
  const std::string input = text_of(prompts);
  CHECK(text_of(model.generate(prompts)) ==
        lm_score({"--checkpoint", model_b(), "--generate"}, input));
  const Strings texts = model.generate(prompts, {.max_words = 9, .samples = 12, .seed = 5});
  CHECK(texts.size() == 48);
  CHECK(texts[12].starts_with("a zebra heard"));
  CHECK(texts[24].starts_with("the dog saw"));
  CHECK(text_of(texts) == lm_score({"--checkpoint", model_b(), "--generate", "--max-words", "9",
                                    "--samples", "12", "--seed", "5"},
                                   input));
  CHECK(texts == model.generate(prompts, {.max_words = 9, .samples = 12, .batch = 5, .seed = 5}));
  const GenerateOptions narrow{
      .sampling = {.allow_unknown = true, .temperature = 0.7, .top_k = 5, .top_p = 0.8},
      .samples = 3};
  CHECK(text_of(model.generate(prompts, narrow)) ==
        lm_score({"--checkpoint", model_b(), "--generate", "--samples", "3", "--allow-unknown",
                  "--temperature", "0.7", "--top-k", "5", "--top-p", "0.8"},
                 input));
  CHECK(model.generate({"the dog"}, {.max_words = 0}) == Strings{"the dog"});
  CHECK(model.generate({}).empty());
  const auto fails = [&](const GenerateOptions& o) {
    return error_of([&] { model.generate({"the"}, o); });
  };
  CHECK(has(fails({.batch = 33}), "batch size 33 must be from 1 to 32"));
  CHECK(has(fails({.max_words = -1}), "at most -1 words"));
  CHECK(has(fails({.samples = -1}), "-1 continuations"));
  CHECK(has(fails({.sampling = {.temperature = -1}}), "temperature -1"));
  CHECK(has(fails({.sampling = {.top_p = 1.5}}), "a share of 1.5"));
}

TEST_CASE("LanguageModel: progress, and what it throws; an interrupt") {
  const LanguageModel model = LanguageModel::load(model_a());
  const auto lines = std::ssize(kLines);
  std::vector<std::pair<int64_t, int64_t>> seen;
  const auto see = [&](int64_t done, int64_t all) { seen.emplace_back(done, all); };
  const Rows scores = model.score(kLines, {}, see);
  CHECK(scores == model.score(kLines));
  CHECK(std::ssize(seen) == lines);
  CHECK(seen.back() == std::pair(lines, lines));
  seen.clear();
  static_cast<void>(model.top_words(kLines, 1, 4096, see));
  CHECK(seen.back() == std::pair(lines - 1, lines));
  seen.clear();
  static_cast<void>(model.generate({"the", ""}, {.max_words = 2, .samples = 20, .batch = 8}, see));
  CHECK(seen.size() == 5);
  CHECK(seen.back() == std::pair<int64_t, int64_t>(40, 40));

  struct Enough {};
  const auto stop = [](int64_t, int64_t) { throw Enough(); };
  CHECK_THROWS_AS(static_cast<void>(model.score(kLines, {}, stop)), Enough);
  const InterruptCheck check([] { throw Enough(); });
  CHECK_THROWS_AS(static_cast<void>(model.score(kLines)), Enough);
  CHECK_THROWS_AS(static_cast<void>(model.score(kLines, {.carry_state = true})), Enough);
  CHECK_THROWS_AS(static_cast<void>(model.top_words(kLines, 2)), Enough);
  CHECK_THROWS_AS(static_cast<void>(model.generate({"the"})), Enough);
}

TEST_CASE("LanguageModel: vocabulary, network, device") {
  const LanguageModel model = LanguageModel::load(model_a(), kCpu);
  CHECK(model.device() == kCpu);
  CHECK(dynamic_cast<const LstmLanguageModel&>(model.network()).config().hidden == 16);
  CHECK(model.network().width() == 16);
  CHECK(model.network().vocab() == model.vocabulary().size());
  CHECK(model.vocabulary().id("dog") != Specials::kLanguageModel.unknown);
  CHECK(model.vocabulary().id("zebra") == Specials::kLanguageModel.unknown);
}

TEST_CASE("LanguageModel: moved, it goes on as it was; what is left takes another model") {
  LanguageModel first = LanguageModel::load(model_a());
  const LanguageNetwork* network = &first.network();
  const Rows log_p = first.score(kLines);
  LanguageModel second = std::move(first);
  CHECK(&second.network() == network);
  CHECK(second.score(kLines) == log_p);
  first = LanguageModel::load(model_b());
  CHECK(first.score(kLines) == LanguageModel::load(model_b()).score(kLines));
  first = std::move(second);
  CHECK(first.score(kLines) == log_p);
  std::vector<LanguageModel> several;
  several.push_back(std::move(first));
  several.push_back(LanguageModel::load(model_b()));
  CHECK(several[0].score(kLines) == log_p);
}

TEST_CASE("LanguageModel: used by several threads at once, each has the same results") {
  const LanguageModel model = LanguageModel::load(model_b());
  const Rows log_p = model.score(kLines);
  const Strings texts = model.generate({"the", ""}, {.samples = 20});
  constexpr size_t kThreads = 3;
  for (int round = 0; round < 20; ++round) {
    std::vector<Rows> scored(kThreads);
    std::vector<Strings> generated(kThreads);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] {
        scored[i] = model.score(kLines);
        generated[i] = model.generate({"the", ""}, {.samples = 20});
      });
    for (std::thread& thread : threads) thread.join();
    for (size_t i = 0; i < kThreads; ++i) {
      CHECK(scored[i] == log_p);
      CHECK(generated[i] == texts);
    }
  }
}

TEST_CASE("LanguageModel::load: what cannot be opened") {
  const TemporaryDirectory dir;
  const auto says = [](const std::string& path) {
    return error_of([&] { LanguageModel::load(path); });
  };
  CHECK(has(says(dir / "nowhere"), "nowhere"));
  CHECK(has(says(dir.write("file", "")), "is a file: a checkpoint is a directory"));
  // A vocabulary of another size.
  const std::filesystem::path best = std::filesystem::path(model_a()) / "checkpoints/best";
  std::filesystem::create_directory(dir / "bare");
  for (const char* file : {"model.safetensors", "config.json"})
    std::filesystem::copy_file(best / file, std::filesystem::path(dir / "bare") / file);
  dir.write("bare/dict.txt", slurp(best / "dict.txt") + "more 1\n");
  CHECK(has(says(dir / "bare"), "config.json is of another model than the dictionary in "));
  dir.write("bare/dict.txt", slurp(best / "dict.txt"));
  CHECK(LanguageModel::load(dir / "bare").score(kLines) ==
        LanguageModel::load(model_a()).score(kLines));
  // Keys of another type.
  for (const auto& [config, what] :
       {std::pair(R"({"head": 5})", "the key 'head' is 5, but \""),
        std::pair(R"({"resolved": 5})", "the key 'resolved' is 5, and an object was expected")}) {
    dir.write("bare/config.json", config);
    CHECK_MESSAGE(has(says(dir / "bare"), concat("config.json: ", what)), says(dir / "bare"));
  }
  // Of any type, keys that say something else than the metadata.
  for (const char* config :
       {R"({"untied": "yes"})", R"({"word_norm": 3})", R"({"head_context": 7})"}) {
    dir.write("bare/config.json", config);
    CHECK_MESSAGE(has(says(dir / "bare"), "model.safetensors, which Nine wrote, mean "), config);
  }
  const std::string deep = "{\"x\":" + std::string(200, '[') + std::string(200, ']') + "}";
  for (const std::string& config : {std::string("[]"), deep}) {
    dir.write("bare/config.json", config);
    CHECK(has(says(dir / "bare"), "config.json is not a JSON object"));
  }
}

TEST_CASE("LanguageModel: a named pipe in a file's place is an error, not a wait") {
  const TemporaryDirectory dir;
  const std::filesystem::path best = std::filesystem::path(model_a()) / "checkpoints/best";
  for (const char* name : {"model.safetensors", "config.json", "dict.txt", "state.json"}) {
    for (const char* file : {"model.safetensors", "config.json", "dict.txt"})
      std::filesystem::copy_file(best / file, dir / file,
                                 std::filesystem::copy_options::overwrite_existing);
    std::filesystem::remove(dir / name);
    REQUIRE(::mkfifo((dir / name).c_str(), 0600) == 0);
    CHECK(has(error_of([&] { LanguageModel::load(dir.path().string()); }),
              concat(dir / name, ": it is a named pipe, and a regular file was expected")));
    std::filesystem::remove(dir / name);
    if (std::string(name) == "state.json") continue;
    std::filesystem::create_symlink("nowhere", dir / name);
    CHECK(has(error_of([&] { LanguageModel::load(dir.path().string()); }), dir / name));
    std::filesystem::remove(dir / name);
  }
}

TEST_CASE("read_finite_weights: the first number that is not finite, whatever the type") {
  const TemporaryDirectory dir;
  const std::string file = dir / "file";
  Safetensors weights;
  const auto put_tensor = [&](const std::string& name, const Tensor& t) {
    weights.tensors[name] = t;
  };
  const auto refusal = [&](ExcludedWords words = ExcludedWords::by_infinity) {
    std::vector<NamedView> views;
    for (const auto& [name, tensor] : weights.tensors) views.push_back({name, tensor});
    write_safetensors(file, views);
    return error_of([&] { read_finite_weights(file, words); });
  };
  put_tensor("a", Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {3, 2}));
  put_tensor("ids", Tensor::from(std::vector<int32_t>{1, -1}, {2}));
  put_tensor("empty", Tensor({0, 3}, DType::float32));
  CHECK(refusal().empty());
  weights.tensors["a"].data<float>()[3] = NAN;
  weights.tensors["a"].data<float>()[5] = INFINITY;
  CHECK(refusal().starts_with(file + ": tensor 'a' has nan at [1, 1], but"));
  put_tensor("a", Tensor::from(std::vector<double>{1, -INFINITY}, {1, 1, 2}));
  CHECK(has(refusal(), "tensor 'a' has -inf at [0, 0, 1]"));
  const Tensor wide = Tensor::from(std::vector<float>{1, INFINITY, 1}, {3}),
               half({3}, DType::bfloat16);
  ops::copy(wide, half);
  put_tensor("a", half);
  CHECK(has(refusal(), "tensor 'a' has inf at [1]"));
  half.data<bfloat16>()[1] = bfloat16(3.0F);
  CHECK(refusal().empty());
  for (const double norm : {0.0, -1.0}) {
    put_tensor("h.context_max", Tensor::from(std::vector<double>{2, norm}, {2}));
    CHECK(has(refusal(), concat("tensor 'h.context_max' has ", norm, " at [1], but the largest")));
  }
  put_tensor("h.context_max", Tensor::from(std::vector<double>{2, 1e-9}, {2}));
  put_tensor("h.counts", Tensor::from(std::vector<double>{1e308, 1e308}, {2}));
  CHECK(has(refusal(), "the counts of words in the tensor 'h.counts' add up to more than"));
  put_tensor("h.counts", Tensor::from(std::vector<double>{1e300, 0}, {2}));
  CHECK(refusal().empty());
  const Tensor read = read_finite_weights(file).at("a");
  CHECK(read.dtype() == DType::float32);
  CHECK(read.to_vector() == std::vector<double>{1, 3, 1});
  weights.tensors.erase("a");
  put_tensor("head.bias", Tensor::from(std::vector<float>{1, -INFINITY, 2}, {3}));
  CHECK(refusal().empty());
  CHECK(read_finite_weights(file).at("head.bias").to_vector() ==
        std::vector<double>{1, -INFINITY, 2});
  CHECK(read_finite_weights(file, ExcludedWords::for_training).at("head.bias").to_vector() ==
        std::vector<double>{1, kExclusionInTraining, 2});
  weights.tensors["head.bias"].data<float>()[2] = NAN;
  CHECK(has(refusal(), "'head.bias' has nan at [2]"));
  put_tensor("head.bias", Tensor::from(std::vector<float>{-INFINITY, -INFINITY}, {2}));
  CHECK(has(refusal(), "excludes every word"));
}

}  // namespace nine::tests::test_language_model
