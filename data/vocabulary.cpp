#include "data/vocabulary.h"

#include <algorithm>
#include <fstream>
#include <limits>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "core/quote.h"
#include "data/dict_line.h"
#include "data/text.h"
#include "data/word_list.h"

namespace nine {

using namespace std::string_literals;

namespace {

/// Returns "</s> and <unk>", or "<s>, <pad>, </s> and <unk>".
std::string listing(const Specials& specials) {
  std::string out;
  for (int32_t id = 0; id < specials.size; ++id)
    out += concat(id == 0 ? "" : id + 1 < specials.size ? ", " : " and ", specials.text(id));
  return out;
}

}  // namespace

Vocabulary::Vocabulary(const Specials& specials) : specials_(specials) {
  for (const int32_t id : {specials.end, specials.unknown})
    require(id >= 0 && id < specials.size, "a vocabulary needs </s> and <unk> among its ",
            specials.size, " specials");
  for (int32_t id = 0; id < specials.size; ++id) add(specials.text(id), 0);
}

Vocabulary Vocabulary::build(const WordCounts& counts, const Specials& specials,
                             const VocabularyLimits& limits, std::string_view text) {
  require(limits.min_count >= 0, "minimum count ", limits.min_count,
          " is negative; give 1 to keep every word");
  require(limits.size == 0 || limits.size > specials.size, "vocabulary size ", limits.size,
          " leaves no room for a word beside ", listing(specials), ": use ", specials.size + 1,
          " or more, or 0 for no limit");
  Vocabulary v(specials);
  v.add_words(counts, limits);
  require(v.size() > specials.size, "no word occurs ", limits.min_count, " times in ",
          counts.sentences, " sentences of ", counts.tokens,
          " words: lower the minimum count, or check ", text);
  return v;
}

Vocabulary Vocabulary::of_all_words(const WordCounts& counts, const Specials& specials) {
  Vocabulary v(specials);
  v.add_words(counts, {});
  return v;
}

Vocabulary Vocabulary::of_list(std::span<const std::string> words, const Specials& specials) {
  Vocabulary v(specials);
  for (const std::string& word : words) {
    require(!v.ids_.contains(word), "the vocabulary has the word ", quote(word), " twice");
    v.add(word, 0);
  }
  return v;
}

void Vocabulary::add_words(const WordCounts& counts, const VocabularyLimits& limits) {
  int64_t unknown = 0;
  for (int32_t number : counts.by_count_and_code_point()) {
    const std::string_view word = counts.words.text(number);
    const int64_t count = counts.counts[static_cast<size_t>(number)];
    const auto special = ids_.find(word);
    if (special != ids_.end()) {
      counts_[static_cast<size_t>(special->second)] += count;
    } else if (count >= limits.min_count && (limits.size == 0 || size() < limits.size)) {
      add(word, count);
    } else {
      unknown += count;
    }
  }
  counts_[static_cast<size_t>(specials_.end)] += counts.sentences;
  counts_[static_cast<size_t>(specials_.unknown)] += unknown;
}

Vocabulary Vocabulary::read(const std::string& path, const Specials& specials) {
  std::vector<std::string> lines;
  TextReader reader(std::vector<std::string>{path}, {.refuse_empty_file = false});
  for (std::string_view line; reader.next_line(line);) lines.emplace_back(line);
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  const WordListKind kind = kind_of_list(lines);
  if (kind == WordListKind::json) refuse_json_vocabulary(path);
  Vocabulary v(specials);
  const auto place = [&](int64_t line) { return concat(path, ", line ", line); };
  if (kind == WordListKind::dict) {
    std::vector<bool> listed(static_cast<size_t>(specials.size));
    for (size_t i = 0; i < lines.size(); ++i)
      v.add_dict_line(lines[i], place(static_cast<int64_t>(i) + 1), listed);
  } else {
    for (const ListedWord& listed : listed_words(lines, kind, path)) {
      require(!v.ids_.contains(listed.word), place(listed.line), ": ", quote(listed.word),
              " stands in the list twice");
      // The dictionary of a model could not store this word.
      require(listed.word.find_first_of(" \t\n\r\0"s) == std::string::npos, place(listed.line),
              ": ", quote(listed.word),
              " has a space or a NUL byte, but a word of a text cannot have them");
      v.add(listed.word, listed.count);
    }
  }
  require(v.size() > specials.size, path, " lists no word beside ", listing(specials),
          ": is this the right dictionary?");
  return v;
}

Vocabulary Vocabulary::read_saved(const std::string& path, const Specials& specials) {
  require_regular_file(path);
  Vocabulary v(specials);
  std::vector<bool> listed(static_cast<size_t>(specials.size));
  // The first word may be any word, "PK\3\4" too.
  TextReader reader(std::vector<std::string>{path},
                    {.refuse_other_kinds = false, .refuse_empty_file = false});
  int64_t row = 0;  // row of a model's tables, if special words are listed
  for (std::string_view line; reader.next_line(line); ++row) {
    const std::vector<bool> before = listed;
    v.add_dict_line(line, reader.place(), listed);
    const auto special = std::mismatch(before.begin(), before.end(), listed.begin()).first;
    if (special == before.end() || special - before.begin() == row) continue;
    fail(reader.place(), ": '", specials.texts[static_cast<size_t>(special - before.begin())],
         "' is row ", special - before.begin(), " of a model here, and not row ", row,
         ": put the rows of special words first, in the order ", listing(specials));
  }
  return v;
}

void Vocabulary::add_dict_line(std::string_view line, const std::string& place,
                               std::vector<bool>& listed) {
  const DictEntry entry = parse_dict_line(line, place);
  const auto found = ids_.find(entry.word);
  const bool is_new = found == ids_.end();
  if (!is_new && found->second < specials_.size && specials_.may_be_listed) {
    const auto special = static_cast<size_t>(found->second);
    if (!listed[special] || entry.overwrite) {
      listed[special] = true;
      counts_[special] = entry.count;
      return;
    }
  }
  if (!is_new && !entry.overwrite)  // makes the message only for an error
    fail(place, ": ", quote(entry.word), " is already in the dictionary, which begins with ",
         listing(specials_), ": remove one of the two lines, or end this line with ",
         kDictOverwrite);
  add(entry.word, entry.count);
}

std::string Vocabulary::dict_text() const { return dict_text(counts_); }

std::string Vocabulary::dict_text(std::span<const int64_t> counts) const {
  require(counts.size() == words_.size(), "[Vocabulary] ", counts.size(), " counts for ",
          words_.size(), " words");
  return nine::dict_text(words_, counts, specials_.size);
}

uint32_t Vocabulary::word_checksum() const {
  uint32_t crc = 0;
  for (const std::string& word : words_)
    crc = crc32c(crc, word.data(), word.size() + 1);  // with the 0 at its end
  return crc;
}

void Vocabulary::write(const std::string& path) const {
  std::ofstream out(path, std::ios::binary);
  out << dict_text() << std::flush;
  require(out.good(), path,
          " cannot be written: check that its directory exists and that there is room");
}

void Vocabulary::add(std::string_view word, int64_t count) {
  require(words_.size() < static_cast<size_t>(std::numeric_limits<int32_t>::max()),
          "a vocabulary has at most 2147483647 words: set a vocabulary size or raise the minimum "
          "count");
  ids_[std::string(word)] = size();
  words_.emplace_back(word);
  counts_.push_back(count);
}

void Vocabulary::check_id(int32_t id) const {
  require(id >= 0 && id < size(), "no word has the id ", id, ": this vocabulary has ", size());
}

int32_t Vocabulary::id(std::string_view word) const {
  const auto found = ids_.find(word);
  return found == ids_.end() ? specials_.unknown : found->second;
}

const std::string& Vocabulary::word(int32_t id) const {
  check_id(id);
  return words_[static_cast<size_t>(id)];
}

int64_t Vocabulary::count(int32_t id) const {
  check_id(id);
  return counts_[static_cast<size_t>(id)];
}

void Vocabulary::set_special_counts(int64_t end, int64_t unknown) {
  counts_[static_cast<size_t>(specials_.end)] = end;
  counts_[static_cast<size_t>(specials_.unknown)] = unknown;
}

void Vocabulary::encode(std::span<const std::string_view> sentence,
                        std::vector<int32_t>& ids) const {
  for (std::string_view word : sentence) ids.push_back(id(word));
}

std::vector<int32_t> Vocabulary::encode(std::string_view line) const {
  std::vector<int32_t> ids;
  for_each_word(line, [&](std::string_view word) { ids.push_back(id(word)); });
  return ids;
}

std::vector<int32_t> Vocabulary::encode_sentence(std::string_view line) const {
  std::vector<int32_t> ids = encode(line);
  ids.push_back(specials_.end);
  return ids;
}

}  // namespace nine
