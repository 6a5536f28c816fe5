#include "apps/training/training_texts.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "apps/cli/option_data.h"
#include "apps/cli/text_io.h"
#include "apps/cli/text_kind.h"
#include "core/error.h"
#include "core/files.h"
#include "core/notice.h"
#include "data/line_checksum.h"
#include "data/text.h"
#include "data/tokenizers/raw_text.h"
#include "data/word_list.h"

namespace nine::app {
namespace {

using Strings = std::vector<std::string>;

// Lines that are looked at to tell what a file is.
constexpr size_t kLinesSeen = 200;

// Whether each line is a word and its count, as a dict.txt has them: of different words, and, in a
// short list, in the order of the counts.
bool is_dictionary(const Strings& lines) {
  constexpr size_t kFewest = 3, kManyLines = 20;
  std::set<std::string_view> words;
  std::vector<int64_t> counts;
  std::vector<std::string_view> parts;
  for (const std::string& line : lines) {
    split_words(line, parts);
    int64_t count = 0;
    if (parts.size() != 2 || !parse_count(parts[1], count) || !words.insert(parts[0]).second)
      return false;
    counts.push_back(count);
  }
  return lines.size() >= kManyLines ||
         (lines.size() >= kFewest && std::ranges::is_sorted(counts, std::greater()));
}

// What a file is that begins in this way, and what to do; empty for a text.
std::string what_else(std::string_view start, const Strings& lines) {
  constexpr const char* kList =
      ", and a text was expected, one sentence a line; a vocabulary is given by an option of its "
      "own (--help)";
  if (is_markup(lines))
    return "is HTML, XML or SGML, whose tags would be words: take the sentences out of it, one a "
           "line";
  if (is_json(start))
    return "is JSON, whose keys and braces would be words: take the sentences out of it, one a "
           "line, for example with jq";
  if (start.starts_with("#version:"))
    return "has codes of BPE, and a text was expected, one sentence a line";
  if (is_n_best_list(lines))
    return "is an n-best list, each line `number ||| words ||| score`, and a text was expected: "
           "give the words alone";
  if (is_dictionary(lines)) return concat("is a dictionary, each line a word and its count", kList);
  constexpr size_t kFewest = 3;
  const WordListKind kind = lines.size() < kFewest ? WordListKind::dict : kind_of_list(lines);
  if (kind == WordListKind::dict || kind == WordListKind::words) return "";
  return concat("is ", name_of(kind), kList);
}

// What a checksum is over: words, the raw lines of pairs, or the bytes of a raw text.
enum class Covers : uint8_t { words, lines, bytes };

// The texts of a run, by the options that name their files: a text has one side or two.
struct Text {
  const char* name;                         // in messages
  std::vector<const char*> keys;            // of its sides
  std::vector<Strings> files;               // of its sides
  std::vector<uint32_t> whole;              // the checksums of its sides
  std::vector<std::vector<uint32_t>> each;  // of each file, if there are several and none is a pipe
  Covers covers = Covers::words;
};

std::string flags_of(const Text& text) {
  std::string out;
  for (const char* key : text.keys) out += concat(out.empty() ? "--" : " and --", flag_of(key));
  return out;
}

// The names of file i.
std::string files_of(const Text& text, size_t i) {
  std::string out;
  for (const Strings& side : text.files) out += concat(out.empty() ? "" : " and ", side[i]);
  return out;
}

uint32_t checksum_of(const std::string& file, Covers covers) {
  LineChecksum sum;
  if (covers == Covers::bytes) {
    sum.add_bytes(RawText::read({file}).bytes);
    return sum.value();
  }
  TextReader reader({file});
  for (std::string_view line; reader.next_line(line);)
    covers == Covers::lines ? sum.add_raw_line(line) : sum.add(line);
  return sum.value();
}

// The text of the keys that the identity has; without sides if it has none.
Text text_of(const char* name, const Json& config, const Json& identity, const char* one,
             const char* source, const char* target) {
  Text text{.name = name, .keys = {}, .files = {}, .whole = {}, .each = {}};
  for (const char* key : identity.contains(one) ? std::vector{one} : std::vector{source, target}) {
    if (!identity.contains(key))
      return {.name = name, .keys = {}, .files = {}, .whole = {}, .each = {}};
    text.keys.push_back(key);
    text.whole.push_back(identity[key].get<uint32_t>());
    text.files.push_back(config.value(key, Strings()));
  }
  return text;
}

void read_files(Text& text) {
  const size_t count = text.files.front().size();
  for (const Strings& side : text.files) {
    if (side.size() != count || count < 2) return;
    for (const std::string& file : side)
      if (is_device_or_pipe(file)) return;
  }
  for (size_t i = 0; i < count; ++i) {
    std::vector<uint32_t>& sides = text.each.emplace_back();
    for (const Strings& side : text.files) sides.push_back(checksum_of(side[i], text.covers));
  }
}

constexpr const char *kTooGood = ": its figures are too good",
                     *kChosenBy = ", by which the best model is chosen";

// Says that `held` is `seen`, as a whole or in one of its files. `why`: what is wrong about it.
void compare(const Text& held, const Text& seen, const char* why, Strings& out) {
  if (held.whole.empty() || seen.whole.empty()) return;
  if (held.whole == seen.whole) {
    out.push_back(concat("the ", held.name, " text is the ", seen.name, " text", why));
    return;
  }
  const auto say = [&](const std::string& one, const std::string& other) {
    out.push_back(concat(one, " is the same text as ", other, why));
  };
  const auto a_file = [&](const Text& text, size_t i) {
    return concat(files_of(text, i),
                  text.keys.size() > 1 ? ", two files of the " : ", a file of the ", text.name,
                  " text (", flags_of(text), ")");
  };
  const auto a_whole = [](const Text& text) { return concat("the ", text.name, " text"); };
  for (size_t s = 0; s < seen.each.size(); ++s)
    if (seen.each[s] == held.whole) say(a_whole(held), a_file(seen, s));
  for (size_t h = 0; h < held.each.size(); ++h) {
    if (held.each[h] == seen.whole) say(a_file(held, h), a_whole(seen));
    for (size_t s = 0; s < seen.each.size(); ++s)
      if (held.each[h] == seen.each[s]) say(a_file(held, h), a_file(seen, s));
  }
}

// Says what a text has twice: a file, or a side.
void compare_within(const Text& text, Strings& out) {
  if (text.whole.size() == 2 && text.whole[0] == text.whole[1])
    out.push_back(concat("both sides of the ", text.name, " text (", flags_of(text),
                         ") are the same text: a model learns to copy it"));
  for (size_t i = 0; i < text.each.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      if (text.each[i] == text.each[k])
        out.push_back(concat(files_of(text, i), " is the same text as ", files_of(text, k),
                             " of the ", text.name, " text (", flags_of(text),
                             "): its lines count twice"));
}

}  // namespace

void require_texts(std::string_view flag, const Strings& files) {
  for (const std::string& file : files) {
    std::error_code ignored;
    if (is_device_or_pipe(file)) continue;
    require(file != "-" || std::filesystem::exists(file, ignored), flag,
            " -: standard input can be read once, and training reads a text more than once: write "
            "the text to a file and name this file");
    TextReader reader({file});
    const std::string start(reader.peek());
    Strings lines;
    for (std::string_view line; lines.size() < kLinesSeen && reader.next_line(line);)
      lines.emplace_back(line);
    const std::string what = what_else(start, lines);
    require(what.empty(), flag, " ", file, " ", what);
    if (const std::string kind = other_kind(lines); !kind.empty())
      notice(other_kind_text(kind, concat(flag, " ", file)));
  }
}

void require_words(std::string_view flag, const Strings& files, int64_t tokens, int64_t sentences) {
  require(tokens > sentences, flag, " ", files.empty() ? "" : files[0],
          " has no word: each of its ", sentences,
          " lines is blank, and figures on it would be about the ends of sentences alone; give a "
          "text with words");
}

Strings same_texts(const Json& config, const Json& identity) {
  const auto text = [&](const char* name, const char* one, const char* source, const char* target) {
    return text_of(name, config, identity, one, source, target);
  };
  const bool bytes = identity.contains("text");  // of lm_train
  std::array texts = {text("training", bytes ? "text" : "train", "src", "tgt"),
                      text("validation", "valid", "valid_src", "valid_tgt"),
                      text("test", "test", "test_src", "test_tgt")};
  for (Text& t : texts) {
    t.covers = bytes ? Covers::bytes : config.value("raw", false) ? Covers::lines : Covers::words;
    if (!t.whole.empty()) read_files(t);
  }
  const auto& [train, valid, test] = texts;
  Strings out;
  compare(valid, train, kTooGood, out);
  compare(test, train, kTooGood, out);
  compare(test, valid, kChosenBy, out);
  for (const Text& t : texts) compare_within(t, out);
  return out;
}

}  // namespace nine::app
