#include "apps/training/profile_table.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "core/gemm.h"
#include "core/op_table.h"
#include "core/ops.h"
#include "core/profile.h"
#include "core/random.h"
#include "core/threads.h"

namespace nine::app {
namespace {

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double best_of(int tries, const auto& work) {
  double best = 1e30;
  for (int i = 0; i < tries; ++i) best = std::min(best, seconds_of(work));
  return best;
}

// By the clock of the device, the best of some runs.
double device_seconds(Device device, int tries, const auto& work) {
  profile::DeviceClock& clock = *op_table(device).clock(device.index);
  double best = 1e30;
  for (int i = 0; i <= tries; ++i) {
    const int64_t begin = clock.mark();
    work();
    const double seconds = clock.seconds(begin, clock.mark());
    if (i > 0) best = std::min(best, seconds);  // the first run also loads libraries
  }
  return best;
}

MachineRates measure_device(Device device) {
  constexpr int64_t n = 4096, elements = 32 << 20;  // 128 MiB a tensor: beyond any cache
  MachineRates rates{.device = device};
  {
    const Tensor a({n, n}, DType::float32, device), b({n, n}, DType::float32, device),
        c({n, n}, DType::float32, device);
    for (const Tensor* t : {&a, &b}) fill_randomly(*t);
    const double product =
        device_seconds(device, 3, [&] { ops::matmul(a, false, b, true, {c.view()}); });
    rates.flops = 2.0 * n * n * n / product;
  }
  const Tensor x({elements}, DType::float32, device), y({elements}, DType::float32, device),
      z({elements}, DType::float32, device);
  for (const Tensor* t : {&x, &y}) fill_randomly(*t);
  const double sum =
      device_seconds(device, 5, [&] { ops::binary(ops::Binary::add, x, y, {z.view()}); });
  rates.bytes = 3.0 * sizeof(float) * elements / sum;
  return rates;
}

}  // namespace

void fill_randomly(const Tensor& t) {
  constexpr int64_t kBlock = 1 << 20;  // the numbers repeat after so many: more would take longer
  const int64_t n = t.elements(), drawn = std::min(n, kBlock);
  const Tensor block({drawn, 1}, DType::float32);
  const RandomKey key{.seed = 1, .op = stream_id("profile")};
  parallel_ranges(drawn, 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      block.data<float>()[i] = 2 * random_uniform(key, static_cast<uint64_t>(i)) - 1;
  });
  const View all = t.view().reshaped({n, 1});
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
    ops::copy(block.view().row_range(0, count), all.row_range(begin, count));
  }
}

MachineRates measure_machine(Device device) {
  if (device.kind != DeviceKind::cpu) return measure_device(device);
  MachineRates rates;
  constexpr int64_t m = 64, n = 64, k = 512, repeats = 2000;
  const double product = best_of(3, [] {
    parallel_for(threads(), [](int64_t) {
      const std::vector<float> a(m * k, 0.5f), b(k * n, 0.25f);
      std::vector<float> c(m * n);
      const TileProduct<float> tile(m, n, k, m, k, m, false);
      for (int64_t i = 0; i < repeats; ++i) tile(a.data(), b.data(), c.data());
    });
  });
  rates.flops = 2.0 * m * n * k * repeats * threads() / product;

  constexpr int64_t elements = 16 << 20;  // 64 MiB an array: beyond any cache
  std::vector<float> x(elements, 1), y(elements, 2), z(elements, 3);
  const double triad = best_of(5, [&] {
    parallel_ranges(elements, 1 << 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        x[static_cast<size_t>(i)] = y[static_cast<size_t>(i)] + 0.5f * z[static_cast<size_t>(i)];
    });
  });
  rates.bytes = 3.0 * sizeof(float) * elements / triad;
  return rates;
}

void print_profile(std::FILE* out, const MachineRates& machine, int64_t steps) {
  const auto entries = profile::entries();
  double total = 0, least_total = 0;
  for (const auto& e : entries) total += e.seconds;
  const bool on_cpu = machine.device.kind == DeviceKind::cpu;
  std::fprintf(out, "\nprofile: %lld steps; %s: %.0f GFLOP/s %s, %.1f GB/s\n",
               static_cast<long long>(steps), on_cpu ? "this machine" : "this GPU",
               machine.flops / 1e9, on_cpu ? "in cache" : "of a large product",
               machine.bytes / 1e9);
  std::fprintf(out, "%-22s %10s %9s %7s %10s %9s %9s\n", "op", "calls/step", "ms/step", "share",
               "GFLOP/s", "GB/s", "roofline");
  for (const auto& e : entries) {
    const double least = std::max(e.flops / machine.flops, e.bytes / machine.bytes),
                 n = static_cast<double>(steps);
    least_total += least;
    std::fprintf(out, "%-22s %10.1f %9.2f %6.1f%% %10.1f %9.2f %8.0f%%\n",
                 std::string(e.op).c_str(), static_cast<double>(e.calls) / n, 1e3 * e.seconds / n,
                 100 * e.seconds / total, e.flops / e.seconds / 1e9, e.bytes / e.seconds / 1e9,
                 100 * least / e.seconds);
  }
  std::fprintf(out, "%-22s %10s %9.2f %6.1f%% %10s %9s %8.0f%%\n", "all ops", "",
               1e3 * total / static_cast<double>(steps), 100.0, "", "", 100 * least_total / total);
}

}  // namespace nine::app
