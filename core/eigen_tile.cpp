#include "core/eigen_tile.h"

// Eigen multiplies small matrices in another order.
#define EIGEN_GEMM_TO_COEFFBASED_THRESHOLD 1
#include <Eigen/Core>
#include <algorithm>

#include "core/error.h"

namespace nine {
namespace {

// Eigen (3.3 and 3.4) computes blocks of rows by columns in registers. Blocks of three or two
// vectors of rows and four columns sum in the promised order. Blocks of one vector, of single rows
// and of single columns sum parts of the terms separately, and products with a vector have another
// order. So Eigen computes the former blocks only, and this file computes the edges.
template <class T>
class Blocks {
 public:
  explicit Blocks(const EigenTile<T>& p)
      : p_(p),
        b_term_(p.transpose_b ? p.ldb : 1),
        b_column_(p.transpose_b ? 1 : p.ldb),
        rows_(rows_of_eigen(p.m)),
        columns_(rows_ > 0 ? p.n - p.n % kColumns : 0) {}

  void multiply_add() {
    for (int64_t k = 0; k < p_.k; k += kTerms) {
      k_ = k;
      terms_ = std::min(kTerms, p_.k - k);
      constexpr int64_t kAtOnce = 20 * kMostRows;  // fits the cache
      for (int64_t row = 0; row < rows_ && columns_ > 0; row += kAtOnce)
        by_eigen(row, std::min(kAtOnce, rows_ - row));
      edge(0, rows_, columns_);
      edge(rows_, p_.m - rows_, 0);
    }
  }

 private:
  using Traits = Eigen::internal::gebp_traits<T, T>;
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;
  using Stride = Eigen::OuterStride<>;
  using Input = Eigen::Map<const Matrix, Eigen::Unaligned, Stride>;
  static constexpr int64_t kLanes = Traits::LhsProgress, kColumns = Traits::nr,
                           kMostRows = Traits::mr, kTerms = 256;
  static_assert(kMostRows == 2 * kLanes || kMostRows == 3 * kLanes);
  // Uses Eigen's vectors, because compiler options decide whether multiplications and additions
  // become FMAs.
  using Vector = typename Traits::LhsPacket;

  // The rows that make whole blocks of three vectors, and one block of two.
  static int64_t rows_of_eigen(int64_t m) {
    const int64_t rest = m % kMostRows;
    return m - rest + (rest >= 2 * kLanes ? 2 * kLanes : 0);
  }

  void by_eigen(int64_t row, int64_t rows) const {
    const Input a(p_.a + k_ * p_.lda + row, rows, terms_, Stride(p_.lda)),
        b(p_.b + k_ * b_term_, p_.transpose_b ? columns_ : terms_,
          p_.transpose_b ? terms_ : columns_, Stride(p_.ldb));
    Eigen::Map<Matrix, Eigen::Unaligned, Stride> c(p_.c + row, rows, columns_, Stride(p_.ldc));
    if (p_.transpose_b) {
      c.noalias() += a * b.transpose();
    } else {
      c.noalias() += a * b;
    }
  }

  // Computes rows [row, row + count) of the columns from `column` on.
  void edge(int64_t row, int64_t count, int64_t column) {
    if (column == p_.n) return;
    const int64_t end = row + count;
    const T* a = p_.a + k_ * p_.lda;
    for (; end - row >= 4 * kLanes; row += 4 * kLanes)
      edge_rows<4>(a + row, p_.lda, row, 4 * kLanes, column);
    for (; end - row >= kLanes; row += kLanes) edge_rows<1>(a + row, p_.lda, row, kLanes, column);
    if (row == end) return;
    for (int64_t t = 0; t < terms_; ++t) {
      std::copy_n(a + t * p_.lda + row, end - row, last_rows_ + t * kLanes);
      std::fill_n(last_rows_ + t * kLanes + (end - row), kLanes - (end - row), T(0));
    }
    edge_rows<1>(last_rows_, kLanes, row, end - row, column);
  }

  // Computes kVectors vectors of rows. The last vector may have fewer rows.
  template <int kVectors>
  void edge_rows(const T* a, int64_t lda, int64_t row, int64_t rows, int64_t column) const {
    constexpr int kMost = kVectors == 1 ? 8 : 3;  // as many sums as there are registers
    for (; p_.n - column >= kMost; column += kMost)
      edge_block<kVectors, kMost>(a, lda, row, rows, column);
    for (; p_.n - column >= 2; column += 2) edge_block<kVectors, 2>(a, lda, row, rows, column);
    for (; column < p_.n; ++column) edge_block<kVectors, 1>(a, lda, row, rows, column);
  }

  template <int kVectors, int kCount>
  void edge_block(const T* a, int64_t lda, int64_t row, int64_t rows, int64_t column) const {
    const T* b = p_.b + k_ * b_term_ + column * b_column_;
    Vector sums[kCount][kVectors];
    for (auto& of_column : sums)
      for (Vector& sum : of_column) sum = Eigen::internal::pset1<Vector>(T(0));
    for (int64_t t = 0; t < terms_; ++t, a += lda, b += b_term_)
      for (int j = 0; j < kCount; ++j) {
        const Vector x = Eigen::internal::pset1<Vector>(b[j * b_column_]);
        for (int v = 0; v < kVectors; ++v)
          sums[j][v] = Eigen::internal::pmadd(Eigen::internal::ploadu<Vector>(a + v * kLanes), x,
                                              sums[j][v]);
      }
    for (int j = 0; j < kCount; ++j) {
      T sum[kVectors * kLanes];
      for (int v = 0; v < kVectors; ++v) Eigen::internal::pstoreu(sum + v * kLanes, sums[j][v]);
      T* c = p_.c + (column + j) * p_.ldc + row;
      for (int64_t i = 0; i < rows; ++i) c[i] += sum[i];
    }
  }

  const EigenTile<T>& p_;
  int64_t b_term_, b_column_;  // from one term of B to the next, from one column to the next
  int64_t rows_, columns_;     // rows and columns that Eigen computes
  int64_t k_ = 0, terms_ = 0;  // the stretch
  alignas(64) T last_rows_[kLanes * kTerms];
};

}  // namespace

std::string eigen_version() {
  return concat(EIGEN_WORLD_VERSION, ".", EIGEN_MAJOR_VERSION, ".", EIGEN_MINOR_VERSION);
}

template <class T>
void eigen_multiply_add(const EigenTile<T>& p) {
  Blocks<T>(p).multiply_add();
}

template void eigen_multiply_add<float>(const EigenTile<float>&);
template void eigen_multiply_add<double>(const EigenTile<double>&);

}  // namespace nine
