// The sizes of a tensor: up to six dimensions, row-major.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace nine {

/// A list of up to six sizes. As a matrix, a tensor has the last dimension as columns and the
/// product of the other dimensions as rows.
class Shape {
 public:
  static constexpr int kMaxRank = 6;

  Shape() = default;  ///< rank 0: a scalar, one element
  Shape(std::initializer_list<int64_t> sizes)
      : Shape(sizes.begin(), static_cast<int>(sizes.size())) {}
  /// Takes `rank` sizes. Errors: rank above 6, a negative size, 2^60 elements or more (a size of 0
  /// counts as 1 here).
  Shape(const int64_t* sizes, int rank);

  int rank() const { return rank_; }
  /// Returns the size of dimension i in [-rank, rank); negative i counts from the end. i is not
  /// checked.
  int64_t operator[](int i) const { return sizes_[static_cast<size_t>(i < 0 ? i + rank_ : i)]; }
  /// Returns the product of all dimensions.
  int64_t elements() const;
  /// Returns the last dimension; 1 for a scalar.
  int64_t cols() const { return rank_ == 0 ? 1 : sizes_[static_cast<size_t>(rank_ - 1)]; }
  /// Returns the product of all dimensions but the last.
  int64_t rows() const;
  /// Returns this shape with its last dimension replaced. Errors: rank 0, and those of the
  /// constructor.
  Shape with_cols(int64_t cols) const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  int rank_ = 0;
  std::array<int64_t, kMaxRank> sizes_{};
};

std::string to_text(const Shape& s);  ///< "(32, 512)"
/// Returns the indices of element number `element`, from 0 in row-major order: "[2, 0]" for element
/// 8 of a tensor (4, 4).
std::string index_text(const Shape& shape, int64_t element);

}  // namespace nine
