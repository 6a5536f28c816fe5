// mt_train from the outside: what a user's commands do.
#include <doctest/doctest.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/json.h"
#include "core/safetensors.h"
#include "nn/models/transformer.h"
#include "nn/models/translator.h"
#include "nn/training/checkpoint.h"
#include "tests/apps/mt_runs.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_mt_train {
namespace {

namespace fs = std::filesystem;

}  // namespace

TEST_CASE("mt_train: dropout and attention's dropout act in training") {
  const TemporaryDirectory dir;
  const auto losses = [&](const std::string& name, const Strings& more) {
    const Outcome r = train(joined(tiny(dir / name, {"--sample", "--sample-pairs", "100", "--after",
                                                     "2u", "--log-every", "1"}),
                                   more));
    REQUIRE_MESSAGE(r.code == 0, r.err);
    std::vector<double> found = trained_numbers(dir / name, "loss");
    REQUIRE(found.size() == 2);
    return found;
  };
  const auto none = losses("none", {"--dropout", "0"}), some = losses("some", {"--dropout", "0.5"}),
             attention = losses("attention", {"--dropout", "0", "--attention-dropout", "0.5"});
  CHECK(some != none);
  CHECK(attention != none);
  CHECK(attention != some);
}

TEST_CASE(
    "mt_train: a style of today trains, resumes to the same bits, averages, and is what "
    "mt_translate "
    "computes") {
  const Reversed data(120);
  const TemporaryDirectory& dir = data.dir;
  const auto with = [&](const std::string& run, const Strings& more) {
    return tiny(dir / run, joined(data.files({"--test-src",
                                              dir / "s",
                                              "--test-tgt",
                                              dir / "t",
                                              "--positions",
                                              "rotary",
                                              "--rotary-base",
                                              "500",
                                              "--norm",
                                              "pre",
                                              "--norm-type",
                                              "rms",
                                              "--activation",
                                              "swiglu",
                                              "--kv-heads",
                                              "1",
                                              "--qk-norm",
                                              "--no-linear-bias",
                                              "--optimizer",
                                              "muon",
                                              "--schedule",
                                              "cosine",
                                              "--schedule-length",
                                              "60u",
                                              "--valid-every",
                                              "20u"}),
                                  more));
  };
  REQUIRE(train(with("whole", {"--after", "60u", "--threads", "1"})).code == 0);
  REQUIRE(train(with("again", {"--after", "60u", "--recompute"})).code == 0);
  REQUIRE(train(with("parts", {"--after", "25u"})).code == 0);
  REQUIRE(train(with("parts", {"--after", "60u"})).code == 0);
  CHECK(weights_of(dir / "whole") == weights_of(dir / "again"));
  CHECK(weights_of(dir / "whole") == weights_of(dir / "parts"));
  const fs::path best = fs::path(dir / "whole") / "checkpoints/best";
  const Safetensors model = read_safetensors(best / "model.safetensors");
  CHECK(model.metadata.at("positions") == "rotary");
  CHECK(model.metadata.at("rotary_base") == "500");
  CHECK(!model.tensors.contains("positions"));
  // Without config.json the metadata say enough, but for the norms' place.
  const auto scores = [&](const std::string& checkpoint) {
    const Outcome r = run_program("mt_translate", {"--checkpoint", checkpoint, "--input", dir / "s",
                                                   "--score-given", dir / "t", "--tokens"});
    REQUIRE_MESSAGE(r.code == 0, r.err);
    return r.out;
  };
  std::istringstream numbers(scores(dir / "whole"));
  double sum = 0, count = 0;
  for (double log_p = 0; numbers >> log_p; ++count) sum += log_p;
  CHECK(std::exp(-sum / count) ==
        doctest::Approx(log_of(dir / "whole").back()["test_ppl"].get<double>()).epsilon(1e-4));
  fs::create_directory(dir / "bare");
  for (const char* file : {"model.safetensors", "src.dict.txt", "tgt.dict.txt"})
    fs::copy_file(best / file, fs::path(dir / "bare") / file);
  CHECK(scores(dir / "bare") == scores(dir / "whole"));
  REQUIRE(train({"--average", "2", "--run", dir / "whole"}).code == 0);
  CHECK(!scores(dir / "whole/average").empty());
  const auto refused = [&](const Strings& more) {
    return train(tiny(dir / "refused", data.files(more))).err;
  };
  CHECK(has(refused({"--positions", "learned"}), "not one of sinusoidal, rotary"));
  CHECK(has(refused({"--rotary-base", "500"}), "--rotary-base has no effect here"));
  CHECK(has(refused({"--norm", "pre", "--norm-type", "rms", "--activation", "swiglu", "--kv-heads",
                     "1", "--qk-norm", "--no-linear-bias", "--init", dir / "whole"}),
            "a network with positions (--positions) rotary, but this network has sinusoidal"));
}

