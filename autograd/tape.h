// Reverse-mode automatic differentiation. Functions compute at once (eager execution) and append a
// node to a tape. backward() walks the nodes in reverse order.
//
//   Arena pool("step");
//   Tape tape(pool);
//   Var x = tape.leaf(Tensor::from<double>({1, 2, 3}, {3}));
//   Var y = sum(tanh(x));
//   tape.backward(y);
//   x.grad();             // 1 - tanh(x)^2
//   tape.reset();         // ends the step
//
// A differentiable function computes its value and records its backward function, side by side. The
// backward function reads grad_output, dL/dy, and writes grad_input, dL/dx (PyTorch's terms):
//
//   Var tanh(const Var& x) {
//     Tape& tape = x.tape();
//     Var y = tape.result("tanh", x.shape(), x.dtype(), {x});
//     ops::unary(ops::Unary::tanh, x.value(), {y.value()});
//     return tape.record(y, [x, y] {
//       ops::unary_backward(ops::Unary::tanh, x.value(), y.value(), y.grad_output(),
//                           x.grad_input());
//     });
//   }
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "autograd/parameter.h"
#include "core/arena.h"
#include "core/random.h"

namespace nine {

class PackedWeights;
class Tape;

/// A value on a tape: a small handle that is cheap to copy. It is valid until the tape's reset().
class Var {
 public:
  Var() = default;

  explicit operator bool() const { return tape_ != nullptr; }
  /// Returns the tape of the value. Error: an empty Var.
  Tape& tape() const {
    if (tape_ == nullptr) fail("an empty Var is on no tape");
    return *tape_;
  }
  /// Returns the computed value. Errors: backward has released the value; the Var is of an earlier
  /// step.
  Tensor value() const;
  Shape shape() const;
  DType dtype() const;
  /// True if backward computes a gradient for this value; false for an empty Var.
  bool needs_grad() const;

  /// Returns the gradient of a leaf or a parameter after backward. Errors: another kind of Var; no
  /// gradient reached this Var.
  Tensor grad() const;

  // For backward functions:

  /// Returns dL/dy of this output y, in y's shape; an empty view if the loss does not depend on y.
  View grad_output() const;
  /// Returns the view for dL/dx of this input x, in x's shape; an empty view if x needs no
  /// gradient. If `add` is false, the memory holds no gradient yet: overwrite it. If `add` is true,
  /// add to the memory. `add` is true in three cases:
  ///  - grad_input() was called for x before, in this backward pass;
  ///  - x is a parameter, and an earlier micro-batch has written its gradient;
  ///  - x is a parameter that tracks its rows (Parameter::touched): rows without a gradient are 0.
  /// After the call the memory counts as written, so the caller must write the gradient. A caller
  /// that calls grad_input() for several inputs must write their gradients in the order of these
  /// calls, because two inputs may be one Var.
  OutputView grad_input() const;
  /// Returns the view for dL/dx like grad_input(), for functions that add to some elements only.
  /// Sets the memory to zero where grad_input() would return `add` = false.
  View zeroed_grad_input() const;
  /// Returns the view for dL/dx like zeroed_grad_input(), for functions that add to the rows `ids`
  /// (int32) of a table only; a vector counts as a table of single numbers. A parameter that tracks
  /// its rows (Parameter::touched) records `ids`; it is not zeroed, because rows without a gradient
  /// are 0 already.
  View zeroed_grad_input(const View& ids) const;

 private:
  friend class Tape;
  Var(Tape* tape, int32_t id, uint32_t generation)
      : tape_(tape), id_(id), generation_(generation) {}
  Tape* tape_ = nullptr;
  int32_t id_ = -1;
  uint32_t generation_ = 0;
};

/// Records the functions of one step, and their values, in the order of execution. The values are
/// in the pool `arena`, which must outlive the tape. Each reset() empties the whole pool, so give
/// each tape a pool of its own.
class Tape {
 public:
  explicit Tape(Arena& arena) : arena_(arena) {}
  ~Tape() { reset(); }
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  Arena& arena() { return arena_; }

