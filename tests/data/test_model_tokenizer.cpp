// The tokenizer of a model, its dictionary and its file; raw text, its documents and its ids.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "core/crc32c.h"
#include "data/tokenizers/model_tokenizer.h"
#include "data/tokenizers/raw_text.h"
#include "data/tokenizers/read_tokenizer.h"
#include "data/tokenizers/train_tokenizer.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_model_tokenizer {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<int32_t>;
using Strings = std::vector<std::string>;
using namespace std::string_literals;

const std::string kText =
    "First Citizen:\nBefore we proceed any further, hear me speak.\n\nAll:\nSpeak, speak.\r\n \t\n"
    "caf\xC3\xA9 \xE4\xBD\xA0\xE5\xA5\xBD\n";

std::unique_ptr<Tokenizer> trained(int64_t size = 270,
                                   const std::vector<std::string>& special = {}) {
  TokenizerTrainer trainer(
      {.vocabulary_size = size, .form = {}, .min_frequency = 1, .special_tokens = special});
  trainer.add(kText);
  return trainer.train();
}
ModelTokenizer language_tokenizer(int64_t size = 270) {
  return {trained(size), Specials::kLanguageModel};
}

Strings texts_of(const std::vector<RawPart>& parts) {
  Strings out;
  for (const RawPart& part : parts) out.emplace_back(part.text);
  return out;
}

RawText raw(const std::string& bytes) { return {.bytes = bytes, .files = {bytes.size()}}; }

}  // namespace

TEST_CASE("ModelTokenizer: tokens stand behind the special words, and all bytes come back") {
  for (const Specials* specials : {&Specials::kLanguageModel, &Specials::kTranslation}) {
    const ModelTokenizer tokenizer(trained(), *specials);
    const Vocabulary dictionary = tokenizer.dictionary();
    CHECK(dictionary.size() == 270 + specials->size);
    for (int32_t id = 0; id < 270; ++id)
      CHECK(dictionary.word(id + specials->size) == tokenizer.tokenizer().token(id));
    std::mt19937_64 random(5);
    for (int i = 0; i < 300; ++i) {
      std::string text(random() % 40, ' ');
      for (char& c : text)
        c = static_cast<char>(i % 2 == 0 ? random()
                                         : "\n\r \xC3\xA9"
                                           "ab"[random() % 7]);
      Ids ids = tokenizer.encode(text);
      for (const int32_t id : ids) CHECK(id >= specials->size);
      CHECK(tokenizer.decode(ids) == text);
      std::string bytes;
      for (const int32_t id : ids) bytes += tokenizer.bytes(id);
      CHECK(bytes == text);
      ids.insert(ids.begin(), specials->end);  // special words have no text
      ids.push_back(specials->unknown);
      CHECK(tokenizer.decode(ids) == text);
    }
    CHECK(tokenizer.bytes(specials->end).empty());
    CHECK(has(error_of([&] { tokenizer.bytes(dictionary.size()); }), "no token has the id"));
    CHECK(!error_of([&] { static_cast<void>(tokenizer.decode(Ids{-1})); }).empty());
  }
}

TEST_CASE("ModelTokenizer: the ids of a text are those of its lines") {
  const ModelTokenizer tokenizer = language_tokenizer();
  Ids lines;
  for_each_raw_line(kText, [&](std::string_view line) {
    const Ids own = tokenizer.encode(line);
    lines.insert(lines.end(), own.begin(), own.end());
  });
  CHECK(tokenizer.encode(kText) == lines);
}

TEST_CASE("ModelTokenizer: tokens that a dictionary cannot list get names of their own") {
  // Tokens spelled </s> and with a space, and an id without token.
  Json json = parse_json(trained(256)->json());
  json["added_tokens"] = Json::array();
  int64_t id = 256;
  for (const char* text : {"</s>", "a b"})
    json["added_tokens"].push_back({{"id", id++},
                                    {"content", text},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", false},
                                    {"special", text[0] == '<'}});
  const ModelTokenizer tokenizer(read_tokenizer_json(json_text(json), "made"),
                                 Specials::kLanguageModel);
  const Vocabulary dictionary = tokenizer.dictionary();
  REQUIRE(dictionary.size() == 260);
  CHECK(dictionary.word(258) == "<id_256>");
  CHECK(dictionary.word(259) == "<id_257>");
  CHECK(tokenizer.decode(Ids{259}) == "a b");
}

