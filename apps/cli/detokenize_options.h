// The options of programs that write prose: --detokenize and --language.
#pragma once

#include <string>

#include "apps/cli/options.h"
#include "data/detokenize.h"

namespace nine::app {

/// Declares --detokenize and --language. `how` must outlive `options`. The help calls the text that
/// is changed `text` ("translations").
void declare_detokenize(Options& options, DetokenizeOptions& how, const std::string& text);

/// Throws a UsageError if --language was given without --detokenize moses.
void check_detokenize(const Options& given, const DetokenizeOptions& how);

}  // namespace nine::app
