// Watches, for tests, the memory that pools on a GPU give out and take back (core/arena.h).
#pragma once

#include <cstddef>

namespace nine {

/// Functions that are told of every tensor of a pool that is not on the CPU. A stand-in for a GPU
/// uses them to find accesses to the pool's memory that belongs to no tensor.
struct PoolWatch {
  /// The bytes that the pool leaves unused after every tensor: a multiple of 64.
  size_t red_zone;
  /// Says that these bytes now belong to a tensor, with undefined contents, or (taken) to no
  /// tensor.
  void (*given)(const void* p, size_t bytes);
  void (*taken)(const void* p, size_t bytes);
};
/// Watches the pools that are made from now on; null ends the watch.
void set_pool_watch(const PoolWatch* watch);

}  // namespace nine
