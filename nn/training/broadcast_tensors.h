// Tensors of a file that one process has read.
#pragma once

#include "core/communicator.h"
#include "core/safetensors.h"

namespace nine {

/// Gives every process rank 0's tensors; its metadata stays behind.
void broadcast_tensors(Communicator& communicator, Safetensors& file);
/// Overwrites the views' elements, on the CPU and without gaps, with rank 0's.
void broadcast_views(Communicator& communicator, const std::vector<NamedView>& views);

}  // namespace nine
