// Windows of images and pooling on the CPU (part of core/cpu/cpu.h).
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/cpu/cpu.h"
#include "core/elementwise_loops.h"
#include "core/scratch.h"

namespace nine::cpu {
inline namespace NINE_ISA {
namespace {

using ops::Size2d;
using ops::Windows;

// One axis of the windows: element k of window o is at o * stride + first(k).
struct Axis {
  int64_t size, windows, kernel, stride, padding, dilation;

  int64_t first(int64_t k) const { return k * dilation - padding; }
  // Returns the range of windows whose element k is inside of the plane.
  struct Range {
    int64_t begin, end;
  };
  Range inside(int64_t k) const {
    const int64_t at = first(k), begin = at >= 0 ? 0 : (-at + stride - 1) / stride,
                  end = size - at <= 0 ? 0 : (size - at + stride - 1) / stride;
    const int64_t last = std::clamp<int64_t>(end, 0, windows);
    return {std::min(begin, last), last};
  }
  // Returns the elements of the plane that are in window o, without padding and dilation.
  Range elements(int64_t o) const {
    const int64_t at = o * stride - padding;
    return {std::max<int64_t>(0, at), std::min(size, at + kernel)};
  }
};

struct Axes {
  Axis y, x;
};
Axes axes(const View& image, const Windows& w) {
  const Size2d plane{image.shape[2], image.shape[3]}, n = w.count(plane);
  return {
      {plane.height, n.height, w.kernel.height, w.stride.height, w.padding.height,
       w.dilation.height},
      {plane.width, n.width, w.kernel.width, w.stride.width, w.padding.width, w.dilation.width}};
}

// Planes of a task, of about kGrain elements.
int64_t planes_of_task(int64_t elements) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, elements));
}

// A plane of an image with its padding around it: no window reaches beyond it.
class PaddedPlane {
 public:
  explicit PaddedPlane(const Axes& both)
      : y_(both.y), x_(both.x), width_(x_.size + 2 * x_.padding) {}

  int64_t elements() const { return y_.size * x_.size; }
  int64_t size() const { return (y_.size + 2 * y_.padding) * width_; }
  // Returns how many numbers the windows of a plane have in all.
  int64_t numbers() const { return y_.windows * x_.windows * y_.kernel * x_.kernel; }
  // Returns this thread's memory for a plane, with zeros.
  template <class T>
  T* memory() const {
    T* plane = scratch<T>(Scratch::tile, size());
    std::fill_n(plane, size(), T(0));
    return plane;
  }
  // Returns `plane` if it needs no padding; else copies it inside of the padding of `own`.
  template <class T>
  const T* padded(const T* plane, T* own) const {
    if (y_.padding == 0 && x_.padding == 0) return plane;
    for (int64_t r = 0; r < y_.size; ++r) std::copy_n(plane + r * x_.size, x_.size, row(own, r));
    return own;
  }
  // Stores in `plane`, or adds to it, what is inside of the padding of `own`.
  template <class T>
  void add_inside(T* own, T* plane, bool add) const {
    with_add(add, [&](auto put) {
      for (int64_t r = 0; r < y_.size; ++r)
        for (int64_t c = 0; c < x_.size; ++c) put(plane[r * x_.size + c], row(own, r)[c]);
    });
  }
  // Calls f(place of the element in the first window, row, column) for each element of the kernel,
  // where the matrix of windows has the elements of `image` and `channel` from that row and column
  // on.
  template <class F>
  void for_rows(int64_t image, int64_t channel, F&& f) const {
    for (int64_t ky = 0; ky < y_.kernel; ++ky)
      for (int64_t kx = 0; kx < x_.kernel; ++kx)
        f(ky * y_.dilation * width_ + kx * x_.dilation, (channel * y_.kernel + ky) * x_.kernel + kx,
          image * y_.windows * x_.windows);
  }
  // Calls f(window, its place relative to the first window's) for all windows. Most calls are in
  // loops of constant length, which need no test of the length.
  template <class F>
  void for_windows(F&& f) const {
    constexpr int64_t kBlock = 8;
    for (int64_t oy = 0; oy < y_.windows; ++oy) {
      const int64_t first = oy * x_.windows, place = oy * y_.stride * width_;
      int64_t ox = 0;
      for (; x_.stride == 1 && ox + kBlock <= x_.windows; ox += kBlock)
        for (int64_t i = ox; i < ox + kBlock; ++i) f(first + i, place + i);
      for (; ox < x_.windows; ++ox) f(first + ox, place + ox * x_.stride);
    }
  }

