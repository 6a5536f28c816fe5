// lm_train --init: sizes, head and words from another model; --vectors.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "core/safetensors.h"
#include "data/vocabulary.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_init {
namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

const char* const kText = "the cat saw the dog\na cat\nthe old dog saw a cat\n";
const Strings kGpt{"--arch",       "transformer", "--layers", "1",    "--hidden",         "8",
                   "--heads",      "2",           "--ffn",    "12",   "--bptt",           "16",
                   "--activation", "relu",        "--norm",   "post", "--tie-embeddings", "--head",
                   "lin:scale=2",  "--batch",     "1"};
// Weights stay as they were.
const Strings kStill{"--after", "1u", "--lr", "1e-30", "--optimizer", "sgd", "--batch", "1"};

Outcome train(const std::string& run, const Strings& more) {
  return run_program("lm_train", joined({"--run", run}, more));
}
void trained(const std::string& run, const Strings& more) {
  const Outcome r = train(run, more);
  REQUIRE_MESSAGE(r.code == 0, r.err);
}
Safetensors weights(const std::string& run) {
  return read_safetensors(run + "/checkpoints/best/model.safetensors");
}
Json config(const std::string& run) { return read_json_object(fs::path(run) / "config.json"); }
Json first_line(const std::string& run) {
  const std::string log = slurp(run + "/log.jsonl");
  return parse_json(log.substr(0, log.find('\n')));
}
Vocabulary words_of(const std::string& run) {
  return Vocabulary::read(run + "/checkpoints/best/dict.txt", Specials::kLanguageModel);
}
std::vector<double> row(const Tensor& table, int64_t id) {
  const std::vector<double> all = table.to_vector();
  const int64_t width = table.shape().cols();
  return {all.begin() + id * width, all.begin() + (id + 1) * width};
}

}  // namespace

TEST_CASE("lm_train --init: the network and the head are the model's, and no size is needed") {
  const TemporaryDirectory dir;
  const std::string text = dir.write("text", kText);
  trained(dir / "a", joined(kGpt, {"--train", text, "--after", "3u"}));
  const Strings more = joined(kStill, {"--train", text, "--init", dir / "a"});
  trained(dir / "b", more);
  const Json was = config(dir / "a"), is = config(dir / "b");
  for (const char* key : {"arch", "layers", "hidden", "heads", "ffn", "bptt", "activation", "norm",
                          "positions", "tie_embeddings", "head"})
    CHECK_MESSAGE(is[key] == was[key], key);
  CHECK(weights(dir / "b").tensors.size() == weights(dir / "a").tensors.size());
  for (const auto& tensor : weights(dir / "a").tensors)
    CHECK_MESSAGE(weights(dir / "b").at(tensor.first).to_vector() == tensor.second.to_vector(),
                  tensor.first);

  // An option that is given must be the model's; dropout and rate are the run's own.
  trained(dir / "c", joined(more, {"--layers", "1", "--arch", "transformer", "--dropout", "0"}));
  const auto refused = [&](const Strings& given) {
    const Outcome r = train(dir / "no", joined(more, given));
    CHECK(r.code == 2);
    CHECK(!fs::exists(dir / "no"));
    return r.err;
  };
  const std::string model = concat(" contradicts --init ", dir / "a", ", a model with ");
  CHECK(has(refused({"--layers", "2"}), "--layers 2" + model + "--layers 1: leave out --layers"));
  CHECK(has(refused({"--hidden", "16"}), "--hidden 16" + model + "--hidden 8"));
  CHECK(has(refused({"--ffn", "0"}), "--ffn 32" + model + "--ffn 12"));
  CHECK(has(refused({"--bptt", "8"}), "--bptt 8" + model + "--bptt 16"));
  CHECK(has(refused({"--norm", "pre"}), "--norm pre" + model + "--norm post"));
  CHECK(has(refused({"--arch", "lstm"}), "--arch lstm" + model + "--arch transformer"));
  CHECK(has(refused({"--no-linear-bias"}), "--no-linear-bias" + model + "--linear-bias"));
  CHECK(has(refused({"--init-norm", "log-frequency"}), "--init reads word vectors"));
  // Word vectors that were tied may become the head's own.
  trained(dir / "d", joined(more, {"--no-tie-embeddings"}));
  CHECK(weights(dir / "d").at("head.weight").to_vector() ==
        weights(dir / "a").at("embedding.weight").to_vector());

  // A run that goes on has the sizes in its own directory.
  fs::rename(dir / "a", dir / "moved");
  Strings on = more;
  on[1] = "2u";
  const Outcome gone = train(dir / "b", on);
  CHECK_MESSAGE(gone.code == 0, gone.err);
}

