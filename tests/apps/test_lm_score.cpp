// lm_score: scoring and --top, which models it opens, and what it refuses.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "apps/cli/text_io.h"
#include "core/files.h"
#include "core/ops.h"
#include "core/safetensors.h"
#include "data/vocabulary.h"
#include "tests/apps/lm_score_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_lm_score {
namespace {

const std::string kTabbed = "the\tcat saw\t \ta dog\t\n\nthe old man\tfed him\n",
                  kSpaced = "the cat saw a dog\n\nthe old man fed him\n";

}  // namespace

TEST_CASE("lm_train, lm_score: a tab separates words as a space does") {
  CHECK(lm_score({"--checkpoint", model_a()}, kTabbed) ==
        lm_score({"--checkpoint", model_a()}, kSpaced));
  const TemporaryDirectory dir;
  const auto dictionary = [&](const std::string& name, const std::string& text) {
    const Outcome r =
        run_program("lm_train", {"--train", dir.write(name + ".txt", text), "--layers", "1",
                                 "--hidden", "8", "--embed", "8", "--batch", "1", "--bptt", "2",
                                 "--after", "1u", "--run", dir / name});
    REQUIRE_MESSAGE(r.code == 0, r.err);
    return slurp(dir / name + "/checkpoints/latest/dict.txt");
  };
  const std::string words = dictionary("tabbed", kTabbed);
  CHECK(words == dictionary("spaced", kSpaced));
  CHECK(words.starts_with("the 2\n"));
  CHECK(words.find('\t') == std::string::npos);
}

TEST_CASE(
    "lm_score --top: probabilities are those of --tokens, ordered, with the text's word ranked "
    "among them") {
  const std::string& model = model_a();
  const std::vector<TopLine> lines = top_lines(model, kLmText, 6),
                             all = top_lines(model, kLmText, 1000, {"--batch-tokens", "7"});
  const auto scored = scored_tokens(model, kLmText);
  REQUIRE(lines.size() == all.size());
  size_t at = 0;
  for (size_t s = 0; s < scored.size(); ++s) {
    for (size_t t = 0; t < scored[s].size(); ++t, ++at) {
      REQUIRE(at < lines.size());
      const TopLine &few = lines[at], &whole = all[at];
      CAPTURE(at);
      CHECK(few.line == static_cast<int>(s) + 1);
      CHECK(few.position == static_cast<int>(t) + 1);
      CHECK(few.p == doctest::Approx(std::exp(scored[s][t])).epsilon(1e-5));
      REQUIRE(few.top.size() == 6);
      double sum = 0, whole_sum = 0;
      for (size_t i = 0; i < few.top.size(); ++i) {
        sum += few.top[i].second;
        if (i > 0) CHECK(few.top[i].second <= few.top[i - 1].second);
        CHECK(few.top[i].first == whole.top[i].first);
        CHECK(few.top[i].second == doctest::Approx(whole.top[i].second).epsilon(1e-5));
      }
      CHECK(sum <= 1 + 1e-5);
      for (const auto& [word, p] : whole.top) whole_sum += p;
      CHECK(whole_sum == doctest::Approx(1).epsilon(1e-5));
      REQUIRE(whole.rank <= static_cast<int>(whole.top.size()));
      const std::string scored_as = whole.word.ends_with(" (<unk>)") ? "<unk>" : whole.word;
      CHECK(whole.top[static_cast<size_t>(whole.rank) - 1].first == scored_as);
    }
  }
  CHECK(at == lines.size());
  const auto word = [&](int line, int position) {
    return std::find_if(lines.begin(), lines.end(),
                        [&](const TopLine& t) { return t.line == line && t.position == position; })
        ->word;
  };
  CHECK(word(1, 2) == "cat");
  CHECK(word(2, 1) == "</s>");
  CHECK(word(3, 2) == "zebra (<unk>)");
  CHECK(word(3, 5) == "<unk>");
}
TEST_CASE("lm_score: a model without config.json has the head that its weights name") {
  const TemporaryDirectory dir;
  REQUIRE(run_program("lm_train", {"--sample", "--sample-sentences", "300", "--hidden", "8",
                                   "--embed", "8", "--head", "mix:log,pow:p=1", "--head-context",
                                   "none", "--after", "1u", "--run", dir / "run"})
              .code == 0);
  std::filesystem::create_directory(dir / "bare");
  for (const char* file : {"model.safetensors", "dict.txt"})
    std::filesystem::copy_file(std::filesystem::path(dir / "run/checkpoints/best") / file,
                               std::filesystem::path(dir / "bare") / file);
  const std::string text = "the cat\n";
  const Outcome whole = run_program("lm_score", {"--checkpoint", dir / "run"}, text);
  CHECK(whole.code == 0);
  CHECK(run_program("lm_score", {"--checkpoint", dir / "bare"}, text).out == whole.out);
}

