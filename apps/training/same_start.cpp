#include "apps/training/same_start.h"

#include <nlohmann/json.hpp>

#include "apps/cli/option_data.h"
#include "apps/cli/processes.h"
#include "core/error.h"

namespace nine::app {
namespace {

// Where two objects of the same keys differ first, as "--hidden 32, where process 0 has 16".
std::string difference(const Json& own, const Json& first, bool options) {
  for (const auto& [key, value] : own.items()) {
    const Json there = first.contains(key) ? first[key] : Json();
    if (value == there) continue;
    if (key == "resolved") return difference(value, there, false);
    return concat(options ? "--" + flag_of(key) : key, " ", json_text(value),
                  ", where process 0 has ", json_text(there));
  }
  return "other settings";
}

}  // namespace

void require_same_start(Communicator& communicator, const Json& config) {
  if (communicator.size() == 1) return;
  Json own = config;
  // Rank 0 alone writes; threads and waiting change no result.
  for (const char* key : {"threads", "mpi_timeout", "run", "tensorboard", "restart"})
    own.erase(key);
  const std::vector<std::string> hosts = communicator.all_gather(host_name()),
                                 all = communicator.all_gather(json_text(own));
  for (size_t r = 1; r < all.size(); ++r)
    if (all[r] != all[0])
      throw UsageError(concat(
          "process ", r, " on ", hosts[r], " has ",
          difference(parse_json_object(all[r]), parse_json_object(all[0]), true), " (on ", hosts[0],
          "): all processes need the same data, options, instruction set and version"));
}

}  // namespace nine::app
