// lm_score --generate: what it writes against the distributions of --top, and how a word is chosen.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "data/detokenize.h"
#include "nn/models/sampling.h"
#include "tests/apps/lm_score_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_lm_generate {
namespace {

using Distribution = std::map<std::string, double>;
// Of the word after `prompt`, from --top: without <unk>, flattened by the temperature.
Distribution next_word(const std::string& model, const std::string& prompt,
                       double temperature = 1) {
  Distribution d;
  const std::vector<TopLine> all = top_lines(model, prompt + "\n", 1000);
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
  const Strings lines = split(lm_score(arguments, prompt + "\n"), '\n');
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

TEST_CASE("lm_score --generate: the greedy text takes --top's likeliest word at each position") {
  for (const char* prompt : {"", "a zebra", "the old"}) {
    const std::string line = lm_score(
        {"--checkpoint", model_b(), "--generate", "--temperature", "0", "--max-words", "6"},
        std::string(prompt) + "\n");
    std::string text = prompt;
    for (int added = 0; added < 6; ++added) {
      const TopLine last = top_lines(model_b(), text + "\n", 2).back();
      const std::string& best = last.top[last.top[0].first == "<unk>" ? 1 : 0].first;
      if (best == "</s>") break;
      text += (text.empty() ? "" : " ") + best;
    }
    CHECK(line == text + "\n");
  }
}

TEST_CASE("lm_score --generate --detokenize: prose of the same words") {
  const Strings words{
      "--checkpoint",  model_b(), "--generate", "--temperature", "0", "--max-words", "3",
      "--max-unknown", "1"};
  const std::string prompt = "a ze@@ bra , &quot; the &quot;",
                    text = lm_score(words, prompt + "\n"),
                    added = text.substr(prompt.size(), text.size() - prompt.size() - 1);
  CHECK(lm_score(joined(words, {"--detokenize", "moses"}), prompt + "\n") ==
        detokenize("a zebra , &quot; the &quot;" + added, {.rules = Detokenizing::moses}) + "\n");
  CHECK(lm_score(joined(words, {"--detokenize", "none"}), prompt + "\n") == text);
}

TEST_CASE("lm_score --generate: words come as often as the model's probabilities say") {
  constexpr int kSamples = 4000;
  const std::string& model = model_a();
  check_distribution(first_words(model, "", kSamples, {}), next_word(model, ""), kSamples);
  check_distribution(first_words(model, "the zebra", kSamples, {"--seed", "7"}),
                     next_word(model, "the zebra"), kSamples);
  check_distribution(first_words(model, "she", kSamples, {"--temperature", "2"}),
                     next_word(model, "she", 2), kSamples);
  // A word does not follow from the random number of the one before it.
  std::map<std::string, int> second;
  int total = 0;
  for (const std::string& line : split(
           lm_score({"--checkpoint", model, "--generate", "--max-words", "2", "--samples", "4000"},
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

TEST_CASE("lm_score --generate --lines: a text goes on over the ends of lines, with the state") {
  for (const std::string& model : {model_a(), transformer_model()}) {
    const auto run = [&](const Strings& more, const std::string& text) {
      Strings all{"--checkpoint", model};
      all.insert(all.end(), more.begin(), more.end());
      return run_program("lm_score", all, text);
    };
    const Strings generate{"--generate", "--samples", "3", "--seed", "3", "--max-words", "100"};
    const auto with = [&](Strings more) {
      more.insert(more.end(), generate.begin(), generate.end());
      return more;
    };
    const Outcome made = run(with({"--lines", "4"}), "the\n");
    const Strings lines = split(made.out, '\n');
    REQUIRE(lines.size() == 12);
    CHECK(has(made.err, "3 texts"));
    CHECK(has(made.err, "9 line ends added, 3 ended by </s>"));
    CHECK(run(with({"--lines", "4", "--batch", "1"}), "the\n").out == made.out);
    Strings prose;
    for (const std::string& line : lines)
      prose.push_back(detokenize(line, {.rules = Detokenizing::moses}));
    CHECK(split(run(with({"--lines", "4", "--detokenize", "moses"}), "the\n").out, '\n') == prose);
    if (model == transformer_model()) continue;  // its windows are shorter than the texts
    // Each text's words and line ends in one window, from a fresh state, but for the prompt.
    double nats = 0, tokens = 0;
    for (size_t first = 0; first < lines.size(); first += 4) {
      CHECK(lines[first].starts_with("the"));
      std::string text;
      for (size_t i = first; i < first + 4; ++i) text += lines[i] + "\n";
      std::istringstream scores(run({"--tokens", "--window", "100"}, text).out);
      double log_p = 0;
      for (scores >> log_p; scores >> log_p; ++tokens) nats -= log_p;
    }
    CHECK(std::stod(made.err.substr(made.err.rfind(' '))) ==
          doctest::Approx(std::exp(nats / tokens)).epsilon(1e-5));
    const std::string one = run(with({}), "the\n").out;
    CHECK(run(with({"--lines", "1"}), "the\n").out == one);
    CHECK(split(one, '\n')[0] == lines[0]);
  }
  CHECK(has(run_program("lm_score", {"--checkpoint", model_a(), "--lines", "2"}, "the\n").err,
            "--lines is for --generate"));
}

TEST_CASE("lm_score --generate: top-k and top-p keep exactly the likeliest words") {
  constexpr int kSamples = 3000;
  const std::string& model = model_b();
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
  const std::vector<double> equal(5, std::log(0.2));
  CHECK(choose_word(equal, {.allow_unknown = true, .top_p = 0}, 0.9) == 0);
}

// Choices among many words by a sort of all of them.
TEST_CASE("choose_word: among many words, the smallest set of likeliest words that reaches top_p") {
  constexpr int32_t kWords = 3000;
  std::vector<double> log_p;
  for (int32_t v = 0; v < kWords; ++v)
    log_p.push_back(-0.5 * std::log1p(v % 977) - 9 + std::sin(v));
  log_p[5] = -INFINITY;
  for (const double temperature : {1.0, 0.5, 4.0})
    for (const double top_p : {0.05, 0.5, 0.95, 0.999999}) {
      CAPTURE(temperature);
      CAPTURE(top_p);
      std::vector<int32_t> order;
      for (int32_t v = 0; v < kWords; ++v)
        if (v != 1) order.push_back(v);
      const auto share = [&](int32_t v) {
        return std::exp(log_p[static_cast<size_t>(v)] / temperature);
      };
      std::ranges::stable_sort(order, std::greater<>(), share);
      double all = 0, sum = 0;
      for (const int32_t v : order) all += share(v);
      size_t kept = 0;
      while (kept < order.size() && (kept == 0 || sum < top_p * all)) sum += share(order[kept++]);
      order.resize(kept);
      std::ranges::reverse(order);  // the least likely comes first
      for (const double uniform : {0.0, 0.2, 0.5, 0.9, 0.9999}) {
        const int32_t word =
            choose_word(log_p, {.temperature = temperature, .top_p = top_p}, uniform);
        double before = 0;
        for (const int32_t v : order) {
          if (v == word) break;
          before += share(v);
        }
        CHECK(before <= uniform * sum * (1 + 1e-9));
        CHECK(before + share(word) >= uniform * sum * (1 - 1e-9));
      }
    }
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
    Strings arguments{"--checkpoint", model_b(), "--generate", "--samples", "4",
                      "--max-words",  "9"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return lm_score(arguments, prompts);
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
  CHECK(lm_score({"--checkpoint", model_b(), "--generate", "--samples", "300", "--allow-unknown"},
                 "\n")
            .find("<unk>") != std::string::npos);
}

}  // namespace nine::tests::test_lm_generate
