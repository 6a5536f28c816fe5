// How texts of the command line and values of a configuration file become fields, and back.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/option_data.h"
#include "core/dtype.h"
#include "core/json.h"

namespace nine::app {

/// Sets the field from what the command line gave (at least one text). Throws UsageError.
void set_from_texts(OptionData& option, const std::vector<std::string>& texts);
/// Sets the field from a value in the configuration `file`. Throws UsageError.
void set_from_json(OptionData& option, const Json& value, const std::string& file);
/// Checks that every number keeps its bounds, and is neither 0 nor infinite, when the type that
/// computes rounds it. Throws UsageError, which names the flag.
void require_numbers_fit(const OptionList& options, DType type);
/// The field's value for a configuration.
Json to_json(const OptionField& field);
/// The field's value for the help; empty for an empty text or list.
std::string field_text(const OptionField& field);

}  // namespace nine::app
