#include "apps/training/train_run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>

#include "apps/cli/number_format.h"
#include "apps/cli/output_directory.h"
#include "apps/cli/run_main.h"
#include "apps/cli/same_start.h"
#include "apps/cli/signals.h"
#include "apps/cli/version.h"
#include "apps/report/tensorboard.h"
#include "apps/training/compare_configs.h"
#include "apps/training/instruction_set_of_run.h"
#include "apps/training/own_checkpoint.h"
#include "apps/training/profile_table.h"
#include "apps/training/training_texts.h"
#include "core/directory_lock.h"
#include "core/gemm.h"
#include "core/instruction_set.h"
#include "core/json.h"
#include "core/quote.h"
#include "core/threads.h"
#include "kernels/loss/kernel_softmax.h"
#include "kernels/ops.h"
#include "kernels/settings/head_json.h"
#include "nn/models/dictionary_identity.h"
#include "nn/models/model_description.h"
#include "nn/models/model_directory.h"
#include "nn/softmax_head.h"
#include "nn/training/training_state.h"

namespace nine::app {
namespace {

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string item; std::getline(in, item, ',');) all.push_back(item);
  return all;
}

// Of a run with several micro-batches an update: how their gradients are added.
constexpr const char* kGradientSum = "gradient_sum";

// In "resolved": the contexts in a block of the output layer.
constexpr const char* kBlockRows = "head_block_rows";

// Whether the directory's run is resumed. Error, which names the option: its configuration differs
// from `now`, that of this start, which gets the checksum of the model that the run began from.
// `passed` gets what --other-gpu lets differ.
bool resumes(const TrainingRun& t, Json& now, RunDirectory& run, std::vector<std::string>& passed) {
  if (!run.has_run()) return false;
  if (t.options.restart) {
    run.restart({"average"});
    return false;
  }
  const Json stored = run.read_config();
  if (const std::string_view trainer = trainer_of(stored); !trainer.empty() && trainer != t.program)
    throw UsageError(concat(run.path().string(), " holds a run of ", trainer, ", and this is ",
                            t.program, ": give another --run, or --restart, which moves that run ",
                            "to ", run.path().string(), "/old-N"));
  const Json before = t.flags.in_present_names(stored),
             resolved = resolved_of(before, run.config_file());
  const std::string mismatch = compare_configs(before, t.flags.to_json(), keys_free_on_resume(),
                                               t.flags.defaults_json(), t.inputs);
  if (!mismatch.empty())
    throw UsageError(concat(run.path().string(), " holds another run: ", mismatch));
  if (now["resolved"].contains(kGradientSum) && before.contains("resolved") &&
      !before["resolved"].contains(kGradientSum))
    throw UsageError(concat(
        run.path().string(), " holds a run with --accumulate ", t.options.accumulate,
        " of an older version, which added gradients in another order and read another part of the "
        "text for each batch; this version cannot resume it: use --restart or another --run"));
  passed =
      require_same_machine(run.path().string(), resolved, now["resolved"], t.options.other_gpu);
  const Json identity = resolved.value(kIdentity, Json::object());
  for (const std::string& key : {std::string("init"), config_key("init")})
    if (identity.contains(key)) now["resolved"][kIdentity][key] = identity[key];
  return true;
}

// The log's first line, `start`, or `resume` where a checkpoint was found.
void announce(const TrainingRun& t, const Trainer& trainer, const IntactCheckpoint& found,
              const RunDirectory& run, RunCallbacks& callbacks) {
  if (found.checkpoint) {
    Json resume{{"event", "resume"},
                {"step", trainer.step()},
                {"epoch", trainer.epochs()},
                {"time_s", trainer.seconds()},
                {"skipped", found.skipped}};
    if (!trainer.lost_best().empty()) resume["lost_best"] = trainer.lost_best();
    const int64_t lost = run.updates_not_logged(trainer.step(), t.options.log_every);
    if (lost > 0) resume["lost_updates"] = lost;
    callbacks.event(resume);
    callbacks.message(concat("going on from step ", trainer.step(), " of ", t.options.run));
    if (lost > 0)
      callbacks.message(concat(run.log_file().string(), " was removed or cut: it lacks ", lost,
                               " of the ", trainer.step(),
                               " updates so far, and so will the report"));
  } else {
    Json start{{"event", "start"},
               {"step", 0},
               {"epoch", 0},
               {"time_s", 0},
               {"parameters", t.parameters.count()}};
    start.update(t.start);
    if (t.unigram_ppl) start["unigram_ppl"] = *t.unigram_ppl;
    start["threads"] = threads();
    if (!found.skipped.empty()) start["skipped"] = found.skipped;  // every checkpoint was damaged
    callbacks.event(start);
    if (!t.init_taken.empty()) callbacks.message(t.init_taken);
  }
  for (const std::string& line : t.messages) callbacks.message(line);
  if (t.options.after.unit == TrainingUnit::updates)
    for (const std::string& line : t.options.unreached(t.options.after.value))
      callbacks.message(line);
  if (const std::string line = t.options.length_of_fall(); !line.empty()) callbacks.message(line);
  for (const std::string& line : same_texts(t.flags.to_json(), t.inputs.identity))
    callbacks.message(line);
}

