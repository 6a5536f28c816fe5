#include "nn/rotary_scaling.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/quote.h"

namespace nine {
namespace {

constexpr const char* kExamples =
    ": none, linear:8 or llama3:factor=8,low=1,high=4,length=8192 was expected";

// Angles that are divided by more turn by nothing that float32 shows at any position.
constexpr double kMostFactor = 1e6;

double number_of(std::string_view text, std::string_view whole) {
  double out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  require(error == std::errc{} && end == text.data() + text.size() && std::isfinite(out),
          "the rotary scaling ", quote(whole), " has ", quote(text), " for a number", kExamples);
  return out;
}

}  // namespace

double RotaryScaling::divisor(double frequency) const {
  switch (kind) {
    case RotaryScalingKind::none:
      break;
    case RotaryScalingKind::linear:
      return factor;
    case RotaryScalingKind::llama3: {
      const double waves = static_cast<double>(length) * frequency / (2 * std::numbers::pi);
      if (waves < low) return factor;
      if (waves > high) return 1;
      const double share = (waves - low) / (high - low);
      return 1 / ((1 - share) / factor + share);
    }
  }
  return 1;
}

RotaryScaling RotaryScaling::from_text(std::string_view text) {
  RotaryScaling out;
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const bool linear = name == "linear", llama3 = name == "llama3";
  require((name == "none" && colon == std::string_view::npos) ||
              ((linear || llama3) && colon != std::string_view::npos),
          quote(text), " is no rotary scaling", kExamples);
  if (linear) {
    out.kind = RotaryScalingKind::linear;
    out.factor = number_of(text.substr(colon + 1), text);
  } else if (llama3) {
    out.kind = RotaryScalingKind::llama3;
    double length = static_cast<double>(out.length);
    std::set<std::string_view> keys;
    for (size_t begin = colon + 1; begin <= text.size();) {
      const size_t comma = std::min(text.find(',', begin), text.size());
      const std::string_view part = text.substr(begin, comma - begin);
      begin = comma + 1;
      const size_t equals = part.find('=');
      const std::string_view key = part.substr(0, equals);
      double* const number = key == "factor"   ? &out.factor
                             : key == "low"    ? &out.low
                             : key == "high"   ? &out.high
                             : key == "length" ? &length
                                               : nullptr;
      require(number != nullptr && equals != std::string_view::npos, "the rotary scaling ",
              quote(text), " has ", quote(part), kExamples);
      require(keys.insert(key).second, "the rotary scaling ", quote(text), " has ", quote(key),
              " twice", kExamples);
      *number = number_of(part.substr(equals + 1), text);
    }
    require(keys.contains("factor"), "the rotary scaling ", quote(text), " has no factor",
            kExamples);
    require(length >= 1 && length < 0x1p40 && length == std::floor(length), "the rotary scaling ",
            quote(text), " has the length ", length, ", and a whole number from 1 on was expected");
    out.length = static_cast<int64_t>(length);
    require(out.low > 0 && out.low < out.high, "the rotary scaling ", quote(text), " has low ",
            out.low, " and high ", out.high, ", and 0 < low < high was expected");
  }
  require(out.factor >= 1 && out.factor <= kMostFactor, "the rotary scaling ", quote(text),
          " has the factor ", out.factor, ", and a number from 1 to ", kMostFactor,
          " was expected");
  return out;
}

std::string to_text(const RotaryScaling& scaling) {
  switch (scaling.kind) {
    case RotaryScalingKind::none:
      break;
    case RotaryScalingKind::linear:
      return concat("linear:", scaling.factor);
    case RotaryScalingKind::llama3:
      return concat("llama3:factor=", scaling.factor, ",low=", scaling.low, ",high=", scaling.high,
                    ",length=", scaling.length);
  }
  return "none";
}

}  // namespace nine
