// The device on which a tensor's memory is and its ops run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nine {

enum class DeviceKind : uint8_t { cpu, cuda };
inline constexpr int kDeviceKinds = 2;

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int16_t index = 0;  ///< which GPU; 0 on the CPU

  friend bool operator==(const Device&, const Device&) = default;
};

inline constexpr Device kCpu{};

/// "cpu", "cuda:0", "cuda:1", ...
std::string to_text(Device d);
/// The device called "cpu", "cuda" (the first GPU) or "cuda:1"; anything else is an Error.
Device device_from_text(std::string_view text);

}  // namespace nine
