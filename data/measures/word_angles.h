// Angles between word vectors, and the similarity of two sets of vectors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nine {

/// Returns the angle between two vectors with the same number of elements, in degrees from 0 to
/// 180; 90 if a vector is zero.
double angle_between(std::span<const double> a, std::span<const double> b);

/// Returns, in degrees, the mean over the rows of `vectors` of the smallest angle to another row.
/// Errors: fewer than two rows; not whole rows.
double mean_nearest_angle(std::span<const double> vectors, size_t width);

/// Returns 1 - the length of the mean of unit vectors in these directions (Fisher, Statistical
/// analysis of circular data, 1993): 0 if all directions are equal, 1 if they balance. Error: no
/// angle.
double circular_variance(std::span<const double> degrees);

/// Returns the widest arc between neighbouring directions, in degrees; 360 for a single direction.
/// Error: no angle.
double largest_gap(std::span<const double> degrees);

/// Returns the cosines of all pairs of rows, n * n. Error: not whole rows.
std::vector<double> cosine_matrix(std::span<const double> vectors, size_t width);

/// Returns Spearman's rank correlation; equal values share the mean of their ranks. It is 0 if `a`
/// or `b` does not vary. Error: different numbers of values, or fewer than two.
double spearman(std::span<const double> a, std::span<const double> b);

/// Mantel's test (1967) of a correlation between two matrices over the same objects.
struct MantelTest {
  double correlation = 0;  ///< Spearman's correlation of the cells below the diagonals
  double p = 1;  ///< (1 + permutations with at least this correlation) / (1 + permutations)
};
/// Runs the one-sided test with `permutations` random permutations of the objects of one matrix.
/// The result depends on the seed, but not on the number of threads. Errors: not two n * n matrices
/// with n >= 3; permutations < 1.
MantelTest mantel_test(std::span<const double> a, std::span<const double> b, int64_t permutations,
                       uint64_t seed);

}  // namespace nine
