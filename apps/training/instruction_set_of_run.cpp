#include "apps/training/instruction_set_of_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/instruction_set.h"

namespace nine::app {
namespace {

std::string instruction_set_text(const std::string& stored) {
  if (stored.find(' ') == std::string::npos) return stored;
  for (const auto& [feature, set] :
       {std::pair("avx512vl", InstructionSet::avx512), std::pair("avx2", InstructionSet::avx2)})
    if (stored.find(feature) != std::string::npos) return to_text(set);
  return to_text(InstructionSet::generic);
}

std::string gemm_text(std::string stored) {
  for (const char* same_as_skx : {"(clx)", "(cpx)"})
    if (const size_t at = stored.find(same_as_skx); at != std::string::npos)
      stored.replace(at, 5, "(skx)");
  return stored;
}

}  // namespace

Json in_present_form(const std::string& key, const Json& value) {
  if (!value.is_string()) return value;
  if (key == "instruction_set") return instruction_set_text(value.get<std::string>());
  if (key == "gemm") return gemm_text(value.get<std::string>());
  return value;
}

std::string how_to_go_on(const std::string& was) {
  const std::vector<InstructionSet> built = built_instruction_sets();
  const auto set =
      std::find_if(built.begin(), built.end(), [&](InstructionSet s) { return to_text(s) == was; });
  if (set == built.end()) return "this build has no code for " + was;
  const std::string missing = missing_feature(*set);
  return missing.empty() ? "start it with NINE_ISA=" + was + " to go on to the same bits"
                         : "this CPU has no " + missing;
}

}  // namespace nine::app
