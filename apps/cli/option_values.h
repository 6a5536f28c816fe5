// Converts texts of the command line and values of a configuration file to fields, and back.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/option_data.h"
#include "core/dtype.h"
#include "core/json.h"

namespace nine::app {

/// Sets the field from the texts of the command line (at least one). Throws UsageError.
void set_from_texts(OptionData& option, const std::vector<std::string>& texts);
/// Sets the field from a value in the configuration `file`. Throws UsageError.
void set_from_json(OptionData& option, const Json& value, const std::string& file);
/// Checks that every number, rounded to the type that computes, keeps its bounds and does not
/// become 0 or infinite. Throws UsageError, which names the flag.
void require_numbers_fit(const OptionList& options, DType type);
/// Returns the field's value for a configuration.
Json to_json(const OptionField& field);
/// Returns the field's value for the help; empty for an empty text or list.
std::string field_text(const OptionField& field);

}  // namespace nine::app
