#include "core/gemm.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/bf16_gemm.h"
#include "core/bf16_product.h"
#include "core/eigen_tile.h"
#include "core/error.h"
#include "core/instruction_set.h"
#include "core/scratch.h"
#include "core/threads.h"

#ifdef NINE_WITH_XSMM
#include <libxsmm.h>
#endif

namespace nine {
namespace {

#ifdef NINE_WITH_XSMM
constexpr bool kHasXsmm = true;
#else
constexpr bool kHasXsmm = false;
#endif

GemmBackend backend_at_start() {
  const char* setting = std::getenv("NINE_GEMM");
  if (setting == nullptr) return kHasXsmm ? GemmBackend::libxsmm : GemmBackend::eigen;
  const std::string_view name = setting;
  require(name == "eigen" || name == "libxsmm", "NINE_GEMM=", name, ": must be eigen or libxsmm");
  require(name == "eigen" || kHasXsmm,
          "NINE_GEMM=libxsmm, but this build has no libxsmm: install libxsmm-dev and build again");
  return name == "eigen" ? GemmBackend::eigen : GemmBackend::libxsmm;
}

GemmBackend& backend() {
  static GemmBackend b = backend_at_start();
  return b;
}

}  // namespace

GemmBackend gemm_backend() { return backend(); }
bool gemm_backend_built(GemmBackend b) { return b == GemmBackend::eigen || kHasXsmm; }
std::string to_text(GemmBackend b) { return b == GemmBackend::eigen ? "eigen" : "libxsmm"; }

#ifdef NINE_WITH_XSMM
namespace {

bool is_executable(const void* code) {
  std::ifstream maps("/proc/self/maps");
  if (!maps.is_open()) return true;  // no /proc: unknown
  const auto at = reinterpret_cast<uintptr_t>(code);
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    char permissions[5] = {};
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s", &begin, &end, permissions) ==
            3 &&
        begin <= at && at < end)
      return permissions[2] == 'x';
  }
  return false;
}

// Starts libxsmm. Checks for memory before, because libxsmm 1.17 does not check that it got the 9
// MiB of its tables.
void start_xsmm() {
  static const bool started = [] {
    void* probe = std::malloc(size_t{12} << 20);
    if (probe == nullptr)
      throw OutOfMemory("out of memory: no 12 MiB for libxsmm, which computes matrix products");
    std::free(probe);
    libxsmm_init();
    // Code for the instruction set in use, as the loops are, whatever CPU is at hand. After
    // libxsmm_init(), which reads LIBXSMM_TARGET.
    if (instruction_set() >= InstructionSet::avx512) {
      libxsmm_set_target_archid(LIBXSMM_X86_AVX512_CORE);
    } else if (instruction_set() == InstructionSet::avx2) {
      libxsmm_set_target_archid(LIBXSMM_X86_AVX2);
    }
    libxsmm_registry_info tables{};  // another thread may have taken what the probe gave back
    if (libxsmm_get_registry_info(&tables) != EXIT_SUCCESS)
      throw OutOfMemory("out of memory: there is no memory for the tables of libxsmm");
    return true;
  }();
  (void)started;
}

// Returns `code`, which may be null. OutOfMemory: libxsmm 1.17 had no memory for code and returned
// code in memory that must not be run.
void* executable(void* code) {
  if (code == nullptr) return nullptr;
  constexpr size_t kKnown = 4096;
  static std::array<std::atomic<const void*>, kKnown> known;  // a hash table
  const size_t first = reinterpret_cast<uintptr_t>(code) / 64 * 0x9e3779b97f4a7c15 >> 52;
  size_t at = first;
  while (known[at] != code && known[at] != nullptr && (at + 1) % kKnown != first)
    at = (at + 1) % kKnown;
  if (known[at] == code) return code;
  if (!is_executable(code))
    throw OutOfMemory("out of memory: there is no memory for the code of a matrix product");
  known[at] = code;  // replaces another entry if the table is full
  return code;
}

}  // namespace
#endif

namespace {
std::string backend_description() {
#ifdef NINE_WITH_XSMM
  if (backend() == GemmBackend::libxsmm) {
    start_xsmm();
    return concat("libxsmm ", LIBXSMM_VERSION, " (", libxsmm_get_target_arch(), ")");
  }
#endif
  return "eigen " + eigen_version();
}
}  // namespace

std::string gemm_description() {
  const std::string_view pieces = bf16::loops_asked_for();
  return backend_description() + (pieces.empty() ? "" : concat(", ", pieces));
}

