// Device memory of the stand-in: one range of addresses for each card.
#pragma once

#include <cstddef>
#include <map>
#include <string>

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

  /// While an object exists, the host can access this card's memory: a kernel runs, or a copy.
  class Access {
   public:
    explicit Access(CardMemory& memory);
    ~Access();
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;

   private:
    CardMemory& memory_;
  };

 private:
  void protect(int how) const;

  std::byte* base_ = nullptr;
  size_t used_ = 0;                       // to the end of the highest block there ever was
  std::map<size_t, size_t> live_, free_;  // offset -> bytes
  int access_ = 0;
};

}  // namespace cuda_on_host
