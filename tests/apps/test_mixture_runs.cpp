// Mixtures through the programs: what lm_score --components prints against the softmax's formulas,
// the parity export of mixtures, and a model's configuration read back from its tensors.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/json.h"
#include "core/safetensors.h"
#include "nn/models/lstm_language_model.h"
#include "nn/models/score_text.h"
#include "nn/training/language_model_task.h"
#include "tests/support/compare.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_mixture_runs {
namespace {

using Doubles = std::vector<double>;
using Rows = std::vector<Doubles>;
using Strings = std::vector<std::string>;

const Strings kText{"the cat saw a dog", "", "a bird fed the man today again today",
                    "she liked a zebra"};

std::string joined(const Strings& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string run(const std::string& program, const Strings& arguments,
                const std::string& input = {}) {
  const Outcome r = run_program(program, arguments, input);
  REQUIRE_MESSAGE(r.code == 0, r.err);
  return r.out;
}

/// Trains a mixture in float64 for a few steps; its run directory.
std::string trained(const TemporaryDirectory& dir, const std::string& head, const Strings& more) {
  std::string text;
  for (int i = 0; i < 60; ++i)
    text += "the cat saw a dog\na bird fed the man today\nshe liked a cat again\nthe man saw her\n";
  Strings arguments{"--train",  dir.write("train.txt", text),
                    "--layers", "1",
                    "--hidden", "8",
                    "--embed",  "8",
                    "--batch",  "4",
                    "--bptt",   "6",
                    "--lr",     "0.02",
                    "--dtype",  "float64",
                    "--after",  "60u",
                    "--head",   head,
                    "--run",    dir / "run"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  run("lm_train", arguments);
  return dir / "run";
}

/// The numbers of a line of --components or --tokens, token by token.
Rows numbers(const std::string& line, const std::string& between) {
  Rows tokens;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    tokens.emplace_back();
    for (char& c : word)
      if (between.find(c) != std::string::npos) c = ' ';
    std::istringstream in(word);
    for (double x = 0; in >> x;) tokens.back().push_back(x);
  }
  return tokens;
}

Strings lines_of(const std::string& text) {
  Strings lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// A token by the formulas of docs/heads.md, section 4: priors, shares, log p; from the
/// checkpoint's tensors and the state that predicts it.
struct Expected {
  Doubles prior, share;
  double log_p = 0;
};
Expected expected(const Safetensors& file, const HeadSpec& head, const Doubles& h, int32_t target) {
  const auto of = [&](const char* name) {
    return file.tensors.contains(name) ? file.at(name).to_vector() : Doubles{};
  };
  const Doubles embedding = of("embedding.weight"), own = of("head.weight"), bias = of("head.bias"),
                prior = of("head.prior.weight"), latent = of("head.latent.weight");
  const size_t d = h.size(), words = embedding.size() / d, size = static_cast<size_t>(head.size());
  const size_t tied = own.size() / (words * d) < (head.untied ? size : 1)
                          ? 1
                          : 0;  // the first word vectors are the embeddings
  Expected out;
  Doubles log_p(size);
  double sum = 0;
  for (size_t k = 0; k < size; ++k) {
    double logit = 0;
    Doubles context(h);
    for (size_t i = 0; i < d; ++i) {
      logit += prior[k * d + i] * h[i];
      if (!head.contexts) continue;
      context[i] = 0;
      for (size_t j = 0; j < d; ++j) context[i] += latent[(k * d + i) * d + j] * h[j];
      context[i] = std::tanh(context[i]);
    }
    const size_t set = head.untied ? k : 0;
    const double* w = set < tied ? embedding.data() : own.data() + (set - tied) * words * d;
    double all = 0, score_of_target = 0;
    for (size_t v = 0; v < words; ++v) {
      double z = 0, q = 0;
      for (size_t i = 0; i < d; ++i) {
        z += w[v * d + i] * context[i];
        q += (w[v * d + i] - context[i]) * (w[v * d + i] - context[i]);
      }
      const double score =
          (head.components[k].kind == ScoreKind::lin ? z : -std::log1p(std::sqrt(q))) +
          bias[v];  // lin, or log:p=1
      all += std::exp(score);
      if (v == static_cast<size_t>(target)) score_of_target = score;
    }
    out.prior.push_back(std::exp(logit));
    sum += out.prior.back();
    log_p[k] = score_of_target - std::log(all);
  }
  double p = 0;
  for (size_t k = 0; k < size; ++k) p += (out.prior[k] /= sum) * std::exp(log_p[k]);
  for (size_t k = 0; k < size; ++k) out.share.push_back(out.prior[k] * std::exp(log_p[k]) / p);
  out.log_p = std::log(p);
  return out;
}

}  // namespace

TEST_CASE(
    "lm_score --components: priors, shares and log p are those of the formulas, tied, untied, in "
    "pieces") {
  struct Kind {
    std::string head;
    Strings more;
  };
  for (const Kind& kind :
       {Kind{"mix:2*lin,log:p=1", {}}, Kind{"mix:lin,log:p=1", {"--untied", "--tie-embeddings"}},
        Kind{"mix:lin,log:p=1", {"--head-context", "none"}}}) {
    CAPTURE(kind.head);
    const TemporaryDirectory dir;
    const std::string model = trained(dir, kind.head, kind.more);
    const LanguageModel saved = LanguageModel::load(model);
    const HeadSpec& head = saved.network().head_config().spec;
    const auto size = static_cast<size_t>(head.size());
    CHECK(head.untied == (kind.more.size() == 2 && kind.more[0] == "--untied"));
    const Safetensors file = read_safetensors(model + "/checkpoints/best/model.safetensors");

    const std::string out = run("lm_score", {"--checkpoint", model, "--components"}, joined(kText));
    const Strings shown = lines_of(out),
                  scores =
                      lines_of(run("lm_score", {"--checkpoint", model, "--tokens"}, joined(kText)));
    REQUIRE(shown.size() == kText.size());
    REQUIRE(scores.size() == kText.size());
    // Sentences longer than what is computed at once come in pieces.
    const Strings pieces = lines_of(run(
        "lm_score", {"--checkpoint", model, "--components", "--batch-tokens", "2"}, joined(kText)));
    REQUIRE(pieces.size() == kText.size());

    const Corpus text = Corpus::of_lines(kText, saved.vocabulary());
    Arena arena("score");
    Tape tape(arena);
    encode_sentences(saved.network(), tape, text, 4096, [&](const EncodedSentences& batch) {
      const Doubles hidden = batch.hidden.value().to_vector();
      const size_t d = hidden.size() / static_cast<size_t>(batch.rows * batch.count);
      for (int64_t c = 0; c < batch.count; ++c) {
        const int64_t s = batch.first + c;
        const Rows tokens = numbers(shown[static_cast<size_t>(s)], ",;"),
                   log_p = numbers(scores[static_cast<size_t>(s)], ""),
                   again = numbers(pieces[static_cast<size_t>(s)], ",;");
        REQUIRE(std::ssize(tokens) == text.length(s));
        REQUIRE(std::ssize(log_p) == text.length(s));
        REQUIRE(std::ssize(again) == text.length(s));
        for (int64_t t = 0; t < text.length(s); ++t) {
          CAPTURE(s);
          CAPTURE(t);
          const auto at = static_cast<size_t>(t);
          const auto row = hidden.begin() + (t * batch.count + c) * static_cast<int64_t>(d);
          const Expected want = expected(file, head, Doubles(row, row + static_cast<int64_t>(d)),
                                         text.sentence(s)[at]);
          REQUIRE(tokens[at].size() == 2 * size);
          const auto middle = tokens[at].begin() + static_cast<int64_t>(size);
          const Doubles prior(tokens[at].begin(), middle), share(middle, tokens[at].end());
          double prior_sum = 0, share_sum = 0;
          for (size_t k = 0; k < size; ++k) {
            prior_sum += prior[k];
            share_sum += share[k];
          }
          CHECK(prior_sum == doctest::Approx(1).epsilon(1e-12));
          CHECK(share_sum == doctest::Approx(1).epsilon(1e-12));
          CHECK(relative_error(prior, want.prior) < 1e-11);
          CHECK(relative_error(share, want.share) < 1e-11);
          CHECK(log_p[at][0] == doctest::Approx(want.log_p).epsilon(1e-11));
          CHECK(relative_error(again[at], tokens[at]) < 1e-11);
        }
      }
    });
  }
}

TEST_CASE("lm_score --components is refused for a single kernel") {
  const TemporaryDirectory dir;
  const std::string model = trained(dir, "lin", {});
  const Outcome r = run_program("lm_score", {"--checkpoint", model, "--components"}, "the cat\n");
  CHECK(r.code == 1);
  CHECK(has(r.err, "--components is for mixtures, but this model's head is lin"));
}

TEST_CASE("the parity export of mixtures, tied and untied: names, shapes and configuration") {
  for (const bool untied : {false, true}) {
    CAPTURE(untied);
    const TemporaryDirectory dir;
    Strings arguments{"--sample",  "--sample-sentences",
                      "300",       "--hidden",
                      "12",        "--embed",
                      "10",        "--dropout",
                      "0",         "--batch",
                      "4",         "--bptt",
                      "6",         "--dtype",
                      "float64",   "--head",
                      "mix:3*lin", "--export-parity",
                      dir / "p",   "--export-steps",
                      "5"};
    if (untied) arguments.emplace_back("--untied");
    run("lm_train", arguments);
    const auto config = Json::parse(slurp(dir / "p/config.json")),
               losses = Json::parse(slurp(dir / "p/losses.json"));
    CHECK(config["head"] == "mos");
    CHECK(config["components"] == 3);
    CHECK(config["untied"] == untied);
    CHECK(config["head_bias"] == true);
    CHECK(config["hidden"] == 12);
    CHECK(config["dim"] == 10);
    CHECK(losses["loss"].size() == 5);
    CHECK(losses["lr"].size() == 5);
    const int64_t words = config["vocab"];
    for (const char* name : {"p/init.safetensors", "p/final.safetensors"}) {
      const Safetensors file = read_safetensors(dir / name);
      CHECK(file.at("embedding.weight").shape() == Shape{words, 10});
      CHECK(file.at("head.weight").shape() == (untied ? Shape{3, words, 12} : Shape{words, 12}));
      CHECK(file.at("head.bias").shape() == Shape{words});
      CHECK(file.at("head.prior.weight").shape() == Shape{3, 12});
      CHECK(file.at("head.latent.weight").shape() == Shape{36, 12});
      CHECK(file.at("lstm.weight_ih_l0").shape() == Shape{48, 10});
      CHECK(file.at("head.latent.weight").dtype() == DType::float64);
      CHECK(file.tensors.size() == 5 + 2 * 4);  // and two LSTM layers of four tensors
    }
    CHECK(read_safetensors(dir / "p/init.safetensors").at("head.weight").to_vector() !=
          read_safetensors(dir / "p/final.safetensors").at("head.weight").to_vector());
  }
}

TEST_CASE("a model's configuration is read back from its tensors, whatever the mixture") {
  const TemporaryDirectory dir;
  const auto saved = [&](const LstmLanguageModelConfig& config) {
    ParameterSet set({.gradients = false});
    const LstmLanguageModel model(set, config);
    write_safetensors(dir / "w.safetensors", set.named(set.values()), model.metadata());
    return read_safetensors(dir / "w.safetensors");
  };
  int seen = 0;
  for (const char* text : {"lin", "rbf", "mix:lin", "mix:2*lin,log", "mixbig"})
    for (const char* context : {"none", "tanh"})
      for (const bool untied : {false, true})
        for (const bool tie : {false, true})
          for (const bool bias : {false, true}) {
            CAPTURE(text);
            CAPTURE(context);
            CAPTURE(untied);
            CAPTURE(tie);
            CAPTURE(bias);
            LstmLanguageModelConfig config{.vocab = 11,
                                           .embed = tie ? 6 : 4,
                                           .hidden = 6,
                                           .layers = 3,
                                           .tie_embeddings = tie,
                                           .head = {.bias = bias}};
            config.head.spec = parse_head(
                text, {.variance = {}, .ball = {}, .head_context = context, .untied = untied});
            const LstmLanguageModelConfig read =
                LstmLanguageModelConfig::of_weights(saved(config), config.head.spec);
            CHECK(read.vocab == 11);
            CHECK(read.embed == config.embed);
            CHECK(read.hidden == 6);
            CHECK(read.layers == 3);
            CHECK(read.tie_embeddings == tie);
            CHECK(read.head.bias == bias);
            CHECK(read.head.spec == config.head.spec);
            ++seen;
          }
  CHECK(seen == 80);
  const HeadSpec tied = parse_head("mix:2*lin"),
                 untied = parse_head(
                     "mix:2*lin", {.variance = {}, .ball = {}, .head_context = {}, .untied = true});
  const Safetensors of_tied = saved(
      {.vocab = 11, .embed = 4, .hidden = 6, .layers = 1, .head = {.spec = tied, .bias = true}});
  CHECK(has(error_of([&] { LstmLanguageModelConfig::of_weights(of_tied, untied); }),
            "head.weight has shape (11, 6), but an untied head mix:"));
}

}  // namespace nine::tests::test_mixture_runs
