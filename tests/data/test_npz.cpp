// NumPy's archives: what is read, and how damaged ones are refused. The files are NumPy's, of the
// fuzzers' corpus; every input of the corpus is read in tests/fuzz/test_fuzz_corpus.cpp.
#include <doctest/doctest.h>

#include "core/error.h"
#include "data/npz.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_npz {
namespace {

std::string corpus(const std::string& name) {
  return std::string(NINE_SOURCE_DIR) + "/tests/fuzz/corpus/npz/" + name;
}

// Returns the message for a file of these bytes.
std::string refusal(const std::string& bytes) {
  const TemporaryDirectory dir;
  dir.write("x.npz", bytes);
  return error_of([&] { static_cast<void>(read_npz(dir / "x.npz")); });
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  size_t at = 0;
  while ((at = text.find(from, at)) != std::string::npos) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
  return text;
}

}  // namespace

TEST_CASE("npz: stored and deflated arrays, halves, Fortran's order, bytes") {
  const std::vector<double> numbers{0, 1, 2, 3, 4, 5};
  const Npz stored = read_npz(corpus("stored"));
  CHECK(stored.texts.empty());
  REQUIRE(stored.tensors.size() == 2);
  CHECK(stored.tensors.at("a").shape() == Shape{2, 3});
  CHECK(stored.tensors.at("a").to_vector() == numbers);
  CHECK(stored.tensors.at("b").shape() == Shape{1, 3});
  const Npz deflated = read_npz(corpus("deflated"));
  CHECK(deflated.tensors.at("a").to_vector() == numbers);
  CHECK(deflated.tensors.at("b").dtype() == DType::float64);
  CHECK(deflated.tensors.at("b").shape() == Shape{8, 8});
  const Npz types = read_npz(corpus("types"));
  for (const char* name : {"h", "t"}) {
    CHECK(types.tensors.at(name).shape() == Shape{2, 3});
    CHECK(types.tensors.at(name).dtype() == DType::float32);
    CHECK(types.tensors.at(name).to_vector() == numbers);
  }
  CHECK(has(types.texts.at("special:model.yml"), "type: transformer\n"));
  CHECK(read_npz(corpus("scalar")).tensors.at("x").shape() == Shape{});
  CHECK(read_npz(corpus("empty")).tensors.empty());
}

TEST_CASE("npz: errors name the file, the array and the reason") {
  const auto of_file = [](const char* name) {
    return error_of([&] { static_cast<void>(read_npz(corpus(name))); });
  };
  CHECK(has(of_file("refused_type"), "the array 'x' has the type '<i8'"));
  CHECK(has(of_file("cut"), "is not a zip archive"));
  CHECK(has(of_file("checksum"), "'a.npy' of the zip archive is damaged"));
  CHECK(has(refusal(""), "is not a zip archive"));
  CHECK(has(error_of([] { static_cast<void>(read_npz("/nowhere.npz")); }), "/nowhere.npz"));
  const std::string stored = slurp(corpus("stored"));
  CHECK(has(refusal(replaced(stored, "b.npy", "a.npy")), "the array 'a' is there twice"));
  const size_t entry = stored.find("PK\x01\x02");
  REQUIRE(entry != std::string::npos);
  const auto changed = [&](size_t at, const std::string& to) {
    std::string bytes = stored;
    return bytes.replace(entry + at, to.size(), to);
  };
  CHECK(has(refusal(changed(8, "\x01")), "is encrypted"));
  CHECK(has(refusal(changed(10, "\x0c")), "is packed by method 12 of zip"));
  CHECK(has(refusal(changed(20, "\xff\xff\xff\x7f")), "its members are larger than the file"));
  CHECK(has(refusal(changed(20, "\xff\xff\xff\xff")), "4 GiB"));
  CHECK(has(refusal(changed(42, "\xff\xff\xff\x7f")), "it ends too early"));
  CHECK(has(refusal(changed(10, "\x08")), "is damaged"));
}

}  // namespace nine::tests::test_npz
