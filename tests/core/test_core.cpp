// The basic types: shapes, tensors, pools, threads, element types,
// errors, the profile.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/arena.h"
#include "core/error.h"
#include "core/json.h"
#include "core/ops.h"
#include "core/profile.h"
#include "core/random.h"
#include "core/scratch.h"
#include "core/tensor.h"
#include "core/threads.h"
#include "cuda/cuda.h"
#include "tests/support/support.h"

namespace nine::tests::test_core {
namespace {

std::byte* address(const Tensor& t) { return static_cast<std::byte*>(t.view().data); }

struct ThreadsAgain {
  int before = threads();
  ~ThreadsAgain() { set_threads(before); }
};

}  // namespace

// --- shapes and tensors

TEST_CASE("shape: sizes, matrix view and text") {
  const Shape s{2, 3, 4};
  CHECK(s.rank() == 3);
  CHECK(s.elements() == 24);
  CHECK(s.rows() == 6);
  CHECK(s.cols() == 4);
  CHECK(s[-1] == 4);
  CHECK(s[0] == 2);
  CHECK(to_text(s) == "(2, 3, 4)");
  CHECK(s.with_cols(7) == Shape{2, 3, 7});
  CHECK(s != Shape{2, 12});
  CHECK(Shape{}.elements() == 1);
  CHECK(Shape{}.rows() == 1);
  CHECK(Shape{5}.rows() == 1);
  CHECK(Shape{0, 5}.elements() == 0);
  CHECK(to_text(Shape{}) == "()");
  CHECK_THROWS_WITH_AS((Shape{1, 1, 1, 1, 1, 1, 1}),
                       doctest::Contains("at most 6 dimensions, not 7"), Error);
  CHECK_THROWS_WITH_AS((Shape{2, -1}), doctest::Contains("dimension 1 of a shape is negative: -1"),
                       Error);
}

TEST_CASE("shape: bytes that cannot be counted are an error") {
  constexpr int64_t k59 = int64_t{1} << 59, k60 = int64_t{1} << 60, k31 = int64_t{1} << 31;
  CHECK(Shape{k59}.elements() == k59);  // 2^62 bytes of float64
  CHECK(Shape{2, k31, k31 / 16}.elements() == k59);
  const char* const why = "has more bytes than 64 bits can count";
  CHECK_THROWS_WITH_AS((Shape{k60}), doctest::Contains(why), Error);  // 2^63
  CHECK_THROWS_WITH_AS((Shape{k60 * 2, 8}),
                       "a shape of (2305843009213693952, 8) has more bytes than 64 bits can count",
                       Error);                                                     // 2^64 elements
  CHECK_THROWS_WITH_AS((Shape{k31, k31, k31, 0}), doctest::Contains(why), Error);  // rows() too
  CHECK_THROWS_WITH_AS((Shape{k31, 1}.with_cols(k31)), doctest::Contains(why), Error);
}

TEST_CASE("tensor: owned memory is zero and aligned, copies share it, clones do not") {
  const Tensor t({3, 5}, DType::float32);
  CHECK(reinterpret_cast<uintptr_t>(t.view().data) % 64 == 0);
  for (const double x : t.to_vector()) CHECK(x == 0);
  const Tensor same = t, other = t.clone();  // NOLINT(performance-unnecessary-copy-initialization):
                                             // the copy is what is tested
  t.data<float>()[4] = 2;
  CHECK(same.data<float>()[4] == 2);
  CHECK(other.data<float>()[4] == 0);
  CHECK_FALSE(static_cast<bool>(Tensor()));
  CHECK(static_cast<bool>(Tensor({0, 4}, DType::float32)));
  CHECK_THROWS_WITH_AS(t.data<double>(), doctest::Contains("float32 was read as float64"), Error);
  CHECK_THROWS_WITH_AS(Tensor::from<float>({1, 2, 3}, {2, 2}),
                       doctest::Contains("3 values do not fill (2, 2)"), Error);
}

TEST_CASE("tensor: windows keep the memory alive and read as what they show") {
  Tensor window;
  {
    const Tensor whole = Tensor::from<int32_t>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {3, 4});
    window = whole.row_range(1, 2).col_range(1, 2);
  }
  CHECK(window.shape() == Shape{2, 2});
  CHECK(window.view().ld == 4);
  CHECK_FALSE(window.view().contiguous());
  CHECK(window.to_vector() == std::vector<double>{5, 6, 9, 10});
  CHECK(window.clone().view().contiguous());
  CHECK(window.clone().to_vector() == window.to_vector());
  CHECK(window.row_range(1, 1).view().contiguous());  // one row has no gaps
  CHECK(window.row_range(1, 1).reshaped({2, 1}).to_vector() == std::vector<double>{9, 10});
  CHECK(window.reshaped({1, 2, 2}).to_vector() == window.to_vector());  // the rows stay rows
  CHECK_THROWS_WITH_AS(window.reshaped({4}), doctest::Contains("(2, 2) cannot be seen as (4)"),
                       Error);
  CHECK_THROWS_AS(window.reshaped({3, 2}), Error);
  CHECK_THROWS_WITH_AS(window.row_range(1, 2),
                       doctest::Contains("rows [1, 1 + 2) of a tensor of shape (2, 2)"), Error);
  CHECK_THROWS_WITH_AS(window.col_range(-1, 2), doctest::Contains("columns [-1, -1 + 2)"), Error);
  CHECK_THROWS_AS(Tensor({2, 2, 2}, DType::float32).row_range(0, 1), Error);
  CHECK(window.row_range(2, 0).elements() == 0);
}