void set_gemm_backend(GemmBackend b) {
  require(gemm_backend_built(b), "this build has no ", b, ": install libxsmm-dev and build again");
  backend() = b;
}

struct TileBackends {
  template <class T>
  static void eigen(const TileProduct<T>& p, const T* a, const T* b, T* c) {
    if (!p.add_)
      for (int64_t j = 0; j < p.n_; ++j) std::fill_n(c + j * p.ldc_, p.m_, T(0));
    eigen_multiply_add<T>({.m = p.m_,
                           .n = p.n_,
                           .k = p.k_,
                           .a = a,
                           .lda = p.lda_,
                           .b = b,
                           .ldb = p.ldb_,
                           .c = c,
                           .ldc = p.ldc_,
                           .transpose_b = p.transpose_b_});
  }

#ifdef NINE_WITH_XSMM
  template <class T>
  static void call(void* jitted, const T* a, const T* b, T* c) {
    using Kernel =
        std::conditional_t<std::is_same_v<T, float>, libxsmm_smmfunction, libxsmm_dmmfunction>;
    reinterpret_cast<Kernel>(jitted)(a, b, c);
  }

  template <class T>
  static void xsmm(const TileProduct<T>& p, const T* a, const T* b, T* c) {
    call(p.jitted_, a, b, c);
  }

  // libxsmm's code for AVX-512 takes up to four registers of rows at a time. If one register is
  // left, with two to eleven columns, the code sums parts of an element's terms separately. Then
  // the last rows are computed separately: by libxsmm if there are more columns, and otherwise by
  // last_rows(). Each element then has one sum from the first term to the last, as in libxsmm's
  // other code.
  template <class T>
  static constexpr int64_t kLanes = 64 / sizeof(T);
  static bool several_sums(int64_t columns) { return columns >= 2 && columns <= 11; }

  template <class T>
  static int64_t rows_together(const TileProduct<T>& p) {
    static const bool avx512 = libxsmm_get_target_archid() >= LIBXSMM_X86_AVX512;
    const int64_t before_last = (p.m_ - 1) / kLanes<T>;
    const bool one_left = before_last % 4 == 0, as_wanted = before_last == 0 && !several_sums(p.n_);
    return avx512 && one_left && !as_wanted ? before_last * kLanes<T> : p.m_;
  }

  template <class T>
  static void xsmm_in_two(const TileProduct<T>& p, const T* a, const T* b, T* c) {
    const int64_t first = rows_together(p), rows = p.m_ - first;
    if (first > 0) call(p.jitted_, a, b, c);
    if (!several_sums(p.n_)) {
      call(p.jitted_last_, a + first, b, c + first);
    } else if (rows == kLanes<T>) {
      last_rows(p, kLanes<T>, a + first, b, c + first);
    } else {
      last_rows(p, rows, a + first, b, c + first);
    }
  }

  template <class T>
  [[gnu::always_inline]] static void last_rows(const TileProduct<T>& p, int64_t rows, const T* a,
                                               const T* b, T* c) {
    const int64_t b_term = p.transpose_b_ ? p.ldb_ : 1, b_column = p.transpose_b_ ? 1 : p.ldb_;
    for (int64_t j = 0; j < p.n_; ++j, b += b_column, c += p.ldc_) {
      T sums[kLanes<T>] = {};
      if (p.add_) std::copy_n(c, rows, sums);
      for (int64_t t = 0; t < p.k_; ++t)
        for (int64_t i = 0; i < rows; ++i)
          sums[i] = std::fma(a[t * p.lda_ + i], b[t * b_term], sums[i]);
      std::copy_n(sums, rows, c);
    }
  }

  template <class T>
  static void dispatch(TileProduct<T>& p) {
    const int64_t first = rows_together(p);
    const bool last = first < p.m_ && !several_sums(p.n_);
    if (first > 0) p.jitted_ = compiled(p, first);
    if (last) p.jitted_last_ = compiled(p, p.m_ - first);
    if ((first > 0 && p.jitted_ == nullptr) || (last && p.jitted_last_ == nullptr)) return;
    p.run_ = first == p.m_ ? &xsmm<T> : &xsmm_in_two<T>;
  }

