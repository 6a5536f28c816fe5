#include "nn/training/trainer.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/json.h"
#include "core/number_format.h"
#include "core/ops.h"
#include "core/profile.h"
#include "nn/training/training_state.h"

namespace nine {
namespace {

// Writes a number as JSON, which has no infinity: numbers that are not finite become null.
Json number(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }
double number_from(const Json& x) { return x.is_null() ? INFINITY : x.get<double>(); }

std::string short_number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", x);
  return text;
}

// Returns the perplexity of nats per token.
std::string short_perplexity(double nll) {
  const double ppl = std::exp(nll);
  return std::isfinite(ppl) ? short_number(ppl) : power_of_e(nll, 0);
}

void add_mixture_weights(Json& line, const MixtureWeightStats& weights) {
  if (!weights) return;
  line["pi_mean"] = weights.mean();
  line["pi_var"] = weights.variance();
}

// Gives every process rank 0's tensors, without metadata.
void broadcast_tensors(Communicator& communicator, Safetensors& file) {
  if (communicator.size() == 1) return;
  Json all{{"tensors", Json::array()}};
  for (const auto& [name, tensor] : file.tensors) {
    Json shape = Json::array();
    for (int i = 0; i < tensor.shape().rank(); ++i) shape.push_back(tensor.shape()[i]);
    all["tensors"].push_back(
        {{"name", name}, {"dtype", to_text(tensor.dtype())}, {"shape", shape}});
  }
  all = parse_json_object(communicator.broadcast(json_text(all)));
  for (const Json& t : all.at("tensors")) {
    const auto sizes = t.at("shape").get<std::vector<int64_t>>();
    Tensor& tensor = file.tensors[t.at("name").get<std::string>()];
    if (!communicator.first())
      tensor = Tensor(Shape(sizes.data(), static_cast<int>(sizes.size())),
                      dtype_from_text(t.at("dtype").get<std::string>()));
    communicator.broadcast(tensor.view().data, tensor.view().bytes());
  }
}

// Overwrites the views' elements, on the CPU and without gaps, with rank 0's elements.
void broadcast_views(Communicator& communicator, const std::vector<NamedView>& views) {
  for (const NamedView& v : views) communicator.broadcast(v.view.data, v.view.bytes());
}

}  // namespace

std::vector<Json> TrainingTask::validation_samples() const { return {}; }

Json EpochTask::position() const {
  const BatchPosition at = stream_.position();
  return {{"epoch", at.epoch}, {"step", at.step}};
}

void EpochTask::seek(const Json& position) {
  stream_.seek({position.at("epoch").get<int64_t>(), position.at("step").get<int64_t>()});
}

double peak_memory_mib(const Arena& arena, const ParameterSet& parameters,
                       const Optimizer* optimizer) {
  if (arena.device() == kCpu) {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024;
  }
  const int64_t slabs =
      1 + (parameters.gradients() ? 1 : 0) + (optimizer != nullptr ? optimizer->slab_count() : 0);
  const double slab =
      static_cast<double>(parameters.count()) * static_cast<double>(size_of(parameters.dtype()));
  return (static_cast<double>(arena.peak_bytes()) + static_cast<double>(slabs) * slab) / (1 << 20);
}

Trainer::Trainer(ParameterSet& parameters, TrainingTask& task, Arena& arena,
                 const TrainerConfig& config, CheckpointStore* store, TrainerCallbacks& callbacks,
                 std::map<std::string, std::string> metadata)
    : parameters_(parameters),
      task_(task),
      config_(config),
      communicator_(config.step.communicator != nullptr ? *config.step.communicator
                                                        : one_process()),
      store_(store),
      callbacks_(callbacks),
      metadata_(std::move(metadata)),
      optimizer_(make_optimizer(parameters, config.optimizer)),
      step_(parameters, *optimizer_, arena, config.step),
      schedule_(config.schedule),
      trigger_(config.average_trigger),
      started_(profile::clock_seconds()) {}

double Trainer::seconds() const { return seconds_before_ + profile::clock_seconds() - started_; }

void Trainer::stamp(Json& line) const {
  line["step"] = progress_.step;
  line["epoch"] = epochs();
  line["time_s"] = seconds();
}

