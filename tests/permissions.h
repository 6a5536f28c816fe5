// Programs that may not write and search everywhere, whoever runs the tests.
#pragma once

#include <linux/capability.h>
#include <sys/prctl.h>

namespace nine::tests {

/// For Program's `before`: the root user writes and searches where permissions forbid it; without
/// these capabilities the program no longer does.
inline void obey_permissions() {
  prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE);
  prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH);
}

}  // namespace nine::tests
