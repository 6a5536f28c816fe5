// The bindings of trained models and of text: language models, translators, subwords, n-best lists.
#pragma once

#include <nanobind/nanobind.h>

namespace nine_python {

void add_text(nanobind::module_& m);

}  // namespace nine_python
