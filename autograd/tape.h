// Reverse-mode automatic differentiation: eager execution that leaves nodes on a tape, in execution
// order; backward walks them in reverse.
//
//   Arena pool("step");
//   Tape tape(pool);
//   Var x = tape.leaf(Tensor::from<double>({1, 2, 3}, {3}));
//   Var y = sum(tanh(x));
//   tape.backward(y);
//   x.grad();             // 1 - tanh(x)^2
//   tape.reset();         // ends the step
//
// A differentiable function computes its value and records how a gradient flows back, side by side:
//
//   Var tanh(const Var& x) {
//     Tape& tape = x.tape();
//     Var y = tape.result("tanh", x.shape(), x.dtype(), {x});
//     ops::unary(ops::Unary::tanh, x.value(), {y.value()});
//     return tape.record(y, [x, y] { ops::unary_backward(ops::Unary::tanh, x.value(), y.value(),
//     y.grad_output(), x.sink()); });
//   }
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "autograd/parameter.h"
#include "core/arena.h"
#include "core/random.h"

namespace nine {

class Tape;

/// A value on a tape: a small handle, copied freely. Valid until the tape's reset().
class Var {
 public:
  Var() = default;

  explicit operator bool() const { return tape_ != nullptr; }
  Tape& tape() const { return *tape_; }
  Tensor value() const;
  Shape shape() const;
  DType dtype() const;
  bool needs_grad() const;  ///< a gradient will be formed for it; false for an empty Var

  /// The gradient that backward left on a leaf; an Error when none reached it.
  Tensor grad() const;

  // For the backward side of a function:

  /// The gradient that arrived at this output; an empty view when none did.
  View grad_output() const;
  /// Where to put (or add) this input's gradient; a sink without memory when none is wanted.
  OutputView sink() const;
  /// The same for functions that touch only some elements: the rest is zero already, always add.
  View sink_zeroed() const;

 private:
  friend class Tape;
  Var(Tape* tape, int32_t id, uint32_t generation)
      : tape_(tape), id_(id), generation_(generation) {}
  Tape* tape_ = nullptr;
  int32_t id_ = -1;
  uint32_t generation_ = 0;
};

class Tape {
 public:
  explicit Tape(Arena& arena) : arena_(arena) {}
  ~Tape() { reset(); }
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  Arena& arena() { return arena_; }

  /// Data from the CPU where this tape computes: a copy in the step's pool; on the CPU the tensor
  /// itself.
  Tensor on_device(const Tensor& data);
  /// A value that no gradient is asked for.
  Var constant(const Tensor& value);
  /// A value whose gradient can be read after backward.
  Var leaf(const Tensor& value);
  /// A parameter: gradients are added to p.grad, over micro-batches too. p must outlive the step.
  Var parameter(Parameter& p);

  /// Walks the tape in reverse from a scalar; its own gradient is 1. Once per recording: values are
  /// released as it goes, and until reset() only gradients of leaves and parameters can be read and
  /// nothing more can be recorded.
  void backward(const Var& loss);
  /// Ends the step: forgets all nodes and values and resets the pool.
  void reset();

  /// While false, nothing is recorded and no gradient is formed (see NoGrad).
  bool recording() const { return recording_; }
  void set_recording(bool on) { recording_ = on; }

  /// While true, every result and every gradient is searched for NaN and infinity; the first one is
  /// an Error that names the op, the direction and the step. Costs a pass over each tensor.
  void set_anomaly_detection(bool on) { detect_anomaly_ = on; }
  bool anomaly_detection() const { return detect_anomaly_; }

  /// Where random numbers of this step come from; functions take their streams from it.
  void set_random_key(const RandomKey& key) { random_ = key; }
  /// The step's key with the stream of that name, e.g. "dropout.embedding".
  RandomKey random_key(std::string_view stream) const;

  // For functions:

  /// A fresh value (contents undefined) in the pool's saved end. `op` must be a string literal. It
  /// needs a gradient when the tape records and any input does.
  Var result(const char* op, const Shape& shape, DType dtype, std::initializer_list<Var> inputs);
  Var result(const char* op, const Shape& shape, DType dtype, std::span<const Var> inputs);
  /// A copy of a list of inputs that lives as long as the recording, for functions of any number of
  /// them.
  std::span<const Var> keep(std::span<const Var> list);
  /// Part of a value as a value of its own (a window, no copy); record() says how its gradient
  /// flows back.
  Var view_of(const Var& whole, const Tensor& part);
  /// Records how gradients flow from `outputs` (made by result, first one first) to the inputs; the
  /// callable reads grad_output() and writes sink(). Nothing happens when the outputs need no
  /// gradient. Returns the first output.
  template <class Backward>
  Var record(std::initializer_list<Var> outputs, Backward backward);
  template <class Backward>
  Var record(const Var& output, Backward backward) {
    return record({output}, std::move(backward));
  }

 private:
  friend class Var;
  static constexpr int kMaxOutputs = 4;
  static constexpr Arena::Mark kNotPooled = ~Arena::Mark{0};

  struct Slot {
    Tensor value;
    Tensor grad;
    Parameter* parameter = nullptr;
    const char* op = "";
    Arena::Mark mark = 0;             // the pool's bottom before this value was made
    Arena::Mark memory = kNotPooled;  // where in the pool's saved end the value lies
    bool needs_grad = false;
    bool has_grad = false;
    bool is_leaf = false;
  };
  struct Node {
    void (*run)(const void* function) = nullptr;
    const void* function = nullptr;
    int32_t outputs[kMaxOutputs] = {-1, -1, -1, -1};
  };

  Var add(Slot slot);
  Slot& slot(const Var& v);
  void* node_memory(size_t bytes);
  void finished(std::initializer_list<Var> outputs);
  void push_node(std::initializer_list<Var> outputs, void (*run)(const void*),
                 const void* function);
  void check_finite(const View& v, const char* op, const char* direction) const;
  void check_touched(const char* op);

  Arena& arena_;
  std::vector<Slot> slots_;
  std::vector<Node> nodes_;
  std::vector<std::unique_ptr<std::byte[]>>
      chunks_;  // the nodes' callables, bump-allocated, kept over steps
  size_t chunk_ = 0, chunk_used_ = 0;
  uint32_t generation_ = 1;
  bool recording_ = true;
  bool detect_anomaly_ = false;
  bool consumed_ = false;         // backward has walked this recording
  std::vector<int32_t> touched_;  // values whose sink was asked for since the last check_touched;
                                  // anomaly detection only
  RandomKey random_;
};

/// Evaluation: nothing is recorded while it lives.
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

template <class Backward>
Var Tape::record(std::initializer_list<Var> outputs, Backward backward) {
  finished(outputs);
  // Callables live in memory that is dropped, not destroyed: capture handles, numbers and keys
  // only.
  static_assert(std::is_trivially_destructible_v<Backward>,
                "a backward function may capture Var, Shape, numbers and RandomKey only");
  if (recording_ && outputs.begin()->needs_grad()) {
    void* memory = node_memory(sizeof(Backward));
    push_node(
        outputs, [](const void* f) { (*static_cast<const Backward*>(f))(); },
        new (memory) Backward(std::move(backward)));
  }
  return *outputs.begin();
}

}  // namespace nine
