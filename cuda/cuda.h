// The CUDA backend's one entry: fills CUDA's op table (core/op_table.h).
#pragma once

namespace nine::cuda {

/// Makes Device{cuda} usable where the build has CUDA and the machine a GPU. In a build without CUDA every use of such a
/// device is an Error: "this build has no CUDA: ...". Called by programs and tests, once, before the first op.
void install();

/// Whether this build has the CUDA backend.
bool built();

}  // namespace nine::cuda