TEST_CASE("mt_train: the test's perplexity is that of mt_translate's best model") {
  const Reversed data(120);
  const std::string run = data.dir / "run";
  const Outcome r = train(
      joined(tiny(run), data.files({"--test-src", data.dir / "s", "--test-tgt", data.dir / "t",
                                    "--after", "60u", "--valid-every", "20u"})));
  REQUIRE_MESSAGE(r.code == 0, r.err);
  const Outcome scored =
      run_program("mt_translate", {"--checkpoint", run, "--input", data.dir / "s", "--score-given",
                                   data.dir / "t", "--tokens"});
  REQUIRE_MESSAGE(scored.code == 0, scored.err);
  std::istringstream numbers(scored.out);
  double sum = 0, count = 0;
  for (double log_p = 0; numbers >> log_p; ++count) sum += log_p;
  CHECK(std::exp(-sum / count) ==
        doctest::Approx(log_of(run).back()["test_ppl"].get<double>()).epsilon(1e-4));
}

TEST_CASE(
    "mt_train: a run on the sample learns, validates with BLEU, and leaves a checkpoint that "
    "opens") {
  const TemporaryDirectory dir;
  const Strings wide{"--sample", "--sample-pairs", "400", "--batch-tokens", "200",  "--layers",
                     "1",        "--hidden",       "32",  "--ffn",          "32",   "--heads",
                     "2",        "--warmup",       "20",  "--lr",           "0.02", "--dropout",
                     "0"};
  const Outcome r =
      train(joined(wide, {"--run", dir / "run", "--after", "100u", "--valid-every", "50u"}));
  REQUIRE_MESSAGE(r.code == 0, r.err);
  const std::vector<Json> log = log_of(dir / "run");
  CHECK(log.front()["event"] == "start");
  CHECK(log.front()["train_pairs"] == 400);
  CHECK(log.front()["padding_share"].get<double>() > 0);
  CHECK(log.front()["padding_share"].get<double>() < 0.2);
  CHECK(log.back()["event"] == "done");
  double first = 0, last = 0;
  int translations = 0;
  for (const Json& e : log) {
    if (e["event"] == "train") {
      for (const char* key : {"step", "epoch", "time_s", "loss", "nll", "ppl", "lr", "grad_norm",
                              "tokens_per_s", "ms_per_step", "peak_mib"})
        CHECK_MESSAGE(e.contains(key), key);
      CHECK(e["loss"].get<double>() > e["nll"].get<double>());  // labels are smoothed
      (first == 0 ? first : last) = e["ppl"].get<double>();
    }
    if (e["event"] == "valid" || e["event"] == "test") {
      CHECK(e["bleu"].get<double>() >= 0);
      CHECK(e["tokens"].get<int64_t>() > 1000);
    }
    if (e["event"] == "translation") {
      ++translations;
      REQUIRE(e["attention"].size() == e["hyp_tokens"].size());
      for (const Json& row : e["attention"]) {
        CHECK(row.size() == e["src_tokens"].size() + 1);
        int64_t sum = 0;
        for (const Json& share : row) sum += share.get<int64_t>();
        CHECK(std::abs(sum - 1000) <= 20);
      }
    }
  }
  CHECK(last < 0.3 * first);
  CHECK(translations == 8);  // four, twice
  CHECK(log.back()["best_bleu"].get<double>() >= 0);
  CHECK(has(r.out, "best validation perplexity"));
  CHECK(has(slurp(dir / "run/report.html"), "<h2>Translations"));

  const Translator saved = Translator::load(dir / "run");
  CHECK(saved.network().config().dim == 32);
  CHECK(saved.network().config().encoder_layers == 1);
  CHECK(saved.source().size() > 100);
  const std::string best = dir / "run/checkpoints/best";
  const Safetensors weights = read_safetensors(best + "/model.safetensors");
  CHECK(weights.at("positions").shape() == Shape{1024, 32});
  CHECK(weights.at("tgt_embedding.weight").shape() == Shape{saved.target().size(), 32});
  CHECK_FALSE(weights.tensors.contains("head.weight"));  // tied
  for (const auto& [name, tensor] : read_safetensors(best + "/optimizer.safetensors").tensors)
    CHECK_FALSE(has(name, "positions"));
  const Json config = Json::parse(slurp(best + "/config.json"));
  for (const char* key : {"task",
                          "dtype",
                          "src_vocab",
                          "tgt_vocab",
                          "dim",
                          "ffn",
                          "heads",
                          "encoder_layers",
                          "decoder_layers",
                          "norm",
                          "embed_scale",
                          "pad",
                          "label_smoothing",
                          "smoothing",
                          "shared_vocab",
                          "head",
                          "head_bias",
                          "tie_embeddings",
                          "lr",
                          "betas",
                          "eps",
                          "clip"})
    CHECK_MESSAGE(config.contains(key), key);
  CHECK(config["encoder_layers"] == 1);
  const std::string dict = slurp(best + "/tgt.dict.txt");
  CHECK(std::count(dict.begin(), dict.end(), '\n') == saved.target().size() - 4);

  {  // the finished run started again changes nothing and exits 0
    const std::string before = slurp(dir / "run/log.jsonl");
    CHECK(train({"--config", dir / "run/config.json"}).code == 0);
    CHECK(train({"--config", best + "/config.json"}).code == 0);  // a checkpoint's too
    CHECK(slurp(dir / "run/log.jsonl") == before);
  }
  {  // another option is refused by name
    const Outcome other = train({"--config", dir / "run/config.json", "--ffn", "48"});
    CHECK(other.code == 2);
    CHECK(has(other.err, "--ffn was 32"));
  }
  {
    const Outcome more = train(joined(
        wide, {"--run", dir / "more", "--after", "2u", "--log-every", "1", "--init", dir / "run"}));
    REQUIRE_MESSAGE(more.code == 0, more.err);
    CHECK(log_of(dir / "more")[1]["ppl"].get<double>() < 0.3 * first);
    const Outcome other =
        train(tiny(dir / "other", joined(Reversed().files(), {"--init", dir / "run"})));
    CHECK(other.code == 1);
    CHECK(has(other.err, "in their src.dict.txt the word 4 is"));
  }
  {  // --layers comes before the numbers of layers in a run's file
    const Outcome deeper = train({"--config", dir / "run/config.json", "--run", dir / "deep",
                                  "--layers", "2", "--decoder-layers", "1", "--after", "1u"});
    REQUIRE_MESSAGE(deeper.code == 0, deeper.err);
    const Json used = Json::parse(slurp(dir / "deep/config.json"));
    CHECK(used["encoder_layers"] == 2);
    CHECK(used["decoder_layers"] == 1);
    // but not before a number of its own that the file has
    const Outcome mixed = run_program(
        "mt_train", {"--config", dir / "deep/config.json", "--layers", "3", "--dump-config"});
    CHECK(Json::parse(mixed.out)["encoder_layers"] == 3);
    CHECK(Json::parse(mixed.out)["decoder_layers"] == 1);
  }
}