 private:
  template <class T>
  T* row(T* own, int64_t r) const {
    return own + (r + y_.padding) * width_ + x_.padding;
  }

  Axis y_, x_;
  int64_t width_;
};

}  // namespace

void im2col(const View& x, const Windows& windows, const View& cols) {
  dispatch_float(x.dtype, "im2col", [&]<class T>(T) {
    const PaddedPlane plane(axes(x, windows));
    const int64_t images = x.shape[0], channels = x.shape[1];
    parallel_ranges(
        images * channels, planes_of_task(plane.numbers()), [&](int64_t begin, int64_t end) {
          T* const own = plane.memory<T>();
          for (int64_t i = begin; i < end; ++i) {
            const T* from = plane.padded(static_cast<const T*>(x.data) + i * plane.elements(), own);
            plane.for_rows(
                i / channels, i % channels, [&](int64_t at, int64_t row, int64_t column) {
                  const T* in = from + at;
                  T* out = row_ptr<T>(cols, row) + column;
                  plane.for_windows([&](int64_t o, int64_t place) { out[o] = in[place]; });
                });
          }
        });
  });
}

void col2im(const View& cols, const Windows& windows, const OutputView& x) {
  dispatch_float(cols.dtype, "col2im", [&]<class T>(T) {
    const PaddedPlane plane(axes(x.view, windows));
    const int64_t images = x.view.shape[0], channels = x.view.shape[1];
    // A task has all sums of its planes, in the order of the kernel's elements.
    parallel_ranges(
        images * channels, planes_of_task(plane.numbers()), [&](int64_t begin, int64_t end) {
          T* const sums = plane.memory<T>();
          for (int64_t i = begin; i < end; ++i) {
            std::fill_n(sums, plane.size(), T(0));
            plane.for_rows(
                i / channels, i % channels, [&](int64_t at, int64_t row, int64_t column) {
                  const T* in = row_ptr<T>(cols, row) + column;
                  T* out = sums + at;
                  plane.for_windows([&](int64_t o, int64_t place) { out[place] += in[o]; });
                });
            plane.add_inside(sums, static_cast<T*>(x.view.data) + i * plane.elements(), x.add);
          }
        });
  });
}

void transpose_blocks(const View& x, int64_t first, const View& bias, const View& y) {
  dispatch_float(x.dtype, "transpose_blocks", [&]<class T>(T) {
    const int64_t second = x.rows() / first, d = x.cols();
    for_rows(y, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t i = r % first, j = r / first;
        const T* in = row_ptr<T>(x, i * second + j);
        T* out = row_ptr<T>(y, r);
        const T shift = bias ? static_cast<T*>(bias.data)[i] : T(0);
        for (int64_t c = 0; c < d; ++c) out[c] = in[c] + shift;
      }
    });
  });
}

