// --flush: lm_score and bpe as a co-process: each line is answered while the pipe stays open, with
// the bytes that the whole text gives. mt_translate's is in test_mt_translate.cpp.
#include <doctest/doctest.h>

#include <csignal>
#include <sstream>

#include "core/safetensors.h"
#include "tests/apps/lm_score_runs.h"
#include "tests/support/conversation.h"
#include "tests/support/skip.h"
#include "tests/support/support.h"

namespace nine::tests::test_flush {
namespace {

// Says a text line by line, its last line without an end, and hears `lines_of(line)` lines each
// time (with `header` lines before the first); everything that was answered, and how it ended.
template <class Lines>
Outcome conversation(const std::string& program, const Strings& arguments, const std::string& text,
                     Lines&& lines_of, int header = 0) {
  Conversation c(program, joined(arguments, {"--flush"}));
  std::string out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line); header = 0) {
    if (in.peek() == EOF) {
      c.say(line);
      CHECK(c.silent());
      break;
    }
    out += c.ask(line + "\n", lines_of(line) + header);
  }
  Outcome end = c.end();
  CHECK(!end.out.empty());  // the last line
  end.out = out + end.out;
  return end;
}
const auto kOne = [](const std::string&) { return 1; };
const auto kWordsAndEnd = [](const std::string& line) {
  return static_cast<int>(split(line, ' ').size()) + 1;
};

}  // namespace

TEST_CASE("lm_score --flush: each line is answered before the next, with the same bytes") {
  const TemporaryDirectory dir;
  const Outcome mixture = run_program(
      "lm_train", joined(tiny_lm_flags(dir / "mix", "10u"), {"--head", "mix:2*lin,log"}));
  REQUIRE_MESSAGE(mixture.code == 0, mixture.err);
  const auto check = [&](const std::string& model, const Strings& more, auto&& lines_of,
                         int header = 0) {
    const Strings arguments = joined({"--checkpoint", model}, more);
    CAPTURE(arguments);
    const Outcome whole = run_program("lm_score", arguments, kLmText),
                  said = conversation("lm_score", arguments, kLmText, lines_of, header);
    CHECK(said.code == 0);
    CHECK(said.out == whole.out);
    CHECK(said.err == whole.err);
  };
  for (const std::string& model : {model_a(), transformer_model()}) {
    check(model, {}, kOne);
    check(model, {"--tokens"}, kOne);
    check(model, {"--top", "3"}, kWordsAndEnd, 1);
    check(model, {"--generate", "--samples", "3", "--seed", "7", "--max-words", "9"},
          [](const std::string&) { return 3; });
  }
  check(dir / "mix", {"--components"}, kOne);
}

TEST_CASE("lm_score --flush: an error in a line comes after the answers to those before") {
  Conversation c("lm_score", {"--checkpoint", model_a(), "--flush"});
  c.ask("the cat saw a dog\n");
  c.ask("\n");
  c.say("a bird \xff\n");
  c.say("the cat\n");
  const Outcome end = c.end();
  CHECK(end.code == 1);
  CHECK(end.out.empty());
  CHECK(has(end.err, "standard input, line 3, byte 8: 0xff is not valid UTF-8"));
}

TEST_CASE("lm_score --flush: an error names the sentence of the whole input") {
  const TemporaryDirectory dir;
  // Their sum is infinite behind one word alone.
  const std::string model =
      changed_model(dir, "far", transformer_model(), "embedding.weight", 2 * 16, 3e38F);
  const Safetensors weights = read_safetensors(model + "/model.safetensors");
  weights.at("transformer.layers.0.self_attn.out_proj.bias").data<float>()[0] = 3e38F;
  std::vector<NamedView> views;
  for (const auto& [name, numbers] : weights.tensors) views.push_back({name, numbers});
  write_safetensors(model + "/model.safetensors", views, weights.metadata);
  const std::string word = split(split(slurp(dir / "far/dict.txt"), '\n')[0], ' ')[0];
  for (const char* flush : {"--flush", "--no-flush"})
    for (const Strings& task : {Strings{}, Strings{"--top", "1"}}) {
      const Outcome r = run_program(
          "lm_score",
          joined({"--checkpoint", model, flush, "--max-unknown", "1", "--batch-tokens", "1"}, task),
          concat("zzz\n\n", word, " zzz\nzzz\n"));
      CHECK(r.code == 1);
      CHECK_MESSAGE(has(r.err, "sentence 3: "), r.err);
    }
}

TEST_CASE("lm_score --flush: nothing was said") {
  const Strings arguments{"--checkpoint", model_a(), "--flush"};
  const Outcome none = Conversation("lm_score", arguments).end();
  CHECK(none.code == 0);
  CHECK(none.err == "standard input has no lines\n");
  const Outcome prompt = Conversation("lm_score", joined(arguments, {"--generate"})).end();
  CHECK(prompt.code == 1);
  CHECK(has(prompt.err, "standard input has no lines; an empty line is a prompt"));
}

