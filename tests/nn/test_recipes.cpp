// The recipes of docs/recipes.md: dropout variants, activation regularisation, NT-ASGD, norms by
// frequency, and each of them, with label smoothing, from the command line.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <sstream>

#include "checks/op_cases.h"
#include "core/error.h"
#include "core/json.h"
#include "core/ops.h"
#include "core/safetensors.h"
#include "data/corpus.h"
#include "data/vocabulary.h"
#include "nn/models/lstm_language_model.h"
#include "nn/training/language_model_task.h"
#include "nn/training/optimizer.h"
#include "nn/training/schedule.h"
#include "nn/training/train_step.h"
#include "tests/support/compare.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_recipes {
namespace {

using namespace nine::checks;
using Strings = std::vector<std::string>;

constexpr int64_t kSteps = 5, kBatch = 6, kWords = 23;

LstmLanguageModelConfig small_model() {
  return {.vocab = kWords, .embed = 7, .hidden = 9, .layers = 2, .dropout = 0};
}

// A batch of kSteps x kBatch tokens, given to TrainStep in parts of columns.
class Columns : public TrainingSource {
 public:
  Columns(const LstmLanguageModel& model, int parts) : model_(model), parts_(parts) {}
  int64_t fetch(int) override { return kSteps * kBatch; }
  int count() const override { return parts_; }
  Objective forward(Tape& tape, int i, double row_weight) override {
    const int64_t cols = kBatch / parts_;
    Ints input, target;
    for (int64_t t = 0; t < kSteps; ++t)
      for (int64_t c = i * cols; c < (i + 1) * cols; ++c) {
        input.push_back(static_cast<int32_t>((t * 7 + c * 5) % kWords));
        target.push_back(static_cast<int32_t>((t * 3 + c * 11 + 1) % kWords));
      }
    std::vector<LstmState> state;
    model_.new_state(cols).on(tape, state);
    const LstmLanguageModel::Hidden hidden =
        model_.run(tape, tensor_of(input, {kSteps, cols}), state);
    const Var penalty =
        model_.regulariser(hidden, cols, row_weight * static_cast<double>(kSteps * cols));
    const SoftmaxLoss out =
        model_.loss(hidden.output, tensor_of(target, {kSteps, cols}), row_weight);
    return {penalty ? add(out.loss, penalty) : out.loss, out.nll};
  }
  void commit() override {}

 private:
  const LstmLanguageModel& model_;
  int parts_;
};

// A model whose one update can be looked at: with rate 0 the gradients stay in the slab and the
// weights as they were.
struct Fixture {
  ParameterSet set{{.dtype = DType::float64, .seed = 3}};
  LstmLanguageModel model;
  Arena arena{"recipes"};
  explicit Fixture(const LstmLanguageModelConfig& config) : model(set, config) {
    // Word vectors as large as a trained model's, so that no gradient is tiny.
    for (const Parameter& p : set.all())
      if (p.name != "head.bias")
        ops::scale(p.name.starts_with("lstm") ? 3 : 30, p.value(), {p.value()});
  }
  StepResult update(int parts) {
    const std::unique_ptr<Optimizer> optimizer = make_optimizer(set, {.kind = OptimizerKind::sgd});
    TrainStep step(set, *optimizer, arena, {.accumulate = parts, .seed = 5});
    Columns data(model, parts);
    return step.run(data, 4, 0);
  }
};

}  // namespace

