// The ops of core/array_ops.h on the CPU (part of core/cpu/cpu.h).
#include <algorithm>
#include <numeric>
#include <type_traits>
#include <vector>

#include "core/cpu/cpu.h"
#include "core/elementwise.h"
#include "core/elementwise_loops.h"
#include "core/reductions.h"

namespace nine::cpu {
inline namespace NINE_ISA {
namespace {

// Calls f(offsets, count) for parts of the innermost dimension of N views: element i of view v is
// offsets[v] + i * its last stride elements after the view's data.
template <size_t N, class F>
void for_parts(const Walk<N>& walk, F&& f) {
  const int64_t rows = walk.rows(), cols = walk.cols();
  const auto last = static_cast<size_t>(walk.rank - 1);
  const auto run = [&](int64_t row, int64_t begin, int64_t count) {
    std::array<int64_t, N> offsets{};
    for (size_t v = 0; v < N; ++v) offsets[v] = begin * walk.strides[v][last];
    for (size_t i = last; i-- > 0;) {
      const int64_t at = row % walk.sizes[i];
      row /= walk.sizes[i];
      for (size_t v = 0; v < N; ++v) offsets[v] += at * walk.strides[v][i];
    }
    f(offsets, count);
  };
  if (rows == 1) {
    parallel_ranges(cols, kGrain, [&](int64_t begin, int64_t end) { run(0, begin, end - begin); });
  } else {
    for_some_rows(rows, cols, [&](int64_t row) { run(row, 0, cols); });
  }
}

template <class T>
T* at(const StridedView& v, int64_t offset) {
  return static_cast<T*>(v.data) + offset;
}

template <class T>
void copy_as(const StridedView& x, const StridedView& y, bool add) {
  const Walk<2> walk({&x, &y});
  const auto last = static_cast<size_t>(walk.rank - 1);
  const int64_t sx = walk.strides[0][last], sy = walk.strides[1][last];
  for_parts(walk, [&](const std::array<int64_t, 2>& offsets, int64_t n) {
    const T* in = at<T>(x, offsets[0]);
    T* out = at<T>(y, offsets[1]);
    with_add(add, [&](auto put) {
      if (sx == 1 && sy == 1) {
        for (int64_t i = 0; i < n; ++i) put(out[i], in[i]);
      } else {
        for (int64_t i = 0; i < n; ++i) put(out[i * sy], in[i * sx]);
      }
    });
  });
}

// Calls f(i, a, b) for each element i of a contiguous result with the elements of two views.
template <class T, class F>
void for_pairs(const StridedView& a, const StridedView& b, const View& y, F&& f) {
  const StridedView result(y);
  const Walk<3> walk({&result, &a, &b});
  const auto last = static_cast<size_t>(walk.rank - 1);
  const int64_t sa = walk.strides[1][last], sb = walk.strides[2][last];
  for_parts(walk, [&](const std::array<int64_t, 3>& offsets, int64_t n) {
    const T *left = at<T>(a, offsets[1]), *right = at<T>(b, offsets[2]);
    for (int64_t i = 0; i < n; ++i) f(offsets[0] + i, left[i * sa], right[i * sb]);
  });
}

// --- reductions: x (outer, n, inner)

constexpr int64_t kLanes = 16, kColumns = 64, kPart = 32768;

// The lines of x: line (o, i) has n numbers, `step` apart.
template <class T>
struct Lines {
  const T* data;
  int64_t n, inner;
  explicit Lines(const View& x)
      : data(static_cast<const T*>(x.data)), n(x.shape[1]), inner(x.shape[2]) {}
  const T* line(int64_t o, int64_t i) const { return data + o * n * inner + i; }
};

// Joins f(x) over a contiguous line in kLanes lanes, then the lanes in a fixed tree.
template <ops::Join kJoin, class T, class F>
double fold_lanes(const T* x, int64_t n, F&& f) {
  double lanes[kLanes];
  std::fill_n(lanes, kLanes, ops::neutral<kJoin>());
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t j = 0; j < kLanes; ++j)
      lanes[j] = ops::joined<kJoin>(lanes[j], f(static_cast<double>(x[i + j]), 0));
  for (int64_t j = 0; i < n; ++i, ++j)
    lanes[j] = ops::joined<kJoin>(lanes[j], f(static_cast<double>(x[i]), 0));
  for (int64_t width = kLanes / 2; width > 0; width /= 2)
    for (int64_t j = 0; j < width; ++j) lanes[j] = ops::joined<kJoin>(lanes[j], lanes[j + width]);
  return lanes[0];
}
// Does the same for parts of a line, which threads share, and joins the parts in order.
template <ops::Join kJoin, class T, class F>
double fold(const T* x, int64_t n, F&& f) {
  if (n <= kPart) return fold_lanes<kJoin>(x, n, f);
  std::vector<double> parts(static_cast<size_t>((n + kPart - 1) / kPart));
  parallel_for(std::ssize(parts), [&](int64_t part) {
    const int64_t begin = part * kPart;
    parts[static_cast<size_t>(part)] = fold_lanes<kJoin>(x + begin, std::min(kPart, n - begin), f);
  });
  double total = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) total = ops::joined<kJoin>(total, parts[i]);
  return total;
}
// Joins f(x, i) over `count` lines side by side, from the first number to the last.
template <ops::Join kJoin, class T, class F>
void fold_columns(const T* x, int64_t n, int64_t inner, int64_t count, double* to, F&& f) {
  std::fill_n(to, count, ops::neutral<kJoin>());
  for (int64_t j = 0; j < n; ++j, x += inner)
    for (int64_t i = 0; i < count; ++i)
      to[i] = ops::joined<kJoin>(to[i], f(static_cast<double>(x[i]), i));
}

// Calls f(o, first, count) for groups of up to kColumns lines side by side.
template <class F>
void for_line_groups(const View& x, F&& f) {
  const int64_t n = x.shape[1], inner = x.shape[2], groups = (inner + kColumns - 1) / kColumns;
  for_some_rows(x.shape[0] * groups, std::max<int64_t>(1, n) * std::min(inner, kColumns),
                [&](int64_t task) {
                  const int64_t first = task % groups * kColumns;
                  f(task / groups, first, std::min(kColumns, inner - first));
                });
}

// Computes f(x, i) joined, for a group of lines: i is the number of the line in the group.
template <ops::Join kJoin, class T, class F>
void fold_group(const Lines<T>& x, int64_t o, int64_t first, int64_t count, double* to, F&& f) {
  if (x.inner == 1) {
    to[0] = fold<kJoin>(x.line(o, 0), x.n, f);
  } else {
    fold_columns<kJoin>(x.line(o, first), x.n, x.inner, count, to, f);
  }
}

template <class R, class T>
void shifts(const Lines<T>& x, int64_t o, int64_t first, int64_t count, double* m) {
  std::fill_n(m, count, 0.0);
  if constexpr (R::kShift != ops::Shift::zero) {
    fold_group<ops::kShiftJoin<R::kShift>>(x, o, first, count, m,
                                           [](double v, int64_t) { return v; });
    for (int64_t i = 0; i < count; ++i)
      m[i] = ops::shift_of<R::kShift>(m[i], static_cast<double>(x.n));
  }
}

template <ops::Join kJoin>
void reduce_integers(const View& x, int64_t* y) {
  const Lines<int64_t> lines(x);
  for_line_groups(x, [&](int64_t o, int64_t first, int64_t count) {
    int64_t* to = y + o * lines.inner + first;
    std::fill_n(to, count, ops::neutral<kJoin, int64_t>());
    const int64_t* in = lines.line(o, first);
    for (int64_t j = 0; j < lines.n; ++j, in += lines.inner)
      for (int64_t i = 0; i < count; ++i) to[i] = ops::joined<kJoin>(to[i], in[i]);
  });
}

// --- picks

// Returns the index at a place, counted from the end if it is negative. Error: it is outside.
template <class I>
int64_t checked_index(const char* op, const I* ids, int64_t place, int64_t n) {
  const auto id = static_cast<int64_t>(ids[place]);
  require(id >= -n && id < n, "[", op, "] index ", id, " at position ", place, " is outside of [",
          -n, ", ", n, ")");
  return id < 0 ? id + n : id;
}

template <class I>
void check_all(const char* op, const View& ids, int64_t n) {
  const I* id = static_cast<const I*>(ids.data);
  for (int64_t i = 0; i < ids.elements(); ++i) checked_index(op, id, i, n);
}

template <class F>
void dispatch_index(DType t, F&& f) {
  t == DType::int64 ? f(int64_t{}) : f(int32_t{});
}

}  // namespace

