// The device that holds a tensor's memory and runs its ops.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nine {

/// The kinds of devices.
enum class DeviceKind : uint8_t { cpu, cuda };
inline constexpr int kDeviceKinds = 2;

/// A device: its kind and its number.
struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int16_t index = 0;  ///< number of the GPU; 0 on the CPU

  friend bool operator==(const Device&, const Device&) = default;
};

inline constexpr Device kCpu{};

/// Returns "cpu", "cuda:0", "cuda:1", ...
std::string to_text(Device d);
/// Returns the device for "cpu", "cuda" (the first GPU), "cuda:1", ... Error: any other text.
Device device_from_text(std::string_view text);

}  // namespace nine
