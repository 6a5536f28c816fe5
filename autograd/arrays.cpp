#include "autograd/arrays.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <string>

#include "autograd/array_parts.h"
#include "autograd/broadcast.h"
#include "core/array_ops.h"

namespace nine {
namespace {

Shape with_size(const Shape& shape, int dim, int64_t size) {
  Sizes sizes = sizes_of(shape);
  sizes[static_cast<size_t>(dim)] = size;
  return {sizes.data(), shape.rank()};
}

// Returns a dimension that may count from the end. Error: the tensor has no such dimension.
int dim_of(const char* op, const Shape& shape, int dim) {
  require(dim >= -shape.rank() && dim < shape.rank(), "[", op, "] a tensor of shape ", shape,
          " has no dimension ", dim);
  return dim < 0 ? dim + shape.rank() : dim;
}

// Returns (outer, n, inner) for dimensions [first, last) of a shape.
Shape lines_of(const Shape& shape, int first, int last) {
  int64_t sizes[3] = {1, 1, 1};
  for (int i = 0; i < shape.rank(); ++i) sizes[i < first ? 0 : (i < last ? 1 : 2)] *= shape[i];
  return {sizes, 3};
}
View lines(const View& v, int first, int last) {
  return v.reshaped(lines_of(v.shape, first, last));
}

// Returns the elements of view(x) as a contiguous tensor. `view` makes a StridedView of a View.
// True `whole`: it has each element of x once.
template <class F>
Var moved(const char* name, const Var& x, bool whole, F view) {
  Tape& tape = x.tape();
  const StridedView from = view(x.value().view());
  const Var y = tape.result(name, from.shape, x.dtype(), {x});
  ops::copy_strided(from, y.value(), false);
  return tape.record(y, [x, y, whole, view] {
    const OutputView dx = whole ? x.grad_input() : OutputView{x.zeroed_grad_input(), true};
    ops::copy_strided(y.grad_output(), view(dx.view), dx.add);
  });
}

}  // namespace

Var contiguous(const Var& x) {
  if (x.value().view().contiguous()) return x;
  return moved("contiguous", x, true, [](const View& v) { return StridedView(v); });
}

// --- broadcasting

// Adds up dimensions that lie side by side in one step, the last ones first.
void sum_into(const Var& b, const View& gradient) {
  if (!b.needs_grad()) return;
  const Shape to = b.shape();
  if (to == gradient.shape) return ops::scale(1, gradient, b.grad_input());
  if (to.rank() == 0) return ops::sum(gradient, b.grad_input());
  if (to.rank() == 1 && to.cols() == gradient.cols())
    return ops::column_sums(gradient, b.grad_input());
  Tape& tape = b.tape();
  Shape shape = gradient.shape;
  const int missing = shape.rank() - to.rank();
  std::vector<std::unique_ptr<Block>> blocks;
  View sums = gradient;
  const auto repeated = [&](int i) {
    return shape[i] != 1 && (i < missing || to[i - missing] == 1);
  };
  for (int last = shape.rank(); last > 0;) {
    int first = last - 1;
    if (repeated(first)) {
      while (first > 0 && repeated(first - 1)) --first;
      Shape less = shape;
      for (int i = first; i < last; ++i) less = with_size(less, i, 1);
      blocks.push_back(std::make_unique<Block>(tape, less, gradient.dtype));
      ops::reduce(ops::Reduction::sum, lines(sums, first, last), blocks.back()->view());
      sums = blocks.back()->view();
      shape = less;
    }
    last = first;
  }
  ops::scale(1, sums.reshaped(to), b.grad_input());
}

Var broadcast_binary(ops::Binary f, const char* name, const Var& a, const Var& b) {
  Tape& tape = a.tape();
  const Shape shape = broadcast_shape(name, a.shape(), b.shape());
  const Var y = tape.result(name, shape, a.dtype(), {a, b});
  const auto wide = [shape](const Var& x) { return StridedView(x.value()).broadcast_to(shape); };
  ops::broadcast_binary(f, wide(a), wide(b), y.value());
  return tape.record(y, [f, a, b, y, wide] {
    for (const bool second : {false, true}) {
      const Var& x = second ? b : a;
      if (!x.needs_grad()) continue;
      const Block d(y.tape(), y.shape(), y.dtype());
      ops::broadcast_binary_backward(f, second, wide(a), wide(b), y.value(), y.grad_output(),
                                     d.view());
      sum_into(x, d.view());
    }
  });
}

Var broadcast_to(const Var& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  Tape& tape = x.tape();
  const StridedView wide = StridedView(x.value()).broadcast_to(shape);
  const Var y = tape.result("broadcast_to", shape, x.dtype(), {x});
  ops::copy_strided(wide, y.value(), false);
  return tape.record(y, [x, y] { sum_into(x, y.grad_output()); });
}

namespace {

Var compared(ops::Comparison f, const char* name, const Var& a, const Var& b) {
  const Shape shape = broadcast_shape(name, a.shape(), b.shape());
  same_types(name, a, b);
  require(a.dtype() != DType::bfloat16, "[", name, "] does not take bfloat16: cast() to float32");
  const Var y = a.tape().result(name, shape, DType::boolean, {});
  ops::compare(f, StridedView(a.value()).broadcast_to(shape),
               StridedView(b.value()).broadcast_to(shape), y.value());
  return y;
}

}  // namespace

#define NINE_DEFINE(NAME, ...)                                                                  \
  Var NAME(const Var& a, const Var& b) { return compared(ops::Comparison::NAME, #NAME, a, b); } \
  Var NAME(const Var& a, Number b) { return NAME(a, constant_like(#NAME, a, b)); }              \
  Var NAME(Number a, const Var& b) { return NAME(constant_like(#NAME, b, a), b); }
NINE_FOR_EACH_COMPARISON(NINE_DEFINE)
#undef NINE_DEFINE

Var where(const Var& condition, const Var& a, const Var& b) {
  Tape& tape = a.tape();
  const char* const op = "where";
  same_types(op, a, b);
  require(condition.dtype() == DType::boolean, "[", op, "] the condition must be bool, got ",
          condition.dtype(), ": make it by a comparison, such as greater(x, 0)");
  const Shape shape =
      broadcast_shape(op, condition.shape(), broadcast_shape(op, a.shape(), b.shape()));
  const auto wide = [shape](const Tensor& x) { return StridedView(x).broadcast_to(shape); };
  const Var y = tape.result(op, shape, a.dtype(), {a, b});
  ops::select(wide(condition.value()), wide(a.value()), wide(b.value()), y.value());
  return tape.record(y, [condition, a, b, y, wide] {
    const Block zero(y.tape(), {}, y.dtype());
    ops::fill(zero.view(), 0);
    const StridedView nothing = StridedView(zero.view()).broadcast_to(y.shape());
    for (const bool second : {false, true}) {
      const Var& x = second ? b : a;
      if (!x.needs_grad()) continue;
      const Block d(y.tape(), y.shape(), y.dtype());
      const StridedView dy = y.grad_output();
      ops::select(wide(condition.value()), second ? nothing : dy, second ? dy : nothing, d.view());
      sum_into(x, d.view());
    }
  });
}

Var where(const Var& condition, const Var& a, Number b) {
  return where(condition, a, constant_like("where", a, b));
}
Var where(const Var& condition, Number a, const Var& b) {
  return where(condition, constant_like("where", b, a), b);
}

namespace {

void needs_bools(const char* name, const Var& x) {
  require(x.dtype() == DType::boolean, "[", name, "] needs bool, got ", x.dtype(),
          ": make it by a comparison, such as not_equal(x, 0)");
}
Var logical(const char* name, bool both, const Var& a, const Var& b) {
  needs_bools(name, a);
  needs_bools(name, b);
  const Shape shape = broadcast_shape(name, a.shape(), b.shape());
  const auto wide = [&](const Var& x) { return StridedView(x.value()).broadcast_to(shape); };
  const Var y = a.tape().result(name, shape, DType::boolean, {});
  ops::select(wide(a), wide(both ? b : a), wide(both ? a : b), y.value());
  return y;
}

}  // namespace

Var logical_and(const Var& a, const Var& b) { return logical("logical_and", true, a, b); }
Var logical_or(const Var& a, const Var& b) { return logical("logical_or", false, a, b); }
Var logical_not(const Var& x) {
  needs_bools("logical_not", x);
  return equal(x, false);
}

Var any(const Var& x, const Dims& dims, bool keepdim) {
  needs_bools("any", x);
  return not_equal(sum(x, dims, keepdim), 0);
}
Var all(const Var& x, const Dims& dims, bool keepdim) {
  needs_bools("all", x);
  return equal(sum(logical_not(x), dims, keepdim), 0);
}

// --- reductions

std::vector<bool> Dims::of(const char* op, const Shape& shape) const {
  std::vector<bool> named(static_cast<size_t>(shape.rank()), all_);
  for (const int dim : dims_) {
    const auto at = static_cast<size_t>(dim_of(op, shape, dim));
    require(!named[at], "[", op, "] dimension ", dim, " of ", shape, " is named twice");
    named[at] = true;
  }
  return named;
}

namespace {

// A reduction's tensor with the reduced dimensions [first, last) side by side.
struct Reducible {
  Var x;
  int first = 0, last = 0;
};

// Moves the named dimensions behind the others, unless they are side by side already.
Reducible reducible(const Var& x, const std::vector<bool>& named) {
  const auto begin = std::find(named.begin(), named.end(), true),
             end = std::find(begin, named.end(), false);
  if (std::find(end, named.end(), true) == named.end())
    return {contiguous(x), static_cast<int>(begin - named.begin()),
            static_cast<int>(end - named.begin())};
  std::vector<int> order;
  for (const bool reduced : {false, true})
    for (size_t i = 0; i < named.size(); ++i)
      if (named[i] == reduced) order.push_back(static_cast<int>(i));
  const auto kept = static_cast<int>(std::count(named.begin(), named.end(), false));
  return {permute(x, order), kept, static_cast<int>(named.size())};
}

// Returns the shape without the named dimensions, or with 1 in their place.
Shape reduced_shape(const Shape& shape, const std::vector<bool>& named, bool keepdim) {
  Sizes sizes{};
  int rank = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    const bool reduced = named[static_cast<size_t>(i)];
    if (!reduced || keepdim) sizes[static_cast<size_t>(rank++)] = reduced ? 1 : shape[i];
  }
  return {sizes.data(), rank};
}

Var reduced(ops::Reduction f, const char* name, const Var& x, const Dims& dims, bool keepdim,
            double p = 0) {
  Tape& tape = x.tape();
  if (!is_float(x.dtype())) {
    if (f == ops::Reduction::mean)
      return reduced(f, name, cast(x, DType::float64), dims, keepdim, p);
    if (x.dtype() != DType::int64 && f == ops::Reduction::sum)
      return reduced(f, name, cast(x, DType::int64), dims, keepdim, p);
    if (x.dtype() != DType::int64 && (f == ops::Reduction::max || f == ops::Reduction::min))
      return cast(reduced(f, name, cast(x, DType::int64), dims, keepdim, p), x.dtype());
  }
  if (x.dtype() != DType::int64 || !ops::takes_int64(f)) needs_floats(name, x);
  const std::vector<bool> named = dims.of(name, x.shape());
  const Reducible in = reducible(x, named);
  const Var y = tape.result(name, reduced_shape(x.shape(), named, keepdim), x.dtype(), {in.x});
  require(x.shape().elements() > 0 || !ops::needs_one(f) || y.shape().elements() == 0, "[", name,
          "] no numbers have no such number: x has shape ", x.shape());
  ops::reduce(f, lines(in.x.value(), in.first, in.last), y.value(), p);
  return tape.record(y, [f, in, y, p] {
    write_gradient(in.x, [&](const OutputView& dx) {
      ops::reduce_backward(f, lines(in.x.value(), in.first, in.last), y.value(), y.grad_output(),
                           {lines(dx.view, in.first, in.last), dx.add}, p);
    });
  });
}

// Returns x in a type that ops put in order: integers and bool as int64.
Var ordered(const char* name, const Var& x) {
  if (x.dtype() == DType::int32 || x.dtype() == DType::boolean) return cast(x, DType::int64);
  needs_numbers(name, x);
  return x;
}

Var arg_reduced(bool largest, const char* name, const Var& x, int dim, bool keepdim) {
  const int at = dim_of(name, x.shape(), dim);
  const Var in = contiguous(ordered(name, x));
  require(x.shape()[at] > 0 || with_size(x.shape(), at, 1).elements() == 0, "[", name,
          "] no numbers have no such number: x has shape ", x.shape());
  const Var y = x.tape().result(
      name, reduced_shape(x.shape(), Dims(at).of(name, x.shape()), keepdim), DType::int64, {});
  ops::arg_reduce(largest, lines(in.value(), at, at + 1), y.value());
  return y;
}

}  // namespace

#define NINE_DEFINE(NAME, ...)                                     \
  Var NAME(const Var& x, const Dims& dims, bool keepdim) {         \
    return reduced(ops::Reduction::NAME, #NAME, x, dims, keepdim); \
  }
#define NINE_DEFINE_1(NAME, P, ...)                                   \
  Var NAME(const Var& x, const Dims& dims, bool keepdim, double P) {  \
    return reduced(ops::Reduction::NAME, #NAME, x, dims, keepdim, P); \
  }
NINE_FOR_EACH_REDUCTION(NINE_DEFINE, NINE_DEFINE_1)
#undef NINE_DEFINE
#undef NINE_DEFINE_1

Var argmax(const Var& x, int dim, bool keepdim) {
  return arg_reduced(true, "argmax", x, dim, keepdim);
}
Var argmin(const Var& x, int dim, bool keepdim) {
  return arg_reduced(false, "argmin", x, dim, keepdim);
}

// --- moving elements

namespace {
// Returns the shape with a new dimension of size 1, as which `dim` counts.
Shape with_dimension(const char* name, const Shape& shape, int dim) {
  require(shape.rank() < Shape::kMaxRank, "[", name, "] a tensor of shape ", shape,
          " has as many dimensions as a tensor can have");
  const int at = dim < 0 ? dim + shape.rank() + 1 : dim;
  require(at >= 0 && at <= shape.rank(), "[", name, "] a result of ", shape.rank() + 1,
          " dimensions has no dimension ", dim);
  Sizes sizes{};
  for (int i = 0; i <= shape.rank(); ++i)
    sizes[static_cast<size_t>(i)] = i == at ? 1 : shape[i < at ? i : i - 1];
  return {sizes.data(), shape.rank() + 1};
}
}  // namespace

Var permute(const Var& x, std::span<const int> order) {
  return moved("permute", x, true,
               [kept = std::vector<int>(order.begin(), order.end())](const View& v) {
                 return StridedView(v).permuted(kept);
               });
}
Var permute(const Var& x, std::initializer_list<int> order) {
  return permute(x, std::span<const int>(order.begin(), order.size()));
}

Var transpose(const Var& x, int first, int second) {
  std::vector<int> order(static_cast<size_t>(x.shape().rank()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<size_t>(dim_of("transpose", x.shape(), first))],
            order[static_cast<size_t>(dim_of("transpose", x.shape(), second))]);
  return permute(x, order);
}

Var slice(const Var& x, int dim, int64_t begin, int64_t end, int64_t step) {
  require(step != 0, "[slice] a step of 0 never ends");
  step = std::max(step, -std::numeric_limits<int64_t>::max());  // so that -step is a number
  const int at = dim_of("slice", x.shape(), dim);
  const int64_t n = x.shape()[at];
  // Python's slice.indices(): a negative step starts at n - 1 and may end before 0, at -1.
  const auto limited = [&](int64_t i) {
    const int64_t from = i < 0 ? std::max<int64_t>(i, -n - 1) + n : std::min(i, n);
    return step > 0 ? std::max<int64_t>(from, 0) : std::clamp<int64_t>(from, -1, n - 1);
  };
  const int64_t first = limited(begin), last = limited(end),
                span = step > 0 ? last - first : first - last,
                count = span <= 0 ? 0 : 1 + (span - 1) / (step > 0 ? step : -step);
  return moved("slice", x, false, [at, first, count, step](const View& v) {
    return StridedView(v).sliced(at, first, count, step);
  });
}

Var select(const Var& x, int dim, int64_t index) {
  const int at = dim_of("select", x.shape(), dim);
  const int64_t n = x.shape()[at];
  require(index >= -n && index < n, "[select] index ", index, " is outside of [", -n, ", ", n,
          ") in dimension ", at, " of x of shape ", x.shape());
  const int64_t from = index < 0 ? index + n : index;
  return squeeze(slice(x, at, from, from + 1), at);
}

Var unsqueeze(const Var& x, int dim) {
  return reshape(contiguous(x), with_dimension("unsqueeze", x.shape(), dim));
}

Var squeeze(const Var& x, int dim) {
  const Shape shape = x.shape();
  const int at = dim_of("squeeze", shape, dim);
  require(shape[at] == 1, "[squeeze] dimension ", at, " of x of shape ", shape,
          " has not size 1: select() takes one of its indices");
  return reshape(contiguous(x), reduced_shape(shape, Dims(at).of("squeeze", shape), false));
}

Var concatenate(std::span<const Var> parts, int dim) {
  require(!parts.empty(), "[concatenate] no tensors to join");
  const Shape first = parts.front().shape();
  const int at = dim_of("concatenate", first, dim);
  Tape& tape = parts.front().tape();
  int64_t n = 0;
  for (const Var& part : parts) {
    const Shape shape = part.shape();
    require(shape.rank() == first.rank() && with_size(shape, at, 0) == with_size(first, at, 0),
            "[concatenate] shapes ", first, " and ", shape, " may differ in dimension ", at,
            " only");
    require(part.dtype() == parts.front().dtype(), "[concatenate] mixes ", parts.front().dtype(),
            " and ", part.dtype());
    n += shape[at];
  }
  const Var y = tape.result("concatenate", with_size(first, at, n), parts.front().dtype(), parts);
  const std::span<const Var> kept = tape.keep(parts);
  // Calls f(part, its place in `whole`).
  const auto each_part = [kept, at](const View& whole, auto&& f) {
    int64_t begin = 0;
    for (const Var& part : kept) {
      const int64_t count = part.shape()[at];
      f(part, StridedView(whole).sliced(at, begin, count));
      begin += count;
    }
  };
  each_part(y.value(), [](const Var& part, const StridedView& place) {
    ops::copy_strided(part.value(), place, false);
  });
  return tape.record(y, [y, each_part] {
    each_part(y.grad_output(), [](const Var& part, const StridedView& place) {
      if (!part.needs_grad()) return;
      const OutputView d = part.grad_input();
      ops::copy_strided(place, d.view, d.add);
    });
  });
}
Var concatenate(std::initializer_list<Var> parts, int dim) {
  return concatenate(std::span<const Var>(parts.begin(), parts.size()), dim);
}

Var stack(std::span<const Var> parts, int dim) {
  require(!parts.empty(), "[stack] no tensors to join");
  const Shape shape = parts.front().shape(), wide = with_dimension("stack", shape, dim);
  std::vector<Var> seen;
  for (const Var& part : parts) {
    require(part.shape() == shape, "[stack] shapes ", shape, " and ", part.shape(), " differ");
    seen.push_back(reshape(contiguous(part), wide));
  }
  return concatenate(seen, dim);
}
Var stack(std::initializer_list<Var> parts, int dim) {
  return stack(std::span<const Var>(parts.begin(), parts.size()), dim);
}

// --- picking elements

namespace {

// Picks along dimension `at` of a contiguous x; see ops::take.
Var taken(const char* name, const Var& x, int at, const Var& ids, bool along, const Shape& shape) {
  Tape& tape = x.tape();
  const Var in = contiguous(x), places = contiguous(ids);
  const Var y = tape.result(name, shape, x.dtype(), {in});
  ops::take(lines(in.value(), at, at + 1), places.value(), along, lines(y.value(), at, at + 1),
            name);
  return tape.record(y, [in, places, along, y, at] {
    if (!in.needs_grad()) return;
    const View dy = lines(y.grad_output(), at, at + 1), dx = in.zeroed_grad_input();
    if (dx.contiguous())
      return ops::take_backward(dy, places.value(), along, lines(dx, at, at + 1));
    const Block packed(in.tape(), dx.shape, dx.dtype);
    ops::fill(packed.view(), 0);
    ops::take_backward(dy, places.value(), along, lines(packed.view(), at, at + 1));
    ops::copy_strided(packed.view(), dx, true);
  });
}

void check_ids(const char* name, const Var& ids) {
  require(ids.dtype() == DType::int32 || ids.dtype() == DType::int64, "[", name,
          "] indices must be int32 or int64, got ", ids.dtype());
}

// Requires that ids has x's shape but for dimension `at`.
void check_along(const char* name, const Var& x, int at, const Var& ids) {
  check_ids(name, ids);
  const Shape shape = x.shape(), of_ids = ids.shape();
  require(shape.rank() == of_ids.rank() && with_size(shape, at, 0) == with_size(of_ids, at, 0), "[",
          name, "] indices of shape ", of_ids, " and a tensor of shape ", shape,
          " may differ in dimension ", at, " only");
}

}  // namespace

Var index_select(const Var& x, int dim, const Var& ids) {
  const int at = dim_of("index_select", x.shape(), dim);
  check_ids("index_select", ids);
  require(ids.shape().rank() == 1, "[index_select] indices must have one dimension, got ",
          ids.shape());
  return taken("index_select", x, at, ids, false, with_size(x.shape(), at, ids.shape()[0]));
}

Var gather(const Var& x, int dim, const Var& ids) {
  const int at = dim_of("gather", x.shape(), dim);
  check_along("gather", x, at, ids);
  return taken("gather", x, at, ids, true, ids.shape());
}

Var scatter_add(const Var& x, int dim, const Var& ids, const Var& source) {
  Tape& tape = x.tape();
  const char* const op = "scatter_add";
  const int at = dim_of(op, x.shape(), dim);
  check_along(op, x, at, ids);
  same_types(op, x, source);
  needs_numbers(op, x);
  require(source.shape() == ids.shape(), "[", op, "] the source has shape ", source.shape(),
          " but its indices have shape ", ids.shape());
  const Var places = contiguous(ids), from = contiguous(source);
  const Var y = tape.result(op, x.shape(), x.dtype(), {x, from});
  ops::copy(x.value(), y.value());
  ops::take_backward(lines(from.value(), at, at + 1), places.value(), true,
                     lines(y.value(), at, at + 1), op);
  return tape.record(y, [x, y, places, from, at] {
    if (x.needs_grad()) ops::scale(1, y.grad_output(), x.grad_input());
    write_gradient(from, [&](const OutputView& d) {
      const View dy = lines(y.grad_output(), at, at + 1);
      if (!d.add) return ops::take(dy, places.value(), true, lines(d.view, at, at + 1));
      const Block picked(y.tape(), d.view.shape, d.view.dtype);
      ops::take(dy, places.value(), true, lines(picked.view(), at, at + 1));
      ops::scale(1, picked.view(), d);
    });
  });
}

Var cumsum(const Var& x, int dim) {
  Tape& tape = x.tape();
  const int at = dim_of("cumsum", x.shape(), dim);
  const Var in = contiguous(ordered("cumsum", x));
  const Var y = tape.result("cumsum", x.shape(), in.dtype(), {in});
  ops::cumsum(lines(in.value(), at, at + 1), false, {lines(y.value(), at, at + 1)});
  return tape.record(y, [in, y, at] {
    write_gradient(in, [&](const OutputView& dx) {
      ops::cumsum(lines(y.grad_output(), at, at + 1), true, {lines(dx.view, at, at + 1), dx.add});
    });
  });
}

namespace {

// Calls f(x) with dimension `dim` as the last one, and moves it back in the result.
template <class F>
Var over_last(const char* name, const Var& x, int dim, F&& f) {
  const int at = dim_of(name, x.shape(), dim);
  return at == x.shape().rank() - 1 ? f(x) : transpose(f(transpose(x, at, -1)), at, -1);
}

Sorted first_of(const char* name, const Var& x, int dim, int64_t k, bool descending) {
  const int at = dim_of(name, x.shape(), dim);
  require(k >= 0 && k <= x.shape()[at], "[", name, "] there are no ", k, " numbers in dimension ",
          at, " of ", x.shape());
  const Var ids = over_last(name, ordered(name, x), at, [&](const Var& last) {
    const Var in = contiguous(last);
    const Shape shape = in.shape(), found = shape.with_cols(k);
    const Var y = x.tape().result(name, found, DType::int64, {});
    ops::sort(in.value().view().reshaped({shape.rows(), shape.cols()}), descending,
              y.value().view().reshaped({found.rows(), found.cols()}));
    return y;
  });
  return {gather(x, at, ids), ids};
}

}  // namespace

Sorted sort(const Var& x, int dim, bool descending) {
  const int at = dim_of("sort", x.shape(), dim);
  return first_of("sort", x, at, x.shape()[at], descending);
}
Sorted topk(const Var& x, int64_t k, int dim, bool largest) {
  return first_of("topk", x, dim, k, largest);
}

Var softmax(const Var& x, int dim) {
  needs_floats("softmax", x);
  return over_last("softmax", x, dim, [](const Var& last) { return softmax(last); });
}
Var log_softmax(const Var& x, int dim) {
  return over_last("log_softmax", x, dim, [](const Var& last) { return log_softmax(last); });
}

}  // namespace nine
