// The stand-in itself: that it detects errors of kernels. Not on a GPU.
#ifdef NINE_CUDA_ON_HOST
#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "checks/values.h"
#include "core/caller_stream.h"
#include "core/ops.h"
#include "core/profile.h"
#include "tests/cuda/small_training.h"
#include "tests/cuda_on_host/card.h"
#include "tests/cuda_on_host/memory.h"
#include "tests/cuda_on_host/probe.h"
#include "tests/support/support.h"

using namespace nine;
using namespace nine::checks;
using namespace nine::tests;

namespace {

// Whether `work` ends its process by a signal, or with an exit status that is not 0.
bool is_fatal(void (*work)()) {
  const pid_t child = fork();
  if (child == 0) {
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(0);
    work();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

}  // namespace

TEST_CASE("cuda on the host: what a kernel does wrong is found") {
  using namespace cuda_on_host;
  CHECK(probe_sum(true) == 256 * 255 / 2);
  CHECK(probe_sum(false) != 256 * 255 / 2);  // without its barrier
  CHECK(has(error_of([] { probe_divergent_barrier(); }), "wait at __syncthreads"));
  CHECK(has(error_of([] { probe_divergent_warp(); }), "of the 32 threads of a warp"));
  CHECK(has(error_of([] { probe_shared_overrun(); }), "wrote behind its shared memory"));
  CHECK(has(error_of([] { probe_host_address(); }), "an address of the host's memory"));
  CHECK(has(error_of([] { probe_block_overrun(); }), "wrote behind a block"));
}

TEST_CASE("cuda on the host: a graph runs again what was captured") {
  CHECK(cuda_on_host::probe_graph() == 3);
}

TEST_CASE("cuda on the host: of many graphs those used last are kept") {
  CHECK(cuda_on_host::probe_many_graphs(700) <= 512);
}

TEST_CASE("cuda on the host: a warm training step asks for no memory, of sentences neither") {
  for (const bool sentences : {false, true}) {
    const auto allocations = [&](int64_t steps) {
      const int64_t before = cuda_on_host::counts().allocations;
      train_on(kGpu, "mix:2*lin,rbf", DType::float32, steps, {.sentences = sentences});
      return cuda_on_host::counts().allocations - before;
    };
    allocations(2);
    CHECK(allocations(12) == allocations(4));
  }
}

TEST_CASE("cuda on the host: the profile has what an op takes on the device") {
  const Tensor a({40, 30}, DType::float32, kGpu), b({30, 20}, DType::float32, kGpu),
      c({40, 20}, DType::float32, kGpu);
  profile::reset();
  profile::enable(true, kGpu);
  for (int i = 0; i < 3; ++i) ops::matmul(a, false, b, false, {c.view()});
  ops::fill(c, 1);
  profile::enable(false);
  const auto entries = profile::entries();
  profile::reset();
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].op == "matmul");  // one product; the clock of the stand-in counts them
  CHECK(entries[0].calls == 3);
  CHECK(entries[0].seconds == doctest::Approx(3e-6));
  CHECK(entries[1].seconds == doctest::Approx(1e-6));
}

TEST_CASE("cuda on the host: a pool takes the share of memory that the environment says") {
  const auto capacity_with = [](const char* share) {
    setenv("NINE_CUDA_MEMORY", share, 1);
    Arena arena("shared", kGpu);
    const std::string error = error_of([&] { arena.saved({1}, DType::float32); });
    unsetenv("NINE_CUDA_MEMORY");
    return std::pair(arena.capacity(), error);
  };
  CHECK(capacity_with("0.0078125").first == cuda_on_host::CardMemory::kBytes / 128);
  CHECK(capacity_with("1").second.empty());
  for (const char* wrong : {"", "0", "-1", "1.5", "nan", "half", "0.1x"})
    CHECK(has(capacity_with(wrong).second, "must be a share of the GPU's memory"));
}

TEST_CASE("cuda on the host: a pool is sized when it is first used, after the optimiser's state") {
  constexpr auto kAll = static_cast<int64_t>(cuda_on_host::CardMemory::kBytes);
  Arena arena("step", kGpu);
  CHECK(arena.capacity() == 0);
  // Weights, gradients and Adam's means, 16 bytes a weight, that fill 60% of the card.
  std::vector<Tensor> state;
  for (int i = 0; i < 4; ++i) state.emplace_back(Shape{kAll * 15 / 100 / 4}, DType::float32, kGpu);
  const Tensor x = arena.saved({100}, DType::float32);
  ops::fill(x, 1);
  CHECK(static_cast<int64_t>(arena.capacity()) < kAll * 31 / 100);
  CHECK(static_cast<int64_t>(arena.capacity()) > kAll * 25 / 100);
  CHECK(x.to_vector() == Doubles(100, 1.0));
}

