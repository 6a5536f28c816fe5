#include "apps/inspect/linear_algebra.h"

#include <Eigen/Eigenvalues>
#include <Eigen/SVD>
#include <algorithm>

namespace nine::app {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

std::vector<double> listed(const Eigen::VectorXd& v) { return {v.data(), v.data() + v.size()}; }

}  // namespace

std::vector<double> singular_values(const std::vector<double>& matrix, int64_t rows, int64_t cols) {
  // Zeros make the matrix square and add singular values of zero. Square matrices need no QR
  // decomposition, which would take longer to compile than the rest of this file.
  const int64_t n = std::max(rows, cols);
  Matrix square = Matrix::Zero(n, n);
  square.topLeftCorner(rows, cols) = Eigen::Map<const Matrix>(matrix.data(), rows, cols);
  std::vector<double> values =
      listed(Eigen::JacobiSVD<Matrix, Eigen::NoQRPreconditioner>(square).singularValues());
  values.resize(static_cast<size_t>(std::min(rows, cols)));
  return values;
}

std::vector<double> eigenvalues(const std::vector<double>& matrix, int64_t n) {
  return listed(Eigen::SelfAdjointEigenSolver<Matrix>(Eigen::Map<const Matrix>(matrix.data(), n, n),
                                                      Eigen::EigenvaluesOnly)
                    .eigenvalues());
}

}  // namespace nine::app
