// N-gram models in ARPA format: scores against KenLM's and against a back-off that is written down
// a second time, and files that are refused.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "core/number_format.h"
#include "data/ngram_model.h"
#include "data/text.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_ngram_model {
namespace {

using Words = std::vector<std::string>;

const std::string kUnigrams =
    "\\1-grams:\n-1.1\t<unk>\n-99\t<s>\t-0.3\n-0.8\t</s>\n-0.5\ta\t-0.2\n-0.7\tb\t0.1\n\n";
const std::string kBigrams =
    "\\2-grams:\n-0.2\t<s> a\t-0.1\n-0.4\ta b\n-0.3\tb </s>\n-0.6\tb a\t-0.05\n\n";
const std::string kTrigrams = "\\3-grams:\n-0.11\t<s> a b\n-0.21\ta b </s>\n\n";
const std::string kCounts = "\\data\\\nngram 1=5\nngram 2=4\nngram 3=2\n\n";
const std::string kSmall = kCounts + kUnigrams + kBigrams + kTrigrams + "\\end\\\n";

NGramModel read(const std::string& text) {
  const TemporaryDirectory dir;
  return NGramModel::read(dir.write("model.arpa", text));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::vector<double> log10_of(const NGramModel& model, const std::string& line) {
  std::vector<double> log_p = model.score(line);
  for (double& x : log_p) x /= std::numbers::ln10;
  return log_p;
}

// The oracle: a table of n-grams as words, with the recursion of the format's definition.
struct PlainModel {
  std::map<Words, std::pair<double, double>> ngrams;  // log10 p, back-off
  int order = 0;

  double log_p(Words history, const std::string& word) const {
    Words ngram = history;
    ngram.push_back(word);
    if (const auto listed = ngrams.find(ngram); listed != ngrams.end()) return listed->second.first;
    if (history.empty()) return log_p({}, "<unk>");
    const auto context = ngrams.find(history);
    const double backoff = context == ngrams.end() ? 0 : context->second.second;
    history.erase(history.begin());
    return backoff + log_p(history, word);
  }

  std::vector<double> score(const std::string& line) const {
    Words read{"<s>"}, words;
    for_each_word(line, [&](std::string_view word) { words.emplace_back(word); });
    words.emplace_back("</s>");
    std::vector<double> all;
    for (const std::string& text : words) {
      const std::string word = ngrams.contains({text}) ? text : "<unk>";
      const auto length = std::min<std::ptrdiff_t>(std::ssize(read), order - 1);
      all.push_back(log_p({read.end() - length, read.end()}, word));
      read.push_back(word);
    }
    return all;
  }

  std::string arpa() const {
    std::string text = "\\data\\\n";
    for (int n = 1; n <= order; ++n) {
      const auto count =
          std::ranges::count_if(ngrams, [&](const auto& g) { return std::ssize(g.first) == n; });
      text += concat("ngram ", n, "=", count, "\n");
    }
    for (int n = 1; n <= order; ++n) {
      text += concat("\n\\", n, "-grams:\n");
      for (const auto& ngram : ngrams) {
        if (std::ssize(ngram.first) != n) continue;
        text += shortest(ngram.second.first);
        for (size_t w = 0; w < ngram.first.size(); ++w)
          text += (w == 0 ? "\t" : " ") + ngram.first[w];
        if (n < order && ngram.second.second != 0) text += "\t" + shortest(ngram.second.second);
        text += '\n';
      }
    }
    return text + "\n\\end\\\n";
  }
};

// Random n-grams whose histories are listed. Lower orders lack some of the n-grams' ends, as pruned
// models do.
PlainModel random_model(int order, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> log_p(-3, -1), backoff(-1, 0.15);
  const Words words{"<unk>", "<s>", "</s>", "a", "b", "c", "d", "\\x", "é"};
  PlainModel model{.order = order};
  std::vector<Words> histories;
  for (const std::string& word : words) {
    model.ngrams[{word}] = {log_p(random), backoff(random)};
    histories.push_back({word});
  }
  for (int n = 2; n <= order; ++n) {
    std::vector<Words> next;
    for (const Words& history : histories)
      for (const std::string& word : words) {
        if (random() % 3 > 0 || history.back() == "</s>" || word == "<s>") continue;
        Words ngram = history;
        ngram.push_back(word);
        model.ngrams[ngram] = {log_p(random), random() % 4 == 0 ? 0 : backoff(random)};
        next.push_back(ngram);
      }
    if (next.size() > 400) next.resize(400);
    histories = next;
  }
  return model;
}

}  // namespace

TEST_CASE("NGramModel: KenLM's scores of a small model") {
  // kenlm 0.2.0 from PyPI: full_scores() of each line.
  const std::vector<std::pair<std::string, std::vector<double>>> kenlm{
      {"a b", {-0.200000003, -0.109999999, -0.209999993}},
      {"", {-1.100000024}},
      {"b a b a", {-1.0, -0.600000024, -0.450000018, -0.600000024, -1.049999952}},
      {"zebra a b", {-1.400000095, -0.5, -0.400000006, -0.209999993}},
      {"a zebra b", {-0.200000003, -1.400000095, -0.699999988, -0.300000012}},
      {"a a a", {-0.200000003, -0.800000012, -0.699999988, -1.0}},
      {"b b </s> a", {-1.0, -0.599999964, -0.300000012, -0.5, -1.0}},
      {"<s> a b", {-99.300003052, -0.200000003, -0.109999999, -0.209999993}},
      {"<unk> a", {-1.400000095, -0.5, -1.0}}};
  const NGramModel model = read(kSmall);
  CHECK(model.order() == 3);
  CHECK(model.count(1) == 5);
  CHECK(model.count(2) == 4);
  CHECK(model.count(3) == 2);
  for (const auto& line : kenlm) {
    const std::vector<double> own = log10_of(model, line.first);
    REQUIRE(own.size() == line.second.size());
    for (size_t i = 0; i < own.size(); ++i)
      CHECK_MESSAGE(std::fabs(own[i] - line.second[i]) < 1e-6 * std::max(1.0, std::fabs(own[i])),
                    line.first);
  }
}

TEST_CASE("NGramModel: the back-off of the definition, for orders 1 to 6") {
  const Words known{"a", "b", "c", "d", "\\x", "é", "<unk>", "zebra"};
  for (int order = 1; order <= 6; ++order)
    for (uint32_t seed = 0; seed < 6; ++seed) {
      const PlainModel plain = random_model(order, seed);
      const NGramModel model = read(plain.arpa());
      std::mt19937 random(seed + 100);
      for (int sentence = 0; sentence < 30; ++sentence) {
        std::string line;
        for (auto words = random() % 9; words > 0; --words)
          line += known[random() % known.size()] + " ";
        const std::vector<double> own = log10_of(model, line), wanted = plain.score(line);
        REQUIRE(own.size() == wanted.size());
        for (size_t i = 0; i < own.size(); ++i)
          CHECK_MESSAGE(std::fabs(own[i] - wanted[i]) < 2e-6, line);
      }
    }
}

TEST_CASE(
    "NGramModel: equal states have equal futures, and histories that are not listed are cut") {
  const NGramModel model = read(kSmall);
  NGramModel::State one = model.sentence_begin(), two;
  CHECK_FALSE(one == two);
  model.advance(one, model.find("b"));
  model.advance(two, model.find("b"));
  CHECK(one == two);  // "<s> b" is not listed
  CHECK(one.hash() == two.hash());
}

TEST_CASE("NGramModel: spaces for tabs, CRLF, comments, <UNK>, no <unk>") {
  std::string spaced = kSmall;
  std::replace(spaced.begin(), spaced.end(), '\t', ' ');
  std::string crlf = "# estimated by hand\r\n";
  for (const char c : kSmall) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  const std::vector<double> wanted = read(kSmall).score("a zebra b");
  for (const std::string& text : {spaced, crlf, replaced(kSmall, "<unk>", "<UNK>")})
    CHECK(read(text).score("a zebra b") == wanted);
  const NGramModel closed =
      read(replaced(replaced(kSmall, "ngram 1=5", "ngram 1=4"), "-1.1\t<unk>\n", ""));
  CHECK(closed.unknown() == NGramModel::kNone);
  const std::vector<double> log10 = log10_of(closed, "a zebra b");
  CHECK(log10[1] == -INFINITY);
  CHECK(log10[2] == doctest::Approx(-0.7));  // no history is left
}

TEST_CASE("NGramModel: what is refused, with its line") {
  const auto refusal = [](const std::string& from, const std::string& to) {
    return error_of([&] { read(replaced(kSmall, from, to)); });
  };
  struct Case {
    std::string from, to, message;
  };
  const std::vector<Case> cases{
      {"\\data\\", "data", "no line \\data\\"},
      {"\\data\\", "iARPA\n\\data\\", "line 1: this is IRSTLM's own format"},
      {"ngram 2=4", "ngram 2=5", "\\2-grams: has 4 n-grams, but \\data\\ counts 5"},
      {"ngram 2=4", "ngram 2=3", "line 17: \\2-grams: has more than the 3"},
      {"ngram 2=4", "ngram 3=4", "line 3: order 3 stands in the place of order 2"},
      {"ngram 2=4", "ngram 2=x", "line 3: 'ngram 2=x' is not 'ngram ORDER=COUNT'"},
      {"ngram 2=4", "ngram 2=4294967295", "are more than"},
      {"ngram 3=2", "", "line 14: an n-gram of the highest order"},
      {"-0.4\ta b", "-0.2\t<s> a", "line 15: this 2-gram is listed in line 14 already"},
      {"-0.5\ta", "-0.01\ta", "model.arpa: the probabilities of the unigrams add up to 1.4"},
      {"-0.7\tb", "-0.7\ta", "line 11: the unigram 'a' is listed in line 10 already"},
      {"-0.4\ta b", "-0.4\ta c", "line 15: 'c' is no unigram"},
      {"-0.4\ta b", "-0.4\ta a", "line 21: the history 'a b' is no 2-gram"},
      {"-0.4\ta b", "-0.4\ta", "line 15: a line of 2-grams is"},
      {"-0.4\ta b", "-0.4\ta b 1 2", "line 15: a line of 2-grams is"},
      {"-0.4\ta b", "inf\ta b", "line 15: 'inf' is not a finite log10 p"},
      {"-0.4\ta b", "nan\ta b", "line 15: 'nan' is not a finite log10 p"},
      {"-0.4\ta b", "-1e300\ta b", "line 15: '-1e300' is not a finite log10 p"},
      {"-0.4\ta b", "0.4\ta b", "line 15: log10 p is 0.4"},
      {"a\t-0.2", "a\t-inf", "line 10: '-inf' is not a finite back-off weight"},
      {"<s> a b", "<s> a b\t-0.1", "line 20: an n-gram of the highest order"},
      {"<s>\t-0.3", "<t>\t-0.3", "'<s>' is no unigram"},
      {"\\2-grams:", "\\3-grams:", "line 13: '\\3-grams:' stands in the place of \\2-grams:"},
      {"\\end\\\n", "", "ends before \\end\\"},
      {"\\end\\\n", "\\end\\\n\nmore\n", "text follows \\end\\"},
      {"\\end\\\n", "-1 a b a\n", "stands in the place of \\end\\"}};
  for (const Case& c : cases) {
    const std::string message = refusal(c.from, c.to);
    CHECK_MESSAGE(has(message, c.message), c.from << " -> " << c.to << ": " << message);
  }
  const std::string one = "\\data\\\nngram 1=2\n\n\\1-grams:\n-1 a\n-1 b\n\\end\\\n";
  CHECK(has(error_of([&] { read(one); }), "has no unigram <s>"));
  CHECK(has(error_of([&] { read(kSmall.substr(0, 82)); }), "ends in \\1-grams:"));
}

TEST_CASE("NGramModel: a probability above 1, which a back-off weight makes, is an error") {
  const NGramModel model = read(replaced(kSmall, "b\t0.1", "b\t3"));
  CHECK(has(error_of([&] { static_cast<void>(model.score("a b b")); }),
            "model.arpa: the word 'b' gets a log10 p of 2.3"));
  CHECK(log10_of(model, "a").size() == 2);  // other words are scored
  // A beginning of sentences with the probability 1, as KenLM writes it, is in no sum.
  CHECK(log10_of(read(replaced(kSmall, "-99\t<s>", "0\t<s>")), "a") == log10_of(read(kSmall), "a"));
}

TEST_CASE("NGramModel: a file that claims many n-grams takes no memory for them") {
  CHECK(has(error_of([&] { read(replaced(kSmall, "ngram 3=2", "ngram 3=4294967294")); }),
            "has 2 n-grams"));
}

}  // namespace nine::tests::test_ngram_model
