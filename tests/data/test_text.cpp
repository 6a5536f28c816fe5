// Text by lines and words, each against a plain re-implementation.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/quote.h"
#include "core/random.h"
#include "data/corpus.h"
#include "data/spelled_specials.h"
#include "data/text.h"
#include "data/unicode.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_text {
namespace {

std::vector<std::string> lines_of(const std::vector<std::string>& paths,
                                  const TextRules& rules = kModelText) {
  TextReader reader(paths, rules);
  std::vector<std::string> lines;
  for (std::string_view line; reader.next_line(line);) lines.emplace_back(line);
  return lines;
}

using Strings = std::vector<std::string>;

}  // namespace

TEST_CASE(
    "text: lines of several files, with either line end, without a last one, empty ones kept") {
  TemporaryDirectory dir;
  const auto unix = dir.write("unix", "a b\n\nc\n"), dos = dir.write("dos", "d e\r\n\r\nf"),
             mark = dir.write("mark", "\xEF\xBB\xBFg\n");
  CHECK(lines_of({unix}) == Strings{"a b", "", "c"});
  CHECK(lines_of({unix, dos, mark}) == Strings{"a b", "", "c", "d e", "", "f", "g"});
  CHECK(lines_of({dir.write("newline", "\n")}) == Strings{""});
}

TEST_CASE("text: words are separated by spaces and tabs only") {
  std::vector<std::string_view> words;
  split_words("  the\tred \t fox\xC2\xA0here . ", words);
  CHECK(words == std::vector<std::string_view>{"the", "red", "fox\xC2\xA0here", "."});
  split_words(" \t ", words);
  CHECK(words.empty());
}

TEST_CASE("text: what both kinds of text make of line ends, byte-order marks, NUL and nothing") {
  TemporaryDirectory dir;
  const std::string mark = "\xEF\xBB\xBF";
  const auto path = dir.write("t", mark + "a\rb\r\n\nc\td\r\re\r");
  CHECK(lines_of({dir.write("lf", mark + "a\r\n\nc\td\r")}) == Strings{"a", "", "c\td"});
  CHECK(lines_of({path}, kCopiedText) == Strings{mark + "a", "b", "", "c\td", "", "e"});
  const auto nul = dir.write("nul", std::string("a\0b\n", 4));
  CHECK(lines_of({nul}, kCopiedText) == Strings{std::string("a\0b", 3)});
  const auto empty = dir.write("empty", "");
  CHECK(lines_of({empty, nul, empty}, kCopiedText).size() == 1);
}

TEST_CASE("text: a CR inside a line is an error") {
  const TemporaryDirectory dir;
  struct Wrong {
    std::string text;
    const char* place;
  };
  // Lines that end with CR alone, with and without a last LF; CRLF made twice; one CR in a word.
  for (const Wrong& wrong :
       {Wrong{"a b\rc d\r", "1, byte 4"}, Wrong{"\ra", "1, byte 1"}, Wrong{"a\r\r", "1, byte 2"},
        Wrong{"a b\rc d\r\n", "1, byte 4"}, Wrong{"a\nb\r\r\nc\r\r\n", "2, byte 2"},
        Wrong{"a\r\nb\rc", "2, byte 2"}, Wrong{"a\nb\rc\r", "2, byte 2"}}) {
    const std::string path = dir.write("mac", wrong.text);
    const std::string error = concat(", line ", wrong.place, ": a CR inside a line, and lines end ",
                                     "with LF or CRLF: convert the file with");
    CHECK(has(error_of([&] { lines_of({path}); }), path + error));
    CHECK(has(error_of([&] {
                TextReader reader({path});
                for (std::string_view block; reader.next_block(block);) {
                }
              }),
              path + error));
    std::istringstream in(wrong.text);
    TextReader by_line(in, "input", {.line_by_line = true});
    std::string_view line;
    CHECK(has(error_of([&] {
                while (by_line.next_line(line)) {
                }
              }),
              "input" + error));
    CHECK(!lines_of({path}, kCopiedText).empty());
  }
  for (const std::string text : {"a\r", "a\r\nb\r", "a\nb\r\n"})
    CHECK(!lines_of({dir.write("unix", text)}).empty());
}

