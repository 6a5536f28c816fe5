// The options of programs that draw words: lm_score --generate, mt_translate --samples.
#pragma once

#include <cstdint>
#include <string_view>

#include "apps/cli/options.h"
#include "nn/models/sampling.h"

namespace nine::app {

/// Declares --temperature, --top-k and --top-p. `sampling` must outlive `options`.
void declare_sampling(Options& options, SamplingOptions& sampling);

/// Checks the options of a program that draws `samples` texts for each line. UsageErrors: at
/// temperature 0, an option without effect, or several `texts` ("translations"), which would be the
/// same.
void check_sampling(const Options& given, const SamplingOptions& sampling, int64_t samples,
                    std::string_view texts);

}  // namespace nine::app