TEST_CASE("recipes: every one at once, gradients of the whole model against finite differences") {
  LstmLanguageModelConfig config = small_model();
  config.layers = 3;
  config.dropout = 0.2;
  config.dropout_words = 0.2;
  config.dropout_hidden = 0.3;
  config.dropout_output = 0.3;
  config.head.loss.smoothing = {0.1, LabelSmoothing::Kind::others};
  config.activation_reg = 2;
  config.temporal_activation_reg = 1;
  for (const bool variational : {false, true})
    for (const bool tied : {false, true}) {
      config.variational = variational;
      config.tie_embeddings = tied;
      config.embed = tied ? 9 : 7;
      Fixture f(config);
      f.update(1);
      std::vector<Doubles> gradients;  // before the next update overwrites them
      for (const Parameter& p : f.set.all()) gradients.push_back(p.grad().to_vector());
      for (size_t n = 0; n < gradients.size(); ++n) {
        const Parameter& p = f.set.all()[n];
        CAPTURE(p.name);
        const Doubles& analytic = gradients[n];
        Doubles expected, given;
        const int64_t count = p.value().shape().elements();
        for (int64_t i = 0; i < count; i += std::max<int64_t>(1, count / 7)) {
          double& x = p.value().data<double>()[i];
          const double before = x, h = 1e-5;
          x = before + h;
          const double up = f.update(1).loss;
          x = before - h;
          const double down = f.update(1).loss;
          x = before;
          expected.push_back((up - down) / (2 * h));
          given.push_back(analytic[static_cast<size_t>(i)]);
        }
        double off = 0;
        for (size_t i = 0; i < given.size(); ++i)
          off = std::max(off, std::abs(given[i] - expected[i]));
        const double top =
            std::abs(*std::max_element(analytic.begin(), analytic.end(), [](double a, double b) {
              return std::abs(a) < std::abs(b);
            }));
        CHECK(off < 1e-6 * top);
      }
    }
}

TEST_CASE("recipes: accumulated micro-batches are one batch, with smoothing and regularisers") {
  LstmLanguageModelConfig config = small_model();
  config.head.loss.smoothing.epsilon = 0.1;
  config.activation_reg = 2;
  config.temporal_activation_reg = 1;
  Fixture f(config);
  const StepResult whole = f.update(1);
  const Doubles gradient = f.set.gradients().to_vector();
  CHECK(whole.loss > whole.nll);
  for (const int parts : {2, 3, 6}) {
    CAPTURE(parts);
    const StepResult split = f.update(parts);
    CHECK(split.loss == doctest::Approx(whole.loss).epsilon(1e-12));
    CHECK(split.nll == doctest::Approx(whole.nll).epsilon(1e-12));
    CHECK(relative_error(f.set.gradients().to_vector(), gradient) < 1e-12);
  }
}

TEST_CASE("recipes: AR and TAR of accumulated sentences are one batch's, padding does not count") {
  const std::vector<std::string> lines{"a b c d e f g", "b", "c a", "g f e d"};
  const Vocabulary words = Vocabulary::build(count_words_of_lines(lines), Specials::kLanguageModel);
  const Corpus text = Corpus::of_lines(lines, words);
  LstmLanguageModelConfig config = small_model();
  config.vocab = words.size();
  config.activation_reg = 2;
  config.temporal_activation_reg = 1;
  Fixture f(config);
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(f.set, {.kind = OptimizerKind::sgd});
  const auto update = [&](int64_t batch) {
    LanguageModelTask task(
        f.model, text, nullptr,
        {.batch = batch, .sentences = true, .seed = 3, .accumulate = static_cast<int>(4 / batch)});
    task.start_epoch(0);
    TrainStep step(f.set, *optimizer, f.arena,
                   {.accumulate = static_cast<int>(4 / batch), .seed = 5});
    return step.run(task, 4, 0);
  };
  const StepResult whole = update(4);
  const Doubles gradient = f.set.gradients().to_vector();
  CHECK(whole.loss > whole.nll);
  for (const int64_t batch : {1, 2}) {
    CAPTURE(batch);
    const StepResult split = update(batch);
    CHECK(split.loss == doctest::Approx(whole.loss).epsilon(1e-12));
    CHECK(relative_error(f.set.gradients().to_vector(), gradient) < 1e-12);
  }
}

