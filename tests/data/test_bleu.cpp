// BLEU and chrF against numbers recorded from sacreBLEU 2.6.0; tests/clients/bleu_reference.py
// compares whole files with the tool itself.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "apps/mt_translate/translation_score.h"
#include "data/lower_case.h"
#include "data/measures/bleu.h"
#include "data/measures/chrf.h"
#include "data/measures/ngrams.h"
#include "data/unicode.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_bleu {
namespace {

using Lines = std::vector<std::string>;

struct Case {
  const char* name;
  Lines hypotheses, references;
  BleuOptions bleu;
  ChrfOptions chrf;
  const char *bleu_text, *chrf_text;  // score.format(4, signature=metric.get_signature().format())
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"a translation",
       {"The cat sat on the mat .", "There is a dog in the garden ."},
       {"The cat is sitting on the mat .", "A dog is in the garden ."},
       {},
       {},
       "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 43.1941 "
       "80.0/53.8/36.4/22.2 (BP = 1.000 ratio = 1.000 hyp_len = 15 ref_len "
       "= 15)",
       "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0 = 57.9543"},
      {"raw text, 13a",
       {"\"Hello,\" he said (twice): it's 3.5% of 1,000-2,000!",
        "Tom &amp; Jerry cost $9.99 - no, 10."},
       {"\"Hello\", he said twice: it's 3.5% of 1,000 to 2,000.",
        "Tom & Jerry cost $9.99; no, 10!"},
       {},
       {.word_order = 2},
       "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 44.3307 "
       "79.3/51.9/36.0/26.1 (BP = 1.000 ratio = 1.074 hyp_len = 29 ref_len "
       "= 27)",
       "chrF2++|nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:2.6.0 = 59.9272"},
      {"the same as tokenised",
       {"\"Hello,\" he said (twice): it's 3.5% of 1,000-2,000!",
        "Tom &amp; Jerry cost $9.99 - no, 10."},
       {"\"Hello\", he said twice: it's 3.5% of 1,000 to 2,000.",
        "Tom & Jerry cost $9.99; no, 10!"},
       {.tokenizer = BleuTokenizer::none},
       {.word_order = 1},
       "BLEU|nrefs:1|case:mixed|eff:no|tok:none|smooth:exp|version:2.6.0 = 15.1118 "
       "56.2/28.6/8.3/5.0 (BP = 0.939 ratio = 0.941 hyp_len = 16 ref_len "
       "= 17)",
       "chrF2+|nrefs:1|case:mixed|eff:yes|nc:6|nw:1|space:no|version:2.6.0 = 63.2900"},
      {"case",
       {"THE Cat saw ΟΔΟΣ in İzmir ÄÖÜ"},
       {"the cat saw οδος in i̇zmir äöü"},
       {},
       {},
       "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 7.8098 28.6/8.3/5.0/3.1 "
       "(BP = 1.000 ratio = 1.000 hyp_len = 7 ref_len = 7)",
       "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0 = 20.6193"},
      {"lower case",
       {"THE Cat saw ΟΔΟΣ in İzmir ÄÖÜ"},
       {"the cat saw οδος in i̇zmir äöü"},
       {.lowercase = true},
       {.lowercase = true},
       "BLEU|nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:2.6.0 = 100.0000 "
       "100.0/100.0/100.0/100.0 (BP = 1.000 ratio = 1.000 hyp_len = 7 "
       "ref_len = 7)",
       "chrF2|nrefs:1|case:lc|eff:yes|nc:6|nw:0|space:no|version:2.6.0 = 100.0000"},
      {"no match of four words: exp",
       {"a b c x d e", "f g"},
       {"a b c y d e", "f h"},
       {},
       {.word_order = 2},
       "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 35.3553 "
       "75.0/50.0/25.0/16.7 (BP = 1.000 ratio = 1.000 hyp_len = 8 ref_len "
       "= 8)",
       "chrF2++|nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:2.6.0 = 34.3750"},
      {"floor",
       {"a b c x d e", "f g"},
       {"a b c y d e", "f h"},
       {.smoothing = BleuSmoothing::floor},
       {},
       "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:floor[0.10]|version:2.6.0 = 23.6435 "
       "75.0/50.0/25.0/3.3 (BP = 1.000 ratio = 1.000 hyp_len = 8 "
       "ref_len = 8)",
       "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0 = 25.0000"},
      {"floor 0.25",
       {"a b c x d e", "f g"},
       {"a b c y d e", "f h"},
       {.smoothing = BleuSmoothing::floor, .smooth_value = 0.25},
       {},
       "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:floor[0.25]|version:2.6.0 = 29.7302 "
       "75.0/50.0/25.0/8.3 (BP = 1.000 ratio = 1.000 hyp_len = 8 "
       "ref_len = 8)",
       "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0 = 25.0000"},
      {"add-k",
       {"a b c x d e", "f g"},
       {"a b c y d e", "f h"},
       {.smoothing = BleuSmoothing::add_k},
       {},
       "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:add-k[1.00]|version:2.6.0 = 45.4994 "
       "75.0/57.1/40.0/25.0 (BP = 1.000 ratio = 1.000 hyp_len = 8 "
       "ref_len = 8)",
       "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0 = 25.0000"},
      {"add-k 0.5",
       {"a b c x d e", "f g"},
       {"a b c y d e", "f h"},
       {.smoothing = BleuSmoothing::add_k, .smooth_value = 0.5},
       {},
       "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:add-k[0.50]|version:2.6.0 = 37.2391 "
       "75.0/53.8/33.3/14.3 (BP = 1.000 ratio = 1.000 hyp_len = 8 "
       "ref_len = 8)",
       "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0 = 25.0000"},
      {"none",
       {"a b c x d e", "f g"},
       {"a b c y d e", "f h"},
       {.smoothing = BleuSmoothing::none},
       {},
       "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:none|version:2.6.0 = 0.0000 "
       "75.0/50.0/25.0/0.0 (BP = 1.000 ratio = 1.000 hyp_len = 8 ref_len = "
       "8)",
       "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0 = 25.0000"},
      {"two orders without a match",
       {"a x b y c z"},
       {"a b c d e f g"},
       {},
       {},
       "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 9.0423 50.0/10.0/6.2/4.2 "
       "(BP = 0.846 ratio = 0.857 hyp_len = 6 ref_len = "
       "7)",
       "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0 = 7.3529"},
      {"too short for four words",
       {"a b c"},
       {"a b c"},
       {},
       {.word_order = 2},
       "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 0.0000 "
       "100.0/100.0/100.0/0.0 (BP = 1.000 ratio = 1.000 hyp_len = 3 ref_len "
       "= 3)",
       "chrF2++|nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:2.6.0 = 100.0000"},
      {"identical",
       {"one two three four five"},
       {"one two three four five"},
       {},
       {},
       "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 100.0000 "
       "100.0/100.0/100.0/100.0 (BP = 1.000 ratio = 1.000 hyp_len = 5 "
       "ref_len = 5)",
       "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0 = 100.0000"},
      {"disjoint",
       {"one two three four five"},
       {"quay wharf by dusk"},
       {},
       {},
       "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 0.0000 0.0/0.0/0.0/0.0 "
       "(BP = 1.000 ratio = 1.250 hyp_len = 5 ref_len = 4)",
       "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0 = 6.4004"},
      {"empty translation",
       {"", ""},
       {"one two three", "four"},
       {},
       {.word_order = 2},
       "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 0.0000 0.0/0.0/0.0/0.0 "
       "(BP = 0.000 ratio = 0.000 hyp_len = 0 ref_len = 4)",
       "chrF2++|nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:2.6.0 = 0.0000"},
      {"empty reference",
       {"one two three four"},
       {""},
       {},
       {.word_order = 2},
       "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 0.0000 0.0/0.0/0.0/0.0 "
       "(BP = 1.000 ratio = 0.000 hyp_len = 4 ref_len = 0)",
       "chrF2++|nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:2.6.0 = 0.0000"},
      {"some lines empty",
       {"", "one two three four five", "six seven"},
       {"zero", "one two three four six", ""},
       {},
       {.word_order = 2},
       "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 58.1431 "
       "57.1/60.0/66.7/50.0 (BP = 1.000 ratio = 1.167 hyp_len = 7 ref_len "
       "= 6)",
       "chrF2++|nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:2.6.0 = 74.0192"},
      {"repeated words count once each",
       {"the the the the the the the"},
       {"the cat is on the mat"},
       {},
       {.word_order = 2},
       "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 7.8098 28.6/8.3/5.0/3.1 "
       "(BP = 1.000 ratio = 1.167 hyp_len = 7 ref_len = 6)",
       "chrF2++|nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:2.6.0 = 14.7153"},
      {"every kind of white space",
       {"one\xC2\xA0"
        "two\xE3\x80\x80"
        "three \xE2\x80\xA8"
        " four\tfive\xE2\x80\x8B"
        " six"},
       {"one two three four five six "},
       {.tokenizer = BleuTokenizer::none},
       {.word_order = 2},
       "BLEU|nrefs:1|case:mixed|eff:no|tok:none|smooth:exp|version:2.6.0 = 53.7285 "
       "83.3/60.0/50.0/33.3 (BP = 1.000 ratio = 1.000 hyp_len = 6 ref_len "
       "= 6)",
       "chrF2++|nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:2.6.0 = 84.1344"},
      {"characters, not bytes",
       {"北京大学 🙂 naïve (hi) -a- ..."},
       {"北京大學 🙃 naive (hi) -a- .."},
       {},
       {.word_order = 2},
       "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 51.6973 "
       "60.0/55.6/50.0/42.9 (BP = 1.000 ratio = 1.111 hyp_len = 10 ref_len "
       "= 9)",
       "chrF2++|nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:2.6.0 = 55.4611"},
  };
  return all;
}

}  // namespace

