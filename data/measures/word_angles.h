// Angles between word vectors, and how alike two sets of vectors are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nine {

/// The angle between two vectors of the same length, in degrees, 0 to 180; 90 where one is zero.
double angle_between(std::span<const double> a, std::span<const double> b);

/// The mean over the rows of `vectors` of the angle to the row nearest by angle, in degrees.
/// Errors: fewer than two rows; not whole rows.
double mean_nearest_angle(std::span<const double> vectors, size_t width);

/// 1 - the length of the mean of unit vectors in these directions (Fisher, Statistical analysis of
/// circular data, 1993): 0 where all are equal, 1 where they balance. Error: no angle.
double circular_variance(std::span<const double> degrees);

/// The widest arc between neighbouring directions, in degrees; 360 for a single one. Error: no
/// angle.
double largest_gap(std::span<const double> degrees);

/// Cosines of all pairs of rows, n * n. Error: not whole rows.
std::vector<double> cosine_matrix(std::span<const double> vectors, size_t width);

/// Spearman's rank correlation; equal values share the mean of their ranks. 0 where one of them
/// does not vary. Error: different numbers of values, or fewer than two.
double spearman(std::span<const double> a, std::span<const double> b);

/// Whether two matrices over the same things go together (Mantel, 1967).
struct MantelTest {
  double correlation = 0;  ///< Spearman's, of the cells below the diagonals
  double p = 1;  ///< (1 + permutations with at least this correlation) / (1 + permutations)
};
/// One-sided: the things of one matrix are named anew, `permutations` times. The same for the same
/// seed with any number of threads. Errors: not two n * n matrices with n >= 3; permutations < 1.
MantelTest mantel_test(std::span<const double> a, std::span<const double> b, int64_t permutations,
                       uint64_t seed);

}  // namespace nine
