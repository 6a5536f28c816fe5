// Every flag of the programs but kernel_inspect and nine_report refuses what is out of its range,
// by name. Driven by the flags' own declarations, so that a new one cannot be forgotten: one
// without a range, a choice, a check or a path's unit fails here. And no flag of any program brings
// a long value into a message.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "apps/bpe/bpe_options.h"
#include "apps/cli/option_data.h"
#include "apps/cli/option_values.h"
#include "apps/cli/short_message.h"
#include "apps/lm_rescore/rescore_options.h"
#include "apps/lm_score/score_options.h"
#include "apps/lm_train/lm_options.h"
#include "apps/mt_train/mt_options.h"
#include "apps/mt_translate/translate_options.h"
#include "apps/nine_convert/convert_options.h"
#include "apps/nine_serve/serve_options.h"
#include "core/error.h"
#include "core/quote.h"
#include "data/unicode.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_option_table {
namespace {

using namespace nine::app;
using Strings = std::vector<std::string>;

// What arguments are refused with, beside those that the program cannot go without; empty when they
// are taken.
template <class Program>
std::string refusal(Strings arguments) {
  Program fields;
  Options options("program", "What it does.");
  fields.declare(options);
  for (const OptionData* option : options.declared())
    if (option->required && !arguments[0].starts_with(option->typed() + "="))
      arguments.push_back(option->typed() + "=x");
  std::ostringstream ignored;
  try {
    static_cast<void>(options.parse(arguments, ignored));
  } catch (const UsageError& e) {
    return e.what();
  }
  return {};
}

// Numbers just outside of a flag's bounds and its closed bounds themselves.
struct Edges {
  Strings outside, inside;
};

Edges edges_of(const Bounds& bounds, bool whole) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto beyond = [&](double bound, double to) {
    return whole ? bound + std::copysign(1, to) : std::nextafter(bound, to);
  };
  Edges edges;
  const auto add = [&](double bound, bool open, double outwards) {
    if (!std::isfinite(bound)) return;
    edges.outside.push_back(concat(open ? bound : beyond(bound, outwards)));
    edges.inside.push_back(concat(open ? beyond(bound, -outwards) : bound));
  };
  add(bounds.low, bounds.low_open, -kInfinity);
  add(bounds.high, bounds.high_open, kInfinity);
  return edges;
}

// A number as the command line takes it: 65537 rather than 6.5537e+04.
std::string plain(const std::string& number, bool whole) {
  return whole ? std::to_string(std::llround(std::stod(number))) : number;
}

struct Wrong {
  Strings texts;    // refused
  Strings allowed;  // taken
};

Wrong cases_of(const OptionData& option) {
  Wrong w;
  const auto numeric = [&](bool whole) {
    w.texts = {"", "x", "nan", "inf", "-inf", "1e", "0x10", "--", "1e400"};
    const Edges edges = edges_of(option.bounds, whole);
    for (const std::string& text : edges.outside) w.texts.push_back(plain(text, whole));
    for (const std::string& text : edges.inside) w.allowed.push_back(plain(text, whole));
    if (whole) w.texts.insert(w.texts.end(), {"1.5", "99999999999999999999999"});
  };
  std::visit(
      [&](auto* field) {
        using T = std::remove_pointer_t<decltype(field)>;
        if constexpr (std::is_same_v<T, bool>) {
          w.texts = {"", "true", "2"};
        } else if constexpr (std::is_integral_v<T>) {
          const bool bounded = std::isfinite(option.bounds.low) || std::is_unsigned_v<T>;
          CHECK_MESSAGE(bounded, option.name, " takes any whole number: give it a range");
          numeric(true);
        } else if constexpr (std::is_same_v<T, double>) {
          CHECK_MESSAGE(std::isfinite(option.bounds.low), option.name,
                        " takes any number: give it a range");
          numeric(false);
        } else if constexpr (std::is_same_v<T, std::array<double, 2>>) {
          numeric(false);
          Strings pairs{"0.5", "0.5,", ",0.5", "0.5,0.5,0.5"};
          for (const std::string& text : w.texts)
            pairs.insert(pairs.end(), {text + ",0.5", "0.5," + text});
          w.texts = pairs;
          for (std::string& text : w.allowed) text += ",0.5";
        } else if (option.name == "memory") {  // of bpe learn, a size
          w.texts = {"", "0", "-1M", "M", "1.5G", "10x", "99999999999G"};
          w.allowed = {"all", "10", "100K", "2G"};
        } else if (option.name == "rotary-scaling") {
          w.texts = {"",
                     "none:2",
                     "linear",
                     "linear:0.5",
                     "linear:nan",
                     "yarn:2",
                     "llama3:low=1",
                     "llama3:factor=8,low=4,high=1",
                     "llama3:factor=8,length=0.5"};
        } else if (std::is_same_v<T, TextField> && option.choices.empty()) {  // a training length
          w.texts = {
              "",   "10", "u", "-1u", "nanu", "infe", "1.5u", "1e400u", "99999999999999999999u",
              "10x"};
          w.allowed = {"1u", "2e", "3Kt"};
        } else if (!option.choices.empty() || option.check) {
          w.texts = {"no such thing"};
          (option.may_be_empty ? w.allowed : w.texts).emplace_back();
          w.allowed.insert(w.allowed.end(), option.choices.begin(), option.choices.end());
        } else {
          const bool names_files = option.unit.starts_with("FILE") ||
                                   option.unit.starts_with("DIR") || option.unit == "A B";
          const bool says_so = option.unit.starts_with("TEXT");  // words of the user's own
          CHECK_MESSAGE(
              (names_files || says_so), option.name,
              " takes any text: give it choices, a check, or FILE, DIR or TEXT for a unit");
        }
      },
      option.field);
  return w;
}

