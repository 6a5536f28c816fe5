#include "apps/lm_train/parity_export.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/files.h"

namespace nine::app {

bool replayed(const HeadSpec& head) {
  const bool lin = std::all_of(head.components.begin(), head.components.end(),
                               [](const Score& s) { return s.kind == ScoreKind::lin; });
  return lin && head.contexts == head.mixture;
}

namespace {

void check_replayable(const LmOptions& o, const LanguageModelTask& task) {
  const auto refuse = [](bool bad, const auto&... text) {
    if (bad) throw UsageError(concat("--export-parity: ", text...));
  };
  refuse(o.dropout != 0, "the replay has no dropout; set --dropout 0");
  refuse(o.dropout_words != 0 || o.dropout_hidden != 0 || o.dropout_output != 0,
         "the replay has no dropout; leave out --dropout-words, --dropout-hidden and "
         "--dropout-output");
  refuse(o.label_smoothing != 0, "the replay does not smooth labels; leave out --label-smoothing");
  refuse(o.ar != 0 || o.tar != 0, "the replay has no regularisers; leave out --ar and --tar");
  const HeadSpec head = o.head_spec();
  refuse(!replayed(head),
         "the replay knows --head lin and mos (mix:K*lin) with --head-context tanh only, not ",
         head.to_text());
  refuse(head.untied && o.tie_embeddings,
         "the replay does not tie embeddings to a mixture's own word vectors; leave out "
         "--tie-embeddings");
  refuse(!o.pi_reg.empty() || !o.weight_norm_reg.empty(),
         "the replay has no regularisers; leave out --pi-reg and --weight-norm-reg");
  refuse(o.optimizer != "adam", "the replay knows --optimizer adam only, not ", o.optimizer);
  refuse(o.weight_decay != 0, "the replay has no weight decay; set --weight-decay 0");
  refuse(o.accumulate != 1, "the replay does not accumulate; set --accumulate 1");
  refuse(o.sentences, "the replay carries state; leave out --sentences");
  const int64_t steps = task.micro_batches_per_epoch().value_or(0);
  refuse(o.export_steps > steps, "an epoch has ", steps, " steps; lower --export-steps ",
         o.export_steps);
}

}  // namespace

void export_lm_parity(const LmOptions& o, const LanguageModel& model, ParameterSet& parameters,
                      LanguageModelTask& task) {
  check_replayable(o, task);
  const std::filesystem::path dir = o.export_parity;
  std::filesystem::create_directories(dir);
  const LanguageModelConfig& c = model.config();
  const nlohmann::ordered_json config{{"task", "lm"},
                                      {"dtype", o.dtype},
                                      {"vocab", c.vocab},
                                      {"dim", c.embed},
                                      {"hidden", c.hidden},
                                      {"layers", c.layers},
                                      {"head", replayed_name(c.head)},
                                      {"components", c.head.size()},
                                      {"untied", c.head.untied},
                                      {"head_bias", c.head_bias},
                                      {"tie_embeddings", c.tie_embeddings},
                                      {"optimizer", "adam"},
                                      {"lr", o.lr},
                                      {"betas", o.betas},
                                      {"eps", o.eps},
                                      {"clip", o.clip},
                                      {"ignore", -1}};
  write_safetensors(dir / "init.safetensors", parameters.named(parameters.values()),
                    model.metadata());

  const Shape all{o.export_steps, o.bptt, o.batch};
  const Tensor inputs(all, DType::int32), targets(all, DType::int32);
  nlohmann::ordered_json losses{{"loss", nlohmann::json::array()},
                                {"grad_norm", nlohmann::json::array()},
                                {"lr", nlohmann::json::array()}};
  Arena arena("step", parameters.values().device());
  const TrainerConfig trainer = o.trainer();
  const auto optimizer = make_optimizer(parameters, trainer.optimizer);
  TrainStep step(parameters, *optimizer, arena, trainer.step);
  const Schedule schedule(trainer.schedule);
  for (int64_t s = 0; s < o.export_steps; ++s) {
    const double lr = schedule.rate(s + 1);
    const StepResult r = step.run(task, s + 1, lr);
    std::copy_n(task.input(0).data<int32_t>(), o.bptt * o.batch,
                inputs.data<int32_t>() + s * o.bptt * o.batch);
    std::copy_n(task.target(0).data<int32_t>(), o.bptt * o.batch,
                targets.data<int32_t>() + s * o.bptt * o.batch);
    losses["loss"].push_back(r.loss);
    losses["grad_norm"].push_back(r.grad_norm);
    losses["lr"].push_back(lr);
  }
  write_safetensors(dir / "final.safetensors", parameters.named(parameters.values()),
                    model.metadata());
  write_safetensors(dir / "batches.safetensors", {{"input", inputs}, {"target", targets}});
  write_text(dir / "losses.json", losses.dump(1) + "\n");
  write_text(dir / "config.json", config.dump(1) + "\n");
}

}  // namespace nine::app
