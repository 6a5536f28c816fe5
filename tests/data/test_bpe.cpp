// Byte pair encoding, the 13a tokenisation and fairseq's dictionary: against checksums that
// tests/clients/bpe_reference.py made with subword-nmt 0.3.8, against plain re-implementations, and
// by properties. Needs no Python.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <tuple>

#include "core/random.h"
#include "data/bpe.h"
#include "data/bpe_learn.h"
#include "data/bpe_text.h"
#include "data/python_random.h"
#include "data/sample/sample.h"
#include "data/tokenize_13a.h"
#include "data/unicode.h"
#include "data/vocabulary.h"
#include "tests/support/corpus.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_bpe {
namespace {

using Strings = std::vector<std::string>;

// FNV-1a, 64 bits.
std::string checksum(std::string_view bytes) {
  uint64_t h = 14695981039346656037u;
  for (char c : bytes) h = (h ^ static_cast<uint8_t>(c)) * 1099511628211u;
  std::ostringstream out;
  out << std::hex << h;
  return out.str();
}

WordCounts counts_of(const std::string& text) {
  std::istringstream in(text);
  TextReader reader(in, "text", kCopiedText);
  WordCounts counts;
  count_bpe_words(reader, counts);
  return counts;
}

BpeCodes codes_of(const std::string& text, int64_t most = -1) {
  const TemporaryDirectory dir;
  return BpeCodes::read(dir.write("codes", text), most);
}

std::string cut(const BpeSegmenter& segmenter, const std::string& text) {
  BpeCache cache;
  std::string out;
  segmenter.segment(text, out, cache);
  return out;
}

std::string cut(const BpeSegmenter& segmenter, const std::string& text, double rate,
                uint64_t seed) {
  BpeDropout dropout{.rate = rate, .random = PythonRandom(seed)};
  std::string out;
  segmenter.segment(text, out, dropout);
  return out;
}

std::string undone(const std::string& text) {
  std::string out;
  undo_bpe(text, out);
  return out;
}

std::string learned(const std::string& text, BpeLearning how = {}) {
  return learn_bpe(counts_of(text), how).codes;
}

std::string run(const Strings& arguments, const std::string& input = {}) {
  const Outcome r = run_program("bpe", arguments, input);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  return r.out;
}

std::string failure(const Strings& arguments, const std::string& input, int code) {
  const Outcome r = run_program("bpe", arguments, input);
  CHECK(r.code == code);
  return r.err;
}

// A text of the repository's own: the sample language, some words glued together, and characters of
// several scripts.
std::string sample_text() {
  const SampleCorpus corpus = SampleLanguage().generate(1, "bpe", 3000);
  RandomStream random({.seed = 11});
  const Strings odd{"straße", "öl\u00a0fass", "日本語",         "x\u3000y", "😀😀",      "&apos;",
                    "a@@b",   "...",          "\u2028z\u2028z", "xxxxxxx",  "tab\ttab"};
  std::string text;
  for (const std::string& line : corpus.lines) {
    for (const char c : line) {
      const bool glue = c == ' ' && random.below(4) == 0;
      if (!glue) text += c;
    }
    if (random.below(5) == 0) {
      const std::string& word = odd[random.below(odd.size())];
      text += (random.below(3) == 0 ? "" : " ") + word;
    }
    text += random.below(20) == 0 ? "  \r\n" : "\n";
  }
  return text;
}

// Words of few letters, so that pairs overlap and counts are equal often.
std::string random_text(RandomStream& random, const Strings& letters, int words) {
  std::string text;
  for (int i = 0; i < words; ++i) {
    const size_t length = 1 + random.below(9);
    for (size_t k = 0; k < length; ++k) text += letters[random.below(letters.size())];
    text += random.below(6) == 0 ? "\n" : " ";
  }
  return text + "\n";
}

std::vector<Strings> words_as_symbols(const std::string& text) {
  std::vector<Strings> words;
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    Strings symbols;
    for (size_t i = 0; i < word.size(); i += utf8_length(word[i]))
      symbols.push_back(word.substr(i, utf8_length(word[i])));
    symbols.back() += "</w>";
    words.push_back(symbols);
  }
  return words;
}