TEST_CASE("text: lines and blocks are two views of one text") {
  TemporaryDirectory dir;
  RandomStream random({.seed = 9});
  // Longer than what is read at once; CRs and CRLFs come to stand at every border.
  const Strings ends{"\n", "\r\n", "\r", "\n\n"};
  std::string text;
  while (text.size() < 1'500'000)
    text += std::string(random.below(5), 'x') + ends[random.below(ends.size())];
  const std::string whole = text + "\nlast", path = dir.write("t", whole);
  Strings expected;
  for_each_line(whole,
                [&](std::string_view line, std::string_view) { expected.emplace_back(line); });
  CHECK(lines_of({path}, kCopiedText) == expected);
  CHECK(lines_of({path, path}, kCopiedText).size() == 2 * expected.size());
  std::string together;
  TextReader blocks({path, path}, kCopiedText);
  for (std::string_view block; blocks.next_block(block);) together += block;
  CHECK(together == whole + whole);
  // One after the other on the same reader, each going on where the other stopped.
  TextReader both({path}, kCopiedText);
  std::string_view line, block;
  size_t at = 0;
  int blocks_read = 0;
  while (both.next_line(line)) {
    REQUIRE(whole.compare(at, line.size(), line) == 0);
    at += line.size();
    at += whole.compare(at, 2, "\r\n") == 0 ? 2 : std::min<size_t>(1, whole.size() - at);
    if (!both.next_block(block)) break;
    REQUIRE(whole.compare(at, block.size(), block) == 0);
    at += block.size();
    ++blocks_read;
  }
  CHECK(at == whole.size());
  CHECK(blocks_read > 1);
  // A filter rewrites the lines of both.
  const LineFilter shout = [](std::string_view) { return std::string("!"); };
  const auto small = dir.write("small", "a\r\nb");
  TextReader filtered({small}, kCopiedText, shout), by_line({small}, kCopiedText, shout);
  REQUIRE(filtered.next_block(block));
  CHECK(block == "!\r\n!");
  REQUIRE(by_line.next_line(line));
  CHECK(line == "!");
}

TEST_CASE("text: line by line, a line is there before more is asked for") {
  // Gives one piece after the other and counts how often more was asked for.
  class Pieces : public std::streambuf {
   public:
    explicit Pieces(Strings pieces) : pieces_(std::move(pieces)) {}
    size_t asked = 0;

   protected:
    int_type underflow() override {
      if (asked++ >= pieces_.size()) return traits_type::eof();
      std::string& piece = pieces_[asked - 1];
      setg(piece.data(), piece.data(), piece.data() + piece.size());
      return traits_type::to_int_type(piece[0]);
    }

   private:
    Strings pieces_;
  };
  struct Step {
    std::string text;
    size_t asked;
  };
  const auto check = [&](TextRules rules, bool blocks, const char* third,
                         const std::vector<Step>& steps) {
    const Strings pieces{"a\nb", "b\r\n\nc\r", third, "f", "g"};
    rules.line_by_line = true;
    Pieces buffer(pieces);
    std::istream in(&buffer);
    TextReader reader(in, "pieces", rules);
    std::string_view text;
    const auto next = [&] { return blocks ? reader.next_block(text) : reader.next_line(text); };
    for (const Step& step : steps) {
      REQUIRE(next());
      CHECK(text == step.text);
      CHECK(buffer.asked == step.asked);
    }
    CHECK(!next());
  };
  check(kModelText, false, "\nde", {{"a", 1}, {"bb", 2}, {"", 2}, {"c", 3}, {"defg", 6}});
  check(kCopiedText, true, "\nd\re\r",
        {{"a\n", 1}, {"bb\r\n", 2}, {"\n", 2}, {"c\r\n", 3}, {"d\r", 3}, {"e\r", 4}, {"fg", 6}});
}

TEST_CASE("text: words that are spelled as a special are counted, but for <unk>") {
  const auto message = [](const Specials& specials, std::string_view line) {
    SpelledSpecials spelled(specials);
    spelled.add_line("a b");
    spelled.add_line(line);
    return spelled.message("TEXT");
  };
  CHECK(message(Specials::kLanguageModel, "a </s> </s>\t<s> <unk> x</s>") ==
        "TEXT: 2 words are spelled </s>, which ends a sentence here");
  CHECK(message(Specials::kTranslation, "<s> <pad> a <pad> </s> <unk>") ==
        "TEXT: 1 word is spelled <s>, which begins a sentence here; 2 words are spelled <pad>, "
        "which fills up batches here; 1 word is spelled </s>, which ends a sentence here");
  CHECK(message(Specials::kLanguageModel, "<s> <pad> <unk>").empty());
  const Vocabulary words(Specials::kLanguageModel);
  const std::string lines[] = {"a </s> b", "", "</s>"};
  CHECK(has(Corpus::of_lines(lines, words).spelled_specials().message("t"), "t: 2 words"));
}

