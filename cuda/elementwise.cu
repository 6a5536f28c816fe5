// Elementwise ops on a GPU (part of cuda/ops.cuh).
#include "core/elementwise.h"

#include "cuda/bf16.cuh"
#include "cuda/launch.cuh"
#include "cuda/ops.cuh"

namespace nine::cuda {
namespace {

template <class T>
struct Fill {
  Matrix<T> y;
  T value;
  NINE_D void operator()(int64_t r, int64_t c) const { y.at(r, c) = value; }
};

// uint16_t stands for bfloat16.
template <class From, class To>
struct Convert {
  Matrix<From> x;
  Matrix<To> y;
  NINE_D void operator()(int64_t r, int64_t c) const {
    if constexpr (std::is_same_v<From, To>) {
      y.at(r, c) = x.at(r, c);
    } else if constexpr (std::is_same_v<From, uint16_t>) {
      y.at(r, c) = static_cast<To>(bf16_value(x.at(r, c)));
    } else if constexpr (std::is_same_v<To, uint16_t>) {
      y.at(r, c) = bf16_bits(static_cast<float>(x.at(r, c)));
    } else {
      y.at(r, c) = static_cast<To>(x.at(r, c));
    }
  }
};

template <class From, class To>
void convert_as(const View& x, const View& y) {
  each(CudaDevice::of(x), "copy", plane_of({&x, &y}),
       Convert<From, To>{Matrix<From>(x), Matrix<To>(y)});
}
template <class From>
void convert_from(const View& x, const View& y) {
  switch (y.dtype) {
    case DType::float32:
      return convert_as<From, float>(x, y);
    case DType::float64:
      return convert_as<From, double>(x, y);
    case DType::bfloat16:
      return convert_as<From, uint16_t>(x, y);
    case DType::int32:
    case DType::int64:
    case DType::boolean:
      fail("[copy] cannot convert floating-point numbers to ", y.dtype);
  }
}

template <class T, class F>
struct Unary {
  Matrix<T> x, y;
  T p, q;
  bool add;
  NINE_D void operator()(int64_t r, int64_t c) const {
    put(add, y.at(r, c), F::value(x.at(r, c), p, q));
  }
};
template <class T, class F>
struct UnaryBackward {
  Matrix<T> x, y, dy, dx;
  T p, q;
  bool add;
  NINE_D void operator()(int64_t r, int64_t c) const {
    put(add, dx.at(r, c), dy.at(r, c) * F::derivative(x.at(r, c), y.at(r, c), p, q));
  }
};
template <class T, class F>
struct Binary {
  Matrix<T> a, b, y;
  int64_t step_r, step_c;  // 1 for a dimension that b has, 0 for one that it is broadcast over
  bool add;
  NINE_D void operator()(int64_t r, int64_t c) const {
    put(add, y.at(r, c), F::value(a.at(r, c), b.at(r * step_r, c * step_c)));
  }
};
template <class T, class F>
struct Gated {
  Matrix<T> a, b, y;
  NINE_D void operator()(int64_t r, int64_t c) const {
    y.at(r, c) = F::value(a.at(r, c), T(0), T(0)) * b.at(r, c);
  }
};
// Outputs that are not wanted have no memory.
template <class T, class F>
struct GatedBackward {
  Matrix<T> a, b, dy, da, db;
  bool add_a, add_b;
  NINE_D void operator()(int64_t r, int64_t c) const {
    const T gate = a.at(r, c), in = b.at(r, c), grad = dy.at(r, c),
            value = F::value(gate, T(0), T(0));
    if (da.data != nullptr)
      put(add_a, da.at(r, c), grad * in * F::derivative(gate, value, T(0), T(0)));
    if (db.data != nullptr) put(add_b, db.at(r, c), grad * value);
  }
};
template <class T>
struct Scale {
  Matrix<T> x, y;
  T alpha;
  bool add;
  NINE_D void operator()(int64_t r, int64_t c) const { put(add, y.at(r, c), alpha * x.at(r, c)); }
};

}  // namespace

void fill(const View& y, double value) {
  const auto as = [&]<class T>(T element) {
    each(CudaDevice::of(y), "fill", plane_of({&y}), Fill<T>{Matrix<T>(y), element});
  };
  dispatch_all(y.dtype, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, bfloat16>) {
      as(bfloat16(static_cast<float>(value)).bits);
    } else {
      as(static_cast<T>(value));
    }
  });
}