void merge_everywhere(Strings& word, const std::string& left, const std::string& right) {
  for (size_t i = 0; i + 1 < word.size(); ++i) {
    if (word[i] != left || word[i + 1] != right) continue;
    word[i] += word[i + 1];
    word.erase(word.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
}

// The definition: all pairs counted anew for each merge.
std::string learned_plainly(const std::string& text, int64_t merges, int64_t min_frequency) {
  std::vector<Strings> words = words_as_symbols(text);
  std::string codes = "#version: 0.2\n";
  for (int64_t n = 0; n < merges; ++n) {
    std::map<std::pair<std::string, std::string>, int64_t> counts;
    for (const Strings& word : words)
      for (size_t i = 1; i < word.size(); ++i) ++counts[{word[i - 1], word[i]}];
    std::pair<std::string, std::string> best;
    int64_t most = 0;
    for (const auto& [pair, count] : counts)
      if (count >= most) std::tie(best, most) = std::tie(pair, count);
    if (most < min_frequency) break;
    codes += best.first + " " + best.second + "\n";
    for (Strings& word : words) merge_everywhere(word, best.first, best.second);
  }
  return codes;
}

// The definition of applying: each merge of the codes in its order. It equals taking the best pair
// each time when a later merge cannot make an earlier one possible again, as in learned codes
// without two ways to one symbol.
std::string cut_plainly(const std::string& codes, const std::string& text) {
  std::vector<Strings> words = words_as_symbols(text);
  std::istringstream lines(codes);
  std::string left, right;
  std::getline(lines, left);
  while (lines >> left >> right)
    for (Strings& word : words) merge_everywhere(word, left, right);
  std::string out;
  for (const Strings& word : words) {
    for (size_t i = 0; i < word.size(); ++i)
      out += i + 1 < word.size() ? word[i] + "@@ " : word[i].substr(0, word[i].size() - 4) + " ";
  }
  return out;
}

std::string with_single_spaces(const std::string& text) {
  std::istringstream in(text);
  std::string out;
  for (std::string word; in >> word;) out += word + " ";
  return out;
}

}  // namespace

// --- against subword-nmt

TEST_CASE(
    "bpe: codes, segmentation, vocabulary and dropout of the generated text are subword-nmt's") {
  const TemporaryDirectory dir;
  const std::string text = sample_text(), input = dir.write("text", text), codes = dir / "codes",
                    vocabulary = dir / "vocab";
  if (const char* wanted = std::getenv("NINE_BPE_TEXT"))
    put(wanted, text);  // for tests/clients/bpe_reference.py
  CHECK(checksum(text) == "d7c7a7c41b3effe5");
  run({"learn", "--merges", "1500", "--input", input, "--output", codes, "--write-vocabulary",
       vocabulary});
  CHECK(checksum(slurp(codes)) == "fff8c8be37cfcbf7");
  CHECK(checksum(slurp(vocabulary)) == "6f0066aa42d35c69");
  CHECK(checksum(run({"learn", "--merges", "400", "--total-symbols", "--min-frequency", "5",
                      "--input", input})) == "8ef8d0696e1abe1c");
  const Strings apply{"apply", "--codes", codes, "--input", input};
  const auto with = [&](Strings more) {
    more.insert(more.begin(), apply.begin(), apply.end());
    return checksum(run(more));
  };
  CHECK(with({}) == "a180f6e06231ac0f");
  CHECK(with({"--num-workers", "3"}) == "a180f6e06231ac0f");
  CHECK(with({"--merges", "300"}) == "9ffeb9fe6e940321");
  CHECK(with({"--vocabulary", vocabulary, "--vocabulary-threshold", "30"}) == "c63331c2500a8d55");
  CHECK(with({"--glossaries", "old", "b[ao]", "ß"}) == "1eda08a273743a73");
  CHECK(with({"--glossaries", "\\w+ß\\w*", "(?<=[aä]).u", "\\d+", "^[^a-z]{1,2}"}) ==
        "ecb30638cf2e082b");
  CHECK(with({"--dropout", "0.1", "--seed", "7"}) == "740509472bc6eec1");
  CHECK(with({"--separator", "~"}) == "9e5acd61597310d");
}

TEST_CASE(
    "bpe: 10,000 merges of Multi30k and IWSLT 2014 are subword-nmt's, with any number of threads" *
    doctest::test_suite("needs DATA")) {
  struct Case {
    std::string source, target, codes, source_cut, target_cut;
  };
  for (const Case& c : {Case{"multi30k/train.de", "multi30k/train.en", "32968687019d9c6f",
                             "4f52ab0abdad877a", "d48846d4455b06df"},
                        Case{"iwslt14/valid.de", "iwslt14/valid.en", "56079cf783c13c20",
                             "1a8d4caa7638a352", "fdff73e15f974f05"}}) {
    const std::string source = corpus_file(c.source), target = corpus_file(c.target);
    if (source.empty() || target.empty()) continue;
    const TemporaryDirectory dir;
    const std::string codes = dir / "codes";
    run({"learn", "--merges", "10000", "--input", source, target, "--output", codes});
    CHECK(checksum(slurp(codes)) == c.codes);
    for (const char* workers : {"1", "2"}) {
      run({"apply", "--codes", codes, "--input", source, target, "--output", dir / "de", dir / "en",
           "--num-workers", workers});
      CHECK(checksum(slurp(dir / "de")) == c.source_cut);
      CHECK(checksum(slurp(dir / "en")) == c.target_cut);
    }
  }
}

TEST_CASE("bpe: Python's random numbers") {
  PythonRandom seven(7), large((uint64_t{1} << 40) + 5), zero(0);
  CHECK(seven.uniform() == 0.32383276483316237);
  CHECK(seven.uniform() == 0.15084917392450192);
  CHECK(zero.uniform() == 0.8444218515250481);
  CHECK(large.uniform() == 0.5043802970418443);
}

// --- learning

TEST_CASE("bpe learn: as counting all pairs anew for each merge") {
  RandomStream random({.seed = 3});
  for (int i = 0; i < 60; ++i) {
    const Strings letters = i % 3 == 0   ? Strings{"a", "b"}
                            : i % 3 == 1 ? Strings{"a", "b", "c", "d"}
                                         : Strings{"ä", "x", "日", "y", "😀"};
    const std::string text = random_text(random, letters, 20 + static_cast<int>(random.below(200)));
    const auto merges = static_cast<int64_t>(random.below(60)),
               least = 1 + static_cast<int64_t>(random.below(3));
    CAPTURE(text);
    CHECK(learned(text, {.merges = merges, .min_frequency = least}) ==
          learned_plainly(text, merges, least));
  }
}

TEST_CASE(
    "bpe learn: among equal counts the greatest pair, by code point; a pair must occur twice") {
  CHECK(learned("ab ab ac ac\n", {.merges = 1}) == "#version: 0.2\na c</w>\n");
  CHECK(learned("aé aé az az\n", {.merges = 1}) == "#version: 0.2\na é</w>\n");
  CHECK(learned("ab cd\n") == "#version: 0.2\n");
  CHECK(learned("ab cd\n", {.min_frequency = 1}) == "#version: 0.2\nc d</w>\na b</w>\n");
  CHECK(learn_bpe(counts_of("ab cd\n"), {}).ran_out);
}

TEST_CASE("bpe learn: --total-symbols takes off the characters, --dict-input counts for us") {
  const LearnedBpe total =
      learn_bpe(counts_of("abab abab ba\n"), {.merges = 5, .total_symbols = true});
  CHECK(total.inner_characters == 2);  // a, b
  CHECK(total.final_characters == 2);  // a</w>, b</w>
  CHECK(total.merges == 1);
  CHECK(run({"learn", "--merges", "3", "--dict-input"}, "abc 5\nbc 2\nabc 1\n") ==
        run({"learn", "--merges", "3"}, "abc abc abc abc abc abc bc bc\n"));
  CHECK(has(failure({"learn", "--dict-input"}, "abc 5\nbc\n", 1),
            "standard input, line 2: 'bc' is not `word count`"));
  CHECK(has(failure({"learn", "--dict-input"}, "abc -5\n", 1), "line 1"));
}

TEST_CASE("bpe learn: several inputs count as one; each gets its vocabulary") {
  const TemporaryDirectory dir;
  const std::string a = dir.write("a", "low lower low"), b = dir.write("b", "newer newer wide\n");
  const std::string codes = run({"learn", "--merges", "4", "--input", a, b, "--write-vocabulary",
                                 dir / "va", dir / "vb", "--output", dir / "codes"});
  CHECK(slurp(dir / "codes") == learned("low lower low\nnewer newer wide\n", {.merges = 4}));
  for (const std::string name : {"a", "b"}) {
    const std::string subwords = run({"apply", "--codes", dir / "codes", "--input", dir / name});
    CHECK(slurp(dir / ("v" + name)) == run({"vocab"}, subwords));
  }
}

// --- applying and undoing

TEST_CASE("bpe apply: as merging in the order of the codes") {
  RandomStream random({.seed = 4});
  for (int i = 0; i < 40; ++i) {
    const Strings letters = i % 2 == 0 ? Strings{"a", "b", "c"} : Strings{"ä", "x", "日", "y"};
    const std::string text = random_text(random, letters, 150),
                      other = random_text(random, letters, 50);
    const std::string codes = learned(text, {.merges = 30});
    std::set<std::string> symbols;
    std::istringstream lines(codes);
    std::string left, right;
    std::getline(lines, left);
    bool one_way = true;
    while (lines >> left >> right) one_way = symbols.insert(left + right).second && one_way;
    if (!one_way) continue;
    CHECK(with_single_spaces(cut(BpeSegmenter(codes_of(codes)), other)) ==
          cut_plainly(codes, other));
  }
}

TEST_CASE("bpe: undo after apply is the text, whatever the options") {
  RandomStream random({.seed = 5});
  for (int i = 0; i < 40; ++i) {
    const Strings letters =
        i % 2 == 0 ? Strings{"a", "b", "@"} : Strings{"ä", "\u00a0", "日", "\u2028", "y"};
    std::string text = random_text(random, letters, 100);
    for (size_t at = 0; (at = text.find("@@")) != std::string::npos;)
      text.erase(at, 1);  // what undo cannot tell from a separator
    for (size_t at = 0; (at = text.find("@ ")) != std::string::npos;) text.erase(at, 1);
    for (size_t at = 0; (at = text.find("@\n")) != std::string::npos;) text.erase(at, 1);
    for (size_t at = 0; (at = text.find("  ")) != std::string::npos;) text.erase(at, 1);
    CAPTURE(text);
    const BpeSegmenter segmenter(
        codes_of(learned(text, {.merges = static_cast<int64_t>(random.below(40))})));
    CHECK(undone(cut(segmenter, text)) == text);
    CHECK(undone(cut(segmenter, text, 0.3, 9)) == text);
    CHECK(undone(text) == text);
  }
}

TEST_CASE("bpe: cutting what was cut changes nothing but for words that are cut at their end") {
  // Subwords of one character and whole words come out as they went in; others may be cut anew:
  // "lo@@" ends a word now.
  const BpeSegmenter none(codes_of("#version: 0.2\n"));
  CHECK(cut(none, "a b c\n") == "a b c\n");
  const std::string text = "low low lower\n";
  const BpeSegmenter all(codes_of(learned(text, {.min_frequency = 1})));
  CHECK(cut(all, text) == text);
  CHECK(cut(all, cut(all, text)) == text);
}

TEST_CASE(
    "bpe apply: dropout 0 is no dropout, dropout 1 leaves characters, the seed decides between") {
  const std::string text = sample_text().substr(0, 20000);
  const BpeSegmenter segmenter(codes_of(learned(text, {.merges = 200}))),
      none(codes_of("#version: 0.2\n"));
  CHECK(cut(segmenter, text, 0, 1) == cut(segmenter, text));
  CHECK(cut(segmenter, text, 1, 1) == cut(none, text));
  CHECK(cut(segmenter, text, 0.5, 1) == cut(segmenter, text, 0.5, 1));
  CHECK(cut(segmenter, text, 0.5, 1) != cut(segmenter, text, 0.5, 2));
  const auto pieces = [](const std::string& t) { return std::count(t.begin(), t.end(), ' '); };
  CHECK(pieces(cut(segmenter, text, 0.1, 1)) > pieces(cut(segmenter, text)));
}

TEST_CASE("bpe apply: only the space separates, ends of lines stay") {
  const BpeSegmenter none(codes_of("#version: 0.2\n"));
  const auto same = [&](const std::string& text) { CHECK(cut(none, text) == text); };
  for (const char* text : {"", "\n", "\n\n", " \n", "   ", "\r\n", "a\r\n", " a \r\n", "a b",
                           "a\rb\n", "a\r\r\n", "\n a\n"})
    same(text);
  CHECK(cut(none, "a  b   c \n") == "a b c \n");
  CHECK(cut(none, "a\u00a0b\n") == "a@@ \u00a0@@ b\n");
  for (const char* separator :
       {"\t", "\v", "\f", "\x1c", "\u0085", "\u2028", "\u2029", "\u3000", "\u200b", "\ufeff"})
    CHECK(cut(none, concat("a", separator, "b")) == concat("a@@ ", separator, "@@ b"));
  CHECK(cut(none, std::string("a\0b", 3)) == std::string("a@@ \0@@ b", 9));
}

TEST_CASE("bpe: a tab is a character, as in subword-nmt, but no word of a dict.txt has one") {
  CHECK(learned("a\tb a\tb\n", {.merges = 1}) == "#version: 0.2\na \t\n");
  const std::string text = "a\tb c\na\tb\n";
  CHECK(run({"vocab"}, text) == "a\tb 2\nc 1\n");
  CHECK(run({"vocab", "--format", "fairseq"}, text) == "a 2\nb 2\nc 1\n");
}

TEST_CASE("bpe apply: lone separators and words of one character") {
  const BpeSegmenter none(codes_of("#version: 0.2\n")), at(codes_of("#version: 0.2\n@ @</w>\n"));
  CHECK(cut(none, "@@ a @@\n") == "@@@ @ a @@@ @\n");
  CHECK(undone("@@@ @ a @@@ @\n") == "@@ a @@\n");
  CHECK(cut(at, "@@ a @@\n") == "@@ a @@\n");
  CHECK(undone("@@ a @@\n") == "a \n");  // a word that ends in the separator is lost: documented
  CHECK(undone("a@@\nb@@ \nc@@ d@@ e\r\nf@@g @@@@ h\n") == "a\nb\ncde\r\nf@@g @@h\n");
  CHECK(error_of([] {
          std::string out;
          undo_bpe("a", out, "");
        }).find("separator is empty") != std::string::npos);
  SegmentOptions filtered;
  filtered.vocabulary.add("b");
  CHECK(cut(BpeSegmenter(codes_of("#version: 0.2\n"), filtered), "ä b\n") == "ä b\n");
}

TEST_CASE("bpe apply: a vocabulary splits again what it does not hold") {
  const std::string codes = "#version: 0.2\na b\nab c\nabc d</w>\n";
  const auto with = [&](const Strings& vocabulary) {
    SegmentOptions options;
    for (const std::string& word : vocabulary) options.vocabulary.add(word);
    return cut(BpeSegmenter(codes_of(codes), options), "abcd");
  };
  CHECK(with({}) == "abcd");
  CHECK(with({"abcd"}) == "abcd");
  CHECK(with({"abc@@", "d"}) == "abc@@ d");
  CHECK(with({"ab@@"}) == "ab@@ c@@ d");
  CHECK(with({"x"}) == "a@@ b@@ c@@ d");
  // Text that spells out the end of a word: subword-nmt does not come to an end here.
  SegmentOptions options;
  options.vocabulary.add("x");
  const std::string literal = "#version: 0.2\n< /\nw >\n</ w>\nw ></w>\n</ w></w>\n";
  CHECK(undone(cut(BpeSegmenter(codes_of(literal), options), "</w> a</w>\n")) == "</w> a</w>\n");
}

TEST_CASE("bpe apply: codes of version 0.1, the first codes only, repeated codes") {
  CHECK(cut(BpeSegmenter(codes_of("a b\nab </w>\n")), "ab abc\n") == "ab ab@@ c\n");
  CHECK(cut(BpeSegmenter(codes_of("#version: 0.2\na b\nab c</w>\n", 1)), "abc\n") == "ab@@ c\n");
  CHECK(cut(BpeSegmenter(codes_of("#version: 0.2.0\nb c\na b\nb c\n")), "abcd\n") ==
        "a@@ bc@@ d\n");
  CHECK(has(error_of([] { codes_of("#version: 0.3\n"); }), "version '0.3'"));
  CHECK(has(error_of([] { codes_of("#version: 0.2\na b\n\nc d\n"); }), "line 3"));
  CHECK(has(error_of([] { codes_of("#version: 0.2\na b c\n"); }), "not a merge"));
}

TEST_CASE("bpe apply: fastBPE's codes, where the end of a word is no symbol of its own") {
  // "the" needs h + e</w>, which codes of version 0.1 would not have.
  const BpeSegmenter fast(codes_of("h e</w> 12\nt he</w> 8\na b 5\n"));
  CHECK(cut(fast, "the he abc\n") == "the he ab@@ c\n");
  CHECK(cut(BpeSegmenter(codes_of("#version: 0.2\nh e</w>\nt he</w>\na b\n")), "the he abc\n") ==
        cut(fast, "the he abc\n"));
  CHECK(has(error_of([] { codes_of("h e</w> 12\nt he</w>\n"); }),
            "line 2: 't he</w>' is not a merge: two symbols separated by a space, and in codes "
            "of fastBPE, as here, also their count"));
  CHECK(has(error_of([] { codes_of("a b\na b 3\n"); }), "line 2: 'a b 3' is not a merge"));
  CHECK(has(error_of([] { codes_of("#version: 0.2\na b 3\n"); }), "line 2: 'a b 3' is not"));
  CHECK(error_of([] { codes_of(std::string(9000, 'x') + "\n"); }).size() < 200);
}

TEST_CASE("bpe apply: a text that is cut already gets a warning with a count") {
  CHECK(count_joints("a@@ b@@ c @@\n@@ d@e@@\n") == 3);
  CHECK(count_joints("a b\n") == 0);
  CHECK(count_joints("@@@ a") == 0);
  const TemporaryDirectory dir;
  const std::string codes = dir.write("codes", "#version: 0.2\na b</w>\n");
  for (const Strings& more : std::vector<Strings>{{}, {"--flush"}, {"--dropout", "0.5"}}) {
    Strings arguments{"apply", "--codes", codes};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const std::string twice = run_program("bpe", arguments, "foo@@ ball\na@@ ab\n").err;
    CHECK_MESSAGE(has(twice, "warning: 2 words of the input end with @@"), twice);
    CHECK(run_program("bpe", arguments, "foo ball@@\n@@\n").err.empty());
  }
}

TEST_CASE("bpe: a vocabulary of words that are not cut, and learning from subwords, get warnings") {
  const TemporaryDirectory dir;
  const std::string codes = dir.write("codes", "#version: 0.2\na b\n"),
                    words = dir.write("words", "abc 5\nd 1\n"),
                    subwords = dir.write("subwords", "ab@@ 5\nc 5\n");
  const auto apply = [&](const std::string& vocabulary) {
    return run_program("bpe", {"apply", "--codes", codes, "--vocabulary", vocabulary}, "abc\n");
  };
  CHECK(has(apply(words).err, "warning: no subword of the vocabulary " + words + " ends with @@"));
  CHECK(apply(words).code == 0);
  CHECK(apply(subwords).err.empty());
  const auto learn = [&](const Strings& options, const std::string& text) {
    return run_program(
               "bpe", joined({"learn", "--merges", "1", "--input", dir.write("in", text)}, options))
        .err;
  };
  CHECK(has(learn({}, "ab@@ c d\nab@@ c\n"), "warning: 2 words of the input end with @@"));
  CHECK(has(learn({"--dict-input"}, "ab@@ 5\nc 5\n"), "warning: 5 words of the input end with @@"));
  CHECK(!has(learn({}, "abab c d\n"), "warning"));
}

TEST_CASE("bpe: a byte-order mark before codes or counts belongs to no word") {
  const TemporaryDirectory dir;
  const std::string mark = "\xEF\xBB\xBF", codes = "#version: 0.2\na b\nab c</w>\n";
  CHECK(cut(BpeSegmenter(codes_of(mark + codes)), "abc ab\n") ==
        cut(BpeSegmenter(codes_of(codes)), "abc ab\n"));
  const StringTable kept = read_bpe_vocabulary(dir.write("counts", mark + "abc 5\nd 1\n"), 2);
  REQUIRE(kept.size() == 1);
  CHECK(kept.text(0) == "abc");
  const auto learned_from = [&](const std::string& counts) {
    return run_program("bpe", {"learn", "--dict-input", "--merges", "2", "--input",
                               dir.write("in", counts), "--output", "-"})
        .out;
  };
  CHECK(learned_from(mark + "abab 5\nab 3\n") == learned_from("abab 5\nab 3\n"));
}

TEST_CASE("bpe apply: what is no file of codes is named") {
  const auto refusal = [](const std::string& text) { return error_of([&] { codes_of(text); }); };
  CHECK(has(refusal("#version: 0.2\nĠ t\nh e\n"), "has merges of bytes, as Hugging Face's"));
  CHECK(has(refusal("▁ t\nh e\n"), "has merges of SentencePiece: a word begins with ▁"));
  // Ġ is a letter too, in codes where words end.
  CHECK(refusal("#version: 0.2\nĠ u\nh e</w>\n").empty());
  for (const char* json : {"{\"version\": \"1.0\"}\n", "{\n    \"version\": \"1.0\"\n}\n",
                           "\xEF\xBB\xBF{\n\n\"version\"\n:\n1}", "[\n  {\n    \"a\": 2\n  }\n]\n"})
    CHECK_MESSAGE(has(refusal(json), "is JSON, as Hugging Face's tokenizer.json"), json);
  const TemporaryDirectory dir;
  const auto vocabulary = [&](const std::string& text) {
    return error_of([&] { read_bpe_vocabulary(dir.write("list", text), 2); });
  };
  CHECK(vocabulary("a 3\nb: 2\n").empty());
  CHECK(has(vocabulary("a 1\nb 1\n"), "has no subword that occurs 2 times or more"));
  CHECK(has(vocabulary(""), "has no subword that occurs 2 times or more"));
  CHECK(has(refusal("#version: 0.2\nl o\n#version: 0.2\n"), "are these two files of codes joined"));
  CHECK(has(refusal(std::string("l o\0\n", 5)), "is the file damaged"));
  CHECK(has(vocabulary("a: 0\nb: 1\n"), "is Marian's vocabulary: its numbers are ids"));
  CHECK(has(vocabulary("<eps> 0\na 1\nb 2\n"), "Kaldi's words.txt: its numbers are ids"));
  for (const char* json :
       {"{\"a\": 0}", "{\n    \"a\": 0,\n    \"b\": 1\n}\n", "\xEF\xBB\xBF{\n\"a\": 0}"})
    CHECK_MESSAGE(
        has(vocabulary(json), "is JSON, as Hugging Face's vocab.json: its numbers are ids"), json);
}

TEST_CASE("bpe apply: glossaries stay whole") {
  const auto with = [](const Strings& glossaries, const std::string& text) {
    return cut(BpeSegmenter(codes_of("#version: 0.2\n"), {.glossaries = Glossaries(glossaries)}),
               text);
  };
  CHECK(with({"USA"}, "1934USABUSA USA\n") == "1@@ 9@@ 3@@ 4@@ USA@@ B@@ USA USA\n");
  CHECK(with({"<\\w*>", "straße"}, "<de>ab <x> xstraße") == "<de>@@ a@@ b <x> x@@ straße");
  CHECK(with({"ä.ü"}, "xäöü") == "x@@ äöü");
  // As Python's, these know all of Unicode.
  CHECK(with({"\\w+-", "\\d+"}, "größe-x ٣a") == "größe-@@ x ٣@@ a");
  CHECK(with({"(?<=x)a"}, "axab") == "a@@ x@@ a@@ b");
  CHECK(has(error_of([&] { with({"(a"}, "a"); }),
            "the glossary '(a' is not a regular expression: missing closing parenthesis, after "
            "character 2;"));
  CHECK(has(error_of([&] { with({"äö[b-a]"}, "a"); }), "after character 5;"));
  CHECK(has(error_of([&] { with({"a)|(b"}, "a"); }), "not a regular expression"));
  // Also where only some words, or some places in them, have such a match.
  for (const char* pattern : {"a*", "(?=a)", "\\b", "^", "(?<=x)", "foo|(?=a)"})
    CHECK_MESSAGE(has(error_of([&] { with({pattern}, "b"); }), "matches the empty text"), pattern);
  CHECK(has(error_of([&] { with({"a+"}, std::string(5000, 'a')); }), "too long"));
}

TEST_CASE("bpe apply: a glossary that would search without end is an error that names it") {
  const auto isolated = [](const std::string& pattern, const std::string& word) {
    return Glossaries({pattern}).isolate(word);
  };
  const std::string word(60, 'a');
  CHECK(isolated("(a+)+b", word) == Strings{word});
  CHECK(isolated("(a+)+b", word + "b") == Strings{word + "b"});
  CHECK(has(error_of([&] { isolated("(a+)+b", word + "bc"); }), "needs more than"));
  for (const char* pattern : {"(a+)+[bc]", "(a|a)*[de]", "(?:a*)*[^a][xy]"}) {
    const std::string said = error_of([&] { isolated(pattern, word + "!"); });
    CHECK_MESSAGE(has(said, concat("the glossary '", pattern, "' needs more than 1000000 steps")),
                  said);
    CHECK_MESSAGE(has(said, "for the word 'aaaa"), said);
    CHECK(has(error_of([&] { Glossaries({pattern}).holds(word + "!"); }), "steps"));
  }
  CHECK(has(error_of([&] { isolated("(?R)a|b", word); }), "cannot be looked for in"));
}

// What glossaries meant when std::regex searched, which had ECMAScript's syntax.
TEST_CASE("bpe apply: glossaries cut as std::regex does") {
  const auto expected = [](const std::string& pattern, const std::string& word) {
    if (std::smatch all; std::regex_search(word, all, std::regex("^" + pattern + "$"),
                                           std::regex_constants::match_continuous))
      return Strings{word};
    Strings parts;
    size_t done = 0;
    const std::regex inside(pattern);
    for (std::sregex_iterator match(word.begin(), word.end(), inside), last; match != last;
         ++match) {
      const auto begin = static_cast<size_t>(match->position());
      if (match->length() == 0) continue;
      if (begin > done) parts.push_back(word.substr(done, begin - done));
      parts.push_back(match->str());
      done = begin + static_cast<size_t>(match->length());
    }
    if (done < word.size()) parts.push_back(word.substr(done));
    return parts;
  };
  RandomStream random({.seed = 63});
  int cut = 0;
  for (const char* pattern : {"a",
                              "ab|b",
                              "a|ab",
                              "^a",
                              "b$",
                              "^a|b$",
                              "[a-b]+1",
                              "(a|b)1?",
                              "a+?b",
                              "a{2,3}",
                              "\\w1",
                              "\\d+",
                              "\\ba",
                              "a(?=b)",
                              "a(?!b)",
                              "(a)\\1",
                              ".1",
                              "[^a]+",
                              "(?=a)b?1|(?:ab)+",
                              "-\\.",
                              "\\W"})
    for (int i = 0; i < 300; ++i) {
      std::string word;
      while (word.empty() || random.below(6) > 0) word += "ab1-."[random.below(5)];
      const Strings parts = Glossaries({pattern}).isolate(word);
      CHECK_MESSAGE(parts == expected(pattern, word), pattern, " in ", word);
      CHECK(Glossaries({pattern}).holds(word) == std::regex_match(word, std::regex(pattern)));
      cut += parts.size() > 1 ? 1 : 0;
    }
  CHECK(cut > 1000);
}

// --- the program

TEST_CASE("bpe learn: an input that is named twice is said") {
  const TemporaryDirectory dir;
  const std::string text = dir.write("text", "a a\n"), copy = dir.write("copy", "a a\n"),
                    codes = dir / "codes";
  const auto notes = [&](const std::string& second) {
    return run_program("bpe", {"learn", "--input", text, second, "--output", codes}).err;
  };
  CHECK(has(notes(dir / "./text"), "text more than once: its words count as often"));
  CHECK(!has(notes(copy), "more than once"));
}

TEST_CASE("bpe: what cannot be read is said") {
  CHECK(has(failure({"learn"}, "ok\nbad \xff\n", 1),
            "standard input, line 2, byte 5: 0xff is not valid UTF-8"));
  CHECK(has(failure({"vocab"}, "surrogate \xed\xa0\x80\n", 1), "line 1, byte 11"));
  CHECK(has(failure({"undo", "--input", "/nonexistent"}, "", 1), "/nonexistent does not exist"));
  CHECK(has(failure({"undo", "--input", "/tmp"}, "", 1), "is a directory"));
  CHECK(has(failure({"apply"}, "", 2), "--codes or --tokenizer is required"));
  CHECK(has(failure({"cut"}, "", 2), "unknown command 'cut'"));
  CHECK(has(failure({}, "", 2), "a command is missing"));
  CHECK(has(failure({"learn", "--write-vocabulary", "v"}, "a", 2), "standard input"));
  CHECK(has(failure({"undo", "--input", "a", "b"}, "", 2), "name one for each"));
  const TemporaryDirectory dir;
  const std::string text = dir.write("text", "a a\n"), other = dir / "other";
  CHECK(has(failure({"undo", "--input", text, "--output", text}, "", 2),
            "is also --input and would be lost"));
  CHECK(has(failure({"apply", "--codes", text, "--output", text}, "", 2), "is also --codes"));
  CHECK(has(
      failure({"apply", "--codes", text, "--input", text, text, "--output", other, other}, "", 2),
      "one of the two would be lost"));
  CHECK(has(
      failure({"learn", "--input", text, "--output", other, "--write-vocabulary", other}, "", 2),
      "one of the two would be lost"));
  CHECK(has(failure({"learn", "--input", text, "--output", "-", "--write-vocabulary", "-"}, "", 2),
            "would mix on standard output"));
  CHECK(has(failure({"apply", "--codes", text, "--seed", "5"}, "", 2), "--seed is for --dropout"));
  CHECK(slurp(text) == "a a\n");
  // Counts that no number of 64 bits holds.
  const std::string most = "low@@ 9223372036854775807\n",
                    codes = dir.write("codes", "#version: 0.2\nl o\nlo w\n");
  CHECK(has(failure({"apply", "--codes", codes, "--vocabulary",
                     dir.write("large", most + "low@@ 1\n"), "--vocabulary-threshold", "1"},
                    "lower\n", 1),
            "the counts of 'low@@' add up to more than"));
  CHECK(has(failure({"learn", "--dict-input"}, most, 1), "more than can be counted"));
  CHECK(has(run({"learn", "--input", text, "--write-vocabulary", other}),
            "#version: 0.2"));  // the codes on standard output
  CHECK(slurp(other) == "a 2\n");
  CHECK(has(run({"--help"}), "bpe learn"));
}

TEST_CASE("bpe: empty text and text without pairs make empty codes, which cut into characters") {
  const TemporaryDirectory dir;
  CHECK(run({"learn"}) == "#version: 0.2\n");
  CHECK(run({"learn"}, "a b c\n") == "#version: 0.2\n");
  CHECK(run({"learn", "--total-symbols"}, "a b c\n") == "#version: 0.2\n");
  dir.write("codes", "#version: 0.2\n");
  CHECK(run({"apply", "--codes", dir / "codes"}, "").empty());
  CHECK(run({"apply", "--codes", dir / "codes"}, "ab c\n") == "a@@ b c\n");
  CHECK(run({"undo"}).empty());
  CHECK(run({"vocab"}).empty());
}

TEST_CASE(
    "bpe vocab: by count, ties in order of appearance or, for fairseq, of code points; one for all "
    "inputs or one each") {
  const TemporaryDirectory dir;
  const std::string a = dir.write("a", "b a b é\n"), b = dir.write("b", "a a c\n");
  CHECK(run({"vocab"}, "b a a b é c\n") == "b 2\na 2\né 1\nc 1\n");
  CHECK(run({"vocab", "--format", "fairseq"}, "b a a b é c </s>\n") == "a 2\nb 2\nc 1\né 1\n");
  CHECK(run({"vocab", "--format", "fairseq"},
            "\xEF\xBB\xBF"
            "a b\r\na\tc <s> <pad>\n") == "a 2\nb 1\nc 1\n");
  CHECK(run({"vocab"},
            "\xEF\xBB\xBF"
            "a b\n") ==
        "\xEF\xBB\xBF"
        "a 1\nb 1\n");
  CHECK(run({"vocab", "--input", a, b}) == "a 3\nb 2\né 1\nc 1\n");
  run({"vocab", "--input", a, b, "--output", dir / "va", dir / "vb"});
  CHECK(slurp(dir / "va") == "b 2\na 1\né 1\n");
  CHECK(slurp(dir / "vb") == "a 2\nc 1\n");
}

TEST_CASE("bpe vocab --format fairseq: the dict.txt that lm_train and mt_train build of the text") {
  const TemporaryDirectory dir;
  // A byte-order mark at the start and one inside, tabs, CRLF, an empty line, spaces of other
  // kinds.
  const std::string text = dir.write("text",
                                     "\xEF\xBB\xBF"
                                     "b a\ta\r\n\r\nc\xC2\xA0"
                                     "c  \xEF\xBB\xBF"
                                     "b a\xE2\x80\xA8"
                                     "b </s> <unk>\na b");
  const std::string counted = run({"vocab", "--format", "fairseq", "--input", text});
  const auto built = [&](const std::string& program, const Strings& texts, const char* file) {
    Strings all = texts;
    for (const std::string& o : Strings{"--hidden", "4", "--layers", "1", "--after", "1u", "--run",
                                        dir / program, "--max-unknown", "1"})
      all.push_back(o);
    const Outcome r = run_program(program, all);
    REQUIRE_MESSAGE(r.code == 0, r.err);
    return slurp(dir.path() / program / "checkpoints" / "best" / file);
  };
  CHECK(counted ==
        built("lm_train", {"--train", text, "--embed", "4", "--batch", "1"}, "dict.txt"));
  CHECK(counted == built("mt_train", {"--src", text, "--tgt", text, "--ffn", "4", "--heads", "1"},
                         "tgt.dict.txt"));
  // What the programs refuse is refused.
  for (const std::string& bad : {dir.write("nul", std::string("a\0b\n", 4)),
                                 dir.write("cr", "a\rb\n"), dir.write("empty", "")}) {
    const Outcome r = run_program("bpe", {"vocab", "--format", "fairseq", "--input", bad});
    CHECK(r.code == 1);
    CHECK_MESSAGE(has(run_program("lm_train", {"--train", bad, "--run", dir / "no"}).err,
                      r.err.substr(r.err.find(':'))),
                  r.err);
  }
}

TEST_CASE("bpe: blocks and parts of a long text leave no seam" * doctest::test_suite("check")) {
  const TemporaryDirectory dir;
  std::string text;
  while (text.size() < 6000000) text += sample_text();
  text += std::string(4500000, 'x');  // a line longer than a block
  const std::string codes = dir.write("codes", "#version: 0.2\nt h\nth e</w>\n"),
                    input = dir.write("text", text);
  const std::string whole =
      cut(BpeSegmenter(codes_of(slurp(codes))), text.substr(0, text.size() - 4500000));
  const std::string out = run({"apply", "--codes", codes, "--input", input, "--num-workers", "2"});
  CHECK(out.substr(0, whole.size()) == whole);
  CHECK(out.size() == whole.size() + 4 * 4500000 - 3);
}

// --- 13a

TEST_CASE("bpe: parts come out in order, on any number of threads; an error keeps what is before") {
  const BpeSegmenter segmenter(codes_of("#version: 0.2\nt h\nth e</w>\n"));
  std::string text;
  while (text.size() < 5000000) text += sample_text();  // more parts than may wait to be written
  const std::string expected = cut(segmenter, text);
  struct Full : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  for (const int count : {1, 2, 3}) {
    CAPTURE(count);
    const Restore restore;
    set_threads(count);
    const auto cut_in_parts = [&](const std::string& input, std::string& out, size_t most) {
      std::istringstream in(input);
      TextReader reader(in, "text", kCopiedText);
      segment_text(segmenter, reader, [&](std::string_view part) {
        if (out.size() > most) throw Full("no room");
        out += part;
      });
    };
    std::string out;
    cut_in_parts(text, out, text.size() * 10);
    CHECK(out == expected);
    out.clear();
    CHECK_THROWS_WITH_AS(cut_in_parts(text + "\xff\n" + text, out, text.size() * 10),
                         doctest::Contains("0xff is not valid UTF-8"), Error);
    CHECK(out.size() > expected.size() / 2);
    CHECK(expected.starts_with(out));
    out.clear();
    CHECK_THROWS_AS(cut_in_parts(text, out, 100000), Full);
    CHECK(out == expected.substr(0, out.size()));
    // Nor is the rest read, of which there may be no end.
    std::string all;
    for (int copies = 0; copies < 8; ++copies) all += text;
    std::istringstream in(all);
    TextReader reader(in, "text", kCopiedText);
    CHECK_THROWS_AS(segment_text(segmenter, reader, [](std::string_view) { throw Full("now"); }),
                    Full);
    in.clear();
    CHECK(in.tellg() < static_cast<std::streamoff>(all.size() / 2));
  }
}

TEST_CASE("13a: as sacreBLEU 2.6.0") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"Hello, world!", "Hello , world !"},
      {"", ""},
      {"It costs 1,234.50, or 5.", "It costs 1,234.50 , or 5 ."},
      {"a.b .5 5. ,x x, 3-4 x-y -3", "a . b . 5 5 . , x x , 3 - 4 x-y -3"},
      {"&quot;A&amp;lt;B&quot; &gt;&apos;", "\" A < B \" > & apos ;"},
      {"<skipped>x <skip<skipped>ped>", "x < skipped >"},
      {"..,,. 1..2 1.,2", ". . , , . 1 . . 2 1 . , 2"},
      {"a\u00a0b\u3000c\u2028d\te", "a b c d e"},
      {"„Straße“ (ü) 日本。", "„Straße“ ( ü ) 日本。"},
      {"don't [x] {y} ~z` a/b:c;d", "don't [ x ] { y } ~ z ` a / b : c ; d"},
  };
  for (const auto& [raw, tokens] : cases) CHECK(tokenize_13a(raw) == tokens);
}

