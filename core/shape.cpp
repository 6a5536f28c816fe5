#include "core/shape.h"

#include <algorithm>

#include "core/error.h"

namespace nine {

Shape::Shape(const int64_t* sizes, int rank) : rank_(rank) {
  require(rank >= 0 && rank <= kMaxRank, "a tensor has at most ", kMaxRank, " dimensions, not ",
          rank);
  for (int i = 0; i < rank; ++i) {
    require(sizes[i] >= 0, "dimension ", i, " of a shape is negative: ", sizes[i]);
    sizes_[static_cast<size_t>(i)] = sizes[i];
  }
  // A dimension of 0 counts as 1, so that the product of no part of the shape overflows.
  int64_t bytes = 8;  // of the widest type
  for (int i = 0; i < rank; ++i)
    require(!__builtin_mul_overflow(bytes, std::max<int64_t>(sizes[i], 1), &bytes), "a shape of ",
            *this, " has more bytes than 64 bits can count");
}

int64_t Shape::elements() const { return rows() * cols(); }

int64_t Shape::rows() const {
  int64_t n = 1;
  for (int i = 0; i + 1 < rank_; ++i) n *= sizes_[static_cast<size_t>(i)];
  return n;
}

Shape Shape::with_cols(int64_t cols) const {
  require(rank_ > 0, "a scalar has no last dimension to replace: reshape it to (1)");
  auto sizes = sizes_;
  sizes[static_cast<size_t>(rank_ - 1)] = cols;
  return {sizes.data(), rank_};
}

std::string to_text(const Shape& s) {
  std::string out = "(";
  for (int i = 0; i < s.rank(); ++i) out += (i > 0 ? ", " : "") + std::to_string(s[i]);
  return out + ")";
}

std::string index_text(const Shape& shape, int64_t element) {
  std::string text;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    text = concat(element % shape[i], text.empty() ? "" : ", ", text);
    element /= shape[i];
  }
  return "[" + text + "]";
}

}  // namespace nine
