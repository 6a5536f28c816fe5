#include "nn/training/process_shares.h"

#include <algorithm>

#include "core/ops.h"

namespace nine {
namespace {

// Elements received at a time before they are added.
constexpr int64_t kReceived = int64_t{1} << 20;

View range_of(const View& slab, int64_t begin, int64_t end) {
  View v = slab;
  v.data = static_cast<std::byte*>(v.data) + begin * static_cast<int64_t>(size_of(v.dtype));
  v.shape = {end - begin};
  v.ld = end - begin;
  return v;
}

}  // namespace

SlabShares::SlabShares(int64_t elements, Communicator& communicator)
    : elements_(elements), communicator_(communicator) {
  require(is_power_of_two(communicator.size()), "[SlabShares] ", communicator.size(),
          " processes, but the number must be a power of two");
  while ((1 << levels_) < communicator.size()) ++levels_;
}

SlabShares::Range SlabShares::blocks_after(int rank, int level) const {
  Range r{0, blocks()};
  for (int l = 0; l < level; ++l) {
    const int64_t middle = r.begin + r.size() / 2;
    ((rank >> l & 1) != 0 ? r.begin : r.end) = middle;
  }
  return r;
}

SlabShares::Range SlabShares::elements_of(Range blocks) const {
  return {std::min(elements_, blocks.begin * kBlock), std::min(elements_, blocks.end * kBlock)};
}

View SlabShares::part(const View& slab) const { return range_of(slab, own().begin, own().end); }

// True if the subtree of 2^level ranks that contains `rank` has data.
bool SlabShares::any_data(int rank, int level, const std::function<bool(int)>& has_data) const {
  const int first = rank & ~((1 << level) - 1);
  for (int r = first; r < first + (1 << level); ++r)
    if (has_data(r)) return true;
  return false;
}

void SlabShares::reduce_scatter(const View& slab, const std::function<bool(int)>& has_data) {
  for (int l = 0; l < levels_; ++l) {
    const int rank = communicator_.rank(), other = rank ^ (1 << l);
    exchange_and_add(slab, other, elements_of(blocks_after(other, l + 1)),
                     elements_of(blocks_after(rank, l + 1)), any_data(rank, l, has_data),
                     any_data(other, l, has_data));
  }
}

// Addition of two numbers is commutative to the bit, so the order of the two sides does not matter.
void SlabShares::exchange_and_add(const View& slab, int other, Range give, Range keep, bool mine,
                                  bool theirs) {
  const auto size = static_cast<int64_t>(size_of(slab.dtype));
  auto* buffer = reinterpret_cast<std::byte*>(received_.get(kReceived));
  for (int64_t at = 0; at < std::max(give.size(), keep.size()); at += kReceived) {
    const View out = range_of(slab, std::min(give.end, give.begin + at),
                              std::min(give.end, give.begin + at + kReceived)),
               in = range_of(slab, std::min(keep.end, keep.begin + at),
                             std::min(keep.end, keep.begin + at + kReceived));
    View added = in;
    if (mine) added.data = buffer;  // otherwise there is no own data to add to
    communicator_.exchange(other, out.data, mine ? out.elements() * size : 0, other, added.data,
                           theirs ? in.elements() * size : 0);
    if (mine && theirs && in.elements() > 0) ops::scale(1, added, {in, true});
  }
}

void SlabShares::all_gather(const View& slab) const {
  const auto size = static_cast<int64_t>(size_of(slab.dtype));
  for (int l = levels_ - 1; l >= 0; --l) {
    const int rank = communicator_.rank(), other = rank ^ (1 << l);
    const Range mine = elements_of(blocks_after(rank, l + 1)),
                theirs = elements_of(blocks_after(other, l + 1));
    communicator_.exchange(other, range_of(slab, mine.begin, mine.end).data, mine.size() * size,
                           other, range_of(slab, theirs.begin, theirs.end).data,
                           theirs.size() * size);
  }
}

void SlabShares::gather(const View& own, const View& slab) const {
  if (!communicator_.first()) return communicator_.send(0, own.data, own.bytes());
  const auto size = static_cast<int64_t>(size_of(slab.dtype));
  if (own.elements() > 0) ops::copy(own, part(slab));
  for (int r = 1; r < communicator_.size(); ++r) {
    const Range share = share_of(r);
    communicator_.receive(r, range_of(slab, share.begin, share.end).data, share.size() * size);
  }
}

}  // namespace nine
