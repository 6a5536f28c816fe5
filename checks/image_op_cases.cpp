// Cases of convolutions, pooling, norms by channels, GRU and the losses of autograd/losses.h.
#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/gru.h"
#include "autograd/image_functions.h"
#include "autograd/losses.h"
#include "checks/op_case_groups.h"
#include "checks/oracles.h"

namespace nine::checks {
namespace {

// An image and a window, as numbers: (n, c, h, w), in that order along two axes.
struct Plane {
  int64_t n, c, h, w;
  size_t at(int64_t i, int64_t k, int64_t y, int64_t x) const {
    return index_of(((i * c + k) * h + y) * w + x);
  }
  bool inside(int64_t y, int64_t x) const { return y >= 0 && y < h && x >= 0 && x < w; }
  Shape shape(bool flat) const { return flat ? Shape{n, c, w} : Shape{n, c, h, w}; }
};

struct ConvolutionCase {
  Plane in;
  int64_t outputs;
  Size2d kernel, stride = 1, padding = 0, dilation = 1;
  int64_t groups = 1;
  bool bias = true, flat = false;
};

std::string text(const Size2d& s) { return concat(s.height, "x", s.width); }

Plane result_of(const Plane& in, int64_t channels, const Size2d& kernel, const Size2d& stride,
                const Size2d& padding, const Size2d& dilation) {
  return {
      in.n, channels,
      (in.h + 2 * padding.height - dilation.height * (kernel.height - 1) - 1) / stride.height + 1,
      (in.w + 2 * padding.width - dilation.width * (kernel.width - 1) - 1) / stride.width + 1};
}

Doubles convolve(const ConvolutionCase& c, Values v) {
  const Plane out = result_of(c.in, c.outputs, c.kernel, c.stride, c.padding, c.dilation),
              kernel{c.outputs, c.in.c / c.groups, c.kernel.height, c.kernel.width};
  Doubles y(index_of(out.n * out.c * out.h * out.w));
  for (int64_t n = 0; n < out.n; ++n)
    for (int64_t o = 0; o < out.c; ++o)
      for (int64_t oy = 0; oy < out.h; ++oy)
        for (int64_t ox = 0; ox < out.w; ++ox) {
          double sum = c.bias ? v[2][index_of(o)] : 0;
          for (int64_t k = 0; k < kernel.c; ++k)
            for (int64_t ky = 0; ky < kernel.h; ++ky)
              for (int64_t kx = 0; kx < kernel.w; ++kx) {
                const int64_t iy = oy * c.stride.height - c.padding.height + ky * c.dilation.height,
                              ix = ox * c.stride.width - c.padding.width + kx * c.dilation.width,
                              channel = o / (c.outputs / c.groups) * kernel.c + k;
                if (c.in.inside(iy, ix))
                  sum += v[0][c.in.at(n, channel, iy, ix)] * v[1][kernel.at(o, k, ky, kx)];
              }
          y[out.at(n, o, oy, ox)] = sum;
        }
  return y;
}

OpCase convolution_case(const ConvolutionCase& c, bool bench = false) {
  const Plane kernel{c.outputs, c.in.c / c.groups, c.kernel.height, c.kernel.width};
  OpCase made{
      .name = concat(c.flat ? "conv1d " : "conv2d ", c.in.shape(c.flat), " to ", c.outputs,
                     " kernel ", text(c.kernel), " stride ", text(c.stride), " padding ",
                     text(c.padding), " dilation ", text(c.dilation), " groups ", c.groups),
      .inputs = {{c.in.shape(c.flat)}, {kernel.shape(c.flat)}},
      .run =
          [c](Vars v, Tensors) {
            const Var b = c.bias ? v[2] : Var();
            return c.flat ? conv1d(v[0], v[1], b,
                                   {c.stride.width, c.padding.width, c.dilation.width, c.groups})
                          : conv2d(v[0], v[1], b, {c.stride, c.padding, c.dilation, c.groups});
          },
      .oracle = [c](Values v, AllInts) { return convolve(c, v); },
      .bench = bench};
  if (c.bias) made.inputs.push_back({{c.outputs}});
  return made;
}

struct PoolCase {
  Plane in;
  Size2d kernel, stride = 1, padding = 0, dilation = 1;
  bool count_padding = true, flat = false;

