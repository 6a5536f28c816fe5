#include "data/measures/word_errors.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "data/measures/significance.h"
#include "data/text.h"

namespace nine {
namespace {

constexpr int32_t kSubstitution = 4, kGap = 3;  // sclite's costs
constexpr int kCorrectBetween = 2;  // number of words that both systems have right between two
                                    // segments

// Holds the cost of aligning the first r words of the reference with the first h words of the
// hypothesis, and the last edit of this alignment.
class AlignmentTable {
 public:
  AlignmentTable(std::span<const std::string_view> reference,
                 std::span<const std::string_view> hypothesis)
      : columns_(hypothesis.size() + 1),
        cost_((reference.size() + 1) * columns_),
        last_(cost_.size()) {
    for (size_t h = 1; h < columns_; ++h)
      set(0, h, static_cast<int32_t>(h) * kGap, Edit::insertion);
    for (size_t r = 1; r <= reference.size(); ++r) {
      set(r, 0, static_cast<int32_t>(r) * kGap, Edit::deletion);
      for (size_t h = 1; h < columns_; ++h) choose(r, h, reference[r - 1] == hypothesis[h - 1]);
    }
  }
  Edit last(size_t r, size_t h) const { return last_[r * columns_ + h]; }

 private:
  void choose(size_t r, size_t h, bool same) {
    const int32_t both = cost(r - 1, h - 1) + (same ? 0 : kSubstitution),
                  deletion = cost(r - 1, h) + kGap, insertion = cost(r, h - 1) + kGap;
    if (both <= deletion && both <= insertion)
      set(r, h, both, same ? Edit::correct : Edit::substitution);
    else if (deletion < insertion)
      set(r, h, deletion, Edit::deletion);
    else
      set(r, h, insertion, Edit::insertion);
  }
  int32_t cost(size_t r, size_t h) const { return cost_[r * columns_ + h]; }
  void set(size_t r, size_t h, int32_t cost, Edit edit) {
    cost_[r * columns_ + h] = cost;
    last_[r * columns_ + h] = edit;
  }

  size_t columns_;
  std::vector<int32_t> cost_;
  std::vector<Edit> last_;
};

// Walks through the alignment of one system.
struct Cursor {
  std::span<const Edit> edits;
  size_t at = 0;
  size_t last_correct = 0;  // end of the last stretch of words that both systems have right

  bool inside() const { return at < edits.size(); }
  bool correct() const { return inside() && edits[at] == Edit::correct; }
  // Steps over insertions. True if there were any.
  bool skip_insertions() {
    const size_t before = at;
    while (inside() && edits[at] == Edit::insertion) ++at;
    return at > before;
  }
  // Counts the errors from the correct words before the segment to `end` (exclusive).
  int64_t errors_until(size_t end) const {
    const size_t back = kCorrectBetween - 1, from = last_correct > back ? last_correct - back : 0;
    return std::count_if(edits.begin() + static_cast<std::ptrdiff_t>(from),
                         edits.begin() + static_cast<std::ptrdiff_t>(end),
                         [](Edit e) { return e != Edit::correct; });
  }
};

int64_t reference_words(std::span<const Edit> edits) {
  return std::ssize(edits) - std::count(edits.begin(), edits.end(), Edit::insertion);
}

}  // namespace

std::vector<Edit> align_words(std::span<const std::string_view> reference,
                              std::span<const std::string_view> hypothesis) {
  const AlignmentTable table(reference, hypothesis);
  std::vector<Edit> edits;
  for (size_t r = reference.size(), h = hypothesis.size(); r > 0 || h > 0;) {
    const Edit edit = table.last(r, h);
    edits.push_back(edit);
    r -= edit == Edit::insertion ? 0 : 1;
    h -= edit == Edit::deletion ? 0 : 1;
  }
  std::reverse(edits.begin(), edits.end());
  return edits;
}

double WordErrors::rate() const {
  return words() > 0 ? 100.0 * static_cast<double>(errors()) / static_cast<double>(words()) : 0;
}

WordErrors& WordErrors::operator+=(const WordErrors& other) {
  correct += other.correct;
  substitutions += other.substitutions;
  deletions += other.deletions;
  insertions += other.insertions;
  return *this;
}

std::string percent_text(int64_t count, int64_t words) {
  const int64_t tenths = words > 0 ? (2000 * count + words) / (2 * words) : 0;
  return concat(tenths / 10, ".", tenths % 10);
}

WordErrors count_errors(std::span<const Edit> alignment) {
  const auto count = [&](Edit e) -> int64_t {
    return std::count(alignment.begin(), alignment.end(), e);
  };
  return {count(Edit::correct), count(Edit::substitution), count(Edit::deletion),
          count(Edit::insertion)};
}

WordErrors count_word_errors(std::string_view reference, std::string_view hypothesis) {
  std::vector<std::string_view> expected, words;
  split_words(reference, expected);
  split_words(hypothesis, words);
  return count_errors(align_words(expected, words));
}

void append_segments(std::span<const Edit> a, std::span<const Edit> b,
                     std::vector<ErrorSegment>& segments) {
  require(reference_words(a) == reference_words(b), "[append_segments] references of ",
          reference_words(a), " and ", reference_words(b), " words: they must be the same");
  Cursor x{a}, y{b};
  const auto append = [&](size_t end_x, size_t end_y) {
    const ErrorSegment segment{x.errors_until(end_x), y.errors_until(end_y)};
    if (segment.errors_a > 0 || segment.errors_b > 0) segments.push_back(segment);
  };
  bool between = true;  // true if there was no error since the last segment
  int correct = 0;      // number of words since the last error that both systems have right
  while (x.inside()) {
    const bool inserted_x = x.skip_insertions(), inserted_y = y.skip_insertions();
    if (inserted_x || inserted_y) between = false, correct = 0;
    if (!(x.correct() && y.correct())) {
      between = false;
      correct = 0;
    } else if (between) {
      x.last_correct = x.at;
      y.last_correct = y.at;
    } else if (++correct == kCorrectBetween) {
      append(x.at + 1, y.at + 1);
      x.last_correct = x.at;
      y.last_correct = y.at;
      between = true;
      correct = 0;
    }
    if (x.inside()) ++x.at;
    if (y.inside()) ++y.at;
  }
  if (!between || y.inside()) append(a.size(), b.size());
}

Mapsswe mapsswe(std::span<const ErrorSegment> segments) {
  Mapsswe m{.segments = std::ssize(segments)};
  if (m.segments == 0) return m;
  const auto n = static_cast<double>(m.segments);
  const auto difference = [](const ErrorSegment& s) {
    return static_cast<double>(s.errors_a - s.errors_b);
  };
  for (const ErrorSegment& s : segments) m.mean += difference(s) / n;
  double squares = 0;
  for (const ErrorSegment& s : segments) squares += std::pow(difference(s) - m.mean, 2);
  if (m.segments == 1) return m;
  if (squares <= 1e-12 * n) {  // true if all differences are equal
    if (m.mean == 0) return m;
    m.z = std::copysign(std::numeric_limits<double>::infinity(), m.mean);
    m.p = 0;
    return m;
  }
  m.deviation = std::sqrt(squares / (n - 1));
  m.z = m.mean / (m.deviation / std::sqrt(n));
  m.p = normal_two_sided(m.z);
  return m;
}

}  // namespace nine