namespace {

// log p of each token of a sentence, in long double, from the weights of an LSTM of one layer with
// head lin.
std::vector<long double> token_log_probs(const Safetensors& weights, const std::vector<int>& ids) {
  using Reals = std::vector<long double>;
  const auto matrix = [&](const std::string& name) {
    const Tensor& t = weights.at(name);
    CHECK(t.dtype() == DType::float64);
    const std::vector<double> all = t.to_vector();
    std::vector<Reals> rows;
    for (auto at = all.begin(); at != all.end(); at += t.shape().cols())
      rows.emplace_back(at, at + t.shape().cols());
    return rows;
  };
  const auto words = matrix("embedding.weight"), ih = matrix("lstm.weight_ih_l0"),
             hh = matrix("lstm.weight_hh_l0"), out = matrix("head.weight");
  const Reals b_ih = matrix("lstm.bias_ih_l0")[0], b_hh = matrix("lstm.bias_hh_l0")[0],
              bias = matrix("head.bias")[0];
  const auto dot = [](const Reals& a, const Reals& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0L);
  };
  const auto sigmoid = [](long double x) { return 1 / (1 + std::exp(-x)); };
  const size_t n = hh[0].size();
  Reals h(n), c(n), log_probs;
  int input = 0;  // </s>
  for (const int id : ids) {
    Reals gates;
    for (size_t k = 0; k < 4 * n; ++k)
      gates.push_back(dot(ih[k], words[static_cast<size_t>(input)]) + dot(hh[k], h) + b_ih[k] +
                      b_hh[k]);
    for (size_t k = 0; k < n; ++k) {
      c[k] = sigmoid(gates[n + k]) * c[k] + sigmoid(gates[k]) * std::tanh(gates[2 * n + k]);
      h[k] = sigmoid(gates[3 * n + k]) * std::tanh(c[k]);
    }
    long double sum = 0;
    for (size_t v = 0; v < out.size(); ++v) sum += std::exp(dot(out[v], h) + bias[v]);
    const auto word = static_cast<size_t>(id);
    log_probs.push_back(dot(out[word], h) + bias[word] - std::log(sum));
    input = id;
  }
  return log_probs;
}

}  // namespace