void convert(const View& x, const View& y) {
  dispatch_all(x.dtype, [&]<class From>(From) {
    dispatch_all(y.dtype, [&]<class To>(To) {
      for_row_segments({&y, &x}, [&](int64_t r, int64_t c, int64_t n) {
        const From* in = row_ptr<From>(x, r) + c;
        To* out = row_ptr<To>(y, r) + c;
        for (int64_t i = 0; i < n; ++i) {
          const auto value = [&] {
            if constexpr (std::is_same_v<From, bfloat16>) {
              return static_cast<float>(in[i]);
            } else {
              return in[i];
            }
          }();
          if constexpr (std::is_same_v<To, bfloat16>) {
            out[i] = bfloat16(ops::converted<float>(value));
          } else {
            out[i] = ops::converted<To>(value);
          }
        }
      });
    });
  });
}

void copy_strided(const StridedView& x, const StridedView& y, bool add) {
  if (x.elements() == 0) return;
  if (add) {
    dispatch_float(x.dtype, "copy_strided", [&]<class T>(T) { copy_as<T>(x, y, true); });
  } else {
    dispatch_size(x.dtype, [&]<class T>(T) { copy_as<T>(x, y, false); });
  }
}

void broadcast_binary(ops::Binary f, const StridedView& a, const StridedView& b, const View& y) {
  if (y.elements() == 0) return;
  ops::dispatch_wrapping(y.dtype, "broadcast_binary", [&]<class T>(T) {
    T* out = static_cast<T*>(y.data);
    const auto run = [&](auto fn) {
      for_pairs<T>(a, b, y, [&](int64_t i, T u, T v) { out[i] = fn.value(u, v); });
    };
    if constexpr (std::is_integral_v<T>) {
      ops::visit_integer(f, run);
    } else {
      ops::visit(f, run);
    }
  });
}

