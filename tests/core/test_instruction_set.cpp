#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/training/instruction_set_of_run.h"
#include "core/bf16_product.h"
#include "core/instruction_set.h"
#include "tests/support/programs.h"

namespace nine::tests::test_instruction_set {

namespace fs = std::filesystem;

namespace {

Outcome run_under(const char* isa, const std::string& program,
                  const std::vector<std::string>& arguments) {
  return Program(program, arguments, {}, [isa] { setenv("NINE_ISA", isa, 1); }).wait();
}

// This CPU's, of those that the build has code for.
std::vector<std::string> runnable() {
  std::vector<std::string> names;
  for (const InstructionSet set : built_instruction_sets())
    if (missing_feature(set).empty()) names.push_back(to_text(set));
  return names;
}

// Returns the CPU's maker as Linux names it.
std::string vendor() {
  std::ifstream lines("/proc/cpuinfo");
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("vendor_id")) return line.substr(line.rfind(' ') + 1);
  return {};
}

}  // namespace

TEST_CASE("instruction set: the one in use is built, and the CPU can run it") {
  const auto built = built_instruction_sets();
  CHECK(std::is_sorted(built.begin(), built.end()));
  CHECK(std::find(built.begin(), built.end(), instruction_set()) != built.end());
  CHECK(missing_feature(instruction_set()).empty());
  if (std::getenv("NINE_ISA") == nullptr) {
    std::vector<std::string> usual = runnable();
    if (usual.back() == "avx512_bf16" && vendor() != "AuthenticAMD") usual.pop_back();
    CHECK(to_text(instruction_set()) == usual.back());
  }
}

TEST_CASE("instruction set: NINE_ISA chooses, and says what it cannot") {
  for (const std::string& isa : runnable())
    CHECK(run_under(isa.c_str(), "lm_train", {"--version"})
              .out.find("instruction set: " + isa + "\n") != std::string::npos);
  CHECK(run_under("", "lm_train", {"--version"}).code == 0);  // as if it were not there
  for (const char* program : {"lm_train", "bpe"}) {
    const Outcome unknown = run_under("mmx", program, {"--version"});
    CHECK(unknown.code == 1);
    CHECK(unknown.err.find("NINE_ISA=mmx: this build has code for ") != std::string::npos);
  }
  for (const InstructionSet set : built_instruction_sets()) {
    const std::string missing = missing_feature(set), name = to_text(set);
    if (missing.empty()) continue;
    const Outcome refused = run_under(name.c_str(), "lm_score", {"--checkpoint", "none"});
    CHECK(refused.code == 1);
    CHECK(refused.err.find("NINE_ISA=" + name + ": this CPU has no " + missing) !=
          std::string::npos);
  }
}

TEST_CASE("instruction set: NINE_BF16_TILES says what it cannot, before there is work to lose") {
  const auto refused = [](const char* isa, const char* tiles) {
    const Outcome r = Program("lm_score", {"--checkpoint", "none"}, {}, [=] {
                        setenv("NINE_ISA", isa, 1);
                        setenv("NINE_BF16_TILES", tiles, 1);
                      }).wait();
    CHECK(r.code == 1);
    return r.err;
  };
  CHECK(refused("", "x").find("NINE_BF16_TILES=x: must be emulated or pairs") != std::string::npos);
  if (std::ranges::count(runnable(), "amx") != 0)
    CHECK(refused("amx", "pairs").find("this CPU has tiles, which are faster") !=
          std::string::npos);
  if (std::ranges::count(runnable(), "avx2") != 0) {
    const Outcome version = Program("lm_train", {"--version"}, {}, [] {
                              setenv("NINE_ISA", "avx2", 1);
                              setenv("NINE_BF16_TILES", "pairs", 1);
                            }).wait();
    CHECK_MESSAGE(version.out.find(", pairs of bfloat16\n") != std::string::npos, version.out);
  }
  if (bf16::pairs_by_fma() == nullptr)
    CHECK(refused("", "pairs").find("this build is for CPUs without AVX2") != std::string::npos);
}

TEST_CASE("instruction set: training is the same to float32's accuracy under each") {
  const Scratch here;
  std::string text;
  for (int i = 0; i < 30; ++i) text += "the dog sees a cat and " + std::to_string(i) + " birds\n";
  put(here / "text", text);
  std::vector<double> perplexity;
  for (const std::string& isa : runnable()) {
    const std::string run = here / isa;
    const Outcome trained = run_under(
        isa.c_str(), "lm_train",
        {"--train", here / "text", "--valid", here / "text", "--layers", "1", "--hidden", "16",
         "--embed", "16", "--head", "mix2", "--batch", "4", "--after", "20u", "--run", run});
    REQUIRE_MESSAGE(trained.code == 0, trained.err);
    CHECK(Json::parse(slurp(run + "/config.json"))["resolved"]["instruction_set"] == isa);
    perplexity.push_back(0);
    for (const Json& event : log_of(run))
      if (event["event"] == "valid") perplexity.back() = event["ppl"];
    CHECK(perplexity.back() > 1);
  }
  for (const double ppl : perplexity)
    CHECK(std::abs(ppl - perplexity.front()) < 1e-4 * perplexity.front());
}

TEST_CASE("instruction set: what older runs recorded is read") {
  using app::in_present_form;
  CHECK(in_present_form("instruction_set", "sse4.2 avx avx2 fma bmi2") == "avx2");
  CHECK(in_present_form("instruction_set",
                        "sse4.2 avx avx2 fma bmi2 avx512f avx512bw avx512dq avx512vl") == "avx512");
  CHECK(in_present_form("instruction_set", "avx512") == "avx512");
  CHECK(in_present_form("gemm", "libxsmm 1.17 (hsw)") == "libxsmm 1.17 (hsw)");
  CHECK(in_present_form("gemm", "libxsmm 1.17 (clx)") == "libxsmm 1.17 (skx)");
  CHECK(in_present_form("gemm", "libxsmm 1.17 (cpx)") == "libxsmm 1.17 (skx)");
  CHECK(in_present_form("head", "avx avx2") == "avx avx2");
  CHECK(in_present_form("instruction_set", Json()) == Json());
}

TEST_CASE("instruction set: the error of another one says how the run goes on") {
  for (const std::string& isa : runnable())
    CHECK(app::how_to_go_on(isa) == "start it with NINE_ISA=" + isa + " to go on to the same bits");
  for (const InstructionSet set : built_instruction_sets())
    if (const std::string missing = missing_feature(set); !missing.empty())
      CHECK(app::how_to_go_on(to_text(set)) == "this CPU has no " + missing);
  CHECK(app::how_to_go_on("abacus") == "this build has no code for abacus");
}

}  // namespace nine::tests::test_instruction_set
