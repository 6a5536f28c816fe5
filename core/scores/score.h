// Which score function a head component uses, as plain data that travels to any device.
#pragma once

#include <array>
#include <cstdint>

namespace nine {

/// The kernels, in the order of heads.md section 1. core/scores/all.h lists their structs.
enum class ScoreKind : uint8_t { lin };

struct Score {
  ScoreKind kind = ScoreKind::lin;
  std::array<double, 4> parameters{};  ///< meaning and order: the kernel's struct
};

}  // namespace nine