void broadcast_binary_backward(ops::Binary f, bool second, const StridedView& a,
                               const StridedView& b, const View& y, const View& dy, const View& d) {
  if (y.elements() == 0) return;
  dispatch_float(y.dtype, "broadcast_binary_backward", [&]<class T>(T) {
    const T *value = static_cast<const T*>(y.data), *grad = static_cast<const T*>(dy.data);
    T* out = static_cast<T*>(d.data);
    ops::visit(f, [&](auto fn) {
      for_pairs<T>(a, b, y, [&](int64_t i, T u, T v) {
        out[i] = grad[i] * (second ? fn.slope_b(u, v, value[i]) : fn.slope_a(u, v, value[i]));
      });
    });
  });
}

void compare(ops::Comparison f, const StridedView& a, const StridedView& b, const View& y) {
  if (y.elements() == 0) return;
  bool* out = static_cast<bool*>(y.data);
  dispatch_all(a.dtype, [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, bfloat16>) {
      ops::visit(f, [&](auto fn) {
        for_pairs<T>(a, b, y, [&](int64_t i, T u, T v) { out[i] = fn.value(u, v); });
      });
    }
  });
}

void select(const StridedView& condition, const StridedView& a, const StridedView& b,
            const View& y) {
  if (y.elements() == 0) return;
  const StridedView result(y);
  const Walk<4> walk({&result, &condition, &a, &b});
  const auto last = static_cast<size_t>(walk.rank - 1);
  const int64_t sc = walk.strides[1][last], sa = walk.strides[2][last], sb = walk.strides[3][last];
  dispatch_size(y.dtype, [&]<class T>(T) {
    for_parts(walk, [&](const std::array<int64_t, 4>& offsets, int64_t n) {
      T* out = at<T>(result, offsets[0]);
      const bool* yes = at<bool>(condition, offsets[1]);
      const T *left = at<T>(a, offsets[2]), *right = at<T>(b, offsets[3]);
      for (int64_t i = 0; i < n; ++i) out[i] = yes[i * sc] ? left[i * sa] : right[i * sb];
    });
  });
}