void copy(const View& x, const View& y) {
  switch (x.dtype) {
    case DType::float32:
      return convert_from<float>(x, y);
    case DType::float64:
      return convert_from<double>(x, y);
    case DType::bfloat16:
      return convert_from<uint16_t>(x, y);
    case DType::int32:
      return convert_as<int32_t, int32_t>(x, y);
    case DType::int64:
      return convert_as<int64_t, int64_t>(x, y);
    case DType::boolean:
      return convert_as<bool, bool>(x, y);
  }
}

void unary(ops::Unary f, const View& x, const OutputView& y, double p, double q) {
  dispatch_float(x.dtype, "unary", [&]<class T>(T) {
    ops::visit(f, [&]<class F>(F) {
      each(CudaDevice::of(x), "unary", plane_of({&x, &y.view}),
           Unary<T, F>{Matrix<T>(x), Matrix<T>(y.view), static_cast<T>(p), static_cast<T>(q),
                       y.add});
    });
  });
}

void unary_backward(ops::Unary f, const View& x, const View& y, const View& dy,
                    const OutputView& dx, double p, double q) {
  dispatch_float(x.dtype, "unary_backward", [&]<class T>(T) {
    ops::visit(f, [&]<class F>(F) {
      each(CudaDevice::of(x), "unary_backward", plane_of({&x, &y, &dy, &dx.view}),
           UnaryBackward<T, F>{Matrix<T>(x), Matrix<T>(y), Matrix<T>(dy), Matrix<T>(dx.view),
                               static_cast<T>(p), static_cast<T>(q), dx.add});
    });
  });
}

void gated(ops::Unary f, const View& a, const View& b, const View& y) {
  dispatch_float(a.dtype, "gated", [&]<class T>(T) {
    ops::visit_gate(f, [&]<class F>(F) {
      each(CudaDevice::of(a), "gated", plane_of({&a, &b, &y}),
           Gated<T, F>{Matrix<T>(a), Matrix<T>(b), Matrix<T>(y)});
    });
  });
}

void gated_backward(ops::Unary f, const View& a, const View& b, const View& dy,
                    const OutputView& da, const OutputView& db) {
  dispatch_float(a.dtype, "gated_backward", [&]<class T>(T) {
    const auto matrix = [](const OutputView& v) {
      return v.view ? Matrix<T>(v.view) : Matrix<T>();
    };
    ops::visit_gate(f, [&]<class F>(F) {
      each(CudaDevice::of(a), "gated_backward", plane_of({&a, &b, &dy, &da.view, &db.view}),
           GatedBackward<T, F>{Matrix<T>(a), Matrix<T>(b), Matrix<T>(dy), matrix(da), matrix(db),
                               da.add, db.add});
    });
  });
}

void binary(ops::Binary f, const View& a, const View& b, const OutputView& y) {
  const bool one_number = b.shape.rank() == 0 && a.shape.rank() != 0,
             one_row = !one_number && b.shape != a.shape;
  dispatch_float(a.dtype, "binary", [&]<class T>(T) {
    ops::visit(f, [&]<class F>(F) {
      // A row is broadcast over the rows of a, so a must keep its rows here.
      const Plane plane = one_row      ? Plane{a.rows(), a.cols()}
                          : one_number ? plane_of({&a, &y.view})
                                       : plane_of({&a, &b, &y.view});
      each(CudaDevice::of(a), "binary", plane,
           Binary<T, F>{Matrix<T>(a), Matrix<T>(b), Matrix<T>(y.view),
                        one_row || one_number ? 0 : 1, one_number ? 0 : 1, y.add});
    });
  });
}

void scale(double alpha, const View& x, const OutputView& y) {
  dispatch_float(x.dtype, "scale", [&]<class T>(T) {
    each(CudaDevice::of(x), "scale", plane_of({&x, &y.view}),
         Scale<T>{Matrix<T>(x), Matrix<T>(y.view), static_cast<T>(alpha), y.add});
  });
}

}  // namespace nine::cuda
