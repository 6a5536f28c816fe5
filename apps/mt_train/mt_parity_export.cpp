#include "apps/mt_train/mt_parity_export.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/lm_train/parity_export.h"
#include "core/files.h"
#include "nn/models/saved_translation_model.h"

namespace nine::app {
namespace {

void check_replayable(const MtParityExport& o, const TransformerConfig& c) {
  const auto refuse = [](bool bad, const auto&... text) {
    if (bad) throw UsageError(concat("--export-parity: ", text...));
  };
  refuse(c.dropout != 0, "the replay has no dropout; set --dropout 0");
  refuse(o.adam.kind != OptimizerKind::adam || o.adam.weight_decay != 0,
         "the replay knows --optimizer adam without --weight-decay only");
  refuse(!replayed(c.head),
         "the replay knows --head lin and mos (mix:K*lin) with --head-context tanh only, not ",
         c.head.to_text());
  refuse(c.head.untied && c.tie_embeddings,
         "the replay does not tie embeddings to a mixture's own word vectors; set "
         "--no-tie-embeddings");
}

nlohmann::ordered_json config_json(const MtParityExport& o, const Transformer& model) {
  nlohmann::ordered_json config = translation_config(model);
  config.update({{"pad", o.pad},
                 {"head", replayed_name(model.config().head)},
                 {"components", model.config().head.size()},
                 {"untied", model.config().head.untied},
                 {"optimizer", "adam"},
                 {"lr", o.schedule.lr},
                 {"betas", {o.adam.beta1, o.adam.beta2}},
                 {"eps", o.adam.eps},
                 {"clip", o.clip}});
  return config;
}

// The weights with the buffer that PyTorch and CTranslate2 read beside them.
void write_weights(const std::filesystem::path& file, const Transformer& model,
                   const ParameterSet& parameters) {
  std::vector<NamedView> tensors = parameters.named(parameters.values());
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
  std::filesystem::create_directories(dir);
  write_weights(dir / "init.safetensors", model, parameters);

  std::vector<Tensor> kept;
  std::vector<NamedView> batches;
  const auto keep = [&](const char* name, int64_t step, const Tensor& t) {
    kept.push_back(t);
    batches.push_back({concat(name, ".", step), kept.back()});
  };
  nlohmann::ordered_json losses{{"loss", nlohmann::json::array()},
                                {"grad_norm", nlohmann::json::array()},
                                {"lr", nlohmann::json::array()}};
  Arena arena("step", parameters.values().device());
  const auto optimizer = make_optimizer(parameters, o.adam);
  TrainStep step(parameters, *optimizer, arena, {.clip = o.clip});
  const Schedule schedule(o.schedule);
  for (int64_t s = 0; s < o.steps; ++s) {
    const double lr = schedule.rate(s + 1);
    const StepResult r = step.run(data, s + 1, lr);
    keep("src", s, data.batch(0).src);
    keep("tgt_in", s, data.batch(0).tgt_in);
    keep("tgt_out", s, padded(data.batch(0).tgt_out, o.pad));
    losses["loss"].push_back(r.loss);
    losses["grad_norm"].push_back(r.grad_norm);
    losses["lr"].push_back(lr);
  }
  write_weights(dir / "final.safetensors", model, parameters);
  write_safetensors(dir / "batches.safetensors", batches);
  write_text(dir / "losses.json", losses.dump(1) + "\n");
  write_text(dir / "config.json", config_json(o, model).dump(1) + "\n");
}

}  // namespace nine::app
