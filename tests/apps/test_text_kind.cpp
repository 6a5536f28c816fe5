// Files of other kinds that are given as a text: a warning says so.
#include "apps/cli/text_kind.h"

#include <doctest/doctest.h>

#include "tests/apps/lm_score_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_text_kind {

using app::other_kind;

TEST_CASE("other_kind: JSON, dictionaries, codes, tables, lists and .trn files; no text") {
  CHECK(other_kind(Strings{"{", R"("a": 1)", "}"}) == "JSON");
  CHECK(other_kind(Strings{R"([{"a": "the cat"}])"}) == "JSON");
  CHECK(other_kind(Strings{R"({"a": 1})", "", R"({"a": 2})"}) == "JSON");
  CHECK(has(other_kind(Strings{"the 9", "cat 4", "dog 4", "the 1 #fairseq:overwrite"}),
            "a dictionary"));
  CHECK(other_kind(Strings{"#version: 0.2", "t h", "th e</w>"}) == "codes of BPE");
  CHECK(other_kind(Strings{"u1\t-1\tthe cat", "u1\t-2\tthe", "u2\t-1\ta dog"}) ==
        "a table (2 tabs on each line)");
  CHECK(other_kind(Strings{"u1\tthe cat", "u2\tthe", "u3\ta dog"}) ==
        "a table (1 tab on each line)");
  CHECK(has(other_kind(Strings{"u1-1 -3.5 the cat", "u1-2 -4 the", "u2-1 -2 a dog"}),
            "utterance-N score words"));
  CHECK(has(other_kind(Strings{"u1 -3.5 -2 2 the cat", "u1 -4 -1 1 the", "u2 -2 -3 1 dog"}),
            "utterance score score"));
  CHECK(has(other_kind(Strings{"the cat (a_1)", "(a_2)", "a dog (a_3)"}), "a .trn file"));
  // A text is not: one line is other, words repeat, lines are few, JSON is cut.
  CHECK(other_kind(Strings{"", "<DOC id=\"a\">", "text"}) == "HTML, XML or SGML");
  CHECK(other_kind(Strings{"<seg id=\"1\">a b</seg>", "<seg id=\"2\">c</seg>", "<p>", "</p>"}) ==
        "HTML, XML or SGML");
  CHECK(other_kind(Strings{"<start> a b <end>", "<start> <end>", "<start> c <end>"}) ==
        "sentences between the markers <start> and <end>");
  CHECK(other_kind(Strings{"[CLS] a b [SEP]", "[CLS] c [SEP]", "[CLS] a [SEP]"}) ==
        "sentences between the markers [CLS] and [SEP]");
  CHECK(other_kind(Strings{"a b <eos>", "<eos>", "c d <eos>"}) ==
        "sentences that end with the marker <eos>");
  for (const Strings& text : {Strings{},
                              {"a b </s>", "c </s>", "d </s>"},
                              {"17 4 4 9 2 11", "5 1 1 8 7 7", "12 12 3 30 1 4"},
                              {"<bos>a b<eos>", "<bos>c<eos>", "<bos>d<eos>"},
                              {"<start> a b <end>", "<start> c <end>", "<start> d"},
                              {"<s> a b </s>", "<s> c </s>", "<s> a </s>"},
                              {"<docs> a b", "c", "d"},
                              {"<seg>a</seg>", "b", "<seg>c</seg>"},
                              {"", ""},
                              {"the cat saw a dog"},
                              {"the 9", "cat 4", "dog 4", "the cat saw"},
                              {"chapter 1", "chapter 2", "chapter 3"},
                              {"may 5", "june 6"},
                              {"{ the", "cat }"},
                              {R"({"a": 1})", "the cat"},
                              {"a\tb", "c\td", "e f"},
                              {"well (he said)", "(so)", "(yes)"}})
    CHECK_MESSAGE(other_kind(text).empty(), other_kind(text));
}

TEST_CASE("lm_score, mt_translate --score: a file of another kind is said, and read as it is") {
  const TemporaryDirectory dir;
  const std::string dictionary = model_a() + "/checkpoints/best/dict.txt",
                    list = dir.write("list", "u1\t-1\tthe cat\nu1\t-2\ta cat\nu2\t-1\ta dog\n"),
                    text = dir.write("text", "the cat\na cat\na dog\n");
  const auto said = [&](const std::string& program, const Strings& arguments) {
    const Outcome r = run_program(program, arguments);
    REQUIRE_MESSAGE(r.code == 0, r.err);
    return r.err;
  };
  const auto scored = [&](const std::string& file) {
    return said("lm_score", {"--checkpoint", model_a(), "--max-unknown", "1", "--input", file});
  };
  CHECK(has(scored(dictionary), concat("warning: ", dictionary, " looks like a dictionary")));
  CHECK(has(scored(list), concat("warning: ", list,
                                 " looks like a table (2 tabs on each line), and "
                                 "all of it is read as words")));
  CHECK_FALSE(has(scored(text), "looks like"));
  CHECK(has(said("mt_translate", {"--score", "--input", text, "--reference", list}),
            concat("warning: ", list, " looks like a table")));
}

}  // namespace nine::tests::test_text_kind
