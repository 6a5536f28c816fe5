// Decompositions of small matrices, for experiments.
#pragma once

#include <cstdint>
#include <vector>

namespace nine::app {

/// Returns the min(rows, cols) singular values of a row-major rows x cols matrix, the largest
/// first.
std::vector<double> singular_values(const std::vector<double>& matrix, int64_t rows, int64_t cols);
/// Returns the eigenvalues of a symmetric n x n matrix, the smallest first.
std::vector<double> eigenvalues(const std::vector<double>& matrix, int64_t n);

}  // namespace nine::app
