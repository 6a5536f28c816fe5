// A model's parameters. Values and gradients are each one contiguous slab, in which every parameter
// is a named view aligned to 64 bytes: an optimiser makes one pass, the gradient's norm is one
// reduction, and processes exchange one buffer.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/parameter.h"
#include "core/arena.h"
#include "core/safetensors.h"
#include "nn/init.h"

namespace nine {

/// The settings of a model's parameters.
struct ParameterOptions {
  DType dtype = DType::float32;  ///< float32 or float64
  /// The seed of the initial values. The seed, a parameter's name and an element's index determine
  /// the element's value.
  uint64_t seed = 1;
  bool gradients = true;  ///< false: the model can be evaluated but not trained
  Device device = kCpu;
};

/// A part of the gradient slab: either the table of one parameter that records its rows
/// (Parameter::touched), or a run of neighbouring parameters, of which any element may be non-zero.
struct GradientPart {
  int64_t first = 0;  ///< the index of its first element in the slab
  Shape shape;        ///< the part's shape: (rows, width) of a table, (elements) of a run
  Tensor rows = {};   ///< rows of the table: int32 ids on its device, ascending; empty: all rows

  View of(const Tensor& slab) const;  ///< returns this part of `slab`; ignores `rows`
};

/// Holds all parameters of a model. Layers declare their parameters when they are made. The first
/// use of a parameter (a step, an optimiser, save, load) allocates the slabs and fills in the
/// initial values.
///
///   ParameterSet parameters({.seed = 3});
///   Linear hidden(parameters, "hidden", 2, 8), output(parameters, "output", 8, 1);
class ParameterSet final : private ParameterMemory {
 public:
  /// Error: a type other than float32 and float64.
  explicit ParameterSet(const ParameterOptions& options = {});
  ParameterSet(const ParameterSet&) = delete;  // layers hold references to its parameters
  ParameterSet& operator=(const ParameterSet&) = delete;

  /// Declares a parameter. Call it before the first use of any parameter. The reference stays
  /// valid. Errors: another parameter has the name; the slabs are allocated already; `init` needs
  /// sizes, and `shape` has fewer than two dimensions.
  Parameter& add(std::string name, const Shape& shape, const Init& init);
  /// Declares a tensor that belongs to a model but is not trained: float64, zero at first, on the
  /// parameters' device. save() writes it next to the values; load() reads it if the file has it.
  /// The returned tensor shares its memory with the set. Error: the name is taken.
  Tensor add_buffer(std::string name, const Shape& shape);
  /// Does the same with each element `value`. The layer asks for the tensor by buffer() at each
  /// use, so that to() can move it to another device.
  void add_movable_buffer(std::string name, const Shape& shape, double value);
  /// Returns the buffer of that name. Error: there is none.
  const Tensor& buffer(std::string_view name) const;
  /// Makes load() ignore the tensor of that name in files: a tensor that is neither parameter nor
  /// buffer of this model, for example a table of positions.
  void ignore_on_load(std::string name) { ignored_on_load_.push_back(std::move(name)); }
  /// Names a parameter that files may lack; load() then leaves the parameter as it is.
  void need_not_load(std::string name) { needless_on_load_.push_back(std::move(name)); }

  /// Freezes the parameters whose name matches a pattern (Parameter::frozen). In a pattern, *
  /// stands for any characters and ? for one character. A frozen parameter has gradient 0. Its
  /// value still changes by weight decay, and by Adam's moments and SGD's velocity if they come
  /// from updates before freeze(). UsageErrors: a pattern matches no parameter (the message has the
  /// first names); all parameters are frozen.
  void freeze(std::span<const std::string> patterns);

  /// Returns for each parameter, in the order of all(), whether its name matches one of the
  /// patterns, which are those of freeze(). UsageError: a pattern matches no parameter: "there is
  /// no parameter PURPOSE called ...", with `purpose` such as "to freeze".
  std::vector<bool> matching(std::span<const std::string> patterns, std::string_view purpose) const;

  /// Moves values, gradients and buffers to a device, as torch.nn.Module.to(). Tensors that
  /// value(), grad(), values() or gradients() returned before stay on the old device, and
  /// optimisers made before hold them: move a model first. Gradients that were computed are lost.
  /// Error: a layer keeps the tensor of a buffer (add_buffer()), as an output layer with norms of
  /// words does; make such a set on its device (ParameterOptions::device).
  void to(Device device);

