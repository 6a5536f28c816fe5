// Memory pools for the tensors of a training step. Memory in use never moves. After the first
// training step the pool of a step requests no memory from the system.
//
// A pool is filled from both ends:
//   low end   activations that backward needs; released in reverse order during backward.
//   high end  gradients of activations, as blocks with a free list for each size class. Next to
//             them, towards the low end, the temporaries of the running op, released when their
//             Scope ends.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace nine {

struct PoolWatch;

/// A memory pool on one device. Most programs only make a pool and give it to a Tape. The contents
/// of a new tensor are undefined. Tensor::view() of a tensor after reset() is an Error. If the pool
/// is full, saved(), temporary() and block() throw OutOfMemory; its message states the pool's size,
/// the bytes in use, the peak and the request.
class Arena {
 public:
  /// Reserves `capacity` bytes on the device; 0 reserves as much as the device has available. On
  /// the CPU the constructor reserves addresses only, and the system provides a page at its first
  /// use. On a GPU, 0 means what is available at the first use of the pool: memory that is needed
  /// until then, such as an optimiser's state, comes first. Messages call the pool `name`.
  /// OutOfMemory: the device does not have the bytes or, on the CPU, the process does not have the
  /// addresses.
  explicit Arena(std::string name, Device device = kCpu, size_t capacity = 0);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  Device device() const { return device_; }

  /// A position in the low end: the number of bytes in use below it.
  using Mark = size_t;
  /// Returns a tensor from the low end. It stays in use until release_saved() or reset().
  Tensor saved(const Shape& shape, DType dtype);
  Mark saved_mark() const { return bottom_; }
  /// Releases every tensor that saved() made after the call of saved_mark() that gave `mark`.
  /// Error: `mark` lies above the memory in use.
  void release_saved(Mark mark);

  /// Returns a tensor from the high end. The end of the innermost Scope releases it. Error: no
  /// Scope is open.
  Tensor temporary(const Shape& shape, DType dtype);
  /// Releases, when destroyed, the temporaries made since its construction. Scopes may be nested.
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

  /// Returns a tensor from the high end for the gradient of an activation. It stays in use until
  /// free_block() or reset(). Error: a Scope is open.
  Tensor block(const Shape& shape, DType dtype);
  /// Makes the block's memory available to later blocks of its size class. Error: the block was
  /// freed before.
  void free_block(const Tensor& block);

  /// Releases everything at the end of a step. Afterwards any use of a tensor of the pool is an
  /// Error. Error: a Scope is open.
  void reset();

  /// Returns 1 plus the number of resets. A tensor stores this number, so that its use after a
  /// reset is detected.
  uint64_t generation() const { return generation_; }
  size_t peak_bytes() const { return peak_; }  ///< the most bytes in use at once since construction
  /// The bytes reserved; 0 if they are still to be at the first use.
  size_t capacity() const { return capacity_; }
  const std::string& name() const { return name_; }

 private:
  void reserve();
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
  const PoolWatch* watch_ = nullptr;                // set by tests (core/pool_watch.h)
  static constexpr int kClasses = 48 * 4;           // four classes for each power of two
  std::array<std::vector<size_t>, kClasses> free_;  // offsets of the free blocks of each size class
};

}  // namespace nine
