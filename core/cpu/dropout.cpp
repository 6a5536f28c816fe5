// Dropout on the CPU (part of core/cpu/cpu.h).
#include "core/cpu/cpu.h"
#include "core/cpu/dropout_mask.h"
#include "core/elementwise_loops.h"

namespace nine::cpu {
inline namespace NINE_ISA {

void dropout(const View& x, double p, const RandomKey& key, const OutputView& y,
             int64_t mask_rows) {
  dispatch_float(x.dtype, "dropout", [&]<class T>(T) {
    with_add(y.add, [&](auto put) {
      for_rows(x, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r)
          with_mask<T>(key, p, r % mask_rows * x.cols(), x.cols(),
                       [&](int64_t c, int64_t n, const T* m) {
                         const T* in = row_ptr<T>(x, r) + c;
                         T* out = row_ptr<T>(y.view, r) + c;
#pragma GCC ivdep  // y is x or does not overlap it
                         for (int64_t i = 0; i < n; ++i) put(out[i], m[i] * in[i]);
                       });
      });
    });
  });
}

void bias_dropout_add(const View& x, const View& bias, const View& residual, double p,
                      const RandomKey& key, const View& y) {
  dispatch_float(x.dtype, "bias_dropout_add", [&]<class T>(T) {
    for_rows(x, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T *in = row_ptr<T>(x, r), *shift = row_ptr<T>(bias, 0),
                *rest = row_ptr<T>(residual, r);
        T* out = row_ptr<T>(y, r);
        with_mask<T>(key, p, r * x.cols(), x.cols(), [&](int64_t c, int64_t n, const T* m) {
#pragma GCC ivdep
          for (int64_t i = 0; i < n; ++i)
            out[c + i] = rest[c + i] + m[i] * (in[c + i] + shift[c + i]);
        });
      }
    });
  });
}

void dropout_words(const View& x, const View& ids, double p, const RandomKey& key,
                   const OutputView& y) {
  const int32_t* id = static_cast<int32_t*>(ids.data);
  for (int64_t r = 0; r < x.rows(); ++r)
    require(id[r] >= 0, "[dropout_words] index ", id[r], " at position ", r, " is negative");
  dispatch_float(x.dtype, "dropout_words", [&]<class T>(T) {
    const auto threshold = static_cast<float>(p);
    const T keep = static_cast<T>(1 / (1 - p));
    with_add(y.add, [&](auto put) {
      for_rows(x, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const T* in = row_ptr<T>(x, r);
          T* out = row_ptr<T>(y.view, r);
          const T factor =
              random_uniform(key, static_cast<uint64_t>(id[r])) >= threshold ? keep : T(0);
          for (int64_t c = 0; c < x.cols(); ++c) put(out[c], factor * in[c]);
        }
      });
    });
  });
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