namespace {
// Numbers that are compared together, each in a lane of a vector. They are written out, because GCC
// 12 makes no vectors of a loop that chooses numbers and their places.
template <class T, int64_t kLanes>
struct Lanes {
  static constexpr int64_t kCount = kLanes;
  using Place = std::conditional_t<sizeof(T) == sizeof(int32_t), int32_t, int64_t>;
  using Values __attribute__((vector_size(kCount * sizeof(T)))) = T;
  using Places __attribute__((vector_size(kCount * sizeof(T)))) = Place;
};
template <class T>
struct Lanes<T, 1> {
  static constexpr int64_t kCount = 1;
  using Place = int64_t;
  using Values = T;
  using Places = int64_t;
};

template <class X>
void set_lane(X& lanes, int64_t i, auto x) {
  if constexpr (std::is_arithmetic_v<X>) {
    lanes = static_cast<X>(x);
  } else {
    lanes[i] = x;
  }
}
template <class X>
auto lane(const X& lanes, int64_t i) {
  if constexpr (std::is_arithmetic_v<X>) {
    return lanes;
  } else {
    return lanes[i];
  }
}

// Computes the maxima of L::kCount windows side by side, and their places. Several windows must lie
// inside of the rows. Chooses without branches, because no processor could predict them.
template <class L, class T, class Stride>
void maxima(const T* in, const Axes& both, Stride stride, int64_t oy, int64_t ox, T* out,
            int32_t* places) {
  const Axis &ay = both.y, &ax = both.x;
  typename L::Values top;
  typename L::Places place;
  for (int64_t o = 0; o < L::kCount; ++o) {
    set_lane(top, o, -std::numeric_limits<T>::infinity());
    set_lane(place, o, typename L::Place{-1});
  }
  bool first = true;
  for (int64_t ky = 0; ky < ay.kernel; ++ky) {
    const int64_t row = oy * ay.stride + ay.first(ky);
    if (row < 0 || row >= ay.size) continue;
    for (int64_t kx = 0; kx < ax.kernel; ++kx) {
      const int64_t column = ox * stride + ax.first(kx), at = row * ax.size + column;
      if (L::kCount == 1 && (column < 0 || column >= ax.size)) continue;
      typename L::Values value;
      typename L::Places here;
      for (int64_t o = 0; o < L::kCount; ++o) {
        set_lane(value, o, in[at + o * stride]);
        set_lane(here, o, static_cast<typename L::Place>(at + o * stride));
      }
      // The first of equal values stays, and a NaN exceeds all numbers.
      const auto stays = (value <= top) | (top != top);
      if (first) {
        top = value;
        place = here;
      } else {
        top = stays ? top : value;
        place = stays ? place : here;
      }
      first = false;
    }
  }
  for (int64_t o = 0; o < L::kCount; ++o) {
    out[o] = lane(top, o);
    places[o] = static_cast<int32_t>(lane(place, o));
  }
}

template <class T, class Stride>
void max_pool_plane(const T* in, const Axes& both, Stride stride, T* out, int32_t* places) {
  const Axis& ax = both.x;
  for (int64_t oy = 0; oy < both.y.windows; ++oy)
    for (int64_t ox = 0; ox < ax.windows;) {
      const int64_t o = oy * ax.windows + ox;
      const auto inside = [&](int64_t count) {
        return ox + count <= ax.windows && ox * stride >= ax.padding &&
               (ox + count - 1) * stride + ax.first(ax.kernel - 1) < ax.size;
      };
      if (inside(8)) {
        maxima<Lanes<T, 8>>(in, both, stride, oy, ox, out + o, places + o);
        ox += 8;
      } else if (inside(4)) {
        maxima<Lanes<T, 4>>(in, both, stride, oy, ox, out + o, places + o);
        ox += 4;
      } else {
        maxima<Lanes<T, 1>>(in, both, stride, oy, ox, out + o, places + o);
        ++ox;
      }
    }
}
}  // namespace

void max_pool(const View& x, const Windows& windows, const View& y, const View& places) {
  dispatch_float(x.dtype, "max_pool", [&]<class T>(T) {
    const Axes both = axes(x, windows);
    const int64_t p = both.y.windows * both.x.windows, plane = both.y.size * both.x.size;
    const auto pool = [&](auto stride) {
      parallel_ranges(x.shape[0] * x.shape[1], planes_of_task(p * both.y.kernel * both.x.kernel),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t i = begin; i < end; ++i)
                          max_pool_plane(static_cast<const T*>(x.data) + i * plane, both, stride,
                                         static_cast<T*>(y.data) + i * p,
                                         static_cast<int32_t*>(places.data) + i * p);
                      });
    };
    // The usual stride is known to the compiler.
    both.x.stride == 2 ? pool(std::integral_constant<int64_t, 2>()) : pool(both.x.stride);
  });
}

