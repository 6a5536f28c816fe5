// Decompositions of small matrices, for experiments: the one place of the tools that uses Eigen.
#pragma once

#include <cstdint>
#include <vector>

namespace nine::app {

/// Of a row-major rows x cols matrix, largest first.
std::vector<double> singular_values(const std::vector<double>& matrix, int64_t rows, int64_t cols);
/// Of a symmetric n x n matrix, smallest first.
std::vector<double> eigenvalues(const std::vector<double>& matrix, int64_t n);

}  // namespace nine::app
