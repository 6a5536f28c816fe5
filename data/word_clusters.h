// Groups of words that are close to each other by some distance. Tests of disambiguation are made
// from these groups.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/enum_names.h"

namespace nine {

/// The distance between two words.
enum class WordDistance : uint8_t {
  inner,      ///< minus the inner product of their vectors
  euclidean,  ///< the Euclidean distance between their vectors
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

/// Returns the n * n distances between all n rows of `vectors` (n * width numbers). A vector of
/// zeros has the cosine 0 with every other vector. Error: not whole rows.
std::vector<double> word_distances(std::span<const double> vectors, size_t width,
                                   WordDistance distance);

/// A word and the words nearest to it.
struct WordCluster {
  std::vector<size_t> words;  ///< the word, then its neighbours from the nearest on
  double distance = 0;        ///< the sum of the word's distances to its neighbours
};
/// Returns at most `count` clusters of `size` words each. It goes through the clusters of all
/// words, the smallest distance first, and takes a cluster unless it shares a word with a cluster
/// taken before. `distances` has n * n numbers. Ties go to the lower index. Errors: size < 2; fewer
/// than `size` words; not n * n distances.
std::vector<WordCluster> closest_clusters(std::span<const double> distances, size_t size,
                                          size_t count);

}  // namespace nine
