// SIGINT, SIGTERM and SIGUSR1 as a flag that a training loop checks between steps.
#pragma once

namespace nine::app {

/// Makes SIGINT (Ctrl-C), SIGTERM and SIGUSR1, which mpirun forwards, set the flag instead of
/// ending the program. A second SIGINT ends the program at once. A second SIGTERM does not, because
/// schedulers repeat it. A signal that was ignored (nohup, a background job) is still ignored.
void catch_interrupts();

/// Returns the first signal that was caught; 0 if there was none. Thread-safe.
int interrupted();

/// Clears the flag and restores the default action of the signals.
void release_interrupts();

}  // namespace nine::app
