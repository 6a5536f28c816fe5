#include "tests/cuda_on_host/shadow.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"

namespace cuda_on_host {
namespace {

constexpr size_t kWord = 4;
constexpr uint16_t kWarp = 32;

// Zeros, of which only those take memory that are used.
template <class T>
T* zeros(size_t n) {
  void* p = mmap(nullptr, n * sizeof(T), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  nine::require(p != MAP_FAILED, "no address space for what the stand-in knows of memory");
  return static_cast<T*>(p);
}

}  // namespace

Shadow::Shadow(const void* base, size_t bytes)
    : base_(reinterpret_cast<uintptr_t>(base)),
      bytes_(bytes),
      states_(zeros<uint8_t>(bytes)),
      cells_(zeros<Cell>(bytes / kWord + 1)) {}
Shadow::~Shadow() {
  munmap(states_, bytes_);
  munmap(cells_, (bytes_ / kWord + 1) * sizeof(Cell));
}

void Shadow::fill(const void* p, size_t bytes, State state) {
  std::memset(states_ + (reinterpret_cast<uintptr_t>(p) - base_), static_cast<int>(state), bytes);
}

// Where an address lies, seen from the memory that may be accessed.
std::string Shadow::place(uintptr_t p) const {
  constexpr size_t kFar = 4096;
  const auto outside = [&](size_t i) { return states_[i] == static_cast<uint8_t>(State::outside); };
  const size_t at = p - base_;
  const auto begin_of = [&](size_t i) {
    while (i > 0 && !outside(i - 1)) --i;
    return i;
  };
  const auto end_of = [&](size_t i) {
    while (i < bytes_ && !outside(i)) ++i;
    return i;
  };
  if (!outside(at))
    return nine::concat("at byte ", at - begin_of(at), " of ", end_of(at) - begin_of(at));
  for (size_t away = 1; away < kFar; ++away) {
    if (away <= at && !outside(at - away))
      return nine::concat(away - 1, " bytes behind a block of ",
                          at - away + 1 - begin_of(at - away));
    if (at + away < bytes_ && !outside(at + away))
      return nine::concat(away, " bytes before a block of ", end_of(at + away) - (at + away));
  }
  return "where there is no block";
}

// Marks what is stored as written.
std::string Shadow::wrong_state(uintptr_t p, size_t bytes, Access access) {
  const char* const what = access == Access::load ? "reads " : "writes ";
  for (size_t i = 0; i < bytes; ++i) {
    const uintptr_t at = p + i;
    const State state = has(at) ? static_cast<State>(states_[at - base_]) : State::outside;
    if (state == State::outside)
      return nine::concat(what, bytes, " bytes outside of its memory, ",
                          has(at) ? place(at) : "behind all of it");
    if (state == State::unwritten && access != Access::store)
      return nine::concat(what, bytes, " bytes that nobody wrote, ", place(at));
  }
  if (access == Access::store)
    std::memset(states_ + (p - base_), static_cast<int>(State::written), bytes);
  return {};
}

std::string Shadow::whole_access(uintptr_t p, size_t bytes, Access access) {
  return wrong_state(p, bytes, access);
}

// Whether a barrier lies between two accesses of one block, or they are one thread's.
bool Shadow::ordered(const Mark& before, const Accessor& now) {
  if (before.barriers != now.barriers) return true;
  if (before.others == warps) return false;
  if (before.others == none && before.thread == now.thread) return true;
  return before.thread / kWarp == now.thread / kWarp && before.warp_barriers != now.warp_barriers;
}

std::string Shadow::access(uintptr_t p, size_t bytes, Access access, const Accessor& by) {
  if (std::string wrong = wrong_state(p, bytes, access); !wrong.empty()) return wrong;
  const uintptr_t end = p + bytes;
  for (uintptr_t at = p; at < end;) {
    const uintptr_t word = at / kWord * kWord, next = std::min(word + kWord, end);
    const auto mask = static_cast<uint8_t>(((1u << (next - at)) - 1) << (at - word));
    Cell& cell = cells_[word / kWord - base_ / kWord];
    if (cell.launch != launch_) cell = {{}, {}, launch_};
    const Mark mine{
        by.block,         by.thread,       mask, none, access == Access::atomic, by.barriers,
        by.warp_barriers, by.grid_barriers};
    // The word was accessed since the last barrier of all blocks.
    const auto recent = [&](const Mark& before) {
      return (before.bytes & mask) != 0 && before.grid_barriers == by.grid_barriers;
    };
    // How `before`, which did `verb`, and this access conflict.
    const auto conflict = [&](const Mark& before, const char* verb) -> std::string {
      if (!recent(before) || (before.atomic && access == Access::atomic)) return {};
      const char* const now = access == Access::load ? "reads" : "writes";
      if (before.others == blocks || before.block != by.block)
        return nine::concat("block ", before.block, " ", verb, " and block ", by.block, " ", now,
                            " a word, ", place(word));
      if (ordered(before, by)) return {};
      return nine::concat("threads ", before.thread, " (which ", verb, ") and ", by.thread,
                          " (which ", now, ") of block ", by.block,
                          " meet in a word without a barrier, ", place(word));
    };
    if (std::string wrong = conflict(cell.store, "writes"); !wrong.empty()) return wrong;
    if (access == Access::load) {
      Mark& load = cell.load;
      const bool same = recent(load);
      const Mark before = load;
      load = mine;
      if (same && (before.others == blocks || before.block != by.block)) {
        load = before;
        load.others = blocks;
      } else if (same && !ordered(before, by)) {
        load.others =
            before.others == warps || before.thread / kWarp != by.thread / kWarp ? warps : lanes;
      }
    } else {
      if (std::string wrong = conflict(cell.load, "reads"); !wrong.empty()) return wrong;
      // What is not atomic stays so: an atomic access of another block conflicts with it.
      const bool plain = recent(cell.store) && !cell.store.atomic;
      cell.store = mine;
      if (plain) cell.store.atomic = false;
    }
    at = next;
  }
  return {};
}

}  // namespace cuda_on_host
