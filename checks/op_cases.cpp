#include "checks/op_cases.h"

#include "checks/op_case_groups.h"

namespace nine::checks {

std::string sizes(std::initializer_list<int64_t> all) {
  std::string text;
  for (const int64_t n : all) text += (text.empty() ? " " : "x") + std::to_string(n);
  return text;
}

std::vector<OpCase> op_cases() {
  std::vector<OpCase> all;
  add_tensor_cases(all);
  add_array_cases(all);
  add_layer_cases(all);
  add_head_cases(all);
  add_image_cases(all);
  return all;
}

std::vector<OpCase> random_op_cases(uint64_t seed, int64_t max_size) {
  RandomSize n(seed, max_size);
  std::vector<OpCase> all;
  add_random_tensor_cases(all, n);
  add_random_array_cases(all, n);
  add_random_layer_cases(all, n);
  add_random_head_cases(all, n);
  add_random_image_cases(all, n);
  return all;
}

}  // namespace nine::checks