TEST_CASE("bleu: the text that sacreBLEU prints") {
  for (const Case& c : cases()) {
    CAPTURE(c.name);
    CHECK(corpus_bleu(c.hypotheses, c.references, c.bleu).text(4) == c.bleu_text);
    CHECK(corpus_chrf(c.hypotheses, c.references, c.chrf).text(4) == c.chrf_text);
  }
}

TEST_CASE("bleu: decimals, and the numbers behind the text") {
  const Case& c = cases()[0];
  const BleuScore score = corpus_bleu(c.hypotheses, c.references);
  CHECK(score.text() ==
        "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 43.2 "
        "80.0/53.8/36.4/22.2 (BP = 1.000 ratio = 1.000 hyp_len = 15 ref_len = "
        "15)");
  CHECK(score.hypothesis_length == 15);
  CHECK(score.precisions[1] == doctest::Approx(700.0 / 13).epsilon(1e-14));
  CHECK(corpus_chrf(c.hypotheses, c.references).text() ==
        "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0 = 58.0");
  // The order of the lines does not matter, and neither does their number: counts are summed over
  // the whole text.
  const Lines back_h(c.hypotheses.rbegin(), c.hypotheses.rend()),
      back_r(c.references.rbegin(), c.references.rend());
  CHECK(corpus_bleu(back_h, back_r).text(12) == score.text(12));
}

