// The module nine._nine: the library's functions on arrays of any framework that speaks DLPack.
// Arrays are read and written in place. text.cpp has the functions on text.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/caller_stream.h"
#include "core/enum_names.h"
#include "core/huge_pages.h"
#include "core/least_memory.h"
#include "core/matmul_precision.h"
#include "core/notice.h"
#include "core/threads.h"
#include "kernels/install_cuda.h"
#include "kernels/loss/kernel_softmax.h"
#include "kernels/settings/learned_numbers.h"
#include "pages.h"
#include "text.h"
#include "without_lock.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using nine::concat;
using nine::Device;
using nine::DType;
using nine::HeadSpec;
using nine::Shape;
using nine::Tensor;
using nine::Var;

using Input = nb::ndarray<nb::ro>;
using Output = nb::ndarray<>;

std::string framework_type(const nb::dlpack::dtype& t) {
  const auto code = static_cast<nb::dlpack::dtype_code>(t.code);
  const char* kind = code == nb::dlpack::dtype_code::Float    ? "float"
                     : code == nb::dlpack::dtype_code::Int    ? "int"
                     : code == nb::dlpack::dtype_code::UInt   ? "uint"
                     : code == nb::dlpack::dtype_code::Bool   ? "bool"
                     : code == nb::dlpack::dtype_code::Bfloat ? "bfloat"
                                                              : "another type of ";
  return concat(kind, static_cast<int>(t.bits));
}

template <class Array>
Shape shape_of(const Array& array, const char* name) {
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < array.ndim(); ++i) sizes.push_back(static_cast<int64_t>(array.shape(i)));
  if (sizes.size() > Shape::kMaxRank)
    throw nb::value_error(concat(name, " has ", sizes.size(), " dimensions, more than ",
                                 static_cast<int>(Shape::kMaxRank))
                              .c_str());
  return {sizes.data(), static_cast<int>(sizes.size())};
}

// Whether this build has the CUDA backend.
#ifdef NINE_PYTHON_CUDA
constexpr bool kHasCuda = true;
#else
constexpr bool kHasCuda = false;
#endif

template <class Array>
Device device_of(const Array& array, const char* name) {
  if (array.device_type() == nb::device::cpu::value) return nine::kCpu;
  if (kHasCuda && array.device_type() == nb::device::cuda::value)
    return {nine::DeviceKind::cuda, static_cast<int16_t>(array.device_id())};
  throw nb::value_error(concat(name, " is on another device than the CPU: this build of nine ",
                               kHasCuda ? "computes on the CPU and on CUDA" : "computes on the CPU",
                               "; pass ", name, ".cpu()")
                            .c_str());
}

// The array's memory as a tensor. `name` is the argument's.
template <class Array>
Tensor tensor_of(const Array& array, const char* name) {
  const Device device = device_of(array, name);
  const nb::dlpack::dtype type = array.dtype();
  const DType dtype = type == nb::dtype<float>()     ? DType::float32
                      : type == nb::dtype<double>()  ? DType::float64
                      : type == nb::dtype<int32_t>() ? DType::int32
                                                     : DType::bfloat16;
  if (dtype == DType::bfloat16)
    throw nb::type_error(
        concat(name, " is ", framework_type(type), ", and float32 or float64 was expected")
            .c_str());
  std::vector<int64_t> strides;
  for (size_t i = 0; i < array.ndim(); ++i) strides.push_back(array.stride(i));
  const Shape shape = shape_of(array, name);
  try {
    return Tensor::view_of(const_cast<void*>(static_cast<const void*>(array.data())), dtype, shape,
                           strides, nullptr, device);
  } catch (const nine::Error& e) {
    throw nb::value_error(concat(name, ": ", e.what()).c_str());
  }
}

