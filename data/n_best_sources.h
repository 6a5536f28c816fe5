// The readers of n-best lists that are not lines of one file, and how hypotheses become lists. For
// data/n_best.cpp.
#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/line_parts.h"
#include "data/n_best.h"

namespace nine {

/// Returns the score with the sign that makes larger scores better. Replaces numbers that mean the
/// logarithm of 0 by -infinity, so that no sum or spread includes them. Errors: NaN; a score that
/// is too large for a logarithm.
template <class Where>
double larger_is_better(double score, bool cost, const Where& place) {
  require(!std::isnan(score), place, ": infinite scores of both signs have no sum");
  const double value = cost ? -score : score;
  require(value < -kLogZero, place, ": the ", cost ? "cost " : "score ", score,
          cost ? " is too small for a cost; if larger scores are better, leave out --nbest-cost"
               : " is too large for the logarithm of a probability; if the scores are costs, which "
                 "are better if they are smaller, give --nbest-cost");
  return value > kLogZero ? value : -std::numeric_limits<double>::infinity();
}

/// Joins hypotheses that follow each other to lists.
class ListBuilder {
 public:
  ListBuilder(const std::string& path, const NBestOptions& options)
      : path_(path), options_(options) {}
  /// Adds a hypothesis. `number` is the number of its line or of its object in the file. Errors
  /// name the place: those of read_n_best() about names, words and the order.
  template <class Where>
  void add(const std::string& utterance, NBestHypothesis hypothesis, const Where& place,
           int64_t number) {
    // These characters would break the lines of a .trn file.
    require(!utterance.empty() && utterance.find_first_of(" ()\t\n\r") == std::string::npos, place,
            ": the utterance ", quote(utterance), " has a space or a parenthesis in its name");
    require(options_.allow_empty || !hypothesis.words.empty(), place, ": a hypothesis of ",
            quote(utterance), " has no words; give --allow-empty if this is silence");
    if (lists_.empty() || lists_.back().utterance != utterance) {
      utterances_.add(utterance, number, path_, "the lines of an utterance must follow each other");
      lists_.push_back({utterance, {}});
    }
    lists_.back().hypotheses.push_back(std::move(hypothesis));
  }
  /// The last hypothesis; null if there is none.
  NBestHypothesis* last() { return lists_.empty() ? nullptr : &lists_.back().hypotheses.back(); }
  /// The lists. Error: there is none.
  std::vector<NBestList> lists() {
    require(!lists_.empty(), path_, " has no n-best list");
    return std::move(lists_);
  }

 private:
  std::string path_;
  const NBestOptions& options_;
  std::vector<NBestList> lists_;
  lines::Names utterances_;
};

/// True if a word begins a segmentation of Moses (-report-segmentation): |0-1| or |0-1,wa=.
bool begins_segmentation(std::string_view word);

/// The files of the hypotheses of one rank, as ESPnet writes them: lines of an utterance and its
/// words, and of an utterance and its score.
struct EspnetRank {
  std::string text, score;
};
/// Appends the lists of ranks 1, 2, ... Errors: those of read_n_best(); an utterance without a
/// score or a text; an utterance that the rank before lacks.
void append_espnet_lists(std::span<const EspnetRank> ranks, const NBestOptions& options,
                         ListBuilder& lists);

/// Read the formats espnet and whisper. Errors: those of read_n_best(); several scores.
NBestFile read_espnet(const std::string& path, const NBestOptions& options);
NBestFile read_whisper(const std::string& path, const NBestOptions& options);

}  // namespace nine