TEST_CASE("bleu: lines without their reference are refused") {
  const Lines two = {"a", "b"}, three = {"a", "b", "c"};
  for (const std::string& message :
       {error_of([&] { corpus_bleu(two, three); }), error_of([&] { corpus_chrf(two, three); })}) {
    CAPTURE(message);
    CHECK(has(message, "2 translations for 3 references"));
  }
  CHECK(has(error_of([&] { corpus_bleu(Lines{}, Lines{}); }), "[corpus_bleu] there is no line"));
  CHECK(has(error_of([&] { corpus_chrf(two, two, {.character_order = 0}); }),
            "[corpus_chrf] character order 0, word order 0"));
}

TEST_CASE("bleu: two files, with every way to end a line, and what is wrong with them") {
  TemporaryDirectory dir;
  const std::string unix =
      dir.write("unix", "The cat sat on the mat .\nThere is a dog in the garden .\n");
  const std::string dos =
      dir.write("dos", "The cat is sitting on the mat .\r\nA dog is in the garden .");
  const Case& c = cases()[0];
  app::TranslationScoreFlags flags{.width = 4};
  CHECK(app::score_translation(unix, dos, flags) == concat(c.bleu_text, "\n", c.chrf_text, "\n"));
  const std::string longer = dir.write("longer", "a\nb\n\n");
  const std::string message = error_of([&] { app::score_translation(unix, longer, flags); });
  CHECK(has(message, "unix has 2 lines, but "));
  CHECK(has(message, "longer has 3: "));
}

TEST_CASE("lower case: as Python's str.lower()") {
  CHECK(lower_case("HELLO, World 7") == "hello, world 7");
  CHECK(lower_case("ÄÖÜ ẞ ǅ Ÿ Ж Ⅷ Ⓐ K") == "äöü ß ǆ ÿ ж ⅷ ⓐ k");
  CHECK(lower_case("𐐀 İ 北京 🙂") == "𐐨 i̇ 北京 🙂");
  CHECK(lower_case("ΟΔΟΣ ΣΑΣ Σ ΑΣ. ΑΣ.Α") == "οδος σας σ ας. ασ.α");
  CHECK(lower_case("") == "");
}

TEST_CASE("unicode: code points there and back") {
  std::string text;
  for (char32_t c :
       {U'\0', U'a', U'\x7F', U'\x80', U'\x7FF', U'\x800', U'\xFFFD', U'\x10000', U'\x10FFFF'})
    append_utf8(text, c);
  CHECK(code_points(text) == std::u32string(U"\0a\x7F\x80\x7FF\x800\xFFFD\x10000\x10FFFF", 9));
  CHECK(text.substr(0, 5) == std::string("\0a\x7F\xC2\x80", 5));
}

TEST_CASE("ngrams: pieces of a line, counted as often as both lines have them") {
  const Units words = word_units("  a b\u00A0a\tb "), other = word_units("b a b c");
  REQUIRE(words.size() == 4);
  CHECK(words.ngram(1, 3) == "b a b");
  const NgramCounts pairs = count_ngrams(words, other, 2);
  CHECK(pairs.hypothesis == 3);
  CHECK(pairs.reference == 3);
  CHECK(pairs.shared == 2);  // "a b" once, "b a" once
  CHECK(count_ngrams(words, other, 5).hypothesis == 0);
  const Units characters = character_units(" n\u00E4h \u3000e");
  REQUIRE(characters.size() == 4);
  CHECK(characters.unit(1) == "\u00E4");
}

}  // namespace nine::tests::test_bleu