TEST_CASE("recipes: AR and TAR are the means that their papers name") {
  LstmLanguageModelConfig config = small_model();
  config.activation_reg = 2;
  config.temporal_activation_reg = 0.5;
  const Fixture f(config);
  const std::vector<Doubles> v = random_values({{{kSteps * kBatch, 9}}, {{kSteps * kBatch, 9}}}, 3);
  const Doubles &raw = v[0], &output = v[1];
  double ar = 0, tar = 0;
  for (const double x : output) ar += x * x / static_cast<double>(output.size());
  const size_t step = kBatch * 9;
  for (size_t i = step; i < raw.size(); ++i)
    tar += (raw[i] - raw[i - step]) * (raw[i] - raw[i - step]) /
           static_cast<double>(raw.size() - step);
  Arena arena("recipes");
  Tape tape(arena);
  for (const DType dtype : {DType::float64, DType::float32}) {
    tape.reset();
    const Var a = tape.leaf(tensor_of(raw, {kSteps * kBatch, 9}, dtype)),
              b = tape.leaf(tensor_of(output, {kSteps * kBatch, 9}, dtype));
    CHECK(f.model.regulariser({a, b}, kBatch, 0.25).value().item() ==
          doctest::Approx(0.25 * (2 * ar + 0.5 * tar))
              .epsilon(dtype == DType::float64 ? 1e-12 : 1e-6));
  }
  tape.reset();
  {
    const NoGrad off(tape);
    const Var x = tape.constant(tensor_of(raw, {kSteps * kBatch, 9}, DType::float64));
    CHECK_FALSE(f.model.regulariser({x, x}, kBatch, 1));
  }
  // A single time step has no differences.
  LstmLanguageModelConfig only_tar = small_model();
  only_tar.temporal_activation_reg = 1;
  const Fixture g(only_tar);
  const Var x = tape.leaf(tensor_of(Doubles(kBatch * 9, 0.5), {kBatch, 9}, DType::float64));
  CHECK_FALSE(g.model.regulariser({x, x}, kBatch, 1));
}

TEST_CASE(
    "recipes: a locked mask is the same for all time steps, and word dropout takes whole words") {
  Arena arena("recipes");
  Tape tape(arena);
  const auto key = [&](uint32_t step) { tape.set_random_key({.seed = 2, .step = step}); };
  const auto zeros = [](const Doubles& v) {
    return static_cast<double>(std::count(v.begin(), v.end(), 0.0)) / static_cast<double>(v.size());
  };
  key(1);
  const Var ones = tape.leaf(tensor_of(Doubles(40 * 8 * 50, 1), {40 * 8, 50}, DType::float32));
  const Doubles locked = dropout(ones, 0.4, "a", 8).value().to_vector(),
                free = dropout(ones, 0.4, "a").value().to_vector();
  for (size_t i = 0; i < locked.size(); ++i) REQUIRE(locked[i] == locked[i % (8 * 50)]);
  CHECK(std::equal(free.begin(), free.begin() + 8 * 50,
                   locked.begin()));  // the first step's mask is the unlocked one's
  CHECK(free != locked);
  CHECK(zeros(locked) == doctest::Approx(0.4).epsilon(0.1));
  CHECK(dropout(ones, 0.4, "b", 8).value().to_vector() != locked);
  key(2);
  CHECK(dropout(ones, 0.4, "a", 8).value().to_vector() != locked);

  const Ints ids = random_indices({{{400}, 0, 60}}, 4)[0];
  const Var rows = tape.leaf(tensor_of(Doubles(400 * 3, 1), {400, 3}, DType::float64));
  const Doubles words = dropout_words(rows, tensor_of(ids, {400}), 0.25, "w").value().to_vector();
  std::set<int32_t> dropped, kept;
  for (size_t i = 0; i < words.size(); ++i) {
    CHECK((words[i] == 0 || words[i] == doctest::Approx(1 / 0.75)));
    (words[i] == 0 ? dropped : kept).insert(ids[i / 3]);
  }
  for (const int32_t id : dropped) CHECK_FALSE(kept.contains(id));
  CHECK(dropped.size() >= 5);
  CHECK(dropped.size() <= 25);
  CHECK_THROWS_WITH_AS(dropout_words(rows, tensor_of(Ints(400, -1), {400}), 0.25, "w"),
                       doctest::Contains("[dropout_words] index -1 at position 0"), Error);

  const NoGrad off(tape);
  CHECK(dropout(ones, 0.4, "a", 8).value().to_vector() == ones.value().to_vector());
  CHECK(dropout_words(rows, tensor_of(ids, {400}), 0.25, "w").value().to_vector() ==
        rows.value().to_vector());
}