TEST_CASE("lm_train --init: an LSTM's sizes, and rotary positions with a window of their own") {
  const TemporaryDirectory dir;
  const std::string text = dir.write("text", kText);
  trained(dir / "a", {"--train", text, "--layers", "1", "--hidden", "8", "--embed", "6",
                      "--no-head-bias", "--after", "1u", "--batch", "1"});
  trained(dir / "b", joined(kStill, {"--train", text, "--init", dir / "a"}));
  CHECK(config(dir / "b")["embed"] == 6);
  CHECK(config(dir / "b")["hidden"] == 8);
  CHECK(config(dir / "b")["head_bias"] == false);
  trained(dir / "llama",
          {"--train", text, "--arch",     "llama", "--layers",      "1",   "--hidden", "8",
           "--heads", "2",  "--kv-heads", "1",     "--rotary-base", "500", "--bptt",   "16",
           "--after", "1u", "--batch",    "1"});
  const Strings more = joined(kStill, {"--train", text, "--init", dir / "llama"});
  trained(dir / "c", joined(more, {"--bptt", "4"}));
  CHECK(config(dir / "c")["rotary_base"] == 500);
  CHECK(config(dir / "c")["kv_heads"] == 1);
  CHECK(config(dir / "c")["bptt"] == 4);
  const Outcome r = train(dir / "no", joined(more, {"--rotary-base", "400"}));
  CHECK(r.code == 2);
  CHECK_MESSAGE(has(r.err, "--rotary-base 400.0 contradicts"), r.err);
}

TEST_CASE("lm_train --init: another head on the model's body") {
  const TemporaryDirectory dir;
  const std::string text = dir.write("text", kText);
  trained(dir / "a", joined(kGpt, {"--train", text, "--after", "3u"}));
  const Strings more = joined(kStill, {"--train", text, "--init", dir / "a"});
  const Safetensors body = weights(dir / "a");
  const auto check_body = [&](const std::string& run) {
    for (const auto& tensor : body.tensors)
      CHECK_MESSAGE(weights(run).at(tensor.first).to_vector() == tensor.second.to_vector(),
                    tensor.first);
  };
  for (const char* head : {"log", "mix:3*lin,log", "expr:{s*tanh(z/s)}:s=30"}) {
    CAPTURE(head);
    const std::string run = dir / std::to_string(std::string(head).size());
    const Outcome r = train(run, joined(more, {"--head", head}));
    REQUIRE_MESSAGE(r.code == 0, r.err);
    check_body(run);
    CHECK(has(r.err, "and was lin:scale=2 in the initial weights"));
    const bool mixture = weights(run).tensors.contains("head.prior.weight");
    CHECK(has(r.err, "head.prior.weight, head.latent.weight begin anew") == mixture);
    CHECK(run_program("lm_score", {"--checkpoint", run}, "the cat\n").code == 0);
  }
  // Components with word vectors of their own: all start from the model's.
  trained(dir / "untied", joined(more, {"--head", "mix:3*lin", "--untied"}));
  const Tensor vectors = weights(dir / "untied").at("head.weight"),
               table = body.at("embedding.weight");
  REQUIRE(vectors.shape() == Shape{2, table.shape()[0], table.shape()[1]});
  std::vector<double> twice = table.to_vector();
  twice.insert(twice.end(), twice.begin(), twice.begin() + table.elements());
  CHECK(vectors.to_vector() == twice);
  // And back: the first component's.
  trained(dir / "back", joined(kStill, {"--train", text, "--init", dir / "untied", "--head", "lin",
                                        "--no-head-bias"}));
  CHECK(weights(dir / "back").at("embedding.weight").to_vector() == table.to_vector());
  const Outcome r = train(dir / "back2", joined(kStill, {"--train", text, "--init", dir / "untied",
                                                         "--head", "lin", "--no-head-bias"}));
  CHECK_MESSAGE(
      has(r.err, "head.bias, head.latent.weight, head.prior.weight, head.weight are left out"),
      r.err);
}

