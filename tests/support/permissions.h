// Programs that may not write and search everywhere, whoever runs the tests.
#pragma once

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace nine::tests {

/// For a child process, such as Program's `prepare`: the root user writes and searches where
/// permissions forbid it; without these capabilities neither the child nor a program that it
/// executes does.
inline void obey_permissions() {
  prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE);
  prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &header, sets) != 0) return;
  constexpr unsigned kDropped = (1U << CAP_DAC_OVERRIDE) | (1U << CAP_DAC_READ_SEARCH);
  sets[0].effective &= ~kDropped;
  syscall(SYS_capset, &header, sets);
}

}  // namespace nine::tests
