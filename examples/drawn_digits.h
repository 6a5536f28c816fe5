// Images of digits as if drawn by hand: the strokes of each digit, moved, turned, slanted, of
// random width, with noise. Plain C++, so that the programs of other libraries in
// tests/bench/libtorch draw the same images.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

inline constexpr int kDigitSize = 16;  ///< pixels along a side

struct DrawnDigits {
  std::vector<float> pixels;    ///< n * 16 * 16 numbers from 0 (paper) to 1 (ink)
  std::vector<int32_t> labels;  ///< n digits
};

/// Draws n digits; the seed decides all of them.
inline DrawnDigits draw_digits(int n, unsigned seed) {
  // The corners of each digit's line in a square of 4 by 8.
  static const std::vector<std::vector<float>> kLines = {
      {1, 0, 3, 0, 4, 2, 4, 6, 3, 8, 1, 8, 0, 6, 0, 2, 1, 0},
      {0, 2, 2, 0, 2, 8},
      {0, 1, 2, 0, 4, 1, 4, 3, 0, 8, 4, 8},
      {0, 0, 4, 0, 2, 3, 4, 5, 3, 8, 0, 8},
      {3, 8, 3, 0, 0, 5, 4, 5},
      {4, 0, 0, 0, 0, 4, 3, 3, 4, 6, 3, 8, 0, 8},
      {3, 0, 0, 4, 0, 7, 2, 8, 4, 7, 4, 5, 2, 4, 0, 5},
      {0, 0, 4, 0, 1, 8},
      {2, 4, 0, 2, 1, 0, 3, 0, 4, 2, 2, 4, 0, 6, 1, 8, 3, 8, 4, 6, 2, 4},
      {4, 3, 2, 4, 0, 3, 0, 1, 2, 0, 4, 1, 4, 4, 2, 8}};
  std::mt19937 bits(seed);
  // Not std::uniform_real_distribution, which may differ between libraries.
  const auto random = [&](float low, float high) {
    return low + (high - low) * static_cast<float>(bits() >> 8) * 0x1p-24f;
  };
  DrawnDigits all;
  for (int i = 0; i < n; ++i) {
    const int digit = static_cast<int>(bits() % 10);
    all.labels.push_back(digit);
    const float angle = random(-0.25f, 0.25f), slant = random(-0.3f, 0.3f),
                size = random(1.1f, 1.5f), left = random(-1.5f, 1.5f), down = random(-1.5f, 1.5f),
                pen = random(0.6f, 1.1f);
    std::vector<float> line = kLines[static_cast<size_t>(digit)];
    for (size_t k = 0; k < line.size(); k += 2) {
      const float y = size * (line[k + 1] - 4), x = size * (line[k] - 2) * 1.2f - slant * y;
      line[k] = std::cos(angle) * x - std::sin(angle) * y + 7.5f + left;
      line[k + 1] = std::sin(angle) * x + std::cos(angle) * y + 7.5f + down;
    }
    for (int p = 0; p < kDigitSize * kDigitSize; ++p) {
      const auto px = static_cast<float>(p % kDigitSize), py = static_cast<float>(p / kDigitSize);
      float nearest = 100;  // distance of the pixel to the line
      for (size_t k = 0; k + 3 < line.size(); k += 2) {
        const float dx = line[k + 2] - line[k], dy = line[k + 3] - line[k + 1],
                    t = std::clamp(
                        ((px - line[k]) * dx + (py - line[k + 1]) * dy) / (dx * dx + dy * dy), 0.0f,
                        1.0f);
        nearest = std::min(nearest, std::hypot(px - line[k] - t * dx, py - line[k + 1] - t * dy));
      }
      const float ink = std::clamp(pen + 0.5f - nearest, 0.0f, 1.0f);
      all.pixels.push_back(std::clamp(ink * random(0.8f, 1) + random(0, 0.05f), 0.0f, 1.0f));
    }
  }
  return all;
}