  PoolOptions options() const { return {kernel, stride, padding, dilation, count_padding}; }
};

// Calls f(window, values inside) for each window in order.
template <class F>
Doubles pooled(const PoolCase& c, const Doubles& x, F f) {
  const Plane out = result_of(c.in, c.in.c, c.kernel, c.stride, c.padding, c.dilation);
  Doubles y;
  for (int64_t n = 0; n < out.n; ++n)
    for (int64_t k = 0; k < out.c; ++k)
      for (int64_t oy = 0; oy < out.h; ++oy)
        for (int64_t ox = 0; ox < out.w; ++ox) {
          Doubles inside;
          for (int64_t ky = 0; ky < c.kernel.height; ++ky)
            for (int64_t kx = 0; kx < c.kernel.width; ++kx) {
              const int64_t iy = oy * c.stride.height - c.padding.height + ky * c.dilation.height,
                            ix = ox * c.stride.width - c.padding.width + kx * c.dilation.width;
              if (c.in.inside(iy, ix)) inside.push_back(x[c.in.at(n, k, iy, ix)]);
            }
          y.push_back(f(inside));
        }
  return y;
}

OpCase max_pool_case(const PoolCase& c) {
  return {
      .name = concat("max_pool ", c.in.shape(c.flat), " kernel ", text(c.kernel), " stride ",
                     text(c.stride), " padding ", text(c.padding), " dilation ", text(c.dilation)),
      .inputs = {{c.in.shape(c.flat)}},
      .run = [c](Vars v, Tensors) { return max_pool(v[0], c.options()); },
      .oracle =
          [c](Values v, AllInts) {
            return pooled(c, v[0], [](const Doubles& inside) {
              return *std::max_element(inside.begin(), inside.end());
            });
          }};
}

OpCase avg_pool_case(const PoolCase& c) {
  return {.name = concat("avg_pool ", c.in.shape(c.flat), " kernel ", text(c.kernel), " stride ",
                         text(c.stride), " padding ", text(c.padding),
                         c.count_padding ? "" : " without padding in the mean"),
          .inputs = {{c.in.shape(c.flat)}},
          .run = [c](Vars v, Tensors) { return avg_pool(v[0], c.options()); },
          .oracle =
              [c](Values v, AllInts) {
                return pooled(c, v[0], [&](const Doubles& inside) {
                  double sum = 0;
                  for (const double x : inside) sum += x;
                  return sum / static_cast<double>(c.count_padding
                                                       ? c.kernel.height * c.kernel.width
                                                       : std::ssize(inside));
                });
              }};
}

// Large, because the gradient of a small set is otherwise a difference that float32 cannot hold.
constexpr double kEps = 0.5;

// Normalises x (n, c, p): the elements of each set have one number in `set`.
Doubles normalised(const Doubles& x, const Doubles& gamma, const Doubles& beta, int64_t plane,
                   const std::function<size_t(int64_t, int64_t)>& set, const Doubles& means,
                   const Doubles& variances) {
  const int64_t channels = std::ssize(gamma);
  Doubles y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i) / plane, c = at % channels;
    const size_t s = set(at / channels, c);
    y[i] =
        (x[i] - means[s]) / std::sqrt(variances[s] + kEps) * gamma[index_of(c)] + beta[index_of(c)];
  }
  return y;
}

