#include "apps/training/parity_export.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/cli/option_values.h"
#include "apps/cli/output_directory.h"
#include "core/files.h"
#include "core/json.h"

namespace nine::app {
namespace {

bool is_replayed(const HeadSpec& head) {
  const bool inner_products = std::all_of(head.components.begin(), head.components.end(),
                                          [](const Score& score) { return score.is_lin(); });
  return inner_products && head.contexts == head.mixture;
}

}  // namespace

void check_replayed_head(const HeadSpec& head, bool tie_embeddings, const char* untie) {
  require_replay(
      is_replayed(head),
      "the replay supports --head lin and mos (mix:K*lin) with --head-context tanh only, "
      "not ",
      head.to_text());
  require_replay(!head.untied || !tie_embeddings,
                 "the replay does not tie embeddings to a mixture's own word vectors; ", untie);
}

void check_replayed_options(const TrainOptions& options, int64_t steps_an_epoch) {
  require_replay(options.sampled_softmax.empty(),
                 "the replay has no sampled softmax; leave out --sampled-softmax");
  require_replay(options.pi_reg.empty() && options.weight_norm_reg.empty(),
                 "the replay has no regularisers; leave out --pi-reg and --weight-norm-reg");
  require_replay(options.z_loss == 0, "the replay has no z-loss; leave out --z-loss");
  require_replay(options.head_skip == 0,
                 "the replay leaves no gradients out; leave out --head-skip");
  require_replay(!has_length(options.schedule), "the replay has no --schedule ",
                 to_text(options.schedule), "; use constant or inverse-sqrt");
  require_replay(options.accumulate == 1, "the replay does not accumulate; set --accumulate 1");
  require_replay(options.export_steps <= steps_an_epoch, "an epoch has ", steps_an_epoch,
                 " steps; lower --export-steps ", options.export_steps);
}

void make_export_directory(const std::filesystem::path& directory) {
  require_no_run("--export-parity", directory);
  make_output_directory("--export-parity", directory);
}

namespace {

// Losses, norms of gradients and rates of the updates.
Json run_steps(const ParityExport& e, ParameterSet& parameters, TrainingSource& data,
               const std::function<void(int64_t)>& after_step) {
  Json losses{{"loss", Json::array()}, {"grad_norm", Json::array()}, {"lr", Json::array()}};
  Arena arena("step", parameters.device());
  const auto optimizer = make_optimizer(parameters, e.optimizer);
  TrainStep step(parameters, *optimizer, arena, e.step);
  const Schedule schedule(e.schedule);
  for (int64_t s = 0; s < e.steps; ++s) {
    const double lr = schedule.rate(s + 1);
    const StepResult result = step.run(data, s + 1, lr);
    after_step(s);
    losses["loss"].push_back(result.loss);
    losses["grad_norm"].push_back(result.grad_norm);
    losses["lr"].push_back(lr);
  }
  return losses;
}

Json config_json(const ParityExport& e) {
  Json config = e.first;
  config.update({{"head", e.head.spec.mixture ? "mos" : "lin"},
                 {"components", e.head.spec.size()},
                 {"untied", e.head.spec.untied},
                 {"head_bias", e.head.bias},
                 {"tie_embeddings", e.tie_embeddings},
                 {"optimizer", to_text(e.optimizer.kind)},
                 {"lr", e.schedule.lr},
                 {"betas", {e.optimizer.beta1, e.optimizer.beta2}},
                 {"eps", e.optimizer.eps},
                 {"clip", e.step.clip}});
  if (e.optimizer.weight_decay != 0) config["weight_decay"] = e.optimizer.weight_decay;
  if (e.optimizer.momentum != 0) config["momentum"] = e.optimizer.momentum;
  config.update(e.last);
  for (const HeadSetting* setting : inner_product_settings())
    if (const auto value = std::get<std::string>(setting->value(e.head)); value != "none")
      config[setting->name] = value;
  return config;
}

}  // namespace

void export_parity(const ParityExport& e, ParameterSet& parameters, TrainingSource& data,
                   const std::function<void(int64_t)>& after_step,
                   const std::vector<NamedView>& batches) {
  make_export_directory(e.directory);
  const auto write_weights = [&](const char* file) {
    std::vector<NamedView> tensors = parameters.state();
    tensors.insert(tensors.end(), e.buffers.begin(), e.buffers.end());
    write_safetensors(e.directory / file, tensors, e.metadata);
  };
  write_weights("init.safetensors");
  const Json losses = run_steps(e, parameters, data, after_step);
  write_weights("final.safetensors");
  write_safetensors(e.directory / "batches.safetensors", batches);
  write_text(e.directory / "losses.json", json_text(losses, 1) + "\n");
  write_text(e.directory / "config.json", json_text(config_json(e), 1) + "\n");
}

void say_exported(const TrainOptions& options) {
  std::printf(
      "%lld steps (--export-steps) for the replay in PyTorch; no run was written, so --run, "
      "--after "
      "and the intervals of a run had no effect\nexport %s\n",
      static_cast<long long>(options.export_steps), options.export_parity.c_str());
}

}  // namespace nine::app
