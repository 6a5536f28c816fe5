#include "core/dtype.h"

#include "core/quote.h"

namespace nine {

std::string to_text(DType t) {
  switch (t) {
    case DType::float32:
      return "float32";
    case DType::float64:
      return "float64";
    case DType::bfloat16:
      return "bfloat16";
    case DType::int32:
      return "int32";
    case DType::int64:
      return "int64";
    case DType::boolean:
      return "bool";
  }
  return "?";
}

DType dtype_from_text(std::string_view name) {
  for (DType t : kDTypes)
    if (to_text(t) == name) return t;
  fail("no element type is called ", quote(name),
       "; write float32, float64, bfloat16, int32, int64 or bool");
}

}  // namespace nine