Doubles channel_norm_of(Values v, int64_t plane, int64_t groups) {
  const int64_t channels = std::ssize(v[1]);
  const auto set = [=](int64_t n, int64_t c) {
    return index_of(groups == 0 ? c : n * groups + c * groups / channels);
  };
  const auto place = [=](size_t i) {
    const int64_t at = static_cast<int64_t>(i) / plane;
    return set(at / channels, at % channels);
  };
  const size_t n = v[0].size();
  Doubles means(n), variances(n), counts(n);  // more than there are sets
  for (size_t i = 0; i < n; ++i) means[place(i)] += v[0][i], counts[place(i)] += 1;
  for (size_t s = 0; s < n; ++s) means[s] /= std::max(1.0, counts[s]);
  for (size_t i = 0; i < n; ++i)
    variances[place(i)] += std::pow(v[0][i] - means[place(i)], 2) / counts[place(i)];
  return normalised(v[0], v[1], v[2], plane, set, means, variances);
}

int64_t plane_of(const Shape& s) { return s.elements() / (s[0] * s[1]); }

OpCase batch_norm_case(const Shape& s, bool bench = false) {
  return {.name = concat("batch_norm ", s),
          .inputs = {{s}, {{s[1]}, 0.5, 1.5}, {{s[1]}}},
          .run =
              [c = s[1]](Vars v, Tensors) {
                const Device device = v[0].tape().arena().device();
                return batch_norm(v[0], v[1], v[2], Tensor({c}, DType::float64, device),
                                  Tensor({c}, DType::float64, device), kEps);
              },
          .oracle = [s](Values v, AllInts) { return channel_norm_of(v, plane_of(s), 0); },
          .windows = false,
          .bench = bench};
}

OpCase batch_norm_given_case(const Shape& s) {
  Doubles mean, variance;
  for (int64_t c = 0; c < s[1]; ++c) {
    mean.push_back(0.1 * static_cast<double>(c) - 0.2);
    variance.push_back(0.3 + 0.2 * static_cast<double>(c));
  }
  return {.name = concat("batch_norm_given ", s),
          .inputs = {{s}, {{s[1]}, 0.5, 1.5}, {{s[1]}}},
          .run =
              [=](Vars v, Tensors) {
                const auto given = [&](const Doubles& values) {
                  return v[0].tape().on_device(tensor_of(values, {s[1]}, DType::float64));
                };
                return batch_norm_given(v[0], v[1], v[2], given(mean), given(variance), kEps);
              },
          .oracle =
              [=](Values v, AllInts) {
                return normalised(
                    v[0], v[1], v[2], plane_of(s), [](int64_t, int64_t c) { return index_of(c); },
                    mean, variance);
              },
          .windows = false};
}

OpCase group_norm_case(const Shape& s, int64_t groups) {
  return {.name = concat("group_norm ", s, " groups ", groups),
          .inputs = {{s}, {{s[1]}, 0.5, 1.5}, {{s[1]}}},
          .run = [=](Vars v, Tensors) { return group_norm(v[0], groups, v[1], v[2], kEps); },
          .oracle = [=](Values v, AllInts) { return channel_norm_of(v, plane_of(s), groups); },
          .windows = false};
}

// `in` is from_x, w_hh, b_hh and h0.
Doubles gru_of(Values in, int64_t steps, int64_t batch, int64_t size) {
  Doubles y;
  for (int64_t t = 0; t < steps; ++t)
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t j = 0; j < size; ++j) {
        const auto before = [&](int64_t i) {
          return t == 0 ? in[3][index_of(b * size + i)]
                        : y[index_of(((t - 1) * batch + b) * size + i)];
        };
        double x[3], h[3];
        for (int64_t gate = 0; gate < 3; ++gate) {
          const int64_t row = gate * size + j;
          x[gate] = in[0][index_of((t * batch + b) * 3 * size + row)];
          h[gate] = in[2][index_of(row)];
          for (int64_t i = 0; i < size; ++i) h[gate] += in[1][index_of(row * size + i)] * before(i);
        }
        const double r = logistic(x[0] + h[0]), z = logistic(x[1] + h[1]),
                     n = std::tanh(x[2] + r * h[2]);
        y.push_back((1 - z) * n + z * before(j));
      }
  return y;
}