double Trainer::share_of(const TrainingLength& length) const {
  const double done =
      length.unit == TrainingUnit::epochs
          ? epochs()
          : static_cast<double>(length.counter(0, progress_.step, progress_.tokens));
  return done / static_cast<double>(length.value);
}

double Trainer::next_rate() const {
  const TrainingLength& length =
      config_.schedule_length.value > 0 ? config_.schedule_length : config_.after;
  return schedule_.rate(progress_.step + 1, std::min(1.0, share_of(length)));
}

double Trainer::epochs() const {
  return static_cast<double>(progress_.epoch) +
         (task_.epoch_finished() ? 0.0 : task_.epoch_share());
}

bool Trainer::done() const {
  return progress_.stopped_early ||
         config_.after.reached(progress_.epoch, progress_.step, progress_.tokens);
}

bool Trainer::due(const TrainingLength& every, int64_t& count) const {
  if (every.value == 0) return false;
  const int64_t times =
      every.counter(progress_.epoch, progress_.step, progress_.tokens) / every.value;
  return times > std::exchange(count, times);
}

Trainer::Outcome Trainer::run() {
  if (best_is_lost_) replace_lost_best();
  while (!done()) {
    if (communicator_.any(callbacks_.interrupted())) {
      if (saved_step_ != progress_.step) save(false);
      return Outcome::interrupted;
    }
    one_update();
    const bool last = done(), validation_due = due(config_.valid_every, progress_.validations),
               save_due = due(config_.save_every, progress_.saves);
    // A run shorter than `log_every` is logged at its end. Its sums are kept, because training may
    // be continued.
    if (last && progress_.step < config_.log_every) log_window(rate_);
    const bool improved = (validation_due || last) && validate(validation_due);
    if (improved || validation_due || save_due || done()) save(improved);
  }
  return Outcome::finished;
}

void Trainer::one_update() {
  const double lr = rate_ = next_rate(), before = profile::clock_seconds();
  profile::enable(config_.profile, parameters_.device());
  const StepResult r = step_.run(task_, progress_.step + 1, lr);
  profile::enable(false);
  ++updates_here_;
  ++progress_.step;
  progress_.tokens += r.tokens;
  if (task_.epoch_finished()) task_.start_epoch(++progress_.epoch);
  ++window_.updates;
  window_.tokens += r.tokens;
  window_.loss += r.loss * static_cast<double>(r.tokens);
  window_.nll += r.nll * static_cast<double>(r.tokens);
  window_.grad_norm += r.grad_norm;
  window_.seconds += profile::clock_seconds() - before;
  window_.fastest_s += r.fastest_s;
  window_.slowest_s += r.slowest_s;

  const double share = share_of(config_.after), epochs = this->epochs();
  const auto expected = static_cast<int64_t>(
      std::llround(static_cast<double>(progress_.step) / std::max(share, 1e-12)));
  callbacks_.progress(
      std::min(1.0, share), progress_.step, std::max(expected, progress_.step),
      concat("epoch ", short_number(epochs), config_.sampled ? "  ppl~ " : "  ppl ",
             short_perplexity(r.nll), "  lr ", short_number(lr), "  |g| ",
             short_number(r.grad_norm), "  ",
             static_cast<int64_t>(static_cast<double>(window_.tokens) / window_.seconds), " tok/s",
             communicator_.size() == 1 ? ""
                                       : concat("  ranks ", short_number(1e3 * r.fastest_s), " to ",
                                                short_number(1e3 * r.slowest_s), " ms")));
  if (progress_.step % config_.log_every != 0) return;
  log_window(lr);
  clear_window();
}

