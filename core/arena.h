// Memory pools. Memory in use never moves, and after the first training step the pool of a step
// allocates nothing from the system.
//
// A pool is filled from both ends:
//   low end   activations that backward needs; released in reverse order during backward.
//   high end  gradients of activations, as blocks with a free list for each size class; and, beyond
//             them, the temporaries of the running op, released when their Scope ends.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace nine {

struct PoolWatch;

/// A memory pool. Tensors from it have undefined contents, and using them after reset() is an
/// Error. When the pool is full, an Error states its size, what is in use, the peak and the
/// request.
class Arena {
 public:
  /// Reserves `capacity` bytes on the device; 0: as much as the device has available. On the CPU
  /// only addresses are reserved: the system provides a page at its first use. `name` is for
  /// messages.
  explicit Arena(std::string name, Device device = kCpu, size_t capacity = 0);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  Device device() const { return device_; }

  /// A position in the low end: the number of bytes in use there.
  using Mark = size_t;
  /// A tensor from the low end, in use until it is released or the pool is reset.
  Tensor saved(const Shape& shape, DType dtype);
  Mark saved_mark() const { return bottom_; }
  /// Releases everything that saved() returned since saved_mark() was `mark`.
  void release_saved(Mark mark);

  /// A tensor from the high end that is released at the end of the innermost Scope. Error: there is
  /// no Scope.
  Tensor temporary(const Shape& shape, DType dtype);
  /// When it is destroyed, releases the temporaries made since its construction. Scopes may be
  /// nested.
  class Scope {
   public:
    explicit Scope(Arena& arena) : arena_(arena), mark_(arena.top_) { ++arena_.scopes_; }
    ~Scope() { arena_.end_scope(mark_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Arena& arena_;
    size_t mark_;
  };

  /// A tensor from the high end that stays until free_block() or reset(): gradients of activations.
  /// Error: inside of a Scope.
  Tensor block(const Shape& shape, DType dtype);
  /// Makes the block's memory available to later blocks of its size class.
  void free_block(const Tensor& block);

  /// Ends the step: releases everything. Using a tensor of the pool is an Error from now on.
  void reset();

  /// 1 plus the number of resets: tensors store it, so that their use after a reset is detected.
  uint64_t generation() const { return generation_; }
  size_t peak_bytes() const { return peak_; }  ///< the most that was ever in use at once
  size_t capacity() const { return capacity_; }
  const std::string& name() const { return name_; }

 private:
  Tensor make(size_t offset, const Shape& shape, DType dtype) const;
  size_t with_red_zone(size_t bytes) const;
  void note_use(size_t request);
  void end_scope(size_t mark);
  void take(size_t offset, size_t bytes) const;
  [[noreturn]] void out_of_memory(size_t request) const;

  std::string name_;
  Device device_;
  size_t capacity_ = 0;
  std::byte* base_ = nullptr;
  size_t bottom_ = 0;  // bytes in use from the low end
  size_t top_ = 0;     // bytes in use from the high end
  int scopes_ = 0;
  size_t peak_ = 0;
  uint64_t generation_ = 1;
  const PoolWatch* watch_ = nullptr;                // of tests (core/pool_watch.h)
  static constexpr int kClasses = 48 * 4;           // four for each power of two
  std::array<std::vector<size_t>, kClasses> free_;  // offsets of the free blocks of each size class
};

}  // namespace nine