TEST_CASE("tensor: a view of somebody's memory shares it and keeps its owner") {
  auto memory = std::make_shared<std::vector<float>>(24);
  for (size_t i = 0; i < memory->size(); ++i) (*memory)[i] = static_cast<float>(i);
  const std::weak_ptr<void> watch = memory;
  Tensor window;
  {
    const std::vector<int64_t> strides{12, 4, 1};  // rows of 3, a gap of 1 behind each
    const Tensor t = Tensor::view_of(memory->data(), DType::float32, {2, 3, 3}, strides, memory);
    CHECK(t.view().data == memory->data());
    CHECK(t.view().ld == 4);
    CHECK(t.to_vector()[8] == 10);
    CHECK(t.to_vector()[9] == 12);
    t.data<float>()[0] = 7;
    window = t.reshaped({6, 3}).row_range(5, 1);
  }
  CHECK((*memory)[0] == 7);
  memory.reset();
  CHECK_FALSE(watch.expired());
  CHECK(window.to_vector() == std::vector<double>{20, 21, 22});
  window = {};
  CHECK(watch.expired());
}

TEST_CASE("tensor: a view of somebody's memory has the strides of a View, or is an Error") {
  std::vector<double> memory(64);
  const auto view = [&](const Shape& shape, const std::vector<int64_t>& strides) {
    return Tensor::view_of(memory.data(), DType::float64, shape, strides, nullptr);
  };
  CHECK(view({2, 3}, {}).view().ld == 3);
  CHECK(view({2, 3}, {8, 1}).view().ld == 8);
  CHECK(view({1, 3}, {99, 1}).view().ld == 3);  // one row may have any distance
  CHECK(view({4, 1}, {5, 77}).view().ld == 5);  // and one column any stride
  CHECK(view({2, 1, 3}, {8, 1, 1}).view().ld == 8);
  CHECK(view({}, {}).elements() == 1);
  CHECK(view({0, 3}, {1, 2}).elements() == 0);
  for (const auto& strides :
       std::vector<std::vector<int64_t>>{{1, 2}, {0, 1}, {-3, 1}, {2, 1}, {3, 2}, {3, 0}}) {
    CAPTURE(strides[0]);
    CHECK_THROWS_WITH_AS(view({2, 3}, strides), doctest::Contains("make a contiguous copy"), Error);
  }
  CHECK_THROWS_WITH_AS(view({2, 2, 3}, {13, 6, 1}),
                       doctest::Contains("strides (13, 6, 1) of a shape of (2, 2, 3)"), Error);
  CHECK_THROWS_WITH_AS(view({2, 3}, {1}), doctest::Contains("1 strides for a shape of (2, 3)"),
                       Error);
  CHECK_THROWS_WITH_AS(Tensor::view_of(nullptr, DType::float32, {2}, {}, nullptr),
                       doctest::Contains("no memory for 2 elements"), Error);
  auto* odd = reinterpret_cast<char*>(memory.data()) + 2;
  CHECK_THROWS_WITH_AS(Tensor::view_of(odd, DType::float32, {2}, {}, nullptr),
                       doctest::Contains("not a multiple of the 4 bytes of float32"), Error);
}