TEST_CASE("ModelTokenizer: the file of a checkpoint opens as the same tokenizer") {
  const Scratch dir;
  const ModelTokenizer tokenizer = language_tokenizer();
  const Vocabulary dictionary = tokenizer.dictionary();
  CHECK(!ModelTokenizer::open(dir.path(), "", dictionary));
  for (const char* side : {"", "tgt"}) {
    CAPTURE(side);
    const auto file = tokenizer.file(side);
    CHECK(file.first == std::string(*side == 0 ? "tokenizer.json" : "tgt.tokenizer.json"));
    CHECK(tokenizer.checksum() == crc32c(0, file.second.data(), file.second.size()));
    put(dir / file.first, file.second);
    const auto opened = ModelTokenizer::open(dir.path(), side, dictionary);
    REQUIRE(opened);
    CHECK(opened->encode(kText) == tokenizer.encode(kText));
    CHECK(opened->file(side) == file);
    CHECK(opened->checksum() == tokenizer.checksum());
  }
  CHECK(ModelTokenizer::open(dir.path(), "src", dictionary));  // one file for both sides
  CHECK(ModelTokenizer::file_in(dir.path(), "src") == dir / "tokenizer.json");
  CHECK(ModelTokenizer::file_in(dir.path(), "tgt") == dir / "tgt.tokenizer.json");
}

TEST_CASE("ModelTokenizer: a file that is not the model's is an error") {
  const Scratch dir;
  const ModelTokenizer tokenizer = language_tokenizer();
  const std::string json = tokenizer.file("").second;
  const auto opening = [&](const Vocabulary& dictionary) {
    return error_of([&] { ModelTokenizer::open(dir.path(), "", dictionary); });
  };
  put(dir / "tokenizer.json", json);
  CHECK(opening(tokenizer.dictionary()).empty());
  CHECK(has(opening(language_tokenizer(268).dictionary()),
            "has 270 tokens, and the model's dictionary has 268"));
  Strings words;  // as many, with another one
  for (int32_t id = 0; id < 270; ++id) words.emplace_back(tokenizer.tokenizer().token(id));
  words[7] = "other";
  CHECK(has(opening(Vocabulary::of_list(words, Specials::kLanguageModel)), "the token 7 is "));
  put(dir / "tokenizer.json", json.substr(0, json.size() / 2));
  CHECK(has(opening(tokenizer.dictionary()), "tokenizer.json"));
  put(dir / "tokenizer.json", "");
  CHECK(has(opening(tokenizer.dictionary()), "tokenizer.json"));
  put(dir / "tokenizer.json", json);
  put(dir / "tokenizer.model", "x");
  CHECK(has(opening(tokenizer.dictionary()), "keep the one of the model"));
}

TEST_CASE("visible_text: U+FFFD in place of what is not UTF-8") {
  CHECK(visible_text("") == "");
  CHECK(visible_text("caf\xC3\xA9\n") == "caf\xC3\xA9\n");
  CHECK(visible_text("caf\xC3") == "caf\xEF\xBF\xBD");
  CHECK(visible_text("\xE4\xBD") == "\xEF\xBF\xBD");
  CHECK(visible_text("a\xFF\xFE"
                     "b\x80") ==
        "a\xEF\xBF\xBD"
        "b\xEF\xBF\xBD");
  // In parts: a run of such bytes may go on in the next part.
  bool bad = false;
  std::string parts;
  for (const char* part : {"a\xFF", "", "\xFE\xFD", "\x80", "caf\xC3\xA9", "\x80", "b\xC3"})
    parts += visible_text(part, bad);
  CHECK(bad);
  CHECK(parts == visible_text("a\xFF\xFE\xFD\x80"
                              "caf\xC3\xA9\x80"
                              "b\xC3"));
  CHECK(parts ==
        "a\xEF\xBF\xBD"
        "caf\xC3\xA9\xEF\xBF\xBD"
        "b\xEF\xBF\xBD");
}

