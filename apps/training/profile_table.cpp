#include "apps/training/profile_table.h"

#include <algorithm>
#include <vector>

#include "apps/training/machine_rates.h"
#include "core/op_table.h"
#include "core/ops.h"
#include "core/profile.h"
#include "core/random.h"
#include "core/threads.h"

namespace nine::app {
namespace {

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
  constexpr double kSeconds = 0.15;  // for each rate
  MachineRates rates{.flops = pieces_rate(matmul_precision(), kSeconds),
                     .bytes = triad_rate(kSeconds)};
  if (rates.flops == 0) rates.flops = tile_rate(kSeconds);
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
  std::fprintf(out, "%-22s %10s %9s %7s %10s %9s %9s %9s\n", "op", "calls/step", "ms/step", "share",
               "GFLOP/s", "GB/s", "predicted", "roofline");
  for (const auto& e : entries) {
    const double least = std::max(e.flops / machine.flops, e.bytes / machine.bytes),
                 n = static_cast<double>(steps);
    least_total += least;
    std::fprintf(out, "%-22s %10.1f %9.2f %6.1f%% %10.1f %9.2f %9.2f %8.0f%%\n",
                 std::string(e.op).c_str(), static_cast<double>(e.calls) / n, 1e3 * e.seconds / n,
                 100 * e.seconds / total, e.flops / e.seconds / 1e9, e.bytes / e.seconds / 1e9,
                 1e3 * least / n, 100 * least / e.seconds);
  }
  const double milliseconds = 1e3 / static_cast<double>(steps);
  std::fprintf(out, "%-22s %10s %9.2f %6.1f%% %10s %9s %9.2f %8.0f%%\n", "all ops", "",
               milliseconds * total, 100.0, "", "", milliseconds * least_total,
               100 * least_total / total);
}

}  // namespace nine::app
