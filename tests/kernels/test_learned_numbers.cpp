// Learned numbers of heads (kernels/settings/learned_numbers.h) and the scale of any kernel: their
// grammar, their gradients against finite differences, and how models keep them.
#include "kernels/settings/learned_numbers.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "autograd/gradcheck.h"
#include "checks/op_cases.h"
#include "core/threads.h"
#include "kernels/decoding/head_decoder.h"
#include "kernels/loss/kernel_softmax.h"
#include "kernels/settings/head_config.h"
#include "nn/softmax_head.h"
#include "tests/support/compare.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_learned_numbers {

using namespace nine::checks;

namespace {

std::string usage_error(const std::string& head) {
  return error_of([&] { parse_head(head); });
}

constexpr const char* kHeads[] = {
    "lin:scale=learn:0.7",
    "log:p=learn:3",
    "log:p=learn:1:scale=learn",
    "pow:p=learn:1.5",
    "pow:p=learn",
    "pol:alpha=learn:0.5:c=learn:0.3:p=3",
    "rbf:gamma=learn:0.4",
    "rbf:scale=learn:2",
    "ssg:variance=learn:0.5",
    "ssg:variance=split:scale=learn",
    "ssg:variance=split:pace=0.2:scale=learn",
    "mog:form=sum:components=2:variance=learn:1",
    "mog:form=mixture:components=2:variance=learn:0.7:scale=learn:2",
    "mog:form=mixture:components=3:variance=split:scale=learn:0.5",
    "hpb:ball=sigmoid:shift=learn:-1",
    "hpb:ball=sigmoid:shift=learn:0.5:scale=learn:2",
    "hpb:ball=lorentz:scale=learn",
    "wav:a=learn:2:b=learn:3",
    "wav:a=learn+:2",
    "sig:scale=learn:3",
    "expr:{s*tanh(z/s)}:s=learn:3",
    "expr:{-log(1+q^(p/2))}:p=learn+:3:scale=learn:2",
    "expr:{a*exp(-b*q)+k*c}:a=learn:2:b=0.5:k=learn:-1",
    "mix:2*rbf:gamma=learn:0.5,lin,expr:{a*z+b*c}:a=learn:1:b=learn+:2"};

// A head over words and contexts, with its learned numbers where they start.
struct Problem {
  HeadSpec head;
  int64_t rows = 5, words = 9, dims = 6;
  bool near = false;  // some words are contexts
  DType type = DType::float64;

  explicit Problem(const std::string& text, bool untied = false)
      : head(parse_head(text, {.head_context = "none", .untied = untied})) {}

  size_t first_number() const { return head.mixture ? 4 : 3; }  // among the inputs
  std::vector<Tensor> inputs() const {
    const int64_t copies = head.untied ? head.size() : 1;
    const std::vector<Shape> shapes{
        {rows, dims}, {copies * words, dims}, {words}, {head.size(), dims}};
    std::vector<Doubles> values =
        random_values({{shapes[0]}, {shapes[1]}, {shapes[2]}, {shapes[3]}}, 5);
    if (near) std::copy_n(values[0].begin(), 2 * dims, values[1].begin());
    std::vector<Tensor> all;
    for (size_t i = 0; i < first_number(); ++i)
      all.push_back(tensor_of(values[i], shapes[i], type));
    for (const LearnedNumber& n : learned_numbers(head))
      all.push_back(tensor_of(Doubles{n.stored(n.start)}, {1}, type));
    return all;
  }
  HeadWeights weights(std::span<const Var> x) const {
    HeadWeights w{.w = {x[1]}, .bias = x[2]};
    if (head.mixture) w.prior = x[3];
    w.numbers.assign(x.begin() + static_cast<int64_t>(first_number()), x.end());
    return w;
  }
  Tensor targets() const {
    Ints y;
    for (int64_t r = 0; r < rows; ++r)
      y.push_back(r == 3 ? -1 : static_cast<int32_t>(r * 7 % words));
    return tensor_of(y, {rows});
  }
  Var loss(std::span<const Var> x, const HeadLoss& options = {}) const {
    return kernel_softmax(head, x[0], weights(x), targets(), 0.5, options).loss;
  }
};

// Loss, gradients of contexts and words, and of each number.
Doubles results(const Problem& p, const HeadLoss& options = {}) {
  Arena pool("test");
  Tape tape(pool);
  std::vector<Var> x;
  for (const Tensor& t : p.inputs()) x.push_back(tape.leaf(t));
  const Var loss = p.loss(x, options);
  Doubles all{loss.value().item()};
  tape.backward(loss);
  for (const Var& v : x) {
    const Doubles g = v.grad().to_vector();
    all.insert(all.end(), g.begin(), g.end());
  }
  return all;
}
Doubles number_gradients(const Problem& p, const HeadLoss& options = {}) {
  const Doubles all = results(p, options);
  return {all.end() - std::ssize(learned_numbers(p.head)), all.end()};
}

}  // namespace

