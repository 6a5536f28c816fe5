// Cases of the functions of autograd/arrays.h: broadcasting, reductions, moving, picking and
// sorting elements, batched products. The oracles walk over indices one by one.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>

#include "autograd/arrays.h"
#include "checks/op_case_groups.h"
#include "checks/oracles.h"

namespace nine::checks {
namespace {

using Index = std::array<int64_t, Shape::kMaxRank>;

// Returns the place of an index in row-major order; a dimension of 1 repeats.
size_t place(const Shape& shape, const Index& index) {
  int64_t at = 0;
  for (int i = 0; i < shape.rank(); ++i)
    at = at * shape[i] + (shape[i] == 1 ? 0 : index[index_of(i)]);
  return index_of(at);
}

// Calls f(index, number of the element) for each index of a shape, in row-major order.
template <class F>
void each_index(const Shape& shape, F&& f) {
  Index index{};
  for (int64_t e = 0; e < shape.elements(); ++e) {
    int64_t rest = e;
    for (int i = shape.rank() - 1; i >= 0; --i) {
      index[index_of(i)] = rest % shape[i];
      rest /= shape[i];
    }
    f(index, index_of(e));
  }
}

Doubles filled(const Shape& shape) { return Doubles(index_of(shape.elements())); }

Shape resized(const Shape& shape, int dim, int64_t size) {
  Index sizes{};
  for (int i = 0; i < shape.rank(); ++i) sizes[index_of(i)] = i == dim ? size : shape[i];
  return {sizes.data(), shape.rank()};
}

// --- functions of two numbers

// Holds thresholds that float32 has too. With 1.2, an input that is 1.2 as float32 rounds it would
// be above the threshold in float64 and equal to it in float32.
constexpr double kLow = 1.25, kHigh = 1.375;

// Returns f of both arguments, each broadcast to `shape`.
Doubles broadcast_pairs(const Doubles& a, const Shape& of_a, const Doubles& b, const Shape& of_b,
                        const Shape& shape, double (*f)(double, double)) {
  const auto value = [&](const Doubles& x, const Shape& s, const Index& index) {
    Index own{};
    const int missing = shape.rank() - s.rank();
    for (int i = 0; i < s.rank(); ++i) own[index_of(i)] = index[index_of(i + missing)];
    return x[place(s, own)];
  };
  Doubles y = filled(shape);
  each_index(shape, [&](const Index& index, size_t e) {
    y[e] = f(value(a, of_a, index), value(b, of_b, index));
  });
  return y;
}

void add_binary(std::vector<OpCase>& all, const Shape& left, const Shape& right,
                const Shape& shape) {
  const auto one = [&](const char* name, Var (*f)(const Var&, const Var&),
                       double (*oracle)(double, double)) {
    all.push_back({.name = concat(name, " ", left, " ", right),
                   .inputs = {{left, 0.5, 2}, {right, 0.5, 2}},
                   .run = [f](Vars x, Tensors) { return f(x[0], x[1]); },
                   .oracle =
                       [=](Values x, AllInts) {
                         return broadcast_pairs(x[0], left, x[1], right, shape, oracle);
                       }});
  };
#define NINE_CASE(NAME, VALUE, SLOPE_A, SLOPE_B, TEXT, ORACLE) \
  one(#NAME, NAME, [](double a, double b) -> double { return ORACLE; });
  NINE_FOR_EACH_BINARY(NINE_CASE)
#undef NINE_CASE
  // A comparison by itself has no gradient.
#define NINE_CASE(NAME, VALUE, TEXT)                                                   \
  one(                                                                                 \
      #NAME, [](const Var& a, const Var& b) { return where(NAME(a, b), a * 2.0, b); }, \
      [](double a, double b) -> double { return VALUE ? 2 * a : b; });
  NINE_FOR_EACH_COMPARISON(NINE_CASE)
#undef NINE_CASE
  one(
      "where", [](const Var& a, const Var& b) { return where(greater(a, kLow), b, square(a)); },
      [](double a, double b) { return a > kLow ? b : a * a; });
  one(
      "where with numbers",
      [](const Var& a, const Var& b) {
        return a * where(less(kLow, b), b, 3) + where(less(b, 1), 2, a);
      },
      [](double a, double b) { return a * (b > kLow ? b : 3) + (b < 1 ? 2 : a); });
  one(
      "logical_and",
      [](const Var& a, const Var& b) {
        return where(logical_and(greater(a, kLow), less(b, kHigh)), a * 2.0, b);
      },
      [](double a, double b) { return a > kLow && b < kHigh ? 2 * a : b; });
  one(
      "logical_or",
      [](const Var& a, const Var& b) {
        return where(logical_or(greater(a, kLow), less(b, kHigh)), a * 2.0, b);
      },
      [](double a, double b) { return a > kLow || b < kHigh ? 2 * a : b; });
  one(
      "logical_not",
      [](const Var& a, const Var& b) { return where(logical_not(greater(a, b)), a * 2.0, b); },
      [](double a, double b) { return a > b ? b : 2 * a; });
  one(
      "maximum with numbers",
      [](const Var& a, const Var& b) { return maximum(a, kLow) * pow(2, minimum(1.5, b)); },
      [](double a, double b) { return std::max(a, kLow) * std::pow(2, std::min(1.5, b)); });
  all.push_back({.name = concat("broadcast_to ", left, " to ", shape),
                 .inputs = {{left}},
                 .run = [shape](Vars x, Tensors) { return broadcast_to(x[0], shape); },
                 .oracle =
                     [=](Values x, AllInts) {
                       return broadcast_pairs(x[0], left, x[0], left, shape,
                                              [](double v, double) { return v; });
                     }});
}

// --- reductions

double reduced(std::string_view name, const Doubles& x) {
  const auto n = static_cast<double>(x.size());
  const double sum = std::accumulate(x.begin(), x.end(), 0.0);
  if (name == "sum") return sum;
  if (name == "mean") return sum / n;
  if (name == "max") return *std::max_element(x.begin(), x.end());
  if (name == "min") return *std::min_element(x.begin(), x.end());
  double total = 0;
  for (const double v : x) {
    if (name == "norm") total += v * v;
    if (name == "variance") total += (v - sum / n) * (v - sum / n);
    if (name == "logsumexp") total += std::exp(v);
  }
  if (name == "norm") return std::sqrt(total);
  if (name == "variance") return total / n;
  if (name == "logsumexp") return std::log(total);
  fail("checks/array_op_cases.cpp has no oracle of the reduction ", name);
}

void add_reductions(std::vector<OpCase>& all, const Shape& shape, const std::vector<int>& dims,
                    bool keepdim) {
  std::vector<bool> named(index_of(shape.rank()));
  for (const int dim : dims) named[index_of(dim < 0 ? dim + shape.rank() : dim)] = true;
  Shape kept = shape;
  for (int i = 0; i < shape.rank(); ++i)
    if (named[index_of(i)]) kept = resized(kept, i, 1);
  const auto add = [&](const char* name, Var (*f)(const Var&, const Dims&, bool)) {
    std::string text;
    for (const int dim : dims) text += concat(" ", dim);
    all.push_back(
        {.name = concat(name, " ", shape, " over", text, keepdim ? " kept" : ""),
         .inputs = {{shape, -2, 2}},
         .run = [=](Vars x, Tensors) { return f(x[0], Dims(std::span<const int>(dims)), keepdim); },
         .oracle =
             [=, name = std::string(name)](Values x, AllInts) {
               std::vector<Doubles> groups(index_of(kept.elements()));
               each_index(shape, [&](const Index& index, size_t e) {
                 groups[place(kept, index)].push_back(x[0][e]);
               });
               Doubles y;
               for (const Doubles& group : groups) y.push_back(reduced(name, group));
               return y;
             }});
  };
#define NINE_CASE(NAME, ...) \
  add(#NAME, [](const Var& x, const Dims& d, bool keep) { return NAME(x, d, keep); });
  NINE_FOR_EACH_REDUCTION(NINE_CASE, NINE_CASE)
#undef NINE_CASE
}

void add_all_reductions(std::vector<OpCase>& all) {
  // Functions of all elements, also of so many that threads share them; the correction of a
  // variance; numbers made of a comparison.
  all.push_back({.name = "mean of 40,000 squares",
                 .inputs = {{{200, 200}}},
                 .run = [](Vars x, Tensors) { return mean(square(x[0]), Dims::all(), true); },
                 .oracle =
                     [](Values x, AllInts) {
                       return Doubles{reduced("mean", each(x[0], [](double v) { return v * v; }))};
                     }});
  all.push_back(
      {.name = "cast of a comparison",
       .inputs = {{{4, 5}}},
       .run = [](Vars x, Tensors) { return x[0] * cast(greater(x[0], 0), x[0].dtype()); },
       .oracle = [](Values x,
                    AllInts) { return each(x[0], [](double v) { return v > 0 ? v : 0; }); }});
  all.push_back({.name = "max of all",
                 .inputs = {{{4, 5}}},
                 .run = [](Vars x, Tensors) { return max(x[0]); },
                 .oracle = [](Values x, AllInts) { return Doubles{reduced("max", x[0])}; }});
  all.push_back(
      {.name = "variance with correction",
       .inputs = {{{4, 5}}},
       .run = [](Vars x, Tensors) { return variance(x[0], Dims::all(), false, 1); },
       .oracle = [](Values x, AllInts) { return Doubles{reduced("variance", x[0]) * 20 / 19}; }});
}

// --- any and all

void add_logic(std::vector<OpCase>& all, const Shape& shape, int dim) {
  for (const bool every : {false, true})
    all.push_back({.name = concat(every ? "all " : "any ", shape, " over ", dim),
                   .inputs = {{shape, -1, 2}},
                   .run =
                       [=](Vars x, Tensors) {
                         const Var low = less(x[0], every ? kHigh : 0);
                         return where(every ? nine::all(low, dim, true) : any(low, dim, true),
                                      square(x[0]), x[0]);
                       },
                   .oracle =
                       [=](Values x, AllInts) {
                         const Shape kept = resized(shape, dim, 1);
                         std::vector<int64_t> low(index_of(kept.elements()));
                         each_index(shape, [&](const Index& index, size_t e) {
                           low[place(kept, index)] += x[0][e] < (every ? kHigh : 0) ? 1 : 0;
                         });
                         Doubles y = x[0];
                         each_index(shape, [&](const Index& index, size_t e) {
                           const int64_t count = low[place(kept, index)];
                           if (every ? count == shape[dim] : count > 0) y[e] *= y[e];
                         });
                         return y;
                       }});
}

// --- indices of the largest and the smallest

void add_arg(std::vector<OpCase>& all, const Shape& shape, int dim) {
  for (const bool largest : {true, false})
    all.push_back({.name = concat(largest ? "argmax " : "argmin ", shape, " over ", dim),
                   .inputs = {{shape}},
                   .run =
                       [=](Vars x, Tensors) {
                         return gather(square(x[0]), dim,
                                       largest ? argmax(x[0], dim, true) : argmin(x[0], dim, true));
                       },
                   .oracle =
                       [=](Values x, AllInts) {
                         const Shape kept = resized(shape, dim, 1);
                         Doubles best(index_of(kept.elements()), largest ? -HUGE_VAL : HUGE_VAL);
                         each_index(shape, [&](const Index& index, size_t e) {
                           double& b = best[place(kept, index)];
                           b = largest ? std::max(b, x[0][e]) : std::min(b, x[0][e]);
                         });
                         return each(best, [](double v) { return v * v; });
                       }});
}

// --- moving

void add_moves(std::vector<OpCase>& all, const Shape& shape, const std::vector<int>& order) {
  all.push_back({.name = concat("permute ", shape),
                 .inputs = {{shape}},
                 .run = [=](Vars x, Tensors) { return permute(x[0], order); },
                 .oracle =
                     [=](Values x, AllInts) {
                       Index sizes{};
                       for (size_t i = 0; i < order.size(); ++i) sizes[i] = shape[order[i]];
                       const Shape moved(sizes.data(), shape.rank());
                       Doubles y = filled(moved);
                       each_index(moved, [&](const Index& index, size_t e) {
                         Index from{};
                         for (size_t i = 0; i < order.size(); ++i)
                           from[index_of(order[i])] = index[i];
                         y[e] = x[0][place(shape, from)];
                       });
                       return y;
                     }});
}

void add_slice(std::vector<OpCase>& all, const Shape& shape, int dim, int64_t begin, int64_t end,
               int64_t step, const std::vector<int64_t>& kept) {
  const auto picked = [=](const std::vector<int64_t>& places) {
    return [=](Values x, AllInts) {
      const Shape cut = resized(shape, dim, std::ssize(places));
      Doubles y = filled(cut);
      each_index(cut, [&](Index index, size_t e) {
        index[index_of(dim)] = places[index_of(index[index_of(dim)])];
        y[e] = x[0][place(shape, index)];
      });
      return y;
    };
  };
  all.push_back({.name = concat("slice ", shape, " of ", dim, " ", begin, ":", end, ":", step),
                 .inputs = {{shape}},
                 .run = [=](Vars x, Tensors) { return slice(x[0], dim, begin, end, step); },
                 .oracle = picked(kept)});
  const int64_t first = kept.front();
  all.push_back({.name = concat("select ", shape, " of ", dim, " ", first),
                 .inputs = {{shape}},
                 .run = [=](Vars x, Tensors) { return unsqueeze(select(x[0], dim, first), dim); },
                 .oracle = picked({first})});
}

void add_joins(std::vector<OpCase>& all) {
  const auto same = [](Values x, AllInts) { return x[0]; };
  all.push_back({.name = "unsqueeze (3, 2) at 1",
                 .inputs = {{{3, 2}}},
                 .run = [](Vars x, Tensors) { return unsqueeze(x[0], 1); },
                 .oracle = same});
  all.push_back({.name = "squeeze (3, 1, 2) of 1",
                 .inputs = {{{3, 1, 2}}},
                 .run = [](Vars x, Tensors) { return squeeze(x[0], 1); },
                 .oracle = same});
  // The sign has the slope 0, so that differences do not see whether it is detached.
  all.push_back(
      {.name = "detach (3, 2)",
       .inputs = {{{3, 2}}},
       .run = [](Vars x, Tensors) { return x[0] * detach(sign(x[0])); },
       .oracle = [](Values x,
                    AllInts) { return each(x[0], [](double v) { return std::abs(v); }); }});
  all.push_back({.name = "concatenate (3, 2) (3, 4) (3, 2) along 1",
                 .inputs = {{{3, 2}}, {{3, 4}}},
                 .run =
                     [](Vars x, Tensors) {
                       return concatenate({x[0], x[1], x[0]}, 1);
                     },
                 .oracle =
                     [](Values x, AllInts) {
                       Doubles y;
                       for (size_t r = 0; r < 3; ++r) {
                         y.insert(y.end(), &x[0][r * 2], &x[0][r * 2] + 2);
                         y.insert(y.end(), &x[1][r * 4], &x[1][r * 4] + 4);
                         y.insert(y.end(), &x[0][r * 2], &x[0][r * 2] + 2);
                       }
                       return y;
                     }});
  for (const int dim : {0, 1, -1})
    all.push_back({.name = concat("stack (3, 2) at ", dim),
                   .inputs = {{{3, 2}}, {{3, 2}}},
                   .run =
                       [dim](Vars x, Tensors) {
                         return stack({x[0], x[1]}, dim);
                       },
                   .oracle =
                       [dim](Values x, AllInts) {
                         Doubles y;
                         if (dim == 0) {
                           y = x[0];
                           y.insert(y.end(), x[1].begin(), x[1].end());
                           return y;
                         }
                         for (size_t r = 0; r < 3; ++r) {
                           if (dim == 1) {
                             for (const Doubles& part : x)
                               y.insert(y.end(), &part[r * 2], &part[r * 2] + 2);
                           } else {
                             for (size_t c = 0; c < 2; ++c)
                               for (const Doubles& part : x) y.push_back(part[r * 2 + c]);
                           }
                         }
                         return y;
                       }});
  all.push_back({.name = "transpose (3, 4)",
                 .inputs = {{{3, 4}}},
                 .run = [](Vars x, Tensors) { return transpose(x[0]); },
                 .oracle =
                     [](Values x, AllInts) {
                       Doubles y;
                       for (size_t c = 0; c < 4; ++c)
                         for (size_t r = 0; r < 3; ++r) y.push_back(x[0][r * 4 + c]);
                       return y;
                     }});
}

// --- picking

void add_picks(std::vector<OpCase>& all, const Shape& shape, int dim, int64_t count) {
  const auto n = static_cast<int32_t>(shape[dim]);
  const Shape picked = resized(shape, dim, count);
  const auto constant = [](const Var& x, const Tensor& ids) { return x.tape().constant(ids); };
  const auto wrapped = [n](int32_t id) { return id < 0 ? id + n : id; };
  all.push_back(
      {.name = concat("index_select ", shape, " of ", dim),
       .inputs = {{shape}},
       .indices = {{{count}, -n, n}},
       .run = [=](Vars x, Tensors i) { return index_select(x[0], dim, constant(x[0], i[0])); },
       .oracle =
           [=](Values x, AllInts i) {
             Doubles y = filled(picked);
             each_index(picked, [&](Index index, size_t e) {
               int64_t& at = index[index_of(dim)];
               at = wrapped(i[0][index_of(at)]);
               y[e] = x[0][place(shape, index)];
             });
             return y;
           }});
  all.push_back({.name = concat("gather ", shape, " of ", dim),
                 .inputs = {{shape}},
                 .indices = {{picked, -n, n}},
                 .run = [=](Vars x, Tensors i) { return gather(x[0], dim, constant(x[0], i[0])); },
                 .oracle =
                     [=](Values x, AllInts i) {
                       Doubles y = filled(picked);
                       each_index(picked, [&](Index index, size_t e) {
                         index[index_of(dim)] = wrapped(i[0][e]);
                         y[e] = x[0][place(shape, index)];
                       });
                       return y;
                     }});
  all.push_back(
      {.name = concat("scatter_add ", shape, " of ", dim),
       .inputs = {{shape}, {picked}},
       .indices = {{picked, -n, n}},
       .run = [=](Vars x, Tensors i) { return scatter_add(x[0], dim, constant(x[0], i[0]), x[1]); },
       .oracle =
           [=](Values x, AllInts i) {
             Doubles y = x[0];
             each_index(picked, [&](Index index, size_t e) {
               index[index_of(dim)] = wrapped(i[0][e]);
               y[place(shape, index)] += x[1][e];
             });
             return y;
           }});
}

// --- functions of the lines along a dimension

template <class F>
Doubles by_lines(const Doubles& x, const Shape& shape, int dim, int64_t count, F&& f) {
  const Shape result = resized(shape, dim, count), one = resized(shape, dim, 1);
  std::vector<Doubles> lines(index_of(one.elements()));
  each_index(shape,
             [&](const Index& index, size_t e) { lines[place(one, index)].push_back(x[e]); });
  for (Doubles& line : lines) f(line);
  Doubles y = filled(result);
  each_index(result, [&](const Index& index, size_t e) {
    y[e] = lines[place(one, index)][index_of(index[index_of(dim)])];
  });
  return y;
}

void add_lines(std::vector<OpCase>& all, const Shape& shape, int dim) {
  const auto add = [&](const std::string& name, int64_t count,
                       const std::function<Var(const Var&)>& f,
                       const std::function<void(Doubles&)>& oracle) {
    all.push_back(
        {.name = concat(name, " ", shape, " of ", dim),
         .inputs = {{shape, -2, 2}},
         .run = [f](Vars x, Tensors) { return f(x[0]); },
         .oracle = [=](Values x, AllInts) { return by_lines(x[0], shape, dim, count, oracle); }});
  };
  const int64_t n = shape[dim], k = (n + 1) / 2;
  add(
      "cumsum", n, [dim](const Var& x) { return cumsum(x, dim); },
      [](Doubles& line) { std::partial_sum(line.begin(), line.end(), line.begin()); });
  add(
      "sort", n, [dim](const Var& x) { return sort(x, dim).values; },
      [](Doubles& line) { std::sort(line.begin(), line.end()); });
  add(
      "sort descending", n, [dim](const Var& x) { return sort(x, dim, true).values; },
      [](Doubles& line) { std::sort(line.begin(), line.end(), std::greater<>()); });
  add(
      "topk", k, [=](const Var& x) { return topk(x, k, dim).values; },
      [](Doubles& line) { std::sort(line.begin(), line.end(), std::greater<>()); });
  add(
      "topk smallest", k, [=](const Var& x) { return topk(x, k, dim, false).values; },
      [](Doubles& line) { std::sort(line.begin(), line.end()); });
  const auto softmax_of = [](Doubles& line) {
    double total = 0;
    for (double& v : line) total += v = std::exp(v);
    for (double& v : line) v /= total;
  };
  add(
      "softmax", n, [dim](const Var& x) { return softmax(x, dim); }, softmax_of);
  add(
      "log_softmax", n, [dim](const Var& x) { return log_softmax(x, dim); },
      [softmax_of](Doubles& line) {
        softmax_of(line);
        for (double& v : line) v = std::log(v);
      });
}

// --- products

// y[out] = sum over the other letters of the product of the tensors' elements.
void add_einsum(std::vector<OpCase>& all, const std::string& function, const std::string& letters,
                const std::vector<Shape>& shapes, const std::function<Var(Vars)>& run) {
  std::vector<Input> inputs;
  for (const Shape& s : shapes) inputs.push_back({s});
  const std::string in = letters.substr(0, letters.find("->")),
                    out = letters.substr(letters.find("->") + 2);
  all.push_back({.name = concat(function, " ", letters),
                 .inputs = inputs,
                 .run = [run](Vars x, Tensors) { return run(x); },
                 .oracle =
                     [=](Values x, AllInts) {
                       std::string names;
                       Index sizes{};
                       std::vector<std::string> parts(1);
                       for (const char c : in) {
                         if (c == ',') {
                           parts.emplace_back();
                           continue;
                         }
                         parts.back() += c;
                         const Shape& s = shapes[parts.size() - 1];
                         if (names.find(c) == std::string::npos) names += c;
                         int64_t& size = sizes[names.find(c)];
                         size = std::max(size, s[static_cast<int>(parts.back().size()) - 1]);
                       }
                       const auto shape_of = [&](const std::string& some) {
                         Index own{};
                         for (size_t i = 0; i < some.size(); ++i)
                           own[i] = sizes[names.find(some[i])];
                         return Shape(own.data(), static_cast<int>(some.size()));
                       };
                       const auto pick = [&](const std::string& some, const Index& index) {
                         Index own{};
                         for (size_t i = 0; i < some.size(); ++i)
                           own[i] = index[names.find(some[i])];
                         return own;
                       };
                       const Shape result = shape_of(out);
                       Doubles y = filled(result);
                       each_index(shape_of(names), [&](const Index& index, size_t) {
                         double product = 1;
                         for (size_t t = 0; t < parts.size(); ++t)
                           product *= x[t][place(shapes[t], pick(parts[t], index))];
                         y[place(result, pick(out, index))] += product;
                       });
                       return y;
                     }});
}

void add_products(std::vector<OpCase>& all) {
  const auto matmul_of = [](Vars x) { return batched_matmul(x[0], x[1]); };
  add_einsum(all, "batched_matmul", "bmk,bkn->bmn", {{3, 4, 5}, {3, 5, 2}}, matmul_of);
  add_einsum(all, "batched_matmul", "abmk,abkn->abmn", {{2, 3, 4, 5}, {2, 3, 5, 2}}, matmul_of);
  add_einsum(all, "batched_matmul", "abmk,abkn->abmn", {{2, 1, 4, 5}, {1, 3, 5, 2}}, matmul_of);
  add_einsum(all, "batched_matmul", "bmk,kn->bmn", {{3, 4, 5}, {5, 2}}, matmul_of);
  add_einsum(all, "batched_matmul", "mk,bkn->bmn", {{4, 5}, {3, 5, 2}}, matmul_of);
  add_einsum(all, "batched_matmul", "k,k->", {{5}, {5}}, matmul_of);
  add_einsum(all, "batched_matmul", "k,kn->n", {{5}, {5, 2}}, matmul_of);
  add_einsum(all, "batched_matmul", "k,bkn->bn", {{5}, {3, 5, 2}}, matmul_of);
  add_einsum(all, "batched_matmul", "bmk,k->bm", {{3, 4, 5}, {5}}, matmul_of);
  const auto add = [&](const std::string& letters, const std::vector<Shape>& shapes) {
    add_einsum(all, "einsum", letters, shapes, [=](Vars x) {
      return shapes.size() == 1 ? einsum(letters, {x[0]}) : einsum(letters, {x[0], x[1]});
    });
  };
  add("ij->ji", {{3, 4}});
  add("ijk->j", {{3, 4, 2}});
  add("ij,jk->ik", {{3, 4}, {4, 2}});
  add("ij,ik->jk", {{4, 3}, {4, 2}});
  add("bhqd,bhkd->bhqk", {{2, 3, 4, 5}, {2, 3, 2, 5}});
  add("bqhd,bkhd->hbqk", {{2, 4, 3, 5}, {2, 2, 3, 5}});
  add("i,j->ij", {{3}, {4}});
  add("ijl,jk->k", {{3, 4, 2}, {4, 5}});
  add("i,i->", {{4}, {4}});
}

}  // namespace

void add_array_cases(std::vector<OpCase>& all) {
  add_binary(all, {3, 1}, {3, 5}, {3, 5});
  add_binary(all, {3, 1}, {1, 4}, {3, 4});
  add_binary(all, {2, 1, 4}, {3, 1}, {2, 3, 4});
  add_binary(all, {2, 1, 2, 1, 2, 1}, {3, 1, 2, 1, 3}, {2, 3, 2, 2, 2, 3});
  add_binary(all, {}, {1, 1}, {1, 1});
  add_binary(all, {70, 1}, {70, 301}, {70, 301});
  const std::vector<std::pair<Shape, std::vector<int>>> reductions{
      {{7}, {0}},       {{4, 5}, {0}},       {{4, 5}, {-1}},         {{4, 5}, {0, 1}},
      {{3, 4, 5}, {1}}, {{3, 4, 5}, {0, 2}}, {{2, 3, 4, 5}, {1, 2}}, {{2, 3, 2, 2, 3, 2}, {1, -2}},
      {{67, 301}, {0}}, {{67, 301}, {1}}};
  for (const auto& [shape, dims] : reductions)
    for (const bool keepdim : {false, true}) add_reductions(all, shape, dims, keepdim);
  add_all_reductions(all);
  for (const auto& [shape, dim] : std::vector<std::pair<Shape, int>>{
           {{7}, 0}, {{4, 5}, 0}, {{4, 5}, 1}, {{3, 4, 5}, 1}, {{40, 70}, 0}, {{3, 300}, 1}}) {
    add_arg(all, shape, dim);
    add_logic(all, shape, dim);
    add_lines(all, shape, dim);
    add_picks(all, shape, dim, 3);
  }
  add_moves(all, {3, 4}, {1, 0});
  add_moves(all, {2, 3, 4}, {2, 0, 1});
  add_moves(all, {2, 3, 2, 2, 3, 2}, {5, 1, 3, 0, 4, 2});
  add_moves(all, {40, 70}, {1, 0});
  add_slice(all, {7}, 0, 1, 6, 2, {1, 3, 5});
  add_slice(all, {7, 2}, 0, -3, 100, 1, {4, 5, 6});
  add_slice(all, {2, 7}, 1, 6, 0, -2, {6, 4, 2});
  add_slice(all, {2, 7, 3}, 1, -1, -8, -3, {6, 3, 0});
  add_joins(all);
  add_products(all);
  // For the benchmark: sizes at which a GPU and several threads have enough to do.
  const size_t first = all.size();
  const Shape large{1000, 1000};
  add_binary(all, {1000, 1}, {1, 1000}, large);
  for (const int dim : {0, 1}) {
    add_reductions(all, large, {dim}, false);
    add_arg(all, large, dim);
    add_lines(all, large, dim);
    add_picks(all, large, dim, 500);
  }
  add_moves(all, {100, 100, 100}, {2, 0, 1});
  add_slice(all, large, 1, 1, 4, 2, {1, 3});
  add_einsum(all, "batched_matmul", "bmk,bkn->bmn", {{64, 128, 64}, {64, 64, 128}},
             [](Vars x) { return batched_matmul(x[0], x[1]); });
  for (size_t i = first; i < all.size(); ++i) all[i].bench = true;
}

void add_random_array_cases(std::vector<OpCase>& all, RandomSize& n) {
  const int64_t a = n(), b = n(), c = n();
  add_binary(all, {a, 1, c}, {b, 1}, {a, b, c});
  add_reductions(all, {n(), n(), n()}, {0, 2}, false);
  add_reductions(all, {n(), n(), n()}, {1}, true);
  add_all_reductions(all);
  const Shape shape{n(), n(), n()};
  add_arg(all, shape, 1);
  add_logic(all, shape, 1);
  add_lines(all, shape, 1);
  add_picks(all, shape, 1, n());
  add_moves(all, shape, {2, 0, 1});
  add_slice(all, {n() + 4, n()}, 0, 1, 4, 2, {1, 3});
  add_joins(all);
  add_products(all);
}

}  // namespace nine::checks
