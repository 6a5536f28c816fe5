#include "core/device.h"

#include <charconv>

#include "core/error.h"
#include "core/quote.h"

namespace nine {

std::string to_text(Device d) {
  return d.kind == DeviceKind::cpu ? "cpu" : "cuda:" + std::to_string(d.index);
}

Device device_from_text(std::string_view text) {
  if (text == "cpu") return kCpu;
  if (text == "cuda") return {DeviceKind::cuda, 0};
  int16_t index = 0;
  if (text.starts_with("cuda:")) {
    const auto* end = text.data() + text.size();
    const auto [p, error] = std::from_chars(text.data() + 5, end, index);
    if (error == std::errc{} && p == end && index >= 0) return {DeviceKind::cuda, index};
  }
  fail("no device is called ", quote(text), "; write cpu, cuda, cuda:0, cuda:1, ...");
}

}  // namespace nine
