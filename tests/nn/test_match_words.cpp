// Words of a training matched with those of the model from which it starts.
#include <doctest/doctest.h>

#include <memory>

#include "data/tokenizers/read_tokenizer.h"
#include "nn/models/match_words.h"
#include "tests/support/programs.h"

namespace nine::tests::test_match_words {
namespace {

using Strings = std::vector<std::string>;
using Rows = std::vector<std::vector<int32_t>>;

Vocabulary words(const Strings& list) {
  return Vocabulary::of_list(list, Specials::kLanguageModel);
}

// Byte-level BPE that knows a, b, c, d, the space and LF, and the tokens "ab", " ab" and "cd".
ModelTokenizer tokenizer(const TemporaryDirectory& dir) {
  const std::string file = dir.write("tokenizer.json", R"({"version": "1.0",
      "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
                        "use_regex": true},
      "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
                  "use_regex": true},
      "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "Ġ": 2, "Ċ": 3, "ab": 4, "Ġab": 5,
                "c": 6, "d": 7, "cd": 8}, "merges": ["a b", "Ġ ab", "c d"]}})");
  return ModelTokenizer::of_file(file, Specials::kLanguageModel);
}

// Row r of column c is 10 r + c.
Tensor table(int64_t rows, int64_t width) {
  Tensor out({rows, width}, DType::float32);
  float* next = out.data<float>();
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < width; ++c) *next++ = static_cast<float>(10 * r + c);
  return out;
}

}  // namespace

TEST_CASE("match_words: words of words are found by name, and others start from the mean of all") {
  const LanguageWords model{words({"a", "b", "c"}), {}};
  const std::vector<bool> none(5);
  const WordMatch match = match_words(model, none, words({"b", "d", "a"}), nullptr);
  CHECK(!match.same);
  CHECK(match.sources == Rows{{0}, {1}, {3}, {}, {2}});
  CHECK(match.kept == Strings{"</s>", "<unk>", "b", "a"});
  CHECK(match.added == Strings{"d"});
  CHECK(match.dropped == Strings{"c"});
  // The mean of the words' rows 2, 3 and 4.
  CHECK(match.rows(table(5, 2)).to_vector() ==
        std::vector<double>{0, 1, 10, 11, 30, 31, 30, 31, 20, 21});
  const Tensor bias = Tensor::from(std::vector<float>{1, 2, 3, 4, 8}, {5});
  CHECK(match.rows(bias).to_vector() == std::vector<double>{1, 2, 4, 5, 3});
  // Of each component.
  const Tensor of_components = table(10, 1).reshaped({2, 5, 1});
  const Tensor rows = match.rows(of_components);
  CHECK(rows.shape() == Shape{2, 5, 1});
  CHECK(rows.to_vector() == std::vector<double>{0, 10, 30, 30, 20, 50, 60, 80, 80, 70});
  CHECK(match_words(model, none, words({"a", "b", "c"}), nullptr).same);
  CHECK(!match_words(model, none, words({"a", "c", "b"}), nullptr).same);
}

TEST_CASE("match_words: a word that the tokenizer cuts starts from the mean of its pieces") {
  const TemporaryDirectory dir;
  const ModelTokenizer cuts = tokenizer(dir);
  const LanguageWords model{cuts.dictionary(), cuts};
  std::vector<bool> excluded(11);
  excluded[1] = true;  // as in models of transformers
  const WordMatch match = match_words(model, excluded, words({"ab", "cdab", "ba", "x"}), nullptr);
  // "ab" is the token " ab"; " cdab" is " ", "cd", "ab"; " ba" is " ", "b", "a".
  CHECK(match.sources == Rows{{0}, {}, {7}, {4, 10, 6}, {4, 3, 2}, {}});
  CHECK(match.kept == Strings{"</s>", "ab"});
  CHECK(match.added == Strings{"<unk>", "cdab", "ba", "x"});
  CHECK(match.dropped == Strings{"<unk>", "a", "b", "Ġ", "Ċ", "ab", "c", "d", "cd"});
  const Tensor rows = match.rows(table(11, 1));
  // Means of rows 4, 10, 6 and of 4, 3, 2; <unk> and "x" have the mean of rows 2 to 10.
  CHECK(rows.data<float>()[3] == doctest::Approx(200.0 / 3));
  CHECK(rows.data<float>()[4] == 30);
  CHECK(rows.data<float>()[1] == 60);
  CHECK(rows.data<float>()[5] == 60);
  // The same tokenizer: the same rows, also the excluded one.
  CHECK(match_words(model, excluded, cuts.dictionary(), &cuts).same);
}

TEST_CASE("match_words: tokens of two tokenizers are the same if they add the same bytes") {
  const TemporaryDirectory dir;
  const ModelTokenizer cuts = tokenizer(dir);
  // Spelled as it is, without an alphabet of bytes.
  const std::string file = dir.write("other.json", R"({"version": "1.0",
      "decoder": {"type": "Fuse"},
      "model": {"type": "BPE", "vocab": {" ab": 0, " ": 1, "a": 2, "b": 3, "ab": 4, "abab": 5},
                "merges": [["a", "b"], [" ", "ab"], ["ab", "ab"]]}})");
  const ModelTokenizer other = ModelTokenizer::of_file(file, Specials::kLanguageModel);
  const LanguageWords model{cuts.dictionary(), cuts};
  const WordMatch match = match_words(model, std::vector<bool>(11), other.dictionary(), &other);
  CHECK(match.sources == Rows{{0}, {1}, {7}, {4}, {2}, {3}, {6}, {6, 6}});
  CHECK(match.added == Strings{"abab"});
  // A model of words has the word of a token without its space.
  const LanguageWords of_words{words({"b", "ab"}), {}};
  CHECK(match_words(of_words, std::vector<bool>(4), other.dictionary(), &other).sources ==
        Rows{{0}, {1}, {3}, {}, {}, {2}, {3}, {}});
}

}  // namespace nine::tests::test_match_words