TEST_CASE("element types and devices have names, and a wrong one lists them") {
  for (const DType t : kDTypes) CHECK(dtype_from_text(to_text(t)) == t);
  CHECK_THROWS_WITH_AS(
      dtype_from_text("half"),
      doctest::Contains("'half'; write float32, float64, bfloat16, int32, int64 or "), Error);
  CHECK(device_from_text("cpu") == kCpu);
  CHECK(device_from_text("cuda") == Device{DeviceKind::cuda, 0});
  CHECK(to_text(device_from_text("cuda:3")) == "cuda:3");
  for (const char* bad : {"", "gpu", "cuda:", "cuda:-1", "cuda:x", "cuda:1x", "cuda:99999"})
    CHECK_THROWS_AS(device_from_text(bad), Error);
  if (!cuda::built())
    CHECK_THROWS_WITH_AS(Tensor({2}, DType::float32, {DeviceKind::cuda, 0}),
                         doctest::Contains("this build has no CUDA"), Error);
}

TEST_CASE("bfloat16: exact ones survive, others go to the nearest, ties to even") {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    bfloat16 b;
    b.bits = static_cast<uint16_t>(bits);
    const float x = static_cast<float>(b);
    if (std::isnan(x)) {
      REQUIRE(std::isnan(static_cast<float>(bfloat16(x))));
    } else {
      REQUIRE(bfloat16(x).bits == bits);
    }
  }
  const auto rounded = [](uint32_t u) { return bfloat16(std::bit_cast<float>(u)).bits; };
  CHECK(rounded(0x3f808000) == 0x3f80);  // a tie, the even neighbour is below
  CHECK(rounded(0x3f818000) == 0x3f82);  // a tie, the even neighbour is above
  CHECK(rounded(0x3f807fff) == 0x3f80);
  CHECK(rounded(0x3f808001) == 0x3f81);
  CHECK(rounded(0xbf808001) == 0xbf81);
  CHECK(rounded(0x7f7fffff) == 0x7f80);  // the largest float is nearest to infinity
  CHECK(rounded(0x7f800000) == 0x7f80);
  CHECK((rounded(0x7f800001) & 0x7f) != 0);  // a NaN whose payload would be cut off stays one
  CHECK(rounded(0x80000000) == 0x8000);
  for (uint64_t i = 0; i < 10000; ++i) {
    const float x = (2 * random_uniform({.seed = 2}, i) - 1) * 100,
                y = static_cast<float>(bfloat16(x));
    REQUIRE(std::abs(y - x) <= std::abs(x) / 256);
  }
}

// --- pools

TEST_CASE("arena: saved memory grows from one end and is released in reverse") {
  Arena arena("test", kCpu, 1 << 20);
  const Tensor a = arena.saved({3}, DType::float32);
  const Arena::Mark mark = arena.saved_mark();
  const Tensor b = arena.saved({100}, DType::float64);
  CHECK(address(b) - address(a) == 64);
  CHECK(reinterpret_cast<uintptr_t>(address(b)) % 64 == 0);
  arena.release_saved(mark);
  CHECK(address(arena.saved({5}, DType::float32)) == address(b));
  CHECK_THROWS_WITH_AS(arena.release_saved(1 << 19), doctest::Contains("out of order"), Error);
  CHECK(arena.saved({}, DType::float32).elements() == 1);
  CHECK(address(arena.saved({0}, DType::float32)) != nullptr);
}

TEST_CASE("arena: temporaries come from the other end and end with their Scope") {
  Arena arena("test", kCpu, 1 << 20);
  CHECK_THROWS_WITH_AS(arena.temporary({4}, DType::float32),
                       doctest::Contains("outside of a Scope"), Error);
  std::byte* first = nullptr;
  {
    const Arena::Scope outer(arena);
    first = address(arena.temporary({4}, DType::float32));
    std::byte* second = nullptr;
    {
      const Arena::Scope inner(arena);
      second = address(arena.temporary({4}, DType::float32));
      CHECK(first - second == 64);
    }
    CHECK(address(arena.temporary({4}, DType::float32)) == second);
    CHECK_THROWS_WITH_AS(arena.block({4}, DType::float32), doctest::Contains("inside a Scope"),
                         Error);
  }
  const Arena::Scope again(arena);
  CHECK(address(arena.temporary({4}, DType::float32)) == first);
}

