#include "apps/shared/suggest.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "core/error.h"

namespace nine::app {
namespace {

std::string plain(std::string_view word) {
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  std::string out(word);
  for (char& c : out) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// Optimal string alignment: Levenshtein's distance where swapping two neighbours is one edit.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(now);
  }
  return last.back();
}

bool begins(const std::string& word, const std::string& candidate) {
  return (word.size() >= 2 && candidate.starts_with(word)) || (candidate.size() >= 3 && word.starts_with(candidate));
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr size_t kFar = 1000;  // any beginning is farther than any misspelling
  const std::string wanted = plain(word);
  const std::string* best = nullptr;
  size_t best_rank = 2 * kFar;
  for (const std::string& candidate : candidates) {
    const std::string name = plain(candidate);
    const size_t edits = distance(wanted, name);
    size_t rank = 2 * kFar;
    if (edits <= std::max<size_t>(1, wanted.size() / 3) && edits < name.size()) {
      rank = edits;
    } else if (begins(wanted, name)) {
      rank = kFar + std::min(edits, kFar - 1);
    }
    if (rank < best_rank) {
      best = &candidate;
      best_rank = rank;
    }
  }
  return best ? *best : std::string{};
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates, std::string_view prefix) {
  const std::string name = nearest(word, candidates);
  return name.empty() ? std::string{} : concat("; did you mean ", prefix, name, "?");
}

}  // namespace nine::app
