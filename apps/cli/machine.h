// Where a program computes: the flags --threads and --device, and what they select.
#pragma once

#include <string>

#include "apps/cli/options.h"
#include "core/device.h"

namespace nine::app {

/// Declares --threads, bound to `threads`; 0: all physical cores.
void add_threads(Options& options, int& threads);
/// Declares --device, bound to `device`: "cpu", "cuda" or "cuda:1".
void add_device(Options& options, std::string& device);

/// Installs the CUDA backend, sets the number of threads (0: all physical cores) and the precision
/// of matrix products on CUDA ("fp32", "tf32", "bf16"), and returns the device. Programs call it
/// before they make a tensor. Errors: a text of neither form; no such device on this machine.
Device use_machine(int threads, const std::string& device, const std::string& precision = "fp32");

}  // namespace nine::app
