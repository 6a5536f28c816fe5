// What code above core must do for a second device, without one: a table that stands in for CUDA,
// whose memory is the CPU's and whose ops are the CPU's. Views carry its name, so that every check
// of devices works, and a tensor that was left on the CPU by mistake is an Error.
#include <doctest/doctest.h>

#include <filesystem>

#include "core/op_table.h"
#include "cuda/cuda.h"
#include "examples/softplus.h"
#include "kernels/install_cuda.h"
#include "kernels/op_table.h"
#include "nn/models/beam_search.h"
#include "nn/models/language_config.h"
#include "nn/models/language_model.h"
#include "nn/models/score_text.h"
#include "nn/models/transformer.h"
#include "nn/training/checkpoint.h"
#include "nn/training/language_model_task.h"
#include "nn/training/optimizer.h"
#include "tests/support/compare.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_device {
namespace {

constexpr Device kFake{DeviceKind::cuda, 0};

struct FakeDevice {
  FakeDevice() {
    install_op_table(DeviceKind::cuda, op_table(kCpu));
    install_head_op_table(DeviceKind::cuda, head_op_table(kCpu));
  }
  ~FakeDevice() { install_cuda(); }
};

struct Trained {
  std::vector<double> losses, weights;
  double nll = 0;
};

std::unique_ptr<LanguageNetwork> network_of(LanguageArch arch, ParameterSet& set, int64_t words) {
  if (arch == LanguageArch::lstm)
    return std::make_unique<LstmLanguageModel>(
        set, LstmLanguageModelConfig{
                 .vocab = words, .embed = 8, .hidden = 12, .layers = 2, .dropout = 0.1});
  return std::make_unique<TransformerLanguageModel>(
      set, TransformerLanguageModelConfig{
               .vocab = words, .hidden = 12, .ffn = 20, .heads = 3, .window = 5, .dropout = 0.1});
}

Trained train_on(Device device, LanguageArch arch, const std::string& directory) {
  std::vector<std::string> lines;
  for (int i = 0; i < 60; ++i)
    lines.emplace_back(i % 3 == 0   ? "the cat saw the dog"
                       : i % 3 == 1 ? "a dog ran"
                                    : "the dog saw a cat and ran");
  const Vocabulary vocabulary =
      Vocabulary::build(count_words_of_lines(lines), Specials::kLanguageModel);
  const Corpus text = Corpus::of_lines(lines, vocabulary);
  ParameterSet parameters({.seed = 3, .device = device});
  const std::unique_ptr<LanguageNetwork> network = network_of(arch, parameters, vocabulary.size());
  const LanguageNetwork& model = *network;
  LanguageModelTask task(model, text, &text, {.batch = 4, .bptt = 5});
  Arena arena("step", device, 64 << 20);
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(parameters, {});
  TrainStep step(parameters, *optimizer, arena, {.clip = 1});
  Trained result;
  for (int64_t s = 1; s <= 8; ++s) result.losses.push_back(step.run(task, s, 0.01).loss);
  result.nll = task.validate(step.tape()).nll();
  result.weights = parameters.values().to_vector();
  std::filesystem::create_directory(directory);
  const std::string file = directory + "/model.safetensors";
  write_safetensors(file, parameters.named(parameters.values()), model.metadata());
  put(directory + "/dict.txt", vocabulary.dict_text());
  parameters.load(read_safetensors(file), parameters.values());
  CHECK(parameters.values().to_vector() == result.weights);
  return result;
}

// What a trained model says of some lines, and after each word that it reads one by one, past a
// window's end. (LanguageModel's own functions take all of a GPU's memory, which a stand-in does
// not have.)
std::vector<double> used(const LanguageModel& model) {
  Arena arena("use", model.device(), 64 << 20);
  Tape tape(arena);
  std::vector<double> all;
  const std::vector<std::string> lines{"the cat saw the dog and ran and saw a cat", "", "a dog"};
  score_sentences(model.network(), tape, Corpus::of_lines(lines, model.vocabulary()), 100,
                  [&](int64_t, std::span<const double> nats) {
                    all.insert(all.end(), nats.begin(), nats.end());
                  });
  const NoGrad guard(tape);
  const auto decoder = model.network().decoder();
  decoder->start(2);
  for (int32_t i = 0; i < 9; ++i) {
    tape.reset();
    const std::vector<DecoderRow> rows{{0, i % 5}, {1, (i + 2) % 6}};
    const Var hidden = decoder->step(tape, rows);
    for (const double x : model.network().log_probabilities(hidden).to_vector()) all.push_back(x);
  }
  return all;
}

}  // namespace

