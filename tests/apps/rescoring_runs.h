// What the suites of lm_rescore share: lists of the small models' words, and the program's runs.
#pragma once

#include <cstdint>
#include <string>

#include "core/json.h"
#include "tests/apps/lm_score_runs.h"

namespace nine::tests {

/// N-best lists and their references, as text.
struct MadeLists {
  std::string nbest, reference;
};
/// Lists of the sentences, in which the first pass prefers what it heard wrong.
MadeLists made_lists(const std::string& name, const Strings& sentences, uint64_t seed);

/// `count` sentences in the small models' words, from sentence `from` on.
Strings sentences(size_t from, size_t count);

/// A folder with lists to tune on and lists to report, and a run on them.
struct RescoringFiles {
  TemporaryDirectory dir;
  MadeLists tune = made_lists("t", sentences(0, 40), 1),
            test = made_lists("r", sentences(40, 60), 2);
  RescoringFiles();
  /// Runs lm_rescore on the lists to report; its results are in dir/out.
  Outcome run(const Strings& more) const;
  /// model_a and the lists to tune on.
  Strings tuning() const;
  Json results() const;
};

/// model_a with another bias of a word; its directory, which is `name` in `dir`.
std::string biased_model(const TemporaryDirectory& dir, const std::string& name,
                         const std::string& word, float bias);

}  // namespace nine::tests