TEST_CASE("lm_train --init: words are matched by name, and a table says what became of them") {
  const TemporaryDirectory dir;
  const std::string text = dir.write("text", kText),
                    other = dir.write("other", "a bird saw the cat\nthe cat saw a bird\n");
  trained(dir / "a", joined(kGpt, {"--train", text, "--after", "3u"}));
  const Outcome r = train(dir / "b", joined(kStill, {"--train", other, "--init", dir / "a"}));
  REQUIRE_MESSAGE(r.code == 0, r.err);
  const std::string said = r.err;
  CHECK_MESSAGE(has(said, "kept          6"), said);
  CHECK_MESSAGE(has(said, "added         1"), said);
  CHECK_MESSAGE(has(said, "dropped       2"), said);
  CHECK(has(said, "bird"));
  const Json event = first_line(dir / "b")["init"];
  CHECK(event["model"] == dir / "a");
  CHECK(event["kept"] == 6);
  CHECK(event["added"] == 1);
  CHECK(event["first_added"] == Json::array({"bird"}));
  CHECK(event["first_dropped"] == Json::array({"dog", "old"}));
  const Tensor before = weights(dir / "a").at("embedding.weight"),
               after = weights(dir / "b").at("embedding.weight");
  const Vocabulary was = words_of(dir / "a"), is = words_of(dir / "b");
  for (const char* word : {"</s>", "<unk>", "the", "cat", "saw", "a"})
    CHECK_MESSAGE(row(after, is.id(word)) == row(before, was.id(word)), word);
  std::vector<double> mean(8);
  for (int32_t id = 2; id < was.size(); ++id)
    for (size_t i = 0; i < 8; ++i) mean[i] += row(before, id)[i] / (was.size() - 2);
  for (size_t i = 0; i < 8; ++i)
    CHECK(row(after, is.id("bird"))[i] == doctest::Approx(mean[i]).epsilon(1e-5));
  // The bias is the words', too.
  CHECK(weights(dir / "b").at("head.bias").to_vector()[static_cast<size_t>(is.id("cat"))] ==
        weights(dir / "a").at("head.bias").to_vector()[static_cast<size_t>(was.id("cat"))]);
  // Killed and started again, it goes on to the same bits.
  const auto until = [&](const char* run, const char* end) {
    trained(dir / run, {"--train", other, "--init", dir / "a", "--batch", "1", "--after", end});
  };
  until("whole", "4u");
  until("parts", "2u");
  until("parts", "4u");
  CHECK(slurp(dir / "whole/checkpoints/best/model.safetensors") ==
        slurp(dir / "parts/checkpoints/best/model.safetensors"));
}

