#include "core/suggest.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "core/error.h"

namespace nine {
namespace {

std::string plain(std::string_view word) {
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  std::string out(word);
  for (char& c : out)
    c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// Computes the optimal string alignment: Levenshtein's distance with a swap of two neighbours as
// one edit.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(now);
  }
  return last.back();
}

constexpr double kFar = 1e9;

// Returns a rank: lower is nearer. The order is one edit, a beginning of the candidate, more edits,
// the candidate with an addition.
double rank(const std::string& word, const std::string& name) {
  // The lengths alone tell the distance of a beginning, and of words that cannot be near.
  const size_t least = std::max(word.size(), name.size()) - std::min(word.size(), name.size());
  const bool known = word.starts_with(name) || name.starts_with(word) ||
                     least > std::max<size_t>(1, word.size() / 3);
  const size_t edits = known ? least : distance(word, name);
  const auto cost = static_cast<double>(edits);
  if (edits <= 1 && edits < name.size()) return cost;
  if (word.size() >= 2 && name.starts_with(word)) return 1 + cost / 1000;
  if (edits <= word.size() / 3 && edits < name.size()) return cost;
  if (name.size() >= 3 && word.starts_with(name)) return 1000 + cost;
  return kFar;
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string typed = plain(word);
  std::string best;
  double best_rank = kFar;
  for (const std::string& candidate : candidates) {
    const double r = rank(typed, plain(candidate));
    if (r >= best_rank) continue;
    best = candidate;
    best_rank = r;
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         std::string_view prefix) {
  const std::string name = nearest(word, candidates);
  return name.empty() ? std::string{} : concat("; did you mean ", prefix, name, "?");
}

std::string comma_separated(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

}  // namespace nine
