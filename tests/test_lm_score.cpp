// lm_score beyond plain scoring: --top, --generate and --compare from the outside, and the pieces
// they are made of.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

#include "core/random.h"
#include "core/safetensors.h"
#include "data/vocabulary.h"
#include "nn/models/compare_models.h"
#include "nn/models/sampling.h"
#include "tests/programs.h"
#include "tests/support.h"

namespace {

using namespace nine;
using namespace nine::tests;
using Strings = std::vector<std::string>;

Strings split(const std::string& text, char at) {
  Strings parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

std::string run(const Strings& arguments, const std::string& input) {
  const Outcome r = run_program("lm_score", arguments, input);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  return r.out;
}

// Three models of one small text: a and b with the same words, c with fewer. Trained once.
struct Models {
  TemporaryDirectory dir;
  std::string a = dir / "a", b = dir / "b", c = dir / "c";
  Models() {
    const Strings subjects{"the cat", "the dog", "a dog", "a bird", "the old man", "she"},
        verbs{"saw", "heard", "liked", "fed"},
        objects{"the dog", "a cat", "the bird", "him", "a rare%"};
    RandomStream random({.seed = 5});
    std::string text;
    for (int i = 0; i < 500; ++i) {
      const auto pick = [&](const Strings& from) {
        return from[static_cast<size_t>(random.below(from.size()) * random.below(8) / 7)];
      };
      std::string line = pick(subjects) + " " + pick(verbs) + " " + pick(objects) +
                         (random.below(4) == 0 ? " today" : "");
      if (const size_t rare = line.find('%'); rare != std::string::npos)
        line.replace(rare, 1, std::to_string(i));
      text += line + "\n";
    }
    std::ofstream(dir / "train.txt") << text;
    train(a, {"--hidden", "16", "--embed", "12", "--after", "120u"});
    train(b, {"--hidden", "24", "--embed", "24", "--after", "160u", "--seed", "2"});
    train(c, {"--hidden", "16", "--embed", "16", "--after", "60u", "--vocab-size", "12"});
  }
  void train(const std::string& where, const Strings& more) {
    Strings arguments{
        "--train", dir / "train.txt", "--layers", "1",     "--batch", "4", "--bptt", "8", "--lr",
        "0.01",    "--min-count",     "2",        "--run", where};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome r = run_program("lm_train", arguments);
    REQUIRE_MESSAGE(r.code == 0, r.err);
  }
};
const Models& models() {
  static const Models m;
  return m;
}

const std::string kTabbed = "the\tcat saw\t \ta dog\t\n\nthe old man\tfed him\n",
                  kSpaced = "the cat saw a dog\n\nthe old man fed him\n";

const std::string kText =
    "the cat saw a dog\n\na zebra heard the <unk> today\nthe old man fed him\nshe liked a bird "
    "today\n";

// A line of --top.
struct TopLine {
  int line = 0, position = 0;
  std::string word;
  double p = 0;
  int rank = 0;
  std::vector<std::pair<std::string, double>> top;
};
std::vector<TopLine> top(const std::string& model, const std::string& text, int count,
                         const Strings& more = {}) {
  Strings arguments{"--checkpoint", model, "--top", std::to_string(count)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Strings lines = split(run(arguments, text), '\n');
  CHECK(lines.at(0).starts_with("line\tposition\tword\tprobability\trank\tword.1\tp.1"));
  std::vector<TopLine> out;
  for (size_t i = 1; i < lines.size(); ++i) {
    const Strings cells = split(lines[i], '\t');
    REQUIRE(cells.size() == split(lines[0], '\t').size());
    TopLine t{std::stoi(cells[0]), std::stoi(cells[1]), cells[2],
              std::stod(cells[3]), std::stoi(cells[4]), {}};
    for (size_t c = 5; c < cells.size(); c += 2)
      t.top.emplace_back(cells[c], std::stod(cells[c + 1]));
    out.push_back(t);
  }
  return out;
}

// What lm_score --tokens says, one row a line.
std::vector<std::vector<double>> tokens(const std::string& model, const std::string& text) {
  std::vector<std::vector<double>> out;
  for (const std::string& line : split(run({"--checkpoint", model, "--tokens"}, text), '\n')) {
    out.emplace_back();
    for (const std::string& n : split(line, ' ')) out.back().push_back(std::stod(n));
  }
  return out;
}

using Distribution = std::map<std::string, double>;
// Of the word after `prompt`, from --top: without <unk>, flattened by the temperature.
Distribution next_word(const std::string& model, const std::string& prompt,
                       double temperature = 1) {
  Distribution d;
  const std::vector<TopLine> all = top(model, prompt + "\n", 1000);
  double sum = 0;
  for (const auto& [word, p] :
       all.back().top)  // the last position predicts what follows the prompt
    if (word != "<unk>") sum += d[word] = std::pow(p, 1 / temperature);
  for (auto& [word, p] : d) p /= sum;
  return d;
}
// The `words` likeliest, or as many as reach `share`.
Distribution truncated(const Distribution& d, size_t words, double share) {
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [word, p] : d) order.emplace_back(p, word);
  std::sort(order.rbegin(), order.rend());
  Distribution kept;
  double sum = 0;
  for (const auto& [p, word] : order)
    if (kept.size() < words && sum < share) sum += kept[word] = p;
  for (auto& [word, p] : kept) p /= sum;
  return kept;
}
// Counts of the first word that --generate adds to `prompt`.
std::map<std::string, int> first_words(const std::string& model, const std::string& prompt,
                                       int samples, const Strings& more) {
  Strings arguments{"--checkpoint",         model, "--generate", "--max-words", "1", "--samples",
                    std::to_string(samples)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  std::map<std::string, int> counts;
  const Strings lines = split(run(arguments, prompt + "\n"), '\n');
  CHECK(lines.size() == static_cast<size_t>(samples));
  for (const std::string& line : lines) {
    REQUIRE(line.starts_with(prompt));
    const std::string rest = line.substr(prompt.size());
    ++counts[rest.empty() ? "</s>" : rest.starts_with(' ') ? rest.substr(1) : rest];
  }
  return counts;
}
// Pearson's statistic against its mean (the degrees of freedom) and five standard deviations; rare
// words in one cell.
void check_distribution(const std::map<std::string, int>& counts, const Distribution& expected,
                        int samples) {
  double statistic = 0, rare_expected = 0, rare_seen = 0;
  int cells = 0;
  for (const auto& generated : counts)
    CHECK_MESSAGE(expected.contains(generated.first), generated.first, " was generated");
  for (const auto& [word, p] : expected) {
    const double wanted = p * samples, seen = counts.contains(word) ? counts.at(word) : 0;
    if (wanted < 5) {
      rare_expected += wanted;
      rare_seen += seen;
      continue;
    }
    statistic += (seen - wanted) * (seen - wanted) / wanted;
    ++cells;
  }
  if (rare_expected > 0)
    statistic +=
        (rare_seen - rare_expected) * (rare_seen - rare_expected) / std::max(rare_expected, 1.0);
  CHECK(cells >= 2);
  CHECK(statistic < cells + 5 * std::sqrt(2.0 * cells));
}

}  // namespace

TEST_CASE("lm_train, lm_score: a tab separates words as a space does") {
  CHECK(run({"--checkpoint", models().a}, kTabbed) == run({"--checkpoint", models().a}, kSpaced));
  const TemporaryDirectory dir;
  const auto dictionary = [&](const std::string& name, const std::string& text) {
    const Outcome r =
        run_program("lm_train", {"--train", dir.write(name + ".txt", text), "--layers", "1",
                                 "--hidden", "8", "--embed", "8", "--batch", "1", "--bptt", "2",
                                 "--after", "1u", "--run", dir / name});
    REQUIRE_MESSAGE(r.code == 0, r.err);
    return slurp(dir / name + "/checkpoints/latest/dict.txt");
  };
  const std::string words = dictionary("tabbed", kTabbed);
  CHECK(words == dictionary("spaced", kSpaced));
  CHECK(words.starts_with("the 2\n"));
  CHECK(words.find('\t') == std::string::npos);
}

TEST_CASE(
    "lm_score --top: probabilities are those of --tokens, ordered, with the text's word ranked "
    "among them") {
  const std::string& model = models().a;
  const std::vector<TopLine> lines = top(model, kText, 6),
                             all = top(model, kText, 1000, {"--batch-tokens", "7"});
  const auto scored = tokens(model, kText);
  REQUIRE(lines.size() == all.size());
  size_t at = 0;
  for (size_t s = 0; s < scored.size(); ++s) {
    for (size_t t = 0; t < scored[s].size(); ++t, ++at) {
      REQUIRE(at < lines.size());
      const TopLine &few = lines[at], &whole = all[at];
      CAPTURE(at);
      CHECK(few.line == static_cast<int>(s) + 1);
      CHECK(few.position == static_cast<int>(t) + 1);
      CHECK(few.p == doctest::Approx(std::exp(scored[s][t])).epsilon(1e-5));
      REQUIRE(few.top.size() == 6);
      double sum = 0, whole_sum = 0;
      for (size_t i = 0; i < few.top.size(); ++i) {
        sum += few.top[i].second;
        if (i > 0) CHECK(few.top[i].second <= few.top[i - 1].second);
        CHECK(few.top[i].first == whole.top[i].first);
        CHECK(few.top[i].second == doctest::Approx(whole.top[i].second).epsilon(1e-5));
      }
      CHECK(sum <= 1 + 1e-5);
      for (const auto& [word, p] : whole.top) whole_sum += p;
      CHECK(whole_sum == doctest::Approx(1).epsilon(1e-5));
      REQUIRE(whole.rank <= static_cast<int>(whole.top.size()));
      const std::string scored_as = whole.word.ends_with(" (<unk>)") ? "<unk>" : whole.word;
      CHECK(whole.top[static_cast<size_t>(whole.rank) - 1].first == scored_as);
    }
  }
  CHECK(at == lines.size());
  const auto word = [&](int line, int position) {
    return std::find_if(lines.begin(), lines.end(),
                        [&](const TopLine& t) { return t.line == line && t.position == position; })
        ->word;
  };
  CHECK(word(1, 2) == "cat");
  CHECK(word(2, 1) == "</s>");
  CHECK(word(3, 2) == "zebra (<unk>)");
  CHECK(word(3, 5) == "<unk>");
}

TEST_CASE("lm_score --generate: the greedy text takes --top's likeliest word at each position") {
  for (const char* prompt : {"", "a zebra", "the old"}) {
    const std::string line =
        run({"--checkpoint", models().b, "--generate", "--temperature", "0", "--max-words", "6"},
            std::string(prompt) + "\n");
    std::string text = prompt;
    for (int added = 0; added < 6; ++added) {
      const TopLine last = top(models().b, text + "\n", 2).back();
      const std::string& best = last.top[last.top[0].first == "<unk>" ? 1 : 0].first;
      if (best == "</s>") break;
      text += (text.empty() ? "" : " ") + best;
    }
    CHECK(line == text + "\n");
  }
}

TEST_CASE("lm_score --generate: words come as often as the model's probabilities say") {
  constexpr int kSamples = 4000;
  const std::string& model = models().a;
  check_distribution(first_words(model, "", kSamples, {}), next_word(model, ""), kSamples);
  check_distribution(first_words(model, "the zebra", kSamples, {"--seed", "7"}),
                     next_word(model, "the zebra"), kSamples);
  check_distribution(first_words(model, "she", kSamples, {"--temperature", "2"}),
                     next_word(model, "she", 2), kSamples);
  // A word does not follow from the random number of the one before it.
  std::map<std::string, int> second;
  int total = 0;
  for (const std::string& line :
       split(run({"--checkpoint", model, "--generate", "--max-words", "2", "--samples", "4000"},
                 "\n"),
             '\n')) {
    const Strings words = split(line, ' ');
    if (words.empty() || words[0] != "the") continue;
    ++second[words.size() > 1 ? words[1] : "</s>"];
    ++total;
  }
  CHECK(total > 500);
  check_distribution(second, next_word(model, "the"), total);
  // Later words too: the texts' own perplexity is what scoring them from the start gives.
  const Outcome made = run_program(
      "lm_score", {"--checkpoint", model, "--generate", "--samples", "300", "--max-words", "1000"},
      "\n");
  const Outcome scored = run_program("lm_score", {"--checkpoint", model}, made.out);
  const double own = std::stod(made.err.substr(made.err.rfind(' '))),
               theirs = std::stod(scored.err.substr(std::string("perplexity ").size()));
  CHECK(own == doctest::Approx(theirs).epsilon(1e-5));
}

TEST_CASE("lm_score --generate: top-k and top-p keep exactly the likeliest words") {
  constexpr int kSamples = 3000;
  const std::string& model = models().b;
  const Distribution all = next_word(model, ""), warm = next_word(model, "", 1.5);
  const auto kept = [](const std::map<std::string, int>& counts) {
    std::set<std::string> words;
    for (const auto& [word, count] : counts) words.insert(word);
    return words;
  };
  const auto words = [](const Distribution& d) {
    std::set<std::string> w;
    for (const auto& [word, p] : d) w.insert(word);
    return w;
  };
  struct Case {
    Strings arguments;
    Distribution expected;
  };
  const std::vector<Case> cases{{{"--top-k", "3"}, truncated(all, 3, 1)},
                                {{"--top-p", "0.8"}, truncated(all, 1000, 0.8)},
                                {{"--top-k", "3", "--top-p", "0.7", "--temperature", "1.5"},
                                 truncated(truncated(warm, 3, 1), 1000, 0.7)}};
  for (const Case& c : cases) {
    const auto counts = first_words(model, "", kSamples, c.arguments);
    CHECK(kept(counts) == words(c.expected));
    check_distribution(counts, c.expected, kSamples);
  }
  CHECK(first_words(model, "", 20, {"--top-k", "1"}).size() == 1);
  CHECK(first_words(model, "", 20, {"--top-p", "0"}).size() == 1);
}

TEST_CASE("choose_word: truncation, temperature, ties and the edges of the uniform number") {
  const std::vector<double> log_p{std::log(0.1), std::log(0.5), std::log(0.1), std::log(0.2),
                                  std::log(0.1)};  // 1 is <unk>
  const auto support = [&](const SamplingOptions& s) {
    std::set<int32_t> words;
    for (int i = 0; i < 1000; ++i) words.insert(choose_word(log_p, s, i / 1000.0));
    words.insert(choose_word(log_p, s, std::nextafter(1.0, 0.0)));
    return words;
  };
  using Set = std::set<int32_t>;
  CHECK(support({}) == Set{0, 2, 3, 4});
  CHECK(support({.allow_unknown = true}) == Set{0, 1, 2, 3, 4});
  CHECK(support({.temperature = 0}) == Set{3});
  CHECK(support({.temperature = 1e-4}) == Set{3});
  CHECK(support({.allow_unknown = true, .temperature = 0}) == Set{1});
  CHECK(support({.top_k = 2}) == Set{0, 3});  // of the equal ones the lowest number
  CHECK(support({.top_k = 100}) == Set{0, 2, 3, 4});
  CHECK(support({.top_p = 0.39}) == Set{3});  // 0.2 of 0.5
  CHECK(support({.top_p = 0.41}) == Set{0, 3});
  CHECK(support({.top_k = 2, .top_p = 0.66}) == Set{3});  // 0.2 of 0.3
  CHECK(support({.top_p = 0}) == Set{3});
}

TEST_CASE(
    "lm_score --generate: the same texts whatever the batch and the threads; prompts stay as "
    "typed") {
  std::string prompts;
  const Strings typed{
      "",  "the",           "a zebra heard", "she", "", "the old man fed a rare17 today",
      "a", "the  dog\tsaw", "she",           "him"};
  for (const std::string& p : typed) prompts += p + "\n";
  const auto text = [&](const Strings& more) {
    Strings arguments{"--checkpoint", models().b, "--generate", "--samples", "4",
                      "--max-words",  "9"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments, prompts);
  };
  const std::string usual = text({});
  CHECK(text({"--batch", "1", "--threads", "1"}) == usual);
  CHECK(text({"--batch", "7"}) == usual);
  CHECK(text({"--batch", "31", "--threads", "2"}) == usual);
  CHECK(text({"--seed", "1"}) == usual);
  CHECK(text({"--seed", "2"}) != usual);
  const Strings lines = split(usual, '\n');
  REQUIRE(lines.size() == 40);
  CHECK(usual.find("<unk>") == std::string::npos);
  CHECK(lines[8].starts_with("a zebra heard"));
  CHECK(lines[20].starts_with("the old man fed a rare17 today"));
  CHECK(lines[28].starts_with("the dog saw"));
  for (size_t i = 0; i < lines.size(); ++i) {
    std::istringstream prompt(typed[i / 4]), line(lines[i]);
    const auto words = [](std::istream& in) {
      return std::distance(std::istream_iterator<std::string>(in),
                           std::istream_iterator<std::string>());
    };
    const auto before = words(prompt), now = words(line);
    CHECK(now >= before);
    CHECK(now <= before + 9);
  }
  CHECK(std::set<std::string>(lines.begin(), lines.begin() + 4).size() > 1);  // samples differ
  CHECK(run({"--checkpoint", models().b, "--generate", "--samples", "300", "--allow-unknown"}, "\n")
            .find("<unk>") != std::string::npos);
}

namespace {

// The lines of --compare that are `name TAB value ...`, and those of sentences.
struct Compared {
  std::map<std::string, Strings> values;
  std::vector<Strings> sentences;
  double number(const std::string& name, size_t i = 1) const {
    return std::stod(values.at(name).at(i));
  }
};
Compared compare(const std::string& a, const std::string& b, const std::string& text,
                 const Strings& more = {}) {
  Strings arguments{"--compare", a, b};
  arguments.insert(arguments.end(), more.begin(), more.end());
  Compared c;
  bool sentences = false;
  for (const std::string& line : split(run(arguments, text), '\n')) {
    const Strings cells = split(line, '\t');
    if (sentences)
      c.sentences.push_back(cells);
    else
      c.values[cells[0]] = cells;
    sentences = sentences || cells[0] == "better";
  }
  return c;
}

// More text than a few lines, in the models' words.
std::string longer_text() {
  return run({"--checkpoint", models().a, "--generate", "--samples", "120", "--seed", "9"}, "\n");
}

}  // namespace

TEST_CASE("lm_score --compare: a model with itself") {
  const Compared c = compare(models().a, models().a + "/checkpoints/latest", longer_text());
  CHECK(c.values.at("mean gain")[1] == "0.000000");
  CHECK(c.values.at("ratio")[1] == "1.000000");
  CHECK(c.values.at("95% interval") == Strings{"95% interval", "1.000000", "1.000000"});
  CHECK(c.sentences.empty());
}

TEST_CASE("lm_score --compare: the differences of two models' --tokens") {
  const std::string text = longer_text() + kText;
  const auto a = tokens(models().a, text), b = tokens(models().b, text);
  const Compared c = compare(models().a, models().b, text, {"--worst", "3"});
  double gain = 0, nats_a = 0, nats_b = 0;
  int64_t count = 0;
  std::vector<double> sums;
  for (size_t s = 0; s < a.size(); ++s) {
    sums.push_back(0);
    for (size_t t = 0; t < a[s].size(); ++t, ++count) {
      sums.back() += b[s][t] - a[s][t];
      nats_a -= a[s][t];
      nats_b -= b[s][t];
    }
    gain += sums.back();
  }
  const auto n = static_cast<double>(count);
  CHECK(c.values.at("tokens")[1] == std::to_string(count));
  CHECK(c.values.at("sentences")[1] == std::to_string(a.size()));
  CHECK(c.number("perplexity A") == doctest::Approx(std::exp(nats_a / n)).epsilon(1e-5));
  CHECK(c.number("perplexity B") == doctest::Approx(std::exp(nats_b / n)).epsilon(1e-5));
  CHECK(std::abs(c.number("mean gain") - gain / n) < 2e-6);
  CHECK(c.number("ratio") == doctest::Approx(std::exp(-gain / n)).epsilon(1e-5));
  CHECK(c.number("95% interval", 1) < c.number("ratio"));
  CHECK(c.number("95% interval", 2) > c.number("ratio"));
  CHECK(!c.values.contains("left out"));

  REQUIRE(c.sentences.size() == 6);
  std::vector<size_t> order(sums.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t x, size_t y) { return sums[x] > sums[y]; });
  for (size_t i = 0; i < 6; ++i) {
    const Strings& row = c.sentences[i];
    REQUIRE(row.size() == 5);
    CHECK(row[0] == (i < 3 ? "B" : "A"));
    const double expected = sums[i < 3 ? order[i] : order[order.size() - 1 - (i - 3)]];
    const size_t s = std::stoul(row[1]) - 1;
    CHECK(std::abs(std::stod(row[2]) - expected) < 1e-4);
    CHECK(std::abs(sums[s] - expected) < 1e-5);
    CHECK(std::abs(std::stod(row[3]) - sums[s] / static_cast<double>(a[s].size())) < 1e-4);
    const Strings words = split(row[4], ' ');
    REQUIRE(words.size() == a[s].size());
    for (size_t t = 0; t < words.size(); ++t)
      CHECK(std::abs(std::stod(words[t].substr(words[t].rfind('/') + 1)) - (b[s][t] - a[s][t])) <
            1e-3);
    CHECK(words.back().starts_with("</s>/"));
  }

  const auto interval = [&](const Strings& more) {
    return compare(models().a, models().b, text, more).values.at("95% interval");
  };
  CHECK(interval({"--seed", "4", "--threads", "1"}) == interval({"--seed", "4", "--threads", "2"}));
  CHECK(interval({"--seed", "4"}) != interval({"--seed", "5"}));
  // Turned around, everything is.
  const Compared back = compare(models().b, models().a, text);
  CHECK(back.number("mean gain") == -c.number("mean gain"));
  CHECK(back.number("perplexity A") == c.number("perplexity B"));
  // With carried state as in validation.
  const Outcome carried =
      run_program("lm_score", {"--checkpoint", models().a, "--carry-state"}, text);
  CHECK(carried.err.starts_with(
      "perplexity " +
      compare(models().a, models().b, text, {"--carry-state"}).values.at("perplexity A")[1] + " "));
}

TEST_CASE("lm_score --compare: with other vocabularies, the words that both know") {
  const std::string text = longer_text() + kText;
  const std::string dict = "\n" + slurp(models().c + "/checkpoints/latest/dict.txt"),
                    whole = "\n" + slurp(models().a + "/checkpoints/latest/dict.txt");
  const auto knows = [](const std::string& words, const std::string& word) {
    return word == "</s>" || words.find("\n" + word + " ") != std::string::npos;
  };
  const auto a = tokens(models().a, text), c = tokens(models().c, text);
  double nats = 0;
  int64_t both = 0, only_a = 0, neither = 0;
  const Strings lines = split(text, '\n');
  for (size_t s = 0; s < lines.size(); ++s) {
    Strings words = split(lines[s], ' ');
    words.push_back("</s>");
    for (size_t t = 0; t < words.size(); ++t) {
      if (!knows(whole, words[t])) {
        ++neither;
      } else if (!knows(dict, words[t])) {
        ++only_a;
      } else {
        ++both;
        nats -= c[s][t];
      }
    }
  }
  const Outcome r = run_program("lm_score", {"--compare", models().a, models().c}, text);
  CHECK(r.err.find("different words") != std::string::npos);
  const Compared compared = compare(models().a, models().c, text);
  CHECK(compared.number("tokens") == static_cast<double>(both));
  CHECK(compared.number("left out", 1) == static_cast<double>(only_a));
  CHECK(compared.number("left out", 2) == 0);
  CHECK(compared.number("left out", 3) == static_cast<double>(neither));
  CHECK(only_a > 0);
  CHECK(neither == 2);
  CHECK(compared.number("perplexity B") ==
        doctest::Approx(std::exp(nats / static_cast<double>(both))).epsilon(1e-5));
}

TEST_CASE(
    "bootstrap_ratio: the normal approximation's interval, the same for a seed, exact where "
    "nothing varies") {
  RandomStream random({.seed = 3});
  std::vector<double> gains;
  std::vector<int64_t> counts;
  double mean = 0, squares = 0;
  for (int i = 0; i < 2000; ++i) {
    gains.push_back(random.uniform() * 2 - 0.8);
    counts.push_back(10);
    mean += gains.back() / 10 / 2000;
    squares += gains.back() * gains.back() / 100 / 2000;
  }
  const double error = std::sqrt((squares - mean * mean) / 2000);
  const Interval i = bootstrap_ratio(gains, counts, 2000, 1),
                 again = bootstrap_ratio(gains, counts, 2000, 1),
                 other = bootstrap_ratio(gains, counts, 2000, 2);
  CHECK(-std::log(i.high) == doctest::Approx(mean - 1.96 * error).epsilon(0.03));
  CHECK(-std::log(i.low) == doctest::Approx(mean + 1.96 * error).epsilon(0.03));
  CHECK(i.low == again.low);
  CHECK(i.high == again.high);
  CHECK(i.low != other.low);
  const Interval same =
      bootstrap_ratio(std::vector<double>(50, 1.5), std::vector<int64_t>(50, 3), 100, 1);
  CHECK(same.low == doctest::Approx(std::exp(-0.5)).epsilon(1e-12));
  CHECK(same.high == doctest::Approx(std::exp(-0.5)).epsilon(1e-12));
}

TEST_CASE("lm_score: a model without config.json has the head that its weights name") {
  const TemporaryDirectory dir;
  REQUIRE(run_program("lm_train", {"--sample", "--sample-sentences", "300", "--hidden", "8",
                                   "--embed", "8", "--head", "mix:log,pow:p=1", "--head-context",
                                   "none", "--after", "1u", "--run", dir / "run"})
              .code == 0);
  std::filesystem::create_directory(dir / "bare");
  for (const char* file : {"model.safetensors", "dict.txt"})
    std::filesystem::copy_file(std::filesystem::path(dir / "run/checkpoints/best") / file,
                               std::filesystem::path(dir / "bare") / file);
  const std::string text = "the cat\n";
  const Outcome whole = run_program("lm_score", {"--checkpoint", dir / "run"}, text);
  CHECK(whole.code == 0);
  CHECK(run_program("lm_score", {"--checkpoint", dir / "bare"}, text).out == whole.out);
}

namespace {

// log p of each token of a sentence, in long double, from the weights of an LSTM of one layer with
// head lin.
std::vector<long double> token_log_probs(const Safetensors& weights, const std::vector<int>& ids) {
  using Reals = std::vector<long double>;
  const auto matrix = [&](const std::string& name) {
    const Tensor& t = weights.at(name);
    CHECK(t.dtype() == DType::float64);
    const std::vector<double> all = t.to_vector();
    std::vector<Reals> rows;
    for (auto at = all.begin(); at != all.end(); at += t.shape().cols())
      rows.emplace_back(at, at + t.shape().cols());
    return rows;
  };
  const auto words = matrix("embedding.weight"), ih = matrix("lstm.weight_ih_l0"),
             hh = matrix("lstm.weight_hh_l0"), out = matrix("head.weight");
  const Reals b_ih = matrix("lstm.bias_ih_l0")[0], b_hh = matrix("lstm.bias_hh_l0")[0],
              bias = matrix("head.bias")[0];
  const auto dot = [](const Reals& a, const Reals& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0L);
  };
  const auto sigmoid = [](long double x) { return 1 / (1 + std::exp(-x)); };
  const size_t n = hh[0].size();
  Reals h(n), c(n), log_probs;
  int input = 0;  // </s>
  for (const int id : ids) {
    Reals gates;
    for (size_t k = 0; k < 4 * n; ++k)
      gates.push_back(dot(ih[k], words[static_cast<size_t>(input)]) + dot(hh[k], h) + b_ih[k] +
                      b_hh[k]);
    for (size_t k = 0; k < n; ++k) {
      c[k] = sigmoid(gates[n + k]) * c[k] + sigmoid(gates[k]) * std::tanh(gates[2 * n + k]);
      h[k] = sigmoid(gates[3 * n + k]) * std::tanh(c[k]);
    }
    long double sum = 0;
    for (size_t v = 0; v < out.size(); ++v) sum += std::exp(dot(out[v], h) + bias[v]);
    const auto word = static_cast<size_t>(id);
    log_probs.push_back(dot(out[word], h) + bias[word] - std::log(sum));
    input = id;
  }
  return log_probs;
}

}  // namespace

