#include "pages.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <new>
#include <string>
#include <utility>
#include <vector>

#include "apps/inspect/explain_page.h"
#include "apps/inspect/plot.h"
#include "apps/inspect/show.h"
#include "without_lock.h"

namespace nine_python {

using namespace nb::literals;
using nine::app::ExampleNumbers;

void add_pages(nb::module_& m) {
  using Rows = std::vector<std::vector<double>>;
  nb::class_<ExampleNumbers>(m, "ExampleNumbers")
      .def(
          "__init__",
          [](ExampleNumbers* self, std::vector<double> h, Rows w, int64_t target, Rows prior,
             Rows context) {
            new (self) ExampleNumbers{.h = std::move(h),
                                      .w = std::move(w),
                                      .target = target,
                                      .prior = std::move(prior),
                                      .context = std::move(context)};
          },
          "h"_a, "w"_a, "target"_a, "prior"_a, "context"_a);
  m.def(
      "explain_page",
      [](const std::string& name, const ExampleNumbers& numbers) {
        return without_lock([&] { return nine::app::explain_page(name, numbers); }, false);
      },
      "name"_a, "numbers"_a);
  m.def(
      "explain_text",
      [](const std::string& name, const ExampleNumbers& numbers) {
        return without_lock([&] { return nine::app::explain_text(name, numbers); }, false);
      },
      "name"_a, "numbers"_a);
  m.def(
      "example_results",
      [](const std::string& name, const ExampleNumbers& numbers) {
        std::vector<std::pair<std::string, std::vector<double>>> results;
        for (nine::app::ExampleResult& r : nine::app::example_results(name, numbers))
          results.emplace_back(std::move(r.symbol), std::move(r.numbers));
        return results;
      },
      "name"_a, "numbers"_a);
  m.def(
      "plot_svg",
      [](const std::string& kernels, double from, double to) {
        return without_lock(
            [&] { return nine::app::plot_svg({.kernels = kernels, .from = from, .to = to}); },
            false);
      },
      "kernels"_a, "from_"_a, "to"_a);
  m.def("experiments", [] {
    std::vector<std::pair<std::string, std::string>> all;
    for (const nine::app::Experiment& e : nine::app::experiments())
      all.emplace_back(e.name, e.question);
    return all;
  });
  m.def(
      "show",
      [](const std::string& name) {
        nine::app::ExperimentResult result =
            without_lock([&] { return nine::app::show(name); }, false);
        return std::pair(std::move(result.text), std::move(result.svg));
      },
      "name"_a);
}

}  // namespace nine_python
