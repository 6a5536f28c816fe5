// An LSTM's loop over time as one kernel, where its blocks fit on the GPU side by side.
#pragma once

#include "core/ops.h"

namespace nine::cuda {

/// The loop of lstm(), after the product of the input: false, and nothing is done, where the layer
/// is not for it (float64, a single step, a size at which the blocks do not fit, or turned off).
bool lstm_loop(const ops::Lstm& io);
/// That of lstm_through_time().
bool lstm_loop_backward(const ops::Lstm& io, const ops::LstmGradients& g, const View& dh,
                        const View& dc);

}  // namespace nine::cuda