// The weights of a head, as arguments of a call.
struct Weights {
  Input weight;
  std::optional<Input> bias, prior, context, numbers;
};
// The places for their gradients, and for that of the contexts; None: the gradient is not computed.
struct Gradients {
  std::optional<Output> h, weight, bias, prior, context, numbers;
};

HeadSpec spec_of(const std::string& head, const Weights& w) {
  HeadSpec spec = nine::parse_head(
      head, {.head_context = w.context ? "tanh" : "none", .untied = w.weight.ndim() == 3});
  if (w.prior && !spec.mixture)
    throw nb::value_error(concat("head ", head, " is no mixture, so it takes no prior").c_str());
  return spec;
}

// A ValueError unless the array has one of two shapes.
void expect(const std::optional<Input>& array, const char* name, const Shape& shape,
            const Shape& other) {
  if (!array) return;
  const Shape own = shape_of(*array, name);
  if (own == shape || own == other) return;
  throw nb::value_error(concat(name, " has the shape ", own, ", and ", shape,
                               other == shape ? "" : concat(" or ", other), " was expected")
                            .c_str());
}

// The arguments of one call on a tape.
class Call {
 public:
  Call(nine::Arena& pool, const std::string& head, const Input& h, const Weights& w,
       const Gradients& g)
      : spec_(spec_of(head, w)), tape_(pool) {
    check_shapes(h, w);
    h_ = on_tape("h", h, g.h);
    weights_.w = {on_tape("weight", w.weight, g.weight)};
    if (w.bias) weights_.bias = on_tape("bias", *w.bias, g.bias);
    if (w.prior) weights_.prior = on_tape("prior", *w.prior, g.prior);
    if (w.context) weights_.latent = on_tape("context", *w.context, g.context, true);
    if (w.numbers) put_numbers(*w.numbers, g.numbers);
    tape_.set_recording(!parameters_.empty());
  }

  const HeadSpec& spec() const { return spec_; }
  nine::Tape& tape() { return tape_; }
  const Var& h() const { return h_; }
  const nine::HeadWeights& weights() const { return weights_; }
  int64_t words() const {
    const int64_t all = weights_.w.front().shape().rows();
    return spec_.untied ? all / spec_.size() : all;
  }

  /// Of one matrix product.
  double operations() const {
    const Shape h = h_.shape();
    return 2.0 * static_cast<double>(h.rows() * h.cols()) *
           static_cast<double>(words() * spec_.size());
  }

 private:
  void check_shapes(const Input& h, const Weights& w) const {
    const Shape contexts = shape_of(h, "h"), words = shape_of(w.weight, "weight");
    if (contexts.rank() != 2)
      throw nb::value_error(
          concat("h has the shape ", contexts, ", and (rows, width) was expected").c_str());
    const int64_t size = spec_.size(), d = contexts.cols();
    if (words.rank() < 2 || words.cols() != d || (words.rank() > 2 && words[0] != size))
      throw nb::value_error(concat("weight has the shape ", words, ", and (words, ", d, ") or (",
                                   size, ", words, ", d, ") was expected")
                                .c_str());
    expect(w.bias, "bias", {words[-2]}, {words[-2]});
    expect(w.prior, "prior", {size, d}, {size, d});
    expect(w.context, "context", {size, d, d}, {size * d, d});
    const auto numbers = static_cast<int64_t>(nine::learned_numbers(spec_).size());
    expect(w.numbers, "numbers", {numbers}, {numbers});
  }
  Var on_tape(const char* name, const Tensor& value, const Tensor& grad) {
    const Device device = tape_.arena().device();
    if (value.device() != device || (grad && grad.device() != device))
      throw nb::value_error(
          concat(name, " is on ", value.device(), ", and h is on ", device).c_str());
    if (!grad) return tape_.constant(value);
    nine::require(grad.shape() == value.shape() && grad.dtype() == value.dtype(),
                  "the gradient of ", name, " is ", grad.dtype(), " of shape ", grad.shape(),
                  ", and ", value.dtype(), " of shape ", value.shape(), " was expected");
    return tape_.parameter(parameters_.emplace_back(name, value, grad));
  }
  // `rows`: as a matrix, whatever the number of dimensions.
  Var on_tape(const char* name, const Input& value, const std::optional<Output>& grad,
              bool rows = false) {
    const auto seen = [&](Tensor t) {
      return rows ? t.reshaped({t.shape().rows(), t.shape().cols()}) : t;
    };
    return on_tape(name, seen(tensor_of(value, name)),
                   grad ? seen(tensor_of(*grad, name)) : Tensor());
  }
  // Each number is a parameter of one element.
  void put_numbers(const Input& values, const std::optional<Output>& grads) {
    const Tensor all = tensor_of(values, "numbers"),
                 gradients = grads ? tensor_of(*grads, "numbers") : Tensor();
    const int64_t count = all.elements();
    const auto one = [&](const Tensor& t, int64_t i) {
      return t ? t.reshaped({count, 1}).row_range(i, 1).reshaped({1}) : Tensor();
    };
    for (int64_t i = 0; i < count; ++i)
      weights_.numbers.push_back(on_tape("numbers", one(all, i), one(gradients, i)));
  }

