#include "apps/lm_train/lm_parity_export.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/training/parity_export.h"
#include "core/files.h"
#include "core/json.h"

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
  require_replay(o.optimizer == OptimizerKind::adam,
                 "the replay supports --optimizer adam only, not ", o.optimizer);
  require_replay(o.weight_decay == 0, "the replay has no weight decay; set --weight-decay 0");
  require_replay(!o.sentences, "the replay carries state; leave out --sentences");
  check_replayed_options(o, task.whole_segments().value_or(0));
}

Json config_json(const LmOptions& o, const LanguageNetwork& model) {
  const HeadConfig& head = model.head_config();
  Json config{{"task", "lm"},
              {"arch", to_text(o.arch)},
              {"dtype", to_text(o.dtype)},
              {"vocab", model.vocab()},
              {"dim", o.arch == LanguageArch::lstm ? o.embed : o.hidden},
              {"hidden", o.hidden},
              {"layers", o.layers},
              {"head", replay_name(head.spec)},
              {"components", head.spec.size()},
              {"untied", head.spec.untied},
              {"head_bias", head.bias},
              {"tie_embeddings", o.tie_embeddings},
              {"optimizer", "adam"},
              {"lr", o.lr},
              {"betas", o.betas},
              {"eps", o.eps},
              {"clip", o.clip},
              {"ignore", -1}};
  if (o.arch == LanguageArch::transformer)
    config.update({{"ffn", o.ffn},
                   {"heads", o.heads},
                   {"window", o.bptt},
                   {"activation", to_text(o.activation)},
                   {"positions", to_text(o.positions)},
                   {"norm", to_text(o.norm)}});
  config.update(replayed_norms(head));
  return config;
}

}  // namespace

void export_lm_parity(const LmOptions& o, const LanguageNetwork& model, ParameterSet& parameters,
                      LanguageModelTask& task) {
  check_replayable(o, task);
  const std::filesystem::path dir = o.export_parity;
  make_export_directory(dir);
  write_safetensors(dir / "init.safetensors", parameters.state(), model.metadata());

  const Shape all{o.export_steps, o.bptt, o.batch};
  const Tensor inputs(all, DType::int32), targets(all, DType::int32);
  const TrainerConfig trainer = o.trainer();
  const Json losses = run_parity_steps(
      {.steps = o.export_steps,
       .optimizer = trainer.optimizer,
       .schedule = trainer.schedule,
       .step = trainer.step},
      parameters, task, [&](int64_t step) {
        const int64_t size = o.bptt * o.batch;
        std::copy_n(task.input(0).data<int32_t>(), size, inputs.data<int32_t>() + step * size);
        std::copy_n(task.target(0).data<int32_t>(), size, targets.data<int32_t>() + step * size);
      });
  write_safetensors(dir / "final.safetensors", parameters.state(), model.metadata());
  write_safetensors(dir / "batches.safetensors", {{"input", inputs}, {"target", targets}});
  write_text(dir / "losses.json", json_text(losses, 1) + "\n");
  write_text(dir / "config.json", json_text(config_json(o, model), 1) + "\n");
}

}  // namespace nine::app
