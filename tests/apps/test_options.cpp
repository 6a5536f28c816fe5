// apps/cli: options of every type, among them training lengths.
#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "apps/cli/options.h"
#include "apps/cli/setting_flags.h"
#include "apps/training/option_types.h"
#include "core/error.h"
#include "core/json.h"
#include "core/suggest.h"
#include "nn/training/training_length.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine {
namespace tests {
enum class Colour : uint8_t { red, green };
}
template <>
inline constexpr EnumNames<tests::Colour, 2> kEnumNames<tests::Colour>{
    "colour", {{{tests::Colour::red, "red"}, {tests::Colour::green, "green"}}}};
}  // namespace nine

namespace nine::tests::test_options {
namespace {

using namespace nine::app;
using Strings = std::vector<std::string>;

// Every type of flag.
struct Sample {
  bool tie = true;
  bool untied = false;
  int layers = 2;
  int64_t hidden = 512;
  uint64_t seed = 1;
  double lr = 0.001;
  double dropout = 0.2;
  std::string optimizer = "adam";
  std::string run;
  Strings train;
  std::array<double, 2> betas{0.9, 0.999};
  TrainingLength after{10, TrainingUnit::epochs};
  Options options{"lm_train", "Trains a language model.",
                  [] { return std::string("nine 0.1.0\n"); }};

  Sample() {
    options.group("Model");
    options.add("tie-embeddings", tie, "share embedding and head");
    options.add("untied", untied, "a weight for each component");
    options.add("layers", layers, "LSTM layers").range(1, 64);
    options.add("hidden", hidden, "hidden size").at_least(1);
    options.group("Training");
    options.add("seed", seed, "seed of all random numbers");
    options.add("lr", lr, "learning rate").above(0);
    options.add("dropout", dropout, "share of activations dropped").range_from(0, 1);
    options.add("optimizer", optimizer, "how weights are updated")
        .choices({"sgd", "adam", "adamw", "asgd"});
    options.add("run", run, "run directory").unit("DIR");
    options.add("train", train, "training text, one sentence a line").unit("FILE...");
    options.add("betas", betas, "Adam's decay rates").range_from(0, 1);
    options.add("after", after, "when to stop");
  }

