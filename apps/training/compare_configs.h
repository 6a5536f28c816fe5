// Whether a run may be resumed with the options given now.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apps/training/run_inputs.h"
#include "core/json.h"

namespace nine::app {

/// The configuration keys that may differ when a run is resumed: after, threads, keep, save_every,
/// profile, mpi_timeout, max_unknown, and run, restart, tensorboard and other_gpu, which are not
/// about the run itself.
const std::vector<std::string>& keys_free_on_resume();

/// What differs between two configurations, in sentences that end in "; ".
struct ConfigDifferences {
  std::string options, inputs;
};

/// Compares the keys of `now` but `free_keys`. One that `stored` lacks (it is of an older version)
/// must have its value in `defaults`, or is passed over when that lacks it too; keys of `stored`
/// alone are not compared. `stored` was read from config.json; the others are compared as they
/// would come back from there. An input is the same where its identity is: under which paths it was
/// and is read does not matter then. `where` says what `stored` is of: "--train was t.txt (checksum
/// 5) in this run, now u.txt (checksum 7); ".
ConfigDifferences config_differences(const Json& stored, const Json& now,
                                     const std::vector<std::string>& free_keys,
                                     const Json& defaults, const RunInputs& inputs,
                                     std::string_view where);

/// Why a run cannot be resumed with other options: "--hidden was 512 in this run, now 256; ...; use
/// --restart or another --run", empty when nothing does (config_differences).
std::string compare_configs(const Json& stored, const Json& now,
                            const std::vector<std::string>& free_keys, const Json& defaults,
                            const RunInputs& inputs = {});

}  // namespace nine::app
