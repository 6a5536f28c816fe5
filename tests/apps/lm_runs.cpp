#include "tests/apps/lm_runs.h"

namespace nine::tests {

Strings small(const std::string& run, const Strings& more) {
  Strings a{"--sample", "--sample-sentences",
            "1500",     "--layers",
            "2",        "--hidden",
            "24",       "--embed",
            "20",       "--batch",
            "6",        "--bptt",
            "14",       "--lr",
            "0.01",     "--schedule",
            "plateau",  "--log-every",
            "25",       "--run",
            run};
  a.insert(a.end(), more.begin(), more.end());
  return a;
}

}  // namespace nine::tests