TEST_CASE("lm_score: a float64 model is scored in float64") {
  const TemporaryDirectory dir;
  const std::string run = dir / "run";
  REQUIRE(run_program("lm_train", {"--sample", "--sample-sentences", "300", "--hidden", "8",
                                   "--embed", "6", "--layers", "1", "--dtype", "float64", "--lr",
                                   "0.1", "--after", "20u", "--run", run})
              .code == 0);
  const std::filesystem::path best = std::filesystem::path(run) / "checkpoints/best";
  const Vocabulary vocabulary =
      Vocabulary::read((best / "dict.txt").string(), Specials::kLanguageModel);
  std::vector<int> ids;
  std::string line;
  for (int32_t id = vocabulary.size() - 1; id > 1; id -= 7) {
    ids.push_back(id);
    line += (line.empty() ? "" : " ") + std::string(vocabulary.word(id));
  }
  ids.push_back(0);
  const std::vector<long double> expected =
      token_log_probs(read_safetensors(best / "model.safetensors"), ids);
  const std::vector<double> found = scored_tokens(run, line + "\n").at(0);
  REQUIRE(found.size() == expected.size());
  for (size_t t = 0; t < found.size(); ++t)
    CHECK(std::abs(found[t] - static_cast<double>(expected[t])) < 1e-13);
  const double sum = std::stod(lm_score({"--checkpoint", run}, line + "\n"));
  CHECK(sum == doctest::Approx(
                   static_cast<double>(std::accumulate(expected.begin(), expected.end(), 0.0L)))
                   .epsilon(1e-14));
}

TEST_CASE("lm_score: a model whose dictionary lists no word") {
  const TemporaryDirectory dir;
  std::vector<Tensor> ones;
  std::vector<NamedView> weights;
  const auto add = [&](const char* name, const Shape& shape) {
    weights.push_back({name, ones.emplace_back(shape, DType::float32).view()});
    ops::fill(weights.back().view, 1);
  };
  add("embedding.weight", {2, 3});
  add("lstm.weight_ih_l0", {8, 3});
  add("lstm.weight_hh_l0", {8, 2});
  add("lstm.bias_ih_l0", {8});
  add("lstm.bias_hh_l0", {8});
  add("head.weight", {2, 2});
  write_safetensors(dir / "model.safetensors", weights, {});
  put(dir / "dict.txt", "");
  // </s> and <unk> are equally likely.
  const std::vector<double> log_probs = scored_tokens(dir.path().string(), "x\n").at(0);
  for (const double log_p : log_probs)
    CHECK(log_p == doctest::Approx(-std::log(2.0)).epsilon(1e-6));
}

TEST_CASE(
    "a model with a weight that is not finite opens in no program; tensor and index are named") {
  const TemporaryDirectory dir;
  const std::string model = changed_model(dir, "nan", model_a(), "embedding.weight", 38, NAN),
                    inf = changed_model(dir, "inf", model_a(), "head.bias", 4, INFINITY),
                    zero = changed_model(dir, "zero", model_a(), "head.bias", 4, -INFINITY);
  const auto refused = [](const std::string& program, const Strings& arguments,
                          const std::string& why) {
    const Outcome r = run_program(program, arguments, "the cat saw a dog\n");
    CHECK(r.code == 1);
    CHECK(r.out.empty());
    CHECK_MESSAGE(has(r.err, why), r.err);
  };
  const std::string nan_at = model +
                             "/model.safetensors: tensor 'embedding.weight' has nan at "
                             "[3, 2], but a model's weights must be finite numbers";
  const std::string sets = dir.write("sets", "the a\n");
  for (const Strings& more : std::vector<Strings>{
           {},
           {"--tokens", "--carry-state"},
           {"--top", "3"},
           {"--generate"},
           {"--restrict", sets},
           {"--clusters", "1:inner", "--cluster-size", "2", "--cluster-min-count", "1"}})
    refused("lm_score", joined({"--checkpoint", model}, more), nan_at);
  refused("lm_score", {"--compare", model_a(), model}, nan_at);
  refused("nine_report", {"--words", model, "--output", dir / "words.html"}, nan_at);
  CHECK(!std::filesystem::exists(dir / "words.html"));
  const std::string text = dir.write("text", kLmText);
  refused("lm_rescore",
          {"--checkpoint", model, "--lambda", "1", "--nbest", dir.write("n", "u\t1\ta\n"),
           "--reference", dir.write("r", "u\ta\n"), "--output", dir / "rescored"},
          nan_at);
  const auto trained_on = [&](const std::string& from) {
    return Strings{"--train",  text, "--vocab",  from + "/dict.txt",
                   "--init",   from, "--layers", "1",
                   "--hidden", "16", "--embed",  "12",
                   "--batch",  "1",  "--bptt",   "2",
                   "--after",  "1u", "--run",    dir / "run"};
  };
  refused("lm_train", trained_on(model), nan_at);
  refused("lm_score", {"--checkpoint", inf},
          "tensor 'head.bias' has inf at [4], but a model's weights must be finite numbers (or "
          "-inf in this bias, which excludes a word)");
  // A word that the bias excludes stays excluded in training, whose text must not have it.
  const Vocabulary words = Vocabulary::read(zero + "/dict.txt", Specials::kLanguageModel);
  dir.write("text", concat(words.word(4), ' ', words.word(2), '\n'));
  refused("lm_train", trained_on(zero),
          concat("their output bias excludes the word '", words.word(4),
                 "', which is 1 times in the training text"));
  dir.write("text", concat(words.word(2), ' ', words.word(3), '\n'));
  const Outcome on = run_program("lm_train", trained_on(zero));
  REQUIRE_MESSAGE(on.code == 0, on.err);
  CHECK_MESSAGE(has(on.err, "1 word that head.bias excludes keep a bias of -10000"), on.err);
  const auto scored = scored_tokens(dir / "run", concat(words.word(4), ' ', words.word(2), '\n'));
  CHECK(scored[0][0] < -1000);
  CHECK(scored[0][1] > -100);
}

