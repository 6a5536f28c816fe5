#include "kernels/head.h"

#include "core/scores/all.h"

namespace nine {

std::string HeadSpec::to_text() const {
  return scores::visit(score, [](const auto& s) { return std::string(s.kName); });
}

HeadSpec parse_head(std::string_view text) {
  if (text == scores::Lin::kName) return {};
  throw UsageError(concat("no head is called '", text, "': this build knows '", scores::Lin::kName, "', the inner product"));
}

}  // namespace nine
