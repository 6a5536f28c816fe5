// --max-unknown: a text that a vocabulary does not fit is an error in each program that looks its
// words up.
#include <doctest/doctest.h>

#include "tests/apps/lm_score_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_unknown_words {
namespace {

const Strings kSmall{"--layers", "1", "--hidden", "8", "--after", "1u", "--threads", "1"};

// The command fails and its message has `part`; with --max-unknown 1 it runs.
void check_refused(const std::string& program, const Strings& arguments, const std::string& part,
                   const std::string& input = {}) {
  const Outcome refused = run_program(program, arguments, input);
  CAPTURE(program);
  CHECK(refused.code == 1);
  CHECK_MESSAGE(has(refused.err, part), refused.err);
  const Outcome taken = run_program(program, joined(arguments, {"--max-unknown", "1"}), input);
  CHECK_MESSAGE(taken.code == 0, taken.err);
}

}  // namespace

TEST_CASE("--max-unknown: lm_score, with one model and with two, and lm_rescore") {
  const TemporaryDirectory dir;
  const std::string text = "xx yy the\nzz qq cat\n";  // four of eight tokens with both ends
  // Half of the tokens are no error: the limit is a larger share.
  CHECK(run_program("lm_score", {"--checkpoint", model_a()}, text).code == 0);
  CHECK(run_program("lm_score", {"--checkpoint", model_a(), "--max-unknown", "0.49"}, text).code ==
        1);
  const std::string message =
      concat("standard input: 62.50% of the 8 tokens are unknown to the model ", model_a());
  const std::string more = "xx yy the\nzz qq rr\n";
  check_refused("lm_score", {"--checkpoint", model_a()}, message, more);
  check_refused("lm_score", {"--checkpoint", model_a(), "--top", "2"}, message, more);
  check_refused("lm_score", {"--checkpoint", model_a(), "--generate", "--max-words", "1"}, message,
                more);
  check_refused("lm_score", {"--compare", model_b(), model_a()}, "are unknown to the model", more);
  const Outcome strict =
      run_program("lm_score", {"--checkpoint", model_a(), "--max-unknown", "0.4"}, text);
  CHECK(strict.code == 1);
  CHECK_MESSAGE(has(strict.err, "share of unknown words (--max-unknown) is 0.4; 1 accepts any"),
                strict.err);
  // Line by line the same once all have been answered.
  for (const Strings& task : {Strings{}, Strings{"--tokens"}, Strings{"--top", "2"},
                              Strings{"--generate", "--max-words", "1"}}) {
    const Strings arguments = joined({"--checkpoint", model_a(), "--flush"}, task);
    check_refused("lm_score", arguments, message, more);
    CHECK(run_program("lm_score", arguments, more).out ==
          run_program("lm_score", joined(arguments, {"--max-unknown", "1"}), more).out);
  }
  // Of a list what the first pass chose counts, not what follows.
  const Strings rescore{"--checkpoint", model_a(),
                        "--lambda",     "1",
                        "--reference",  dir.write("ref", "u\tthe cat\nv\tthe cat\n"),
                        "--nbest"};
  check_refused("lm_rescore",
                joined(rescore, {dir.write("bad", "u\t-1\txx yy zz\nv\t-1\txx yy zz\n"), "--output",
                                 dir / "o"}),
                "bad, first pass: 75.00% of the 8 tokens are unknown to the model");
  const Outcome fine = run_program(
      "lm_rescore",
      joined(rescore, {dir.write("good", "u\t-1\tthe cat\nu\t-2\txx yy zz qq rr\nv\t-1\tthe cat\n"),
                       "--output", dir / "p"}));
  CHECK_MESSAGE(fine.code == 0, fine.err);
}

TEST_CASE("--max-unknown: lm_train, with the training text and with the others") {
  const TemporaryDirectory dir;
  const std::string vocabulary = dir.write("dict", "the 2\ncat 1\n"),
                    good = dir.write("good", "the cat\nthe cat\nthe cat\n"),
                    bad = dir.write("bad", "xx yy zz\nxx yy zz\nxx yy zz\n");
  const auto train = [&](const std::string& run, const Strings& texts) {
    return joined(joined(kSmall, texts),
                  {"--embed", "8", "--batch", "1", "--bptt", "2", "--run", dir / run});
  };
  check_refused("lm_train", train("a", {"--train", bad, "--vocab", vocabulary}),
                concat("--train ", bad, ": 75.00% of the 12 tokens are unknown to ", vocabulary));
  check_refused("lm_train", train("b", {"--train", good, "--valid", bad, "--vocab", vocabulary}),
                concat("--valid ", bad, ": 75.00%"));
  check_refused("lm_train", train("c", {"--train", good, "--vocab-size", "3", "--test", bad}),
                concat("--test ", bad,
                       ": 75.00% of the 12 tokens are unknown to the vocabulary "
                       "that is built with --vocab-size and --min-count"));
  // The run goes on without the option: it changes nothing in the run.
  CHECK(run_program("lm_train",
                    train("d", {"--train", good, "--vocab", vocabulary, "--max-unknown", "1"}))
            .code == 0);
  CHECK(run_program("lm_train", train("d", {"--train", good, "--vocab", vocabulary})).code == 0);
}

TEST_CASE("--max-unknown: mt_train, mt_translate") {
  const TemporaryDirectory dir;
  const std::string good = dir.write("good", "a b c\nb c a\nc a b\n"),
                    bad = dir.write("bad", "x y z\nx y z\nx y z\n"),
                    dictionary = dir.write("dict", "a 1\nb 1\nc 1\n");
  const auto train = [&](const std::string& run, const Strings& texts) {
    return joined(joined(kSmall, texts), {"--heads", "1", "--ffn", "8", "--run", dir / run});
  };
  check_refused("mt_train", train("a", {"--src", bad, "--tgt", good, "--src-dict", dictionary}),
                concat("--src ", bad, ": 75.00% of the 12 tokens are unknown to ", dictionary));
  check_refused("mt_train", train("b", {"--src", good, "--tgt", bad, "--tgt-dict", dictionary}),
                concat("--tgt ", bad, ": 75.00%"));
  check_refused("mt_train",
                train("c", {"--src", good, "--tgt", good, "--valid-src", good, "--valid-tgt", bad}),
                concat("--valid-tgt ", bad, ": 75.00%"));
  const Strings translate{"--checkpoint", dir / "c", "--max-length", "2", "--beam", "1"};
  check_refused("mt_translate", translate, "standard input: 75.00% of the 4 tokens", "x y z\n");
  check_refused("mt_translate", {"--checkpoint", dir / "c", "--score-given", bad, "--input", good},
                concat(bad, ": 75.00% of the 12 tokens"));
  CHECK(run_program("mt_translate", translate, "a x y\n").code == 0);
}

}  // namespace nine::tests::test_unknown_words
