// The ops of core/array_ops.h on a GPU (part of cuda/ops.cuh).
#include "core/elementwise.h"
#include "core/reductions.h"
#include "cuda/bf16.cuh"
#include "cuda/launch.cuh"
#include "cuda/ops.cuh"

namespace nine::cuda {
namespace {

// --- strided views: a thread for each element

// The loop over N views in the form that kernels take; offsets() says where element number e of the
// loop lies in each view.
template <int N>
struct DeviceWalk {
  int rank;
  int64_t sizes[Shape::kMaxRank] = {}, strides[N][Shape::kMaxRank] = {};

  explicit DeviceWalk(const Walk<N>& walk) : rank(walk.rank) {
    for (int i = 0; i < rank; ++i) {
      sizes[i] = walk.sizes[static_cast<size_t>(i)];
      for (int v = 0; v < N; ++v)
        strides[v][i] = walk.strides[static_cast<size_t>(v)][static_cast<size_t>(i)];
    }
  }
  NINE_D void offsets(int64_t element, int64_t* to) const {
    for (int v = 0; v < N; ++v) to[v] = 0;
    for (int i = rank - 1; i >= 0; --i) {
      const int64_t at = element % sizes[i];
      element /= sizes[i];
      for (int v = 0; v < N; ++v) to[v] += at * strides[v][i];
    }
  }
};

template <class T>
T* as(const StridedView& v) {
  return static_cast<T*>(v.data);
}
CudaDevice& device_of(const StridedView& v) { return CudaDevice::of(v.device.index); }

template <class T>
struct CopyStrided {
  DeviceWalk<2> walk;
  const T* x;
  T* y;
  NINE_D void operator()(int64_t, int64_t e) const {
    int64_t at[2];
    walk.offsets(e, at);
    y[at[1]] = x[at[0]];
  }
};
template <class T>
struct AddStrided {
  DeviceWalk<2> walk;
  const T* x;
  T* y;
  NINE_D void operator()(int64_t, int64_t e) const {
    int64_t at[2];
    walk.offsets(e, at);
    y[at[1]] += x[at[0]];
  }
};
template <class T, class F>
struct BroadcastBinary {
  DeviceWalk<2> walk;
  const T *a, *b;
  T* y;
  NINE_D void operator()(int64_t, int64_t e) const {
    int64_t at[2];
    walk.offsets(e, at);
    y[e] = F::value(a[at[0]], b[at[1]]);
  }
};
template <class T, class F>
struct BroadcastBinaryBackward {
  DeviceWalk<2> walk;
  const T *a, *b, *y, *dy;
  T* d;
  bool second;
  NINE_D void operator()(int64_t, int64_t e) const {
    int64_t at[2];
    walk.offsets(e, at);
    const T u = a[at[0]], v = b[at[1]];
    d[e] = dy[e] * (second ? F::slope_b(u, v, y[e]) : F::slope_a(u, v, y[e]));
  }
};
template <class T, class F>
struct Compare {
  DeviceWalk<2> walk;
  const T *a, *b;
  bool* y;
  NINE_D void operator()(int64_t, int64_t e) const {
    int64_t at[2];
    walk.offsets(e, at);
    y[e] = F::value(a[at[0]], b[at[1]]);
  }
};
template <class T>
struct Select {
  DeviceWalk<3> walk;
  const bool* condition;
  const T *a, *b;
  T* y;
  NINE_D void operator()(int64_t, int64_t e) const {
    int64_t at[3];
    walk.offsets(e, at);
    y[e] = condition[at[0]] ? a[at[1]] : b[at[2]];
  }
};

// uint16_t stands for bfloat16.
template <class From, class To>
struct ConvertAny {
  Matrix<From> x;
  Matrix<To> y;
  NINE_D void operator()(int64_t r, int64_t c) const {
    if constexpr (std::is_same_v<From, uint16_t>) {
      store(y.at(r, c), bf16_value(x.at(r, c)));
    } else {
      store(y.at(r, c), x.at(r, c));
    }
  }
  template <class Value>
  NINE_D static void store(To& to, Value value) {
    if constexpr (std::is_same_v<To, uint16_t>) {
      to = bf16_bits(ops::converted<float>(value));
    } else {
      to = ops::converted<To>(value);
    }
  }
};

// --- reductions: x (outer, n, inner)

// The lines of x; line (o, i) has n numbers that are `inner` apart.
template <class T>
struct Lines {
  const T* data;
  int64_t outer, n, inner;
  explicit Lines(const View& x)
      : data(static_cast<const T*>(x.data)), outer(x.shape[0]), n(x.shape[1]), inner(x.shape[2]) {}
};

// A block has threads (side, kBlock / side): `side` lines, whose numbers kBlock / side threads
// share. All threads of a line have the result.
template <ops::Join kJoin, class V, class F>
NINE_D V fold(int64_t n, V* shared, F f) {
  V total = ops::neutral<kJoin, V>();
  for (int64_t j = threadIdx.y; j < n; j += blockDim.y) total = ops::joined<kJoin>(total, f(j));
  const unsigned width = blockDim.x, at = threadIdx.y * width + threadIdx.x;
  __syncthreads();  // other threads may still be reading the values of an earlier call
  shared[at] = total;
  for (unsigned half = blockDim.y / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.y < half) shared[at] = ops::joined<kJoin>(shared[at], shared[at + half * width]);
  }
  __syncthreads();
  return shared[threadIdx.x];
}

// Where a thread's line begins, and its number; a thread beyond the last line has no numbers.
struct Place {
  int64_t begin, line, n;
};
template <class T>
NINE_D Place place_of(const Lines<T>& x) {
  const int64_t line = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (line >= x.outer * x.inner) return {0, 0, -1};
  return {line / x.inner * x.n * x.inner + line % x.inner, line, x.n};
}

template <class R, class T>
NINE_D double shift_of(const Lines<T>& x, const Place& place, double* shared) {
  if constexpr (R::kShift == ops::Shift::zero) {
    return 0;
  } else {
    const double t = fold<ops::kShiftJoin<R::kShift>>(place.n, shared, [&](int64_t j) {
      return static_cast<double>(x.data[place.begin + j * x.inner]);
    });
    return ops::shift_of<R::kShift>(t, static_cast<double>(x.n));
  }
}

template <class R, class T>
__global__ void reduce_kernel(Lines<T> x, T* y, double p) {
  double* shared = shared_memory<double>();
  const Place place = place_of(x);
  const double m = shift_of<R>(x, place, shared);
  const double t = fold<R::kJoin>(place.n, shared, [&](int64_t j) {
    return R::term(static_cast<double>(x.data[place.begin + j * x.inner]), m, p);
  });
  if (place.n >= 0 && threadIdx.y == 0)
    y[place.line] = static_cast<T>(R::value(t, m, static_cast<double>(x.n), p));
}

template <ops::Join kJoin>
__global__ void reduce_integers_kernel(Lines<int64_t> x, int64_t* y) {
  const Place place = place_of(x);
  const int64_t t = fold<kJoin>(place.n, shared_memory<int64_t>(),
                                [&](int64_t j) { return x.data[place.begin + j * x.inner]; });
  if (place.n >= 0 && threadIdx.y == 0) y[place.line] = t;
}

template <class R, class T>
__global__ void reduce_backward_kernel(Lines<T> x, const T* y, const T* dy, T* dx, bool add,
                                       double p) {
  double* shared = shared_memory<double>();
  const Place place = place_of(x);
  const double m = shift_of<R>(x, place, shared);
  const double value = place.n >= 0 ? static_cast<double>(y[place.line]) : 0,
               grad = place.n >= 0 ? static_cast<double>(dy[place.line]) : 0;
  double equals = 0;
  if constexpr (R::kCountsEquals)
    equals = fold<ops::Join::plus>(place.n, shared, [&](int64_t j) {
      return static_cast<double>(x.data[place.begin + j * x.inner]) == value ? 1.0 : 0.0;
    });
  for (int64_t j = threadIdx.y; j < place.n; j += blockDim.y) {
    const int64_t at = place.begin + j * x.inner;
    put(add, dx[at],
        static_cast<T>(grad * R::derivative(static_cast<double>(x.data[at]), value, m,
                                            static_cast<double>(x.n), equals, p)));
  }
}

// Calls f(grid, block, bytes of shared memory) for kernels over the lines of x. Threads side by
// side read numbers side by side where a warp finds as many lines there. Otherwise a line has at
// least as many threads as numbers, up to kBlock.
template <class F>
void over_lines(const View& x, F&& f) {
  const int64_t count = x.shape[0] * x.shape[2];
  unsigned side = kWarp;
  if (x.shape[2] < kWarp)
    for (side = kBlock; side > 1 && kBlock / side < x.shape[1];) side /= 2;
  f(dim3(blocks_of(count, side)), dim3(side, kBlock / side), kBlock * sizeof(double));
}

// A thread for each line.
template <class T>
struct ArgReduce {
  Lines<T> x;
  int64_t* ids;
  bool largest;
  NINE_D void operator()(int64_t, int64_t line) const {
    const T* in = x.data + line / x.inner * x.n * x.inner + line % x.inner;
    T best = in[0];
    int64_t place = 0;
    for (int64_t j = 1; j < x.n; ++j) {
      const T v = in[j * x.inner];
      const bool better = (largest ? v > best : v < best) || (v != v && best == best);
      best = better ? v : best;
      place = better ? j : place;
    }
    ids[line] = place;
  }
};

// --- picks

// The index at a place, counted from the end if it is negative. A wrong index is reported to the
// host, and counts as 0; a report has 32 bits for it.
template <class I>
NINE_D int64_t checked_index(const I* ids, int64_t place, int64_t n, const IndexErrors& errors) {
  const auto id = static_cast<int64_t>(ids[place]);
  if (id >= -n && id < n) return id < 0 ? id + n : id;
  report(errors, place, ops::converted<int32_t>(id), -n, n);
  return 0;
}

template <class T, class I>
struct Take {
  const T* x;
  const I* ids;
  T* y;
  int64_t n, m, inner;
  bool along;
  IndexErrors errors;
  NINE_D void operator()(int64_t row, int64_t i) const {
    const int64_t o = row / m, j = row % m;
    const int64_t from = checked_index(ids, along ? row * inner + i : j, n, errors);
    y[row * inner + i] = x[(o * n + from) * inner + i];
  }
};
// A thread for each line (o, i), so that sums have one order.
template <class T, class I>
struct TakeBackward {
  const T* dy;
  const I* ids;
  T* dx;
  int64_t n, m, inner;
  bool along;
  IndexErrors errors;
  NINE_D void operator()(int64_t o, int64_t i) const {
    for (int64_t j = 0; j < m; ++j) {
      const int64_t from = (o * m + j) * inner + i,
                    to = checked_index(ids, along ? from : j, n, errors);
      dx[(o * n + to) * inner + i] += dy[from];
    }
  }
};

// --- cumulative sums and order

// A block for each line: kBlock numbers at a time, each thread with one of them.
template <class T>
__global__ void cumsum_kernel(Lines<T> x, T* y, bool reverse, bool add) {
  using Sum = ops::SumOf<T>;
  Sum* sums = shared_memory<Sum>();
  const int64_t line = blockIdx.x, begin = line / x.inner * x.n * x.inner + line % x.inner;
  Sum before = 0;
  for (int64_t first = 0; first < x.n; first += kBlock) {
    const int64_t k = first + threadIdx.x, j = reverse ? x.n - 1 - k : k, at = begin + j * x.inner;
    const unsigned t = threadIdx.x;
    sums[t] = k < x.n ? static_cast<Sum>(x.data[at]) : Sum(0);
    for (unsigned apart = 1; apart < kBlock; apart *= 2) {
      __syncthreads();
      const Sum left = t >= apart ? sums[t - apart] : Sum(0);
      __syncthreads();
      sums[t] += left;
    }
    __syncthreads();
    if (k < x.n) put(add, y[at], static_cast<T>(before + sums[t]));
    before += sums[kBlock - 1];
    __syncthreads();
  }
}

// A thread for each number, which counts the numbers of its row that come before it.
template <class T>
struct Rank {
  Matrix<T> x;
  Matrix<int64_t> ids;
  bool descending;
  NINE_D void operator()(int64_t r, int64_t c) const {
    const T* row = x.row(r);
    const T mine = row[c];
    int64_t place = 0;
    for (int64_t j = 0; j < x.cols; ++j) {
      const T other = row[j], a = descending ? mine : other, b = descending ? other : mine;
      const bool a_nan = a != a, b_nan = b != b;
      const bool below = a_nan != b_nan ? b_nan : (!a_nan && a < b),
                 same = a_nan == b_nan && (a_nan || a == b);
      place += below || (same && j < c) ? 1 : 0;
    }
    if (place < ids.cols) ids.at(r, place) = c;
  }
};

template <class F>
void dispatch_index(DType t, F&& f) {
  t == DType::int64 ? f(int64_t{}) : f(int32_t{});
}

template <class From>
void convert_to_all(const View& x, const View& y) {
  dispatch_all(y.dtype, [&]<class Y>(Y) {
    using To = std::conditional_t<std::is_same_v<Y, bfloat16>, uint16_t, Y>;
    each(CudaDevice::of(x), "convert", plane_of({&x, &y}),
         ConvertAny<From, To>{Matrix<From>(x), Matrix<To>(y)});
  });
}

}  // namespace