TEST_CASE("mt_train: same bits with one and two threads, and after kill -9, SIGTERM and resume") {
  const Reversed text;
  const TemporaryDirectory& dir = text.dir;
  const auto with = [&](const std::string& run, const Strings& more) {
    return tiny(dir / run, joined(text.files({"--after", "300u", "--save-every", "20u",
                                              "--valid-every", "60u", "--log-every", "10"}),
                                  more));
  };
  REQUIRE(train(with("one", {"--threads", "1"})).code == 0);
  REQUIRE(train(with("two", {"--threads", "2"})).code == 0);
  CHECK(weights_of(dir / "one") == weights_of(dir / "two"));
  CHECK(results_of(dir / "one") == results_of(dir / "two"));
  int interrupted = 0;
  for (int round = 0; round < 20; ++round) {
    const int after = 30 + 60 * (round % 7);
    const Outcome r =
        run_program("mt_train", with("broken", {"--threads", round % 2 == 0 ? "1" : "2"}), {},
                    after, round % 3 == 2 ? SIGTERM : SIGKILL);
    if (r.code == 0) break;
    REQUIRE_MESSAGE((r.code == 130 || r.code == 128 + SIGKILL || r.code == 128 + SIGTERM), r.code,
                    ": ", r.err);
    ++interrupted;
  }
  REQUIRE(train(with("broken", {})).code == 0);
  MESSAGE("interrupted ", interrupted, " times");
  CHECK(interrupted > 0);
  CHECK(weights_of(dir / "broken") == weights_of(dir / "one"));
  CHECK(results_of(dir / "broken") == results_of(dir / "one"));
}