TEST_CASE("lm_score: a bias of -inf excludes its word, which is counted") {
  const TemporaryDirectory dir;
  REQUIRE(run_program("lm_train", {"--sample", "--sample-sentences", "100", "--batch", "2",
                                   "--hidden", "8", "--embed", "8", "--head", "mix:2*lin",
                                   "--after", "4u", "--run", dir / "mixture"})
              .code == 0);
  for (const std::string& run : {model_a(), std::string(dir / "mixture")}) {
    CAPTURE(run);
    const bool mixture = run != model_a();
    const Vocabulary words =
        Vocabulary::read(run + "/checkpoints/best/dict.txt", Specials::kLanguageModel);
    const int32_t excluded = 7;
    const std::string &word = words.word(excluded), &other = words.word(3);
    const std::string text = other + " " + word + " " + other + "\n" + other + "\n";
    const std::string model =
        changed_model(dir, mixture ? "m" : "a", run, "head.bias", excluded, -INFINITY);
    const Outcome r = run_program("lm_score", {"--checkpoint", model, "--tokens"}, text);
    REQUIRE_MESSAGE(r.code == 0, r.err);
    CHECK(has(r.err, "perplexity inf over 6 tokens"));
    CHECK_MESSAGE(has(r.err, "tokens of probability 0: 1, which the model excludes"), r.err);
    CHECK(split(r.out, ' ')[1] == "-inf");
    CHECK(split(lm_score({"--checkpoint", model}, text), '\n')[0] == "-inf");
    const std::vector<TopLine> before = top_lines(run, text, 1000),
                               after = top_lines(model, text, 1000);
    REQUIRE(after.size() == 6);
    CHECK(after[1].p == 0);
    CHECK(after[1].rank == words.size());
    const auto scored = scored_tokens(model, text);
    for (size_t i = 0; i < after.size(); ++i) {
      const double token = i < 4 ? scored[0][i] : scored[1][i - 4];
      CHECK(after[i].p == doctest::Approx(std::exp(token)).epsilon(1e-5));
      double sum = 0;
      for (const auto& [name, p] : after[i].top) sum += p;
      CHECK(sum == doctest::Approx(1).epsilon(1e-4));
      // The other words share what it had, each component by itself.
      if (mixture || i == 1) continue;
      for (const auto& [name, p] : before[i].top)
        if (name == word) CHECK(after[i].p == doctest::Approx(before[i].p / (1 - p)).epsilon(1e-4));
    }
    const std::string made =
        " " + lm_score({"--checkpoint", model, "--generate", "--samples", "200"}, "\n");
    CHECK(!has(made, " " + word + " "));
    const Outcome shares = run_program("lm_score", {"--checkpoint", model, "--components"}, text);
    CHECK(!has(shares.out, "nan"));
    const Outcome compared = run_program("lm_score", {"--compare", run, model}, text);
    CHECK(compared.code == 1);
    CHECK_MESSAGE(has(compared.err, "a model excludes '" + word + "' of line 1 by a bias"),
                  compared.err);
  }
}