void convert(const View& x, const View& y) {
  dispatch_all(x.dtype, [&]<class X>(X) {
    convert_to_all<std::conditional_t<std::is_same_v<X, bfloat16>, uint16_t, X>>(x, y);
  });
}

void copy_strided(const StridedView& x, const StridedView& y, bool add) {
  if (x.elements() == 0) return;
  const DeviceWalk<2> walk{Walk<2>({&x, &y})};
  if (add) {
    dispatch_float(x.dtype, "copy_strided", [&]<class T>(T) {
      each(device_of(x), "copy_strided", {1, x.elements()},
           AddStrided<T>{walk, as<T>(x), as<T>(y)});
    });
  } else {
    dispatch_size(x.dtype, [&]<class T>(T) {
      each(device_of(x), "copy_strided", {1, x.elements()},
           CopyStrided<T>{walk, as<T>(x), as<T>(y)});
    });
  }
}

void broadcast_binary(ops::Binary f, const StridedView& a, const StridedView& b, const View& y) {
  if (y.elements() == 0) return;
  const DeviceWalk<2> walk{Walk<2>({&a, &b})};
  ops::dispatch_wrapping(y.dtype, "broadcast_binary", [&]<class T>(T) {
    const auto run = [&]<class F>(F) {
      each(CudaDevice::of(y), "broadcast_binary", {1, y.elements()},
           BroadcastBinary<T, F>{walk, as<T>(a), as<T>(b), static_cast<T*>(y.data)});
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
  const DeviceWalk<2> walk{Walk<2>({&a, &b})};
  dispatch_float(y.dtype, "broadcast_binary_backward", [&]<class T>(T) {
    ops::visit(f, [&]<class F>(F) {
      each(
          CudaDevice::of(y), "broadcast_binary_backward", {1, y.elements()},
          BroadcastBinaryBackward<T, F>{walk, as<T>(a), as<T>(b), static_cast<T*>(y.data),
                                        static_cast<T*>(dy.data), static_cast<T*>(d.data), second});
    });
  });
}

void compare(ops::Comparison f, const StridedView& a, const StridedView& b, const View& y) {
  if (y.elements() == 0) return;
  const DeviceWalk<2> walk{Walk<2>({&a, &b})};
  dispatch_all(a.dtype, [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, bfloat16>) {
      ops::visit(f, [&]<class F>(F) {
        each(CudaDevice::of(y), "compare", {1, y.elements()},
             Compare<T, F>{walk, as<T>(a), as<T>(b), static_cast<bool*>(y.data)});
      });
    }
  });
}

void select(const StridedView& condition, const StridedView& a, const StridedView& b,
            const View& y) {
  if (y.elements() == 0) return;
  const DeviceWalk<3> walk{Walk<3>({&condition, &a, &b})};
  dispatch_size(y.dtype, [&]<class T>(T) {
    each(CudaDevice::of(y), "select", {1, y.elements()},
         Select<T>{walk, as<bool>(condition), as<T>(a), as<T>(b), static_cast<T*>(y.data)});
  });
}

void reduce(ops::Reduction f, const View& x, const View& y, double p) {
  if (x.dtype == DType::int64)
    return ops::visit_integer(f, [&]<ops::Join kJoin>(std::integral_constant<ops::Join, kJoin>) {
      over_lines(x, [&](dim3 grid, dim3 block, size_t shared) {
        launch(CudaDevice::of(x), "reduce", reduce_integers_kernel<kJoin>, grid, block, shared,
               Lines<int64_t>(x), static_cast<int64_t*>(y.data));
      });
    });
  dispatch_float(x.dtype, "reduce", [&]<class T>(T) {
    ops::visit(f, [&]<class R>(R) {
      over_lines(x, [&](dim3 grid, dim3 block, size_t shared) {
        launch(CudaDevice::of(x), "reduce", reduce_kernel<R, T>, grid, block, shared, Lines<T>(x),
               static_cast<T*>(y.data), p);
      });
    });
  });
}

void reduce_backward(ops::Reduction f, const View& x, const View& y, const View& dy,
                     const OutputView& dx, double p) {
  dispatch_float(x.dtype, "reduce_backward", [&]<class T>(T) {
    ops::visit(f, [&]<class R>(R) {
      over_lines(x, [&](dim3 grid, dim3 block, size_t shared) {
        launch(CudaDevice::of(x), "reduce_backward", reduce_backward_kernel<R, T>, grid, block,
               shared, Lines<T>(x), static_cast<const T*>(y.data), static_cast<const T*>(dy.data),
               static_cast<T*>(dx.view.data), dx.add, p);
      });
    });
  });
}

void arg_reduce(bool largest, const View& x, const View& ids) {
  ops::dispatch_ordered(x.dtype, "arg_reduce", [&]<class T>(T) {
    each(CudaDevice::of(x), "arg_reduce", {1, ids.elements()},
         ArgReduce<T>{Lines<T>(x), static_cast<int64_t*>(ids.data), largest});
  });
}

void take(const View& x, const View& ids, bool along, const View& y, const char* op) {
  CudaDevice& device = CudaDevice::of(x);
  dispatch_index(ids.dtype, [&]<class I>(I) {
    dispatch_size(x.dtype, [&]<class T>(T) {
      each(device, "take", {y.shape[0] * y.shape[1], y.shape[2]},
           Take<T, I>{static_cast<const T*>(x.data), static_cast<const I*>(ids.data),
                      static_cast<T*>(y.data), x.shape[1], y.shape[1], y.shape[2], along,
                      device.index_errors(op)});
    });
  });
}

void take_backward(const View& dy, const View& ids, bool along, const View& dx, const char* op) {
  CudaDevice& device = CudaDevice::of(dx);
  dispatch_index(ids.dtype, [&]<class I>(I) {
    ops::dispatch_wrapping(dx.dtype, "take_backward", [&]<class T>(T) {
      each(device, "take_backward", {dx.shape[0], dx.shape[2]},
           TakeBackward<T, I>{static_cast<const T*>(dy.data), static_cast<const I*>(ids.data),
                              static_cast<T*>(dx.data), dx.shape[1], dy.shape[1], dx.shape[2],
                              along, device.index_errors(op)});
    });
  });
}

void cumsum(const View& x, bool reverse, const OutputView& y) {
  ops::dispatch_ordered(x.dtype, "cumsum", [&]<class T>(T) {
    launch(CudaDevice::of(x), "cumsum", cumsum_kernel<T>, dim3(grid_size(x.shape[0] * x.shape[2])),
           dim3(kBlock), kBlock * sizeof(double), Lines<T>(x), static_cast<T*>(y.view.data),
           reverse, y.add);
  });
}

void sort(const View& x, bool descending, const View& ids) {
  ops::dispatch_ordered(x.dtype, "sort", [&]<class T>(T) {
    each(CudaDevice::of(x), "sort", {x.rows(), x.cols()},
         Rank<T>{Matrix<T>(x), Matrix<int64_t>(ids), descending});
  });
}

}  // namespace nine::cuda