TEST_CASE("arena: blocks are reused by size class and waste at most a quarter") {
  Arena arena("test", kCpu, 64 << 20);
  const Tensor a = arena.block({100}, DType::float32), b = arena.block({100}, DType::float32);
  CHECK(address(a) != address(b));
  arena.free_block(a);
  const Tensor c = arena.block({99}, DType::float32);
  CHECK(address(c) == address(a));
  arena.free_block(b);
  {
    const Arena::Scope scope(arena);  // never inside a Scope, even where the free list could serve
    CHECK_THROWS_AS(arena.block({100}, DType::float32), Error);
  }
  // From one fresh block to the next: its size.
  Arena sizes("sizes", kCpu, 256 << 20);
  std::byte* before = address(sizes.block({16}, DType::float32));
  for (int64_t lines = 1; lines < 2000; lines += lines < 70 ? 1 : 37) {
    const int64_t bytes = lines * 64;
    std::byte* p = address(sizes.block({bytes / 4}, DType::float32));
    const int64_t size = before - p;
    REQUIRE(size >= bytes);
    REQUIRE(size <= bytes + bytes / 4);
    before = p;
  }
}

TEST_CASE("arena: live pointers never move and do not overlap") {
  Arena arena("test", kCpu, 8 << 20);
  RandomStream random({.seed = 4});
  struct Live {
    Tensor t;
    int32_t tag;
  };
  std::vector<Live> live;
  int32_t tag = 0;
  for (int i = 0; i < 2000; ++i) {
    const bool give_back = !live.empty() && (live.size() > 60 || random.below(3) == 0);
    if (give_back) {
      const size_t k = random.below(live.size());
      const Tensor t = live[k].t;
      for (int64_t e = 0; e < t.elements(); ++e) REQUIRE(t.data<int32_t>()[e] == live[k].tag);
      arena.free_block(t);
      live.erase(live.begin() + static_cast<long>(k));
    } else {
      const Tensor t = arena.block({static_cast<int64_t>(1 + random.below(3000))}, DType::int32);
      ops::fill(t, ++tag);
      live.push_back({t, tag});
    }
  }
}

TEST_CASE("errors: a NUL in quoted input does not end the message; sizes in the unit that fits") {
  const Error error(std::string("no kernel 'a\0b'; see", 20));
  CHECK(std::string(error.what()) == "no kernel 'a\\0b'; see");
  CHECK(bytes_text(0) == "0 bytes");
  CHECK(bytes_text(1023) == "1023 bytes");
  CHECK(bytes_text(1025) == "2 KiB");
  CHECK(bytes_text(3 << 20) == "3 MiB");
}

TEST_CASE("arena: out of memory names the pool, the request, the peak and the way out") {
  Arena arena("step", kCpu, 8 << 20);
  const auto mebibytes = [](int64_t n) { return Shape{n << 18}; };  // float32 elements
  arena.saved(mebibytes(5), DType::float32);
  const Arena::Mark mark = arena.saved_mark();
  arena.saved(mebibytes(2), DType::float32);
  arena.release_saved(mark);
  const std::string text = error_of([&] { arena.saved(mebibytes(4), DType::float32); });
  CHECK(has(text, "the pool 'step' on cpu holds 8 MiB"));
  CHECK(has(text, "5 MiB are in use (peak 7 MiB)"));
  CHECK(has(text, "4 MiB more were requested"));
  CHECK(has(text, "smaller batches need less"));
  CHECK(arena.peak_bytes() == 7 << 20);
  // After the failed request the pool still works. What either end has taken is no longer free for
  // the other.
  CHECK_NOTHROW(arena.saved(mebibytes(1), DType::float32));
  CHECK_THROWS_AS(arena.block(mebibytes(3), DType::float32), Error);
  const Arena::Scope scope(arena);
  CHECK_THROWS_AS(arena.temporary(mebibytes(3), DType::float32), Error);
  CHECK_NOTHROW(arena.temporary(mebibytes(2), DType::float32));
}