TEST_CASE("lm_score: a float64 model is scored in float64") {
  const TemporaryDirectory dir;
  const std::string run = dir / "run";
  REQUIRE(run_program("lm_train", {"--sample", "--sample-sentences", "300", "--hidden", "8",
                                   "--embed", "6", "--layers", "1", "--dtype", "float64", "--lr",
                                   "0.1", "--after", "20u", "--run", run})
              .code == 0);
  const std::filesystem::path best = std::filesystem::path(run) / "checkpoints/best";
  const Vocabulary vocabulary =
      Vocabulary::read((best / "dict.txt").string(), Specials::kLanguageModel);
  std::vector<int> ids;
  std::string line;
  for (int32_t id = vocabulary.size() - 1; id > 1; id -= 7) {
    ids.push_back(id);
    line += (line.empty() ? "" : " ") + std::string(vocabulary.word(id));
  }
  ids.push_back(0);
  const std::vector<long double> expected =
      token_log_probs(read_safetensors(best / "model.safetensors"), ids);
  const std::vector<double> found = tokens(run, line + "\n").at(0);
  REQUIRE(found.size() == expected.size());
  for (size_t t = 0; t < found.size(); ++t)
    CHECK(std::abs(found[t] - static_cast<double>(expected[t])) < 1e-13);
  const double sum = std::stod(::run({"--checkpoint", run}, line + "\n"));
  CHECK(sum == doctest::Approx(
                   static_cast<double>(std::accumulate(expected.begin(), expected.end(), 0.0L)))
                   .epsilon(1e-14));
}

