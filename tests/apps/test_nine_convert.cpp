// nine_convert from the outside. The numbers in its files: tests/nn/test_written_models.cpp; beside
// other programs: tests/clients/hugging_face.py and llama_cpp.py.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "apps/nine_convert/new_output.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/output_file.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_nine_convert {
namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

// Trains a Transformer of raw text.
void train(const TemporaryDirectory& dir, const std::string& run, const Strings& more) {
  dir.write("text", "the dog sees a cat\nthe cat sees a dog\n");
  const Outcome r = run_program(
      "lm_train", joined({"--text",   dir / "text", "--vocab-size", "258", "--arch",  "transformer",
                          "--layers", "1",          "--hidden",     "8",   "--heads", "2",
                          "--ffn",    "8",          "--bptt",       "16",  "--batch", "1",
                          "--after",  "2u",         "--run",        run},
                         more));
  REQUIRE_MESSAGE(r.code == 0, r.err);
}

Outcome convert(const std::string& from, const std::string& to, const Strings& more = {}) {
  return run_program("nine_convert", joined({"--from", from, "--to", to}, more));
}

// The names in a directory, without those that begin with a dot.
Strings names_in(const fs::path& directory, bool hidden = false) {
  Strings names;
  for (const auto& entry : fs::directory_iterator(directory))
    if (const std::string name = entry.path().filename(); hidden == name.starts_with("."))
      names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("nine_convert: a run to transformers, to Nine again, and to llama.cpp") {
  const TemporaryDirectory dir;
  train(dir, dir / "run", {"--no-head-bias", "--activation", "gelu-tanh"});
  const Outcome out = convert(dir / "run", dir / "hf/");
  REQUIRE_MESSAGE(out.code == 0, out.err);
  CHECK(has(out.out, "a folder of transformers: gpt2 (layers 1, width 8, tokens "));
  CHECK(names_in(dir / "hf") ==
        Strings{"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"});
  const Outcome back = convert(dir / "hf", dir / "again");
  REQUIRE_MESSAGE(back.code == 0, back.err);
  CHECK(back.out == concat("wrote ", dir / "again", ", a model of Nine\n"));
  CHECK(names_in(dir / "again") == Strings{"dict.txt", "model.safetensors", "tokenizer.json"});
  const auto scores = [&](const std::string& model) {
    const Outcome r = run_program("lm_score", {"--checkpoint", model}, "the cat\na dog\n");
    REQUIRE_MESSAGE(r.code == 0, r.err);
    return r.out;
  };
  CHECK(scores(dir / "hf") == scores(dir / "again"));
  fs::copy(dir / "hf", dir / "adapted");
  dir.write("adapted/adapter_config.json", "{}");
  const Outcome adapted = run_program("lm_score", {"--checkpoint", dir / "adapted"}, "the cat\n");
  CHECK(adapted.code == 1);
  CHECK(has(adapted.err, "has adapter_config.json, an adapter of Hugging Face's PEFT"));
  const Outcome translated = run_program("mt_translate", {"--checkpoint", dir / "hf"}, "the cat\n");
  CHECK(has(translated.err, "is a language model (lm_train, lm_score), not a translation model"));
  std::istringstream own(scores(dir / "run")), other(scores(dir / "hf"));
  int lines = 0;
  for (double a = 0, b = 0; own >> a && other >> b; ++lines) CHECK(std::abs(a - b) < 1e-3);
  CHECK(lines == 2);

  const Outcome gguf = convert(dir / "run", dir / "model.gguf", {"--dtype", "float16"});
  REQUIRE_MESSAGE(gguf.code == 0, gguf.err);
  CHECK(slurp(dir / "model.gguf").starts_with("GGUF"));
  const Outcome large = convert(dir / "run", dir / "MODEL.GGUF", {"--dtype", "float16"});
  CHECK_MESSAGE(has(large.out, "a file of llama.cpp"), large.err);
  CHECK(slurp(dir / "MODEL.GGUF") == slurp(dir / "model.gguf"));
  CHECK(names_in(dir.path(), true).empty());
}

TEST_CASE(
    "nine_convert: a model of transformers, or of Nine that was one, is trained on and back") {
  const TemporaryDirectory dir;
  train(dir, dir / "run", {"--no-head-bias", "--activation", "gelu-tanh"});
  REQUIRE(convert(dir / "run", dir / "hf").code == 0);
  REQUIRE(convert(dir / "hf", dir / "nine").code == 0);
  const auto train_on = [&](const std::string& from, const std::string& run, const Strings& more) {
    return run_program("lm_train", joined({"--text",       dir / "text",
                                           "--tokenizer",  dir / "hf/tokenizer.json",
                                           "--arch",       "transformer",
                                           "--layers",     "1",
                                           "--hidden",     "8",
                                           "--heads",      "2",
                                           "--ffn",        "8",
                                           "--bptt",       "16",
                                           "--batch",      "1",
                                           "--after",      "2u",
                                           "--activation", "gelu-tanh",
                                           "--init",       from,
                                           "--run",        run},
                                          more));
  };
  for (const char* from : {"hf", "nine"}) {
    const std::string run = concat(from, "-on");
    const Outcome on = train_on(dir / from, dir / run, {"--freeze", "head.bias"});
    REQUIRE_MESSAGE(on.code == 0, on.err);
    CHECK_MESSAGE(has(on.err,
                      "2 words that head.bias excludes keep a bias of -10000, and --freeze "
                      "head.bias keeps all of it, as nine_convert needs"),
                  on.err);
    const Outcome back = convert(dir / run, dir / (run + "-hf"));
    CHECK_MESSAGE(back.code == 0, back.err);
    CHECK(slurp(dir / (run + "-hf/tokenizer.json")) == slurp(dir / "hf/tokenizer.json"));
  }
  // The same weights of both, so that they are trained to the same ones.
  CHECK(slurp(dir / "hf-on-hf/model.safetensors") == slurp(dir / "nine-on-hf/model.safetensors"));
  REQUIRE(train_on(dir / "nine", dir / "free", {}).code == 0);
  CHECK(has(convert(dir / "free", dir / "x").err, "(--init), with --freeze head.bias"));
}

TEST_CASE("nine_convert: what is refused leaves nothing") {
  const TemporaryDirectory dir;
  train(dir, dir / "run", {"--head", "log:p=1", "--no-head-bias"});
  const auto refused = [&](const std::string& to, const Strings& more = {}) {
    const Outcome r = convert(dir / "run", to, more);
    CHECK(r.out == "");
    CHECK(r.code != 0);
    return r.err;
  };
  CHECK(has(refused(dir / "hf"), "the head log:p=1 has other scores than inner products"));
  CHECK(has(refused(dir / "x.gguf"), "train the head lin, or pol:p=1, on this body"));
  fs::create_directory(dir / "there");
  CHECK(has(refused(dir / "there"), "is there already, and it is not replaced"));
  CHECK(has(refused(dir / "text"), "is there already, and it is not replaced"));
  CHECK(has(refused(dir / "run/checkpoints/hf"), "lies within the checkpoints of the run"));
  CHECK(has(refused(dir / "text/hf"), "is a file, not a directory"));
  CHECK(has(refused(dir / "hf", {"--dtype", "q8_0"}), "--dtype q8_0 is for a file of llama.cpp"));
  CHECK(
      has(refused(dir / "hf", {"--dtype", "int8"}), "not one of float32, float16, bfloat16, q8_0"));
  CHECK(has(convert(dir / "none", dir / "hf").err, "none"));
  CHECK(has(refused(dir / "x.gguf/"), "ends with a slash, as a directory does"));
  for (const char* file : {"x.safetensors", "x.BIN", "x.bin/"})
    CHECK(has(refused(dir / file), "a file of llama.cpp whose name ends with .gguf"));
  CHECK(names_in(dir.path()) == Strings{"run", "text", "there"});
  CHECK(names_in(dir.path(), true).empty());
}

TEST_CASE("nine_convert: a translation model to CTranslate2") {
  const TemporaryDirectory dir;
  const auto train_translation = [&](const std::string& run, const Strings& more) {
    const Outcome r = run_program(
        "mt_train",
        joined({"--sample", "--sample-pairs", "100", "--layers", "1", "--hidden", "8", "--heads",
                "2", "--ffn", "8", "--after", "2u", "--valid-beam", "0", "--run", run},
               more));
    REQUIRE_MESSAGE(r.code == 0, r.err);
  };
  train_translation(dir / "run", {"--head", "pow:p=2"});
  const Outcome out = convert(dir / "run", dir / "ct2");
  REQUIRE_MESSAGE(out.code == 0, out.err);
  CHECK(has(out.out, "a folder of CTranslate2: TransformerSpec (layers 1 + 1, width 8, words "));
  CHECK(names_in(dir / "ct2") ==
        Strings{"config.json", "model.bin", "source_vocabulary.json", "target_vocabulary.json"});
  CHECK(slurp(dir / "ct2/model.bin").substr(0, 24) ==
        std::string("\x06\0\0\0\x10\0TransformerSpec\0\x07\0", 24));
  const Outcome half = convert(dir / "run", dir / "half", {"--dtype", "float16"});
  REQUIRE_MESSAGE(half.code == 0, half.err);
  CHECK(slurp(dir / "half/model.bin").size() < slurp(dir / "ct2/model.bin").size() * 6 / 10);
  CHECK(has(convert(dir / "run", dir / "x.gguf").err, "which has no translation models"));
  CHECK(has(convert(dir / "run", dir / "x", {"--vocabs", "v.yml"}).err,
            "--vocabs is for a model of Marian"));
  CHECK(has(convert(dir / "none.npz", dir / "x").err, "none.npz"));
  dir.write("text.npz", "no archive");
  CHECK(has(convert(dir / "text.npz", dir / "x").err, "text.npz is not a zip archive"));
  train_translation(dir / "log", {"--head", "log"});
  const Outcome refused = convert(dir / "log", dir / "x");
  CHECK(refused.code == 1);
  CHECK(has(refused.err, "the head log:p=2 has scores that are no inner products"));
  CHECK(has(refused.err, "train the head lin, or one that folds into lin"));
  CHECK(!fs::exists(dir / "x"));
  CHECK(names_in(dir.path(), true).empty());
}

TEST_CASE("nine_convert: a signal while it writes leaves nothing behind") {
  const TemporaryDirectory dir;
  struct Stopped {};
  bool stop = false, written = false;
  const InterruptCheck check([&] {
    if (stop) throw Stopped();
  });
  const std::string bytes(1 << 22, 'x');
  const auto write = [&] {
    app::write_new_directory("--to", dir / "out", [&](const fs::path& directory) {
      OutputFile file(directory / "weights");
      file.write(bytes.data(), bytes.size());
      stop = !written;
      file.write(bytes.data(), bytes.size());
      written = true;
      file.finish();
    });
  };
  CHECK_THROWS_AS(write(), Stopped);
  CHECK_FALSE(written);
  CHECK(fs::is_empty(dir.path()));
  stop = false;
  written = true;
  write();
  CHECK(fs::file_size(dir / "out/weights") == 2 * bytes.size());
}

}  // namespace nine::tests::test_nine_convert