  bool parse(const Strings& arguments) {
    std::ostringstream ignored;
    return options.parse(arguments, ignored);
  }
};

std::string usage_error(const Strings& arguments) {
  Sample s;
  try {
    s.parse(arguments);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "no error";
}

std::string config_error(std::string_view config) {
  TemporaryDirectory scratch;
  return usage_error({"--config", scratch.write("cfg.json", config)});
}

}  // namespace

TEST_SUITE("options") {
  TEST_CASE("every type is read") {
    Sample s;
    CHECK(s.parse({"--no-tie-embeddings",
                   "--untied",
                   "--layers",
                   "3",
                   "--hidden=256",
                   "--seed",
                   "18446744073709551615",
                   "--lr",
                   "1e-4",
                   "--dropout",
                   ".5",
                   "--optimizer",
                   "sgd",
                   "--run",
                   "runs/a",
                   "--train",
                   "a.txt",
                   "b.txt",
                   "--betas",
                   "0.8,0.99",
                   "--after",
                   "300Ku",
                   "--train",
                   "c.txt"}));
    CHECK_FALSE(s.tie);
    CHECK(s.untied);
    CHECK(s.layers == 3);
    CHECK(s.hidden == 256);
    CHECK(s.seed == std::numeric_limits<uint64_t>::max());
    CHECK(s.lr == 1e-4);
    CHECK(s.dropout == 0.5);
    CHECK(s.optimizer == "sgd");
    CHECK(s.run == "runs/a");
    CHECK(s.train == Strings{"a.txt", "b.txt", "c.txt"});
    CHECK(s.betas == std::array<double, 2>{0.8, 0.99});
    CHECK(s.after == TrainingLength{300'000, TrainingUnit::updates});
  }

  TEST_CASE("nothing given leaves the defaults") {
    Sample s;
    CHECK(s.parse({}));
    CHECK(s.layers == 2);
    CHECK_FALSE(s.options.was_set("layers"));
    CHECK(s.options.to_json() == s.options.defaults_json());
  }

  TEST_CASE("an older name with older words means the present flag") {
    const auto parsed = [](const Strings& arguments) {
      std::string shade = "light";
      Options options("paint", "Paints.");
      options.add("shade", shade, "how dark")
          .choices({"light", "dark"})
          .older_name("tint", {{"0", "light"}, {"9", "dark"}});
      std::ostringstream ignored;
      const bool runs = options.parse(arguments, ignored);
      CHECK(runs);
      CHECK(options.was_set("shade") == !arguments.empty());
      return shade;
    };
    CHECK(parsed({}) == "light");
    CHECK(parsed({"--tint", "9"}) == "dark");
    CHECK(parsed({"--tint=9"}) == "dark");
    CHECK(error_of([&] {
            parsed({"--tint", "9", "--shade", "light"});
          }) == "--tint is the older name of --shade: give one of them");
    CHECK(error_of([&] {
            parsed({"--shade=dark", "--tint=9"});
          }) == "--tint is the older name of --shade: give one of them");
    CHECK(error_of([&] {
            parsed({"--tint", "5"});
          }) == "--tint 5: must be one of 0, 9; the option's present name is --shade");
    CHECK(has(error_of([&] { parsed({"--tint"}); }), "--shade needs a value"));

    std::string shade = "light";
    Options options("paint", "Paints.");
    options.add("shade", shade, "how dark").older_name("tint", {{"0", "light"}, {"9", "dark"}});
    CHECK(options.in_present_names(Json({{"tint", "9"}, {"size", 1}})) ==
          Json({{"size", 1}, {"shade", "dark"}}));
    CHECK(options.in_present_names(Json({{"shade", "dark"}})) == Json({{"shade", "dark"}}));
    CHECK(has(error_of([&] {
                options.in_present_names(Json({{"tint", "9"}, {"shade", "dark"}}));
              }),
              "give one of them"));
  }

  TEST_CASE("texts pass unchanged") {
    Sample s;
    CHECK(s.parse({"--run=", "--train", "[a,b]", "-", "{}", " ", "%%", "a=b"}));
    CHECK(s.run.empty());
    CHECK(s.options.was_set("run"));
    CHECK(s.train == Strings{"[a,b]", "-", "{}", " ", "%%", "a=b"});
    Sample t;
    CHECK(t.parse({"--run=--odd=1", "--train=[x]"}));
    CHECK(t.run == "--odd=1");
    CHECK(t.train == Strings{"[x]"});
    Sample u;
    CHECK(u.parse({"--run", "", "--seed", "7"}));
    CHECK(u.run.empty());
    CHECK(u.seed == 7);
    Sample v;
    CHECK(v.parse({"--run", "[a,b]"}));
    CHECK(v.run == "[a,b]");
    CHECK(usage_error({"--train", "a", ""}) ==
          "--train '': is empty");  // an unset variable, say; it would be looked for as a file
  }

  TEST_CASE("an unknown flag names the nearest") {
    CHECK(usage_error({"--hiden", "256"}) == "unknown option --hiden; did you mean --hidden?");
    CHECK(usage_error({"--hiden=256"}) == "unknown option --hiden; did you mean --hidden?");
    CHECK(has(usage_error({"--tie"}), "did you mean --tie-embeddings?"));
    CHECK(has(usage_error({"--tie_embeddings"}), "did you mean --tie-embeddings?"));
    CHECK(has(usage_error({"--no-tie-embedings"}), "did you mean --no-tie-embeddings?"));
    CHECK(has(usage_error({"-layers", "3"}), "unknown option -layers; did you mean --layers?"));
    CHECK(usage_error({"--zzzzzz"}) == "unknown option --zzzzzz");
    CHECK(has(usage_error({"--no-lr"}), "unknown option --no-lr"));
    CHECK(usage_error({"-x"}).starts_with("unknown option -x"));
  }

  TEST_CASE("numbers are strict") {
    const std::string whole = ": must be a whole number from 1 to 64";
    for (const char* text : {"12x", "x", "1.5", "1e1", "0", "65", "-1", " 3", "0x3", "+3"})
      CHECK(usage_error({"--layers", text}) == concat("--layers ", text, whole));
    CHECK(usage_error({"--layers", ""}) == "--layers ''" + whole);
    CHECK(usage_error({"--layers", "99999999999999999999"}) ==
          "--layers 99999999999999999999" + whole);
    for (const char* text : {"nan", "inf", "-inf", "1e", "1e-3x", "0", "-0.1", "infinity", "."})
      CHECK(usage_error({"--lr", text}) == concat("--lr ", text, ": must be a number above 0"));
    CHECK(has(usage_error({"--lr", "1e999"}), "--lr 1e999: is beyond the range of a double"));
    CHECK(usage_error({"--dropout", "1"}) ==
          "--dropout 1: must be a number at least 0 and below 1");
    CHECK(usage_error({"--seed", "-1"}) == "--seed -1: must be a whole number, not negative");
    CHECK(has(usage_error({"--seed", "18446744073709551616"}),
              "--seed 18446744073709551616: is too large, must be a whole number from 0 to "
              "18446744073709551615"));
    CHECK(has(usage_error({"--hidden", "9223372036854775808"}), "to 9223372036854775807"));
    CHECK(!has(usage_error({"--hidden", "-9223372036854775809"}), "large"));
    for (const char* text : {"0.9", "0.9,", ",0.9", "0.9,0.99,0.999", "0.9;0.99", "0.9,1", "a,b"})
      CHECK(has(usage_error({"--betas", text}),
                concat("--betas ", text,
                       ": must be two numbers such as 0.9,0.999, each at least 0 and below 1")));
  }

  TEST_CASE("choices") {
    CHECK(usage_error({"--optimizer", "adm"}) ==
          "--optimizer adm: not one of sgd, adam, adamw, asgd; did you mean adam?");
    CHECK(usage_error({"--optimizer", "zzz"}) ==
          "--optimizer zzz: not one of sgd, adam, adamw, asgd");
    CHECK(has(usage_error({"--optimizer", ""}), "--optimizer ''"));
    CHECK(has(usage_error({"--optimizer", "ADAM"}), "did you mean adam?"));
  }

  TEST_CASE("an enumeration takes the names in its table") {
    struct Painter {
      Colour colour = Colour::red;
      DType dtype = DType::float32;
      Options options{"paint", "Paints."};
      Painter() {
        options.add("colour", colour, "what is painted");
        options.add("dtype", dtype, "in which numbers");
      }
      bool parse(const Strings& arguments) {
        std::ostringstream ignored;
        return options.parse(arguments, ignored);
      }
    };
    const auto refused = [&](const Strings& arguments) {
      Painter p;
      std::string error = error_of([&] { (void)p.parse(arguments); });
      CHECK(p.colour == Colour::red);
      return error;
    };
    CHECK(refused({"--colour", "gren"}) ==
          "--colour gren: not one of red, green; did you mean green?");
    CHECK(has(refused({"--colour", ""}), "--colour '': not one of red, green"));
    CHECK(refused({"--colour"}) == "--colour needs a value: one of red, green");
    CHECK(has(refused({"--dtype", "int32"}), "--dtype int32: not one of float32, float64"));
    TemporaryDirectory scratch;
    CHECK(has(refused({"--config", scratch.write("a.json", R"({"colour": 1})")}),
              "must be one of red, green"));
    Painter p;
    CHECK(p.parse({"--colour", "green", "--dtype=float64"}));
    CHECK(p.colour == Colour::green);
    CHECK(p.dtype == DType::float64);
    CHECK(p.options.to_json().dump() == R"({"colour":"green","dtype":"float64"})");
    CHECK(p.options.defaults_json().dump() == R"({"colour":"red","dtype":"float32"})");
    CHECK(has(p.options.help(),
              "  --colour TEXT               what is painted (red, green; default red)\n"));
    Painter q;
    CHECK(q.parse({"--config", scratch.write("b.json", R"({"colour": "green"})")}));
    CHECK(q.colour == Colour::green);
  }

  TEST_CASE("amounts as flags") {
    CHECK(has(usage_error({"--after", "300"}),
              "--after 300: '300' has no unit; write epochs as 10e"));
    CHECK(has(config_error(R"({"after": 300})"), "\"after\": 300 in "));
    CHECK(has(config_error(R"({"after": "3x"})"), "'3x' is not an amount"));
  }

  TEST_CASE("missing, repeated, unexpected") {
    CHECK(usage_error({"--lr"}) == "--lr needs a value: a number above 0");
    CHECK(usage_error({"--run"}) == "--run needs a value: DIR");
    CHECK(has(usage_error({"--train"}), "--train needs a value: FILE..."));
    CHECK(has(usage_error({"--run", "--untied"}),
              "--run needs a value: DIR, but '--untied' follows; for a value that begins with "
              "dashes write --run=--untied"));
    CHECK(has(usage_error({"--run", "--"}), "--run needs a value"));
    CHECK(usage_error({"--lr", "1", "--lr", "2"}) == "--lr is given 2 times; give it once");
    CHECK(has(usage_error({"--untied", "--no-untied"}), "--untied is given 2 times"));
    CHECK(has(usage_error({"--untied=false"}),
              "--untied=false: takes no value; write --untied or --no-untied"));
    CHECK(has(usage_error({"corpus.txt"}), "unexpected argument 'corpus.txt'"));
    CHECK(has(usage_error({"layers", "3"}), "did you mean --layers?"));
    CHECK(has(usage_error({"--", "x"}), "unexpected argument"));
    CHECK(has(usage_error({"--layers", "2", "3"}), "unexpected argument '3'"));
    CHECK(has(usage_error({"--untied", "true"}), "unexpected argument 'true'"));
  }

  TEST_CASE("required and checked flags") {
    std::string codes, head;
    Options o("bpe apply", "Cuts words.");
    o.add("codes", codes, "merges to apply").unit("FILE").required();
    o.add("head", head, "output layer").check([](const std::string& text) {
      require(text == "lin", "no kernel is called ", text);
    });
    std::ostringstream out;
    CHECK(error_of([&] { (void)o.parse({}, out); }) == "--codes is required: merges to apply");
    CHECK(error_of([&] { (void)o.parse({"--codes", ""}, out); }) == "--codes '': is empty");
    CHECK(error_of([&] {
            (void)o.parse({"--codes", "x", "--head", "lun"}, out);
          }) == "--head lun: no kernel is called lun");
    CHECK(o.parse({"--codes", "x", "--head", "lin"}, out));
    CHECK(has(usage_error({"--version=1"}), "takes no value; write --version"));
    CHECK(has(error_of([&] {
                (void)o.parse({"--codes", "x", "--version"}, out);
              }),
              "unknown option --version"));
  }

  TEST_CASE("positional arguments") {
    Strings runs;
    std::string output = "report.html";
    Options o("nine_report", "Writes the report of runs.");
    o.add_positional("RUN", runs, "run directories").required();
    o.add("output", output, "page to write").unit("FILE");
    std::ostringstream out;
    CHECK(o.parse({"a", "--output", "x.html", "b", "--", "--c"}, out));
    CHECK(runs == Strings{"a", "b", "--c"});
    CHECK(output == "x.html");
    CHECK(o.to_json().dump() == R"({"output":"x.html"})");
    CHECK(has(o.help(), "usage: nine_report [options] RUN..."));
    Options empty("nine_report", "");
    empty.add_positional("RUN", runs, "run directories").required();
    CHECK(has(error_of([&] { (void)empty.parse({}, out); }), "RUN is required"));
    std::string one;
    Options single("x", "");
    single.add_positional("RUN", one, "");
    CHECK(single.parse({"a"}, out));
    CHECK(one == "a");
    Options again("x", "");
    again.add_positional("RUN", one, "");
    CHECK(has(error_of([&] {
                (void)again.parse({"a", "b"}, out);
              }),
              "unexpected argument 'b': there is one too many"));
  }

  TEST_CASE("the command line wins over the file, the file over defaults") {
    TemporaryDirectory scratch;
    const std::string file = scratch.write(
        "cfg.json",
        R"({"layers": 4, "hidden": 100, "tie_embeddings": false, "train": ["x", "y"], "betas": [0.5, 0.6], "lr": 1, "after": "3Kt"})");
    Sample s;
    CHECK(s.parse({"--layers", "5", "--config", file, "--train", "z", "--tie-embeddings"}));
    CHECK(s.layers == 5);
    CHECK(s.hidden == 100);
    CHECK(s.tie);
    CHECK(s.train == Strings{"z"});
    CHECK(s.betas == std::array<double, 2>{0.5, 0.6});
    CHECK(s.lr == 1.0);
    CHECK(s.after == TrainingLength{3000, TrainingUnit::tokens});
    CHECK(s.options.was_set("hidden"));
    CHECK(s.options.was_set("layers"));
    CHECK_FALSE(s.options.was_set("seed"));
    CHECK(has(error_of([&] { (void)s.options.was_set("nope"); }), "no option --nope"));
  }

  TEST_CASE("defaults that depend on another option are filled in before a dump") {
    TemporaryDirectory scratch;
    const auto hidden_of = [&](const Strings& arguments) {
      Sample s;
      s.options.on_filled([&] {
        if (s.untied && !s.options.was_named("hidden")) s.hidden = 64;
      });
      std::ostringstream out;
      CHECK_FALSE(s.options.parse(arguments, out));
      return Json::parse(out.str())["hidden"].get<int>();
    };
    CHECK(hidden_of({"--dump-config"}) == 512);
    CHECK(hidden_of({"--untied", "--dump-config"}) == 64);
    // What is given counts as given, also where it is the usual default.
    CHECK(hidden_of({"--untied", "--hidden", "512", "--dump-config"}) == 512);
    const std::string file = scratch.write("cfg.json", R"({"untied": true, "hidden": 512})");
    CHECK(hidden_of({"--config", file, "--dump-config"}) == 512);
    Sample s;
    CHECK(has(error_of([&] { (void)s.options.was_named("nope"); }), "no option --nope"));
  }

  TEST_CASE("an option follows another, also where a file has both and they fit") {
    const TemporaryDirectory dir;
    const auto followed = [&](const Json& file, Strings arguments) {
      Sample s;
      int64_t ffn = 0;
      s.options.add("ffn", ffn, "0: 4 times --hidden");
      s.options.on_filled([&] {
        if (ffn == 0 || s.options.follows("ffn", "hidden", 4)) ffn = 4 * s.hidden;
      });
      if (!file.is_null())
        arguments.insert(arguments.end(), {"--config", dir.write("c.json", file.dump())});
      CHECK(s.parse(arguments));
      return ffn;
    };
    CHECK(followed(nullptr, {}) == 2048);
    CHECK(followed(nullptr, {"--hidden", "8"}) == 32);
    CHECK(followed(nullptr, {"--hidden", "8", "--ffn", "9"}) == 9);
    const Json both{{"hidden", 16}, {"ffn", 64}};
    CHECK(followed(both, {}) == 64);
    CHECK(followed(both, {"--hidden", "8"}) == 32);
    CHECK(followed(both, {"--hidden", "8", "--ffn", "64"}) == 64);
    CHECK(followed({{"hidden", 16}, {"ffn", 60}}, {"--hidden", "8"}) == 60);
    CHECK(followed({{"ffn", 64}}, {"--hidden", "8"}) == 64);
    CHECK(followed({{"hidden", 16}}, {"--hidden", "8"}) == 32);
  }

  TEST_CASE("a bad configuration file says where") {
    CHECK(has(config_error(R"({"hiden": 1})"), "unknown key \"hiden\" in "));
    CHECK(has(config_error(R"({"hiden": 1})"), "did you mean \"hidden\"?"));
    CHECK(has(config_error(R"({"tie-embeddings": true})"), "did you mean \"tie_embeddings\"?"));
    CHECK(has(config_error(R"({"qqqqqq": true})"), "keys are the flags with underscores"));
    CHECK(has(config_error(R"({"config": "x"})"), "unknown key \"config\""));
    CHECK(has(config_error(R"({"lr": "abc"})"), "\"lr\": \"abc\" in "));
    CHECK(has(config_error(R"({"lr": "abc"})"), "must be a number above 0"));
    CHECK(has(config_error(R"({"lr": 0})"), "must be a number above 0"));
    CHECK(has(config_error(R"({"layers": 2.5})"), "\"layers\": 2.5 in "));
    CHECK(has(config_error(R"({"layers": 65})"), "must be a whole number from 1 to 64"));
    CHECK(has(config_error(R"({"layers": 4294967298})"), "must be a whole number from 1 to 64"));
    CHECK(has(config_error(R"({"seed": -1})"), "\"seed\": -1"));
    CHECK(has(config_error(R"({"seed": -1})"), "must be a whole number, not negative"));
    CHECK(!has(config_error(R"({"seed": -1})"), "too large"));
    CHECK(has(config_error(R"({"hidden": 18446744073709551615})"), "is too large"));
    CHECK(has(config_error(R"({"untied": 1})"), "must be true or false"));
    CHECK(has(config_error(R"({"train": "x"})"), "must be a list of texts"));
    CHECK(has(config_error(R"({"train": [1]})"), "must be a list of texts"));
    CHECK(has(config_error(R"({"betas": [0.9]})"), "must be two numbers"));
    CHECK(has(config_error(R"({"betas": [0.9, 1]})"), "must be two numbers"));
    CHECK(has(config_error(R"({"run": null})"), "must be a text"));
    CHECK(has(config_error(R"({"optimizer": "adm"})"), "did you mean adam?"));
    CHECK(has(config_error(R"({"optimizer": 3})"), "must be one of sgd"));
    CHECK(
        has(config_error("{\"lr\": 1,\n \"lr\": 2}"), "\"lr\" is given twice (line 2, column 5)"));
    CHECK(has(config_error(R"({"train": ["a", ""]})"), "\"train\": [\"a\",\"\"] in"));
    CHECK(has(config_error(R"({"train": ["a", ""]})"), "is empty"));
    CHECK(has(config_error("[]"), "must be a JSON object"));
    CHECK(has(config_error("{\"lr\": 1,\n]"), "is not JSON: parse error at line 2"));
    CHECK(has(config_error("{\"lr\": 1e999}"), "has the number 1e999"));
    CHECK(has(config_error(""), "is not JSON"));
    CHECK(has(usage_error({"--config", "/nonexistent/c.json"}),
              "--config: cannot read /nonexistent/c.json: No such file or directory"));
    CHECK(has(usage_error({"--config", "/tmp"}), "--config: cannot read /tmp: Is a directory"));
  }

  TEST_CASE("keys that a run adds may be passed over") {
    TemporaryDirectory scratch;
    const std::string file =
        scratch.write("cfg.json", R"({"hidden": 8, "machine": {"isa": "avx2"}})");
    Sample s;
    s.options.ignore_in_config({"machine"});
    CHECK(s.parse({"--config", file}));
    CHECK(s.hidden == 8);
  }

  TEST_CASE("what --dump-config prints is a --config") {
    TemporaryDirectory scratch;
    Sample s;
    std::ostringstream out;
    CHECK_FALSE(
        s.options.parse({"--lr", "0.1", "--no-tie-embeddings", "--train", "a", "b", "--seed",
                         "18446744073709551615", "--after", "1.5Mt", "--dump-config"},
                        out));
    Sample t;
    CHECK(t.parse({"--config", scratch.write("cfg.json", out.str())}));
    CHECK(t.options.to_json() == s.options.to_json());
    CHECK(t.lr == 0.1);
    CHECK(t.seed == s.seed);
    CHECK(t.after == s.after);
    Strings keys;
    const Json config = t.options.to_json();
    for (const auto& [key, value] : config.items()) keys.push_back(key);
    CHECK(keys == Strings{"tie_embeddings", "untied", "layers", "hidden", "seed", "lr", "dropout",
                          "optimizer", "run", "train", "betas", "after"});
  }

  TEST_CASE("help has groups, defaults, units and fits 80 columns") {
    Sample s;
    std::ostringstream out;
    CHECK_FALSE(s.options.parse({"--nonsense", "--help"}, out));
    const std::string help = out.str();
    CHECK(has(help, "usage: lm_train [options]\n"));
    CHECK(has(help, "\nModel:\n"));
    CHECK(has(help, "\nGeneral:\n  -h, --help"));
    CHECK(has(help, "LSTM layers (1 to 64; default 2)"));
    CHECK(has(help, "--train FILE..."));
    CHECK(has(help, "--[no-]tie-embeddings"));
    CHECK(has(help, "default yes"));
    CHECK(has(help, "default 10e"));
    CHECK(has(help, "default 0.9,0.999"));
    CHECK(has(help, "sgd, adam, adamw, asgd"));
    CHECK(help.find("Model:") < help.find("General:"));
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
    std::ostringstream version;
    CHECK_FALSE(s.options.parse({"--version"}, version));
    CHECK(version.str() == "nine 0.1.0\n");
  }

  TEST_CASE("a flag is declared once") {
    Sample s;
    CHECK(has(error_of([&] { s.options.add("lr", s.lr, ""); }), "declared twice"));
    CHECK(has(error_of([&] { s.options.add("config", s.run, ""); }), "declared twice"));
  }

  TEST_CASE("errors of the libraries get the program's flags") {
    double lr = 1, clip = 0;
    std::string head, head_context, device;
    int64_t length = 1;
    Options o("lm_train", "Trains a language model.");
    o.add("lr", lr, "learning rate").called("learning rate");
    o.add("clip", clip, "largest norm").called("gradient clipping");
    o.add("head", head, "output layer").called("head");
    o.add("head-context", head_context, "what it sees").called("head context");
    o.add("device", device, "where to compute").called("the device");
    o.add("max-length", length, "not called anything");
    const auto said = [&](const std::string& text) {
      return with_setting_flags(text, o.declared());
    };
    CHECK(said("lower the learning rate or set gradient clipping") ==
          "lower the learning rate (--lr) or set gradient clipping (--clip)");
    CHECK(said("Learning rate 0: the learning rate must be above 0") ==
          "Learning rate (--lr) 0: the learning rate must be above 0");
    CHECK(said("the head context is 'x', which the head refuses.") ==
          "the head context (--head-context) is 'x', which the head (--head) refuses.");
    CHECK(said("(head), head; head: head") == "(head (--head)), head; head: head");
    // The system's own words are left as they are.
    CHECK(said("log.jsonl: No space left on device") == "log.jsonl: No space left on device");
    // Only words that stand by themselves.
    for (const char* text :
         {"heads of attention", "the head's bias", "head.weight", "runs/head", "head_forward",
          "[head] shapes", "'head' is no kernel", "multi-head attention", "ahead", "devices",
          "head-memory", "no such file: head.txt", "No such device"})
      CHECK(said(text) == text);
    // Only options that the program has and has words for.
    CHECK(said("lower the batch size or the maximum length") ==
          "lower the batch size or the maximum length");
    // A flag that is there already is not added again.
    CHECK(said("--head lun: there is no head lun") == "--head lun: there is no head lun");
    CHECK(said("lower the learning rate; see --lr") == "lower the learning rate; see --lr");
    CHECK(said("the head, not --head-context") == "the head (--head), not --head-context");
    const std::string once = said("the device has no room: lower the learning rate");
    CHECK(once == "the device (--device) has no room: lower the learning rate (--lr)");
    CHECK(said(once) == once);
    CHECK(said("").empty());
  }

  TEST_CASE("nearest") {
    const Strings words{"hidden", "head", "head-bias", "lr"};
    CHECK(nearest("hiddne", words) == "hidden");
    CHECK(nearest("--HEAD_BIAS", words) == "head-bias");
    CHECK(nearest("head-b", words) == "head-bias");
    CHECK(nearest("he", words) == "head");
    CHECK(nearest("xylophone", words).empty());
    CHECK(nearest("", words).empty());
    CHECK(nearest("q", {}).empty());
  }
}

TEST_SUITE("amount") {
  TEST_CASE("texts are read and written") {
    CHECK(training_length_from_text("10e") == TrainingLength{10, TrainingUnit::epochs});
    CHECK(training_length_from_text("300Ku") == TrainingLength{300'000, TrainingUnit::updates});
    CHECK(training_length_from_text("20Mt") == TrainingLength{20'000'000, TrainingUnit::tokens});
    CHECK(training_length_from_text("1000t") == TrainingLength{1000, TrainingUnit::tokens});
    CHECK(training_length_from_text("1.1Ku") == TrainingLength{1100, TrainingUnit::updates});
    CHECK(training_length_from_text("0e") == TrainingLength{0, TrainingUnit::epochs});
    CHECK(training_length_from_text("2Gt") == TrainingLength{2'000'000'000, TrainingUnit::tokens});
    for (const char* text : {"10e", "300Ku", "20Mt", "1Kt", "1500u", "0u", "2Gt", "1001e"})
      CHECK(to_text(training_length_from_text(text)) == text);
    CHECK(concat(TrainingLength{1'500'000, TrainingUnit::tokens}) == "1500Kt");
  }

  TEST_CASE("errors say which units there are") {
    const auto error = [](std::string_view text) {
      return error_of([&] { training_length_from_text(text); });
    };
    CHECK(error("300") ==
          "'300' has no unit; write epochs as 10e, updates as 300u or 300Ku, tokens as 20Mt");
    CHECK(has(error("300K"), "has no unit"));
    for (const char* text :
         {"", "e", "10x", "1e3", "10 e", "10ee", "nane", "infu", "10ku", "K", "0x10u", "+5u"})
      CHECK(has(error(text), "is not an amount; write"));
    CHECK(has(error("-1u"), "is negative"));
    CHECK(has(error("0.5e"), "is not a whole number"));
    CHECK(has(error("99999999999999999999t"), "is too large"));
    CHECK_THROWS_AS(training_length_from_text("1"), UsageError);
  }

  TEST_CASE("counters") {
    const TrainingLength tokens{100, TrainingUnit::tokens};
    CHECK(tokens.counter(1, 2, 3) == 3);
    CHECK_FALSE(tokens.reached(1000, 1000, 99));
    CHECK(tokens.reached(0, 0, 100));
    CHECK(TrainingLength{2, TrainingUnit::epochs}.reached(2, 0, 0));
    CHECK(TrainingLength{2, TrainingUnit::updates}.counter(5, 6, 7) == 6);
  }
}

}  // namespace nine::tests::test_options
