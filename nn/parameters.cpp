#include "nn/parameters.h"

#include <fnmatch.h>

#include <algorithm>

#include "core/ops.h"
#include "core/quote.h"
#include "core/random.h"
#include "core/threads.h"

namespace nine {
namespace {

View part_of(const Tensor& slab, int64_t offset, const Shape& shape) {
  View v = slab.view();
  v.data = static_cast<std::byte*>(v.data) + offset * static_cast<int64_t>(size_of(v.dtype));
  v.shape = shape;
  v.ld = shape.cols();
  return v;
}

// Draws random numbers in double for both types, so that a float32 model starts from the rounded
// float64 model.
template <class T>
void initialise(const View& v, const Init& init, const RandomKey& key) {
  T* p = v.as<T>();
  parallel_ranges(v.elements(), 8192, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto element = static_cast<uint64_t>(i);
      p[i] = static_cast<T>(
          init.kind == Init::Kind::normal
              ? init.scale * random_normal(key, element)
              : init.scale *
                    (2 * (static_cast<double>(random_bits(key, element)) + 0.5) * 0x1p-32 - 1));
    }
  });
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_called(const auto& all, const std::string& name) {
  return std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
}

bool any_by_rows(const std::deque<Parameter>& all) {
  return std::any_of(all.begin(), all.end(),
                     [](const Parameter& p) { return p.touched.has_value(); });
}

}  // namespace

ParameterSet::ParameterSet(const ParameterOptions& options) : options_(options) {
  require(options.dtype == DType::float32 || options.dtype == DType::float64,
          "parameters are float32 or float64, not ", options.dtype);
}

Parameter& ParameterSet::add(std::string name, const Shape& shape, const Init& init) {
  require(!made_, "parameter ", quote(name),
          " was declared after a value of its set was used: make all layers first");
  require(!is_called(parameters_, name), "two parameters are called ", quote(name));
  require(!is_called(buffers_, name), "a parameter and a buffer are called ", quote(name));
  require(!init.needs_sizes() || shape.rank() >= 2, "parameter ", quote(name), " of shape ", shape,
          " needs rows and columns, because its initial values depend on both");
  Parameter declared(std::move(name), *this);
  parameters_.push_back(std::move(declared));
  shapes_.push_back(shape);
  inits_.push_back(init.of_sizes(shape.cols(), shape.rows()));
  const int64_t line = 64 / static_cast<int64_t>(size_of(options_.dtype));
  offsets_.push_back(slab_elements_);
  slab_elements_ += (shape.elements() + line - 1) / line * line;
  return parameters_.back();
}

ParameterSet::Buffer& ParameterSet::new_buffer(std::string name, const Shape& shape) {
  require(!is_called(buffers_, name), "two buffers are called ", quote(name));
  require(!is_called(parameters_, name), "a parameter and a buffer are called ", quote(name));
  buffers_.push_back({std::move(name), Tensor(shape, DType::float64, options_.device)});
  return buffers_.back();
}

Tensor ParameterSet::add_buffer(std::string name, const Shape& shape) {
  return new_buffer(std::move(name), shape).value;
}

void ParameterSet::add_movable_buffer(std::string name, const Shape& shape, double value) {
  Buffer& buffer = new_buffer(std::move(name), shape);
  buffer.movable = true;
  ops::fill(buffer.value, value);
}

const Tensor& ParameterSet::buffer(std::string_view name) const {
  for (const Buffer& b : buffers_)
    if (b.name == name) return b.value;
  fail("there is no buffer ", quote(name));
}

void ParameterSet::to(Device device) {
  if (device == options_.device) return;
  for (const Buffer& b : buffers_)
    require(b.movable, "a layer keeps the tensor ", quote(b.name),
            ", so that its model cannot move to ", device,
            ": make the ParameterSet on that device (ParameterOptions::device)");
  options_.device = device;
  for (Buffer& b : buffers_) b.value = b.value.to(device);
  if (!made_) return;
  values_ = values_.to(device);
  if (gradients_) gradients_ = new_slab();
  for (size_t i = 0; i < parameters_.size(); ++i) {
    Parameter& p = parameters_[i];
    const auto part = [&](const Tensor& slab) {
      return slab ? slab.with(part_of(slab, offsets_[i], shapes_[i])) : Tensor();
    };
    p.set_memory(part(values_), part(gradients_));
    p.has_grad = false;
    if (p.touched) p.touched->clear();
  }
}

std::vector<NamedView> ParameterSet::state() const {
  std::vector<NamedView> out = named(values());
  for (const Buffer& b : buffers_) out.push_back({b.name, b.value});
  return out;
}

