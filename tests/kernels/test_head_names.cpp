// The grammar of heads (docs/heads.md, section 9): what a string stands for, what options
// fill in, and what errors say.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "kernels/settings/head.h"
#include "kernels/settings/head_config.h"
#include "kernels/settings/head_json.h"
#include "kernels/settings/head_misfit.h"
#include "nn/softmax_head.h"
#include "tests/support/support.h"

namespace nine::tests::test_head_names {
namespace {

std::string text_of(const std::string& head, const HeadDefaults& defaults = {}) {
  return parse_head(head, defaults).to_text();
}
std::string refusal(const std::string& head, const HeadDefaults& defaults = {}) {
  try {
    parse_head(head, defaults);
  } catch (const UsageError& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("head names: kernels with their parameters in full") {
  CHECK(HeadSpec{}.to_text() == "lin");
  const std::vector<std::vector<std::string>> texts{
      {"lin", "lin"},
      {"log", "log:p=2"},
      {"pow", "pow:p=2"},
      {"pow:p=0.1", "pow:p=0.1"},
      {"pol", "pol:alpha=1:c=1:p=2"},
      {"pol:p=3:c=0.3:alpha=0.5", "pol:alpha=0.5:c=0.3:p=3"},
      {"rbf", "rbf:gamma=1"},
      {"rbf:gamma=1e-3", "rbf:gamma=0.001"},
      {"ssg", "ssg:variance=split"},
      {"ssg:variance=0.5", "ssg:variance=0.5"},
      {"ssg:pace=0.05", "ssg:variance=split:pace=0.05"},
      {"mog", "mog:components=2:form=sum:variance=split"},
      {"mog:components=4:form=mixture", "mog:components=4:form=mixture:variance=split"},
      {"hpb", "hpb:ball=lorentz:shift=-2"},
      {"hpb:ball=sigmoid:shift=0.25", "hpb:ball=sigmoid:shift=0.25"},
      {"wav:a=2:b=3", "wav:a=2:b=3"},
      {"sig", "sig"},
      {"lin@tuned", "lin"},
      {"log@tuned", "log:p=4"},
      {"ssg@tuned:variance=2", "ssg:variance=2"},
      {"mix:lin", "mix:lin"},
      {"mix:3*lin,log:p=1", "mix:3*lin,log:p=1"},
      {"mix:lin,lin,log,lin", "mix:2*lin,log:p=2,lin"},
      {"mos", "mix:9*lin"},
      {"mix1", "mix:lin,log:p=2,rbf:gamma=1,hpb:ball=lorentz:shift=-2,wav:a=1:b=1"},
      {"mix2", "mix:3*lin,log:p=2"},
      {"mix3", "mix:lin,log:p=2,pow:p=2,pol:alpha=1:c=1:p=2"},
      {"mix4", "mix:lin,log:p=2,rbf:gamma=1,hpb:ball=lorentz:shift=-2"},
      {"mix5", "mix:2*lin,2*rbf:gamma=1"}};
  for (const auto& t : texts) {
    CAPTURE(t[0]);
    CHECK(text_of(t[0]) == t[1]);
    CHECK(parse_head(t[1]) == parse_head(t[0]));
  }
}

TEST_CASE("head names: numbers read back to the same bits") {
  for (const double p : {0.1, 1.0 / 3, 2.0000000000000004, 1e-300, 12345.678901234567}) {
    HeadSpec head = parse_head("pow");
    head.components[0].parameters[0] = p;
    CHECK(parse_head(head.to_text()) == head);
  }
}

TEST_CASE("head names: mixbig is the nine in their order") {
  const HeadSpec big = parse_head("mixbig");
  REQUIRE(big.size() == 9);
  for (size_t k = 0; k < 9; ++k) CHECK(big.components[k].kind == static_cast<ScoreKind>(k));
  const std::vector<KernelInfo> table = kernel_table();
  REQUIRE(table.size() >= 10);
  for (size_t k = 0; k < table.size(); ++k)
    CHECK(kernel_info({.kind = static_cast<ScoreKind>(k)}).name == std::string(table[k].name));
}

TEST_CASE("head names: options fill in what a component does not say") {
  const HeadDefaults options{.variance = "0.5", .ball = "tanh", .head_context = {}, .untied = true};
  CHECK(text_of("ssg", options) == "ssg:variance=0.5");
  CHECK(text_of("ssg:variance=split", options) == "ssg:variance=split");
  CHECK(text_of("mix:mog,hpb,hpb:ball=clip", options) ==
        "mix:mog:components=2:form=sum:variance=0.5,hpb:ball=tanh:shift=-2,hpb:ball=clip:shift=-2");
  CHECK(parse_head("mix:lin", options).untied);
  CHECK(!parse_head("lin").contexts);
  CHECK(!parse_head("lin").mixture);
  CHECK(parse_head("mix:lin").contexts);
  CHECK(parse_head("mix:lin").mixture);
  CHECK(!parse_head("mix:lin", {.variance = {}, .ball = {}, .head_context = "none"}).contexts);
  CHECK(parse_head("lin", {.variance = {}, .ball = {}, .head_context = "tanh"}).contexts);
}

TEST_CASE("head names: errors name the part and what is near") {
  const std::vector<std::vector<std::string>> wrong{
      {"", "the head is empty"},
      {"nonsense", "no kernel is called 'nonsense'. Kernels: lin, log"},
      {"rfb", "'rfb'; did you mean rbf?"},
      {"mixbg", "did you mean mixbig?"},
      {"mix:lin,poww", "'poww'; did you mean pow?"},
      {"mix:lin,mos", "'mos' is a mixture itself (mix:9*lin)"},
      {"lin,log", "write mix:lin,log"},
      {"3*lin", "write mix:3*lin"},
      {"mix", "write mix:lin,log"},
      {"mix:", "a component is empty"},
      {"mix:lin,,log", "a component is empty"},
      {"mix:0*lin", "the count in '0*lin'"},
      {"mix:x*lin", "the count in 'x*lin'"},
      {"mix:1.5*lin", "the count"},
      {"mix:2000*lin", "1 to 1024"},
      {"mix2:p=1", "the preset mix2 takes no parameters"},
      {"lin:p=1", "lin has no parameters, not 'p'"},
      {"rbf:gama=1", "no parameter 'gama', only gamma; did you mean gamma?"},
      {"pow:p", "must be PARAMETER=VALUE"},
      {"pow:p=1:p=2", "names p twice"},
      {"pow:p=one", "pow's p is not a number: 'one'"},
      {"pow:p=inf", "not a number"},
      {"pow:p=1x", "not a number"},
      {"pow:p=0", "p must be > 0"},
      {"pol:p=2.5", "p must be an integer"},
      {"mog:form=summ", "must be one of sum, mixture; did you mean sum?"},
      {"mog:form=1", "must be one of sum, mixture"},
      {"ssg:variance=0", "must be split or a number > 0"},
      {"hpb:ball=lorenz", "did you mean lorentz?"},
      {"hpb:shift=1", "shift is for ball=sigmoid"},
      {"mog:components=100000", "components must be an integer from 1 to 65536"},
      {"rbf:gamma=learn:", "'rbf:gamma=learn:' has an empty field: write gamma=learn:START, or "},
      {"rbf:gamma=learn+::scale=2", "has an empty field: write gamma=learn+:START"},
      {"expr:{s*z}:s=learn:", "has an empty field"},
      {"expr@tuned:{z}", "a formula has no tuned parameters: write expr:{...} without @tuned"},
      {"mix:lin,expr@tuned", "a formula has no tuned parameters"},
      {"mos@tuned", "no tuned parameters are recorded for mos"}};
  for (const auto& w : wrong) {
    CAPTURE(w[0]);
    const std::string message = refusal(w[0]);
    CHECK_MESSAGE(has(message, w[1]), message);
  }
  CHECK(has(refusal("hpb", {.variance = {}, .ball = "cube"}), "ball is 'cube'"));
  CHECK(has(refusal("ssg", {.variance = "-1"}), "variance is '-1'"));
  CHECK(has(refusal("lin", {.variance = {}, .ball = {}, .head_context = "tan"}),
            "did you mean tanh?"));
}

TEST_CASE("head names: what does not fit the vectors' size names the component") {
  CHECK(parse_head("mixbig").check(8).empty());
  CHECK(has(parse_head("mog:components=3").check(8),
            "mog:components=3:form=sum:variance=split, with vectors of 8 numbers"));
  CHECK(has(parse_head("mix:lin,ssg").check(1), "component 2, ssg:variance=split"));
  CHECK(parse_head("lin").check(1).empty());
}

TEST_CASE("head settings: a head may leave to the variance beside it where its variance starts") {
  HeadSettings s;
  const auto set = [&s](const std::string& name, const std::string& text) {
    for (const HeadSetting& setting : head_settings())
      if (setting.name == name) setting.set(s, text);
  };
  set("head", "mix:ssg:variance=learn,mog:variance=learn+");
  CHECK(has(error_of([&] { s.head_spec(); }), "needs a number to start from"));
  set("variance", "0.5");
  CHECK(s.head_spec().to_text() ==
        "mix:ssg:variance=learn:0.5,mog:components=2:form=sum:variance=learn:0.5");
  for (const char* head : {"ssg:pace=0.05", "hpb:shift=1", "mix:hpb:shift=1,ssg:variance=learn"})
    CHECK_NOTHROW(set("head", head));
  // Not for any variance, or any ball.
  for (const char* head : {"mix:ssg:variance=learn,ssg:variance=split:pace=x", "hpb:shift=x",
                           "ssg:variance=learn:-1", "rfb"})
    CHECK_THROWS_AS(set("head", head), UsageError);
}

TEST_CASE("head config: settings as text, the configuration, and what JSON says of it") {
  HeadSettings s;
  s.head = "mix:lin,log";
  s.head_context = "none";
  s.untied = true;
  s.head_bias = false;
  s.label_smoothing = 0.1;
  s.smoothing = "others";
  s.pi_reg = "cv2:0.5";
  s.weight_norm_reg = "root:0.25,1.5";
  s.head_memory = "tiles";
  s.head_skip = 0.000244;
  const HeadConfig c = s.head_config();
  CHECK(c.spec == s.head_spec());
  CHECK(c.loss.smoothing.kind == LabelSmoothing::Kind::others);
  CHECK(c.loss.prior.kind == ops::PriorPenalty::cv2);
  CHECK(c.loss.memory == HeadMemory::tiles);
  CHECK(c.loss.skip == 0.000244);
  CHECK(c.norm_reg.kind == NormRegulariser::Kind::root);
  CHECK(to_json(c).dump() ==
        R"({"head":"mix:lin,log:p=2","untied":true,"head_context":"none","head_bias":false,)"
        R"("head_memory":"tiles","word_norm":"none","context_norm":"none","margin":"none",)"
        R"("sampled_softmax":"","label_smoothing":0.1,"smoothing":"others","z_loss":0.0,)"
        R"("head_skip":0.000244,)"
        R"("pi_reg":"cv2:0.5","weight_norm_reg":"root:0.25,1.5"})");
  CHECK(to_json(HeadSettings{}.head_config())["head"] == "lin");
  for (const HeadSetting& setting : head_settings()) {
    CAPTURE(setting.name);
    CHECK((setting.value == nullptr) == (setting.use == SettingUse::written));
    CHECK((!setting.regularises || setting.use == SettingUse::training));
    CHECK(setting.is_given(s) == (setting.text(s) != setting.text({})));
    HeadSettings copy;
    if (setting.is_given(s)) setting.set(copy, setting.text(s));
    CHECK(setting.text(copy) == setting.text(s));
  }
  s.head_memory = "tile";
  CHECK_THROWS_WITH_AS(s.head_config(), doctest::Contains("did you mean tiles?"), UsageError);
}

TEST_CASE("head config: a number that is 0 or infinite in the type that computes is named") {
  const auto says = [](const HeadSettings& s, DType type = DType::float32) {
    return misfit(s.head_config(), type);
  };
  const std::string
      small = ", 1e-300, is too small for float32, whose smallest positive number is 1.17",
      large = ", 1e+300, is too large for float32, whose largest number is 3.40";
  const auto of_head = [&](const std::string& head) { return says({.head = head}); };
  CHECK(of_head("mix:lin,pow:p=1.5").empty());
  CHECK(has(of_head("pow:p=1e-300"), "p of pow" + small));
  CHECK(has(of_head("mix:lin,pow:p=1e300"), "p of pow" + large));
  CHECK(has(of_head("rbf:scale=1e300"), "scale of rbf" + large));
  CHECK(has(of_head("expr:{z * 1e-300}"), "a number of the formula" + small));
  CHECK(has(of_head("expr:{p * z}:p=1e-300"), small));
  CHECK(of_head("expr:{0 * q + z}").empty());
  CHECK(says({.head = "pow:p=1e-300"}, DType::float64).empty());
  CHECK(has(says({.label_smoothing = 1e-300}), "label smoothing" + small));
  CHECK(has(says({.head = "mos", .pi_reg = "cv2:1e-300"}), small));
  CHECK(has(says({.weight_norm_reg = "root:1e300,1"}), large));
  CHECK(has(says({.weight_norm_reg = "root:1,1e-300"}), small));
  CHECK(has(says({.margin = "cos:1e-300"}), "margin" + small));
  CHECK(has(says({.word_norm = "const:1e300"}), "word norm" + large));
  CHECK(has(says({.context_norm = "const:1e300"}), "context norm" + large));
  // A model's own file may say so.
  ParameterSet set({.dtype = DType::float32});
  CHECK(has(error_of([&] { SoftmaxHead(set, "head", {.spec = parse_head("pow:p=1e-300")}, 4, 3); }),
            "p of pow" + small));
}

TEST_CASE("bias_misfit: biases that all words share") {
  const auto of = [](std::vector<double> bias, DType type) {
    return bias_misfit(bias, stored_type_of(type));
  };
  CHECK(of({1e17, 1e17 + 64, -INFINITY}, DType::float64) ==
        "2 words have a bias of 1e+17 or more, where numbers of float64 lie more than 1/16 apart, "
        "so that the differences between these words are lost; subtract from all biases what they "
        "share");
  CHECK(has(of({-2e6, -3e6}, DType::float32), "2 words have a bias of -2e+06 or less, where "));
  // Words with other biases do not hide it.
  CHECK(has(of({0, 1e8, 1e8, 1e8}, DType::float32), "3 words have a bias of 1e+08 or more"));
  CHECK(has(of({0, -3e5, 1e8, 2e8}, DType::float32), "2 words have a bias of 1e+08 or more"));
  CHECK(has(of({-1e8, -1e8, 0, -1e8}, DType::float32), "3 words have a bias of -1e+08 or less"));
  // Words that are as good as excluded, beside others.
  CHECK(of({-1e8, 0, -1e8, 0.5, -1e8}, DType::float32).empty());
  for (const double all : {1e12, -1e12}) CHECK(of({all, all}, DType::float64).empty());
  CHECK(of({3e4, 3e4}, DType::float32).empty());
  CHECK(of({0, 1e17}, DType::float64).empty());
  CHECK(of({-1e17, 1e17}, DType::float64).empty());
  CHECK(of({}, DType::float64).empty());
  CHECK(has(of({-1e38, -1e38, 3}, DType::float32), "to exclude words, give them a bias of -inf"));
  CHECK(has(of({-1e38, -1e38}, DType::float32), "subtract from all biases what they share"));
  // Numbers of 16 bits lose differences earlier.
  CHECK(
      has(of({300, 304, 2}, DType::bfloat16),
          "2 words have a bias of 300 or more, where numbers of bfloat16 lie more than 1/4 apart"));
  CHECK(of({12, 12, -9}, DType::bfloat16).empty());
  CHECK(has(bias_misfit(std::vector{2000.0, 2001.0}, kFloat16), "where numbers of float16 lie"));
  CHECK(bias_misfit(std::vector{100.0, 101.0}, kFloat16).empty());
}

}  // namespace nine::tests::test_head_names
