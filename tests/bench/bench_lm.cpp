// bench_lm: the speed and memory of one lm_train step, with the options and most of the output of
// experiments/baselines/torch_lm.py, the same step in PyTorch (docs/performance.md). It runs the
// trainer's own step object on a text of random words; no word bias, dropout 0.1, Adam, clip 1, as
// in torch_lm.py. --arch transformer: windows of --bptt words.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/cli/machine.h"
#include "apps/cli/options.h"
#include "apps/cli/run_main.h"
#include "apps/cli/version.h"
#include "apps/lm_train/lm_options.h"
#include "apps/training/profile_table.h"
#include "apps/training/train_options.h"
#include "core/instruction_set.h"
#include "core/json.h"
#include "core/profile.h"
#include "core/threads.h"
#include "nn/models/language_config.h"
#include "nn/training/language_model_task.h"

namespace nine::app {
namespace {

struct BenchOptions : HeadSettings {
  int64_t vocab = 30000, dim = 512, layers = 2, batch = 32, bptt = 35, steps = 12, warmup = 3;
  LanguageArch arch = LanguageArch::lstm;
  int64_t heads = 8, ffn = 0;
  TransformerStyle style = TransformerStyle::gpt2();
  int threads = 0;
  std::string device = "cpu";
  MatmulPrecision precision = MatmulPrecision::highest;
  int64_t components = 1;
  bool tie_embeddings = false, lazy_adam = false, score = false, profile = false, team = true,
       recompute = false;

  BenchOptions() { head_bias = false; }

  /// --head mos with --components K is K inner products; anything else is lm_train's --head.
  HeadConfig config() const {
    HeadSettings settings = static_cast<const HeadSettings&>(*this);
    if (head == "mos") settings.head = concat("mix:", components, "*lin");
    return settings.head_config();
  }

