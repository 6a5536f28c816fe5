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

/// What the parameters of a model are made with.
struct ParameterOptions {
  DType dtype = DType::float32;  ///< float32 or float64
  uint64_t seed = 1;  ///< initial values depend on seed, a parameter's name and the element only
  bool gradients = true;  ///< false: the model can be evaluated, not trained
  Device device = kCpu;
};

/// A part of a slab.
struct GradientPart {
  int64_t first = 0;  ///< the slab's element with which it begins
  Shape shape;        ///< a vector, or a table
  Tensor rows = {};   ///< of the table: int32 ids on its device, ascending; empty: all

  View of(const Tensor& slab) const;  ///< this part, all rows
};

/// All parameters of a model. Layers declare theirs when they are made; at the first use of any
/// (a step, an optimiser, save, load) the slabs are made and filled with the initial values.
///
///   ParameterSet parameters({.seed = 3});
///   Linear hidden(parameters, "hidden", 2, 8), output(parameters, "output", 8, 1);
class ParameterSet final : private ParameterMemory {
 public:
  /// Error: a type other than float32 and float64.
  explicit ParameterSet(const ParameterOptions& options = {});
  ParameterSet(const ParameterSet&) = delete;  // layers hold references to its parameters
  ParameterSet& operator=(const ParameterSet&) = delete;

  /// Declares a parameter, before the first use of any. The reference stays valid. Errors: the name
  /// is taken; a value was used already; an `init` that takes its sizes from a shape without rows
  /// and columns.
  Parameter& add(std::string name, const Shape& shape, const Init& init);
  /// Declares a tensor that belongs to a model but is not trained, float64 and zero at first, on
  /// the parameters' device: save() writes it beside the values and load() reads it where a file
  /// has it. The tensor shares its memory with the set. Error: the name is taken.
  Tensor add_buffer(std::string name, const Shape& shape);
  /// Names a tensor that files may hold beside the parameters because it follows from the model's
  /// sizes, such as a table of positions: load() ignores it.
  void ignore_on_load(std::string name) { ignored_on_load_.push_back(std::move(name)); }
  /// Names a parameter that files need not hold: load() then leaves it as it is.
  void need_not_load(std::string name) { needless_on_load_.push_back(std::move(name)); }

  /// Freezes the parameters whose name a pattern matches, in which * and ? stand for any characters
  /// and any one (Parameter::frozen). An optimiser without weight decay then leaves them as they
  /// are, if it has not updated them before: Adam's moments and SGD's velocity move them on. Error,
  /// with the list of names: a pattern matches none; nothing is left to train.
  void freeze(std::span<const std::string> patterns);

  /// The parameter of that name. Error, with the list of names: there is none.
  Parameter& at(std::string_view name);
  const std::deque<Parameter>& all() const { return parameters_; }
  /// Elements of all parameters together.
  int64_t count() const;
  DType dtype() const { return options_.dtype; }
  Device device() const { return options_.device; }

  /// The slabs, gaps included (gaps are zero in both and stay so).
  const Tensor& values() const;
  const Tensor& gradients() const;  ///< empty where there are none
  /// A slab for an optimiser, laid out as the values, zero.
  Tensor new_slab() const;
  /// Each parameter's part of such a slab under `prefix` + name.
  std::vector<NamedView> named(const Tensor& slab, const std::string& prefix = "") const;

  /// The values and the buffers: what a file of the model holds.
  std::vector<NamedView> state() const;
  /// How often load() has changed the buffers.
  int64_t loads() const { return loads_; }

  /// Sets the gradients that no backward pass has written to zero, so that the whole slab is the
  /// gradient.
  void zero_missing_grads();
  /// Lets the next backward pass overwrite all gradients instead of adding to them. Of parameters
  /// that keep track of their rows it sets those that were touched to 0.
  void zero_grad();
  /// Backward passes write into `slab` (of new_slab()) from now on, and gradients() returns it.
  /// What they overwrite does not count yet, as after zero_grad(); rows that keep track of
  /// themselves must be 0 in it where they are not touched.
  void use_gradients(const Tensor& slab);
  /// Adds another slab's gradients, formed since the last zero_grad(), and sets its touched rows to
  /// 0, so that use_gradients() can take it again. The whole slab is the gradient then.
  void add_gradients(const Tensor& slab, Arena& arena);
  /// What of the slabs may have a gradient other than 0: in their order, without the rows of
  /// parameters that keep track of them (Parameter::touched) and were not touched.
  std::vector<GradientPart> gradient_parts();
  /// out = the squared norm of the gradient, float64 scalar, from those parts.
  void sum_squares(const View& out, Arena& arena);

  /// Copies tensors of those names into a slab (float types are converted). Error: a name is
  /// missing, a shape differs; with an empty `prefix`, which reads buffers too, also: the file
  /// holds a name that is not declared here. An Error may leave some of the values replaced.
  void load(const Safetensors& file, const Tensor& slab, const std::string& prefix = "") const;

  /// Copies them into the values. Where this is the first use, initial values that the file
  /// replaces are not drawn: most of the time of opening a model.
  void load(const Safetensors& file) const;

  /// The values as one safetensors file, and back from it to the same bits; errors are those of
  /// write_safetensors, read_safetensors and the load above. For checkpoints of a whole training
  /// run see nn/training/checkpoint.h.
  void save(const std::filesystem::path& file,
            const std::map<std::string, std::string>& metadata = {}) const;
  void load(const std::filesystem::path& file);

 private:
  void make() const override { make(nullptr); }
  void make(const Safetensors* values_to_come) const;
  std::string names() const;  // for messages

  ParameterOptions options_;
  std::vector<Shape> shapes_;
  std::vector<Init> inits_;
  std::vector<int64_t> offsets_;  // of each parameter in a slab, in elements
  int64_t slab_elements_ = 0;
  std::vector<std::string> ignored_on_load_, needless_on_load_;
  struct Buffer {
    std::string name;
    Tensor value;
  };
  std::vector<Buffer> buffers_;
  mutable int64_t loads_ = 0;
  // Made at the first use, which may be of a set that cannot be changed.
  mutable bool made_ = false;
  mutable std::deque<Parameter> parameters_;
  mutable Tensor values_, gradients_;
};

}  // namespace nine