TEST_CASE("lm_train --init: raw text is cut by the model's tokenizer, and words by its pieces") {
  const TemporaryDirectory dir;
  std::string lines;
  for (int i = 0; i < 40; ++i) lines += kText;
  const std::string text = dir.write("text", lines);
  trained(dir / "a", {"--text", text, "--vocab-size", "270", "--arch", "transformer", "--layers",
                      "1", "--hidden", "8", "--heads", "2", "--bptt", "8", "--after", "2u"});
  const Strings init{"--init", dir / "a"};
  trained(dir / "b", joined(kStill, joined(init, {"--text", text})));
  CHECK(slurp(dir / "a/checkpoints/best/tokenizer.json") ==
        slurp(dir / "b/checkpoints/best/tokenizer.json"));
  CHECK(first_line(dir / "b")["init"]["added"] == 0);
  // It goes on without the model.
  fs::rename(dir / "a", dir / "moved");
  Strings on = joined(kStill, joined(init, {"--text", text}));
  on[1] = "2u";
  const Outcome gone = train(dir / "b", on);
  CHECK_MESSAGE(gone.code == 0, gone.err);
  fs::rename(dir / "moved", dir / "a");
  // A tokenizer of its own: the bytes are kept.
  trained(dir / "c", joined(kStill, joined(init, {"--text", text, "--vocab-size", "272"})));
  CHECK(first_line(dir / "c")["init"]["kept"].get<int>() >= 258);
  // A text of words: the mean of the pieces.
  trained(dir / "d", joined(kStill, joined(init, {"--train", text})));
  const Json event = first_line(dir / "d")["init"];
  CHECK(event["kept"].get<int>() + event["added"].get<int>() == words_of(dir / "d").size());
  CHECK(event["added"].get<int>() > 0);
  // And raw text on a model of words.
  trained(dir / "e", joined(kStill, {"--text", text, "--vocab-size", "270", "--init", dir / "d"}));
  CHECK(first_line(dir / "e")["init"]["kept"].get<int>() > 2);
}

TEST_CASE("lm_train --vectors: tables start from a file's vectors, and may be frozen") {
  const TemporaryDirectory dir;
  const std::string text = dir.write("text", kText),
                    file = dir.write("glove", "the 1 2 3\ncat 4 5 6\nbird 7 8 9\n"),
                    w2v = dir.write("w2v", "1 4\ndog 1 2 3 4\n");
  const Strings sizes{"--train", text,       "--layers", "1",       "--embed",
                      "3",       "--hidden", "4",        "--batch", "1"};
  const Outcome r =
      train(dir / "a", joined(sizes, {"--after", "2u", "--vectors", file, "head=" + w2v, "--freeze",
                                      "embedding.weight"}));
  REQUIRE_MESSAGE(r.code == 0, r.err);
  CHECK_MESSAGE(has(r.err, concat("--vectors: 2 of 8 rows of embedding.weight start from the "
                                  "vectors of width 3 in ",
                                  file,
                                  "; without a vector are, first, "
                                  "</s> <unk> a dog saw old")),
                r.err);
  CHECK(has(r.err, "--vectors: 1 of 8 rows of head.weight start from the vectors of width 4 in"));
  const Json event = first_line(dir / "a")["vectors"];
  CHECK(event[0]["found"] == 2);
  CHECK(event[1]["table"] == "head.weight");
  const Vocabulary words = words_of(dir / "a");
  const Tensor table = weights(dir / "a").at("embedding.weight");
  CHECK(row(table, words.id("the")) == std::vector<double>{1, 2, 3});
  CHECK(row(table, words.id("cat")) == std::vector<double>{4, 5, 6});
  for (const double x : row(table, words.id("dog"))) CHECK(std::abs(x) < 0.2);
  const std::vector<double> dog = row(weights(dir / "a").at("head.weight"), words.id("dog"));
  for (size_t i = 0; i < 4; ++i)
    CHECK(dog[i] == doctest::Approx(static_cast<double>(i) + 1).epsilon(0.1));
  // A run that goes on reads the same vectors.
  const Outcome on =
      train(dir / "a", joined(sizes, {"--after", "3u", "--vectors", file, "head=" + w2v, "--freeze",
                                      "embedding.weight"}));
  CHECK_MESSAGE(on.code == 0, on.err);
  CHECK(!has(on.err, "--vectors:"));
  dir.write("glove", "the 1 2 3\ncat 4 5 7\nbird 7 8 9\n");
  CHECK(train(dir / "a", joined(sizes, {"--after", "4u", "--vectors", file, "head=" + w2v,
                                        "--freeze", "embedding.weight"}))
            .code == 2);

  const auto refused = [&](const Strings& more) {
    const Outcome wrong = train(dir / "no", joined(sizes, more));
    CHECK(wrong.code != 0);
    CHECK(!fs::exists(dir / "no"));
    return wrong.err;
  };
  CHECK(has(refused({"--vectors", w2v}), concat(w2v,
                                                ", line 2: the vectors have 4 numbers, and "
                                                "embedding.weight has the width 3")));
  CHECK(has(refused({"--vectors", file, file}), "--vectors has two files for the table embedding"));
  CHECK(
      has(refused({"--vectors", dir.write("nan", "the 1 nan 3\n")}), ", line 1, column 7: 'nan'"));
  CHECK(has(refused({"--vectors", dir.write("huge", "the 1 1e39 3\n")}), "float32 ends"));
  CHECK(has(refused({"--vectors", dir.write("far", "xyz 1 2 3\n")}), "no word of the vocabulary"));
  CHECK(has(train(dir / "no", {"--train", text, "--embed", "4", "--hidden", "4", "--vectors",
                               "head=" + w2v, "--tie-embeddings"})
                .err,
            "with tied embeddings"));
  CHECK(has(refused({"--vectors", dir / "nowhere"}), dir / "nowhere"));
}

