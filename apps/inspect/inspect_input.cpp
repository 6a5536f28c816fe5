#include "apps/inspect/inspect_input.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "core/json.h"
#include "core/misfit.h"
#include "core/suggest.h"
#include "kernels/settings/head_misfit.h"
#include "kernels/settings/learned_numbers.h"

namespace nine::app {
namespace {

using Names = std::vector<std::string>;

// Calls f; an error becomes a UsageError that begins with the field's name.
template <class F>
auto named(const std::string& field, F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    fail_usage(field, ": ", e.what());
  }
}

void refuse_unknown_keys(const Json& object, const std::string& prefix, const Names& known) {
  for (const auto& [key, value] : object.items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      fail_usage(prefix, key, ": no such field", did_you_mean(key, known, prefix));
}

// options.KEY as the text that the command line would have; nothing when it is not there.
std::optional<std::string> option_text(const Json& options, const std::string& key) {
  if (!options.contains(key)) return {};
  const Json& value = options[key];
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number()) return concat(value.get<double>());
  fail_usage("options.", key, ": must be a string, a number or a boolean");
}

void read_options(const Json& in, InspectInput& out) {
  const Json options = in.value("options", Json::object());
  if (!options.is_object()) fail_usage("options: must be an object");
  if (!in.contains("head") || !in["head"].is_string())
    fail_usage("head: must be a string such as \"lin\" or \"mix:3*lin,log\"");
  HeadSettings settings{.head = in["head"].get<std::string>()};
  Names known{"matmul_precision"};
  if (const auto text = option_text(options, "matmul_precision"))
    named("options.matmul_precision",
          [&] { out.precision = enum_from_text<MatmulPrecision>(*text); });
  if (out.precision != MatmulPrecision::highest && out.dtype != DType::float32)
    fail_usage("options.matmul_precision: works with float32 only; add \"dtype\": \"float32\"");
  for (const HeadSetting& setting : head_settings()) {
    const std::string_view name = setting.name;
    if (name == "sampled_softmax" && options.contains(setting.name))
      fail_usage(
          "options.sampled_softmax: kernel_inspect computes the softmax over all words; leave it "
          "out");
    if (name == "head" || name == "sampled_softmax") continue;
    known.emplace_back(setting.name);
    if (const auto text = option_text(options, setting.name))
      named(concat("options.", setting.name), [&] { setting.set(settings, *text); });
  }
  refuse_unknown_keys(options, "options.", known);
  named("head", [&] { settings.head_spec(); });
  for (const HeadSetting& setting : head_settings())
    if (setting.has_effect != nullptr && setting.is_given(settings) &&
        !setting.has_effect(settings))
      fail_usage("options.", setting.name, ": has no effect here: it needs ", setting.needs);
  out.head = named("options", [&] { return settings.head_config(); });
  const std::string too_large_or_small = misfit(out.head, out.dtype);
  if (!too_large_or_small.empty()) fail_usage("head, options: ", too_large_or_small);
}

// Appends nested arrays of numbers to a.values, from axis `level` of a.shape on; `where` names the
// element in errors.
void flatten(const Json& value, size_t level, const std::string& where, InspectArray& a) {
  if (level == a.shape.size()) {
    if (!value.is_number()) fail_usage(where, ": must be a number");
    a.values.push_back(value.get<double>());
    return;
  }
  if (!value.is_array() || value.empty())
    fail_usage(where, ": must be an array of ", level + 1 == a.shape.size() ? "numbers" : "arrays",
               ", not empty");
  const auto count = static_cast<int64_t>(value.size());
  if (a.shape[level] < 0) a.shape[level] = count;
  if (count != a.shape[level])
    fail_usage(where, ": has ", count, " elements, but must have ", a.shape[level]);
  for (size_t i = 0; i < value.size(); ++i)
    flatten(value[i], level + 1, concat(where, "[", i, "]"), a);
}

// The field `name`. -1 in `shape` stands for any size; `form` is the shape in words.
InspectArray read_array(const Json& in, const char* name, std::vector<int64_t> shape,
                        const char* form) {
  InspectArray a{name, std::move(shape), {}};
  if (!in.contains(name)) fail_usage(name, ": is missing; it must be ", form);
  named(concat(name, " (", form, ")"), [&] { flatten(in[name], 0, name, a); });
  return a;
}

void read_targets(const Json& in, InspectInput& out) {
  const InspectArray targets = read_array(in, "targets", {out.rows}, "N words");
  int64_t counting = 0;
  for (size_t n = 0; n < targets.values.size(); ++n) {
    const double y = targets.values[n];
    if (y != std::floor(y) || y < -1 || y >= static_cast<double>(out.words))
      fail_usage("targets[", n, "]: ", y, " must be a word from 0 to ", out.words - 1,
                 ", or -1 for a row without a target");
    out.targets.push_back(static_cast<int32_t>(y));
    counting += y >= 0;
  }
  if (counting == 0) fail_usage("targets: no row has a target");
  if (out.head.loss.smoothing.epsilon > 0)
    named("options.smoothing", [&] { return out.head.loss.smoothing.spread(out.words); });
}

void read_arrays(const Json& in, InspectInput& out) {
  const HeadSpec& head = out.head.spec;
  const int64_t size = head.size();
  auto& a = out.arrays;
  a[InspectInput::kH] = read_array(in, "H", {-1, -1}, "N x d");
  out.rows = a[InspectInput::kH].shape[0];
  out.size = a[InspectInput::kH].shape[1];
  a[InspectInput::kW] = head.untied ? read_array(in, "W", {size, -1, out.size}, "K x V x d, untied")
                                    : read_array(in, "W", {-1, out.size}, "V x d");
  out.words = a[InspectInput::kW].shape[head.untied ? 1 : 0];
  a[InspectInput::kB].name = "b";
  if (!in.contains("b") && out.head.bias &&
      in.value("options", Json::object()).contains("head_bias"))
    fail_usage("options.head_bias: has no effect here: it needs b, V numbers");
  if (in.contains("b")) {
    InspectArray b = read_array(in, "b", {out.words}, "V");
    if (out.head.bias) {
      const std::string wrong = bias_misfit(b.values, stored_type_of(out.dtype));
      if (!wrong.empty()) fail_usage("b: " + wrong);
      a[InspectInput::kB] = std::move(b);
    }
  }
  a[InspectInput::kM].name = "M";
  if (head.mixture) a[InspectInput::kM] = read_array(in, "M", {out.size, size}, "d x K");
  if (!head.mixture && in.contains("M"))
    fail_usage("M: a single kernel has no prior; leave it out, or write head as mix:...");
  a[InspectInput::kC].name = "C";
  if (head.contexts)
    a[InspectInput::kC] = read_array(in, "C", {size, out.size, out.size}, "K x d x d");
  if (!head.contexts && in.contains("C"))
    fail_usage("C: head_context none uses no C; leave it out");
  InspectArray& numbers = a[InspectInput::kScores];
  numbers.name = "scores";
  for (const LearnedNumber& n : learned_numbers(head)) numbers.values.push_back(n.start);
  numbers.shape = {std::ssize(numbers.values)};
  if (in.contains("counts")) {
    const InspectArray counts = read_array(in, "counts", {out.words}, "V");
    if (*std::min_element(counts.values.begin(), counts.values.end()) < 0)
      fail_usage("counts: must not be below 0");
    if (!out.head.norms.word.needs_counts())
      fail_usage("counts: has no effect here: it needs a word_norm that follows the words' counts");
    out.counts = counts.values;
  }
  if (const WordNorm& norm = out.head.norms.word; norm.needs_counts() && out.counts.empty())
    fail_usage("counts: is missing; word norm ", to_text(norm),
               " follows the words' counts, V numbers");
  const std::string wrong = head.check(out.size);
  if (!wrong.empty()) fail_usage("head: ", wrong);
  // What is too small for float32 is as good as 0 there; what is too large would be infinite.
  for (const InspectArray& array : a)
    for (const double x : array.values)
      if (std::fabs(x) > 1)
        if (const std::string why = misfit(x, out.dtype); !why.empty())
          fail_usage(array.name, ": ", x, " ", why);
}

}  // namespace

InspectInput read_inspect_input(const Json& in) {
  if (!in.is_object()) fail_usage("the input must be a JSON object");
  refuse_unknown_keys(in, "",
                      {"head", "options", "dtype", "device", "H", "W", "b", "M", "C", "targets",
                       "counts", "check"});
  const auto text = [&](const char* key, const char* fallback) {
    if (in.contains(key) && !in[key].is_string()) fail_usage(key, ": must be a string");
    return in.value(key, fallback);
  };
  InspectInput out;
  const std::string dtype = text("dtype", "float64"), check = text("check", "sample");
  if (dtype != "float32" && dtype != "float64")
    fail_usage("dtype: must be float64 or float32, not '", dtype, "'");
  out.dtype = dtype_from_text(dtype);
  out.device = named("device", [&] { return device_from_text(text("device", "cpu")); });
  if (check != "sample" && check != "all")
    fail_usage("check: must be \"all\" or left out, not '", check, "'");
  out.check_all = check == "all";
  read_options(in, out);
  read_arrays(in, out);
  read_targets(in, out);
  return out;
}

}  // namespace nine::app
