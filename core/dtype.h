// Element types and the bfloat16 storage type.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.h"

namespace nine {

/// The element types of tensors.
enum class DType : uint8_t { float32, float64, bfloat16, int32, int64, boolean };
/// All of them, in this order.
inline constexpr DType kDTypes[] = {DType::float32, DType::float64, DType::bfloat16,
                                    DType::int32,   DType::int64,   DType::boolean};

/// The upper half of an IEEE float32 (8 bits of mantissa). It is for storage only: arithmetic is
/// done in float32.
struct bfloat16 {
  uint16_t bits = 0;

  bfloat16() = default;
  /// Rounds to the nearest number, ties to even. A NaN becomes a quiet NaN.
  explicit bfloat16(float x) {
    const auto u = std::bit_cast<uint32_t>(x);
    if ((u & 0x7fffffffu) > 0x7f800000u) {
      bits = static_cast<uint16_t>((u >> 16) | 0x40u);
    } else {
      bits = static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
    }
  }
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};

/// Returns the bytes of one element.
constexpr size_t size_of(DType t) {
  switch (t) {
    case DType::float32:
      return 4;
    case DType::float64:
      return 8;
    case DType::bfloat16:
      return 2;
    case DType::int32:
      return 4;
    case DType::int64:
      return 8;
    case DType::boolean:
      return 1;
  }
  return 0;
}

/// True if the type has fractions, NaN and infinity.
constexpr bool is_float(DType t) {
  return t == DType::float32 || t == DType::float64 || t == DType::bfloat16;
}

/// Returns "float32", "float64", "bfloat16", "int32", "int64" or "bool".
std::string to_text(DType t);
/// Returns the type that to_text() calls `name`. Error: any other text; the message lists the
/// names.
DType dtype_from_text(std::string_view name);

/// The DType of the C++ type T.
template <class T>
inline constexpr DType dtype_of = [] {
  static_assert(sizeof(T) == 0, "no DType for this type");
  return DType{};
}();
template <>
inline constexpr DType dtype_of<float> = DType::float32;
template <>
inline constexpr DType dtype_of<double> = DType::float64;
template <>
inline constexpr DType dtype_of<bfloat16> = DType::bfloat16;
template <>
inline constexpr DType dtype_of<int32_t> = DType::int32;
template <>
inline constexpr DType dtype_of<int64_t> = DType::int64;
template <>
inline constexpr DType dtype_of<bool> = DType::boolean;

/// Calls f(T{}) with the type T of the elements, and returns the result. The argument only tells
/// `f` the type.
template <class F>
decltype(auto) dispatch_all(DType t, F&& f) {
  switch (t) {
    case DType::float32:
      return f(float{});
    case DType::float64:
      return f(double{});
    case DType::bfloat16:
      return f(bfloat16{});
    case DType::int32:
      return f(int32_t{});
    case DType::int64:
      return f(int64_t{});
    case DType::boolean:
      break;
  }
  return f(bool{});
}

/// Calls f(T{}) with the unsigned integer type T of the elements' size, for code that moves
/// elements. The argument only tells `f` the type.
template <class F>
void dispatch_size(DType t, F&& f) {
  switch (size_of(t)) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    default:
      return f(uint64_t{});
  }
}

/// Calls f(float{}) or f(double{}), as `t` says, and returns the result. The argument only tells
/// `f` the type. Error: another type; the message names `op`.
template <class F>
decltype(auto) dispatch_float(DType t, std::string_view op, F&& f) {
  if (t == DType::float64) return f(double{});
  if (t != DType::float32) fail("[", op, "] needs float32 or float64, got ", t);
  return f(float{});
}

}  // namespace nine
