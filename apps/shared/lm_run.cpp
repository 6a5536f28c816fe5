#include "apps/shared/lm_run.h"

#include <nlohmann/json.hpp>

#include "apps/shared/version.h"
#include "core/cpu_info.h"
#include "core/gemm.h"
#include "core/ops.h"
#include "core/threads.h"

namespace nine::app {

using Json = nlohmann::ordered_json;

Json resolved_settings(const LmOptions& o, const LmData& data, const ParameterSet& parameters) {
  return {{"version", kVersion},
          {"head", o.head_spec().to_text()},
          {"vocab", data.vocabulary.size()},
          {"parameters", parameters.count()},
          {"train_crc32c", data.train_checksum()},
          {"valid_crc32c", data.valid_checksum()},
          {"instruction_set", built_for()},
          {"gemm", gemm_description()},
          {"head_block_rows", head_block_rows(o.head_spec(), data.vocabulary.size(), o.hidden, parameters.dtype(), parameters.values().device())},
          {"head_memory", o.head_memory},
          {"head_tile", ops::kHeadTile},
          {"head_chunks", ops::kHeadChunks}};
}

bool resumes(const Options& options, const LmOptions& o, const Json& now, RunDirectory& run) {
  if (!run.has_run()) return false;
  if (o.restart) {
    run.restart();
    return false;
  }
  const Json before = run.read_config();
  const std::string mismatch = compare_configs(before, options.to_json(), keys_free_on_resume(), options.defaults_json());
  if (!mismatch.empty()) throw UsageError(concat(run.path().string(), " holds another run: ", mismatch));
  // Data, instruction set, libraries and block sizes decide about bits as well.
  for (const auto& [key, value] : now["resolved"].items()) {
    const Json was = before.contains("resolved") ? before["resolved"].value(key, Json()) : Json();
    if (key != "version" && was != value)
      throw UsageError(concat(run.path().string(), " holds a run whose ", key, " was ", was.dump(), ", now ", value.dump(),
                              "; it cannot go on to the same bits: use --restart or another --run"));
  }
  return true;
}

void announce(const LmOptions& o, const LmData& data, const ParameterSet& parameters, const Trainer& trainer, const IntactCheckpoint& found,
              TrainHost& host) {
  if (found.checkpoint) {
    host.event(
        {{"event", "resume"}, {"step", trainer.step()}, {"epoch", trainer.epoch()}, {"time_s", trainer.seconds()}, {"skipped", found.skipped}});
    host.message(concat("going on from step ", trainer.step(), " of ", o.run));
  } else {
    Json start{{"event", "start"},
               {"step", 0},
               {"epoch", 0},
               {"time_s", 0},
               {"parameters", parameters.count()},
               {"vocab", data.vocabulary.size()},
               {"train_tokens", data.train.tokens()},
               {"unknown_share", static_cast<double>(data.train.unknown()) / static_cast<double>(data.train.tokens())},
               {"threads", threads()}};
    if (!found.skipped.empty()) start["skipped"] = found.skipped;  // every checkpoint was damaged
    if (data.valid_floor) start.update({{"entropy_floor_ppl", *data.valid_floor}, {"language_floor_ppl", *data.language_floor}});
    host.event(start);
  }
  host.message(concat(parameters.count(), " parameters, ", data.vocabulary.size(), " words, ", data.train.tokens(), " training tokens (",
                      data.train.unknown(), " unknown), ", threads(), " threads"));
  if (o.sample && !data.valid_floor)
    host.message("the vocabulary lacks words of the sample's validation text, so the sample's entropy is no floor for this run");
}

void conclude(const LmData& data, const LanguageModel& model, ParameterSet& parameters, Trainer& trainer, TrainHost& host, RunDirectory& run) {
  const Checkpoint best = open_checkpoint(run.path());
  parameters.load(best.tensors("model.safetensors"), parameters.values());
  Json done{{"event", "done"},
            {"step", trainer.step()},
            {"epoch", trainer.epoch()},
            {"time_s", trainer.seconds()},
            {"parameters", parameters.count()},
            {"best_step", best.step()},
            {"best_checkpoint", "checkpoints/best"},
            {"stopped_early", trainer.stopped_early()}};
  std::printf("%lld updates in %s, %lld parameters\n", static_cast<long long>(trainer.step()), human_duration(trainer.seconds()).c_str(),
              static_cast<long long>(parameters.count()));
  const auto say = [](const char* what, double ppl, const std::optional<double>& floor) {
    std::printf("%s perplexity %.3f", what, ppl);
    if (floor) std::printf("   (floor %.3f: what the language itself scores)", *floor);
    std::printf("\n");
  };
  if (data.valid) {
    done["best_valid_ppl"] = trainer.best().ppl;
    say("best validation", trainer.best().ppl, data.valid_floor);
  }
  if (data.test) {
    const Evaluation test = evaluate_carried(model, trainer.tape(), *data.test);
    host.event({{"event", "test"},
                {"step", best.step()},
                {"epoch", trainer.epoch()},
                {"time_s", trainer.seconds()},
                {"loss", test.nll()},
                {"nll", test.nll()},
                {"ppl", test.ppl()},
                {"tokens", test.tokens}});
    done["test_ppl"] = test.ppl();
    say("test", test.ppl(), data.test_floor);
  }
  host.event(done);
  host.validated();
  std::printf("model  %s\nreport %s\n", (run.checkpoints() / "best").c_str(), run.report_file().c_str());
}

}  // namespace nine::app
