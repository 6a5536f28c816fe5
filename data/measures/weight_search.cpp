#include "data/measures/weight_search.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/random.h"

namespace nine {
namespace {

constexpr double kWidest = 4;  // most a spread may be of the median distance; n-best lists have
                               // about 2
constexpr double kShortest = 1e-9;  // shorter intervals do not count
constexpr double kBeyond = 0.125;   // how far beyond the last corner a point is
constexpr double kOctaves = 5;      // random weights are 2^-5 to 2^5 units
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Returns the median; of an even number of values, the lower of the two in the middle. Reorders the
// values.
double median(std::vector<double>& values) {
  const auto middle = values.begin() + (std::ssize(values) - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// A hypothesis whose sum of scores is height + at * slope.
struct Rising {
  double slope, height;
  size_t hypothesis;
  double from = -kInfinity;  // where it becomes the best
};

// A point of the line from where on `to` is the best hypothesis of a list instead of `from`.
struct Corner {
  double at;
  size_t from, to;
};

// Keeps the hypotheses of the upper envelope, in the order of growing `at`.
void keep_envelope(std::vector<Rising>& lines, std::vector<Rising>& envelope) {
  std::ranges::sort(lines, [](const Rising& a, const Rising& b) {
    if (a.slope != b.slope) return a.slope < b.slope;
    return a.height != b.height ? a.height > b.height : a.hypothesis < b.hypothesis;
  });
  envelope.clear();
  for (Rising line : lines) {
    if (!envelope.empty() && envelope.back().slope == line.slope) continue;  // never higher
    line.from = -kInfinity;
    while (!envelope.empty()) {
      const Rising& last = envelope.back();
      line.from = (last.height - line.height) / (line.slope - last.slope);
      if (line.from > last.from) break;
      envelope.pop_back();
      line.from = -kInfinity;
    }
    envelope.push_back(line);
  }
}

// Searches one line.
class LineSearch {
 public:
  LineSearch(const TuningSet& set, std::span<const double> weights,
             std::span<const double> direction)
      : set_(set), sums_(set.counts) {
    std::vector<Rising> lines, envelope;
    for (size_t list = 0, i = 0; list < set.ends.size(); ++list) {
      const size_t first = i;
      lines.clear();
      for (; i < set.ends[list]; ++i) {
        Rising line{0, 0, i};
        if (rises(weights, direction, line)) lines.push_back(line);
      }
      if (lines.empty()) lines.push_back({0, 0, first});
      keep_envelope(lines, envelope);
      add(envelope.front().hypothesis, 1);
      for (size_t k = 1; k < envelope.size(); ++k)
        corners_.push_back({envelope[k].from, envelope[k - 1].hypothesis, envelope[k].hypothesis});
    }
    std::ranges::sort(corners_, {}, &Corner::at);
  }

  LineMinimum minimum(double low, double high) {
    LineMinimum best{0, kInfinity};
    double begin = -kInfinity, distance = kInfinity;
    for (size_t c = 0;;) {
      const double end = c < corners_.size() ? corners_[c].at : kInfinity;
      const double from = std::max(begin, low), to = std::min(end, high);
      if (to - from > kShortest * std::max({1.0, std::isinf(from) ? 0 : std::fabs(from),
                                            std::isinf(to) ? 0 : std::fabs(to)})) {
        const double loss = set_.loss(sums_);
        const double away = from <= 0 && 0 <= to ? 0 : std::min(std::fabs(from), std::fabs(to));
        if (loss < best.loss || (loss == best.loss && away < distance)) {
          best = {away == 0 ? 0 : point(from, to), loss};
          distance = away;
        }
      }
      if (c == corners_.size() || end >= high) return best;
      for (begin = end; c < corners_.size() && corners_[c].at == begin; ++c) {
        add(corners_[c].from, -1);
        add(corners_[c].to, 1);
      }
    }
  }

 private:
  // Sets slope and height of a hypothesis. Returns false if it is excluded.
  bool rises(std::span<const double> weights, std::span<const double> direction,
             Rising& line) const {
    if (set_.impossible[line.hypothesis] != 0) return false;
    const double* const values = &set_.values[line.hypothesis * set_.features];
    for (size_t d = 0; d < set_.features; ++d) {
      if (weights[d] == 0 && direction[d] == 0) continue;
      if (values[d] == -kInfinity) return false;
      line.height += weights[d] * values[d];
      line.slope += direction[d] * values[d];
    }
    return true;
  }
  void add(size_t hypothesis, int64_t times) {
    for (size_t k = 0; k < set_.counts; ++k)
      sums_[k] += times * set_.counted[hypothesis * set_.counts + k];
  }
  static double point(double from, double end) {
    if (std::isinf(from)) return end - kBeyond * std::max(1.0, std::fabs(end));
    if (std::isinf(end)) return from + kBeyond * std::max(1.0, std::fabs(from));
    return from + (end - from) / 2;
  }

  const TuningSet& set_;
  std::vector<int64_t> sums_;
  std::vector<Corner> corners_;
};

// Searches from one start after the other.
class CoordinateSearch {
 public:
  CoordinateSearch(const TuningSet& set, const std::vector<bool>& not_negative,
                   const WeightSearchOptions& options)
      : set_(set), not_negative_(not_negative), options_(options) {
    std::vector<double> values;
    for (size_t d = 0; d < set.features; ++d) {
      values.clear();
      for (size_t i = d; i < set.values.size(); i += set.features) values.push_back(set.values[i]);
      const double spread = spread_within(values, set.ends);
      units_.push_back(spread > 0 ? 1 / spread : 0);
    }
  }

  void search_from(std::vector<double> weights) {
    double loss = loss_of(set_, weights);
    for (bool better = true; better && !found_.stopped;) {
      better = false;
      const std::vector<double> before = weights;
      for (size_t d = 0; d < set_.features; ++d) {
        if (units_[d] == 0) continue;
        std::vector<double> direction(set_.features, 0);
        direction[d] = units_[d];
        better = go_along(direction, weights, loss) || better;
      }
      if (!better) break;
      std::vector<double> direction;
      for (size_t d = 0; d < set_.features; ++d) direction.push_back(weights[d] - before[d]);
      go_along(direction, weights, loss);
    }
    if (found_.weights.empty() || loss < found_.loss) {
      found_.weights = std::move(weights);
      found_.loss = loss;
    }
  }

  FoundWeights search(std::span<const double> start) {
    search_from({start.begin(), start.end()});
    RandomStream random({.seed = options_.seed});
    for (int64_t r = 0; r < options_.restarts && !found_.stopped; ++r) {
      std::vector<double> weights(start.begin(), start.end());
      for (size_t d = 0; d < weights.size(); ++d) {
        const double size = std::exp2(kOctaves * (2 * random.uniform() - 1));
        const bool negative = random.below(2) == 1 && !not_negative_[d] && start[d] == 0;
        if (units_[d] > 0) weights[d] = (negative ? -size : size) * units_[d];
      }
      search_from(std::move(weights));
    }
    return found_;
  }

 private:
  // Goes to the minimum along the direction. Returns true if the loss is smaller there.
  bool go_along(std::span<const double> direction, std::vector<double>& weights, double& loss) {
    if (found_.lines >= options_.most_lines) {
      found_.stopped = true;
      return false;
    }
    ++found_.lines;
    double low = -kInfinity, high = kInfinity;
    for (size_t d = 0; d < weights.size(); ++d)
      if (not_negative_[d] && direction[d] > 0)
        low = std::max(low, -weights[d] / direction[d]);
      else if (not_negative_[d] && direction[d] < 0)
        high = std::min(high, weights[d] / -direction[d]);
    const LineMinimum minimum = minimum_on_line(set_, weights, direction, low, high);
    if (!(minimum.loss < loss)) return false;
    std::vector<double> next = weights;
    for (size_t d = 0; d < next.size(); ++d) {
      next[d] += minimum.at * direction[d];
      if (not_negative_[d]) next[d] = std::max(next[d], 0.0);  // rounding
    }
    const double own = loss_of(set_, next);  // sums of other roundings may choose otherwise
    if (!(own < loss)) return false;
    weights = std::move(next);
    loss = own;
    return true;
  }

  const TuningSet& set_;
  const std::vector<bool>& not_negative_;
  const WeightSearchOptions& options_;
  std::vector<double> units_;  // of the weights; 0: the score does not vary
  FoundWeights found_;
};

}  // namespace

double spread_within(std::span<const double> values, std::span<const size_t> ends) {
  double squares = 0;
  int64_t count = 0;
  std::vector<double> finite, distances;
  size_t begin = 0;
  for (const size_t end : ends) {
    finite.clear();
    for (const double x : values.subspan(begin, end - begin))
      if (std::isfinite(x)) finite.push_back(x);
    begin = end;
    if (finite.empty()) continue;
    double mean = 0;
    for (const double x : finite) mean += x / static_cast<double>(finite.size());
    for (const double x : finite) squares += (x - mean) * (x - mean);
    count += std::ssize(finite);
    const double middle = median(finite);
    for (const double x : finite)
      if (x != middle) distances.push_back(std::fabs(x - middle));
  }
  if (distances.empty()) return 0;
  // The order of the arguments matters: std::min then does not return a deviation that is NaN.
  return std::min(kWidest * median(distances), std::sqrt(squares / static_cast<double>(count)));
}

double loss_of(const TuningSet& set, std::span<const double> weights) {
  std::vector<int64_t> sums(set.counts);
  for (size_t list = 0, i = 0; list < set.ends.size(); ++list) {
    size_t best = i;
    double largest = -kInfinity;
    for (; i < set.ends[list]; ++i) {
      if (set.impossible[i] != 0) continue;
      const double* const values = &set.values[i * set.features];
      double sum = 0;
      for (size_t d = 0; d < set.features; ++d)
        if (weights[d] != 0) sum += weights[d] * values[d];
      if (sum == kInfinity || std::isnan(sum)) sum = -kInfinity;  // -infinity of a negative weight
      if (sum > largest) {
        best = i;
        largest = sum;
      }
    }
    for (size_t k = 0; k < set.counts; ++k) sums[k] += set.counted[best * set.counts + k];
  }
  return set.loss(sums);
}

LineMinimum minimum_on_line(const TuningSet& set, std::span<const double> weights,
                            std::span<const double> direction, double low, double high) {
  return LineSearch(set, weights, direction).minimum(low, high);
}

FoundWeights search_weights(const TuningSet& set, std::span<const double> start,
                            const std::vector<bool>& not_negative,
                            const WeightSearchOptions& options) {
  require(!set.ends.empty(), "[search_weights] there is no list to tune on");
  return CoordinateSearch(set, not_negative, options).search(start);
}

}  // namespace nine
