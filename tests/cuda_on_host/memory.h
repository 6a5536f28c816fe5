// Device memory of the stand-in: one range of addresses for each card.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "tests/cuda_on_host/shadow.h"

namespace cuda_on_host {

class CardMemory {
 public:
  static constexpr size_t kBytes = size_t{1} << 30;

  CardMemory();
  CardMemory(const CardMemory&) = delete;
  CardMemory& operator=(const CardMemory&) = delete;

  /// A block full of NaN, or null: there is no room.
  void* allocate(size_t bytes);
  /// Frees a block, and fills it with NaN. Returns what was wrong with it, or "".
  std::string release(void* p);
  /// Whether this is an address of this card.
  bool has(const void* p) const { return p >= base_ && p < base_ + kBytes; }
  /// Whether the bytes from p on lie within one block that is there.
  bool holds(const void* p, size_t bytes) const;
  size_t free_bytes() const { return kBytes - used_; }
  size_t blocks() const { return live_.size(); }
  /// What is known of each byte; null where kernels are compiled without hooks.
  Shadow* shadow() const { return shadow_.get(); }
  /// Error: a copy or a product accesses bytes that are not there, or reads some that nobody wrote.
  /// `rows` times `width` bytes, `pitch` from one to the next.
  void require_access(const char* op, const void* p, size_t pitch, size_t width, size_t rows,
                      Access access) const;

  /// While an object exists, the host can access this card's memory: a kernel runs, or a copy.
  class Open {
   public:
    explicit Open(CardMemory& memory);
    ~Open();
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

   private:
    CardMemory& memory_;
  };

 private:
  void protect(int how) const;

  std::byte* base_ = nullptr;
  size_t used_ = 0;                       // to the end of the highest block there ever was
  std::map<size_t, size_t> live_, free_;  // offset -> bytes
  int opened_ = 0;
  std::unique_ptr<Shadow> shadow_;
};

}  // namespace cuda_on_host