TEST_CASE("lm_score: a model whose dictionary lists no word") {
  const TemporaryDirectory dir;
  std::vector<Tensor> zeros;
  std::vector<NamedView> weights;
  const auto add = [&](const char* name, const Shape& shape) {
    weights.push_back({name, zeros.emplace_back(shape, DType::float32).view()});
  };
  add("embedding.weight", {2, 3});
  add("lstm.weight_ih_l0", {8, 3});
  add("lstm.weight_hh_l0", {8, 2});
  add("lstm.bias_ih_l0", {8});
  add("lstm.bias_hh_l0", {8});
  add("head.weight", {2, 2});
  write_safetensors(dir / "model.safetensors", weights, {});
  put(dir / "dict.txt", "");
  // </s> and <unk> are equally likely.
  const std::vector<double> log_probs = tokens(dir.path().string(), "x\n").at(0);
  for (const double log_p : log_probs)
    CHECK(log_p == doctest::Approx(-std::log(2.0)).epsilon(1e-6));
}

TEST_CASE("lm_score: what fails leaves the output file as it was") {
  const TemporaryDirectory dir;
  std::ofstream(dir / "out.txt") << "precious\n";
  const Outcome r = run_program(
      "lm_score", {"--checkpoint", dir / "nowhere", "--output", dir / "out.txt"}, "the cat\n");
  CHECK(r.code == 1);
  CHECK(slurp(dir / "out.txt") == "precious\n");
  CHECK(run_program("lm_score", {"--checkpoint", dir / "nowhere", "--output", dir / "new.txt"},
                    "the cat\n")
            .code == 1);
  CHECK_FALSE(std::filesystem::exists(dir / "new.txt"));
  CHECK(has(run_program("lm_score",
                        {"--checkpoint", std::string(dir / "m"), "--output", dir / "m/dict.txt"},
                        "the cat\n")
                .err,
            "is also a file of the model"));
}

