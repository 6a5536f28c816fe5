#include "kernels/loss/cuda/kept_tiles.cuh"

#include <cmath>

#include "cuda/tiles.cuh"

namespace nine::cuda {
namespace {

using ops::HeadBlock;

constexpr int kTile = static_cast<int>(ops::kHeadTile);
constexpr int kPanel = static_cast<int>(ops::kHeadPanel);
static_assert(kPanel == kWarp && kTile == 2 * kPanel);

int64_t tiles_of(int64_t words) { return (words + kTile - 1) / kTile; }
int64_t panels_of(int64_t rows) { return (rows + kPanel - 1) / kPanel; }

// The flags of a plane's tiles.
struct Flags {
  uint8_t* data;
  int64_t tiles, panels;
  NINE_D bool kept(int64_t tile, int64_t panel) const {
    return panel < panels && data[tile * panels + panel] != 0;
  }
};

constexpr int kMarkWarps = 8;

// Block (32, kMarkWarps) for each tile: a lane has a row, a warp every eighth word. Grid (tiles,
// panels). Shared memory: the warps' largest |dL/dz| of the rows, and their sums.
template <class T>
__global__ void mark_kernel(Matrix<T> z, const double* factors, int64_t rows, double bound,
                            Flags flags, double* sums) {
  const int64_t tile = blockIdx.x, panel = blockIdx.y, r = panel * kPanel + threadIdx.x,
                first = tile * kTile, end = first + kTile < z.rows ? first + kTile : z.rows;
  T largest = 0, sum = 0;
  for (int64_t v = first + threadIdx.y; v < end; v += kMarkWarps) {
    const T x = z.at(v, r), size = x < T(0) ? -x : x;
    largest = size > largest ? size : largest;
    sum += size;
  }
  T* const all_largest = shared_memory<T>();
  T* const all_sums = all_largest + kMarkWarps * kWarp;
  all_largest[threadIdx.y * kWarp + threadIdx.x] = largest;
  all_sums[threadIdx.y * kWarp + threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0) return;
  for (int i = 1; i < kMarkWarps; ++i) {
    const T other = all_largest[i * kWarp + threadIdx.x];
    largest = other > largest ? other : largest;
    sum += all_sums[i * kWarp + threadIdx.x];
  }
  const double factor = factors != nullptr && r < rows ? factors[r] : 1;
  const bool reached = largest > T(0) && largest >= static_cast<T>(bound * fabs(factor));
  const double all = warp_sum(static_cast<double>(sum));
  const bool kept = warp_max(reached ? 1 : 0) != 0 || !(all <= std::numeric_limits<double>::max());
  if (threadIdx.x != 0) return;
  flags.data[tile * flags.panels + panel] = kept ? 1 : 0;
  sums[tile * flags.panels + panel] = all;
}

// Adds the tiles of a plane to the four numbers of ops::HeadGradients::left_out, in a fixed order.
// One block of kBlock threads.
__global__ void add_sums_kernel(Flags flags, const double* sums, double* out) {
  double own[4] = {};
  for (int64_t i = threadIdx.x; i < flags.tiles * flags.panels; i += kBlock) {
    const bool kept = flags.data[i] != 0;
    own[0] += kept ? 0 : 1;
    own[1] += 1;
    own[2] += kept ? 0 : sums[i];
    own[3] += sums[i];
  }
  void* const shared = shared_memory<double>();
  for (int i = 0; i < 4; ++i) {
    const double sum = block_sum(own[i], shared);
    if (threadIdx.x == 0) out[i] += sum;
  }
}

constexpr int kRowWarps = kTile / kMmaRows;  // the warps of a block that share columns
constexpr int kWarps = 2 * kRowWarps;

// The numbers of shared memory of kept_product_kernel.
template <class Mma, int kCols>
struct ProductTiles {
  using Store = typename Mma::Store;
  static constexpr int kLeftStride = tile_stride<Store>(kPanel);
  static constexpr int kRightStride = tile_stride<Store>(kCols);
  static constexpr size_t kBytes = (kTile * kLeftStride + kPanel * kRightStride) * sizeof(Store);
};

// Block (32, kWarps) for kTile rows and kCols columns of the result; a warp has 16 rows and half of
// the columns. The left factor is z for dW and, for dH, the transpose of z. It is read in parts of
// kPanel columns: for dW the contexts of a panel, for dH half of a tile's words. A block of dH has
// two panels; a warp whose panel is left out only helps to load. Grid (tiles of rows, pieces of
// columns, splits): split i of dH takes the tiles i, i + splits, ... of words, so that each has as
// many of the frequent ones, and writes to its own rows of `out`.
template <class Mma, int kCols, bool of_words>
__global__ void __launch_bounds__(kWarp* kWarps, 2)
    kept_product_kernel(Matrix<typename Mma::Number> z, int64_t rows, Flags flags,
                        Matrix<typename Mma::Number> right, Matrix<typename Mma::Number> out,
                        bool add) {
  using T = typename Mma::Number;
  using Store = typename Mma::Store;
  using Tiles = ProductTiles<Mma, kCols>;
  constexpr int kOwn = kCols / 2 / kMmaCols;            // tiles of mma of a warp
  constexpr int kTogether = of_words ? kPanel : kTile;  // columns of the left factor with one flag
  Store* const left = shared_memory<Store>();
  Store* const others = left + kTile * Tiles::kLeftStride;
  const int warp = static_cast<int>(threadIdx.y), lane = static_cast<int>(threadIdx.x),
            warp_row = warp % kRowWarps * kMmaRows, warp_column = warp / kRowWarps * (kCols / 2);
  const int64_t own = blockIdx.x, row0 = own * kTile,
                column0 = static_cast<int64_t>(blockIdx.y) * kCols,
                count = of_words ? z.rows : rows,  // rows of the result
      inner = of_words ? rows : z.rows,            // columns of the left factor
      columns_left = right.cols - column0;
  const int columns = static_cast<int>(columns_left < kCols ? columns_left : kCols),
            rows_left = static_cast<int>(count - row0 < kTile ? count - row0 : kTile);
  T sum[kOwn][4] = {};
  const int64_t step = of_words ? 1 : gridDim.z, steps = of_words ? flags.panels : flags.tiles;
  for (int64_t i = of_words ? 0 : blockIdx.z; i < steps; i += step) {
    bool any = false, mine = false;
    if constexpr (of_words) {
      any = mine = flags.kept(own, i);
    } else {
      const bool first = flags.kept(i, 2 * own), second = flags.kept(i, 2 * own + 1);
      any = first || second;
      mine = warp_row < kPanel ? first : second;
    }
    if (!any) continue;
    for (int64_t k = i * kTogether; k < (i + 1) * kTogether && k < inner; k += kPanel) {
      const int part = static_cast<int>(inner - k < kPanel ? inner - k : kPanel);
      __syncthreads();  // all warps are done with what lay there
      if constexpr (of_words) {
        load_tile<Mma, kPanel>(left, kTile, &z.at(row0, k), z.ld, rows_left, part);
      } else {
        constexpr int kLoads = kTile * kPanel / (kWarp * kWarps);
        T x[kLoads];
#pragma unroll
        for (int j = 0; j < kLoads; ++j) {
          const int at = j * kWarps + warp, word = at / 2, context = at % 2 * kWarp + lane;
          x[j] = word < part && context < rows_left ? z.at(k + word, row0 + context) : T(0);
        }
#pragma unroll
        for (int j = 0; j < kLoads; ++j) {
          const int at = j * kWarps + warp, word = at / 2, context = at % 2 * kWarp + lane;
          left[context * Tiles::kLeftStride + word] = Mma::stored(x[j]);
        }
      }
      load_tile<Mma, kCols>(others, kPanel, &right.at(k, column0), right.ld, part, columns);
      __syncthreads();
      if (mine)
        Mma::template multiply<kOwn, false>(sum, left + warp_row * Tiles::kLeftStride,
                                            Tiles::kLeftStride, others + warp_column,
                                            Tiles::kRightStride, kPanel);
    }
  }
  const int64_t out_row0 = static_cast<int64_t>(blockIdx.z) * count + row0;
#pragma unroll
  for (int n = 0; n < kOwn; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = warp_row + lane / 4 + i / 2 * 8,
                column = warp_column + kMmaCols * n + 2 * (lane % 4) + i % 2;
      if (row < rows_left && column < columns)
        put(add, out.at(out_row0 + row, column0 + column), sum[n][i]);
    }
}

// The words of dH's product are cut into so many parts, so that a large GPU has enough blocks.
constexpr int64_t kSplits = 8;

template <class T>
struct AddSplits {
  const T* partial;  // [split][row][column]
  int64_t splits, rows, columns;
  bool add;
  Matrix<T> out;
  NINE_D void operator()(int64_t r, int64_t c) const {
    T sum = 0;
    for (int64_t i = 0; i < splits; ++i) sum += partial[(i * rows + r) * columns + c];
    put(add, out.at(r, c), sum);
  }
};

}  // namespace

template <class T>
KeptTiles<T>::KeptTiles(const char* op, const HeadBlock& block, double row_weight, int64_t words,
                        int64_t dims, Arena& arena)
    : op_(op),
      device_(CudaDevice::of(block.h)),
      block_(block),
      bound_(block.options.skip * std::abs(row_weight)) {
  if (block.options.skip == 0) return;
  const int64_t tiles = tiles_of(words), all = tiles * panels_of(block.rows());
  const auto memory = [&](int64_t n, DType dtype) {
    return arena.temporary({n}, dtype).view().data;
  };
  flags_ = static_cast<uint8_t*>(memory(all, DType::boolean));
  sums_ = static_cast<double*>(memory(all, DType::float64));
  partial_ = static_cast<T*>(memory(std::min(kSplits, tiles) * block.rows() * dims, dtype_of<T>));
}

template <class T>
void KeptTiles<T>::mark(const View& z, const View& sums) const {
  const Flags flags{flags_, tiles_of(z.rows()), panels_of(block_.rows())};
  launch(device_, op_, mark_kernel<T>,
         dim3(grid_size(flags.tiles), static_cast<unsigned>(flags.panels)), dim3(kWarp, kMarkWarps),
         2 * kMarkWarps * kWarp * sizeof(T), Matrix<T>(z),
         static_cast<const double*>(block_.row_factor.data), block_.rows(), bound_, flags, sums_);
  if (sums)
    launch(device_, op_, add_sums_kernel, dim3(1), dim3(kBlock), block_sum_bytes(kBlock), flags,
           sums_, static_cast<double*>(sums.data));
}

template <class T>
void KeptTiles<T>::add_dw(const View& z, const View& h, const OutputView& dw) const {
  const Flags flags{flags_, tiles_of(z.rows()), panels_of(block_.rows())};
  with_mma<T>(h.cols(), [&]<class Mma, int kCols>() {
    launch(device_, op_, kept_product_kernel<Mma, kCols, true>,
           dim3(grid_size(flags.tiles), blocks_of(h.cols(), kCols)), dim3(kWarp, kWarps),
           ProductTiles<Mma, kCols>::kBytes, Matrix<T>(z), block_.rows(), flags, Matrix<T>(h),
           Matrix<T>(dw.view), dw.add);
  });
}

template <class T>
void KeptTiles<T>::add_dh(const View& z, const View& w, const OutputView& dh) const {
  const Flags flags{flags_, tiles_of(z.rows()), panels_of(block_.rows())};
  const int64_t splits = std::min(kSplits, flags.tiles);
  View partial(partial_, {splits * block_.rows(), w.cols()});
  partial.device = z.device;
  with_mma<T>(w.cols(), [&]<class Mma, int kCols>() {
    launch(device_, op_, kept_product_kernel<Mma, kCols, false>,
           dim3(blocks_of(block_.rows(), kTile), blocks_of(w.cols(), kCols),
                static_cast<unsigned>(splits)),
           dim3(kWarp, kWarps), ProductTiles<Mma, kCols>::kBytes, Matrix<T>(z), block_.rows(),
           flags, Matrix<T>(w), Matrix<T>(partial), false);
  });
  each(device_, op_, {block_.rows(), w.cols()},
       AddSplits<T>{partial_, splits, block_.rows(), w.cols(), dh.add, Matrix<T>(dh.view)});
}

template class KeptTiles<float>;
template class KeptTiles<double>;

}  // namespace nine::cuda