TEST_CASE("text: read_sentences gives each line's words") {
  TemporaryDirectory dir;
  Strings seen;
  read_sentences({dir.write("t", "a  b\n\nc")}, [&](std::span<const std::string_view> sentence) {
    std::string joined = "|";
    for (auto w : sentence) joined += std::string(w) + "|";
    seen.push_back(joined);
  });
  CHECK(seen == Strings{"|a|b|", "|", "|c|"});
}

TEST_CASE("text: a line of ten megabytes") {
  TemporaryDirectory dir;
  std::string text;
  while (text.size() < 10'000'000) text += "word ";
  const auto lines = lines_of({dir.write("long", "first\n" + text + "\nlast")});
  REQUIRE(lines.size() == 3);
  CHECK(lines[1] == text);
  CHECK(lines[2] == "last");
}

TEST_CASE("text: a stream may be empty, a file may not") {
  std::istringstream empty, some("a\nb");
  std::string_view line;
  TextReader none(empty, "standard input"), two(some, "standard input");
  CHECK(!none.next_line(line));
  CHECK(two.next_line(line));
  CHECK(two.next_line(line));
  CHECK(line == "b");
  CHECK(two.place() == "standard input, line 2");
  CHECK(!two.next_line(line));
  CHECK(!two.next_line(line));
}

TEST_CASE("text: errors name file, line and byte") {
  TemporaryDirectory dir;
  const auto good = dir.write("good", "a\n");
  const auto message = [&](const std::string& path) {
    return error_of([&] { lines_of({good, path}); });
  };
  CHECK(message(dir / "nowhere") == dir / "nowhere" + " does not exist: check the path");
  CHECK(has(message(dir / ""), "is a directory"));
  CHECK(has(message(dir.write("empty", "")), "empty is empty"));
  CHECK(has(message(dir.write("nul", std::string("a\nbc\0d\n", 7))),
            "nul, line 2, byte 3: a NUL byte"));
  CHECK(has(message(dir.write("latin1",
                              "fine\n\nstra\xDF"
                              "e\n")),
            "latin1, line 3, byte 5: 0xdf is not valid UTF-8"));
  CHECK(has(message(dir.write("utf16",
                              "\xFF\xFE"
                              "a")),
            "utf16 is UTF-16: convert it"));
  // A byte-order mark is dropped, and counts.
  const std::string mark(kByteOrderMark);
  CHECK(has(message(dir.write("bom", mark + "ab\xFF\nc")), "bom, line 1, byte 6: 0xff"));
  CHECK(has(message(dir.write("bom", mark + "ab\nc\xFF")), "bom, line 2, byte 2: 0xff"));
  CHECK(has(message(dir.write("bom", mark + std::string("a\0b", 3))),
            "bom, line 1, byte 5: a NUL byte"));
  std::istringstream marked(mark + "ab\xFF\n");
  TextReader in_blocks(marked, "in");
  CHECK(has(error_of([&] {
              for (std::string_view block; in_blocks.next_block(block);) continue;
            }),
            "in, line 1, byte 6: 0xff"));
  CHECK(has(error_of([] { TextReader reader(Strings{}); }), "no text file"));
  // Where CR ends lines, blocks count as lines do.
  std::istringstream in("a b\rc d\r\nbad \xff\re f\r");
  TextReader blocks(in, "in", kCopiedText);
  CHECK(has(error_of([&] {
              for (std::string_view block; blocks.next_block(block);) continue;
            }),
            "in, line 3, byte 5: 0xff"));
  std::istringstream fine("a\rb\r\nc\n\rd");
  TextReader whole(fine, "fine", kCopiedText);
  for (std::string_view block; whole.next_block(block);) continue;
  CHECK(whole.place() == "fine, line 5");
}

