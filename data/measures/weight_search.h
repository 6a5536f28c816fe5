// Finds weights of several scores of hypotheses together: minimum error rate training (Och, ACL
// 2003). The search goes along one weight at a time, to the exact minimum on this line, from
// several starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace nine {

/// The hypotheses of lists, list by list, with the scores to weight and what is counted in them.
struct TuningSet {
  size_t features = 0;              ///< the number of scores of a hypothesis
  size_t counts = 0;                ///< the number of counts of a hypothesis
  std::vector<size_t> ends = {};    ///< for each list, the number of the hypothesis after its last
  std::vector<double> values = {};  ///< (hypotheses, features): the scores, a row for each
                                    ///< hypothesis; -infinity excludes the hypothesis unless the
                                    ///< weight is 0
  std::vector<int64_t> counted = {};  ///< (hypotheses, counts): what is counted in each hypothesis,
                                      ///< such as its word errors
  std::vector<char> impossible = {};  ///< 1: the hypothesis is excluded whatever the weights are
  /// The loss of the chosen hypotheses' summed counts. NaN is never better.
  std::function<double(std::span<const int64_t>)> loss = {};
};

/// Returns the spread of values within lists: the root of the mean variance of the finite values,
/// but at most four times the median distance from a list's median, so that a few outliers cannot
/// move it. `ends` are as in TuningSet. Without two different values in a list it is 0.
double spread_within(std::span<const double> values, std::span<const size_t> ends);

/// Returns the loss of the hypotheses with the largest weighted sums, of equal ones the first.
double loss_of(const TuningSet& set, std::span<const double> weights);

/// A point on a line of weights, and the loss there.
struct LineMinimum {
  double at = 0, loss = 0;
};
/// Returns the smallest loss of the weights + at * direction with low <= at <= high, and a point
/// that has it. The method is exact: the best hypothesis of a list, as a function of `at`, is the
/// upper envelope of straight lines, and the loss is constant between the corners of all envelopes.
/// The point is the middle of an interval between corners; beyond the first or the last corner c it
/// is max(1, |c|) / 8 away from c. Of equally good intervals the point is in the one nearest to 0,
/// and it is 0 if that interval includes 0. `low` and `high` are ends of intervals, too. Intervals
/// shorter than 1e-9 of their distance from 0 (or 1e-9, if that is longer) do not count, because
/// sums of scores do not resolve them. Hypotheses with a score of -infinity are excluded where the
/// weight or the direction is not 0.
LineMinimum minimum_on_line(const TuningSet& set, std::span<const double> weights,
                            std::span<const double> direction,
                            double low = -std::numeric_limits<double>::infinity(),
                            double high = std::numeric_limits<double>::infinity());

/// Settings of search_weights().
struct WeightSearchOptions {
  int64_t restarts = 20;        ///< starts from random weights, besides the given ones
  uint64_t seed = 1;            ///< of these weights
  int64_t most_lines = 10'000;  ///< the search ends after so many lines
};
/// What search_weights() found.
struct FoundWeights {
  std::vector<double> weights;
  double loss = 0;
  int64_t lines = 0;     ///< the number of lines that were searched
  bool stopped = false;  ///< true if the search ended because of most_lines
};
/// Searches weights with the smallest loss, from `start` and from options.restarts random weights.
/// `start` and `not_negative` have an element for each score of a hypothesis. From each start the
/// search goes along each weight in turn, and then along the whole change of this round. The search
/// repeats such rounds as long as the loss becomes smaller. The size of a random weight is 1/32 to
/// 32 times the inverse of the spread of its score. A random weight is positive; if its start is 0
/// and it is not `not_negative`, its sign is random, too. A weight whose score does not vary within
/// lists stays as it is. A `not_negative` weight stays 0 or more. Of equal losses it returns the
/// weights of the earlier start. Error: no list.
FoundWeights search_weights(const TuningSet& set, std::span<const double> start,
                            const std::vector<bool>& not_negative,
                            const WeightSearchOptions& options);

}  // namespace nine
