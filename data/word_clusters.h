// Groups of words that are close to each other by some distance, from which tests of disambiguation
// are made.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/enum_names.h"

namespace nine {

/// How far two words are from each other.
enum class WordDistance : uint8_t {
  inner,      ///< minus the inner product of their vectors
  euclidean,  ///< between their vectors
  cosine,     ///< 1 - the cosine of their vectors
  ppmi        ///< 1 - the cosine of their vectors of positive PMI (data/ppmi.h)
};
template <>
inline constexpr EnumNames<WordDistance, 4> kEnumNames<WordDistance>{
    "distance of words",
    {{{WordDistance::inner, "inner"},
      {WordDistance::euclidean, "euclidean"},
      {WordDistance::cosine, "cosine"},
      {WordDistance::ppmi, "ppmi"}}}};

/// Distances between all n rows of `vectors` (n * width numbers), n * n. A vector of zeros has the
/// cosine 0 with every other. Error: not whole rows.
std::vector<double> word_distances(std::span<const double> vectors, size_t width,
                                   WordDistance distance);

/// A word and those nearest to it.
struct WordCluster {
  std::vector<size_t> words;  ///< the word first, then its neighbours, the nearest first
  double distance = 0;        ///< the sum of its distances to them
};
/// At most `count` clusters of `size` words each, those of the smallest distance: a word's cluster
/// is taken, smallest sum first, unless it shares a word with one taken before. `distances`: n * n.
/// Ties go to the lower index. Errors: size < 2; fewer than `size` words; not n * n distances.
std::vector<WordCluster> closest_clusters(std::span<const double> distances, size_t size,
                                          size_t count);

}  // namespace nine