TEST_CASE("arena: a step's tensors are an Error after the step") {
  Arena arena("step", kCpu, 1 << 20);
  const Tensor t = arena.saved({2, 3}, DType::float32), block = arena.block({4}, DType::float32),
               window = t.row_range(0, 1);
  ops::fill(t, 3);
  const Tensor kept = t.clone();
  arena.reset();
  CHECK(arena.generation() == 2);
  const std::string text = error_of([&] { (void)t.view(); });
  CHECK(has(text, "a tensor of shape (2, 3) was used after its step"));
  CHECK(has(text, "'step'"));
  CHECK(has(text, "clone()"));
  CHECK_THROWS_AS(ops::fill(window, 1), Error);
  CHECK_THROWS_AS(arena.free_block(block), Error);
  CHECK_THROWS_AS(t.to_vector(), Error);
  CHECK(kept.to_vector() == std::vector<double>(6, 3.0));
  // Free lists were emptied too: the next blocks are fresh ones, each its own.
  const Tensor a = arena.block({4}, DType::float32), b = arena.block({4}, DType::float32);
  CHECK(address(a) != address(b));
  CHECK_NOTHROW(ops::fill(a, 1));
}

TEST_CASE("arena: by default it reserves address space, not memory") {
  const Arena arena("wide");
  CHECK(arena.capacity() > size_t{1} << 30);
  CHECK(arena.peak_bytes() == 0);
}

TEST_CASE("scratch: kept per use, aligned, larger on demand") {
  float* a = scratch<float>(Scratch::gemm_b, 100);
  CHECK(reinterpret_cast<uintptr_t>(a) % 64 == 0);
  CHECK(scratch<float>(Scratch::gemm_b, 50) == a);
  CHECK(static_cast<void*>(scratch<double>(Scratch::tile, 50)) != static_cast<void*>(a));
  float* large = scratch<float>(Scratch::gemm_b, 1 << 20);
  large[(1 << 20) - 1] = 1;
}

// --- threads

TEST_CASE("threads: every task runs once, whatever the number of threads") {
  const ThreadsAgain again;
  CHECK(physical_cores() >= 1);
  CHECK(threads() >= 1);
  for (const int n : {1, 2, 3, 7}) {
    set_threads(n);
    CHECK(threads() == n);
    for (const int64_t tasks : {0, 1, 2, 100}) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(tasks));
      parallel_for(tasks, [&](int64_t i) { ++runs[static_cast<size_t>(i)]; });
      for (const auto& r : runs) CHECK(r == 1);
    }
  }
  CHECK_THROWS_WITH_AS(set_threads(0), doctest::Contains("from 1 to 4096, not 0"), Error);
  CHECK_THROWS_AS(set_threads(-3), Error);
}

TEST_CASE("threads: pieces follow the grain, not the threads") {
  const ThreadsAgain again;
  for (const int n : {1, 3}) {
    set_threads(n);
    for (const int64_t size : {0, 1, 9, 10, 11, 35}) {
      std::vector<std::atomic<int64_t>> ends(4);
      for (auto& e : ends) e = -1;
      parallel_ranges(size, 10, [&](int64_t begin, int64_t end) {
        REQUIRE(begin % 10 == 0);
        ends[static_cast<size_t>(begin / 10)] = end;
      });
      for (int64_t i = 0; i < 4; ++i)
        CHECK(ends[static_cast<size_t>(i)] == (i * 10 < size ? std::min(size, i * 10 + 10) : -1));
    }
  }
}

TEST_CASE("threads: the lowest failing task's exception comes out, and the next loop works") {
  const ThreadsAgain again;
  for (const int n : {1, 2, 3}) {
    set_threads(n);
    CAPTURE(n);
    const std::string text = error_of([] {
      parallel_for(50, [](int64_t i) {
        if (i == 7 || i == 30 || i == 49) fail("task ", i);
      });
    });
    CHECK(text == "task 7");
    std::atomic<int> count = 0;
    parallel_for(10, [&](int64_t) { ++count; });
    CHECK(count == 10);
  }
}

TEST_CASE("threads: a loop inside a task runs serially on its thread") {
  const ThreadsAgain again;
  set_threads(3);
  std::atomic<int> count = 0;
  parallel_for(6, [&](int64_t) {
    int64_t expected = 0;
    parallel_for(5, [&](int64_t i) {
      if (i != expected++) count = -1000;
      ++count;
    });
  });
  CHECK(count == 30);
}