// `least` flags or more: a bound against a loop over none.
template <class Program>
void check_every_flag(int least = 11) {
  Program fields;
  Options options("program", "What it does.");
  fields.declare(options);
  const TemporaryDirectory dir;
  int flags = 0;
  for (const OptionData* option : options.declared()) {
    if (option->built_in) continue;
    ++flags;
    const std::string flag = "--" + option->name;
    CAPTURE(flag);
    const Wrong cases = cases_of(*option);
    for (const std::string& text : cases.texts) {
      const std::string said = refusal<Program>({flag + "=" + text});
      CHECK_MESSAGE(said.starts_with(flag), text, " gave: ", said);
    }
    for (const std::string& text : cases.allowed)
      CHECK(refusal<Program>({flag + "=" + text}).empty());
    for (const char* value : {"null", "{}", "[[]]", "[1,2,3]", "{\"a\":1}"}) {
      std::ofstream(dir / "config.json") << "{\"" << option->key() << "\": " << value << "}";
      const std::string said = refusal<Program>({"--config", dir / "config.json"});
      CHECK_MESSAGE(has(said, option->key()), value, " gave: ", said);
    }
  }
  CHECK(flags >= least);
}

constexpr const char* kBpeCommands[] = {"learn", "apply", "undo", "vocab", "convert"};

template <size_t Index>
struct BpeCommand : BpeFlags {
  void declare(Options& options) { BpeFlags::declare(options, kBpeCommands[Index]); }
};

// What the libraries' errors call the program's settings (Option::called), each by one flag.
template <class Program>
std::set<std::string> settings_of() {
  Program fields;
  Options options("program", "What it does.");
  fields.declare(options);
  std::set<std::string> settings;
  for (const OptionData* option : options.declared())
    if (!option->setting.empty())
      CHECK_MESSAGE(settings.insert(option->setting).second, option->setting, " is two flags");
  return settings;
}

}  // namespace

TEST_CASE("option table: the settings that errors of the libraries mention have flags") {
  std::set<std::string> settings = settings_of<LmOptions>();
  settings.merge(settings_of<MtOptions>());
  for (const char* words : {"learning rate",
                            "gradient clipping",
                            "batch size",
                            "batch tokens",
                            "bptt length",
                            "accumulation steps",
                            "hidden size",
                            "embedding size",
                            "feed-forward size",
                            "number of layers",
                            "number of attention heads",
                            "vocabulary size",
                            "minimum count",
                            "maximum length",
                            "weight decay",
                            "head",
                            "ball",
                            "variance",
                            "head context",
                            "untied",
                            "head memory",
                            "label smoothing",
                            "smoothing",
                            "prior regulariser",
                            "weight-norm regulariser",
                            "tied embeddings",
                            "norm order",
                            "optimizer",
                            "schedule",
                            "best metric",
                            "matmul precision",
                            "the device",
                            "threads",
                            "validation beam"})
    CHECK_MESSAGE(settings.contains(words), words);
  CHECK(settings_of<ScoreOptions>().contains("batch size"));
  CHECK(settings_of<TranslateOptions>().contains("batch size"));
}

TEST_CASE("option table: lm_train refuses whatever is out of range") {
  check_every_flag<LmOptions>();
}