  // libxsmm's code for the first `rows` rows; null if libxsmm has no code.
  template <class T>
  static void* compiled(const TileProduct<T>& p, int64_t rows) {
    const auto i = [](int64_t x) { return static_cast<libxsmm_blasint>(x); };
    const libxsmm_blasint lda = i(p.lda_), ldb = i(p.ldb_), ldc = i(p.ldc_);
    const int flags = p.transpose_b_ ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE;
    const T alpha = 1, beta = p.add_ ? T(1) : T(0);
    if constexpr (std::is_same_v<T, float>) {
      return executable(reinterpret_cast<void*>(libxsmm_smmdispatch(
          i(rows), i(p.n_), i(p.k_), &lda, &ldb, &ldc, &alpha, &beta, &flags, nullptr)));
    } else {
      return executable(reinterpret_cast<void*>(libxsmm_dmmdispatch(
          i(rows), i(p.n_), i(p.k_), &lda, &ldb, &ldc, &alpha, &beta, &flags, nullptr)));
    }
  }
#endif
};

template <class T>
TileProduct<T>::TileProduct(int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc,
                            bool add, bool transpose_b)
    : run_(&TileBackends::eigen<T>),
      m_(m),
      n_(n),
      k_(k),
      lda_(lda),
      ldb_(ldb),
      ldc_(ldc),
      add_(add),
      transpose_b_(transpose_b) {
#ifdef NINE_WITH_XSMM
  if (backend() == GemmBackend::libxsmm && m > 0 && n > 0 && k > 0) {
    start_xsmm();
    TileBackends::dispatch(*this);
  }
#endif
}

// Longer rows, above all rows a power of two apart, make successive k compete for few places in the
// L1 cache. The code then runs at a third to two thirds of its speed. The wide tiles of AVX-512
// were measured in place.
template <class T>
int64_t tile_panel() {
  const bool avx2 = instruction_set() == InstructionSet::avx2;
  return avx2 && backend() == GemmBackend::libxsmm ? 128 / int64_t{sizeof(T)} : 0;
}

template <class T>
void transpose_tile(const T* x, int64_t ldx, int64_t rows, int64_t cols, T* y, int64_t ldy,
                    T alpha) {
  constexpr int64_t kBlock = 16;
  for (int64_t r0 = 0; r0 < rows; r0 += kBlock) {
    const int64_t r1 = std::min(rows, r0 + kBlock);
    for (int64_t c = 0; c < cols; ++c)
      for (int64_t r = r0; r < r1; ++r) y[c * ldy + r] = alpha * x[r * ldx + c];
  }
}

namespace {

constexpr int64_t kRows = 64;  // rows of C in a tile

// The cut of a product. No element's bits depend on the cut.
struct Cut {
  int64_t panel = 64;   // columns of C in a tile
  int64_t depth = 512;  // terms of the sums that one tile product adds up
  bool pack = false;    // true if parts of B and A' are copied although they can be read in place
};

template <class T>
Cut cut_for(const Gemm<T>& p) {
  const int64_t panel = tile_panel<T>();
  const bool worth_a_copy = p.m >= 2 * kRows;
  if (panel == 0 || !(worth_a_copy || p.transpose_b || p.alpha != T(1))) return {};
  return {.panel = panel, .depth = 256, .pack = worth_a_copy};
}

// op(B), cut into blocks of Cut::depth rows and panels of Cut::panel columns. A panel is a part of
// B, or a copy ("packed") as [k][column].
template <class T>
class PanelsOfB {
 public:
  explicit PanelsOfB(const Gemm<T>& p)
      : n_(p.n), k_(p.k), cut_(cut_for(p)), panels_((p.n + cut_.panel - 1) / cut_.panel) {
    if (!p.transpose_b && p.alpha == T(1) && !cut_.pack) {
      b_ = p.b;
      ld_ = p.ldb;
      return;
    }
    b_ = packed_ = scratch<T>(Scratch::gemm_b, panels_ * cut_.panel * p.k);
    ld_ = cut_.panel;
    const int64_t blocks = (k_ + cut_.depth - 1) / cut_.depth;
    parallel_for(
        blocks * panels_, [&](int64_t task) { pack(p, task / panels_, task % panels_); },
        4.0 * static_cast<double>(p.n * p.k));
  }
  int64_t panels() const { return panels_; }
  int64_t ld() const { return ld_; }
  const Cut& cut() const { return cut_; }
  const T* panel(int64_t block, int64_t j) const {
    return packed_ == nullptr ? b_ + block * cut_.depth * ld_ + j * cut_.panel
                              : packed_ + packed_offset(block, j);
  }

