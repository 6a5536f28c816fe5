// lm_score --compare A B --top N: a page with what both models would have said.
#include <doctest/doctest.h>

#include <cstdio>

#include "tests/apps/lm_score_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_lm_top_page {
namespace {

Outcome page(const Strings& more, const std::string& text = kLmText) {
  Strings arguments{"--compare", model_a(), model_b(), "--top", "3"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program("lm_score", arguments, text);
}

}  // namespace

TEST_CASE("lm_score --compare --top: the words and probabilities of each model's --top") {
  const Outcome r = page({"--at", "1:2", "3:2", "1:6"});
  REQUIRE_MESSAGE(r.code == 0, r.err);
  CHECK(r.out.starts_with("<!DOCTYPE html>"));
  CHECK(has(r.out, "<h2>Line 1, word 2</h2>"));
  CHECK(has(r.out, "<p dir=\"auto\">the <strong>cat</strong> saw a dog</p>"));
  CHECK(has(r.out, "a <strong>zebra</strong> heard the <bdi>&lt;unk&gt;</bdi> today"));
  CHECK(has(r.out, "(of &lt;unk&gt;)"));
  CHECK(has(r.out, "the cat saw a dog <strong><bdi>&lt;/s&gt;</bdi></strong>"));
  for (const std::string& model : {model_a(), model_b()})
    for (const TopLine& line : top_lines(model, kLmText, 3)) {
      if (line.line != 1 || line.position != 2) continue;
      CHECK(has(r.out, concat("rank ", line.rank)));
      for (const auto& word : line.top) {
        char text[32];
        std::snprintf(text, sizeof text, "<td>%.4f</td>", word.second);
        if (word.second >= 0.001) CHECK_MESSAGE(has(r.out, text), word.first, " ", text);
      }
    }
  // Without --at every word, 6 + 1 + 7 + 6 + 5 of them.
  const std::string all = page({}).out;
  size_t sections = 0;
  for (size_t i = all.find("<h2>"); i != std::string::npos; i = all.find("<h2>", i + 1)) ++sections;
  CHECK(sections ==
        split(lm_score({"--checkpoint", model_a(), "--top", "1"}, kLmText), '\n').size() - 1);
}

TEST_CASE("lm_score --compare --top: Arabic and Hebrew do not turn round what stands beside them") {
  const Outcome r = page({"--at", "1:2", "2:1"}, "the ع@@ saw\nשלום .\n");
  REQUIRE_MESSAGE(r.code == 0, r.err);
  CHECK(has(r.out, "<caption>“<bdi>ع@@</bdi>”: "));
  CHECK(has(r.out, "aria-label=\"“ع@@”: "));
  CHECK(has(r.out, "<p dir=\"auto\"><strong>שלום</strong> .</p>"));
  CHECK(has(r.out, "<td><bdi>"));
  CHECK(has(r.out, concat("A: <bdi>", model_a(), "</bdi>; B: <bdi>")));
  // A word whose marks would change their ends keeps to itself; controls of direction are shown.
  const Outcome marks = page({"--at", "1:1", "2:2"},
                             "שלום &amp; עולם\n\xE2\x80\xAEthe \xE2\x81\xA9"
                             "cat a\nthe cat saw a dog\n");
  REQUIRE_MESSAGE(marks.code == 0, marks.err);
  CHECK(has(marks.out, "<strong>שלום</strong> <bdi>&amp;amp;</bdi> עולם</p>"));
  CHECK(has(marks.out, "<p dir=\"auto\">\uFFFDthe <strong>\uFFFDcat</strong> a</p>"));
  for (const char* control : {"\xE2\x80\xAE", "\xE2\x81\xA9"}) CHECK(!has(marks.out, control));
}

TEST_CASE("lm_score --compare --top: what is refused") {
  CHECK(has(page({"--at", "9:1"}).err, "--at 9:1: the text has 5 lines"));
  CHECK(page({"--at", "9:1"}).code == 1);
  CHECK(has(page({"--at", "1:7"}).err, "that line has 6 positions"));
  CHECK(has(page({"--at", "1"}).err, "such as 12:5"));
  CHECK(page({"--at", "0:1"}).code == 2);
  CHECK(page({"--worst", "3"}).code == 2);
  std::string many;
  for (int i = 0; i < 300; ++i) many += "the cat saw a dog\n";
  CHECK(has(page({}, many).err, "1800 places are too many for one page"));
  CHECK(run_program("lm_score", {"--checkpoint", model_a(), "--top", "3", "--at", "1:1"}, "a\n")
            .code == 2);
}

}  // namespace nine::tests::test_lm_top_page