TEST_CASE("lm_train --lora: only low-rank updates are trained, and the sum is saved") {
  const TemporaryDirectory dir;
  std::string lines;
  for (int i = 0; i < 6; ++i) lines += kText;
  const std::string text = dir.write("text", lines);
  trained(dir / "a", joined(kGpt, {"--train", text, "--after", "3u"}));
  const auto until = [&](const std::string& run, const char* end, const Strings& more = {}) {
    const Outcome r = train(dir / run, joined({"--train", text, "--init", dir / "a", "--batch", "2",
                                               "--warmup", "0", "--lr", "0.01", "--after", end},
                                              more));
    CHECK_MESSAGE(r.code == 0, r.err);
    return r.err;
  };
  const Strings lora{"--lora", "2", "--lora-alpha", "4"};
  // in_proj (24, 8) and out_proj (8, 8): 2 * (32 + 16) numbers.
  CHECK(has(until("whole", "6u", lora), "--lora 2: 96 numbers are trained, of 2 matrices"));
  until("parts", "2u", lora);
  until("parts", "6u", lora);
  const Safetensors before = weights(dir / "a"), after = weights(dir / "whole");
  CHECK(after.tensors.size() == before.tensors.size());
  for (const auto& tensor : before.tensors) {
    const std::string& name = tensor.first;
    const bool same = after.at(name).to_vector() == tensor.second.to_vector();
    CHECK_MESSAGE(same == !(has(name, "self_attn.") && has(name, "weight")), name);
    CHECK_MESSAGE(after.at(name).to_vector() == weights(dir / "parts").at(name).to_vector(), name);
  }
  CHECK(slurp(dir / "whole/checkpoints/latest/optimizer.safetensors") ==
        slurp(dir / "parts/checkpoints/latest/optimizer.safetensors"));
  CHECK(run_program("lm_score", {"--checkpoint", dir / "whole"}, "the cat\n").code == 0);
  // The state of the optimiser is smaller than that of all weights.
  until("all", "1u");
  const auto size = [&](const char* run) {
    return fs::file_size(fs::path(dir / run) / "checkpoints/latest/optimizer.safetensors");
  };
  CHECK(size("whole") < size("all"));
  const auto refused = [&](const Strings& more) {
    const Outcome r = train(dir / "no", joined({"--train", text, "--init", dir / "a"}, more));
    CHECK(r.code != 0);
    return r.err;
  };
  CHECK(has(refused({"--lora", "9"}), "9 of low-rank updates is above the smaller side"));
  CHECK(has(refused({"--lora", "2", "--lora-matrices", "hed.*"}), "there is no matrix called"));
  CHECK(has(refused({"--lora", "2", "--freeze", "head.*"}), "leave out --freeze"));
  CHECK(has(refused({"--lora", "2", "--head", "mix:2*lin"}), "head.prior.weight begins anew"));
  CHECK(has(refused({"--lora-alpha", "2"}), "--lora-alpha has no effect here"));
  CHECK(has(train(dir / "no", {"--train", text, "--lora", "2"}).err, "give --init"));
}

}  // namespace nine::tests::test_init