 private:
  int64_t depth(int64_t block) const { return std::min(cut_.depth, k_ - block * cut_.depth); }
  int64_t packed_offset(int64_t block, int64_t j) const {
    return block * cut_.depth * panels_ * cut_.panel + j * cut_.panel * depth(block);
  }
  void pack(const Gemm<T>& p, int64_t block, int64_t j) const {
    const int64_t k0 = block * cut_.depth, n0 = j * cut_.panel,
                  width = std::min(cut_.panel, n_ - n0);
    T* y = packed_ + packed_offset(block, j);
    if (p.transpose_b) {
      transpose_tile(p.b + n0 * p.ldb + k0, p.ldb, width, depth(block), y, cut_.panel, p.alpha);
      return;
    }
    for (int64_t k = 0; k < depth(block); ++k)
      for (int64_t c = 0; c < width; ++c)
        y[k * cut_.panel + c] = p.alpha * p.b[(k0 + k) * p.ldb + n0 + c];
  }

  int64_t n_, k_;
  Cut cut_;
  int64_t panels_, ld_;
  const T* b_;
  T* packed_ = nullptr;
};

// Computes kRows rows of C for panels [first_panel, last_panel). A TileProduct is column-major, so
// it computes C' = op(B)' op(A)': its first factor is the panel of B, its second factor the rows of
// op(A).
template <class T>
void row_of_tiles(const Gemm<T>& p, const PanelsOfB<T>& b, int64_t row0, int64_t first_panel,
                  int64_t last_panel) {
  const int64_t rows = std::min(kRows, p.m - row0), panel = b.cut().panel, longest = b.cut().depth;
  const bool pack_a = b.cut().pack && p.transpose_a;
  T* const packed = pack_a ? scratch<T>(Scratch::gemm_a, longest * kRows) : nullptr;
  const int64_t lda = pack_a ? kRows : p.lda;
  for (int64_t block = 0, k0 = 0; k0 < p.k; ++block, k0 += longest) {
    const int64_t depth = std::min(longest, p.k - k0);
    const T* a = p.transpose_a ? p.a + k0 * p.lda + row0 : p.a + row0 * p.lda + k0;
    if (pack_a) {
      for (int64_t k = 0; k < depth; ++k) std::copy_n(a + k * p.lda, rows, packed + k * kRows);
      a = packed;
    }
    const auto tile = [&](int64_t width) {
      return TileProduct<T>(width, rows, depth, b.ld(), lda, p.ldc, p.add || block > 0,
                            p.transpose_a);
    };
    const TileProduct<T> whole = tile(panel);
    for (int64_t j = first_panel; j < last_panel; ++j) {
      const int64_t width = std::min(panel, p.n - j * panel);
      T* c = p.c + row0 * p.ldc + j * panel;
      if (width == panel) {
        whole(b.panel(block, j), a, c);
      } else {
        tile(width)(b.panel(block, j), a, c);
      }
    }
  }
}

}  // namespace

template <class T>
void gemm(const Gemm<T>& p) {
  if (p.m == 0 || p.n == 0) return;
  if (p.k == 0) {
    if (!p.add)
      for (int64_t r = 0; r < p.m; ++r) std::fill_n(p.c + r * p.ldc, p.n, T(0));
    return;
  }
  if constexpr (std::is_same_v<T, float>)
    if (bf16::in_pieces(p.n, p.k)) return bf16::gemm(p);
  const PanelsOfB<T> b(p);
  const int64_t row_blocks = (p.m + kRows - 1) / kRows;
  // A task has 512 columns, so that a wide C with few rows makes enough tasks for the threads, and
  // a task uses its rows of op(A) several times.
  const int64_t panels_per_task = std::min<int64_t>(b.panels(), 512 / b.cut().panel);
  const int64_t column_tasks = (b.panels() + panels_per_task - 1) / panels_per_task;
  const auto tile_row = [&](int64_t task) {
    const int64_t j = (task / row_blocks) * panels_per_task;
    row_of_tiles(p, b, (task % row_blocks) * kRows, j, std::min(b.panels(), j + panels_per_task));
  };
  parallel_for(row_blocks * column_tasks, tile_row,
               2.0 * static_cast<double>(p.m * p.n) * static_cast<double>(p.k));
}

template class TileProduct<float>;
template class TileProduct<double>;
template int64_t tile_panel<float>();
template int64_t tile_panel<double>();
template void gemm<float>(const Gemm<float>&);
template void gemm<double>(const Gemm<double>&);
template void transpose_tile<float>(const float*, int64_t, int64_t, int64_t, float*, int64_t,
                                    float);
template void transpose_tile<double>(const double*, int64_t, int64_t, int64_t, double*, int64_t,
                                     double);

}  // namespace nine
