// Decompositions of small matrices, for experiments.
#pragma once

#include <cstdint>
#include <vector>

namespace nine::app {

/// Of a row-major rows x cols matrix: min(rows, cols) values, the largest first.
std::vector<double> singular_values(const std::vector<double>& matrix, int64_t rows, int64_t cols);
/// Of a symmetric n x n matrix, the smallest first.
std::vector<double> eigenvalues(const std::vector<double>& matrix, int64_t n);

}  // namespace nine::app