  /// Returns the parameter of that name. Error: no parameter has the name; the message has the
  /// first names.
  Parameter& at(std::string_view name);
  const std::deque<Parameter>& all() const { return parameters_; }
  /// Returns the number of elements of all parameters together.
  int64_t count() const;
  DType dtype() const { return options_.dtype; }
  Device device() const { return options_.device; }

  /// Return the slab of all values and the slab of all gradients. The gaps that the alignment
  /// leaves between parameters are 0 in both slabs and stay 0.
  const Tensor& values() const;
  const Tensor& gradients() const;  ///< empty if `gradients` is false
  /// Returns a new slab of zeros for an optimiser, laid out as the values.
  Tensor new_slab() const;
  /// Returns each parameter's part of a slab, named `prefix` + the parameter's name.
  std::vector<NamedView> named(const Tensor& slab, const std::string& prefix = "") const;

  /// Returns the values and the buffers: the content of a model's file.
  std::vector<NamedView> state() const;
  /// Returns a number that grows with each load() that changes a buffer.
  int64_t loads() const { return loads_; }

  /// Zeroes each gradient that no backward pass has written. Afterwards the whole slab is the
  /// gradient. Call it before Optimizer::step(), and zero_grad() afterwards.
  void zero_missing_grads();
  /// Lets the next backward pass overwrite all gradients instead of adding to them. For each
  /// row-tracking parameter, one whose Parameter::touched is set, zeroes the gradient rows that
  /// `touched` records and clears the record.
  void zero_grad();
  /// Makes backward passes write into `slab` (made by new_slab()) from now on; gradients() returns
  /// it. As after zero_grad(), backward passes overwrite the slab's old content. Untouched rows of
  /// row-tracking parameters must be 0 in `slab`.
  void use_gradients(const Tensor& slab);
  /// Adds the gradients in `slab` to gradients(). Backward passes wrote both since the last
  /// zero_grad(); call zero_missing_grads() after the passes into each, because whole slabs are
  /// added. Sets the touched rows of `slab` to 0, so that use_gradients() can take `slab` again.
  /// Takes working memory from `arena`. Afterwards all of gradients() is the gradient.
  void add_gradients(const Tensor& slab, Arena& arena);
  /// Returns the parts of the gradient slab that may be non-zero, in slab order. Leaves out
  /// untouched rows of row-tracking parameters (Parameter::touched).
  std::vector<GradientPart> gradient_parts();
  /// Computes out = the squared norm of the gradient, a float64 scalar, over gradient_parts().
  void sum_squares(const View& out, Arena& arena);

  /// Copies the tensors named `prefix` + a parameter's name into a slab and converts float types.
  /// Errors: a tensor is missing; a shape differs. An empty `prefix` reads buffers too; then
  /// need_not_load() allows a parameter to be missing, and a tensor whose name is not declared here
  /// is an Error. After an Error some of the values may be replaced.
  void load(const Safetensors& file, const Tensor& slab, const std::string& prefix = "") const;

  /// Does the same for the slab of values. If this is the first use, it skips the initial values
  /// that the file replaces, because drawing them would take most of the time of opening a model.
  void load(const Safetensors& file) const;

  /// save() writes the values and the buffers as one safetensors file; load() reads them back to
  /// the same bits. Errors: those of write_safetensors, read_safetensors and the load() above. The
  /// file lacks the optimiser's state, which a program needs to resume a training run:
  /// Optimizer::named() returns it.
  void save(const std::filesystem::path& file,
            const std::map<std::string, std::string>& metadata = {}) const;
  void load(const std::filesystem::path& file);

 private:
  void make() const override { make(nullptr); }
  void make(const Safetensors* values_to_come) const;
  std::string names() const;  // all names, for messages

  ParameterOptions options_;
  std::vector<Shape> shapes_;
  std::vector<Init> inits_;
  std::vector<int64_t> offsets_;  // where each parameter begins in a slab, in elements
  int64_t slab_elements_ = 0;
  std::vector<std::string> ignored_on_load_, needless_on_load_;
  struct Buffer {
    std::string name;
    Tensor value;
    bool movable = false;  // no layer keeps the tensor
  };
  Buffer& new_buffer(std::string name, const Shape& shape);
  std::vector<Buffer> buffers_;
  mutable int64_t loads_ = 0;
  // Made at the first use, which may be of a const set.
  mutable bool made_ = false;
  mutable std::deque<Parameter> parameters_;
  mutable Tensor values_, gradients_;
};

}  // namespace nine