TEST_CASE(
    "mt_train: norms, ties, dictionaries, accumulation and optimisers train and resume to the same "
    "bits" *
    doctest::test_suite("check")) {
  const Reversed text;
  const std::vector<Strings> variants{
      {"--norm", "pre", "--no-tie-embeddings", "--head-bias"},
      {"--shared-vocab", "--accumulate", "3", "--encoder-layers", "2"},
      {"--batch", "5", "--dtype", "float64", "--optimizer", "adamw", "--weight-decay", "0.01"},
      {"--head", "rbf:gamma=0.05", "--min-count", "2", "--label-smoothing", "0"},
      {"--head", "mix:2*lin,log", "--untied", "--pi-reg", "variance:0.1", "--log-every", "7",
       "--head-bias", "--init-bias", "log-frequency"},
  };
  for (size_t n = 0; n < variants.size(); ++n) {
    CAPTURE(variants[n][0]);
    const auto with = [&](const std::string& run, const char* after) {
      return tiny(text.dir / (run + std::to_string(n)),
                  joined(text.files({"--after", after}), variants[n]));
    };
    const Outcome whole = train(with("whole", "30u"));
    REQUIRE_MESSAGE(whole.code == 0, whole.err);
    REQUIRE(train(with("parts", "13u")).code == 0);
    REQUIRE(train(with("parts", "30u")).code == 0);
    CHECK(weights_of(text.dir / ("whole" + std::to_string(n))) ==
          weights_of(text.dir / ("parts" + std::to_string(n))));
  }
  for (const Json& e : log_of(text.dir / "whole4"))
    if (e["event"] == "train" || e["event"] == "valid") CHECK(e["pi_mean"].size() == 3);
  CHECK(Translator::load(text.dir / "whole4").network().config().head.spec.size() == 3);
  const Translator shared = Translator::load(text.dir / "whole1");
  CHECK(shared.source().dict_text() == shared.target().dict_text());
  CHECK(shared.network().config().encoder_layers == 2);
  CHECK(shared.network().config().decoder_layers == 1);
  // A dictionary of an earlier run gives its words and their numbers.
  const std::string given = text.dir / "whole0/checkpoints/best/tgt.dict.txt";
  REQUIRE(
      train(tiny(text.dir / "given", joined(text.files({"--after", "1u"}), {"--tgt-dict", given})))
          .code == 0);
  CHECK(slurp(text.dir / "given/checkpoints/best/tgt.dict.txt") == slurp(given));
}

TEST_CASE("mt_train: the best model by BLEU and by loss") {
  const Reversed text;
  const Outcome r = train(
      tiny(text.dir / "run", text.files({"--best-metric", "bleu", "--valid-beam", "2", "--after",
                                         "60u", "--valid-every", "15u", "--keep", "9"})));
  REQUIRE_MESSAGE(r.code == 0, r.err);
  double best = -1;
  int64_t step = 0;
  for (const Json& e : log_of(text.dir / "run"))
    if (e["event"] == "valid") {
      CHECK(e["best"].get<bool>() == (e["bleu"].get<double>() > best));
      if (e["bleu"].get<double>() > best) best = e["bleu"], step = e["step"];
    }
  CHECK(log_of(text.dir / "run").back()["best_bleu"] == best);
  CHECK(open_checkpoint(text.dir / "run").step() == step);
  const Outcome none =
      train(tiny(text.dir / "none", text.files({"--best-metric", "bleu", "--valid-beam", "0"})));
  CHECK(none.code == 2);
  CHECK(has(none.err, "--valid-beam must be at least 1"));
}