TEST_CASE("lm_score: finite weights whose sums are not are an error, not nan") {
  const TemporaryDirectory dir;
  const std::string model = changed_model(dir, "model", transformer_model(),
                                          "transformer.layers.0.linear2.bias", 0, 3e38f);
  // Both biases are added to the same number.
  const Safetensors weights = read_safetensors(model + "/model.safetensors");
  weights.at("transformer.layers.0.self_attn.out_proj.bias").data<float>()[0] = 3e38f;
  std::vector<NamedView> views;
  for (const auto& [name, numbers] : weights.tensors) views.push_back({name, numbers});
  write_safetensors(model + "/model.safetensors", views, weights.metadata);
  for (const Strings& more : std::vector<Strings>{{}, {"--top", "1"}, {"--generate"}}) {
    const Outcome r = run_program("lm_score", joined({"--checkpoint", model}, more), "the cat\n");
    CHECK(r.code == 1);
    CHECK_MESSAGE(has(r.err, more == Strings{"--generate"}
                                 ? "(lin) has scores without a finite normaliser"
                                 : "log p is not a number: products of the model's weights"),
                  r.err);
    CHECK(!has(r.out, "nan"));
  }
}

TEST_CASE("lm_score: a perplexity beyond a double is a power of e; sums beyond it are an error") {
  const TemporaryDirectory dir;
  const Vocabulary words =
      Vocabulary::read(model_a() + "/checkpoints/best/dict.txt", Specials::kLanguageModel);
  std::string text;
  for (int i = 0; i < 6; ++i) text += concat(words.word(3), " ", words.word(4), "\n");
  const std::string far = changed_model(dir, "far", model_a(), "head.bias", 7, 2000);
  const Outcome r = run_program("lm_score", {"--checkpoint", far}, text);
  CHECK(r.code == 0);
  CHECK_MESSAGE(has(r.err, "perplexity e^19"), r.err);  // some 2000 nats a token, less its score
  CHECK_MESSAGE(has(r.err, " over 18 tokens"), r.err);
  const Outcome compared = run_program("lm_score", {"--compare", model_a(), far}, text);
  CHECK(compared.code == 0);
  for (const char* part : {"perplexity B\te^19", "ratio\te^19", "95% interval\te^19"})
    CHECK_MESSAGE(has(compared.out, part), compared.out);
  CHECK(!has(compared.out, "inf"));

  const std::string broken = changed_model(dir, "broken", model_a(), "head.bias", 7, 0);
  const Safetensors weights = read_safetensors(broken + "/model.safetensors");
  std::vector<NamedView> views;
  std::vector<Tensor> wide;
  for (const auto& [name, numbers] : weights.tensors) {
    wide.emplace_back(numbers.shape(), DType::float64);
    ops::copy(numbers, wide.back());
    if (name == "head.bias")
      wide.back().data<double>()[3] = -(wide.back().data<double>()[7] = 1e308);
    views.push_back({name, wide.back()});
  }
  write_safetensors(broken + "/model.safetensors", views, weights.metadata);
  const auto say_float64 = [](const std::string& model) {
    const std::string file = model + "/config.json";
    Json config = Json::parse(slurp(file));
    config["dtype"] = "float64";
    atomic_write_text(file, config.dump());
  };
  say_float64(broken);
  for (const Strings& more :
       std::vector<Strings>{{}, {"--carry-state"}, {"--top", "1"}, {"--compare", far, broken}}) {
    Strings arguments = more;
    if (more.size() < 3) arguments.insert(arguments.begin(), {"--checkpoint", broken});
    const Outcome refused = run_program("lm_score", arguments, text);
    CHECK(refused.code == 1);
    CHECK_MESSAGE(has(refused.err, "log p is not a number: products of"), refused.err);
    CHECK_MESSAGE(!has(refused.err, "bias of -inf"), refused.err);
  }
  const std::string pair = concat(words.word(3), " ", words.word(7)),
                    sets = dir.write("sets", pair + "\n");
  const Outcome choices =
      run_program("lm_score", {"--checkpoint", broken, "--restrict", sets}, pair + "\n");
  CHECK(choices.code == 1);
  CHECK_MESSAGE(!has(choices.out, "inf"), choices.out);
  // Biases that all words share.
  const std::string offset = changed_model(dir, "offset", model_a(), "head.bias", 7, 0);
  for (const NamedView& v : views)
    if (v.name == "head.bias") ops::fill(v.view, 1e17);
  write_safetensors(offset + "/model.safetensors", views, weights.metadata);
  say_float64(offset);
  for (const Strings& more : std::vector<Strings>{{}, {"--carry-state"}, {"--top", "1"}}) {
    const Outcome lost = run_program("lm_score", joined({"--checkpoint", offset}, more), text);
    CHECK(lost.code == 1);
    CHECK_MESSAGE(
        has(lost.err, " words have a bias of 1e+17 or more, where numbers of float64 lie"),
        lost.err);
  }
  // Without the word that is too far: each log p is a number, their sum is none.
  const std::string& other = words.word(4);
  const Outcome sum =
      run_program("lm_score", {"--checkpoint", broken}, other + "\n" + other + " " + other + "\n");
  CHECK(sum.code == 1);
  CHECK_MESSAGE(has(sum.err, "up to line 1 the log-probabilities add up to more than"), sum.err);
}

