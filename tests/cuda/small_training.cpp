#include "tests/cuda/small_training.h"

#include "nn/training/checkpoint.h"
#include "nn/training/language_model_task.h"
#include "nn/training/optimizer.h"
#include "nn/training/train_step.h"

namespace nine::tests {
namespace {

std::unique_ptr<LanguageNetwork> network_of(const TrainingSettings& settings, ParameterSet& set,
                                            int64_t words, const HeadSpec& head) {
  const int64_t hidden = settings.hidden;
  if (settings.arch == LanguageArch::transformer) {
    TransformerLanguageModelConfig config{.vocab = words,
                                          .hidden = hidden,
                                          .ffn = 20,
                                          .heads = 3,
                                          .window = 5,
                                          .style = settings.style,
                                          .dropout = 0.1,
                                          .recompute = settings.recompute};
    config.head.spec = head;
    return std::make_unique<TransformerLanguageModel>(set, config);
  }
  LstmLanguageModelConfig config{
      .vocab = words, .embed = hidden - 4, .hidden = hidden, .layers = 2};
  config.dropout = config.dropout_hidden = 0.1;
  config.head.spec = head;
  return std::make_unique<LstmLanguageModel>(set, config);
}

}  // namespace

Trained train_on(Device device, const std::string& head, DType dtype, int64_t steps,
                 const TrainingSettings& settings) {
  std::vector<std::string> lines;
  for (int i = 0; i < 60; ++i)
    lines.emplace_back(i % 3 == 0   ? "the cat saw the dog"
                       : i % 3 == 1 ? "a dog ran"
                                    : "the dog saw a cat and ran");
  if (settings.words > 0) {
    lines.clear();
    for (int64_t i = 0; i < settings.words; ++i)
      lines.push_back(concat("w", i, " w", i * i % settings.words, " w", 7 * i % settings.words));
  }
  const Vocabulary vocabulary =
      Vocabulary::build(count_words_of_lines(lines), Specials::kLanguageModel);
  const Corpus text = Corpus::of_lines(lines, vocabulary);
  ParameterSet parameters({.dtype = dtype, .seed = 3, .device = device});
  const std::unique_ptr<LanguageNetwork> network =
      network_of(settings, parameters, vocabulary.size(), parse_head(head));
  const LanguageNetwork& model = *network;
  if (!settings.load.empty()) parameters.load(read_safetensors(settings.load), parameters.values());
  LanguageModelTask task(model, text, &text,
                         {.batch = 4, .bptt = 5, .sentences = settings.sentences});
  Arena arena("step", device, settings.pool);
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(parameters, settings.optimizer);
  TrainStep step(parameters, *optimizer, arena, {.clip = 1});
  Trained result;
  for (int64_t s = 1; s <= steps; ++s) {
    if (task.epoch_finished()) task.start_epoch(s);
    result.losses.push_back(step.run(task, s, 0.01).loss);
  }
  result.nll = task.validate(step.tape()).nll();
  result.weights = parameters.values().to_vector();
  if (!settings.save.empty())
    write_safetensors(settings.save, parameters.named(parameters.values()));
  return result;
}

}  // namespace nine::tests
