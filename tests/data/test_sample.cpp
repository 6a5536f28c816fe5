// Grammar and sample language, each against closed forms and everything written out.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/random.h"
#include "data/corpus.h"
#include "data/sample/grammar.h"
#include "data/sample/lexicon.h"
#include "data/sample/sample.h"
#include "data/vocabulary.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_sample {
namespace {

using Symbol = Grammar::Symbol;

/// All texts of a small grammar with the probabilities of their derivations, by plain expansion.
std::vector<std::pair<std::string, double>> expand(const Grammar& g, Symbol s) {
  if (s.is_word) return {{g.words()[static_cast<size_t>(s.index)] + " ", 1.0}};
  std::vector<std::pair<std::string, double>> out;
  const auto& rule = g.rules()[static_cast<size_t>(s.index)];
  for (const auto& a : rule.alternatives) {
    std::vector<std::pair<std::string, double>> texts = {{"", a.weight / rule.weight}};
    for (Symbol part : a.symbols) {
      std::vector<std::pair<std::string, double>> longer;
      const auto parts = expand(g, part);
      for (const auto& [text, p] : texts)
        for (const auto& [more, q] : parts) longer.emplace_back(text + more, p * q);
      texts = std::move(longer);
    }
    out.insert(out.end(), texts.begin(), texts.end());
  }
  return out;
}

/// Entropy of the text, derivations of one text taken together.
double entropy_of_texts(const Grammar& g, Symbol start) {
  std::map<std::string, double> p;
  for (const auto& [text, q] : expand(g, start)) p[text] += q;
  double nats = 0;
  for (const auto& [text, q] : p) nats -= q * std::log(q);
  return nats;
}

/// Counts a sentence's derivations and sums their probabilities by trying everything (memoised by
/// symbol and place).
class Parser {
 public:
  struct Parse {
    double derivations = 0, probability = 0;
  };

  explicit Parser(const Grammar& grammar) : grammar_(grammar) {
    for (size_t i = 0; i < grammar.words().size(); ++i)
      index_[grammar.words()[i]] = static_cast<int32_t>(i);
  }

  Parse parse(Symbol start, const std::string& line) {
    sentence_.clear();
    std::istringstream in(line);
    for (std::string w; in >> w;) sentence_.push_back(index_.at(w));
    memo_.assign(grammar_.rules().size() * (sentence_.size() + 1), {});
    known_.assign(memo_.size(), false);
    const auto ends = parses(start, 0);
    const auto whole = ends.find(sentence_.size());
    return whole == ends.end() ? Parse{} : whole->second;
  }

 private:
  using Ends = std::map<size_t, Parse>;  // where the symbol's text may end

  Ends parses(Symbol s, size_t at) {
    if (s.is_word)
      return at < sentence_.size() && sentence_[at] == s.index ? Ends{{at + 1, {1, 1}}} : Ends{};
    const size_t slot = static_cast<size_t>(s.index) * (sentence_.size() + 1) + at;
    if (!known_[slot]) {
      Ends found = parses_of_rule(grammar_.rules()[static_cast<size_t>(s.index)], at);
      memo_[slot] = std::move(found);
      known_[slot] = true;
    }
    return memo_[slot];
  }

  Ends parses_of_rule(const Grammar::Rule& rule, size_t at) {
    Ends out;
    for (const auto& a : rule.alternatives) {
      Ends ends = {{at, {1, a.weight / rule.weight}}};
      for (Symbol part : a.symbols) {
        Ends longer;
        for (const auto& [end, so_far] : ends)
          for (const auto& [next, more] : parses(part, end)) {
            longer[next].derivations += so_far.derivations * more.derivations;
            longer[next].probability += so_far.probability * more.probability;
          }
        ends = std::move(longer);
        if (ends.empty()) break;
      }
      for (const auto& [end, p] : ends) {
        out[end].derivations += p.derivations;
        out[end].probability += p.probability;
      }
    }
    return out;
  }

  const Grammar& grammar_;
  std::map<std::string, int32_t> index_;
  std::vector<int32_t> sentence_;
  std::vector<Ends> memo_;
  std::vector<bool> known_;
};

const SampleLanguage& language() {
  static const SampleLanguage instance;
  return instance;
}

}  // namespace

