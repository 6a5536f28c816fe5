// Elementwise ops on the CPU (part of core/cpu/cpu.h).
#include <algorithm>
#include <type_traits>

#include "core/cpu/cpu.h"
#include "core/elementwise.h"
#include "core/elementwise_loops.h"

namespace nine::cpu {
inline namespace NINE_ISA {
namespace {

template <class From, class To>
void convert_as(const View& x, const View& y) {
  for_row_segments({&y, &x}, [&](int64_t r, int64_t c, int64_t n) {
    const From* from = row_ptr<From>(x, r) + c;
    To* to = row_ptr<To>(y, r) + c;
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_same_v<From, To>) {
        to[i] = from[i];
      } else if constexpr (std::is_same_v<From, bfloat16>) {
        to[i] = static_cast<To>(static_cast<float>(from[i]));
      } else if constexpr (std::is_same_v<To, bfloat16>) {
        to[i] = bfloat16(static_cast<float>(from[i]));
      } else {
        to[i] = static_cast<To>(from[i]);
      }
    }
  });
}

template <class From>
void convert_from(const View& x, const View& y) {
  switch (y.dtype) {
    case DType::float32:
      return convert_as<From, float>(x, y);
    case DType::float64:
      return convert_as<From, double>(x, y);
    case DType::bfloat16:
      return convert_as<From, bfloat16>(x, y);
    case DType::int32:
    case DType::int64:
    case DType::boolean:
      fail("[copy] cannot convert floating-point numbers to ", y.dtype);
  }
}

}  // namespace

void fill(const View& y, double value) {
  const auto as = [&]<class T>(T element) {
    for_row_segments({&y}, [&](int64_t r, int64_t c, int64_t n) {
      std::fill_n(row_ptr<T>(y, r) + c, n, element);
    });
  };
  dispatch_all(y.dtype, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, bfloat16>) {
      as(bfloat16(static_cast<float>(value)));
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
      return convert_from<bfloat16>(x, y);
    case DType::int32:
      return convert_as<int32_t, int32_t>(x, y);
    case DType::int64:
      return convert_as<int64_t, int64_t>(x, y);
    case DType::boolean:
      return convert_as<bool, bool>(x, y);
  }
}

namespace {
// Calls f(to, i, count) for parts of n elements. `to` is where the part's results go: y's elements
// from i on, or, if `add`, memory that is then added to them. So f is compiled once for both.
template <class T, class F>
void put_parts(bool add, T* y, int64_t n, F&& f) {
  if (!add) return f(y, int64_t{0}, n);
  constexpr int64_t kPart = 512;
  T part[kPart];
  for (int64_t i = 0; i < n; i += kPart) {
    const int64_t count = std::min(kPart, n - i);
    f(static_cast<T*>(part), i, count);
    for (int64_t j = 0; j < count; ++j) y[i + j] += part[j];
  }
}
}  // namespace

void unary(ops::Unary f, const View& x, const OutputView& y, double p, double q) {
  dispatch_float(x.dtype, "unary", [&]<class T>(T) {
    const T first = static_cast<T>(p), second = static_cast<T>(q);
    ops::visit(f, [&](auto fn) {
      for_row_segments({&x, &y.view}, [&](int64_t r, int64_t c, int64_t n) {
        const T* in = row_ptr<T>(x, r) + c;
        put_parts(y.add, row_ptr<T>(y.view, r) + c, n, [&](T* out, int64_t begin, int64_t count) {
          const T* from = in + begin;
          for (int64_t i = 0; i < count; ++i) out[i] = fn.value(from[i], first, second);
        });
      });
    });
  });
}

void unary_backward(ops::Unary f, const View& x, const View& y, const View& dy,
                    const OutputView& dx, double p, double q) {
  dispatch_float(x.dtype, "unary_backward", [&]<class T>(T) {
    const T first = static_cast<T>(p), second = static_cast<T>(q);
    ops::visit(f, [&](auto fn) {
      for_row_segments({&x, &y, &dy, &dx.view}, [&](int64_t r, int64_t c, int64_t n) {
        const T *in = row_ptr<T>(x, r) + c, *value = row_ptr<T>(y, r) + c,
                *grad = row_ptr<T>(dy, r) + c;
        put_parts(dx.add, row_ptr<T>(dx.view, r) + c, n, [&](T* out, int64_t begin, int64_t count) {
          const T *a = in + begin, *b = value + begin, *g = grad + begin;
          for (int64_t i = 0; i < count; ++i)
            out[i] = g[i] * fn.derivative(a[i], b[i], first, second);
        });
      });
    });
  });
}

