// The programs' configurations: what --dump-config prints, --config reads.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_dumped_config {
namespace {

using Strings = std::vector<std::string>;

struct ByDump {
  Outcome dump, run;
};
// What a program dumps of `options`, and what it then does by that configuration; both succeed.
ByDump run_by_dump(const TemporaryDirectory& dir, const std::string& program,
                   const Strings& arguments, const Strings& options, const Strings& more) {
  CAPTURE(program);
  const Outcome dump = run_program(program, joined(joined(arguments, options), {"--dump-config"}));
  CHECK_MESSAGE(dump.code == 0, dump.err);
  put(dir / "config.json", dump.out);
  const Outcome run =
      run_program(program, joined(joined(arguments, {"--config", dir / "config.json"}), more));
  CHECK_MESSAGE(run.code == 0, run.err);
  return {dump, run};
}

}  // namespace

TEST_SUITE("dumped configurations") {
  TEST_CASE("--config -: no other option reads standard input") {
    for (const auto& [program, config] :
         {std::pair("mt_translate", "{\"checkpoint\": [\"mt\"]}"), std::pair("lm_score", "{}")}) {
      const Outcome r = run_program(program, {"--config", "-"}, config);
      CHECK(r.code == 2);
      CHECK_MESSAGE(has(r.err, "--config and --input are both standard input"), r.err);
    }
  }

  TEST_CASE("--config -: standard input") {
    const Outcome o =
        run_program("lm_train", {"--config", "-", "--dump-config"}, "{\"hidden\": 7}");
    REQUIRE_MESSAGE(o.code == 0, o.err);
    CHECK(Json::parse(o.out)["hidden"] == 7);
    CHECK(has(run_program("lm_train", {"--config", "-"}, "{\n\"hidden\" 7}").err,
              "--config standard input: is not JSON: parse error at line 2, column 10"));
    CHECK(has(run_program("lm_train", {"--config", "-"}, R"({"hiden": 7})").err,
              "unknown key \"hiden\" in standard input"));
    CHECK(has(run_program("lm_train", {"--config", "-"}, R"({"hidden": "x"})").err,
              "\"hidden\": \"x\" in standard input"));
  }

  TEST_CASE("every program reads back the configuration that it dumps") {
    const TemporaryDirectory dir;
    const std::vector<std::pair<std::string, Strings>> programs{
        {"lm_train", {}},       {"mt_train", {}},    {"lm_score", {}},   {"mt_translate", {}},
        {"kernel_inspect", {}}, {"nine_report", {}}, {"bpe", {"learn"}}, {"bpe", {"apply"}},
        {"bpe", {"undo"}},      {"bpe", {"vocab"}},  {"lm_rescore", {}}, {"bpe", {"convert"}},
        {"nine_convert", {}},   {"nine_serve", {}}};
    for (const auto& [program, command] : programs) {
      const ByDump r = run_by_dump(dir, program, command, {}, {"--dump-config"});
      CHECK(r.run.out == r.dump.out);
    }
  }

  TEST_CASE("every program runs by the configuration that it dumps of other options") {
    const TemporaryDirectory dir;
    const std::string text = dir.write("text", "a b c\nb a\nc c a b\na a\n"), lm = dir / "lm",
                      mt = dir / "mt", codes = dir / "codes";
    struct Command {
      std::string program;
      Strings arguments, options;  // what a configuration cannot hold, and what it holds
    };
    const Strings tiny{"--hidden", "4", "--layers", "1", "--after", "2u"};
    std::vector<Command> commands{
        {"lm_train",
         {},
         {"--batch",
          "2",
          "--bptt",
          "3",
          "--train",
          text,
          "--valid",
          text,
          "--embed",
          "4",
          "--run",
          lm,
          "--head",
          "mix:ssg,hpb",
          "--variance",
          "1",
          "--ball",
          "tanh",
          "--label-smoothing",
          "0.1",
          "--smoothing",
          "others",
          "--pi-reg",
          "cv2:0.1"}},
        {"mt_train",
         {},
         {"--src", text, "--tgt", text, "--valid-src", text, "--valid-tgt", text, "--heads", "2",
          "--ffn", "4", "--run", mt, "--head", "log:p=3"}}};
    for (Command& c : commands) c.options = joined(c.options, tiny);
    const std::vector<Command> users{
        {"lm_score", {}, {"--checkpoint", lm, "--input", text, "--top", "2"}},
        {"lm_score", {}, {"--checkpoint", lm, "--input", text, "--generate", "--temperature", "0"}},
        {"mt_translate", {}, {"--checkpoint", mt, "--input", text, "--beam", "2", "--n-best", "2"}},
        {"mt_translate",
         {},
         {"--input", text, "--score", "--reference", text, "--smooth-method", "floor",
          "--smooth-value", "0.2"}},
        {"lm_rescore",
         {},
         {"--checkpoint", lm, "--nbest", dir.write("nbest", "u\t-1\ta\nv\t-1\tb\n"), "--reference",
          dir.write("reference", "u\ta\nv\tc\n"), "--output", dir / "out", "--lambda", "1"}},
        {"kernel_inspect", {}, {"--explain", "pow:p=1"}},
        {"nine_report", {lm}, {"--output", dir / "report.html"}},
        {"bpe",
         {"learn"},
         {"--input", text, "--merges", "2", "--min-frequency", "1", "--output", codes}},
        {"bpe", {"apply"}, {"--input", text, "--codes", codes}},
        {"bpe", {"undo"}, {"--input", text}},
        {"bpe", {"vocab"}, {"--input", text}}};
    commands.insert(commands.end(), users.begin(), users.end());
    for (const auto& [program, arguments, options] : commands)
      run_by_dump(dir, program, arguments, options, {});
  }
}

}  // namespace nine::tests::test_dumped_config
