// bench_exchange: what the processes that mpirun starts need for one update's exchange, and for a
// message of a few bytes (docs/scale-out.md):
//   mpirun -n 2 --bind-to none build/bin/bench_exchange [parameters]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "core/mpi_communicator.h"
#include "nn/training/process_shares.h"

namespace {

// The median of the seconds of several calls.
template <class F>
double median_seconds(int calls, F&& f) {
  std::vector<double> seconds;
  for (int i = 0; i < calls; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    f();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t parameters = argc > 1 ? std::atoll(argv[1]) : 20'000'000;
  const auto communicator = nine::start_mpi(60);
  nine::SlabShares shares(parameters, *communicator);
  const nine::Tensor slab({parameters}, nine::DType::float32);
  const int other = communicator->rank() ^ 1;
  double number = 0, received = 0;
  const double latency = median_seconds(2000, [&] {
    communicator->exchange(other, &number, sizeof number, other, &received, sizeof received);
  });
  const int64_t before = communicator->bytes_sent();
  const double update = median_seconds(5, [&] {
    shares.reduce_scatter(slab, [](int) { return true; });
    shares.all_gather(slab);
  });
  const double bytes = static_cast<double>(communicator->bytes_sent() - before) / 5;
  if (communicator->first())
    std::printf(
        "%d processes: a number to and fro %.1f us; %lld parameters %.1f ms, %.2f bytes a "
        "parameter sent, %.2f GB/s\n",
        communicator->size(), 1e6 * latency, static_cast<long long>(parameters), 1e3 * update,
        bytes / static_cast<double>(parameters), 1e-9 * bytes / update);
  communicator->finish();
}
