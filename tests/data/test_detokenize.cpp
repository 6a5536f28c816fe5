// Detokenising. The golden values are those of sacremoses 0.2.0 (MosesDetokenizer) unless a comment
// says otherwise; tests/clients/detokenize_reference.py compares whole corpora.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "data/detokenize.h"
#include "data/tokenize_13a.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_detokenize {
namespace {

std::string moses(const std::string& line, const std::string& language = "en") {
  return detokenize(line, {.rules = Detokenizing::moses, .language = language});
}
std::string of_13a(const std::string& line) {
  return detokenize(line, {.rules = Detokenizing::mteval_13a});
}

}  // namespace

TEST_CASE("detokenize: Moses, as sacremoses") {
  struct Case {
    const char *language, *line, *prose;
  };
  const std::vector<Case> cases{
      {"en", "he said : &quot; hello ( there ) . &quot;", "he said: \"hello (there).\""},
      {"en", "it &apos;s the girls &apos; &quot; house &quot; , is n&apos;t it ?",
       "it's the girls' \"house\", isn't it?"},  // sacremoses: is n't
      {"en", "a well @-@ known price of $ 5.00 &amp; more : 50 % &#91; 1 &#93; &#124; &lt; b &gt;",
       "a well-known price of $5.00 & more: 50% [1] | < b >"},
      {"en", "&apos; so , &apos; he said , &apos; it is . &apos;", "'so,' he said, 'it is.'"},
      {"en", "&amp;quot; &amp;amp;quot; &bar; &bra; x &ket; &unknown; &amp",
       "&quot; &amp;quot; | [x] &unknown; &amp"},
      {"en", "你 好 。 hello 世 界 !", "你好。 hello 世界!"},
      {"en", ", a ( ( b ) ) ¿ que ?", ", a ((b)) ¿que?"},
      {"en", "", ""},
      {"en", "  a   b\tc ", "a b c"},
      {"fr", "l&apos; eau qu&apos; il boit : c&apos; est aujourd&apos; hui ! 50 % ; non ?",
       "l'eau qu'il boit : c'est aujourd'hui ! 50 % ; non ?"},
      {"it", "l&apos; amico dell&apos; uomo , &quot; l&apos; ora &quot;",
       "l'amico dell'uomo, \"l'ora\""},
      {"de", "er sagte : &quot; ja , 5 % &quot; !", "er sagte: \"ja, 5%\"!"},
  };
  for (const Case& c : cases) CHECK(moses(c.line, c.language) == c.prose);
}

TEST_CASE("detokenize: Moses, where sacremoses leaves or loses spaces") {
  CHECK(moses("do n't you ? DO N'T") == "don't you? DON'T");
  CHECK(moses("`` well , '' she said") == "``well,'' she said");
  CHECK(moses("“ so ” and ‘ so ’ , „ so “") == "“so” and ‘so’, „so“");
  CHECK(moses("it ’s the boys ’ dog") == "it’s the boys’ dog");
  CHECK(moses("« oui » , l’ eau", "fr") == "« oui », l’eau");
  CHECK(moses("» ja « , « si »", "de") == "»ja«, «si»");
  CHECK(moses("5 € more , € 5 , US $ 5 , 5 $ 6") == "5 € more, €5, US $5, 5 $6");
  CHECK(moses("1 @,@ 000 @.@ 5 and / or @/@ @x@ @@") == "1,000.5 and / or/@x@ @@");
  CHECK(moses("well … yes") == "well… yes");
  CHECK(moses("你 好 ， 世 界 ！ 안녕 세상") == "你好，世界！ 안녕 세상");
  CHECK(moses("漢 字", "ko") == "漢 字");
  CHECK(moses("a\u00a0b c") == "a\u00a0b c");
}

TEST_CASE("detokenize: 13a gives the raw line back") {
  for (const char* line :
       {"He said: \"It's 5 (five), isn't it?\"", "Tom's 1,000.5 m; 50% of [that] {set}!",
        "At 10:30 and/or a_b@c: #1, $5.", "the U.S. troops, 20-year-old, 10-15",
        "'So,' he said, 'it is.'", "Straße, été… 你好。", "", "a `quote` \"b\" \"c\""}) {
    CAPTURE(line);
    CHECK(of_13a(tokenize_13a(line)) == line);
  }
  CHECK(of_13a("l&apos; eau") == "l&apos; eau");  // an escape of Moses is text
}

TEST_CASE("detokenize: no rules, no change; a language is a code") {
  CHECK(detokenize("  a , &quot; ", {}) == "  a , &quot; ");
  CHECK(has(error_of([] { moses("a", "eng"); }), "'eng' is not a code of two small letters"));
  CHECK(has(error_of([] { moses("a", "EN"); }), "is not a code of two small letters"));
}

TEST_CASE("detokenize: any bytes are joined without loss") {
  // Every character but spaces comes back, in its order.
  uint32_t seed = 1;
  for (int n = 0; n < 500; ++n) {
    std::string line, kept;
    for (int i = 0; i < 40; ++i) {
      seed = seed * 1664525 + 1013904223;
      const char c = static_cast<char>(seed >> 24);
      line += c == '\n' || c == '\r' || c == '&' || c == '@' ? ' ' : c;
    }
    const auto squeezed = [](std::string text) {
      std::erase_if(text, [](char c) { return c == ' ' || c == '\t'; });
      return text;
    };
    CHECK(squeezed(moses(line)) == squeezed(line));
    CHECK(squeezed(of_13a(line)) == squeezed(line));
  }
}

TEST_CASE("bpe undo --detokenize: subwords are joined first, line ends stay") {
  const auto undo = [](const std::vector<std::string>& more, const std::string& input) {
    return run_program("bpe", joined({"undo", "--detokenize"}, more), input);
  };
  CHECK(undo({"moses"}, "foot@@ ball , &quot; no &quot;\r\n\nl&apos; eau").out ==
        "football, \"no\"\r\n\nl' eau");
  CHECK(undo({"moses", "--language", "fr", "--flush"}, "l&apos; eau\n").out == "l'eau\n");
  CHECK(undo({"13a"}, "a / b\n").out == "a/b\n");
  CHECK(undo({"none"}, "a , b\n").out == "a , b\n");
  CHECK(has(undo({"13a", "--language", "fr"}, "a\n").err, "--language is for --detokenize moses"));
  CHECK(has(undo({"moses", "--language", "xyz"}, "a\n").err, "is not a code of two small letters"));
  CHECK(has(undo({"ptb"}, "a\n").err, "none, moses, 13a"));
}

}  // namespace nine::tests::test_detokenize
