// A model's parameters. Values and gradients are each one contiguous slab, in which every parameter
// is a named view aligned to 64 bytes: an optimiser makes one pass, the gradient's norm is one
// reduction, and processes exchange one buffer.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/parameter.h"
#include "core/safetensors.h"
#include "nn/init.h"

namespace nine {

/// All parameters of a model. Modules declare theirs with add(), then allocate() makes them, then
/// the model can be used.
class ParameterSet {
 public:
  ParameterSet() = default;
  ParameterSet(const ParameterSet&) = delete;  // modules hold references to its parameters
  ParameterSet& operator=(const ParameterSet&) = delete;

  /// Declares a parameter; before allocate(). The reference stays valid. Error: the name is taken.
  Parameter& add(std::string name, const Shape& shape, const Init& init);
  /// Names a tensor that files may hold beside the parameters because it follows from the model's
  /// sizes, such as a table of positions: load() ignores it.
  void ignore_on_load(std::string name) { ignored_on_load_.push_back(std::move(name)); }
  /// Makes the slabs and gives every parameter its initial values, which depend on seed, name and
  /// element only. Without `gradients` the model can be evaluated, not trained.
  void allocate(DType dtype, uint64_t seed, bool gradients = true, Device device = kCpu);

  /// The parameter of that name. Error, with the list of names: there is none.
  Parameter& at(std::string_view name);
  const std::deque<Parameter>& all() const { return parameters_; }
  /// Elements of all parameters together.
  int64_t count() const;
  DType dtype() const { return values_.dtype(); }

  /// The slabs, gaps included (gaps are zero in both and stay so).
  const Tensor& values() const { return values_; }
  const Tensor& gradients() const { return gradients_; }
  /// A slab for an optimiser, laid out as the values, zero.
  Tensor new_slab() const { return Tensor(values_.shape(), values_.dtype(), values_.device()); }
  /// Each parameter's part of such a slab under `prefix` + name.
  std::vector<NamedView> named(const Tensor& slab, const std::string& prefix = "") const;

  /// Sets the gradients that no backward pass has written to zero, so that the whole slab is the
  /// gradient.
  void zero_missing_grads();
  /// Lets the next backward pass overwrite all gradients instead of adding to them.
  void zero_grad();

  /// Copies tensors of those names into a slab (float types are converted). Error: a name is
  /// missing, a shape differs; with an empty `prefix` also: the file holds a name that is not
  /// declared here.
  void load(const Safetensors& file, const Tensor& slab, const std::string& prefix = "") const;

  /// The values as one safetensors file, and back from it to the same bits; errors are those of
  /// write_safetensors, read_safetensors and the load above. For checkpoints of a whole training
  /// run see nn/training/checkpoint.h.
  void save(const std::filesystem::path& file,
            const std::map<std::string, std::string>& metadata = {}) const;
  void load(const std::filesystem::path& file);

 private:
  std::deque<Parameter> parameters_;
  std::vector<Shape> shapes_;
  std::vector<Init> inits_;
  std::vector<std::string> ignored_on_load_;
  std::vector<int64_t> offsets_;  // of each parameter in a slab, in elements
  Tensor values_, gradients_;
};

}  // namespace nine