TEST_CASE("mt_train: a tab separates words, and none gets into the dictionaries of a checkpoint") {
  const TemporaryDirectory dir;
  const std::string s = dir.write("s", "a1 b\tc d\na1 d\n"), t = dir.write("t", "x\ty z\nz\n");
  REQUIRE(train(tiny(dir / "run", {"--src", s, "--tgt", t, "--after", "2u"})).code == 0);
  const Translator saved = Translator::load(dir / "run");
  CHECK(saved.source().dict_text() == "a1 2\nd 2\nb 1\nc 1\n");
  CHECK(saved.target().dict_text() == "z 2\nx 1\ny 1\n");
}

TEST_CASE("mt_train: a run does not go on with another reference or test text") {
  const Reversed text;
  const std::string s = text.dir / "s", t = text.dir / "t",
                    references = text.dir.write("references", slurp(t) + "unseen\n");
  const std::string sources = text.dir.write("sources", slurp(s) + "a\n");
  const auto run_on = [&](const char* after) {
    const Strings files{"--src",          s,          "--tgt",      t, "--valid-src", sources,
                        "--valid-tgt",    references, "--test-src", s, "--test-tgt",  t,
                        "--batch-tokens", "150"};
    return train(tiny(text.dir / "run", joined(files, {"--after", after})));
  };
  REQUIRE(run_on("2u").code == 0);
  REQUIRE(run_on("3u").code == 0);
  text.dir.write("references", slurp(t) + "never seen\n");  // another word that is <unk>
  const Outcome other = run_on("4u");
  CHECK(other.code == 2);
  CHECK_MESSAGE(has(other.err, "--valid-tgt was " + references + " (checksum "), other.err);
}

TEST_CASE("mt_train: wrong texts and command lines") {
  const Reversed text;
  text.dir.write("short", "A\nB\n");
  text.dir.write("latin1", "a\n\xef\n");
  text.dir.write("empty", "");
  text.dir.write("blank", "\n\n");
  const auto at = [&](const char* name) { return text.dir / name; };
  const struct {
    Strings arguments;
    int code;
    std::string says;
  } cases[] = {
      {{}, 2, "no training text: give --src FILE and --tgt FILE"},
      {{"--src", at("s")}, 2, "no training text"},
      {{"--sample", "--src", at("s"), "--tgt", at("t")}, 2, "exclude each other"},
      {{"--src", at("s"), "--tgt", at("short")},
       1,
       "s has 200 lines, but " + at("short") + " has 2"},
      {{"--src", at("latin1"), "--tgt", at("short")},
       1,
       "latin1, line 2, byte 1: 0xef is not valid UTF-8"},
      {{"--src", at("empty"), "--tgt", at("t")}, 1, "empty is empty"},
      {{"--src", at("blank"), "--tgt", at("short")},
       1,
       "no word occurs 1 times in 2 sentences of 0 words: lower the minimum count (--min-count), "
       "or check the source"},
      {{"--src", at("s"), "--tgt", at("t"), "--valid-src", at("s")},
       2,
       "--valid-src and --valid-tgt go together"},
      {{"--src", at("s"), "--tgt", at("t"), "--hidden", "15", "--heads", "3"},
       2,
       "--hidden must be even"},
      {{"--src", at("s"), "--tgt", at("t"), "--hidden", "18"}, 2, "is not divisible by --heads 4"},
      {{"--src", at("s"), "--tgt", at("t"), "--batch-tokens", "3"},
       1,
       "line 3: the sentence has 4 tokens, </s> counted, more than --batch-tokens 3"},
      {{"--src", at("s"), "--tgt", at("t"), "--best-metric", "bleu"},
       2,
       "--best-metric has no effect here"},
      {{"--src", at("s"), "--tgt", at("t"), "--shared-vocab", "--tgt-dict", at("t")},
       2,
       "give it as --src-dict alone"},
      {{"--src", at("s"), "--tgt", at("t"), "--export-parity", at("p"), "--export-steps", "1"},
       2,
       "set --dropout 0"},
      {{"--srx", "x"}, 2, "did you mean"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.says);
    const Outcome r = train(joined(c.arguments, {"--run", at("r")}));
    CHECK(r.code == c.code);
    CHECK_MESSAGE(has(r.err, c.says), r.err);
  }
  CHECK_FALSE(fs::exists(at("r")));  // refused before anything was made
}