TEST_CASE("threads: every task of a round runs once, after all tasks of the round before") {
  const ThreadsAgain again;
  for (const int n : {1, 2, 3, 5}) {
    set_threads(n);
    for (const int64_t tasks : {0, 1, 2, 7}) {
      constexpr int64_t kRounds = 200;
      std::vector<int64_t> written(static_cast<size_t>(tasks),
                                   -1);  // plain: the rounds must order what they write
      std::atomic<int> early = 0, runs = 0;
      parallel_rounds(kRounds, tasks, [&](int64_t round, int64_t task) {
        ++runs;
        if (written[static_cast<size_t>(task)] != round - 1) ++early;
        written[static_cast<size_t>(task)] = round;
      });
      CHECK(early == 0);
      CHECK(runs == kRounds * tasks);
      std::vector<int64_t> turns(2 * static_cast<size_t>(tasks),
                                 0);  // a round reads what another task wrote in the last one
      parallel_rounds(kRounds, tasks, [&](int64_t round, int64_t task) {
        const int64_t *before = turns.data() + (round + 1) % 2 * tasks,
                      neighbour = before[(task + 1) % tasks];
        turns[static_cast<size_t>(round % 2 * tasks + task)] = neighbour + 1;
      });
      for (int64_t i = 0; i < tasks; ++i)
        CHECK(turns[static_cast<size_t>((kRounds - 1) % 2 * tasks + i)] == kRounds);
    }
  }
}

TEST_CASE("threads: what a task of a round throws reaches the caller; later tasks are left out") {
  const ThreadsAgain again;
  for (const int n : {1, 2, 3, 5}) {
    set_threads(n);
    std::atomic<int> later = 0;
    const auto loop = [&] {
      parallel_rounds(20, 4, [&](int64_t round, int64_t task) {
        if (round == 3 && task == 2) fail("round 3");
        later += round > 3;
      });
    };
    CHECK_THROWS_WITH_AS(loop(), "round 3", Error);
    CHECK(later == 0);
    std::atomic<int> count = 0;
    parallel_for(10, [&](int64_t) { ++count; });  // the threads work on
    CHECK(count == 10);
  }
}

TEST_CASE("threads: an open team runs loops as regions do; its number cannot be raised") {
  const ThreadsAgain again;
  for (const int n : {1, 2, 3, 5}) {
    set_threads(n);
    bool ran = false;
    in_team([&] {
      ran = true;
      for (int loop = 0; loop < 50; ++loop) {
        std::atomic<int> count = 0;
        std::atomic<int> most = 0, now = 0;
        parallel_for(20, [&](int64_t) {
          const int running = ++now;
          for (int seen = most; running > seen && !most.compare_exchange_weak(seen, running);) {
          }
          ++count;
          --now;
        });
        CHECK(count == 20);
        CHECK(most <= n);
      }
      in_team([&] { CHECK(threads() == n); });  // the same team
      if (n == 1) return;
      CHECK_THROWS_WITH_AS(set_threads(n + 1), doctest::Contains("cannot be raised to"), Error);
      set_threads(n - 1);
      CHECK(threads() == n - 1);
      set_threads(n);
      std::atomic<int> count = 0;
      std::thread([&] { parallel_for(20, [&](int64_t) { ++count; }); }).join();
      CHECK(count == 20);
    });
    CHECK(ran);
    CHECK_THROWS_WITH_AS(
        in_team([] { parallel_for(9, [](int64_t i) { require(i != 4, "task 4"); }); }), "task 4",
        Error);
    set_threads(7);  // the team has ended
  }
}

