// The exchange between processes (docs/scale-out.md), here between threads, and the tree in which
// gradients are summed, both against sums written out.
#include <doctest/doctest.h>

#include <array>

#include "core/ops.h"
#include "core/random.h"
#include "nn/training/process_shares.h"
#include "nn/training/update_gradient.h"
#include "tests/core/thread_ranks.h"
#include "tests/support/support.h"

namespace nine::tests::test_slab_shares {

using tests::Mail;
using tests::ThreadRank;
using tests::with_ranks;

namespace {

std::vector<float> numbers(int64_t n, uint32_t which) {
  RandomStream random({.seed = 4, .step = which});
  std::vector<float> out;
  for (int64_t i = 0; i < n; ++i)
    out.push_back(static_cast<float>(random.below(1U << 30)) * (i % 3 == 0 ? 1.0F : -1e-3F));
  return out;
}

// The tree's sum of one element of each slot [first, end), of which those before `count` have data.
float tree_sum(const std::vector<std::vector<float>>& slots, size_t element, size_t first,
               size_t end, size_t count) {
  if (end - first == 1) return slots[first][element];
  const size_t middle = first + (end - first) / 2;
  const float left = tree_sum(slots, element, first, middle, count);
  return middle >= count ? left : left + tree_sum(slots, element, middle, end, count);
}

}  // namespace

TEST_CASE("communicator: broadcast, gathered parts and texts, for any number of ranks") {
  for (const int size : {1, 2, 3, 4, 5, 8}) {
    CAPTURE(size);
    std::vector<int> right(static_cast<size_t>(size));
    with_ranks(size, [&](Communicator& c) {
      const auto rank = static_cast<size_t>(c.rank()), all = static_cast<size_t>(size);
      std::vector<int32_t> parts(all, -1);
      parts[rank] = 10 * c.rank();
      c.all_gather(parts.data(), sizeof parts[0]);
      bool good = true;
      for (size_t r = 0; r < all; ++r) good = good && parts[r] == static_cast<int>(10 * r);
      const std::vector<std::string> texts = c.all_gather(std::string(rank, 'x'));
      for (size_t r = 0; r < all; ++r) good = good && texts[r] == std::string(r, 'x');
      const std::string long_text(5 << 20, 'y');  // in more than one message
      good = good && c.broadcast(c.first() ? long_text : "") == long_text;
      good = good && c.any(c.rank() == size - 1) && !c.any(false);
      right[rank] = good ? 1 : 0;
    });
    for (const int r : right) CHECK(r == 1);
  }
}

TEST_CASE("slab shares: cover the slab, sum in the order of the tree, and gather again" *
          doctest::test_suite("check")) {
  for (const int64_t elements :
       {int64_t{7}, int64_t{32768}, 5 * int64_t{32768} + 100, 41 * int64_t{32768} + 1})
    for (const int size : {1, 2, 4, 8})
      for (const int with_data : {size, (size + 1) / 2}) {
        CAPTURE(elements);
        CAPTURE(size);
        CAPTURE(with_data);
        std::vector<std::vector<float>> slots;
        for (int r = 0; r < size; ++r) slots.push_back(numbers(elements, static_cast<uint32_t>(r)));
        std::vector<Tensor> slabs;
        for (const auto& s : slots) slabs.push_back(Tensor::from(s, {elements}));
        Tensor gathered({elements}, DType::float32);
        std::vector<int64_t> covered(static_cast<size_t>(size));
        with_ranks(size, [&](Communicator& c) {
          SlabShares shares(elements, c);
          const Tensor& slab = slabs[static_cast<size_t>(c.rank())];
          shares.reduce_scatter(slab, [&](int rank) { return rank < with_data; });
          covered[static_cast<size_t>(c.rank())] = shares.own().size();
          const Tensor own({shares.own().size()}, DType::float32);
          if (own.elements() > 0) ops::copy(shares.part(slab), own);
          shares.gather(own, c.first() ? gathered.view() : View{});
          shares.all_gather(slab);
        });
        int64_t all = 0, wrong = 0;
        for (const int64_t n : covered) all += n;
        CHECK(all == elements);
        for (int64_t i = 0; i < elements; ++i) {
          const auto e = static_cast<size_t>(i);
          const float expected =
              tree_sum(slots, e, 0, static_cast<size_t>(size), static_cast<size_t>(with_data));
          wrong += gathered.data<float>()[i] != expected;
          for (const Tensor& slab : slabs) wrong += slab.data<float>()[i] != expected;
        }
        CHECK(wrong == 0);
      }
}

TEST_CASE("gradient tree: sums of single precision in its order, empty slots left out") {
  constexpr int64_t kSize = 40;
  for (const int all : {1, 2, 3, 4, 6, 7, 8, 12})
    for (int count = 1; count <= all; ++count) {
      CAPTURE(all);
      CAPTURE(count);
      ParameterSet set;
      Parameter& p = set.add("p", {kSize}, Init::zeros());
      const Tensor own = set.gradients();
      GradientTree tree(set);
      Arena arena("tree");
      std::vector<std::vector<float>> slots;
      for (int i = 0; i < all; ++i) slots.push_back(numbers(kSize, static_cast<uint32_t>(i)));
      std::vector<int> order;
      for (int repeat = 0; repeat < 2; ++repeat) {
        set.zero_grad();
        order.clear();
        tree.sum(0, all, count, arena, [&](int i) {
          CHECK_FALSE(p.has_grad);
          const auto& values = slots[static_cast<size_t>(i)];
          std::copy(values.begin(), values.end(), p.grad().data<float>());
          p.has_grad = true;
          order.push_back(i);
        });
        CHECK(set.gradients().view().data == own.view().data);
        for (size_t e = 0; e < kSize; ++e)
          CHECK(p.grad().data<float>()[e] ==
                tree_sum(slots, e, 0, static_cast<size_t>(all), static_cast<size_t>(count)));
      }
      CHECK(std::ssize(order) == count);
      CHECK(std::is_sorted(order.begin(), order.end()));
    }
}

TEST_CASE("gradient tree: after an error nothing of the sum that it ended is left") {
  ParameterSet set;
  Parameter& p = set.add("p", {4, 2}, Init::zeros());
  p.touched.emplace();  // rows are added to, not overwritten
  GradientTree tree(set);
  Arena arena("tree");
  const auto sum = [&](int failing) {
    set.zero_grad();
    tree.sum(0, 4, 4, arena, [&](int i) {
      p.has_grad = true;
      p.touched->touch(std::array<int32_t, 1>{i}, 4);
      p.grad().data<float>()[2 * i] += 1;
      if (i == failing) fail("micro-batch ", i);
    });
    return p.grad().to_vector();
  };
  const std::vector<double> expected = sum(-1);
  CHECK(expected == std::vector<double>{1, 0, 1, 0, 1, 0, 1, 0});
  for (const int failing : {0, 1, 2, 3}) {
    CAPTURE(failing);
    CHECK(tests::has(tests::error_of([&] { sum(failing); }), "micro-batch"));
    CHECK(sum(-1) == expected);
  }
}

TEST_CASE("micro-batches: shared out among 1, 2, 4 ... processes that divide them") {
  int next = 0;
  with_ranks(1, [&](Communicator& c) {
    const MicroBatchSlots slots = MicroBatchSlots::of(6, &c);
    next = slots.end;
  });
  CHECK(next == 6);
  Mail mail;
  const ThreadRank second(mail, 1, 2), of_four(mail, 0, 4), of_three(mail, 0, 3);
  CHECK(MicroBatchSlots::of(6, &second).first == 3);
  CHECK(MicroBatchSlots::of(6, &second).own() == 3);
  CHECK(tests::has(tests::error_of([&] { MicroBatchSlots::of(6, &of_four); }),
                   "accumulation steps of 6 cannot be shared out among 4 processes"));
  CHECK(tests::has(tests::error_of([&] { MicroBatchSlots::of(6, &of_three); }), "power of two"));
  for (const int wrong : {0, -2, (1 << 16) + 1})
    CHECK(tests::has(tests::error_of([&] { MicroBatchSlots::of(wrong, nullptr); }),
                     concat("accumulation steps of ", wrong, " must be from 1 to 65536")));
}

}  // namespace nine::tests::test_slab_shares
