#include "nn/bidirectional_lstm.h"

#include <array>

#include "core/ops.h"

namespace nine {
namespace {

// Returns the lengths of all sequences.
std::vector<int64_t> checked_lengths(int64_t rows, int64_t batch, const Tensor& lengths) {
  require(batch > 0 && rows > 0 && rows % batch == 0, "[bidirectional lstm] ", rows,
          " rows are not whole time steps of a batch of ", batch);
  const int64_t steps = rows / batch;
  if (!lengths) return std::vector<int64_t>(static_cast<size_t>(batch), steps);
  require(lengths.dtype() == DType::int32 && lengths.elements() == batch,
          "[bidirectional lstm] lengths must be ", batch, " int32 numbers, got ", lengths.dtype(),
          " ", lengths.shape());
  std::vector<int64_t> all;
  for (const double length : lengths.to_vector()) {
    require(length >= 1 && length <= static_cast<double>(steps), "[bidirectional lstm] length ",
            length, " is outside of [1, ", steps, "]");
    all.push_back(static_cast<int64_t>(length));
  }
  return all;
}

// Returns the row of each row's mirror image within its sequence; padding stays where it is.
Tensor mirrored_rows(int64_t rows, const std::vector<int64_t>& lengths) {
  const int64_t batch = std::ssize(lengths);
  Tensor ids({rows}, DType::int32);
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t t = r / batch, b = r % batch, length = lengths[static_cast<size_t>(b)];
    ids.data<int32_t>()[r] = static_cast<int32_t>(t < length ? (length - 1 - t) * batch + b : r);
  }
  return ids;
}

// Returns (n, 2d) of two matrices (n, d).
Var side_by_side(const Var& a, const Var& b) {
  const int64_t n = a.shape().rows(), d = a.shape().cols();
  return reshape(transpose_rows(concat_rows(std::array{a, b}), 2), {n, 2 * d});
}

}  // namespace

BidirectionalLstm::BidirectionalLstm(ParameterSet& set, const std::string& name, int64_t input,
                                     int64_t hidden, int64_t layers, const LinearInit& init)
    : hidden_(hidden) {
  const Init weight = init.weight.of_sizes(hidden, 4 * hidden),
             bias = init.bias.of_sizes(hidden, 4 * hidden);
  for (int64_t l = 0; l < layers; ++l) {
    const auto direction = [&](const char* end) {
      const std::string suffix = concat("_l", l, end);
      Parameter& w_ih = set.add(concat(name, ".weight_ih", suffix),
                                {4 * hidden, l == 0 ? input : 2 * hidden}, weight);
      Parameter& w_hh = set.add(concat(name, ".weight_hh", suffix), {4 * hidden, hidden}, weight);
      w_ih.linear_map = w_hh.linear_map = true;
      Parameter& b_ih = set.add(concat(name, ".bias_ih", suffix), {4 * hidden}, bias);
      Parameter& b_hh = set.add(concat(name, ".bias_hh", suffix), {4 * hidden}, bias);
      return Direction{w_ih, w_hh, b_ih, b_hh};
    };
    const Direction forward = direction(""), backward = direction("_reverse");
    layers_.push_back({forward, backward, concat("dropout.", name, "_l", l)});
  }
}

Var BidirectionalLstm::run(const Direction& d, const Var& x, int64_t batch) const {
  Tape& tape = x.tape();
  const Tensor zeros = tape.arena().saved({batch, hidden_}, x.dtype());
  ops::fill(zeros, 0);
  const Var zero = tape.constant(zeros);
  return lstm(x,
              {tape.parameter(d.w_ih), tape.parameter(d.w_hh), tape.parameter(d.b_ih),
               tape.parameter(d.b_hh)},
              {zero, zero})
      .y;
}

Var BidirectionalLstm::operator()(const Var& x, int64_t batch, const Tensor& lengths,
                                  const Dropout& between) const {
  Tape& tape = x.tape();
  const int64_t rows = x.shape().rows();
  const Tensor mirror = tape.on_device(mirrored_rows(rows, checked_lengths(rows, batch, lengths)));
  Var y = x;
  for (size_t l = 0; l < layers_.size(); ++l) {
    if (l > 0) y = between(y, batch, layers_[l].dropout_stream);
    const Var forward = run(layers_[l].forward, y, batch),
              backward = run(layers_[l].backward, embedding(y, mirror), batch);
    y = side_by_side(forward, embedding(backward, mirror));
  }
  return y;
}

Var BidirectionalLstm::final_states(const Var& y, int64_t batch, const Tensor& lengths) const {
  const std::vector<int64_t> all = checked_lengths(y.shape().rows(), batch, lengths);
  Tensor last({batch}, DType::int32);
  for (int64_t b = 0; b < batch; ++b)
    last.data<int32_t>()[b] = static_cast<int32_t>((all[static_cast<size_t>(b)] - 1) * batch + b);
  const Var ends = embedding(y, y.tape().on_device(last)), begins = row_range(y, 0, batch);
  return side_by_side(col_range(ends, 0, hidden_), col_range(begins, hidden_, hidden_));
}

}  // namespace nine