  HeadSpec spec_;
  std::deque<nine::Parameter> parameters_;  // the tape keeps their addresses
  nine::Tape tape_;
  Var h_;
  nine::HeadWeights weights_;
};

// Working memory on the GPUs. It is kept from call to call, because a GPU's memory is slow to get,
// and grows to what the largest call needs.
class GpuPool {
 public:
  static GpuPool& of(Device device) {
    static std::array<GpuPool, 64> all;
    return all.at(static_cast<size_t>(device.index));
  }

  /// Returns f(pool). Calls f again with a larger pool if the pool is full: f starts from the
  /// beginning. One call at a time uses a GPU.
  template <class F>
  auto with(Device device, F&& f) {
    const std::unique_lock lock = [&] {
      const nb::gil_scoped_release release;  // the thread that has the lock may wait for Python's
      return std::unique_lock(mutex_);
    }();
    for (size_t bytes = pool_ ? pool_->capacity() : kFirst;; bytes *= 2) {
      if (!pool_ || pool_->capacity() < bytes) {
        pool_.reset();
        pool_ = std::make_unique<nine::Arena>("kernel_softmax", device, bytes);
      }
      pool_->reset();
      try {
        return f(*pool_);
      } catch (const nine::OutOfMemory&) {
        if (bytes >= kMost) throw;
      }
    }
  }

 private:
  static constexpr size_t kFirst = size_t{256} << 20, kMost = size_t{1} << 40;
  std::mutex mutex_;
  std::unique_ptr<nine::Arena> pool_;
};

// Runs f(call). `stream`: of a GPU, the stream to which the arrays belong.
template <class F>
auto with_call(const std::string& head, const Input& h, const Weights& w, const Gradients& g,
               [[maybe_unused]] uintptr_t stream, F&& f) {
  const Device device = device_of(h, "h");
  const auto run = [&](nine::Arena& pool) {
    Call call(pool, head, h, w, g);
    return f(call);
  };
#ifdef NINE_PYTHON_CUDA
  if (device != nine::kCpu)
    return GpuPool::of(device).with(device, [&](nine::Arena& pool) {
      const nine::cuda::CallerStream within(device.index, reinterpret_cast<void*>(stream));
      return run(pool);
    });
#endif
  nine::Arena pool("kernel_softmax", device);
  return run(pool);
}

