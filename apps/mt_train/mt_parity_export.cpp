#include "apps/mt_train/mt_parity_export.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/training/parity_export.h"
#include "core/files.h"
#include "core/json.h"
#include "nn/models/translation_config.h"

namespace nine::app {
namespace {

void check_replayable(const MtParityExport& o, const TransformerConfig& c) {
  require_replay(c.dropout == 0, "the replay has no dropout; set --dropout 0");
  require_replay(c.attention_dropout == 0,
                 "the replay has no dropout; leave out --attention-dropout");
  require_replay(o.adam.kind == OptimizerKind::adam && o.adam.weight_decay == 0,
                 "the replay supports --optimizer adam without --weight-decay only");
  check_replayed_head(c.head.spec, c.tie_embeddings, "set --no-tie-embeddings");
}

Json config_json(const MtParityExport& o, const Transformer& model) {
  Json config = translation_config(model);
  config.update({{"pad", o.pad},
                 {"head", replay_name(model.config().head.spec)},
                 {"components", model.config().head.spec.size()},
                 {"untied", model.config().head.spec.untied},
                 {"optimizer", "adam"},
                 {"lr", o.schedule.lr},
                 {"betas", {o.adam.beta1, o.adam.beta2}},
                 {"eps", o.adam.eps},
                 {"clip", o.clip}});
  config.update(replayed_norms(model.config().head));
  return config;
}

// The weights with the buffer that PyTorch and CTranslate2 read beside them.
void write_weights(const std::filesystem::path& file, const Transformer& model,
                   const ParameterSet& parameters) {
  std::vector<NamedView> tensors = parameters.state();
  tensors.push_back({kPositionsName, model.positions()});
  write_safetensors(file, tensors, model.metadata());
}

// Targets as they are in a file: `pad` where nothing is predicted.
Tensor padded(const Tensor& targets, int32_t pad) {
  Tensor out = targets.clone();
  for (int64_t i = 0; i < out.elements(); ++i)
    if (int32_t& id = out.data<int32_t>()[i]; id < 0) id = pad;
  return out;
}

}  // namespace

void export_mt_parity(const MtParityExport& o, const Transformer& model, ParameterSet& parameters,
                      TranslationSource& data) {
  check_replayable(o, model.config());
  const std::filesystem::path dir = o.directory;
  make_export_directory(dir);
  write_weights(dir / "init.safetensors", model, parameters);

  std::vector<Tensor> kept;
  std::vector<NamedView> batches;
  const auto keep = [&](const char* name, int64_t step, const Tensor& t) {
    kept.push_back(t);
    batches.push_back({concat(name, ".", step), kept.back()});
  };
  const Json losses = run_parity_steps(
      {.steps = o.steps, .optimizer = o.adam, .schedule = o.schedule, .step = {.clip = o.clip}},
      parameters, data, [&](int64_t step) {
        const TranslationBatch& batch = data.batch(0);
        keep("src", step, batch.src);
        keep("tgt_in", step, batch.tgt_in);
        keep("tgt_out", step, padded(batch.tgt_out, o.pad));
      });
  write_weights(dir / "final.safetensors", model, parameters);
  write_safetensors(dir / "batches.safetensors", batches);
  write_text(dir / "losses.json", json_text(losses, 1) + "\n");
  write_text(dir / "config.json", json_text(config_json(o, model), 1) + "\n");
}

void export_mt_parity(const MtOptions& o, const Transformer& model, ParameterSet& parameters,
                      TranslationTask& task) {
  check_replayed_options(o, task.stream().steps());
  const TrainerConfig trainer = o.trainer();
  export_mt_parity({.directory = o.export_parity,
                    .steps = o.export_steps,
                    .pad = Specials::kTranslation.pad,
                    .adam = trainer.optimizer,
                    .schedule = trainer.schedule,
                    .clip = o.clip},
                   model, parameters, task.source());
}

}  // namespace nine::app
