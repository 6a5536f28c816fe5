// The times of a GPU's work: pairs of events on its stream, so that an op's time is what it takes
// there and not how long the host takes to submit it.
#include <array>
#include <vector>

#include "cuda/clock.cuh"
#include "cuda/turn.cuh"

namespace nine::cuda {
namespace {

class EventClock final : public profile::DeviceClock {
 public:
  explicit EventClock(int index) : index_(index) {}

  int64_t mark() override {
    const Turn turn;
    CudaDevice& device = CudaDevice::of(index_);
    if (used_ == events_.size()) {
      cudaEvent_t event{};
      check("profile", cudaEventCreate(&event));
      events_.push_back(event);
    }
    check("profile", cudaEventRecord(events_[used_], device.stream()));
    return static_cast<int64_t>(used_++);
  }

  double seconds(int64_t from, int64_t to) override {
    const Turn turn;
    const cudaEvent_t begin = events_[static_cast<size_t>(from)],
                      end = events_[static_cast<size_t>(to)];
    CudaDevice::of(index_);
    check("profile", cudaEventSynchronize(end));
    float ms = 0;
    check("profile", cudaEventElapsedTime(&ms, begin, end));
    return 1e-3 * static_cast<double>(ms);
  }

  void forget() override { used_ = 0; }

 private:
  int index_;
  std::vector<cudaEvent_t> events_;  // kept for later marks
  size_t used_ = 0;
};

}  // namespace

profile::DeviceClock* clock(int index) {
  static std::array<EventClock*, CudaDevice::kMost> all{};  // never destroyed, as CudaDevice's
  EventClock*& own = all[static_cast<size_t>(CudaDevice::of(index).index())];
  if (own == nullptr) own = new EventClock(index);
  return own;
}

}  // namespace nine::cuda
