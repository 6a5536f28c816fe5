#include "core/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

#include "core/least_memory.h"
#include "core/memory_reserve.h"
#include "core/op_table.h"
#include "core/pool_watch.h"

namespace nine {
namespace {

constexpr size_t kAlign = 64;  // a cache line, and an AVX-512 register

const PoolWatch* pool_watch = nullptr;
thread_local int least_memory = 0;  // the LeastMemory objects of this thread

size_t rounded(size_t bytes) { return (std::max<size_t>(bytes, 1) + kAlign - 1) / kAlign * kAlign; }

size_t bytes_of(const Shape& shape, DType dtype) {
  return rounded(static_cast<size_t>(shape.elements()) * size_of(dtype));
}

// Four size classes for each power of two, so that at most a quarter of a block is unused.
struct SizeClass {
  int index;
  size_t bytes;
};
SizeClass size_class(size_t bytes) {
  const size_t lines = (bytes + kAlign - 1) / kAlign;
  if (lines < 8) return {static_cast<int>(lines), lines * kAlign};
  const int octave = static_cast<int>(std::bit_width(lines)) - 3;  // lines >> octave is in [4, 8)
  const size_t quarter = (lines + (size_t{1} << octave) - 1) >> octave;
  return {octave * 4 + static_cast<int>(quarter), (quarter << octave) * kAlign};
}

}  // namespace

LeastMemory::LeastMemory() { ++least_memory; }
LeastMemory::~LeastMemory() { --least_memory; }
bool LeastMemory::wanted() { return least_memory > 0; }

void set_pool_watch(const PoolWatch* watch) { pool_watch = watch; }

Arena::Arena(std::string name, Device device, size_t capacity)
    : name_(std::move(name)), device_(device), capacity_(capacity) {
  watch_ = device_.kind == DeviceKind::cpu ? nullptr : pool_watch;
  if (capacity_ > 0 || device_.kind == DeviceKind::cpu) reserve();
}

void Arena::reserve() {
  // capacity_ stays as it is until there is memory, so that a failed first use can be repeated.
  const size_t wanted =
      rounded(capacity_ > 0 ? capacity_ : op_table(device_).available(device_.index));
  if (device_.kind == DeviceKind::cpu) {
    void* p = mmap(nullptr, wanted, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
      throw OutOfMemory(concat("out of memory: no address space for the pool '", name_, "' of ",
                               bytes_text(wanted),
                               "; raise the limit of address space (ulimit -v unlimited)"));
    madvise(p, wanted, LeastMemory::wanted() ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
    base_ = static_cast<std::byte*>(p);
    capacity_ = wanted;
  } else {
    base_ = static_cast<std::byte*>(op_table(device_).allocate(wanted, device_.index));
    capacity_ = wanted;
    take(0, capacity_);
  }
}

Arena::~Arena() {
  if (device_.kind == DeviceKind::cpu) {
    munmap(base_, capacity_);
  } else if (base_ != nullptr) {
    op_table(device_).release(base_, device_.index);
  }
}

Tensor Arena::make(size_t offset, const Shape& shape, DType dtype) const {
  Tensor t;
  t.view_.data = base_ + offset;
  t.view_.dtype = dtype;
  t.view_.device = device_;
  t.view_.shape = shape;
  t.view_.ld = shape.cols();
  t.arena_ = this;
  t.generation_ = generation_;
  if (watch_ != nullptr)
    watch_->given(t.view_.data, static_cast<size_t>(shape.elements()) * size_of(dtype));
  return t;
}

void Arena::take(size_t offset, size_t bytes) const {
  if (watch_ != nullptr && bytes > 0) watch_->taken(base_ + offset, bytes);
}

size_t Arena::with_red_zone(size_t bytes) const {
  return bytes + (watch_ != nullptr ? watch_->red_zone : 0);
}

void Arena::end_scope(size_t mark) {
  --scopes_;
  take(capacity_ - top_, top_ - mark);
  top_ = mark;
}

void Arena::note_use(size_t request) {
  require_memory();
  if (base_ == nullptr) reserve();
  if (bottom_ + top_ + request > capacity_) out_of_memory(request);
  peak_ = std::max(peak_, bottom_ + top_ + request);
}

void Arena::out_of_memory(size_t request) const {
  throw OutOfMemory(concat("out of memory: the pool '", name_, "' on ", device_, " holds ",
                           bytes_text(capacity_), ", ", bytes_text(bottom_ + top_),
                           " are in use (peak ", bytes_text(peak_), ") and ", bytes_text(request),
                           " more were requested; smaller batches need less"));
}

Tensor Arena::saved(const Shape& shape, DType dtype) {
  const size_t bytes = with_red_zone(bytes_of(shape, dtype));
  note_use(bytes);
  const size_t offset = bottom_;
  bottom_ += bytes;
  return make(offset, shape, dtype);
}

void Arena::release_saved(Mark mark) {
  require(mark <= bottom_, "[arena] released out of order: mark ", mark, " lies above ", bottom_);
  take(mark, bottom_ - mark);
  bottom_ = mark;
}

Tensor Arena::temporary(const Shape& shape, DType dtype) {
  require(scopes_ > 0, "[arena] a temporary outside of a Scope would never be released");
  const size_t bytes = with_red_zone(bytes_of(shape, dtype));
  note_use(bytes);
  top_ += bytes;
  return make(capacity_ - top_, shape, dtype);
}

Tensor Arena::block(const Shape& shape, DType dtype) {
  require(scopes_ == 0, "[arena] a block of shape ", shape,
          " was requested inside a Scope, which would release it");
  const SizeClass c = size_class(bytes_of(shape, dtype));
  auto& list = free_[static_cast<size_t>(c.index)];
  if (!list.empty()) {
    const size_t offset = list.back();
    list.pop_back();
    return make(offset, shape, dtype);
  }
  const size_t bytes = with_red_zone(c.bytes);
  note_use(bytes);
  top_ += bytes;
  return make(capacity_ - top_, shape, dtype);
}

void Arena::free_block(const Tensor& block) {
  const View& v = block.view();
  const SizeClass c = size_class(bytes_of(v.shape, v.dtype));
  const auto offset = static_cast<size_t>(static_cast<std::byte*>(v.data) - base_);
  auto& list = free_[static_cast<size_t>(c.index)];
  require(std::find(list.begin(), list.end(), offset) == list.end(), "[arena] a block of shape ",
          v.shape, " was freed twice");
  take(offset, c.bytes);
  list.push_back(offset);
}

void Arena::reset() {
  require(scopes_ == 0, "[arena] reset inside of a Scope");
  take(0, bottom_);
  take(capacity_ - top_, top_);
  bottom_ = top_ = 0;
  for (auto& list : free_) list.clear();
  ++generation_;
}

}  // namespace nine