TEST_CASE("grammar: entropy and length in closed form are those of all texts, written out") {
  Grammar g;
  const Symbol a = g.word("a"), b = g.word("b"), c = g.word("c"), stop = g.word(".");
  const Symbol x = g.rule({{1, {a}}, {2, {b, b}}, {0.5, {}}});
  const Symbol y = g.rule({{3, {c, x}}, {1, {c, c, x}}});
  const Symbol s = g.rule({{0.3, {y, stop}}, {0.7, {y, y, stop}}});
  CHECK(g.weight(x) == 3.5);
  double nats = 0, words = 0;
  for (const auto& [text, p] : expand(g, s)) {
    nats -= p * std::log(p);
    words += p * static_cast<double>(std::count(text.begin(), text.end(), ' '));
  }
  CHECK(g.entropy(s) == doctest::Approx(nats).epsilon(1e-12));
  CHECK(g.expected_words(s) == doctest::Approx(words).epsilon(1e-12));

  // This one is ambiguous: "c c" is y y as well as y. The parser of these tests notices.
  CHECK(entropy_of_texts(g, s) < g.entropy(s) - 1e-3);
  CHECK(Parser(g).parse(s, "c c .").derivations == 2);
  // And with the second alternative of y gone it is not.
  const Symbol z = g.rule({{1, {c, x}}}), t = g.rule({{0.3, {z, stop}}, {0.7, {z, z, stop}}});
  CHECK(entropy_of_texts(g, t) == doctest::Approx(g.entropy(t)).epsilon(1e-12));
  CHECK(Parser(g).parse(t, "c c .").derivations == 1);
  CHECK(Parser(g).parse(t, "c .  a").derivations == 0);
}

TEST_CASE("grammar: texts come as often as their probabilities say") {
  Grammar g;
  const Symbol x = g.rule({{1, {g.word("a")}}, {2, {g.word("b")}}, {5, {}}});
  const Symbol s = g.rule({{1, {x, g.word("."), x}}, {3, {x}}});
  std::map<std::string, double> expected, seen;
  for (auto [text, p] : expand(g, s))
    expected[text.empty() ? text : text.substr(0, text.size() - 1)] += p;
  RandomStream random({.seed = 9});
  constexpr int draws = 20000;
  for (int i = 0; i < draws; ++i) {
    std::string line;
    const auto d = g.generate(s, random, line);
    seen[line] += 1.0 / draws;
    CHECK_MESSAGE(d.words == std::ssize(words_of(line)), line);
  }
  CHECK(seen.size() == expected.size());
  for (const auto& e : expected) {
    const double p = e.second;
    CHECK_MESSAGE(std::abs(seen[e.first] - p) < 4.5 * std::sqrt(p * (1 - p) / draws), e.first);
  }
}

TEST_CASE("grammar: errors") {
  Grammar g;
  CHECK(has(error_of([&] { g.word("two words"); }), "is not one word"));
  CHECK(has(error_of([&] { g.rule({}); }), "at least one alternative"));
  CHECK(has(error_of([&] { g.rule({{0, {}}}); }), "weight 0"));
  CHECK(has(error_of([&] { g.rule({{1, {{0, false}}}}); }), "a symbol of another grammar"));
  CHECK(has(error_of([&] { g.entropy(g.word("a")); }), "not a rule"));
}

TEST_CASE(
    "sample: each sentence has exactly one derivation, and its probability is the one reported") {
  const auto corpus = language().generate(21, "test", 500);
  Parser parser(language().grammar());
  for (size_t i = 0; i < corpus.lines.size(); ++i) {
    const auto parse = parser.parse(language().start(), corpus.lines[i]);
    CHECK_MESSAGE(parse.derivations == 1, corpus.lines[i]);
    CHECK_MESSAGE(
        -std::log(parse.probability) == doctest::Approx(corpus.sentence_nats[i]).epsilon(1e-10),
        corpus.lines[i]);
  }
  for (const char* wrong :
       {"the dog are tired .", "the dogs near the river is tired .", "a apple was clean .",
        "yesterday the dog sleeps .", "an red apple was clean .", "the table sleeps .",
        "the dog eats a table ."})
    CHECK_MESSAGE(parser.parse(language().start(), wrong).derivations == 0, wrong);
  for (const char* right : {"yesterday the old farmers near the river saw a red fox .",
                            "the dog that the teachers follow is eating an apple ."})
    CHECK_MESSAGE(parser.parse(language().start(), right).derivations == 1, right);
}

