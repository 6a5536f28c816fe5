// The sizes of a tensor: up to four dimensions, the last one fastest.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace nine {

/// A list of up to four sizes. As a matrix, a tensor has one row for each combination of all
/// dimensions but the last, and as many columns as the last dimension.
class Shape {
 public:
  static constexpr int kMaxRank = 4;

  Shape() = default;  ///< rank 0: a scalar, one element
  Shape(std::initializer_list<int64_t> sizes)
      : Shape(sizes.begin(), static_cast<int>(sizes.size())) {}
  /// Errors: rank above 4, a negative size, 2^63 bytes of 8-byte elements or more.
  Shape(const int64_t* sizes, int rank);

  int rank() const { return rank_; }
  /// Size of dimension i in [-rank, rank), which is not checked; negative i counts from the end.
  int64_t operator[](int i) const { return sizes_[static_cast<size_t>(i < 0 ? i + rank_ : i)]; }
  /// The product of all dimensions.
  int64_t elements() const;
  /// The last dimension (1 for a scalar).
  int64_t cols() const { return rank_ == 0 ? 1 : sizes_[static_cast<size_t>(rank_ - 1)]; }
  /// Product of all dimensions but the last: the tensor seen as a matrix.
  int64_t rows() const;
  /// This shape with its last dimension replaced. Errors: rank 0, and those of a shape.
  Shape with_cols(int64_t cols) const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  int rank_ = 0;
  std::array<int64_t, kMaxRank> sizes_{};
};

std::string to_text(const Shape& s);  ///< "(32, 512)"

}  // namespace nine
