// What the trainers say of their texts before they train: files that are no texts, texts without a
// word, texts that are one text file by file; and of options that --export-parity leaves without
// effect.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/training/training_texts.h"
#include "core/crc32c.h"
#include "core/json.h"
#include "tests/apps/mt_runs.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_training_texts {
namespace {

namespace fs = std::filesystem;

std::string times(int n, const std::string& line) {
  std::string out;
  for (int i = 0; i < n; ++i) out += line + "\n";
  return out;
}

// The flags of trainers that a text of a few words suffices for.
Outcome lm(const TemporaryDirectory& dir, const Strings& more) {
  return run_program("lm_train", joined({"--layers", "1", "--hidden", "4", "--embed", "4",
                                         "--batch", "2", "--bptt", "4", "--run", dir / "run"},
                                        more));
}
Outcome mt(const TemporaryDirectory& dir, const Strings& more) {
  return train(tiny(dir / "run", joined({"--batch-tokens", "60"}, more)));
}

// CRC-32C of a text of single spaces, which is its identity.
uint32_t sum(const std::string& text) { return crc32c(0, text.data(), text.size()); }

}  // namespace

TEST_CASE("training texts: a file that is no text is named with its kind") {
  const TemporaryDirectory dir;
  int n = 0;
  const auto says = [&](const std::string& content) {
    const std::string file = dir.write(concat("f", n++), content);
    std::string text = error_of([&] { app::require_texts("--train", {file}); });
    if (const std::string place = concat("--train ", file, " "); text.starts_with(place))
      text.erase(0, place.size());
    return text.substr(0, text.find(','));
  };
  CHECK(says("the 9\ncat 4\nsat 4\nmat 1\n") == "is a dictionary");
  std::string unsorted;
  for (int i = 0; i < 25; ++i) unsorted += concat("w", i, " ", i * 7 % 5, "\n");
  CHECK(says(unsorted) == "is a dictionary");
  CHECK(says("<eps> 0\na 1\nb 2\nc 3\n") == "is a list of words and their ids");
  CHECK(says("\"a\": 0\n\"b\": 1\n\"c\": 2\n") == "is Marian's vocabulary");
  CHECK(says("a\t-1.5\nb\t-2\nc\t-3\n") == "is a vocabulary of OpenNMT or SentencePiece");
  CHECK(says("{\n  \"run\": \"a\"\n}\n") == "is JSON");
  CHECK(says("{\"event\": \"start\"}\n{\"event\": \"train\"}\n") == "is JSON");
  CHECK(says("\xEF\xBB\xBF[\"a\", \"b\"]\n") == "is JSON");
  CHECK(says("0 ||| the cat ||| 1.5\n0 ||| a cat ||| 1\n") == "is an n-best list");
  CHECK(says("<?xml version=\"1.0\"?>\n<seg>a</seg>\n") == "is HTML");
  CHECK(says("<!DOCTYPE html>\n<p>a</p>\n") == "is HTML");
  CHECK(says("\n<srcset setid=\"a\">\n<seg id=\"1\">a b</seg>\n") == "is HTML");
  CHECK(says("<tmx version=\"1.4\">\n<seg>a</seg>\n") == "is HTML");
  CHECK(says("<document> the cat\n") != "is HTML");
  // Texts.
  for (const char* text :
       {"the cat sat\na 3\n", "glucose 95\nglucose 80\nglucose 70\n", "a 1\nb 9\nc 2\n",
        "one\ntwo\nthree\n", "[ applause ]\n{ x }\n", "[ 1 , 2 ]\n", "a ||| b\nc ||| d\n",
        "\n\nthe cat\n", "< h > a\n", "the\tcat\n"})
    CHECK_MESSAGE(says(text) == "", text);
  CHECK(says("#version: 0.2\na b\n") == "has codes of BPE");
  CHECK(has(error_of([] { app::require_texts("--train", {"-"}); }),
            "--train -: standard input can be read once"));
  CHECK(has(error_of([&] { app::require_texts("--train", {dir / "none"}); }), "does not exist"));
}