TEST_CASE("sample: the closed form agrees with how often each rule is used, and with drawn texts") {
  const auto& rules = language().grammar().rules();
  // From the start down: rules use only earlier ones, so that a rule's uses are known when its turn
  // comes.
  std::vector<double> uses(rules.size(), 0.0);
  uses[static_cast<size_t>(language().start().index)] = 1;
  double nats = 0, words = 0;
  for (size_t r = rules.size(); r-- > 0;)
    for (const auto& a : rules[r].alternatives) {
      const double p = a.weight / rules[r].weight;
      nats -= uses[r] * p * std::log(p);
      for (Symbol s : a.symbols)
        (s.is_word ? words : uses[static_cast<size_t>(s.index)]) += uses[r] * p;
    }
  CHECK(language().entropy_per_sentence() == doctest::Approx(nats).epsilon(1e-10));
  CHECK(language().expected_tokens() == doctest::Approx(words + 1).epsilon(1e-10));

  const auto corpus = language().generate(1, "train", 20000);
  const auto n = static_cast<double>(corpus.lines.size());
  double squares = 0;
  for (double x : corpus.sentence_nats) squares += x * x;
  const double mean = corpus.nats / n, error = std::sqrt((squares / n - mean * mean) / n);
  CHECK(std::abs(mean - language().entropy_per_sentence()) < 4 * error);
  CHECK(std::abs(static_cast<double>(corpus.tokens) / n - language().expected_tokens()) < 0.15);
  CHECK(corpus.perplexity() == doctest::Approx(language().perplexity()).epsilon(0.01));
  MESSAGE("sample language: ", language().words().size(), " words, ", language().expected_tokens(),
          " tokens a sentence, ", language().entropy_per_token(), " nats a token, perplexity ",
          language().perplexity());
}

TEST_CASE("sample: a section of a lexicon ends at the line that does not begin with a space") {
  const std::string text = "# of\nnouns:\n  a b\n  c\nno nouns:\nverbs:\n  d e\n  f\n# the end\n";
  CHECK(words_of(lexicon_section(text, "nouns").value()) == Words{"a", "b", "c"});
  CHECK(lines_of(lexicon_section(text, "verbs").value()) == Words{"d e", "f"});
  CHECK(lexicon_section(text, "no nouns").value().empty());
  CHECK_FALSE(lexicon_section(text, "adverbs"));
  CHECK(adjectives(NounClass::person, AdjectiveSlot::colour).empty());
}

TEST_CASE("sample: no form stands for two words") {
  std::map<std::string, std::string> owner;
  const auto claim = [&](const std::string& form, const std::string& by) {
    const auto claimed = owner.try_emplace(form, by);
    CHECK_MESSAGE((claimed.second || claimed.first->second == by),
                  form << " is both " << claimed.first->second << " and " << by);
    CHECK_MESSAGE(claimed.second, form << " is listed twice");
  };
  for (int c = 0; c <= static_cast<int>(NounClass::place); ++c)
    for (const Noun& n : nouns(static_cast<NounClass>(c))) {
      claim(n.singular, "noun " + n.singular);
      claim(n.plural, "nouns " + n.singular);
    }
  for (int c = 0; c <= static_cast<int>(VerbClass::say); ++c)
    for (const Verb& v : verbs(static_cast<VerbClass>(c))) {
      claim(v.base, "verb " + v.base);
      claim(v.third, "third person of " + v.base);
      claim(v.past, "past of " + v.base);
      claim(v.participle, "participle of " + v.base);
    }
  for (const auto& names : {female_names(), male_names(), manner_adverbs()})
    for (const auto& w : names) claim(w, "name or adverb " + w);
  // Adjectives are shared by classes of nouns, but stand in one slot of each.
  std::set<std::string> adjective_forms;
  for (int c = 0; c <= static_cast<int>(NounClass::place); ++c) {
    std::set<std::string> mine;
    for (AdjectiveSlot slot : {AdjectiveSlot::quality, AdjectiveSlot::size, AdjectiveSlot::colour})
      for (const auto& w : adjectives(static_cast<NounClass>(c), slot)) {
        CHECK_MESSAGE(mine.insert(w).second, w);
        adjective_forms.insert(w);
      }
  }
  for (bool alive : {false, true})
    for (const auto& w : states(alive)) adjective_forms.insert(w);
  for (const auto& w : adjective_forms) claim(w, "adjective " + w);
  for (const char* w :
       {"the",  "a",  "an", "this", "that", "who",  "will", "be",  "is",    "are", "was",
        "were", "to", "in", "with", "and",  "near", "one",  "day", "these", "last"})
    claim(w, "function word");
}

