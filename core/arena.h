// Memory pools. Live pointers never move; a warmed-up step asks the system for nothing.
//
// A step's pool has two ends (architecture.md, decision 4):
//   bottom  activations that backward needs, released in reverse as the tape unwinds;
//   top     gradients of activations (blocks, kept on free lists by size class), and above them an
//   op's
//           temporaries, released when their Scope ends.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace nine {

class Arena {
 public:
  /// Reserves `capacity` bytes (0: as much as the device has for us). On the CPU this is address
  /// space: a page is taken from the system when it is first touched, and given back never.
  explicit Arena(std::string name, Device device = kCpu, size_t capacity = 0);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  Device device() const { return device_; }

  using Mark = size_t;
  /// From the bottom end; contents are undefined.
  Tensor saved(const Shape& shape, DType dtype);
  Mark saved_mark() const { return bottom_; }
  void release_saved(Mark mark);

  /// From the top end; only inside a Scope, whose end releases it. Contents are undefined.
  Tensor temporary(const Shape& shape, DType dtype);
  class Scope {
   public:
    explicit Scope(Arena& arena) : arena_(arena), mark_(arena.top_) { ++arena_.scopes_; }
    ~Scope() {
      --arena_.scopes_;
      arena_.top_ = mark_;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Arena& arena_;
    size_t mark_;
  };

  /// A gradient that outlives the op that makes it; outside of any Scope. Contents are undefined.
  Tensor block(const Shape& shape, DType dtype);
  void free_block(const Tensor& block);

  /// Ends the step: everything is free and every tensor of the pool becomes unusable.
  void reset();

  uint64_t generation() const { return generation_; }
  size_t peak_bytes() const { return peak_; }  ///< the most that was ever in use at once
  size_t capacity() const { return capacity_; }
  const std::string& name() const { return name_; }

 private:
  Tensor make(size_t offset, const Shape& shape, DType dtype) const;
  void note_use(size_t request);
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
  static constexpr int kClasses = 48 * 4;
  std::array<std::vector<size_t>, kClasses>
      free_;  // offsets of free blocks, four size classes an octave
};

}  // namespace nine