TEST_CASE("training texts: columns are said, and what the texts lack") {
  const TemporaryDirectory dir;
  const std::string text = dir.write("text", times(9, "the cat sat")),
                    table = dir.write("table", times(9, "the cat\tdie Katze")),
                    pairs = dir.write("pairs", times(9, "the cat ||| die Katze")),
                    other = dir.write("other", times(5, "the dog sat") + times(4, "the cat sat"));
  const auto said = [&](const Outcome& o) {
    CHECK_MESSAGE(o.code == 0, o.err);
    return o.out + o.err;
  };
  const Strings end{"--after", "1u", "--restart"};
  const std::string of_pairs = said(mt(dir, joined({"--src", table, "--tgt", pairs}, end)));
  CHECK(
      has(of_pairs, concat("warning: --src ", table, " looks like a table (1 tab on each line)")));
  CHECK(has(of_pairs, concat("warning: --tgt ", pairs, " looks like a parallel text")));
  // Unknown words of texts that are not trained on.
  const std::string held_out = said(mt(
      dir, joined({"--src", text, "--tgt", text, "--valid-src", text, "--valid-tgt", other}, end)));
  CHECK(has(held_out, "--valid-tgt: 13.89% of the tokens are unknown"));
  CHECK(!has(held_out, "--valid-src: "));
  CHECK(has(said(lm(dir, joined({"--train", text, "--test", other}, end))),
            "--test: 13.89% of the tokens are unknown"));
  // Documents, and batches that are smaller than a sentence.
  const auto documents = [&](const std::string& content) {
    return said(run_program(
        "lm_train",
        joined({"--train", dir.write("documents", content), "--documents", "--layers", "1",
                "--hidden", "4", "--embed", "4", "--batch-tokens", "5", "--run", dir / "run"},
               end)));
  };
  CHECK(has(documents(times(3, "the cat")), "--documents: 1 document, because no blank line"));
  const std::string three = documents("a cat\nsat\n\n\nthe cat\n");
  CHECK(has(three, "--documents: 3 documents, of which 1 without words"));
  CHECK(
      has(three, "documents longer than --batch-tokens 5, each a batch of its own: 1, of up to 6"));
}

TEST_CASE("training texts: both trainers look at each of their texts first") {
  const TemporaryDirectory dir;
  const std::string list = dir.write("list", "the 9\ncat 4\nsat 4\nmat 1\n"),
                    text = dir.write("text", times(20, "the cat sat")),
                    said = list + " is a dictionary";
  for (const Strings& flags : {Strings{"--train", list},
                               {"--train", text, "--valid", list},
                               {"--train", text, text, "--test", list},
                               {"--train", text, list}}) {
    const Outcome o = lm(dir, flags);
    CHECK(o.code == 1);
    CHECK_MESSAGE(has(o.err, said), o.err);
  }
  for (const char* flag :
       {"--src", "--tgt", "--valid-src", "--valid-tgt", "--test-src", "--test-tgt"}) {
    Strings flags;
    for (const char* other :
         {"--src", "--tgt", "--valid-src", "--valid-tgt", "--test-src", "--test-tgt"})
      flags.insert(flags.end(), {other, std::string(other) == flag ? list : text});
    const Outcome o = mt(dir, flags);
    CHECK(o.code == 1);
    CHECK_MESSAGE(has(o.err, concat(flag, " ", said)), o.err);
  }
  CHECK_FALSE(fs::exists(dir / "run"));
}

TEST_CASE("training texts: a text of blank lines alone is refused wherever figures come from it") {
  const TemporaryDirectory dir;
  const std::string text = dir.write("text", times(20, "the cat sat")),
                    blank = dir.write("blank", times(20, " "));
  const auto refused = [&](const Outcome& o, const std::string& flag) {
    CHECK(o.code == 1);
    CHECK_MESSAGE(
        has(o.err, concat(flag, " ", blank, " has no word: each of its 20 lines is blank")), o.err);
    CHECK_FALSE(fs::exists(dir / "run"));
  };
  refused(lm(dir, {"--train", text, "--valid", blank}), "--valid");
  refused(lm(dir, {"--train", text, "--test", blank}), "--test");
  refused(lm(dir, {"--train", blank, "--vocab", dir.write("dict", "the 1\n")}), "--train");
  const Strings train{"--src", text, "--tgt", text};
  refused(mt(dir, joined(train, {"--valid-src", blank, "--valid-tgt", text})), "--valid-src");
  refused(mt(dir, joined(train, {"--valid-src", text, "--valid-tgt", blank})), "--valid-tgt");
  refused(mt(dir, joined(train, {"--test-src", blank, "--test-tgt", blank})), "--test-src");
  // One word is enough.
  put(blank, times(19, " ") + "cat\n");
  const Outcome some = lm(dir, {"--train", text, "--valid", blank, "--after", "1u"});
  CHECK_MESSAGE(some.code == 0, some.err);
}

