// Label smoothing of the output layer's targets (Szegedy et al., 2016; heads.md section 2).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nine {

/// Label smoothing of strength epsilon, in the field's two conventions.
struct LabelSmoothing {
  enum class Kind : uint8_t {
    uniform,  ///< epsilon / V to every word, and 1 - epsilon more to the target
    others    ///< epsilon / (V - 1) to every other word, 1 - epsilon to the target
  };
  double epsilon = 0;  ///< in [0, 1]; 0: none
  Kind kind = Kind::uniform;

  /// The target probability of each word but the target. Error: epsilon outside of [0, 1]; `others`
  /// with one word.
  double spread(int64_t words) const;
};
std::string to_text(LabelSmoothing::Kind kind);
LabelSmoothing::Kind smoothing_from_text(std::string_view name);  ///< uniform, others

}  // namespace nine
