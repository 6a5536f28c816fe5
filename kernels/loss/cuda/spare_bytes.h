// Limits the memory that the head uses on CUDA for products and scores that it does not keep.
#pragma once

#include <cstdint>

namespace nine::cuda {

/// Limits the bytes of products and scores that a block computes at a time if it does not keep
/// them; 0: the default, 64 MB. Another limit cuts sums elsewhere, which changes their last bits.
/// For tests.
void set_head_spare_bytes(int64_t bytes);

}  // namespace nine::cuda