void ParameterSet::make(const Safetensors* values_to_come) const {
  if (made_) return;
  const DType dtype = options_.dtype;
  const Tensor values({slab_elements_}, dtype, options_.device),
      gradients = options_.gradients ? Tensor(values.shape(), dtype, options_.device) : Tensor();
  for (size_t i = 0; i < shapes_.size(); ++i) {
    const Init& init = inits_[i];
    if (init.kind == Init::Kind::zeros ||
        (values_to_come != nullptr && values_to_come->tensors.contains(parameters_[i].name)))
      continue;
    const View value = part_of(values, offsets_[i], shapes_[i]);
    if (init.kind == Init::Kind::ones || init.kind == Init::Kind::constant) {
      ops::fill(value, init.kind == Init::Kind::ones ? 1 : init.scale);
      continue;
    }
    const Tensor start(shapes_[i], dtype);
    dispatch_float(dtype, "initialise", [&]<class T>(T) {
      initialise<T>(start, init, {.seed = options_.seed, .op = stream_id(parameters_[i].name)});
    });
    ops::copy(start, value);
  }
  values_ = values;
  gradients_ = gradients;
  for (size_t i = 0; i < shapes_.size(); ++i) {
    const auto part = [&](const Tensor& slab) {
      return slab ? slab.with(part_of(slab, offsets_[i], shapes_[i])) : Tensor();
    };
    parameters_[i].set_memory(part(values_), part(gradients_));
  }
  made_ = true;
}

const Tensor& ParameterSet::values() const {
  make();
  return values_;
}

const Tensor& ParameterSet::gradients() const {
  make();
  return gradients_;
}

Tensor ParameterSet::new_slab() const {
  return Tensor(values().shape(), options_.dtype, options_.device);
}

std::string ParameterSet::names() const {
  constexpr size_t kShown = 5;  // there may be hundreds of names
  std::string some;
  for (size_t i = 0; i < std::min(parameters_.size(), kShown); ++i)
    some += (some.empty() ? "" : ", ") + parameters_[i].name;
  return parameters_.size() <= kShown
             ? some
             : concat(some, " and ", parameters_.size() - kShown, " more, as in model.safetensors");
}

Parameter& ParameterSet::at(std::string_view name) {
  for (Parameter& p : parameters_)
    if (p.name == name) return p;
  fail("there is no parameter ", quote(name), "; there are ", names());
}

std::vector<bool> ParameterSet::matching(std::span<const std::string> patterns,
                                         std::string_view purpose) const {
  std::vector<bool> chosen(parameters_.size());
  for (const std::string& pattern : patterns) {
    bool any = false;
    for (size_t i = 0; i < parameters_.size(); ++i)
      if (fnmatch(pattern.c_str(), parameters_[i].name.c_str(), 0) == 0) any = chosen[i] = true;
    if (!any)
      throw UsageError(concat("there is no parameter ", purpose, " called ", quote(pattern),
                              "; there are ", names()));
  }
  return chosen;
}

void ParameterSet::freeze(std::span<const std::string> patterns) {
  const std::vector<bool> chosen = matching(patterns, "to freeze");
  for (size_t i = 0; i < chosen.size(); ++i)
    if (chosen[i]) parameters_[i].frozen = true;
  if (!parameters_.empty() && std::all_of(parameters_.begin(), parameters_.end(),
                                          [](const Parameter& p) { return p.frozen; }))
    throw UsageError("all parameters are frozen: nothing is left to train");
}

int64_t ParameterSet::count() const {
  int64_t n = 0;
  for (const Shape& s : shapes_) n += s.elements();
  return n;
}

std::vector<NamedView> ParameterSet::named(const Tensor& slab, const std::string& prefix) const {
  std::vector<NamedView> out;
  for (size_t i = 0; i < parameters_.size(); ++i)
    out.push_back({prefix + parameters_[i].name, part_of(slab, offsets_[i], shapes_[i])});
  return out;
}

void ParameterSet::zero_missing_grads() {
  for (Parameter& p : parameters_) {
    if (p.grad() && !p.has_grad && !p.touched) ops::fill(p.grad(), 0);
    p.has_grad = true;
  }
}

void ParameterSet::zero_grad() {
  if (any_by_rows(parameters_))
    for (const GradientPart& part : gradient_parts())
      if (part.rows) ops::fill_rows(part.of(gradients_), part.rows, 0);
  for (Parameter& p : parameters_) {
    p.has_grad = false;
    if (!p.touched) continue;
    if (p.touched->all()) ops::fill(p.grad(), 0);
    p.touched->clear();
  }
}

void ParameterSet::use_gradients(const Tensor& slab) {
  make();
  gradients_ = slab;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    Parameter& p = parameters_[i];
    p.set_memory(p.value(), slab.with(part_of(slab, offsets_[i], shapes_[i])));
    p.has_grad = false;
  }
}

