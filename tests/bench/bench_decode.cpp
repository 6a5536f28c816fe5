// bench_decode: the time of a head in decoding, for a few rows and some mixtures, beside a lower
// bound. For N rows, K components, V words and vectors of d numbers the bound is the longer of
//
//   operations  2 N K (V + d + 1) d, where d is for contexts and 1 for the prior (none for K = 1)
//   bytes       4 (V + K d + K) d, the word vectors once and the contexts' matrices
//
// at the rates that this machine reaches now, in float32 whatever the precision of products. Prints
// a table, and the ratio to K = 1.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "apps/cli/machine.h"
#include "apps/cli/options.h"
#include "apps/cli/run_main.h"
#include "apps/cli/version.h"
#include "apps/training/profile_table.h"
#include "core/instruction_set.h"
#include "core/random.h"
#include "core/threads.h"
#include "kernels/decoding/head_decoder.h"

namespace nine::app {
namespace {

struct BenchOptions {
  int64_t vocab = 10000, dim = 512, k = 10, repeats = 15;
  int threads = 0;
  MatmulPrecision precision = MatmulPrecision::highest;
  double gflops = 0, gbytes = 0;
  bool cpu_time = false;
  std::vector<std::string> heads{"lin", "mix:2*lin", "mix:4*lin", "mix:9*lin"},
      rows{"1", "5", "320"};

  void declare(Options& o) {
    o.add("vocab", vocab, "words").at_least(100);
    o.add("dim", dim, "numbers of a context").at_least(1);
    o.add("heads", heads, "heads, the first of which the others are held against").unit("HEAD...");
    o.add("rows", rows, "contexts at once").unit("N...");
    o.add("k", k, "likeliest words asked for").range(1, 100);
    o.add("repeats", repeats, "measurements of each, heads alternating; the best counts")
        .at_least(1);
    o.add("gflops", gflops,
          "count with so many GFLOP/s; 0: measured now, which a busy machine spoils")
        .at_least(0);
    o.add("gbytes", gbytes, "count with so many GB/s; 0: measured now").at_least(0);
    o.add("cpu-time", cpu_time,
          "measure the process's processor time, not the clock's: with --threads 1 on a busy "
          "machine");
    o.add("threads", threads, "0: OMP_NUM_THREADS, or all physical cores").range(0, 4096);
    add_matmul_precision(o, precision);
  }
};

Tensor random_tensor(const Shape& shape, const char* name, double scale) {
  Tensor t(shape, DType::float32);
  RandomStream random({.seed = 1, .op = stream_id(name)});
  for (int64_t i = 0; i < t.elements(); ++i)
    t.data<float>()[i] = static_cast<float>(scale * (2 * random.uniform() - 1));
  return t;
}

double seconds(bool cpu_time) {
  if (cpu_time) return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Measured {
  HeadDecoder<float> decoder;
  HeadDecoder<float>::Memory memory = {};
  HeadDecoder<float>::Answer answer = {};
  double best = 1e30;
};

double floor_seconds(const HeadSpec& head, int64_t rows, const BenchOptions& o,
                     const MachineRates& machine) {
  const auto n = static_cast<double>(rows), size = static_cast<double>(head.size()),
             v = static_cast<double>(o.vocab), d = static_cast<double>(o.dim);
  const double extra = (head.contexts ? d : 0) + (head.mixture ? 1 : 0);
  const double operations = 2 * n * size * (v + extra) * d,
               bytes = 4 * ((head.untied ? size : 1) * v + size * extra) * d;
  return std::max(operations / machine.flops, bytes / machine.bytes);
}

int bench(const BenchOptions& o) {
  MachineRates machine = o.gflops > 0 && o.gbytes > 0 ? MachineRates{} : measure_machine();
  if (o.gflops > 0) machine.flops = 1e9 * o.gflops;
  if (o.gbytes > 0) machine.bytes = 1e9 * o.gbytes;
  std::printf("%s, %s, %d threads: %.0f GFLOP/s, %.1f GB/s; V = %lld, d = %lld\n\n", kVersionLine,
              to_text(instruction_set()).c_str(), threads(), machine.flops / 1e9,
              machine.bytes / 1e9, static_cast<long long>(o.vocab), static_cast<long long>(o.dim));
  std::printf(
      "| rows | head | ms | floor ms | of the floor | times %s | floors' ratio | over it "
      "|\n|---|---|---|---|---|---|---|---|\n",
      o.heads[0].c_str());
  for (const std::string& count : o.rows) {
    const int64_t rows = std::stoll(count);
    const Tensor h = random_tensor({rows, o.dim}, "h", 1);
    std::vector<HeadSpec> heads;
    std::vector<Tensor> kept;
    std::vector<Measured> measured;
    for (const std::string& text : o.heads) {
      const HeadSpec& head = heads.emplace_back(parse_head(text));
      const double scale = 4 / std::sqrt(static_cast<double>(o.dim));
      kept.push_back(random_tensor({(head.untied ? head.size() : 1) * o.vocab, o.dim}, "w", scale));
      kept.push_back(random_tensor({head.size(), o.dim}, "prior", scale / 4));
      kept.push_back(random_tensor({head.size() * o.dim, o.dim}, "latent", scale / 4));
      HeadValues values{.w = {kept[kept.size() - 3]}};
      if (head.mixture) values.prior = kept[kept.size() - 2];
      if (head.contexts) values.latent = kept.back();
      measured.push_back({HeadDecoder<float>(head, values)});
    }
    for (int64_t repeat = 0; repeat < o.repeats; ++repeat)
      for (Measured& m : measured) {
        const double start = seconds(o.cpu_time);
        m.decoder({.h = h.data<float>(), .rows = rows, .k = o.k}, m.memory, m.answer);
        m.best = std::min(m.best, seconds(o.cpu_time) - start);
      }
    for (size_t i = 0; i < heads.size(); ++i) {
      const double floor = floor_seconds(heads[i], rows, o, machine),
                   ratio = measured[i].best / measured[0].best,
                   floors = floor / floor_seconds(heads[0], rows, o, machine);
      std::printf("| %lld | %s | %.3f | %.3f | %.0f%% | %.2f | %.2f | %.2f |\n",
                  static_cast<long long>(rows), o.heads[i].c_str(), 1e3 * measured[i].best,
                  1e3 * floor, 100 * floor / measured[i].best, ratio, floors, ratio / floors);
    }
  }
  return kExitDone;
}

}  // namespace
}  // namespace nine::app

int main(int argc, char** argv) {
  using namespace nine::app;
  return run_main("bench_decode", [&] {
    Options options("bench_decode", "What a head costs in decoding.", version_text);
    BenchOptions o;
    o.declare(options);
    if (!options.parse(argc, argv)) return kExitDone;
    return on_machine({.threads = o.threads, .precision = o.precision},
                      [&](nine::Device) { return bench(o); });
  });
}
