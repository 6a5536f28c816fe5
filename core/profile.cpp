#include "core/profile.h"

#include <algorithm>

namespace nine::profile {
namespace {
bool g_enabled = false;
bool g_inside = false;  // ops are called from one thread; a nested op belongs to the outer one
std::vector<Entry> g_entries;
}  // namespace

void enable(bool on) { g_enabled = on; }
bool enabled() { return g_enabled; }
void reset() { g_entries.clear(); }

std::vector<Entry> entries() {
  std::vector<Entry> sorted = g_entries;
  std::sort(sorted.begin(), sorted.end(),
            [](const Entry& a, const Entry& b) { return a.seconds > b.seconds; });
  return sorted;
}

Scope::Scope(std::string_view op, double flops, double bytes)
    : op_(op), flops_(flops), bytes_(bytes) {
  if (!g_enabled || g_inside) return;
  active_ = g_inside = true;
  start_ = std::chrono::steady_clock::now();
}

Scope::~Scope() {
  if (!active_) return;
  g_inside = false;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  auto it =
      std::find_if(g_entries.begin(), g_entries.end(), [&](const Entry& e) { return e.op == op_; });
  if (it == g_entries.end()) it = g_entries.insert(g_entries.end(), Entry{op_});
  ++it->calls;
  it->seconds += seconds;
  it->flops += flops_;
  it->bytes += bytes_;
}

}  // namespace nine::profile
