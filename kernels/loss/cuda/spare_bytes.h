// How much memory the head uses on CUDA for products and scores that are not kept.
#pragma once

#include <cstdint>

namespace nine::cuda {

/// Limits the bytes of products and scores that a block computes at a time where it does not keep
/// them; 0: the default, 64 MB. Another limit cuts sums elsewhere, so that their last bits change.
/// For tests.
void set_head_spare_bytes(int64_t bytes);

}  // namespace nine::cuda