void Trainer::log_window(double lr) {
  const auto tokens = static_cast<double>(window_.tokens),
             updates = static_cast<double>(window_.updates);
  Json line{{"event", "train"}};
  stamp(line);
  const double nll = window_.nll / tokens;
  logged_ = {progress_.step, nll};
  line.update({{"loss", window_.loss / tokens},
               {"nll", nll},
               {"ppl", std::exp(nll)},
               {"lr", lr},
               {"grad_norm", window_.grad_norm / updates},
               {"tokens_per_s", tokens / window_.seconds},
               {"ms_per_step", 1e3 * window_.seconds / updates},
               {"peak_mib", peak_memory_mib(step_.tape().arena(), parameters_, optimizer_.get())}});
  if (communicator_.size() > 1)
    line["ranks"] = {{"processes", communicator_.size()},
                     {"fastest_ms", 1e3 * window_.fastest_s / updates},
                     {"slowest_ms", 1e3 * window_.slowest_s / updates}};
  if (config_.sampled) line["estimate"] = true;
  if (const MixtureWeightStats* weights = task_.mixture_weight_stats(); weights != nullptr)
    add_mixture_weights(line, *weights);
  const SoftmaxHead* head = task_.head();
  if (head != nullptr)
    for (const auto& [name, value] : head->number_values()) line["learned"][name] = value;
  if (head != nullptr && head->stats() != nullptr) {
    line["context_norm"] = head->stats()->mean_norm();
    if (const std::vector<double> largest = head->largest_contexts(); !largest.empty())
      line["context_max"] = largest;
  }
  if (head != nullptr && head->left_out()) {
    const std::vector<double> sums = head->left_out().to_vector();
    line["head_skip"] = {{"tiles", sums[1] > 0 ? sums[0] / sums[1] : 0},
                         {"gradient", sums[3] > 0 ? sums[2] / sums[3] : 0}};
    constexpr double kMuch = 0.2;
    if (!said_skip_ && sums[2] > kMuch * sums[3]) {
      callbacks_.message(concat("--head-skip left out tiles with ",
                                std::lround(100 * sums[2] / sums[3]),
                                "% of the sum of |dL/dz|: a smaller limit keeps more"));
      said_skip_ = true;
    }
  }
  callbacks_.event(line);
}

void Trainer::clear_window() {
  if (const SoftmaxHead* head = task_.head(); head != nullptr) {
    if (head->stats() != nullptr) head->stats()->clear_norms();
    if (head->left_out()) ops::fill(head->left_out(), 0);
  }
  if (MixtureWeightStats* weights = task_.mixture_weight_stats(); weights != nullptr)
    weights->clear();
  window_ = {};
}

// A validation at the end of training that was not due counts for the best model only. Early
// stopping, the schedule and averaging ignore it, so that continuing the run later gives the same
// bits as one uninterrupted run.
bool Trainer::validate(bool is_due) {
  if (!task_.has_validation() || progress_.validated_step == progress_.step) return false;
  const double before = profile::clock_seconds();
  optimizer_->swap_average();
  const Evaluation result = task_.validate(step_.tape());
  optimizer_->swap_average();
  progress_.validated_step = progress_.step;
  const double nll = result.nll(), ppl = result.ppl();
  require(std::isfinite(nll), "validation after step ", progress_.step, " gave ", nll,
          " nats per token; lower the learning rate or set gradient clipping (the last checkpoint "
          "is kept)");
  const double metric = metric_of(result);
  const bool improved = metric < best_.metric;
  if (improved) best_ = {ppl, nll, progress_.step, result.bleu, metric};
  if (is_due) progress_.bad = metric < progress_.due_metric ? 0 : progress_.bad + 1;
  if (is_due) progress_.due_metric = std::min(progress_.due_metric, metric);
  const bool decayed = is_due && schedule_.validated(metric),
             triggered = is_due && trigger_.validated(metric);
  if (triggered) optimizer_->start_averaging();
  progress_.stopped_early = config_.early_stop > 0 && progress_.bad >= config_.early_stop;

  Json line{{"event", "valid"}};
  stamp(line);
  line.update(
      {{"loss", nll}, {"nll", nll}, {"ppl", ppl}, {"tokens", result.tokens}, {"best", improved}});
  result.add_raw_figures(line);
  if (result.bleu) line["bleu"] = *result.bleu;
  add_mixture_weights(line, result.mixture_weights);
  if (config_.average_trigger > 0) line["averaging"] = trigger_.state().fired;
  callbacks_.event(line);
  for (const Json& sample : task_.validation_samples()) {
    Json event{{"event", nullptr}};
    stamp(event);
    event.update(sample);
    callbacks_.event(event);
  }
  callbacks_.message(concat(
      "step ", progress_.step, ": validation perplexity ", short_perplexity(nll),
      result.bytes > 0 ? concat(" a token, ", short_perplexity(result.word_nll()), " a word, ",
                                short_number(result.bits_per_byte()), " bits per byte")
                       : "",
      result.bleu ? concat(", BLEU ", short_number(*result.bleu)) : "",
      improved ? " (best so far)" : "", " in ", short_number(profile::clock_seconds() - before),
      " s", decayed ? concat("; learning rate now ", short_number(next_rate())) : "",
      triggered ? "; averaging begins" : "",
      progress_.stopped_early
          ? concat("; no better in ", progress_.bad, " validations: stopping early")
          : ""));
  callbacks_.validated();
  return improved;
}

