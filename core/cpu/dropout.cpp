// Dropout on the CPU, alone and with what surrounds it in a residual branch.
#include "core/cpu/cpu.h"
#include "core/cpu/pieces.h"

namespace nine::cpu {
namespace {

constexpr int64_t kLanes = 32;            // blocks of four random numbers that are computed side by side
constexpr int64_t kNumbers = 4 * kLanes;  // uniform numbers they give

// The uniform numbers of philox(key, first_block) ... philox(key, first_block + kLanes - 1), in order: the same function as
// in core/random.h, a counter a lane.
void uniforms(const RandomKey& key, uint64_t first_block, float* __restrict u) {
  uint32_t c0[kLanes], c1[kLanes], c2[kLanes], c3[kLanes];
  for (uint64_t j = 0; j < kLanes; ++j) {
    const uint64_t block = first_block + j;
    c0[j] = static_cast<uint32_t>(block);
    c1[j] = (static_cast<uint32_t>(block >> 32) << 16) | key.micro_batch;
    c2[j] = key.step;
    c3[j] = key.op;
  }
  uint32_t k0 = static_cast<uint32_t>(key.seed), k1 = static_cast<uint32_t>(key.seed >> 32) ^ (key.rank * 0x85ebca6bu);
  for (int round = 0; round < 10; ++round) {
    for (int64_t j = 0; j < kLanes; ++j) {
      const uint64_t p0 = uint64_t{0xD2511F53u} * c0[j], p1 = uint64_t{0xCD9E8D57u} * c2[j];
      c0[j] = static_cast<uint32_t>(p1 >> 32) ^ c1[j] ^ k0;
      c2[j] = static_cast<uint32_t>(p0 >> 32) ^ c3[j] ^ k1;
      c1[j] = static_cast<uint32_t>(p1);
      c3[j] = static_cast<uint32_t>(p0);
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int64_t j = 0; j < kLanes; ++j) {
    u[4 * j] = uniform_of_bits(c0[j]);
    u[4 * j + 1] = uniform_of_bits(c1[j]);
    u[4 * j + 2] = uniform_of_bits(c2[j]);
    u[4 * j + 3] = uniform_of_bits(c3[j]);
  }
}

// Runs f(first, count, m) over pieces of [0, n), m[i] being what dropout multiplies element `element` + first + i by.
template <class T, class F>
void with_mask(const RandomKey& key, double p, int64_t element, int64_t n, F&& f) {
  const auto threshold = static_cast<float>(p);
  const T keep = static_cast<T>(1 / (1 - p));
  alignas(64) float u[kNumbers];
  alignas(64) T mask[kNumbers];
  std::fill_n(u, kNumbers, 1.0f);  // for p = 0: all stay, no number is drawn
  for (int64_t done = 0; done < n;) {
    const int64_t skip = (element + done) % 4, count = std::min(n - done, kNumbers - skip);
    if (p > 0) uniforms(key, static_cast<uint64_t>((element + done) / 4), u);
    for (int64_t i = 0; i < kNumbers; ++i) mask[i] = u[i] >= threshold ? keep : T(0);
    f(done, count, mask + skip);
    done += count;
  }
}

}  // namespace

void dropout(const View& x, double p, const RandomKey& key, const Sink& y, int64_t mask_rows) {
  for_float(x.dtype, "dropout", [&]<class T>(T) {
    with_add(y.add, [&](auto put) {
      for_rows(x, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r)
          with_mask<T>(key, p, r % mask_rows * x.cols(), x.cols(), [&](int64_t c, int64_t n, const T* m) {
            const T* in = row_ptr<T>(x, r) + c;
            T* out = row_ptr<T>(y.view, r) + c;
#pragma GCC ivdep  // in place at most
            for (int64_t i = 0; i < n; ++i) put(out[i], m[i] * in[i]);
          });
      });
    });
  });
}

void add_dropped(const View& x, const View& bias, const View& residual, double p, const RandomKey& key, const View& y) {
  for_float(x.dtype, "add_dropped", [&]<class T>(T) {
    for_rows(x, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T *in = row_ptr<T>(x, r), *shift = row_ptr<T>(bias, 0), *rest = row_ptr<T>(residual, r);
        T* out = row_ptr<T>(y, r);
        with_mask<T>(key, p, r * x.cols(), x.cols(), [&](int64_t c, int64_t n, const T* m) {
#pragma GCC ivdep
          for (int64_t i = 0; i < n; ++i) out[c + i] = rest[c + i] + m[i] * (in[c + i] + shift[c + i]);
        });
      }
    });
  });
}

void dropout_words(const View& x, const View& ids, double p, const RandomKey& key, const Sink& y) {
  const int32_t* id = static_cast<int32_t*>(ids.data);
  for (int64_t r = 0; r < x.rows(); ++r) require(id[r] >= 0, "[dropout_words] index ", id[r], " at position ", r, " is no word");
  for_float(x.dtype, "dropout_words", [&]<class T>(T) {
    const auto threshold = static_cast<float>(p);
    const T keep = static_cast<T>(1 / (1 - p));
    with_add(y.add, [&](auto put) {
      for_rows(x, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const T* in = row_ptr<T>(x, r);
          T* out = row_ptr<T>(y.view, r);
          const T factor = random_uniform(key, static_cast<uint64_t>(id[r])) >= threshold ? keep : T(0);
          for (int64_t c = 0; c < x.cols(); ++c) put(out[c], factor * in[c]);
        }
      });
    });
  });
}

}  // namespace nine::cpu