TEST_CASE("learned numbers: what head strings say of them") {
  for (const char* head : kHeads) {
    CAPTURE(head);
    const HeadSpec spec = parse_head(head);
    CHECK(parse_head(spec.to_text()) == spec);
    CHECK(!learned_numbers(spec).empty());
  }
  CHECK(parse_head("log:p=learn").to_text() == "log:p=learn:2");
  CHECK(parse_head("log:p=learn+:3").to_text() == "log:p=learn:3");
  CHECK(parse_head("wav:a=learn+:b=learn:2").to_text() == "wav:a=learn+:1:b=learn:2");
  CHECK(parse_head("rbf:scale=learn").to_text() == "rbf:gamma=1:scale=learn:1");
  CHECK(parse_head("rbf:scale=1").to_text() == "rbf:gamma=1");
  CHECK(parse_head("lin:scale=2").to_text() == "lin:scale=2");
  CHECK(parse_head("log@tuned:p=learn").to_text() == "log:p=learn:4");
  CHECK(parse_head("ssg:variance=learn", {.variance = "0.5"}).to_text() ==
        "ssg:variance=learn:0.5");
  CHECK(parse_head("expr:{s*z}:s=learn:2:scale=3").to_text() == "expr:{s*z}:s=learn:2:scale=3");

  CHECK(has(usage_error("pol:p=learn"), "pol's p cannot be learned"));
  CHECK(has(usage_error("hpb:ball=learn"), "hpb's ball cannot be learned"));
  CHECK(has(usage_error("ssg:variance=learn"), "such as variance=learn:1"));
  CHECK(has(usage_error("expr:{s*z}:s=learn"), "such as s=learn:1"));
  CHECK(has(usage_error("expr:{s*z}:s=learn+:-1"), "must start at a number > 0"));
  CHECK(has(usage_error("log:p=learn:0"), "must start at a number > 0, not at 0"));
  CHECK(has(usage_error("log:p=learn:x"), "starts at 'x'"));
  CHECK(has(usage_error("rbf:scale=0"), "scale is 0, but must be > 0"));
  CHECK(has(usage_error("rbf:scale=big"), "scale is not a number: 'big'"));
  CHECK(has(usage_error("rbf:gamma=learn:gamma=2"), "names gamma twice"));
  CHECK(has(usage_error("hpb:ball=tanh:shift=learn"), "shift is for ball=sigmoid"));
  CHECK(has(usage_error("wav:a=learn:0"), "a must not be 0"));
}

TEST_CASE("learned numbers: their names and what is stored of them") {
  const auto all = learned_numbers(parse_head("mix:lin,2*wav:a=learn:2:b=learn:3:scale=learn:4"));
  REQUIRE(all.size() == 6);
  CHECK(all[0].tensor_name() == "scores.1.a");
  CHECK(all[2].tensor_name() == "scores.1.scale");
  CHECK(all[5].tensor_name() == "scores.2.scale");
  CHECK(all[0].stored(2) == 2);
  CHECK(all[1].stored(3) == std::log(3.0));
  CHECK(all[1].value(all[1].stored(3)) == doctest::Approx(3).epsilon(1e-15));
  HeadSpec other = parse_head("mix:lin,2*wav:a=learn:2:b=learn:3:scale=learn:4");
  other = with_numbers(other, Doubles{1, 2, 3, 4, 5, 6});
  CHECK(other.to_text() ==
        "mix:lin,wav:a=learn:1:b=learn:2:scale=learn:3,wav:a=learn:4:b=learn:5:scale=learn:6");
  CHECK_THROWS_AS(with_numbers(other, Doubles{1}), Error);
}