void Trainer::save(bool is_best) {
  // An update can overflow although the loss was finite. If it were saved, it would displace the
  // last good checkpoint.
  for (const NamedView& p : parameters_.named(parameters_.values()))
    require(
        ops::all_finite(p.view), "step ", progress_.step, " left NaN or infinity in ", p.name,
        ", so it was not saved; lower the learning rate, set gradient clipping or lower the weight "
        "decay (the last checkpoint is kept)");
  optimizer_->swap_average();  // model.safetensors holds the evaluated weights
  const std::vector<NamedView> moments = optimizer_->gather(), carried = task_.state();
  if (store_ != nullptr)
    store_->save(
        progress_.step, state(),
        [&](CheckpointFiles& files) {
          std::vector<NamedView> weights = parameters_.state();
          const std::vector<NamedView> constants = task_.constants();
          weights.insert(weights.end(), constants.begin(), constants.end());
          files.tensors("model.safetensors", weights, metadata_);
          std::vector<NamedView> others = moments;
          others.insert(others.end(), carried.begin(), carried.end());
          files.tensors(kOptimizerFile, others);
          callbacks_.add_files(files);
        },
        is_best || !task_.has_validation());
  optimizer_->release_gathered();
  optimizer_->swap_average();
  saved_step_ = progress_.step;
}

Json Trainer::state() const {
  const Schedule::State& s = schedule_.state();
  return {{"epoch", progress_.epoch},
          {"epochs", epochs()},
          {"tokens", progress_.tokens},
          {"time_s", seconds()},
          {"position", task_.position()},
          {"optimizer_updates", optimizer_->updates()},
          {"average_from", optimizer_->average_from()},
          {"average_trigger",
           {{"best", number(trigger_.state().best)},
            {"last", trigger_.state().last},
            {"fired", trigger_.state().fired}}},
          {"validations", progress_.validations},
          {"saves", progress_.saves},
          {"validated_step", progress_.validated_step},
          {"bad_validations", progress_.bad},
          {"due_metric", number(progress_.due_metric)},
          {"stopped_early", progress_.stopped_early},
          {"schedule", {{"scale", s.scale}, {"best", number(s.best)}, {"bad", s.bad}}},
          {"best",
           {{"ppl", number(best_.ppl)},
            {"nll", number(best_.nll)},
            {"step", best_.step},
            {"bleu", best_.bleu ? Json(*best_.bleu) : Json()},
            {"metric", number(best_.metric)}}},
          {"window",
           {{"updates", window_.updates},
            {"tokens", window_.tokens},
            {"loss", window_.loss},
            {"nll", window_.nll},
            {"grad_norm", window_.grad_norm},
            {"seconds", window_.seconds}}},
          {"logged", {{"step", logged_.step}, {"nll", number(logged_.nll)}}},
          {"seed", config_.step.seed}};
}