TEST_CASE("recipes: --variational locks the model's masks over time") {
  for (const bool variational : {false, true}) {
    LstmLanguageModelConfig config = small_model();
    config.dropout_output = 0.5;
    config.variational = variational;
    Fixture f(config);
    Tape tape(f.arena);
    std::vector<LstmState> state;
    f.model.new_state(kBatch).on(tape, state);
    const Doubles output =
        f.model.run(tape, tensor_of(Ints(kSteps * kBatch, 3), {kSteps, kBatch}), state)
            .output.value()
            .to_vector();
    bool same = true;
    for (size_t i = 0; i < output.size(); ++i)
      same = same && (output[i] == 0) == (output[i % (kBatch * 9)] == 0);
    CHECK(same == variational);
  }
}

TEST_CASE("recipes: evaluation knows none of them") {
  LstmLanguageModelConfig with = small_model();
  with.dropout_words = with.dropout_hidden = with.dropout_output = 0.5;
  with.variational = true;
  with.head.loss.smoothing.epsilon = 0.3;
  const auto evaluate = [](const LstmLanguageModelConfig& config) {
    Fixture f(config);
    Tape tape(f.arena);
    const NoGrad off(tape);
    std::vector<LstmState> state;
    f.model.new_state(2).on(tape, state);
    const Var hidden = f.model.encode(tape, tensor_of(Ints{1, 2, 3, 4}, {2, 2}), state);
    const SoftmaxLoss out = f.model.loss(hidden, tensor_of(Ints{5, 6, 7, 8}, {2, 2}), 0.25);
    Doubles nll = out.nll.value().to_vector();
    CHECK(out.loss.value().item() ==
          doctest::Approx(std::accumulate(nll.begin(), nll.end(), 0.0) / 4));
    return nll;
  };
  CHECK(evaluate(with) == evaluate(small_model()));
}

TEST_CASE("recipes: the trigger of NT-ASGD") {
  // Fires at the first metric that is worse than the best of all but the last `interval`.
  const auto fires_at = [](int64_t interval, const Doubles& metrics, size_t restore_at = 1000) {
    NonMonotoneTrigger trigger(interval);
    int at = -1;
    for (size_t i = 0; i < metrics.size(); ++i) {
      if (i == restore_at) {
        NonMonotoneTrigger fresh(interval);
        fresh.restore(trigger.state());
        trigger = fresh;
      }
      if (!trigger.validated(metrics[i])) continue;
      CHECK(at == -1);  // once
      at = static_cast<int>(i);
    }
    CHECK(trigger.state().fired == (at >= 0));
    return at;
  };
  CHECK(fires_at(1, {5, 4, 3, 2, 1}) == -1);
  CHECK(fires_at(1, {5, 4, 4.5, 4.6, 9}) ==
        3);  // 4.5 is not worse than 5; 4.6 is worse than min(5, 4)
  CHECK(fires_at(3, {5, 4, 4.5, 4.6, 4.7, 9}) == 5);  // 4.7 against 5 alone, 9 against min(5, 4)
  CHECK(fires_at(3, {5, 6, 7}) == -1);                // not before there is an older one
  CHECK(fires_at(3, {5, 6, 7, 5.5, 5}) == -1);
  CHECK(fires_at(3, {5, 6, 7, 5.5, 5.6}) == 4);
  CHECK(fires_at(0, {1, 2, 3, 4, 5}) == -1);
  for (size_t at = 0; at < 6; ++at) CHECK(fires_at(3, {5, 4, 4.5, 4.6, 4.7, 9}, at) == 5);
}

