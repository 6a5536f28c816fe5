// What the suites of lm_score share: small models, the program's runs on them, and its output read
// back.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/support/programs.h"

namespace nine::tests {

using Strings = std::vector<std::string>;

/// Runs of three models of one small text, each trained when it is first asked for: a and b with
/// the same words, c with fewer.
const std::string& model_a();
const std::string& model_b();
const std::string& model_c();
const std::string& transformer_model();

/// A new directory in `dir` that is found to have a model, which is none when it is opened: its
/// name in an error says that the programs came so far.
std::string broken_model(const TemporaryDirectory& dir);

/// A copy of a run's best checkpoint, without its state, in which one number of a tensor is
/// another. Its directory, which is `name` in `dir`.
std::string changed_model(const TemporaryDirectory& dir, const std::string& name,
                          const std::string& run, const std::string& tensor, int64_t element,
                          float value);

/// A text for them: an empty line, a word that they do not have, <unk> itself.
inline const std::string kLmText =
    "the cat saw a dog\n\na zebra heard the <unk> today\nthe old man fed him\nshe liked a bird "
    "today\n";
/// More text than a few lines, in the models' words.
std::string longer_text();

/// The parts of a text between characters `at`; an empty one at its end is left out.
Strings split(const std::string& text, char at);

/// Standard output of lm_score, which must succeed.
std::string lm_score(const Strings& arguments, const std::string& input);

/// A line of --top.
struct TopLine {
  int line = 0, position = 0;
  std::string word;
  double p = 0;
  int rank = 0;
  std::vector<std::pair<std::string, double>> top;
};
std::vector<TopLine> top_lines(const std::string& model, const std::string& text, int count,
                               const Strings& more = {});

/// What lm_score --tokens says, one row a line.
std::vector<std::vector<double>> scored_tokens(const std::string& model, const std::string& text);

}  // namespace nine::tests
