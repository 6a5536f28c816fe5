#include "tests/apps/rescoring_runs.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/random.h"
#include "data/vocabulary.h"

namespace nine::tests {

MadeLists made_lists(const std::string& name, const Strings& sentences, uint64_t seed) {
  RandomStream random({.seed = seed});
  const Strings wrong{"the", "a", "dog", "cat", "him", "saw", "zebra", "old"};
  MadeLists made;
  for (size_t i = 0; i < sentences.size(); ++i) {
    const std::string id = concat(i % 2 == 0 ? "x" : "y", "_", name, i);
    made.reference += id + "\t" + sentences[i] + "\n";
    Strings hypotheses{sentences[i]};
    for (int h = 0; h < 6; ++h) {
      std::string text;
      for (const std::string& word : split(sentences[i], ' ')) {
        const uint64_t what = random.below(8);
        if (what != 0) text += (what == 1 ? wrong[random.below(wrong.size())] : word) + " ";
        if (what == 2) text += wrong[random.below(wrong.size())] + " ";
      }
      hypotheses.push_back(text.empty() ? "a" : text);
    }
    const size_t place = random.below(hypotheses.size());
    std::swap(hypotheses[0], hypotheses[place]);
    for (size_t h = 0; h < hypotheses.size(); ++h)
      made.nbest +=
          concat(id, "\t", -1000.0 - 7.0 * static_cast<double>(h), "\t", hypotheses[h], "\n");
  }
  return made;
}

Strings sentences(size_t from, size_t count) {
  Strings all = split(longer_text(), '\n');
  std::erase(all, "");
  REQUIRE(all.size() >= from + count);
  return {all.begin() + static_cast<long>(from), all.begin() + static_cast<long>(from + count)};
}

RescoringFiles::RescoringFiles() {
  dir.write("tune.nbest", tune.nbest);
  dir.write("tune.ref", tune.reference);
  dir.write("test.nbest", test.nbest);
  dir.write("test.ref", test.reference);
}

Outcome RescoringFiles::run(const Strings& more) const {
  Strings arguments{"--nbest",        dir / "test.nbest", "--reference",
                    dir / "test.ref", "--output",         dir / "out"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program("lm_rescore", arguments);
}

Strings RescoringFiles::tuning() const {
  return {"--checkpoint",     model_a(),          "--tune-nbest",
          dir / "tune.nbest", "--tune-reference", dir / "tune.ref"};
}

Json RescoringFiles::results() const { return Json::parse(slurp(dir / "out/results.json")); }

std::string biased_model(const TemporaryDirectory& dir, const std::string& name,
                         const std::string& word, float bias) {
  const Vocabulary words =
      Vocabulary::read(model_a() + "/checkpoints/best/dict.txt", Specials::kLanguageModel);
  return changed_model(dir, name, model_a(), "head.bias", words.id(word), bias);
}

}  // namespace nine::tests