TEST_CASE("learned numbers: gradients are finite differences") {
  HeadLoss smoothed;
  smoothed.smoothing.epsilon = 0.1;
  HeadLoss tiles;
  tiles.memory = HeadMemory::tiles;
  for (const char* head : kHeads)
    for (const HeadLoss& options : {HeadLoss{}, smoothed, tiles}) {
      CAPTURE(head);
      CAPTURE(options.smoothing.epsilon);
      const Problem p(head);
      const GradcheckReport report =
          gradcheck([&](std::span<const Var> x) { return p.loss(x, options); }, p.inputs());
      CHECK_MESSAGE(report.worst < 1e-7, report.where);
    }
}

TEST_CASE("learned numbers: over several blocks, tiles and chunks, untied, of close pairs") {
  for (const char* head : kHeads)
    for (const bool untied : {false, true}) {
      CAPTURE(head);
      CAPTURE(untied);
      Problem p(head, untied);
      p.rows = 300;
      p.words = 150;
      p.near = true;
      const Doubles exact = number_gradients(p);
      // By a number alone: the loss is a sum over rows, so that few evaluations say all.
      const std::vector<Tensor> inputs = p.inputs();
      for (size_t i = 0; i < exact.size(); ++i) {
        const auto loss_at = [&](double step) {
          Arena pool("test");
          Tape tape(pool);
          const NoGrad guard(tape);
          std::vector<Var> x;
          for (size_t n = 0; n < inputs.size(); ++n) {
            Doubles values = inputs[n].to_vector();
            if (n == p.first_number() + i) values[0] += step;
            x.push_back(tape.constant(tensor_of(values, inputs[n].shape(), DType::float64)));
          }
          return p.loss(x).value().item();
        };
        const double numeric = (loss_at(1e-5) - loss_at(-1e-5)) / 2e-5;
        CHECK(exact[i] == doctest::Approx(numeric).epsilon(1e-6));
      }
      Problem rounded = p;
      rounded.type = DType::float32;
      CHECK(relative_error(number_gradients(rounded), exact) < 2e-4);
    }
}

TEST_CASE("learned numbers: any number of threads gives the same bits") {
  for (const char* head : kHeads) {
    CAPTURE(head);
    Problem p(head);
    p.rows = 70;
    p.words = 200;
    p.type = DType::float32;
    set_threads(1);
    const Doubles one = results(p);
    set_threads(3);
    CHECK(results(p) == one);
  }
  set_threads(2);
}

TEST_CASE("learned numbers: a head is what it would be with those values fixed") {
  for (const auto& heads :
       {std::pair("rbf:gamma=learn:0.5:scale=learn:2", "rbf:gamma=0.5:scale=2"),
        {"log:p=learn:3", "log:p=3"},
        {"mog:form=mixture:variance=learn:0.5", "mog:form=mixture:variance=0.5"},
        {"expr:{s*tanh(z/s)}:s=learn:3", "expr:{s*tanh(z/s)}:s=3"},
        {"rbf:gamma=0.5:scale=2", "expr:{2*exp(-0.5*q)}"},
        {"expr:{exp(-0.5*q)}:scale=2", "expr:{2*exp(-0.5*q)}"},
        {"lin:scale=3", "expr:{3*z}"},
        {"mix:lin:scale=2,sig:scale=0.5", "mix:expr:{2*z},expr:{(z+log(sigmoid(z)))/2}"}}) {
    CAPTURE(heads.first);
    Problem a(heads.first), b(heads.second);
    a.rows = b.rows = 40;
    a.words = b.words = 130;
    Doubles of_a = results(a);
    of_a.resize(of_a.size() - learned_numbers(a.head).size());
    CHECK(relative_error(of_a, results(b)) < 1e-12);
  }
  // A pair at distance 0 has the slope 0 by a power of the distance.
  Problem p("expr:{-q^(p/2)}:p=learn:3");
  p.near = true;
  for (const double g : number_gradients(p)) CHECK(std::isfinite(g));
  CHECK(relative_error(number_gradients(p), [] {
          Problem built_in("pow:p=learn:3");
          built_in.near = true;
          Doubles g = number_gradients(built_in);
          g[0] /= 3;  // of its logarithm
          return g;
        }()) < 1e-12);
}

