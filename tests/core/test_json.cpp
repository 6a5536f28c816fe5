// Errors of JSON.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/error.h"
#include "core/json.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_json {

TEST_CASE("json: an error names line and column and quotes 60 characters at most") {
  const auto says = [](const std::string& text) { return error_of([&] { parse_json(text); }); };
  CHECK(has(says("{\"a\": 1,\n  \"b\" 2}"), "is not JSON: parse error at line 2, column 7: "));
  CHECK(says("{\"a\": 1,\n \"b\": {\"a\": 1,\n\"\\\"\": 2, \"a\": 3}, \"c\": 1, \"c\": 2}") ==
        "\"a\" is given twice (line 3, column 12)");
  std::string deep(100, '[');
  CHECK(says("\n" + deep + "[") == "is nested more deeply than 100 levels (line 2, column 101)");
  CHECK(says("[1,\n1e999]") ==
        "has the number 1e999, which is too large for a double (line 2, column 6)");
  const std::string quoted = says("[\"" + std::string(5000, 'x') + "\x01\"]");
  CHECK(has(quoted, "parse error at line 1, column 5003"));
  CHECK(has(quoted, "last read: '..."));
  CHECK(quoted.size() < 400);
  std::string accents;
  for (int i = 0; i < 100; ++i) accents += "\xc3\xa9";
  for (const char* more : {"", "x"})  // cut between characters
    CHECK(has(says("[\"" + accents + more + "\n\"]"), "last read: '...\xc3\xa9"));

  const TemporaryDirectory dir;
  const auto file_says = [&](const std::string& text) {
    const std::string file = dir.write("config.json", text);
    const std::string said = error_of([&] { read_json_object(file, "; do this"); });
    REQUIRE(said.starts_with(file + " is not a JSON object"));
    return said.substr(file.size());
  };
  CHECK(has(file_says("{\"a\": 1,\n}"), ": it is not JSON: parse error at line 2, column 1"));
  CHECK(file_says("[]") == " is not a JSON object; do this");
  CHECK(
      has(file_says("{\"a\": -1e999}"), " is not a JSON object: it has the number -1e999, which"));
  CHECK(file_says("{\"a\":1,\"a\":2}") ==
        " is not a JSON object: \"a\" is given twice (line 1, column 10); do this");
}

TEST_CASE("json: a text has the value that the library's own reader finds") {
  const std::string text =
      R"({"b": [1, -2, 3.5, 1e-400, 18446744073709551615, true, null, {"x": {}, "": []}],)"
      "\n"
      R"("a": {"\u00e9\n": "\ud83d\ude00", "b": [[], [[1]]]}, "c": ""})";
  CHECK(json_text(parse_json(text)) == Json::parse(text).dump());
  CHECK(json_text(parse_json_object(text)) == Json::parse(text).dump());
  CHECK(parse_json("3") == 3);
  // Of a repeated key an object keeps the first place and the last value.
  const std::string twice = R"({"a": {"x": 1}, "b": 2, "a": {"y": [3]}, "c": 4})";
  CHECK(json_text(parse_json_object(twice)) == R"({"a":{"y":[3]},"b":2,"c":4})");
  CHECK(parse_json_object(twice) == Json::parse(twice));
  std::string large = "{";
  for (int i = 0; i < 2000; ++i) large += concat(i > 0 ? "," : "", '"', i, "\":", i);
  CHECK(parse_json(large + "}") == Json::parse(large + "}"));
}

TEST_CASE("json: sentences about values and exceptions") {
  CHECK(unexpected_value("heads", 2.5, "a whole number") ==
        "the key 'heads' is 2.5, and a whole number was expected");
  CHECK(unexpected_value("a", std::string(100, 'x'), "a number").size() < 110);
  std::string said;
  try {
    static_cast<void>(Json().value("step", 0));
  } catch (const Json::exception& e) {
    said = json_error_text(e.what());
  }
  CHECK(said == "cannot use value() with null");
  CHECK(json_error_text("a.json: [x] is wrong") == "a.json: [x] is wrong");
}

}  // namespace nine::tests::test_json