// The targets as the library takes them: int32, -1 for `ignore`.
template <class Id>
Tensor targets_of(const Input& target, int64_t words, int64_t ignore) {
  const auto rows = static_cast<int64_t>(target.shape(0));
  Tensor out({rows}, DType::int32);
  const Id* ids = static_cast<const Id*>(target.data());
  for (int64_t r = 0; r < rows; ++r) {
    const auto y = static_cast<int64_t>(ids[r * target.stride(0)]);
    if (y != ignore && (y < 0 || y >= words))
      throw nb::index_error(concat("target ", y, " of row ", r, " is outside of the ", words,
                                   " words; rows with ignore_index (", ignore, ") do not count")
                                .c_str());
    out.data<int32_t>()[r] = y == ignore ? -1 : static_cast<int32_t>(y);
  }
  return out;
}
Tensor targets_of(const Input& target, int64_t rows, int64_t words, int64_t ignore) {
  if (target.ndim() != 1 || static_cast<int64_t>(target.shape(0)) != rows)
    throw nb::value_error(
        concat("target has another shape than (", rows, "): one word is needed for each row of h")
            .c_str());
  // On a GPU they are checked by the caller, and the library reports a wrong one later.
  if (device_of(target, "target") != nine::kCpu) return tensor_of(target, "target");
  if (target.dtype() == nb::dtype<int64_t>()) return targets_of<int64_t>(target, words, ignore);
  if (target.dtype() == nb::dtype<int32_t>()) return targets_of<int32_t>(target, words, ignore);
  throw nb::type_error(
      concat("target is ", framework_type(target.dtype()), ", and int64 or int32 was expected")
          .c_str());
}

// Runs `compute` without Python's lock. A team has two barriers, which small calls would mostly
// wait for.
template <class F>
auto without_lock(const Call& call, F&& compute) {
  return nine_python::without_lock(std::forward<F>(compute),
                                   call.operations() >= 4 * nine::kMinOperationsPerLoop);
}

double kernel_softmax(const std::string& head, const Input& h, const Input& target,
                      const Weights& weights, const Gradients& gradients, int64_t ignore_index,
                      double label_smoothing, const std::string& margin, double z_loss,
                      const std::optional<Input>& row_weight, const std::optional<Output>& row_loss,
                      const std::optional<Output>& lse, bool least_memory, uintptr_t stream) {
  const nine::HeadLoss options{.smoothing = {.epsilon = label_smoothing},
                               .margin = nine::margin_from_text(margin),
                               .z_loss = z_loss};
  const nine::SoftmaxRows rows{
      .factor = row_weight ? tensor_of(*row_weight, "row_weight") : Tensor(),
      .loss = row_loss ? tensor_of(*row_loss, "row_loss") : Tensor(),
      .lse = lse ? tensor_of(*lse, "lse") : Tensor()};
  std::optional<nine::LeastMemory> least;
  if (least_memory) least.emplace();
  return with_call(head, h, weights, gradients, stream, [&](Call& call) {
    const Tensor targets = targets_of(target, call.h().shape().rows(), call.words(), ignore_index);
    return without_lock(call, [&] {
      const nine::SoftmaxLoss out =
          nine::kernel_softmax(call.spec(), call.h(), call.weights(), targets, 1, options, rows);
      const double loss = out.loss.value().item();
      if (call.tape().recording()) call.tape().backward(out.loss);
      return loss;
    });
  });
}

template <class T>
using Matrix = nb::ndarray<nb::numpy, T, nb::ndim<2>, nb::c_contig>;

// An array that owns what `values` held.
template <class T>
Matrix<T> matrix_of(std::vector<T> values, int64_t rows, int64_t columns) {
  auto* kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Matrix<T>(kept->data(), {static_cast<size_t>(rows), static_cast<size_t>(columns)}, owner);
}

Matrix<double> log_probabilities(const std::string& head, const Input& h, const Weights& weights,
                                 uintptr_t stream) {
  auto* log_p = with_call(head, h, weights, {}, stream, [](Call& call) {
    return without_lock(call, [&] {
      return new Tensor(nine::log_probabilities(call.spec(), call.h(), call.weights()));
    });
  });
  const nb::capsule owner(log_p, [](void* p) noexcept { delete static_cast<Tensor*>(p); });
  return Matrix<double>(
      log_p->data<double>(),
      {static_cast<size_t>(log_p->shape()[0]), static_cast<size_t>(log_p->shape()[1])}, owner);
}