TEST_CASE("training texts: files are compared one by one") {
  const TemporaryDirectory dir;
  const std::string a = "a b\nb\n", b = "c d\nd e\n", c = "f\ng\n";
  for (const auto& [name, text] : {std::pair("a", &a), std::pair("b", &b), std::pair("c", &c)})
    dir.write(name, *text);
  dir.write("spaced", "c  d\r\nd\te");  // b's lines
  const auto said = [&](const Json& files, const Json& identity) {
    std::string all;
    for (const std::string& line : app::same_texts(files, identity)) all += line + "\n";
    return all;
  };
  const std::string too_good = ": its figures are too good\n";
  const auto at = [&](const char* name) { return dir / name; };
  CHECK(said({{"train", {at("a"), at("b")}}, {"valid", {at("c")}}},
             {{"train", sum(a + b)}, {"valid", sum(c)}}) == "");
  CHECK(said({{"train", {at("a"), at("b")}}, {"valid", {at("spaced")}}},
             {{"train", sum(a + b)}, {"valid", sum(b)}}) ==
        concat("the validation text is the same text as ", at("b"),
               ", a file of the training text (--train)", too_good));
  CHECK(said({{"train", {at("a"), at("b")}}, {"test", {at("c"), at("a")}}},
             {{"train", sum(a + b)}, {"test", sum(c + a)}}) ==
        concat(at("a"), ", a file of the test text (--test) is the same text as ", at("a"),
               ", a file of the training text (--train)", too_good));
  CHECK(said({{"train", {at("a")}}, {"valid", {at("a"), at("c")}}},
             {{"train", sum(a)}, {"valid", sum(a + c)}}) ==
        concat(at("a"),
               ", a file of the validation text (--valid) is the same text as the training",
               " text", too_good));
  CHECK(said({{"train", {at("c")}}, {"valid", {at("a"), at("b")}}, {"test", {at("b")}}},
             {{"train", sum(c)}, {"valid", sum(a + b)}, {"test", sum(b)}}) ==
        concat("the test text is the same text as ", at("b"),
               ", a file of the validation text (--valid), by which the best model is chosen\n"));
  CHECK(has(said({{"train", {at("a"), at("c"), at("a")}}}, {{"train", sum(a + c + a)}}),
            concat(at("a"), " is the same text as ", at("a"),
                   " of the training text (--train): its lines count twice")));
  // Pairs: both files of a pair must be those of another. A side alone is not compared.
  const Json train{{"src", {at("a"), at("b")}}, {"tgt", {at("b"), at("c")}}};
  const auto pairs = [&](const char* source, const char* target, uint32_t s, uint32_t t) {
    Json files = train;
    files.update({{"valid_src", {at(source)}}, {"valid_tgt", {at(target)}}});
    return said(files,
                {{"src", sum(a + b)}, {"tgt", sum(b + c)}, {"valid_src", s}, {"valid_tgt", t}});
  };
  CHECK(pairs("b", "c", sum(b), sum(c)) ==
        concat("the validation text is the same text as ", at("b"), " and ", at("c"),
               ", two files of the training text (--src and --tgt)", too_good));
  CHECK(pairs("b", "a", sum(b), sum(a)) == "");
  CHECK(said({{"src", {at("a")}}, {"tgt", {at("a")}}}, {{"src", sum(a)}, {"tgt", sum(a)}}) ==
        "both sides of the training text (--src and --tgt) are the same text: a model learns to "
        "copy it\n");
}