TEST_CASE("lm_score: what does not go together is a usage error that says what to do") {
  const std::string &a = models().a, &b = models().b;
  struct Case {
    Strings arguments;
    const char* says;
  };
  const std::vector<Case> cases{
      {{}, "give --checkpoint DIR"},
      {{"--checkpoint", a, "--top", "3", "--generate"}, "one of them"},
      {{"--checkpoint", a, "--compare", a, b}, "leave out --checkpoint"},
      {{"--compare", a}, "two checkpoints"},
      {{"--compare", a, b, a}, "two checkpoints"},
      {{"--checkpoint", a, "--temperature", "0.5"}, "--generate"},
      {{"--checkpoint", a, "--top", "2", "--samples", "3"}, "--generate"},
      {{"--checkpoint", a, "--worst", "3"}, "--compare"},
      {{"--checkpoint", a, "--seed", "3"}, "--generate and --compare"},
      {{"--checkpoint", a, "--generate", "--tokens"}, "plain scoring"},
      {{"--checkpoint", a, "--generate", "--batch-tokens", "10"}, "--batch"},
      {{"--checkpoint", a, "--top", "2", "--carry-state"}, "--carry-state"},
      {{"--checkpoint", a, "--generate", "--temperature", "0", "--samples", "2"}, "--samples"},
      {{"--checkpoint", a, "--generate", "--temperature", "0", "--top-k", "2"}, "--top-k has no"},
      {{"--checkpoint", a, "--generate", "--temperature", "0", "--top-p", "0.5"}, "--top-p has no"},
      {{"--checkpoint", a, "--generate", "--temperature", "0", "--seed", "2"}, "--seed has no"},
      {{"--checkpoint", a, "--generate", "--temperature", "-1"}, "--temperature"},
      {{"--checkpoint", a, "--generate", "--top-p", "1.5"}, "--top-p"},
      {{"--checkpoint", a, "--generate", "--max-words", "0"}, "--max-words"},
  };
  for (const Case& c : cases) {
    const Outcome r = run_program("lm_score", c.arguments, "the cat\n");
    CAPTURE(r.err);
    CHECK(r.code == 2);
    CHECK(r.err.find(c.says) != std::string::npos);
    CHECK(r.out.empty());
  }
  const Outcome nothing = run_program("lm_score", {"--checkpoint", a, "--generate"});
  CHECK(nothing.code == 1);
  CHECK(nothing.err.find("an empty line is a prompt") != std::string::npos);
  // A dumped configuration gives every option and is none of these.
  const Outcome dumped = run_program("lm_score", {"--checkpoint", a, "--dump-config"});
  std::ofstream(models().dir / "dumped.json") << dumped.out;
  CHECK(run({"--config", models().dir / "dumped.json"}, "the cat\n") ==
        run({"--checkpoint", a}, "the cat\n"));
}