TEST_CASE("13a: the raw files of Multi30k as sacreBLEU cuts them" *
          doctest::test_suite("needs DATA")) {
  for (const auto& [name, sum] :
       {std::pair<std::string, std::string>("multi30k/train.raw.de", "1846ce1dcee93f45"),
        std::pair<std::string, std::string>("multi30k/train.raw.en", "b03f64e2208757d5")}) {
    const std::string file = corpus_file(name);
    if (file.empty()) continue;
    std::string out;
    for_each_line(slurp(file), [&](std::string_view line, std::string_view) {
      out += tokenize_13a(line) + "\n";
    });
    CHECK(checksum(out) == sum);
  }
}

TEST_CASE("bpe: --tokenize 13a is 13a before the rest") {
  CHECK(run({"vocab", "--tokenize", "13a"}, "a, a.\nb\u00a0a") == run({"vocab"}, "a , a .\nb a"));
  CHECK(run({"learn", "--tokenize", "13a"}, "ab,ab ab.\n") == run({"learn"}, "ab , ab ab .\n"));
}

// --- fairseq's dictionary

TEST_CASE("dictionary: ids after the four specials, written and read") {
  const TemporaryDirectory dir;
  const Vocabulary made =
      Vocabulary::of_all_words(counts_of("b a a@@ b é\u00a0é a <unk>\n"), Specials::kTranslation);
  CHECK(made.size() == 8);
  CHECK(made.word(0) == "<s>");
  CHECK(made.word(1) == "<pad>");
  CHECK(made.word(2) == "</s>");
  CHECK(made.word(3) == "<unk>");
  CHECK(made.count(3) == 1);
  CHECK(made.dict_text() == "a 2\nb 2\na@@ 1\né\u00a0é 1\n");
  const Vocabulary read =
      Vocabulary::read(dir.write("dict.txt", made.dict_text()), Specials::kTranslation);
  CHECK(read.dict_text() == made.dict_text());
  CHECK(read.encode_sentence("b a x  é\u00a0é") == std::vector<int32_t>{5, 4, 3, 7, 2});
  CHECK(has(error_of([&] { (void)read.word(8); }), "id 8"));
}