TEST_CASE("option table: mt_train refuses whatever is out of range" *
          doctest::test_suite("check")) {
  check_every_flag<MtOptions>();
}

TEST_CASE("option table: lm_score refuses whatever is out of range") {
  check_every_flag<ScoreOptions>();
}

TEST_CASE("option table: mt_translate refuses whatever is out of range") {
  check_every_flag<TranslateOptions>();
}

TEST_CASE("option table: lm_rescore refuses whatever is out of range") {
  check_every_flag<RescoreOptions>();
}

TEST_CASE("option table: nine_convert refuses whatever is out of range") {
  check_every_flag<ConvertOptions>(3);
}

TEST_CASE("option table: nine_serve refuses whatever is out of range") {
  check_every_flag<ServeOptions>();
}

TEST_CASE("option table: bpe's commands refuse whatever is out of range") {
  check_every_flag<BpeCommand<0>>(7);
  check_every_flag<BpeCommand<1>>(10);
  check_every_flag<BpeCommand<2>>(3);
  check_every_flag<BpeCommand<3>>(4);
  check_every_flag<BpeCommand<4>>(2);
}

namespace {

// Every number of a program's flags, given as what float32 has not.
template <class Program>
int check_numbers_in_float32() {
  Program defaults;
  Options declared("program", "What it does.");
  defaults.declare(declared);
  CHECK_NOTHROW(require_numbers_fit(declared.declared(), DType::float32));
  int checked = 0;
  for (const OptionData* option : declared.declared()) {
    const bool pair = std::holds_alternative<std::array<double, 2>*>(option->field);
    if (!pair && !std::holds_alternative<double*>(option->field)) continue;
    // The last rounds to 1, which a share or a decay must stay below.
    for (const char* number : {"1e-300", "1e300", "0.99999999999"}) {
      const bool just_below = *number == '0';
      if (!option->bounds.contains(std::stod(number)) ||
          (just_below && !(option->bounds.high_open && option->bounds.high == 1)))
        continue;
      Program fields;
      Options options("program", "What it does.");
      fields.declare(options);
      std::ostringstream ignored;
      Strings arguments{option->typed() + "=" + (pair ? concat("0.5,", number) : number)};
      static_cast<void>(options.parse(arguments, ignored));
      const std::string error =
          error_of([&] { require_numbers_fit(options.declared(), DType::float32); });
      CHECK_MESSAGE(has(error, option->typed() + " "), option->typed());
      CHECK_MESSAGE(has(error, just_below ? "is 1 in float32" : "for float32, whose "), error);
      CHECK_NOTHROW(require_numbers_fit(options.declared(), DType::float64));
      ++checked;
    }
  }
  return checked;
}

}  // namespace

TEST_CASE("option table: a number that is 0 or infinite in the type that computes is refused") {
  CHECK(check_numbers_in_float32<LmOptions>() > 20);
  CHECK(check_numbers_in_float32<MtOptions>() > 20);
  for (const Strings& wrong : std::vector<Strings>{{"--eps", "1e-300"},
                                                   {"--betas", "0.9,0.99999999999"},
                                                   {"--head", "pow:p=1e-300"},
                                                   {"--pi-reg", "cv2:1e-300", "--head", "mos"}})
    for (const char* program : {"lm_train", "mt_train"}) {
      const Outcome r = run_program(program, joined({"--sample", "--run", "/none/run"}, wrong));
      CHECK(r.code == 2);
      CHECK_MESSAGE(has(r.err, concat(wrong[0] == "--pi-reg" ? "--head" : wrong[0], " ")), r.err);
      CHECK_MESSAGE(has(r.err, "float32"), r.err);
    }
}