OpCase gru_case(int64_t steps, int64_t batch, int64_t size, bool bench = false) {
  return {.name = concat("gru", sizes({steps, batch, size})),
          .inputs = {{{steps * batch, 3 * size}},
                     {{3 * size, size}, -0.5, 0.5},
                     {{3 * size}},
                     {{batch, size}}},
          .run = [](Vars v, Tensors) { return gru(v[0], v[1], v[2], v[3]); },
          .oracle = [=](Values v, AllInts) { return gru_of(v, steps, batch, size); },
          .bench = bench};
}

double logistic_loss_of(double x, double t) {
  return -t * std::log(logistic(x)) - (1 - t) * std::log1p(-logistic(x));
}

void add_losses(std::vector<OpCase>& all, const Shape& s) {
  const std::vector<Input> logits_and_targets{{s, -5, 5}, {s, 0, 1}};
  all.push_back(
      {.name = concat("logistic_loss ", s),
       .inputs = logits_and_targets,
       .run = [](Vars v, Tensors) { return logistic_loss(v[0], v[1]); },
       .oracle = [](Values v, AllInts) { return pairwise(v[0], v[1], logistic_loss_of); }});
  all.push_back({.name = concat("binary_cross_entropy ", s),
                 .inputs = logits_and_targets,
                 .run = [](Vars v, Tensors) { return binary_cross_entropy(v[0], v[1]); },
                 .oracle =
                     [](Values v, AllInts) {
                       double sum = 0;
                       for (size_t i = 0; i < v[0].size(); ++i)
                         sum += logistic_loss_of(v[0][i], v[1][i]);
                       return Doubles{sum / static_cast<double>(v[0].size())};
                     }});
  // Probabilities (0, p, ...) that need not sum to 1; the first of them is 0.
  Doubles p;
  for (int64_t i = 0; i < s.elements(); ++i)
    p.push_back(static_cast<double>(i % 5) / static_cast<double>(4 * s.cols()));
  all.push_back(
      {.name = concat("kl_divergence ", s),
       .inputs = {{s, -3, 0}},
       .run = [=](Vars v, Tensors) { return kl_divergence(v[0], tensor_of(p, s, v[0].dtype())); },
       .oracle =
           [=](Values v, AllInts) {
             double sum = 0;
             for (size_t i = 0; i < p.size(); ++i)
               if (p[i] > 0) sum += p[i] * (std::log(p[i]) - v[0][i]);
             return Doubles{sum / static_cast<double>(s.rows())};
           }});
  all.push_back({.name = concat("normal_kl ", s),
                 .inputs = {{s, -2, 2}, {s, -2, 2}},
                 .run = [](Vars v, Tensors) { return normal_kl(v[0], v[1]); },
                 .oracle =
                     [=](Values v, AllInts) {
                       double sum = 0;
                       for (size_t i = 0; i < v[0].size(); ++i)
                         sum += (v[0][i] * v[0][i] + std::exp(v[1][i]) - 1 - v[1][i]) / 2;
                       return Doubles{sum / static_cast<double>(s.rows())};
                     }});
}

}  // namespace

