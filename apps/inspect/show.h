// kernel_inspect --show: the ideas behind kernel softmax as small experiments. Each has a file
// show_NAME.cpp and a page in docs/ideas/.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/loss/kernel_softmax.h"

namespace nine::app {

/// The result of an experiment.
struct ExperimentResult {
  std::string text;  ///< a description of the experiment and its results as a table
  std::string svg;   ///< the figure
};

/// An experiment by name.
struct Experiment {
  const char* name;      ///< the value of --show; its page is docs/ideas/NAME.md
  const char* question;  ///< one line, for the help
  ExperimentResult (*run)();
};

/// Returns all experiments, in the order of the help.
std::span<const Experiment> experiments();
/// Runs the experiment of this name. UsageError: there is no such experiment.
ExperimentResult show(const std::string& name);

/// The experiments themselves, each in show_NAME.cpp.
ExperimentResult show_bottleneck();
ExperimentResult show_dog_and_cat();
ExperimentResult show_kernel_trick();
ExperimentResult show_definiteness();
ExperimentResult show_reach();
ExperimentResult show_geometry();
ExperimentResult show_margin();

/// Returns standard normal numbers times `scale`. Calls with the same stream return the same
/// numbers.
std::vector<double> normal_numbers(int64_t count, double scale, std::string_view stream);
/// Returns a row of a row-major matrix.
std::vector<double> row_of(const std::vector<double>& matrix, int64_t row, int64_t cols);
/// Returns a line of a table, "name        1.234   5.678". `format` is printf's format for one
/// number.
std::string table_line(const std::string& name, const std::vector<double>& numbers,
                       const char* format = "%11.4g");
/// Returns the first line of a table: `name` above the names of the lines, then the names of the
/// columns.
std::string table_head(const std::string& name, const std::vector<std::string>& columns);

}  // namespace nine::app