void max_pool_backward(const View& dy, const View& places, const Windows& windows,
                       const OutputView& dx) {
  dispatch_float(dy.dtype, "max_pool_backward", [&]<class T>(T) {
    const Axes both = axes(dx.view, windows);
    const Axis &ay = both.y, &ax = both.x;
    const int64_t p = ay.windows * ax.windows, plane = ay.size * ax.size;
    parallel_ranges(dy.shape[0] * dy.shape[1], planes_of_task(plane),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i) {
                        const T* in = static_cast<T*>(dy.data) + i * p;
                        const int32_t* place = static_cast<int32_t*>(places.data) + i * p;
                        T* out = static_cast<T*>(dx.view.data) + i * plane;
                        if (!dx.add) std::fill_n(out, plane, T(0));
                        for (int64_t o = 0; o < p; ++o)
                          if (place[o] >= 0) out[place[o]] += in[o];
                      }
                    });
  });
}

namespace {
// Calls f(plane, window, rows, columns, number of elements of the mean) for each window.
template <class F>
void for_means(const View& image, const Windows& windows, bool count_padding, F&& f) {
  const Axes both = axes(image, windows);
  const Axis &ay = both.y, &ax = both.x;
  parallel_ranges(image.shape[0] * image.shape[1],
                  planes_of_task(ay.windows * ax.windows * ay.kernel * ax.kernel),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i)
                      for (int64_t oy = 0; oy < ay.windows; ++oy)
                        for (int64_t ox = 0; ox < ax.windows; ++ox) {
                          const Axis::Range rows = ay.elements(oy), columns = ax.elements(ox);
                          const int64_t n = count_padding ? ay.kernel * ax.kernel
                                                          : (rows.end - rows.begin) *
                                                                (columns.end - columns.begin);
                          f(i, oy * ax.windows + ox, rows, columns, n);
                        }
                  });
}
}  // namespace

void avg_pool(const View& x, const Windows& windows, bool count_padding, const View& y) {
  dispatch_float(x.dtype, "avg_pool", [&]<class T>(T) {
    const int64_t width = x.shape[3], plane = x.shape[2] * width, p = y.shape[2] * y.shape[3];
    for_means(x, windows, count_padding,
              [&](int64_t i, int64_t o, Axis::Range rows, Axis::Range columns, int64_t n) {
                const T* in = static_cast<T*>(x.data) + i * plane;
                T sum = 0;
                for (int64_t r = rows.begin; r < rows.end; ++r)
                  for (int64_t c = columns.begin; c < columns.end; ++c) sum += in[r * width + c];
                static_cast<T*>(y.data)[i * p + o] = sum / static_cast<T>(n);
              });
  });
}

void avg_pool_backward(const View& dy, const Windows& windows, bool count_padding,
                       const OutputView& dx) {
  dispatch_float(dy.dtype, "avg_pool_backward", [&]<class T>(T) {
    const View& image = dx.view;
    const int64_t width = image.shape[3], plane = image.shape[2] * width,
                  p = dy.shape[2] * dy.shape[3];
    for_means(image, windows, count_padding,
              [&](int64_t i, int64_t o, Axis::Range rows, Axis::Range columns, int64_t n) {
                T* out = static_cast<T*>(image.data) + i * plane;
                if (o == 0 && !dx.add) std::fill_n(out, plane, T(0));
                const T part = static_cast<T*>(dy.data)[i * p + o] / static_cast<T>(n);
                for (int64_t r = rows.begin; r < rows.end; ++r)
                  for (int64_t c = columns.begin; c < columns.end; ++c) out[r * width + c] += part;
              });
  });
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