TEST_CASE("dictionary: repeated words need fairseq's flag") {
  const TemporaryDirectory dir;
  CHECK(
      has(error_of([&] { Vocabulary::read(dir.write("d", "a 3\na 2\n"), Specials::kTranslation); }),
          "line 2: 'a' is already"));
  CHECK(
      has(error_of([&] { Vocabulary::read(dir.write("d", "<pad> 3\n"), Specials::kTranslation); }),
          "'<pad>' is already"));
  CHECK(has(error_of([&] { Vocabulary::read(dir.write("d", "b 1\na\n"), Specials::kTranslation); }),
            "lacks a word or its count"));
  const std::string flagged = "a 3\nb 2\na 1 #fairseq:overwrite\n";
  const Vocabulary read = Vocabulary::read(dir.write("d", flagged), Specials::kTranslation);
  CHECK(read.size() == 7);
  CHECK(read.id("a") == 6);
  CHECK(read.dict_text() == flagged);
}

TEST_CASE("bpe: a vocabulary given as codes is named, merges with digits are not taken for one") {
  CHECK(has(error_of([] { codes_of("the 912\ncat 71\ndog@@ 7\n"); }),
            "has no line '#version: 0.2', and most of its lines are a word and a number, as in a "
            "vocabulary"));
  for (const char* codes : {"#version: 0.2\nthe 912\ncat 71\n", "1 9\n19 4\n2 0</w>\n",
                            "t h\nx 1\nth e\nx 2\n", "#version: 0.2\n"})
    CHECK_NOTHROW(codes_of(codes));
  CHECK(has(error_of([] { codes_of(""); }), "is empty: codes are merges of symbols"));
}

}  // namespace nine::tests::test_bpe
