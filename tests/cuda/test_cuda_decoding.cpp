// Decoding on a GPU beside the CPU: searches, drawn translations, prefixes, ensembles, attention,
// and texts that language models write. mt_translate itself runs on the stand-in alone.
#include <doctest/doctest.h>

#include "core/ops.h"
#include "nn/models/beam_search.h"
#include "nn/models/lstm_language_model.h"
#include "nn/models/next_words.h"
#include "nn/models/transformer.h"
#include "nn/models/transformer_language_model.h"
#include "tests/cuda/device_cases.h"
#include "tests/support/compare.h"
#include "tests/support/programs.h"

using namespace nine;
using namespace nine::checks;
using namespace nine::tests;

namespace {

using Ids = BeamSearch::Ids;
constexpr int32_t kEnd = 2;
constexpr int64_t kWords = 11;

// Sets weights that make some words much likelier than others, the same on every device.
void set_random(const ParameterSet& set, uint64_t seed) {
  const Shape shape = set.values().shape();
  ops::copy(tensor_of(random_values({{shape, -0.6, 0.6}}, seed)[0], shape, DType::float64),
            set.values());
}

struct Translating {
  Translating(Device device, const char* head, NormOrder norm, uint64_t seed)
      : set({.dtype = DType::float64, .device = device}),
        model(set, {.src_vocab = kWords,
                    .tgt_vocab = kWords,
                    .encoder_layers = 1,
                    .decoder_layers = 2,
                    .dim = 12,
                    .ffn = 20,
                    .heads = 3,
                    .dropout = 0,
                    .style = {.norm = norm},
                    .head = {.spec = parse_head(head)},
                    .max_length = 12}) {
    set_random(set, seed);
  }
  ParameterSet set;
  Transformer model;
};

Doubles doubles(const std::vector<float>& x) { return {x.begin(), x.end()}; }

void check_equal(const std::vector<Translation>& found, const std::vector<Translation>& wanted) {
  REQUIRE(found.size() == wanted.size());
  for (size_t s = 0; s < wanted.size(); ++s) {
    REQUIRE(found[s].size() == wanted[s].size());
    for (size_t i = 0; i < wanted[s].size(); ++i) {
      const Hypothesis &a = found[s][i], &b = wanted[s][i];
      CHECK(a.words == b.words);
      CHECK(a.complete == b.complete);
      CHECK(relative_error(a.word_log_probs, b.word_log_probs) < 1e-10);
      CHECK(relative_error(doubles(a.attention), doubles(b.attention)) < 1e-5);
      CHECK(alignment(a) == alignment(b));
    }
  }
}

// Holds a search on the GPU to the same search on the CPU.
void compare(const BeamSearch& gpu, const BeamSearch& cpu) {
  const std::vector<Ids> sources{{3, 4, 5}, {6}, {}, {7, 8, 3, 10, 5, 6}},
      prefixes{{5, 9}, {}, {}, {7}};
  for (const SearchOptions& options :
       {SearchOptions{
            .beam = 3, .max_length = 8, .n_best = 3, .excluded = 4, .batch = 2, .attention = true},
        SearchOptions{.max_length = 6,
        .attention = true,
        .samples = 3,
        .sampling = {.temperature = 0.8, .top_k = 6, .top_p = 0.9},
        .seed = 5}})
    for (const std::vector<Ids>& begun : {std::vector<Ids>(), prefixes})
      check_equal(gpu.translate(sources, options, {}, begun),
                  cpu.translate(sources, options, {}, begun));
  const auto found = gpu.score(sources, sources), wanted = cpu.score(sources, sources);
  for (size_t s = 0; s < sources.size(); ++s) CHECK(relative_error(found[s], wanted[s]) < 1e-10);
}

// Lets four texts grow word by word; after four words some continue another one. Returns each word
// and its log p.
Doubles written(const LanguageNetwork& network) {
  Arena arena("generate", network.device());
  Tape tape(arena);
  const NoGrad guard(tape);
  const auto decoder = network.decoder();
  const DecodingHead head(network.head());
  const SamplingOptions sampling{.temperature = 0.8, .top_k = 5};
  NextWords next_words(head);
  decoder->start(4);
  std::vector<DecoderRow> rows{{0, 3}, {1, 4}, {2, 5}, {3, 6}};
  Doubles all;
  for (size_t step = 0; step < 9; ++step) {
    if (step == 4) {
      decoder->reorder(std::vector<int32_t>{2, 0, 2, -1});
      rows = {{0, rows[2].word}, {1, rows[0].word}, {2, rows[2].word}};
    }
    tape.reset();
    const Var contexts = decoder->step(tape, rows);
    std::vector<WantedWord> wanted;
    for (size_t r = 0; r < rows.size(); ++r)
      wanted.push_back({.row = static_cast<int32_t>(r),
                        .sampling = &sampling,
                        .uniform = uniform_of(1, 0, static_cast<int64_t>(r), step)});
    std::vector<NextWord> chosen(rows.size());
    next_words.predict({&contexts, 1}, wanted,
                       [&](size_t r, const NextWord& next) { chosen[r] = next; });
    for (size_t r = 0; r < rows.size(); ++r) {
      chosen[r].rethrow();
      rows[r].word = chosen[r].word;
      all.push_back(chosen[r].word);
      all.push_back(chosen[r].log_p);
    }
  }
  return all;
}

}  // namespace