TEST_CASE("threads: a child of fork runs its loops, serially") {
  const ThreadsAgain again;
  set_threads(3);
  const auto child_counts = [] {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      std::atomic<int> count = 0;
      parallel_for(20, [&](int64_t) { ++count; });
      parallel_rounds(5, 4, [&](int64_t, int64_t) { ++count; });
      _exit(count == 40 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
  };
  parallel_for(20, [](int64_t) {});
  CHECK(child_counts() == 0);
  in_team([&] { CHECK(child_counts() == 0); });
}

TEST_CASE("threads: several threads of a program may run loops at the same time") {
  const ThreadsAgain again;
  set_threads(3);
  std::atomic<int> count = 0;
  std::vector<std::thread> users;
  for (int u = 0; u < 3; ++u)
    users.emplace_back([&] {
      for (int i = 0; i < 200; ++i) parallel_for(5, [&](int64_t) { ++count; });
    });
  for (std::thread& u : users) u.join();
  CHECK(count == 3000);
}

// --- JSON

TEST_CASE("parse_json_object: what is nested too deeply for recursion is no object") {
  const auto nested = [](int levels, bool objects) {
    std::string text = R"({"before":[{}],"a":)";
    for (int i = 1; i < levels; ++i) text += objects ? R"({"a":)" : "[";
    return text + '1' + std::string(static_cast<size_t>(levels - 1), objects ? '}' : ']') + '}';
  };
  for (const bool objects : {true, false}) {
    CHECK(parse_json_object(nested(kJsonLevels, objects)).size() == 2);
    CHECK_NOTHROW(parse_json(nested(kJsonLevels, objects)));
    for (const int levels : {kJsonLevels + 1, 200'000}) {
      CHECK(parse_json_object(nested(levels, objects)).is_null());
      CHECK(has(error_of([&] { parse_json(nested(levels, objects)); }),
                "is nested more deeply than 100 levels"));
    }
  }
  CHECK(parse_json_object(R"({"a":1,"a":2})").is_object());
  for (const char* none : {"", "[1]", "1", "{", R"({"a":})", "{} {}"})
    CHECK(parse_json_object(none).is_null());
}

// --- errors and the profile

TEST_CASE("errors: texts of what they are made of") {
  CHECK(concat("a ", 1, ' ', 2.5, " ", true, " ", Shape{2, 3}, " ", DType::int32, " ", kCpu, " ",
               std::string("s"), int64_t{-7}) == "a 1 2.5 true (2, 3) int32 cpu s-7");
  CHECK(concat(0.1) == "0.1");
  CHECK(concat(1e300) == "1e+300");
  CHECK(power_of_e(1, 3) == "2.718");
  CHECK(power_of_e(-1000, 3) == "0.000");
  CHECK(power_of_e(20.7, 3) == "977002725.827");
  CHECK(power_of_e(700, 3) == "1.01423e+304");
  CHECK(power_of_e(812.349, 3) == "e^812.35");
  CHECK(power_of_e(INFINITY, 3) == "inf");
  CHECK(power_of_e(-std::nan(""), 3) == "nan");
  CHECK(fixed(-std::nan(""), 3) == "nan");
  const std::string long_number = fixed(1e308, 100);
  CHECK(long_number.size() == 309 + 1 + 100);
  CHECK(has(long_number, "1000000000000000010979063629440455417"));
  CHECK_NOTHROW(require(true, "never"));
  CHECK(error_of([] { require(1 > 2, "[op] ", 1, " is not above ", 2); }) ==
        "[op] 1 is not above 2");
  CHECK_THROWS_AS(throw UsageError("x"), Error);
}

TEST_CASE(
    "profile: counts calls, operations and bytes, the outer op only, and nothing when it is off") {
  profile::reset();
  const Tensor a({4, 6}, DType::float32), b({6, 5}, DType::float32), c({4, 5}, DType::float32);
  ops::matmul(a, false, b, false, {c});
  CHECK(profile::entries().empty());
  profile::enable(true);
  ops::matmul(a, false, b, false, {c});
  ops::matmul(a, false, b, false, {c});
  {
    const profile::Scope outer("outer", 3, 4);
    ops::fill(c, 1);
  }
  profile::enable(false);
  ops::fill(c, 1);
  const std::vector<profile::Entry> entries = profile::entries();
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].seconds >= entries[1].seconds);
  for (const profile::Entry& e : entries) {
    if (e.op == "matmul") {
      CHECK(e.calls == 2);
      CHECK(e.flops == 2 * 2 * 4 * 6 * 5);
      CHECK(e.bytes == 2 * 4 * (24 + 30 + 20));
    } else {
      CHECK(e.op == "outer");
      CHECK(e.calls == 1);
      CHECK(e.flops == 3);
    }
  }
  profile::reset();
  CHECK(profile::entries().empty());
}

}  // namespace nine::tests::test_core
