// bench_mt: the speed and memory of one mt_train step, with the options and most of the output of
// experiments/baselines/torch_mt.py, the same step in PyTorch (docs/performance.md). It runs the
// trainer's own step object on pairs of random words without padding: label smoothing 0.1, Adam, no
// clipping, as in torch_mt.py. With --export-parity it writes steps on random pairs of every length
// for replay in PyTorch instead.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/cli/machine.h"
#include "apps/cli/options.h"
#include "apps/cli/run_main.h"
#include "apps/cli/version.h"
#include "apps/lm_train/lm_options.h"
#include "apps/mt_train/mt_parity_export.h"
#include "apps/training/profile_table.h"
#include "core/instruction_set.h"
#include "core/json.h"
#include "core/profile.h"
#include "core/threads.h"
#include "nn/training/translation_task.h"

namespace nine::app {
namespace {

constexpr int32_t kPad = 1;
constexpr double kLr = 5e-4;

struct BenchOptions {
  int64_t vocab = 10000, dim = 512, ffn = 1024, heads = 4, layers = 6, sentences = 64, length = 24,
          steps = 6, warmup = 2, export_steps = 20, export_warmup = 4000;
  int threads = 0;
  MatmulPrecision precision = MatmulPrecision::highest;
  double dropout = 0.3, clip = 0;
  std::string device = "cpu", dtype = "float32", norm = "post", smoothing = "uniform",
              export_parity;
  bool shared_vocab = false, profile = false;

