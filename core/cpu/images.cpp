// Windows of images and pooling on the CPU (part of core/cpu/cpu.h).
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/cpu/cpu.h"
#include "core/elementwise_loops.h"

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

}  // namespace

void im2col(const View& x, const Windows& windows, const View& cols) {
  dispatch_float(x.dtype, "im2col", [&]<class T>(T) {
    const Axes both = axes(x, windows);
    const Axis &ay = both.y, &ax = both.x;
    const int64_t images = x.shape[0], channels = x.shape[1], plane = ay.size * ax.size,
                  p = ay.windows * ax.windows, kernel = ay.kernel * ax.kernel;
    for_rows(cols, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t channel = r / kernel, ky = r % kernel / ax.kernel, kx = r % ax.kernel;
        const Axis::Range rows = ay.inside(ky), inside = ax.inside(kx);
        const int64_t first = ax.first(kx);
        for (int64_t n = 0; n < images; ++n) {
          const T* from = static_cast<T*>(x.data) + (n * channels + channel) * plane;
          T* to = row_ptr<T>(cols, r) + n * p;
          std::fill(to, to + rows.begin * ax.windows, T(0));
          for (int64_t oy = rows.begin; oy < rows.end; ++oy) {
            const T* in = from + (oy * ay.stride + ay.first(ky)) * ax.size + first;
            T* out = to + oy * ax.windows;
            for (int64_t ox = 0; ox < inside.begin; ++ox) out[ox] = T(0);
            if (ax.stride == 1) {
              for (int64_t ox = inside.begin; ox < inside.end; ++ox) out[ox] = in[ox];
            } else {
              for (int64_t ox = inside.begin; ox < inside.end; ++ox) out[ox] = in[ox * ax.stride];
            }
            for (int64_t ox = inside.end; ox < ax.windows; ++ox) out[ox] = T(0);
          }
          std::fill(to + rows.end * ax.windows, to + p, T(0));
        }
      }
    });
  });
}

void col2im(const View& cols, const Windows& windows, const OutputView& x) {
  dispatch_float(cols.dtype, "col2im", [&]<class T>(T) {
    const Axes both = axes(x.view, windows);
    const Axis &ay = both.y, &ax = both.x;
    const int64_t images = x.view.shape[0], channels = x.view.shape[1], plane = ay.size * ax.size,
                  p = ay.windows * ax.windows;
    // A task has all sums of its planes, in the order of the kernel's elements.
    parallel_ranges(
        images * channels, planes_of_task(p * ay.kernel * ax.kernel),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t n = i / channels, channel = i % channels;
            T* to = static_cast<T*>(x.view.data) + i * plane;
            if (!x.add) std::fill_n(to, plane, T(0));
            for (int64_t ky = 0; ky < ay.kernel; ++ky)
              for (int64_t kx = 0; kx < ax.kernel; ++kx) {
                const Axis::Range rows = ay.inside(ky), inside = ax.inside(kx);
                const T* from =
                    row_ptr<T>(cols, (channel * ay.kernel + ky) * ax.kernel + kx) + n * p;
                for (int64_t oy = rows.begin; oy < rows.end; ++oy) {
                  const T* in = from + oy * ax.windows;
                  T* out = to + (oy * ay.stride + ay.first(ky)) * ax.size + ax.first(kx);
                  if (ax.stride == 1) {
                    for (int64_t ox = inside.begin; ox < inside.end; ++ox) out[ox] += in[ox];
                  } else {
                    for (int64_t ox = inside.begin; ox < inside.end; ++ox)
                      out[ox * ax.stride] += in[ox];
                  }
                }
              }
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

void max_pool(const View& x, const Windows& windows, const View& y, const View& places) {
  dispatch_float(x.dtype, "max_pool", [&]<class T>(T) {
    const Axes both = axes(x, windows);
    const Axis &ay = both.y, &ax = both.x;
    const int64_t p = ay.windows * ax.windows;
    parallel_ranges(x.shape[0] * x.shape[1], planes_of_task(p * ay.kernel * ax.kernel),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i) {
                        const T* in = static_cast<T*>(x.data) + i * ay.size * ax.size;
                        T* out = static_cast<T*>(y.data) + i * p;
                        int32_t* place = static_cast<int32_t*>(places.data) + i * p;
                        for (int64_t oy = 0; oy < ay.windows; ++oy)
                          for (int64_t ox = 0; ox < ax.windows; ++ox) {
                            T top = -std::numeric_limits<T>::infinity();
                            int64_t at = -1;
                            for (int64_t ky = 0; ky < ay.kernel; ++ky) {
                              const int64_t row = oy * ay.stride + ay.first(ky);
                              if (row < 0 || row >= ay.size) continue;
                              for (int64_t kx = 0; kx < ax.kernel; ++kx) {
                                const int64_t column = ox * ax.stride + ax.first(kx);
                                if (column < 0 || column >= ax.size) continue;
                                const T value = in[row * ax.size + column];
                                if (at >= 0 && !(value > top) && !(value != value && top == top))
                                  continue;
                                top = value;
                                at = row * ax.size + column;
                              }
                            }
                            *out++ = top;
                            *place++ = static_cast<int32_t>(at);
                          }
                      }
                    });
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