// What model.safetensors says of its model, and the version that wrote it.
std::map<std::string, std::string> metadata_of(const TrainingRun& t) {
  std::map<std::string, std::string> metadata =
      ModelDescription{.network = t.metadata, .head = static_cast<const HeadSettings&>(t.options)}
          .metadata();
  metadata[kVersionKey] = kVersion;
  metadata[kWordsKey] = json_text(dictionaries_of(t.inputs.identity));
  return metadata;
}

// The best model, as it was saved, of that step.
Checkpoint open_best(const RunDirectory& run, int64_t step) {
  try {
    Checkpoint best(run.checkpoints() / "best", CheckpointUse::model);
    require(best.step() == step, (run.checkpoints() / "best").string(), " is of step ", best.step(),
            " in place of ", step);
    return best;
  } catch (const Error& e) {
    fail("the best model was lost during the run: ", e.what(),
         "; the same command ends the run with the latest one");
  }
}

// The best model's results, and the log's last line.
void conclude(const TrainingRun& t, const Json& config, Trainer& trainer, RunCallbacks& callbacks,
              RunDirectory& run) {
  const Checkpoint best =
      open_best(run, t.task.has_validation() ? trainer.best().step : trainer.step());
  require_own_checkpoint(best, run.config_file(), config, t.flags, t.inputs.former);
  t.parameters.load(read_training_weights(best));
  Json done{{"event", "done"},
            {"step", trainer.step()},
            {"epoch", trainer.epochs()},
            {"time_s", 0},
            {"parameters", t.parameters.count()},
            {"best_step", best.step()},
            {"best_checkpoint", "checkpoints/best"},
            {"stopped_early", trainer.stopped_early()}};
  std::printf("%lld updates in %s, %lld parameters\n", static_cast<long long>(trainer.step()),
              short_duration(trainer.seconds()).c_str(),
              static_cast<long long>(t.parameters.count()));
  t.conclude(best, trainer, callbacks, done);
  done["time_s"] = trainer.seconds();  // after the test, as log.jsonl's lines are in their order
  callbacks.event(done);
  callbacks.validated();
  std::printf("model  %s\n", (run.checkpoints() / "best").c_str());
  if (callbacks.has_report()) std::printf("report %s\n", run.report_file().c_str());
}

constexpr const char* kStoppedEarly =
    ": this run has stopped early; use --restart, or another --run without --early-stop";
constexpr const char* kFinishedBefore =
    ": this run is finished; raise --after to train on, or use --restart";

// The state of the run directory at the start.
struct Start {
  bool resumed = false;            // the run that was there goes on
  IntactCheckpoint found;          // where the run is resumed, if there is a checkpoint
  std::filesystem::path moved_to;  // where a run without an intact checkpoint was put, else empty
  std::vector<std::string> other_gpu;  // what of the GPU is not as it was
};

// Throws why the weights of --init, which a run without a checkpoint needs, could not be loaded.
void require_initial_weights(const TrainingRun& t) {
  if (!t.init_error.empty()) throw Error(t.init_error);
}

// UsageError: a run without a checkpoint would begin from another model than it began from before.
// `config` has the checksums of that model.
void require_same_initial_model(const TrainingRun& t, const Json& config) {
  const Json& before = config["resolved"][kIdentity];
  for (const std::string& key : {std::string("init"), config_key("init")}) {
    const auto is = t.inputs.identity.find(key), was = before.find(key);
    if (is == t.inputs.identity.end() || was == before.end() || *is == *was) continue;
    throw UsageError(
        concat(t.options.run, " has no checkpoint and would begin again from another model: ",
               config.value("init", ""), key == "init" ? "" : "'s config.json",
               " had the checksum ", json_text(*was), " when this run began, now ", json_text(*is),
               "; give the model that the run began from, or use --restart or another --run"));
  }
}