  /// Returns `data` on this tape's device: the tensor itself if it is there already, and otherwise
  /// a copy in the step's pool.
  Tensor on_device(const Tensor& data);
  /// Returns a value without a gradient, such as the input of a network. `value` must be on the
  /// tape's device; see on_device(). The Var shares the tensor's memory, which must not change
  /// before reset(). The memory of leaves, and of the ids, targets and lengths of ops, must not
  /// change either.
  Var constant(const Tensor& value);
  /// Returns a value whose gradient can be read after backward(): Var::grad().
  Var leaf(const Tensor& value);
  /// Returns the value of a parameter. backward() adds to p.grad() if p.has_grad is true, as after
  /// earlier micro-batches of the same update, and otherwise overwrites p.grad(). A frozen
  /// parameter, or one without `grad`, is a constant. p must outlive the step.
  Var parameter(Parameter& p);

  /// Computes the gradients of a loss of one element. Call it once between two resets. It releases
  /// values as it goes. Until reset(), only the gradients of leaves and parameters can be read, and
  /// nothing can be recorded. Errors: a second call; a loss of several elements; the tape does not
  /// record; the loss depends on no leaf and no parameter that needs a gradient.
  void backward(const Var& loss);
  /// Does the same from any value y with a given gradient dL/dy. `gradient` has y's shape, any
  /// floating-point type, and may be on another device.
  void backward(const Var& y, const View& gradient);
  /// Ends the step: drops all nodes and values and resets the pool. Vars of the step become
  /// invalid.
  void reset();

  /// True if the tape records. Otherwise functions compute values only, and no gradient can be
  /// computed (see NoGrad).
  bool recording() const { return recording_; }
  void set_recording(bool on) { recording_ = on; }

  /// Lets linear() and its relatives use packed copies of weights (autograd/packed_weights.h) while
  /// the tape does not record. `packed` must stay as long as it is in use; null: no copies. No
  /// installed header defines PackedWeights, so that only Nine's own programs can call this.
  void use_packed(const PackedWeights* packed) { packed_ = packed; }
  const PackedWeights* packed() const { return recording_ ? nullptr : packed_; }

  /// While on, the tape searches every result and every gradient for NaN and infinity, at the cost
  /// of a pass over each tensor. The first NaN or infinity is an Error with the op, the direction
  /// (forward or backward) and the step.
  void set_anomaly_detection(bool on) { detect_anomaly_ = on; }
  bool anomaly_detection() const { return detect_anomaly_; }

  /// Sets the seed, step, micro-batch and rank that random numbers, such as dropout masks, depend
  /// on. Give each step of a training loop another key, because reset() keeps the key, and equal
  /// keys give equal masks. TrainStep and SimpleTrainer do so. The key's `op` is not used.
  void set_random_key(const RandomKey& key) { random_ = key; }
  /// Returns the step's key with the stream of that name, e.g. "dropout.embedding".
  RandomKey random_key(std::string_view stream) const;

  /// Calls f(inner), where `inner` is a second tape with the pool, the random key and the packed
  /// weights of this tape. `inner` records if this tape records. Afterwards releases all that f has
  /// computed. f may call backward on `inner`; gradients of parameters remain. recomputed()
  /// (autograd/recompute.h) uses nested().
  template <class F>
  void nested(F&& f) {
    if (!inner_) inner_.reset(new Tape(arena_, Nested{}));
    const Arena::Mark mark = arena_.saved_mark();
    inner_->random_ = random_;
    inner_->detect_anomaly_ = detect_anomaly_;
    inner_->recording_ = recording_;
    inner_->packed_ = packed_;
    try {
      f(*inner_);
    } catch (...) {  // such as OutOfMemory: this tape goes on after reset()
      end_nested(mark);
      throw;
    }
    end_nested(mark);
  }

  /// Returns, on a nested tape, the value of another tape's Var. backward() writes its gradient to
  /// that Var's gradient. An empty Var stays empty.
  Var leaf_of(const Var& outer);

  // For differentiable functions:

  /// Returns a new value with undefined contents. Its memory comes from the pool and stays in use
  /// until backward or reset() releases it. It needs a gradient if the tape records and any input
  /// needs a gradient. `op` names the function in messages and must be a string literal.
  Var result(const char* op, const Shape& shape, DType dtype, std::initializer_list<Var> inputs);
  Var result(const char* op, const Shape& shape, DType dtype, std::span<const Var> inputs);
  /// Returns a copy of a list of inputs that is valid until reset(), so that backward functions may
  /// capture the span.
  std::span<const Var> keep(std::span<const Var> list);
  /// Returns a value that shares the memory `part` of another value, without a copy. Its gradient
  /// has separate memory: the caller must record() a function that adds this gradient to the
  /// gradient of `whole`.
  Var view_of(const Var& whole, const Tensor& part);
  /// Records the backward function of `outputs`, which result() or view_of() made. The callable
  /// reads their grad_output() and writes the inputs' grad_input(). The callable may capture what
  /// can be copied, such as Vars, Tensors and vectors. The tape destroys the callable after
  /// backward or at reset(). Does nothing if the first output needs no gradient. Returns the first
  /// output. Error: more than four outputs.
  template <class Backward>
  Var record(std::initializer_list<Var> outputs, Backward backward);
  template <class Backward>
  Var record(const Var& output, Backward backward) {
    return record({output}, std::move(backward));
  }

