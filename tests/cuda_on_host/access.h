// What kernels read and write, seen through the hooks that -fsanitize=kernel-address compiles into
// them (the tests' strict build of the stand-in; nothing of AddressSanitizer's own is linked).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace cuda_on_host {

/// Loads from device memory by the warps of a kernel, in some of its blocks.
struct Loads {
  int64_t warp_loads = 0;  ///< instructions of a warp
  int64_t sectors = 0;     ///< of 32 bytes that they touch
  int64_t least = 0;       ///< sectors that their bytes fill, if these lay side by side
  int64_t thread_loads = 0;
  int64_t runs = 0;  ///< of a thread's loads without a store or a barrier in between

  /// 1: what a warp reads lies side by side; 8: each lane reads four bytes of a sector of its own.
  double sectors_per_least() const {
    return static_cast<double>(sectors) / static_cast<double>(least);
  }
  /// How many loads a thread can have in flight at most, on average: no load is moved across a
  /// store that may alias it, or a barrier.
  double loads_per_run() const {
    return static_cast<double>(thread_loads) / static_cast<double>(runs);
  }
};

/// Whether kernels are compiled with the hooks.
bool sees_accesses();
/// Forgets what was counted, and counts from now on (or no longer).
void count_loads(bool on);
/// By kernel: the op and its functor or parameters' types.
const std::map<std::string, Loads>& loads();

// For the scheduler of fibers. Blocks that run side by side have a slot each. A slot's shared
// memory is the beginning of so many bytes, always the same.
inline constexpr size_t kSharedRange = size_t{256} << 10;
enum class Barrier { block, warp, shuffle, grid };  // a shuffle orders no accesses to memory
void begin_launch();
void begin_block(size_t slot, const std::string& kernel, size_t block, size_t threads,
                 std::byte* shared, size_t shared_bytes);
/// From now on this block's threads run.
void resume_block(size_t slot);
/// Error: the first wrong access of the block.
void end_block(size_t slot);
void passed_barrier(size_t thread, Barrier barrier);

}  // namespace cuda_on_host
