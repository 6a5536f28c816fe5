// bench_generate: the speed of decoding word by word with a network of random weights: a step of
// the network for all texts, then the choice of each text's next word, as lm_score --generate and
// mt_translate do them. bench_decode measures the head alone.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/cli/machine.h"
#include "apps/cli/options.h"
#include "apps/cli/run_main.h"
#include "apps/cli/version.h"
#include "autograd/packed_weights.h"
#include "core/instruction_set.h"
#include "core/json.h"
#include "core/random.h"
#include "core/threads.h"
#include "nn/models/lstm_language_model.h"
#include "nn/models/next_words.h"
#include "nn/models/transformer_language_model.h"
#include "nn/models/translation_decoder.h"

namespace nine::app {
namespace {

struct BenchOptions {
  int64_t vocab = 10000, dim = 512, ffn = 1024, heads = 4, layers = 2, texts = 32, length = 24,
          steps = 40, warmup = 5, top_k = 0;
  int threads = 0;
  MatmulPrecision precision = MatmulPrecision::highest;
  std::string device = "cpu", arch = "transformer", head = "lin";

  void declare(Options& o) {
    o.add("arch", arch, "network; mt: a translation model").choices({"lstm", "transformer", "mt"});
    o.add("vocab", vocab, "words").at_least(3);
    o.add("dim", dim, "width").at_least(2);
    o.add("ffn", ffn, "width inside of the feed-forward branch").at_least(1);
    o.add("heads", heads, "attention heads").at_least(1);
    o.add("layers", layers, "layers; of encoder and of decoder").range(1, 64);
    o.add("head", head, "score function of the output layer");
    o.add("texts", texts, "texts side by side").at_least(1);
    o.add("length", length, "mt: words of a source").at_least(1);
    o.add("top-k", top_k, "words to choose from; 0: all").at_least(0);
    o.add("steps", steps, "words of a text measured; the median is reported").at_least(1);
    o.add("warmup", warmup, "words before those").at_least(0);
    o.add("threads", threads, "0: OMP_NUM_THREADS, or all physical cores").range(0, 4096);
    o.add("device", device, "where to compute");
    add_matmul_precision(o, precision);
  }
};

// A network of random weights and a decoder that has not read a word.
struct Model {
  Model(const BenchOptions& o, Device device) : set({.gradients = false, .device = device}) {
    const HeadConfig config{.spec = parse_head(o.head)};
    if (o.arch == "lstm") {
      network = std::make_unique<LstmLanguageModel>(set, LstmLanguageModelConfig{.vocab = o.vocab,
                                                                                 .embed = o.dim,
                                                                                 .hidden = o.dim,
                                                                                 .layers = o.layers,
                                                                                 .head = config});
    } else if (o.arch == "transformer") {
      network = std::make_unique<TransformerLanguageModel>(
          set, TransformerLanguageModelConfig{.vocab = o.vocab,
                                              .layers = o.layers,
                                              .hidden = o.dim,
                                              .ffn = o.ffn,
                                              .heads = o.heads,
                                              .head = config});
    } else {
      translation.emplace(set, TransformerConfig{.src_vocab = o.vocab,
                                                 .tgt_vocab = o.vocab,
                                                 .encoder_layers = o.layers,
                                                 .decoder_layers = o.layers,
                                                 .dim = o.dim,
                                                 .ffn = o.ffn,
                                                 .heads = o.heads,
                                                 .head = config});
    }
  }
  const SoftmaxHead& head() const { return network ? network->head() : translation->head(); }
  std::unique_ptr<StepDecoder> decoder(Tape& tape, const BenchOptions& o) {
    if (network) return network->decoder();
    translation->pack(packed);
    auto made = std::make_unique<TranslationDecoder>(*translation, packed);
    RandomStream random({.seed = 1, .op = stream_id("bench")});
    std::vector<std::vector<int32_t>> sources(static_cast<size_t>(o.texts));
    for (auto& source : sources)
      for (int64_t i = 0; i < o.length; ++i)
        source.push_back(static_cast<int32_t>(random.below(static_cast<uint64_t>(o.vocab))));
    made->encode(tape, sources);
    return made;
  }
  ParameterSet set;
  std::unique_ptr<LanguageNetwork> network;
  std::optional<Transformer> translation;
  PackedWeights packed;
};

int bench(const BenchOptions& o, Device device) {
  Model model(o, device);
  Arena arena("generate", device);
  Tape tape(arena);
  const NoGrad guard(tape);
  const auto decoder = model.decoder(tape, o);
  const DecodingHead head(model.head());
  const SamplingOptions sampling{.allow_unknown = true, .top_k = o.top_k};
  NextWords next_words(head);
  std::vector<WantedWord> wanted;
  std::vector<double> log_p(static_cast<size_t>(o.texts));
  decoder->start(o.texts);
  std::vector<DecoderRow> rows;
  for (int64_t i = 0; i < o.texts; ++i) rows.push_back({static_cast<int32_t>(i), 0});
  std::vector<double> seconds;
  double nats = 0;
  for (int64_t step = 0; step < o.warmup + o.steps; ++step) {
    const auto start = std::chrono::steady_clock::now();
    tape.reset();
    const Var contexts = decoder->step(tape, rows);
    wanted.clear();
    for (int64_t r = 0; r < o.texts; ++r)
      wanted.push_back({.row = static_cast<int32_t>(r),
                        .sampling = &sampling,
                        .uniform = uniform_of(1, 0, r, static_cast<size_t>(step))});
    next_words.predict({&contexts, 1}, wanted, [&](size_t r, const NextWord& next) {
      next.rethrow();
      rows[r].word = next.word;
      log_p[r] = next.log_p;
    });
    for (const double nats_of_word : log_p) nats -= nats_of_word;
    if (step >= o.warmup)
      seconds.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + std::ssize(seconds) / 2, seconds.end());
  const double median = seconds[seconds.size() / 2];
  const Json out{{"system", kVersionLine},
                 {"instruction_set", to_text(instruction_set())},
                 {"task", "generate"},
                 {"arch", o.arch},
                 {"vocab", o.vocab},
                 {"dim", o.dim},
                 {"layers", o.layers},
                 {"head", o.head},
                 {"texts", o.texts},
                 {"top_k", o.top_k},
                 {"threads", threads()},
                 {"s_per_step", median},
                 {"words_per_s", static_cast<double>(o.texts) / median},
                 {"nats_per_word", nats / static_cast<double>(o.texts * (o.warmup + o.steps))}};
  std::printf("%s\n", json_text(out).c_str());
  return kExitDone;
}

}  // namespace
}  // namespace nine::app

int main(int argc, char** argv) {
  using namespace nine::app;
  return run_main("bench_generate", [&] {
    Options options("bench_generate", "What a word costs in decoding.", version_text);
    BenchOptions o;
    o.declare(options);
    if (!options.parse(argc, argv)) return kExitDone;
    return on_machine({.threads = o.threads, .device = o.device, .precision = o.precision},
                      [&](nine::Device device) { return bench(o, device); });
  });
}