  void declare(Options& o) {
    o.add("vocab", vocab, "words of each side").at_least(3);
    o.add("dim", dim, "width").at_least(2);
    o.add("ffn", ffn, "width inside of the feed-forward branch").at_least(1);
    o.add("heads", heads, "attention heads").at_least(1);
    o.add("layers", layers, "layers of encoder and of decoder").range(1, 64);
    o.add("sentences", sentences, "pairs a step").at_least(1);
    o.add("length", length, "words of each sentence").at_least(1);
    o.add("steps", steps, "steps measured; the median is reported").at_least(1);
    o.add("warmup", warmup, "steps before those").at_least(0);
    o.add("threads", threads, "0: OMP_NUM_THREADS, or all physical cores").range(0, 4096);
    o.add("device", device, "where to compute");
    add_matmul_precision(o, precision);
    o.add("dtype", dtype, "type of weights and activations").choices({"float32", "float64"});
    o.add("norm", norm, "where layer norms stand").choices({"post", "pre"});
    o.add("dropout", dropout, "on embeddings and residual branches").range_from(0, 1);
    o.add("smoothing", smoothing, "convention of label smoothing")
        .choices(enum_names<LabelSmoothing::Kind>());
    o.add("clip", clip, "largest gradient norm, 0: none").at_least(0);
    o.add("shared-vocab", shared_vocab, "one embedding for both sides");
    o.add("profile", profile, "print what the measured steps' operations cost");
    o.add("export-parity", export_parity, "write steps for replay in PyTorch and stop").unit("DIR");
    o.add("export-steps", export_steps, "how many").at_least(1);
    o.add("export-warmup", export_warmup,
          "over so many updates their rate rises to 5e-4; 0: it is 5e-4 at once")
        .at_least(0);
  }
};

// Pairs of random words; with `ragged` a sentence has 1 to `length` words and padding behind them.
TranslationSource::NextBatch random_pairs(const BenchOptions& o, bool ragged) {
  return [=, random = RandomStream({.seed = 1, .op = stream_id("bench")})](
             TranslationBatch& batch) mutable {
    const auto below = [&](int64_t n) {
      return static_cast<int64_t>(random.below(static_cast<uint64_t>(n)));
    };
    const auto word = [&] { return static_cast<int32_t>(kPad + 1 + below(o.vocab - kPad - 1)); };
    const Shape shape{o.sentences, o.length};
    const Tensor src(shape, DType::int32), tgt_in(shape, DType::int32),
        tgt_out(shape, DType::int32);
    for (int64_t b = 0; b < o.sentences; ++b) {
      const auto row = [&](const Tensor& t) { return t.data<int32_t>() + b * o.length; };
      const auto filled = [&] { return ragged && b > 0 ? 1 + below(o.length) : o.length; };
      const int64_t s = filled(), t = filled();
      for (int64_t i = 0; i < o.length; ++i) {
        row(src)[i] = i < s ? word() : kPad;
        row(tgt_in)[i] = i < t ? word() : kPad;
        row(tgt_out)[i] = i < t ? word() : kPad;
      }
    }
    batch = TranslationBatch::of_padded(src, tgt_in, tgt_out, kPad);
    return true;
  };
}

double median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + static_cast<int64_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

int bench(const BenchOptions& o, Device device) {
  ParameterSet parameters({.dtype = dtype_from_text(o.dtype), .device = device});
  const Transformer model(
      parameters,
      {.src_vocab = o.vocab,
       .tgt_vocab = o.vocab,
       .encoder_layers = o.layers,
       .decoder_layers = o.layers,
       .dim = o.dim,
       .ffn = o.ffn,
       .heads = o.heads,
       .dropout = o.dropout,
       .style = {.norm = enum_from_text<NormOrder>(o.norm)},
       .shared_vocab = o.shared_vocab,
       .head = {.loss = {.smoothing = {0.1, enum_from_text<LabelSmoothing::Kind>(o.smoothing)}}}});
  const OptimizerConfig adam{.beta2 = 0.98};
  TranslationSource data(model, random_pairs(o, !o.export_parity.empty()));
  if (!o.export_parity.empty()) {
    export_mt_parity({.directory = o.export_parity,
                      .steps = o.export_steps,
                      .pad = kPad,
                      .optimizer = adam,
                      .schedule = {.kind = o.export_warmup > 0 ? ScheduleKind::inverse_sqrt
                                                               : ScheduleKind::constant,
                                   .lr = kLr,
                                   .warmup = o.export_warmup},
                      .clip = o.clip},
                     model, parameters, data);
    return kExitDone;
  }
  Arena arena("step", device);
  const auto optimizer = make_optimizer(parameters, adam);
  TrainStep step(parameters, *optimizer, arena, {.clip = o.clip});
  std::vector<double> seconds;
  double loss = 0;
  for (int64_t i = 0; i < o.warmup + o.steps; ++i) {
    if (i == o.warmup) profile::enable(o.profile, device);
    const auto start = std::chrono::steady_clock::now();
    loss = step.run(data, i + 1, kLr).loss;
    if (i >= o.warmup)
      seconds.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  profile::enable(false);
  const double s = median(seconds);
  const Json out{{"system", kVersionLine},
                 {"instruction_set", to_text(instruction_set())},
                 {"task", "mt"},
                 {"vocab", o.vocab},
                 {"layers", o.layers},
                 {"sentences", o.sentences},
                 {"length", o.length},
                 {"device", o.device},
                 {"matmul_precision", to_text(o.precision)},
                 {"threads", threads()},
                 {"parameters", parameters.count()},
                 {"s_per_step", s},
                 {"tokens_per_s", static_cast<double>(2 * o.sentences * o.length) / s},
                 {"peak_mib", peak_memory_mib(arena, parameters, optimizer.get())},
                 {"loss", loss}};
  std::printf("%s\n", out.dump().c_str());
  if (o.profile) print_profile(stderr, measure_machine(device), o.steps);
  return kExitDone;
}

}  // namespace
}  // namespace nine::app

int main(int argc, char** argv) {
  using namespace nine::app;
  return run_main("bench_mt", [&] {
    Options options("bench_mt", "Speed and memory of one translation step.", version_text);
    BenchOptions o;
    o.declare(options);
    if (!options.parse(argc, argv)) return kExitDone;
    return on_machine({.threads = o.threads, .device = o.device, .precision = o.precision},
                      [&](nine::Device device) { return bench(o, device); });
  });
}
