#include "kernels/head.h"

#include "core/scores/all.h"

namespace nine {

std::string HeadSpec::to_text() const { return scores::Lin::kName; }
std::string HeadSpec::check(int64_t) const { return {}; }

HeadSpec parse_head(std::string_view text, const HeadDefaults&) {
  if (text == scores::Lin::kName) return {};
  throw UsageError(concat("no head is called '", text, "': this build knows '", scores::Lin::kName, "', the inner product"));
}

}  // namespace nine
