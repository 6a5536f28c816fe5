// The built-in translation task: sentences of a small German and their English, made by rule, so
// that a perfect translation exists and has a BLEU of 100.
//
//   gestern hat die kluge tante dem kind einen neuen gartentisch gezeigt .
//   yesterday the clever aunt showed the child a new garden table .
//
//   wenn der alte mann die küchentür aufmacht , laufen die katzen weg .
//   when the old man opens the kitchen door , the cats flee .
//
// What there is to learn: the verb at the end of subordinate clauses, of the perfect and after
// modals; separable verbs, whose prefix decides at the end of the clause what its second word meant
// ("kommt ... an" arrives, "kommt" comes); articles and adjectives that agree in gender, number and
// case, while English has "a" or "an" by the next letter; subjects behind their verb; the perfect
// as English past; compounds that are one word in German and two in English, for subwords.
//
// The English follows from the German alone: no German sentence has two translations.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nine {

/// Sentences with their translations: source[i] and target[i].
struct SamplePairs {
  /// German: lower case, words separated by single spaces, 4 to 16 of them.
  std::vector<std::string> source;
  /// English likewise.
  std::vector<std::string> target;
};

/// `count` random pairs. Equal (seed, split) give equal pairs, and a longer text starts with the
/// shorter one. A sentence belongs to one split for all seeds (by a hash of the German), so that
/// nothing of "valid" or "test" occurs in "train". Errors: count < 0, another name of a split.
SamplePairs sample_pairs(int64_t count, uint64_t seed, std::string_view split = "train");

}  // namespace nine
