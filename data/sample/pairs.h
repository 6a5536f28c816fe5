// The built-in translation task: sentences of a small German and their English translations. Rules
// make both sides, so a perfect translation exists, with a BLEU of 100.
//
//   gestern hat die kluge tante dem kind einen neuen gartentisch gezeigt .
//   yesterday the clever aunt showed the child a new garden table .
//
//   wenn der alte mann die küchentür aufmacht , laufen die katzen weg .
//   when the old man opens the kitchen door , the cats flee .
//
// A model has to learn: the verb at the end of subordinate clauses, in the perfect and after
// modals; separable verbs, whose prefix at the end of the clause decides the meaning ("kommt ...
// an" arrives, "kommt" comes); articles and adjectives that agree in gender, number and case, while
// English has "a" or "an" by the next letter; subjects after their verb; the German perfect as
// English past; compounds that are one word in German and two in English, for subwords.
//
// The German sentence alone decides the English one: no German sentence has two translations.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nine {

/// Sentences with their translations: source[i] and target[i].
struct SamplePairs {
  /// German: lower case, 4 to 16 words separated by single spaces.
  std::vector<std::string> source;
  /// English likewise.
  std::vector<std::string> target;
};

/// Returns `count` random pairs. Equal (seed, split) give equal pairs, and a longer text starts
/// with the shorter text. A hash of the German sentence decides its split for all seeds, so that no
/// sentence of "valid" or "test" occurs in "train". Errors: count < 0; another name of a split.
SamplePairs sample_pairs(int64_t count, uint64_t seed, std::string_view split = "train");

}  // namespace nine
