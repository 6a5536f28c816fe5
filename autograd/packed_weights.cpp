#include "autograd/packed_weights.h"

namespace nine {

void PackedWeights::add(const View& w, const View& bias) {
  if (w.device != kCpu) return;
  dispatch_float(w.dtype, "PackedWeights", [&]<class T>(T) {
    packed_.try_emplace({w.data, w.rows()}, PackedLinear<T>(w, bias));
  });
}

bool PackedWeights::multiply(const View& x, const View& w, const View& y, LinearMode mode) const {
  const auto found = packed_.find({w.data, w.rows()});
  if (found == packed_.end()) return false;
  dispatch_float(w.dtype, "PackedWeights", [&]<class T>(T) {
    std::get<PackedLinear<T>>(found->second)(static_cast<const T*>(x.data), x.ld, x.rows(),
                                             static_cast<T*>(y.data), y.ld, mode);
  });
  return true;
}

}  // namespace nine