TEST_CASE("cuda decoding: searches, samples and prefixes find what the CPU finds") {
  for (const char* head : {"lin", "mix:2*lin,rbf"}) {
    CAPTURE(head);
    const Translating cpu(kCpu, head, NormOrder::post, 3), gpu(kGpu, head, NormOrder::post, 3);
    compare(BeamSearch(gpu.model, kEnd, kGpu), BeamSearch(cpu.model));
  }
}

TEST_CASE("cuda decoding: an ensemble, one of whose models lies on the CPU") {
  const Translating cpu(kCpu, "lin", NormOrder::post, 3), other(kCpu, "log", NormOrder::pre, 4),
      gpu(kGpu, "lin", NormOrder::post, 3);
  compare(BeamSearch(std::vector<const Transformer*>{&gpu.model, &other.model}, kEnd, kGpu),
          BeamSearch(std::vector<const Transformer*>{&cpu.model, &other.model}, kEnd));
}

TEST_CASE("cuda decoding: language models write what they write on the CPU") {
  const HeadConfig head{.spec = parse_head("lin"), .bias = true};
  const auto texts = [&](Device device, bool lstm) {
    ParameterSet set({.dtype = DType::float64, .device = device});
    std::unique_ptr<LanguageNetwork> network;
    if (lstm)
      network = std::make_unique<LstmLanguageModel>(
          set, LstmLanguageModelConfig{
                   .vocab = kWords, .embed = 8, .hidden = 12, .layers = 2, .head = head});
    else
      network = std::make_unique<TransformerLanguageModel>(
          set,
          TransformerLanguageModelConfig{
              .vocab = kWords, .hidden = 12, .ffn = 20, .heads = 3, .window = 6, .head = head});
    set_random(set, 7);
    return written(*network);
  };
  for (const bool lstm : {true, false}) {
    CAPTURE(lstm);
    const Doubles cpu = texts(kCpu, lstm);
    CHECK(relative_error(texts(kGpu, lstm), cpu) < 1e-10);
  }
}

#ifdef NINE_CUDA_ON_HOST
TEST_CASE("cuda on the host: mt_translate --device cuda writes what it writes on the CPU") {
  const TemporaryDirectory dir;
  std::string source, target;
  for (int i = 0; i < 40; ++i) {
    source += i % 2 ? "ein hund schläft\n" : "die katze sieht einen hund\n";
    target += i % 2 ? "a dog sleeps\n" : "the cat sees a dog\n";
  }
  const std::string s = dir.write("s", source), t = dir.write("t", target);
  for (const char* seed : {"1", "2"}) {
    const Outcome trained = run_program(
        "mt_train", {"--src",       s,      "--tgt",    t,         "--valid-src",    s,
                     "--valid-tgt", t,      "--dtype",  "float64", "--layers",       "1",
                     "--hidden",    "12",   "--ffn",    "16",      "--heads",        "2",
                     "--lr",        "0.02", "--warmup", "10",      "--batch-tokens", "60",
                     "--after",     "60u",  "--seed",   seed,      "--run",          dir / seed,
                     "--threads",   "1"});
    REQUIRE_MESSAGE(trained.code == 0, trained.err);
  }
  const std::string prefixes = dir.write("prefixes", "the\n\na cat\n");
  const auto outputs = [&](const char* program, const char* device,
                           const std::vector<std::string>& how) {
    const std::string alignment = dir / "alignment";
    const Outcome out = run_program(program,
                                    joined({"--device", device, "--threads", "1", "--max-length",
                                            "8", "--alignment", alignment, "--checkpoint"},
                                           how),
                                    "ein hund sieht die katze\nein hund\ndie katze schläft\n");
    REQUIRE_MESSAGE(out.code == 0, out.err);
    return out.out + slurp(alignment);
  };
  for (const std::vector<std::string>& how : {std::vector<std::string>{dir / "1", "--beam", "3"},
                                              {dir / "1", dir / "2", "--prefix", prefixes},
                                              {dir / "1", "--samples", "3", "--temperature", "0.8",
                                               "--top-k", "6", "--prefix", prefixes}}) {
    const std::string wanted = outputs("mt_translate", "cpu", how);
    CHECK(wanted.size() > 40);
    CHECK(outputs("mt_translate_on_host", "cuda", how) == wanted);
  }
}
#endif