TEST_CASE(
    "training texts: both trainers say that a validation file was trained on, or is both sides") {
  const TemporaryDirectory dir;
  const std::string one = dir.write("one", times(20, "the cat sat")),
                    two = dir.write("two", times(10, "a dog ran")),
                    copy = dir.write("copy", times(10, "a dog ran"));
  const Outcome o = lm(dir, {"--train", one, two, "--valid", copy, "--after", "1u"});
  CHECK_MESSAGE(o.code == 0, o.err);
  CHECK_MESSAGE(has(o.err, "the validation text is the same text as " + two), o.err);
  fs::remove_all(dir / "run");
  const Outcome t = mt(dir, {"--src", one, two, "--tgt", one, two, "--valid-src", copy,
                             "--valid-tgt", copy, "--after", "1u"});
  CHECK_MESSAGE(t.code == 0, t.err);
  CHECK_MESSAGE(has(t.err, concat("the validation text is the same text as ", two, " and ", two)),
                t.err);
  CHECK_MESSAGE(has(t.err, "both sides of the training text (--src and --tgt) are the same text"),
                t.err);
  CHECK_MESSAGE(has(t.err, "both sides of the validation text (--valid-src and --valid-tgt)"),
                t.err);
}

TEST_CASE("training texts: a byte-order mark inside a text is counted") {
  const TemporaryDirectory dir;
  const std::string mark = "\xEF\xBB\xBF", lines = times(20, "the cat sat"),
                    text = dir.write("text", mark + lines + mark + lines + mark + lines),
                    plain = dir.write("plain", mark + lines);
  const auto said = [](const char* flag) {
    return concat(flag, ": 2 lines begin with a byte-order mark (U+FEFF) inside the text");
  };
  const Outcome o = lm(dir, {"--train", text, "--valid", plain, "--after", "1u"});
  CHECK_MESSAGE(has(o.err, said("--train")), o.err);
  CHECK_FALSE(has(o.err, "--valid: "));
  fs::remove_all(dir / "run");
  const Outcome t = mt(dir, {"--src", text, "--tgt", text, "--valid-src", text, "--valid-tgt", text,
                             "--after", "1u"});
  for (const char* flag : {"--src", "--tgt", "--valid-src", "--valid-tgt"})
    CHECK_MESSAGE(has(t.err, said(flag)), t.err);
}

TEST_CASE("export parity: an option of a run that has no effect is refused, and --run is said") {
  const TemporaryDirectory dir;
  const std::string text = dir.write("text", times(40, "the cat sat"));
  const Strings export_lm{"--train",         text,      "--dropout",      "0",
                          "--export-parity", dir / "p", "--export-steps", "2"},
      export_mt{"--src",           text,      "--tgt",          text, "--dropout", "0",
                "--export-parity", dir / "p", "--export-steps", "2"};
  const auto refused = [&](const Outcome& o, const std::string& flag) {
    CHECK(o.code == 2);
    CHECK_MESSAGE(
        has(o.err, flag + " has no effect here: it needs a training, and --export-parity"), o.err);
    CHECK_FALSE(fs::exists(dir / "p"));
  };
  for (const Strings& more : {Strings{"--tensorboard", dir / "t"},
                              {"--restart"},
                              {"--other-gpu"},
                              {"--valid-every", "3u"},
                              {"--early-stop", "3"},
                              {"--profile"}}) {
    refused(lm(dir, joined(export_lm, more)), more[0]);
    refused(mt(dir, joined(export_mt, more)), more[0]);
  }
  for (const char* flag : {"--valid", "--test"})
    refused(lm(dir, joined(export_lm, {flag, text})), flag);
  for (const char* side : {"valid", "test"})
    refused(mt(dir, joined(export_mt,
                           {concat("--", side, "-src"), text, concat("--", side, "-tgt"), text})),
            concat("--", side, "-src"));
  const Outcome plateau = lm(dir, joined(export_lm, {"--schedule", "plateau"}));
  CHECK(plateau.code == 2);
  CHECK_MESSAGE(has(plateau.err, "--export-parity validates nothing, and --schedule plateau"),
                plateau.err);
  const Strings intervals{"--after", "9u", "--log-every", "3", "--save-every", "3u", "--keep", "3"};
  for (const Outcome& o :
       {lm(dir, joined(export_lm, intervals)), mt(dir, joined(export_mt, intervals))}) {
    CHECK_MESSAGE(o.code == 0, o.err);
    CHECK_MESSAGE(
        has(o.out, "2 steps (--export-steps) for the replay in PyTorch; no run was written"),
        o.out);
    CHECK_FALSE(fs::exists(dir / "run"));
  }
}

}  // namespace nine::tests::test_training_texts