// Writes the configuration of a new run before anything else: killed from here on, it can be
// resumed. That of a run that goes on stays until it is known that there is something left to do.
Start open_run(const TrainingRun& t, Json& config, RunDirectory& run) {
  Start start;
  start.resumed = resumes(t, config, run, start.other_gpu);
  if (start.resumed)
    start.found = CheckpointStore(run.checkpoints(), t.options.keep).find_latest_intact();
  if (start.found.checkpoint) {
    const Checkpoint& latest = *start.found.checkpoint;
    require_own_checkpoint(latest, run.config_file(), config, t.flags, t.inputs.former);
    const Json best = latest.state().value("best", Json::object());
    require_own_best(run.checkpoints(), best.value("step", int64_t{0}), run.config_file(), config,
                     t.flags, t.inputs.former);
    Json counts = t.start;
    counts["parameters"] = t.parameters.count();
    require_own_log(run.log_file(), latest, counts);
  }
  if (start.resumed && !start.found.checkpoint) require_same_initial_model(t, config);
  // Where the checkpoints of a run are gone, its log is not overwritten.
  if (start.resumed && !start.found.checkpoint &&
      (!start.found.skipped.empty() || run.had_checkpoint())) {
    require_initial_weights(t);
    run.require_writable();
    start.moved_to = run.restart({"average"});
    start.resumed = false;
  }
  if (!start.resumed) run.write_config(config);
  return start;
}

RunCallbacks::ExtraFiles checkpoint_files(const TrainingRun& t, Json config) {
  config.update(t.model_config);
  RunCallbacks::ExtraFiles files{{"config.json", json_text(config, 1) + "\n"}};
  files.insert(files.end(), t.files.begin(), t.files.end());
  return files;
}

// Trains to the end or to an interruption.
int train(const TrainingRun& t, const Json& config, Trainer& trainer, RunCallbacks& callbacks,
          RunDirectory& run) {
  catch_interrupts();
  const Trainer::Outcome outcome = trainer.run();
  callbacks.finish();
  if (t.options.profile && trainer.updates_here() > 0)  // nothing may be left to do
    print_profile(stdout, measure_machine(t.parameters.device()), trainer.updates_here());
  if (outcome == Trainer::Outcome::finished && t.options.after.unit != TrainingUnit::updates)
    for (const std::string& line : t.options.unreached(trainer.step())) callbacks.message(line);
  if (outcome == Trainer::Outcome::interrupted) {
    std::fprintf(stderr,
                 "%s: interrupted; step %lld is saved, the same command goes on from there\n",
                 t.program, static_cast<long long>(trainer.step()));
    return kExitInterrupted;
  }
  conclude(t, config, trainer, callbacks, run);
  return kExitDone;
}

}  // namespace

Json test_event(const Checkpoint& best, const Trainer& trainer, const Evaluation& test) {
  require(std::isfinite(test.nll()), "the test text: ", kNoLogP);
  Json event{{"event", "test"},
             {"step", best.step()},
             {"epoch", best.state().value("epochs", trainer.epochs())},
             {"time_s", trainer.seconds()},
             {"loss", test.nll()},
             {"nll", test.nll()},
             {"ppl", test.ppl()},
             {"tokens", test.tokens}};
  test.add_raw_figures(event);
  if (test.bleu) event["bleu"] = *test.bleu;
  return event;
}

Json resolved_of_run(const TrainOptions& o) try {
  const std::filesystem::path config = std::filesystem::path(o.run) / "config.json";
  if (o.restart || !o.export_parity.empty() || !std::filesystem::is_regular_file(config)) return {};
  return read_json_object(config).value("resolved", Json::object());
} catch (const std::exception&) {
  return {};
}

int64_t block_rows_of_run(const TrainOptions& o, Device device, Communicator& communicator) {
  int64_t rows = 0;
  if (communicator.first() && device == kCpu) {
    const Json before = resolved_of_run(o);
    const auto stored = before.find(kBlockRows);
    if (stored != before.end() && stored->is_number_integer()) rows = stored->get<int64_t>();
    if (rows < 0 || rows % ops::kHeadPanel != 0) rows = 0;  // the comparison names this number
  }
  communicator.broadcast(&rows, sizeof rows);
  return rows;
}

Json resolved_settings(const TrainOptions& o, const ParameterSet& parameters, int64_t words,
                       int64_t width) {
  const HeadConfig config = o.head_config();
  const Json head = to_json(config);
  Json out{
      {"version", kVersion},
      {"head", head["head"]},
      {"parameters", parameters.count()},
      {"instruction_set", to_text(instruction_set())},
      {"gemm", gemm_description()},
      {kBlockRows, o.block_rows > 0 ? o.block_rows
                                    : head_block_rows(config.spec, words, width, parameters.dtype(),
                                                      parameters.device())},
      {"head_memory", head["head_memory"]},
      {"head_tile", ops::kHeadTile},
      {"head_chunks", ops::kHeadChunks}};
  if (o.accumulate > 1) out[kGradientSum] = "tree";
  out.update(gpu_settings(parameters.device()));
  return out;
}

