// For tests: what pools on a GPU give out and take back (core/arena.h).
#pragma once

#include <cstddef>

namespace nine {

/// Is told of every tensor of a pool that is not on the CPU, so that a stand-in for a GPU finds
/// accesses to memory of the pool that belongs to no tensor.
struct PoolWatch {
  /// Bytes that the pool leaves unused behind every tensor: a multiple of 64.
  size_t red_zone;
  /// From now on these bytes are a tensor's, with undefined contents; or nobody's.
  void (*given)(const void* p, size_t bytes);
  void (*taken)(const void* p, size_t bytes);
};
/// Watches pools that are made from now on; null: none.
void set_pool_watch(const PoolWatch* watch);

}  // namespace nine