TEST_CASE("lm_score --flush: whoever stops listening ends it") {
  Conversation c("lm_score", {"--checkpoint", model_a(), "--flush"});
  c.ask("the cat\n");
  c.stop_listening();
  c.say("the dog\n");
  CHECK(c.end().code == 128 + SIGPIPE);
}

TEST_CASE("lm_score --flush: what needs the whole text is refused by name") {
  const auto refused = [](const Strings& arguments) {
    const Outcome r = run_program("lm_score", joined(arguments, {"--flush"}), "the cat\n");
    CHECK(r.code == 2);
    CHECK(r.out.empty());
    return r.err;
  };
  CHECK(has(refused({"--checkpoint", "m", "--carry-state"}),
            "--flush answers each line before the next is read, and --carry-state and --window cut "
            "the whole text"));
  for (const Strings& task :
       {Strings{"--compare", "a", "b"}, Strings{"--compare", "a", "b", "--top", "2"},
        Strings{"--checkpoint", "m", "--restrict", "sets"},
        Strings{"--checkpoint", "m", "--clusters", "2:inner"}})
    CHECK(has(refused(task), "--flush is for scoring, --top, --components or --generate"));
}

TEST_CASE("--flush: it is on where standard input is a terminal, unless --no-flush" *
          doctest::test_suite("needs a terminal")) {
  if (!has_terminal()) return skip("there is no pseudo terminal");
  const TemporaryDirectory dir;
  const std::string codes = dir.write("codes", "#version: 0.2\nl o\n");
  Conversation score("lm_score", {"--checkpoint", model_a()}, Conversation::Input::terminal);
  CHECK(score.ask("the cat saw a dog\n") ==
        lm_score({"--checkpoint", model_a()}, "the cat saw a dog\n"));
  CHECK(has(score.end().err, "over 6 tokens (1 sentences"));
  Conversation apply("bpe", {"apply", "--codes", codes}, Conversation::Input::terminal);
  CHECK(apply.ask("low\n") == "lo@@ w\n");
  CHECK(apply.end().code == 0);
  Conversation later("bpe", {"apply", "--codes", codes, "--no-flush"},
                     Conversation::Input::terminal);
  later.say("low\n");
  CHECK(later.silent());
  CHECK(later.end().out == "lo@@ w\n");
}

TEST_CASE("--flush: a file that is no text is named as without it") {
  for (const auto& [start, name] : {std::pair(std::string("\xFD\x37\x7A\x58\x5A\0\0", 7), "xz"),
                                    std::pair(std::string("\xFF\xFEt\0h\0\n\0", 8), "UTF-16")})
    for (const char* flush : {"--flush", "--no-flush"}) {
      const Outcome r = run_program("bpe", {"undo", flush}, start + "\nthe cat\n");
      CHECK(r.code == 1);
      CHECK_MESSAGE(has(r.err, name), flush, ": ", r.err);
    }
}

TEST_CASE("bpe apply, undo --flush: each line is answered before the next, with the same bytes") {
  const TemporaryDirectory dir;
  const std::string codes = dir.write("codes", "#version: 0.2\nl o\nlo w\ne r</w>\n"),
                    text = "lower  low\n\n  slow lower \r\nlow, (low).\nlow lower";
  const auto check = [&](const Strings& arguments) {
    CAPTURE(arguments);
    const Outcome whole = run_program("bpe", arguments, text),
                  said = conversation("bpe", arguments, text, kOne);
    CHECK(said.code == 0);
    CHECK(said.out == whole.out);
  };
  check({"apply", "--codes", codes});
  check({"apply", "--codes", codes, "--dropout", "0.5", "--seed", "4"});
  check({"apply", "--codes", codes, "--tokenize", "13a"});
  check({"undo"});
  check({"undo", "--separator", "w"});
  // A CR ends a line too, but where it is the last byte it may be the first of CRLF.
  Conversation carriage("bpe", {"undo", "--flush"});
  carriage.say("lo@@ w\r");
  CHECK(carriage.silent());
  carriage.say("a\n");
  CHECK(carriage.hear(1) == "low\ra\n");
  // An error comes after the answers to the lines before, in one piece of input too.
  Conversation wrong("bpe", {"apply", "--codes", codes, "--flush"});
  CHECK(wrong.ask("low\nl\xff\nlow\n") == "lo@@ w\n");
  const Outcome end = wrong.end();
  CHECK(end.code == 1);
  CHECK(end.out.empty());
  CHECK(has(end.err, "standard input, line 2, byte 2: 0xff is not valid UTF-8"));
  CHECK(run_program("bpe", {"vocab", "--flush"}).code == 2);
}

}  // namespace nine::tests::test_flush