TEST_CASE("sample: articles, repeatability, splits") {
  const auto train = language().generate(7, "train", 2000),
             shorter = language().generate(7, "train", 50),
             valid = language().generate(7, "valid", 50);
  CHECK(std::equal(shorter.lines.begin(), shorter.lines.end(), train.lines.begin()));
  CHECK(shorter.lines != valid.lines);
  CHECK(shorter.lines != language().generate(8, "train", 50).lines);
  CHECK(SampleLanguage().entropy_per_sentence() == language().entropy_per_sentence());
  int64_t tokens = 0, wrong_articles = 0;
  for (const auto& line : train.lines) {
    const Words words = words_of(line);
    tokens += std::ssize(words) + 1;
    CHECK(words.back() == ".");
    for (size_t i = 0; i + 1 < words.size(); ++i) {
      const bool vowel = std::string_view("aeiou").find(words[i + 1][0]) != std::string_view::npos;
      wrong_articles += words[i] == (vowel ? "a" : "an");
    }
  }
  CHECK(tokens == train.tokens);
  CHECK(wrong_articles == 0);
  CHECK(train.nats == doctest::Approx(std::accumulate(train.sentence_nats.begin(),
                                                      train.sentence_nats.end(), 0.0)));
  CHECK(language().generate(7, "train", 0).lines.empty());
  CHECK(has(error_of([] { language().generate(7, "train", -1); }), "negative"));
}

TEST_CASE("sample: the language is the one that the documentation's figures are about") {
  CHECK(language().words().size() == 1049);
  CHECK(language().expected_tokens() == doctest::Approx(10.7124).epsilon(1e-4));
  CHECK(language().perplexity() == doctest::Approx(15.5163).epsilon(1e-5));
  CHECK(language().generate(1, "train", 3).lines ==
        std::vector<std::string>{"a fresh apple was clean .",
                                 "a lazy small monkey that bites the owl swallows the small apples "
                                 "that each kind man eats .",
                                 "today every uncle prays quietly in the harbours ."});
}

TEST_CASE("sample: the demo's text knows nearly every word") {
  const auto counts = count_words_of_lines(language().generate(1, "train", 20000).lines);
  const auto v = Vocabulary::build(counts, Specials::kLanguageModel);
  CHECK(std::ssize(language().words()) >= v.size() - 2);
  CHECK(Corpus::of_lines(language().generate(1, "valid", 1000).lines, v).unknown() == 0);
}

TEST_CASE("sample: write_sample writes the three texts") {
  TemporaryDirectory dir;
  const auto files = write_sample(dir / "new/sample", 5, {.train = 40, .valid = 10, .test = 20});
  const char* splits[] = {"train", "valid", "test"};
  const int64_t sizes[] = {40, 10, 20};
  for (size_t i = 0; i < 3; ++i) {
    const auto expected = language().generate(5, splits[i], sizes[i]);
    CHECK(files[i].path == dir / "new/sample/" + splits[i] + ".txt");
    std::string text;
    for (const std::string& line : expected.lines) text += line + '\n';
    CHECK(slurp(files[i].path) == text);
    CHECK(files[i].sentences == sizes[i]);
    CHECK(files[i].tokens == expected.tokens);
    CHECK(files[i].nats == doctest::Approx(expected.nats));
    CHECK(files[i].perplexity() == doctest::Approx(expected.perplexity()));
  }
  CHECK(has(error_of([&] { write_sample(dir / "s", 5, {.train = 0}); }),
            "the train text needs at least one sentence"));
  CHECK(has(error_of([&] { write_sample(dir.write("file", "x"), 5, {}); }),
            "cannot make the directory"));
}

}  // namespace nine::tests::test_sample