void reduce(ops::Reduction f, const View& x, const View& y, double p) {
  if (x.dtype == DType::int64)
    return ops::visit_integer(f, [&]<ops::Join kJoin>(std::integral_constant<ops::Join, kJoin>) {
      reduce_integers<kJoin>(x, static_cast<int64_t*>(y.data));
    });
  dispatch_float(x.dtype, "reduce", [&]<class T>(T) {
    const Lines<T> lines(x);
    T* out = static_cast<T*>(y.data);
    ops::visit(f, [&]<class R>(R) {
      for_line_groups(x, [&](int64_t o, int64_t first, int64_t count) {
        double m[kColumns], t[kColumns];
        shifts<R>(lines, o, first, count, m);
        fold_group<R::kJoin>(lines, o, first, count, t,
                             [&](double v, int64_t i) { return R::term(v, m[i], p); });
        for (int64_t i = 0; i < count; ++i)
          out[o * lines.inner + first + i] =
              static_cast<T>(R::value(t[i], m[i], static_cast<double>(lines.n), p));
      });
    });
  });
}

void reduce_backward(ops::Reduction f, const View& x, const View& y, const View& dy,
                     const OutputView& dx, double p) {
  dispatch_float(x.dtype, "reduce_backward", [&]<class T>(T) {
    const Lines<T> lines(x);
    const T *value = static_cast<const T*>(y.data), *grad = static_cast<const T*>(dy.data);
    T* out = static_cast<T*>(dx.view.data);
    const auto n = static_cast<double>(lines.n);
    ops::visit(f, [&]<class R>(R) {
      for_line_groups(x, [&](int64_t o, int64_t first, int64_t count) {
        double m[kColumns], equals[kColumns], v[kColumns], g[kColumns];
        shifts<R>(lines, o, first, count, m);
        for (int64_t i = 0; i < count; ++i) {
          v[i] = static_cast<double>(value[o * lines.inner + first + i]);
          g[i] = static_cast<double>(grad[o * lines.inner + first + i]);
        }
        if constexpr (R::kCountsEquals)
          fold_group<ops::Join::plus>(lines, o, first, count, equals,
                                      [&](double u, int64_t i) { return u == v[i] ? 1.0 : 0.0; });
        const T* in = lines.line(o, first);
        T* to = out + (in - lines.data);
        const auto slope = [&](T number, int64_t i) {
          return static_cast<T>(
              g[i] * R::derivative(static_cast<double>(number), v[i], m[i], n, equals[i], p));
        };
        with_add(dx.add, [&](auto put) {
          if (lines.inner == 1) {  // a line is a row: the inner loop of the other form has one turn
            parallel_ranges(lines.n, kPart, [&](int64_t begin, int64_t end) {
              for (int64_t j = begin; j < end; ++j) put(to[j], slope(in[j], 0));
            });
            return;
          }
          for (int64_t j = 0; j < lines.n; ++j, in += lines.inner, to += lines.inner)
            for (int64_t i = 0; i < count; ++i) put(to[i], slope(in[i], i));
        });
      });
    });
  });
}

void arg_reduce(bool largest, const View& x, const View& ids) {
  ops::dispatch_ordered(x.dtype, "arg_reduce", [&]<class T>(T) {
    const Lines<T> lines(x);
    int64_t* out = static_cast<int64_t*>(ids.data);
    for_line_groups(x, [&](int64_t o, int64_t first, int64_t count) {
      T best[kColumns];
      int64_t* place = out + o * lines.inner + first;
      const T* in = lines.line(o, first);
      std::copy_n(in, count, best);
      std::fill_n(place, count, 0);
      for (int64_t j = 1; j < lines.n; ++j) {
        in += lines.inner;
        for (int64_t i = 0; i < count; ++i) {
          const T v = in[i];
          const bool better =
              (largest ? v > best[i] : v < best[i]) || (v != v && best[i] == best[i]);
          best[i] = better ? v : best[i];
          place[i] = better ? j : place[i];
        }
      }
    });
  });
}

