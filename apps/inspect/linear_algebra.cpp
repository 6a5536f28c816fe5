#include "apps/inspect/linear_algebra.h"

#include <Eigen/Eigenvalues>
#include <Eigen/SVD>

namespace nine::app {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

std::vector<double> listed(const Eigen::VectorXd& v) { return {v.data(), v.data() + v.size()}; }

}  // namespace

std::vector<double> singular_values(const std::vector<double>& matrix, int64_t rows, int64_t cols) {
  return listed(Eigen::JacobiSVD<Matrix>(Eigen::Map<const Matrix>(matrix.data(), rows, cols))
                    .singularValues());
}

std::vector<double> eigenvalues(const std::vector<double>& matrix, int64_t n) {
  return listed(Eigen::SelfAdjointEigenSolver<Matrix>(Eigen::Map<const Matrix>(matrix.data(), n, n),
                                                      Eigen::EigenvaluesOnly)
                    .eigenvalues());
}

}  // namespace nine::app