TEST_CASE("mt_train: pairs without words and long pairs are left out aloud") {
  const TemporaryDirectory dir;
  dir.write("s", "a b\n\na\nb a b a b\n");
  dir.write("t", "A\nB\n\nA\n");
  const Outcome r = train(tiny(
      dir / "run", {"--src", dir / "s", "--tgt", dir / "t", "--max-length", "4", "--after", "1u"}));
  REQUIRE_MESSAGE(r.code == 0, r.err);
  CHECK(has(r.err, "2 pairs left out of training: a side has no word"));
  CHECK(has(r.err, "1 pair left out of training: a side is longer than --max-length 4"));
  const Json start = log_of(dir / "run").front();
  CHECK(start["train_pairs"] == 1);
  CHECK(start["skipped_empty"] == 2);
  CHECK(start["skipped_long"] == 1);
}

TEST_CASE("mt_train: the parity export holds what the replay reads") {
  const Reversed text;
  const Outcome r =
      train(tiny(text.dir / "run", {"--src", text.dir / "s", "--tgt", text.dir / "t",
                                    "--batch-tokens", "90", "--dropout", "0", "--dtype", "float64",
                                    "--export-parity", text.dir / "p", "--export-steps", "5"}));
  REQUIRE_MESSAGE(r.code == 0, r.err);
  const Json config = Json::parse(slurp(text.dir / "p/config.json")),
             losses = Json::parse(slurp(text.dir / "p/losses.json"));
  CHECK(config["task"] == "mt");
  CHECK(config["dim"] == 16);
  CHECK(config["label_smoothing"] == 0.1);
  CHECK(losses["loss"].size() == 5);
  const Safetensors batches = read_safetensors(text.dir / "p/batches.safetensors");
  for (const char* name : {"src.0", "tgt_in.4", "tgt_out.4"}) CHECK(batches.tensors.contains(name));
  CHECK(batches.at("tgt_in.0").shape() == batches.at("tgt_out.0").shape());
  CHECK(batches.at("tgt_in.0").to_vector()[0] == Specials::kTranslation.end);
  CHECK_FALSE(fs::exists(text.dir / "run"));
  const Outcome many = train(
      tiny(text.dir / "run", {"--src", text.dir / "s", "--tgt", text.dir / "t", "--dropout", "0",
                              "--export-parity", text.dir / "q", "--export-steps", "900"}));
  CHECK(many.code == 2);
  CHECK(has(many.err, "lower --export-steps 900"));
  // tests/clients/translation_pytorch.py replays other layers and optimisers.
  const auto modern = [&](const char* optimizer) {
    return train(tiny(text.dir / "run", {"--src",           text.dir / "s",
                                         "--tgt",           text.dir / "t",
                                         "--dropout",       "0",
                                         "--batch-tokens",  "90",
                                         "--positions",     "rotary",
                                         "--norm-type",     "rms",
                                         "--activation",    "swiglu",
                                         "--kv-heads",      "1",
                                         "--qk-norm",       "--no-linear-bias",
                                         "--optimizer",     optimizer,
                                         "--export-parity", text.dir / "m",
                                         "--export-steps",  "2"}));
  };
  CHECK(has(modern("asgd").err, "leave out --optimizer asgd"));
  const Outcome muon = modern("muon");
  REQUIRE_MESSAGE(muon.code == 0, muon.err);
  const Json said = Json::parse(slurp(text.dir / "m/config.json"));
  CHECK(said["positions"] == "rotary");
  CHECK(said["norm_type"] == "rms");
  CHECK(said["kv_heads"] == 1);
  CHECK(said["qk_norm"] == true);
  CHECK(said["linear_bias"] == false);
  CHECK(said["optimizer"] == "muon");
  CHECK(said["momentum"] == 0.95);
  CHECK_FALSE(read_safetensors(text.dir / "m/init.safetensors").tensors.contains("positions"));
}