TEST_CASE("lm_score: what fails leaves the output file as it was") {
  const TemporaryDirectory dir;
  std::ofstream(dir / "out.txt") << "precious\n";
  const Outcome r = run_program(
      "lm_score", {"--checkpoint", dir / "nowhere", "--output", dir / "out.txt"}, "the cat\n");
  CHECK(r.code == 1);
  CHECK(slurp(dir / "out.txt") == "precious\n");
  CHECK(run_program("lm_score", {"--checkpoint", dir / "nowhere", "--output", dir / "new.txt"},
                    "the cat\n")
            .code == 1);
  CHECK_FALSE(std::filesystem::exists(dir / "new.txt"));
  CHECK(has(run_program("lm_score",
                        {"--checkpoint", std::string(dir / "m"), "--output", dir / "m/dict.txt"},
                        "the cat\n")
                .err,
            "is also a file of the model"));
  REQUIRE(
      run_program("lm_train", {"--sample", "--sample-sentences", "100", "--batch", "2", "--hidden",
                               "4", "--embed", "4", "--after", "1u", "--run", dir / "run"})
          .code == 0);
  const std::string words = slurp(dir / "run/checkpoints/best/dict.txt");
  const Outcome through = run_program(
      "lm_score",
      {"--checkpoint", dir / "run/checkpoints", "--output", dir / "run/checkpoints/best/dict.txt"},
      "the cat\n");
  CHECK(through.code == 2);
  CHECK(has(through.err, "is also a file of the model"));
  CHECK(slurp(dir / "run/checkpoints/best/dict.txt") == words);
}