namespace {

TrainerConfig trainer_config(const TrainingRun& t, Communicator& communicator) {
  TrainerConfig config = t.options.trainer();
  config.step.communicator = config.optimizer.communicator = &communicator;
  return config;
}

// The run that wrote the events, as its configuration names it; empty if that is not recorded.
std::string run_of(const BoardEvents& events) {
  const auto run = events.settings.find("run");
  return run == events.settings.end() ? "" : run->second;
}

[[noreturn]] void fail_for_events(const TrainOptions& o, const BoardEvents& events,
                                  const std::string& why, const char* advice) {
  const std::string of = run_of(events);
  throw UsageError(concat("--tensorboard ", o.tensorboard, " has the events of another run",
                          of.empty() ? "" : concat(", ", shortened(of)),
                          why.empty() ? "" : concat(" (", why, ")"),
                          ", and TensorBoard would show both as one: ", advice));
}

// Whether `inner` is `outer` or lies in it; both need not exist.
bool lies_in(const std::filesystem::path& inner, const std::filesystem::path& outer) {
  std::error_code error;
  const auto whole = [&](const std::filesystem::path& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path) / "x", error)
        .parent_path();
  };
  const auto in = whole(inner), out = whole(outer);
  return !error && std::ranges::mismatch(in, out).in2 == out.end();
}

// The configuration of a run; an empty object if it cannot be read.
Json config_of(const std::filesystem::path& run) {
  try {
    return read_json_object(run / "config.json");
  } catch (const Error&) {
    return Json::object();
  }
}

// The events in --tensorboard before the run begins. UsageError: TensorBoard would show them and
// the run's own as one, because another program wrote some, or another run that is still there, or,
// for a new run, any run.
BoardEvents require_own_board(const TrainOptions& o, bool is_new) {
  if (o.tensorboard.empty()) return {};
  BoardEvents events = read_events(o.tensorboard);
  if (!events.others.empty())
    throw UsageError(concat("--tensorboard ", o.tensorboard,
                            " has event files of another program (",
                            shortened(events.others.front()),
                            "), and TensorBoard would show them and this run as one: give another "
                            "directory"));
  if (!events.any) return events;
  // A run that was renamed has events that name its former directory, where another run may be now.
  const std::filesystem::path of = run_of(events);
  std::error_code ignored;
  if (!of.empty() && RunDirectory::holds_run(of) &&
      !std::filesystem::equivalent(of, o.run, ignored) &&
      other_run_of(events, config_of(of), of / "log.jsonl").empty())
    fail_for_events(o, events, {}, "give another directory");
  if (is_new && !o.restart)
    fail_for_events(o, events, {}, "give another directory, or --restart, which moves them away");
  return events;
}

// Locks the directory of --tensorboard, because runs that begin together see no events of each
// other. Makes it. UsageError: another run has the lock; the directory lies where checkpoints alone
// are.
std::unique_ptr<DirectoryLock> lock_board(const TrainOptions& o) {
  if (o.tensorboard.empty()) return nullptr;
  for (const char* part : {"checkpoints", "average"})
    if (const auto place = std::filesystem::path(o.run) / part; lies_in(o.tensorboard, place))
      throw UsageError(concat("--tensorboard ", o.tensorboard, " lies in ", place.string(),
                              ", where checkpoints alone are; give another --tensorboard"));
  require_outside_of_checkpoints("--tensorboard", o.tensorboard);
  make_output_directory("--tensorboard", o.tensorboard);
  auto lock = std::make_unique<DirectoryLock>(o.tensorboard);
  if (lock->taken())
    throw UsageError(concat("--tensorboard ", o.tensorboard,
                            ": another run writes its events there: give another directory"));
  return lock;
}