 private:
  friend class Var;
  struct Nested {};
  Tape(Arena& arena, Nested) : arena_(arena), nested_(true) {}
  void end_nested(Arena::Mark mark) {
    inner_->reset();
    arena_.release_saved(mark);
  }
  void run_backward();

  static constexpr int kMaxOutputs = 4;
  static constexpr Arena::Mark kNotPooled = ~Arena::Mark{0};

  struct Slot {
    Tensor value;
    Tensor grad;
    Parameter* parameter = nullptr;
    Var outer = {};  // of another tape, which has the gradient
    const char* op = "";
    Arena::Mark mark = 0;             // the pool's saved_mark() before this value was made
    Arena::Mark memory = kNotPooled;  // the value's place in the pool's memory for saved values
    bool needs_grad = false;
    bool has_grad = false;
    bool is_leaf = false;
  };
  struct Node {
    void (*run)(const void* function) = nullptr;
    void (*destroy)(void* function) = nullptr;  // null if it has nothing to destroy
    void* function = nullptr;
    int32_t outputs[kMaxOutputs] = {-1, -1, -1, -1};
  };

  Var add(Slot slot);
  Slot& slot(const Var& v);
  void* node_memory(size_t bytes);
  void check_results(std::initializer_list<Var> outputs);
  void push_node(std::initializer_list<Var> outputs, void (*run)(const void*),
                 void (*destroy)(void*), void* function);
  void drop_nodes();
  void check_finite(const View& v, const char* op, const char* direction) const;
  void check_written_grads(const char* op);

  Arena& arena_;
  std::vector<Slot> slots_;
  std::vector<Node> nodes_;
  // Memory of the backward functions, reused from step to step.
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  size_t chunk_ = 0, chunk_used_ = 0;  // the chunk in use, and bytes used of it
  uint32_t generation_ = 1;            // 1 plus resets: detects Vars of earlier steps
  bool recording_ = true;
  bool detect_anomaly_ = false;
  bool consumed_ = false;  // backward has run on this recording
  // With anomaly detection: values whose grad_input() was called since the last check.
  std::vector<int32_t> written_grads_;
  RandomKey random_;
  const PackedWeights* packed_ = nullptr;
  std::unique_ptr<Tape> inner_;
  bool nested_ = false;  // the pool is another tape's
};

/// Stops the tape's recording while this object exists, as torch.no_grad() does.
class NoGrad {
 public:
  explicit NoGrad(Tape& tape) : tape_(tape), before_(tape.recording()) {
    tape.set_recording(false);
  }
  ~NoGrad() { tape_.set_recording(before_); }
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  Tape& tape_;
  bool before_;
};

/// Lets the tape use packed weights while this object exists.
class UsePacked {
 public:
  UsePacked(Tape& tape, const PackedWeights& packed) : tape_(tape) { tape.use_packed(&packed); }
  ~UsePacked() { tape_.use_packed(nullptr); }
  UsePacked(const UsePacked&) = delete;
  UsePacked& operator=(const UsePacked&) = delete;

 private:
  Tape& tape_;
};

template <class Backward>
Var Tape::record(std::initializer_list<Var> outputs, Backward backward) {
  check_results(outputs);
  if (recording_ && outputs.begin()->needs_grad()) {
    void* memory = node_memory(sizeof(Backward));
    auto* function = new (memory) Backward(std::move(backward));
    void (*destroy)(void*) = nullptr;
    if constexpr (!std::is_trivially_destructible_v<Backward>)
      destroy = [](void* f) { static_cast<Backward*>(f)->~Backward(); };
    push_node(
        outputs, [](const void* f) { (*static_cast<const Backward*>(f))(); }, destroy, function);
  }
  return *outputs.begin();
}

}  // namespace nine
