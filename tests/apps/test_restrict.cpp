// lm_score --restrict against the probabilities that --top writes, and what it refuses.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "data/measures/significance.h"
#include "nn/models/restricted_prediction.h"
#include "tests/apps/lm_score_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_restrict {
namespace {

using doctest::Approx;

const Strings kAnimals{"dog", "cat", "bird"}, kVerbs{"saw", "heard", "liked", "fed"};

// What a model does at the positions of a set, from the probabilities of all words.
struct Expected {
  std::vector<bool> right;
  std::vector<double> nats, margins;
  std::vector<int> lines;
};
Expected expected_of(const std::string& model, const std::string& text, const Strings& set) {
  Expected e;
  for (const TopLine& position : top_lines(model, text, 1000)) {
    if (std::find(set.begin(), set.end(), position.word) == set.end()) continue;
    std::map<std::string, double> p(position.top.begin(), position.top.end());
    double sum = 0, best = 0, other = 0;
    for (const std::string& word : set) {
      sum += p.at(word);
      best = std::max(best, p.at(word));
      if (word != position.word) other = std::max(other, p.at(word));
    }
    const double own = p.at(position.word);
    e.right.push_back(own == best);
    e.nats.push_back(-std::log(own / sum));
    e.margins.push_back(std::log(own / other));
    e.lines.push_back(position.line);
  }
  return e;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

std::string joined(const Strings& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

Json restricted(Strings arguments, const std::string& text) {
  arguments.push_back("--json");
  return Json::parse(lm_score(arguments, text));
}

void check_measures(const Json& j, const Expected& e) {
  CHECK(j["accuracy"]["value"].get<double>() ==
        Approx(static_cast<double>(std::count(e.right.begin(), e.right.end(), true)) /
               static_cast<double>(e.right.size())));
  CHECK(j["cross_entropy"]["value"].get<double>() == Approx(mean(e.nats)).epsilon(1e-4));
  CHECK(std::fabs(j["margin"]["value"].get<double>() - mean(e.margins)) < 1e-4);
  for (const char* name : {"accuracy", "cross_entropy", "margin"}) {
    CHECK(j[name]["interval"][0] <= j[name]["value"]);
    CHECK(j[name]["interval"][1] >= j[name]["value"]);
  }
}

// Choices with these results, one a sentence.
std::vector<RestrictedChoice> choices(const std::vector<int>& right) {
  std::vector<RestrictedChoice> all;
  for (size_t i = 0; i < right.size(); ++i)
    all.push_back({.sentence = static_cast<int64_t>(i),
                   .word = 1,
                   .chosen = right[i],
                   .nats = right[i] ? 0.25 : 1.5});
  return all;
}

}  // namespace

TEST_CASE("lm_score --restrict: what the probabilities of --top say") {
  const TemporaryDirectory dir;
  const std::string text = longer_text() + kLmText;
  const std::string sets = dir.write(
      "sets", "# a comment\n" + joined(kAnimals) + "\n\n" + joined(kVerbs) + "\t9 99 9 12345\n");
  const Json j = restricted({"--checkpoint", model_a(), "--restrict", sets}, text);
  REQUIRE(j["sets"].size() == 2);
  const Expected animals = expected_of(model_a(), text, kAnimals),
                 verbs = expected_of(model_a(), text, kVerbs);
  REQUIRE(animals.right.size() > 50);
  CHECK(j["sets"][0]["words"] == Json(kAnimals));
  CHECK(j["sets"][0]["positions"] == animals.right.size());
  CHECK(j["sets"][1]["positions"] == verbs.right.size());
  std::vector<int> lines = animals.lines;
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  CHECK(j["sets"][0]["sentences"] == lines.size());
  check_measures(j["sets"][0]["model"], animals);
  check_measures(j["sets"][1]["model"], verbs);
  // Together, and by the frequencies that came with the set or are the model's.
  CHECK(j["together"][0]["of"] == "all sets");
  CHECK(j["together"][0]["positions"] == animals.right.size() + verbs.right.size());
  CHECK(j["sets"][1]["counts"] == Json({9, 99, 9, 12345}));
  int64_t strata = 0;
  for (size_t i = 1; i < j["together"].size(); ++i)
    strata += j["together"][i]["positions"].get<int64_t>();
  CHECK(strata == j["together"][0]["positions"]);
  CHECK(j["together"].back()["of"] == "seen 10000 to 99999 times");
  // Batches of another size change nothing but roundings.
  const Json small =
      restricted({"--checkpoint", model_a(), "--restrict", sets, "--batch-tokens", "3"}, text);
  CHECK(small["sets"][0]["model"]["accuracy"] == j["sets"][0]["model"]["accuracy"]);
  CHECK(small["sets"][0]["model"]["cross_entropy"]["value"].get<double>() ==
        Approx(j["sets"][0]["model"]["cross_entropy"]["value"].get<double>()).epsilon(1e-5));
  const auto seeded = [&](const char* seed) {
    return lm_score({"--checkpoint", model_a(), "--restrict", sets, "--seed", seed}, text);
  };
  CHECK(seeded("3") == seeded("3"));
  CHECK(seeded("3") != seeded("4"));
}

TEST_CASE("lm_score --restrict --compare: discordant pairs, McNemar, Holm") {
  const TemporaryDirectory dir;
  const std::string text = longer_text() + kLmText,
                    sets = dir.write("sets", joined(kAnimals) + "\n" + joined(kVerbs) + "\n");
  const Json j = restricted({"--compare", model_a(), model_b(), "--restrict", sets}, text);
  std::vector<double> p;
  for (size_t s = 0; s < 2; ++s) {
    const Strings& set = s == 0 ? kAnimals : kVerbs;
    const Expected a = expected_of(model_a(), text, set), b = expected_of(model_b(), text, set);
    int64_t only_a = 0, only_b = 0;
    std::vector<double> gains;
    for (size_t i = 0; i < a.right.size(); ++i) {
      only_a += a.right[i] && !b.right[i] ? 1 : 0;
      only_b += b.right[i] && !a.right[i] ? 1 : 0;
      gains.push_back(b.nats[i] - a.nats[i]);
    }
    CHECK(only_a + only_b > 0);
    const Json& row = j["sets"][s];
    check_measures(row["a"], a);
    check_measures(row["b"], b);
    CHECK(row["only_a"] == only_a);
    CHECK(row["only_b"] == only_b);
    p.push_back(mcnemar_exact(only_a, only_b));
    CHECK(row["mcnemar_p"].get<double>() == Approx(p.back()));
    CHECK(std::fabs(row["cross_entropy_b_minus_a"]["value"].get<double>() - mean(gains)) < 1e-4);
  }
  for (size_t s = 0; s < 2; ++s) CHECK(j["sets"][s]["holm_p"].get<double>() == Approx(holm(p)[s]));
  CHECK(j["tests"]["count"] == 2);
  // The table says the same.
  const std::string table = lm_score({"--compare", model_a(), model_b(), "--restrict", sets}, text);
  CHECK(has(table, "Holm over the 2 sets"));
  CHECK(has(table, "\ndog cat bird "));
}

TEST_CASE("parse_word_sets: before a word that begins with # stands a space") {
  const Strings lines{"#1 #2", " #1 #2\t5 6", "dog #3"};
  const std::vector<WordSet> sets = parse_word_sets(lines, "sets");
  REQUIRE(sets.size() == 2);
  CHECK(sets[0].words == Strings{"#1", "#2"});
  CHECK(sets[0].counts == std::vector<int64_t>{5, 6});
  CHECK(sets[1].words == Strings{"dog", "#3"});
}

TEST_CASE("lm_score --restrict --json: what a set without a position does not have is null") {
  const TemporaryDirectory dir;
  const std::string text = "the cat saw a dog\nthe dog heard a cat\n",
                    sets = dir.write("sets", "cat dog\nhim bird\n");
  const Json one = restricted({"--checkpoint", model_a(), "--restrict", sets}, text)["sets"],
             two =
                 restricted({"--compare", model_a(), model_b(), "--restrict", sets}, text)["sets"];
  CHECK(one[0]["model"]["accuracy"]["value"].is_number());
  CHECK(two[0]["mcnemar_p"].is_number());
  CHECK(one[1]["positions"] == 0);
  for (const Json& measures : {one[1]["model"], two[1]["a"], two[1]["b"]})
    CHECK(measures == Json{{"accuracy", nullptr}, {"cross_entropy", nullptr}, {"margin", nullptr}});
  for (const char* key : {"mcnemar_p", "holm_p", "cross_entropy_b_minus_a"})
    CHECK_MESSAGE(two[1].at(key).is_null(), key);
  CHECK(two[1]["only_a"] == 0);
}

TEST_CASE("lm_score --restrict --choices: each as the probabilities of --top say") {
  const TemporaryDirectory dir;
  const std::string text = longer_text() + kLmText,
                    sets = dir.write("sets", "# one\n" + joined(kAnimals) + "\n# two\n" +
                                                 joined(kVerbs) + "\t9 99 9 12345\n");
  const auto rows_of = [&](Strings models) {
    models.insert(models.end(), {"--restrict", sets, "--choices"});
    std::vector<Strings> rows;
    for (const std::string& line : split(lm_score(models, text), '\n'))
      rows.push_back(split(line, '\t'));
    return rows;
  };
  const auto one = rows_of({"--checkpoint", model_a()});
  CHECK(one[0] == Strings{"line", "word", "set", "right", "count", "chosen", "nats", "margin"});
  const std::map<std::string, Expected> expected{{"1", expected_of(model_a(), text, kAnimals)},
                                                 {"2", expected_of(model_a(), text, kVerbs)}};
  const Strings lines = split(text, '\n');
  std::map<std::string, size_t> seen;  // rows of each set
  for (size_t i = 1; i < one.size(); ++i) {
    const Strings& row = one[i];
    REQUIRE(row.size() == 8);
    const Strings& set = row[2] == "1" ? kAnimals : kVerbs;
    CHECK(split(lines.at(std::stoul(row[0]) - 1), ' ').at(std::stoul(row[1]) - 1) == row[3]);
    CHECK(std::find(set.begin(), set.end(), row[5]) != set.end());
    if (row[3] == "fed") CHECK(row[4] == "12345");
    const Expected& e = expected.at(row[2]);
    const size_t n = seen[row[2]]++;
    REQUIRE(n < e.right.size());
    CHECK((row[3] == row[5]) == e.right[n]);
    CHECK(std::fabs(std::stod(row[6]) - e.nats[n]) < 1e-4);
    CHECK(std::fabs(std::stod(row[7]) - e.margins[n]) < 1e-4);
  }
  for (const auto& [set, e] : expected) CHECK(seen[set] == e.right.size());
  // Two models: A's columns as alone, then B's as alone.
  const auto two = rows_of({"--compare", model_a(), model_b()}),
             other = rows_of({"--checkpoint", model_b()});
  REQUIRE(two.size() == one.size());
  CHECK(Strings(two[0].begin() + 5, two[0].end()) ==
        Strings{"chosen_a", "nats_a", "margin_a", "chosen_b", "nats_b", "margin_b"});
  for (size_t i = 1; i < two.size(); ++i) {
    Strings both = one[i];
    both.insert(both.end(), other[i].begin() + 5, other[i].end());
    CHECK(two[i] == both);
  }
  const auto refused = [&](const Strings& more, const std::string& why) {
    Strings arguments{"--checkpoint", model_a(), "--choices"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome r = run_program("lm_score", arguments, text);
    CHECK(r.code == 2);
    CHECK_MESSAGE(has(r.err, why), r.err);
  };
  refused({}, "--choices is for --restrict");
  refused({"--restrict", sets, "--json"}, "--json and --choices are two formats of the output");
  refused({"--restrict", sets, "--resamples", "200"}, "--resamples is for intervals");
}

// Sentences 1 to 5: both right, only A, only B, only B, none.
TEST_CASE("compare_choices: by hand") {
  const auto a = choices({1, 1, 0, 0, 0}), b = choices({1, 0, 1, 1, 0});
  const RestrictedComparison c = compare_choices(a, b, {.resamples = 200, .seed = 1});
  CHECK(c.only_a == 1);
  CHECK(c.only_b == 2);
  CHECK(c.p == Approx(1));
  CHECK(c.a.accuracy.value == Approx(0.4));
  CHECK(c.b.accuracy.value == Approx(0.6));
  CHECK(c.cross_entropy.value == Approx(-0.25));
  CHECK(compare_choices({}, {}, {}).p == 1);
  CHECK(has(error_of([&] { compare_choices(a, choices({1, 0}), {}); }), "same positions"));
}

TEST_CASE("lm_score --restrict: words that a model does not know, and errors") {
  const TemporaryDirectory dir;
  const auto run = [&](const std::string& sets, Strings arguments) {
    arguments.insert(arguments.end(), {"--restrict", dir.write("sets", sets)});
    return run_program("lm_score", arguments, kLmText);
  };
  const Strings one{"--checkpoint", model_a()};
  const Outcome zebra = run("dog zebra cat\n", one);
  CHECK(zebra.code == 0);
  CHECK(has(zebra.err, "not in the vocabulary: zebra\n"));
  CHECK(has(zebra.out, "\ndog cat "));
  // What either model lacks is left out for both: model_c knows ten words.
  const Outcome both = run("the a dog fed today\n", {"--compare", model_a(), model_c()});
  CHECK_MESSAGE(both.code == 0, both.err);
  const auto refused = [&](const std::string& sets, const std::string& why) {
    const Outcome r = run(sets, one);
    CHECK(r.code == 1);
    CHECK(r.out.empty());
    CHECK_MESSAGE(has(r.err, why), r.err);
  };
  refused("dog zebra\n", "holds 1 word; a set needs two or more");
  refused("dog\n", "sets, line 1: a set needs two words or more");
  refused("dog cat\ndog cat dog\n", "sets, line 2: 'dog' is in the set twice");
  refused("dog cat\n# again\ncat dog\n", "sets, line 3: this is the set of line 1 again");
  refused(
      "dog cat\ncat zebra dog\n",
      "without the words that the vocabulary lacks, the set 'cat zebra dog' is the set 'dog cat'");
  refused("# nothing\n", "has no set of words");
  refused("dog cat\t5\n", "2 words and 1 counts");
  refused("dog cat\t5 x\n", "'x' after the tab is not the count of a word");
  refused("dog </s>\n", "</s> is not a word of a text");
  refused("him she\nday night\n", "day night");
  CHECK(run_program("lm_score",
                    {"--checkpoint", model_a(), "--restrict", dir.write("s", "him she\n")},
                    "the dog saw a cat\n")
            .code == 1);
  CHECK(has(
      run_program("lm_score", {"--checkpoint", model_a(), "--restrict", dir / "none"}, "a\n").err,
      "none"));
  CHECK(run_program("lm_score", {"--checkpoint", model_a(), "--json"}, "a\n").code == 2);
  CHECK(run_program("lm_score", {"--checkpoint", model_a(), "--restrict", "-"}, "a\n").code == 2);
  CHECK(run_program("lm_score", {"--checkpoint", model_a(), "--restrict", dir / "s", "--top", "3"},
                    "a\n")
            .code == 2);
}

}  // namespace nine::tests::test_restrict
