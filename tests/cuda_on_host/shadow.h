// What is known of the bytes of a range of device or shared memory, for the strict build of the
// stand-in: which of them may be accessed, which were written, and by whom in the running launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace cuda_on_host {

enum class Access : uint8_t { load, store, atomic };

/// Who accesses memory: a thread, and the barriers that it has passed.
struct Accessor {
  uint32_t block = 0;
  uint16_t thread = 0, barriers = 0, warp_barriers = 0, grid_barriers = 0;
};

class Shadow {
 public:
  Shadow(const void* base, size_t bytes);
  ~Shadow();
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  /// From now on these bytes are there and nobody has written them; they are not there; or they
  /// have been written.
  void given(const void* p, size_t bytes) { fill(p, bytes, State::unwritten); }
  void taken(const void* p, size_t bytes) { fill(p, bytes, State::outside); }
  void written(const void* p, size_t bytes) { fill(p, bytes, State::written); }

  /// Whether this is an address of the range.
  bool has(uintptr_t p) const { return p - base_ < bytes_; }
  /// Of a copy or a product: what is wrong with it, or "".
  std::string whole_access(uintptr_t p, size_t bytes, Access access);
  /// Accesses of a launch conflict with those of the same launch alone.
  void begin_launch() { ++launch_; }
  /// Of a thread of a kernel: what is wrong with it, or "". Two accesses to a word conflict when
  /// one is no load, not both are atomic, and nothing orders them: they are made by two blocks, or
  /// by two threads of a block, without a barrier of all blocks, or of the block, in between.
  std::string access(uintptr_t p, size_t bytes, Access access, const Accessor& by);

 private:
  enum class State : uint8_t { outside, unwritten, written };
  enum Others : uint8_t { none, lanes, warps, blocks };  // that have read the same as a mark's
  struct Mark {
    uint32_t block;
    uint16_t thread;
    uint8_t bytes;  // of the word, a bit for each; 0: no mark
    uint8_t others : 2, atomic : 1;
    uint16_t barriers, warp_barriers, grid_barriers;
  };
  struct Cell {
    Mark store, load;
    uint32_t launch;
  };

  void fill(const void* p, size_t bytes, State state);
  std::string place(uintptr_t p) const;
  std::string wrong_state(uintptr_t p, size_t bytes, Access access);
  static bool ordered(const Mark& before, const Accessor& now);

  uintptr_t base_;
  size_t bytes_;
  uint8_t* states_;  // of each byte
  Cell* cells_;      // of each word of four bytes
  uint32_t launch_ = 1;
};

}  // namespace cuda_on_host