  void declare(Options& o) {
    o.add("vocab", vocab, "words").at_least(3);
    o.add("arch", arch, "network");
    o.add("dim", dim, "width of the network").at_least(1);
    o.add("layers", layers, "layers").range(1, 64);
    o.add("heads", heads, "transformer: attention heads").range(1, 1024);
    o.add("ffn", ffn, "transformer: width inside of the feed-forward networks; 0: 4 times --dim")
        .at_least(0);
    declare_style(o, style, recompute);
    o.add("batch", batch, "columns").at_least(1);
    o.add("bptt", bptt, "time steps; transformer: the window").at_least(1);
    o.add("steps", steps, "steps measured; the median is reported").at_least(1);
    o.add("warmup", warmup, "steps before those").at_least(0);
    o.add("threads", threads, "0: OMP_NUM_THREADS, or all physical cores").range(0, 4096);
    o.add("team", team, "one OpenMP team for the run; no: a parallel region for each loop");
    o.add("head", head, "score function, as lm_train's; mos: --components inner products");
    o.add("components", components, "of mos").at_least(1);
    declare_head_settings(o, *this, false, {"head"});
    declare_head_settings(o, *this, true);
    o.add("tie-embeddings", tie_embeddings, "as lm_train's");
    o.add("lazy-adam", lazy_adam, "as lm_train's");
    o.add("device", device, "where to compute");
    add_matmul_precision(o, precision);
    o.add("score", score, "forward only, under no_grad");
    o.add("profile", profile, "print what the measured steps' operations cost");
  }
};

std::unique_ptr<LanguageNetwork> network_of(const BenchOptions& o, int64_t words,
                                            ParameterSet& parameters) {
  if (o.arch == LanguageArch::lstm)
    return std::make_unique<LstmLanguageModel>(
        parameters, LstmLanguageModelConfig{.vocab = words,
                                            .embed = o.dim,
                                            .hidden = o.dim,
                                            .layers = o.layers,
                                            .dropout = 0.1,
                                            .tie_embeddings = o.tie_embeddings,
                                            .head = o.config()});
  return std::make_unique<TransformerLanguageModel>(
      parameters, TransformerLanguageModelConfig{.vocab = words,
                                                 .layers = o.layers,
                                                 .hidden = o.dim,
                                                 .ffn = o.ffn > 0 ? o.ffn : 4 * o.dim,
                                                 .heads = o.heads,
                                                 .window = o.bptt,
                                                 .style = o.style,
                                                 .dropout = 0.1,
                                                 .tie_embeddings = o.tie_embeddings,
                                                 .head = o.config(),
                                                 .recompute = o.recompute});
}

// Uniform random words over the whole vocabulary: enough for every step, and every word at least
// once.
std::vector<std::string> random_lines(const BenchOptions& o) {
  RandomStream random({.seed = 1, .op = stream_id("bench")});
  const int64_t tokens = o.batch * (o.bptt * (o.steps + o.warmup) + 1), words = o.vocab - 2;
  std::vector<std::string> lines;
  for (int64_t i = 0; i < std::max(tokens, words); ++i) {
    if (i % 50 == 0) lines.emplace_back();
    const int64_t word =
        i < words ? i : static_cast<int64_t>(random.below(static_cast<uint64_t>(words)));
    lines.back() += (lines.back().empty() ? "w" : " w") + std::to_string(word);
  }
  return lines;
}

int bench(const BenchOptions& o, Device device) {
  const std::vector<std::string> lines = random_lines(o);
  const Vocabulary vocabulary =
      Vocabulary::build(count_words_of_lines(lines), Specials::kLanguageModel);
  const Corpus corpus = Corpus::of_lines(lines, vocabulary);
  ParameterSet parameters({.gradients = !o.score, .device = device});
  const std::unique_ptr<LanguageNetwork> network = network_of(o, vocabulary.size(), parameters);
  const LanguageNetwork& model = *network;
  model.set_counts(corpus.counts(vocabulary.size()));
  LanguageModelTask task(model, corpus, nullptr, {.batch = o.batch, .bptt = o.bptt});
  Arena arena("step", device);
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<TrainStep> step;
  if (!o.score) {
    optimizer = make_optimizer(parameters, {.lazy = o.lazy_adam});
    step = std::make_unique<TrainStep>(parameters, *optimizer, arena, TrainStep::Config{.clip = 1});
  }
  Tape tape(arena);
  std::vector<double> seconds;
  double loss = 0;
  for (int64_t i = 0; i < o.warmup + o.steps; ++i) {
    if (i == o.warmup) profile::enable(o.profile, device);
    const auto start = std::chrono::steady_clock::now();
    if (o.score) {
      const NoGrad guard(tape);
      const int64_t tokens = task.fetch(1);
      loss = task.forward(tape, 0, 1.0 / static_cast<double>(tokens)).loss.value().item();
      tape.reset();
      task.commit();
    } else {
      loss = step->run(task, i + 1, 1e-3).loss;
    }
    if (i >= o.warmup)
      seconds.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  profile::enable(false);
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<int64_t>(seconds.size() / 2),
                   seconds.end());
  const double s = seconds[seconds.size() / 2];
  const Json out{{"system", kVersionLine},
                 {"instruction_set", to_text(instruction_set())},
                 {"task", "lm"},
                 {"arch", to_text(o.arch)},
                 {"head", o.head},
                 {"components", o.config().spec.size()},
                 {"untied", o.untied},
                 {"margin", o.margin},
                 {"word_norm", o.word_norm},
                 {"context_norm", o.context_norm},
                 {"sampled_softmax", o.sampled_softmax},
                 {"lazy_adam", o.lazy_adam},
                 {"parameters", parameters.count()},
                 {"vocab", vocabulary.size()},
                 {"batch", o.batch},
                 {"bptt", o.bptt},
                 {"device", o.device},
                 {"matmul_precision", to_text(o.precision)},
                 {"score", o.score},
                 {"threads", threads()},
                 {"s_per_step", s},
                 {"tokens_per_s", static_cast<double>(o.batch * o.bptt) / s},
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
  return run_main("bench_lm", [&] {
    Options options("bench_lm", "Speed and memory of one language-model step.", version_text);
    BenchOptions o;
    o.declare(options);
    if (!options.parse(argc, argv)) return kExitDone;
    return on_machine({o.threads, o.device, o.precision, o.team},
                      [&](nine::Device device) { return bench(o, device); });
  });
}
