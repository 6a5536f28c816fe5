#include "nn/training/training_state.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/ops.h"
#include "core/quote.h"
#include "nn/models/model_directory.h"

namespace nine {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
constexpr double kAboveZero = std::numeric_limits<double>::min();
constexpr double kMostBleu = 100;

// The keys of a training's state, one by one.
class StateCheck {
 public:
  explicit StateCheck(const Checkpoint& checkpoint)
      : state_(checkpoint.state()), file_(checkpoint.directory() / "state.json") {}

  const Json& at(const std::string& path) const {
    return state_.at(Json::json_pointer("/" + path));
  }
  bool has(const std::string& path) const {
    return state_.contains(Json::json_pointer("/" + path));
  }
  void check(bool possible, const std::string& path, std::string_view expected) const {
    require(possible, file_.string(), ": the key ", quote(path), " is ",
            shortened(json_text(at(path))), ", and ", expected,
            " was expected: no training writes that; put the run's own file back, or move the "
            "checkpoint away to go on from an earlier one");
  }
  int64_t whole(const std::string& path, int64_t low, int64_t high) const {
    const Json& value = at(path);
    const bool possible =
        value.is_number_integer() && value.get<int64_t>() >= low && value.get<int64_t>() <= high;
    check(possible, path,
          low == high ? concat(low)
          : high == std::numeric_limits<int64_t>::max()
              ? concat("a whole number of at least ", low)
              : concat("a whole number from ", low, " to ", high));
    return value.get<int64_t>();
  }
  double number(const std::string& path, double low, double high) const {
    const Json& value = at(path);
    const bool possible =
        value.is_number() && value.get<double>() >= low && value.get<double>() <= high;
    check(possible, path,
          low == kAboveZero  ? concat("a number above 0 and at most ", high)
          : high == kNoLimit ? concat("a number of at least ", low)
                             : concat("a number from ", low, " to ", high));
    return value.get<double>();
  }
  // A number, or null for one that is not known yet or that no double holds.
  void number_or_null(const std::string& path, double low, double high) const {
    if (!at(path).is_null()) number(path, low, high);
  }
  void yes_or_no(const std::string& path) const {
    check(at(path).is_boolean(), path, "true or false");
  }

 private:
  const Json& state_;
  std::filesystem::path file_;
};

// The best validation: the figures of one evaluation.
void check_best(const StateCheck& s, int64_t step) {
  const int64_t best = s.whole("best/step", 0, step);
  // Rounding may leave the nats of a model that is always sure a little below 0.
  s.number_or_null("best/nll", -1e-3, kNoLimit);
  s.check(s.at("best/nll").is_null() == (best == 0), "best/nll",
          best == 0 ? "null, as there was no validation yet," : "a number");
  s.number_or_null("best/ppl", 0, kNoLimit);
  if (s.at("best/nll").is_number() && s.at("best/ppl").is_number()) {
    const double nats = std::log(s.at("best/ppl").get<double>());
    s.check(std::fabs(nats - s.at("best/nll").get<double>()) < 1e-6 * (1 + std::fabs(nats)),
            "best/ppl", concat("e to the power of ", json_text(s.at("best/nll")), ", its nll,"));
  }
  const bool translated = s.has("best/bleu") && !s.at("best/bleu").is_null();
  if (translated) s.number("best/bleu", 0, kMostBleu);
  if (!s.has("best/metric")) return;  // of an older version
  const Json& metric = s.at("best/metric");
  const bool is_bleu =
      translated && metric.is_number() && metric.get<double>() == -s.at("best/bleu").get<double>();
  s.check(
      is_bleu || metric == s.at("best/nll"), "best/metric",
      concat(json_text(s.at("best/nll")), ", its nll,", translated ? " or -1 times its bleu" : ""));
}

void check_keys(const StateCheck& s, int64_t step) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const int64_t epoch = s.whole("epoch", 0, std::numeric_limits<uint32_t>::max());
  const int64_t tokens = s.whole("tokens", 0, kMost);
  s.whole("position/epoch", epoch, epoch);
  s.whole("position/step", 0, kMost);
  if (s.has("epochs"))
    s.number("epochs", static_cast<double>(epoch), static_cast<double>(epoch) + 1);
  s.number("time_s", 0, kNoLimit);
  s.whole("optimizer_updates", step, step);
  if (s.has("average_from")) s.whole("average_from", 0, kMost);
  if (s.has("average_trigger")) {
    s.number_or_null("average_trigger/best", -kMostBleu, kNoLimit);
    const Json& last = s.at("average_trigger/last");
    s.check(
        last.is_array() && std::ranges::all_of(last, [](const Json& x) { return x.is_number(); }),
        "average_trigger/last", "a list of numbers");
    s.yes_or_no("average_trigger/fired");
  }
  s.whole("validations", 0, kMost);
  s.whole("saves", 0, kMost);
  s.whole("validated_step", -1, step);
  s.whole("bad_validations", 0, kMost);
  s.yes_or_no("stopped_early");
  if (s.has("due_metric")) s.number_or_null("due_metric", -kMostBleu, kNoLimit);
  s.number("schedule/scale", kAboveZero, 1);
  s.number_or_null("schedule/best", -kMostBleu, kNoLimit);
  s.whole("schedule/bad", 0, kMost);
  check_best(s, step);
  s.whole("window/updates", 0, step);
  s.whole("window/tokens", 0, tokens);
  for (const char* sum : {"window/loss", "window/nll"}) s.number(sum, -kNoLimit, kNoLimit);
  if (s.has("logged")) {
    s.whole("logged/step", 0, step);
    s.number_or_null("logged/nll", -kNoLimit, kNoLimit);
  }
  s.number("window/grad_norm", 0, kNoLimit);
  s.number("window/seconds", 0, kNoLimit);
}

Safetensors read_finite(const Checkpoint& checkpoint, const char* name, std::string_view rule) {
  Safetensors file = checkpoint.tensors(name);
  for (const auto& [tensor_name, tensor] : file.tensors)
    if (tensor.dtype() != DType::int32 && tensor.elements() > 0 && !ops::all_finite(tensor))
      require_numbers(
          checkpoint.file(name), tensor_name, tensor, [](double x) { return std::isfinite(x); },
          rule);
  return file;
}

}  // namespace

void require_training_state(const Checkpoint& checkpoint) try {
  const Json& state = checkpoint.state();
  require(!state.contains("averaged"), checkpoint.directory().string(),
          " is a mean of checkpoints (mt_train --average), not one of a training: move it away");
  check_keys(StateCheck(checkpoint), checkpoint.step());
} catch (const Json::exception& e) {
  fail("the state of the checkpoint ", checkpoint.directory().string(),
       " lacks a key or has one of the wrong type (", e.what(), ")");
}

Safetensors read_training_weights(const Checkpoint& checkpoint) {
  require_training_state(checkpoint);
  return read_finite(checkpoint, kWeightsFile, "a model's weights must be finite numbers");
}

Safetensors read_optimizer_state(const Checkpoint& checkpoint) {
  Safetensors state = read_finite(checkpoint, kOptimizerFile,
                                  "the numbers from which a training resumes must be finite");
  for (const auto& [name, tensor] : state.tensors)
    if (name.starts_with("adam.v."))
      require_numbers(
          checkpoint.file(kOptimizerFile), name, tensor, [](double x) { return x >= 0; },
          "a mean of squared gradients is 0 or more");
  return state;
}

}  // namespace nine