TEST_CASE(
    "recipes: the average is the last point until averaging begins, then the mean of what "
    "followed") {
  ParameterSet set({.dtype = DType::float64});
  Parameter& p = set.add("p", {3}, Init::normal(1));
  const std::unique_ptr<Optimizer> optimizer =
      make_optimizer(set, {.kind = OptimizerKind::asgd, .average_from = OptimizerConfig::kNotYet});
  const auto average = [&] {
    optimizer->swap_average();
    Doubles a = p.value().to_vector();
    optimizer->swap_average();
    return a;
  };
  Doubles sum(3, 0);
  for (int t = 0; t < 9; ++t) {
    if (t == 4) optimizer->start_averaging();
    for (int i = 0; i < 3; ++i) p.grad().data<double>()[i] = 0.3 * t + i;
    optimizer->step(0.7, {}, 0);
    const Doubles now = p.value().to_vector();
    if (t < 4) {
      CHECK(average() == now);
      continue;
    }
    for (size_t i = 0; i < 3; ++i) sum[i] += now[i];
    for (size_t i = 0; i < 3; ++i)
      CHECK(average()[i] == doctest::Approx(sum[i] / (t - 3)).epsilon(1e-12));
  }
  CHECK(optimizer->average_from() == 4);
}

TEST_CASE(
    "recipes: a bias by log frequency makes the first posterior of a bounded head the unigram "
    "distribution") {
  ParameterSet set({.dtype = DType::float64, .seed = 3});
  LstmLanguageModelConfig config = small_model();
  config.head.spec = parse_head("rbf:gamma=1000");  // scores of fresh vectors are all but 0
  const LstmLanguageModel model(set, config);
  std::vector<int64_t> counts(kWords);
  for (size_t v = 0; v < kWords; ++v) counts[v] = static_cast<int64_t>(v * v);
  model.set_bias_by_frequency(counts);
  double all = 1;  // the word that never occurs counts as seen once
  for (const int64_t c : counts) all += static_cast<double>(c);
  Arena pool("step");
  Tape tape(pool);
  const Tensor h({1, config.hidden}, DType::float64);
  ops::fill(h, 3);
  const Tensor log_p = model.log_probabilities(tape.constant(h));
  for (size_t v = 0; v < kWords; ++v)
    CHECK(log_p.data<double>()[v] ==
          doctest::Approx(std::log(std::max(1.0, static_cast<double>(counts[v])) / all))
              .epsilon(1e-9));
  CHECK_THROWS_WITH_AS(model.set_bias_by_frequency(std::vector<int64_t>(4, 1)),
                       doctest::Contains("4 counts for 23 words"), Error);
}

TEST_CASE("recipes: norms by log frequency") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    ParameterSet set({.dtype = dtype, .seed = 3});
    const LstmLanguageModel model(set, small_model());
    std::vector<int64_t> counts(kWords, 0);
    for (int64_t v = 0; v < kWords; ++v) counts[static_cast<size_t>(v)] = v < 3 ? v : v * v;
    const Tensor& w = set.at("head.weight").value();
    const Doubles before = w.to_vector(),
                  embeddings = set.at("embedding.weight").value().to_vector();
    model.set_norms_by_frequency(counts, 0.2);
    const Doubles after = w.to_vector();
    CHECK(set.at("embedding.weight").value().to_vector() == embeddings);
    for (size_t v = 0; v < kWords; ++v) {
      double square = 0, dot = 0, old = 0;
      for (size_t k = v * 9; k < (v + 1) * 9; ++k) {
        square += after[k] * after[k];
        dot += after[k] * before[k];
        old += before[k] * before[k];
      }
      const double expected = 0.2 * std::log(std::max(2.0, static_cast<double>(counts[v])));
      CHECK(std::sqrt(square) == doctest::Approx(expected).epsilon(1e-6));
      CHECK(dot / std::sqrt(square * old) ==
            doctest::Approx(1).epsilon(1e-6));  // the direction stays
    }
    CHECK_THROWS_WITH_AS(model.set_norms_by_frequency(std::vector<int64_t>(4, 1), 1),
                         doctest::Contains("4 counts for 23 words"), Error);
  }
}

