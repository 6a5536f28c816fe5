#include "data/ppmi.h"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/error.h"
#include "core/quote.h"
#include "core/random.h"
#include "data/text.h"

namespace nine {
namespace {

using Matrix = Eigen::MatrixXd;
constexpr Eigen::Index kOversampling = 20;  // Halko et al., 2011
constexpr int kIterations = 10;

// A symmetric sparse matrix, stored by rows.
struct SparseMatrix {
  struct Cell {
    Eigen::Index column;
    double value;
  };
  std::vector<std::vector<Cell>> rows;

  Matrix times(const Matrix& x) const {
    Matrix y = Matrix::Zero(std::ssize(rows), x.cols());
    for (size_t r = 0; r < rows.size(); ++r)
      for (const Cell& cell : rows[r])
        y.row(static_cast<Eigen::Index>(r)) += cell.value * x.row(cell.column);
    return y;
  }
};

// Counts the pairs of known words within the window of each other, in both orders.
std::unordered_map<uint64_t, int64_t> count_pairs(const std::vector<std::string>& files,
                                                  const Vocabulary& vocabulary, int64_t window) {
  std::unordered_map<uint64_t, int64_t> pairs;
  std::vector<int32_t> ids;
  const int32_t first = vocabulary.specials().size;
  read_sentences(files, [&](std::span<const std::string_view> sentence) {
    ids.clear();
    vocabulary.encode(sentence, ids);
    for (size_t i = 0; i < ids.size(); ++i)
      for (size_t j = i + 1; j < ids.size() && j <= i + static_cast<size_t>(window); ++j) {
        if (ids[i] < first || ids[j] < first) continue;
        const auto key = [](int32_t a, int32_t b) {
          return static_cast<uint64_t>(a) << 32 | static_cast<uint64_t>(b);
        };
        ++pairs[key(ids[i], ids[j])];
        ++pairs[key(ids[j], ids[i])];
      }
  });
  return pairs;
}

bool has_neighbour(const SparseMatrix& ppmi, int32_t id) {
  return !ppmi.rows[static_cast<size_t>(id)].empty();
}

SparseMatrix ppmi_matrix(const std::unordered_map<uint64_t, int64_t>& pairs, int32_t words) {
  std::vector<int64_t> sums(static_cast<size_t>(words));
  int64_t total = 0;
  for (const auto& [key, count] : pairs) {
    sums[key >> 32] += count;
    total += count;
  }
  SparseMatrix m;
  m.rows.resize(sums.size());
  for (const auto& [key, count] : pairs) {
    const size_t row = key >> 32, column = key & 0xFFFFFFFFu;
    const double pmi =
        std::log(static_cast<double>(count) * static_cast<double>(total) /
                 (static_cast<double>(sums[row]) * static_cast<double>(sums[column])));
    if (pmi > 0) m.rows[row].push_back({static_cast<Eigen::Index>(column), pmi});
  }
  // Sorts the pairs, because the order of a hash table depends on the library.
  for (auto& row : m.rows)
    std::sort(row.begin(), row.end(),
              [](const auto& a, const auto& b) { return a.column < b.column; });
  return m;
}

Matrix orthonormal(const Matrix& x) {
  const Eigen::HouseholderQR<Matrix> qr(x);
  return qr.householderQ() * Matrix::Identity(x.rows(), x.cols());
}

// Returns the right singular vectors for the `k` largest singular values of a symmetric matrix, by
// subspace iteration from a random start.
Matrix largest_singular_vectors(const SparseMatrix& m, Eigen::Index k, uint64_t seed) {
  const auto n = static_cast<Eigen::Index>(m.rows.size());
  Matrix q(n, std::min(n, k + kOversampling));
  RandomStream random({.seed = seed, .op = stream_id("ppmi")});
  for (Eigen::Index i = 0; i < q.rows(); ++i)
    for (Eigen::Index j = 0; j < q.cols(); ++j) q(i, j) = random.uniform() - 0.5;
  q = orthonormal(q);
  for (int i = 0; i < kIterations; ++i) q = orthonormal(m.times(q));
  // Finds the axes of the span with the largest |M v|. Eigenvalues come in ascending order.
  const Matrix mq = m.times(q);
  const Eigen::SelfAdjointEigenSolver<Matrix> axes(mq.transpose() * mq);
  return q * axes.eigenvectors().rightCols(k);
}

SparseMatrix read_ppmi(const std::vector<std::string>& files, const Vocabulary& vocabulary,
                       const PpmiOptions& options) {
  require(options.window >= 1 && options.dimensions >= 1, "[ppmi_vectors] a window of ",
          options.window, " and ", options.dimensions, " dimensions: both must be at least 1");
  const auto pairs = count_pairs(files, vocabulary, options.window);
  require(!pairs.empty(), files.front(), " has no two neighbouring words of the vocabulary");
  return ppmi_matrix(pairs, vocabulary.size());
}

std::vector<double> reduced(const SparseMatrix& m, std::span<const int32_t> ids,
                            const PpmiOptions& options) {
  const auto with_neighbours = static_cast<Eigen::Index>(
      std::count_if(m.rows.begin(), m.rows.end(), [](const auto& row) { return !row.empty(); }));
  const Matrix axes = largest_singular_vectors(
      m, std::min(static_cast<Eigen::Index>(options.dimensions), with_neighbours), options.seed);
  std::vector<double> vectors;
  for (const int32_t id : ids) {
    Eigen::RowVectorXd row = Eigen::RowVectorXd::Zero(axes.cols());
    for (const auto& cell : m.rows[static_cast<size_t>(id)])
      row += cell.value * axes.row(cell.column);
    vectors.insert(vectors.end(), row.begin(), row.end());
  }
  return vectors;
}

}  // namespace

std::vector<double> ppmi_vectors(const std::vector<std::string>& files,
                                 const Vocabulary& vocabulary, std::span<const int32_t> ids,
                                 const PpmiOptions& options) {
  const SparseMatrix m = read_ppmi(files, vocabulary, options);
  for (const int32_t id : ids)
    require(has_neighbour(m, id), files.front(), " does not have ", quote(vocabulary.word(id)),
            " beside another word of the vocabulary: give the text that the model was trained on");
  return reduced(m, ids, options);
}

std::vector<double> ppmi_vectors_of_neighbours(const std::vector<std::string>& files,
                                               const Vocabulary& vocabulary,
                                               std::vector<int32_t>& ids,
                                               const PpmiOptions& options) {
  const SparseMatrix m = read_ppmi(files, vocabulary, options);
  std::erase_if(ids, [&](int32_t id) { return !has_neighbour(m, id); });
  return reduced(m, ids, options);
}

}  // namespace nine
