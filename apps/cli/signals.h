// SIGINT, SIGTERM and SIGUSR1 as a flag that a training loop checks between steps.
#pragma once

namespace nine::app {

/// From now on SIGINT (Ctrl-C), SIGTERM and SIGUSR1, which mpirun forwards, set the flag instead of
/// ending the program. A second SIGINT ends it at once; a second SIGTERM does not, since schedulers
/// repeat it. A signal that was
/// ignored (nohup, a background job) stays so.
void catch_interrupts();

/// The first signal caught, 0 when there was none. Thread-safe.
int interrupted();

/// Clears the flag and restores the default action of the signals.
void release_interrupts();

}  // namespace nine::app
