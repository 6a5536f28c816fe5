// The length of a training: 10e, 300Ku, 20Mt.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/enum_names.h"

namespace nine {

/// The units: passes through the data, optimiser updates, predicted tokens.
enum class TrainingUnit : uint8_t { epochs, updates, tokens };
template <>
inline constexpr EnumNames<TrainingUnit, 3> kEnumNames<TrainingUnit>{
    "training unit",
    {{{TrainingUnit::epochs, "e"}, {TrainingUnit::updates, "u"}, {TrainingUnit::tokens, "t"}}}};

/// A number of epochs, updates or tokens, zero or more.
struct TrainingLength {
  int64_t value = 0;
  TrainingUnit unit = TrainingUnit::updates;

  /// Returns the counter that `unit` names.
  int64_t counter(int64_t epochs, int64_t updates, int64_t tokens) const;
  bool reached(int64_t epochs, int64_t updates, int64_t tokens) const {
    return counter(epochs, updates, tokens) >= value;
  }

  friend bool operator==(const TrainingLength&, const TrainingLength&) = default;
};

/// Reads a number, an optional K, M or G, and the unit e, u or t: "10e", "300Ku", "1.5Mt". Error: a
/// UsageError that lists the units, also for a number without a unit.
TrainingLength training_length_from_text(std::string_view text);

/// Returns the shortest text of a length: 20000000 tokens is "20Mt". concat() uses it.
std::string to_text(const TrainingLength& length);

}  // namespace nine
