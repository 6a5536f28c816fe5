// Differentiable functions of arrays with NumPy's rules: reductions over chosen dimensions,
// comparisons, joining, cutting, moving, picking and sorting. docs/library.md lists them beside
// NumPy's names. Conventions are those of autograd/functions.h; a dimension counts from the end if
// it is negative. Numbers are float32 or float64 unless a comment says otherwise.
//
//   Var y = x - mean(x, -1, true);                    // each row minus its mean
//   Var accuracy = mean(cast(equal(argmax(x, -1), labels), DType::float32));
#pragma once

#include <concepts>
#include <string_view>

#include "autograd/functions.h"

namespace nine {

/// The dimensions that a reduction is over.
class Dims {
 public:
  Dims(int dim) : Dims({dim}) {}  // NOLINT: mean(x, -1)
  Dims(std::initializer_list<int> dims) : Dims(std::span<const int>(dims.begin(), dims.size())) {}
  explicit Dims(std::span<const int> dims) : dims_(dims.begin(), dims.end()) {}
  /// Returns all dimensions of any tensor.
  static Dims all() {
    Dims d({});
    d.all_ = true;
    return d;
  }
  /// Returns for each dimension of `shape` whether it is named. Errors: no such dimension; a
  /// dimension is named twice. The message begins with "[op]".
  std::vector<bool> of(const char* op, const Shape& shape) const;