TEST_CASE("cuda on the host: ops of two threads of the host on one card take turns") {
  // Sums and gradients of embeddings use scratch memory, uploads the staging memory, products
  // cuBLAS's handle.
  const auto work = [](uint64_t seed) {
    const std::vector<Doubles> values = random_values({{{30, 20}}, {{20, 10}}}, seed);
    const Tensor ids = tensor_of(random_indices({{{30}, 0, 7}}, seed)[0], {30});
    std::vector<Doubles> seen;
    for (int i = 0; i < 30; ++i) {
      const Tensor a = to_device(tensor_of(values[0], {30, 20}, DType::float32), kGpu),
                   b = to_device(tensor_of(values[1], {20, 10}, DType::float32), kGpu),
                   c({30, 10}, DType::float32, kGpu), sum({}, DType::float64, kGpu),
                   rows({7, 10}, DType::float32, kGpu), words = to_device(ids, kGpu);
      ops::matmul(a, false, b, false, {c.view()});
      ops::sum_squares(c, sum);
      ops::fill(rows, 0);
      ops::embedding_backward(c, words, rows);
      seen.push_back(c.to_vector());
      seen.push_back(sum.to_vector());
      seen.push_back(rows.to_vector());
    }
    return seen;
  };
  const std::vector<Doubles> expected[] = {work(1), work(2)};
  std::vector<Doubles> seen[2];
  std::string errors[2];
  {
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 2; ++t)
      threads.emplace_back(
          [&, t] { errors[t] = error_of([&] { seen[t] = work(static_cast<uint64_t>(t + 1)); }); });
    for (std::thread& thread : threads) thread.join();
  }
  for (size_t t = 0; t < 2; ++t) {
    CHECK_MESSAGE(errors[t].empty(), errors[t]);
    CHECK(seen[t] == expected[t]);
  }
}

TEST_CASE("cuda on the host: CUDA's current device stays the one that the program has chosen") {
  const auto current = [] {
    int device = -1;
    CHECK(cudaGetDevice(&device) == cudaSuccess);
    return device;
  };
  const Device second{DeviceKind::cuda, 1};
  REQUIRE(current() == 0);
  {
    const cuda::CallerStream within(1, nullptr);
    CHECK(current() == 0);
    const Tensor t({3}, DType::float32, second);
    ops::fill(t, 2);
    CHECK(current() == 0);
    CHECK(t.to_vector() == Doubles(3, 2.0));
    CHECK(error_of([&] { Tensor({int64_t{1} << 40}, DType::float32, second); }) != "");
    CHECK(current() == 0);
  }
  CHECK(current() == 0);
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  const Tensor t({3}, DType::float32, kGpu);
  CHECK(current() == 1);
  CHECK(cudaSetDevice(0) == cudaSuccess);
}

TEST_CASE("cuda on the host: work waits until the host does") {
  using namespace cuda_on_host;
  const Deferred seen = probe_deferred();
  CHECK(seen.before == 0);
  CHECK(seen.after == 1);
  CHECK(probe_staging_overwritten() == 2);  // too early: the copy had not begun
  CHECK(std::isnan(probe_freed()));
}

TEST_CASE("cuda on the host: what a call of CUDA must not be given is found") {
  using namespace cuda_on_host;
  CHECK(error_of([] { probe_overlapping_copy(4); }).empty());
  CHECK(error_of([] { probe_overlapping_copy(0); }).empty());  // rows between the other's rows
  CHECK(has(error_of([] { probe_overlapping_copy(1); }), "source and destination overlap"));
  CHECK(has(error_of([] { probe_free_in_capture(); }), "was freed while a stream captures"));
  CHECK(has(error_of([] { probe_pageable_copy_in_capture(); }), "a copy of pageable memory while"));
  CHECK(has(error_of([] { probe_stale_replay(); }), "or it was freed"));
  CHECK(is_fatal(probe_misaligned));
}

TEST_CASE("cuda on the host: two cards keep to themselves") {
  using namespace cuda_on_host;
  CHECK(has(error_of([] { probe_other_card(); }), "an address of another GPU"));
  CHECK(has(error_of([] { probe_other_current_card(); }), "invalid resource handle"));
  CHECK(error_of([] { probe_card_chosen_elsewhere(); }).empty());
}

TEST_CASE("cuda on the host: cuBLAS checks what it is given") {
  using namespace cuda_on_host;
  CHECK(error_of([] { probe_wrong_product("nothing"); }).empty());
  CHECK(has(error_of([] { probe_wrong_product("lda"); }), "[probe] cuBLAS: status 7"));
  CHECK(has(error_of([] { probe_wrong_product("alignment"); }), "[probe] cuBLAS: status 7"));
  CHECK(has(error_of([] { probe_wrong_product("range"); }), "leave their block of device memory"));
  CHECK(has(error_of([] { probe_wrong_product("card"); }), "[probe] cuBLAS: status 11"));
  CHECK(has(error_of([] { probe_wrong_product("host"); }), "an address of the host's memory"));
}
#endif
