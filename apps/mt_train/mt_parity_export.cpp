#include "apps/mt_train/mt_parity_export.h"

#include <nlohmann/json.hpp>

#include "apps/training/parity_export.h"
#include "core/json.h"
#include "nn/models/translation_config.h"

namespace nine::app {
namespace {

void check_replayable(const MtParityExport& o, const TransformerConfig& c) {
  require_replay(c.dropout == 0, "the replay has no dropout; set --dropout 0");
  require_replay(c.attention_dropout == 0,
                 "the replay has no dropout; leave out --attention-dropout");
  require_replay(o.optimizer.kind != OptimizerKind::asgd,
                 "the replay averages no weights; leave out --optimizer asgd");
  check_replayed_head(c.head.spec, c.tie_embeddings, "set --no-tie-embeddings");
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
  Json first = translation_config(model);
  first["pad"] = o.pad;
  std::vector<Tensor> kept;
  std::vector<NamedView> batches;
  const auto keep = [&](const char* name, int64_t step, const Tensor& t) {
    kept.push_back(t);
    batches.push_back({concat(name, ".", step), kept.back()});
  };
  std::vector<NamedView> buffers;  // which PyTorch and CTranslate2 read
  if (const Tensor& positions = model.positions()) buffers.push_back({kPositionsName, positions});
  export_parity(
      {.directory = o.directory,
       .steps = o.steps,
       .optimizer = o.optimizer,
       .schedule = o.schedule,
       .step = {.clip = o.clip, .detect_anomaly = o.detect_anomaly},
       .head = model.config().head,
       .tie_embeddings = model.config().tie_embeddings,
       .first = std::move(first),
       .metadata = model.metadata(),
       .buffers = std::move(buffers)},
      parameters, data,
      [&](int64_t step) {
        const TranslationBatch& batch = data.batch(0);
        keep("src", step, batch.src);
        keep("tgt_in", step, batch.tgt_in);
        keep("tgt_out", step, padded(batch.tgt_out, o.pad));
      },
      batches);
}

void export_mt_parity(const MtOptions& o, const Transformer& model, ParameterSet& parameters,
                      TranslationTask& task) {
  require_replay(!o.has_weights(),
                 "the replay has no weights; leave out --token-weights and --class-weights");
  check_replayed_options(o, task.stream().steps());
  const TrainerConfig trainer = o.trainer();
  export_mt_parity({.directory = o.export_parity,
                    .steps = o.export_steps,
                    .pad = Specials::kTranslation.pad,
                    .optimizer = trainer.optimizer,
                    .schedule = trainer.schedule,
                    .clip = o.clip,
                    .detect_anomaly = o.detect_anomaly},
                   model, parameters, task.source());
}

}  // namespace nine::app