void take(const View& x, const View& ids, bool along, const View& y, const char* op) {
  const int64_t n = x.shape[1], m = y.shape[1], inner = x.shape[2];
  dispatch_index(ids.dtype, [&]<class I>(I) {
    check_all<I>(op, ids, n);
    const I* id = static_cast<const I*>(ids.data);
    const auto place = [&](int64_t i) {
      const auto at = static_cast<int64_t>(id[i]);
      return at < 0 ? at + n : at;
    };
    dispatch_size(x.dtype, [&]<class T>(T) {
      const T* from = static_cast<const T*>(x.data);
      T* to = static_cast<T*>(y.data);
      for_some_rows(x.shape[0] * m, inner, [&](int64_t row) {
        const int64_t o = row / std::max<int64_t>(m, 1), j = row % std::max<int64_t>(m, 1);
        T* out = to + row * inner;
        if (along) {
          for (int64_t i = 0; i < inner; ++i)
            out[i] = from[(o * n + place(row * inner + i)) * inner + i];
        } else {
          std::copy_n(from + (o * n + place(j)) * inner, inner, out);
        }
      });
    });
  });
}

void take_backward(const View& dy, const View& ids, bool along, const View& dx, const char* op) {
  const int64_t n = dx.shape[1], m = dy.shape[1], inner = dx.shape[2];
  dispatch_index(ids.dtype, [&]<class I>(I) {
    check_all<I>(op, ids, n);
    const I* id = static_cast<const I*>(ids.data);
    ops::dispatch_wrapping(dx.dtype, "take_backward", [&]<class T>(T) {
      const T* from = static_cast<const T*>(dy.data);
      T* to = static_cast<T*>(dx.data);
      for_line_groups(dy, [&](int64_t o, int64_t first, int64_t count) {
        for (int64_t j = 0; j < m; ++j) {
          const T* in = from + (o * m + j) * inner;
          for (int64_t i = first; i < first + count; ++i) {
            const auto at = static_cast<int64_t>(id[along ? (o * m + j) * inner + i : j]);
            to[(o * n + (at < 0 ? at + n : at)) * inner + i] += in[i];
          }
        }
      });
    });
  });
}

void cumsum(const View& x, bool reverse, const OutputView& y) {
  ops::dispatch_ordered(x.dtype, "cumsum", [&]<class T>(T) {
    const Lines<T> lines(x);
    T* out = static_cast<T*>(y.view.data);
    for_line_groups(x, [&](int64_t o, int64_t first, int64_t count) {
      ops::SumOf<T> sums[kColumns] = {};
      with_add(y.add, [&](auto put) {
        for (int64_t k = 0; k < lines.n; ++k) {
          const int64_t j = reverse ? lines.n - 1 - k : k;
          const T* in = lines.line(o, first) + j * lines.inner;
          T* to = out + (in - lines.data);
          for (int64_t i = 0; i < count; ++i) {
            sums[i] += static_cast<ops::SumOf<T>>(in[i]);
            put(to[i], static_cast<T>(sums[i]));
          }
        }
      });
    });
  });
}

void sort(const View& x, bool descending, const View& ids) {
  const int64_t n = x.cols(), k = ids.cols();
  if (k == 0) return;
  ops::dispatch_ordered(x.dtype, "sort", [&]<class T>(T) {
    for_some_rows(x.rows(), n, [&](int64_t r) {
      const T* in = row_ptr<T>(x, r);
      std::vector<int64_t> order(static_cast<size_t>(n));
      std::iota(order.begin(), order.end(), int64_t{0});
      // NaN is the largest; of equal numbers the first comes first, in both directions.
      const auto before = [&](int64_t i, int64_t j) {
        const T a = descending ? in[j] : in[i], b = descending ? in[i] : in[j];
        const bool a_nan = a != a, b_nan = b != b;
        if (a_nan != b_nan) return b_nan;
        if (!a_nan && a != b) return a < b;
        return i < j;
      };
      if (k < n) {
        std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
      } else {
        std::sort(order.begin(), order.end(), before);
      }
      std::copy_n(order.begin(), k, row_ptr<int64_t>(ids, r));
    });
  });
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
