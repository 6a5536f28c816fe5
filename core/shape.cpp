#include "core/shape.h"

#include "core/error.h"

namespace nine {

Shape::Shape(const int64_t* sizes, int rank) : rank_(rank) {
  require(rank >= 0 && rank <= kMaxRank, "a tensor has at most ", kMaxRank, " dimensions, not ",
          rank);
  for (int i = 0; i < rank; ++i) {
    require(sizes[i] >= 0, "dimension ", i, " of a shape is negative: ", sizes[i]);
    sizes_[static_cast<size_t>(i)] = sizes[i];
  }
}

int64_t Shape::elements() const { return rows() * cols(); }

int64_t Shape::rows() const {
  int64_t n = 1;
  for (int i = 0; i + 1 < rank_; ++i) n *= sizes_[static_cast<size_t>(i)];
  return n;
}

Shape Shape::with_cols(int64_t cols) const {
  require(rank_ > 0, "a scalar has no last dimension to replace: reshape it to (1)");
  Shape s = *this;
  s.sizes_[static_cast<size_t>(rank_ - 1)] = cols;
  return s;
}

std::string to_text(const Shape& s) {
  std::string out = "(";
  for (int i = 0; i < s.rank(); ++i) out += (i > 0 ? ", " : "") + std::to_string(s[i]);
  return out + ")";
}

}  // namespace nine
