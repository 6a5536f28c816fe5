// The bindings of explanations and figures.
#pragma once

#include <nanobind/nanobind.h>

namespace nine_python {

void add_pages(nanobind::module_& m);

}  // namespace nine_python