// Rank 0's part, and all there is with one process. Of several, what the others wait for is written
// beside (assist() below).
int lead(const TrainingRun& t, Json config, Communicator& communicator) {
  const bool is_new = !RunDirectory::holds_run(t.options.run);
  if (t.options.restart || is_new) require_initial_weights(t);
  const auto board = lock_board(t.options);
  const BoardEvents events = require_own_board(t.options, is_new);
  RunDirectory run(t.options.run);
  const Start start = open_run(t, config, run);
  if (start.resumed)
    if (const std::string why = other_run_of(events, config, run.log_file()); !why.empty())
      fail_for_events(t.options, events, why, "give another directory");
  if (!start.found.checkpoint) require_initial_weights(t);
  CheckpointStore store(run.checkpoints(), t.options.keep);
  std::optional<RunCallbacks::Unigram> unigram;
  if (t.unigram_ppl) unigram = {*t.unigram_ppl, t.options.help_to_start(), t.options.warmup};
  RunCallbacks callbacks(run, checkpoint_files(t, config), unigram);
  for (const std::string& skipped : start.found.skipped) callbacks.message(skipped);
  if (!start.moved_to.empty())
    callbacks.message(
        start.found.skipped.empty()
            ? concat(run.checkpoints().string(),
                     " has no checkpoint, and the log is of a run that ",
                     "wrote some: the run starts over; its log is in ", start.moved_to.string())
            : concat(
                  "no checkpoint is intact: the run starts over; the damaged checkpoints are in ",
                  start.moved_to.string()));
  for (const std::string& difference : start.other_gpu) callbacks.message(difference);
  Arena arena("step", t.parameters.device());
  Trainer trainer(t.parameters, t.task, arena, trainer_config(t, communicator), &store, callbacks,
                  metadata_of(t));
  if (communicator.broadcast(start.found.checkpoint.has_value()))
    trainer.restore(&*start.found.checkpoint);
  const bool lost_best = !trainer.lost_best().empty();
  if (lost_best)
    callbacks.message(concat("the best model so far, of step ", trainer.best().step,
                             ", is lost: ", trainer.lost_best()));
  // A finished run whose best model is lost ends once more, with the figures of one that is there.
  if (communicator.broadcast(run.finished() && trainer.done() && !(lost_best && run.writable()))) {
    callbacks.message(
        concat(t.options.run, trainer.stopped_early() ? kStoppedEarly : kFinishedBefore));
    return kExitDone;
  }
  run.require_writable();
  if (!t.options.tensorboard.empty()) {  // may fail: before anything of the run changes
    if (t.options.restart || !start.moved_to.empty())
      if (const auto old = move_events_away(t.options.tensorboard); !old.empty()) {
        const std::string of = run_of(events);
        callbacks.message(
            concat("--tensorboard: the events of the run before",
                   of.empty() || of == t.options.run ? "" : concat(", ", shortened(of), ","),
                   " are in ", old.string()));
      }
    callbacks.mirror_to_tensorboard(t.options.tensorboard, config);
  }
  if (start.resumed) run.write_config(config);
  run.cut_log(start.found.checkpoint ? start.found.checkpoint->step() : -1);
  callbacks.copy_log_to_tensorboard();
  announce(t, trainer, start.found, run, callbacks);
  return train(t, config, trainer, callbacks, run);
}

// The callbacks of the processes that write nothing.
class SilentCallbacks : public TrainerCallbacks {
 public:
  void event(const Json&) override {}
  void message(const std::string&) override {}
  void progress(double, int64_t, int64_t, const std::string&) override {}
  bool interrupted() override { return app::interrupted() != 0; }
  void add_files(CheckpointFiles&) override {}
};

// The part of every other rank.
int assist(const TrainingRun& t, Communicator& communicator) {
  SilentCallbacks callbacks;
  Arena arena("step", t.parameters.device());
  Trainer trainer(t.parameters, t.task, arena, trainer_config(t, communicator), nullptr, callbacks,
                  {});
  if (communicator.broadcast(false)) {
    trainer.restore(nullptr);
  } else {
    require_initial_weights(t);
  }
  if (communicator.broadcast(false)) return kExitDone;
  catch_interrupts();
  return trainer.run() == Trainer::Outcome::interrupted ? kExitInterrupted : kExitDone;
}

}  // namespace

std::string init_error_of(const std::function<void()>& load) {
  try {
    load();
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& e) {
    return concat("--init: ", e.what());
  } catch (const std::filesystem::filesystem_error& e) {  // no permission to look there
    return concat("--init: ", e.what());
  }
  return {};
}

int run_training(const TrainingRun& t, Communicator& communicator) {
  if (!t.options.freeze.empty()) t.parameters.freeze(split_list(t.options.freeze));
  Json config = t.flags.to_json();
  config["resolved"] = t.resolved;
  config["resolved"][kIdentity] = t.inputs.identity;
  require_same_start(communicator, config);
  for (const char* key : {"restart", "other_gpu"})
    config.erase(key);  // about one start, not the run
  return communicator.first() ? lead(t, config, communicator) : assist(t, communicator);
}

}  // namespace nine::app
