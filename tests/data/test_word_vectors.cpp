// Files of word vectors: word2vec's and GloVe's text.
#include <doctest/doctest.h>

#include <map>

#include "data/word_vectors.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_word_vectors {
namespace {

using Vectors = std::map<std::string, std::vector<double>>;

Vectors read(const std::string& file, int64_t* width = nullptr) {
  Vectors out;
  const WordVectorsRead size =
      read_word_vectors(file, [&](std::string_view word, std::span<const double> numbers, int64_t) {
        out[std::string(word)] = {numbers.begin(), numbers.end()};
      });
  CHECK(size.words == std::ssize(out));
  if (width != nullptr) *width = size.width;
  return out;
}

}  // namespace

TEST_CASE("word vectors: word2vec's file with its first line, and GloVe's without") {
  const TemporaryDirectory dir;
  const Vectors wanted{{"the", {1, -0.5}}, {"caf\xC3\xA9", {2.5e-3, 0}}};
  int64_t width = 0;
  CHECK(read(dir.write("w2v", "2 2\nthe 1 -0.5 \ncaf\xC3\xA9 2.5e-3 0 \n"), &width) == wanted);
  CHECK(width == 2);
  CHECK(read(dir.write("glove", "the 1 -0.5\ncaf\xC3\xA9 0.0025 0"), &width) == wanted);
  CHECK(width == 2);
  // Words that are numbers, and words with spaces.
  CHECK(read(dir.write("odd", "1 0.5 2\n. . . 3 4\nat a@b.c 5 6\n")) ==
        Vectors{{"1", {0.5, 2}}, {". . .", {3, 4}}, {"at a@b.c", {5, 6}}});
  REQUIRE(run_program("/bin/gzip", {"-k", dir / "glove"}).code == 0);
  CHECK(read(dir / "glove.gz") == wanted);
}

TEST_CASE("word vectors: what is wrong is named with its line and column") {
  const TemporaryDirectory dir;
  const auto wrong = [&](const std::string& text) {
    const std::string file = dir.write("v", text), error = error_of([&] { read(file); });
    CHECK_MESSAGE(error.starts_with(file), error);
    return error.substr(std::min(error.size(), file.size()));
  };
  CHECK(
      wrong("a 1 2\nb 1\n") ==
      ", line 2, column 4: 1 numbers, where vectors have 2: a word and its numbers were expected");
  CHECK(wrong("a 1 2\nb 1 2 3\n") == ", line 2, column 7: 3 numbers, where vectors have 2");
  CHECK(has(wrong("a 1 2\nb 1 x\n"), ", line 2, column 5: 'x' is not a finite number"));
  CHECK(has(wrong("a 1 nan\n"), ", line 1, column 5: 'nan' is not a finite number"));
  CHECK(has(wrong("a 1 -inf\n"), ", line 1, column 5: '-inf' is not a finite number"));
  CHECK(has(wrong("a 1\nb 2\na 3\n"),
            ", line 3, column 1: the word 'a' has a vector already, in line 1"));
  CHECK(has(wrong("3 1\na 1\nb 2\n"), ": the first line says 3 words, and the file has 2"));
  CHECK(has(wrong("1 1\na 1\nb 2\n"), ", line 3, column 1: the first line says 1 words"));
  CHECK(has(wrong("2 2\na 1\nb 2\n"), ", line 2, column 4: 1 numbers, where vectors have 2"));
  CHECK(has(wrong("a\n"), ", line 1, column 1: 'a' has no numbers behind it"));
  CHECK(has(wrong("a 1\n\nb 1\n"), ", line 2, column 1: an empty line"));
}

}  // namespace nine::tests::test_word_vectors