 private:
  std::vector<int> dims_;
  bool all_ = false;
};

// Reductions: the lines of NINE_FOR_EACH_REDUCTION, which say what each function computes: Var
// sum(const Var& x, const Dims& dims, bool keepdim = false), mean, max, min, norm, variance,
// logsumexp. variance has one more argument, correction = 0. The result lacks the named dimensions;
// with `keepdim` these dimensions stay and have size 1. Without `dims` all elements are reduced to
// a scalar. Sums are in double. Of integers and bool, sum() is an exact int64 that wraps around,
// mean() is float64, and max() and min() keep the type; the others take float types only. Error:
// max, min or logsumexp of no numbers.
#define NINE_DECLARE(NAME, ...)                                   \
  Var NAME(const Var& x, const Dims& dims, bool keepdim = false); \
  template <std::same_as<Var> V>                                  \
  Var NAME(const V& x) {                                          \
    return NAME(x, Dims::all());                                  \
  }
#define NINE_DECLARE_1(NAME, P, P_DEFAULT, ...)                                       \
  Var NAME(const Var& x, const Dims& dims, bool keepdim = false, double P P_DEFAULT); \
  template <std::same_as<Var> V>                                                      \
  Var NAME(const V& x) {                                                              \
    return NAME(x, Dims::all());                                                      \
  }
NINE_FOR_EACH_REDUCTION(NINE_DECLARE, NINE_DECLARE_1)
#undef NINE_DECLARE
#undef NINE_DECLARE_1

// Comparisons by elements, with broadcasting: the lines of NINE_FOR_EACH_COMPARISON: Var
// equal(const Var& a, const Var& b), not_equal, less, less_equal, greater, greater_equal. a and b
// have one type, any but bfloat16; one may be a Number. The result is bool and has no gradient.
#define NINE_DECLARE(NAME, ...)         \
  Var NAME(const Var& a, const Var& b); \
  Var NAME(const Var& a, Number b);     \
  Var NAME(Number a, const Var& b);
NINE_FOR_EACH_COMPARISON(NINE_DECLARE)
#undef NINE_DECLARE
/// Returns a where `condition` (bool) is true, and b elsewhere, with broadcasting; a and b have any
/// one type. The gradient of an element goes to the argument that it was taken from.
Var where(const Var& condition, const Var& a, const Var& b);
Var where(const Var& condition, const Var& a, Number b);
Var where(const Var& condition, Number a, const Var& b);

// Logic by elements, with broadcasting, for bool. The result is bool. A comparison makes a bool
// tensor of numbers: not_equal(x, 0).
Var logical_and(const Var& a, const Var& b);
Var logical_or(const Var& a, const Var& b);
Var logical_not(const Var& x);
inline Var operator&(const Var& a, const Var& b) { return logical_and(a, b); }
inline Var operator|(const Var& a, const Var& b) { return logical_or(a, b); }
inline Var operator~(const Var& x) { return logical_not(x); }
// Without these lines, `x * !mask` would ask whether `mask` is an empty Var.
bool operator!(const Var& x) = delete;                 // ~x, or `if (x)`
bool operator&&(const Var& a, const Var& b) = delete;  // a & b
bool operator||(const Var& a, const Var& b) = delete;  // a | b
/// Returns whether an element is true: bool. x is bool. False for no elements.
Var any(const Var& x, const Dims& dims = Dims::all(), bool keepdim = false);
/// Returns whether all elements are true: bool. x is bool. True for no elements.
Var all(const Var& x, const Dims& dims = Dims::all(), bool keepdim = false);

/// Returns the index of the first largest number along `dim`, or of the first NaN; int64, without a
/// gradient. x may be of integers or bool. argmin likewise finds the smallest number. Error: the
/// dimension has no elements.
Var argmax(const Var& x, int dim, bool keepdim = false);
Var argmin(const Var& x, int dim, bool keepdim = false);

// Moving elements. The results are contiguous copies; all types.

/// Returns x with its dimensions in another order: dimension i of y is dimension order[i] of x.
/// Error: `order` does not name each dimension once.
Var permute(const Var& x, std::span<const int> order);
Var permute(const Var& x, std::initializer_list<int> order);
/// Exchanges two dimensions.
Var transpose(const Var& x, int first = -2, int second = -1);
/// Returns x[..., begin:end:step, ...] of dimension `dim` by Python's rules. `begin` and `end`
/// count from the end of the dimension if they are negative, and are cut to the dimension if they
/// lie beyond it. `step` may be negative. Error: step is 0.
Var slice(const Var& x, int dim, int64_t begin, int64_t end, int64_t step = 1);
/// Returns x[..., index, ...] of dimension `dim`, without this dimension. Error: an index outside
/// of [-n, n) for a dimension of n.
Var select(const Var& x, int dim, int64_t index);
/// Returns x with a new dimension `dim` of size 1: numpy.expand_dims. Shares x's memory, unless x
/// has gaps between its rows. Error: six dimensions already.
Var unsqueeze(const Var& x, int dim);
/// Returns x without dimension `dim`. Shares memory as unsqueeze(). Error: its size is not 1.
Var squeeze(const Var& x, int dim);
/// Joins tensors along `dim`. Errors: no tensors; other dimensions or types differ.
Var concatenate(std::span<const Var> parts, int dim);
Var concatenate(std::initializer_list<Var> parts, int dim);
/// Joins tensors of one shape along a new dimension `dim` of the result. Errors: as concatenate();
/// six dimensions already.
Var stack(std::span<const Var> parts, int dim = 0);
Var stack(std::initializer_list<Var> parts, int dim = 0);

// Picking elements. Indices are int32 or int64; -1 is the last. index_select() and gather() take x
// of any type. Error: an index outside of [-n, n) for a dimension of n.

/// Returns y[..., j, ...] = x[..., ids[j], ...] in dimension `dim`: ids (m), numpy.take.
Var index_select(const Var& x, int dim, const Var& ids);
/// Returns y[..., j, ...] = x[..., ids[..., j, ...], ...] in dimension `dim`:
/// numpy.take_along_axis, torch.gather. ids and y have the shape of x, but any size in dimension
/// `dim`.
Var gather(const Var& x, int dim, const Var& ids);
/// Returns x after adding source[..., j, ...] to element [..., ids[..., j, ...], ...]. ids and
/// source have one shape: that of x, but any size in dimension `dim`. x and source have one type,
/// which may be int32 or int64. dsource = gather(dy, dim, ids).
Var scatter_add(const Var& x, int dim, const Var& ids, const Var& source);

/// Computes cumulative sums along `dim`, in double; int64 for integers and bool.
Var cumsum(const Var& x, int dim);
/// Values in order, and where each stood in x (int64).
struct Sorted {
  Var values, ids;
};
/// Sorts along `dim`. Equal numbers keep their order, and NaN counts as the largest number. The
/// gradient of a value goes to its place in x. sort() and topk() also take integers and bool.
Sorted sort(const Var& x, int dim = -1, bool descending = false);
/// Returns the k largest numbers along `dim`, the largest first, or the k smallest, the smallest
/// first. Error: k is more than the dimension has.
Sorted topk(const Var& x, int64_t k, int dim = -1, bool largest = true);

/// Softmax and log_softmax over dimension `dim`.
Var softmax(const Var& x, int dim);
Var log_softmax(const Var& x, int dim);

/// Computes the matrix products of the last two dimensions, numpy.matmul: a (..., m, k), b (..., k,
/// n), y (..., m, n). The other dimensions are broadcast. A vector a counts as (1, k), and a vector
/// b as (k, 1); y then lacks the dimension of size 1. Errors: a scalar; the inner dimensions
/// differ.
Var batched_matmul(const Var& a, const Var& b);
/// Computes numpy.einsum of one or two tensors: "ij,jk->ik" is the matrix product. Without "->" the
/// result has the letters that stand once, in alphabetical order. The result has at most six
/// letters. Errors: more tensors; "..."; a letter that stands twice in one tensor; letters that do
/// not fit the shapes.
Var einsum(std::string_view letters, std::initializer_list<Var> tensors);

}  // namespace nine