TEST_CASE("learned numbers: a model trains, saves and loads them, and decodes with them") {
  const HeadConfig config{
      .spec = parse_head("mix:rbf:gamma=learn:0.5:scale=learn:3,lin", {.head_context = "none"}),
      .bias = true};
  ParameterSet set({.dtype = DType::float64, .seed = 3});
  const SoftmaxHead head(set, "head", config, 40, 6, Init::normal(1));
  CHECK(set.at("head.scores.0.gamma").value().to_vector() == Doubles{std::log(0.5)});
  CHECK(set.at("head.scores.0.scale").value().to_vector() == Doubles{std::log(3.0)});
  const Tensor h = tensor_of(random_values({{{30, 6}}}, 5)[0], {30, 6}, DType::float64),
               targets = tensor_of(random_indices({{{30}, 0, 40}}, 6)[0], {30});
  Arena pool("head");
  Tape tape(pool);
  double first = 0, last = 0;
  for (int step = 0; step < 40; ++step) {
    const Var loss = head.loss(tape.constant(h), targets);
    last = loss.value().item();
    if (step == 0) first = last;
    tape.backward(loss);
    tape.reset();
    for (const char* name : {"head.scores.0.gamma", "head.scores.0.scale"}) {
      const Parameter& p = set.at(name);
      p.value().data<double>()[0] -= 0.5 * p.grad().to_vector().front();
    }
    set.zero_grad();
  }
  CHECK(last < first);
  const auto values = head.number_values();
  REQUIRE(values.size() == 2);
  CHECK(values[0].first == "0.rbf.gamma");
  CHECK(values[1].first == "0.rbf.scale");
  CHECK(values[0].second != doctest::Approx(0.5));
  const HeadSpec present = head.present_spec();
  CHECK(present.components[0].parameters[0] == values[0].second);
  CHECK(present.components[0].scale == values[1].second);

  const TemporaryDirectory dir;
  set.save(dir / "model.safetensors");
  ParameterSet again({.dtype = DType::float64, .seed = 9});
  const SoftmaxHead copy(again, "head", config, 40, 6, Init::normal(1));
  again.load(dir / "model.safetensors");
  CHECK(copy.present_spec() == present);

  const NoGrad guard(tape);
  const Doubles expected = head.log_probabilities(tape.constant(h)).to_vector();
  CHECK(copy.log_probabilities(tape.constant(h)).to_vector() == expected);
  const HeadDecoder<double> decoder(present, {.w = {set.at("head.weight").value().view()},
                                              .bias = set.at("head.bias").value().view(),
                                              .prior = set.at("head.prior.weight").value().view()});
  HeadDecoder<double>::Memory memory;
  HeadDecoder<double>::Answer answer;
  const Doubles flat = h.to_vector();
  const std::span<const int32_t> wanted(targets.data<int32_t>(), 30);
  decoder({.h = flat.data(), .rows = 30, .targets = wanted}, memory, answer);
  for (size_t r = 0; r < 30; ++r)
    CHECK(answer.log_probs[r] ==
          doctest::Approx(expected[r * 40 + static_cast<size_t>(wanted[r])]).epsilon(1e-12));
}

TEST_CASE("learned numbers: margins and norms are for inner products as they are") {
  for (const char* head : {"lin:scale=2", "lin:scale=learn"}) {
    HeadSettings settings;
    settings.head = head;
    settings.margin = "cos:0.1";
    CHECK(has(error_of([&] { settings.head_config(); }), "inner products"));
  }
  Problem p("wav:a=learn:1");
  const auto error = [&](size_t numbers, double value) {
    return error_of([&] {
      Arena pool("test");
      Tape tape(pool);
      std::vector<Var> x;
      for (const Tensor& t : p.inputs()) x.push_back(tape.leaf(t));
      HeadWeights weights = p.weights(x);
      weights.numbers.assign(numbers, tape.leaf(tensor_of(Doubles{value}, {1}, DType::float64)));
      kernel_softmax(p.head, x[0], weights, p.targets(), 1);
    });
  };
  CHECK(error(1, 2).empty());
  CHECK(error(0, 2).empty());  // where it starts
  CHECK(has(error(2, 2), "2 learned numbers, but the head"));
  CHECK(has(error(1, 0), "a must not be 0"));
  CHECK(has(error(1, std::nan("")), "a learned number is not finite"));
}

}  // namespace nine::tests::test_learned_numbers
