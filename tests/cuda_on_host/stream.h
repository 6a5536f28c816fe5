// A stream of the stand-in, as its libcublas sees it too: that one is a shared library of its own
// and reaches the rest through these virtual functions alone.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace cuda_on_host {

/// Something that a card does: the addresses that it reaches, each in a block of memory that must
/// be there when it runs.
struct Work {
  const char* op;
  std::vector<const void*> uses;
  std::function<void()> run;
  bool counts = true;   // takes a microsecond by the clock of events
  bool always = false;  // also after an error
};

}  // namespace cuda_on_host

struct cuda_on_host_stream {
  virtual ~cuda_on_host_stream() = default;
  /// Queues the work, which may access the card's memory; or keeps it for the graph.
  virtual void submit(cuda_on_host::Work work) = 0;
  /// Error: the bytes from p on are not in one block of this card's memory.
  virtual void require_memory(const char* op, const void* p, size_t bytes) const = 0;
  /// In a work's run(): that it reads or writes these bytes, `rows` times `width`, `pitch` from one
  /// to the next. Error: some are not there, or it reads what nobody wrote (in the strict build).
  virtual void accesses(const char* op, const void* p, size_t pitch, size_t width, size_t rows,
                        bool store) const = 0;
  /// Whether this stream's card is CUDA's current device.
  virtual bool current() const = 0;
  /// Counts a call of the API. True: it is the one that a test wants to fail.
  virtual bool fails() = 0;
};