void add_image_cases(std::vector<OpCase>& all) {
  all.push_back(convolution_case({{1, 1, 1, 1}, 1, 1}));
  all.push_back(convolution_case({{2, 3, 5, 4}, 4, {3, 2}, 1, 1}));
  all.push_back(convolution_case({{2, 4, 7, 6}, 6, 3, {2, 3}, {1, 2}, {2, 1}, 2}));
  all.push_back(convolution_case({{3, 3, 5, 5}, 3, {2, 1}, 1, 0, 1, 3, false}));
  // More images than are multiplied at a time.
  all.push_back(convolution_case({{70, 3, 12, 12}, 5, 5, 1, 2}));
  all.push_back(convolution_case({{64, 32, 28, 28}, 64, 3, 1, 1}, true));
  all.push_back(convolution_case({{2, 3, 1, 9}, 4, {1, 3}, {1, 2}, {0, 1}, 1, 1, true, true}));
  all.push_back(convolution_case({{1, 2, 1, 5}, 2, {1, 2}, 1, 0, {1, 3}, 2, false, true}));
  for (const Size2d& padding : {Size2d(0), Size2d(1)}) {
    all.push_back(max_pool_case({{2, 3, 5, 6}, 2, 2, padding}));
    all.push_back(max_pool_case({{3, 1, 7, 7}, {3, 2}, {1, 2}, padding, 2}));
    for (const bool count : {true, false}) {
      all.push_back(avg_pool_case({{2, 3, 5, 6}, 2, 2, padding, 1, count}));
      all.push_back(avg_pool_case({{3, 1, 7, 7}, {3, 2}, {1, 2}, padding, 1, count}));
    }
  }
  all.push_back(max_pool_case({{2, 3, 1, 9}, {1, 3}, {1, 2}, {0, 1}, 1, true, true}));
  all.push_back(avg_pool_case({{2, 3, 1, 9}, {1, 3}, {1, 2}, {0, 1}, 1, false, true}));
  for (const Shape& s :
       {Shape{6, 1}, Shape{5, 3}, Shape{3, 70}, Shape{2, 3, 4}, Shape{3, 4, 5, 6}}) {
    all.push_back(batch_norm_case(s));
    all.push_back(batch_norm_given_case(s));
  }
  all.push_back(batch_norm_case({64, 32, 28, 28}, true));
  all.push_back(group_norm_case({3, 6}, 2));
  all.push_back(group_norm_case({2, 6, 5}, 3));
  all.push_back(group_norm_case({2, 4, 3, 5}, 1));
  all.push_back(group_norm_case({2, 3, 4, 4}, 3));
  all.push_back(gru_case(1, 1, 1));
  all.push_back(gru_case(3, 2, 5));
  all.push_back(gru_case(2, 66, 17));
  all.push_back(gru_case(35, 20, 512, true));
  for (const Shape& s : {Shape{1, 2}, Shape{7, 5}}) add_losses(all, s);
}

void add_random_image_cases(std::vector<OpCase>& all, RandomSize& n) {
  // Sizes up to 3, because the work of a convolution is a product of eight sizes.
  const auto few = [&] { return n() % 3 + 1; };
  const int64_t groups = few(), in = groups * few(), outputs = groups * few();
  const Size2d kernel{few(), few()}, stride{few(), few()}, dilation{n() % 2 + 1, n() % 2 + 1},
      padding{n() % (kernel.height + 1), n() % (kernel.width + 1)};
  const int64_t height = dilation.height * kernel.height + n(),
                width = dilation.width * kernel.width + n();
  all.push_back(convolution_case(
      {{few(), in, height, width}, outputs, kernel, stride, padding, dilation, groups}));
  all.push_back(convolution_case({{few(), in, 1, width},
                                  outputs,
                                  {1, kernel.width},
                                  {1, stride.width},
                                  {0, padding.width},
                                  {1, dilation.width},
                                  groups,
                                  true,
                                  true}));
  const Size2d half{n() % (kernel.height / 2 + 1), n() % (kernel.width / 2 + 1)};
  all.push_back(max_pool_case({{few(), few(), height, width}, kernel, stride, half, dilation}));
  all.push_back(
      avg_pool_case({{few(), few(), height, width}, kernel, stride, half, 1, n() % 2 == 0}));
  all.push_back(batch_norm_case({n() + 1, n(), n()}));
  all.push_back(batch_norm_given_case({n(), n(), n()}));
  const int64_t parts = n() % 3 + 1;
  all.push_back(group_norm_case({n(), parts * n(), n() + 1}, parts));
  all.push_back(gru_case(n(), n(), n()));
  add_losses(all, {n(), n() + 1});
}

}  // namespace nine::checks