namespace {

/// Decodes each character to a code point, which must need that many bytes. Returns the first place
/// where that fails, or npos. Independent of the tables in use.
size_t first_undecodable(std::string_view s) {
  for (size_t i = 0; i < s.size();) {
    const auto b = static_cast<uint8_t>(s[i]);
    const int n = b < 0x80 ? 1 : b >> 5 == 6 ? 2 : b >> 4 == 14 ? 3 : b >> 3 == 30 ? 4 : 0;
    if (n == 0 || i + static_cast<size_t>(n) > s.size()) return i;
    uint32_t point = n == 1 ? b : b & (0x7Fu >> n);
    for (int k = 1; k < n; ++k) {
      const auto c = static_cast<uint8_t>(s[i + static_cast<size_t>(k)]);
      if (c >> 6 != 2) return i;
      point = point << 6 | (c & 63u);
    }
    const int shortest = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    if (shortest != n || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) return i;
    i += static_cast<size_t>(n);
  }
  return std::string_view::npos;
}

bool finds_invalid_utf8(std::string_view s) { return find_invalid_utf8(s) == first_undecodable(s); }

}  // namespace

TEST_CASE("text: UTF-8 is judged as by decoding, at every place of a line") {
  const std::vector<int> bytes = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0,
                                  0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0,
                                  0xF1, 0xF3, 0xF4, 0xF5, 0xF7, 0xF8, 0xFE, 0xFF};
  int wrong = 0;
  // Long texts are read by blocks of 32 bytes, of which the last one ends with the text.
  const std::vector<size_t> places = {0, 1, 14, 29, 30, 31, 32, 33, 34, 36};
  for (int a : bytes)
    for (int b : bytes)
      for (int c : bytes)
        for (int d : bytes) {
          const std::string s = {static_cast<char>(a), static_cast<char>(b), static_cast<char>(c),
                                 static_cast<char>(d)};
          wrong += !finds_invalid_utf8(s);
          std::string longer(40, 'x');
          longer.replace(places[static_cast<size_t>(a + b + c + d) % places.size()], 4, s);
          wrong += !finds_invalid_utf8(longer);
        }
  CHECK(wrong == 0);
  for (size_t at = 0; at < 70; ++at) {
    CHECK(find_invalid_utf8(std::string(at, 'x') + "\xFF" + std::string(9, 'y')) == at);
    CHECK(find_invalid_utf8(std::string(at, 'x') + "\xC3") == at);
    CHECK(find_invalid_utf8(std::string(at, 'x') + "\xF0\x9F\xA6\x8A") == std::string_view::npos);
  }
}

TEST_CASE("text: UTF-8 is judged as by decoding, for all two bytes, all three and random text") {
  int wrong = 0;
  std::string text(70, 'x');
  for (size_t at : {0, 30, 31, 32, 68})
    for (int two = 0; two < 0x10000; ++two) {
      text[at] = static_cast<char>(two >> 8);
      text[at + 1] = static_cast<char>(two);
      wrong += !finds_invalid_utf8(text);
      if (two == 0xFFFF) text[at] = text[at + 1] = 'x';
    }
  for (int three = 0xE00000; three < 0x1000000; ++three) {
    const size_t at = static_cast<size_t>(three % 37);
    std::string s(39, 'x');
    for (size_t i = 0; i < 3; ++i) s[at + i] = static_cast<char>(three >> (16 - 8 * i));
    wrong += !finds_invalid_utf8(s);
  }
  RandomStream random({.seed = 7});
  for (size_t i = 0; i < 50'000; ++i) {
    std::string s;
    while (s.size() <= i % 140) {
      const std::array<uint64_t, 4> codes{random.below(0x80), 0x80 + random.below(0x780),
                                          0xE000 + random.below(0x2000),
                                          0x10000 + random.below(0x100000)};
      append_utf8(s, static_cast<char32_t>(codes[random.below(4)]));
    }
    wrong += find_invalid_utf8(s) != std::string_view::npos;
    if (i % 2 == 0) {
      s[random.below(s.size())] = static_cast<char>(random.below(256));
    } else {
      s.resize(random.below(s.size()));
    }
    wrong += !finds_invalid_utf8(s);
  }
  CHECK(wrong == 0);
}