void gated(ops::Unary f, const View& a, const View& b, const View& y) {
  dispatch_float(a.dtype, "gated", [&]<class T>(T) {
    ops::visit_gate(f, [&](auto fn) {
      for_row_segments({&a, &b, &y}, [&](int64_t r, int64_t c, int64_t n) {
        const T *gate = row_ptr<T>(a, r) + c, *in = row_ptr<T>(b, r) + c;
        T* out = row_ptr<T>(y, r) + c;
        for (int64_t i = 0; i < n; ++i) out[i] = fn.value(gate[i], T(0), T(0)) * in[i];
      });
    });
  });
}

void gated_backward(ops::Unary f, const View& a, const View& b, const View& dy,
                    const OutputView& da, const OutputView& db) {
  dispatch_float(a.dtype, "gated_backward", [&]<class T>(T) {
    ops::visit_gate(f, [&](auto fn) {
      // Both in one pass over a row's segment, da first: if a and b are one, db adds to da.
      const View &first = da.view ? da.view : a, &second = db.view ? db.view : a;
      for_row_segments({&a, &b, &dy, &first, &second}, [&](int64_t r, int64_t c, int64_t n) {
        const T *gate = row_ptr<T>(a, r) + c, *in = row_ptr<T>(b, r) + c,
                *grad = row_ptr<T>(dy, r) + c;
        if (da.view)
          with_add(da.add, [&](auto put) {
            T* out = row_ptr<T>(da.view, r) + c;
            for (int64_t i = 0; i < n; ++i)
              put(out[i], grad[i] * in[i] *
                              fn.derivative(gate[i], fn.value(gate[i], T(0), T(0)), T(0), T(0)));
          });
        if (db.view)
          with_add(db.add, [&](auto put) {
            T* out = row_ptr<T>(db.view, r) + c;
            for (int64_t i = 0; i < n; ++i) put(out[i], grad[i] * fn.value(gate[i], T(0), T(0)));
          });
      });
    });
  });
}

void binary(ops::Binary f, const View& a, const View& b, const OutputView& y) {
  const bool one_number = b.shape.rank() == 0, one_row = b.shape != a.shape;
  dispatch_float(a.dtype, "binary", [&]<class T>(T) {
    ops::visit(f, [&](auto fn) {
      with_add(y.add, [&](auto put) {
        const auto run = [&](int64_t r, int64_t c, int64_t n, const T* right) {
          const T* left = row_ptr<T>(a, r) + c;
          T* out = row_ptr<T>(y.view, r) + c;
          for (int64_t i = 0; i < n; ++i) put(out[i], fn.value(left[i], right[i]));
        };
        if (one_number) {
          const T right = *row_ptr<T>(b, 0);
          for_row_segments({&a, &y.view}, [&](int64_t r, int64_t c, int64_t n) {
            const T* left = row_ptr<T>(a, r) + c;
            T* out = row_ptr<T>(y.view, r) + c;
            for (int64_t i = 0; i < n; ++i) put(out[i], fn.value(left[i], right));
          });
        } else if (one_row) {
          for_rows(a, [&](int64_t begin, int64_t end) {
            for (int64_t r = begin; r < end; ++r) run(r, 0, a.cols(), row_ptr<T>(b, 0));
          });
        } else {
          for_row_segments({&a, &b, &y.view}, [&](int64_t r, int64_t c, int64_t n) {
            run(r, c, n, row_ptr<T>(b, r) + c);
          });
        }
      });
    });
  });
}

void scale(double alpha, const View& x, const OutputView& y) {
  dispatch_float(x.dtype, "scale", [&]<class T>(T) {
    with_add(y.add, [&](auto put) {
      for_row_segments({&x, &y.view}, [&](int64_t r, int64_t c, int64_t n) {
        const T* in = row_ptr<T>(x, r) + c;
        T* out = row_ptr<T>(y.view, r) + c;
        for (int64_t i = 0; i < n; ++i) put(out[i], static_cast<T>(alpha) * in[i]);
      });
    });
  });
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