TEST_CASE("lm_score: an output that is a link to a missing file makes that file") {
  const TemporaryDirectory dir;
  namespace fs = std::filesystem;
  const auto output = [&](const std::string& model) {
    return run_program("lm_score", {"--checkpoint", model, "--output", dir / "link"}, "the cat\n");
  };
  fs::create_directory(dir / "sub");
  fs::create_symlink("sub/scores", dir / "link");
  CHECK(output(dir / "nowhere").code == 1);
  CHECK(fs::is_symlink(dir / "link"));
  CHECK(fs::is_empty(dir / "sub"));
  CHECK(output(model_a()).code == 0);
  CHECK(fs::is_symlink(dir / "link"));
  CHECK(slurp(dir / "sub/scores") == lm_score({"--checkpoint", model_a()}, "the cat\n"));
  fs::remove(dir / "link");
  fs::create_symlink("link", dir / "link");
  const Outcome loop = output(model_a());
  CHECK(loop.code == 1);
  CHECK_MESSAGE(has(loop.err, "link: Too many levels of symbolic links"), loop.err);
  CHECK(fs::read_symlink(dir / "link") == "link");
}

TEST_CASE("lm_score: a named pipe in the place of a model's file is an error") {
  const TemporaryDirectory dir;
  for (const char* name : {"model.safetensors", "config.json", "dict.txt"}) {
    const std::string model = changed_model(dir, name, model_a(), "head.bias", 7, 0);
    std::filesystem::remove(model + "/" + name);
    REQUIRE(mkfifo((model + "/" + name).c_str(), 0600) == 0);
    const Outcome r = run_program("lm_score", {"--checkpoint", model}, "the\n");
    CHECK(r.code == 1);
    CHECK_MESSAGE(has(r.err, concat("lm_score: cannot read ", model, "/", name,
                                    ": it is a named pipe, and a regular file was expected")),
                  r.err);
  }
}

TEST_CASE("check_inputs: a stream can be read once") {
  const TemporaryDirectory dir;
  const std::string file = dir.write("file", "a"), fifo = dir / "pipe", link = dir / "link";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  std::filesystem::create_symlink(fifo, link);
  const auto refusal = [](const std::string& a, const std::string& b) {
    return error_of([&] { app::check_inputs({{"--a", a}, {"--b", ""}, {"--c", b}}); });
  };
  CHECK(has(refusal("-", "-"), "--a and --c are both standard input, which can be read only once"));
  CHECK(has(refusal(fifo, link), "--a and --c are both " + link + ", which can be read"));
  CHECK(refusal(file, file).empty());
  CHECK(refusal("-", fifo).empty());
  CHECK(refusal("/dev/null", "/dev/null").empty());
  // Of standard input that is a pipe.
  for (const Strings& arguments : std::vector<Strings>{
           {"bpe", "vocab", "--input", "-", "/dev/stdin"},
           {"bpe", "apply", "--codes", "/dev/stdin"},
           {"lm_score", "--checkpoint", dir / "none", "--restrict", "/dev/stdin"},
           {"lm_rescore", "--checkpoint", dir / "none", "--nbest", "/dev/stdin", "--reference",
            "/dev/stdin", "--lambda", "1", "--output", dir / "out"},
           {"mt_translate", "--score", "--reference", "/dev/stdin"},
           {"lm_train", "--train", "/dev/stdin", "--valid", "/dev/stdin", "--run", dir / "run"}}) {
    const Outcome r =
        Program(arguments[0], Strings(arguments.begin() + 1, arguments.end()), "", [] {
          int ends[2];
          if (::pipe(ends) == 0) dup2(ends[0], STDIN_FILENO);
        }).wait();
    CHECK(r.code == 2);
    CHECK_MESSAGE(has(r.err, ", which can be read only once: name a file for one of them"), r.err);
  }
}

TEST_CASE("check_outputs: one file under two names, there or not") {
  const TemporaryDirectory dir;
  std::filesystem::create_symlink("target", dir / "link");
  const auto refused = [&] {
    return error_of([&] {
      app::check_outputs({{"--output", dir / "link"}, {"--attention", dir / "target"}}, {});
    });
  };
  CHECK(has(refused(), "one of the two would be lost"));
  dir.write("target", "");
  CHECK(has(refused(), "one of the two would be lost"));
  CHECK(error_of([&] {
          app::check_outputs({{"--output", dir / "link"}}, {{"--input", dir / "other"}});
        }).empty());
}

