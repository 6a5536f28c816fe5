// Tokenizers: cutting, merging and learning against plain implementations; every byte string comes
// back; files that are wrong are named. tests/clients/tokenizers_reference.py compares with the
// packages of others.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "data/bpe_merges.h"
#include "data/text.h"
#include "data/tokenizers/byte_alphabet.h"
#include "data/tokenizers/merge_table.h"
#include "data/tokenizers/normalizer.h"
#include "data/tokenizers/piece_key.h"
#include "data/tokenizers/read_tokenizer.h"
#include "data/tokenizers/split_pattern.h"
#include "data/tokenizers/token_model.h"
#include "data/tokenizers/token_text.h"
#include "data/tokenizers/train_tokenizer.h"
#include "data/tokenizers/unicode_forms.h"
#include "data/unicode.h"
#include "tests/support/conversation.h"
#include "tests/support/programs.h"
#include "tests/support/skip.h"
#include "tests/support/support.h"

namespace nine::tests::test_tokenizers {
namespace {

using Ids = std::vector<int32_t>;
using Strings = std::vector<std::string>;

struct Random {
  std::mt19937_64 engine;
  explicit Random(uint64_t seed) : engine(seed) {}
  uint64_t below(uint64_t n) { return engine() % n; }
  double uniform() { return static_cast<double>(engine() >> 11) * 0x1p-53; }
};

// Text in several scripts, with white space of every kind.
std::string some_text() {
  std::string text;
  for (const char* line :
       {"Hello, world! It's  I'LL 12345 x\xC2\xB2\xC2\xA0y\t\tz \n\n", "the cat sat on the mat\n",
        "Привет 你好 \xF0\x9F\x98\x80\xF0\x9F\x98\x80\r\n",
        "def f(x):\n    return x ** 2  # ----====----\n", "low lower lowest newer newest widest\n"})
    for (int i = 0; i < 3; ++i) text += line;
  return text;
}

std::unique_ptr<Tokenizer> trained(const std::string& text, const TokenizerTraining& how) {
  TokenizerTrainer trainer(how);
  std::istringstream in(text);
  TextReader reader(in, "text", kCopiedText);
  trainer.add(reader);
  return trainer.train();
}

std::unique_ptr<Tokenizer> trained(int64_t size = 400, Split split = Split::gpt4) {
  return trained(some_text(), {.vocabulary_size = size, .split = split, .form = {}});
}

Strings pieces_of(Split split, const std::string& text) {
  TokenizerTrainer trainer({.split = split, .form = {}});
  trainer.add(text);
  Strings pieces;
  for (int32_t i = 0; i < trainer.pieces().words.size(); ++i)
    for (int64_t n = 0; n < trainer.pieces().counts[static_cast<size_t>(i)]; ++n)
      pieces.emplace_back(trainer.pieces().words.text(i));
  std::sort(pieces.begin(), pieces.end());
  return pieces;
}

std::string random_bytes(Random& random, size_t most, int kinds) {
  std::string bytes;
  for (size_t n = random.below(most); n > 0; --n)
    bytes += kinds < 256 ? "ab \n'x9.\xC3\xA9\xFF"[random.below(static_cast<uint64_t>(kinds))]
                         : static_cast<char>(random.below(256));
  return bytes;
}

// A field of protocol buffers.
std::string varint(uint64_t value) {
  std::string out;
  for (; value > 127; value >>= 7) out += static_cast<char>(value | 128);
  return out + static_cast<char>(value);
}
std::string bytes_field(int number, const std::string& bytes) {
  return varint(static_cast<uint64_t>(number) << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string number_field(int number, uint64_t value) {
  return varint(static_cast<uint64_t>(number) << 3) + varint(value);
}
std::string piece(const std::string& text, float score, uint64_t type = 1) {
  const auto bits = std::bit_cast<uint32_t>(score);
  std::string four(4, '\0');
  std::memcpy(four.data(), &bits, 4);
  return bytes_field(1, bytes_field(1, text) + varint(2 << 3 | 5) + four + number_field(3, type));
}
const std::string kSpace = "\xE2\x96\x81";

std::string sentencepiece_model(uint64_t kind) {
  std::string model = piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3);
  float score = -1;
  for (const std::string& text : {kSpace + "a", std::string("ab"), kSpace + "ab", std::string("bb"),
                                  kSpace, std::string("a"), std::string("b"), std::string("c")})
    model += piece(text, score -= 0.5F);
  return model + bytes_field(2, number_field(3, kind)) + bytes_field(3, number_field(3, 1));
}

}  // namespace

TEST_CASE("tokenizers: GPT-2's alphabet of bytes") {
  CHECK(byte_character(' ') == "\xC4\xA0");
  CHECK(byte_character('a') == "a");
  CHECK(byte_character(0xFF) == "\xC3\xBF");
  std::set<std::string> distinct;
  for (int i = 0; i < 256; ++i) distinct.emplace(byte_character(static_cast<unsigned char>(i)));
  CHECK(distinct.size() == 256);
  std::string all, back;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  CHECK(read_spelling(spell_bytes(all), back));
  CHECK(back == all);
  CHECK_FALSE(read_spelling(" ", back));
  CHECK_FALSE(read_spelling("\xE2\x96\x81", back));
  CHECK_FALSE(read_spelling("\xC5", back));
}

// The pieces of Python's package regex, 2026.11.19.
TEST_CASE("tokenizers: the splits of GPT-2, GPT-4 and Llama 3") {
  const std::string text =
      "Hello, world! It's  I'LL 12345 x\u00b2\u00a0y\t\tz \n\n  \u0915\u094d\u0937 end "
      "\u180e.\r\n (a)!!\n\n";
  Strings gpt2{"Hello", ",",  " world", "!",       " It",    "'s",     " ",    " I",
               "'",     "LL", " 12345", " x",      "\u00b2", "\u00a0", "y",    "\t",
               "\t",    "z",  " \n\n ", " \u0915", "\u094d", "\u0937", " end", " \u180e.",
               "\r\n",  " (", "a",      ")!!",     "\n\n"};
  Strings gpt4{"Hello", ",",       " world",       "!",    " It",          "'s",
               " ",     " I",      "'LL",          " ",    "123",          "45",
               " x",    "\u00b2",  "\u00a0y",      "\t",   "\tz",          " \n\n",
               " ",     " \u0915", "\u094d\u0937", " end", " \u180e.\r\n", " (",
               "a",     ")!!\n\n"};
  std::sort(gpt2.begin(), gpt2.end());
  std::sort(gpt4.begin(), gpt4.end());
  CHECK(pieces_of(Split::gpt2, text) == gpt2);
  CHECK(pieces_of(Split::gpt4, text) == gpt4);
  CHECK(pieces_of(Split::llama3, text) == gpt4);
  // Bytes that are not UTF-8 are pieces of their own.
  CHECK(pieces_of(Split::gpt4, "ab\xFF\xC3 cd") == Strings{" cd", "ab", "\xFF\xC3"});
}

// The pieces of a pattern that PCRE2 searches for; the group hides the named split from Nine.
struct BothWays {
  SplitPattern named, searched;
  explicit BothWays(Split split)
      : named(pattern_of(split)), searched("(?:" + std::string(pattern_of(split)) + ")") {}
  static std::vector<size_t> ends(const SplitPattern& pattern, std::string_view text) {
    std::vector<size_t> all{0};
    pattern.for_each(text, [&](size_t begin, size_t end) {
      if (begin != all.back()) all.push_back(text.size() + 1);  // a gap
      all.push_back(end);
    });
    return all;
  }
  void check(const std::string& text) const {
    const std::vector<size_t> found = ends(named, text), expected = ends(searched, text);
    if (found == expected) return;  // a CHECK of each text takes long
    CAPTURE(text);
    CHECK(found == expected);
  }
};

TEST_CASE("tokenizers: the named splits cut every text as PCRE2 does") {
  // Of every class some characters, of one to four bytes; the letters of contractions.
  const Strings some{"a",      "s",      "S",      "t",      "r",         "E",      "v",
                     "m",      "L",      "l",      "d",      "\u017f",    "\u00e9", "\u4f60",
                     "1",      "\u00b2", "\u0661", ".",      "'",         "\u0301", "\u180e",
                     "\u200b", " ",      "\t",     "\u00a0", "\u0085",    "\u3000", "\u2028",
                     "\n",     "\r",     "\v",     "\x1c",   "\U0001f600"};
  Random random(4);
  for (Split split : {Split::gpt2, Split::gpt4}) {
    const BothWays both(split);
    // Each code point beside letters, digits, other characters and white space.
    for (char32_t page = 0; page < 0x110000; page += 0x100) {
      std::string text;
      for (char32_t code = page; code < page + 0x100; ++code) {
        if (code >= 0xD800 && code <= 0xDFFF) continue;
        std::string character;
        append_utf8(character, code);
        for (const char* beside : {"a", "1", ".", " ", "\n", "'"}) (text += character) += beside;
      }
      both.check(text);
    }
    // Each character of one or two bytes at each place among letters, which are read eight at once.
    for (char32_t code = 0; code < 0x800; ++code)
      for (size_t at = 0; at <= 17; ++at) {
        std::string text(at, code % 2 == 0 ? 'z' : 'A');
        append_utf8(text, code);
        both.check(text + "kZa");
        both.check(text + std::string(9, 'a'));
      }
    for (const std::string& a : some)
      for (const std::string& b : some) {
        both.check(a + b);
        for (const std::string& c : some) both.check(a + b + c);
      }
    for (int i = 0; i < 50'000; ++i) {
      std::string text;
      for (size_t n = random.below(30); n > 0; --n) text += some[random.below(some.size())];
      both.check(text);
    }
  }
}

TEST_CASE("tokenizers: every byte string comes back") {
  Random random(1);
  for (Split split : {Split::gpt2, Split::gpt4, Split::llama3}) {
    const auto tokenizer = trained(400, split);
    CHECK(tokenizer->size() <= 400);
    CHECK(tokenizer->size() > 300);
    for (int i = 0; i < 3000; ++i) {
      const std::string text = random_bytes(random, 40, i % 2 == 0 ? 256 : 11);
      CAPTURE(spell_bytes(text));
      const Ids ids = tokenizer->encode(text);
      CHECK(tokenizer->decode(ids) == text);
      std::string joined;
      for (int32_t id : ids) joined += tokenizer->token_bytes(id);
      CHECK(joined == text);
    }
    const std::string long_word(5000, 'e');
    CHECK(tokenizer->decode(tokenizer->encode(long_word)) == long_word);
  }
}

TEST_CASE("tokenizers: a piece is merged as a plain search for the lowest rank merges it") {
  Random random(2);
  for (int round = 0; round < 200; ++round) {
    // Random merges of six symbols and their results. Large ranks are beside the largest of short
    // pieces.
    const uint32_t first = round % 4 == 0 ? (1u << 26) - 10 : 0;
    const uint32_t attempts = round % 10 == 0 ? 400 : 30;
    MergeTable table;
    std::map<std::pair<int32_t, int32_t>, std::pair<uint32_t, int32_t>> plain;
    int32_t symbols = 6;
    for (uint32_t rank = 0; rank < attempts; ++rank) {
      const auto of = [&] {
        return static_cast<int32_t>(random.below(static_cast<uint64_t>(symbols)));
      };
      const int32_t left = of(), right = of();
      const uint32_t shared = first + rank / 2;  // ranks may be equal, as of SentencePiece's scores
      const bool added = table.add(left, right, {shared, symbols});
      CHECK(added == plain.insert({{left, right}, {shared, symbols}}).second);
      if (added) ++symbols;
    }
    CHECK(table.size() == plain.size());
    for (int i = 0; i < 10; ++i) {
      Ids word;
      const size_t most = i < 7 ? 20 : i < 9 ? 70 : 200;
      for (size_t n = 1 + random.below(most); n > 0; --n)
        word.push_back(static_cast<int32_t>(random.below(6)));
      Ids found;
      table.apply(word, found);
      for (;;) {
        auto best = plain.end();
        size_t at = 0;
        for (size_t k = 0; k + 1 < word.size(); ++k) {
          const auto merge = plain.find({word[k], word[k + 1]});
          if (merge != plain.end() &&
              (best == plain.end() || merge->second.first < best->second.first)) {
            best = merge;
            at = k;
          }
        }
        if (best == plain.end()) break;
        word[at] = best->second.second;
        word.erase(word.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      }
      CHECK(found == word);
    }
  }
}

namespace {

// Encodes every text as the same ids.
class SameIds : public Tokenizer {
 public:
  explicit SameIds(Ids ids) : ids_(std::move(ids)) {}
  void encode(std::string_view /*text*/, const EncodeOptions& /*options*/, TokenCache& /*cache*/,
              Ids& ids) const override {
    ids.insert(ids.end(), ids_.begin(), ids_.end());
  }
  void decode(std::span<const int32_t> /*ids*/, bool /*special*/, std::string&) const override {}
  int32_t size() const override { return std::numeric_limits<int32_t>::max(); }
  std::string_view token(int32_t /*id*/) const override { return {}; }
  std::string token_bytes(int32_t /*id*/) const override { return {}; }
  int32_t find(std::string_view /*token*/) const override { return kNone; }
  bool is_special(int32_t /*id*/) const override { return false; }
  std::vector<int32_t> special_ids() const override { return {}; }
  std::string json() const override { return {}; }

 private:
  Ids ids_;
};

}  // namespace

TEST_CASE("tokenizers: ids are written as std::to_string() writes them") {
  Ids ids{0, std::numeric_limits<int32_t>::max()};
  for (int32_t power = 10; power <= 100'000'000; power *= 10)
    for (int32_t beside = -1; beside <= 1; ++beside) ids.push_back(power + beside);
  for (int32_t id = 0; id < 20'000; ++id) ids.push_back(id);
  Random random(4);
  for (int i = 0; i < 20'000; ++i)
    ids.push_back(static_cast<int32_t>(random.below(uint64_t{1} << (1 + i % 31))));
  std::string expected;
  for (const int32_t id : ids) (expected += ' ') += std::to_string(id);
  expected[0] = '\n';
  TokenCache cache;
  std::string found;
  encode_lines(SameIds({}), {}, "\n", cache, found);
  encode_lines(SameIds(ids), {}, "text", cache, found);
  CHECK(found == expected);
}

TEST_CASE("tokenizers: the key of a piece is the same wherever the piece stands") {
  Random random(5);
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = random_bytes(random, 60, i % 2 == 0 ? 256 : 3) + "x";
    const size_t begin = random.below(text.size());
    const std::string_view piece =
        std::string_view(text).substr(begin, 1 + random.below(PieceKey<4>::kMost));
    const auto check = [&]<size_t kWords>(const PieceKey<kWords>& key) {
      CHECK(key.text() == piece);
      CHECK(key == PieceKey<kWords>(piece));
      CHECK(key == PieceKey<kWords>(piece, std::string(text)));
      CHECK(key == PieceKey<kWords>(piece, {}));
      CHECK_FALSE(key == PieceKey<kWords>(std::string(piece.size(), 'y')));
    };
    check(PieceKey<4>(piece, text));
    if (piece.size() <= PieceKey<2>::kMost) check(PieceKey<2>(piece, text));
  }
}

// Counts all pairs again before each merge.
TEST_CASE("tokenizers: learned merges are those of plain counting") {
  Random random(3);
  const std::vector<unsigned char> alphabet = bytes_by_character();
  int64_t learned = 0;
  for (int round = 0; round < 100; ++round) {
    WordCounts words;
    for (int i = 0; i < 60; ++i) {
      std::string word;
      for (size_t n = 1 + random.below(9); n > 0; --n) word += "abcde"[random.below(5)];
      words.add(word, 1 + static_cast<int64_t>(random.below(5)));
    }
    const int64_t least = 1 + round % 3;
    const BpeMerges found =
        learn_merges(words, alphabet, {.symbols = 256 + 40, .min_frequency = least});
    std::map<std::string, int32_t> ids;
    for (size_t i = 0; i < 256; ++i)
      ids[std::string(1, static_cast<char>(alphabet[i]))] = static_cast<int32_t>(i);
    std::vector<Strings> split;
    for (int32_t w = 0; w < words.words.size(); ++w) {
      split.emplace_back();
      for (char c : words.words.text(w)) split.back().emplace_back(1, c);
    }
    for (size_t step = 0; step <= found.merges.size(); ++step) {
      std::map<std::pair<int32_t, int32_t>, int64_t> counts;
      for (size_t w = 0; w < split.size(); ++w)
        for (size_t i = 1; i < split[w].size(); ++i)
          counts[{ids.at(split[w][i - 1]), ids.at(split[w][i])}] += words.counts[w];
      const auto best = std::max_element(counts.begin(), counts.end(), [](auto& a, auto& b) {
        return a.second != b.second ? a.second < b.second : a.first > b.first;
      });
      if (step == found.merges.size()) {
        CHECK((std::ssize(found.symbols) == 296 || best == counts.end() || best->second < least));
        break;
      }
      const BpeMerge& merge = found.merges[step];
      REQUIRE(std::pair(merge.left, merge.right) == best->first);
      CHECK(best->second >= least);
      const std::string left = found.symbols[static_cast<size_t>(merge.left)],
                        right = found.symbols[static_cast<size_t>(merge.right)];
      if (!ids.emplace(left + right, static_cast<int32_t>(ids.size())).second) break;  // made twice
      ++learned;
      CHECK(ids.at(left + right) == merge.result);
      for (Strings& word : split)
        for (size_t i = 0; i + 1 < word.size(); ++i)
          if (word[i] == left && word[i + 1] == right) {
            word[i] += right;
            word.erase(word.begin() + static_cast<std::ptrdiff_t>(i) + 1);
          }
    }
  }
  CHECK(learned > 3000);
}

TEST_CASE("tokenizers: counts of 64 bits") {
  WordCounts words;
  words.add("ab", int64_t{3} << 32);
  words.add("cd", (int64_t{3} << 32) + 1);
  const BpeMerges found = learn_merges(words, bytes_by_character(), {.symbols = 258});
  REQUIRE(found.merges.size() == 2);
  CHECK(found.symbols[256] == "cd");
  words.add("e" + std::string(100, 'f'), int64_t{1} << 57);
  CHECK(has(error_of([&] { learn_merges(words, bytes_by_character(), {}); }),
            "are more than can be counted"));
}

TEST_CASE("tokenizers: the number of threads does not change what is learned") {
  const Restore restore;
  std::string text;
  for (int i = 0; i < 400; ++i) text += some_text();  // several blocks
  Strings made;
  for (int count : {1, 2, 3}) {
    set_threads(count);
    made.push_back(trained(text, {.vocabulary_size = 420, .form = {}})->json());
  }
  CHECK(made[0] == made[1]);
  CHECK(made[0] == made[2]);
}

TEST_CASE("tokenizers: a bound of memory does not change what is learned") {
  const Restore restore;
  Random random(8);
  std::string text;
  for (int line = 0; line < 3000; ++line) {
    for (int word = 0; word < 8; ++word) {
      text += ' ';
      for (size_t n = 1 + random.below(8); n > 0; --n) text += "abcdefgh"[random.below(8)];
    }
    text += '\n';
  }
  const TemporaryDirectory dir;
  const std::string whole = trained(text, {.vocabulary_size = 600, .form = {}})->json();
  for (int64_t memory : {1, 300'000, 1 << 30})
    for (int count : {1, 2, 3}) {
      CAPTURE(memory);
      CAPTURE(count);
      set_threads(count);
      CHECK(trained(text, {.vocabulary_size = 600,
                           .form = {},
                           .memory = memory,
                           .temporary_folder = dir.path().string()})
                ->json() == whole);
    }
  TokenizerTrainer trainer(
      {.vocabulary_size = 600, .form = {}, .memory = 100, .temporary_folder = dir.path().string()});
  for (size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = text.find('\n', at);
    trainer.add(std::string_view(text).substr(at, end + 1 - at));
  }
  CHECK(trainer.pieces().words.size() == 0);
  CHECK(trainer.train()->json() == whole);
  CHECK(trainer.train()->json() == whole);
  CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE("tokenizers: special tokens never come from text unless asked") {
  const auto tokenizer = trained();
  const int32_t special = tokenizer->find("<|endoftext|>");
  CHECK(special == 0);
  CHECK(tokenizer->special_ids() == Ids{0});
  const std::string text = "a<|endoftext|>b";
  const Ids plain = tokenizer->encode(text),
            asked = tokenizer->encode(text, {.special_from_text = true});
  CHECK(std::count(plain.begin(), plain.end(), special) == 0);
  CHECK(asked.size() == 3);
  CHECK(asked[1] == special);
  CHECK(tokenizer->decode(plain) == text);
  CHECK(tokenizer->decode(asked) == "ab");
  CHECK(tokenizer->decode(asked, true) == text);
  CHECK(has(error_of([&] { tokenizer->decode(Ids{1, 400}); }), "the id 400 is not from 0 to"));
}

TEST_CASE("tokenizers: a special token that cannot be one") {
  const auto refuse = [](const Strings& tokens, int64_t size = 1000) {
    return error_of([&] {
      trained(some_text(), {.vocabulary_size = size, .form = {}, .special_tokens = tokens});
    });
  };
  CHECK(has(refuse({"<a>", "<a>"}), "there twice"));
  CHECK(has(refuse({""}), "of one byte"));
  CHECK(has(refuse({"\xFF\xFF"}), "not UTF-8"));
  CHECK(has(refuse({"the"}), "is also a token that the text needs"));
  CHECK(has(refuse({"<a>"}, 256), "give 257 or more"));
  CHECK(refuse({}, 256).empty());
}

TEST_CASE("tokenizers: tokenizer.json comes back") {
  for (Split split : {Split::gpt2, Split::gpt4}) {
    const auto first = trained(400, split);
    const std::string json = first->json();
    const auto second = read_tokenizer_json(json, "tokenizer.json");
    CHECK(second->json() == json);
    CHECK(second->encode(some_text()) == first->encode(some_text()));
    const TemporaryDirectory dir;
    dir.write("tokenizer.json", json);
    CHECK(read_tokenizer(dir.path().string())->json() == json);
  }
}

TEST_CASE("tokenizers: tiktoken's ranks come back") {
  const auto first =
      trained(some_text(), {.vocabulary_size = 400, .form = {}, .special_tokens = {}});
  const std::string ranks = tiktoken_text(*first);
  CHECK(ranks.starts_with("IQ== 0\n"));
  const auto second = read_tiktoken(ranks, "ranks");
  CHECK(tiktoken_text(*second) == ranks);
  CHECK(second->size() == first->size() + 1);
  CHECK(second->encode(some_text()) == first->encode(some_text()));
  CHECK(second->is_special(first->size()));
  const TemporaryDirectory dir;
  CHECK(read_tokenizer(dir.write("ranks", ranks))->size() == second->size());
  // Whole pieces are tokens, whatever the merges say.
  std::string whole;
  for (int byte = 0; byte < 256; ++byte)
    whole += base64(std::string(1, static_cast<char>(byte))) + ' ' + std::to_string(byte) + '\n';
  const auto apart = read_tiktoken(whole + base64("abcd") + " 256\n", "ranks");
  CHECK(apart->encode("abcd") == Ids{256});
  CHECK(apart->encode("abcde") == Ids{'a', 'b', 'c', 'd', 'e'});
}

TEST_CASE("tokenizers: vocab.json and merges.txt") {
  const auto first =
      trained(some_text(), {.vocabulary_size = 400, .split = Split::gpt2, .form = {}});
  const Json json = Json::parse(first->json());
  std::string merges = "#version: 0.2\n";
  for (const Json& merge : json["model"]["merges"])
    merges += merge[0].get<std::string>() + ' ' + merge[1].get<std::string>() + '\n';
  const std::string vocabulary = json["model"]["vocab"].dump();
  const auto second = read_vocabulary_and_merges(vocabulary, merges, "vocab.json");
  CHECK(second->encode(some_text()) == first->encode(some_text()));
  CHECK(second->is_special(second->find("<|endoftext|>")));
  const TemporaryDirectory dir;
  dir.write("merges.txt", merges);
  CHECK(read_tokenizer(dir.write("vocab.json", vocabulary))->encode("low") == first->encode("low"));
  CHECK(has(error_of([&] { read_vocabulary_and_merges(vocabulary, merges + "a\n", "v"); }),
            "is not two tokens"));
  CHECK(has(error_of([&] { read_vocabulary_and_merges(vocabulary, merges + "zq qz\n", "v"); }),
            "has a token that the vocabulary lacks: 'zq'"));
  CHECK(has(error_of([&] { read_vocabulary_and_merges(vocabulary, merges + "a b</w>\n", "v"); }),
            "ends a word with </w>"));
}

TEST_CASE("tokenizers: what is wrong with a tokenizer.json is named") {
  const std::string whole = trained()->json();
  const auto refuse = [&](const std::function<void(Json&)>& change) {
    Json json = Json::parse(whole);
    change(json);
    return error_of([&] { read_tokenizer_json(json.dump(), "t.json"); });
  };
  CHECK(refuse([](Json&) {}).empty());
  CHECK(has(refuse([](Json& j) {
              j["normalizer"] = {{"type", "Lowercase"}};
            }),
            "t.json: the normalizer 'Lowercase' is of a type that Nine does not know"));
  CHECK(has(refuse([](Json& j) {
              j["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
            }),
            "the pre_tokenizer 'BertPreTokenizer' is of a type that Nine does not know"));
  CHECK(has(refuse([](Json& j) { j["decoder"] = {{"type", "CTC"}}; }), "the decoder 'CTC'"));
  CHECK(has(refuse([](Json& j) {
              j["post_processor"] = {{"type", "X"}};
            }),
            "the post_processor 'X'"));
  CHECK(has(refuse([](Json& j) { j["model"]["type"] = "WordPiece"; }), "the model 'WordPiece'"));
  CHECK(has(refuse([](Json& j) { j["model"]["dropout"] = 0.1; }), "dropout"));
  CHECK(has(refuse([](Json& j) { j["version"] = "2.0"; }),
            "t.json: the key 'version' is \"2.0\", and \"1.0\" was expected"));
  CHECK(has(refuse([](Json& j) { j["model"]["end_of_word_suffix"] = "</w>"; }),
            "end_of_word_suffix"));
  CHECK(has(refuse([](Json& j) {
              j["model"]["merges"].push_back("h e");
              j["model"]["merges"].push_back("h e");
            }),
            "is there twice"));
  CHECK(has(refuse([](Json& j) { j["model"]["merges"].push_back("h"); }), "is not two tokens"));
  CHECK(has(refuse([](Json& j) { j["model"]["vocab"]["zzzz"] = 5; }), "the id 5 has two tokens"));
  CHECK(has(refuse([](Json& j) { j["model"]["vocab"]["zzzz"] = -1; }), "an id was expected"));
  CHECK(has(refuse([](Json& j) { j["model"]["vocab"]["zzzz"] = 16000000; }), "there are only"));
  CHECK(has(refuse([](Json& j) { j["model"]["vocab"]["zzzz"] = uint64_t{1} << 40; }),
            "an id was expected"));
  CHECK(has(refuse([](Json& j) { j["added_tokens"][0]["id"] = 7; }),
            "'<|endoftext|>' has two ids, 0 and 7"));
  CHECK(has(refuse([](Json& j) { j["more"] = 1; }), "the tokenizer has the member 'more'"));
  CHECK(has(refuse([](Json& j) {
              Json deep = {{"type", "NFC"}};
              for (int i = 0; i < 30; ++i)
                deep = {{"type", "Sequence"}, {"normalizers", Json::array({deep})}};
              j["normalizer"] = deep;
            }),
            "levels"));
  const auto split = [](Json& j, const std::string& pattern) {
    j["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = pattern;
  };
  CHECK(has(refuse([&](Json& j) { split(j, "(a"); }),
            "the pattern '(a' is not a regular expression"));
  // A pattern that would search without end is an error of the text.
  Json json = Json::parse(whole);
  split(json, "(x+x+)+[yz]");
  const auto slow = read_tokenizer_json(json.dump(), "t.json");
  CHECK(has(error_of([&] { slow->encode(std::string(60, 'x')); }),
            "the pattern '(x+x+)+[yz]' cannot be searched for"));
  CHECK(slow->decode(slow->encode("axxy")) == "axxy");
  for (const char* wrong : {"{", "", "[]", "3", "{\"a\": 1e999}", "{} x"})
    CHECK(has(error_of([&] { read_tokenizer_json(wrong, "t.json"); }),
              "t.json: is not a JSON object"));
  CHECK(has(error_of([] { read_tokenizer_json(R"({"a": 1, "a": 2})", "t.json"); }),
            "t.json: is not a JSON object: \"a\" is given twice (line 1, column"));
  CHECK(has(error_of([] { read_tokenizer_json("{\"a\":" + std::string(200, '['), "t.json"); }),
            "nested more deeply than 100 levels"));
}

TEST_CASE("tokenizers: damaged ranks are named") {
  const std::string ranks = tiktoken_text(*trained(300));
  CHECK(has(error_of([&] { read_tiktoken(ranks + "IQ== 5000\n", "r"); }),
            "r: the token '!' has two ids"));
  CHECK(has(error_of([&] { read_tiktoken(ranks + "I 5\n", "r"); }), "is not a token in base64"));
  CHECK(has(error_of([&] { read_tiktoken(ranks + "IQ==\n", "r"); }), "is not a token in base64"));
  CHECK(has(error_of([&] { read_tiktoken("IQ== 0\n", "r"); }), "the byte 0 has no token"));
  CHECK(has(error_of([] { read_tiktoken("", "r"); }), "it has no tokens"));
}

TEST_CASE("tokenizers: special tokens of ranks have the ids that ranks leave free, or given ids") {
  const auto first = trained(300);
  const std::string ranks = tiktoken_text(*first), text = "a<|endoftext|>b";
  const EncodeOptions special{.special_from_text = true};
  const auto second = read_tiktoken(ranks, "ranks");
  CHECK(second->encode(text, special) == first->encode(text, special));
  CHECK(second->json() != "");
  const auto given = read_tiktoken(ranks, "ranks", {.special_tokens = {"<a>=9000", "<b>"}});
  CHECK(given->find("<a>") == 9000);
  CHECK(given->find("<b>") == 0);
  CHECK(given->is_special(9000));
  const auto with = [&](const std::string& token) {
    return error_of([&] { read_tiktoken(ranks, "r", {.special_tokens = {token}}); });
  };
  CHECK(has(with("<a>=5"), "the id 5 has two tokens"));
  CHECK(has(with("<a>=99999999999"), "has an id above"));
}

TEST_CASE("tokenizers: text that no token holds is an error, not lost") {
  const auto of = [](const std::string& pre_tokenizer, const std::string& model) {
    return read_tokenizer_json(
        R"({"pre_tokenizer": {"type": ")" + pre_tokenizer + R"("}, "model": )" + model + "}", "t");
  };
  const std::string bpe =
      R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]})";
  const auto error = [](const Tokenizer& t, const std::string& text) {
    return error_of([&] { t.encode(text); });
  };
  // As trained without the alphabet of all bytes.
  const auto bytes = of("ByteLevel", bpe), words = of("WhitespaceSplit", bpe),
             unigram = of("WhitespaceSplit",
                          R"({"type": "Unigram", "unk_id": null, "vocab": [["a", -1]]})");
  CHECK(has(error(*bytes, "abx"), "no token for the byte <0x20> and no unknown token"));
  CHECK(words->encode("ab a") == Ids{2, 0});
  CHECK(has(error(*words, "ab \xC3\xA9"), "no token for '\xC3\xA9' and no unknown token"));
  CHECK(has(error(*unigram, "a xy"), "no token for 'xy' and no unknown token"));
  const TemporaryDirectory dir;
  const std::string file = dir.write(
      "t.json", R"({"pre_tokenizer": {"type": "WhitespaceSplit"}, "model": )" + bpe + "}");
  const Outcome r = run_program("bpe", {"apply", "--tokenizer", file}, "ab\nab x\n");
  CHECK(r.code == 1);
  CHECK_MESSAGE(has(r.err, "standard input, line 2: the tokenizer has no token for 'x'"), r.err);
  // Unknown tokens are counted. Bytes that have tokens are used, as Hugging Face does it.
  const std::string some = dir.write(
      "b.json",
      R"({"model": {"type": "BPE", "vocab": {"a": 0, "<u>": 1, "<0xC3>": 2, "<0xA9>": 3},)"
      R"( "merges": [], "unk_token": "<u>", "byte_fallback": true}})");
  const Outcome counted = run_program("bpe", {"apply", "--tokenizer", some}, "a\xC3\xA9x\nyz\n");
  CHECK(counted.out == "0 2 3 1\n1 1\n");
  CHECK_MESSAGE(has(counted.err, "warning: 3 tokens are '<u>', for text that has no token"),
                counted.err);
  CHECK(run_program("bpe", {"apply", "--tokenizer", some}, "aa\n").err.empty());
  // A byte-order mark is no part of the file.
  const std::string marked = dir.write("m.json", std::string(kByteOrderMark) + slurp(file));
  CHECK(read_tokenizer(marked)->encode("ab") == Ids{2});
}

TEST_CASE("tokenizers: a pattern that can match the empty text is refused") {
  const auto error = [](const std::string& pattern) {
    return error_of([&] {
      read_tokenizer_json(
          Json{{"pre_tokenizer",
                {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}}},
               {"model", {{"type", "BPE"}, {"vocab", {{"a", 0}}}, {"merges", Json::array()}}}}
              .dump(),
          "t")
          ->encode("aa");
    });
  };
  for (const char* pattern : {"a*", "^", "$", "\\b", "(?=a)", "(?<=a)", "a|"})
    CHECK_MESSAGE(has(error(pattern), "can match the empty text"), error(pattern));
  CHECK(has(error("a\\K"), "write it without \\K"));
  CHECK(error("a|(?=a)a") == "");
}

TEST_CASE("tokenizers: SentencePiece's BPE and Unigram") {
  const auto bpe = read_sentencepiece(sentencepiece_model(2), "m"),
             unigram = read_sentencepiece(sentencepiece_model(1), "m");
  const auto tokens = [](const Tokenizer& t, const std::string& text) {
    std::string all;
    for (int32_t id : t.encode(text)) all += std::string(t.token(id)) + '|';
    return all;
  };
  // BPE merges the pair of the highest score first: " a", then " ab", although " a" + "bb" has the
  // higher sum.
  CHECK(tokens(*bpe, "abb") == kSpace + "ab|b|");
  CHECK(tokens(*bpe, "  bab  ab ") == kSpace + "|b|ab|" + kSpace + "ab|");
  // Unigram takes the highest sum: " a" + "bb" has -1.5 - 3, " ab" + "b" -2.5 - 4.5.
  CHECK(tokens(*unigram, "abb") == kSpace + "a|bb|");
  CHECK(tokens(*unigram, "ab") == kSpace + "ab|");
  // Unknown neighbours are one token.
  CHECK(bpe->encode("\xC3\xA9zza") == Ids{7, 0, 8});
  CHECK(unigram->encode("\xC3\xA9zza") == Ids{7, 0, 8});
  CHECK(bpe->decode(bpe->encode("abb c")) == "abb c");
  CHECK(bpe->encode("ab", {.add_special = true})[0] == 1);
  CHECK(bpe->encode("").empty());
  CHECK(bpe->encode("   ").empty());
  CHECK(has(error_of([&] { bpe->json(); }), "keep the .model file"));
  // A model that is cut off anywhere is an error, or has fewer pieces.
  const std::string model = sentencepiece_model(2);
  for (size_t size = 0; size < model.size(); ++size)
    error_of([&] { read_sentencepiece(model.substr(0, size), "m"); });
  CHECK(has(error_of([&] { read_sentencepiece(model.substr(0, 10), "m"); }), "m: a field of"));
  CHECK(
      has(error_of([&] { read_sentencepiece(sentencepiece_model(3), "m"); }), "its model is WORD"));
  CHECK(has(error_of([&] { read_sentencepiece(model + piece("a", 0), "m"); }),
            "the token 'a' has two ids"));
}

TEST_CASE("tokenizers: a SentencePiece model as tokenizer.json") {
  const auto converted = [](const std::string& bytes) {
    return converted_json(*read_sentencepiece(bytes, "m"));
  };
  // A trie of one replacement, "a" for "A".
  std::vector<uint32_t> units(0x44);
  units[0x41] = 0x41 | 1U << 8 | 2U << 10;
  units[0x43] = 1U << 31;
  const auto trie_bytes = static_cast<uint32_t>(units.size() * sizeof units[0]);
  std::string map(sizeof trie_bytes + trie_bytes, '\0');
  std::memcpy(map.data(), &trie_bytes, sizeof trie_bytes);
  std::memcpy(map.data() + sizeof trie_bytes, units.data(), trie_bytes);
  map += std::string("a\0", 2);
  CHECK(CharactersMap(map).bytes() == map);
  const std::string with_map = bytes_field(3, bytes_field(2, map)),
                    no_prefix = bytes_field(3, number_field(3, 0)),
                    keeps_spaces = bytes_field(3, number_field(4, 0));
  std::string fallback = bytes_field(2, number_field(35, 1));
  for (int byte = 0; byte < 256; ++byte)
    fallback += piece(byte_token(static_cast<unsigned char>(byte)), 0, 6);
  const std::string user_defined = piece("<sep>", 0, 4) + piece("+.", 0, 4);
  const Strings parts{"a", "b", "c", "ab", "bb", "A", " ", "  ", kSpace, "\xC3\xA9", "<sep>", "+."};
  Random random(9);
  for (const uint64_t kind : {1, 2})
    for (const std::string& more :
         {std::string(), with_map, no_prefix, keeps_spaces, fallback, user_defined,
          no_prefix + keeps_spaces + user_defined, with_map + fallback + user_defined}) {
      const auto model = read_sentencepiece(sentencepiece_model(kind) + more, "m");
      const std::string json = converted_json(*model);
      const auto written = read_tokenizer_json(json, "t.json");
      CHECK(written->json() == json);
      for (int i = 0; i < 300; ++i) {
        std::string text;
        for (size_t n = random.below(9); n > 0; --n) text += parts[random.below(parts.size())];
        const Ids ids = model->encode(text, {.add_special = i % 2 == 0});
        CHECK_MESSAGE(written->encode(text, {.add_special = i % 2 == 0}) == ids, text);
        CHECK(written->decode(ids) == model->decode(ids));
      }
    }
  const std::string model = sentencepiece_model(2), sep = piece("<sep>", 0, 4);
  CHECK(has(error_of([&] { converted(model + piece("bc", -9) + piece("ca", -9)); }),
            "the pieces 'bc' and 'ca' have one score"));
  // Runs of one character may have one score: the run grows from its left end.
  const auto runs = read_tokenizer_json(
      converted(model + piece("cc", -9) + piece("cccc", -9) + piece("ccc", -9)), "t.json");
  CHECK(runs->encode("ccccc") == Ids{7, 12, 10});
  CHECK(has(error_of([&] { converted(model + with_map + piece("xA", 0, 4)); }),
            "makes 'xa' of the user-defined piece 'xA'"));
  CHECK(has(error_of([&] { converted(model + piece("xyz", -9) + sep); }),
            "the text of the piece 'xyz' becomes other pieces"));
  CHECK(error_of([&] { converted(model + piece("xyz", -9)); }) == "");
  // Any other tokenizer is written as it is.
  CHECK(converted_json(*trained()) == trained()->json());
}

TEST_CASE("tokenizers: Mistral's tekken.json") {
  const auto all = trained(some_text(), {.vocabulary_size = 400, .form = {}, .special_tokens = {}});
  constexpr int32_t kRanks = 330, kSpecials = 3;
  Json tekken{{"config",
               {{"pattern", pattern_of(Split::gpt2)},
                {"default_vocab_size", kRanks + kSpecials},
                {"default_num_special_tokens", kSpecials}}},
              {"vocab", Json::array()},
              {"special_tokens", Json::array({{{"rank", 1}, {"token_str", "<s>"}}})}};
  std::string lines;
  for (int32_t rank = 0; rank < all->size(); ++rank) {
    const std::string bytes = base64(all->token_bytes(rank));
    tekken["vocab"].push_back({{"rank", rank}, {"token_bytes", bytes}, {"token_str", nullptr}});
    if (rank < kRanks) lines += concat(bytes, ' ', rank, '\n');
  }
  const auto ranks = read_tiktoken(lines, "ranks", {.split = Split::gpt2});
  const TemporaryDirectory dir;
  dir.write("tekken.json", tekken.dump());
  const auto tokenizer = read_tokenizer(dir.path().string());
  CHECK(tokenizer->size() == kRanks + kSpecials);
  CHECK(tokenizer->special_ids() == Ids{0, 1, 2});
  CHECK(tokenizer->find("<s>") == 1);
  CHECK(tokenizer->find("<SPECIAL_2>") == 2);
  Ids expected = ranks->encode(some_text());
  for (int32_t& id : expected) id += kSpecials;
  CHECK(tokenizer->encode(some_text()) == expected);
  CHECK(read_tokenizer_json(tokenizer->json(), "t.json")->encode(some_text()) == expected);
  const auto refuse = [&](const std::function<void(Json&)>& change) {
    Json json = tekken;
    change(json);
    return error_of([&] { read_tokenizer_json(json.dump(), "t.json"); });
  };
  CHECK(has(refuse([](Json& j) { j["vocab"][7]["rank"] = 8; }),
            "t.json: the token 7 of the vocab is {\"rank\":8,"));
  CHECK(
      has(refuse([](Json& j) { j["vocab"][7]["token_bytes"] = "!"; }), "the token 7 of the vocab"));
  CHECK(has(refuse([](Json& j) { j["config"]["default_num_special_tokens"] = 500; }),
            "the default_vocab_size is 333 with 500 special tokens"));
  CHECK(has(refuse([](Json& j) { j["special_tokens"][0]["rank"] = 3; }), "has no rank of its own"));
  CHECK(has(refuse([](Json& j) { j["config"].erase("pattern"); }), "'pattern' is missing"));
}

TEST_CASE("tokenizers: Unigram finds the best of all paths") {
  Random random(5);
  for (int round = 0; round < 60; ++round) {
    TokenList tokens;
    std::vector<double> scores;
    std::map<std::string, double> plain;
    const auto add = [&](const std::string& token, double score) {
      if (tokens.find(token) >= 0) return;
      tokens.add(token, std::ssize(scores));
      scores.push_back(score);
      plain[token] = score;
    };
    add("<unk>", -3);
    for (int i = 0; i < 12; ++i) {
      std::string token;
      for (size_t n = 1 + random.below(3); n > 0; --n) token += "abc"[random.below(3)];
      add(token, -1 - 4 * random.uniform());
    }
    double lowest = 0;
    for (double score : scores) lowest = std::min(lowest, score);
    const UnigramModel model(tokens, scores, {.unknown = 0});
    for (int i = 0; i < 20; ++i) {
      std::string text;
      for (size_t n = 1 + random.below(9); n > 0; --n) text += "abc"[random.below(3)];
      const std::function<double(const std::string&)> best = [&](const std::string& rest) {
        if (rest.empty()) return 0.0;
        double most = plain.contains(rest.substr(0, 1)) ? -1e9 : lowest - 10 + best(rest.substr(1));
        for (size_t n = 1; n <= rest.size(); ++n)
          if (plain.contains(rest.substr(0, n)))
            most = std::max(most, plain.at(rest.substr(0, n)) + best(rest.substr(n)));
        return most;
      };
      Ids ids;
      model.encode(text, ids);
      if (std::count(ids.begin(), ids.end(), 0) > 0) continue;  // unknown runs are joined
      double sum = 0;
      std::string joined;
      for (int32_t id : ids) {
        sum += scores[static_cast<size_t>(id)];
        joined += tokens.token(id);
      }
      CHECK(joined == text);
      CHECK(sum == doctest::Approx(best(text)).epsilon(1e-12));
    }
  }
}

// The ids of SentencePiece 0.2.3 for a model of these pieces and scores.
TEST_CASE("tokenizers: Unigram takes SentencePiece's cut of many that are equal") {
  TokenList tokens;
  for (const char* token :
       {"<unk>", "<s>", "</s>", "ab", "bab", "ba", "a", "aa", "b", "c", "cc", "ca"})
    tokens.add(token, tokens.size());
  const UnigramModel model(
      tokens, {0, 0, 0, 0, 0, 0, 0, 0, 0, -1.3F, -2.1F, -1.9F},
      {.unknown = 0, .single = true, .not_in_text = {1, 2}, .user_defined = {3, 4, 5, 6, 7, 8}});
  const std::vector<std::pair<std::string, Ids>> golden{
      {"cabab", {9, 6, 4}},
      {"bbaababbca", {8, 8, 7, 4, 8, 9, 6}},
      {"bbacabaaacabab", {8, 5, 9, 6, 5, 7, 9, 6, 4}},
      {"acabbcabaabbab", {6, 9, 3, 8, 9, 6, 5, 3, 4}},
      {"aababcbcabb", {7, 4, 9, 8, 9, 3, 8}},
      {"bcbcababbabc", {8, 9, 8, 9, 6, 4, 4, 9}},
      {"cccbaacaaaccab", {9, 10, 8, 7, 9, 6, 7, 10, 3}},
      {"cababbccacb", {9, 6, 4, 8, 10, 6, 9, 8}}};
  for (const auto& [text, expected] : golden) {
    Ids ids;
    model.encode(text, ids);
    CHECK(ids == expected);
  }
}

TEST_CASE("tokenizers: a table of replacements whose sizes do not fit") {
  CHECK(CharactersMap("").empty());
  CHECK(has(error_of([] { CharactersMap("abc"); }), "has only 3 bytes"));
  CHECK(has(error_of([] { CharactersMap(std::string("\xff\xff\xff\x7f", 4)); }),
            "bytes, and the table has"));
  // Any links: a look-up ends inside of the trie, or with an error.
  Random random(6);
  for (int i = 0; i < 2000; ++i) {
    std::string map("\x40\0\0\0", 4);
    for (int k = 0; k < 70; ++k)
      map += static_cast<char>(random.below(random.below(2) == 0 ? 256 : 3));
    const CharactersMap damaged(map);
    std::string_view replacement;
    error_of([&] { damaged.find("\x01\x02 ab", random.below(2) == 0, replacement); });
  }
}

TEST_CASE("tokenizers: base64") {
  Random random(7);
  for (int i = 0; i < 500; ++i) {
    const std::string bytes = random_bytes(random, 20, 256);
    std::string back;
    CHECK(read_base64(base64(bytes), back));
    CHECK(back == bytes);
  }
  CHECK(base64("Man") == "TWFu");
  CHECK(base64("M") == "TQ==");
  std::string out;
  for (const char* wrong : {"TQ=", "TQ=a", "T!==", "===="}) CHECK_FALSE(read_base64(wrong, out));
}

TEST_CASE("tokenizers: NFC and NFKC" * doctest::test_suite("needs utf8proc")) {
  if (!has_unicode_forms()) return skip("built without utf8proc");
  const auto form_of = [](std::string text, UnicodeForm form) {
    normalize_unicode(text, form);
    return text;
  };
  CHECK(form_of("e\u0301 \ufb01 \uff21", UnicodeForm::nfc) == "\u00e9 \ufb01 \uff21");
  CHECK(form_of("e\u0301 \ufb01 \uff21", UnicodeForm::nfkc) == "\u00e9 fi A");
  CHECK(form_of("\u00e9", UnicodeForm::nfd) == "e\u0301");
  CHECK(form_of("\u1112\u1161\u11ab", UnicodeForm::nfc) == "\ud55c");
  const auto tokenizer = trained(some_text(), {.vocabulary_size = 300, .form = UnicodeForm::nfkc});
  CHECK(tokenizer->decode(tokenizer->encode("e\u0301\xFF\ufb01")) ==
        "\u00e9\xFF"
        "fi");
  CHECK(has(error_of([&] { tiktoken_text(*tokenizer); }), "without a normaliser"));
}

TEST_CASE("bpe learn --bytes, apply --tokenizer, undo --tokenizer") {
  const TemporaryDirectory dir;
  const std::string text = some_text() + "no end\rof line", input = dir.write("text", text),
                    tokenizer = dir / "tokenizer.json";
  const Outcome learned = run_program(
      "bpe", {"learn", "--bytes", "--vocab-size", "350", "--input", input, "--output", tokenizer});
  CHECK(learned.code == 0);
  CHECK(slurp(tokenizer) == trained(text, {.vocabulary_size = 350, .form = {}})->json());
  for (const char* form : {"ids", "tokens"}) {
    const Strings apply{"apply", "--tokenizer", tokenizer, "--format", form},
        undo{"undo", "--tokenizer", tokenizer, "--format", form};
    const Outcome cut = run_program("bpe", apply, text);
    CHECK(cut.code == 0);
    CHECK(std::count(cut.out.begin(), cut.out.end(), '\n') ==
          std::count(text.begin(), text.end(), '\n'));
    const Outcome back = run_program("bpe", undo, cut.out);
    CHECK(back.code == 0);
    CHECK(back.out == text);
    // --flush answers line by line with the same bytes.
    for (const auto& [arguments, given, expected] :
         {std::tuple(apply, text, cut.out), std::tuple(undo, cut.out, text)}) {
      Strings flushed = arguments;
      flushed.emplace_back("--flush");
      Conversation talk("bpe", flushed);
      const size_t line = given.find('\n') + 1;
      CHECK(talk.ask(given.substr(0, line)) == expected.substr(0, expected.find('\n') + 1));
      CHECK(run_program("bpe", flushed, given).out == expected);
    }
  }
  const auto fails = [&](const Strings& arguments, const std::string& given = "") {
    const Outcome r = run_program("bpe", arguments, given);
    CHECK(r.code != 0);
    return r.err;
  };
  for (const char* flush : {"--flush", "--no-flush"})
    CHECK(has(fails({"undo", "--tokenizer", tokenizer, flush}, "1\n\n1 x\n"),
              "standard input, line 3: 'x' is no id of the tokenizer"));
  CHECK(
      has(fails({"undo", "--tokenizer", tokenizer}, "99999999999\n"), "is no id of the tokenizer"));
  CHECK(has(fails({"apply", "--tokenizer", tokenizer, "--codes", tokenizer}), "leave out one"));
  CHECK(has(fails({"apply"}), "--codes or --tokenizer is required"));
  // Options that would have no effect.
  CHECK(has(fails({"apply", "--tokenizer", tokenizer, "--add-special"}),
            "names no special tokens to add around a line"));
  for (const char* flag : {"--split=gpt2", "--special-tokens=<a>"})
    CHECK(has(fails({"undo", "--tokenizer", tokenizer, flag}), "has no ranks of tiktoken"));
  CHECK(has(fails({"apply", "--tokenizer", tokenizer, "--dropout", "0.5"}),
            "--dropout is for --codes"));
  CHECK(has(fails({"learn", "--vocab-size", "300"}), "--vocab-size is for --bytes"));
  CHECK(has(fails({"learn", "--bytes", "--merges", "300"}), "--merges is for codes"));
  CHECK(has(fails({"apply", "--tokenizer", input}), "is not a token in base64"));
  // Counts on disk.
  const std::string folder = dir / "counts", whole = slurp(tokenizer);
  Strings bounded{"learn",    "--bytes", "--vocab-size",       "350",  "--input",  input,
                  "--memory", "1K",      "--temporary-folder", folder, "--output", tokenizer};
  CHECK(has(fails(bounded),
            "cannot make a temporary file of counts in " + folder + ": No such file or directory"));
  std::filesystem::create_directory(folder);
  CHECK(run_program("bpe", bounded).code == 0);
  CHECK(slurp(tokenizer) == whole);
  CHECK(std::filesystem::is_empty(folder));
  for (const char* size : {"0", "1X", "K", "-1K", "9999999999G"})
    CHECK(has(fails({"learn", "--bytes", "--memory", size}),
              "is not a size such as 500M or 2G, nor 'all'"));
  CHECK(has(fails({"learn", "--memory", "1G"}), "--memory is for --bytes"));
  CHECK(has(fails({"convert"}), "--tokenizer is required"));
  const std::string model = dir.write("m.model", sentencepiece_model(2));
  const Outcome written = run_program("bpe", {"convert", "--tokenizer", model});
  CHECK(written.out == converted_json(*read_tokenizer(model)));
  CHECK(has(fails({"convert", "--tokenizer", model, "--format", "tiktoken"}),
            "are for byte-level BPE"));
  CHECK(has(fails({"learn", "--bytes", "--temporary-folder", folder}), "is for --memory"));
}

// Encodes and decodes the texts of tests/clients/tokenizers_reference.py: NINE_TOKENIZER names the
// tokenizer, NINE_TOKENIZER_TEXTS the file of texts, each behind its size in four bytes.
// NINE_TOKENIZER_HOW has s for special tokens from text, a for those around a text, 2 for GPT-2's
// split of ranks. The answers go to the file of texts with ".ids" behind its name.
TEST_CASE("tokenizers: for other programs") {
  const char* const file = std::getenv("NINE_TOKENIZER");
  const char* const texts = std::getenv("NINE_TOKENIZER_TEXTS");
  if (file == nullptr || texts == nullptr) return;
  const char* const letters = std::getenv("NINE_TOKENIZER_HOW");
  REQUIRE_MESSAGE(letters != nullptr, "NINE_TOKENIZER_HOW is not set");
  const std::string how = letters;
  const auto tokenizer = read_tokenizer(
      file, {.split = has(how, "2") ? Split::gpt2 : Split::gpt4, .special_tokens = {}});
  const EncodeOptions options{.special_from_text = has(how, "s"), .add_special = has(how, "a")};
  const std::string all = slurp(texts);
  std::string answer;
  const auto put = [&](const void* from, size_t size) {
    const auto number = static_cast<uint32_t>(size);
    answer.append(reinterpret_cast<const char*>(&number), sizeof number);
    answer.append(static_cast<const char*>(from), size);
  };
  TokenCache cache;
  for (size_t at = 0; at < all.size();) {
    uint32_t size = 0;
    std::memcpy(&size, all.data() + at, sizeof size);
    at += sizeof size;
    Ids ids;
    tokenizer->encode(std::string_view(all).substr(at, size), options, cache, ids);
    at += size;
    put(ids.data(), ids.size() * sizeof ids[0]);
    std::string text;
    tokenizer->decode(ids, true, text);
    put(text.data(), text.size());
  }
  std::ofstream(std::string(texts) + ".ids", std::ios::binary) << answer;
}

}  // namespace nine::tests::test_tokenizers
