// One host thread at a time uses CUDA, and leaves CUDA's current device as it was.
#pragma once

#include <mutex>
#include <utility>

namespace nine::cuda {

/// A span in which this thread may use the cards' state: streams, scratch buffers, staging memory,
/// graphs, cuBLAS's handles. Other threads wait meanwhile. At its end CUDA's current device is the
/// one of its beginning, because the program's other CUDA code may rely on its own choice. Spans
/// may be nested.
class Turn {
 public:
  Turn();
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  int device_ = -1;  // -1: CUDA does not say
};

template <auto kFunction>
struct InTurn;
template <class R, class... A, R (*kFunction)(A...)>
struct InTurn<kFunction> {
  static R call(A... a) {
    const Turn turn;
    return kFunction(std::forward<A>(a)...);
  }
};
/// A function of an op table that calls `kFunction` within a Turn. The stream runs all work of one
/// call after all work of another, so that ops of two threads do not mix.
template <auto kFunction>
inline constexpr auto in_turn = &InTurn<kFunction>::call;

}  // namespace nine::cuda