void ParameterSet::add_gradients(const Tensor& slab, Arena& arena) {
  for (Parameter& p : parameters_) p.has_grad = true;
  if (!any_by_rows(parameters_)) return ops::scale(1, slab, {gradients_, true});
  for (const GradientPart& part : gradient_parts()) {
    const View from = part.of(slab), to = part.of(gradients_);
    if (!part.rows) {
      ops::scale(1, from, {to, true});
      continue;
    }
    const Arena::Scope scope(arena);
    const Tensor rows = arena.temporary({part.rows.elements(), from.cols()}, dtype());
    ops::embedding(from, part.rows, rows);
    ops::embedding_backward(rows, part.rows, to);
    ops::fill_rows(from, part.rows, 0);
  }
  for (size_t i = 0; i < parameters_.size(); ++i)
    if (parameters_[i].touched && parameters_[i].touched->all())
      ops::fill(part_of(slab, offsets_[i], shapes_[i]), 0);
}

View GradientPart::of(const Tensor& slab) const { return part_of(slab, first, shape); }

std::vector<GradientPart> ParameterSet::gradient_parts() {
  std::vector<GradientPart> parts;
  // The first element of the neighbouring parameters whose gradients count as a whole.
  int64_t dense_from = 0;
  const auto close = [&](int64_t end) {
    if (end > dense_from) parts.push_back({.first = dense_from, .shape = {end - dense_from}});
  };
  for (size_t i = 0; i < parameters_.size(); ++i) {
    std::optional<TouchedRows>& touched = parameters_[i].touched;
    if (!touched || touched->all()) continue;
    close(offsets_[i]);
    dense_from = i + 1 < offsets_.size() ? offsets_[i + 1] : slab_elements_;
    const std::vector<int32_t>& rows = touched->rows();
    if (rows.empty()) continue;
    const Shape& s = shapes_[i];
    parts.push_back({.first = offsets_[i],
                     .shape = s.rank() > 1 ? Shape{s.rows(), s.cols()} : Shape{s.elements(), 1},
                     .rows = Tensor::from(rows, {std::ssize(rows)}).to(options_.device)});
  }
  close(slab_elements_);
  return parts;
}

void ParameterSet::sum_squares(const View& out, Arena& arena) {
  if (!any_by_rows(parameters_)) return ops::sum_squares(gradients(), out);
  const std::vector<GradientPart> parts = gradient_parts();
  const Arena::Scope scope(arena);
  const Tensor sums = arena.temporary({std::ssize(parts), 1}, DType::float64);
  for (size_t i = 0; i < parts.size(); ++i) {
    const View sum = sums.view().row_range(static_cast<int64_t>(i), 1).reshaped({}),
               all = parts[i].of(gradients());
    if (!parts[i].rows) {
      ops::sum_squares(all, sum);
      continue;
    }
    const Arena::Scope rows_scope(arena);
    const Tensor rows = arena.temporary({parts[i].rows.elements(), all.cols()}, dtype());
    ops::embedding(all, parts[i].rows, rows);
    ops::sum_squares(rows, sum);
  }
  ops::sum(sums, {out});
}

void ParameterSet::load(const Safetensors& file, const Tensor& slab,
                        const std::string& prefix) const {
  for (const NamedView& part : named(slab, prefix)) {
    const auto it = file.tensors.find(part.name);
    if (it == file.tensors.end() && prefix.empty() && contains(needless_on_load_, part.name))
      continue;
    require(it != file.tensors.end(), "the weights have no tensor ", quote(part.name),
            ", which this model needs");
    require(it->second.shape() == part.view.shape, "tensor ", quote(part.name), " has shape ",
            it->second.shape(), ", but this model needs ", part.view.shape);
    ops::copy(it->second, part.view);
  }
  if (!prefix.empty()) return;
  for (const Buffer& b : buffers_) {
    const auto it = file.tensors.find(b.name);
    if (it == file.tensors.end()) continue;
    require(it->second.shape() == b.value.shape(), "tensor ", quote(b.name), " has shape ",
            it->second.shape(), ", but this model needs ", b.value.shape());
    ops::copy(it->second, b.value);
    ++loads_;
  }
  for (const auto& [name, tensor] : file.tensors)
    require(std::any_of(buffers_.begin(), buffers_.end(),
                        [&, &n = name](const Buffer& b) { return b.name == n; }) ||
                std::any_of(parameters_.begin(), parameters_.end(),
                            [&, &n = name](const Parameter& p) { return p.name == n; }) ||
                contains(ignored_on_load_, name),
            "the weights hold a tensor ", quote(name), " of shape ", tensor.shape(),
            ", which this model does not have");
}

void ParameterSet::save(const std::filesystem::path& file,
                        const std::map<std::string, std::string>& metadata) const {
  write_safetensors(file, state(), metadata);
}

void ParameterSet::load(const Safetensors& file) const {
  make(&file);
  load(file, values_);
}

void ParameterSet::load(const std::filesystem::path& file) { load(read_safetensors(file)); }

}  // namespace nine
