#include "kernels/settings/learned_numbers.h"

#include <cmath>

#include "core/error.h"

namespace nine {

std::string LearnedNumber::tensor_name() const { return concat("scores.", component, ".", name); }

double LearnedNumber::stored(double value) const { return positive ? std::log(value) : value; }
double LearnedNumber::value(double stored) const { return positive ? std::exp(stored) : stored; }

std::vector<LearnedNumber> learned_numbers(const HeadSpec& head) {
  std::vector<LearnedNumber> all;
  for (int64_t k = 0; k < head.size(); ++k) {
    const Score& score = head.components[static_cast<size_t>(k)];
    if (score.learned == 0) continue;
    const KernelInfo info = kernel_info(score);
    for (int i = 0; i < kMaxScoreNumbers; ++i)
      if (score.learns(i))
        all.push_back(
            {.component = k,
             .number = i,
             .name = i == kScaleNumber ? "scale" : info.parameters[static_cast<size_t>(i)].name,
             .positive = (score.positive >> i & 1) != 0,
             .start = score.number(i)});
  }
  return all;
}

HeadSpec with_numbers(HeadSpec head, std::span<const double> values) {
  size_t next = 0;
  for (Score& score : head.components)
    for (int i = 0; i < kMaxScoreNumbers; ++i)
      if (score.learns(i)) {
        require(next < values.size(), "[with_numbers] ", values.size(), " values for ",
                learned_numbers(head).size(), " learned numbers");
        score.number(i) = values[next++];
      }
  require(next == values.size(), "[with_numbers] ", values.size(), " values for ", next,
          " learned numbers");
  return head;
}

}  // namespace nine