std::pair<Matrix<int32_t>, Matrix<double>> top_words(const std::string& head, const Input& h,
                                                     const Weights& weights, int64_t k,
                                                     uintptr_t stream) {
  nine::WordScores best = with_call(head, h, weights, {}, stream, [&](Call& call) {
    return without_lock(call,
                        [&] { return nine::top_words(call.spec(), call.h(), call.weights(), k); });
  });
  const int64_t rows = std::ssize(best.words) / k;
  return {matrix_of(std::move(best.words), rows, k), matrix_of(std::move(best.log_probs), rows, k)};
}

std::vector<std::pair<std::string, double>> numbers_of(const HeadSpec& spec) {
  std::vector<std::pair<std::string, double>> all;
  for (const nine::LearnedNumber& n : nine::learned_numbers(spec))
    all.emplace_back(n.tensor_name(), n.stored(n.start));
  return all;
}

}  // namespace

NB_MODULE(_nine, m) {
  m.doc() = "The functions of Nine on arrays and lists. Use nine and nine.torch instead.";
  m.attr("version") = NINE_PYTHON_VERSION;
  m.attr("has_cuda") = kHasCuda;
#ifdef NINE_PYTHON_CUDA
  nine::install_cuda();
#endif

  static nb::exception<nine::Error> error(m, "Error", PyExc_RuntimeError);
  error.doc() = "An error of the library; its message says what to do.";
  static nb::exception<nine::UsageError> usage_error(
      m, "UsageError", nb::make_tuple(error, nb::handle(PyExc_ValueError)));
  usage_error.doc() = "A wrong setting, such as a head string; a ValueError too.";
  nb::register_exception_translator([](const std::exception_ptr& e, void*) {
    try {
      std::rethrow_exception(e);
    } catch (const nine::OutOfMemory& full) {
      PyErr_SetString(PyExc_MemoryError, full.what());
    }
  });

  nb::class_<HeadSpec>(m, "Head", "An output layer: its kernels, and how they are combined.")
      .def(
          "__init__",
          [](HeadSpec* self, const std::string& text, const std::string& context, bool untied) {
            new (self)
                HeadSpec(nine::parse_head(text, {.head_context = context, .untied = untied}));
          },
          "text"_a, "context"_a = "", "untied"_a = false,
          "Reads a head string such as 'mix:3*lin,log'. context: 'tanh', 'none', or '' for tanh in "
          "mixtures. untied: each component has word vectors of its own.")
      .def_prop_ro("text", &HeadSpec::to_text, "The head string with all parameters.")
      .def_prop_ro("size", &HeadSpec::size, "The number of components.")
      .def_ro("mixture", &HeadSpec::mixture)
      .def_ro("contexts", &HeadSpec::contexts,
              "Whether component k scores tanh(C_k' h) instead of h.")
      .def_ro("untied", &HeadSpec::untied)
      .def_prop_ro(
          "numbers", &numbers_of,
          "The learned numbers, [(name, initial value)]; the value of a positive number is "
          "its logarithm.")
      .def(
          "check",
          [](const HeadSpec& self, int64_t width) {
            if (const std::string wrong = self.check(width); !wrong.empty())
              nine::fail_usage("head ", self.to_text(), ": ", wrong);
          },
          "width"_a, "Raises UsageError unless the head takes vectors of `width` numbers.")
      .def("__repr__", [](const HeadSpec& self) { return concat("Head('", self.to_text(), "')"); });

  nb::class_<Weights>(m, "Weights", "The weights of a head, see nine.torch.kernel_cross_entropy.")
      .def(
          "__init__",
          [](Weights* self, Input weight, std::optional<Input> bias, std::optional<Input> prior,
             std::optional<Input> context, std::optional<Input> numbers) {
            new (self) Weights{std::move(weight), std::move(bias), std::move(prior),
                               std::move(context), std::move(numbers)};
          },
          "weight"_a, "bias"_a = nb::none(), "prior"_a = nb::none(), "context"_a = nb::none(),
          "numbers"_a = nb::none());
  nb::class_<Gradients>(m, "Gradients", "Arrays that kernel_softmax fills with gradients.")
      .def(
          "__init__",
          [](Gradients* self, std::optional<Output> h, std::optional<Output> weight,
             std::optional<Output> bias, std::optional<Output> prior, std::optional<Output> context,
             std::optional<Output> numbers) {
            new (self) Gradients{std::move(h),     std::move(weight),  std::move(bias),
                                 std::move(prior), std::move(context), std::move(numbers)};
          },
          "h"_a = nb::none(), "weight"_a = nb::none(), "bias"_a = nb::none(),
          "prior"_a = nb::none(), "context"_a = nb::none(), "numbers"_a = nb::none());

  m.def("kernel_softmax", &kernel_softmax, "head"_a, "h"_a, "target"_a, "weights"_a, "gradients"_a,
        "ignore_index"_a = -100, "label_smoothing"_a = 0.0, "margin"_a = "none", "z_loss"_a = 0.0,
        "row_weight"_a = nb::none(), "row_loss"_a = nb::none(), "lse"_a = nb::none(),
        "least_memory"_a = false, "stream"_a = 0,
        "Returns the sum of the rows' losses times `row_weight` (rows), float64. Fills `gradients` "
        "with the gradients of this sum, `row_loss` (rows) and `lse` (components, rows), float64. "
        "`least_memory`: takes less working memory, and more time. "
        "`stream`: the address of the CUDA stream of arrays on a GPU.");
  m.def("log_probabilities", &log_probabilities, "head"_a, "h"_a, "weights"_a, "stream"_a = 0,
        "Returns log p of every word, (rows, words).");
  m.def("top_words", &top_words, "head"_a, "h"_a, "weights"_a, "k"_a, "stream"_a = 0,
        "Returns the k most probable words of each row, best first, and their log p.");

  m.def(
      "kernels",
      [] {
        std::vector<std::string> names;
        for (const nine::KernelInfo& k : nine::kernel_table()) names.emplace_back(k.name);
        return names;
      },
      "Returns the names of the kernels.");
  m.def(
      "presets",
      [] {
        nb::dict all;
        for (const nine::HeadPreset& p : nine::head_presets()) all[p.name] = p.text;
        return all;
      },
      nb::sig("def presets() -> dict[str, str]"),
      "Returns the presets of mixtures and the head strings that they stand for.");
  m.def(
      "prefer_huge_pages",
      [](uintptr_t address, size_t bytes) {
        nine::prefer_huge_pages(reinterpret_cast<void*>(address), bytes);
      },
      "address"_a, "bytes"_a,
      "Asks the kernel for huge pages under memory of this process that nobody has used yet.");
  m.def("threads", &nine::threads, "Returns the number of threads that the library uses.");
  m.def("set_threads", &nine::set_threads, "count"_a, "Sets the number of threads.");
  m.def(
      "set_matmul_precision",
      [](const std::string& precision) {
        nine::set_matmul_precision(nine::enum_from_text<nine::MatmulPrecision>(precision));
      },
      "precision"_a,
      "Sets the precision of float32 products: 'highest', 'high' or 'medium'; the faster ones need "
      "a CPU with bfloat16 tiles.");
  // A warning that is an error (-W error) has no caller here, so it is only shown.
  nine::set_notices([](const std::string& text) {
    const nb::gil_scoped_acquire acquire;
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) != 0) PyErr_WriteUnraisable(nullptr);
  });
  nine_python::add_text(m);
  nine_python::add_pages(m);
}
