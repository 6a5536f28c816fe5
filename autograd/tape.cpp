#include "autograd/tape.h"

#include <algorithm>

#include "core/ops.h"

namespace nine {

namespace {
constexpr size_t kChunk = 64 * 1024;  // bytes of a chunk: more than most steps need
}

// --- Var

Tensor Var::value() const {
  require(tape_ != nullptr, "an empty Var has no value");
  const Tape::Slot& s = tape_->slot(*this);
  require(s.memory == Tape::kNotPooled || s.memory < tape_->arena_.saved_mark(), "the value of '",
          s.op, "' was released by backward: read it before");
  return s.value;
}
Shape Var::shape() const {
  require(tape_ != nullptr, "an empty Var has no shape");
  return tape_->slot(*this).value.shape();
}
DType Var::dtype() const {
  require(tape_ != nullptr, "an empty Var has no type");
  return tape_->slot(*this).value.dtype();
}
bool Var::needs_grad() const { return tape_ != nullptr && tape_->slot(*this).needs_grad; }

Tensor Var::grad() const {
  require(tape_ != nullptr, "an empty Var has no gradient");
  const Tape::Slot& s = tape_->slot(*this);
  require(s.is_leaf, "grad() is kept for leaves and parameters only, not for a result of '", s.op,
          "'");
  require(s.parameter != nullptr ? s.parameter->has_grad : s.has_grad, "no gradient reached this ",
          s.op, " of shape ", s.value.shape(),
          ": did backward run, and does the loss depend on it?");
  return s.parameter != nullptr ? s.parameter->grad() : s.grad;
}

View Var::grad_output() const {
  if (tape_ == nullptr) return {};
  const Tape::Slot& s = tape_->slot(*this);
  return s.has_grad ? s.grad.view() : View{};
}

OutputView Var::grad_input() const {
  if (!needs_grad()) return {};
  Tape::Slot& s = tape_->slot(*this);
  if (s.outer) return s.outer.grad_input();
  if (tape_->detect_anomaly_) tape_->written_grads_.push_back(id_);
  if (Parameter* p = s.parameter; p != nullptr) {
    const bool had_grad = std::exchange(p->has_grad, true);
    if (p->touched) p->touched->touch_all();
    return {p->grad().view(), had_grad || p->touched};  // untouched rows are 0
  }
  if (!s.grad)
    s.grad = s.is_leaf ? Tensor(s.value.shape(), s.value.dtype(), s.value.device())
                       : tape_->arena_.block(s.value.shape(), s.value.dtype());
  return {s.grad.view(), std::exchange(s.has_grad, true)};
}

View Var::zeroed_grad_input() const {
  const OutputView s = grad_input();
  if (s.view && !s.add) ops::fill(s.view, 0);
  return s.view;
}

View Var::zeroed_grad_input(const View& ids) const {
  Parameter* p = needs_grad() ? tape_->slot(*this).parameter : nullptr;
  if (p == nullptr || !p->touched) return zeroed_grad_input();
  if (tape_->detect_anomaly_) tape_->written_grads_.push_back(id_);
  p->has_grad = true;
  const Tensor on_host({ids.elements()}, DType::int32);
  ops::copy(ids.reshaped({ids.elements()}), on_host);
  const Shape& shape = p->value().shape();
  p->touched->touch({on_host.data<int32_t>(), static_cast<size_t>(ids.elements())},
                    shape.rank() > 1 ? shape.rows() : shape.elements());
  return p->grad();
}

// --- Tape

Tape::Slot& Tape::slot(const Var& v) {
  require(v.tape_ == this, "a Var of another tape was used");
  require(v.generation_ == generation_,
          "a Var was used after its step: the tape has been reset since");
  return slots_[static_cast<size_t>(v.id_)];
}

Var Tape::add(Slot slot) {
  slots_.push_back(std::move(slot));
  return {this, static_cast<int32_t>(slots_.size() - 1), generation_};
}

Tensor Tape::on_device(const Tensor& data) {
  if (data.device() == arena_.device()) return data;
  Tensor copy = arena_.saved(data.shape(), data.dtype());
  ops::copy(data, copy);
  return copy;
}

Var Tape::constant(const Tensor& value) {
  Slot s;
  s.value = value;
  s.op = "constant";
  s.is_leaf = true;
  s.mark = arena_.saved_mark();
  return add(std::move(s));
}

Var Tape::leaf(const Tensor& value) {
  Var v = constant(value);
  Slot& s = slot(v);
  s.op = "leaf";
  s.is_leaf = !nested_;  // the gradient is in the pool then, as a result's
  s.needs_grad = recording_;
  return v;
}

Var Tape::leaf_of(const Var& outer) {
  if (outer.tape_ == nullptr) return {};
  Var v = leaf(outer.value());
  Slot& s = slot(v);
  s.outer = outer;
  s.needs_grad = recording_ && outer.needs_grad();
  return v;
}

Var Tape::parameter(Parameter& p) {
  Var v = leaf(p.value());
  Slot& s = slot(v);
  s.op = "parameter";
  s.is_leaf = true;
  s.parameter = &p;
  s.needs_grad = recording_ && !p.frozen && static_cast<bool>(p.grad());
  return v;
}

Var Tape::result(const char* op, const Shape& shape, DType dtype,
                 std::initializer_list<Var> inputs) {
  return result(op, shape, dtype, std::span<const Var>(inputs.begin(), inputs.size()));
}

Var Tape::result(const char* op, const Shape& shape, DType dtype, std::span<const Var> inputs) {
  for (const Var& v : inputs)
    require(v.tape_ == nullptr || v.tape_ == this, "[", op, "] takes a Var of another tape");
  require(!consumed_, "[", op, "] nothing can be recorded between backward and reset");
  Slot s;
  s.mark = s.memory = arena_.saved_mark();
  s.value = arena_.saved(shape, dtype);
  s.op = op;
  s.needs_grad = recording_ && std::any_of(inputs.begin(), inputs.end(),
                                           [](const Var& v) { return v.needs_grad(); });
  return add(std::move(s));
}

std::span<const Var> Tape::keep(std::span<const Var> list) {
  auto* copy = static_cast<Var*>(node_memory(list.size_bytes()));
  std::uninitialized_copy(list.begin(), list.end(), copy);
  return {copy, list.size()};
}

Var Tape::view_of(const Var& whole, const Tensor& part) {
  const Slot source = slot(whole);
  Slot s;
  s.mark = arena_.saved_mark();
  s.memory = source.memory;
  s.value = part;
  s.op = source.op;
  s.needs_grad = recording_ && source.needs_grad;
  return add(std::move(s));
}

void* Tape::node_memory(size_t bytes) {
  bytes = (bytes + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) *
          alignof(std::max_align_t);
  require(bytes <= kChunk, "a backward function of ", bytes,
          " bytes captures too much; capture a std::vector or a std::shared_ptr of it instead");
  if (chunk_ < chunks_.size() && chunk_used_ + bytes > kChunk) {
    ++chunk_;
    chunk_used_ = 0;
  }
  if (chunk_ == chunks_.size()) chunks_.push_back(std::make_unique<std::byte[]>(kChunk));
  void* p = chunks_[chunk_].get() + chunk_used_;
  chunk_used_ += bytes;
  return p;
}

void Tape::push_node(std::initializer_list<Var> outputs, void (*run)(const void*),
                     void (*destroy)(void*), void* function) {
  require(outputs.size() <= kMaxOutputs, "a function has at most ", kMaxOutputs, " outputs");
  Node node;
  node.run = run;
  node.destroy = destroy;
  node.function = function;
  std::transform(outputs.begin(), outputs.end(), node.outputs, [](const Var& v) { return v.id_; });
  nodes_.push_back(node);
}

void Tape::check_results(std::initializer_list<Var> outputs) {
  if (!detect_anomaly_) return;
  for (const Var& v : outputs) {
    const Slot& s = slot(v);
    check_finite(s.value, s.op, "forward");
  }
  check_written_grads(slot(*outputs.begin()).op);  // the softmax head writes gradients in forward
}

void Tape::check_finite(const View& v, const char* op, const char* direction) const {
  if (!v || !is_float(v.dtype)) return;
  if (v.dtype == DType::bfloat16) {  // all_finite() lacks bfloat16: search a float32 copy
    const Arena::Scope scope(arena_);
    const Tensor wider = arena_.temporary(v.shape, DType::float32);
    ops::copy(v, wider);
    return check_finite(wider, op, direction);
  }
  require(ops::all_finite(v), "[", op, "] the ", direction, " pass of step ", random_.step,
          " gave NaN or infinity in a tensor of shape ", v.shape,
          ". This is the first op that did so; lower the learning rate or the gradient clipping, "
          "or check the op's inputs");
}

// Searches the gradients that were written last. `op` is the function that wrote them, not the
// function whose value they belong to.
void Tape::check_written_grads(const char* op) {
  for (const int32_t id : written_grads_) {
    const Slot& s = slots_[static_cast<size_t>(id)];
    check_finite(s.parameter != nullptr ? s.parameter->grad().view() : s.grad.view(), op,
                 "backward");
  }
  written_grads_.clear();
}

void Tape::backward(const Var& loss) {
  require(recording_, "backward under NoGrad: nothing was recorded");
  require(!consumed_,
          "[backward] has run already for this recording: add the losses before backward, or reset "
          "the tape and record again");
  require(loss.value().elements() == 1, "[backward] starts from a scalar, not from shape ",
          loss.shape());
  require(loss.needs_grad(),
          "[backward] the loss depends on no leaf or parameter that needs a gradient");
  ops::fill(loss.grad_input().view, 1);
  run_backward();
}

void Tape::backward(const Var& y, const View& gradient) {
  require(recording_ && !consumed_ && y.needs_grad(),
          "[backward] starts once from a value that was recorded");
  ops::copy(gradient, y.grad_input().view);
  run_backward();
}

void Tape::run_backward() {
  consumed_ = true;
  for (size_t n = nodes_.size(); n-- > 0;) {
    const Node& node = nodes_[n];
    const auto each_output = [&](auto&& f) {
      for (const int32_t id : node.outputs)
        if (id >= 0) f(slots_[static_cast<size_t>(id)]);
    };
    bool reached = false;
    each_output([&](const Slot& s) { reached = reached || s.has_grad; });
    if (reached) {
      node.run(node.function);
      if (detect_anomaly_) check_written_grads(slots_[static_cast<size_t>(node.outputs[0])].op);
    }
    Arena::Mark mark = arena_.saved_mark();
    each_output([&](Slot& s) {
      if (s.grad) arena_.free_block(s.grad);
      s.grad = Tensor();
      s.has_grad = false;
      mark = std::min(mark, s.mark);
    });
    arena_.release_saved(mark);
  }
  drop_nodes();
}

void Tape::drop_nodes() {
  for (const Node& node : nodes_)
    if (node.destroy != nullptr) node.destroy(node.function);
  nodes_.clear();
}

void Tape::reset() {
  if (nested_)
    for (Slot& s : slots_)
      if (s.grad) arena_.free_block(s.grad);
  drop_nodes();
  slots_.clear();
  written_grads_.clear();
  consumed_ = false;
  chunk_ = chunk_used_ = 0;
  ++generation_;
  if (!nested_) arena_.reset();
}

RandomKey Tape::random_key(std::string_view stream) const {
  RandomKey key = random_;
  key.op = stream_id(stream);
  return key;
}

}  // namespace nine