namespace {

/// `text` as one member of gzip.
std::string gzipped(const std::string& text) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// The same as one frame of zstd, with its checksum.
std::string zstd_packed(const std::string& text) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(text.size()), '\0');
  const size_t size = ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size());
  ZSTD_freeCCtx(context);
  REQUIRE(ZSTD_isError(size) == 0);
  out.resize(size);
  return out;
}

}  // namespace

TEST_CASE("text: what gzip or zstd packed is the text in it, in members, files and streams") {
  TemporaryDirectory dir;
  std::string text;
  RandomStream random({.seed = 4});
  while (text.size() < 700'000)
    text += concat("word", random.below(90'000), random.below(3) ? ' ' : '\n');
  const auto plain = dir.write("plain", text);
  const Strings expected = lines_of({plain});
  const std::string half = text.substr(0, 300'001), rest = text.substr(300'001);
  for (const auto pack : {gzipped, zstd_packed}) {
    CHECK(lines_of({dir.write("one", pack(text))}) == expected);
    // A name says nothing, and members follow each other as their texts do.
    CHECK(lines_of({dir.write("two.txt", pack(half) + pack("") + pack(rest))}) == expected);
    CHECK(lines_of({plain, dir / "two.txt", plain}).size() == 3 * expected.size());
    std::istringstream in(pack(text));
    TextReader stream(in, "standard input", kCopiedText);
    std::string together;
    for (std::string_view block; stream.next_block(block);) together += block;
    CHECK(together == text);
    // A mark at its start, a wrong byte, nothing: as in a file that is not packed.
    CHECK(lines_of({dir.write("mark", pack("\xEF\xBB\xBFg\n"))}) == Strings{"g"});
    CHECK(has(error_of([&] { lines_of({dir.write("bad", pack("a\nb\xFF\n"))}); }),
              "bad, line 2, byte 2: 0xff"));
    CHECK(has(error_of([&] { lines_of({dir.write("none", pack(""))}); }), "none is empty"));
  }
  // Zeros that fill a block of a tape.
  CHECK(lines_of({dir.write("tape", gzipped("a\n") + std::string(700, '\0'))}) == Strings{"a"});
  // Frames that zstd skips, as pzstd writes them: their size, then what is skipped.
  const std::string skipped("P*M\x18\x04\0\0\0size", 12), other("_*M\x18\x01\0\0\0s", 9);
  const std::string frames =
      skipped + zstd_packed(half) + other + skipped + zstd_packed(rest) + skipped;
  CHECK(lines_of({dir.write("frames", frames)}) == expected);
  CHECK(lines_of({dir / "frames"}, kCopiedText) == expected);
  std::istringstream piped(frames);
  TextReader stream(piped, "standard input");
  std::string_view first;
  REQUIRE(stream.next_line(first));
  CHECK(first == expected[0]);
  CHECK(lines_of({dir.write("nothing", skipped)}, kCopiedText).empty());
  CHECK(
      has(error_of([&] { lines_of({dir.write("cut", frames.substr(0, 10))}); }), "cut is damaged"));
  for (const char* start : {"P", "P*M", "_*", "P*N\x18 a", "Q\n*M\x18"})
    CHECK(lines_of({dir.write("letters", start)}, kCopiedText).front() ==
          std::string_view(start).substr(0, std::string_view(start).find('\n')));
  // A text that only begins as a packed file does.
  CHECK(lines_of({dir.write("bracket", "(\n")}) == Strings{"("});
  CHECK(lines_of({dir.write("bracket", "(a b)\n\nc")}) == Strings{"(a b)", "", "c"});
  CHECK(lines_of({dir.write("control", "\x1F")}) == Strings{"\x1F"});
}

TEST_CASE("text: a packed file that is damaged or cut short, and other kinds of files, are named") {
  TemporaryDirectory dir;
  const auto refusal = [&](const std::string& bytes) {
    const std::string path = dir.write("f", bytes);
    for (const TextRules& rules : {kModelText, kCopiedText}) {
      const std::string message = error_of([&] { lines_of({path}, rules); });
      CHECK(message.starts_with(path + " is "));
      if (rules.cr_ends_line) return message.substr(path.size());
    }
    return std::string();
  };
  std::string text;
  for (int i = 0; i < 5000; ++i) text += concat("line ", i * 7919 % 5003, '\n');
  for (const auto pack : {gzipped, zstd_packed}) {
    const std::string packed = pack(text);
    for (const size_t size : {size_t{4}, size_t{20}, packed.size() / 2, packed.size() - 1})
      CHECK(has(refusal(packed.substr(0, size)), "is damaged"));
    CHECK(has(refusal(packed + packed.substr(0, 11)), "the packed data end too early"));
    CHECK(has(refusal(packed + "junk, more than a few bytes"), "is damaged"));
    std::string changed = packed;
    changed[packed.size() - 1] ^= 1;  // of gzip's length, or zstd's checksum
    CHECK(has(refusal(changed), "is damaged"));
    changed = packed;
    changed[packed.size() / 2] ^= 4;
    CHECK(has(refusal(changed), "is damaged"));
  }
  // The head of a frame with a window of 2^28 bytes, more than zstd itself takes unasked.
  CHECK(has(refusal(std::string("\x28\xB5\x2F\xFD\0\x90\0\0", 8)), "zstd --decompress --long=31"));
  CHECK(has(refusal("BZh91AY&SY\x01"), "unpack it with bzcat"));
  CHECK(has(refusal(std::string("\xFD"
                                "7zXZ\0\0",
                                7)),
            "xzcat"));
  CHECK(has(refusal(std::string("PK\x03\x04\0", 5)), "zip archive"));
  CHECK(has(refusal(std::string("\n\x0E\n\x05<unk>\x15\0\0", 12)), "a model of SentencePiece"));
  // Other binary files.
  const auto zip = [](const std::string& name) {
    std::string bytes("PK\x03\x04", 4);
    bytes.resize(30);
    bytes[26] = static_cast<char>(name.size());
    return bytes + name + "data";
  };
  CHECK(has(refusal(zip("archive/data.pkl")),
            "is a pickle of Python's, as torch.save writes it, not a text"));
  CHECK(has(refusal(zip("a.npy")), "is an archive of NumPy's, not a text"));
  CHECK(has(refusal(zip("[Content_Types].xml")), "is a document of an office program: save it"));
  CHECK(has(refusal(zip("text.txt")), "is a zip archive: unpack it with unzip"));
  CHECK(has(refusal(std::string("\x80\x02}q\0.", 6)), "is a pickle of Python's"));
  CHECK(has(refusal("\x7F"
                    "ELF\x02\x01"),
            "is a program or a library (ELF), not a text"));
  CHECK(has(refusal("\x89PNG\r\n\x1A\n"), "is a picture (PNG), not a text"));
  CHECK(has(refusal("%PDF-1.7\n%\xE2\xE3"), "is a PDF: make a text of it with pdftotext"));
  std::string tar = "name" + std::string(253, '\0') + "ustar" + std::string(250, '\0');
  CHECK(has(refusal(tar), "is a tar archive: unpack it with `tar -xf`"));
  CHECK(has(refusal(gzipped(tar)), "is a tar archive"));
  CHECK(has(refusal(gzipped(gzipped("a text\n"))),
            "is packed by gzip: the text was packed more than once"));
  CHECK(has(refusal(zstd_packed(gzipped("a text\n"))), "is packed by gzip: the text was packed"));
  CHECK(
      has(refusal("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"),
          "is a pointer of Git LFS, without the file: fetch the file itself with `git lfs pull`"));
  // What a text can begin with is told of a model alone.
  for (const char* begin : {"<html>\n", "<!-- a\n", "<?xml\n", "GGUF is a format\n", "BZh\n"})
    CHECK(lines_of({dir.write("f", begin)}, kModelText).size() == 1);
  CHECK(has(refusal(std::string("\x20\0\0\0\0\0\0\0{\"a\"", 12)), "is a model (safetensors)"));
  CHECK(has(refusal(std::string("\xFF\xFE\0\0a\0\0\0", 8)), "is UTF-32"));
  CHECK(has(refusal(std::string("a\0b\0c\0\n\0", 8)),
            "is UTF-16: convert it with `iconv -f UTF-16LE"));
  CHECK(has(refusal(std::string("\0a\0b\0c\0\n", 8)), "iconv -f UTF-16BE"));
}

TEST_CASE("text: bytes that are no text, and a character that is cut, are said to be that") {
  TemporaryDirectory dir;
  const auto refusal = [&](const std::string& bytes, const TextRules& rules) {
    const std::string path = dir.write("f", bytes);
    return error_of([&] { lines_of({path}, rules); });
  };
  std::string binary;
  for (int i = 0; i < 20'000; ++i) binary += static_cast<char>(i * i % 251 + i % 7);
  const std::string letters(3000, 'a');
  for (const TextRules& rules : {kModelText, kCopiedText}) {
    CHECK(has(refusal(letters + binary, rules), "this seems to be a binary file; name a text"));
    // A character at the end of a file that lacks 1, 2 or 3 bytes.
    for (const char* cut :
         {"\xC3", "\xE2\x82", "\xE0", "\xED\x95", "\xF0", "\xF0\x9F\x98", "\xF4\x8F"}) {
      const std::string said = refusal(letters + "\nb " + cut, rules);
      CHECK_MESSAGE(has(said, "f, line 2, byte 3: 0x"), said);
      CHECK_MESSAGE(has(said, "whose end is missing at the end of the file: it was cut"), said);
    }
    // Elsewhere, or of no character, it is Latin-1 or the like.
    for (const char* wrong : {"b\xC3\n", "b\xC3\nc", "b\xC3 c", "b\xFF", "b\xE0\x80", "b\xC3\xC3"})
      CHECK_MESSAGE(has(refusal(wrong, rules), "is not valid UTF-8: convert the file"), wrong);
  }
  CHECK(has(refusal(letters + std::string("\0", 1) + letters, kModelText),
            "a NUL byte, which no text has: remove it"));
  // In blocks as in lines.
  const std::string path = dir.write("blocks", letters + "\xC3");
  TextReader reader({path}, kCopiedText);
  CHECK(has(error_of([&] {
              for (std::string_view block; reader.next_block(block);) continue;
            }),
            "blocks, line 1, byte 3001: 0xc3 begins a character whose end is missing"));
}

TEST_CASE("text: what peek() sees stays unread") {
  TemporaryDirectory dir;
  TextReader reader({dir.write("a", "x\ny"), dir.write("b", "z")});
  std::string_view line;
  CHECK(reader.peek() == "x\ny");
  CHECK(reader.peek() == "x\ny");
  REQUIRE(reader.next_line(line));
  CHECK(line == "x");
  CHECK(reader.peek() == "y");
  REQUIRE(reader.next_line(line));
  REQUIRE(reader.next_line(line));
  CHECK(line == "z");
  CHECK(!reader.next_line(line));
  CHECK(reader.peek().empty());
}

TEST_CASE("text: an empty pipe is an empty text") {
  TemporaryDirectory dir;
  const std::string pipe = dir / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::thread writer([&] { std::ofstream out(pipe); });
  const Strings lines = lines_of({pipe});
  writer.join();
  CHECK(lines.empty());
}

TEST_CASE("text: numbers with a plus, and those that are too small for a double") {
  const auto parsed = [](std::string_view text) {
    double number = 77;
    return parse_number(text, number) ? number : NAN;
  };
  CHECK(parsed("+5") == 5);
  CHECK(parsed("+.5e1") == 5);
  CHECK(parsed("1e-400") == 0);
  CHECK(parsed("-3.25e-99999") == 0);
  CHECK(parsed("0." + std::string(400, '0') + "1") == 0);
  CHECK(parsed("-2.5") == -2.5);
  for (const char* none : {"1e400", "-1e400", "+-5", "++5", "+", "", "5x", "1e-400x", "inf", "nan"})
    CHECK(std::isnan(parsed(none)));
}

TEST_CASE("quote: at most 60 characters, cut between them") {
  CHECK(to_text(quote("the cat")) == "'the cat'");
  CHECK(to_text(quote(std::string(60, 'a'))) == "'" + std::string(60, 'a') + "'");
  CHECK(to_text(quote(std::string(61, 'a'))) == "'" + std::string(59, 'a') + "…'");
  std::string cyrillic, cut;
  for (int i = 0; i < 100; ++i) cyrillic += "ж";
  for (int i = 0; i < 59; ++i) cut += "ж";
  CHECK(to_text(quote(cyrillic)) == "'" + cut + "…'");
  CHECK(to_text(quote(std::string(100'000, '\x80'))).size() < 260);
}

}  // namespace nine::tests::test_text
