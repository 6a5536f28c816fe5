#include "apps/lm_train/lm_parity_export.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/training/parity_export.h"
#include "core/json.h"
#include "nn/models/model_description.h"

namespace nine::app {
namespace {

void check_replayable(const LmOptions& o, const LanguageModelTask& task) {
  require_replay(o.dropout == 0, "the replay has no dropout; set --dropout 0");
  require_replay(o.attention_dropout == 0,
                 "the replay has no dropout; leave out --attention-dropout");
  require_replay(o.dropout_words == 0 && o.dropout_hidden == 0 && o.dropout_output == 0,
                 "the replay has no dropout; leave out --dropout-words, --dropout-hidden and "
                 "--dropout-output");
  require_replay(o.label_smoothing == 0,
                 "the replay does not smooth labels; leave out --label-smoothing");
  require_replay(o.ar == 0 && o.tar == 0,
                 "the replay has no regularisers; leave out --ar and --tar");
  check_replayed_head(o.head_spec(), o.tie_embeddings, "leave out --tie-embeddings");
  require_replay(o.optimizer != OptimizerKind::asgd,
                 "the replay averages no weights; leave out --optimizer asgd");
  require_replay(o.token_weights.empty(),
                 "the replay has no weights of single tokens; leave out --token-weights");
  require_replay(!o.sentences && !o.documents,
                 "the replay carries state; leave out --sentences and --documents");
  check_replayed_options(o, task.whole_segments().value_or(0));
}

// What config.json says before and behind the keys of every export.
Json sizes(const LmOptions& o, const LanguageNetwork& model) {
  return {{"task", "lm"},
          {"arch", to_text(o.arch)},
          {"dtype", to_text(o.dtype)},
          {"vocab", model.vocab()},
          {"dim", o.arch == LmArch::lstm ? o.embed : o.hidden},
          {"hidden", o.hidden},
          {"layers", o.layers}};
}
Json more(const LmOptions& o) {
  Json config{{"ignore", -1}};
  if (!o.class_weights.empty()) config["class_weights"] = o.class_weights;
  if (o.arch != LmArch::transformer) return config;
  config.update({{"ffn", o.ffn}, {"heads", o.heads}, {"window", o.bptt}});
  std::map<std::string, std::string> style;
  for (const StyleSetting& setting : style_settings())
    if (const std::string text = setting.text(o.style); !text.empty()) style[setting.name] = text;
  config.update(keys_of(style));
  return config;
}

}  // namespace

void export_lm_parity(const LmOptions& o, const LanguageNetwork& model, ParameterSet& parameters,
                      LanguageModelTask& task) {
  check_replayable(o, task);
  const Shape all{o.export_steps, o.bptt, o.batch};
  const Tensor inputs(all, DType::int32), targets(all, DType::int32);
  const TrainerConfig trainer = o.trainer();
  export_parity(
      {.directory = o.export_parity,
       .steps = o.export_steps,
       .optimizer = trainer.optimizer,
       .schedule = trainer.schedule,
       .step = trainer.step,
       .head = model.head_config(),
       .tie_embeddings = o.tie_embeddings,
       .first = sizes(o, model),
       .last = more(o),
       .metadata = model.metadata()},
      parameters, task,
      [&](int64_t step) {
        const int64_t size = o.bptt * o.batch;
        std::copy_n(task.input(0).data<int32_t>(), size, inputs.data<int32_t>() + step * size);
        std::copy_n(task.target(0).data<int32_t>(), size, targets.data<int32_t>() + step * size);
      },
      {{"input", inputs}, {"target", targets}});
}

}  // namespace nine::app
