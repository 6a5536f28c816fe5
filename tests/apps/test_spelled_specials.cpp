// Words that are spelled as special words (</s>, <s>, <pad>): every program that reads a text for a
// model counts them on standard error.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/error.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_spelled_specials {
namespace {

constexpr const char* kEnds = "</s>, which ends a sentence here";

// What a program says on standard error when it is done.
std::string said(const std::string& program, const std::vector<std::string>& arguments,
                 const std::string& input = "") {
  const Outcome o = run_program(program, arguments, input);
  REQUIRE_MESSAGE(o.code == 0, o.err);
  return o.err;
}

std::string repeated(const std::string& line) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += line + "\n";
  return text;
}

}  // namespace

TEST_CASE("specials in a text: programs of language models count them") {
  const Scratch dir;
  put(dir / "train.txt", repeated("the </s> cat <s> sat"));
  put(dir / "valid.txt", repeated("the <unk> cat"));
  put(dir / "test.txt", repeated("the cat") + "the </s>\n");
  const std::string trained = said("lm_train", {"--train",  dir / "train.txt",
                                                "--valid",  dir / "valid.txt",
                                                "--test",   dir / "test.txt",
                                                "--layers", "1",
                                                "--hidden", "4",
                                                "--embed",  "4",
                                                "--batch",  "2",
                                                "--bptt",   "5",
                                                "--after",  "1e",
                                                "--run",    dir / "run"});
  CHECK(has(trained, concat("--train: 20 words are spelled ", kEnds)));
  CHECK(has(trained, concat("--test: 1 word is spelled ", kEnds)));
  CHECK(!has(trained, "--valid: 1 word"));
  CHECK(!has(trained, "<s>,"));  // a word like any other here

  const std::string text = "the </s> cat\nthe cat\n";
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"--top", "2"}, {"--generate"}}) {
    std::vector<std::string> arguments{"--checkpoint", dir / "run"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    CHECK(has(said("lm_score", arguments, text),
              concat("lm_score: standard input: 1 word is spelled ", kEnds)));
    CHECK(!has(said("lm_score", arguments, "the cat\n"), "spelled"));
  }

  put(dir / "lists", "a\t-1\tthe </s> cat\na\t-2\tthe cat\nb\t-1\tthe cat\nb\t-2\tthe\n");
  put(dir / "reference", "a\tthe cat\nb\tthe cat\n");
  CHECK(
      has(said("lm_rescore", {"--checkpoint", dir / "run", "--nbest", dir / "lists", "--reference",
                              dir / "reference", "--lambda", "1", "--output", dir / "rescored"}),
          concat("lists: 1 word is spelled ", kEnds)));
}

TEST_CASE("specials in a text: programs of translation models count them") {
  const Scratch dir;
  put(dir / "de", repeated("die katze sass"));
  put(dir / "en", repeated("the <pad> </s> cat <s> sat"));
  const std::string run = dir / "run";
  const std::string trained =
      said("mt_train",
           {"--src",         dir / "de", "--tgt",          dir / "en", "--valid-src", dir / "en",
            "--valid-tgt",   dir / "de", "--layers",       "1",        "--hidden",    "4",
            "--ffn",         "4",        "--heads",        "1",        "--dropout",   "0",
            "--after",       "1e",       "--batch-tokens", "64",       "--run",       run,
            "--max-unknown", "1"});
  CHECK(has(trained,
            concat("--tgt: 20 words are spelled <s>, which begins a sentence here; 20 words are "
                   "spelled <pad>, which fills up batches here; 20 words are spelled ",
                   kEnds)));
  CHECK(has(trained, "--valid-src: 20 words are spelled <s>"));
  CHECK(!has(trained, "--src:"));

  put(dir / "given", "the cat </s>\n");
  CHECK(has(said("mt_translate", {"--checkpoint", run}, "die <pad> katze\n"),
            "mt_translate: standard input: 1 word is spelled <pad>, which fills up batches here"));
  const std::string scored = said(
      "mt_translate", {"--checkpoint", run, "--score-given", dir / "given"}, "die katze </s>\n");
  CHECK(has(scored, concat("standard input: 1 word is spelled ", kEnds)));
  CHECK(has(scored, concat("given: 1 word is spelled ", kEnds)));
}

}  // namespace nine::tests::test_spelled_specials