TEST_CASE("device: training, validation and checkpoints are the same code on another device") {
  const FakeDevice fake;
  for (const LanguageArch arch : {LanguageArch::lstm, LanguageArch::transformer}) {
    const TemporaryDirectory dir;
    const Trained cpu = train_on(kCpu, arch, dir / "cpu"),
                  other = train_on(kFake, arch, dir / "other");
    CHECK(cpu.losses == other.losses);
    CHECK(cpu.nll == other.nll);
    CHECK(cpu.weights == other.weights);
    CHECK(slurp(dir / "cpu/model.safetensors") == slurp(dir / "other/model.safetensors"));
    const LanguageModel here = LanguageModel::load(dir / "cpu"),
                        there = LanguageModel::load(dir / "other", kFake);
    CHECK(relative_error(used(here), used(there)) < 1e-4);  // the CPU multiplies packed weights
  }
}

TEST_CASE("device: a search on another device finds what the CPU finds, from either model") {
  const FakeDevice fake;
  for (const char* head : {"lin", "mix:2*lin"}) {
    const TransformerConfig config{.src_vocab = 9,
                                   .tgt_vocab = 9,
                                   .encoder_layers = 2,
                                   .decoder_layers = 2,
                                   .dim = 12,
                                   .ffn = 20,
                                   .heads = 3,
                                   .head = {.spec = parse_head(head)},
                                   .max_length = 12};
    ParameterSet here({.dtype = DType::float64, .seed = 3}),
        there({.dtype = DType::float64, .seed = 3, .device = kFake});
    const Transformer on_cpu(here, config), on_fake(there, config);
    const std::vector<BeamSearch::Ids> sources{{3, 4, 5}, {6}, {}, {7, 8, 3, 4, 5, 6}};
    const SearchOptions options{
        .beam = 3, .max_length = 8, .n_best = 3, .excluded = 4, .batch = 2, .attention = true};
    const BeamSearch cpu(on_cpu), copy(on_fake), fake_search(on_fake, 2, kFake);
    const auto want = cpu.translate(sources, options);
    const auto want_scores = cpu.score(sources, sources);
    for (const BeamSearch* search : {&copy, &fake_search}) {
      const auto found = search->translate(sources, options);
      for (size_t s = 0; s < sources.size(); ++s) {
        REQUIRE(found[s].size() == want[s].size());
        for (size_t i = 0; i < want[s].size(); ++i) {
          CHECK(found[s][i].words == want[s][i].words);
          CHECK(found[s][i].score == doctest::Approx(want[s][i].score).epsilon(1e-11));
          const auto doubles = [](const std::vector<float>& x) {
            return std::vector<double>(x.begin(), x.end());
          };
          CHECK(relative_error(doubles(found[s][i].attention), doubles(want[s][i].attention)) <
                1e-6);
        }
      }
      const auto scores = search->score(sources, sources);
      for (size_t s = 0; s < sources.size(); ++s)
        CHECK(relative_error(scores[s], want_scores[s]) < 1e-11);
    }
  }
}

TEST_CASE("device: a call that mixes devices is refused by name") {
  const FakeDevice fake;
  const Tensor here({2, 2}, DType::float32), there({2, 2}, DType::float32, kFake);
  const Tensor ids({2}, DType::int32), total({}, DType::float64);
  CHECK(has(error_of([&] { ops::scale(1, here, {there}); }), "mixes"));
  CHECK(has(error_of([&] {
              ops::embedding(there, ids, Tensor({2, 2}, DType::float32, kFake));
            }),
            "mixes"));
  CHECK(has(error_of([&] { ops::sum_squares(there, total); }), "mixes"));
}

TEST_CASE("device: reading a GPU's memory on the CPU is an Error that says what to do") {
  const FakeDevice fake;
  const Tensor here = Tensor::from<float>({1, 2, 3, 4}, {2, 2}), there = here.to(kFake);
  const std::string expected =
      "memory of cuda:0 (a tensor of shape (2, 2)) was read or written on the CPU: copy it with";
  CHECK(has(error_of([&] { there.data<float>(); }), expected));
  CHECK(has(error_of([&] { there.view().as<float>(); }), expected));
  // A function of one's own that loops over elements on the CPU.
  Arena arena("step", kFake, 1 << 20);
  Tape tape(arena);
  CHECK(has(error_of([&] { examples::softplus(tape.leaf(there)); }), expected));
  CHECK(there.to(kCpu).data<float>()[3] == 4);
  CHECK(there.clone().device() == kFake);
  CHECK(there.to_vector() == here.to_vector());
}

TEST_CASE("device: without a backend the error says so") {
  install_cuda();
  if (!cuda::built())
    CHECK(has(error_of([] { Tensor({1}, DType::float32, kFake); }), "this build has no CUDA"));
}

}  // namespace nine::tests::test_device
