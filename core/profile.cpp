#include "core/profile.h"

#include <algorithm>

#include "core/error.h"
#include "core/op_table.h"

namespace nine::profile {
namespace {

constexpr size_t kMostOpen = 8192;  // some hundred steps of the CUDA device's events

bool g_enabled = false;
bool g_inside = false;  // ops are called from one thread; a nested op belongs to the outer one
DeviceClock* g_clock = nullptr;
std::vector<Entry> g_entries;

// Ops whose times the device has not reported yet.
struct Open {
  size_t entry;
  int64_t from, to;
};
std::vector<Open> g_open;

size_t entry_of(std::string_view op) {
  const auto it =
      std::find_if(g_entries.begin(), g_entries.end(), [&](const Entry& e) { return e.op == op; });
  const auto at = static_cast<size_t>(it - g_entries.begin());
  if (it == g_entries.end()) g_entries.push_back({op});
  return at;
}

void read_clock() {
  if (g_clock == nullptr) return;  // nothing is open
  for (const Open& o : g_open) g_entries[o.entry].seconds += g_clock->seconds(o.from, o.to);
  g_open.clear();
  g_clock->forget();
}

DeviceClock* clock_of(Device device) {
  if (device.kind == DeviceKind::cpu) return nullptr;
  return op_table(device).clock(device.index);
}

}  // namespace

void enable(bool on, Device device) {
  if (on && clock_of(device) != g_clock) {
    read_clock();
    g_clock = clock_of(device);
  }
  if (on && g_open.size() > kMostOpen) read_clock();
  g_enabled = on;
}
bool enabled() { return g_enabled; }
void reset() {
  g_open.clear();
  if (g_clock != nullptr) g_clock->forget();
  g_entries.clear();
}

std::vector<Entry> entries() {
  read_clock();
  std::vector<Entry> sorted = g_entries;
  std::sort(sorted.begin(), sorted.end(),
            [](const Entry& a, const Entry& b) { return a.seconds > b.seconds; });
  return sorted;
}

Scope::Scope(std::string_view op, double flops, double bytes)
    : op_(op), flops_(flops), bytes_(bytes) {
  if (!g_enabled || g_inside) return;
  if (g_clock != nullptr) {
    mark_ = g_clock->mark();
  } else {
    start_ = std::chrono::steady_clock::now();
  }
  active_ = g_inside = true;
}

Scope::~Scope() {
  if (!active_) return;
  g_inside = false;
  const size_t at = entry_of(op_);
  Entry& entry = g_entries[at];
  ++entry.calls;
  entry.flops += flops_;
  entry.bytes += bytes_;
  if (g_clock == nullptr) {
    entry.seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    return;
  }
  try {
    g_open.push_back({at, mark_, g_clock->mark()});
  } catch (const Error&) {
    // A failed device reports the failure at its next op; a destructor must not throw.
  }
}

}  // namespace nine::profile
