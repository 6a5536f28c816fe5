// The tiles of dL/dz that the products for dW and dH take. --head-skip leaves out the others, whose
// gradients are small (HeadBlockOptions::skip).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/isa.h"
#include "core/pool_array.h"
#include "kernels/ops.h"

namespace nine::cpu {
inline namespace NINE_ISA {

inline int64_t panels_of(int64_t rows) { return (rows + ops::kHeadPanel - 1) / ops::kHeadPanel; }
inline int64_t tiles_of(int64_t words) { return (words + ops::kHeadTile - 1) / ops::kHeadTile; }

/// The flags of a strip's tiles: of the strip's words, and of the panels of columns from one panel
/// on.
struct KeptTiles {
  /// [tile of words][panel of columns], `ld` flags from tile to tile: not 0 if the products take
  /// the tile. null: the products take all tiles.
  const uint8_t* flags = nullptr;
  int64_t ld = 0;

  bool kept(int64_t tile, int64_t panel) const {
    return flags == nullptr || flags[tile * ld + panel] != 0;
  }
  /// Returns the flags from a column on, the first of its panel.
  KeptTiles from(int64_t column) const {
    return flags == nullptr ? *this : KeptTiles{flags + column / ops::kHeadPanel, ld};
  }
  /// True if the products take all tiles of the first `panels` panels and the first `tiles` tiles
  /// of words.
  bool all(int64_t tiles, int64_t panels) const {
    const auto set = [](uint8_t flag) { return flag != 0; };
    for (int64_t t = 0; flags != nullptr && t < tiles; ++t)
      if (!std::all_of(flags + t * ld, flags + t * ld + panels, set)) return false;
    return true;
  }
};

/// Finds the tiles whose every |dL/dz| is below the limit, relative to the row's weight, and adds
/// up what is left out with them.
template <class T>
class TileLimit {
 public:
  TileLimit() = default;
  TileLimit(const ops::HeadBlock& block, double row_weight, int64_t columns, Arena& arena)
      : columns_(columns), padded_(block.padded_rows()) {
    if (block.options.skip == 0) return;
    bounds_ = pool_array<T>(arena, padded_);
    for (int64_t r = 0; r < padded_; ++r) {
      const bool has_factor = r < block.rows() && block.row_factor;
      const double factor = has_factor ? static_cast<const double*>(block.row_factor.data)[r] : 1;
      bounds_[r] = static_cast<T>(block.options.skip * std::abs(row_weight * factor));
    }
    sums_ = pool_array<Sums>(arena, ops::kHeadChunks);
    std::fill_n(sums_, ops::kHeadChunks, Sums{});
  }

  /// False if the products take all tiles.
  explicit operator bool() const { return bounds_ != nullptr; }

  /// Sets the flags of one tile of words, one for each panel of columns. z [word][column] holds
  /// dL/dz, `ld` numbers from word to word. A tile with a number that is not finite is kept.
  void mark(int64_t chunk, const T* z, int64_t ld, int64_t words, uint8_t* flags) const {
    Sums& sums = sums_[chunk];
    for (int64_t first = 0; first < columns_; first += ops::kHeadPanel) {
      const T* bounds = bounds_ + first % padded_;
      T largest[ops::kHeadPanel] = {}, sum[ops::kHeadPanel] = {};
      for (int64_t v = 0; v < words; ++v)
        for (int64_t r = 0; r < ops::kHeadPanel; ++r) {
          const T x = std::abs(z[v * ld + first + r]);
          largest[r] = std::max(largest[r], x);
          sum[r] += x;
        }
      double all = 0;
      int64_t reached = 0;
      for (int64_t r = 0; r < ops::kHeadPanel; ++r) {
        all += static_cast<double>(sum[r]);
        reached += largest[r] > 0 && largest[r] >= bounds[r] ? 1 : 0;
      }
      const bool kept = reached > 0 || !std::isfinite(all);
      flags[first / ops::kHeadPanel] = kept ? 1 : 0;
      sums.tiles += 1;
      sums.all += all;
      sums.tiles_left_out += kept ? 0 : 1;
      sums.left_out += kept ? 0 : all;
    }
  }
  /// Adds the sums of all chunks, in their order, to HeadGradients::left_out.
  void add_sums(double* out) const {
    for (int64_t c = 0; c < ops::kHeadChunks; ++c) {
      out[0] += sums_[c].tiles_left_out;
      out[1] += sums_[c].tiles;
      out[2] += sums_[c].left_out;
      out[3] += sums_[c].all;
    }
  }

 private:
  struct Sums {
    double tiles_left_out = 0, tiles = 0, left_out = 0, all = 0;
  };
  int64_t columns_ = 0, padded_ = 0;
  T* bounds_ = nullptr;   // of each row; null: no limit
  Sums* sums_ = nullptr;  // of each chunk
};

}  // namespace NINE_ISA
}  // namespace nine::cpu