TEST_CASE("RawText: documents end with their blank lines, and together they are the text") {
  struct Case {
    std::string text;
    Strings documents;
  };
  for (const Case& c :
       {Case{"a\nb\n", {"a\n", "b\n"}}, Case{"a", {"a"}}, Case{"a\n\nb", {"a\n\n", "b"}},
        Case{"\n\na\n \t\n\nb\nc\n\n", {"\n\na\n \t\n\n", "b\nc\n\n"}},
        Case{"a\r\n\r\nb\r\n", {"a\r\n\r\n", "b\r\n"}}, Case{"\n\n", {"\n\n"}},
        Case{"a\n\n", {"a\n\n"}}}) {
    CAPTURE(c.text);
    const RawText text = raw(c.text);
    const std::vector<RawPart> parts = text.documents(text.ends());
    CHECK(texts_of(parts) == c.documents);
    for (const RawPart& part : parts) CHECK(part.ends);
    // Lines of the same text, which a scorer reads: </s> follows the same places.
    Strings lines;
    for_each_raw_line(c.text, [&](std::string_view line) { lines.emplace_back(line); });
    Strings joined{""};
    for (const RawPart& part : lines_of_documents(lines, text.ends())) {
      joined.back() += part.text;
      if (part.ends) joined.emplace_back();
    }
    joined.pop_back();
    CHECK(joined == c.documents);
  }
  // A document ends with its file.
  const RawText two{.bytes = "a\n\nbc\nd\n", .files = {4, 9}};
  CHECK(texts_of(two.documents(two.ends())) == Strings{"a\n\n", "b", "c\nd\n"});
}

TEST_CASE("RawText::read: bytes as they are; what is not UTF-8 is an error with its place") {
  const Scratch dir;
  put(dir / "a", "\xEF\xBB\xBFone\r\n\rtwo\0three"s);
  put(dir / "b", "\n");
  const RawText text = RawText::read({dir / "a", dir / "b"});
  CHECK(text.bytes == "\xEF\xBB\xBFone\r\n\rtwo\0three\n"s);
  CHECK(text.files == std::vector<size_t>{text.bytes.size() - 1, text.bytes.size()});
  put(dir / "bad",
      "good\nb\xFF"
      "d\n");
  CHECK(has(error_of([&] { RawText::read({dir / "bad"}); }), "line 2"));
  put(dir / "empty", "");
  CHECK(
      has(error_of([&] { RawText::read({dir / "empty"}); }), "empty is empty: it must hold text"));
}

TEST_CASE("encode_parts: ids of the parts with </s>, on any number of threads; bytes and words") {
  const Restore restore;
  const ModelTokenizer tokenizer = language_tokenizer();
  std::string large;
  while (large.size() < 3'000'000) large += kText;
  const RawText text = raw(large);
  const std::vector<RawPart> documents = text.documents(text.ends());
  Ids expected;
  for (const RawPart& part : documents) {
    const Ids own = tokenizer.encode(part.text);
    expected.insert(expected.end(), own.begin(), own.end());
    expected.push_back(0);
  }
  for (const int threads : {1, 3}) {
    set_threads(threads);
    const Corpus corpus = encode_parts(tokenizer, documents);
    CHECK(corpus.sentences() == std::ssize(documents));
    CHECK(std::ranges::equal(corpus.flat(), expected));
    CHECK(corpus.unknown() == 0);
    CHECK(corpus.raw_size().bytes == std::ssize(large));
    CHECK(corpus.raw_size().words == std::ssize(large) / std::ssize(kText) * 15);
    CHECK(corpus.checksum() == crc32c(0, large.data(), large.size()));
    CHECK(tokenizer.decode(corpus.flat()) == large);
  }
  const std::vector<RawPart> pieces{{"", false}, {"a", false}, {"", true}};
  const Corpus small = encode_parts(tokenizer, pieces);
  CHECK(small.length(0) == 1);  // a text without tokens is </s> alone
  CHECK(small.sentence(0)[0] == 0);
  CHECK(small.length(1) == 1);
  CHECK(small.sentence(1)[0] != 0);
  CHECK(small.length(2) == 1);
}

TEST_CASE("for_each_raw_word: what white space separates") {
  const std::string text =
      " a\tbc,\n\vd\xC2\xA0"
      "e  ";
  Strings words;
  for_each_raw_word(
      text, [&](size_t begin, size_t end) { words.push_back(text.substr(begin, end - begin)); });
  CHECK(words == Strings{"a", "bc,",
                         "d\xC2\xA0"
                         "e"});
}

}  // namespace nine::tests::test_model_tokenizer
