#include <algorithm>
#include <string>

#include "autograd/array_parts.h"
#include "autograd/arrays.h"
#include "autograd/broadcast.h"
#include "core/quote.h"

namespace nine {

namespace {

// Computes the products of a (batch, m, k) and b (batch, k, n).
Var products(const Var& left, const Var& right) {
  Tape& tape = left.tape();
  const Var a = contiguous(left), b = contiguous(right);
  const Shape of_a = a.shape(), of_b = b.shape();
  const int64_t batch = of_a[0];
  const Var y = tape.result("batched_matmul", {batch, of_a[1], of_b[2]}, a.dtype(), {a, b});
  const auto matrix = [](const View& v, int64_t i) {
    return v.reshaped({v.shape[0] * v.shape[1], v.shape[2]}).row_range(i * v.shape[1], v.shape[1]);
  };
  for (int64_t i = 0; i < batch; ++i)
    ops::matmul(matrix(a.value(), i), false, matrix(b.value(), i), false, {matrix(y.value(), i)});
  return tape.record(y, [a, b, y, batch, matrix] {
    const View dy = y.grad_output();
    write_gradient(a, [&](const OutputView& da) {
      for (int64_t i = 0; i < batch; ++i)
        ops::matmul(matrix(dy, i), false, matrix(b.value(), i), true, {matrix(da.view, i), da.add});
    });
    write_gradient(b, [&](const OutputView& db) {
      for (int64_t i = 0; i < batch; ++i)
        ops::matmul(matrix(a.value(), i), true, matrix(dy, i), false, {matrix(db.view, i), db.add});
    });
  });
}

// Returns a shape of the first dimensions of `batch` and two more.
Shape joined_shape(const Shape& batch, int64_t rows, int64_t cols) {
  Sizes sizes = sizes_of(batch);
  const int rank = batch.rank();
  require(rank + 2 <= Shape::kMaxRank,
          "[batched_matmul] the result has too many dimensions: ", rank + 2);
  sizes[static_cast<size_t>(rank)] = rows;
  sizes[static_cast<size_t>(rank) + 1] = cols;
  return {sizes.data(), rank + 2};
}

// Returns the dimensions of `shape` but the last two.
Shape batch_of(const Shape& shape) {
  const Sizes sizes = sizes_of(shape);
  return {sizes.data(), shape.rank() - 2};
}

}  // namespace

Var batched_matmul(const Var& a, const Var& b) {
  const char* const op = "batched_matmul";
  require(a.shape().rank() > 0 && b.shape().rank() > 0, "[", op,
          "] multiplies matrices and vectors, not ", a.shape(), " and ", b.shape());
  same_types(op, a, b);
  needs_floats(op, a);
  if (a.shape().rank() == 1) {
    const Var y = batched_matmul(reshape(a, {1, a.shape()[0]}), b);
    const int dim = y.shape().rank() - (b.shape().rank() == 1 ? 1 : 2);  // of a's single row
    Sizes sizes = sizes_of(y.shape());
    std::copy(sizes.begin() + dim + 1, sizes.end(), sizes.begin() + dim);
    return reshape(y, Shape(sizes.data(), y.shape().rank() - 1));
  }
  if (b.shape().rank() == 1) {
    const Var y = batched_matmul(a, reshape(b, {b.shape()[0], 1}));
    const Sizes sizes = sizes_of(y.shape());
    return reshape(y, Shape(sizes.data(), y.shape().rank() - 1));
  }
  const Shape of_a = a.shape(), of_b = b.shape();
  const int64_t m = of_a[-2], k = of_a[-1], n = of_b[-1];
  require(of_b[-2] == k, "[", op, "] the inner dimensions differ: ", of_a, " x ", of_b);
  if (of_b.rank() == 2) {  // all matrices of a in one product
    const Var y = matmul(contiguous(a), b);
    return reshape(y, joined_shape(batch_of(of_a), m, n));
  }
  const Shape batch = broadcast_shape(op, batch_of(of_a), batch_of(of_b));
  const Var left = broadcast_to(a, joined_shape(batch, m, k)),
            right = broadcast_to(b, joined_shape(batch, k, n));
  const int64_t count = batch.elements();
  const Var y =
      products(reshape(contiguous(left), {count, m, k}), reshape(contiguous(right), {count, k, n}));
  return reshape(y, joined_shape(batch, m, n));
}

namespace {

// Returns a tensor whose letters are those of `wanted` in that order; letters that are not wanted
// are summed over, and each wanted letter that is missing is a dimension of 1.
Var arranged(const Var& x, const std::string& letters, const std::string& wanted) {
  std::vector<int> unused, order;
  std::string kept;
  for (size_t i = 0; i < letters.size(); ++i) {
    if (wanted.find(letters[i]) == std::string::npos) {
      unused.push_back(static_cast<int>(i));
    } else {
      kept += letters[i];
    }
  }
  Var y = unused.empty() ? x : sum(x, Dims(std::span<const int>(unused)));
  Sizes sizes{};
  for (size_t i = 0; i < wanted.size(); ++i) {
    const size_t at = kept.find(wanted[i]);
    sizes[i] = at == std::string::npos ? 1 : y.shape()[static_cast<int>(at)];
    if (at != std::string::npos) order.push_back(static_cast<int>(at));
  }
  if (!std::is_sorted(order.begin(), order.end())) y = permute(y, order);
  return reshape(contiguous(y), Shape(sizes.data(), static_cast<int>(wanted.size())));
}

struct Letters {
  std::vector<std::string> in;
  std::string out;
};

Letters read_letters(std::string_view text, std::span<const Var> tensors) {
  const size_t arrow = text.find("->");
  Letters l;
  l.in.emplace_back();
  for (const char c : text.substr(0, arrow)) {
    if (c == ',') {
      l.in.emplace_back();
    } else if (c != ' ') {
      l.in.back() += c;
    }
  }
  const std::string all = [&] {
    std::string joined;
    for (const std::string& part : l.in) joined += part;
    return joined;
  }();
  require(std::ssize(l.in) == std::ssize(tensors) && !tensors.empty() && tensors.size() <= 2,
          "[einsum] '", text, "' names ", l.in.size(), " tensors, and ", tensors.size(),
          " are given; there may be one or two");
  if (arrow != std::string_view::npos) {
    for (const char c : text.substr(arrow + 2))
      if (c != ' ') l.out += c;
  } else {
    for (const char c : all)
      if (std::count(all.begin(), all.end(), c) == 1) l.out += c;
    std::sort(l.out.begin(), l.out.end());
  }
  const auto check = [&](const std::string& part) {
    for (const char c : part)
      require(((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) &&
                  std::count(part.begin(), part.end(), c) == 1,
              "[einsum] '", text,
              "': each dimension must be a letter that stands once in its "
              "tensor");
  };
  for (size_t i = 0; i < l.in.size(); ++i) {
    check(l.in[i]);
    require(std::ssize(l.in[i]) == tensors[i].shape().rank(), "[einsum] '", l.in[i],
            "' does not fit a tensor of shape ", tensors[i].shape());
  }
  check(l.out);
  for (const char c : l.out)
    require(all.find(c) != std::string::npos, "[einsum] '", text, "': no tensor has '",
            std::string_view(&c, 1), "'");
  if (l.in.size() == 2)
    for (size_t i = 0; i < l.in[0].size(); ++i) {
      const size_t j = l.in[1].find(l.in[0][i]);
      require(j == std::string::npos || tensors[0].shape()[static_cast<int>(i)] ==
                                            tensors[1].shape()[static_cast<int>(j)],
              "[einsum] '", text, "': dimensions of one letter differ in shapes ",
              tensors[0].shape(), " and ", tensors[1].shape());
    }
  return l;
}

}  // namespace

Var einsum(std::string_view letters, std::initializer_list<Var> tensors) {
  const std::span<const Var> all(tensors.begin(), tensors.size());
  const Letters l = read_letters(letters, all);
  if (all.size() == 1) return arranged(all[0], l.in[0], l.out);
  const Var &a = all[0], &b = all[1];
  same_types("einsum", a, b);
  needs_floats("einsum", a);
  // Letters of both and of the result are a batch; letters of both alone are the inner dimension.
  std::string batch, inner, rows, cols;
  const auto has = [](const std::string& part, char c) {
    return part.find(c) != std::string::npos;
  };
  for (const char c : l.in[0]) {
    if (has(l.in[1], c)) {
      (has(l.out, c) ? batch : inner) += c;
    } else if (has(l.out, c)) {
      rows += c;
    }
  }
  for (const char c : l.in[1])
    if (!has(l.in[0], c) && has(l.out, c)) cols += c;
  const std::string order = batch + rows + cols;
  require(order.size() <= Sizes().size(), "[einsum] the result of ", quote(letters), " has ",
          order.size(), " letters, and at most ", Sizes().size(), " are possible");
  const auto size_of_all = [&](const std::string& part, const std::string& in, const Shape& shape) {
    int64_t n = 1;
    for (const char c : part) n *= shape[static_cast<int>(in.find(c))];
    return n;
  };
  const int64_t count = size_of_all(batch, l.in[0], a.shape()),
                k = size_of_all(inner, l.in[0], a.shape()),
                m = size_of_all(rows, l.in[0], a.shape()),
                n = size_of_all(cols, l.in[1], b.shape());
  const Var y = products(reshape(arranged(a, l.in[0], batch + rows + inner), {count, m, k}),
                         reshape(arranged(b, l.in[1], batch + inner + cols), {count, k, n}));
  Sizes sizes{};
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t at = l.in[0].find(order[i]);
    sizes[i] = at != std::string::npos ? a.shape()[static_cast<int>(at)]
                                       : b.shape()[static_cast<int>(l.in[1].find(order[i]))];
  }
  return arranged(reshape(y, Shape(sizes.data(), static_cast<int>(order.size()))), order, l.out);
}

}  // namespace nine
