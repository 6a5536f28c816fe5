#include "nn/carried_state.h"

#include <algorithm>

#include "core/ops.h"

namespace nine {

CarriedState::CarriedState(int64_t layers, int64_t batch, int64_t hidden, DType dtype,
                           Device device)
    : batch_(batch) {
  for (int64_t l = 0; l < layers; ++l) {
    h_.emplace_back(Shape{batch, hidden}, dtype, device);
    c_.emplace_back(Shape{batch, hidden}, dtype, device);
  }
}

void CarriedState::clear() {
  for (size_t l = 0; l < h_.size(); ++l) {
    ops::fill(h_[l], 0);
    ops::fill(c_[l], 0);
  }
}

void CarriedState::on(Tape& tape, std::vector<LstmState>& state, int64_t first,
                      int64_t count) const {
  state.clear();
  for (size_t l = 0; l < h_.size(); ++l)
    state.push_back({tape.constant(h_[l].row_range(first, count)),
                     tape.constant(c_[l].row_range(first, count))});
}

void CarriedState::store(const std::vector<LstmState>& state, int64_t first) {
  require(state.size() == h_.size(), "states of ", state.size(), " layers cannot be carried by ",
          h_.size());
  for (size_t l = 0; l < h_.size(); ++l) {
    const int64_t count = state[l].h.value().shape().rows();
    ops::copy(state[l].h.value(), h_[l].row_range(first, count));
    ops::copy(state[l].c.value(), c_[l].row_range(first, count));
  }
}

void CarriedState::copy_from(const CarriedState& other) {
  require(other.h_.size() == h_.size(), "the state of ", other.h_.size(),
          " layers cannot be carried by ", h_.size());
  for (size_t l = 0; l < h_.size(); ++l) {
    ops::copy(other.h_[l], h_[l]);
    ops::copy(other.c_[l], c_[l]);
  }
}

void CarriedState::reorder(std::span<const int32_t> from) {
  require(std::ssize(from) == batch_, "[CarriedState] ", std::ssize(from), " columns for ", batch_);
  const Tensor columns({batch_}, DType::int32);
  std::ranges::transform(from, columns.data<int32_t>(),
                         [](int32_t column) { return std::max(column, 0); });
  for (std::vector<Tensor>* parts : {&h_, &c_})
    for (const Tensor& part : *parts) ops::embedding(part.clone(), columns.to(part.device()), part);
}

std::vector<NamedView> CarriedState::named(const std::string& prefix) const {
  std::vector<NamedView> out;
  for (size_t l = 0; l < h_.size(); ++l) {
    out.push_back({concat(prefix, "h_l", l), h_[l]});
    out.push_back({concat(prefix, "c_l", l), c_[l]});
  }
  return out;
}

void CarriedState::load(const Safetensors& file, const std::string& prefix) {
  load(file, prefix, 0, batch());
}

void CarriedState::load(const Safetensors& file, const std::string& prefix, int64_t first,
                        int64_t columns) {
  for (const NamedView& part : named(prefix)) {
    const Tensor& stored = file.at(part.name);
    const Shape expected{columns, part.view.cols()};
    require(stored.shape() == expected, "the carried state '", part.name, "' has shape ",
            stored.shape(), ", expected ", expected);
    ops::copy(stored.row_range(first, batch()), part.view);
  }
}

}  // namespace nine
