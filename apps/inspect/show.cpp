#include "apps/inspect/show.h"

#include <array>
#include <cstdio>

#include "apps/inspect/worked_example.h"
#include "core/random.h"
#include "core/suggest.h"

namespace nine::app {
namespace {

constexpr Experiment kExperiments[] = {
    {"bottleneck", "the rank of the matrix of log-probabilities against the size of the vectors",
     show_bottleneck},
    {"dog-and-cat",
     "two words that share one context and differ in others, which lin cannot represent with few "
     "numbers",
     show_dog_and_cat},
    {"kernel-trick", "the explicit features of a kernel give the same number as the kernel",
     show_kernel_trick},
    {"definiteness",
     "which of the kernels are kernels in the strict sense: eigenvalues of Gram matrices",
     show_definiteness},
    {"reach", "how far from a word each kernel still pulls", show_reach},
    {"geometry", "Gaussian and hyperbolic geometry in two dimensions", show_geometry},
    {"margin", "the probabilities that a model learns with a cosine margin", show_margin},
};

}  // namespace

std::span<const Experiment> experiments() { return kExperiments; }

ExperimentResult show(const std::string& name) {
  std::vector<std::string> names;
  for (const Experiment& e : kExperiments) {
    if (name == e.name) return e.run();
    names.emplace_back(e.name);
  }
  throw UsageError(concat("--show: there is no experiment '", name, "'", did_you_mean(name, names),
                          "; there are ", comma_separated(names)));
}

std::vector<double> normal_numbers(int64_t count, double scale, std::string_view stream) {
  std::vector<double> x;
  for (int64_t i = 0; i < count; ++i)
    x.push_back(scale *
                random_normal({.seed = 1, .op = stream_id(stream)}, static_cast<uint64_t>(i)));
  return x;
}

std::vector<double> row_of(const std::vector<double>& matrix, int64_t row, int64_t cols) {
  return {matrix.begin() + row * cols, matrix.begin() + (row + 1) * cols};
}

std::string table_line(const std::string& name, const std::vector<double>& numbers,
                       const char* format) {
  std::string text = padded(name + " ", 22);
  for (const double x : numbers) {
    std::array<char, 40> cell{};
    std::snprintf(cell.data(), cell.size(), format, x);
    text += cell.data();
  }
  return text + '\n';
}

std::string table_head(const std::string& name, const std::vector<std::string>& columns) {
  std::string text = padded(name + " ", 22);
  for (const std::string& c : columns)
    text += std::string(c.size() < 11 ? 11 - c.size() : 1, ' ') + c;
  return text + '\n';
}

}  // namespace nine::app
