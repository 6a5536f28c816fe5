#include "apps/training/train_run.h"

#include "apps/cli/run_main.h"
#include "apps/cli/signals.h"
#include "apps/cli/version.h"
#include "apps/training/profile_table.h"
#include "core/cpu_info.h"
#include "core/gemm.h"
#include "core/ops.h"
#include "core/threads.h"

namespace nine::app {
namespace {

using Json = nlohmann::ordered_json;

// Whether the directory's run goes on; a mismatch with `now`, the configuration of this start, is
// an error that names the option.
bool resumes(const TrainingRun& t, const Json& now, RunDirectory& run) {
  if (!run.has_run()) return false;
  if (t.o.restart) {
    run.restart({"average"});
    return false;
  }
  const Json before = run.read_config();
  const std::string mismatch = compare_configs(before, t.options.to_json(), keys_free_on_resume(),
                                               t.options.defaults_json());
  if (!mismatch.empty())
    throw UsageError(concat(run.path().string(), " holds another run: ", mismatch));
  // Data, instruction set, libraries and block sizes decide about bits as well.
  for (const auto& [key, value] : now["resolved"].items()) {
    const Json was = before.contains("resolved") ? before["resolved"].value(key, Json()) : Json();
    if (key != "version" && was != value)
      throw UsageError(concat(
          run.path().string(), " holds a run whose ", key, " was ", was.dump(), ", now ",
          value.dump(), "; it cannot go on to the same bits: use --restart or another --run"));
  }
  return true;
}

// The log's first line, `start`, or `resume` where a checkpoint was found.
void announce(const TrainingRun& t, const Trainer& trainer, const IntactCheckpoint& found,
              RunCallbacks& host) {
  if (found.checkpoint) {
    host.event({{"event", "resume"},
                {"step", trainer.step()},
                {"epoch", trainer.epochs()},
                {"time_s", trainer.seconds()},
                {"skipped", found.skipped}});
    host.message(concat("going on from step ", trainer.step(), " of ", t.o.run));
  } else {
    Json start{{"event", "start"},
               {"step", 0},
               {"epoch", 0},
               {"time_s", 0},
               {"parameters", t.parameters.count()}};
    start.update(t.start);
    start["threads"] = threads();
    if (!found.skipped.empty()) start["skipped"] = found.skipped;  // every checkpoint was damaged
    host.event(start);
  }
  for (const std::string& line : t.messages) host.message(line);
}

// model.safetensors names its head, for where it travels without config.json
// (nn/models/model_directory.h).
std::map<std::string, std::string> metadata_of(const TrainingRun& t) {
  std::map<std::string, std::string> metadata = t.metadata;
  metadata["head"] = t.o.head_spec().to_text();
  if (!t.o.head_context.empty()) metadata["head_context"] = t.o.head_context;
  if (t.o.untied) metadata["untied"] = "true";
  return metadata;
}

// The best model's results, and the log's last line.
void conclude(const TrainingRun& t, Trainer& trainer, RunCallbacks& host, RunDirectory& run) {
  const Checkpoint best = open_checkpoint(run.path());
  t.parameters.load(best.tensors("model.safetensors"), t.parameters.values());
  Json done{{"event", "done"},
            {"step", trainer.step()},
            {"epoch", trainer.epochs()},
            {"time_s", 0},
            {"parameters", t.parameters.count()},
            {"best_step", best.step()},
            {"best_checkpoint", "checkpoints/best"},
            {"stopped_early", trainer.stopped_early()}};
  std::printf("%lld updates in %s, %lld parameters\n", static_cast<long long>(trainer.step()),
              human_duration(trainer.seconds()).c_str(),
              static_cast<long long>(t.parameters.count()));
  t.conclude(best, trainer, host, done);
  done["time_s"] = trainer.seconds();  // after the test, as log.jsonl's lines are in their order
  host.event(done);
  host.validated();
  std::printf("model  %s\nreport %s\n", (run.checkpoints() / "best").c_str(),
              run.report_file().c_str());
}

}  // namespace

Json test_event(const Checkpoint& best, const Trainer& trainer, const Evaluation& test) {
  Json event{{"event", "test"},
             {"step", best.step()},
             {"epoch", best.state().value("epochs", trainer.epochs())},
             {"time_s", trainer.seconds()},
             {"loss", test.nll()},
             {"nll", test.nll()},
             {"ppl", test.ppl()},
             {"tokens", test.tokens}};
  if (test.bleu) event["bleu"] = *test.bleu;
  return event;
}

Json resolved_settings(const TrainOptions& o, const ParameterSet& parameters, int64_t words,
                       int64_t width) {
  return {{"version", kVersion},
          {"head", o.head_spec().to_text()},
          {"parameters", parameters.count()},
          {"instruction_set", built_for()},
          {"gemm", gemm_description()},
          {"head_block_rows", head_block_rows(o.head_spec(), words, width, parameters.dtype(),
                                              parameters.values().device())},
          {"head_memory", o.head_memory},
          {"head_tile", ops::kHeadTile},
          {"head_chunks", ops::kHeadChunks}};
}

int run_training(const TrainingRun& t) {
  Json config = t.options.to_json();
  config.erase("restart");  // a wish of one start, not part of the run
  config["resolved"] = t.resolved;
  RunDirectory run(t.o.run);
  const bool resume = resumes(t, config, run);
  run.write_config(config);  // first of all: a run killed from here on finds itself again
  const IntactCheckpoint found =
      resume ? CheckpointStore(run.checkpoints(), t.o.keep).find_latest_intact()
             : IntactCheckpoint{};
  const bool all_damaged = !found.skipped.empty() && !found.checkpoint;
  const std::filesystem::path old =
      all_damaged ? run.restart({"average"}) : std::filesystem::path();
  if (all_damaged) run.write_config(config);
  CheckpointStore store(run.checkpoints(), t.o.keep);
  Json in_checkpoint = config;
  in_checkpoint.update(t.model_config);
  RunCallbacks::ExtraFiles files{{"config.json", in_checkpoint.dump(1) + "\n"}};
  files.insert(files.end(), t.files.begin(), t.files.end());
  RunCallbacks host(run, files);
  for (const std::string& skipped : found.skipped) host.message(skipped);
  if (all_damaged)
    host.message(concat(
        "no checkpoint is intact: the run starts over from the beginning; what there was is in ",
        old.string()));
  Arena arena("step", t.parameters.values().device());
  Trainer trainer(t.parameters, t.task, arena, t.o.trainer(), store, host, metadata_of(t));
  if (found.checkpoint) trainer.restore(*found.checkpoint);
  if (run.finished() && trainer.done()) {
    host.message(concat(
        t.o.run,
        trainer.stopped_early()
            ? ": this run has stopped early; use --restart, or another --run without --early-stop"
            : ": this run is finished; raise --after to train on, or use --restart"));
    return kExitDone;
  }
  run.cut_log(found.checkpoint ? found.checkpoint->step() : -1);
  if (!t.o.tensorboard.empty()) host.mirror_to_tensorboard(t.o.tensorboard, config);
  announce(t, trainer, found, host);
  catch_interrupts();
  const Trainer::Outcome outcome = trainer.run();
  host.finish();
  if (t.o.profile) print_profile(stdout, measure_machine(), trainer.updates_here());
  if (outcome == Trainer::Outcome::interrupted) {
    std::fprintf(stderr,
                 "%s: interrupted; step %lld is saved, the same command goes on from there\n",
                 t.program, static_cast<long long>(trainer.step()));
    return kExitInterrupted;
  }
  conclude(t, trainer, host, run);
  return kExitDone;
}

}  // namespace nine::app