TEST_CASE("check_outputs: a plain text does not get the name of a packed file") {
  const auto error = [](const std::string& path, bool packs = false) {
    return error_of([&] { app::check_outputs({{"--output", path, packs}}, {}); });
  };
  for (const char* path : {"x.gz", "x.zst", "x.txt.xz", "x.bz2"})
    CHECK(has(error(path), concat("--output ", path, ": the name ends with .")));
  CHECK(has(error("x.zst", true), "give a name that ends with .gz"));
  for (const char* path : {"x", "x.txt", "gz", "-", "/dev/null"}) CHECK(error(path).empty());
  CHECK(error("x.gz", true).empty());
}

TEST_CASE("lm_score: what does not go together is a usage error that says what to do") {
  const std::string &a = model_a(), &b = model_b();
  struct Case {
    Strings arguments;
    const char* says;
  };
  const std::vector<Case> cases{
      {{}, "give --checkpoint DIR"},
      {{"--checkpoint", a, "--top", "3", "--generate"}, "one of them"},
      {{"--checkpoint", a, "--compare", a, b}, "leave out --checkpoint"},
      {{"--compare", a}, "two checkpoints"},
      {{"--compare", a, b, a}, "two checkpoints"},
      {{"--checkpoint", a, "--temperature", "0.5"}, "--generate"},
      {{"--checkpoint", a, "--top", "2", "--samples", "3"}, "--generate"},
      {{"--checkpoint", a, "--worst", "3"}, "--compare"},
      {{"--checkpoint", a, "--seed", "3"}, "--generate, --compare"},
      {{"--compare", a, b, "--top", "3", "--seed", "99"}, "--seed is for --generate"},
      {{"--checkpoint", a, "--clusters", "2:inner", "--seed", "5"}, "--clusters N:ppmi"},
      {{"--checkpoint", a, "--generate", "--tokens"}, "plain scoring"},
      {{"--checkpoint", a, "--generate", "--batch-tokens", "10"}, "--batch"},
      {{"--checkpoint", a, "--top", "2", "--carry-state"}, "--carry-state"},
      {{"--checkpoint", a, "--generate", "--temperature", "0", "--samples", "2"}, "--samples"},
      {{"--checkpoint", a, "--generate", "--temperature", "0", "--top-k", "2"}, "--top-k has no"},
      {{"--checkpoint", a, "--generate", "--temperature", "0", "--top-p", "0.5"}, "--top-p has no"},
      {{"--checkpoint", a, "--generate", "--temperature", "0", "--seed", "2"}, "--seed has no"},
      {{"--checkpoint", a, "--generate", "--temperature", "-1"}, "--temperature"},
      {{"--checkpoint", a, "--generate", "--top-p", "1.5"}, "--top-p"},
      {{"--checkpoint", a, "--generate", "--max-words", "0"}, "--max-words"},
  };
  for (const Case& c : cases) {
    const Outcome r = run_program("lm_score", c.arguments, "the cat\n");
    CAPTURE(r.err);
    CHECK(r.code == 2);
    CHECK(r.err.find(c.says) != std::string::npos);
    CHECK(r.out.empty());
  }
  const Outcome nothing = run_program("lm_score", {"--checkpoint", a, "--generate"});
  CHECK(nothing.code == 1);
  CHECK(nothing.err.find("an empty line is a prompt") != std::string::npos);
  // A dumped configuration gives every option and is none of these.
  const TemporaryDirectory dir;
  const Outcome dumped = run_program("lm_score", {"--checkpoint", a, "--dump-config"});
  CHECK(lm_score({"--config", dir.write("dumped.json", dumped.out)}, "the cat\n") ==
        lm_score({"--checkpoint", a}, "the cat\n"));
}

}  // namespace nine::tests::test_lm_score