namespace {

// A program, or a command of bpe, and options with which it comes far.
struct Command {
  std::string program;
  Strings command, options;
};

std::vector<Command> commands(const TemporaryDirectory& dir) {
  const std::string text = dir.write("text", "a b\nb a\n"),
                    codes = dir.write("codes", "#version: 0.2\n"),
                    lists = dir.write("lists", "u-1 -1 a\n"), none = dir / "none";
  const Strings small{"--layers=1", "--hidden=4", "--after=1u"};
  return {{"lm_train", {}, joined(small, {"--train=" + text, "--run=" + dir / "lm"})},
          {"mt_train",
           {},
           joined(small, {"--src=" + text, "--tgt=" + text, "--heads=1", "--run=" + dir / "mt"})},
          {"lm_score", {}, {"--checkpoint=" + none}},
          {"mt_translate", {}, {"--checkpoint=" + none}},
          {"lm_rescore",
           {},
           {"--checkpoint=" + none, "--nbest=" + lists, "--nbest-format=kaldi",
            "--output=" + dir / "out"}},
          {"nine_convert", {}, {"--from=" + none, "--to=" + dir / "out"}},
          {"nine_serve", {}, {none}},
          {"kernel_inspect", {}, {"--output=/dev/null"}},
          {"nine_report", {}, {"--words=" + none}},
          {"bpe", {"learn"}, {"--output=/dev/null"}},
          {"bpe", {"apply"}, {"--codes=" + codes}},
          {"bpe", {"undo"}, {}},
          {"bpe", {"vocab"}, {}}};
}

// The flags of a program: the keys of what it dumps.
Strings flags_of(const Command& c) {
  const Outcome dump = run_program(c.program, joined(c.command, {"--dump-config"}));
  REQUIRE_MESSAGE(dump.code == 0, dump.err);
  const Json keys = Json::parse(dump.out);
  Strings flags;
  for (const auto& [key, value] : keys.items()) flags.push_back(flag_of(key));
  return flags;
}

void check_lines(const Outcome& o, const std::string& what) {
  constexpr size_t kMost = 400;  // characters
  std::istringstream lines(o.err);
  for (std::string line; std::getline(lines, line);)
    CHECK_MESSAGE(code_points(line).size() <= kMost, what, ": ", line.substr(0, 1000));
}

// Gives each flag of each program a value of 10,000 characters beside other options; where
// `everywhere`, alone and in a configuration too, and as a flag, a key and a name.
void check_long_values(const std::string& part, bool everywhere) {
  std::string value;
  while (value.size() < 10'000) value += part;
  const TemporaryDirectory dir;
  int flags = 0;
  for (const Command& c : commands(dir)) {
    const auto check = [&](const Strings& more, const std::string& what) {
      check_lines(run_program(c.program, joined(c.command, more), "a\n"),
                  concat(c.program, " ", what, " ", part));
    };
    const auto configured = [&](const std::string& key, const Json& as) {
      put(dir / "config.json", Json{{key, as}}.dump());
      return "--config=" + dir / "config.json";
    };
    for (const std::string& flag : flags_of(c)) {
      ++flags;
      Strings others = c.options;
      std::erase_if(others, [&](const std::string& o) { return o.starts_with("--" + flag + "="); });
      const std::string typed = concat("--", flag, "=", value);
      check(joined(others, {typed}), flag);
      if (!everywhere) continue;
      check({typed, "--codes=/none"}, flag);
      check(joined(others, {configured(key_of(flag), value)}), flag);
    }
    if (!everywhere) continue;
    for (const Strings& more : std::vector<Strings>{{value},
                                                    {"--" + value},
                                                    {configured(value, 1)},
                                                    {"--config=" + value},
                                                    {"--output", "--" + value}})
      check(more, more[0].substr(0, 20));
  }
  check_lines(run_program("bpe", {value}), "bpe");
  CHECK(flags > 250);
}

}  // namespace

TEST_CASE("option table: a value of 10,000 characters is quoted in part, whatever the option" *
          doctest::test_suite("check")) {
  check_long_values("x", true);
  for (const char* part : {"ab ", "1 + ", "mix:lin,", "1:2 "}) check_long_values(part, false);
}

TEST_CASE("short_message: noted values and long words, and no more") {
  OptionData words, file;
  file.unit = "FILE";
  const std::string path = "/" + std::string(150, 'p') + "/file",
                    text = "a " + std::string(90, 'b') + " c";
  note_value(words, text);
  note_value(file, path);
  CHECK(short_message("x '" + text + "' y") == "x '" + shortened(text) + "' y");
  CHECK(short_message(path + " does not exist") == path + " does not exist");
  CHECK(short_message(std::string(300, 'w') + "\n" + std::string(200, 'v')) ==
        std::string(59, 'w') + "…\n" + std::string(200, 'v'));
  CHECK(short_message("").empty());
  // Users call no functions; the op whose pass gave NaN is what the message is about.
  CHECK(short_message("[learn_bpe] 5 merges: [HeadDecoder] no") == "5 merges: no");
  CHECK(short_message("[SampleLanguage::generate] x") == "x");
  for (const char* kept :
       {"[cast] the forward pass of step 17 gave NaN", "[0, 1) [a] b", "no [x] y", "[a b] c", "[]"})
    CHECK(short_message(kept) == kept);
}

}  // namespace nine::tests::test_option_table
