// Sentences whose beginnings are computed once, against sentences one after another.
#include <doctest/doctest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "nn/models/language_model.h"
#include "nn/models/score_text.h"
#include "nn/models/shared_beginnings.h"
#include "tests/apps/lm_score_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_shared_beginnings {
namespace {

using Nats = std::vector<std::vector<double>>;

// Lines that often begin alike, equal lines, a line that is another's beginning, an empty line.
Strings made_lines(uint32_t seed, size_t count) {
  std::mt19937 random(seed);
  const Strings words{"the", "cat", "saw", "a", "dog", "zebra", "old", "<unk>"};
  Strings lines{"", "the cat", "the cat saw", "the cat"};
  while (lines.size() < count) {
    const std::string& other = lines[random() % lines.size()];
    std::string line = other.substr(0, other.rfind(' ', random() % (other.size() + 1)));
    for (auto more = random() % 5; more > 0; --more)
      line += (line.empty() ? "" : " ") + words[random() % words.size()];
    lines.push_back(line);
  }
  return lines;
}

Nats plain(const LanguageModel& model, const Corpus& text, const ScoringOptions& options) {
  Nats all;
  score_text(model, text, options,
             [&](std::span<const double> nats) { all.emplace_back(nats.begin(), nats.end()); });
  return all;
}

// The number of different beginnings, each with its next token.
int64_t different(const Corpus& text) {
  std::set<std::vector<int32_t>> beginnings;
  for (int64_t s = 0; s < text.sentences(); ++s)
    for (size_t length = 1; length <= text.sentence(s).size(); ++length) {
      const auto ids = text.sentence(s).first(length);
      beginnings.emplace(ids.begin(), ids.end());
    }
  return std::ssize(beginnings);
}

}  // namespace

TEST_CASE("score_shared_beginnings: score_text's bits, each beginning once") {
  for (const std::string& run : {model_a(), model_b(), transformer_model()}) {
    const LanguageModel model = LanguageModel::load(run);
    const bool shares = run != transformer_model();
    for (uint32_t seed = 0; seed < 4; ++seed) {
      const Corpus text = corpus_of(model, made_lines(seed, 60));
      for (const int64_t batch : {int64_t{6}, int64_t{40}, int64_t{4096}}) {
        Nats own;
        int64_t last = 0;
        const int64_t computed = score_shared_beginnings(
            model, text, {.batch_tokens = batch},
            [&](std::span<const double> nats) { own.emplace_back(nats.begin(), nats.end()); },
            [&](int64_t done) {
              CHECK(done > last);
              last = done;
            });
        CAPTURE(run);
        CAPTURE(batch);
        CHECK(own == plain(model, text, {.batch_tokens = batch}));
        CHECK(last == text.tokens());
        if (shares && batch == 4096) {
          CHECK(computed == different(text));
          CHECK(computed < text.tokens());
        } else {
          CHECK(computed <= text.tokens());
        }
      }
    }
  }
}

TEST_CASE("score_shared_beginnings: what only score_text() does") {
  const LanguageModel model = LanguageModel::load(model_a());
  const Corpus text = corpus_of(model, made_lines(7, 30));
  for (const ScoringOptions& options :
       {ScoringOptions{.carry_state = true}, ScoringOptions{.window = 7},
        ScoringOptions{.undo_margin = 0.2}, ScoringOptions{.batch_tokens = 2}}) {
    Nats own;
    CHECK(score_shared_beginnings(model, text, options, [&](std::span<const double> nats) {
            own.emplace_back(nats.begin(), nats.end());
          }) == text.tokens());
    CHECK(own == plain(model, text, options));
  }
}

}  // namespace nine::tests::test_shared_beginnings