namespace {

Strings command(const std::string& run, const Strings& more) {
  Strings a{"--sample", "--sample-sentences",
            "600",      "--batch",
            "6",        "--hidden",
            "24",       "--embed",
            "24",       "--run",
            run,        "--log-every",
            "10"};
  if (std::find(more.begin(), more.end(), "--lr") == more.end())
    a.insert(a.end(), {"--lr", "0.01"});
  a.insert(a.end(), more.begin(), more.end());
  return a;
}

}  // namespace

TEST_CASE("recipes: each trains, resumes to the same bits, and is in config.json" *
          doctest::test_suite("check")) {
  struct Variant {
    Strings options;
    bool objective_differs;
  };
  const std::vector<Variant> variants{
      {{"--label-smoothing", "0.1"}, true},
      {{"--label-smoothing", "0.1", "--smoothing", "others", "--accumulate", "2"}, true},
      {{"--variational", "--dropout-words", "0.1", "--dropout-hidden", "0.2", "--dropout-output",
        "0.3"},
       false},
      {{"--ar", "2", "--tar", "1", "--dropout-output", "0.2"}, true},
      {{"--ar", "2", "--tar", "1", "--sentences", "--variational", "--accumulate", "2"}, true},
      {{"--init-norm", "log-frequency", "--init-norm-scale", "0.05", "--tie-embeddings"}, false},
      {{"--init-bias", "log-frequency", "--head", "rbf"}, false},
  };
  const TemporaryDirectory dir;
  REQUIRE(run_program("lm_train", command(dir / "plain", {"--after", "60u"})).code == 0);
  for (size_t n = 0; n < variants.size(); ++n) {
    const Variant& v = variants[n];
    CAPTURE(v.options[0]);
    const std::string whole = dir / ("whole" + std::to_string(n)),
                      parts = dir / ("parts" + std::to_string(n));
    const Outcome r =
        run_program("lm_train", command(whole, joined(v.options, {"--after", "60u"})));
    REQUIRE_MESSAGE(r.code == 0, r.err);
    REQUIRE(run_program("lm_train", command(parts, joined(v.options, {"--after", "23u"}))).code ==
            0);
    REQUIRE(run_program("lm_train",
                        command(parts, joined(v.options, {"--after", "60u", "--threads", "1"})))
                .code == 0);
    CHECK(weights_of(whole) == weights_of(parts));
    CHECK(weights_of(whole) != weights_of(dir / "plain"));
    double first = 0, last = 0;
    for (const Json& e : log_of(whole)) {
      if (e["event"] == "train") {
        (first == 0 ? first : last) = e["nll"];
        if (v.objective_differs) {
          CHECK(e["loss"].get<double>() > e["nll"].get<double>());
        } else {
          CHECK(e["loss"].get<double>() == doctest::Approx(e["nll"].get<double>()).epsilon(1e-12));
        }
      }
      if (e["event"] == "valid") CHECK(e["loss"] == e["nll"]);
    }
    CHECK(last < first);
    const Json config = Json::parse(slurp(whole + "/config.json"));
    std::string key = v.options[0].substr(2);
    std::replace(key.begin(), key.end(), '-', '_');
    CHECK(config.contains(key));
  }
}