void Trainer::restore(const Checkpoint* checkpoint) {
  Json saved;
  Safetensors others;
  if (checkpoint != nullptr) {
    saved = {{"step", checkpoint->step()}, {"state", checkpoint->state()}};
    parameters_.load(read_training_weights(*checkpoint));
    others = read_optimizer_state(*checkpoint);
  }
  if (communicator_.size() > 1)
    saved =
        parse_json_object(communicator_.broadcast(checkpoint != nullptr ? json_text(saved) : ""));
  broadcast_views(communicator_, parameters_.state());
  const Json& s = saved.at("state");
  optimizer_->load(others, s.at("optimizer_updates").get<int64_t>(),
                   s.value("average_from", config_.optimizer.average_from));
  if (const auto t = s.find("average_trigger"); t != s.end())
    trigger_.restore({.best = number_from(t->at("best")),
                      .last = t->at("last").get<std::vector<double>>(),
                      .fired = t->at("fired")});
  optimizer_->swap_average();
  std::erase_if(others.tensors, [&](const auto& t) { return optimizer_->owns(t.first); });
  broadcast_tensors(communicator_, others);
  task_.load_state(others);
  task_.seek(s.at("position"));
  restore_state(s);
  progress_.step = saved.at("step");
  saved_step_ = progress_.step;
  // `position` says it once more; older versions did not write it.
  const double share = s.value("epochs", epochs());
  require(std::fabs(share - epochs()) < 1e-9,
          checkpoint != nullptr ? (checkpoint->directory() / "state.json").string() : "state.json",
          " says that ", share, " epochs are done, but its position ", json_text(s.at("position")),
          " is after ", epochs(), ": put the run's own file back, or move the checkpoint away");
  find_best();
}

void Trainer::find_best() {
  const bool has_other_best =
      task_.has_validation() && best_.step > 0 && best_.step != progress_.step;
  if (store_ != nullptr && has_other_best) lost_best_ = store_->damage_of(best_.step);
  best_is_lost_ = communicator_.any(!lost_best_.empty());
  if (store_ == nullptr || best_is_lost_) return;
  store_->restore_links(progress_.step, !task_.has_validation() ? std::optional(progress_.step)
                                        : best_.step > 0        ? std::optional(best_.step)
                                                                : std::nullopt);
}

void Trainer::replace_lost_best() {
  optimizer_->swap_average();
  const Evaluation result = task_.validate(step_.tape());
  optimizer_->swap_average();
  best_ = {result.ppl(), result.nll(), progress_.step, result.bleu, metric_of(result)};
  if (store_ != nullptr) store_->restore_links(progress_.step, progress_.step);
  best_is_lost_ = false;
  callbacks_.message(concat("step ", progress_.step,
                            " takes the place of the best model; validated again, its perplexity "
                            "is ",
                            short_perplexity(best_.nll)));
}

// Returns the metric of a validation; lower is better.
double Trainer::metric_of(const Evaluation& result) const {
  require(config_.best_metric == BestMetric::nll || result.bleu,
          "the best model is chosen by BLEU, but validation does not translate");
  return config_.best_metric == BestMetric::bleu ? -*result.bleu : result.nll();
}

void Trainer::restore_state(const Json& s) {
  progress_ = {.step = 0,
               .epoch = s.at("epoch"),
               .tokens = s.at("tokens"),
               .validations = s.at("validations"),
               .saves = s.at("saves"),
               .validated_step = s.at("validated_step"),
               .bad = s.at("bad_validations"),
               .stopped_early = s.at("stopped_early")};
  const Json &schedule = s.at("schedule"), &best = s.at("best"), &w = s.at("window");
  schedule_.restore({.scale = schedule.at("scale"),
                     .best = number_from(schedule.at("best")),
                     .bad = schedule.at("bad")});
  best_ = {number_from(best.at("ppl")), number_from(best.at("nll")), best.at("step")};
  best_.metric = best.contains("metric") ? number_from(best.at("metric")) : best_.nll;
  progress_.due_metric = s.contains("due_metric") ? number_from(s.at("due_metric")) : best_.metric;
  if (best.contains("bleu") && best.at("bleu").is_number())
    best_.bleu = best.at("bleu").get<double>();
  window_ = {.updates = w.at("updates"),
             .tokens = w.at("tokens"),
             .loss = w.at("loss"),
             .nll = w.at("nll"),
             .grad_norm = w.at("grad_norm"),
             .seconds = w.at("seconds")};
  if (const auto logged = s.find("logged"); logged != s.end())  // older versions did not write it
    logged_ = {logged->at("step"), number_from(logged->at("nll"))};
  seconds_before_ = s.at("time_s");
  started_ = profile::clock_seconds();
}

}  // namespace nine
