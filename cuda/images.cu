// Windows of images and pooling on a GPU (part of cuda/ops.cuh).
#include <cmath>

#include "cuda/launch.cuh"
#include "cuda/ops.cuh"

namespace nine::cuda {
namespace {

// One axis of the windows: element k of window o is at o * stride - padding + k * dilation.
struct Axis {
  int64_t size, windows, kernel, stride, padding, dilation;

  NINE_D int64_t at(int64_t o, int64_t k) const { return o * stride - padding + k * dilation; }
  NINE_D bool inside(int64_t i) const { return i >= 0 && i < size; }
  // Returns the window whose element k is at i, or -1.
  NINE_D int64_t window_of(int64_t i, int64_t k) const {
    const int64_t from = i + padding - k * dilation;
    return from >= 0 && from % stride == 0 && from / stride < windows ? from / stride : -1;
  }
  // Returns how many elements of window o are in the plane; dilation 1.
  NINE_D int64_t elements(int64_t o) const {
    const int64_t begin = at(o, 0), end = begin + kernel;
    return (end < size ? end : size) - (begin > 0 ? begin : 0);
  }
};
struct Axes {
  Axis y, x;
  int64_t plane() const { return y.size * x.size; }
  int64_t windows() const { return y.windows * x.windows; }
};
Axes axes(const View& image, const ops::Windows& w) {
  const ops::Size2d plane{image.shape[2], image.shape[3]}, n = w.count(plane);
  return {
      {plane.height, n.height, w.kernel.height, w.stride.height, w.padding.height,
       w.dilation.height},
      {plane.width, n.width, w.kernel.width, w.stride.width, w.padding.width, w.dilation.width}};
}

template <class T>
struct Im2col {
  const T* x;
  Matrix<T> cols;
  Axis ay, ax;
  int64_t channels;
  NINE_D void operator()(int64_t r, int64_t c) const {
    const int64_t p = ay.windows * ax.windows, n = c / p, o = c % p, kernel = ay.kernel * ax.kernel,
                  channel = r / kernel;
    const int64_t row = ay.at(o / ax.windows, r % kernel / ax.kernel),
                  column = ax.at(o % ax.windows, r % ax.kernel);
    cols.at(r, c) = ay.inside(row) && ax.inside(column)
                        ? x[((n * channels + channel) * ay.size + row) * ax.size + column]
                        : T(0);
  }
};

// A thread adds all copies of its element in the order of the kernel's elements, as the CPU does.
template <class T>
struct Col2im {
  Matrix<T> cols;
  T* x;
  Axis ay, ax;
  int64_t channels;
  bool add;
  NINE_D void operator()(int64_t plane, int64_t e) const {
    const int64_t row = e / ax.size, column = e % ax.size, n = plane / channels,
                  channel = plane % channels;
    T& to = x[plane * ay.size * ax.size + e];
    T sum = add ? to : T(0);
    for (int64_t ky = 0; ky < ay.kernel; ++ky) {
      const int64_t oy = ay.window_of(row, ky);
      if (oy < 0) continue;
      for (int64_t kx = 0; kx < ax.kernel; ++kx) {
        const int64_t ox = ax.window_of(column, kx);
        if (ox < 0) continue;
        sum += cols.at((channel * ay.kernel + ky) * ax.kernel + kx,
                       (n * ay.windows + oy) * ax.windows + ox);
      }
    }
    to = sum;
  }
};

template <class T>
struct TransposeBlocks {
  Matrix<T> x, y;
  const T* bias;
  int64_t first, second;
  NINE_D void operator()(int64_t r, int64_t c) const {
    const int64_t i = r % first, j = r / first;
    y.at(r, c) = x.at(i * second + j, c) + (bias != nullptr ? bias[i] : T(0));
  }
};

template <class T>
struct MaxPool {
  const T* x;
  T* y;
  int32_t* places;
  Axis ay, ax;
  NINE_D void operator()(int64_t plane, int64_t o) const {
    const T* in = x + plane * ay.size * ax.size;
    T top = -INFINITY;
    int64_t at = -1;
    for (int64_t ky = 0; ky < ay.kernel; ++ky) {
      const int64_t row = ay.at(o / ax.windows, ky);
      if (!ay.inside(row)) continue;
      for (int64_t kx = 0; kx < ax.kernel; ++kx) {
        const int64_t column = ax.at(o % ax.windows, kx);
        if (!ax.inside(column)) continue;
        const T value = in[row * ax.size + column];
        if (at >= 0 && !(value > top) && !(value != value && top == top)) continue;
        top = value;
        at = row * ax.size + column;
      }
    }
    const int64_t to = plane * ay.windows * ax.windows + o;
    y[to] = top;
    places[to] = static_cast<int32_t>(at);
  }
};

// A thread adds the gradients of all windows whose largest element is its own.
template <class T>
struct MaxPoolBackward {
  const T* dy;
  const int32_t* places;
  T* dx;
  Axis ay, ax;
  bool add;
  NINE_D void operator()(int64_t plane, int64_t e) const {
    const int64_t row = e / ax.size, column = e % ax.size, first = plane * ay.windows * ax.windows;
    T& to = dx[plane * ay.size * ax.size + e];
    T sum = add ? to : T(0);
    // Kernel elements from the last to the first: windows from the first to the last.
    for (int64_t ky = ay.kernel - 1; ky >= 0; --ky) {
      const int64_t oy = ay.window_of(row, ky);
      if (oy < 0) continue;
      for (int64_t kx = ax.kernel - 1; kx >= 0; --kx) {
        const int64_t ox = ax.window_of(column, kx);
        if (ox < 0) continue;
        const int64_t o = first + oy * ax.windows + ox;
        if (places[o] == e) sum += dy[o];
      }
    }
    to = sum;
  }
};

template <class T>
struct AvgPool {
  const T* x;
  T* y;
  Axis ay, ax;
  bool count_padding;
  NINE_D void operator()(int64_t plane, int64_t o) const {
    const T* in = x + plane * ay.size * ax.size;
    const int64_t oy = o / ax.windows, ox = o % ax.windows;
    T sum = 0;
    for (int64_t ky = 0; ky < ay.kernel; ++ky)
      for (int64_t kx = 0; kx < ax.kernel; ++kx) {
        const int64_t row = ay.at(oy, ky), column = ax.at(ox, kx);
        if (ay.inside(row) && ax.inside(column)) sum += in[row * ax.size + column];
      }
    const int64_t n = count_padding ? ay.kernel * ax.kernel : ay.elements(oy) * ax.elements(ox);
    y[plane * ay.windows * ax.windows + o] = sum / static_cast<T>(n);
  }
};

template <class T>
struct AvgPoolBackward {
  const T* dy;
  T* dx;
  Axis ay, ax;
  bool count_padding, add;
  NINE_D void operator()(int64_t plane, int64_t e) const {
    const int64_t row = e / ax.size, column = e % ax.size, first = plane * ay.windows * ax.windows;
    T& to = dx[plane * ay.size * ax.size + e];
    T sum = add ? to : T(0);
    for (int64_t ky = ay.kernel - 1; ky >= 0; --ky) {
      const int64_t oy = ay.window_of(row, ky);
      if (oy < 0) continue;
      for (int64_t kx = ax.kernel - 1; kx >= 0; --kx) {
        const int64_t ox = ax.window_of(column, kx);
        if (ox < 0) continue;
        const int64_t n = count_padding ? ay.kernel * ax.kernel : ay.elements(oy) * ax.elements(ox);
        sum += dy[first + oy * ax.windows + ox] / static_cast<T>(n);
      }
    }
    to = sum;
  }
};

template <class T>
T* data(const View& v) {
  return static_cast<T*>(v.data);
}
int64_t planes(const View& v) { return v.shape[0] * v.shape[1]; }

}  // namespace

void im2col(const View& x, const ops::Windows& windows, const View& cols) {
  dispatch_float(x.dtype, "im2col", [&]<class T>(T) {
    const Axes a = axes(x, windows);
    each(CudaDevice::of(x), "im2col", {cols.rows(), cols.cols()},
         Im2col<T>{data<T>(x), Matrix<T>(cols), a.y, a.x, x.shape[1]});
  });
}

void col2im(const View& cols, const ops::Windows& windows, const OutputView& x) {
  dispatch_float(cols.dtype, "col2im", [&]<class T>(T) {
    const Axes a = axes(x.view, windows);
    each(CudaDevice::of(cols), "col2im", {planes(x.view), a.plane()},
         Col2im<T>{Matrix<T>(cols), data<T>(x.view), a.y, a.x, x.view.shape[1], x.add});
  });
}

void transpose_blocks(const View& x, int64_t first, const View& bias, const View& y) {
  dispatch_float(x.dtype, "transpose_blocks", [&]<class T>(T) {
    each(CudaDevice::of(x), "transpose_blocks", {y.rows(), y.cols()},
         TransposeBlocks<T>{Matrix<T>(x), Matrix<T>(y), data<T>(bias), first, x.rows() / first});
  });
}

void max_pool(const View& x, const ops::Windows& windows, const View& y, const View& places) {
  dispatch_float(x.dtype, "max_pool", [&]<class T>(T) {
    const Axes a = axes(x, windows);
    each(CudaDevice::of(x), "max_pool", {planes(x), a.windows()},
         MaxPool<T>{data<T>(x), data<T>(y), data<int32_t>(places), a.y, a.x});
  });
}

void max_pool_backward(const View& dy, const View& places, const ops::Windows& windows,
                       const OutputView& dx) {
  dispatch_float(dy.dtype, "max_pool_backward", [&]<class T>(T) {
    const Axes a = axes(dx.view, windows);
    each(
        CudaDevice::of(dy), "max_pool_backward", {planes(dx.view), a.plane()},
        MaxPoolBackward<T>{data<T>(dy), data<int32_t>(places), data<T>(dx.view), a.y, a.x, dx.add});
  });
}

void avg_pool(const View& x, const ops::Windows& windows, bool count_padding, const View& y) {
  dispatch_float(x.dtype, "avg_pool", [&]<class T>(T) {
    const Axes a = axes(x, windows);
    each(CudaDevice::of(x), "avg_pool", {planes(x), a.windows()},
         AvgPool<T>{data<T>(x), data<T>(y), a.y, a.x, count_padding});
  });
}

void avg_pool_backward(const View& dy, const ops::Windows& windows, bool count_padding,
                       const OutputView& dx) {
  dispatch_float(dy.dtype, "avg_pool_backward", [&]<class T>(T) {
    const Axes a = axes(dx.view, windows);
    each(CudaDevice::of(dy), "avg_pool_backward", {planes(dx.view), a.plane()},
         AvgPoolBackward<T>{data<T>(dy), data<T>(dx.view), a.y, a.x, count_padding, dx.add});
  });
}

}  // namespace nine::cuda
