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
  }
  return "?";
}

DType dtype_from_text(std::string_view name) {
  for (DType t : {DType::float32, DType::float64, DType::bfloat16, DType::int32})
    if (to_text(t) == name) return t;
  fail("no element type is called ", quote(name), "; write float32, float64, bfloat16 or int32");
}

}  // namespace nine