TEST_CASE("translation checkpoints: what does not fit is refused") {
  const Reversed text;
  REQUIRE(train(tiny(text.dir / "run", text.files({"--after", "1u"}))).code == 0);
  const std::string open = text.dir / "open";
  fs::create_directory(open);
  for (const char* name : {"model.safetensors", "config.json", "src.dict.txt", "tgt.dict.txt"})
    fs::copy_file(text.dir / "run/checkpoints/best/" + name, open + "/" + name);
  CHECK_NOTHROW(Translator::load(open));  // without state.json, as PyTorch writes one
  const auto says = [&] { return error_of([&] { Translator::load(open); }); };
  SUBCASE("a dictionary of another size") {
    std::ofstream(open + "/tgt.dict.txt", std::ios::app) << "more 1\n";
    CHECK(has(says(), "the words of tgt.dict.txt have the checksum "));
  }
  SUBCASE("a configuration without keys that the metadata have") {
    std::ofstream(open + "/config.json") << R"({"dim": 16})";
    CHECK(says().empty());
  }
  SUBCASE("a configuration of other sizes") {
    Json config = Json::parse(slurp(open + "/config.json"));
    config["ffn"] = 17;
    std::ofstream(open + "/config.json") << config.dump();
    CHECK(has(says(), "the key 'ffn' is 17, but the tensor transformer.decoder.layers.0.linear1"));
  }
  SUBCASE("positions of another engine are used as they are") {
    Safetensors weights = read_safetensors(open + "/model.safetensors");
    weights.tensors.at("positions").data<float>()[5] += 0.5f;
    std::vector<NamedView> views;
    for (const auto& [name, tensor] : weights.tensors) views.push_back({name, tensor});
    write_safetensors(open + "/model.safetensors", views);
    CHECK(Translator::load(open).network().positions().to_vector() ==
          weights.at("positions").to_vector());
  }
}

TEST_CASE("mt_train: options in a model's config.json that contradict its tensors are named") {
  const Reversed text;
  REQUIRE(train(tiny(text.dir / "run", text.files({"--after", "1u"}))).code == 0);
  const fs::path model = text.dir / "model";
  fs::create_directory(model);
  for (const char* name : {"config.json", "model.safetensors", "src.dict.txt", "tgt.dict.txt"})
    fs::copy(text.dir / "run/checkpoints/latest" / fs::path(name), model / name);
  const std::string own = slurp(model / "config.json");
  const auto says = [&](const char* key, const Json& value) {
    Json config = Json::parse(own);
    if (!value.is_null()) config[key] = value;
    put(model / "config.json", config.dump());
    const Outcome o = run_program("mt_translate", {"--checkpoint", model}, "a b\n");
    CHECK(o.code == (value.is_null() ? 0 : 1));
    return o.err;
  };
  says("hidden", Json());
  const std::string place = (model / "config.json").string() + ": the key '";
  for (const auto& [key, value, rest] :
       {std::tuple("hidden", Json(18),
                   "' is 18, but the tensor tgt_embedding.weight has 16 columns"),
        {"dim", 18, "' is 18, but the tensor tgt_embedding.weight has 16 columns"},
        {"dtype", "float64",
         "' is \"float64\", but the tensor tgt_embedding.weight is of type float32"},
        {"max_length", 5000, "' is 5000, but the tensor positions has "}})
    CHECK(has(says(key, value), place + key + rest));
}

TEST_CASE("mt_train: a pair larger than a batch is named with its file and line") {
  const TemporaryDirectory dir;
  const Strings small{dir.write("s1", "a\nb\n"), dir.write("s2", "c\nd\n")},
      large{dir.write("t1", "A\nB\n"), dir.write("t2", "C\n1 2 3 4 5 6 7\n")};
  const auto says = [&](const Strings& source, const Strings& target) {
    const Outcome o = train(tiny(dir / "run", {"--src", source[0], source[1], "--tgt", target[0],
                                               target[1], "--batch-tokens", "7"}));
    CHECK(o.code == 1);
    return o.err;
  };
  const std::string place = (dir / "t2") +
                            ", line 2: the sentence has 8 tokens, </s> counted, more "
                            "than --batch-tokens 7: raise --batch-tokens";
  CHECK_MESSAGE(has(says(small, large), place), says(small, large));
  CHECK(has(says(large, small), place));
}

}  // namespace nine::tests::test_mt_train