TEST_CASE("recipes: NT-ASGD begins to average by validation and resumes to the same bits" *
          doctest::test_suite("check")) {
  const TemporaryDirectory dir;
  const Strings options{"--optimizer",    "asgd", "--lr",          "30", "--clip", "1",
                        "--asgd-trigger", "1",    "--valid-every", "20u"};
  const Outcome r =
      run_program("lm_train", command(dir / "whole", joined(options, {"--after", "400u"})));
  REQUIRE_MESSAGE(r.code == 0, r.err);
  std::vector<bool> averaging;
  int64_t triggered = 0;
  for (const Json& e : log_of(dir / "whole")) {
    if (e["event"] != "valid") continue;
    averaging.push_back(e["averaging"]);
    if (averaging.back() && triggered == 0) triggered = e["step"];
  }
  MESSAGE("averaging began after update ", triggered);
  REQUIRE(triggered > 20);
  CHECK_FALSE(averaging.front());
  CHECK(averaging.back());
  CHECK(has(r.err, "averaging begins"));
  // Interrupted before and after the trigger, at validations.
  for (const int64_t stop : {triggered - 20, triggered, triggered + 20})
    REQUIRE(run_program(
                "lm_train",
                command(dir / "parts", joined(options, {"--after", std::to_string(stop) + "u"})))
                .code == 0);
  REQUIRE(
      run_program("lm_train", command(dir / "parts", joined(options, {"--after", "400u"}))).code ==
      0);
  CHECK(weights_of(dir / "whole") == weights_of(dir / "parts"));
}

TEST_CASE("recipes: wrong options, and what the parity export refuses") {
  const TemporaryDirectory dir;
  struct Case {
    Strings options;
    const char* says;
  };
  const std::vector<Case> cases{
      {{"--label-smoothing", "1.5"}, "--label-smoothing"},
      {{"--smoothing", "other"}, "did you mean others"},
      {{"--smoothing", "others"}, "--smoothing has no effect here: it needs label smoothing"},
      {{"--variance", "1"}, "--variance has no effect here"},
      {{"--variance", "1", "--head", "ssg:variance=2"}, "--variance has no effect here"},
      {{"--ball", "tanh", "--head", "mix:lin,ssg"}, "--ball has no effect here"},
      {{"--ball", "tanh", "--head", "mix:lin,hpb:ball=clip"}, "--ball has no effect here"},
      {{"--tar", "1", "--bptt", "1"}, "--tar has no effect here"},
      {{"--sentences", "--batch-tokens", "50"}, "--batch has no effect here"},
      {{"--dropout-words", "1"}, "--dropout-words"},
      {{"--dropout-hidden", "0.1", "--layers", "1"}, "one layer"},
      {{"--ar", "-1"}, "--ar"},
      {{"--asgd-trigger", "5"}, "--optimizer asgd"},
      {{"--asgd-trigger", "5", "--optimizer", "asgd", "--asgd-start", "3"},
       "both say when averaging begins"},
      {{"--pi-reg", "cv2:1", "--head", "mix:1*lin"}, "a mixture of two components or more"},
      {{"--schedule", "plateau", "--lr", "1e-7"}, "would never fall"},
      {{"--init-norm", "frequency"}, "log-frequency"},
      {{"--export-parity", dir / "p", "--dropout", "0", "--label-smoothing", "0.1"},
       "--label-smoothing"},
      {{"--export-parity", dir / "p", "--dropout", "0", "--ar", "1"}, "--ar"},
      {{"--export-parity", dir / "p", "--dropout", "0", "--dropout-output", "0.1"},
       "--dropout-output"},
  };
  for (const Case& c : cases) {
    const Outcome r = run_program("lm_train", command(dir / "r", c.options));
    CAPTURE(r.err);
    CHECK(r.code == 2);
    CHECK(has(r.err, c.says));
  }
  // Where a component leaves it open, it has an effect.
  CHECK(run_program("lm_train", command(dir / "r", {"--variance", "1", "--head",
                                                    "mix:ssg,ssg:variance=2", "--after", "2u"}))
            .code == 0);
}

}  // namespace nine::tests::test_recipes
