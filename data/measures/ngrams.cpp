#include "data/measures/ngrams.h"

#include <unordered_map>

#include "core/error.h"
#include "data/unicode.h"

namespace nine {

Units word_units(std::string_view line) {
  Units units;
  bool inside = false;
  for (size_t at = 0; at < line.size();) {
    if (const size_t space = space_at_start(line.substr(at)); space > 0) {
      if (inside) units.ends.push_back(units.text.size());
      inside = false;
      at += space;
      continue;
    }
    if (!inside) {
      if (units.size() > 0) units.text += ' ';
      units.begins.push_back(units.text.size());
    }
    inside = true;
    const size_t length = utf8_length(line[at]);
    units.text += line.substr(at, length);
    at += length;
  }
  if (inside) units.ends.push_back(units.text.size());
  return units;
}

Units word_units(std::span<const std::string_view> words) {
  Units units;
  for (std::string_view word : words) {
    if (units.size() > 0) units.text += ' ';
    units.begins.push_back(units.text.size());
    units.text += word;
    units.ends.push_back(units.text.size());
  }
  return units;
}

Units character_units(std::string_view line) {
  Units units;
  for (size_t at = 0; at < line.size();) {
    const size_t space = space_at_start(line.substr(at));
    const size_t length = space > 0 ? space : utf8_length(line[at]);
    if (space == 0) {
      units.begins.push_back(units.text.size());
      units.text += line.substr(at, length);
      units.ends.push_back(units.text.size());
    }
    at += length;
  }
  return units;
}

NgramCounts& NgramCounts::operator+=(const NgramCounts& other) {
  hypothesis += other.hypothesis;
  reference += other.reference;
  shared += other.shared;
  return *this;
}

NgramCounts count_ngrams(const Units& hypothesis, const Units& reference, size_t n) {
  const auto count = [n](const Units& units) {
    return units.size() >= n ? units.size() - n + 1 : 0;
  };
  NgramCounts counts{static_cast<int64_t>(count(hypothesis)),
                     static_cast<int64_t>(count(reference)), 0};
  std::unordered_map<std::string_view, int64_t> left;
  for (size_t i = 0; i < count(reference); ++i) ++left[reference.ngram(i, n)];
  for (size_t i = 0; i < count(hypothesis); ++i) {
    const auto found = left.find(hypothesis.ngram(i, n));
    if (found == left.end() || found->second == 0) continue;
    --found->second;
    ++counts.shared;
  }
  return counts;
}

void require_pairs(std::string_view op, size_t hypotheses, size_t references) {
  require(hypotheses == references, "[", op, "] ", hypotheses, " translations for ", references,
          " references: each line needs its reference on the same line, even if the line is empty");
  require(hypotheses > 0, "[", op, "] there is no line to score");
}

}  // namespace nine
