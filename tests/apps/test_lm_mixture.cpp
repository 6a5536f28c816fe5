// lm_score --interpolate: mixtures of language models and n-gram models against sums by hand.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/number_format.h"
#include "data/ngram_model.h"
#include "data/text.h"
#include "nn/models/language_model.h"
#include "tests/apps/lm_score_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_lm_mixture {
namespace {

// Unigrams of some words of the small models and of a word that they lack, with a bigram.
std::string arpa(bool with_unknown) {
  const std::vector<std::string> words{"the", "cat", "dog", "a", "zebra", "saw"};
  std::string text = concat("\\data\\\nngram 1=", words.size() + (with_unknown ? 3 : 2),
                            "\nngram 2=1\n\n\\1-grams:\n-99\t<s>\t-0.1\n-0.7\t</s>\n");
  if (with_unknown) text += "-1.5\t<unk>\n";
  for (size_t w = 0; w < words.size(); ++w)
    text += concat(shortest(-0.8 - 0.1 * static_cast<double>(w)), '\t', words[w], "\t-0.25\n");
  return text + "\n\\2-grams:\n-0.3\tthe cat\n\n\\end\\\n";
}

const std::string kText = "the cat saw a zebra\n\nthe qqq saw a dog\nthe old man\n";

struct Files {
  TemporaryDirectory dir;
  std::string ngrams = dir.write("n.arpa", arpa(true)), closed = dir.write("c.arpa", arpa(false)),
              text = dir.write("text", kText);
  Outcome run(const Strings& more) const {
    return run_program("lm_score", joined({"--input", text}, more));
  }
};

std::vector<std::vector<double>> rows_of(const std::string& out) {
  std::vector<std::vector<double>> rows;
  for (const std::string& line : split(out, '\n')) {
    rows.emplace_back();
    for (const std::string& number : split(line, ' '))
      rows.back().push_back(number == "-inf" ? -INFINITY : std::stod(number));
  }
  return rows;
}

// The oracle: p = sum of weight times p under a model that knows the word; <unk> of both only if
// neither knows it.
std::vector<std::vector<double>> by_hand(const std::string& ngram_file, double own_weight) {
  const NGramModel ngrams = NGramModel::read(ngram_file);
  const LanguageModel model = LanguageModel::load(model_a());
  const Vocabulary& vocabulary = model.vocabulary();
  const auto own = scored_tokens(model_a(), kText);
  std::vector<std::vector<double>> rows;
  const Strings lines = split(kText, '\n');
  for (size_t l = 0; l < lines.size(); ++l) {
    Strings words;
    for_each_word(lines[l], [&](std::string_view word) { words.emplace_back(word); });
    words.emplace_back("</s>");
    const std::vector<double> other = ngrams.score(lines[l]);
    rows.emplace_back();
    for (size_t t = 0; t < words.size(); ++t) {
      const bool in_own = vocabulary.id(words[t]) != 1, in_other = ngrams.find(words[t]) >= 0;
      double p = 0;
      if (in_own || !in_other) p += own_weight * std::exp(own[l][t]);
      if (in_other || !in_own) p += (1 - own_weight) * std::exp(other[t]);
      rows.back().push_back(std::log(p));
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("lm_score --interpolate: the weighted sum of probabilities, and words that one lacks") {
  const Files files;
  for (const std::string& ngrams : {files.ngrams, files.closed}) {
    const Outcome run = files.run({"--checkpoint", model_a(), "--interpolate", ngrams, "--weights",
                                   "0.7", "0.3", "--tokens"});
    REQUIRE_MESSAGE(run.code == 0, run.err);
    const auto rows = rows_of(run.out), wanted = by_hand(ngrams, 0.7);
    REQUIRE(rows.size() == wanted.size());
    for (size_t l = 0; l < rows.size(); ++l) {
      REQUIRE(rows[l].size() == wanted[l].size());
      for (size_t t = 0; t < rows[l].size(); ++t)
        CHECK(rows[l][t] == doctest::Approx(wanted[l][t]).epsilon(1e-9));
    }
    CHECK_MESSAGE(has(run.err, "lacks 1 tokens that another model knows: probability 0"), run.err);
    CHECK_MESSAGE(has(run.err, "over 17 tokens (4 sentences, 5.88% unknown tokens)"), run.err);
    // Sums of the lines are those of their tokens.
    const auto sums = rows_of(
        files.run({"--checkpoint", model_a(), "--interpolate", ngrams, "--weights", "0.7", "0.3"})
            .out);
    double first = 0;
    for (const double x : rows[0]) first += x;
    CHECK(sums[0][0] == doctest::Approx(first));
  }
}

TEST_CASE("lm_score --interpolate: an n-gram model alone is scored as NGramModel scores it") {
  const Files files;
  const Outcome run = files.run({"--interpolate", files.ngrams, "--tokens"});
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const auto rows = rows_of(run.out);
  const Strings lines = split(kText, '\n');
  const NGramModel model = NGramModel::read(files.ngrams);
  for (size_t l = 0; l < rows.size(); ++l) {
    const std::vector<double> wanted = model.score(lines[l]);
    REQUIRE(rows[l].size() == wanted.size());
    for (size_t t = 0; t < wanted.size(); ++t) CHECK(rows[l][t] == doctest::Approx(wanted[t]));
  }
  const Outcome closed = files.run({"--interpolate", files.closed});
  CHECK(has(closed.err, "perplexity inf over 17 tokens"));
  CHECK(has(closed.err, "tokens of probability 0: 3, which every model"));
}

TEST_CASE("lm_score --interpolate: tuned weights are printed, and give the same scores again") {
  const Files files;
  const Strings models{"--checkpoint", model_a(), "--interpolate", files.ngrams, model_b()};
  const Outcome tuned = files.run(joined(models, {"--tune-weights", files.text}));
  REQUIRE_MESSAGE(tuned.code == 0, tuned.err);
  const size_t at = tuned.err.find("--weights ");
  REQUIRE(at != std::string::npos);
  const Strings flags = split(tuned.err.substr(at, tuned.err.find(';', at) - at), ' ');
  REQUIRE(flags.size() == 4);
  const Outcome given = files.run(joined(models, flags)), equal = files.run(models);
  CHECK(given.code == 0);
  CHECK(given.out == tuned.out);
  const auto perplexity = [](const Outcome& run) {
    const std::string before = "; perplexity ";
    return std::stod(run.err.substr(run.err.rfind(before) + before.size()));
  };
  CHECK(perplexity(given) <= perplexity(equal));
}

TEST_CASE("lm_score --interpolate: weights that are found on what they are used for, words <s>") {
  const Files files;
  const Strings models{"--checkpoint", model_a(), "--interpolate", files.ngrams};
  const auto said = [&](const std::string& tuning) {
    const Outcome run =
        files.run(joined(models, {"--tune-weights", files.dir.write("tune", tuning)}));
    CHECK(run.code == 0);
    return run.err;
  };
  const std::string warning = " are in " + files.dir / "tune" + " too, so that the figures are";
  CHECK(has(said(kText), "3 of 3 different lines of " + files.text + warning));
  CHECK(has(said("the old man\nthe cat saw a zebra\n"), "2 of 3 different lines"));
  CHECK_FALSE(has(said("the old man\na dog\n"), "different lines"));
  CHECK_FALSE(has(said("\nthe dog\n"), "different lines"));  // a blank line is no text
  const Outcome blank =
      files.run(joined(models, {"--tune-weights", files.dir.write("blank", "\n \n")}));
  CHECK(blank.code == 1);
  CHECK(has(blank.err, "has no words to tune weights on"));
  const Outcome begun = run_program("lm_score", joined(models, {"--max-unknown", "1"}),
                                    "<s> the cat </s>\n<s> a dog\n");
  CHECK(
      has(begun.err, "standard input: 2 words are spelled <s>, which begins a sentence in n-gram"));
  // A model of Nine alone has no such word.
  CHECK_FALSE(has(
      run_program("lm_score", {"--checkpoint", model_a(), "--max-unknown", "1"}, "<s> the cat\n")
          .err,
      "n-gram"));
}

TEST_CASE("lm_score --interpolate: what is refused") {
  const Files files;
  const auto refusal = [&](const Strings& more) {
    const Outcome run = files.run(more);
    CHECK(run.code == 2);
    return run.err;
  };
  const std::string &own = model_a(), &ngrams = files.ngrams;
  CHECK(has(refusal({"--checkpoint", own, "--interpolate", ngrams, "--weights", "0.5"}),
            "--weights gives 1 numbers for 2 models"));
  CHECK(has(refusal({"--checkpoint", own, "--interpolate", ngrams, "--weights", "0.5", "0.6"}),
            "add up to 1.1"));
  CHECK(has(refusal({"--checkpoint", own, "--interpolate", ngrams, "--weights", "x", "1"}),
            "'x' is not a number from 0 to 1"));
  CHECK(has(refusal({"--checkpoint", own, "--interpolate", own}), "named twice"));
  CHECK(has(refusal({"--interpolate", ngrams, ngrams}), "named twice"));
  CHECK(has(refusal({"--interpolate", ngrams, files.dir.write("copy.arpa", arpa(true))}),
            "copy.arpa has the weights of " + ngrams));
  CHECK(
      has(refusal({"--interpolate", ngrams, "--tune-weights", files.text}), "for several models"));
  CHECK(has(refusal({"--checkpoint", own, "--weights", "1"}), "--interpolate"));
  CHECK(has(refusal({"--checkpoint", own, "--interpolate", ngrams, "--top", "3"}),
            "different tasks"));
  CHECK(
      has(refusal({"--checkpoint", own, "--interpolate", ngrams, "--output", ngrams}), "--output"));
  const Outcome missing = files.run({"--checkpoint", own, "--interpolate", files.dir / "none"});
  CHECK(missing.code == 1);
  CHECK(has(missing.err, files.dir / "none"));
  const Outcome unfit = files.run({"--interpolate", ngrams, "--max-unknown", "0.05"});
  CHECK(unfit.code == 1);
  CHECK(has(unfit.err, ngrams));
}

}  // namespace nine::tests::test_lm_mixture
